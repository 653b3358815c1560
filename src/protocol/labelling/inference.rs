//! Labels by natural language inference: the document is the premise, the claim the hypothesis.

use super::pairs::{ClaimDocument, Work, failed, malformed, plain, quoted};
use super::settings::By;
use crate::answers::quote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::protocol::ctx::Entailed;
use crate::protocol::{Ctx, entailment};
use crate::question::{ClaimRelation, DocumentLabel};
use crate::transcript::{Pair, Relation};
use std::collections::BTreeMap;

/// A pair whose document has a relation to its claim, with the relation's probability: its quote is still to be found.
type Open = (ClaimDocument, ClaimRelation, f32);

/// Labels by entailment. The quote is the sentence that has the relation with the highest probability. Where entailment is not
/// the only judge, uncertain pairs, and those whose quote is uncertain, are left out.
///
/// A label has a probability where a classifier gave it: a reply of the role `entailment` is a choice without one. A reply that
/// is malformed, and a pair whose call fails, are labels with that fault.
pub(super) fn entailed(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    pairs: &[ClaimDocument],
) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> {
    let (alone, certain) = (work.how.by == By::Entailment, work.how.certain);
    let premises: Vec<Pair> =
        pairs.iter().map(|&(claim, document)| pair(work.text(document), &work.claims[claim])).collect();
    let classified = ctx.classifies();
    let by = if classified { "classifier" } else { entailment::ROLE };
    let known = |probability: f32| classified.then_some(probability);
    let mut labels = BTreeMap::new();
    let mut open: Vec<Open> = Vec::new();
    for (&key, found) in pairs.iter().zip(ctx.try_entail(&premises)?) {
        let relation = match found {
            Entailed::Found(relation) => relation,
            // The labeller decides.
            _ if !alone => continue,
            Entailed::Malformed(call) => {
                labels.insert(key, malformed(key.1, by, vec![call]));
                continue;
            }
            Entailed::Failed(error) => {
                labels.insert(key, failed(key.1, by, &error));
                continue;
            }
        };
        let (label, probability) = likeliest(&relation);
        // A classifier that knows support alone does not tell an irrelevant document from one that contradicts the claim.
        let is_open = label == ClaimRelation::Irrelevant && ctx.classifies_support_only();
        if !alone && (probability < certain || is_open) {
            continue;
        }
        if label == ClaimRelation::Irrelevant {
            let label = plain(key.1, label, by);
            labels.insert(key, DocumentLabel { probability: known(probability), ..label });
        } else {
            open.push((key, label, probability));
        }
    }
    let quotes = sentences_of(ctx, work, &open)?;
    for (&(key, relation, probability), (words, sure)) in open.iter().zip(quotes) {
        if !alone && sure < certain {
            continue;
        }
        // The relation is that of the whole document; its best sentence is shown, also where it takes several to show it.
        let label = DocumentLabel { probability: known(probability), ..plain(key.1, relation, by) };
        labels.insert(key, quoted(label, work.text(key.1), &words));
    }
    Ok(labels)
}

/// For each pair, the sentence of its document for which the pair's relation has the highest probability, and that
/// probability. Of equals the sentence that shares most words with the claim, then the first.
fn sentences_of(ctx: &mut Ctx<'_>, work: &Work<'_>, open: &[Open]) -> Result<Vec<(String, f32)>> {
    let pieces: Vec<Vec<String>> = open.iter().map(|((_, document), ..)| quote::pieces(work.text(*document))).collect();
    let mut premises = Vec::new();
    for (((claim, _), ..), pieces) in open.iter().zip(&pieces) {
        premises.extend(pieces.iter().map(|piece| pair(piece, &work.claims[*claim])));
    }
    if premises.is_empty() {
        return Ok(vec![(String::new(), 0.0); open.len()]);
    }
    let relations = ctx.try_entail(&premises)?;
    let mut rest = relations.as_slice();
    let mut best = Vec::with_capacity(open.len());
    for (((claim, _), relation, _), pieces) in open.iter().zip(&pieces) {
        let (mine, others) = rest.split_at(pieces.len());
        rest = others;
        let claim = Level::Voted.words(&work.claims[*claim]);
        let mut found: (&str, f32, usize) = ("", 0.0, 0);
        for (piece, entailed) in pieces.iter().zip(mine) {
            let Entailed::Found(its) = entailed else { continue };
            let p = probability(its, *relation);
            let shared = Level::Voted.words(piece).iter().filter(|word| claim.has(word)).count();
            if p > found.1 || p == found.1 && shared > found.2 {
                found = (piece.trim(), p, shared);
            }
        }
        best.push((found.0.to_owned(), found.1));
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
