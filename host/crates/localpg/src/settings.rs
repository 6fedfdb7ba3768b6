//! How a private cluster is to be run.

use crate::error::ClusterError;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a private cluster is to be run.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// The folder that belongs to the cluster. It is made when missing. Nothing in it is for
    /// others to change.
    pub data_dir: PathBuf,
    /// More server settings, as names and values: `("max_connections", "300")`. They win over the
    /// ones made here. A server that is adopted while it runs keeps the settings it was started
    /// with.
    pub settings: Vec<(String, String)>,
    /// Whether committed data outlives a crash of the machine. Without it, writes do not wait for
    /// the disk: right for tests, whose data nobody wants back.
    pub durable: bool,
    /// Whether the cluster belongs to this process alone: when the process ends without stopping
    /// it, even by `kill -9`, the server is stopped at once and the **whole data folder removed**.
    pub temporary: bool,
    /// How long a start may take. Recovery after a crash is part of it.
    pub start_timeout: Duration,
}

impl ClusterSettings {
    /// A durable cluster in a folder, which is kept.
    pub fn new(data_dir: impl AsRef<Path>) -> Self {
        Self {
            data_dir: data_dir.as_ref().to_owned(),
            settings: Vec::new(),
            durable: true,
            temporary: false,
            start_timeout: Duration::from_mins(2),
        }
    }

    /// A cluster that lives no longer than this process and does not wait for the disk.
    pub fn temporary(data_dir: impl AsRef<Path>) -> Self {
        Self { durable: false, temporary: true, ..Self::new(data_dir) }
    }

    /// Adds a server setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The server's arguments. They are arguments rather than a file, so that nobody who can
    /// write to the data can change how it is run.
    pub(crate) fn arguments(&self, socket_dir: &Path) -> Result<Vec<String>, ClusterError> {
        let socket_dir = socket_dir.display().to_string();
        let mut arguments = Vec::new();
        let mut set = |name: &str, value: &str| {
            arguments.push("-c".to_owned());
            arguments.push(format!("{name}={value}"));
        };
        // No TCP, and a socket in a folder that only the cluster's user can enter: this is what
        // makes it safe to trust whoever connects.
        set("listen_addresses", "");
        set("unix_socket_directories", &socket_dir);
        set("unix_socket_permissions", "0700");
        set("port", crate::socket::PORT);
        set("cluster_name", "cofferdam");
        set("timezone", "UTC");
        set("log_timezone", "UTC");
        if !self.durable {
            set("fsync", "off");
            set("synchronous_commit", "off");
            set("full_page_writes", "off");
        }
        for (name, value) in &self.settings {
            let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(known) {
                return Err(ClusterError::BadSetting { name: name.clone() });
            }
            set(name, value);
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_settings_win_and_odd_names_are_refused() {
        let settings = ClusterSettings::temporary("/x").with("port", "6000");
        let arguments = settings.arguments(Path::new("/s")).unwrap();
        assert_eq!(arguments.last().unwrap(), "port=6000");
        assert!(arguments.contains(&"fsync=off".to_owned()));

        let settings = ClusterSettings::new("/x").with("port=1 -c x", "1");
        assert!(matches!(
            settings.arguments(Path::new("/s")),
            Err(ClusterError::BadSetting { .. })
        ));
    }
}
