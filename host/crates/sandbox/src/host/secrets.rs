//! `cofferdam:job/secrets`.

use crate::bindings::secrets;
use crate::host::HostCall;
use crate::state::State;
use cofferdam_core::secret::SecretName;

impl secrets::Host for State {
    async fn get(&mut self, name: String) -> wasmtime::Result<Result<String, String>> {
        let _within = self.vitals.enter(HostCall::Secret)?;
        let name = match SecretName::new(name) {
            Ok(name) => name,
            Err(bad) => return Ok(Err(bad.to_string())),
        };
        Ok(self.host.secret(&name).await.map(|value| value.expose().to_owned()))
    }

    async fn placeholder(&mut self, name: String) -> wasmtime::Result<Result<String, String>> {
        let _within = self.vitals.enter(HostCall::Secret)?;
        match SecretName::new(name) {
            Ok(name) => Ok(self.host.placeholder(&name).await),
            Err(bad) => Ok(Err(bad.to_string())),
        }
    }
}
