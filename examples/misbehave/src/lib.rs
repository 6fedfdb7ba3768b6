//! Handlers that fail: one kind for each way in which a job can, and a few that behave.
//!
//! They are what the platform is tested with, and what its tour shows. None of them is written to
//! be built natively into a program; `spin` would spin there too.

mod answers;
mod crashes;
mod curious;
mod floods;
mod ledger;
mod runaways;
mod waits;

pub use answers::{
    FailUntil, checkpoint_resume, echo, error, fail_until, permanent, retry_after, snooze,
    started_at,
};
pub use crashes::{abort, divide, exit, panic};
pub use curious::{Surroundings, look_around};
pub use floods::{flood_log, flood_output, flood_stdout};
pub use ledger::{Ending, Ledger, ledger};
pub use runaways::{allocate, fuel, recurse, spin};
pub use waits::{Patience, Slow, await_answer, doze, sleep, slow};
