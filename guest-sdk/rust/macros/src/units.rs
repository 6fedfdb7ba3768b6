//! Durations and sizes in attributes: `250ms`, `1h30m`, `64KiB`.
//!
//! The host reads the same texts in manifests and on its command line. The rules are repeated
//! here, because a handler's author must not need the host's crates.

/// The units of durations in milliseconds, largest first: they must come in this order, each once.
const DURATION_UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// The units of sizes in bytes. Only binary ones: `MB` means two things to two readers.
const SIZE_UNITS: [(&str, u64); 4] =
    [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Milliseconds, or `None` for anything that is no duration.
pub(crate) fn duration_ms(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut millis: u64 = 0;
    let mut units = DURATION_UNITS.iter();
    while !rest.is_empty() {
        let (number, after) = split_while(rest, |c| c.is_ascii_digit());
        let (unit, after) = split_while(after, |c| c.is_ascii_alphabetic());
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        millis = number.parse::<u64>().ok()?.checked_mul(*factor)?.checked_add(millis)?;
        rest = after;
    }
    Some(millis)
}

/// Bytes, or `None` for anything that is no size.
pub(crate) fn size_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split_while(text, |c| c.is_ascii_digit());
    let (_, factor) = SIZE_UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, millis) in [
            ("250ms", 250),
            ("10s", 10_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
        ] {
            assert_eq!(duration_ms(text), Some(millis), "{text}");
        }
        for text in ["", "10", "s", "1.5s", "-1s", "10S", "30m1h", "1s1s", "10 s", "1y"] {
            assert_eq!(duration_ms(text), None, "{text}");
        }
        assert_eq!(duration_ms("18446744073709551615d"), None);
    }

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in
            [("512B", 512), ("64KiB", 65_536), ("16MiB", 1 << 24), ("1GiB", 1 << 30)]
        {
            assert_eq!(size_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "64", "64kb", "64MB", "1.5GiB", "KiB", "64 MiB", "99999999999999GiB"] {
            assert_eq!(size_bytes(text), None, "{text}");
        }
    }
}
