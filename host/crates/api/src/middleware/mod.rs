//! What happens to every request around its handler.

pub(crate) mod auth;
pub(crate) mod drain;
pub(crate) mod observe;
pub(crate) mod origin;
pub(crate) mod panic;
pub(crate) mod timeout;
