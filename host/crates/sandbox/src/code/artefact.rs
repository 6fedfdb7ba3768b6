//! An artefact: machine code and what must be known of it, and the form that it has in a file.
//!
//! ```text
//! "CFDM-ART" | length of the header (u32, little endian) | header (JSON) | code | sections | MAC
//! ```
//!
//! The authentication code (MAC) is HMAC-SHA-256 over all that is before it, so it covers the engine, the
//! component's digest and the machine code together. It is verified before a byte of the header is
//! read.

use super::compile::{Effort, compile};
use super::fingerprint::Fingerprint;
use crate::reject::Reject;
use crate::symbols::{Symbols, SymbolsIndex};
use bytes::Bytes;
use cofferdam_core::key::{DerivedKey, KEY_BYTES};
use cofferdam_core::module::{Digest, World};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// What every file begins with.
const MAGIC: &[u8; 8] = b"CFDM-ART";

/// The longest header, in bytes. It lists the debug sections of up to 256 core modules.
const MAX_HEADER: usize = 1 << 20;

/// A compiled component. Copies share the bytes.
#[derive(Clone)]
pub struct Artefact(Arc<Inner>);

struct Inner {
    header: Header,
    code: Bytes,
    symbols: Arc<Symbols>,
}

/// What is known of the code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    fingerprint: Fingerprint,
    component: Digest,
    world: World,
    code: usize,
    symbols: SymbolsIndex,
}

/// Why bytes are no artefact.
#[derive(Debug, Error)]
pub(crate) enum BadArtefact {
    /// It does not begin like one, or is cut short.
    #[error("it is not a whole artefact")]
    Form,
    /// The authentication code is not that of these bytes under this installation's key.
    #[error("its authentication code is wrong")]
    Code,
    /// It is signed and cannot be read: another version of this program wrote it.
    #[error("its header cannot be read")]
    Header(#[source] serde_json::Error),
    /// It is signed, but of another component or for another engine than its name says.
    #[error("it is the artefact of something else")]
    Other,
}

impl Artefact {
    pub(crate) fn new(
        fingerprint: Fingerprint,
        component: Digest,
        world: World,
        code: Bytes,
        symbols: Symbols,
    ) -> Self {
        let header =
            Header { fingerprint, component, world, code: code.len(), symbols: symbols.index() };
        Self(Arc::new(Inner { header, code, symbols: Arc::new(symbols) }))
    }

    /// Compiles a component in this process, without any bounds: for tests and measurements, whose
    /// components nobody else has made. What others made belongs into a
    /// [`Toolchain`](crate::Toolchain).
    pub fn compile(component: &[u8]) -> Result<Self, Reject> {
        compile(component, Effort::Full)
    }

    /// The digest of the component that it was made of.
    pub fn component(&self) -> Digest {
        self.0.header.component
    }

    /// Which shape of job it is.
    pub fn world(&self) -> World {
        self.0.header.world
    }

    /// The size of the machine code and what comes with it, in bytes.
    pub fn size(&self) -> usize {
        self.0.code.len() + self.0.symbols.size()
    }

    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        &self.0.header.fingerprint
    }

    pub(crate) fn code(&self) -> &Bytes {
        &self.0.code
    }

    pub(crate) fn symbols(&self) -> &Arc<Symbols> {
        &self.0.symbols
    }

    /// The bytes without their authentication code, in pieces so that large ones are not copied.
    pub(crate) fn pieces(&self) -> Result<Vec<Bytes>, serde_json::Error> {
        let header = serde_json::to_vec(&self.0.header)?;
        let length = u32::try_from(header.len()).unwrap_or(u32::MAX);
        let mut head = Vec::with_capacity(MAGIC.len() + 4 + header.len());
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&length.to_le_bytes());
        head.extend_from_slice(&header);
        let mut pieces = vec![head.into(), self.0.code.clone()];
        pieces.extend(self.0.symbols.pieces());
        Ok(pieces)
    }

    /// The authentication code of the pieces.
    pub(crate) fn sign(pieces: &[Bytes], key: &DerivedKey) -> [u8; KEY_BYTES] {
        let parts: Vec<&[u8]> = pieces.iter().map(AsRef::as_ref).collect();
        key.sign(&parts)
    }

    /// Reads a file's bytes, if this installation has signed them for this component and engine.
    pub(crate) fn verified(
        mut bytes: Bytes,
        key: &DerivedKey,
        component: Digest,
        fingerprint: &Fingerprint,
    ) -> Result<Self, BadArtefact> {
        let signed = bytes.len().checked_sub(KEY_BYTES).ok_or(BadArtefact::Form)?;
        let code = bytes.split_off(signed);
        if !key.verify(&[&bytes], &code) {
            return Err(BadArtefact::Code);
        }
        let artefact = Self::read(bytes)?;
        if artefact.component() != component || artefact.fingerprint() != fingerprint {
            return Err(BadArtefact::Other);
        }
        Ok(artefact)
    }

    /// Reads bytes that come from somebody who may be believed: a file that was verified, or the
    /// process that supervises this one.
    pub(crate) fn read(mut bytes: Bytes) -> Result<Self, BadArtefact> {
        let head = take(&mut bytes, MAGIC.len() + 4)?;
        let (magic, length) = head.split_first_chunk::<8>().ok_or(BadArtefact::Form)?;
        let length = length.first_chunk::<4>().ok_or(BadArtefact::Form)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if magic != MAGIC || length > MAX_HEADER {
            return Err(BadArtefact::Form);
        }
        let header = take(&mut bytes, length)?;
        let header: Header = serde_json::from_slice(&header).map_err(BadArtefact::Header)?;
        let code = take(&mut bytes, header.code)?;
        let symbols = Symbols::read(&header.symbols, bytes).ok_or(BadArtefact::Form)?;
        Ok(Self(Arc::new(Inner { header, code, symbols: Arc::new(symbols) })))
    }
}

fn take(bytes: &mut Bytes, count: usize) -> Result<Bytes, BadArtefact> {
    if count > bytes.len() {
        return Err(BadArtefact::Form);
    }
    Ok(bytes.split_to(count))
}

impl std::fmt::Debug for Artefact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artefact")
            .field("component", &self.component())
            .field("world", &self.world())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;
    use cofferdam_core::key::{InstallationKey, Purpose};

    fn key(byte: u8) -> DerivedKey {
        InstallationKey::from_bytes([byte; KEY_BYTES]).derive(Purpose::Artefacts)
    }

    fn written(artefact: &Artefact, key: &DerivedKey) -> Vec<u8> {
        let pieces = artefact.pieces().unwrap();
        let code = Artefact::sign(&pieces, key);
        let mut bytes = pieces.concat();
        bytes.extend_from_slice(&code);
        bytes
    }

    #[test]
    fn only_what_this_installation_signed_for_this_component_is_read() {
        // Given an artefact as it is written
        let fingerprint = Fingerprint::of(&engine::compiling(Effort::Full).unwrap());
        let digest = Digest::of(b"component");
        let code = Bytes::from_static(b"machine code");
        let artefact =
            Artefact::new(fingerprint.clone(), digest, World::Handler, code, Symbols::default());
        let bytes = written(&artefact, &key(1));
        let read = |bytes: &[u8], key: &DerivedKey, digest| {
            Artefact::verified(Bytes::copy_from_slice(bytes), key, digest, &fingerprint)
        };
        // then it comes back as it was,
        let back = read(&bytes, &key(1), digest).unwrap();
        assert_eq!((back.code().as_ref(), back.world()), (&b"machine code"[..], World::Handler));
        // but not with another key, for another component, cut short, or changed anywhere.
        assert!(matches!(read(&bytes, &key(2), digest), Err(BadArtefact::Code)));
        let other = Digest::of(b"other");
        assert!(matches!(read(&bytes, &key(1), other), Err(BadArtefact::Other)));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x80;
            assert!(read(&changed, &key(1), digest).is_err(), "byte {at}");
            assert!(read(&bytes[..at], &key(1), digest).is_err(), "cut at {at}");
        }
    }
}
