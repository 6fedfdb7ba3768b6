//! One attempt: a fresh store, one instance, one call, and nothing left of it.

use crate::attempt::{Attempt, JobInfo};
use crate::backtrace::Trace;
use crate::code::{Entry, Prepared};
use crate::limiter::{FUEL_SLICE, LimitHit};
use crate::outcome::{Failed, Phase};
use crate::output::{Collected, Sink};
use crate::state::State;
use crate::task::Value;
use crate::vitals::Vitals;
use crate::{command, handler, outcome};
use bytes::Bytes;
use cofferdam_core::module::World;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::{Engine, Store, StoreContextMut, UpdateDeadline, WasmBacktrace};
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;

/// What `argv[0]` of a command is: programs take it for their name.
const PROGRAM: &str = "job";

/// Runs an attempt to its end. Dropping the future ends it at once.
pub(crate) async fn attempt(
    prepared: Prepared,
    attempt: Attempt,
    vitals: Arc<Vitals>,
) -> Result<Value, Failed> {
    let output = Collected::new(vitals.limits.output_bytes);
    let wasi = wasi(&prepared, &attempt, &vitals, &output);
    let Attempt { info, input, last_checkpoint, resumed, host, .. } = attempt;
    let memory = prepared.max_memory_bytes();
    let state = State::new(wasi, Arc::clone(&vitals), host, memory, last_checkpoint, resumed);
    let mut store = store(prepared.engine(), state).map_err(failed(&vitals, Phase::Starting))?;
    let result = call(&prepared, &mut store, info, &input, &output, &vitals).await;
    read_fuel(&store, &vitals);
    result
}

async fn call(
    prepared: &Prepared,
    store: &mut Store<State>,
    info: JobInfo,
    input: &[u8],
    output: &Collected,
    vitals: &Vitals,
) -> Result<Value, Failed> {
    match prepared.entry() {
        Entry::Handler(pre) => {
            let guest = pre.instantiate_async(&mut *store).await;
            let guest = guest.map_err(failed(vitals, Phase::Starting))?;
            let handler = guest.cofferdam_job_handler();
            match handler.call_handle(store, &info.into(), input).await {
                Ok(Ok(bytes)) => bounded(bytes, vitals),
                Ok(Err(error)) => Err(handler::failure(&error).into()),
                Err(error) => Err(outcome::failure(&error, vitals, Phase::Running)),
            }
        }
        Entry::Command(pre) => {
            let guest = pre.instantiate_async(&mut *store).await;
            let guest = guest.map_err(failed(vitals, Phase::Starting))?;
            command::end(guest.wasi_cli_run().call_run(store).await, output, vitals)
        }
    }
}

/// Asks a component for its kinds; a command is only started, to see that it can be.
pub(crate) async fn describe(
    prepared: Prepared,
    attempt: Attempt,
    vitals: Arc<Vitals>,
) -> Result<Value, Failed> {
    let output = Collected::new(0);
    let wasi = wasi(&prepared, &attempt, &vitals, &output);
    let memory = prepared.max_memory_bytes();
    let state = State::new(wasi, Arc::clone(&vitals), attempt.host, memory, None, None);
    let mut store = store(prepared.engine(), state).map_err(failed(&vitals, Phase::Starting))?;
    match prepared.entry() {
        Entry::Handler(pre) => {
            let guest = pre.instantiate_async(&mut store).await;
            let guest = guest.map_err(failed(&vitals, Phase::Starting))?;
            let kinds = guest.cofferdam_job_handler().call_describe(&mut store).await;
            kinds.map(Value::Kinds).map_err(failed(&vitals, Phase::Running))
        }
        Entry::Command(pre) => {
            let guest = pre.instantiate_async(&mut store).await;
            guest.map_err(failed(&vitals, Phase::Starting))?;
            Ok(Value::Kinds(Vec::new()))
        }
    }
}

fn failed(vitals: &Vitals, phase: Phase) -> impl FnOnce(wasmtime::Error) -> Failed {
    move |error| outcome::failure(&error, vitals, phase)
}

fn bounded(bytes: Vec<u8>, vitals: &Vitals) -> Result<Value, Failed> {
    let max = vitals.limits.output_bytes;
    if bytes.len() as u64 > max {
        let error = LimitHit::Output { max }.into();
        return Err(outcome::failure(&error, vitals, Phase::Running));
    }
    Ok(Value::Output(bytes))
}

/// The WASI side of an attempt: what it was given, and nothing of this process.
fn wasi(
    prepared: &Prepared,
    attempt: &Attempt,
    vitals: &Arc<Vitals>,
    output: &Collected,
) -> WasiCtx {
    let mut wasi = WasiCtx::builder();
    wasi.envs(&attempt.env)
        .max_random_size(vitals.limits.random_bytes)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .stderr(Sink::stderr(Arc::clone(vitals)));
    match prepared.world() {
        World::Handler => {
            wasi.stdout(Sink::stdout(Arc::clone(vitals)));
        }
        World::Command => {
            wasi.arg(PROGRAM)
                .args(&attempt.args)
                .stdin(MemoryInputPipe::new(Bytes::copy_from_slice(&attempt.input)))
                .stdout(Sink::output(Arc::clone(vitals), output.clone()));
        }
    }
    wasi.build()
}

fn store(engine: &Engine, state: State) -> wasmtime::Result<Store<State>> {
    let limits = state.vitals.limits.clone();
    let mut store = Store::try_new(engine, state)?;
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(limits.fuel)?;
    store.fuel_async_yield_interval(Some(FUEL_SLICE))?;
    store.set_hostcall_fuel(usize::try_from(limits.hostcall_bytes).unwrap_or(usize::MAX));
    store.set_max_component_handles(usize::try_from(limits.handles).unwrap_or(usize::MAX));
    // Start functions run during instantiation, so the clock is armed before.
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| at_tick(&store));
    Ok(store)
}

/// Runs at every tick of the epoch, in the guest's own loop. Time is read from a clock: a bulk
/// memory instruction can last many ticks, and a stalled ticker catches up in a burst.
fn at_tick(store: &StoreContextMut<'_, State>) -> wasmtime::Result<UpdateDeadline> {
    let vitals = Arc::clone(&store.data().vitals);
    if let Ok(left) = store.get_fuel() {
        vitals.meter.set_fuel(vitals.limits.fuel.saturating_sub(left));
    }
    let now = Instant::now();
    if let Some(stop) = vitals.stop(now) {
        return Err(stop.into());
    }
    if vitals.tick(now) {
        vitals.keep_trace(Trace::from(&WasmBacktrace::capture(store)));
    }
    Ok(UpdateDeadline::Yield(1))
}

fn read_fuel(store: &Store<State>, vitals: &Vitals) {
    if let Ok(left) = store.get_fuel() {
        vitals.meter.set_fuel(vitals.limits.fuel.saturating_sub(left));
    }
}
