//! Compiling in processes of the real executable, and what is kept of it on disk.

use bytes::Bytes;
use cofferdam_core::module::Digest;
use cofferdam_core::outcome::End;
use cofferdam_sandbox::{
    Artefact, ArtefactCache, Compiler, CompilerBounds, CompilerError, Reject, Sandbox,
    SandboxSettings, Toolchain, ToolchainError,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Handle;

/// More than any test keeps, in bytes.
const PLENTY: u64 = 1 << 30;

fn executable() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_cofferdam"))
}

fn sandbox() -> Sandbox {
    let settings = SandboxSettings { slots: 2, threads: 1, ..SandboxSettings::default() };
    Sandbox::start(settings, Handle::current()).unwrap()
}

fn cache(folder: &Path) -> ArtefactCache {
    ArtefactCache::open(folder.join("cache"), None, PLENTY).unwrap()
}

async fn toolchain(
    sandbox: &Sandbox,
    bounds: CompilerBounds,
    cache: Option<ArtefactCache>,
) -> Toolchain {
    Toolchain::start(sandbox, Compiler::apart(executable(), bounds), cache).await.unwrap()
}

/// What an echo of the artefact's component answers.
async fn echo(sandbox: &Sandbox, artefact: &Artefact) -> End {
    let prepared = sandbox.load(artefact).unwrap();
    let case = super::apart::Case { input: b"echoed", ..super::apart::Case::of("echo") };
    sandbox.run(&prepared, case.attempt()).outcome().await.end
}

#[tokio::test]
async fn what_a_process_apart_has_compiled_runs_here() {
    // Given a compiler in a process of its own
    let sandbox = sandbox();
    let toolchain = toolchain(&sandbox, CompilerBounds::default(), None).await;
    // when it compiles a component
    let component = Bytes::from(cofferdam_testkit::component("misbehave"));
    let artefact = toolchain.make(component.clone()).await.unwrap();
    // then it runs in this one, and a panic is still found in its source.
    assert_eq!(artefact.component(), Digest::of(&component));
    assert_eq!(echo(&sandbox, &artefact).await, End::Completed(b"echoed".to_vec()));
    let prepared = sandbox.load(&artefact).unwrap();
    let panicked = sandbox.run(&prepared, super::apart::Case::of("panic").attempt());
    let End::Failed(failure) = panicked.outcome().await.end else { panic!("it did not panic") };
    assert!(failure.backtrace.contains("lib.rs:"), "{}", failure.backtrace);
}

#[tokio::test]
async fn a_component_that_does_not_compile_is_refused_in_the_compiler_s_words() {
    let sandbox = sandbox();
    let toolchain = toolchain(&sandbox, CompilerBounds::default(), None).await;
    let mut component = cofferdam_testkit::component("misbehave");
    component.truncate(component.len() / 2);
    match toolchain.make(component.into()).await {
        Err(CompilerError::Rejected(Reject::Compile(why))) => {
            assert!(why.to_string().contains("malformed"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_component_that_takes_too_long_is_given_up() {
    // Given a compiler that has next to no time
    let sandbox = sandbox();
    let wall = Duration::from_millis(1);
    let bounds = CompilerBounds { wall, ..CompilerBounds::default() };
    let toolchain = toolchain(&sandbox, bounds, None).await;
    // when it compiles a component, then it is ended, twice, and the component is refused.
    let component = Bytes::from(cofferdam_testkit::component("thumbnail"));
    match toolchain.make(component).await {
        Err(CompilerError::Rejected(reject @ Reject::TooExpensive { .. })) => {
            assert_eq!(reject.code(), "compile-too-expensive");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_executable_that_is_none_of_ours_is_found_out_at_the_start() {
    let sandbox = sandbox();
    for other in ["/bin/true", "/bin/cat", "/nonexistent/cofferdam"] {
        let compiler = Compiler::apart(PathBuf::from(other), CompilerBounds::default());
        match Toolchain::start(&sandbox, compiler, None).await {
            Err(ToolchainError::Compiler(CompilerError::Process(_))) => {}
            started => panic!("{other}: {started:?}"),
        }
    }
}

#[tokio::test]
async fn what_one_worker_has_compiled_another_one_of_the_machine_finds() {
    // Given two workers with one folder
    let (sandbox, folder) = (sandbox(), TempDir::new().unwrap());
    let bounds = CompilerBounds::default();
    let one = toolchain(&sandbox, bounds, Some(cache(folder.path()))).await;
    let other = toolchain(&sandbox, bounds, Some(cache(folder.path()))).await;
    let component = Bytes::from(cofferdam_testkit::component("misbehave"));
    let digest = Digest::of(&component);
    assert!(other.find(digest).await.is_none());
    // when one compiles a component
    one.make(component).await.unwrap();
    // then the other one has it, and it runs.
    let found = other.find(digest).await.unwrap();
    assert_eq!(echo(&sandbox, &found).await, End::Completed(b"echoed".to_vec()));
}

/// A planted artefact is refused: invariant 5.
#[tokio::test]
async fn a_planted_artefact_is_not_loaded() {
    // Given a folder into which somebody has put the machine code of another component, signed by
    // another installation, under the name of ours
    let (sandbox, ours, theirs) = (sandbox(), TempDir::new().unwrap(), TempDir::new().unwrap());
    let bounds = CompilerBounds::default();
    let component = Bytes::from(cofferdam_testkit::component("misbehave"));
    let attacker = toolchain(&sandbox, bounds, Some(cache(theirs.path()))).await;
    attacker.make(component.clone()).await.unwrap();
    let victim = toolchain(&sandbox, bounds, Some(cache(ours.path()))).await;
    let planted = artefact_in(theirs.path());
    let place = ours.path().join("cache").join(planted.file_name().unwrap());
    fs::copy(&planted, &place).unwrap();
    // when ours is looked for
    let found = victim.find(Digest::of(&component)).await;
    // then it is not there, somebody is told, and it is compiled anew.
    assert!(found.is_none());
    assert!(!place.exists());
    assert_eq!(victim.cache().unwrap().status().alerts, 1);
    let artefact = victim.make(component).await.unwrap();
    assert_eq!(echo(&sandbox, &artefact).await, End::Completed(b"echoed".to_vec()));
}

fn artefact_in(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder.join("cache")).unwrap();
    let mut files = entries.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|end| end == "artefact")).unwrap()
}

#[test]
fn the_compiler_is_not_for_people() {
    let output = std::process::Command::new(executable())
        .args(["compile-component", "--parent", "1"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not meant for people"), "{said}");
}
