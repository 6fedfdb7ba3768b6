//! What attempts leave behind in the process: a program of its own, so that no other test moves
//! what is measured here.

#[cfg(test)]
mod kills;
#[cfg(test)]
#[path = "../attempts/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the other test program uses the rest")]
mod support;
