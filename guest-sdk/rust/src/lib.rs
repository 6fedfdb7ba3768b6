//! Handlers for Cofferdam in Rust: functions that become the kinds of a WebAssembly component.
//!
//! ```
//! use cofferdam_guest::{Context, Error, handler};
//!
//! #[derive(serde::Deserialize)]
//! struct Order {
//!     number: String,
//!     cents: Vec<u32>,
//! }
//!
//! /// Adds up an order.
//! #[handler(deadline = "10s", memory = "32MiB")]
//! fn order_total(ctx: &Context, order: Order) -> Result<u32, Error> {
//!     if order.cents.is_empty() {
//!         return Err(Error::permanent("an order has at least one line").with_code("no-lines"));
//!     }
//!     ctx.info(format!("order {}, attempt {}", order.number, ctx.attempt()));
//!     Ok(order.cents.iter().sum())
//! }
//!
//! // In a test, natively:
//! let order = Order { number: "A-7".into(), cents: vec![250, 175] };
//! let run = cofferdam_guest::testing::run(order_total, order);
//! assert_eq!(run.result.unwrap(), 425);
//! ```
//!
//! # Building
//!
//! The crate of the handlers is a `cdylib`:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib", "rlib"]
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` makes a component that can be pushed as it is.
//! `--target wasm32-unknown-unknown` makes a core module that describes the component it is to
//! become; the host converts it when it is pushed. Such a module imports nothing of WASI, so in
//! it clocks, files and `std::thread::sleep` panic.
//!
//! # Several handlers
//!
//! Each `#[handler]` of a crate is one kind of its component; there is no list to keep. It places
//! a constructor where the linker collects them, and the component's exports run them before
//! anything else. A handler in a *library* is part of the component only if the crate that is
//! built uses something of that library's module: put handlers into the crate that is built, and
//! their work into libraries.

#[cfg(target_arch = "wasm32")]
mod component;

mod codec;
mod context;
mod error;
mod host;
mod registry;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod version;

pub use context::Context;
pub use error::{Error, Retry};
pub use host::{Level, Resumption};
pub use version::{SDK_VERSION, WIT_VERSION};

/// Makes a function a kind of the component.
///
/// The function is `fn(ctx: &Context, input: T) -> Result<U, Error>`, or without an input. The
/// function stays as it is, so that it can be called and tested like any other.
///
/// | `T` or `U` | travels as |
/// |---|---|
/// | `Vec<u8>`, `&[u8]` (input only) | the bytes as they are |
/// | `()`, no parameter | nothing; an input that is sent all the same is ignored |
/// | anything else that serde can read or write, or `&T` of it | JSON; no input at all is `null` |
///
/// An input that does not fit is a permanent error with code `bad-input` that names the field.
///
/// # Attributes
///
/// | attribute | value | when left out |
/// |---|---|---|
/// | `name` | lower-case letters, digits, `-`, `_`, `.` | the function's name, `_` turned into `-` |
/// | `deadline` | a duration: `"250ms"`, `"10s"`, `"1h30m"` | the host's default |
/// | `memory` | linear memory: `"64KiB"`, `"128MiB"` | the host's default |
/// | `fuel` | instructions, about: `5_000_000_000` | the host's default |
/// | `max_attempts` | 1 to 100 | the host's default |
/// | `schema` | a JSON Schema of the input: a text, `include_str!(..)` or a constant | unchecked |
///
/// The doc comment is the kind's description. The values are defaults of the kind: manifest and
/// job may say otherwise, and the tenant's caps bound them all.
///
/// ```
/// use cofferdam_guest::{Context, Error, handler};
///
/// /// Counts the bytes of its input.
/// #[handler(name = "count", deadline = "1s", schema = r#"{"type":"string"}"#)]
/// fn count_bytes(_: &Context, input: &[u8]) -> Result<usize, Error> {
///     Ok(input.len())
/// }
///
/// let kinds = cofferdam_guest::testing::kinds();
/// let count = kinds.iter().find(|kind| kind.name == "count").unwrap();
/// assert_eq!(count.description, "Counts the bytes of its input.");
/// ```
///
/// # What does not compile
///
/// A text that is no duration or size:
///
/// ```compile_fail
/// # use cofferdam_guest::{Context, Error, handler};
/// #[handler(deadline = "ten seconds")]
/// fn wait(_: &Context) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
///
/// ```compile_fail
/// # use cofferdam_guest::{Context, Error, handler};
/// #[handler(memory = "64MB")]
/// fn grow(_: &Context) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
///
/// An attribute that does not exist:
///
/// ```compile_fail
/// # use cofferdam_guest::{Context, Error, handler};
/// #[handler(timeout = "10s")]
/// fn wait(_: &Context) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
///
/// A name that the host would refuse:
///
/// ```compile_fail
/// # use cofferdam_guest::{Context, Error, handler};
/// #[handler(name = "Resize Image")]
/// fn resize(_: &Context) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
///
/// A function of another shape, or an input that serde cannot read:
///
/// ```compile_fail
/// # use cofferdam_guest::{Context, Error, handler};
/// #[handler]
/// async fn wait(_: &Context) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
///
/// ```compile_fail
/// # use cofferdam_guest::{Context, Error, handler};
/// struct Opaque;
///
/// #[handler]
/// fn look(_: &Context, input: Opaque) -> Result<(), Error> {
///     Ok(())
/// }
/// ```
pub use cofferdam_guest_macros::handler;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// What the code of `#[handler]` calls. No part of the interface: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::codec::{Decode, DecodeJson, Encode, EncodeJson};
    pub use crate::registry::{Kind, outcome, register};
}
