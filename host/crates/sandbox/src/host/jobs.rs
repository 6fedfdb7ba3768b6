//! `cofferdam:job/jobs`.

use crate::bindings::jobs;
use crate::host::HostCall;
use crate::outcome::Suspended;
use crate::state::State;
use cofferdam_core::wait::{CallbackHash, CallbackToken, Resumption, wait_time};
use std::time::Duration;

impl jobs::Host for State {
    fn create_callback(&mut self) -> wasmtime::Result<String> {
        let token = CallbackToken::from_bits(rand::random());
        let text = token.as_str().to_owned();
        self.callback = Some(token);
        Ok(text)
    }

    fn suspend_until(
        &mut self,
        callback: Option<String>,
        timeout_ms: u64,
    ) -> wasmtime::Result<Result<(), String>> {
        let _within = self.vitals.enter(HostCall::SuspendUntil)?;
        let callback = match callback.map(|text| self.hash_of(&text)).transpose() {
            Ok(hash) => hash,
            Err(problem) => return Ok(Err(problem)),
        };
        match wait_time(Duration::from_millis(timeout_ms)) {
            // The guest has said its last word: its call ends here, like that of one that traps.
            Ok(timeout) => Err(Suspended { timeout, callback }.into()),
            Err(bad) => Ok(Err(bad.to_string())),
        }
    }

    fn resumed(&mut self) -> wasmtime::Result<Option<jobs::Resumption>> {
        Ok(self.resumed.clone().map(|resumption| match resumption {
            Resumption::CalledBack(bytes) => jobs::Resumption::CalledBack(bytes),
            Resumption::TimedOut => jobs::Resumption::TimedOut,
        }))
    }
}

impl State {
    /// The hash of the attempt's own token. With one that a guest made up, whoever guesses it could
    /// call back.
    fn hash_of(&self, text: &str) -> Result<CallbackHash, String> {
        match &self.callback {
            Some(token) if token.as_str() == text => Ok(token.hash()),
            Some(_) => Err("this is not the last token that create-callback made".to_owned()),
            None => Err("create-callback has made no token in this attempt".to_owned()),
        }
    }
}
