//! A record of labelled claims for readers: by claim, the documents that support it and that contradict it, with quotes
//! and their positions.

use super::newest::Newest;
use super::score::{Neither, Scores, scores};
use crate::protocol::labelling::decomposer::ROLE;
use crate::question::{ClaimRelation, DocumentLabel, JudgedClaim, LabelFault, Passage, Quote};
use crate::transcript::{Event, QuestionRecord};
use crate::units::plural;
use serde::Serialize;

/// The claims of a response or of documents, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// The question that the response answers; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The responses whose claims these are; empty where documents were compared with each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub responses: Vec<String>,
    /// The documents, in the order of their numbers.
    pub documents: Vec<Source>,
    /// In the order of the response.
    pub claims: Vec<Claim>,
    /// The numbers.
    pub scores: Scores,
    /// How claims with neither supporters nor contradictors enter CS-R.
    pub neither: Neither,
    /// The labellers, with the number of labels of each.
    pub labelled_by: Vec<(String, usize)>,
    /// Notes on omissions: claims that were not checked, texts that could not be broken down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The model of the labeller, where the caller knows it: a record's header says so, its questions do not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// A document as it is named, with its text for the pages that show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    /// From 1.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The publisher or author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// As given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its position in the corpus, for a retrieved passage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Near-copies of it that count as one document with it, by title or file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<String>,
    /// All of it.
    #[serde(skip)]
    pub text: String,
}

/// A claim and the evidence for and against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// The statement.
    pub text: String,
    /// The number of the document that it was taken from, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    /// It has supporters and contradictors.
    pub conflict: bool,
    /// D+.
    pub supporters: Vec<Evidence>,
    /// D-.
    pub contradictors: Vec<Evidence>,
    /// The newest dates for and against it, where one is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Newest>,
    /// Labels that do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<Unsupported>,
    /// Numbers of the documents that say nothing about it.
    pub irrelevant: Vec<usize>,
}

/// A document's words for or against a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The document's number, from 1.
    pub document: usize,
    /// Exactly as in the document, with its position there; none for a label that counts without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// The line of the document's text on which the quote begins, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The reasons given.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// "labeller", "classifier" or "entailment".
    pub by: String,
    /// The relation's probability, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
}

/// A label that does not count, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unsupported {
    /// The document's number, from 1.
    pub document: usize,
    /// As labelled.
    pub relation: ClaimRelation,
    /// Why it does not count.
    pub fault: LabelFault,
    /// The given quote, or the error of a failed call.
    pub given: String,
    /// The relation's probability, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
}

impl Source {
    /// Its publisher, date, address, position and copies, as far as they are known.
    pub(crate) fn details(&self) -> impl Iterator<Item = String> {
        let copies = (!self.copies.is_empty()).then(|| format!("with its copies {}", self.copies.join(", ")));
        let known = [&self.source, &self.date, &self.url, &self.position].into_iter().flatten().cloned();
        known.chain(copies)
    }
}

impl Evidence {
    /// Its words as `shown`, in quotation marks; else "without a quote of the document".
    #[must_use]
    pub fn words(&self, shown: impl Fn(&str) -> String) -> String {
        let without = || "without a quote of the document".to_owned();
        self.quote.as_ref().map_or_else(without, |quote| format!("“{}”", shown(&quote.text)))
    }

    /// "line 3", "characters 40-71" and "probability 0.97", as far as they are known.
    #[must_use]
    pub(crate) fn details(&self) -> Vec<String> {
        let line = self.line.map(|line| format!("line {line}"));
        let range = self
            .quote
            .as_ref()
            .map(|Quote { characters, .. }| format!("characters {}-{}", characters.start, characters.end));
        let sureness = self.probability.map(|probability| format!("probability {probability:.2}"));
        [line, range, sureness].into_iter().flatten().collect()
    }
}

impl Unsupported {
    /// "labelled as contradicting, but the quote is not in the document".
    #[must_use]
    pub fn why(&self) -> String {
        let labelled = match self.relation {
            ClaimRelation::Supports => "labelled as supporting",
            ClaimRelation::Contradicts => "labelled as contradicting",
            ClaimRelation::Irrelevant => "labelled as irrelevant",
        };
        match self.fault {
            LabelFault::Unquoted if self.given.is_empty() => format!("{labelled}, without a quote"),
            LabelFault::Unquoted => format!("{labelled}, but the quote is not in the document: \"{}\"", self.given),
            LabelFault::Malformed => "no label: the reply does not keep its format".to_owned(),
            LabelFault::Failed => format!("no label: {}", self.given),
            LabelFault::Unsure => {
                format!("{labelled}, with a probability of {:.2} only", self.probability.unwrap_or(0.0))
            }
        }
    }
}

impl Claim {
    /// "2 for, 1 against, 3 irrelevant".
    #[must_use]
    pub fn tally(&self) -> String {
        let counts = [
            (self.supporters.len(), "for"),
            (self.contradictors.len(), "against"),
            (self.irrelevant.len(), "irrelevant"),
            (self.unsupported.len(), "that do not count"),
        ];
        let told = counts.iter().enumerate().filter(|(index, (count, _))| *index < 2 || *count > 0);
        told.map(|(_, (count, what))| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    }

    /// The first supporter and the first contradictor, to be read side by side.
    #[must_use]
    pub fn pair(&self) -> Option<(&Evidence, &Evidence)> {
        Some((self.supporters.first()?, self.contradictors.first()?))
    }
}

impl Assessment {
    /// The assessment that `record` holds; `None` where its method labels no claims, and for a question that failed.
    #[must_use]
    pub fn of(record: &QuestionRecord, neither: Neither) -> Option<Self> {
        let judged = record.conclusion.as_ref()?.claims.as_ref()?;
        let documents: Vec<Source> =
            record.question.documents.iter().chain(&record.retrieved).enumerate().map(source).collect();
        let responses = if record.question.responses.is_empty() && judged.iter().all(|claim| claim.from.is_none()) {
            // A method that assesses its own answer.
            if record.question.claims.is_empty() { answers(record) } else { Vec::new() }
        } else {
            record.question.responses.clone()
        };
        let mut labelled_by: Vec<(String, usize)> = Vec::new();
        for label in judged.iter().flat_map(|claim| &claim.labels) {
            match labelled_by.iter_mut().find(|(by, _)| *by == label.by) {
                Some((_, count)) => *count += 1,
                None => labelled_by.push((label.by.clone(), 1)),
            }
        }
        Some(Self {
            question: record.question.text.clone(),
            responses,
            claims: judged.iter().map(|judged| claim(judged, &documents)).collect(),
            scores: scores(judged, neither),
            neither,
            labelled_by,
            model: String::new(),
            notes: notes(record),
            documents,
        })
    }

    /// The publisher and the date of a document by its number, from 1, as far as they are known.
    #[must_use]
    pub fn published(&self, number: usize) -> Vec<String> {
        let document = number.checked_sub(1).and_then(|index| self.documents.get(index));
        let known = document.map(|document| [document.source.clone(), document.date.clone()]);
        known.into_iter().flatten().flatten().collect()
    }

    /// The name of a document by its number, from 1.
    #[must_use]
    pub fn name(&self, number: usize) -> &str {
        number.checked_sub(1).and_then(|index| self.documents.get(index)).map_or("?", |document| &document.name)
    }
}

/// Fallbacks of the method, and failed calls of other roles than the labeller, whose failures are labels.
fn notes(record: &QuestionRecord) -> Vec<String> {
    let note = |event: &Event| match event {
        Event::Fallback { what, dropped: None, .. } => Some(what.clone()),
        Event::Failure { role, error, .. } if role == ROLE => Some(format!("no claims of a document: {error}")),
        _ => None,
    };
    record.events.iter().filter_map(note).collect()
}

/// The answers that were judged: the first ones, where others replaced them.
fn answers(record: &QuestionRecord) -> Vec<String> {
    let Some(conclusion) = &record.conclusion else { return Vec::new() };
    let judged = if conclusion.rejected.is_empty() { &conclusion.answers } else { &conclusion.rejected };
    judged.iter().map(|answer| answer.text.clone()).collect()
}

fn source((index, document): (usize, &crate::question::Document)) -> Source {
    let copy = |copy: &Passage| copy.title.as_ref().unwrap_or(&copy.origin.file).clone();
    Source {
        number: index + 1,
        name: document.name.clone(),
        source: document.source.clone(),
        date: document.date.clone(),
        url: document.url.clone(),
        position: document.origin.as_ref().map(ToString::to_string),
        copies: document.copies.iter().map(copy).collect(),
        text: document.text.clone(),
    }
}

fn claim(judged: &JudgedClaim, documents: &[Source]) -> Claim {
    let of = |relation| judged.of(relation).filter_map(|label| evidence(label, documents)).collect();
    let unsupported = judged.labels.iter().filter_map(|label| {
        let given = if label.fault == Some(LabelFault::Failed) { &label.reason } else { &label.misquote };
        let (document, relation, probability) = (label.document + 1, label.relation, label.probability);
        Some(Unsupported { document, relation, fault: label.fault?, given: given.clone(), probability })
    });
    let (supporters, contradictors): (Vec<_>, Vec<_>) = (of(ClaimRelation::Supports), of(ClaimRelation::Contradicts));
    let from = judged.from.map(|number| number + 1);
    let numbers = |side: &[Evidence]| side.iter().map(|evidence| evidence.document).collect::<Vec<_>>();
    let (mut with, against) = (numbers(&supporters), numbers(&contradictors));
    // The document that states a claim speaks for it.
    with.extend(from.filter(|from| !against.contains(from)));
    let date = |number: &usize| documents.get(number - 1)?.date.as_deref();
    let newest = Newest::of(with.iter().filter_map(date), against.iter().filter_map(date));
    Claim {
        text: judged.text.clone(),
        from,
        conflict: judged.conflicts(),
        newest,
        supporters,
        contradictors,
        unsupported: unsupported.collect(),
        irrelevant: judged.of(ClaimRelation::Irrelevant).map(|label| label.document + 1).collect(),
    }
}

fn evidence(label: &DocumentLabel, documents: &[Source]) -> Option<Evidence> {
    let text = &documents.get(label.document)?.text;
    let quote = label.quote.clone();
    let line = quote.as_ref().map(|quote| 1 + text.chars().take(quote.characters.start).filter(|&c| c == '\n').count());
    let (reason, by, probability) = (label.reason.clone(), label.by.clone(), label.probability);
    Some(Evidence { document: label.document + 1, line, quote, reason, by, probability })
}

/// "6 claims: 3 supported, 1 contradicted, 1 both, 1 without evidence".
#[must_use]
pub fn tally(scores: &Scores) -> String {
    let Scores { supported, contradicted, conflicting, neither, .. } = scores;
    let claims = plural(scores.claims as u32, "claim", "claims");
    format!(
        "{claims}: {supported} supported, {contradicted} contradicted, {conflicting} both, {neither} without evidence"
    )
}

/// A score with three decimals; a dash where it is undefined.
#[must_use]
pub fn number(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"))
}

/// One line: the number of labels, and of those that do not count.
#[must_use]
pub fn counts(assessment: &Assessment) -> String {
    let scores = &assessment.scores;
    let by: Vec<String> = assessment.labelled_by.iter().map(|(by, count)| format!("{count} by {by}")).collect();
    let model = if assessment.model.is_empty() { String::new() } else { format!(", model {}", assessment.model) };
    let mut parts = vec![format!("{} labels ({}{model})", scores.labels, by.join(", "))];
    if scores.labels == 0 {
        parts = vec!["no labels".to_owned()];
    }
    for (count, what) in [
        (scores.unquoted, "without a quote that is in the document"),
        (scores.malformed, "malformed"),
        (scores.failed, "failed"),
        (scores.unsure, "not sure enough"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.join(", ")
}
