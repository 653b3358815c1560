//! The documents of a question: given by hand ([`given`]) or retrieved from a corpus.
//!
//! A corpus is read as [`Passage`]s, an [`Embedder`] computes their vectors, an index stores both, and a [`Retriever`]
//! returns the best passages for a query.

mod batched;
pub mod chunk;
pub mod collection;
pub mod corpus;
mod documents;
mod embedder;
pub mod fold;
pub mod given;
pub mod index;
mod passage;
mod remembered;
mod rerank;
mod served;
mod text;
mod vectors;

pub use crate::question::{Hit, Origin, Passage};
pub(crate) use batched::Batched;
pub use documents::{documents, merged_documents};
pub use embedder::{EmbedderOptions, LocalEmbedder};
pub(crate) use fold::Exact;
pub(crate) use passage::check_date;
pub use passage::{Embedder, Filter, Retriever, RetrieverIdentity, Side, SourceCount, Wanted};
pub(crate) use remembered::Remembering;
pub use rerank::{LocalReranker, RerankCounts, Reranked, Reranker, RerankerOptions, relevance};
pub use served::ServedEmbedder;
pub use vectors::GivenVectors;
