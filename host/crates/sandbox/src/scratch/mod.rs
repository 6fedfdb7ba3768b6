//! A private folder for an attempt: `/tmp` to its guest, and gone with it.
//!
//! Guests reach it through `wasi:filesystem` and nothing else, and wasmtime's implementation keeps
//! every path inside of it. Links of either kind are refused: so there is nothing to follow, and no
//! file has two names.
//!
//! # How the quota is kept
//!
//! The books of an attempt say how many bytes and how many files its folder has *at most*. Three
//! things make that true:
//!
//! 1. One lock for each attempt is held for whatever changes its folder, from before it is charged
//!    until it is done, be it done by a call of the guest's or by a stream that writes while the
//!    guest goes on. So there is one change at a time, and what is measured under the lock holds
//!    until the lock is let go.
//! 2. What grows is charged before it grows: a file by how far the write or the new length goes
//!    past the length that it has under the lock, a call that may make a file or a folder by one of
//!    them, whether it makes one or not. The length counts, not the blocks: holes are no discount.
//! 3. Nothing is given back when something is removed, truncated or renamed away. Instead, when a
//!    charge does not fit, everything is measured: what is in the folder, and what is open and is
//!    not in the folder any more. Several descriptors of a file are one file to that, and a file
//!    that was removed counts for as long as anything can still write to it.
//!
//! Only what does not fit after that ends the attempt, as the other limits do: with an error of our
//! own. Were the guest told that there is no space, its failure would read as an error of its own,
//! which is worth a retry, where the same input meets the same limit again.
//!
//! Measuring looks at no more than the files that the quota allows, which is what a guest can have
//! done by listing a folder, too.
//!
//! # What the guest learns of the host
//!
//! Times of files are those of the host's clock, which guests can read anyway. The numbers that the
//! file system gives to files, from which could be told how much others make, are hidden behind a
//! key of the attempt's own.

mod folder;
mod measure;
mod quota;
mod remover;
mod root;
mod tree;
mod view;
mod writer;

pub(crate) use root::Root;
pub(crate) use view::{Files, ScratchFiles};

use crate::attempt::Attempt;
use crate::host::HostCall;
use crate::vitals::Vitals;
use folder::Folder;
use quota::Quota;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use thiserror::Error;
use wasmtime_wasi::p2::bindings::filesystem::types::MetadataHashValue;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// Where guests find their folder.
const GUEST_PATH: &str = "/tmp";

/// An attempt has no folder, although it is to have one.
#[derive(Debug, Error)]
pub(crate) enum NoScratch {
    #[error("the module asks for a scratch folder, and this worker has none to give")]
    NotHere,
    /// What went wrong is for the operator to read.
    #[error("this worker could not make a scratch folder for the attempt")]
    Failed(String),
}

/// What an attempt's store keeps of its folder. It must be dropped after everything that has files
/// of the folder open: closing the last descriptor of a file that was removed frees what it held,
/// which is not for a guest's thread to wait for.
pub(crate) struct Scratch {
    folder: Folder,
    /// Listings of folders that the guest has not dropped.
    listings: usize,
    /// What the identities of files are hidden behind.
    key: RandomState,
}

impl Scratch {
    fn quota(&self) -> &Arc<Quota> {
        self.folder.quota()
    }

    /// The same for the same file, in this attempt.
    fn disguised(&self, identity: MetadataHashValue) -> MetadataHashValue {
        let MetadataHashValue { lower, upper } = identity;
        MetadataHashValue {
            lower: self.key.hash_one((lower, upper, 0_u8)),
            upper: self.key.hash_one((lower, upper, 1_u8)),
        }
    }
}

/// Makes a folder for an attempt that is to have one, and opens it to the guest.
pub(crate) async fn give(
    root: Option<&Root>,
    attempt: &Attempt,
    vitals: &Vitals,
    wasi: &mut WasiCtxBuilder,
) -> Result<Option<Scratch>, NoScratch> {
    if !attempt.scratch {
        return Ok(None);
    }
    let root = root.ok_or(NoScratch::NotHere)?;
    let _within = vitals.within(HostCall::Scratch);
    let folder = root.folder(&vitals.limits).await;
    let folder = folder.map_err(|error| NoScratch::Failed(error.to_string()))?;
    wasi.preopened_dir(folder.path(), GUEST_PATH, FsPerms::ReadWrite)
        .map_err(|error| NoScratch::Failed(format!("{error:#}")))?;
    Ok(Some(Scratch { folder, listings: 0, key: RandomState::new() }))
}
