//! Settings that every server and worker of an installation has alike.

use super::{Fallback, Group, Variable, keyed, only};

/// The installation's key.
pub(crate) static KEY: Variable = only(
    Group::Installation,
    "COFFERDAM_KEY",
    Fallback::Nothing,
    "The key as 64 hexadecimal digits: `openssl rand -hex 32` makes one. There is neither a flag \
     nor a key of the configuration file for it, because both are read by more people than should \
     know it.",
)
.secret();

/// The file with the installation's key.
pub(crate) static KEY_FILE: Variable = keyed(
    Group::Installation,
    "COFFERDAM_KEY_FILE",
    "key_file",
    Fallback::Computed(
        "none; `cofferdam dev` makes `installation.key` in its data folder where neither is set",
    ),
    "A file with the key in it, in the same digits. One that its group or others may read is \
     refused.",
);
