//! Scored labels: the labeller's log-probabilities of the three words of a label, read as a probability for each.
//!
//! One token is read for each pair. A label for or against then needs its quote, which is requested with the label given.

use super::pairs::{ClaimDocument, Work, malformed, plain};
use super::replies::{SCORED, each, scored_values};
use super::settings::{Quotes, ROLE};
use super::weights::{LabelWeights, Quantities, RELATIONS};
use crate::answers::quote;
use crate::answers::words::Level;
use crate::error::{MootError, Result};
use crate::generation::Logprobs;
use crate::protocol::claims::word;
use crate::protocol::formats::CHOICE;
use crate::protocol::scored::{TOP, log_probabilities};
use crate::protocol::{Ask, Ctx};
use crate::question::{ClaimRelation, DocumentLabel, LabelFault};
use crate::transcript::{CallRecord, Parsed};
use std::collections::BTreeMap;

/// Tokens of the longest word of a label, at most.
const TOKENS: usize = 16;

/// A label for each of `pairs`: the most probable one, with its probability.
///
/// # Errors
/// As [`Ctx::try_all`]; weights that were fitted to another model or prompt.
pub(super) fn scored(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    weights: &LabelWeights,
    pairs: &[ClaimDocument],
) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    weights.check(ctx.model(ROLE), &ctx.hash(SCORED))?;
    if !ctx.capabilities(ROLE).logprobs {
        let name = &ctx.model(ROLE).name;
        let text = format!("labels scored: expected a model that gives log-probabilities, found {name}");
        return Err(MootError::Usage(text));
    }
    let asks: Vec<Ask> = pairs.iter().map(|&pair| score(work, pair)).collect();
    let mut labels = BTreeMap::new();
    for (&pair, result) in pairs.iter().zip(ctx.try_all(&asks)?) {
        let label = match result {
            Ok(call) => read(&call, work, weights, pair),
            Err(error) => work.failed(pair, ROLE, &error),
        };
        labels.insert(pair, label);
    }
    if work.how.quotes != Quotes::None {
        quote_all(ctx, work, pairs, &mut labels)?;
    }
    Ok(labels)
}

/// Whether the weights were fitted to scores of this model after this prompt, and the model gives them.
pub(super) fn is_fitted(ctx: &Ctx<'_>, weights: &LabelWeights) -> bool {
    let model = ctx.model(ROLE);
    let named = !weights.sha256.is_empty() && weights.sha256 == model.sha256;
    named && weights.check(model, &ctx.hash(SCORED)).is_ok() && ctx.capabilities(ROLE).logprobs
}

/// Requests the quotes of labels for and against.
fn quote_all(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    pairs: &[ClaimDocument],
    labels: &mut BTreeMap<ClaimDocument, DocumentLabel>,
) -> Result<()> {
    let relation = |pair: &ClaimDocument| {
        let label = labels.get(pair).filter(|label| label.counts())?;
        (label.relation != ClaimRelation::Irrelevant).then_some(label.relation)
    };
    let decided: BTreeMap<ClaimDocument, ClaimRelation> =
        pairs.iter().filter_map(|pair| Some((*pair, relation(pair)?))).collect();
    let open: Vec<ClaimDocument> = pairs.iter().copied().filter(|pair| decided.contains_key(pair)).collect();
    let quoting = work.with(decided);
    let quoted = each(ctx, &quoting, &open)?;
    work.too_long_in(&quoting);
    for (pair, quoted) in quoted {
        let Some(label) = labels.get_mut(&pair) else { continue };
        let calls = [label.calls.clone(), quoted.calls].concat();
        // The scores decide. A reply without a grammar may say something else, and has no quote for this label then.
        let fault = match quoted.fault {
            None if quoted.relation != label.relation => Some(LabelFault::Unquoted),
            fault => fault,
        };
        let quote = if fault.is_none() { quoted.quote } else { None };
        let DocumentLabel { misquote, reason, .. } = quoted;
        *label = DocumentLabel { fault, quote, misquote, reason, calls, ..label.clone() };
    }
    Ok(())
}

/// The call whose first token is read.
fn score(work: &Work<'_>, pair: ClaimDocument) -> Ask {
    Ask::new(ROLE, SCORED, scored_values(work, pair, None), &CHOICE)
        .options(RELATIONS.map(word))
        .document(work.number(pair.1))
        .max_tokens(TOKENS)
        .logprobs(Logprobs { top: TOP, ..Logprobs::default() })
}

fn read(call: &CallRecord, work: &Work<'_>, weights: &LabelWeights, (claim, document): ClaimDocument) -> DocumentLabel {
    let calls = vec![call.number];
    let Some(found) = quantities(call, &work.claims[claim], work.text(document)) else {
        return malformed(document, ROLE, calls);
    };
    let probabilities = weights.probabilities(&found);
    // Of equals the most cautious.
    let best =
        [2, 0, 1].into_iter().reduce(|best, next| if probabilities[next] > probabilities[best] { next } else { best });
    let best = best.unwrap_or(2);
    let label = plain(document, RELATIONS[best], ROLE);
    DocumentLabel { probability: Some(probabilities[best] as f32), calls, ..label }
}

/// The quantities of a pair, from the call that scored it; `None` if its reply is malformed.
pub(crate) fn quantities(call: &CallRecord, claim: &str, document: &str) -> Option<Quantities> {
    if call.parsed == Parsed::Malformed {
        return None;
    }
    let [supports, contradicts, irrelevant] = log_probabilities(call, RELATIONS.map(word));
    Some(Quantities {
        supports: supports - irrelevant,
        contradicts: contradicts - irrelevant,
        overlap: overlap(claim, document),
    })
}

/// The share of the claim's words that the nearest sentence of the document has.
fn overlap(claim: &str, document: &str) -> f64 {
    let words = Level::Voted.words(claim);
    if words.is_empty() {
        return 0.0;
    }
    let share = |sentence: &String| {
        let sentence = Level::Voted.words(sentence);
        words.iter().filter(|word| sentence.has(word)).count() as f64 / words.len() as f64
    };
    quote::pieces(document).iter().map(share).fold(0.0, f64::max)
}
