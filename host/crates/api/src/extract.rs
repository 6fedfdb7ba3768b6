//! What handlers take out of a request: who asks, what the path names, the query.

use crate::error::{Answer, Problem};
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use cofferdam_core::hint::Hint;
use cofferdam_core::ids::{JobId, TenantId, WorkerId};
use cofferdam_core::module::VersionName;
use cofferdam_core::name::{ModuleName, QueueName};
use cofferdam_core::secret::SecretName;
use cofferdam_core::wait::{BadToken, CallbackToken};
use serde::de::DeserializeOwned;

/// The tenant on whose behalf the request is made. There is one in the extensions of every
/// request that [`crate::middleware::auth`] let in; a route outside of it cannot get one.
#[derive(Clone, Copy)]
pub(crate) struct Tenant(pub(crate) TenantId);

impl<S: Send + Sync> FromRequestParts<S> for Tenant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Answer<Self> {
        parts
            .extensions
            .get::<Self>()
            .copied()
            .ok_or_else(|| Problem::internal("a route that needs a tenant is not behind auth"))
    }
}

/// `{id}` of a job.
pub(crate) struct JobPath(pub(crate) JobId);

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let text = segment(parts, state, "id").await?;
        text.parse().map(Self).map_err(|_| {
            Problem::malformed("bad-id", "the path names no job: ids of jobs are UUIDs")
                .hint("`cofferdam job submit` prints the id, `cofferdam job list` lists them")
                .field("id")
        })
    }
}

/// `{token}` of a callback.
pub(crate) struct CallbackPath(pub(crate) CallbackToken);

impl<S: Send + Sync> FromRequestParts<S> for CallbackPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let text = segment(parts, state, "token").await?;
        // The text is not repeated: it may be a token with a slip in it.
        text.parse().map(Self).map_err(|error: BadToken| {
            Problem::malformed("bad-token", error.to_string()).field("token")
        })
    }
}

/// `{id}` of a worker.
pub(crate) struct WorkerPath(pub(crate) WorkerId);

impl<S: Send + Sync> FromRequestParts<S> for WorkerPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let text = segment(parts, state, "id").await?;
        text.parse().map(Self).map_err(|_| {
            Problem::malformed("bad-id", "the path names no worker: ids of workers are UUIDs")
                .hint("`cofferdam worker list` shows them")
                .field("id")
        })
    }
}

/// `{name}` of a module.
pub(crate) struct ModulePath(pub(crate) ModuleName);

impl<S: Send + Sync> FromRequestParts<S> for ModulePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let name = ModuleName::new(segment(parts, state, "name").await?);
        name.map(Self).map_err(|error| bad_name(&error, "name"))
    }
}

/// `{name}` of a module and `{version}` of it.
pub(crate) struct VersionPath(pub(crate) ModuleName, pub(crate) VersionName);

impl<S: Send + Sync> FromRequestParts<S> for VersionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let ModulePath(name) = ModulePath::from_request_parts(parts, state).await?;
        let version = VersionName::new(segment(parts, state, "version").await?);
        version.map(|version| Self(name, version)).map_err(|error| bad_name(&error, "version"))
    }
}

/// `{name}` of a queue.
pub(crate) struct QueuePath(pub(crate) QueueName);

impl<S: Send + Sync> FromRequestParts<S> for QueuePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let name = QueueName::new(segment(parts, state, "name").await?);
        name.map(Self).map_err(|error| bad_name(&error, "name"))
    }
}

/// `{name}` of a secret.
pub(crate) struct SecretPath(pub(crate) SecretName);

impl<S: Send + Sync> FromRequestParts<S> for SecretPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let name = SecretName::new(segment(parts, state, "name").await?);
        name.map(Self).map_err(|error| bad_name(&error, "name"))
    }
}

fn bad_name(error: &impl Hint, field: &str) -> Problem {
    Problem::malformed("bad-name", error.to_string()).hint_of(error).field(field)
}

/// One segment of the path, percent-decoded.
async fn segment<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Answer<String> {
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|error| Problem::malformed("bad-path", error.body_text()))?;
    params
        .iter()
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
        .ok_or_else(|| Problem::internal(format!("the route has no segment `{name}`")))
}

/// The query, whole: parameters that the type does not know are refused.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Answer<Self> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        query
            .map(|query| Self(query.0))
            .map_err(|error| Problem::malformed("bad-query", error.body_text()))
    }
}
