//! The short form of the chaos suite: every kind of fault, in about a minute. The long form is
//! `cargo xtask chaos`.

use cofferdam_chaos::{Settings, run};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// How long faults are injected at least. The schedule's first round takes about as long.
const SHORT: Duration = Duration::from_secs(45);

/// S1, S15, S29, S101: whatever dies, every job comes to an end without an operator.
/// S9, S102: workers keep what they hold, and jobs are claimed, while leaders die.
/// S61, S87: outcomes wait for a database that is away, and none is written twice.
/// S100: what was accepted runs, or ends visibly.
#[test]
fn nothing_is_lost_and_nothing_runs_twice_at_once_whatever_breaks() {
    // Given a platform under load, and a schedule of faults that is another one each time
    let settings = Settings {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_cofferdam")),
        component: cofferdam_testkit::component("misbehave"),
        seed: u64::from(rand::random::<u32>()),
        duration: SHORT,
        loud: false,
        log: None,
    };
    let seed = settings.seed;

    // When everything breaks that can, and then comes to rest
    let report = match run(&settings) {
        Ok(report) => report,
        Err(error) => panic!("seed {seed}: the run could not be carried out: {error:#}"),
    };

    // Then every job has come to the one end that was meant for it
    assert!(report.is_clean(), "seed {seed}\n{}", report.text());
    assert_eq!((report.overlaps, report.lost), (0, 0));
    let missing: BTreeSet<_> = report.faults_that_never_came().into_iter().collect();
    assert_eq!(missing, BTreeSet::new(), "seed {seed}\n{}", report.text());
}
