//! With every guard in place every property holds, in configurations that each look at one side
//! of the protocol closely and at the rest through fewer faults.
//!
//! Each prints how many states it has; `docs/model.md` has the table.
#![expect(clippy::print_stdout, reason = "the numbers of states are for those who ask for them")]

use cofferdam_model::{Budget, Clocks, Fault, Outcome, Protocol, reach_ends};
use stateright::{Checker, Model};
use std::time::Instant;

/// Two, because the machines that check changes have at least that.
const THREADS: usize = 2;

fn budget(faults: u8, cancels: u8, drains: u8) -> Budget {
    Budget { faults, cancels, drains }
}

/// Looks at every state.
fn check(what: &str, model: Protocol) {
    let start = Instant::now();
    let checker = model.checker().threads(THREADS).spawn_bfs().join();
    println!(
        "{what}: {} states, {} steps, depth {}, {:.1} s",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        start.elapsed().as_secs_f64(),
    );
    checker.assert_properties();
}

/// Three jobs share two workers, one of which crashes, stops, goes silent, or loses an answer.
#[test]
fn three_jobs_and_a_fault() {
    let mut model = Protocol::new(3, budget(1, 0, 0));
    (model.backoff, model.keep_stale, model.max_attempts) = (false, false, 1);
    check("three jobs, a fault", model);
}

/// Both workers crash or stop, or one of them twice, with all jobs on them.
#[test]
fn three_jobs_and_two_processes_that_fail() {
    let mut model = Protocol::new(3, budget(2, 0, 0));
    (model.backoff, model.keep_stale) = (false, false);
    model.faults = &[Fault::Crash, Fault::Pause];
    model.endings = &[Outcome::Completed];
    check("three jobs, two failing processes", model);
}

/// Both workers may fail, or one of them twice, while the other one goes on.
#[test]
fn two_jobs_and_two_faults() {
    let mut model = Protocol::new(2, budget(2, 0, 0));
    (model.backoff, model.keep_stale, model.max_attempts) = (false, false, 1);
    check("two jobs, two faults", model);
}

/// An operator cancels one job and drains one worker, and something fails meanwhile.
#[test]
fn two_jobs_a_fault_a_cancel_and_a_drain() {
    let mut model = Protocol::new(2, budget(1, 1, 1));
    (model.backoff, model.keep_stale, model.max_attempts) = (false, false, 1);
    check("two jobs, a fault, a cancel, a drain", model);
}

/// Messages arrive long after their lease is over, and failed attempts wait out their backoff.
#[test]
fn two_jobs_a_fault_and_every_late_message() {
    check("two jobs, a fault, every late message", Protocol::new(2, budget(1, 0, 0)));
}

/// Everything at once that can befall one job: a clock that slips, late messages, a crash and a
/// pause, a cancel and a drain, and every way to end.
#[test]
fn one_job_and_everything() {
    let mut model = Protocol::new(1, budget(2, 1, 1));
    model.endings = &[Outcome::Completed, Outcome::Permanent, Outcome::Trapped];
    check("one job, everything", model);
}

/// Guests that never end by themselves are ended by their deadline, by their worker or by a sweep.
#[test]
fn guests_that_never_end_end_by_their_deadline() {
    let mut model = Protocol::new(2, budget(1, 0, 0));
    model.endings = &[];
    model.clocks = Clocks { deadline: Some(3), ..Clocks::default() };
    (model.backoff, model.keep_stale) = (false, false);
    check("two jobs that never end, a fault", model);
}

/// From every state there is a way on which all jobs end, without luck and without an operator.
#[test]
fn every_job_can_always_still_end() {
    let mut quiet = Protocol::new(2, budget(1, 0, 0));
    (quiet.backoff, quiet.keep_stale) = (false, false);
    let mut endless = Protocol::new(1, budget(2, 1, 1));
    endless.endings = &[];
    endless.clocks = Clocks { deadline: Some(2), ..Clocks::default() };
    let busy = Protocol::new(1, budget(2, 1, 1));
    for (what, model) in [("two jobs", quiet), ("one that never ends", endless), ("one job", busy)]
    {
        let start = Instant::now();
        let reach = reach_ends(&model);
        let (states, ends) = (reach.states, reach.ends);
        println!("{what}: {ends} ends of {states}, {:.1} s", start.elapsed().as_secs_f64());
        assert!(ends > 0);
        assert_eq!(reach.stuck, None, "{what}");
    }
}
