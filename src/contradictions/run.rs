//! A comparison from documents to a report.

use super::claims::{self, Claim, SUBJECTS_PROMPT};
use super::explained;
use super::findings;
use super::folder::Folder;
use super::follow::{Event, Follow};
use super::journal::{self, Journal};
use super::judged::Judged;
use super::labels::{self, BLANK_PROMPT};
use super::options::{CALLS, Options};
use super::pairs::{self, Pair, Vectors, Weights};
use super::relation::RELATION_PROMPT;
use super::report::{Counts, Report};
use super::said::Said;
use super::stage::Stage;
use super::weights;
use crate::error::{MootError, Result};
use crate::prompts::File;
use crate::protocol::ctx::{Settings, Tools};
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Every prompt.
pub const PROMPTS: &[File] = &[SUBJECTS_PROMPT, BLANK_PROMPT, RELATION_PROMPT];

/// The report of a folder of which no two documents are compared: none with statements changed, or fewer than two have
/// statements; `None` for any other folder.
#[must_use]
pub fn without_pairs(folder: &Folder) -> Option<Report> {
    let reason = folder.uncompared()?;
    let (documents, sentences) = (folder.documents(), folder.sentences());
    let notes = folder.notes.iter().cloned().chain([reason.to_owned()]).collect();
    let counts = Counts { documents, sentences, ..Counts::default() };
    Some(Report { documents: folder.sources.clone(), counts, notes, ..Report::default() })
}

/// Compares the documents of `folder` with each other.
///
/// # Errors
/// An interruption, after which finished work is kept; a cache that cannot be used; an error that every call would have.
pub fn find(
    folder: &Folder,
    tools: Tools<'_>,
    settings: &Settings,
    options: &Options,
    follow: &dyn Follow,
) -> Result<Report> {
    let (documents, sentences) = (folder.documents(), folder.sentences());
    follow.event(&Event::Documents { documents, sentences, passages: folder.passages() });
    if let Some(report) = without_pairs(folder) {
        return Ok(report);
    }
    let cache = options.cache.as_deref();
    // Held to the end of the comparison: two writers would mix their lines.
    let lock = cache.map(journal::lock).transpose()?.flatten();
    let cache = cache.filter(|_| lock.is_some());
    if lock.is_none() && options.cache.is_some() {
        follow.note("another process uses the cache of these documents: running without the cache");
    }
    let stage = Stage { tools, settings, follow, prompts: PROMPTS, calls: Cell::default() };
    let claims = claims::read(folder, &mut Journal::open(cache, "claims.jsonl")?, &stage)?;
    let weights = Weights::of_claims(&claims);
    let vectors = match tools.embedder {
        Some(embedder) => Vectors::embedded(folder, &claims, embedder, &mut |done| {
            follow.event(&Event::Embedding { done, of: 2 * claims.len() });
            if follow.is_stopped() { Err(MootError::Interrupted) } else { Ok(()) }
        })?,
        None => Vectors::of_words(&claims, &weights),
    };
    let mut pairs = pairs::find(folder, &claims, &vectors, &weights, options.pairs);
    let left_out = pairs::bound(&mut pairs, &claims, options.of_document);
    if left_out > 0 {
        let most = options.of_document;
        follow
            .note(&format!("{left_out} less promising pairs are left out: about {most} of each document are labelled"));
    }
    explained::mark(&mut pairs, &claims);
    let counted = Event::Pairs { claims: claims.len(), pairs: pairs.len(), calls: pairs.len() * CALLS };
    follow.event(&counted);
    let said = labels::all(&claims, &pairs, &mut Journal::open(cache, "labels.jsonl")?, &stage)?;
    let judged: Vec<Judged> = pairs
        .iter()
        .zip(&said)
        .map(|(pair, said)| Judged::of(&claims[pair.of.0], &claims[pair.of.1], said.as_ref()))
        .collect();
    let labelled: Vec<(Pair, f64)> =
        pairs.iter().zip(&judged).map(|(pair, judged)| (*pair, weights::probability(&pair.signals, judged))).collect();
    let (calls, failed) = stage.calls.get();
    Ok(Report {
        groups: findings::groups(folder, &claims, &labelled, options.least),
        documents: folder.sources.clone(),
        counts: Counts { documents, sentences, claims: claims.len(), pairs: pairs.len(), calls, failed },
        notes: folder.notes.clone(),
        unlabelled: said.iter().filter(|said| !said.as_ref().is_some_and(Said::is_whole)).count(),
        labelled: told(folder, &claims, &labelled, &judged, &said),
    })
}

/// Every labelled pair with the features that decided, one object each.
fn told(
    folder: &Folder,
    claims: &[Claim],
    labelled: &[(Pair, f64)],
    judged: &[Judged],
    said: &[Option<Said>],
) -> Vec<Value> {
    let side = |index: usize| {
        let claim = &claims[index];
        let (source, origin) = &claim.stated[0];
        let file = &folder.sources[*source].file;
        json!({ "file": file, "line": origin.line, "quote": claim.text, "about": claim.subject })
    };
    let one = |(((pair, probability), judged), said): ((&(Pair, f64), &Judged), &Option<Said>)| {
        let features: Map<String, Value> =
            pair.signals.named(judged).into_iter().map(|(name, x)| (name.to_owned(), json!(x))).collect();
        let (a, b) = (side(pair.of.0), side(pair.of.1));
        json!({ "a": a, "b": b, "probability": probability, "features": features, "said": said })
    };
    labelled.iter().zip(judged).zip(said).map(one).collect()
}
