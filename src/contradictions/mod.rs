//! Where the documents of a folder contradict each other, without a question.
//!
//! Documents are cut into sentences ([`Folder`]); the reader names what each is about, which makes it a claim; the nearest claims
//! of different documents are pairs; the judge answers questions about each pair in both orders; a logistic model over what code
//! sees and what the judge says gives each pair a probability. "Models read, arithmetic decides."

mod claims;
mod cut;
mod findings;
mod folder;
mod journal;
mod judged;
mod kind;
mod labels;
mod pages;
mod pairs;
mod quantities;
mod signals;
mod stage;
mod units;
mod weights;
mod words;

pub use claims::{READER, SUBJECTS_PROMPT};
pub use findings::{Finding, Group, Side, Statement};
pub use folder::{Folder, MOST_SENTENCES, Source};
pub use kind::Kind;
pub use labels::{JUDGE, PAIR_PROMPTS};
pub use pages::{html, markdown};

use crate::error::{MootError, Result};
use crate::prompts::File;
use crate::protocol::ctx::{Settings, Tools};
use crate::units::plural;
use journal::Journal;
use judged::Judged;
use labels::{CALLS, Journals};
use pairs::{Vectors, Weights};
use serde::Serialize;
use serde_json::{Value, json};
use stage::Stage;
use std::cell::Cell;
use std::path::PathBuf;

/// Every prompt.
pub const PROMPTS: &[File] = &[SUBJECTS_PROMPT, PAIR_PROMPTS[0], PAIR_PROMPTS[1], PAIR_PROMPTS[2]];

/// How documents are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Pairs of each claim that are labelled, at most.
    pub pairs: usize,
    /// The least probability of a contradiction that is reported.
    pub least: f64,
    /// The folder in which finished work is kept; `None` keeps none.
    pub cache: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { pairs: 4, least: 0.5, cache: None }
    }
}

/// What happens, in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The documents were read.
    Documents {
        /// Their number, copies left out.
        documents: usize,
        /// Sentences.
        sentences: usize,
        /// Passages: calls of the reader.
        passages: usize,
    },
    /// Passages that the reader has read.
    Reading {
        /// So many,
        done: usize,
        /// of so many.
        of: usize,
    },
    /// Claims whose vectors are computed.
    Embedding {
        /// So many,
        done: usize,
        /// of so many.
        of: usize,
    },
    /// The pairs were found.
    Pairs {
        /// Claims, equal ones counted once.
        claims: usize,
        /// Pairs.
        pairs: usize,
        /// Calls of the judge for all of them.
        calls: usize,
    },
    /// Pairs that the judge has labelled.
    Labelling {
        /// So many,
        done: usize,
        /// of so many.
        of: usize,
    },
}

/// Receives what happens, and may end the work.
pub trait Follow: Sync {
    /// Something happened.
    fn event(&self, event: &Event) {
        let _ = event;
    }

    /// A line for the user.
    fn note(&self, line: &str) {
        let _ = line;
    }

    /// Whether the work is to end.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Counts of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Documents, copies left out.
    pub documents: usize,
    /// Sentences.
    pub sentences: usize,
    /// Claims, equal ones counted once.
    pub claims: usize,
    /// Pairs labelled.
    pub pairs: usize,
    /// Calls made in this run; kept ones are not made again.
    pub calls: usize,
    /// Calls that failed: their passages have no subjects, their pairs are not labelled.
    pub failed: usize,
}

/// The contradictions of a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// By subject; the subject of the most probable contradiction first.
    pub groups: Vec<Group>,
    /// The documents, in the order of their numbers.
    pub documents: Vec<Source>,
    /// What was done.
    pub counts: Counts,
    /// Lines on what was not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Every labelled pair with the quantities that decided, one object each.
    #[serde(skip)]
    pub labelled: Vec<Value>,
}

impl Report {
    /// The contradictions of all subjects.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.groups.iter().flat_map(|group| &group.findings)
    }

    /// "2 contradictions about 1 subject in 12 documents: 140 claims, 210 pairs".
    #[must_use]
    pub fn told(&self) -> String {
        let count = |n: usize, one: &str, many: &str| plural(n, one, many);
        let Counts { documents, claims, pairs, .. } = self.counts;
        let found = self.findings().count();
        let documents = count(documents, "document", "documents");
        let compared = format!("{}, {}", count(claims, "claim", "claims"), count(pairs, "pair", "pairs"));
        if found == 0 {
            return format!("no contradictions in {documents}: {compared}");
        }
        let found = count(found, "contradiction", "contradictions");
        format!("{found} about {} in {documents}: {compared}", count(self.groups.len(), "subject", "subjects"))
    }
}

/// Compares the documents of `folder` with each other.
///
/// # Errors
/// An interruption, after which finished work is kept; a cache that cannot be used; what would fail every call alike.
pub fn find(
    folder: &Folder,
    tools: Tools<'_>,
    settings: &Settings,
    options: &Options,
    follow: &dyn Follow,
) -> Result<Report> {
    let (documents, sentences) = (folder.documents(), folder.sentences());
    follow.event(&Event::Documents { documents, sentences, passages: folder.passages() });
    let cache = options.cache.as_deref();
    let lock = cache.map(journal::lock).transpose()?.flatten();
    let cache = cache.filter(|_| lock.is_some());
    if lock.is_none() && options.cache.is_some() {
        follow.note("another process compares these documents: finished work of this one is not kept");
    }
    let stage = Stage { tools, settings, follow, calls: Cell::default() };
    let claims = claims::read(folder, &mut Journal::open(cache, "claims.jsonl")?, &stage)?;
    let weights = Weights::of_claims(&claims);
    let vectors = match tools.embedder {
        Some(embedder) => Vectors::embedded(&claims, embedder, &mut |done| {
            follow.event(&Event::Embedding { done, of: claims.len() });
            if follow.is_stopped() { Err(MootError::Interrupted) } else { Ok(()) }
        })?,
        None => Vectors::of_words(&claims, &weights),
    };
    let pairs = pairs::find(folder, &claims, &vectors, &weights, options.pairs);
    let counted = Event::Pairs { claims: claims.len(), pairs: pairs.len(), calls: pairs.len() * CALLS };
    follow.event(&counted);
    let mut journals =
        Journals { questions: Journal::open(cache, "questions.jsonl")?, labels: Journal::open(cache, "labels.jsonl")? };
    let said = labels::all(folder, &claims, &pairs, &mut journals, &stage)?;
    let judged: Vec<Judged> = pairs
        .iter()
        .zip(&said)
        .map(|(pair, said)| Judged::of(&claims[pair.of.0], &claims[pair.of.1], said.as_ref()))
        .collect();
    let labelled: Vec<(pairs::Pair, f64)> = pairs
        .iter()
        .zip(&judged)
        .map(|(pair, judged)| (*pair, weights::probability(&pair.signals, judged)))
        .collect();
    let told = |(((pair, probability), judged), said): ((&(pairs::Pair, f64), &Judged), &Option<labels::Said>)| {
        let side = |index: usize| {
            let claim = &claims[index];
            let (source, origin) = &claim.stated[0];
            let file = &folder.sources[*source].file;
            json!({ "file": file, "line": origin.line, "quote": claim.text, "about": claim.subject })
        };
        let features: serde_json::Map<String, Value> =
            pair.signals.named(judged).into_iter().map(|(name, x)| (name.to_owned(), json!(x))).collect();
        json!({ "a": side(pair.of.0), "b": side(pair.of.1), "probability": probability, "features": features, "said": said })
    };
    let (calls, failed) = stage.calls.get();
    Ok(Report {
        groups: findings::groups(folder, &claims, &labelled, options.least),
        documents: folder.sources.clone(),
        counts: Counts { documents, sentences, claims: claims.len(), pairs: pairs.len(), calls, failed },
        notes: folder.notes.clone(),
        labelled: labelled.iter().zip(&judged).zip(&said).map(told).collect(),
    })
}
