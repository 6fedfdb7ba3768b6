//! Checks of Postgres: the binaries on this machine, and the database that is named.

use super::{Check, Status};
use crate::commands::dev::without_password;
use crate::wire;
use chrono::TimeDelta;
use cofferdam_store::{Store, StoreSettings};
use std::path::Path;
use std::time::Instant;

/// A difference of the clocks that is worth a word. Nothing breaks by it, because the database's
/// clock alone decides about jobs, but times in logs and in the API do not fit together.
const SKEW: TimeDelta = TimeDelta::seconds(2);

/// Whether `dev` can run a private Postgres.
pub(super) async fn binaries(data_dir: &Path) -> Check {
    const NAME: &str = "postgres";
    let found = tokio::task::spawn_blocking(cofferdam_localpg::find_binaries).await;
    match found {
        Ok(Ok(binaries)) => Check::ok(
            NAME,
            format!(
                "{} in {}; `dev` keeps its data in {}",
                binaries.version(),
                binaries.dir().display(),
                data_dir.display()
            ),
        ),
        // Only `dev` needs them: a worker beside a database of its own is well without.
        Ok(Err(error)) => {
            let advice = error.hint();
            Check { advice, ..Check::new(NAME, Status::Warn, error.to_string()) }
        }
        Err(error) => Check::new(NAME, Status::Warn, error.to_string()),
    }
}

/// Whether the database can be reached, has the right schema, and tells the same time.
pub(super) async fn checks(settings: &StoreSettings) -> Vec<Check> {
    let store = match wire::connect(settings).await {
        Ok(store) => store,
        Err(error) => return vec![Check::failed("database", error)],
    };
    let shown = without_password(&settings.url);
    let mut checks = vec![match store.ping().await {
        Ok(()) => Check::ok("database", shown),
        Err(error) => Check::failed("database", wire::store_failed(&error)),
    }];
    checks.push(schema(&store).await);
    checks.push(clock(&store).await);
    store.close().await;
    checks
}

async fn schema(store: &Store) -> Check {
    match store.check_schema().await {
        Ok(()) => match store.migration_status().await {
            Ok(status) => {
                Check::ok("schema", format!("{} at version {}", status.schema, status.current))
            }
            Err(error) => Check::failed("schema", wire::store_failed(&error)),
        },
        Err(error) => Check::failed("schema", wire::store_failed(&error)),
    }
}

/// Compares the clocks in the middle of the question's way there and back.
async fn clock(store: &Store) -> Check {
    const NAME: &str = "clock";
    let asked = Instant::now();
    let theirs = match store.now().await {
        Ok(theirs) => theirs,
        Err(error) => return Check::failed(NAME, wire::store_failed(&error)),
    };
    let back = TimeDelta::from_std(asked.elapsed() / 2).unwrap_or_default();
    #[expect(clippy::disallowed_methods, reason = "the clock of this machine is what is checked")]
    let ours = chrono::Utc::now() - back;
    let skew = (ours - theirs).num_milliseconds();
    let found = format!("{skew:+} ms from the database's");
    if skew.abs() <= SKEW.num_milliseconds() {
        return Check::ok(NAME, found);
    }
    Check::new(NAME, Status::Warn, found)
        .advice("let a time service set the clocks of both machines")
}
