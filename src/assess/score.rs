//! CS-C and CS-R (ConflictScore, section 3).
//!
//! D+ and D- are a claim's supporters and contradictors: labels that do not count (without a quote that is in the
//! document, malformed, failed, not sure enough) are in neither.

use crate::question::{ClaimRelation, JudgedClaim, LabelFault};
use serde::Serialize;

/// How claims with neither supporters nor contradictors enter CS-R, where |D-| / (|D+| + |D-|) is 0 / 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neither {
    /// They are left out of the mean.
    #[default]
    LeftOut,
    /// Their ratio is 0.
    Zero,
}

/// The scores of a response.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Scores {
    /// Claims.
    pub claims: usize,
    /// Claims with supporters alone.
    pub supported: usize,
    /// Claims with contradictors alone. They are in neither number: CS-C counts claims with both.
    pub contradicted: usize,
    /// Claims with supporters and contradictors.
    pub conflicting: usize,
    /// Claims with neither.
    pub neither: usize,
    /// CS-C: `conflicting / claims`; none without claims, and where every label is malformed or failed.
    pub cs_c: Option<f64>,
    /// CS-R: the mean of |D-| / (|D+| + |D-|) over claims; none where no claim enters it.
    pub cs_r: Option<f64>,
    /// Labels, those included that do not count.
    pub labels: usize,
    /// Labels without a quote that is in the document.
    pub unquoted: usize,
    /// Malformed labels.
    pub malformed: usize,
    /// Labels whose call failed.
    pub failed: usize,
    /// Labels whose probability is below the one that was asked for.
    pub unsure: usize,
}

/// |D-| / (|D+| + |D-|); `None` where a claim has neither.
#[must_use]
pub fn ratio(claim: &JudgedClaim) -> Option<f64> {
    let count = |relation| claim.of(relation).count() as f64;
    let (supporters, contradictors) = (count(ClaimRelation::Supports), count(ClaimRelation::Contradicts));
    (supporters + contradictors > 0.0).then(|| contradictors / (supporters + contradictors))
}

/// The scores of `claims`.
#[must_use]
pub fn scores(claims: &[JudgedClaim], neither: Neither) -> Scores {
    let unlabelled = JudgedClaim::unlabelled(claims);
    let ratios: Vec<f64> = match neither {
        // Without a label that could be read the result is unknown; a number would say that nothing conflicts.
        _ if unlabelled => Vec::new(),
        Neither::LeftOut => claims.iter().filter_map(ratio).collect(),
        Neither::Zero => claims.iter().map(|claim| ratio(claim).unwrap_or(0.0)).collect(),
    };
    let conflicting = claims.iter().filter(|claim| claim.conflicts()).count();
    let has = |claim: &JudgedClaim, relation| claim.of(relation).next().is_some();
    let alone = |relation, other| claims.iter().filter(|claim| has(claim, relation) && !has(claim, other)).count();
    let labels = || claims.iter().flat_map(|claim| &claim.labels);
    let faults = |fault| labels().filter(|label| label.fault == Some(fault)).count();
    Scores {
        claims: claims.len(),
        supported: alone(ClaimRelation::Supports, ClaimRelation::Contradicts),
        contradicted: alone(ClaimRelation::Contradicts, ClaimRelation::Supports),
        conflicting,
        neither: claims.iter().filter(|claim| ratio(claim).is_none()).count(),
        cs_c: (!claims.is_empty() && !unlabelled).then(|| conflicting as f64 / claims.len() as f64),
        cs_r: (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64),
        labels: labels().count(),
        unquoted: faults(LabelFault::Unquoted),
        malformed: faults(LabelFault::Malformed),
        failed: faults(LabelFault::Failed),
        unsure: faults(LabelFault::Unsure),
    }
}
