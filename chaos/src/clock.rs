//! The clock that everything of a run is dated by: the wall clock of the machine, unshifted.

use std::time::{Duration, SystemTime};

/// Nanoseconds since 1970-01-01 UTC. Enough until 2262.
pub type Nanos = i64;

/// Now.
pub fn now() -> Nanos {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Nanos::try_from(since.as_nanos()).unwrap_or(Nanos::MAX)
}

/// A duration as a difference of two times.
pub fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// A time as seconds since another, for people.
pub fn seconds(since: Nanos, at: Nanos) -> f64 {
    Duration::from_nanos(at.abs_diff(since)).as_secs_f64() * if at < since { -1.0 } else { 1.0 }
}
