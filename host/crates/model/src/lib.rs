//! A model of the lease protocol, small enough that every state of it can be looked at.
//!
//! Jobs, workers, their clocks and the messages between them and the database, with the faults
//! that may befall them. What becomes of a failed attempt and which transitions there are is not
//! modelled but asked of `cofferdam_core`, so that the check covers the code that runs.
//!
//! Each guard of the protocol is a switch. The tests check that with all of them every property
//! holds, and that without any one of them a property fails. `docs/model.md` says what is left
//! out.
#![expect(
    clippy::indexing_slicing,
    reason = "an index out of the model's arrays is a defect of the model, and a panic fails its \
              test; nothing that runs in production links this crate"
)]

mod action;
mod database;
mod enabled;
mod guards;
mod model;
mod properties;
mod reach;
mod state;
mod step;
mod symmetry;

pub use action::{Action, Slot};
pub use guards::{Guard, Guards};
pub use model::{Budget, Clocks, Fault, Protocol};
pub use properties::name;
pub use reach::{Reach, reach_ends};
pub use state::{
    Answer, Attempt, Beat, Job, LEADERS, Late, Lease, MAX_JOBS, Mode, Outcome, Phase, Seat, State,
    WORKERS, Worker, Wrong,
};
