//! The check of the installation's key: whether there is one that can be used. It is not shown.

use super::{Check, Status};
use crate::config::Config;
use crate::env;
use crate::settings;

/// Looks for the key as a server or a worker does.
pub(super) fn check(config: &mut Config) -> Check {
    const NAME: &str = "key";
    match settings::key(config) {
        Ok(Some(_)) => Check::ok(NAME, "the installation's key is set"),
        Ok(None) => Check::new(NAME, Status::Skip, "no key is set: there can be no secrets")
            .advice(format!("set {}; `cofferdam dev` makes one for itself", env::KEY_FILE.name)),
        Err(error) => Check::failed(NAME, error),
    }
}
