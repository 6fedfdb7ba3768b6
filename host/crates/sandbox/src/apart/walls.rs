//! The walls that a child shuts itself in with, whatever becomes of the code that it runs: one that
//! runs an attempt, and one that compiles.
//!
//! Files and networks go first (Landlock), while the process has one thread: those that it starts
//! are shut in with it, but before Linux 7.0 those that are there already are not. System calls go
//! last (seccomp), of all threads, when what is needed is there. A kernel that has not the one
//! or the other is taken as it is; `cofferdam doctor` tells.

use super::calls;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, LandlockStatus, PathBeneath, PathFd, PathFdError,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use std::path::Path;
use std::thread;
use thiserror::Error;
use wasmtime::PoolingAllocationConfig;

/// The newest version of Landlock that this was written for. Of an older one there is what it has.
const NEWEST: ABI = ABI::V10;

/// Which walls the kernel of this machine has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walls {
    /// The version of Landlock, which shuts out files, networks (from 4 on) and other processes
    /// (from 6 on).
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
}

/// A wall that the kernel has, and that does not stand all the same.
#[derive(Debug, Error)]
pub(crate) enum WallError {
    /// The kernel refused a rule.
    #[error("files and networks cannot be shut out")]
    Files(#[from] RulesetError),
    /// The folder that is to be let in is not there.
    #[error("the scratch folder cannot be let in")]
    Scratch(#[from] PathFdError),
    /// The kernel refused to bound the size of files.
    #[error("the size of files cannot be bounded")]
    Size(#[from] Errno),
    /// The kernel refused a filter.
    #[error("system calls cannot be shut out")]
    Calls(#[from] seccompiler::Error),
}

/// Tries which walls there are, on a thread that does nothing else and ends inside of them.
pub fn walls() -> Walls {
    let tried = thread::Builder::new().name("walls".to_owned()).spawn(|| Walls {
        landlock: shut_out_files(None).unwrap_or_default(),
        seccomp: calls::shut_out(false, seccompiler::apply_filter).unwrap_or_default(),
    });
    tried.ok().and_then(|tried| tried.join().ok()).unwrap_or_default()
}

/// Shuts this thread, and those that it starts from now on, out of every file but those below
/// `scratch`, out of TCP and out of what other processes listen to or can be sent. Answers the
/// version of Landlock, where there is one.
pub(crate) fn shut_out_files(scratch: Option<&Path>) -> Result<Option<u32>, WallError> {
    // The engine has one file, which it opens once for the whole process: now, or never.
    let _ = PoolingAllocationConfig::is_pagemap_scan_available();
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    if let Some(scratch) = scratch {
        // Nothing to execute, and nothing that leads elsewhere: links, devices, sockets, pipes.
        let rights = AccessFs::ReadFile
            | AccessFs::ReadDir
            | AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir
            | AccessFs::Refer;
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(scratch)?, rights))?;
    }
    let status = ruleset.restrict_self()?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => None,
        // The version is written as its number.
        (_, LandlockStatus::Available { effective_abi, .. }) => {
            effective_abi.to_string().parse().ok()
        }
        _ => None,
    })
}

/// Shuts all threads of this process out of the system calls that no guest needs, for good. With a
/// scratch folder, files may be as large as `scratch_bytes`; with 0 there is none, and not even the
/// calls that files are opened by. Answers whether the kernel filters calls.
///
/// Threads are not counted against a limit: the kernel counts those of all processes of the user.
pub(crate) fn shut_out_calls(scratch_bytes: u64) -> Result<bool, WallError> {
    // Not earlier: a guest's first memory is a file in memory, which is as large as its data.
    setrlimit(Resource::RLIMIT_FSIZE, scratch_bytes, scratch_bytes)?;
    Ok(calls::shut_out(scratch_bytes > 0, seccompiler::apply_filter_all_threads)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Artefact;
    use crate::describe;
    use crate::sandbox::Sandbox;
    use crate::settings::SandboxSettings;
    use cofferdam_core::outcome::{End, Outcome};
    use nix::sys::signal::Signal;
    use std::fs::{self, File};
    use std::io::{self, ErrorKind, Write as _};
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::Command;
    use tokio::runtime::Runtime;

    /// Says to a process of this test what it is to do.
    const DEED: &str = "COFFERDAM_TEST_DEED";
    /// How that process ends when it was done, and when the kernel refused it.
    const DONE: i32 = 40;
    const REFUSED: i32 = 41;

    type Deed = fn() -> io::Result<()>;

    #[derive(Debug, PartialEq, Eq)]
    enum Fate {
        Done,
        Refused,
        Killed,
    }

    /// What is tried behind the wall before files and networks, ...
    const FILES: [(&str, Deed, Fate); 7] = [
        ("open a file", || File::open("/etc/passwd").map(drop), Fate::Refused),
        ("list a folder", || fs::read_dir("/").map(drop), Fate::Refused),
        ("make a file", || File::create("/tmp/cofferdam-walls").map(drop), Fate::Refused),
        ("look at a process", || fs::read("/proc/self/environ").map(drop), Fate::Refused),
        ("listen", || TcpListener::bind("127.0.0.1:0").map(drop), Fate::Refused),
        ("execute", || Err(Command::new("/bin/true").exec()), Fate::Refused),
        ("open a file on another thread", on_another_thread, Fate::Refused),
    ];

    /// ... and behind the one before system calls.
    const CALLS: [(&str, Deed, Fate); 11] = [
        ("open a file", || File::open("/etc/passwd").map(drop), Fate::Refused),
        ("open a file on another thread", on_another_thread, Fate::Refused),
        ("signal a process", signal_init, Fate::Refused),
        ("map code", map_code, Fate::Refused),
        ("send a datagram", || UdpSocket::bind("127.0.0.1:0").map(drop), Fate::Killed),
        ("listen", || TcpListener::bind("127.0.0.1:0").map(drop), Fate::Killed),
        ("pair sockets", || UnixStream::pair().map(drop), Fate::Killed),
        ("execute", || Err(Command::new("/bin/true").exec()), Fate::Killed),
        ("start a process", || Command::new("/bin/true").status().map(drop), Fate::Killed),
        ("change the root", || Ok(nix::unistd::chroot("/")?), Fate::Killed),
        ("run a guest", run_a_guest, Fate::Done),
    ];

    fn on_another_thread() -> io::Result<()> {
        thread::spawn(|| File::open("/etc/passwd").map(drop)).join().unwrap()
    }

    fn signal_init() -> io::Result<()> {
        Ok(nix::sys::signal::kill(nix::unistd::Pid::from_raw(1), None)?)
    }

    /// A program that ends at once, or at once and badly.
    fn program(code: &str) -> Vec<u8> {
        let text = format!(
            "(component
                (core module $m (func $run (export \"run\") (result i32) {code}))
                (core instance $i (instantiate $m))
                (func $run (result (result)) (canon lift (core func $i \"run\")))
                (instance $command (export \"run\" (func $run)))
                (export \"wasi:cli/run@0.2.0\" (instance $command)))"
        );
        wat::parse_str(text).unwrap()
    }

    fn sandbox(runtime: &Runtime) -> Sandbox {
        let settings = SandboxSettings { slots: 1, threads: 1, ..SandboxSettings::default() };
        Sandbox::start(settings, runtime.handle().clone()).unwrap()
    }

    fn runtime() -> Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    fn map_code() -> io::Result<()> {
        let artefact = Artefact::compile(&program("i32.const 0")).unwrap();
        let runtime = runtime();
        let sandbox = sandbox(&runtime);
        shut_out_calls(0).unwrap();
        let Err(refused) = sandbox.load(&artefact) else { return Ok(()) };
        let said = format!("{refused:?}");
        assert!(said.contains("Operation not permitted"), "{said}");
        Err(ErrorKind::PermissionDenied.into())
    }

    /// As the child does it: a wall, a sandbox, the guest's code, the other wall, the guest.
    fn run_a_guest() -> io::Result<()> {
        let runtime = runtime();
        let programs = ["i32.const 0", "unreachable"];
        let artefacts = programs.map(|code| Artefact::compile(&program(code)).unwrap());
        shut_out_files(None).unwrap();
        let sandbox = sandbox(&runtime);
        let prepared = artefacts.map(|artefact| sandbox.load(&artefact).unwrap());
        shut_out_calls(0).unwrap();
        let outcomes = prepared.map(|prepared| {
            runtime.block_on(sandbox.run(&prepared, describe::attempt()).outcome())
        });
        // The second one has a backtrace, which a thread of its own looks up.
        let [Outcome { end: good, .. }, Outcome { end: End::Failed(bad), .. }] = outcomes else {
            panic!("the second one has not failed")
        };
        assert_eq!(good, End::Completed(Vec::new()));
        assert!(bad.code == "unreachable" && !bad.backtrace.is_empty(), "{bad:?}");
        Ok(())
    }

    /// Does nothing in a run of all tests: the two below start this executable again, with just
    /// this test and a deed.
    #[test]
    fn a_process_behind_a_wall() {
        let Some(deed) = std::env::var_os(DEED) else { return };
        let deed = deed.into_string().unwrap();
        let (wall, name) = deed.split_once(": ").unwrap();
        let deeds: &[(&str, Deed, Fate)] = if wall == "files" { &FILES } else { &CALLS };
        let (_, deed, _) = deeds.iter().find(|(known, ..)| *known == name).unwrap();
        if wall == "files" {
            shut_out_files(None).unwrap();
        } else if !["map code", "run a guest"].contains(&name) {
            shut_out_calls(0).unwrap();
        }
        let code = match deed() {
            Ok(()) => DONE,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => REFUSED,
            Err(error) => panic!("{error}"),
        };
        io::stderr().flush().unwrap();
        leave(code);
    }

    #[expect(clippy::exit, reason = "the code is what the other process is told")]
    fn leave(code: i32) -> ! {
        std::process::exit(code)
    }

    /// What becomes of a process that does something behind a wall.
    fn fate(wall: &str, deed: &str) -> Fate {
        let this = concat!(module_path!(), "::a_process_behind_a_wall");
        let (_, this) = this.split_once("::").unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", this, "--nocapture"])
            .env(DEED, format!("{wall}: {deed}"))
            .output()
            .unwrap();
        match (output.status.code(), output.status.signal()) {
            (Some(DONE), _) => Fate::Done,
            (Some(REFUSED), _) => Fate::Refused,
            (_, Some(signal)) if signal == Signal::SIGSYS as i32 => Fate::Killed,
            _ => panic!("{wall}: {deed}: {output:?}"),
        }
    }

    #[test]
    fn behind_the_first_wall_there_are_no_files_and_no_networks() {
        let Some(version) = walls().landlock else {
            eprintln!("NOT CHECKED: this kernel has no Landlock");
            return;
        };
        for (deed, _, expected) in FILES {
            if deed == "listen" && version < 4 {
                eprintln!("NOT CHECKED: Landlock {version} knows no networks");
                continue;
            }
            assert_eq!(fate("files", deed), expected, "{deed}");
        }
    }

    #[test]
    fn behind_the_second_wall_there_is_what_a_guest_needs_and_no_more() {
        if !walls().seccomp {
            eprintln!("NOT CHECKED: this kernel filters no system calls");
            return;
        }
        for (deed, _, expected) in CALLS {
            assert_eq!(fate("calls", deed), expected, "{deed}");
        }
    }

    #[test]
    fn a_scratch_folder_is_the_one_place_for_files() {
        // Given a thread with a folder of its own
        let (scratch, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (inside, outside) = (scratch.path().join("file"), elsewhere.path().join("file"));
        let folder = scratch.path().to_owned();
        let tried = thread::spawn(move || {
            let version = shut_out_files(Some(&folder)).unwrap();
            // then it writes and reads there, and nowhere else,
            fs::write(&inside, "text").unwrap();
            assert_eq!(fs::read(&inside).unwrap(), b"text");
            (version, fs::write(&outside, "text").map_err(|error| error.kind()))
        });
        let (version, written) = tried.join().unwrap();
        if version.is_some() {
            assert_eq!(written, Err(ErrorKind::PermissionDenied));
        }
        // and other threads of this process are as free as before.
        fs::write(elsewhere.path().join("other"), "text").unwrap();
    }

    #[test]
    fn trying_the_walls_leaves_this_process_free() {
        assert_eq!(walls(), walls());
        File::open("/etc/passwd").unwrap();
        UdpSocket::bind("127.0.0.1:0").unwrap();
    }
}
