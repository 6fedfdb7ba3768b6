//! The run queue of a guest thread: whose turn is next.
//!
//! Most attempts need a processor for less than a few milliseconds in all. Behind a thread full of
//! guests that use every turn to its end, each of their turns would wait for one of everybody
//! else's. So there are two queues: who has used little comes first, and who has used more waits,
//! but never for more than a few turns of those. Within each, turns are round robin.

use crate::task::TaskId;
use std::collections::VecDeque;
use std::time::Duration;

/// How much of a processor an attempt may use before its turns come after those of others. A guest
/// that is hostile loses its place with its first few ticks, and nothing that it does gets it back.
pub(crate) const QUICK: Duration = Duration::from_millis(4);

/// How many turns in a row the first queue has while somebody waits in the second: a flood of short
/// attempts takes no long one's turns away for good.
const STREAK: u32 = 16;

/// What an attempt was like so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It has used less than [`QUICK`] of a processor.
    Quick,
    /// It has used more.
    Slow,
}

/// Tasks that wait for a turn.
#[derive(Default)]
pub(crate) struct RunQueue {
    quick: VecDeque<TaskId>,
    slow: VecDeque<TaskId>,
    /// Turns of quick tasks since the last one of a slow task.
    streak: u32,
}

impl RunQueue {
    /// Puts a task behind those of its pace.
    pub(crate) fn push(&mut self, id: TaskId, pace: Pace) {
        match pace {
            Pace::Quick => self.quick.push_back(id),
            Pace::Slow => self.slow.push_back(id),
        }
    }

    /// Takes whoever is next.
    pub(crate) fn pop(&mut self) -> Option<TaskId> {
        let slow_is_due = self.streak >= STREAK || self.quick.is_empty();
        if slow_is_due && let Some(id) = self.slow.pop_front() {
            self.streak = 0;
            return Some(id);
        }
        let id = self.quick.pop_front()?;
        self.streak = self.streak.saturating_add(1);
        Some(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.quick.len() + self.slow.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.quick.is_empty() && self.slow.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(quick: impl IntoIterator<Item = TaskId>, slow: &[TaskId]) -> RunQueue {
        let mut queue = RunQueue::default();
        quick.into_iter().for_each(|id| queue.push(id, Pace::Quick));
        slow.iter().for_each(|&id| queue.push(id, Pace::Slow));
        queue
    }

    #[test]
    fn who_has_used_little_comes_first_and_each_in_order() {
        let mut queue = queue([3, 1], &[7, 5]);
        assert_eq!(queue.len(), 4);
        let turns: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(turns, [3, 1, 7, 5]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_flood_of_quick_ones_does_not_starve_the_others() {
        // Given more quick tasks than can have their turns
        let mut queue = queue(100..200, &[1, 2]);
        // then the slow ones have theirs in between.
        let turns: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let place = |id| turns.iter().position(|&turn| turn == id).unwrap();
        assert_eq!(place(1), STREAK as usize);
        assert_eq!(place(2), 2 * STREAK as usize + 1);
    }
}
