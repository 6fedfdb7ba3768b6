//! Identifiers. Each kind of thing has a type of its own, so that they cannot be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Takes an identifier that something else made.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The identifier as the database keeps it.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

uuid_id!(
    /// A job. A `UUIDv7`, made by the submitter or the server, so that submitting is idempotent and
    /// ids sort by age.
    JobId
);
uuid_id!(
    /// A tenant: the owner of modules, jobs, secrets and tokens.
    TenantId
);
uuid_id!(
    /// A module: a named line of versions.
    ModuleId
);
uuid_id!(
    /// One immutable upload of a module.
    VersionId
);
uuid_id!(
    /// One start of a worker process. A worker that comes back is another incarnation with
    /// another id, so that leases of the old one stay fenced.
    WorkerId
);

impl TenantId {
    /// The tenant that every installation has from the start.
    pub const DEFAULT: Self = Self(Uuid::from_u128(1));
}

/// The fencing token: the count of claims of a job. Grows by one with each claim and never comes
/// back, so an outcome that names an old one is refused.
pub type RunLease = i64;

/// The key of a lease: a job and the claim of it that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseKey {
    /// The job.
    pub job: JobId,
    /// Which claim of it.
    pub run_lease: RunLease,
}

impl fmt::Display for LeaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.job, self.run_lease)
    }
}
