//! Problems: the one place that knows which error has which status code.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cofferdam_core::hint::Hint;
use cofferdam_core::history::bounded_text;
use cofferdam_runner::{ErrorKind, PublishError, SecretsError, SubmitError};
use cofferdam_store::StoreError;
use std::error::Error;

/// The longest reason that a refusal repeats, in bytes: parts of it were written by whoever built
/// the component.
const MAX_REASON: usize = 1024;

/// An answer that is an error. Boxed, because handlers return it by value.
#[derive(Clone, Debug)]
pub(crate) struct Problem(Box<Parts>);

/// What a [`Problem`] is made of.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Its status.
    pub(crate) status: StatusCode,
    /// A stable word for programs.
    pub(crate) code: &'static str,
    /// A sentence for people, fit for strangers to read.
    pub(crate) detail: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// Which field of the request is wrong.
    pub(crate) field: Option<String>,
    /// After how many seconds the same request may work.
    pub(crate) retry_after: Option<u64>,
    /// What went wrong inside: for the log of the operator, never for the client.
    pub(crate) cause: Option<String>,
}

/// What handlers return.
pub(crate) type Answer<T> = Result<T, Problem>;

impl Problem {
    fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            status,
            code,
            detail: detail.into(),
            hint: None,
            field: None,
            retry_after: None,
            cause: None,
        }))
    }

    /// 400: the request cannot be read.
    pub(crate) fn malformed(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// 422: the request can be read, but cannot be right.
    pub(crate) fn invalid(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    /// 401: no token or a wrong one.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "the bearer token is missing or wrong")
            .hint("send `Authorization: Bearer TOKEN` with the token that the server was given")
    }

    /// 403: a browser was made to send the request by a page from elsewhere.
    pub(crate) fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    /// 404.
    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "this path does not answer to this method",
        )
    }

    /// 409: what is there does not allow it.
    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// 413.
    pub(crate) fn too_large(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, code, detail)
    }

    /// 415.
    pub(crate) fn media_type(wanted: &str) -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            format!("the body must be sent as `{wanted}`"),
        )
        .hint(format!("set the header `Content-Type: {wanted}`"))
    }

    /// 503: not now.
    pub(crate) fn unavailable(code: &'static str, detail: impl Into<String>) -> Self {
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail);
        problem.0.retry_after = Some(1);
        problem
    }

    /// 500: a defect or an accident on our side. The cause goes to the log alone.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something went wrong inside the server",
        )
        .hint("the server's log has the cause under this request id")
        .cause(cause)
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Says what to do about it, where the error knows.
    #[must_use]
    pub(crate) fn hint_of(mut self, error: &impl Hint) -> Self {
        self.0.hint = error.hint().or(self.0.hint);
        self
    }

    /// Names the field that is wrong.
    #[must_use]
    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// Puts the field that is wrong under the part of the request that it is in.
    #[must_use]
    pub(crate) fn within(mut self, part: &str) -> Self {
        let inner = self.0.field.take();
        self.0.field =
            Some(inner.map_or_else(|| part.to_owned(), |field| format!("{part}.{field}")));
        self
    }

    /// Says it in other words.
    #[must_use]
    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = detail.into();
        self
    }

    /// Keeps what went wrong inside for the log.
    #[must_use]
    fn cause(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// What it is made of.
    pub(crate) fn parts(&self) -> &Parts {
        &self.0
    }

    fn of_kind(kind: ErrorKind, code: &'static str, error: &impl Hint) -> Self {
        match kind {
            ErrorKind::Invalid => Self::invalid(code, error.to_string()),
            ErrorKind::NotFound => Self::not_found(code, error.to_string()),
            ErrorKind::Conflict => Self::conflict(code, error.to_string()),
            ErrorKind::TooLarge => Self::too_large(code, error.to_string()),
            ErrorKind::Unavailable => return Self::database_away().cause(chain(error)),
            ErrorKind::Internal => return Self::internal(chain(error)),
        }
        .hint_of(error)
    }

    /// Why jobs were not accepted. `alone` says that the request was one job and not a list: then
    /// there is no place in a list to name.
    pub(crate) fn of_submission(error: SubmitError, alone: bool) -> Self {
        if let SubmitError::Store(error) = error {
            return error.into();
        }
        let problem = Self::of_kind(error.kind(), error.code(), &error);
        let (index, text, field) = match &error {
            SubmitError::UnknownModule(_)
            | SubmitError::UnknownKind { .. }
            | SubmitError::KindNeeded { .. } => return problem.field("module"),
            SubmitError::Options { index, error } => (index, error.to_string(), error.field()),
            SubmitError::Payload { index, error } => (index, error.to_string(), "input"),
            SubmitError::NotACommand { index, module } => {
                let text =
                    format!("`args` and `env` are for command jobs; `{module}` is a handler");
                (index, text, "args")
            }
            _ => return problem,
        };
        if alone {
            problem.detail(text).field(field)
        } else {
            problem.field(field).within(&format!("jobs[{index}]"))
        }
    }

    fn database_away() -> Self {
        Self::unavailable("database-unavailable", "the database does not answer")
            .hint("try again in a moment")
    }
}

/// An error and its sources in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let reason = error.to_string();
        // Libraries sometimes repeat the source in their own text.
        if !text.contains(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
        source = error.source();
    }
    text
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::NoSuchModule(_) => Self::not_found("no-such-module", text)
                .hint("`cofferdam module list` shows what is there"),
            StoreError::NoSuchVersion { name, .. } => Self::not_found("no-such-version", text)
                .hint(format!("`cofferdam module show {name}` lists its versions")),
            StoreError::InUse { .. } => {
                Self::conflict("module-in-use", text).hint("wait for these jobs or cancel them")
            }
            StoreError::VersionConflict { .. } => {
                Self::conflict("version-conflict", text).hint_of(&error)
            }
            StoreError::JobIdTaken(_) => Self::conflict("job-id-taken", text).hint_of(&error),
            StoreError::Contended(_) => Self::unavailable("contended", text),
            _ if error.is_full() => Self::unavailable(
                "database-full",
                "this could not be stored: the disk of the database is full",
            )
            .hint_of(&error)
            .cause(chain(&error)),
            _ if error.is_transient() => Self::database_away().cause(chain(&error)),
            _ => Self::internal(chain(&error)),
        }
    }
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        if let PublishError::Store(error) = error {
            return error.into();
        }
        let problem = Self::of_kind(error.kind(), error.code(), &error);
        match error {
            // Who built the component needs what the parser or the compiler stumbled over.
            PublishError::Rejected(_) => problem.detail(bounded_text(&chain(&error), MAX_REASON)),
            _ => problem,
        }
    }
}

impl From<SecretsError> for Problem {
    fn from(error: SecretsError) -> Self {
        if let SecretsError::Store(error) = error {
            return error.into();
        }
        Self::of_kind(error.kind(), error.code(), &error)
    }
}

impl IntoResponse for Problem {
    /// The status and the headers; the body is written by [`crate::middleware::observe`], which
    /// knows the request's id.
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        if self.0.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = self.0.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}
