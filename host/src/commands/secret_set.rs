//! `secret set`.

use crate::client::Client;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_core::secret::{MAX_SECRET, SecretName, SecretValue};
use cofferdam_core::units::format_size;
use std::io::{self, IsTerminal as _, Read};

/// Sets a secret to what is on standard input.
pub(super) async fn run(name: &SecretName, client: &Client, printer: Printer) -> Result<Exit> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(nothing_to_read(name));
    }
    let value = read(stdin.lock())?;
    let bytes = value.expose().as_bytes().to_vec();
    let created = client.put_bytes(&["secrets", name.as_str()], bytes).await?;
    let set = serde_json::json!({ "name": name, "created": created });
    printer.data(&set, |_| format!("{name} {}", if created { "created" } else { "replaced" }))?;
    Ok(Exit::Ok)
}

/// Somebody sits there who may expect to be asked. What is typed would be seen.
fn nothing_to_read(name: &SecretName) -> CommandError {
    CommandError::usage("the value is read from standard input, which is a terminal")
        .hint(format!("give it a file: cofferdam secret set {name} < FILE"))
        .hint("or pipe the output of your password manager into it")
}

/// Reads a value, less one line break at its end: nearly every file and program has one there that
/// does not belong to the value.
fn read(from: impl Read) -> Result<SecretValue> {
    let mut bytes = Vec::new();
    // The line break, and one byte more that tells a value that is too long.
    let most = MAX_SECRET as u64 + 2;
    from.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::failed("cannot read standard input").caused_by(&error))?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.len() > MAX_SECRET {
        let max = format_size(MAX_SECRET as u64);
        return Err(CommandError::failed(format!(
            "standard input is more than the {max} that a secret may have"
        ))
        .hint("keep what is large elsewhere, and its key here"));
    }
    SecretValue::new(bytes).map_err(|error| CommandError::hinted(Exit::Failed, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_break_at_the_end_is_taken_away_and_no_more() {
        for (input, value) in [
            ("hunter2", "hunter2"),
            ("hunter2\n", "hunter2"),
            ("hunter2\n\n", "hunter2\n"),
            ("hunter2\r\n", "hunter2\r"),
            ("\nhunter2 ", "\nhunter2 "),
        ] {
            assert_eq!(read(input.as_bytes()).unwrap().expose(), value);
        }
    }

    #[test]
    fn the_largest_value_is_read_and_an_endless_one_is_not() {
        let largest = [vec![b'x'; MAX_SECRET], b"\n".to_vec()].concat();
        assert_eq!(read(largest.as_slice()).unwrap().expose().len(), MAX_SECRET);
        let larger = [vec![b'x'; MAX_SECRET], b"y\n".to_vec()].concat();
        for error in [read(larger.as_slice()).unwrap_err(), read(io::repeat(b'\n')).unwrap_err()] {
            assert!(error.message.contains("64KiB"), "{error:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused_with_a_hint() {
        for input in [&b""[..], b"\n", b"\xff"] {
            assert!(!read(input).unwrap_err().hints.is_empty(), "{input:?}");
        }
        let name = SecretName::new("API_KEY").unwrap();
        let error = nothing_to_read(&name);
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.hints[0].contains("secret set API_KEY <"), "{error:?}");
    }
}
