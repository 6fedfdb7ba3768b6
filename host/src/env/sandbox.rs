//! Settings of the sandbox that workers and `run` start.

use super::{Fallback, Group, Variable, keyed};

/// The cap of memory.
pub(crate) static MAX_MEMORY: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_MAX_MEMORY",
    "max_memory",
    Fallback::Text("1GiB"),
    "The most linear memory that an attempt can have, whatever it asks for. Address space for this \
     much is set aside for each slot.",
);

/// The cap of fuel.
pub(crate) static MAX_FUEL: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_MAX_FUEL",
    "max_fuel",
    Fallback::Text("10000000000000"),
    "The most fuel that an attempt can have, whatever it asks for.",
);

/// The threads of guests.
pub(crate) static GUEST_THREADS: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_GUEST_THREADS",
    "guest_threads",
    Fallback::Computed("1 for each CPU"),
    "How many operating-system threads run guests.",
);

/// The pooling allocator.
pub(crate) static POOLING: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_POOLING",
    "pooling",
    Fallback::Text("auto"),
    "Whether sandboxes come from a pool of memory reserved at start: `auto` falls back to \
     allocating each when the address space does not suffice, `required` refuses to start then, \
     `off` never reserves.",
);
