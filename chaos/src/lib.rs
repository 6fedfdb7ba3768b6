//! Breaks a running platform in every way that is known, and checks that nothing was lost and
//! nothing ran twice at once.
//!
//! A run starts a private Postgres, a server and three workers, each behind a proxy of its own. It
//! submits jobs of a handler that leaves a trace of every moment at which it runs ([`journal`]),
//! cancels some of them, and injects faults on a schedule that a seed determines ([`schedule`],
//! [`faults`]). Then it lets the platform come to rest, and compares what was asked for with what
//! the database says and with what was seen to happen ([`ledger`]).
//!
//! The platform is used as its users use it, through its executable and its HTTP API, with settings
//! that make half minutes of quarter seconds. Only the clock of the machine is trusted.

pub mod client;
pub mod clock;
pub mod executioner;
pub mod faults;
pub mod fleet;
pub mod journal;
pub mod ledger;
pub mod postgres;
pub mod proc;
pub mod process;
pub mod reaper;
pub mod report;
pub mod rest;
pub mod role;
pub mod rows;
pub mod run;
pub mod schedule;
pub mod skew;
pub mod traffic;
pub mod work;

pub use report::Report;
pub use run::{Settings, run};
