//! Hostile guests, one for each attack, each beside an honest neighbour that must not notice.
//!
//! `docs/attacks.md` lists them with what ends them.

#[cfg(test)]
mod abi;
#[cfg(test)]
mod artefacts;
#[cfg(test)]
mod compile;
#[cfg(test)]
mod floods;
#[cfg(test)]
mod guests;
#[cfg(test)]
mod handles;
#[cfg(test)]
mod host;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod neighbour;
#[cfg(test)]
mod polls;
#[cfg(test)]
mod spin;
#[cfg(test)]
mod stack;
#[cfg(test)]
#[path = "../attempts/support/mod.rs"]
#[expect(dead_code, reason = "the other test programs use the rest")]
mod support;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod wasi;
