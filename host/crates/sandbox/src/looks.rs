//! What bytes are that are no WebAssembly: uploads are wrong files more often than broken ones.

/// How many bytes are looked at to tell text from data.
const SAMPLE: usize = 512;

/// What the bytes look like, with an article.
pub(crate) fn looks_like(bytes: &[u8]) -> &'static str {
    const MAGIC: [(&[u8], &str); 7] = [
        (b"\x1f\x8b", "a compressed file (gzip)"),
        (b"\x28\xb5\x2f\xfd", "a compressed file (zstd)"),
        (b"PK\x03\x04", "a compressed archive (zip)"),
        (b"\x7fELF", "a native program (ELF)"),
        (b"MZ", "a native program (Windows)"),
        (b"\xcf\xfa\xed\xfe", "a native program (macOS)"),
        (b"!<arch>", "a static library"),
    ];
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return what;
    }
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let text = String::from_utf8_lossy(sample);
    let start = text.trim_start();
    if start.starts_with("(module") || start.starts_with("(component") || start.starts_with(";;") {
        return "WebAssembly text";
    }
    if sample.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return "a text file";
    }
    "some other file"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_files_are_named() {
        for (bytes, what) in [
            (&b"\x1f\x8b\x08\0"[..], "a compressed file (gzip)"),
            (b"\x7fELF\x02\x01", "a native program (ELF)"),
            (b"  (component\n)", "WebAssembly text"),
            (b"import os\n", "a text file"),
            (b"\x01\x02\x03", "some other file"),
        ] {
            assert_eq!(looks_like(bytes), what);
        }
    }
}
