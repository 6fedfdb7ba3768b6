//! Core modules that carry component metadata become components here, as their linker would have
//! done it.

use crate::reject::Reject;
use std::panic::catch_unwind;
use wit_component::ComponentEncoder;

/// Makes a component of a core module.
pub(crate) fn to_component(module: &[u8]) -> Result<Vec<u8>, Reject> {
    // The encoder reads hostile input. A panic in it must not take the server along.
    let encoded =
        catch_unwind(|| ComponentEncoder::default().validate(true).module(module)?.encode());
    encoded
        .map_err(|_| Reject::Convert("the encoder panicked".into()))?
        .map_err(|error| Reject::Convert(error.into()))
}
