//! Claims against documents: a label for each pair, by a model's replies, by entailment, or by both.

use super::quote::{self, LEAST};
use super::reply::{CLAIM_LABEL, CLAIM_LABELS, relation};
use super::sure::weigh;
use super::{AGAIN, LABELLER, TOGETHER};
use crate::error::{MootError, Result};
use crate::generation::{Message, Role};
use crate::methods::{Ask, Ctx};
use crate::question::{ClaimRelation, DocumentLabel, LabelFault};
use crate::transcript::{CallRecord, Pair, Parsed, Relation};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The role that labels.
pub const ROLE: &str = "labeller";

/// Tokens of a label with its quote and reason.
const LABEL_TOKENS: usize = 256;

/// Characters of a reason at most, as the grammar says.
const REASON: usize = 200;

/// Tokens of one document's line where all are labelled in one call.
const LINE_TOKENS: usize = 128;

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

impl Default for Labelling {
    /// By the labeller's replies, a call a pair, the label before a quote of sentences.
    fn default() -> Self {
        Self {
            by: By::Labeller,
            certain: 0.9,
            label_first: true,
            words: false,
            together: false,
            reasons: true,
            sure: 0.0,
        }
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

/// A claim and a document, by their places.
pub type ClaimDocument = (usize, usize);

/// What is labelled, and how.
struct Work<'a> {
    how: &'a Labelling,
    claims: &'a [String],
    /// The texts of all documents, by number.
    texts: Vec<String>,
}

impl Work<'_> {
    fn text(&self, document: usize) -> &str {
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
        weigh(ctx, how.sure, &mut replied, |pair| prompt(&work, pair, true))?;
    }
    labels.extend(replied);
    Ok(pairs.iter().map(|pair| labels.remove(pair).unwrap_or_else(|| malformed(pair.1, ROLE, Vec::new()))).collect())
}

fn plain(document: usize, relation: ClaimRelation, by: &str) -> DocumentLabel {
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

fn malformed(document: usize, by: &str, calls: Vec<usize>) -> DocumentLabel {
    DocumentLabel { fault: Some(LabelFault::Malformed), calls, ..plain(document, ClaimRelation::Irrelevant, by) }
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
                labels.insert(pair, failed(pair.1, &error));
                continue;
            }
        };
        let label = read(&call, work.text(pair.1), pair.1);
        if call.grammar.as_deref() != CLAIM_LABEL.grammar.map(|file| file.name) && !label.counts() {
            again.push(retry(ask, &call, &label));
            retried.push((pair, label));
        } else {
            labels.insert(pair, label);
        }
    }
    for ((pair, first), result) in retried.into_iter().zip(ctx.try_all(&again)?) {
        let label = match result {
            Ok(call) => {
                let second = read(&call, work.text(pair.1), pair.1);
                // A first label without its quote says more than no label.
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

fn labeller(work: &Work<'_>, pair: ClaimDocument) -> Ask {
    let how = work.how;
    let pieces = quote::pieces(work.text(pair.1));
    let least = LEAST.min(pieces.iter().map(|piece| piece.chars().count()).sum());
    let format_values = json!({
        "pieces": pieces, "least": least, "words": how.words, "label_first": how.label_first, "reasons": how.reasons,
    });
    prompt(work, pair, how.label_first).format_values(format_values).max_tokens(LABEL_TOKENS)
}

/// The same call after its first reply, told what was wrong with it.
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
fn quoted(label: DocumentLabel, document: &str, words: &str) -> DocumentLabel {
    if label.relation == ClaimRelation::Irrelevant {
        return label;
    }
    match quote::locate(document, words) {
        Some(quote) => DocumentLabel { quote: Some(quote), ..label },
        None => DocumentLabel { fault: Some(LabelFault::Unquoted), misquote: words.to_owned(), ..label },
    }
}

fn failed(document: usize, error: &MootError) -> DocumentLabel {
    let label = plain(document, ClaimRelation::Irrelevant, ROLE);
    DocumentLabel { fault: Some(LabelFault::Failed), reason: error.to_string(), ..label }
}

/// A label for each of `pairs`, in a call for each claim.
fn together(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    pairs: &[ClaimDocument],
) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    let mut by_claim: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &(claim, document) in pairs {
        by_claim.entry(claim).or_default().push(document);
    }
    let asks: Vec<Ask> = by_claim.iter().map(|(&claim, numbers)| all_of(work, claim, numbers)).collect();
    let mut labels = BTreeMap::new();
    for ((&claim, numbers), result) in by_claim.iter().zip(ctx.try_all(&asks)?) {
        for (place, &number) in numbers.iter().enumerate() {
            let label = match &result {
                Ok(call) => line(call, work.text(number), place, number),
                Err(error) => failed(number, error),
            };
            labels.insert((claim, number), label);
        }
    }
    Ok(labels)
}

fn all_of(work: &Work<'_>, claim: usize, numbers: &[usize]) -> Ask {
    let texts: Vec<&str> = numbers.iter().map(|&number| work.text(number)).collect();
    let documents: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
    let pieces: Vec<Vec<String>> = texts.iter().map(|text| quote::pieces(text)).collect();
    let ask = Ask::new(ROLE, TOGETHER, json!({ "claim": work.claims[claim], "documents": documents }), &CLAIM_LABELS);
    let ask = ask.format_values(json!({ "documents": pieces })).max_tokens(LINE_TOKENS * numbers.len());
    match numbers.first() {
        Some(&first) => ask.document(first),
        None => ask,
    }
}

/// The label of the document at `place` of a call for several.
fn line(call: &CallRecord, document: &str, place: usize, number: usize) -> DocumentLabel {
    let calls = vec![call.number];
    let Parsed::Fields(fields) = &call.parsed else { return malformed(number, ROLE, calls) };
    let lines = fields.get("labels").and_then(Value::as_array);
    let line = lines.into_iter().flatten().find(|line| line["document"] == place + 1);
    let Some(relation) = line.and_then(|line| relation(line["label"].as_str()?)) else {
        return malformed(number, ROLE, calls);
    };
    let words = line.and_then(|line| line["quote"].as_str()).unwrap_or_default();
    quoted(DocumentLabel { calls, ..plain(number, relation, ROLE) }, document, words)
}

/// Labels by entailment: the document is the premise, the claim the hypothesis. The quote is the sentence that has the
/// relation with the highest probability. Where entailment is not the only judge, uncertain pairs, and those whose quote is
/// uncertain, are left out.
fn entailed(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    pairs: &[ClaimDocument],
) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    let (alone, certain) = (work.how.by == By::Entailment, work.how.certain);
    let premises: Vec<Pair> =
        pairs.iter().map(|&(claim, document)| pair(work.text(document), &work.claims[claim])).collect();
    let by = if ctx.classifies() { "classifier" } else { "entailment" };
    let relations = ctx.entail(&premises)?;
    let mut labels = BTreeMap::new();
    let mut open: Vec<(ClaimDocument, ClaimRelation, f32)> = Vec::new();
    for (&place, relation) in pairs.iter().zip(&relations) {
        let (label, probability) = likeliest(relation);
        if !alone && probability < certain {
            continue;
        }
        if label == ClaimRelation::Irrelevant {
            let label = plain(place.1, label, by);
            labels.insert(place, DocumentLabel { probability: Some(probability), ..label });
        } else {
            open.push((place, label, probability));
        }
    }
    let quotes = sentences_of(ctx, work, &open)?;
    for (&(place, relation, probability), (words, sure)) in open.iter().zip(quotes) {
        if !alone && sure < certain {
            continue;
        }
        // A sentence that does not show the relation by itself is no evidence.
        let words = if sure >= 0.5 { words } else { String::new() };
        let label = DocumentLabel { probability: Some(probability), ..plain(place.1, relation, by) };
        labels.insert(place, quoted(label, work.text(place.1), &words));
    }
    Ok(labels)
}

/// For each pair the sentence of its document that has the pair's relation with the highest probability, and that.
fn sentences_of(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    open: &[(ClaimDocument, ClaimRelation, f32)],
) -> Result<Vec<(String, f32)>> {
    let pieces: Vec<Vec<String>> = open.iter().map(|((_, document), ..)| quote::pieces(work.text(*document))).collect();
    let mut premises = Vec::new();
    for (((claim, _), ..), pieces) in open.iter().zip(&pieces) {
        premises.extend(pieces.iter().map(|piece| pair(piece, &work.claims[*claim])));
    }
    if premises.is_empty() {
        return Ok(vec![(String::new(), 0.0); open.len()]);
    }
    let relations = ctx.entail(&premises)?;
    let mut rest = relations.as_slice();
    let mut best = Vec::with_capacity(open.len());
    for ((_, relation, _), pieces) in open.iter().zip(&pieces) {
        let (mine, others) = rest.split_at(pieces.len());
        rest = others;
        let scored = pieces.iter().zip(mine).map(|(piece, found)| (piece.trim(), probability(found, *relation)));
        let first = (String::new(), 0.0_f32);
        best.push(scored.fold(first, |best, (piece, p)| if p > best.1 { (piece.to_owned(), p) } else { best }));
    }
    Ok(best)
}

fn pair(premise: &str, claim: &str) -> Pair {
    Pair { premise: premise.trim().to_owned(), hypothesis: claim.to_owned() }
}

fn probability(relation: &Relation, of: ClaimRelation) -> f32 {
    match of {
        ClaimRelation::Supports => relation.entailment,
        ClaimRelation::Contradicts => relation.contradiction,
        ClaimRelation::Irrelevant => relation.neutral,
    }
}

/// The most probable label; of equals the most cautious.
fn likeliest(relation: &Relation) -> (ClaimRelation, f32) {
    let labels = [ClaimRelation::Irrelevant, ClaimRelation::Supports, ClaimRelation::Contradicts];
    let scored = labels.map(|label| (label, probability(relation, label)));
    scored.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best }).unwrap_or(scored[0])
}
