//! The executable from outside: its command line, its roles, and what becomes of jobs when its
//! processes are killed.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what fails here fails the test"
)]

mod apart;
mod bad_input;
mod cluster;
mod command_line;
mod crashes;
mod disk_full;
mod drain;
mod evict;
mod gives_up;
mod jobs;
mod local_run;
mod readme;
mod recovery_page;
mod restart;
mod secrets;
mod settings;
mod support;
mod suspects;
