//! The reranker of a search.

use crate::error::{MootError, Result};
use crate::retrieval::{LocalReranker, Reranked, Reranker, RerankerOptions as Load, Retriever};
use crate::units::plural;
use crate::workspace::control::Control;
use crate::workspace::models::{Opening, device};
use moot_models::encoder::EncoderOptions;
use std::sync::Arc;

/// Which reranker, as given.
#[derive(Debug, Clone)]
pub struct RerankerOptions {
    /// Its name; `None` for none.
    pub name: Option<String>,
    /// Its device.
    pub device: String,
    /// Passages of each search that it reads; `None` for the usual number.
    pub candidates: Option<usize>,
    /// Never use the network.
    pub offline: bool,
}

impl RerankerOptions {
    /// Checks the candidates against `top`, the passages that are wanted.
    ///
    /// # Errors
    /// Candidates without a reranker, or fewer than `top`.
    pub(crate) fn check(&self, top: usize) -> Result<()> {
        let Some(candidates) = self.candidates else { return Ok(()) };
        let expected = match () {
            () if self.name.is_none() => "needs --reranker".to_owned(),
            () if candidates < top => format!("expected at least {top}, the passages that are wanted"),
            () => return Ok(()),
        };
        Err(MootError::Usage(format!("--reranker-candidates {candidates}: {expected}")))
    }

    /// Opens the reranker that was named.
    ///
    /// # Errors
    /// An unknown name, a model that cannot be fetched or loaded, or that does not score passages.
    pub fn open(&self, control: &Control) -> Result<Option<Arc<dyn Reranker>>> {
        let Some(name) = self.name.as_deref() else { return Ok(None) };
        let (device, _) = device("--reranker-device", &self.device, &control.notice())?;
        let options = Load { offline: self.offline, load: EncoderOptions::on(device) };
        let watch = &control.watch;
        let reranker =
            LocalReranker::open(name, &options, &mut |progress| watch.opening(&Opening::Finding(name, progress)))?;
        watch.opening(&Opening::Loaded { name, thinks: true, remark: None });
        Ok(Some(Arc::new(reranker)))
    }

    /// `retriever`, with its passages ordered by `reranker`.
    #[must_use]
    pub fn over(&self, retriever: Box<dyn Retriever>, reranker: Option<Arc<dyn Reranker>>) -> Box<dyn Retriever> {
        match reranker {
            Some(reranker) => Box::new(Reranked::new(retriever, reranker, self.candidates)),
            None => retriever,
        }
    }
}

/// Notes how many passages `reranker` has read, and of how many the query was cut.
pub(super) fn note_reranked(reranker: Option<&dyn Reranker>, control: &Control) {
    let Some(counts) = reranker.map(Reranker::counts).filter(|counts| counts.passages > 0) else { return };
    let passages = plural(counts.passages, "passage", "passages");
    let batches = plural(counts.batches, "batch", "batches");
    control.note(&format!("{passages} reranked in {batches}, {:.1} s", counts.seconds));
    if counts.truncated > 0 {
        let pairs = plural(counts.truncated, "passage was", "passages were");
        control.note(&format!("{pairs} ranked by the beginning of the query, which exceeds half the reranker's limit"));
    }
}
