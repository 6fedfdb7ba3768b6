//! Frames: how the stream of bytes between the two processes is cut.
//!
//! A frame is the length of its header and of its body (each 32 bits, little endian), the header
//! (JSON) and the body (bytes as they are). Both ends check both lengths before they take in a
//! byte, and neither reserves memory at the other's word.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The longest header, in bytes. That of an attempt is the longest: half a megabyte of variables
/// from a manifest, beside arguments and metadata, and JSON makes up to six bytes of one. A line
/// of log is within the log budget of an attempt.
pub(crate) const MAX_HEADER: usize = 4 << 20;

/// What is reserved for a part before its bytes have come.
const FIRST_RESERVE: usize = 64 * 1024;

/// The two lengths.
const PREFIX: usize = 8;

/// One frame, as it came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<T> {
    pub(crate) message: T,
    pub(crate) body: Bytes,
}

/// One frame on its way out.
#[derive(Debug)]
pub(crate) struct Outgoing {
    head: Vec<u8>,
    body: Vec<Bytes>,
}

/// A stream that is not made of frames.
#[derive(Debug, Error)]
pub(crate) enum FrameError {
    /// A part is longer than it may be.
    #[error("a {part} of {bytes} bytes, more than the {max} that it may have")]
    TooLong { part: &'static str, bytes: usize, max: usize },
    /// The stream ended inside of a frame.
    #[error("the stream ended in the middle of a frame")]
    Truncated,
    /// The header is not JSON, or not a message that there is.
    #[error("a header that is no message")]
    Header(#[source] serde_json::Error),
    /// The stream broke.
    #[error("the stream broke")]
    Io(#[source] io::Error),
}

impl Outgoing {
    /// A frame without a body.
    pub(crate) fn of(message: &impl Serialize) -> Result<Self, FrameError> {
        Self::with(message, Vec::new())
    }

    /// A frame with a body, given in pieces so that large ones need not be copied.
    pub(crate) fn with(message: &impl Serialize, body: Vec<Bytes>) -> Result<Self, FrameError> {
        let mut head = vec![0; PREFIX];
        serde_json::to_writer(&mut head, message).map_err(FrameError::Header)?;
        let header = length("header", head.len() - PREFIX, MAX_HEADER)?;
        let bytes = body.iter().map(Bytes::len).fold(0, usize::saturating_add);
        let bytes = length("body", bytes, u32::MAX as usize)?;
        let prefix = header.to_le_bytes().into_iter().chain(bytes.to_le_bytes());
        for (place, byte) in head.iter_mut().zip(prefix) {
            *place = byte;
        }
        Ok(Self { head, body })
    }

    /// Writes the frame out.
    pub(crate) async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        to.write_all(&self.head).await?;
        for piece in &self.body {
            to.write_all(piece).await?;
        }
        to.flush().await
    }
}

/// Reads the next frame, with a body of at most `max_body` bytes. Nothing when the stream has
/// ended between two frames. Not to be dropped half way: the rest of the frame would be taken for
/// the next one.
pub(crate) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    max_body: usize,
) -> Result<Option<Frame<T>>, FrameError> {
    let mut prefix = Vec::with_capacity(PREFIX);
    take(from, PREFIX, &mut prefix).await?;
    let lengths = prefix.split_first_chunk::<4>();
    let lengths = lengths.and_then(|(header, rest)| Some((header, rest.first_chunk::<4>()?)));
    let Some((header, body)) = lengths else {
        return if prefix.is_empty() { Ok(None) } else { Err(FrameError::Truncated) };
    };
    let header = bounded("header", u32::from_le_bytes(*header), MAX_HEADER)?;
    let body = bounded("body", u32::from_le_bytes(*body), max_body)?;
    let header = exactly(from, header).await?;
    let message = serde_json::from_slice(&header).map_err(FrameError::Header)?;
    let body = exactly(from, body).await?.into();
    Ok(Some(Frame { message, body }))
}

async fn exactly(from: &mut (impl AsyncRead + Unpin), bytes: usize) -> Result<Vec<u8>, FrameError> {
    let mut part = Vec::with_capacity(bytes.min(FIRST_RESERVE));
    take(from, bytes, &mut part).await?;
    if part.len() < bytes { Err(FrameError::Truncated) } else { Ok(part) }
}

/// Appends up to `bytes` bytes. The buffer grows as they come.
async fn take(
    from: &mut (impl AsyncRead + Unpin),
    bytes: usize,
    to: &mut Vec<u8>,
) -> Result<(), FrameError> {
    from.take(bytes as u64).read_to_end(to).await.map_err(FrameError::Io)?;
    Ok(())
}

fn bounded(part: &'static str, bytes: u32, max: usize) -> Result<usize, FrameError> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    length(part, bytes, max).map(|_| bytes)
}

fn length(part: &'static str, bytes: usize, max: usize) -> Result<u32, FrameError> {
    let refuse = || FrameError::TooLong { part, bytes, max };
    if bytes > max {
        return Err(refuse());
    }
    u32::try_from(bytes).map_err(|_| refuse())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX: usize = 1 << 10;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    fn written(frames: &[Outgoing]) -> Vec<u8> {
        let mut stream = Vec::new();
        for frame in frames {
            block_on(frame.write(&mut stream)).unwrap();
        }
        stream
    }

    fn read_all(mut stream: &[u8]) -> Result<Vec<Frame<String>>, FrameError> {
        let mut frames = Vec::new();
        while let Some(frame) = block_on(read(&mut stream, MAX))? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[test]
    fn a_stream_that_ends_between_frames_has_ended() {
        assert_eq!(read_all(b"").unwrap(), []);
    }

    #[test]
    fn a_length_past_the_cap_is_refused_before_a_byte_is_taken_in() {
        // Given frames that claim more than there may be, and bring nothing
        let header = u32::try_from(MAX_HEADER + 1).unwrap().to_le_bytes();
        let body = u32::try_from(MAX + 1).unwrap().to_le_bytes();
        for (stream, what) in [
            ([header, [0; 4]].concat(), "header"),
            ([[2, 0, 0, 0], body].concat(), "body"),
            (vec![0xff; PREFIX], "header"),
        ] {
            // then they are refused for what they claim, not for what is missing.
            let error = read_all(&stream).unwrap_err();
            let right = matches!(error, FrameError::TooLong { part, .. } if part == what);
            assert!(right, "{what}: {error:?}");
        }
    }

    #[test]
    fn a_message_too_long_to_be_read_is_not_written() {
        let error = Outgoing::of(&"x".repeat(MAX_HEADER)).unwrap_err();
        assert!(matches!(error, FrameError::TooLong { part: "header", .. }), "{error:?}");
    }

    #[test]
    fn a_header_that_is_no_message_is_refused() {
        let stream = [&[1, 0, 0, 0, 0, 0, 0, 0][..], b"{"].concat();
        assert!(matches!(read_all(&stream), Err(FrameError::Header(_))));
    }

    proptest! {
        #[test]
        fn frames_come_back(
            sent in prop::collection::vec((".{0,40}", prop::collection::vec(any::<u8>(), 0..MAX)), 0..5)
        ) {
            // Given frames whose bodies are written in two pieces
            let frames: Vec<_> = sent.iter().map(|(message, body)| {
                let (front, back) = body.split_at(body.len() / 2);
                let pieces = vec![Bytes::copy_from_slice(front), Bytes::copy_from_slice(back)];
                Outgoing::with(message, pieces).unwrap()
            }).collect();
            // then they are read as they were.
            let read = read_all(&written(&frames)).unwrap();
            let read: Vec<_> = read.into_iter().map(|f| (f.message, f.body.to_vec())).collect();
            prop_assert_eq!(read, sent);
        }

        #[test]
        fn a_frame_that_is_cut_off_is_no_frame(
            message in ".{0,40}", body in prop::collection::vec(any::<u8>(), 0..100), cut in 1_usize..50
        ) {
            let mut stream = written(&[Outgoing::with(&message, vec![body.into()]).unwrap()]);
            stream.truncate(stream.len().saturating_sub(cut).max(1));
            prop_assert!(matches!(read_all(&stream), Err(FrameError::Truncated)));
        }

        #[test]
        fn no_bytes_panic(stream in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_all(&stream);
        }
    }
}
