//! The executable from outside: its command line, its roles, and what becomes of jobs when its
//! processes are killed.

mod bad_input;
mod command_line;
mod crashes;
mod jobs;
mod local_run;
mod support;
