//! Standard output and error of a guest: sinks that never fail for being full.
//!
//! A bounded pipe would make a Rust `println!` panic. These take everything, and end the guest
//! only where its limits say so.

use crate::host::HostCall;
use crate::limiter::LimitHit;
use crate::vitals::Vitals;
use bytes::Bytes;
use cofferdam_core::log::LogLevel;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a guest may write at a time. Host functions allocate this much at a guest's word.
const PERMIT: usize = 64 * 1024;

/// A stream of an attempt. Nothing goes through it once the attempt has lost its lease.
#[derive(Clone)]
pub(crate) struct Sink {
    vitals: Arc<Vitals>,
    call: HostCall,
    to: To,
}

/// Where the bytes of a stream go.
#[derive(Clone)]
enum To {
    /// Into the attempt's log, line by line.
    Log(LogLevel),
    /// Into a command's output.
    Output(Collected),
}

/// A command's output, as far as it was written.
#[derive(Clone)]
pub(crate) struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    max: u64,
}

impl Collected {
    pub(crate) fn new(max: u64) -> Self {
        Self { bytes: Arc::default(), max }
    }

    /// Takes what was written.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes())
    }

    fn write(&self, bytes: &[u8]) -> Result<(), LimitHit> {
        let mut all = self.bytes();
        if (all.len() as u64).saturating_add(bytes.len() as u64) > self.max {
            return Err(LimitHit::Output { max: self.max });
        }
        all.extend_from_slice(bytes);
        Ok(())
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink {
    /// Standard error: the log.
    pub(crate) fn stderr(vitals: Arc<Vitals>) -> Self {
        Self { vitals, call: HostCall::Stderr, to: To::Log(LogLevel::Stderr) }
    }

    /// Standard output of a handler: the log.
    pub(crate) fn stdout(vitals: Arc<Vitals>) -> Self {
        Self { vitals, call: HostCall::Stdout, to: To::Log(LogLevel::Stdout) }
    }

    /// Standard output of a command: the job's output.
    pub(crate) fn output(vitals: Arc<Vitals>, collected: Collected) -> Self {
        Self { vitals, call: HostCall::Stdout, to: To::Output(collected) }
    }

    fn take(&self, bytes: &[u8]) -> wasmtime::Result<()> {
        let _within = self.vitals.enter(self.call)?;
        match &self.to {
            To::Log(level) => self.vitals.journal.write(*level, bytes)?,
            To::Output(collected) => collected.write(bytes)?,
        }
        Ok(())
    }
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes).map_err(StreamError::Trap)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.take(bytes).map(|()| bytes.len()).map_err(io::Error::other))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
