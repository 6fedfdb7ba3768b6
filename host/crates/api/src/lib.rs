//! HTTP, JSON and the OpenAPI document of Cofferdam: the API under `/api/v1`.

pub mod types;
