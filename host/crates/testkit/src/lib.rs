//! What the tests of the platform stand on: a database for each test, the example handlers as
//! components, a whole platform in a process, waits with a bound.
//!
//! Tests alone use it, so it panics where it cannot go on: that fails the test, and says why.
#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "what fails here fails the test"
)]

pub mod artefacts;
pub mod components;
pub mod database;
pub mod disk;
mod disturb;
mod ghost;
pub mod platform;
pub mod proxy;
pub mod server;
mod template;
pub mod wait;

pub use components::component;
pub use database::TestDb;
pub use disk::SmallDisk;
pub use platform::Platform;
pub use wait::wait_for;
