//! What the settings of recovery come to: the bounds with their formulas, and what is odd.

use super::{Check, Status};
use cofferdam_core::bounds::{
    CRASH_INTERVAL, ORPHAN_INTERVAL, RecoveryBounds, STANDBY_INTERVAL, Span, confirm_interval,
    watch_interval,
};
use cofferdam_core::units::format_duration;
use cofferdam_runner::WorkerSettings;
use serde::Serialize;
use std::time::Duration;

/// How long an outcome waits for the database: tries after 1, 2, 4 and 8 s.
const OUTCOME_TRIES: Duration = Duration::from_secs(15);
/// A promotion that comes later than this is felt by whoever waits for a retry.
const SLOW_PROMOTION: Duration = Duration::from_mins(1);

/// A bound, and how it comes about.
#[derive(Debug, Serialize)]
pub(super) struct Bound {
    /// What happens.
    what: &'static str,
    /// Not earlier than this after it.
    #[serde(with = "cofferdam_core::units::duration")]
    min: Duration,
    /// Not later than this.
    #[serde(with = "cofferdam_core::units::duration")]
    max: Duration,
    /// The settings that it follows from.
    formula: String,
}

impl Bound {
    /// Its times as people write them.
    pub(super) fn span(&self) -> String {
        let (min, max) = (format_duration(self.min), format_duration(self.max));
        if self.min == self.max { max } else { format!("{min}..{max}") }
    }

    /// What happens, when, and why then.
    pub(super) fn row(&self) -> [String; 3] {
        [format!("  {}", self.what), self.span(), self.formula.clone()]
    }
}

/// The bounds that follow from the settings.
pub(super) fn bounds(worker: &WorkerSettings) -> Vec<Bound> {
    let bounds = RecoveryBounds::of(&crate::settings::recovery(worker));
    let bound = |what, span: Span, formula: &str| Bound {
        what,
        min: span.min,
        max: span.max,
        formula: formula.to_owned(),
    };
    let shown = format_duration;
    let standby = shown(STANDBY_INTERVAL);
    let grace = worker.crash_grace;
    let steps = [watch_interval(grace), confirm_interval(grace), CRASH_INTERVAL];
    let detect = steps.map(shown).join(" + ");
    let mut all = Vec::new();
    if let (Some(crash), Some(of_leader)) = (bounds.crash, bounds.crash_of_leader) {
        let formula = format!("crash_grace .. + {detect}");
        all.push(bound("a worker's process dies: its jobs are claimable", crash, &formula));
        let formula = format!("crash_grace .. + {standby} + {detect}");
        all.push(bound("the same of the leader", of_leader, &formula));
    }
    let fence = Span { min: bounds.fence, max: bounds.fence };
    all.extend([
        bound(
            "a machine freezes or is cut off: its jobs are claimable",
            bounds.freeze,
            "heartbeat_staleness - 1.1 x heartbeat_interval .. heartbeat_staleness + rescue_interval",
        ),
        bound(
            "after the last heartbeat: its jobs are claimable",
            bounds.silence,
            "heartbeat_staleness .. + rescue_interval",
        ),
        bound(
            "after the last heartbeat: a worker that is cut off ends its attempts",
            fence,
            "heartbeat_staleness - heartbeat_interval / 5",
        ),
        bound(
            "a deadline that its worker does not keep: the attempt is over",
            bounds.stuck_host,
            "overdue_grace .. + rescue_interval",
        ),
        bound(
            "a lease whose worker is not registered: the job is claimable",
            bounds.orphan,
            &format!("orphan_grace .. + {}", shown(ORPHAN_INTERVAL)),
        ),
        bound(
            "a running job is cancelled: its guest is killed",
            bounds.cancel,
            "at once .. 1.1 x heartbeat_interval where the notification is lost",
        ),
        bound(
            "the same when its worker dies: the job is over",
            bounds.cancel_of_dead,
            "as the worker's death, or its silence",
        ),
        bound(
            "the leader ends: another one leads",
            bounds.failover,
            &format!("0s .. {standby}"),
        ),
        bound(
            "the leader freezes or is cut off: another one leads",
            bounds.failover_of_frozen,
            &format!("leader_ttl - leader_renew_interval .. leader_ttl + {standby}"),
        ),
        bound("a job is due: it is claimable", bounds.promotion, "0s .. promote_interval"),
        bound(
            "the same while the lead changes hands",
            bounds.promotion_in_failover,
            &format!("0s .. leader_ttl + {standby} + promote_interval"),
        ),
        bound(
            "a worker is told to stop: it is gone, but for writing its outcomes",
            Span { min: Duration::ZERO, max: worker.drain_grace },
            "0s .. drain_grace",
        ),
    ]);
    all
}

/// Settings that work, but not as whoever set them will have thought.
pub(super) fn checks(worker: &WorkerSettings) -> Vec<Check> {
    let shown = format_duration;
    let staleness = shown(worker.heartbeat_staleness);
    let mut odd = Vec::new();
    let mut warn = |found: String, advice: &str| {
        odd.push(Check::new("recovery", Status::Warn, found).advice(advice));
    };
    if worker.crash_grace.is_zero() {
        warn(
            format!("crash_grace is 0s: a worker that dies is noticed after {staleness}"),
            "set crash_grace to 5s, unless a pooler stands between the workers and Postgres",
        );
    } else if worker.crash_grace >= worker.heartbeat_staleness {
        warn(
            format!(
                "crash_grace is {}, no less than heartbeat_staleness ({staleness})",
                shown(worker.crash_grace)
            ),
            "the fast path never comes first; shorten crash_grace",
        );
    }
    if worker.rescue_interval > worker.heartbeat_staleness {
        warn(
            format!(
                "rescue_interval is {}, more than heartbeat_staleness ({staleness})",
                shown(worker.rescue_interval)
            ),
            "jobs wait for the sweep rather than for certainty; shorten rescue_interval",
        );
    }
    if worker.overdue_grace < OUTCOME_TRIES {
        warn(
            format!("overdue_grace is {}", shown(worker.overdue_grace)),
            "an outcome that waits for the database is tried for 15s and would be lost; \
             set overdue_grace to 15s or more",
        );
    }
    if worker.orphan_grace >= worker.heartbeat_staleness {
        warn(
            format!(
                "orphan_grace is {}, no less than heartbeat_staleness ({staleness})",
                shown(worker.orphan_grace)
            ),
            "heartbeats find such leases first; shorten orphan_grace",
        );
    }
    if worker.leader_ttl >= worker.heartbeat_staleness {
        warn(
            format!(
                "leader_ttl is {}, no less than heartbeat_staleness ({staleness})",
                shown(worker.leader_ttl)
            ),
            "jobs of a frozen leader wait for its successor; shorten leader_ttl",
        );
    }
    if worker.stall_limit >= worker.heartbeat_staleness {
        warn(
            format!(
                "stall_limit is {}, no less than heartbeat_staleness ({staleness})",
                shown(worker.stall_limit)
            ),
            "a stuck guest keeps its job for longer than a dead worker; shorten stall_limit",
        );
    }
    if worker.promote_interval > SLOW_PROMOTION {
        warn(
            format!("promote_interval is {}", shown(worker.promote_interval)),
            "delayed and retried jobs start that much later; shorten promote_interval",
        );
    }
    if worker.dlq_retention < worker.history_retention {
        warn(
            format!(
                "dlq_retention is {}, less than history_retention ({})",
                shown(worker.dlq_retention),
                shown(worker.history_retention)
            ),
            "what failed would be gone before what went well; lengthen dlq_retention",
        );
    }
    if odd.is_empty() {
        odd.push(Check::ok("recovery", "the settings fit together; what follows is below"));
    }
    odd
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S37: the command explains what the settings come to.
    #[test]
    fn the_defaults_are_not_odd_and_are_explained() {
        let worker = WorkerSettings::default();
        let [check] = checks(&worker).try_into().unwrap();
        assert_eq!(check.status, Status::Ok);
        let bounds = bounds(&worker);
        let [what, span, formula] = bounds[0].row();
        assert_eq!(what, "  a worker's process dies: its jobs are claimable");
        assert_eq!(span, "5s..5s875ms");
        assert_eq!(formula, "crash_grace .. + 500ms + 125ms + 250ms");
        assert!(bounds.iter().any(|bound| bound.span() == "1m30s..2m"));
    }

    #[test]
    fn every_oddity_is_said_with_what_to_do() {
        let minutes = Duration::from_mins;
        let odd = |change: &dyn Fn(&mut WorkerSettings)| {
            let mut worker = WorkerSettings::default();
            change(&mut worker);
            assert_eq!(worker.check(), Ok(()), "it works, and is odd");
            let [check] = checks(&worker).try_into().unwrap();
            assert_eq!(check.status, Status::Warn);
            assert!(check.advice.is_some(), "{check:?}");
            check.found
        };
        let said = [
            odd(&|worker| worker.crash_grace = Duration::ZERO),
            odd(&|worker| worker.crash_grace = minutes(2)),
            odd(&|worker| worker.rescue_interval = minutes(5)),
            odd(&|worker| worker.overdue_grace = Duration::from_secs(1)),
            odd(&|worker| worker.orphan_grace = minutes(2)),
            odd(&|worker| worker.leader_ttl = minutes(2)),
            odd(&|worker| worker.stall_limit = minutes(2)),
            odd(&|worker| worker.promote_interval = minutes(2)),
            odd(&|worker| worker.dlq_retention = Duration::from_hours(48)),
        ];
        assert_eq!(said[1], "crash_grace is 2m, no less than heartbeat_staleness (1m30s)");
        assert_eq!(said[8], "dlq_retention is 2d, less than history_retention (7d)");
    }
}
