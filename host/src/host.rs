//! What this machine says of itself.

use std::fs;

/// Its name, for people.
pub(crate) fn hostname() -> String {
    first_line("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned())
}

/// The release of its kernel, such as `6.8.0`.
pub(crate) fn kernel() -> Option<String> {
    first_line("/proc/sys/kernel/osrelease")
}

/// The major and minor number of a kernel release.
pub(crate) fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The memory that can be had without swapping, in bytes: what the kernel says is available, or
/// what is left of the control group's limit where that is less.
pub(crate) fn available_memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()?;
    let available = kib.saturating_mul(1024);
    let limit = first_line("/sys/fs/cgroup/memory.max").and_then(|text| text.parse::<u64>().ok());
    let used =
        first_line("/sys/fs/cgroup/memory.current").and_then(|text| text.parse::<u64>().ok());
    Some(match (limit, used) {
        (Some(limit), Some(used)) => available.min(limit.saturating_sub(used)),
        _ => available,
    })
}

/// How many files this process may have open.
pub(crate) fn open_files() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How many memory mappings a process may have.
pub(crate) fn max_mappings() -> Option<u64> {
    first_line("/proc/sys/vm/max_map_count")?.parse().ok()
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases_are_read() {
        assert_eq!(kernel_version("6.8.0-45-generic"), Some((6, 8)));
        assert_eq!(kernel_version("5.10"), Some((5, 10)));
        assert_eq!(kernel_version("plan9"), None);
    }
}
