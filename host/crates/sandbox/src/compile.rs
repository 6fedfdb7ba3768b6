//! From a component to something that starts in microseconds.

use crate::bindings::HandlerPre;
use crate::reject::Reject;
use crate::state::State;
use crate::survey::Survey;
use crate::symbols::Symbols;
use cofferdam_core::module::World;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi::p2::bindings::CommandPre;

/// A compiled component, its imports resolved. Copies share the code.
#[derive(Clone)]
pub struct Prepared(Arc<Inner>);

struct Inner {
    engine: Engine,
    entry: Entry,
    max_memory_bytes: u64,
    symbols: Arc<Symbols>,
}

/// How the component is called.
pub(crate) enum Entry {
    Handler(HandlerPre<State>),
    Command(CommandPre<State>),
}

impl Prepared {
    /// What shape of component it is.
    pub fn world(&self) -> World {
        match self.0.entry {
            Entry::Handler(_) => World::Handler,
            Entry::Command(_) => World::Command,
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.0.entry
    }

    pub(crate) fn symbols(&self) -> &Arc<Symbols> {
        &self.0.symbols
    }

    pub(crate) fn max_memory_bytes(&self) -> u64 {
        self.0.max_memory_bytes
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("world", &self.world()).finish_non_exhaustive()
    }
}

/// Compiles a component and resolves its imports. Takes seconds of CPU time.
pub(crate) fn compile(
    engine: &Engine,
    linker: &Linker<State>,
    max_memory_bytes: u64,
    bytes: &[u8],
) -> Result<Prepared, Reject> {
    // The bytes may come from anywhere: what bounds the compiler is checked here again.
    let world = Survey::of_component(bytes)?.world()?;
    // The compiler reads hostile input. A panic in it must not take the worker along.
    let compiled = AssertUnwindSafe(|| Component::from_binary(engine, bytes));
    let component = catch_unwind(compiled)
        .map_err(|_| Reject::Compile("the compiler panicked".into()))?
        .map_err(|error| Reject::Compile(error.into()))?;
    // Done now, so that the first attempt does not pay for it.
    component.initialize_copy_on_write_image().map_err(|error| Reject::Compile(error.into()))?;
    let pre =
        linker.instantiate_pre(&component).map_err(|error| Reject::Instantiate(error.into()))?;
    let entry = match world {
        World::Handler => HandlerPre::new(pre).map(Entry::Handler),
        World::Command => CommandPre::new(pre).map(Entry::Command),
    }
    .map_err(|error| Reject::Instantiate(error.into()))?;
    let symbols = Arc::new(Symbols::of(bytes));
    Ok(Prepared(Arc::new(Inner { engine: engine.clone(), entry, max_memory_bytes, symbols })))
}
