//! Without any one guard a property fails, so the check sees what it is there to see.
//!
//! States are not reduced here, so that jobs and workers keep their names along the path that a
//! failing test prints.
#![expect(clippy::print_stdout, reason = "the paths are for those who ask for them")]

use cofferdam_model::{Action, Budget, Fault, Guard, Guards, Protocol, name, reach_ends};
use stateright::{Checker, HasDiscoveries, Model};

/// One job, two workers, and as much trouble as the story needs.
fn one_job(faults: u8, guards: Guards) -> Protocol {
    let budget = Budget { faults, cancels: 0, drains: 0 };
    Protocol { guards, reduce: false, ..Protocol::new(1, budget) }
}

/// A way to the failure of a property, one of the shortest.
fn path_to(property: &'static str, model: &Protocol) -> Option<Vec<Action>> {
    let mut shortest: Option<Vec<Action>> = None;
    loop {
        // The checker looks at states in blocks and keeps the last failure of a block, so it is
        // asked again for a shorter one. A path of n steps has n + 1 states.
        let found = HasDiscoveries::AnyOf([property].into());
        let mut checker = model.clone().checker().finish_when(found);
        if let Some(path) = &shortest {
            checker = checker.target_max_depth(path.len() + 1);
        }
        match checker.spawn_bfs().join().discovery(property) {
            Some(path) => shortest = Some(path.into_actions()),
            None => return shortest,
        }
    }
}

/// Without the guards the property fails, on a path with these steps in this order; with them it
/// holds in the very same configuration.
fn prevents(property: &'static str, model: &Protocol, story: &[Step]) {
    let path = path_to(property, model);
    assert!(path.is_some(), "nothing breaks `{property}`");
    let path = path.unwrap_or_default();
    let text = format!("{path:#?}");
    println!("`{property}` fails by\n{text}");
    let mut steps = path.iter();
    for (number, expected) in story.iter().enumerate() {
        assert!(steps.any(expected), "step {number} of the story is not in\n{text}");
    }
    let whole = Protocol { guards: Guards::ALL, ..model.clone() };
    assert_eq!(path_to(property, &whole), None, "`{property}` with every guard");
}

/// A step of a story.
type Step = fn(&Action) -> bool;

const CLAIM: Step = |action| matches!(action, Action::Claim(_));
const CRASH: Step = |action| matches!(action, Action::Crash(_));
const APPLY_BEAT: Step = |action| matches!(action, Action::ApplyBeat(_));
const RESCUE_STALE: Step = |action| matches!(action, Action::RescueStale(_));
const RESCUE_GONE: Step = |action| matches!(action, Action::RescueGone(_));
const READ: Step = |action| matches!(action, Action::ReadStale(..));
const WRITE: Step = |action| matches!(action, Action::WriteStale(..));

#[test]
fn without_fencing_outcomes_an_old_one_is_applied() {
    let model = one_job(1, Guards::ALL.without(Guard::FinishFenced));
    prevents(name::NO_STALE_OUTCOME, &model, &[CLAIM]);
    prevents(name::ONE_PLACE, &model, &[CLAIM]);
}

#[test]
fn without_fencing_beats_a_lease_is_renewed_by_another_worker() {
    let model = one_job(1, Guards::ALL.without(Guard::BeatFenced));
    prevents(name::RENEWED_BY_HOLDER, &model, &[CLAIM, CLAIM, APPLY_BEAT]);
}

#[test]
fn without_the_fence_a_silent_worker_runs_what_was_rescued() {
    let model = one_job(1, Guards::ALL.without(Guard::SelfFence));
    let pause: Step = |action| matches!(action, Action::Pause(_));
    let resume: Step = |action| matches!(action, Action::Resume(_));
    prevents(name::ONE_ATTEMPT, &model, &[CLAIM, pause, RESCUE_STALE, CLAIM, resume]);
}

#[test]
fn without_the_fence_lost_beats_are_enough() {
    let mut model = one_job(4, Guards::ALL.without(Guard::SelfFence));
    model.endings = &[];
    model.faults = &[Fault::Loss];
    prevents(name::ONE_ATTEMPT, &model, &[CLAIM, RESCUE_STALE, CLAIM]);
}

#[test]
fn without_a_look_before_the_turn_a_stopped_worker_wakes_up_running() {
    let model = one_job(1, Guards::ALL.without(Guard::FenceBeforeTurn));
    let pause: Step = |action| matches!(action, Action::Pause(_));
    let resume: Step = |action| matches!(action, Action::Resume(_));
    prevents(name::ONE_ATTEMPT, &model, &[CLAIM, pause, RESCUE_STALE, CLAIM, resume]);
}

#[test]
fn measured_from_the_answer_the_fence_is_too_late() {
    let mut model = one_job(4, Guards::ALL.without(Guard::FenceFromSent));
    model.endings = &[];
    model.faults = &[Fault::Loss];
    let hear: Step = |action| matches!(action, Action::HearBeat(_));
    prevents(name::ONE_ATTEMPT, &model, &[CLAIM, APPLY_BEAT, hear, RESCUE_STALE, CLAIM]);
}

#[test]
fn a_rescue_in_two_transactions_takes_a_lease_that_was_renewed() {
    let model = one_job(2, Guards::ALL.without(Guard::RescueInOneTransaction));
    prevents(name::ONLY_STALE_RESCUED, &model, &[READ, APPLY_BEAT, WRITE]);
}

#[test]
fn a_rescue_that_also_forgets_what_it_read_takes_the_next_lease() {
    let guards = Guards::ALL.without(Guard::RescueInOneTransaction).without(Guard::RescueFenced);
    prevents(name::ONE_ATTEMPT, &one_job(1, guards), &[READ, CLAIM, WRITE, CLAIM]);
    // Of the two one is enough to keep a second attempt from running.
    for guard in [Guard::RescueInOneTransaction, Guard::RescueFenced] {
        let model = one_job(1, Guards::ALL.without(guard));
        assert_eq!(path_to(name::ONE_ATTEMPT, &model), None, "without {guard:?}");
    }
}

#[test]
fn two_claims_of_one_row_run_it_twice() {
    let model = one_job(0, Guards::ALL.without(Guard::ClaimExclusive));
    prevents(name::ONE_ATTEMPT, &model, &[CLAIM, CLAIM]);
}

#[test]
fn a_cancel_that_is_only_told_dies_with_the_worker() {
    let mut model = one_job(1, Guards::ALL.without(Guard::DurableCancel));
    model.budget.cancels = 1;
    model.endings = &[];
    let cancel: Step = |action| matches!(action, Action::Cancel(_));
    prevents(name::CANCEL_HOLDS, &model, &[CLAIM, cancel, CLAIM]);
}

#[test]
fn without_a_crash_budget_a_job_is_lost_more_often_than_it_may_be() {
    let mut model = one_job(2, Guards::ALL.without(Guard::CrashBudget));
    model.max_crashes = 1;
    prevents(name::COUNTED, &model, &[CRASH, RESCUE_GONE, CRASH, RESCUE_GONE]);
}

#[test]
fn a_fast_path_that_takes_a_living_workers_lease_runs_it_twice() {
    let model = one_job(0, Guards::ALL.without(Guard::GoneMeansDead));
    prevents(name::ONE_ATTEMPT, &model, &[CLAIM, RESCUE_GONE, CLAIM]);
}

#[test]
fn without_rescues_by_heartbeat_a_job_whose_claim_nobody_heard_never_ends() {
    let mut model = one_job(1, Guards::ALL.without(Guard::StaleRescue));
    let stuck = reach_ends(&model).stuck.expect("a state without a way to an end");
    assert!(stuck.jobs[0].lease.is_some(), "{stuck:#?}");
    model.guards = Guards::ALL;
    assert_eq!(reach_ends(&model).stuck, None);
}
