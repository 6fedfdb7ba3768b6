//! Keyset paging: a cursor is the key of the last item of a page.

use crate::error::{Answer, Problem};
use crate::types::{DEFAULT_LIMIT, MAX_LIMIT, Page};
use cofferdam_core::ids::JobId;
use std::str::FromStr;

/// How many items are asked for.
pub(crate) fn limit(asked: Option<u32>) -> Answer<u32> {
    match asked {
        None => Ok(DEFAULT_LIMIT),
        Some(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        Some(limit) => Err(Problem::malformed(
            "bad-query",
            format!("limit is {limit}, but must be 1 to {MAX_LIMIT}"),
        )
        .field("limit")),
    }
}

/// The key after which the page begins.
pub(crate) fn cursor<K: FromStr>(text: Option<&str>, field: &str) -> Answer<Option<K>> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            Problem::malformed("bad-cursor", format!("`{field}` is not a cursor of this list"))
                .hint("pass the `next` of the page before, or leave it out for the first page")
                .field(field)
        })
    };
    text.map(parse).transpose()
}

/// Asks for one row more than a page may hold.
pub(crate) fn one_more(before: Option<JobId>, limit: u32) -> cofferdam_store::Page {
    cofferdam_store::Page { before, limit: limit as usize + 1 }
}

/// Makes a page of rows of which one more was read than it may hold: that one says whether there
/// is another page, without counting.
pub(crate) fn page<R, T: From<R>>(
    mut rows: Vec<R>,
    limit: u32,
    key: impl Fn(&R) -> String,
) -> Page<T> {
    let limit = limit as usize;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(key);
    Page { items: rows.into_iter().map(T::from).collect(), next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_too_many_says_that_there_is_more() {
        let rows = || vec![5_u8, 4, 3];
        let key = |row: &u8| row.to_string();
        let first: Page<u8> = page(rows(), 2, key);
        assert_eq!(first, Page { items: vec![5, 4], next: Some("4".to_owned()) });
        let last: Page<u8> = page(rows(), 3, key);
        assert_eq!(last, Page::whole(rows()));
    }

    #[test]
    fn limits_have_bounds() {
        assert_eq!(limit(None).unwrap(), DEFAULT_LIMIT);
        assert!(limit(Some(0)).is_err() && limit(Some(MAX_LIMIT + 1)).is_err());
    }
}
