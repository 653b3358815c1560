//! The probability of a label: the model's own, over the three words that a label may be.
//!
//! The paper takes a label as it comes (ConflictScore, section 3). A model often gives the most probable of three labels of nearly
//! equal probability, and a false contradiction costs a reader more than a missed one: so a least probability can be required.

use super::pairs::ClaimDocument;
use super::settings::ROLE;
use crate::error::Result;
use crate::generation::Finish;
use crate::protocol::claims::word;
use crate::protocol::{Ask, Ctx};
use crate::question::{ClaimRelation, DocumentLabel, LabelFault};
use crate::transcript::CallRecord;
use moot_models::kernels::math::exp;
use std::collections::BTreeMap;

/// The three labels, in the order in which they are scored.
const WORDS: [ClaimRelation; 3] = [ClaimRelation::Supports, ClaimRelation::Contradicts, ClaimRelation::Irrelevant];

/// Gives each label of a reply its probability: the model scores "Label: SUPPORTS" and the other two as beginnings of a reply to
/// the pair's prompt (`ask`), and the three are normalised to 1. Malformed and failed labels have none.
///
/// # Errors
/// As [`Ctx::ask_all`]; a model that cannot score.
pub(super) fn weigh(
    ctx: &mut Ctx<'_>,
    labels: &mut BTreeMap<ClaimDocument, DocumentLabel>,
    ask: impl Fn(ClaimDocument) -> Ask,
) -> Result<()> {
    // Replies under a grammar that were cut inside their quote are scored too, without effect: records of versions in
    // which such labels counted have these calls, and in a replay a call's seed depends on the number of calls before
    // it.
    let is_cut = |label: &DocumentLabel| {
        let call = label.calls.last().and_then(|&number| ctx.calls().get(number));
        call.is_some_and(|call| call.grammar.is_some() && call.finish == Finish::Length)
    };
    let given = |label: &DocumentLabel| match label.fault {
        None | Some(LabelFault::Unquoted) => label.by == ROLE,
        Some(LabelFault::Malformed) => label.by == ROLE && is_cut(label),
        _ => false,
    };
    let mut pairs: Vec<ClaimDocument> =
        labels.iter().filter(|(_, label)| given(label)).map(|(&pair, _)| pair).collect();
    // Document by document, as the labels were asked for.
    pairs.sort_by_key(|&(claim, document)| (document, claim));
    let beginning = |pair, label| ask(pair).prefill(format!("Label: {}", word(label))).scored().round(3);
    let asks: Vec<Ask> = pairs.iter().flat_map(|&pair| WORDS.map(|label| beginning(pair, label))).collect();
    let scored = ctx.ask_all(&asks)?;
    for (pair, calls) in pairs.iter().zip(scored.chunks_exact(WORDS.len())) {
        let Some(label) = labels.get_mut(pair).filter(|label| label.fault != Some(LabelFault::Malformed)) else {
            continue;
        };
        let scores: Vec<f32> = calls.iter().map(CallRecord::total_score).collect();
        let probability = share(&scores, WORDS.iter().position(|&word| word == label.relation).unwrap_or(0));
        label.probability = Some(probability);
    }
    Ok(())
}

/// The share of one of several log-probabilities in their sum.
fn share(scores: &[f32], index: usize) -> f32 {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = scores.iter().map(|score| exp(f64::from(score - highest))).collect();
    (weights[index] / weights.iter().sum::<f64>()) as f32
}
