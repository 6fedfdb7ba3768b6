//! The guest threads: those that serve, and those that were lost in a call that does not return.

use crate::inbox::Inbox;
use crate::kill::KillReason;
use crate::settings::MAX_THREADS;
use crate::status::{StartError, StuckThread};
use crate::thread::GuestThread;
use crate::ticker::Ticker;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// A turn ends at the next tick, so a thread that is longer inside one than this may not come
/// back: new attempts go elsewhere while they can.
const LONG_TURN: Duration = Duration::from_millis(250);

/// See the module's documentation. Threads end when this is dropped, with all that is on them.
pub(crate) struct Threads {
    ticker: Arc<Ticker>,
    io: Handle,
    roster: RwLock<Roster>,
}

#[derive(Default)]
struct Roster {
    serving: Vec<Post>,
    /// Threads that were given up. They are here until they have ended, if they ever do.
    leaked: Vec<Post>,
    /// How many were started: the number of the next one.
    started: usize,
}

/// A guest thread from the outside.
struct Post {
    number: usize,
    inbox: Arc<Inbox>,
    thread: JoinHandle<()>,
    /// The turn in which it was last found stuck.
    stuck_in: AtomicU64,
}

/// Some of what is known of the threads at one moment.
pub(crate) struct Counts {
    pub(crate) serving: usize,
    pub(crate) attempts: usize,
    pub(crate) runnable: usize,
    pub(crate) longest_turn: Duration,
    pub(crate) leaked: usize,
    pub(crate) leaked_attempts: usize,
}

impl Threads {
    /// Starts at least one thread.
    pub(crate) fn start(count: usize, ticker: Ticker, io: Handle) -> Result<Self, StartError> {
        let threads = Self { ticker: Arc::new(ticker), io, roster: RwLock::default() };
        {
            let mut roster = threads.change();
            for _ in 0..count.max(1) {
                let post = threads.post(&mut roster)?;
                roster.serving.push(post);
            }
        }
        Ok(threads)
    }

    /// Has `launch` put an attempt on the thread that has the fewest. No thread is given up
    /// meanwhile, so that the attempt does not land on one that nobody looks after any more.
    pub(crate) fn launch<T>(&self, launch: impl FnOnce(&Arc<Inbox>) -> T) -> T {
        let roster = self.read();
        let now = Instant::now();
        let best = roster.serving.iter().min_by_key(|post| {
            let inbox = &post.inbox;
            (inbox.turn_at(now) > LONG_TURN, inbox.load())
        });
        if let Some(post) = best {
            return launch(&post.inbox);
        }
        // There is always one. Were there none, the attempt would be given back.
        let nobody = Arc::new(Inbox::new());
        nobody.close(KillReason::Shutdown);
        launch(&nobody)
    }

    /// The serving threads that have been inside one turn for `past` or longer.
    pub(crate) fn stuck(&self, past: Duration) -> Vec<StuckThread> {
        let now = Instant::now();
        let roster = self.read();
        let stuck = roster.serving.iter().filter_map(|post| {
            // Before its length: a later turn than this mark's is a shorter one.
            post.stuck_in.store(post.inbox.turn_mark(), Ordering::Relaxed);
            let since = post.inbox.turn_at(now);
            (since > Duration::ZERO && since >= past).then(|| StuckThread {
                thread: post.number,
                since,
                attempts: post.inbox.load(),
                host_call: post.inbox.host_call.get().map(|call| call.name().to_owned()),
            })
        });
        stuck.collect()
    }

    /// Gives a thread up and starts another in its place. Answers whether it did: a thread that
    /// is not in the turn any more in which it was found stuck stays.
    pub(crate) fn replace(&self, number: usize) -> Result<bool, StartError> {
        let mut roster = self.change();
        roster.leaked.retain(|post| !post.thread.is_finished());
        let place = roster.serving.iter().position(|post| post.number == number);
        let Some(place) = place else { return Ok(false) };
        let stuck = roster.serving.get(place).is_some_and(|post| {
            let mark = post.inbox.turn_mark();
            mark != 0 && mark == post.stuck_in.load(Ordering::Relaxed)
        });
        if !stuck {
            return Ok(false);
        }
        if roster.leaked.len() >= MAX_THREADS {
            return Err(StartError::TooManyThreads { threads: roster.leaked.len() + 1 });
        }
        let fresh = self.post(&mut roster)?;
        roster.serving.push(fresh);
        let lost = roster.serving.swap_remove(place);
        lost.inbox.leak();
        roster.leaked.push(lost);
        Ok(true)
    }

    pub(crate) fn counts(&self) -> Counts {
        let now = Instant::now();
        let roster = self.read();
        let inboxes = || roster.serving.iter().map(|post| &post.inbox);
        let leaked = || roster.leaked.iter().filter(|post| !post.thread.is_finished());
        let leaked_attempts = leaked().map(|post| post.inbox.load()).sum();
        Counts {
            serving: roster.serving.len(),
            attempts: inboxes().map(|inbox| inbox.load()).sum::<usize>() + leaked_attempts,
            runnable: inboxes().map(|inbox| inbox.runnable()).sum(),
            longest_turn: inboxes().map(|inbox| inbox.turn_at(now)).max().unwrap_or_default(),
            leaked: leaked().count(),
            leaked_attempts,
        }
    }

    fn post(&self, roster: &mut Roster) -> Result<Post, StartError> {
        let (number, inbox) = (roster.started, Arc::new(Inbox::new()));
        let thread = GuestThread::start(
            number,
            Arc::clone(&inbox),
            Arc::clone(&self.ticker),
            self.io.clone(),
        );
        roster.started += 1;
        let thread = thread.map_err(StartError::Thread)?;
        Ok(Post { number, inbox, thread, stuck_in: AtomicU64::new(0) })
    }

    /// Every change of the roster is a single step, so one that panicked left nothing half done.
    fn read(&self) -> RwLockReadGuard<'_, Roster> {
        self.roster.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Roster> {
        self.roster.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for post in &self.read().serving {
            post.inbox.close(KillReason::Shutdown);
        }
    }
}
