//! Where the installation's key comes from.

use crate::config::Config;
use crate::env;
use crate::error::{CommandError, Result};
use crate::key_file;
use cofferdam_core::key::InstallationKey;
use std::path::{Path, PathBuf};

/// The file in the data folder of `dev` that holds the key when none is set.
const DEV_FILE: &str = "installation.key";

/// The installation's key, if one is set.
pub(crate) fn key(config: &mut Config) -> Result<Option<InstallationKey>> {
    let key: Option<InstallationKey> = config.find(&env::KEY, None)?;
    let file: Option<PathBuf> = config.find(&env::KEY_FILE, None)?;
    match (key, file) {
        (Some(_), Some(_)) => {
            let (key, file) = (env::KEY.name, env::KEY_FILE.name);
            Err(CommandError::usage(format!("{key} and {file} are both set"))
                .cause("an installation has one key")
                .hint(format!("unset one of them; {file} keeps the key out of the environment")))
        }
        (Some(key), None) => Ok(Some(key)),
        (None, Some(path)) => key_file::read(&path).map(Some),
        (None, None) => Ok(None),
    }
}

/// The same for `dev`, which makes a key in its data folder when none is set.
pub(crate) fn dev_key(config: &mut Config, data_dir: &Path) -> Result<InstallationKey> {
    match key(config)? {
        Some(key) => Ok(key),
        None => key_file::read_or_make(data_dir, DEV_FILE),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;
    use crate::exit::Exit;

    const HEX: &str = "0707070707070707070707070707070707070707070707070707070707070707";

    #[test]
    fn a_key_is_read_from_where_it_is_set_and_never_shown() {
        let mut config = config(&[("COFFERDAM_KEY", HEX)]);
        let found = key(&mut config).unwrap();
        assert_eq!(found.map(|key| key.to_hex()).as_deref(), Some(HEX));
        let shown: Vec<_> = config.settled().into_iter().map(|setting| setting.value).collect();
        assert_eq!(shown, ["(hidden)"]);
        // and with a letter too many, it is still not shown
        let bad = format!("{HEX}0");
        let error = key(&mut super::super::tests::config(&[("COFFERDAM_KEY", &bad)])).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.hints[0].contains("openssl rand"), "{error:?}");
        assert!(!format!("{error:?}").contains(HEX), "{error:?}");
    }

    #[test]
    fn without_a_key_there_is_none_but_for_dev() {
        let folder = tempfile::tempdir().unwrap();
        assert!(key(&mut config(&[])).unwrap().is_none());
        let made = dev_key(&mut config(&[]), folder.path()).unwrap();
        let path = folder.path().join(DEV_FILE).display().to_string();
        // The file that was made is one that can be named.
        let named = key(&mut config(&[("COFFERDAM_KEY_FILE", &path)])).unwrap();
        assert!(named == Some(made));
        // One that is set wins, and none is made.
        let other = folder.path().join("other");
        let set = dev_key(&mut config(&[("COFFERDAM_KEY", HEX)]), &other).unwrap();
        assert_eq!(set.to_hex(), HEX);
        assert!(!other.exists());
    }

    #[test]
    fn two_keys_are_one_too_many() {
        let both = [("COFFERDAM_KEY", HEX), ("COFFERDAM_KEY_FILE", "/nowhere")];
        let error = key(&mut config(&both)).unwrap_err();
        assert_eq!(error.message, "COFFERDAM_KEY and COFFERDAM_KEY_FILE are both set");
        assert!(!error.hints.is_empty());
    }
}
