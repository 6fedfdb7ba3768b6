//! Attempts in the sandbox, with guests that the tests write themselves.

#[cfg(test)]
mod classes;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod control;
#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod describe;
#[cfg(test)]
mod inspect;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod leases;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod stuck;
#[cfg(test)]
mod support;
#[cfg(test)]
mod waits;
