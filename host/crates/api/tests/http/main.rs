//! The API over real components and a real database.

mod auth;
mod bad_input;
mod dead_letters;
mod jobs;
mod modules;
mod queues;
mod server;
mod uploads;
