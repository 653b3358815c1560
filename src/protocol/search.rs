//! One search of the retriever, with the event that records it.

use crate::error::{MootError, Result};
use crate::question::Hit;
use crate::retrieval::{Retriever, Wanted};
use crate::transcript::Event;
use std::time::Instant;

/// The error of a method that needs a passage, for a search that returned none.
pub(super) fn nothing_found(method: &str, retriever: &dyn Retriever, wanted: &Wanted) -> MootError {
    MootError::NothingFound {
        method: method.to_owned(),
        filtered: !wanted.filter.is_empty(),
        cut_off: retriever.identity().mode.contains("cut off"),
    }
}

/// Passages for each of `queries`, one list a query, and the event of stage `stage` that says so.
///
/// # Errors
/// Errors of the retriever.
pub(super) fn search(
    retriever: &dyn Retriever,
    queries: &[&str],
    wanted: &Wanted,
    stage: usize,
) -> Result<(Vec<Vec<Hit>>, Event)> {
    let started = Instant::now();
    let hits = retriever.retrieve_all(queries, wanted)?;
    let event = Event::Retrieval {
        stage,
        queries: queries.iter().map(|&query| query.to_owned()).collect(),
        top: wanted.top,
        by_source: wanted.by_source,
        hits: hits.clone(),
        seconds: started.elapsed().as_secs_f64(),
    };
    Ok((hits, event))
}
