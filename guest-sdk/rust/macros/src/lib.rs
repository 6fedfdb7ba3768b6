//! The `#[handler]` attribute of `cofferdam-guest`, which re-exports and documents it.

mod attributes;
mod expand;
mod signature;
mod units;

use proc_macro::TokenStream;

/// Makes a function a kind of the component. Documented at `cofferdam_guest::handler`.
#[proc_macro_attribute]
pub fn handler(attributes: TokenStream, item: TokenStream) -> TokenStream {
    match expand::handler(attributes.into(), item.into()) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.into_compile_error().into(),
    }
}
