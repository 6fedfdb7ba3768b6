//! The store against a real Postgres: each test has a database of its own.
//!
//! One program, so that the helpers are built and linked once. `cfg(test)` lets helpers, too, say
//! what they expect by failing.

#[cfg(test)]
mod attempt;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod claim;
#[cfg(test)]
mod claim_cost;
#[cfg(test)]
mod dlq;
#[cfg(test)]
mod enqueue;
#[cfg(test)]
mod finish;
#[cfg(test)]
mod heartbeat;
#[cfg(test)]
mod leader;
#[cfg(test)]
mod lease_cost;
#[cfg(test)]
mod list;
#[cfg(test)]
mod listen;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod migrate;
#[cfg(test)]
mod modules;
#[cfg(test)]
mod network;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod overload;
#[cfg(test)]
mod presence;
#[cfg(test)]
mod prune;
#[cfg(test)]
mod quarantine;
#[cfg(test)]
mod rescue;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod support;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod sweeps;
#[cfg(test)]
mod workers;
