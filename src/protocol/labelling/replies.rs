//! Labels by the labeller's replies, a call for each pair.

use super::pairs::{ClaimDocument, Work, malformed, plain, quoted};
use super::settings::{Quotes, ROLE};
use crate::answers::quote::{self, LEAST};
use crate::error::Result;
use crate::generation::{Message, Role};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::claims::{CLAIM_LABEL, relation, word};
use crate::protocol::{Ask, Ctx};
use crate::question::{ClaimRelation, DocumentLabel, LabelFault};
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The prompt that labels a claim against a document.
pub(crate) const LABELLER: File = prompt_file!("conflict_score/labeller.jinja");
/// The prompt whose reply is scored; with a label it asks for the quote.
pub(crate) const SCORED: File = prompt_file!("conflict_score/scored.jinja");
/// The turn that asks again.
pub(crate) const AGAIN: File = prompt_file!("conflict_score/again.jinja");

/// Tokens of a label with its quote and reason, unless the document's sentences may need more.
const LABEL_TOKENS: usize = 256;

/// Tokens of a label without quote and reason: its markers and its word.
pub(super) const MARKER_TOKENS: usize = 32;

/// Characters of a reason at most, as the grammar says.
const REASON: usize = 200;

/// Whether the reply of a call for labels may be asked for again: no grammar constrained it, and its label does not count.
pub(super) fn can_be_asked_again(call: &CallRecord, label: &DocumentLabel) -> bool {
    // A schema holds the form of a reply, but not that its quote is in the document.
    let constrained = call.grammar.as_deref().is_some_and(|name| name.ends_with(".lark"));
    !constrained && !label.counts()
}

/// A label for each of `pairs`, in a call each, and one retry for replies that no grammar constrained.
pub(super) fn each(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    pairs: &[ClaimDocument],
) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    let asks: Vec<Ask> = pairs.iter().map(|&pair| labeller(work, pair)).collect();
    let mut labels = BTreeMap::new();
    let (mut again, mut retried) = (Vec::new(), Vec::new());
    for ((&pair, ask), result) in pairs.iter().zip(&asks).zip(ctx.try_all(&asks)?) {
        let call = match result {
            Ok(call) => call,
            Err(error) => {
                labels.insert(pair, work.failed(pair, ROLE, &error));
                continue;
            }
        };
        let label = read(&call, work, pair.1);
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
                let second = read(&call, work, pair.1);
                let kept = if second.fault == Some(LabelFault::Malformed) { first.clone() } else { second };
                DocumentLabel { calls: [first.calls, vec![call.number]].concat(), ..kept }
            }
            Err(_) => first,
        };
        labels.insert(pair, label);
    }
    Ok(labels)
}

/// The question for a pair's label, or for the quote of one that is decided, without its format.
fn prompt(work: &Work<'_>, pair: ClaimDocument) -> Ask {
    let (claim, document) = pair;
    let (prompt, values) = match work.decided(pair) {
        Some(label) => (SCORED, scored_values(work, pair, Some(label))),
        None => {
            let (claim, document) = (&work.claims[claim], work.text(document).trim());
            (LABELLER, json!({ "claim": claim, "document": document, "label_first": work.how.label_first }))
        }
    };
    Ask::new(ROLE, prompt, values, &CLAIM_LABEL).document(work.number(document))
}

/// The values of the prompt [`SCORED`].
pub(super) fn scored_values(work: &Work<'_>, (claim, document): ClaimDocument, label: Option<ClaimRelation>) -> Value {
    json!({ "claim": work.claims[claim], "document": work.text(document).trim(), "label": label.map(word) })
}

/// The call for a pair's label.
pub(super) fn labeller(work: &Work<'_>, pair: ClaimDocument) -> Ask {
    let how = work.how;
    let pieces = quote::pieces(work.text(pair.1));
    // A document may be shorter than the shortest quote, and is one then.
    let least = LEAST.min(pieces.iter().map(|piece| piece.chars().count()).sum());
    // A reason may be cut, but not one that the label follows.
    let reason = if how.label_first { 0 } else { REASON };
    let words = how.quotes == Quotes::Words;
    let tokens = LABEL_TOKENS.max(quote::tokens(&pieces, words) + MARKER_TOKENS + reason);
    let mut format_values = json!({
        "pieces": pieces, "least": least, "words": words, "label_first": how.label_first, "reasons": how.reasons,
    });
    if how.quotes == Quotes::Any {
        format_values["any"] = true.into();
    }
    if let Some(label) = work.decided(pair) {
        format_values["decided"] = word(label).into();
    }
    prompt(work, pair).format_values(format_values).max_tokens(tokens)
}

/// The same call after its first reply, with the fault of that reply.
fn retry(ask: &Ask, call: &CallRecord, label: &DocumentLabel) -> Ask {
    let quote = if label.fault == Some(LabelFault::Malformed) { Value::Null } else { label.misquote.clone().into() };
    // A model is shown the object that it wrote, not the lines that were made of it.
    let said = Message::new(Role::Assistant, call.raw.as_ref().unwrap_or(&call.reply).clone());
    let turns = [call.messages.clone(), vec![said]].concat();
    Ask { prompt: AGAIN, values: json!({ "quote": quote }), round: 2, ..ask.clone() }.after(turns)
}

/// The label that a call gave, its quote looked up in the document.
fn read(call: &CallRecord, work: &Work<'_>, number: usize) -> DocumentLabel {
    let Parsed::Fields(fields) = &call.parsed else { return malformed(number, ROLE, vec![call.number]) };
    let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let Some(relation) = relation(field("label")) else { return malformed(number, ROLE, vec![call.number]) };
    let label = DocumentLabel { calls: vec![call.number], ..plain(number, relation, ROLE) };
    let label = DocumentLabel { reason: whole_words(field("reason")), ..label };
    work.how.counted(quoted(label, work.text(number), field("quote")))
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
