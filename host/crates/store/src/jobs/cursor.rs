//! Where a claimer has got to in each lane.
//!
//! Jobs leave a lane at its head, and the index entries that they leave behind stay until a vacuum
//! and longer under an open transaction. A claimer that starts at the head each time wades through
//! all of them. So it starts behind the last job that it saw, and goes back to the head only now
//! and then: for rows that came to lie behind the key, and for lanes that it does not know yet.

use chrono::TimeDelta;
use cofferdam_core::Time;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How long a transaction may stay open between the `run_at` of its jobs and its commit, so that
/// they are not overtaken by the key. Those of longer ones wait for the next pass from the head.
const SLACK: TimeDelta = TimeDelta::seconds(2);
/// After so many passes behind keys there is one from the head, however busy the lanes are.
const KEYED_PASSES: u32 = 32;
/// The most lanes that are remembered: each costs four probes of the index in every pass.
pub(super) const MAX_KNOWN_LANES: usize = 64;
/// A pass from the head that takes longer than this may have waded through dead entries: the next
/// claim tries the keys first.
const SLOW_PASS: Duration = Duration::from_millis(5);
/// One that takes so many times as long as the pass behind the keys just before it did wade. After
/// some in a row (a busy machine makes one), the next is put off until they are at most a
/// twentieth of the time.
const WADING_FACTOR: u32 = 4;
const WADING_PASSES: u32 = 3;
const WADING_SHARE: u32 = 20;

const PRIORITIES: std::ops::RangeInclusive<i16> = 1..=4;

/// What a claimer keeps from one claim to the next. Each claimer has its own; a lost one costs a
/// pass from the head.
#[derive(Debug, Default)]
pub struct ClaimCursor {
    lanes: BTreeMap<i64, Lane>,
    /// The lane that was served last: turns go on after it.
    last_lane: i64,
    passes: u64,
    keyed_passes: u32,
    was_short: bool,
    head_was_slow: bool,
    /// What the last pass behind keys took.
    keyed_took: Option<Duration>,
    wading_passes: u32,
    head_not_before: Option<Instant>,
}

#[derive(Debug, Default)]
struct Lane {
    /// By priority: behind which row to look.
    keys: BTreeMap<i16, Key>,
    served: u64,
}

/// A place in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) run_at: Time,
    pub(super) job: Uuid,
}

/// Before every row: nothing is due before 1970.
const HEAD: Key = Key { run_at: Time::UNIX_EPOCH, job: Uuid::nil() };

/// A job that a pass claimed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) lane: i64,
    pub(super) priority: i16,
    pub(super) key: Key,
}

/// The keys as one array a column.
#[derive(Debug, Default)]
pub(super) struct KeyArrays {
    pub(super) lanes: Vec<i64>,
    pub(super) priorities: Vec<i16>,
    pub(super) run_at: Vec<Time>,
    pub(super) jobs: Vec<Uuid>,
}

impl ClaimCursor {
    /// Whether the next pass should start at the head of every lane.
    pub(super) fn wants_head(&self, now: Instant) -> bool {
        let reason = (self.was_short && !self.head_was_slow) || self.keyed_passes >= KEYED_PASSES;
        self.lanes.is_empty() || (reason && self.may_head(now))
    }

    /// Whether a pass from the head is cheap enough to be made now.
    pub(super) fn may_head(&self, now: Instant) -> bool {
        self.head_not_before.is_none_or(|not_before| now >= not_before)
    }

    pub(super) fn last_lane(&self) -> i64 {
        self.last_lane
    }

    pub(super) fn keys(&self) -> KeyArrays {
        let mut arrays = KeyArrays::default();
        for (lane, Lane { keys, .. }) in &self.lanes {
            for (priority, key) in keys {
                arrays.lanes.push(*lane);
                arrays.priorities.push(*priority);
                arrays.run_at.push(key.run_at);
                arrays.jobs.push(key.job);
            }
        }
        arrays
    }

    /// Notes that there is work in some lanes, which need not have been served.
    pub(super) fn meet(&mut self, lanes: &[i64]) {
        for id in lanes {
            self.lanes.entry(*id).or_insert_with(|| Lane {
                keys: PRIORITIES.map(|priority| (priority, HEAD)).collect(),
                served: self.passes,
            });
        }
    }

    /// Notes what a pass claimed at a time by the database's clock. `short`: it found fewer jobs
    /// than it had room for, and so saw all there were in the lanes that it served.
    pub(super) fn learn(&mut self, taken: &[Taken], at: Option<Time>, short: bool, head: bool) {
        self.passes += 1;
        self.keyed_passes = if head { 0 } else { self.keyed_passes + 1 };
        self.was_short = short;
        let Some(at) = at else { return };
        // Up to here every transaction is taken to have committed.
        let settled = Key { run_at: at - SLACK, job: Uuid::nil() };

        let mut by_lane: BTreeMap<i64, BTreeMap<i16, Key>> = BTreeMap::new();
        for row in taken {
            let key = by_lane.entry(row.lane).or_default().entry(row.priority).or_insert(row.key);
            *key = row.key.max(*key);
        }
        self.last_lane = last_in_turn(by_lane.keys().copied(), self.last_lane);
        for (id, last) in by_lane {
            let lane = self.lanes.entry(id).or_default();
            lane.served = self.passes;
            let lowest = last.last_key_value().map(|(priority, _)| *priority);
            for priority in PRIORITIES {
                // Whoever took a job of a lower priority had taken all of this one.
                let exhausted = short || lowest.is_some_and(|lowest| priority < lowest);
                if exhausted {
                    lane.keys.insert(priority, settled);
                } else if let Some(key) = last.get(&priority) {
                    lane.keys.insert(priority, settled.min(*key));
                }
            }
        }
        while self.lanes.len() > MAX_KNOWN_LANES {
            let oldest = self.lanes.iter().min_by_key(|(_, lane)| lane.served).map(|(id, _)| *id);
            let Some(oldest) = oldest else { break };
            self.lanes.remove(&oldest);
        }
    }

    /// Notes how long a pass took.
    pub(super) fn took(&mut self, started: Instant, now: Instant, head: bool) {
        let took = now.saturating_duration_since(started);
        if !head {
            self.keyed_took = Some(took);
            return;
        }
        self.head_was_slow = took > SLOW_PASS;
        let waded =
            self.head_was_slow && self.keyed_took.is_some_and(|keyed| took > keyed * WADING_FACTOR);
        self.wading_passes = if waded { self.wading_passes.saturating_add(1) } else { 0 };
        self.head_not_before =
            (self.wading_passes >= WADING_PASSES).then(|| now + took * WADING_SHARE);
    }
}

/// The last of the lanes in the order of turns, which begins behind `last`.
fn last_in_turn(lanes: impl Iterator<Item = i64>, last: i64) -> i64 {
    lanes.max_by_key(|lane| (*lane <= last, *lane)).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: i64) -> Time {
        Time::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn taken(lane: i64, priority: i16, seconds: i64) -> Taken {
        let job = Uuid::from_u128(u128::try_from(seconds).unwrap());
        Taken { lane, priority, key: Key { run_at: time(seconds), job } }
    }

    fn key(cursor: &ClaimCursor, lane: i64, priority: i16) -> Option<Time> {
        cursor.lanes.get(&lane)?.keys.get(&priority).map(|key| key.run_at)
    }

    #[test]
    fn in_a_backlog_the_next_pass_starts_behind_the_last_job() {
        let mut cursor = ClaimCursor::default();
        cursor.learn(&[taken(1, 2, 10), taken(1, 2, 11)], Some(time(1000)), false, true);
        assert_eq!(key(&cursor, 1, 2), Some(time(11)));
        assert_eq!(cursor.keys().jobs, [Uuid::nil(), Uuid::from_u128(11)]);
    }

    #[test]
    fn near_the_present_the_next_pass_reads_two_seconds_again() {
        let mut cursor = ClaimCursor::default();
        cursor.learn(&[taken(1, 2, 999)], Some(time(1000)), false, true);
        assert_eq!(key(&cursor, 1, 2), Some(time(998)));
    }

    #[test]
    fn higher_priorities_were_read_to_their_end_and_lower_ones_not_at_all() {
        let mut cursor = ClaimCursor::default();
        cursor.learn(&[taken(1, 1, 5), taken(1, 3, 7)], Some(time(1000)), false, true);
        assert_eq!(key(&cursor, 1, 1), Some(time(998)));
        assert_eq!(key(&cursor, 1, 2), Some(time(998)));
        assert_eq!(key(&cursor, 1, 3), Some(time(7)));
        assert_eq!(key(&cursor, 1, 4), None);
    }

    #[test]
    fn turns_go_round() {
        assert_eq!(last_in_turn([3, 5, 9].into_iter(), 4), 3);
        assert_eq!(last_in_turn([5, 9].into_iter(), 4), 9);
        assert_eq!(last_in_turn([].into_iter(), 4), 4);
    }

    #[test]
    fn a_short_answer_and_many_full_ones_lead_back_to_the_head() {
        let now = Instant::now();
        let mut cursor = ClaimCursor::default();
        assert!(cursor.wants_head(now), "nothing is known yet");
        cursor.learn(&[taken(1, 2, 1)], Some(time(1000)), false, true);
        assert!(!cursor.wants_head(now));
        cursor.learn(&[], None, true, false);
        assert!(cursor.wants_head(now));
        cursor.learn(&[taken(1, 2, 2)], Some(time(1000)), false, true);
        for _ in 0..KEYED_PASSES {
            assert!(!cursor.wants_head(now));
            cursor.learn(&[taken(1, 2, 3)], Some(time(1000)), false, false);
        }
        assert!(cursor.wants_head(now));
    }

    #[test]
    fn passes_that_wade_are_kept_rare_and_a_slow_one_is_forgiven() {
        let now = Instant::now();
        let millis = Duration::from_millis;
        let mut cursor = ClaimCursor::default();
        cursor.learn(&[taken(1, 2, 1)], Some(time(1000)), true, true);
        cursor.took(now, now + millis(1), false);
        for _ in 0..2 {
            cursor.took(now, now + millis(50), true);
            assert!(!cursor.wants_head(now), "the keys come first");
            assert!(cursor.may_head(now), "but the head comes after them");
        }
        cursor.took(now, now + millis(50), true);
        assert!(!cursor.may_head(now + millis(1049)));
        assert!(cursor.may_head(now + millis(1050)));
        cursor.took(now, now + millis(1), true);
        assert!(cursor.wants_head(now));
    }

    #[test]
    fn on_a_slow_machine_nothing_is_put_off() {
        let now = Instant::now();
        let slow = now + Duration::from_millis(100);
        let mut cursor = ClaimCursor::default();
        cursor.learn(&[taken(1, 2, 1)], Some(time(1000)), true, true);
        for _ in 0..10 {
            cursor.took(now, slow, false);
            cursor.took(now, slow, true);
        }
        assert!(cursor.may_head(now));
    }

    #[test]
    fn a_lane_that_was_only_met_is_read_from_its_head() {
        let mut cursor = ClaimCursor::default();
        cursor.meet(&[1, 2]);
        cursor.learn(&[taken(1, 2, 10)], Some(time(1000)), false, true);
        cursor.meet(&[1]);
        assert_eq!(key(&cursor, 2, 4), Some(Time::UNIX_EPOCH));
        assert_eq!(key(&cursor, 1, 2), Some(time(10)), "what is known stays");
    }

    #[test]
    fn no_more_than_a_bound_of_lanes_is_remembered() {
        let mut cursor = ClaimCursor::default();
        for lane in 0..1000 {
            cursor.learn(&[taken(lane, 2, 1)], Some(time(1000)), true, true);
        }
        assert_eq!(cursor.lanes.len(), MAX_KNOWN_LANES);
        assert!(cursor.lanes.contains_key(&999));
    }
}
