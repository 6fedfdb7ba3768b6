//! What each role is set to, settled from flags, environment, file and defaults.

mod key;
mod worker;

pub(crate) use key::{dev_key, key};
pub(crate) use worker::{WorkerFlags, recovery, worker};

use crate::cli::roles::DatabaseArgs;
use crate::config::{Config, set_hint};
use crate::env;
use crate::error::{CommandError, Result};
use crate::value::{BadValue, Bytes, Value};
use cofferdam_core::limits::Limits;
use cofferdam_sandbox::{MAX_THREADS, Pooling, SandboxSettings};
use cofferdam_store::StoreSettings;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

/// How to talk to a server.
#[derive(Clone, Debug)]
pub(crate) struct ClientSettings {
    /// Its URL.
    pub(crate) server: String,
    /// What to show at the door.
    pub(crate) token: Option<String>,
    /// How long one request may take.
    pub(crate) timeout: Duration,
}

impl ClientSettings {
    /// Settles them.
    pub(crate) fn settle(config: &mut Config, server: Option<String>) -> Result<Self> {
        Ok(Self {
            server: config.get(&env::SERVER, server)?,
            token: config.find(&env::TOKEN, None)?,
            timeout: config.get(&env::REQUEST_TIMEOUT, None)?,
        })
    }
}

/// The URL of the database, if one is named.
pub(crate) fn find_database_url(
    config: &mut Config,
    args: &DatabaseArgs,
) -> Result<Option<String>> {
    let url = config.find(&env::DATABASE_URL, args.database_url.clone())?;
    match url {
        Some(url) => Ok(Some(url)),
        None => config.find(&env::PLAIN_DATABASE_URL, None),
    }
}

/// How to use the database at `url`.
pub(crate) fn store(
    config: &mut Config,
    args: &DatabaseArgs,
    role: &str,
    url: String,
) -> Result<StoreSettings> {
    Ok(StoreSettings {
        url,
        schema: config.get(&env::SCHEMA, args.schema.clone())?,
        max_connections: config.get(&env::MAX_CONNECTIONS, None)?,
        statement_timeout: config.get(&env::STATEMENT_TIMEOUT, None)?,
        acquire_timeout: config.get(&env::ACQUIRE_TIMEOUT, None)?,
        application_name: format!("cofferdam {role}"),
    })
}

/// The database, which must be named.
pub(crate) fn database(
    config: &mut Config,
    args: &DatabaseArgs,
    role: &str,
) -> Result<StoreSettings> {
    let url = find_database_url(config, args)?.ok_or_else(|| {
        CommandError::usage("no database is named")
            .hint(set_hint(&env::DATABASE_URL))
            .hint("`cofferdam dev` brings its own, for development")
    })?;
    store(config, args, role, url)
}

/// Where a server listens and what it asks for.
#[derive(Clone, Debug)]
pub(crate) struct ServerSettings {
    /// The address.
    pub(crate) listen: SocketAddr,
    /// The token that requests must carry.
    pub(crate) token: Option<String>,
}

impl ServerSettings {
    /// Settles them. Without a token whoever reaches the port can run code: only this machine may.
    pub(crate) fn settle(config: &mut Config, listen: Option<SocketAddr>) -> Result<Self> {
        let listen = config.get(&env::LISTEN, listen)?;
        let token: Option<String> = config.find(&env::TOKEN, None)?;
        if token.is_none() && !listen.ip().is_loopback() {
            return Err(CommandError::usage(format!(
                "refusing to listen on {listen} without a token"
            ))
            .cause("whoever reaches this address could run code here")
            .hint(format!("{}, or listen on 127.0.0.1", set_hint(&env::TOKEN))));
        }
        Ok(Self { listen, token })
    }
}

/// What no attempt may exceed.
pub(crate) fn caps(config: &mut Config) -> Result<Limits> {
    let Bytes(memory_bytes) = config.get(&env::MAX_MEMORY, None)?;
    Ok(Limits {
        deadline: config.get(&env::MAX_DEADLINE, None)?,
        fuel: config.get(&env::MAX_FUEL, None)?,
        memory_bytes,
        ..Limits::caps()
    })
}

/// Settles what a sandbox is like that runs `slots` attempts at once.
pub(crate) fn sandbox(config: &mut Config, slots: usize) -> Result<SandboxSettings> {
    let cpus = || available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    let Bytes(max_memory_bytes) = config.get(&env::MAX_MEMORY, None)?;
    Ok(SandboxSettings {
        slots,
        threads: config.get_or(&env::GUEST_THREADS, None, cpus)?,
        pooling: config.get(&env::POOLING, None)?,
        max_memory_bytes,
        ..SandboxSettings::default()
    })
}

impl Value for Pooling {
    fn read(text: &str) -> std::result::Result<Self, BadValue> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            "required" => Ok(Self::Required),
            _ => Err(BadValue {
                message: format!("`{text}` is not a way to pool"),
                hint: Some("write auto, off or required".to_owned()),
            }),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Required => "required",
        }
        .to_owned()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn config(environment: &[(&str, &str)]) -> Config {
        let pairs =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::from_parts(pairs, None).unwrap()
    }

    #[test]
    fn a_server_without_a_token_keeps_to_this_machine() {
        let open = "0.0.0.0:7070".parse().unwrap();
        let error = ServerSettings::settle(&mut config(&[]), Some(open)).unwrap_err();
        assert!(error.message.contains("without a token"), "{error:?}");
        let guarded = &mut config(&[("COFFERDAM_TOKEN", "t")]);
        assert!(ServerSettings::settle(guarded, Some(open)).is_ok());
    }

    #[test]
    fn the_plain_variable_comes_last() {
        let both = &mut config(&[("DATABASE_URL", "a"), ("COFFERDAM_DATABASE_URL", "b")]);
        let args = DatabaseArgs::default();
        assert_eq!(database(both, &args, "test").unwrap().url, "b");
        let plain = &mut config(&[("DATABASE_URL", "a")]);
        assert_eq!(database(plain, &args, "test").unwrap().url, "a");
        assert!(database(&mut config(&[]), &args, "test").is_err());
    }
}
