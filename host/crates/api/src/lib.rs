//! HTTP, JSON and the OpenAPI document of Cofferdam: the API under `/api/v1`.

mod app;
mod body;
mod budget;
mod error;
mod exposition;
mod extract;
#[cfg(fuzzing)]
pub mod fuzzing;
mod listener;
mod middleware;
mod openapi;
mod page;
mod router;
mod routes;
mod serve;
pub mod types;
mod upload;

pub use app::App;
pub use openapi::openapi;
pub use router::router;
pub use serve::{ServeError, serve};
