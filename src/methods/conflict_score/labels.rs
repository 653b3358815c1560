//! Claims against documents: a label for each pair, by a model's replies, by entailment, or by both.

use super::inference::entailed;
use super::pairs::{ClaimDocument, Work, irrelevant, malformed};
use super::replies::{each, prompt};
use super::settings::{By, Labelling, ROLE};
use super::sure::weigh;
use super::together::together;
use crate::error::Result;
use crate::protocol::Ctx;
use crate::question::{ClaimRelation, DocumentLabel, LabelFault};
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

/// A label for or against whose probability is less than `sure` does not count, be it the labeller's or the
/// classifier's.
fn hold_to(label: &mut DocumentLabel, sure: f32) {
    let unsure = label.probability.is_some_and(|probability| probability < sure);
    if unsure && label.counts() && label.relation != ClaimRelation::Irrelevant {
        label.fault = Some(LabelFault::Unsure);
    }
}
