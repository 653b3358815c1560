//! Claims against documents: a label for each pair, by a model's replies or scores, by entailment, or by both.

use super::inference::entailed;
use super::pairs::{ClaimDocument, Work, irrelevant, malformed};
use super::replies::each;
use super::scored::{is_fitted, scored};
use super::settings::{By, Labelling, ROLE};
use super::together::together;
use super::weights::LabelWeights;
use crate::error::Result;
use crate::protocol::Ctx;
use crate::question::DocumentLabel;
use std::collections::BTreeMap;

/// The labels of `pairs`, in their order: each an index in `claims` and a document's number.
///
/// # Errors
/// An error that every call would have; errors of the classifier. A single failed call is a label with a fault.
pub(crate) fn label(
    ctx: &mut Ctx<'_>,
    how: &Labelling,
    claims: &[String],
    pairs: &[ClaimDocument],
) -> Result<Vec<DocumentLabel>> {
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
    labels.extend(match &how.by {
        By::Scored(weights) => scored(ctx, &work, weights, &left)?,
        By::Auto if how.can_be_scored() && is_fitted(ctx, &program) => scored(ctx, &work, &program, &left)?,
        _ if how.together => together(ctx, &work, &left)?,
        _ => each(ctx, &work, &left)?,
    });
    Ok(pairs.iter().map(|pair| labels.remove(pair).unwrap_or_else(|| malformed(pair.1, ROLE, Vec::new()))).collect())
}
