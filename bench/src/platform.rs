//! A whole platform in this process: a private Postgres, a sandbox and a worker.

use crate::guests;
use anyhow::{Context as _, Result};
use cofferdam_core::ids::TenantId;
use cofferdam_core::manifest::Manifest;
use cofferdam_core::name::ModuleName;
use cofferdam_localpg::{Cluster, ClusterError, ClusterSettings};
use cofferdam_runner::{Modules, PublishRequest, Publisher, Submitter, Worker, WorkerSettings};
use cofferdam_store::{Store, StoreSettings};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The parts that a measurement uses, and those that must outlive it.
pub(crate) struct Platform {
    pub(crate) store: Store,
    pub(crate) submitter: Submitter,
    pub(crate) worker: Worker,
    base: Base,
}

/// A database with a module in it, and nobody who works.
pub(crate) struct Base {
    pub(crate) store: Store,
    pub(crate) submitter: Submitter,
    pub(crate) cluster: Cluster,
    modules: Modules,
    _folder: TempDir,
}

impl Base {
    /// Starts a private Postgres and publishes `guest` as `bench`. Commits are durable.
    pub(crate) async fn start(runtime: &Runtime, guest: &[u8]) -> Result<Self> {
        let folder = TempDir::new()?;
        let settings = ClusterSettings::new(folder.path().join("postgres"));
        let cluster = tokio::task::spawn_blocking(move || {
            let cluster = Cluster::open(&settings)?;
            cluster.create_database("bench")?;
            Ok::<_, ClusterError>(cluster)
        })
        .await??;
        let store = Store::connect(&StoreSettings::new(cluster.url("bench"))).await?;
        store.migrate().await?;

        let threads = std::thread::available_parallelism()?.get();
        let sandbox = guests::sandbox(runtime, threads)?;
        let modules = Modules::new(store.clone(), sandbox, 8);
        let publisher = Publisher::new(store.clone(), modules.clone());
        let request = PublishRequest {
            name: Some(ModuleName::new("bench")?),
            version: None,
            manifest: Manifest::default(),
            activate: true,
        };
        publisher.publish(TenantId::DEFAULT, guest.to_vec(), request).await?;
        let submitter = Submitter::new(store.clone(), modules.clone());
        Ok(Self { store, submitter, cluster, modules, _folder: folder })
    }

    /// Stops everything.
    pub(crate) async fn stop(self) -> Result<()> {
        self.store.close().await;
        tokio::task::spawn_blocking(move || self.cluster.stop())
            .await?
            .context("the private Postgres did not stop")
    }
}

impl Platform {
    /// Starts a worker on a database of its own.
    pub(crate) async fn start(runtime: &Runtime, guest: &[u8]) -> Result<Self> {
        let base = Base::start(runtime, guest).await?;
        let (store, modules) = (base.store.clone(), base.modules.clone());
        let worker = Worker::start(WorkerSettings::default(), store.clone(), modules).await?;
        Ok(Self { store, submitter: base.submitter.clone(), worker, base })
    }

    /// Stops everything.
    pub(crate) async fn stop(self) -> Result<()> {
        self.worker.drain(Duration::from_secs(5), CancellationToken::new()).await;
        self.base.stop().await
    }
}
