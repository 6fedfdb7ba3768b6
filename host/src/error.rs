//! The one error type of the executable: what failed, why, what to do, and how to exit.

use crate::exit::Exit;
use cofferdam_core::hint::Hint;
use std::error::Error;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;

/// The result of a command.
pub(crate) type Result<T, E = CommandError> = std::result::Result<T, E>;

/// A command that failed, ready to be shown. Boxed, because every function passes it on.
#[derive(Debug)]
pub(crate) struct CommandError(Box<Shown>);

/// What is shown of it.
#[derive(Debug)]
pub(crate) struct Shown {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// What failed. No trailing period.
    pub(crate) message: String,
    /// Why, outermost first.
    pub(crate) causes: Vec<String>,
    /// What to do about it.
    pub(crate) hints: Vec<String>,
    /// A short word for programs, where the server gave one.
    pub(crate) code: Option<String>,
    /// The server's id of the request, where there was one.
    pub(crate) request_id: Option<String>,
    /// Nothing is shown: whoever read the output has gone, or has been told already.
    pub(crate) silent: bool,
}

impl CommandError {
    /// An error with a message and nothing else yet.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self(Box::new(Shown {
            exit,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            code: None,
            request_id: None,
            silent: false,
        }))
    }

    /// An operation that failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// A command line or a configuration that makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Ends the process with a code and says nothing.
    pub(crate) fn silent(exit: Exit) -> Self {
        let mut error = Self::new(exit, "");
        error.silent = true;
        error
    }

    /// An error that knows its own hint; its sources become the causes.
    pub(crate) fn hinted(exit: Exit, error: &(impl Hint + 'static)) -> Self {
        let mut command = Self::new(exit, error.to_string()).caused_by_sources(error);
        command.hints.extend(error.hint());
        command
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(exit: Exit, what: &str, path: &Path, error: &io::Error) -> Self {
        let failed =
            Self::new(exit, format!("cannot {what} `{}`", path.display())).caused_by(error);
        if error.kind() != io::ErrorKind::NotFound {
            return failed;
        }
        match path.is_relative().then(std::env::current_dir) {
            Some(Ok(folder)) => {
                failed.hint(format!("check the path; it is looked for in {}", folder.display()))
            }
            _ => failed.hint("check the path"),
        }
    }

    /// Adds a cause.
    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// Adds an error and all that lie beneath it as causes.
    #[must_use]
    pub(crate) fn caused_by(self, error: &(dyn Error + 'static)) -> Self {
        self.cause(error.to_string()).caused_by_sources(error)
    }

    /// Adds a hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Puts `message` in front; what it said before becomes the first cause.
    #[must_use]
    pub(crate) fn context(mut self, message: impl Into<String>) -> Self {
        let before = std::mem::replace(&mut self.message, message.into());
        self.causes.insert(0, before);
        self
    }

    /// Its parts, to be shown in another form.
    pub(crate) fn into_shown(self) -> Shown {
        *self.0
    }

    fn caused_by_sources(mut self, error: &(dyn Error + 'static)) -> Self {
        let mut next = error.source();
        while let Some(source) = next {
            let text = source.to_string();
            // Libraries sometimes repeat the source in their own text.
            if !self.message.contains(&text) && !self.causes.iter().any(|c| c.contains(&text)) {
                self.causes.push(text);
            }
            next = source.source();
        }
        self
    }

    /// The error as one JSON object, for `--json`.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "error": self.message,
            "causes": self.causes,
            "hints": self.hints,
            "code": self.code,
            "request_id": self.request_id,
            "exit": self.exit.code(),
        })
    }
}

impl Deref for CommandError {
    type Target = Shown;
    fn deref(&self) -> &Shown {
        &self.0
    }
}

impl DerefMut for CommandError {
    fn deref_mut(&mut self) -> &mut Shown {
        &mut self.0
    }
}

/// Output that could not be written. A reader that has gone, such as `head`, is no failure.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::silent(Exit::Ok);
        }
        Self::failed("cannot write the output").caused_by(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::name::ModuleName;

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(error.silent);
        assert_eq!(error.exit, Exit::Ok);
    }

    #[test]
    fn context_keeps_what_was_said() {
        let refused = ModuleName::new("A").unwrap_err();
        let error = CommandError::hinted(Exit::Usage, &refused).context("cannot push");
        assert_eq!(error.message, "cannot push");
        assert_eq!(error.causes.len(), 1);
        assert!(error.hints[0].contains("lower-case"));
    }
}
