//! The `PostgreSQL` server that the tests of a run share.

use cofferdam_localpg::{Cluster, ClusterSettings};
use std::sync::OnceLock;

/// Names a server to use, by the URL of a database from which others can be made. `cargo xtask
/// test` starts one for all test programs of the run.
const VARIABLE: &str = "COFFERDAM_TEST_POSTGRES";

/// The server of this process, when it had to start its own.
static OWN: OnceLock<Cluster> = OnceLock::new();

/// The URL of a database from which others can be made. The first call of a process may start a
/// server, which takes a second or two, and which its watcher stops when the process has ended:
/// nothing else would, because the value of a `static` is never dropped.
pub fn admin_url() -> String {
    if let Some(url) = std::env::var_os(VARIABLE) {
        return url.into_string().expect("the URL of the test server is text");
    }
    OWN.get_or_init(start).url("postgres")
}

fn start() -> Cluster {
    let folder = std::env::temp_dir().join(format!("cofferdam-tests-{}", std::process::id()));
    // Data need not outlive the run, so nothing waits for the disk. Tests run side by side, and
    // each has pools of its own.
    let settings = ClusterSettings::temporary(folder).with("max_connections", "400");
    match Cluster::open(&settings) {
        Ok(cluster) => cluster,
        Err(error) => panic!(
            "cannot start PostgreSQL for the tests: {error}\nhint: {}",
            error.hint().unwrap_or_else(|| format!("name a server with {VARIABLE}"))
        ),
    }
}
