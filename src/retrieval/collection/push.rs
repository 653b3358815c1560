//! Fills a collection from an index, whose vectors it takes as they are stored.

use super::store::{Store, check};
use crate::error::{MootError, Result};
use crate::fault::RemoteFault;
use crate::question::Passage;
use crate::retrieval::index::Index;

/// Passages of a request.
const BATCH: u64 = 128;
/// Passages that are there and are compared with the index's before others follow them.
const COMPARED: u64 = 16;

/// The result of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// Passages that were there.
    pub before: u64,
    /// Passages of the index, all of which are there now.
    pub total: u64,
}

/// Stores the passages and vectors of `index` in a collection, which is made if it is not there. What is there from a push
/// that was stopped, or from an earlier state of the index, is compared in part and kept. `progress` receives the number of
/// passages that are there; an error from it ends the push.
///
/// # Errors
/// An index without vectors; a server that fails; a collection of another embedder, another index, or with more passages.
pub fn push(index: &Index, store: &dyn Store, progress: &mut dyn FnMut(u64) -> Result<()>) -> Result<Pushed> {
    let unfit = |wrong: &str, hint: &str| MootError::Index {
        path: index.dir().to_owned(),
        wrong: wrong.to_owned(),
        hint: hint.to_owned(),
    };
    let manifest = index.manifest();
    manifest.check_finished(index.dir())?;
    let (Some(dense), Some(vectors)) = (&manifest.dense, index.vectors()?) else {
        return Err(unfit("expected vectors, found BM25 alone", "build it with --embedder"));
    };
    let exists = match store.contents() {
        Ok(contents) => {
            check(store, &contents, dense.dimension, &dense.embedder)?;
            true
        }
        Err(MootError::Collection { kind: RemoteFault::Missing, .. }) => false,
        Err(error) => return Err(error),
    };
    store.begin(dense.dimension, &dense.embedder, exists)?;
    let (before, total) = (store.count()?, manifest.passages());
    compare(index, store, before)?;
    progress(before)?;
    let mut first = before;
    while first < total {
        let ids = first..(first + BATCH).min(total);
        let passages = ids.clone().map(|id| index.passage(id)).collect::<Result<Vec<Passage>>>()?;
        let rows: Vec<f32> = ids.clone().flat_map(|id| vectors.decoded(id)).collect();
        store.insert(first, &passages, &rows, &dense.embedder)?;
        first = ids.end;
        progress(first)?;
    }
    match store.count()? {
        count if count == total => store.finish()?,
        count => return Err(another(store, &format!("{count} passages at the end instead of {total}"))),
    }
    Ok(Pushed { before, total })
}

/// Compares some of the first `before` passages of the collection with those of the index, the first and the last among
/// them.
fn compare(index: &Index, store: &dyn Store, before: u64) -> Result<()> {
    let total = index.manifest().passages();
    if before > total {
        return Err(another(store, &format!("{before} passages where the index has {total}")));
    }
    let step = usize::try_from(before.div_ceil(COMPARED)).unwrap_or(usize::MAX).max(1);
    for id in (1..before).rev().step_by(step).chain(0..before.min(1)) {
        match store.passage(id)? {
            None => return Err(another(store, &format!("{before} passages without number {id}"))),
            Some(passage) if passage != index.passage(id)? => {
                return Err(another(store, &format!("another passage {id}")));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn another(store: &dyn Store, found: &str) -> MootError {
    store.unusable(format!("expected passages of this index, found {found} (name a new one, or delete this one)"))
}
