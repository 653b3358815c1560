//! Where the documents of a folder contradict each other.

use crate::contradictions::{self, Folder, Follow, JUDGE, Options, READER, Report};
use crate::error::{MootError, Result};
use crate::llm::Capabilities;
use crate::methods::conflict_score;
use crate::retrieval::Embedder;
use crate::units::hex;
use crate::workspace::control::{Control, Phase};
use crate::workspace::embedder::{EmbedderOptions, note_truncated};
use crate::workspace::models::Purpose;
use crate::workspace::opened::{Workspace, start};
use crate::workspace::options::{MethodOptions, PlanOptions};
use crate::workspace::plan::Plan;
use moot_models::source::default_cache;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Workspace {
    /// Opens the models and the embedder of a comparison; of `options` the model, the runtime, the seed and the sampling are read.
    ///
    /// # Errors
    /// A model or an embedder that cannot be opened.
    pub fn open_contradictions(options: PlanOptions, embedder: &EmbedderOptions, control: &Control) -> Result<Self> {
        let plan = Plan::of(comparing(options), control)?;
        let options = plan.options();
        options.runtime.set_threads(&control.notice())?;
        let embedder: Option<Arc<dyn Embedder>> = embedder.named(control)?;
        control.watch.phase(Phase::Opening);
        let purpose = Purpose { method: "contradictions", roles: &[READER, JUDGE], needs: Capabilities::default() };
        let llm = start(options, purpose, 0, control)?;
        control.watch.phase(Phase::Working);
        let (wanted, control) = (options.corpus.wanted(), control.clone());
        let (retriever, reranker, classifier, weights, asked) = (None, None, None, None, None);
        Ok(Self { llm, retriever, reranker, classifier, embedder, weights, wanted, asked, control, plan })
    }

    /// This workspace for a comparison: the models and the embedder that are open, with a control of its own.
    ///
    /// # Errors
    /// As [`Workspace::share`].
    pub fn share_contradictions(&self, control: &Control) -> Result<Self> {
        self.share(comparing(PlanOptions::default()), false, control)
    }

    /// Compares the documents of `folder` with each other. Without an embedder, pairs are found by words alone.
    ///
    /// # Errors
    /// An interruption, after which finished work is kept in the cache of `options`; an error that every call would have.
    pub fn contradictions(&self, folder: &Folder, options: &Options, follow: &dyn Follow) -> Result<Report> {
        let settings = &self.plan.method().settings;
        let report = contradictions::find(folder, self.tools(), settings, options, follow);
        note_truncated(self.embedder.as_deref(), &self.control);
        report
    }
}

/// `options` for a plan that compares documents. A plan needs a method; this one is not run.
fn comparing(options: PlanOptions) -> PlanOptions {
    let method = MethodOptions { name: Some(conflict_score::ROW.name.to_owned()), ..options.method };
    PlanOptions { method, ..options }
}

/// The cache folder of the work on `paths`.
///
/// # Errors
/// The cache folder is not known.
pub fn contradictions_cache(paths: &[String]) -> Result<PathBuf> {
    let mut hash = Sha256::new();
    for path in paths {
        // A pattern is no path, and stays as it was typed.
        let full = std::fs::canonicalize(path).unwrap_or_else(|_| Path::new(path).to_owned());
        hash.update(full.display().to_string().as_bytes());
        // No path holds a NUL, so two lists of paths never give the same bytes.
        hash.update([0]);
    }
    let cache = default_cache().map_err(MootError::from)?;
    Ok(cache.join("contradictions").join(hex(&hash.finalize()[..16])))
}
