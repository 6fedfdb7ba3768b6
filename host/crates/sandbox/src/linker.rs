//! What guests can call. Built once; nothing outside this list exists for a guest.

use crate::bindings::Handler;
use crate::state::State;
use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2;
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::random::WasiRandom;

/// Defines our interfaces and the part of WASI 0.2 that standard libraries need: no sockets.
/// Requests go through the attempt's host, which decides about each. Files are there because programs import them, but no folder is open to any guest.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    let to = &mut linker;

    // Streams, clocks, secure randomness, standard input, output and error.
    p2::add_to_linker_proxy_interfaces_async(to)?;
    random::insecure::add_to_linker::<_, WasiRandom>(to, |state: &mut State| state.wasi.random())?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(to, |state: &mut State| {
        state.wasi.random()
    })?;
    cli::environment::add_to_linker::<_, WasiCli>(to, State::cli)?;
    cli::exit::add_to_linker::<_, WasiCli>(to, State::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(to, State::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(to, State::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(to, State::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(to, State::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(to, State::cli)?;
    filesystem::types::add_to_linker::<_, WasiFilesystem>(to, State::filesystem)?;
    filesystem::preopens::add_to_linker::<_, WasiFilesystem>(to, State::filesystem)?;

    wasmtime_wasi_http::p2::add_only_http_to_linker_async(to)?;

    Handler::add_to_linker::<_, HasSelf<_>>(to, |state: &mut State| state)?;
    Ok(linker)
}
