//! Claims against documents: a label for each pair, by a model's replies or scores, by entailment, or by both.

use super::inference::entailed;
use super::pairs::{ClaimDocument, Work, irrelevant, malformed};
use super::parts::in_parts;
use super::replies::each;
use super::scored::{is_fitted, scored};
use super::settings::{By, Labelling, ROLE};
use super::together::together;
use super::weights::LabelWeights;
use crate::error::Result;
use crate::protocol::Ctx;
use crate::question::{DocumentLabel, JudgedClaim};
use std::collections::{BTreeMap, BTreeSet};

/// Labels claims against the documents of the question; without any, each against the passages found for it.
///
/// # Errors
/// As [`label`] and [`Ctx::retrieve`].
pub(crate) fn judge(
    ctx: &mut Ctx<'_>,
    how: &Labelling,
    claims: Vec<(String, Option<usize>)>,
) -> Result<Vec<JudgedClaim>> {
    let texts: Vec<String> = claims.iter().map(|(claim, _)| claim.clone()).collect();
    let given = ctx.documents().len();
    let evidence: Vec<Vec<usize>> = if given > 0 || texts.is_empty() {
        vec![(0..given).collect(); texts.len()]
    } else {
        let queries: Vec<&str> = texts.iter().map(String::as_str).collect();
        let wanted = ctx.wanted().clone();
        let found = ctx.retrieve(&queries, &wanted)?;
        found.into_iter().map(|hits| ctx.take_up(hits)).collect()
    };
    let pairs = evidence.iter().enumerate().flat_map(|(claim, numbers)| numbers.iter().map(move |&n| (claim, n)));
    let pairs: Vec<ClaimDocument> = pairs.collect();
    let mut labels = label(ctx, how, &texts, &pairs)?.into_iter();
    let of = |((text, from), numbers): ((String, Option<usize>), Vec<usize>)| JudgedClaim {
        text,
        from,
        labels: labels.by_ref().take(numbers.len()).collect(),
    };
    Ok(claims.into_iter().zip(evidence).map(of).collect())
}

/// The labels of `pairs`, in their order: each an index in `claims` and a document's number.
///
/// # Errors
/// An error that every call would have; errors of the classifier. A single failed call is a label with a fault.
fn label(ctx: &mut Ctx<'_>, how: &Labelling, claims: &[String], pairs: &[ClaimDocument]) -> Result<Vec<DocumentLabel>> {
    let work = Work::new(how, claims, ctx);
    let mut labels: BTreeMap<ClaimDocument, DocumentLabel> = BTreeMap::new();
    // A document without words says nothing about any claim.
    let (empty, full): (Vec<ClaimDocument>, Vec<ClaimDocument>) =
        pairs.iter().partition(|(_, document)| work.text(*document).trim().is_empty());
    for pair in empty {
        labels.insert(pair, irrelevant(pair.1, "the document is empty"));
    }
    let mut left = full;
    if matches!(how.by, By::Entailment | By::Both) {
        let found = entailed(ctx, &work, &left)?;
        left.retain(|pair| !found.contains_key(pair));
        labels.extend(found);
    }
    // Document by document: the calls of one share its keys and values, and its grammar.
    left.sort_by_key(|&(claim, document)| (document, claim));
    let program = LabelWeights::program();
    let by = |ctx: &mut Ctx<'_>, work: &Work<'_>, pairs: &[ClaimDocument]| match &how.by {
        By::Scored(weights) => scored(ctx, work, weights, pairs),
        By::Auto if how.can_be_scored() && is_fitted(ctx, &program) => scored(ctx, work, &program, pairs),
        _ if how.together => together(ctx, work, pairs),
        _ => each(ctx, work, pairs),
    };
    let mut by_labeller = by(ctx, &work, &left)?;
    for document in work.too_long().into_iter().map(|(_, document)| document).collect::<BTreeSet<usize>>() {
        let name = ctx.documents().nth(document).map(|document| document.name.clone()).unwrap_or_default();
        ctx.fall_back(format!("{name} does not fit into the labeller's context: its parts are labelled"));
    }
    in_parts(ctx, &work, &mut by_labeller, &by)?;
    labels.extend(by_labeller);
    Ok(pairs.iter().map(|pair| labels.remove(pair).unwrap_or_else(|| malformed(pair.1, ROLE, Vec::new()))).collect())
}
