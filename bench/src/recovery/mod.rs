//! What recovery costs, and how long it takes.

mod crash;
mod fleet;
mod leases;

pub(crate) use crash::measure as crash;
pub(crate) use leases::measure as leases;
