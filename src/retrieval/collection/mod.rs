//! Passages on a server of vectors, for corpora that do not fit on one machine: a Qdrant collection, or a PostgreSQL table
//! with pgvector.
//!
//! A [`Store`] speaks one server's protocol. [`Collection`] searches any of them, and [`push`] fills one from an index.

mod postgresql;
mod push;
mod qdrant;
mod store;

pub use postgresql::{Postgres, Table};
pub use push::{Pushed, push};
pub use qdrant::{Address, Qdrant};
pub use store::{Contents, Found, Order, Store};

use crate::error::Result;
use crate::llm::remote::Patience;
use crate::question::Hit;
use crate::retrieval::fold;
use crate::retrieval::passage::{Embedder, Retriever, RetrieverIdentity, Side, Wanted};
use std::sync::Arc;
use store::{MOST, check};

/// The difference from 1 that the length of a normalised vector may have.
const ROUNDING: f32 = 0.01;

/// Whether `name` is the address of a collection rather than a folder.
#[must_use]
pub(crate) fn is_address(name: &str) -> bool {
    Address::is_one(name) || Table::is_one(name)
}

/// The store at `address`: `http://host:6333#collection` or `postgres://user@host/database#table`. The key or the password
/// comes from the environment.
///
/// # Errors
/// [`MootError::Usage`](crate::MootError::Usage) for an invalid address, or one that holds a secret.
pub fn store(address: &str, patience: Patience) -> Result<Box<dyn Store>> {
    if Table::is_one(address) {
        return Ok(Box::new(Postgres::new(Table::parse(address)?, postgresql::password_from_environment(), patience)));
    }
    Ok(Box::new(Qdrant::new(Address::parse(address)?, qdrant::key_from_environment(), patience)))
}

/// A collection that is searched, and the embedder that its vectors were made by.
pub struct Collection {
    store: Box<dyn Store>,
    embedder: Arc<dyn Embedder>,
    exact: bool,
    contents: Contents,
}

impl Collection {
    /// Opens a collection. `exact`: every search reads every vector, also where the server has an approximate index.
    ///
    /// # Errors
    /// [`MootError::Collection`](crate::MootError::Collection) if the server does not answer, refuses the key, has no such
    /// collection, or if its vectors are of another length or another embedder.
    pub fn open(store: Box<dyn Store>, embedder: Arc<dyn Embedder>, exact: bool) -> Result<Self> {
        let contents = store.contents()?;
        check(store.as_ref(), &contents, embedder.dimension(), embedder.identity())?;
        if contents.order == Ok(Order::Cosine) {
            let probe = embedder.embed(&["a"], Side::Query)?;
            let length = probe.iter().map(|x| x * x).sum::<f32>().sqrt();
            if (length - 1.0).abs() > ROUNDING {
                let other = "orders by cosine, which is another order than by dot product for this embedder";
                let hint = "moot index push makes a collection with Dot";
                return Err(
                    store.unusable(format!("the collection {other}: its vectors have length {length:.2} ({hint})"))
                );
            }
        }
        let exact = exact || !contents.approximate;
        Ok(Self { store, embedder, exact, contents })
    }

    /// One line where the collection is not whole.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let unfinished = "is searched as it is: a push of it has not ended";
        (!self.contents.finished).then(|| format!("{} {unfinished}", self.store.address()))
    }

    /// The best `limit` of all, or of each source, best first.
    fn candidates(&self, vector: &[f32], wanted: &Wanted, limit: usize) -> Result<Vec<Hit>> {
        let mut found = self.store.nearest(vector, self.embedder.identity(), wanted, limit, self.exact)?;
        // Servers do not define the order of equal scores.
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        let hit = |found: Found| Hit { passage: found.passage, score: found.score, copies: Vec::new() };
        Ok(found.into_iter().map(hit).collect())
    }
}

impl Retriever for Collection {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        let vector = self.embedder.embed(&[query], Side::Query)?;
        // Folding happens here, so more candidates are requested if too few remain.
        let mut limit = wanted.candidates().clamp(1, MOST);
        loop {
            let candidates = self.candidates(&vector, wanted, limit)?;
            let all = candidates.len();
            let chosen = fold::select(candidates, wanted);
            let enough = wanted.by_source || chosen.len() >= wanted.top;
            if !wanted.fold || enough || all < limit || limit >= MOST {
                return Ok(chosen);
            }
            limit = (2 * limit).min(MOST);
        }
    }

    /// The address identifies the index: a server's collection has no hash.
    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity {
            reranker: None,
            index: self.store.address(),
            embedder: Some(self.embedder.identity().to_owned()),
            mode: if self.exact { "dense" } else { "dense, approximate" }.to_owned(),
        }
    }
}
