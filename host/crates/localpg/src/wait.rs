//! Waiting for something that another process does.

use std::time::{Duration, Instant};

/// Between two looks: short against what a person notices, long against what a look costs.
const EVERY: Duration = Duration::from_millis(10);

/// Looks until there is something to see or the time is up.
pub(crate) fn until<T>(bound: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + bound;
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(EVERY);
    }
}
