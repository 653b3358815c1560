//! Claims against documents: a label for each pair, by a model's replies, by entailment, or by both.

use super::inference::entailed;
use super::sure::weigh;
use super::together::together;
use super::{AGAIN, LABELLER, LABELS, SURE};
use crate::answers::quote::{self, LEAST};
use crate::error::{MootError, Result};
use crate::generation::{Message, Role};
use crate::protocol::claims::{CLAIM_LABEL, relation};
use crate::protocol::switches::Values;
use crate::protocol::{Ask, Ctx};
use crate::question::{ClaimRelation, DocumentLabel, LabelFault};
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The role that labels.
pub const ROLE: &str = "labeller";

/// Tokens of a label with its quote and reason, unless the document's sentences may need more.
const LABEL_TOKENS: usize = 256;

/// Tokens of a label beside quote and reason: its markers and its word.
pub(super) const MARKER_TOKENS: usize = 32;

/// Characters of a reason at most, as the grammar says.
const REASON: usize = 200;

/// How pairs are labelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelling {
    /// By what.
    pub by: By,
    /// A relation of entailment is certain from this probability on.
    pub certain: f32,
    /// The label stands before quote and reason.
    pub label_first: bool,
    /// Quotes begin and end at words; otherwise they are one or two sentences.
    pub words: bool,
    /// All documents of a claim in one call.
    pub together: bool,
    /// Replies go on with a reason; only where the label stands first can it be left out.
    pub reasons: bool,
    /// Labels for or against count from this probability on; 0 asks for no probabilities.
    pub sure: f32,
}

impl Labelling {
    /// As the switches [`LABELS`] and [`SURE`] say, a call a pair, the label before a quote of sentences.
    #[must_use]
    pub fn of(values: &Values) -> Self {
        let by = match values.choice(LABELS.name) {
            "entailment" => By::Entailment,
            "both" => By::Both,
            _ => By::Labeller,
        };
        let (certain, label_first, words, together, reasons) = (0.9, true, false, false, true);
        Self { by, certain, label_first, words, together, reasons, sure: values.number(SURE.name) as f32 }
    }
}

/// What labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The labeller's replies.
    Labeller,
    /// The most probable relation of entailment.
    Entailment,
    /// Relations of entailment that are certain; the labeller decides the others.
    Both,
}

/// Refuses switches of a method that need probabilities of entailment, where no classifier gives them: the role `entailment`
/// chooses a relation, and a choice has none.
///
/// # Errors
/// [`MootError::Usage`] for labels by both, and for labels by entailment that must be sure.
pub fn without_classifier(switches: &Value) -> Result<()> {
    let sure = switches[SURE.name].as_f64().is_some_and(|sure| sure > 0.0);
    let what = match switches[LABELS.name].as_str() {
        Some("both") => "labels both",
        Some("entailment") if sure => "sure with labels entailment",
        _ => return Ok(()),
    };
    Err(MootError::Usage(format!("{what} needs probabilities of entailment: expected --classifier NAME, found none")))
}

/// A claim and a document, by their places.
pub type ClaimDocument = (usize, usize);

/// What is labelled, and how.
pub(super) struct Work<'a> {
    pub(super) how: &'a Labelling,
    pub(super) claims: &'a [String],
    /// The texts of all documents, by number.
    texts: Vec<String>,
}

impl Work<'_> {
    pub(super) fn text(&self, document: usize) -> &str {
        self.texts.get(document).map_or("", String::as_str)
    }
}

/// The labels of `pairs`, in their order: each a place in `claims` and a document's number.
///
/// # Errors
/// What would fail every call alike; what the classifier fails with. A single call that fails is a label with a fault.
pub fn label(
    ctx: &mut Ctx<'_>,
    how: &Labelling,
    claims: &[String],
    pairs: &[ClaimDocument],
) -> Result<Vec<DocumentLabel>> {
    let work = Work { how, claims, texts: ctx.documents().map(|document| document.text.clone()).collect() };
    let mut labels: BTreeMap<ClaimDocument, DocumentLabel> = BTreeMap::new();
    // A document without words says nothing about any claim.
    let (empty, full): (Vec<ClaimDocument>, Vec<ClaimDocument>) =
        pairs.iter().partition(|(_, document)| work.text(*document).trim().is_empty());
    for pair in empty {
        labels.insert(pair, irrelevant(pair.1, "the document is empty"));
    }
    let mut left = full;
    if how.by != By::Labeller {
        let found = entailed(ctx, &work, &left)?;
        left.retain(|pair| !found.contains_key(pair));
        labels.extend(found);
    }
    // Document by document: the calls of one share its keys and values, and its grammar.
    left.sort_by_key(|&(claim, document)| (document, claim));
    let mut replied = if how.together { together(ctx, &work, &left)? } else { each(ctx, &work, &left)? };
    if how.sure > 0.0 {
        weigh(ctx, &mut replied, |pair| prompt(&work, pair, true))?;
    }
    labels.extend(replied);
    labels.values_mut().for_each(|label| hold_to(label, how.sure));
    Ok(pairs.iter().map(|pair| labels.remove(pair).unwrap_or_else(|| malformed(pair.1, ROLE, Vec::new()))).collect())
}

/// A label for or against whose probability is less than `sure` does not count, whatever gave it.
fn hold_to(label: &mut DocumentLabel, sure: f32) {
    let unsure = label.probability.is_some_and(|probability| probability < sure);
    if unsure && label.counts() && label.relation != ClaimRelation::Irrelevant {
        label.fault = Some(LabelFault::Unsure);
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

fn irrelevant(document: usize, reason: &str) -> DocumentLabel {
    DocumentLabel { reason: reason.to_owned(), ..plain(document, ClaimRelation::Irrelevant, ROLE) }
}

pub(super) fn malformed(document: usize, by: &str, calls: Vec<usize>) -> DocumentLabel {
    DocumentLabel { fault: Some(LabelFault::Malformed), calls, ..plain(document, ClaimRelation::Irrelevant, by) }
}

pub(super) fn failed(document: usize, by: &str, error: &MootError) -> DocumentLabel {
    let label = plain(document, ClaimRelation::Irrelevant, by);
    DocumentLabel { fault: Some(LabelFault::Failed), reason: error.to_string(), ..label }
}

/// Whether the reply of a call for labels may be asked for again: no grammar constrained it, and its label does not count.
pub(super) fn can_be_asked_again(call: &CallRecord, label: &DocumentLabel) -> bool {
    let constrained = call.grammar.as_deref().is_some_and(|name| name.ends_with(".lark"));
    !constrained && !label.counts()
}

/// A label for each of `pairs`, in a call each, and one retry for replies that no grammar constrained.
fn each(ctx: &mut Ctx<'_>, work: &Work<'_>, pairs: &[ClaimDocument]) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    let asks: Vec<Ask> = pairs.iter().map(|&pair| labeller(work, pair)).collect();
    let mut labels = BTreeMap::new();
    let (mut again, mut retried) = (Vec::new(), Vec::new());
    for ((&pair, ask), result) in pairs.iter().zip(&asks).zip(ctx.try_all(&asks)?) {
        let call = match result {
            Ok(call) => call,
            Err(error) => {
                labels.insert(pair, failed(pair.1, ROLE, &error));
                continue;
            }
        };
        let label = read(&call, work.text(pair.1), pair.1);
        if can_be_asked_again(&call, &label) {
            again.push(retry(ask, &call, &label));
            retried.push((pair, label));
        } else {
            labels.insert(pair, label);
        }
    }
    labels.extend(retry_all(ctx, work, &again, retried)?);
    Ok(labels)
}

/// The labels of second calls `asks`; a first label stays where its second call fails or is malformed, since it may have a
/// relation and words that can be shown.
pub(super) fn retry_all(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    asks: &[Ask],
    firsts: Vec<(ClaimDocument, DocumentLabel)>,
) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    let mut labels = BTreeMap::new();
    for ((pair, first), result) in firsts.into_iter().zip(ctx.try_all(asks)?) {
        let label = match result {
            Ok(call) => {
                let second = read(&call, work.text(pair.1), pair.1);
                let kept = if second.fault == Some(LabelFault::Malformed) { first.clone() } else { second };
                DocumentLabel { calls: [first.calls, vec![call.number]].concat(), ..kept }
            }
            Err(_) => first,
        };
        labels.insert(pair, label);
    }
    Ok(labels)
}

/// The question for a pair's label, without its format.
fn prompt(work: &Work<'_>, (claim, document): ClaimDocument, label_first: bool) -> Ask {
    let values =
        json!({ "claim": work.claims[claim], "document": work.text(document).trim(), "label_first": label_first });
    Ask::new(ROLE, LABELLER, values, &CLAIM_LABEL).document(document)
}

/// The call for a pair's label.
pub(super) fn labeller(work: &Work<'_>, pair: ClaimDocument) -> Ask {
    let how = work.how;
    let pieces = quote::pieces(work.text(pair.1));
    let least = LEAST.min(pieces.iter().map(|piece| piece.chars().count()).sum());
    // A reason may be cut, but not one that the label follows.
    let reason = if how.label_first { 0 } else { REASON };
    let tokens = LABEL_TOKENS.max(quote::tokens(&pieces, how.words) + MARKER_TOKENS + reason);
    let format_values = json!({
        "pieces": pieces, "least": least, "words": how.words, "label_first": how.label_first, "reasons": how.reasons,
    });
    prompt(work, pair, how.label_first).format_values(format_values).max_tokens(tokens)
}

/// The same call after its first reply, with the fault of that reply.
fn retry(ask: &Ask, call: &CallRecord, label: &DocumentLabel) -> Ask {
    let quote = if label.fault == Some(LabelFault::Malformed) { Value::Null } else { label.misquote.clone().into() };
    let said = Message::new(Role::Assistant, call.raw.as_ref().unwrap_or(&call.reply).clone());
    let turns = [call.messages.clone(), vec![said]].concat();
    Ask { prompt: AGAIN, values: json!({ "quote": quote }), round: 2, ..ask.clone() }.after(turns)
}

/// The label that a call gave, its quote looked up in the document.
fn read(call: &CallRecord, document: &str, number: usize) -> DocumentLabel {
    let Parsed::Fields(fields) = &call.parsed else { return malformed(number, ROLE, vec![call.number]) };
    let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let Some(relation) = relation(field("label")) else { return malformed(number, ROLE, vec![call.number]) };
    let label = DocumentLabel { calls: vec![call.number], ..plain(number, relation, ROLE) };
    quoted(DocumentLabel { reason: whole_words(field("reason")), ..label }, document, field("quote"))
}

/// A reason that the grammar cut at its last character, cut at its last word instead.
fn whole_words(reason: &str) -> String {
    match reason.rfind(' ') {
        Some(space) if reason.chars().count() >= REASON && !reason.ends_with(['.', '!', '?']) => {
            format!("{}…", &reason[..space])
        }
        _ => reason.to_owned(),
    }
}

/// `label` with its quote as the document has it; without one that stands there it does not count.
pub(super) fn quoted(label: DocumentLabel, document: &str, words: &str) -> DocumentLabel {
    if label.relation == ClaimRelation::Irrelevant {
        return label;
    }
    match quote::locate(document, words) {
        Some(quote) => DocumentLabel { quote: Some(quote), ..label },
        None => DocumentLabel { fault: Some(LabelFault::Unquoted), misquote: words.to_owned(), ..label },
    }
}
