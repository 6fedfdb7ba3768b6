//! From an artefact to something that starts in microseconds.

use super::artefact::Artefact;
use crate::bindings::HandlerPre;
use crate::limiter::{MAX_MEMORIES, MAX_TABLE_ELEMENTS, MAX_TABLES};
use crate::reject::Reject;
use crate::state::State;
use crate::symbols::Symbols;
use cofferdam_core::module::World;
use std::sync::Arc;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, ResourcesRequired};
use wasmtime_wasi::p2::bindings::CommandPre;

/// The size of a page of linear memory, in bytes. Other sizes are a proposal that is turned off.
const PAGE: u64 = 64 * 1024;

/// A loaded component, its imports resolved. Copies share the code.
#[derive(Clone)]
pub struct Prepared(Arc<Inner>);

struct Inner {
    engine: Engine,
    entry: Entry,
    max_memory_bytes: u64,
    needs: Option<u64>,
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

    /// The bytes of the largest memory that it begins with: an attempt with a smaller limit cannot
    /// start.
    pub fn initial_memory(&self) -> u64 {
        self.0.needs.unwrap_or(0)
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

/// Loads the code and resolves its imports. Refuses what no attempt could ever start.
pub(crate) fn load(
    engine: &Engine,
    linker: &Linker<State>,
    max_memory_bytes: u64,
    artefact: &Artefact,
) -> Result<Prepared, Reject> {
    let component = deserialize(engine, artefact)?;
    admit(&component, max_memory_bytes)?;
    // Done now, so that the first attempt does not pay for it.
    component.initialize_copy_on_write_image().map_err(|error| Reject::Compile(error.into()))?;
    let needs = component.resources_required().map(initial_memory);
    let pre =
        linker.instantiate_pre(&component).map_err(|error| Reject::Instantiate(error.into()))?;
    let entry = match artefact.world() {
        World::Handler => HandlerPre::new(pre).map(Entry::Handler),
        World::Command => CommandPre::new(pre).map(Entry::Command),
    }
    .map_err(|error| Reject::Instantiate(error.into()))?;
    Ok(Prepared(Arc::new(Inner {
        engine: engine.clone(),
        entry,
        max_memory_bytes,
        needs,
        symbols: Arc::clone(artefact.symbols()),
    })))
}

/// The one place where machine code is taken in.
#[expect(unsafe_code, reason = "loading code is believing whoever made it; see the comment")]
fn deserialize(engine: &Engine, artefact: &Artefact) -> Result<Component, Reject> {
    // SAFETY: an `Artefact` is only ever made of what this process has compiled itself, of what its
    // own child has compiled, of a file whose authentication code was verified on the very bytes
    // that are given here, or by the process that supervises this one. They are in memory of this
    // process, where nobody else can change them between that and this.
    unsafe { Component::deserialize(engine, artefact.code()) }
        .map_err(|error| Reject::Compile(error.into()))
}

/// Refuses a component that needs more than any attempt can have.
fn admit(component: &Component, max_memory_bytes: u64) -> Result<(), Reject> {
    // Not known where a component asks for modules from outside, which none may.
    let Some(needs) = component.resources_required() else { return Ok(()) };
    let elements = needs.max_initial_table_size.unwrap_or(0);
    for (what, needed, max) in [
        ("memories", u64::from(needs.num_memories), MAX_MEMORIES as u64),
        ("tables", u64::from(needs.num_tables), MAX_TABLES as u64),
        ("bytes of memory", initial_memory(needs), max_memory_bytes),
        ("table elements", elements, MAX_TABLE_ELEMENTS as u64),
    ] {
        if needed > max {
            return Err(Reject::NeedsTooMuch { what, needed, max });
        }
    }
    Ok(())
}

/// The bytes of the largest memory at the start. The engine counts pages.
fn initial_memory(needs: ResourcesRequired) -> u64 {
    needs.max_initial_memory_size.unwrap_or(0).saturating_mul(PAGE)
}
