//! Pairs of a claim and a document, and the labels that they are given.

use super::settings::{Labelling, ROLE};
use crate::answers::quote;
use crate::error::MootError;
use crate::protocol::Ctx;
use crate::question::{ClaimRelation, DocumentLabel, LabelFault};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A claim and a document, by their indices.
pub(super) type ClaimDocument = (usize, usize);

/// Claims and documents to label, and the settings.
pub(super) struct Work<'a> {
    pub(super) how: &'a Labelling,
    pub(super) claims: &'a [String],
    /// The texts of all documents, or of parts of documents.
    texts: Vec<String>,
    /// The document's number, where texts are parts.
    numbers: Option<Vec<usize>>,
    /// Pairs that do not fit into the labeller's context.
    too_long: RefCell<BTreeSet<ClaimDocument>>,
    /// Labels that are decided already: of these pairs quotes alone are requested.
    decided: BTreeMap<ClaimDocument, ClaimRelation>,
}

impl<'a> Work<'a> {
    pub(super) fn new(how: &'a Labelling, claims: &'a [String], ctx: &Ctx<'_>) -> Self {
        let texts = ctx.documents().map(|document| document.text.clone()).collect();
        Self { how, claims, texts, numbers: None, too_long: RefCell::default(), decided: BTreeMap::new() }
    }

    /// The same claims against `texts`, parts of the documents with these `numbers`.
    pub(super) fn of_parts(&self, texts: Vec<String>, numbers: Vec<usize>) -> Self {
        let (numbers, too_long) = (Some(numbers), RefCell::default());
        Self { how: self.how, claims: self.claims, texts, numbers, too_long, decided: BTreeMap::new() }
    }

    /// The same, with labels that are decided.
    pub(super) fn with(&self, decided: BTreeMap<ClaimDocument, ClaimRelation>) -> Self {
        let (texts, numbers) = (self.texts.clone(), self.numbers.clone());
        Self { how: self.how, claims: self.claims, texts, numbers, too_long: RefCell::default(), decided }
    }

    /// The number of a text's document.
    pub(super) fn number(&self, text: usize) -> usize {
        self.numbers.as_ref().map_or(text, |numbers| numbers[text])
    }

    /// Pairs whose call [`Self::failed`] because it is too long.
    pub(super) fn too_long(&self) -> BTreeSet<ClaimDocument> {
        self.too_long.borrow().clone()
    }

    /// Adds pairs that are too long with `other` settings, which ask for the same documents.
    pub(super) fn too_long_in(&self, other: &Work<'_>) {
        self.too_long.borrow_mut().extend(other.too_long());
    }

    /// The label of a pair whose call failed.
    pub(super) fn failed(&self, pair: ClaimDocument, by: &str, error: &MootError) -> DocumentLabel {
        if matches!(error, MootError::TooLong { .. }) {
            self.too_long.borrow_mut().insert(pair);
        }
        failed(pair.1, by, error)
    }

    pub(super) fn decided(&self, pair: ClaimDocument) -> Option<ClaimRelation> {
        self.decided.get(&pair).copied()
    }

    pub(super) fn text(&self, document: usize) -> &str {
        self.texts.get(document).map_or("", String::as_str)
    }
}

pub(super) fn plain(document: usize, relation: ClaimRelation, by: &str) -> DocumentLabel {
    DocumentLabel {
        document,
        relation,
        fault: None,
        quote: None,
        misquote: String::new(),
        reason: String::new(),
        by: by.to_owned(),
        probability: None,
        calls: Vec::new(),
    }
}

pub(super) fn irrelevant(document: usize, reason: &str) -> DocumentLabel {
    DocumentLabel { reason: reason.to_owned(), ..plain(document, ClaimRelation::Irrelevant, ROLE) }
}

pub(super) fn malformed(document: usize, by: &str, calls: Vec<usize>) -> DocumentLabel {
    DocumentLabel { fault: Some(LabelFault::Malformed), calls, ..plain(document, ClaimRelation::Irrelevant, by) }
}

pub(super) fn failed(document: usize, by: &str, error: &MootError) -> DocumentLabel {
    let label = plain(document, ClaimRelation::Irrelevant, by);
    DocumentLabel { fault: Some(LabelFault::Failed), reason: error.to_string(), ..label }
}

/// `label` with its quote in the document's own characters. If the document does not have the quote, the label does not
/// count.
pub(super) fn quoted(label: DocumentLabel, document: &str, words: &str) -> DocumentLabel {
    if label.relation == ClaimRelation::Irrelevant {
        return label;
    }
    match quote::locate(document, words) {
        Some(quote) => DocumentLabel { quote: Some(quote), ..label },
        None => DocumentLabel { fault: Some(LabelFault::Unquoted), misquote: words.to_owned(), ..label },
    }
}
