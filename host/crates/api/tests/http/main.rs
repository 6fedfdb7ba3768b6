//! The API over real components and a real database.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails in a helper of these tests fails the test"
)]

mod auth;
mod bad_input;
mod callbacks;
mod cluster;
mod dead_letters;
mod jobs;
mod lifecycle;
mod modules;
mod quarantine;
mod queues;
mod secrets;
mod server;
mod uploads;
