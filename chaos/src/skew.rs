//! A wall clock that is wrong, for one process.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is preloaded into the process.
const SOURCE: &str = include_str!("skew.c");

/// The variable that tells it how many seconds to add.
const VARIABLE: &str = "CHAOS_SKEW";

/// The shim, compiled.
#[derive(Clone, Debug)]
pub struct Skew {
    library: PathBuf,
}

impl Skew {
    /// Compiles the shim into a folder. `None` when there is no C compiler.
    pub fn compile(folder: &Path) -> Result<Option<Self>> {
        let found = Command::new("cc").arg("--version").stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        let (source, library) = (folder.join("skew.c"), folder.join("skew.so"));
        std::fs::write(&source, SOURCE).context("cannot write the shim")?;
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot compile the shim: {said}");
        Ok(Some(Self { library }))
    }

    /// Shifts the wall clock of a process that is about to be started.
    pub fn apply(&self, command: &mut Command, seconds: i64) {
        command.env("LD_PRELOAD", &self.library).env(VARIABLE, seconds.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_wall_clock_of_a_process_is_shifted() {
        let folder = std::env::temp_dir().join(format!("cofferdam-skew-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let skew = Skew::compile(&folder).unwrap().expect("tests have a C compiler");
        let mut date = Command::new("date");
        skew.apply(date.arg("+%s"), 7200);
        let said = date.output().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();

        let shown: u64 = String::from_utf8(said.stdout).unwrap().trim().parse().unwrap();
        let shown = SystemTime::UNIX_EPOCH + Duration::from_secs(shown);
        let ahead = shown.duration_since(SystemTime::now()).unwrap();
        assert!(ahead > Duration::from_mins(119) && ahead <= Duration::from_hours(2), "{ahead:?}");
    }
}
