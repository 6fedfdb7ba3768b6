//! What a handler can ask of whoever runs it: the host of a component, or a test.

use std::time::Duration;

/// Whoever runs it: in a component its host, natively a test.
///
/// One type for each target and no `dyn Host`: the table of functions behind a `dyn` would keep all
/// of them in the component, and a component should import only the interfaces that it uses.
#[cfg(target_arch = "wasm32")]
pub(crate) type Asked = crate::component::WasmHost;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) type Asked = std::rc::Rc<crate::testing::Recorder>;

/// How grave a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every step, for whoever hunts a fault.
    Trace,
    /// What a developer wants to know.
    Debug,
    /// What an operator wants to know.
    Info,
    /// Something to look at, although the job goes on.
    Warn,
    /// Something went wrong.
    Error,
}

/// Why a job that was put aside runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// Somebody called back, with these bytes.
    CalledBack(Vec<u8>),
    /// The time was over.
    TimedOut,
}

/// The calls of the interfaces `log`, `control`, `jobs` and `secrets`.
pub(crate) trait Host {
    fn log(&self, level: Level, message: &str, fields: &[(String, String)]);
    fn progress(&self, percent: u8, note: &str);
    fn checkpoint(&self, bytes: &[u8]) -> Result<(), String>;
    fn last_checkpoint(&self) -> Option<Vec<u8>>;
    fn extend_deadline(&self, by: Duration) -> Result<Duration, String>;
    fn remaining(&self) -> Duration;
    fn cancelled(&self) -> bool;
    fn create_callback(&self) -> String;
    /// Returns in a test only, or with what is wrong.
    fn suspend_until(&self, callback: Option<&str>, timeout: Duration) -> Result<(), String>;
    fn resumed(&self) -> Option<Resumption>;
    fn secret(&self, name: &str) -> Result<String, String>;
    fn secret_placeholder(&self, name: &str) -> Result<String, String>;
}
