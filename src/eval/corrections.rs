//! Labels of claims that a person corrects: a record of labelled claims, a file of corrections, and the record with them.

use crate::answers::quote::locate;
use crate::error::{MootError, Result};
use crate::eval::record::reader::Record;
use crate::eval::record::{Corrected, Header, VERSION, Writer};
use crate::files::outputs::refuse_existing;
use crate::jsonl::{Lines, json_fault, parse, shortened};
use crate::question::{ClaimRelation, DocumentLabel, JudgedClaim, Quote};
use crate::transcript::QuestionRecord;
use moot_models::source::sha256_file;
use serde::Deserialize;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// The labeller of corrected labels.
pub(crate) const PERSON: &str = "person";

/// One line of a file of corrections. Numbers are those that `moot conflict` prints.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Correction {
    /// The question's id; may be left out where the record has one question.
    #[serde(default)]
    pub question: Option<String>,
    /// The claim's number, from 1.
    pub claim: usize,
    /// The document's number, from 1.
    pub document: usize,
    /// How the document relates to the claim.
    pub label: ClaimRelation,
    /// Words of the document that show it; empty for none.
    #[serde(default)]
    pub quote: String,
    /// The person's reasons.
    #[serde(default)]
    pub reason: String,
}

/// The counts of a corrected record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Corrections.
    pub corrections: usize,
    /// Of them, those of a label that counted and was the same: the labeller was right.
    pub confirmed: usize,
    /// Of them, those of a label that did not count, or of a pair without one.
    pub filled: usize,
    /// The ids of the questions that have corrections, in the order of the record.
    pub questions: Vec<String>,
}

/// A record whose labels are corrected.
pub struct CorrectedRecord {
    /// The record, with corrected labels.
    pub record: Record,
    /// Counts.
    pub counts: Counts,
    header: Header,
    /// The run of the record ended.
    whole: bool,
}

impl CorrectedRecord {
    /// Reads the record at `path` and corrects its labels by `corrections`, a file of JSON lines.
    ///
    /// # Errors
    /// A record that cannot be read, or was altered; [`MootError::Input`] for a line that is not a correction, that
    /// names a question, claim or document that is not there, or a quote that its document does not have, and for two
    /// corrections of one label.
    pub fn read(path: &Path, corrections: &Path) -> Result<Self> {
        let (mut record, ledger) = Record::read_whole(path)?;
        ledger.check(path)?;
        let sha256 = sha256_file(corrections)?;
        let mut counts = Counts::default();
        let mut seen = HashSet::new();
        let mut corrected = BTreeSet::new();
        for item in Lines::open(corrections)? {
            let (line, text) = item?;
            let fault = |expected: &str, found: String| MootError::Input {
                path: corrections.to_owned(),
                line: Some(line),
                expected: expected.to_owned(),
                found,
            };
            let correction: Correction = parse(text.as_bytes()).map_err(|e| {
                fault("a correction, as {\"claim\": 2, \"document\": 3, \"label\": \"supports\"}", json_fault(&e))
            })?;
            let index =
                question(&record.questions, &correction).map_err(|(expected, found)| fault(&expected, found))?;
            if !seen.insert((index, correction.claim, correction.document)) {
                let Correction { claim, document, .. } = correction;
                return Err(fault(
                    "one label of a pair",
                    format!("another one of claim {claim} and document {document}"),
                ));
            }
            let outcome = correct(&mut record.questions[index], &correction)
                .map_err(|(expected, found)| fault(&expected, found))?;
            counts.corrections += 1;
            counts.confirmed += usize::from(outcome == Outcome::Confirmed);
            counts.filled += usize::from(outcome == Outcome::Filled);
            corrected.insert(index);
        }
        if counts.corrections == 0 {
            let expected = "corrections, one a line".to_owned();
            return Err(MootError::Input { path: corrections.into(), line: None, expected, found: "none".into() });
        }
        counts.questions = corrected.iter().map(|&index| record.questions[index].question.id.clone()).collect();
        let origin = Corrected { chain: ledger.chain.clone(), sha256, labels: counts.corrections };
        let header = Header { moot_record: VERSION, corrected: Some(origin), ..record.header.clone() };
        let whole = record.is_whole(&ledger);
        Ok(Self { record, counts, header, whole })
    }

    /// Writes the record to a new file.
    ///
    /// # Errors
    /// A file that is there already, or that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        refuse_existing(path)?;
        Writer::write_new(path, &self.header, |writer| writer.append_run(&self.record.questions, self.whole))
    }
}

/// The effect of a correction on a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The label was the same.
    Confirmed,
    /// It was another one.
    Changed,
    /// There was none that counts.
    Filled,
}

/// Expected and found.
type Fault = (String, String);

/// The index of the question that is corrected.
fn question(questions: &[QuestionRecord], correction: &Correction) -> std::result::Result<usize, Fault> {
    match &correction.question {
        None if questions.len() == 1 => Ok(0),
        None => Err((
            "a correction with the id of its \"question\"".into(),
            format!("none; the record has {}", questions.len()),
        )),
        Some(id) => questions
            .iter()
            .position(|record| record.question.id == *id)
            .ok_or_else(|| ("the id of a recorded question".into(), format!("{:?}", shortened(id)))),
    }
}

fn correct(record: &mut QuestionRecord, correction: &Correction) -> std::result::Result<Outcome, Fault> {
    let documents: Vec<_> = record.question.documents.iter().chain(&record.retrieved).collect();
    let text = correction.document.checked_sub(1).and_then(|index| Some(documents.get(index)?.text.clone()));
    let count = documents.len();
    let text = text.ok_or_else(|| (format!("a document from 1 to {count}"), correction.document.to_string()))?;
    let quote =
        match correction.quote.trim() {
            "" => None,
            quote => {
                let found = locate(&text, quote);
                Some(found.ok_or_else(|| {
                    ("words of the document as \"quote\"".to_owned(), format!("{:?}", shortened(quote)))
                })?)
            }
        };
    let claims = record.conclusion.as_mut().and_then(|conclusion| conclusion.claims.as_mut());
    let Some(claims) = claims else {
        return Err(("a question with labelled claims".into(), "one without".into()));
    };
    let count = claims.len();
    let claim = correction.claim.checked_sub(1).and_then(|index| claims.get_mut(index));
    let claim = claim.ok_or_else(|| (format!("a claim from 1 to {count}"), correction.claim.to_string()))?;
    Ok(put(claim, correction, quote))
}

/// Replaces the label of a pair.
fn put(claim: &mut JudgedClaim, correction: &Correction, quote: Option<Quote>) -> Outcome {
    let document = correction.document - 1;
    let label = DocumentLabel {
        document,
        relation: correction.label,
        fault: None,
        quote,
        misquote: String::new(),
        reason: correction.reason.clone(),
        by: PERSON.into(),
        probability: None,
        calls: Vec::new(),
    };
    // Two labellers may have labelled one pair: the person's label replaces all of them.
    let of_pair = |label: &&DocumentLabel| label.document == document && label.counts();
    let before: Vec<ClaimRelation> = claim.labels.iter().filter(of_pair).map(|label| label.relation).collect();
    claim.labels.retain(|label| label.document != document);
    let at = claim.labels.partition_point(|label| label.document < document);
    claim.labels.insert(at, label);
    match before.as_slice() {
        [] => Outcome::Filled,
        all if all.iter().all(|relation| *relation == correction.label) => Outcome::Confirmed,
        _ => Outcome::Changed,
    }
}
