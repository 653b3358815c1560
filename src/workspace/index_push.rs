//! An index put on a server of vectors.

use crate::error::{MootError, Result};
use crate::llm::remote::Patience;
use crate::retrieval::collection::{self, Pushed};
use crate::retrieval::index::{BuildProgress, Index};
use crate::workspace::control::{Control, Phase};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// An index, and the collection that holds it afterwards.
#[derive(Debug, Clone)]
pub struct PushOptions {
    /// The folder of the index, which has vectors.
    pub dir: PathBuf,
    /// `http://host:6333#collection` of Qdrant, or `postgres://user@host/database#table` of PostgreSQL.
    pub address: String,
}

/// The result of a push.
#[derive(Debug)]
pub struct PushReport {
    /// The collection's address without passwords.
    pub address: String,
    /// The numbers of passages.
    pub pushed: Pushed,
    /// How long it took.
    pub elapsed: Duration,
}

impl PushOptions {
    /// Fills the collection with the passages that it lacks; a stopped push resumes from there.
    ///
    /// # Errors
    /// An index without vectors; a server that fails or refuses; a collection of something else; [`MootError::Interrupted`],
    /// after which the collection keeps its passages.
    pub fn push(&self, control: &Control) -> Result<PushReport> {
        let store = collection::store(&self.address, Patience::default())?;
        let index = Index::open(&self.dir)?;
        control.watch.phase(Phase::Working);
        let (start, total, mut there) = (Instant::now(), index.manifest().passages(), 0);
        let pushed = collection::push(&index, store.as_ref(), &mut |passages| {
            there = passages;
            control.watch.indexing(total, Some(&BuildProgress::Indexed(passages)));
            if control.is_stopped() { Err(MootError::Interrupted) } else { Ok(()) }
        });
        control.watch.indexing(total, None);
        if let Err(MootError::Interrupted) = pushed {
            control.note(&format!("{there} passages are on the server; run the command again to resume"));
        }
        Ok(PushReport { address: store.address(), pushed: pushed?, elapsed: start.elapsed() })
    }
}
