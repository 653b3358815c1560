//! The report of a comparison.

use super::findings::{Finding, Group};
use super::folder::Source;
use crate::units::plural;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Counts of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Documents, copies left out.
    pub documents: usize,
    /// Sentences.
    pub sentences: usize,
    /// Claims, equal ones counted once.
    pub claims: usize,
    /// Pairs compared.
    pub pairs: usize,
    /// Calls made in this run; kept ones are not made again.
    pub calls: usize,
    /// Failed calls. Their passages have no subjects, and their pairs are decided without the judge.
    pub failed: usize,
}

/// The contradictions of a folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// By subject; the subject of the most probable contradiction first.
    pub groups: Vec<Group>,
    /// The documents, in the order of their numbers.
    pub documents: Vec<Source>,
    /// Counts of the work.
    pub counts: Counts,
    /// Lines on what was not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Pairs without a whole label: a call failed, or the judge's word cannot be read.
    #[serde(skip)]
    pub unlabelled: usize,
    /// Every labelled pair with the features that decided, one object each.
    #[serde(skip)]
    pub labelled: Vec<Value>,
}

impl Report {
    /// The contradictions of all subjects.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.groups.iter().flat_map(|group| &group.findings)
    }

    /// "2 contradictions about 1 subject in 12 documents: 140 claims, 210 pairs".
    #[must_use]
    pub fn told(&self) -> String {
        let count = |n: usize, one: &str, many: &str| plural(n, one, many);
        let Counts { documents, claims, pairs, failed, .. } = self.counts;
        let found = self.findings().count();
        let documents = count(documents, "document", "documents");
        let failed = if failed == 0 { String::new() } else { format!(", {} failed", count(failed, "call", "calls")) };
        let compared = format!("{}, {}{failed}", count(claims, "claim", "claims"), count(pairs, "pair", "pairs"));
        if found == 0 {
            return format!("no contradictions in {documents}: {compared}");
        }
        let found = count(found, "contradiction", "contradictions");
        format!("{found} about {} in {documents}: {compared}", count(self.groups.len(), "subject", "subjects"))
    }
}
