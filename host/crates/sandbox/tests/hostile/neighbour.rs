//! An honest guest in the sandbox of a hostile one: what it notices is what the attack achieved.

use crate::support::{
    Guest, Recorder, attempt, attempt_for, failure, finish, output, sandbox_with, until,
};
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::Outcome;
use cofferdam_sandbox::{Attempt, Prepared, Reject, Sandbox, SandboxSettings};
use std::cell::Cell;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;

/// How long guests may run that do not end by themselves.
pub(crate) const TIME: Duration = Duration::from_secs(1);

/// Guest threads. A hostile component runs once on each, so that its neighbour shares one with it.
const THREADS: usize = 2;

/// Slots for jobs.
const SLOTS: usize = 8;

/// More attempts than any sandbox of these tests has slots, those for descriptions included.
const CROWD: usize = 24;

/// The longest that an answer of the neighbour may take. Alone it takes microseconds, and beside
/// a guest that spins a few ticks; one that is starved waits for the end of the hostile one.
const PROMPT: Duration = Duration::from_secs(2);

/// A hostile guest that lasts for so long must have let its neighbour answer [`FAIR`] times.
const LONG: Duration = Duration::from_millis(500);

/// One answer more than a neighbour gets that has to wait for the end of the hostile one, and
/// some for good measure.
const FAIR: usize = 3;

/// Answers of the neighbour after the end of the hostile one.
const AFTERWARDS: usize = 3;

/// Far more than a kill takes, and far less than a guest that is never killed.
const LATE: Duration = Duration::from_secs(5);

/// Far more than a refusal takes on a machine that does much else, and far less than compiling
/// what is refused would.
const UPLOAD: Duration = Duration::from_secs(30);

/// The question upon which the neighbour waits for its host instead of answering.
const PARK: &[u8] = b"park";

/// A class, a code and a part of the message.
pub(crate) type Expected<'a> = (FailureClass, &'a str, &'a str);

/// Runs a component on every guest thread at once; all of them must fail so, in time.
pub(crate) async fn ends(
    component: &[u8],
    attempt: impl Fn() -> Attempt,
    (class, code, said): Expected<'_>,
) {
    for outcome in outcomes(component, attempt).await {
        let failed = failure(outcome, class);
        assert_eq!(failed.code, code, "{}", failed.message);
        assert!(failed.message.contains(said), "{}", failed.message);
    }
}

/// The same for one that must succeed, with this output.
pub(crate) async fn answers(component: &[u8], attempt: impl Fn() -> Attempt, expected: &[u8]) {
    for outcome in outcomes(component, attempt).await {
        assert_eq!(output(outcome), expected);
    }
}

/// What becomes of a component that runs on every guest thread at once.
pub(crate) async fn outcomes(component: &[u8], attempt: impl Fn() -> Attempt) -> Vec<Outcome> {
    let neighbour = Neighbour::beside(THREADS, SLOTS).await;
    let hostile = neighbour.upload(component).await.unwrap();
    let outcomes = neighbour.while_it_answers(neighbour.run(&hostile, attempt)).await;
    neighbour.is_well().await;
    outcomes
}

/// An upload must be refused so, soon.
pub(crate) async fn refused(bytes: &[u8], code: &str, said: &str) {
    let neighbour = Neighbour::beside(THREADS, SLOTS).await;
    let started = Instant::now();
    let reject = neighbour.while_it_answers(neighbour.upload(bytes)).await.unwrap_err();
    assert!(started.elapsed() < UPLOAD, "{:?}", started.elapsed());
    let text = in_full(&reject);
    assert_eq!(reject.code(), code, "{text}");
    assert!(text.contains(said), "{text}");
    neighbour.is_well().await;
}

/// A component that has more of something than any attempt may have must not get to its own code:
/// it is refused as it is uploaded, or, where there is no pool of memories, as it starts.
pub(crate) async fn never_starts(bytes: &[u8], what: &str) {
    let neighbour = Neighbour::beside(THREADS, SLOTS).await;
    let text = match neighbour.while_it_answers(neighbour.upload(bytes)).await {
        Err(reject) => in_full(&reject),
        Ok(hostile) => {
            let starting = neighbour.run(&hostile, || attempt(b""));
            let mut outcomes = neighbour.while_it_answers(starting).await;
            failure(outcomes.remove(0), FailureClass::NotRunnable).message
        }
    };
    assert!(text.contains(what), "{text}");
    neighbour.is_well().await;
}

/// A component must be refused because of how it describes itself. Asked as often at once as there
/// are guest threads.
pub(crate) async fn undescribed(component: &[u8]) -> Reject {
    let neighbour = Neighbour::beside(THREADS, SLOTS).await;
    let hostile = neighbour.upload(component).await.unwrap();
    let asked = async {
        tokio::join!(neighbour.sandbox.describe(&hostile), neighbour.sandbox.describe(&hostile))
    };
    let (one, other) = neighbour.while_it_answers(asked).await;
    neighbour.is_well().await;
    let (one, other) = (one.unwrap_err(), other.unwrap_err());
    assert_eq!(one.code(), other.code());
    one
}

/// A sandbox, and an honest guest that runs in it.
pub(crate) struct Neighbour {
    sandbox: Sandbox,
    honest: Prepared,
    /// How many attempts can wait at once.
    room: usize,
}

impl Neighbour {
    /// An honest guest in a sandbox where hostile ones are going to run.
    pub(crate) async fn beside(threads: usize, slots: usize) -> Self {
        let settings = SandboxSettings { threads, slots, ..SandboxSettings::default() };
        let sandbox = sandbox_with(settings);
        let honest = upload(&sandbox, &honest()).await.unwrap();
        let mut neighbour = Self { sandbox, honest, room: 0 };
        neighbour.room = neighbour.measure().await;
        neighbour
    }

    /// What becomes of an upload.
    pub(crate) async fn upload(&self, bytes: &[u8]) -> Result<Prepared, Reject> {
        upload(&self.sandbox, bytes).await
    }

    /// Runs a component on every guest thread at once, to its end, which must come in time.
    pub(crate) async fn run(
        &self,
        hostile: &Prepared,
        attempt: impl Fn() -> Attempt,
    ) -> Vec<Outcome> {
        let mut latest = Instant::now();
        let mut running = Vec::new();
        for _ in 0..self.sandbox.settings().threads {
            let attempt = attempt();
            latest = latest.max(attempt.deadline + LATE);
            running.push(self.sandbox.run(hostile, attempt));
        }
        let mut outcomes = Vec::new();
        for one in running {
            outcomes.push(finish(one.outcome()).await);
        }
        assert!(Instant::now() < latest, "it ended {:?} too late", latest.elapsed());
        outcomes
    }

    /// Awaits something hostile, and asks the neighbour again and again until it is over and a
    /// little longer.
    pub(crate) async fn while_it_answers<T>(&self, hostile: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let lasted = Cell::new(None);
        let hostile = async {
            let end = hostile.await;
            lasted.set(Some(started.elapsed()));
            end
        };
        let asking = async {
            let (mut meanwhile, mut afterwards) = (0, 0);
            while afterwards < AFTERWARDS {
                self.ask(meanwhile + afterwards).await;
                match lasted.get() {
                    None => meanwhile += 1,
                    Some(_) => afterwards += 1,
                }
            }
            meanwhile
        };
        let (end, answers) = tokio::join!(hostile, asking);
        let lasted = lasted.get().unwrap_or_default();
        assert!(lasted < LONG || answers >= FAIR, "{answers} answers in {lasted:?}");
        end
    }

    /// Everything that was hostile is gone and has given back what it held.
    pub(crate) async fn is_well(&self) {
        let status = self.sandbox.status();
        assert_eq!((status.running, status.leaked_threads, status.leaked_attempts), (0, 0, 0));
        assert_eq!(status.threads, self.sandbox.settings().threads);
        assert_eq!(self.measure().await, self.room, "slots were not given back");
        self.ask(0).await;
    }

    /// Asks the neighbour one question. It must answer with it, and soon.
    async fn ask(&self, round: usize) {
        let question = format!("{round:08}").repeat(1 + round % 256).into_bytes();
        let asked = Instant::now();
        let answer = finish(self.sandbox.run(&self.honest, attempt(&question)).outcome()).await;
        let took = asked.elapsed();
        assert!(output(answer) == question, "another answer in round {round}");
        assert!(took < PROMPT, "{took:?} in round {round}");
    }

    /// How many attempts can wait at once: as many as the pool has slots, memories and stacks for.
    /// Where there is no pool, all of them can.
    async fn measure(&self) -> usize {
        let host = Arc::new(Recorder::default());
        host.stuck.store(true, Ordering::SeqCst);
        let crowd: Vec<_> =
            (0..CROWD).map(|_| self.sandbox.run(&self.honest, attempt_for(&host, PARK))).collect();
        let waiting = || host.arrived.load(Ordering::SeqCst);
        // Those that found no room have ended.
        until(|| waiting() == self.sandbox.status().running).await;
        let room = waiting();
        drop(crowd);
        until(|| self.sandbox.status().running == 0).await;
        room
    }
}

/// Looks at an upload and compiles it, on a thread that it may hold up.
async fn upload(sandbox: &Sandbox, bytes: &[u8]) -> Result<Prepared, Reject> {
    let (sandbox, bytes) = (sandbox.clone(), bytes.to_vec());
    let upload = move || {
        let inspection = sandbox.inspect(&bytes)?;
        sandbox.compile(&inspection.component)
    };
    spawn_blocking(upload).await.unwrap()
}

/// Answers with its input; upon [`PARK`] it waits for its host. It has as many memories as an
/// attempt may have, so that every memory of the pool is in use when all of its slots are.
fn honest() -> Vec<u8> {
    Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        items: "(memory $other 1)",
        handle: r"
            (if (i32.eq (i32.load8_u (call $input_ptr (local.get $args))) (i32.const 112)) (then
                (call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256))))
            (call $ok (call $input_ptr (local.get $args)) (call $input_len (local.get $args)))",
        ..Guest::default()
    }
    .component()
}

/// An error with all of its causes.
fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
