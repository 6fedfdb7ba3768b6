//! Settings that cannot work together: refused before anything is started.

use crate::support::{bare, finish};

/// S10, S14, S93: each refusal names the variables, the numbers, the reason and the way out.
#[test]
fn workers_do_not_start_with_settings_that_cannot_work() {
    for (variables, parts) in [
        (
            [("COFFERDAM_HEARTBEAT_INTERVAL", "10s"), ("COFFERDAM_HEARTBEAT_STALENESS", "29s")],
            [
                "COFFERDAM_HEARTBEAT_STALENESS is 29s, less than 3 times COFFERDAM_HEARTBEAT_INTERVAL (10s)",
                "would lose its jobs while it still runs them",
                "set it to 30s or more",
            ],
        ),
        (
            [("COFFERDAM_LEADER_TTL", "15s"), ("COFFERDAM_LEADER_RENEW_INTERVAL", "8s")],
            [
                "COFFERDAM_LEADER_TTL is 15s, less than 2 times COFFERDAM_LEADER_RENEW_INTERVAL (8s)",
                "would lose the lead",
                "set it to 16s or more",
            ],
        ),
        (
            [("COFFERDAM_DLQ_RETENTION", "0s"), ("COFFERDAM_HISTORY_RETENTION", "1d")],
            [
                "COFFERDAM_DLQ_RETENTION is 0s, less than a day",
                "gone before anybody looks at it",
                "set it to 1d or more",
            ],
        ),
        (
            [("COFFERDAM_HISTORY_RETENTION", "1h"), ("COFFERDAM_LOG_RETENTION", "1d")],
            ["COFFERDAM_HISTORY_RETENTION is 1h, less than a day", "cause:", "hint:"],
        ),
        (
            [("COFFERDAM_PRUNE_INTERVAL", "0s"), ("COFFERDAM_LOG_RETENTION", "1d")],
            ["COFFERDAM_PRUNE_INTERVAL is zero", "the default", "hint:"],
        ),
        (
            [("COFFERDAM_MAX_LEAKED", "0"), ("COFFERDAM_STALL_LIMIT", "1s")],
            ["COFFERDAM_MAX_LEAKED is not usable", "at least 1", "hint:"],
        ),
    ] {
        for role in ["worker", "dev"] {
            let mut command = bare();
            command.args([role, "--database-url", "postgres://nowhere"]).envs(variables);
            finish(&mut command).exits(2).complains(&parts);
        }
        finish(bare().arg("doctor").envs(variables)).exits(2).complains(&parts);
    }
}
