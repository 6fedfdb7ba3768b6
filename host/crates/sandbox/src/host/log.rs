//! `cofferdam:job/log`.

use crate::bindings::log;
use crate::host::HostCall;
use crate::state::State;
use cofferdam_core::log::LogLevel;

impl log::Host for State {
    fn log(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        let _within = self.vitals.enter(HostCall::Log)?;
        Ok(self.vitals.journal.log(level, &message, fields)?)
    }
}
