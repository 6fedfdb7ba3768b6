//! The shapes of function that can be run.

use crate::context::Context;
use crate::error::Error;

/// A handler function. `Input` is the type of its input, `()` where it takes none; `Shape` is
/// found by the compiler.
pub trait Handler<Input, Shape> {
    /// What the handler returns when it succeeds.
    type Output;

    /// Calls the function.
    fn call(self, context: &Context, input: Input) -> Result<Self::Output, Error>;
}

impl<F, I, O, E> Handler<I, fn(&Context, I) -> Result<O, E>> for F
where
    F: FnOnce(&Context, I) -> Result<O, E>,
    E: Into<Error>,
{
    type Output = O;

    fn call(self, context: &Context, input: I) -> Result<O, Error> {
        self(context, input).map_err(E::into)
    }
}

impl<F, O, E> Handler<(), fn(&Context) -> Result<O, E>> for F
where
    F: FnOnce(&Context) -> Result<O, E>,
    E: Into<Error>,
{
    type Output = O;

    fn call(self, context: &Context, (): ()) -> Result<O, Error> {
        self(context).map_err(E::into)
    }
}
