//! From what someone wants done to rows that a worker will claim.

use crate::checks;
use crate::error::{ErrorKind, kind_of_store_error};
use crate::modules::Modules;
use crate::schema::{PayloadError, Schema};
use cofferdam_core::hint::Hint;
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::job::{NewJob, OptionError};
use cofferdam_core::limits::MAX_ENQUEUE;
use cofferdam_core::module::{KindInfo, ModuleRef, World};
use cofferdam_core::name::{KindName, QueueName};
use cofferdam_core::settings::KindSettings;
use cofferdam_store::{EnqueueJob, Enqueued, Resolved, Store, StoreError};
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;
use uuid::Uuid;

/// Why no job was accepted. Where several were submitted, none of them was.
#[derive(Debug, Error)]
pub enum SubmitError {
    /// No jobs at all.
    #[error("there is no job to submit")]
    Empty,
    /// More than one request may carry.
    #[error("{0} jobs are more than the {MAX_ENQUEUE} that one request may submit")]
    TooMany(usize),
    /// No such module, or no such version of it.
    #[error("there is no module `{0}`")]
    UnknownModule(ModuleRef),
    /// The module has several kinds and none was named.
    #[error("`{module}` handles several kinds: {kinds}")]
    KindNeeded {
        /// What was asked for.
        module: ModuleRef,
        /// Its kinds.
        kinds: String,
    },
    /// The module does not handle the kind.
    #[error("`{name}` does not handle `{kind}`, only {kinds}")]
    UnknownKind {
        /// The module.
        name: String,
        /// What was asked for.
        kind: KindName,
        /// What it handles.
        kinds: String,
    },
    /// An option is out of its bounds.
    #[error("job {index}: {error}")]
    Options {
        /// Which of the submitted jobs, from 0.
        index: usize,
        /// What is wrong.
        error: OptionError,
    },
    /// Arguments or variables for a handler, which has none.
    #[error("job {index}: `args` and `env` are for command jobs; `{module}` is a handler")]
    NotACommand {
        /// Which of the submitted jobs, from 0.
        index: usize,
        /// What was asked for.
        module: ModuleRef,
    },
    /// The payload does not match the kind's schema.
    #[error("job {index}: {error}")]
    Payload {
        /// Which of the submitted jobs, from 0.
        index: usize,
        /// What is wrong.
        error: PayloadError,
    },
    /// The kind's schema was accepted once but does not compile any more.
    #[error("the input schema of `{kind}` cannot be used: {problem}")]
    Schema {
        /// The kind.
        kind: KindName,
        /// What is wrong with its schema.
        problem: String,
    },
    /// The database refused or is away.
    #[error("the jobs could not be stored")]
    Store(#[from] StoreError),
    /// The task that checks payloads died.
    #[error("checking the payloads did not come to an end")]
    Interrupted(#[source] tokio::task::JoinError),
}

impl SubmitError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooMany(_) | Self::Options { error: OptionError::Payload { .. }, .. } => {
                ErrorKind::TooLarge
            }
            Self::UnknownModule(_) | Self::UnknownKind { .. } => ErrorKind::NotFound,
            Self::Empty
            | Self::KindNeeded { .. }
            | Self::Options { .. }
            | Self::NotACommand { .. }
            | Self::Payload { .. } => ErrorKind::Invalid,
            Self::Schema { .. } | Self::Interrupted(_) => ErrorKind::Internal,
            Self::Store(error) => kind_of_store_error(error),
        }
    }

    /// A short word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "no-jobs",
            Self::TooMany(_) => "too-many-jobs",
            Self::UnknownModule(_) => "unknown-module",
            Self::KindNeeded { .. } => "kind-needed",
            Self::UnknownKind { .. } => "unknown-kind",
            Self::Options { error: OptionError::Payload { .. }, .. } => "payload-too-large",
            Self::Options { .. } => "bad-options",
            Self::NotACommand { .. } => "not-a-command",
            Self::Payload { .. } => "payload-mismatch",
            Self::Store(error) if error.is_full() => "database-full",
            Self::Store(error) if error.is_transient() => "database-unavailable",
            Self::Schema { .. } | Self::Store(_) | Self::Interrupted(_) => "internal",
        }
    }
}

impl Hint for SubmitError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownModule(_) => {
                Some("`cofferdam module list` shows what is there".to_owned())
            }
            Self::KindNeeded { module, .. } => {
                Some(format!("name one, as in {}/KIND", module.name))
            }
            Self::UnknownKind { name, .. } => {
                Some(format!("`cofferdam module show {name}` describes its kinds"))
            }
            Self::Options { error, .. } => error.hint(),
            Self::Payload { error, .. } => error.hint(),
            Self::Store(error) => error.hint(),
            Self::TooMany(_) => Some("split them over several requests".to_owned()),
            Self::Empty | Self::NotACommand { .. } | Self::Schema { .. } | Self::Interrupted(_) => {
                None
            }
        }
    }
}

/// Accepts jobs.
#[derive(Clone, Debug)]
pub struct Submitter {
    store: Store,
    modules: Modules,
}

impl Submitter {
    /// A submitter that keeps compiled schemas in `modules`.
    pub fn new(store: Store, modules: Modules) -> Self {
        Self { store, modules }
    }

    /// Accepts all of the jobs in one transaction, or none. The answers are in the order of the
    /// jobs. A job whose id is known already is answered with the one that is there.
    pub async fn submit(
        &self,
        tenant: TenantId,
        jobs: Vec<NewJob>,
    ) -> Result<Vec<Enqueued>, SubmitError> {
        if jobs.is_empty() {
            return Err(SubmitError::Empty);
        }
        if jobs.len() > MAX_ENQUEUE {
            return Err(SubmitError::TooMany(jobs.len()));
        }
        let mut resolved = HashMap::new();
        let mut rows = Vec::with_capacity(jobs.len());
        let mut schemas = Vec::with_capacity(jobs.len());
        for (index, job) in jobs.into_iter().enumerate() {
            job.check().map_err(|error| SubmitError::Options { index, error })?;
            let module = ModuleRef { kind: None, ..job.module.clone() };
            let resolved = match resolved.entry(module.to_string()) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let found = self.store.resolve(tenant, &module).await?;
                    entry.insert(found.ok_or(SubmitError::UnknownModule(module))?)
                }
            };
            let (kind, settings) = pick_kind(&job.module, resolved)?;
            let schema = self.modules.schema(resolved.version, kind).await;
            schemas.push(schema.map_err(|problem| {
                let kind = kind.name.clone();
                SubmitError::Schema { kind, problem }
            })?);
            rows.push(row(tenant, index, job, resolved, kind, settings)?);
        }
        let rows = checked(rows, schemas).await?;
        Ok(self.store.enqueue(&rows).await?)
    }
}

/// Checks every payload against its schema, and gives the rows back.
async fn checked(
    rows: Vec<EnqueueJob>,
    schemas: Vec<Option<Arc<Schema>>>,
) -> Result<Vec<EnqueueJob>, SubmitError> {
    if schemas.iter().all(Option::is_none) {
        return Ok(rows);
    }
    let check = move || {
        for (index, (row, schema)) in rows.iter().zip(schemas).enumerate() {
            if let Some(schema) = schema {
                let checked = schema.check(&row.payload);
                checked.map_err(|error| SubmitError::Payload { index, error })?;
            }
        }
        Ok(rows)
    };
    checks::elsewhere(check).await.map_err(SubmitError::Interrupted)?
}

fn row(
    tenant: TenantId,
    index: usize,
    job: NewJob,
    resolved: &Resolved,
    kind: &KindInfo,
    settings: &KindSettings,
) -> Result<EnqueueJob, SubmitError> {
    let has_arguments = !job.options.args.is_empty() || !job.options.env.is_empty();
    if has_arguments && resolved.world == World::Handler {
        return Err(SubmitError::NotACommand { index, module: job.module });
    }
    let queue = job.queue.or_else(|| settings.queue.clone());
    Ok(EnqueueJob {
        id: job.id.unwrap_or_else(|| JobId::from_uuid(Uuid::now_v7())),
        tenant,
        module: resolved.module,
        version: job.module.version.is_some().then_some(resolved.version),
        kind: kind.name.clone(),
        queue: queue.unwrap_or_else(QueueName::default_queue),
        priority: job.priority,
        run_at: job.run_at,
        payload: job.payload,
        options: job.options,
    })
}

fn pick_kind<'a>(
    asked: &ModuleRef,
    resolved: &'a Resolved,
) -> Result<(&'a KindInfo, &'a KindSettings), SubmitError> {
    let kinds = || {
        let names: Vec<_> =
            resolved.kinds.iter().map(|(kind, _)| format!("`{}`", kind.name)).collect();
        names.join(", ")
    };
    let found = match (&asked.kind, resolved.kinds.as_slice()) {
        (None, [only]) => Some(only),
        (None, _) => {
            return Err(SubmitError::KindNeeded { module: asked.clone(), kinds: kinds() });
        }
        (Some(name), all) => all.iter().find(|(kind, _)| kind.name == *name),
    };
    match (found, &asked.kind) {
        (Some((kind, settings)), _) => Ok((kind, settings)),
        (None, Some(kind)) => Err(SubmitError::UnknownKind {
            name: asked.name.to_string(),
            kind: kind.clone(),
            kinds: kinds(),
        }),
        (None, None) => Err(SubmitError::UnknownModule(asked.clone())),
    }
}
