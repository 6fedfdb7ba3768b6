//! Doors for the fuzzers: the words of one process as the other takes them in.

use super::chatter::Chatter;
use super::claims::{self, Known};
use super::frame::{self, Frame};
use super::protocol::{ToChild, ToParent};
use crate::code::MAX_CODE;
use crate::fuzzing::Recorder;
use cofferdam_core::limits::{Limits, MAX_CHECKPOINT};
use cofferdam_core::log::LogLine;
use cofferdam_core::outcome::Outcome;
use futures_util::FutureExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The log that a parent keeps of a child that writes these bytes, and the outcome that it believes
/// the child, if any.
pub fn heard_by_parent(mut stream: &[u8], limits: &Limits) -> (Vec<LogLine>, Option<Outcome>) {
    let (host, now) = (Arc::new(Recorder::default()), Instant::now());
    let mut chatter = Chatter::new(Arc::clone(&host) as _, limits, now);
    let max = usize::try_from(limits.output_bytes.max(MAX_CHECKPOINT)).unwrap_or(usize::MAX);
    // All of it is there, so no read waits.
    while let Some(Ok(Some(frame))) = frame::read::<ToParent>(&mut stream, max).now_or_never() {
        let Frame { message, body } = frame;
        let taken = match message {
            ToParent::Log(line) => chatter.log(line),
            ToParent::Progress { percent, note } => chatter.progress(percent, &note, now),
            ToParent::Pulse => chatter.sign(now),
            ToParent::Fetch { head, .. } => head.request(body).map(drop).ok_or("no request"),
            ToParent::Ended(ended) => {
                let wall = Duration::from_secs(1);
                let known = Known { limits, killed: None, leased: false, wall };
                return (host.take(), claims::outcome(*ended, body.into(), &known).ok());
            }
            _ => Ok(()),
        };
        if taken.is_err() {
            break;
        }
    }
    (host.take(), None)
}

/// How many of a parent's messages a child takes in of these bytes.
pub fn heard_by_child(mut stream: &[u8]) -> usize {
    let mut heard = 0;
    while let Some(Ok(Some(_))) = frame::read::<ToChild>(&mut stream, MAX_CODE).now_or_never() {
        heard += 1;
    }
    heard
}
