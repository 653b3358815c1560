//! A claim against several documents in one call.

use super::pairs::{ClaimDocument, Work, malformed, plain, quoted};
use super::replies::{MARKER_TOKENS, can_be_asked_again, labeller, retry_all};
use super::settings::{Quotes, ROLE};
use crate::answers::quote;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::claims::{CLAIM_LABELS, relation};
use crate::protocol::{Ask, Ctx};
use crate::question::DocumentLabel;
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The prompt that labels a claim against all documents.
pub(crate) const TOGETHER: File = prompt_file!("conflict_score/together.jinja");

/// Tokens of one document's line, unless its sentences may need more.
const LINE_TOKENS: usize = 128;

/// Tokens of a line whose quote may be any text, of the 400 characters that the grammar allows.
const ANY_LINE_TOKENS: usize = 256;

/// Most tokens of the prompt besides claim and documents.
const INSTRUCTIONS: usize = 400;

/// Bytes of text in a token at most, on average over a document.
const MOST_BYTES: usize = 8;

/// A claim, and the documents of one call.
type Group = (usize, Vec<usize>);

/// A label for each of `pairs`: in a call for each claim, or several where its documents do not fit into the context of the
/// model. A call that fails for several documents is made again for each half of them. Where no grammar constrained the reply,
/// a document whose label does not count is asked about once more, alone.
pub(super) fn together(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    pairs: &[ClaimDocument],
) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    let mut by_claim: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &(claim, document) in pairs {
        by_claim.entry(claim).or_default().push(document);
    }
    let context = ctx.model(ROLE).context;
    let mut open: Vec<Group> =
        by_claim.into_iter().flat_map(|(claim, numbers)| groups(work, claim, &numbers, context)).collect();
    let mut labels = BTreeMap::new();
    let mut again: Vec<(ClaimDocument, DocumentLabel)> = Vec::new();
    while !open.is_empty() {
        let asks: Vec<Ask> = open.iter().map(|(claim, numbers)| all_of(work, *claim, numbers)).collect();
        let mut halves: Vec<Group> = Vec::new();
        for ((claim, numbers), result) in open.iter().zip(ctx.try_all(&asks)?) {
            match (result, numbers.as_slice()) {
                (Ok(call), _) => {
                    for (index, &number) in numbers.iter().enumerate() {
                        let label = work.how.counted(line(&call, work.text(number), index, number));
                        if can_be_asked_again(&call, &label) {
                            again.push(((*claim, number), label));
                        } else {
                            labels.insert((*claim, number), label);
                        }
                    }
                }
                (Err(error), &[number]) => {
                    labels.insert((*claim, number), work.failed((*claim, number), ROLE, &error));
                }
                (Err(_), _) => {
                    // `try_all` returns errors common to all calls. Others, such as a too long prompt, may not recur with
                    // half the documents.
                    let (first, rest) = numbers.split_at(numbers.len() / 2);
                    halves.extend([(*claim, first.to_vec()), (*claim, rest.to_vec())]);
                }
            }
        }
        open = halves;
    }
    let asks: Vec<Ask> = again.iter().map(|(pair, _)| labeller(work, *pair).round(2)).collect();
    if !asks.is_empty() {
        labels.extend(retry_all(ctx, work, &asks, again)?);
    }
    Ok(labels)
}

/// The documents of a claim in one group; in several, by the tokens that they take at most, where one call cannot hold them.
/// A `context` of 0 is not known.
fn groups(work: &Work<'_>, claim: usize, numbers: &[usize], context: usize) -> Vec<Group> {
    let bytes: usize = numbers.iter().map(|&number| work.text(number).len()).sum();
    // An estimate in favour of one call: one that does not fit after all fails, and is halved.
    if context == 0 || bytes / MOST_BYTES + LINE_TOKENS * numbers.len() <= context {
        return vec![(claim, numbers.to_vec())];
    }
    let room = context.saturating_sub(INSTRUCTIONS + quote::tokens_of(&work.claims[claim]));
    let mut groups: Vec<Group> = Vec::new();
    let mut taken = 0;
    for &number in numbers {
        let text = work.text(number);
        let tokens = quote::tokens_of(text) + MARKER_TOKENS + line_tokens(work, &quote::pieces(text));
        taken += tokens;
        match groups.last_mut().filter(|_| taken <= room) {
            Some((_, group)) => group.push(number),
            None => {
                groups.push((claim, vec![number]));
                taken = tokens;
            }
        }
    }
    groups
}

/// Tokens of the line of a document with these pieces.
fn line_tokens(work: &Work<'_>, pieces: &[String]) -> usize {
    let least = if work.how.quotes == Quotes::Any { ANY_LINE_TOKENS } else { LINE_TOKENS };
    least.max(quote::tokens(pieces, false) + MARKER_TOKENS)
}

fn all_of(work: &Work<'_>, claim: usize, numbers: &[usize]) -> Ask {
    let texts: Vec<&str> = numbers.iter().map(|&number| work.text(number)).collect();
    let documents: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
    let pieces: Vec<Vec<String>> = texts.iter().map(|text| quote::pieces(text)).collect();
    let tokens = pieces.iter().map(|pieces| line_tokens(work, pieces)).sum();
    let ask = Ask::new(ROLE, TOGETHER, json!({ "claim": work.claims[claim], "documents": documents }), &CLAIM_LABELS);
    let mut format_values = json!({ "documents": pieces });
    if work.how.quotes == Quotes::Any {
        format_values["any"] = true.into();
    }
    let ask = ask.format_values(format_values).max_tokens(tokens);
    // A call for several documents speaks for none of them.
    match numbers {
        &[only] => ask.document(work.number(only)),
        _ => ask,
    }
}

/// The label of the document at `index` of a call for several.
fn line(call: &CallRecord, document: &str, index: usize, number: usize) -> DocumentLabel {
    let calls = vec![call.number];
    let Parsed::Fields(fields) = &call.parsed else { return malformed(number, ROLE, calls) };
    let lines = fields.get("labels").and_then(Value::as_array);
    let line = lines.into_iter().flatten().find(|line| line["document"] == index + 1);
    let Some(relation) = line.and_then(|line| relation(line["label"].as_str()?)) else {
        return malformed(number, ROLE, calls);
    };
    let words = line.and_then(|line| line["quote"].as_str()).unwrap_or_default();
    quoted(DocumentLabel { calls, ..plain(number, relation, ROLE) }, document, words)
}
