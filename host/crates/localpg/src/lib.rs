//! Finds the PostgreSQL server programs on the machine and runs private clusters with them.
//!
//! A private cluster belongs to one folder, listens on a Unix socket that only its user can reach,
//! and keeps its data between starts. Every call here blocks: on an asynchronous runtime, make it
//! on a thread where blocking is fine.

mod account;
mod binaries;
mod cluster;
mod error;
mod initdb;
mod pidfile;
mod place;
mod process;
mod remove;
mod server;
mod settings;
mod socket;
mod wait;
mod watch;

pub use binaries::{Binaries, FindError, MIN_MAJOR, all_binaries, find_binaries};
pub use cluster::Cluster;
pub use error::ClusterError;
pub use remove::remove;
pub use settings::ClusterSettings;
