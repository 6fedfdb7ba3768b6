//! Command lines that make no sense, in the form of every other error.

use crate::cli::{Color, Global};
use crate::error::CommandError;
use crate::value::BadValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::ffi::OsString;

/// The flags that say how to show an error, of a command line that could not be read.
pub(crate) fn guess_global(args: &[OsString]) -> Global {
    let mut global = Global::default();
    let mut words = args.iter().skip(1).filter_map(|arg| arg.to_str()).peekable();
    while let Some(word) = words.next() {
        let color = word
            .strip_prefix("--color=")
            .or_else(|| if word == "--color" { words.peek().copied() } else { None });
        match color {
            Some("always") => global.color = Color::Always,
            Some("never") => global.color = Color::Never,
            _ => {}
        }
        match word {
            "--json" => global.json = true,
            "--quiet" | "-q" => global.quiet = true,
            "--" => break,
            _ => {}
        }
    }
    global
}

/// Whether the parser's "error" is what the user asked for: the help or the version.
pub(crate) fn is_answer(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

/// The parser's error as one of ours.
pub(crate) fn error(error: &clap::Error, args: &[OsString]) -> CommandError {
    let help = format!("`{} --help` shows how it is used", command_of(args));
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        || error.kind() == ErrorKind::MissingSubcommand
    {
        return CommandError::usage(format!("`{}` needs a subcommand", command_of(args)))
            .hint(help);
    }
    let bad = error.source().and_then(|source| source.downcast_ref::<BadValue>());
    let mut shown = if sets_a_secret(args) && repeats_an_argument(error) {
        let message = bad.map_or("there is an argument too many", |bad| bad.message.as_str());
        CommandError::usage(message).hint("the value is read from standard input")
    } else {
        let rendered = error.render().to_string();
        let mut parts = rendered.split("\n\n");
        let first = parts.next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        CommandError::usage(message.trim_end())
    };
    shown.hints.extend(bad.and_then(|bad| bad.hint.clone()));
    shown.hints.extend(suggestion(error));
    if asks_which(error) {
        shown = shown.hint("name ids, all of one kind with --kind, or all of them with --all");
    }
    shown.hint(help)
}

/// Whether the command line is that of `secret set`, of which an argument too many is most likely
/// the secret's value.
fn sets_a_secret(args: &[OsString]) -> bool {
    args.windows(2).any(|pair| match pair {
        [noun, verb] => (noun == "secret" || noun == "secrets") && verb == "set",
        _ => false,
    })
}

/// Whether the parser's words repeat what somebody wrote where it should not be.
fn repeats_an_argument(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::ValueValidation)
}

/// Whether what is missing is the choice of dead letters: see [`crate::cli::dlq::Which`].
fn asks_which(error: &clap::Error) -> bool {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(words)) => words.concat(),
        Some(ContextValue::String(word)) => word.clone(),
        _ => return false,
    };
    error.kind() == ErrorKind::MissingRequiredArgument && missing.contains("--all")
}

/// "Did you mean", where the parser has a guess.
fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(format!("did you mean `{word}`?")),
        ContextValue::Strings(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            (!words.is_empty()).then(|| format!("did you mean {}?", words.join(" or ")))
        }
        _ => None,
    })
}

/// The longest start of the command line that names a command.
fn command_of(args: &[OsString]) -> String {
    use clap::CommandFactory as _;
    let tree = crate::cli::Cli::command();
    let mut command = &tree;
    let mut path = tree.get_name().to_owned();
    for word in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        let Some(sub) = command.find_subcommand(word) else {
            if word.starts_with('-') {
                continue;
            }
            break;
        };
        path = format!("{path} {}", sub.get_name());
        command = sub;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;

    fn refused(line: &str) -> CommandError {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        error(&Cli::try_parse_from(&args).unwrap_err(), &args)
    }

    #[test]
    fn refusals_name_what_was_meant() {
        let error = refused("cofferdam job submit a --foloow");
        assert!(error.message.contains("--foloow"), "{error:?}");
        assert_eq!(error.hints[0], "did you mean `--follow`?");
        assert_eq!(error.hints[1], "`cofferdam job submit --help` shows how it is used");

        let error = refused("cofferdam modul list");
        assert!(error.hints[0].contains("`module`"), "{error:?}");
    }

    #[test]
    fn a_bad_value_says_what_to_write() {
        let error = refused("cofferdam job submit a --deadline 10");
        assert!(error.message.contains("`10` is not a duration"), "{error:?}");
        assert!(error.hints[0].contains("250ms"), "{error:?}");
    }

    #[test]
    fn a_secret_that_is_given_as_an_argument_is_not_repeated() {
        for line in [
            "cofferdam secret set API_KEY correct-horse-battery",
            "cofferdam --server http://a secrets set API_KEY -correct-horse-battery",
            "cofferdam secret set API_KEY=correct-horse-battery --json",
            "cofferdam secret set API_KEY --correct-horse-battery",
        ] {
            let error = refused(line);
            assert_eq!(error.exit, crate::exit::Exit::Usage);
            assert!(!format!("{error:?}").contains("correct-horse"), "{error:?}");
            assert!(error.hints[0].contains("standard input"), "{error:?}");
        }
    }

    #[test]
    fn a_noun_alone_needs_a_verb() {
        let error = refused("cofferdam dlq");
        assert_eq!(error.message, "`cofferdam dlq` needs a subcommand");
    }

    #[test]
    fn flags_count_even_on_a_broken_line() {
        let args: Vec<OsString> =
            ["cofferdam", "--nope", "--json", "--color", "never"].map(OsString::from).into();
        let global = guess_global(&args);
        assert!(global.json && global.color == Color::Never);
    }
}
