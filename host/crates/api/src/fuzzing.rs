//! A door for the fuzzers in `fuzz/`, which is all that `--cfg fuzzing` changes.

use crate::page;
use crate::types::{DlqQuery, JobQuery, LogQuery, MAX_LIMIT, PageQuery};
use axum::extract::Query;
use axum::http::Uri;
use cofferdam_core::ids::JobId;
use cofferdam_core::name::ModuleName;
use cofferdam_store::LogPosition;
use serde::de::DeserializeOwned;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Reads a text as the query of every list, as the routes do, and checks what they hand on.
pub fn query(text: &str) {
    let Ok(uri) = format!("/?{text}").parse::<Uri>() else { return };
    if let Some(JobQuery { before, limit, .. }) = read(&uri) {
        check::<JobId>(before.as_deref(), limit);
    }
    if let Some(DlqQuery { before, limit, .. }) = read(&uri) {
        check::<JobId>(before.as_deref(), limit);
    }
    if let Some(PageQuery { before, limit }) = read(&uri) {
        check::<ModuleName>(before.as_deref(), limit);
    }
    if let Some(LogQuery { after, limit }) = read(&uri) {
        check::<LogPosition>(after.as_deref(), limit);
    }
}

fn read<T: DeserializeOwned>(uri: &Uri) -> Option<T> {
    Query::try_from_uri(uri).ok().map(|Query(query)| query)
}

/// A limit is within its bounds, and a cursor is the same when it is handed back.
fn check<K: FromStr + Display + Debug + PartialEq>(cursor: Option<&str>, limit: Option<u32>) {
    if let Ok(limit) = page::limit(limit) {
        assert!((1..=MAX_LIMIT).contains(&limit), "{limit}");
    }
    if let Ok(Some(key)) = page::cursor::<K>(cursor, "cursor") {
        assert_eq!(key.to_string().parse().ok(), Some(key));
    }
}
