//! What a handler says when it did not succeed.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// What should become of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Another attempt after the job's own backoff.
    Default,
    /// Another attempt after this time, which the host rounds down to milliseconds.
    After(Duration),
    /// No other attempt: the same input can only fail again.
    Permanent,
    /// Run again after this time, without counting this attempt: it was too early.
    Snooze(Duration),
}

/// An error of a handler: a code for programs, a message for people, and what to do about it.
///
/// It is made by one of the four constructors, or by `?` on any [`std::error::Error`], which asks
/// for a retry and keeps the messages of all sources:
///
/// ```
/// use cofferdam_guest::Error;
///
/// fn port(text: &str) -> Result<u16, Error> {
///     let port: u16 = text.parse()?;
///     if port == 0 {
///         return Err(Error::permanent("there is no port 0").with_code("bad-port"));
///     }
///     Ok(port)
/// }
///
/// assert_eq!(port("0").unwrap_err().code(), "bad-port");
/// assert_eq!(port("x").unwrap_err().message(), "invalid digit found in string");
/// ```
///
/// Like every error that can be made from all others, it does not implement
/// [`std::error::Error`] itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    code: Cow<'static, str>,
    message: String,
    retry: Retry,
}

impl Error {
    /// Asks for another attempt, after the job's own backoff. Its code is `error`.
    pub fn retry(message: impl Into<String>) -> Self {
        Self { code: "error".into(), message: message.into(), retry: Retry::Default }
    }

    /// Asks for another attempt after `delay`. Its code is `error`.
    pub fn retry_after(delay: Duration, message: impl Into<String>) -> Self {
        Self { retry: Retry::After(delay), ..Self::retry(message) }
    }

    /// Ends the job as failed: no attempt could succeed. Its code is `permanent`.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { code: "permanent".into(), retry: Retry::Permanent, ..Self::retry(message) }
    }

    /// Asks to run again after `delay`, because it is too early now. The attempt is not counted.
    /// Its code is `snoozed`.
    pub fn snooze(delay: Duration, message: impl Into<String>) -> Self {
        Self { code: "snoozed".into(), retry: Retry::Snooze(delay), ..Self::retry(message) }
    }

    /// The same error with a code: a short word such as `bad-image`, for programs that read the
    /// job's errors.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = code.into();
        self
    }

    /// The same error, but no attempt could succeed. For errors of libraries:
    ///
    /// ```
    /// use cofferdam_guest::Error;
    ///
    /// let text = std::str::from_utf8(b"caf\xe9")
    ///     .map_err(|error| Error::from(error).into_permanent().with_code("not-text"));
    /// assert_eq!(text.unwrap_err().code(), "not-text");
    /// ```
    #[must_use]
    pub fn into_permanent(mut self) -> Self {
        self.retry = Retry::Permanent;
        self
    }

    /// The word for programs.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What should become of the job.
    pub fn advice(&self) -> Retry {
        self.retry
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Some errors repeat their source in their own message.
            if !message.ends_with(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self::retry(message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {:?})", self.message, self.code, self.retry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the port is unreadable")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_question_mark_retries_and_keeps_the_sources() {
        fn fails() -> Result<(), Error> {
            Err(Outer("x".parse::<u8>().unwrap_err()))?;
            Ok(())
        }
        let error = fails().unwrap_err();
        assert_eq!(error.advice(), Retry::Default);
        assert_eq!(error.message(), "the port is unreadable: invalid digit found in string");
    }

    #[test]
    fn each_constructor_gives_its_advice() {
        let hour = Duration::from_hours(1);
        assert_eq!(Error::retry("").advice(), Retry::Default);
        assert_eq!(Error::retry_after(hour, "").advice(), Retry::After(hour));
        assert_eq!(Error::permanent("").advice(), Retry::Permanent);
        assert_eq!(Error::snooze(hour, "").advice(), Retry::Snooze(hour));
        assert_eq!(Error::retry("").into_permanent().advice(), Retry::Permanent);
        assert_eq!(Error::retry("").with_code("late").code(), "late");
    }
}
