//! Where settings come from: flag over environment over file over default.

use crate::env::{self, Fallback, Variable};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::suggest;
use crate::value::{BadValue, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a value was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// On the command line.
    Flag(&'static str),
    /// In the environment.
    Environment(&'static str),
    /// In the configuration file.
    File(PathBuf, &'static str),
    /// Nowhere.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Environment(name) => f.write_str(name),
            Self::File(path, key) => write!(f, "`{key}` in {}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value that was settled, for `doctor`.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Which one.
    pub(crate) variable: &'static Variable,
    /// Its value as text; secrets are left out.
    pub(crate) value: String,
    /// Where it came from.
    pub(crate) origin: Origin,
}

/// The sources of settings, and what was settled so far.
#[derive(Debug)]
pub(crate) struct Config {
    environment: BTreeMap<String, String>,
    file: Option<(PathBuf, BTreeMap<&'static str, String>)>,
    settled: Vec<Setting>,
}

impl Config {
    /// Reads the environment, and the file that `--config` or the environment names.
    pub(crate) fn load(flag: Option<&Path>) -> Result<Self> {
        Self::from_parts(env::read(), flag)
    }

    /// The same from an environment that the caller has at hand.
    pub(crate) fn from_parts(
        environment: impl IntoIterator<Item = (String, String)>,
        flag: Option<&Path>,
    ) -> Result<Self> {
        // An empty variable is how many tools say "not set".
        let environment: BTreeMap<_, _> =
            environment.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let mut config = Self { environment, file: None, settled: Vec::new() };
        if let Some(path) = config.find(&env::CONFIG, flag.map(Path::to_path_buf))? {
            let keys = read_file(&path)?;
            config.file = Some((path, keys));
        }
        Ok(config)
    }

    /// The value of a setting that has a default.
    pub(crate) fn get<T: Value>(
        &mut self,
        variable: &'static Variable,
        flag: Option<T>,
    ) -> Result<T> {
        match self.find(variable, flag)? {
            Some(value) => Ok(value),
            None => Err(CommandError::usage(format!("{} is not set", variable.name))
                .hint(set_hint(variable))),
        }
    }

    /// The value of a setting whose default has to be found out.
    pub(crate) fn get_or<T: Value>(
        &mut self,
        variable: &'static Variable,
        flag: Option<T>,
        default: impl FnOnce() -> T,
    ) -> Result<T> {
        if let Some(value) = self.find(variable, flag)? {
            return Ok(value);
        }
        let value = default();
        self.settle(variable, &value, Origin::Default);
        Ok(value)
    }

    /// The value of a setting, if it has one.
    pub(crate) fn find<T: Value>(
        &mut self,
        variable: &'static Variable,
        flag: Option<T>,
    ) -> Result<Option<T>> {
        if let (Some(value), Some(flag)) = (flag, variable.flag) {
            self.settle(variable, &value, Origin::Flag(flag));
            return Ok(Some(value));
        }
        let Some((text, origin)) = self.text(variable) else { return Ok(None) };
        let value = T::read(&text).map_err(|bad| refuse(variable, &origin, bad))?;
        self.settle(variable, &value, origin);
        Ok(Some(value))
    }

    fn text(&self, variable: &'static Variable) -> Option<(String, Origin)> {
        if let Some(text) = self.environment.get(variable.name) {
            return Some((text.clone(), Origin::Environment(variable.name)));
        }
        if let (Some((path, keys)), Some(key)) = (&self.file, variable.key)
            && let Some(text) = keys.get(key)
        {
            return Some((text.clone(), Origin::File(path.clone(), key)));
        }
        match variable.default {
            Fallback::Text(text) => Some((text.to_owned(), Origin::Default)),
            Fallback::Computed(_) | Fallback::Nothing => None,
        }
    }

    fn settle(&mut self, variable: &'static Variable, value: &impl Value, origin: Origin) {
        let value = if variable.secret { "(hidden)".to_owned() } else { value.show() };
        self.settled.retain(|setting| setting.variable != variable);
        self.settled.push(Setting { variable, value, origin });
    }

    /// Everything that was settled, in the order of the registry.
    pub(crate) fn settled(&self) -> Vec<Setting> {
        let of = |variable: &&'static Variable| {
            self.settled.iter().find(|setting| setting.variable == *variable).cloned()
        };
        env::ALL.iter().filter_map(of).collect()
    }

    /// Variables of ours in the environment that mean nothing, each with the nearest that does.
    pub(crate) fn unknown_variables(&self) -> Vec<(String, Option<&'static str>)> {
        let known = || env::ALL.iter().map(|variable| variable.name);
        self.environment
            .keys()
            .filter(|name| !known().any(|known| known == name.as_str()))
            .map(|name| (name.clone(), suggest::nearest(name, known())))
            .collect()
    }
}

fn refuse(variable: &Variable, origin: &Origin, bad: BadValue) -> CommandError {
    let mut error = CommandError::usage(format!("{} is not usable", variable.name))
        .cause(format!("{} (from {origin})", bad.message));
    error.hints.extend(bad.hint);
    error
}

/// How a setting is set.
pub(crate) fn set_hint(variable: &Variable) -> String {
    match variable.flag {
        Some(flag) => format!("use {flag} or set {}", variable.name),
        None => format!("set {}", variable.name),
    }
}

/// Reads a file of keys. A key that means nothing is an error: a misspelt limit is no limit.
fn read_file(path: &Path) -> Result<BTreeMap<&'static str, String>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::file(Exit::Usage, "read the configuration", path, &error))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        CommandError::usage(format!("the configuration `{shown}` is not TOML"))
            .cause(error.to_string().trim_end().to_owned())
    })?;
    let keys = || env::ALL.iter().filter_map(|variable| variable.key);
    let mut found = BTreeMap::new();
    for (key, value) in table {
        let Some(known) = keys().find(|known| *known == key) else {
            return Err(unknown_key(path, &key, suggest::nearest(&key, keys())));
        };
        let Some(text) = as_text(&value) else {
            return Err(CommandError::usage(format!(
                "the value of `{key}` in `{shown}` is no value"
            ))
            .hint("write a text, a number, a truth value or an array of texts"));
        };
        found.insert(known, text);
    }
    Ok(found)
}

fn unknown_key(path: &Path, key: &str, nearest: Option<&str>) -> CommandError {
    let error = CommandError::usage(format!("`{}` has the unknown key `{key}`", path.display()));
    if matches!(key, "module" | "limits" | "grants" | "kinds") {
        return error.hint(
            "this looks like the manifest of a module; pass it to `module push --manifest` instead",
        );
    }
    match nearest {
        Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
        None => error.hint("docs/configuration.md lists the keys"),
    }
}

fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Array(items) => {
            items.iter().map(toml::Value::as_str).collect::<Option<Vec<_>>>().map(|l| l.join(","))
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::time::Duration;

    fn config(environment: &[(&str, &str)], file: Option<&str>) -> Result<Config> {
        let pairs =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let Some(text) = file else { return Config::from_parts(pairs, None) };
        let mut written = tempfile::NamedTempFile::new().unwrap();
        written.write_all(text.as_bytes()).unwrap();
        Config::from_parts(pairs, Some(written.path()))
    }

    #[test]
    fn flag_over_environment_over_file_over_default() {
        let file = "slots = 3\nschema = \"filed\"\nqueues = [\"a\", \"b\"]\n";
        let mut config = config(&[("COFFERDAM_SLOTS", "5")], Some(file)).unwrap();

        assert_eq!(config.get(&env::SLOTS, Some(7_usize)).unwrap(), 7);
        assert_eq!(config.get::<usize>(&env::SLOTS, None).unwrap(), 5);
        assert_eq!(config.get::<String>(&env::SCHEMA, None).unwrap(), "filed");
        assert_eq!(config.get::<crate::value::Queues>(&env::QUEUES, None).unwrap().0.len(), 2);
        let grace: Duration = config.get(&env::DRAIN_GRACE, None).unwrap();
        assert_eq!(grace, Duration::from_secs(30));

        let origins: Vec<_> = config.settled().iter().map(|s| s.origin.to_string()).collect();
        assert!(origins.contains(&"COFFERDAM_SLOTS".to_owned()), "{origins:?}");
        assert!(origins.contains(&"default".to_owned()), "{origins:?}");
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let mut config = config(&[("COFFERDAM_TOKEN", "")], None).unwrap();
        assert_eq!(config.find::<String>(&env::TOKEN, None).unwrap(), None);
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest() {
        let error = config(&[], Some("slot = 3")).unwrap_err();
        assert!(error.message.contains("unknown key `slot`"), "{}", error.message);
        assert_eq!(error.hints, ["did you mean `slots`?"]);

        let manifest = config(&[], Some("[module]\nname = \"images\"")).unwrap_err();
        assert!(manifest.hints[0].contains("--manifest"), "{manifest:?}");
    }

    #[test]
    fn a_bad_value_says_where_it_stands() {
        let mut config = config(&[("COFFERDAM_DRAIN_GRACE", "10")], None).unwrap();
        let error = config.get::<Duration>(&env::DRAIN_GRACE, None).unwrap_err();
        assert!(error.causes[0].contains("from COFFERDAM_DRAIN_GRACE"), "{error:?}");
        assert!(error.hints[0].contains("10s"), "{error:?}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let mut config = config(&[("COFFERDAM_TOKEN", "hunter2")], None).unwrap();
        config.find::<String>(&env::TOKEN, None).unwrap();
        assert!(config.settled().iter().all(|setting| !setting.value.contains("hunter2")));
    }

    #[test]
    fn misspelt_variables_are_found() {
        let config = config(&[("COFFERDAM_SLOT", "3")], None).unwrap();
        let unknown = config.unknown_variables();
        assert_eq!(unknown, [("COFFERDAM_SLOT".to_owned(), Some("COFFERDAM_SLOTS"))]);
    }
}
