//! Vectors of one batch of passages: from the journal as far as it has them, else from the embedder.

use super::builder::Builder;
use super::journal::Journal;
use super::words::full_text;
use super::writer;
use crate::error::Result;
use crate::question::Passage;
use crate::retrieval::{Embedder, Side};
use moot_models::kernels::Storage;

impl Builder {
    /// Vectors of `batch`, whose first passage is the corpus's at `first`: from the journal of a killed build as far as it has
    /// them; empty if the index has none.
    pub(super) fn vectors(
        &self,
        batch: &[Passage],
        first: u64,
        embedder: Option<&dyn Embedder>,
        journal: Option<&mut Journal>,
    ) -> Result<Vec<f32>> {
        let Some((journal, dense)) = journal.zip(self.manifest.dense.as_ref()) else { return Ok(Vec::new()) };
        let lines: Vec<Vec<u8>> = batch.iter().map(writer::line).collect::<Result<_>>()?;
        let mut vectors = journal.known(&lines)?;
        let known = vectors.len() / dense.dimension;
        if known < batch.len() {
            let new = self.given_or_embedded(&batch[known..], first + known as u64, embedder)?;
            journal.append(&lines[known..], &new)?;
            vectors.extend(new);
        }
        Ok(vectors)
    }

    /// Vectors that were given, where some were; else the embedder's.
    fn given_or_embedded(&self, batch: &[Passage], first: u64, embedder: Option<&dyn Embedder>) -> Result<Vec<f32>> {
        let Some((given, comparison)) = &self.given else { return self.embed(batch, embedder) };
        let vectors = given.rows(first, batch.len())?;
        let compared: Vec<usize> = (0..batch.len()).filter(|at| comparison.takes(first + *at as u64)).collect();
        let passages: Vec<Passage> = compared.iter().map(|at| batch[*at].clone()).collect();
        let own = self.embed(&passages, embedder)?;
        let dimension = given.dimension();
        for (at, own) in compared.into_iter().zip(own.chunks_exact(dimension)) {
            let of = &vectors[at * dimension..][..dimension];
            if let Err(wrong) = comparison.compare(of, own) {
                let (name, index) = (given.names(), first + at as u64);
                let hint =
                    "the vectors must be this embedder's, of this corpus, in its order, with its titles and prefixes";
                return Err(self.wrong(format!("{name}: vector {index} has {wrong}"), hint));
            }
        }
        Ok(vectors)
    }

    /// Vectors of `batch`; empty if the index has none.
    fn embed(&self, batch: &[Passage], embedder: Option<&dyn Embedder>) -> Result<Vec<f32>> {
        let Some((embedder, dense)) = embedder.zip(self.manifest.dense.as_ref()) else { return Ok(Vec::new()) };
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<_> = batch.iter().map(full_text).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let vectors = embedder.embed(&texts, Side::Passage)?;
        let faulty = |wrong: String| Err(self.wrong(wrong, "this is a fault of the embedder"));
        if vectors.len() != batch.len() * dense.dimension {
            let (expected, found) = (batch.len() * dense.dimension, vectors.len());
            return faulty(format!("expected {expected} numbers from {}, found {found}", dense.embedder));
        }
        // 65,504 is the largest finite half-precision number.
        let largest = if dense.storage == Storage::F16.name() { 65_504.0 } else { f32::MAX };
        for (passage, vector) in batch.iter().zip(vectors.chunks_exact(dense.dimension)) {
            if let Some(x) = vector.iter().find(|x| x.is_nan() || x.abs() > largest) {
                let line = passage.origin.line.map_or(String::new(), |line| format!(":{line}"));
                let file = &passage.origin.file;
                return faulty(format!("expected numbers that {} can hold, found {x} for {file}{line}", dense.storage));
            }
        }
        Ok(vectors)
    }
}
