//! Figures of recovery: how long it takes until a lost attempt is taken back, and how many of them
//! a version may cost.

use std::time::Duration;

/// The upper bounds of the buckets, in milliseconds: around the six seconds of a worker that is
/// seen to end, and around the staleness of one that is not.
pub const RECOVERY_BUCKETS_MS: [u64; 12] =
    [1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 15_000, 30_000, 60_000, 90_000, 120_000, 180_000];

/// A version is put into quarantine when attempts of so many different jobs of it killed the
/// process that they ran in.
pub const QUARANTINE_JOBS: u32 = 3;

/// For how long such an attempt counts.
pub const QUARANTINE_WINDOW: Duration = Duration::from_hours(1);

/// How many buckets there are: one for each bound, and one for what is longer than all of them.
pub const RECOVERY_BUCKETS: usize = RECOVERY_BUCKETS_MS.len() + 1;

/// The bucket of a time, from 0. A time that is exactly a bound is in the bucket of that bound.
pub fn recovery_bucket(time: Duration) -> usize {
    RECOVERY_BUCKETS_MS.partition_point(|bound| Duration::from_millis(*bound) < time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_of_the_first_bound_that_it_does_not_exceed() {
        let bucket = |millis| recovery_bucket(Duration::from_millis(millis));
        assert_eq!((bucket(0), bucket(1_000), bucket(1_001)), (0, 0, 1));
        assert_eq!((bucket(180_000), bucket(180_001)), (11, 12));
        assert_eq!(recovery_bucket(Duration::MAX), RECOVERY_BUCKETS - 1);
    }

    #[test]
    fn bounds_grow() {
        assert!(RECOVERY_BUCKETS_MS.is_sorted());
    }
}
