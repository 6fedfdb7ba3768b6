//! How long recovery takes: the bounds that follow from the settings, as formulas.
//!
//! Everything here is from the moment named to the moment at which the job is claimable again, by
//! the database's clock. What is not in the formulas: the time that a statement takes, and a claim,
//! which a notification wakes at once.

use std::time::Duration;

/// How long a worker's session is left alone, and by the leader everybody's: at most, see
/// [`watch_interval`].
pub const MAX_WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// How often the leader rescues the leases of workers that have been gone for long enough. Short,
/// because it is the last step of the fast path, and there is nothing to read while nobody is gone.
pub const CRASH_INTERVAL: Duration = Duration::from_millis(250);
/// How often a worker that does not lead looks whether it could. Bounds, with the time that it takes
/// Postgres to notice a dead process, how long nobody leads after a leader was killed.
pub const STANDBY_INTERVAL: Duration = Duration::from_secs(1);
/// How often the leader looks for leases whose worker is not registered.
pub const ORPHAN_INTERVAL: Duration = Duration::from_secs(1);
/// How far the wait between two heartbeats is from the interval at most, in percent of it, so that
/// a fleet does not beat in step.
pub const BEAT_JITTER_PERCENT: u32 = 10;

/// How often the leader looks for sessions that have ended: several times within the grace, so that
/// a session that comes back is seen to be back.
pub fn watch_interval(crash_grace: Duration) -> Duration {
    match crash_grace {
        Duration::ZERO => MAX_WATCH_INTERVAL,
        grace => MAX_WATCH_INTERVAL.min(grace / 4),
    }
}

/// How often the leader looks while somebody is missing. It decides by two looks that are the grace
/// apart, so that the grace is over by up to this much when they are.
pub fn confirm_interval(crash_grace: Duration) -> Duration {
    watch_interval(crash_grace) / 4
}

/// For how long after the statement that last proved a lease its attempt may run. Shorter than the
/// staleness by a fifth of an interval, so that it has ended when the lease can be somebody else's.
pub fn lease_bound(heartbeat_staleness: Duration, heartbeat_interval: Duration) -> Duration {
    heartbeat_staleness.saturating_sub(heartbeat_interval / 5)
}

/// The settings that the bounds follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
    /// How often leases are renewed.
    pub heartbeat_interval: Duration,
    /// The age of a heartbeat past which its lease is rescued.
    pub heartbeat_staleness: Duration,
    /// How often stale and overdue leases are looked for.
    pub rescue_interval: Duration,
    /// How often due jobs are made claimable.
    pub promote_interval: Duration,
    /// For how long a worker's session must have been gone before its leases are rescued. Zero
    /// turns the fast path off.
    pub crash_grace: Duration,
    /// How old a lease must be before it is rescued because its worker is not registered.
    pub orphan_grace: Duration,
    /// How long past its deadline a lease is left to its worker.
    pub overdue_grace: Duration,
    /// How long leadership lasts that is not renewed.
    pub leader_ttl: Duration,
    /// How often leadership is renewed.
    pub leader_renew_interval: Duration,
}

/// From when to when something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Not earlier than this.
    pub min: Duration,
    /// Not later than this.
    pub max: Duration,
}

impl Span {
    /// From `min` until `width` later: what a condition that holds from `min` on takes to be seen
    /// by whoever looks once in `width`.
    fn seen(min: Duration, width: Duration) -> Self {
        Self { min, max: min.saturating_add(width) }
    }

    /// One after the other.
    fn then(self, next: Self) -> Self {
        Self { min: self.min.saturating_add(next.min), max: self.max.saturating_add(next.max) }
    }

    /// Whether a time lies in it.
    pub fn contains(self, time: Duration) -> bool {
        self.min <= time && time <= self.max
    }
}

/// The bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryBounds {
    /// From the death of a worker's process: `crash_grace` to `crash_grace` + [`watch_interval`] +
    /// [`confirm_interval`] + [`CRASH_INTERVAL`]. A look sees that its session has ended, another
    /// one after the grace that it has not come back, and then the sweep takes the leases. `None`
    /// where the fast path is off.
    pub crash: Option<Span>,
    /// The same when it led: the failover comes first, `crash_grace` to [`STANDBY_INTERVAL`] and
    /// what it takes otherwise.
    pub crash_of_leader: Option<Span>,
    /// From the last heartbeat that a worker knows to have succeeded to the end of the attempt on
    /// that worker: `heartbeat_staleness` - `heartbeat_interval` / 5. Always earlier than `silence`:
    /// no job runs twice at once.
    pub fence: Duration,
    /// From a worker's last heartbeat, whatever became of it: `heartbeat_staleness` to
    /// `heartbeat_staleness` + `rescue_interval`.
    pub silence: Span,
    /// From the moment at which a machine freezes or is cut off. The last heartbeat was up to
    /// 1.1 x `heartbeat_interval` before: `heartbeat_staleness` - 1.1 x `heartbeat_interval` to
    /// `heartbeat_staleness` + `rescue_interval`.
    pub freeze: Span,
    /// From the deadline of an attempt that its worker should have killed and did not:
    /// `overdue_grace` to `overdue_grace` + `rescue_interval`.
    pub stuck_host: Span,
    /// From the claim by a worker that is not registered: `orphan_grace` to `orphan_grace` +
    /// [`ORPHAN_INTERVAL`].
    pub orphan: Span,
    /// From the cancel of a job whose worker lives: at once by a notification, and where that is
    /// lost with the next heartbeat, 0 to 1.1 x `heartbeat_interval`.
    pub cancel: Span,
    /// From the death of the worker that runs a cancelled job: the earlier end of `crash` and
    /// `freeze` to the later one of both. The job is cancelled then, and runs no more.
    pub cancel_of_dead: Span,
    /// From the end of the leader's process, killed or stopped, to another leader: 0 to
    /// [`STANDBY_INTERVAL`].
    pub failover: Span,
    /// From the moment at which the leader freezes or is cut off to another leader: `leader_ttl` -
    /// `leader_renew_interval` to `leader_ttl` + [`STANDBY_INTERVAL`].
    pub failover_of_frozen: Span,
    /// From the time at which a job is due: 0 to `promote_interval`.
    pub promotion: Span,
    /// The same for one that becomes due while leadership changes: 0 to `leader_ttl` +
    /// [`STANDBY_INTERVAL`] + `promote_interval`.
    pub promotion_in_failover: Span,
}

impl RecoveryBounds {
    /// The bounds that follow from the settings.
    pub fn of(settings: &RecoverySettings) -> Self {
        let beat = longest_beat(settings.heartbeat_interval);
        let staleness = settings.heartbeat_staleness;
        let silence = Span::seen(staleness, settings.rescue_interval);
        let freeze = Span { min: staleness.saturating_sub(beat), max: silence.max };
        let failover = Span::seen(Duration::ZERO, STANDBY_INTERVAL);
        let failover_of_frozen = Span {
            min: settings.leader_ttl.saturating_sub(settings.leader_renew_interval),
            max: settings.leader_ttl.saturating_add(STANDBY_INTERVAL),
        };
        let promotion = Span::seen(Duration::ZERO, settings.promote_interval);
        let grace = settings.crash_grace;
        let seen = watch_interval(grace) + confirm_interval(grace) + CRASH_INTERVAL;
        let crash = (!grace.is_zero()).then(|| Span::seen(grace, seen));
        Self {
            crash,
            crash_of_leader: crash.map(|crash| failover.then(crash)),
            fence: lease_bound(staleness, settings.heartbeat_interval),
            silence,
            freeze,
            stuck_host: Span::seen(settings.overdue_grace, settings.rescue_interval),
            orphan: Span::seen(settings.orphan_grace, ORPHAN_INTERVAL),
            cancel: Span::seen(Duration::ZERO, beat),
            cancel_of_dead: crash.map_or(freeze, |crash| Span {
                min: crash.min.min(freeze.min),
                max: crash.max.max(freeze.max),
            }),
            failover,
            failover_of_frozen,
            promotion,
            promotion_in_failover: Span {
                min: Duration::ZERO,
                max: failover_of_frozen.max.saturating_add(promotion.max),
            },
        }
    }
}

/// How long to wait until the next heartbeat. `random` is uniform in `0.0..1.0`; the caller owns the
/// randomness.
pub fn next_beat(interval: Duration, random: f64) -> Duration {
    let jitter = interval / 100 * BEAT_JITTER_PERCENT;
    interval.saturating_sub(jitter).saturating_add(jitter.mul_f64(2.0 * random.clamp(0.0, 1.0)))
}

/// The longest wait between two heartbeats.
fn longest_beat(interval: Duration) -> Duration {
    interval.saturating_add(interval / 100 * BEAT_JITTER_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn defaults() -> RecoverySettings {
        RecoverySettings {
            heartbeat_interval: Duration::from_secs(30),
            heartbeat_staleness: Duration::from_secs(90),
            rescue_interval: Duration::from_secs(30),
            promote_interval: Duration::from_millis(250),
            crash_grace: Duration::from_secs(5),
            orphan_grace: Duration::from_secs(30),
            overdue_grace: Duration::from_secs(30),
            leader_ttl: Duration::from_secs(15),
            leader_renew_interval: Duration::from_secs(5),
        }
    }

    fn millis(min: u64, max: u64) -> Span {
        Span { min: Duration::from_millis(min), max: Duration::from_millis(max) }
    }

    fn seconds(min: u64, max: u64) -> Span {
        millis(min * 1000, max * 1000)
    }

    #[test]
    fn the_defaults_promise_what_the_documents_say() {
        let bounds = RecoveryBounds::of(&defaults());
        assert_eq!(bounds.crash, Some(millis(5_000, 5_875)));
        assert_eq!(bounds.crash_of_leader, Some(millis(5_000, 6_875)));
        assert_eq!(bounds.fence, Duration::from_secs(84));
        assert_eq!(bounds.silence, seconds(90, 120));
        assert_eq!(bounds.freeze, seconds(57, 120));
        assert_eq!(bounds.stuck_host, seconds(30, 60));
        assert_eq!(bounds.failover_of_frozen, seconds(10, 16));
        assert_eq!(bounds.cancel_of_dead, seconds(5, 120));
    }

    #[test]
    fn without_a_grace_there_is_no_fast_path() {
        let bounds =
            RecoveryBounds::of(&RecoverySettings { crash_grace: Duration::ZERO, ..defaults() });
        assert_eq!((bounds.crash, bounds.crash_of_leader), (None, None));
        assert_eq!(bounds.cancel_of_dead, bounds.freeze);
    }

    /// The first look at or after `time` of someone who looks every `interval`, `phase` off.
    fn look(time: Duration, interval: Duration, phase: Duration) -> Duration {
        let mut at = phase;
        while at < time {
            at += interval;
        }
        at
    }

    /// How much later than `start` something happened.
    fn after(start: Duration, end: Duration) -> Duration {
        end.checked_sub(start).unwrap()
    }

    fn some_settings() -> impl Strategy<Value = RecoverySettings> {
        let time = |millis: std::ops::Range<u64>| millis.prop_map(Duration::from_millis);
        let sweeps = (time(100..60_000), 3_u32..10, time(100..60_000), time(50..2_000));
        let graces = (time(1..30_000), time(1..60_000), time(1..60_000));
        let leader = (time(100..10_000), 2_u32..6);
        (sweeps, graces, leader).prop_map(|(sweeps, graces, leader)| RecoverySettings {
            heartbeat_interval: sweeps.0,
            heartbeat_staleness: sweeps.0 * sweeps.1,
            rescue_interval: sweeps.2,
            promote_interval: sweeps.3,
            crash_grace: graces.0,
            orphan_grace: graces.1,
            overdue_grace: graces.2,
            leader_ttl: leader.0 * leader.1,
            leader_renew_interval: leader.0,
        })
    }

    proptest! {
        /// The bounds against a worker that dies at any moment, and a leader that looks on its
        /// own clock, out of step with it.
        #[test]
        fn no_death_is_mended_outside_of_the_bounds(
            settings in some_settings(),
            died in 0.0..1.0_f64,
            watches in (0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64),
            sweeps in 0.0..1.0_f64,
            standby in 0.0..1.0_f64,
        ) {
            let bounds = RecoveryBounds::of(&settings);
            // The last heartbeat was at zero.
            let died = longest_beat(settings.heartbeat_interval).mul_f64(died);

            let (grace, watch) = (settings.crash_grace, watch_interval(settings.crash_grace));
            let confirm = confirm_interval(grace);
            let marks = watch.mul_f64(watches.0);
            // Out of step with the first look: a look may have been called for in between.
            let confirms = confirm.mul_f64(watches.1);
            let takes = CRASH_INTERVAL.mul_f64(watches.2);
            let marked = look(died, watch, marks);
            let sure = marked + look(grace, confirm, confirms);
            let taken = look(sure, CRASH_INTERVAL, takes);
            prop_assert!(bounds.crash.unwrap().contains(after(died, taken)));

            let leads = look(died, STANDBY_INTERVAL, STANDBY_INTERVAL.mul_f64(standby));
            prop_assert!(bounds.failover.contains(after(died, leads)));
            let marked = look(leads, watch, marks);
            let sure = marked + look(grace, confirm, confirms);
            let taken = look(sure, CRASH_INTERVAL, takes);
            prop_assert!(bounds.crash_of_leader.unwrap().contains(after(died, taken)));

            let phase = settings.rescue_interval.mul_f64(sweeps);
            let rescued = look(settings.heartbeat_staleness, settings.rescue_interval, phase);
            prop_assert!(bounds.silence.contains(rescued));
            prop_assert!(bounds.fence < rescued);
            prop_assert!(bounds.freeze.contains(after(died, rescued)));
            prop_assert!(bounds.cancel_of_dead.contains(after(died, rescued)));

            let ended = look(settings.overdue_grace, settings.rescue_interval, phase);
            prop_assert!(bounds.stuck_host.contains(ended));
        }

        /// A leader that freezes at any moment after a renewal.
        #[test]
        fn no_failover_is_outside_of_the_bounds(
            settings in some_settings(),
            froze in 0.0..1.0_f64,
            standby in 0.0..1.0_f64,
            promotes in 0.0..1.0_f64,
        ) {
            let bounds = RecoveryBounds::of(&settings);
            let froze = settings.leader_renew_interval.mul_f64(froze);
            let phase = STANDBY_INTERVAL.mul_f64(standby);
            let leads = look(settings.leader_ttl, STANDBY_INTERVAL, phase);
            prop_assert!(bounds.failover_of_frozen.contains(after(froze, leads)));
            // A job that becomes due as the leader freezes waits for the first sweep of the next.
            let promoted = leads + settings.promote_interval.mul_f64(promotes);
            prop_assert!(bounds.promotion_in_failover.contains(after(froze, promoted)));
        }

        /// Whatever the settings are, nothing overflows and no bound is upside down.
        #[test]
        fn the_ends_are_in_order(numbers: [u64; 9]) {
            let at = |index: usize| Duration::from_secs(numbers[index]);
            let bounds = RecoveryBounds::of(&RecoverySettings {
                heartbeat_interval: at(0),
                heartbeat_staleness: at(1),
                rescue_interval: at(2),
                promote_interval: at(3),
                crash_grace: at(4),
                orphan_grace: at(5),
                overdue_grace: at(6),
                leader_ttl: at(7),
                leader_renew_interval: at(8),
            });
            let mut all = vec![
                bounds.silence,
                bounds.freeze,
                bounds.stuck_host,
                bounds.orphan,
                bounds.cancel,
                bounds.cancel_of_dead,
                bounds.failover,
                bounds.failover_of_frozen,
                bounds.promotion,
                bounds.promotion_in_failover,
            ];
            all.extend(bounds.crash);
            all.extend(bounds.crash_of_leader);
            for span in all {
                prop_assert!(span.min <= span.max);
            }
        }
    }
}
