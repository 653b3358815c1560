//! Operations that a collection of passages needs from a vector server.

use crate::dates::Date;
use crate::error::{MootError, Result};
use crate::escape;
use crate::question::Passage;
use crate::retrieval::passage::Wanted;

/// Maximum number of candidates of a search, in all or of each source.
pub(super) const MOST: usize = 1024;

/// Passages with their vectors on a server. Passages are numbered from 0. Requests that fail for a moment are repeated.
pub trait Store: Send + Sync {
    /// The address, without a key or a password: it goes into records.
    fn address(&self) -> String;

    /// The contents of the collection.
    ///
    /// # Errors
    /// [`MootError::Collection`], of [`RemoteFault::Missing`](crate::fault::RemoteFault) where
    /// there is no such collection.
    fn contents(&self) -> Result<Contents>;

    /// Makes the collection ready for vectors of `dimension` numbers by `embedder`; `exists` says whether it is there.
    ///
    /// # Errors
    /// A server that fails or refuses.
    fn begin(&self, dimension: usize, embedder: &str, exists: bool) -> Result<()>;

    /// Number of passages.
    ///
    /// # Errors
    /// A server that fails or refuses.
    fn count(&self) -> Result<u64>;

    /// The passage of this number; `None` where there is none.
    ///
    /// # Errors
    /// A server that fails or refuses.
    fn passage(&self, id: u64) -> Result<Option<Passage>>;

    /// Stores passages under the numbers `first`, `first + 1`, ... and replaces those that are there, so that it can be
    /// repeated. `vectors`: `[passages, dimension]`, row-major.
    ///
    /// # Errors
    /// A server that fails or refuses.
    fn insert(&self, first: u64, passages: &[Passage], vectors: &[f32], embedder: &str) -> Result<()>;

    /// Every passage is there.
    ///
    /// # Errors
    /// A server that fails or refuses.
    fn finish(&self) -> Result<()> {
        Ok(())
    }

    /// The best `limit` admitted passages for `vector`, which `embedder` made, by dot product, in all or of each source, in
    /// any order. `exact`: every vector is read, also where the server has an approximate index.
    ///
    /// # Errors
    /// A server that fails or refuses; a passage of another embedder, where each one names its own.
    fn nearest(&self, vector: &[f32], embedder: &str, wanted: &Wanted, limit: usize, exact: bool)
    -> Result<Vec<Found>>;

    /// The error of a collection that cannot be used.
    fn unusable(&self, reason: String) -> MootError;
}

/// The contents of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Numbers of a vector; `Err` describes vectors of another kind.
    pub dimension: std::result::Result<u64, String>,
    /// How a search orders vectors; `Err` names another distance.
    pub order: std::result::Result<Order, String>,
    /// The embedder of all vectors, where the collection has one.
    pub embedder: Option<String>,
    /// False where filling it was begun and did not end.
    pub finished: bool,
    /// Searches may miss some of the best, unless they are exact.
    pub approximate: bool,
}

/// How a search orders vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By dot product.
    Dot,
    /// By cosine: the order of dot products for vectors of length 1 alone.
    Cosine,
}

/// A passage that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its number.
    pub id: u64,
    /// Dot product with the query.
    pub score: f32,
    /// The passage.
    pub passage: Passage,
}

/// Checks that a collection is of `embedder`, whose vectors have `dimension` numbers.
pub(super) fn check(store: &dyn Store, contents: &Contents, dimension: usize, embedder: &str) -> Result<()> {
    if contents.dimension != Ok(dimension as u64) {
        let found = contents.dimension.as_ref().map_or_else(Clone::clone, |size| format!("vectors of {size}"));
        let found = escape::excerpt(&found);
        return Err(store.unusable(format!("the collection has {found}, the embedder makes {dimension} ({embedder})")));
    }
    if let Err(other) = &contents.order {
        let (other, hint) = (escape::excerpt(other), "moot index push makes one with Dot");
        return Err(store.unusable(format!("the collection's distance is {other}, expected Dot or Cosine ({hint})")));
    }
    match contents.embedder.as_deref().filter(|by| *by != embedder) {
        Some(by) => {
            let by = escape::excerpt(by);
            Err(store.unusable(format!("the collection was embedded by {by}, expected {embedder}")))
        }
        None => Ok(()),
    }
}

/// The first and the last day that `date` may mean, as yyyymmdd: "1998-05" lies between 19980500 and 19980599. `None`
/// if `date` is not ISO 8601. Servers compare these, since they cannot compare "1998" with "1998-05".
pub(super) fn days(date: &str) -> Option<(i32, i32)> {
    let [year, month, day] = Date::iso(date)?.sort_key();
    let at = |missing: u32| {
        let known = |part: u32| if part == 0 { missing } else { part };
        i32::try_from(year * 10_000 + known(month) * 100 + known(day)).ok()
    };
    at(0).zip(at(99))
}

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    fn dates_are_days() {
        assert_eq!(days("1998"), Some((19_980_000, 19_989_999)));
        assert_eq!(days("1998-05"), Some((19_980_500, 19_980_599)));
        assert_eq!(days("1998-05-07T10:00:00Z"), Some((19_980_507, 19_980_507)));
        for unknown in ["", "May 1998", "98", "\u{6a4b}"] {
            assert_eq!(days(unknown), None, "{unknown}");
        }
    }
}
