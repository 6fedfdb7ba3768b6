//! Settings of `cofferdam dev`.

use super::{Fallback, Group, Variable, keyed};

/// The data folder of `dev`.
pub(crate) static DATA_DIR: Variable = keyed(
    Group::Dev,
    "COFFERDAM_DATA_DIR",
    "data_dir",
    Fallback::Text(".cofferdam"),
    "Where `cofferdam dev` keeps its private Postgres, and the installation's key where none is set.",
)
.flag("--data-dir");
