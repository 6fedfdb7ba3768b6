//! Words and rules of Cofferdam: identifiers, states, failure classes, limits, retry arithmetic.
//!
//! Nothing here does I/O, reads a clock or knows a database, a runtime or a sandbox. The time is
//! an argument, and randomness is one too.

pub mod bounds;
pub mod class;
pub mod egress;
pub mod fail;
pub mod hint;
pub mod history;
pub mod ids;
pub mod job;
pub mod key;
pub mod limits;
pub mod log;
pub mod manifest;
pub mod module;
pub mod name;
pub mod outcome;
pub mod recovery;
pub mod retry;
pub mod secret;
pub mod settings;
pub mod state;
pub mod units;
pub mod wait;

/// A point on the database's clock.
pub type Time = chrono::DateTime<chrono::Utc>;
