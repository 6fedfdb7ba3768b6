//! Pages of lists.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How many items a page has when the client does not say.
pub const DEFAULT_LIMIT: u32 = 50;
/// The most items that a page can have: bounds what one request costs the database.
pub const MAX_LIMIT: u32 = 200;

/// One page of a list, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What to pass as `before` for the page after this one; null on the last page.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A list that is short enough to be always given whole.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// Which page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// The `next` of the page before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How many items at most, 1 to 200; 50 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}
