//! The one decision about a job whose attempt did not succeed.
//!
//! Workers, sweeps and operators all come through [`fail_attempt`]: a failure whose evidence
//! arrives late is decided like any other.

use crate::class::{Counts, Decision, FailureClass};
use crate::job::{DEFAULT_MAX_ATTEMPTS, DEFAULT_MAX_CRASHES};
use crate::outcome::RetryAdvice;
use crate::retry::{Backoff, MAX_DELAY};
use crate::state::{Event, JobState};
use crate::wait::{MAX_WAIT, MIN_WAIT};
use std::time::Duration;

/// The shortest snooze. A snooze is counted against nothing, so a shorter one would let a handler
/// spin through the database for ever.
pub const MIN_SNOOZE: Duration = Duration::from_secs(1);

/// How often a job was attempted and lost, not counting the attempt that just ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Attempts that counted against `max_attempts`.
    pub attempts: u32,
    /// Attempts that counted against `max_crashes`.
    pub crashes: u32,
}

/// How often a job may fail, and how it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all.
    pub max_attempts: u32,
    /// Lost attempts in all.
    pub max_crashes: u32,
    /// The delay between attempts.
    pub backoff: Backoff,
    /// Classes that would end the job as `failed`, but are retried for this one.
    pub retry_classes: Vec<FailureClass>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: DEFAULT_MAX_ATTEMPTS,
            max_crashes: DEFAULT_MAX_CRASHES,
            backoff: Backoff::default(),
            retry_classes: Vec::new(),
        }
    }
}

/// What becomes of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The transition to carry out from `running`.
    pub event: Event,
    /// The state that it leads to.
    pub state: JobState,
    /// How long the job waits there; zero unless the state is `retryable`, `scheduled` or
    /// `suspended`, where it is the longest.
    pub delay: Duration,
    /// The counters afterwards.
    pub counters: Counters,
    /// Why the job is dead, when it is.
    pub exhausted: Option<Exhausted>,
}

/// Which budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// `max_attempts`.
    Attempts,
    /// `max_crashes`: the job takes its workers with it.
    Crashes,
}

impl Exhausted {
    /// The reason's name in the API and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Crashes => "crashed",
        }
    }
}

/// Decides. `jitter` is uniform in `0.0..1.0`.
pub fn fail_attempt(
    class: FailureClass,
    advice: RetryAdvice,
    before: Counters,
    policy: &RetryPolicy,
    jitter: f64,
) -> Verdict {
    let rule = class.rule();
    let counters = match rule.counts {
        Counts::Attempt => Counters { attempts: before.attempts.saturating_add(1), ..before },
        Counts::Crash => Counters { crashes: before.crashes.saturating_add(1), ..before },
        Counts::Nothing => before,
    };
    let exhausted = if rule.counts == Counts::Crash && counters.crashes >= policy.max_crashes {
        Some(Exhausted::Crashes)
    } else if rule.counts == Counts::Attempt && counters.attempts >= policy.max_attempts {
        Some(Exhausted::Attempts)
    } else {
        None
    };
    let advised = match advice {
        RetryAdvice::Default | RetryAdvice::Wait(_) => None,
        RetryAdvice::After(delay) => Some(delay.min(MAX_DELAY)),
    };

    let verdict =
        |event, state, delay, exhausted| Verdict { event, state, delay, counters, exhausted };
    let retry = |delay: Duration| match (exhausted, delay.is_zero()) {
        (Some(_), _) => verdict(Event::Exhausted, JobState::Dead, Duration::ZERO, exhausted),
        (None, true) => {
            verdict(Event::AttemptFailed { at_once: true }, JobState::Available, delay, None)
        }
        (None, false) => {
            verdict(Event::AttemptFailed { at_once: false }, JobState::Retryable, delay, None)
        }
    };
    let by_backoff =
        || retry(advised.unwrap_or_else(|| policy.backoff.delay(counters.attempts, jitter)));
    let fail = || verdict(Event::FailedForGood, JobState::Failed, Duration::ZERO, None);

    match rule.decision {
        Decision::Retry => by_backoff(),
        Decision::FailUnlessPolicy if policy.retry_classes.contains(&class) => by_backoff(),
        Decision::FailUnlessPolicy | Decision::Fail => fail(),
        Decision::RetryAtOnce => retry(Duration::ZERO),
        Decision::GiveBack => match advised {
            // What failed on this host may fail again at once: the caller says how long to wait.
            Some(delay) if !delay.is_zero() => {
                verdict(Event::Snoozed, JobState::Scheduled, delay, None)
            }
            _ => verdict(Event::Released, JobState::Available, Duration::ZERO, None),
        },
        Decision::Later if let RetryAdvice::Wait(timeout) = advice => {
            verdict(Event::Suspended, JobState::Suspended, timeout.clamp(MIN_WAIT, MAX_WAIT), None)
        }
        Decision::Later => {
            let delay = advised.unwrap_or_default().max(MIN_SNOOZE);
            verdict(Event::Snoozed, JobState::Scheduled, delay, None)
        }
        Decision::Cancel => verdict(Event::Cancelled, JobState::Cancelled, Duration::ZERO, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::next;
    use proptest::prelude::*;

    fn decide(class: FailureClass, attempts: u32, crashes: u32) -> Verdict {
        let before = Counters { attempts, crashes };
        fail_attempt(class, RetryAdvice::Default, before, &RetryPolicy::default(), 1.0)
    }

    #[test]
    fn an_always_failing_job_runs_exactly_four_times() {
        let mut runs = 0;
        let mut counters = Counters::default();
        loop {
            runs += 1;
            let verdict = fail_attempt(
                FailureClass::Error,
                RetryAdvice::Default,
                counters,
                &RetryPolicy::default(),
                0.5,
            );
            counters = verdict.counters;
            if verdict.state.is_terminal() {
                assert_eq!(verdict.exhausted, Some(Exhausted::Attempts));
                break;
            }
        }
        assert_eq!(runs, 4);
    }

    #[test]
    fn lost_attempts_have_a_budget_of_their_own() {
        let verdict = decide(FailureClass::Lost, 3, 1);
        assert_eq!(verdict.state, JobState::Available);
        assert_eq!(verdict.counters, Counters { attempts: 3, crashes: 2 });
        assert_eq!(decide(FailureClass::Lost, 0, 2).exhausted, Some(Exhausted::Crashes));
    }

    #[test]
    fn a_drain_costs_nothing() {
        let verdict = decide(FailureClass::Released, 3, 2);
        assert_eq!(verdict.state, JobState::Available);
        assert_eq!(verdict.counters, Counters { attempts: 3, crashes: 2 });
    }

    #[test]
    fn what_is_given_back_may_have_to_wait() {
        let give_back = |advice| {
            let policy = RetryPolicy::default();
            fail_attempt(FailureClass::Released, advice, Counters::default(), &policy, 0.0)
        };
        assert_eq!(give_back(RetryAdvice::Default).state, JobState::Available);
        let later = give_back(RetryAdvice::After(Duration::from_secs(2)));
        assert_eq!((later.state, later.delay), (JobState::Scheduled, Duration::from_secs(2)));
        assert_eq!(later.counters, Counters::default());
    }

    #[test]
    fn a_snooze_is_not_a_spin() {
        let policy = RetryPolicy::default();
        let advice = RetryAdvice::After(Duration::ZERO);
        let verdict =
            fail_attempt(FailureClass::Snoozed, advice, Counters::default(), &policy, 0.0);
        assert_eq!((verdict.state, verdict.delay), (JobState::Scheduled, MIN_SNOOZE));
    }

    /// S39.
    #[test]
    fn a_wait_counts_nothing_and_has_bounds() {
        let (before, policy) = (Counters { attempts: 3, crashes: 2 }, RetryPolicy::default());
        let decide =
            |class| fail_attempt(class, RetryAdvice::Wait(Duration::MAX), before, &policy, 0.0);
        let verdict = decide(FailureClass::Snoozed);
        assert_eq!((verdict.state, verdict.delay), (JobState::Suspended, MAX_WAIT));
        assert_eq!(verdict.counters, before);
        assert_eq!(next(JobState::Running, verdict.event), Ok(JobState::Suspended));
        // Nothing but what the handler asked for in order puts a job aside.
        assert_eq!(decide(FailureClass::Error).state, JobState::Dead);
    }

    #[test]
    fn the_same_input_meets_the_same_limit() {
        for class in [FailureClass::Fuel, FailureClass::Memory, FailureClass::Output] {
            assert_eq!(decide(class, 0, 0).state, JobState::Failed, "{class}");
            let policy = RetryPolicy { retry_classes: vec![class], ..RetryPolicy::default() };
            let verdict =
                fail_attempt(class, RetryAdvice::Default, Counters::default(), &policy, 1.0);
            assert_eq!(verdict.state, JobState::Retryable, "{class}");
        }
    }

    #[test]
    fn the_handler_may_name_the_delay() {
        let delay = Duration::from_secs(7);
        let verdict = fail_attempt(
            FailureClass::Error,
            RetryAdvice::After(delay),
            Counters::default(),
            &RetryPolicy::default(),
            0.0,
        );
        assert_eq!(verdict.delay, delay);
    }

    proptest! {
        /// Every verdict is a transition that the state machine allows, and counts never shrink.
        #[test]
        fn verdicts_are_legal(
            class in 0..FailureClass::ALL.len(), attempts in 0_u32..200, crashes in 0_u32..200,
            jitter in 0.0_f64..1.0,
        ) {
            let before = Counters { attempts, crashes };
            let verdict = fail_attempt(
                FailureClass::ALL[class], RetryAdvice::Default, before,
                &RetryPolicy::default(), jitter,
            );
            prop_assert_eq!(next(JobState::Running, verdict.event), Ok(verdict.state));
            prop_assert!(verdict.counters.attempts >= attempts);
            prop_assert!(verdict.counters.crashes >= crashes);
            prop_assert_eq!(verdict.exhausted.is_some(), verdict.state == JobState::Dead);
        }
    }
}
