//! Prompt variants compared: the halves of a dataset to choose and to confirm on, and a table of the metrics that a
//! prompt changes, with paired bootstrap intervals of the difference from the first variant.

use crate::error::{MootError, Result};
use crate::eval::record::reader::Record;
use crate::eval::scores::{Difference, Scores, aligned, cell, compare, score};
use crate::question::Question;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// Most variants of one role's prompt: with many, the best of them is best by chance.
pub const MOST: usize = 6;

/// Metrics shown, by name; those without a value are left out.
pub const SHOWN: &[&str] = &[
    "em",
    "f1",
    "recall",
    "extracted",
    "correct-right",
    "correct-wrong",
    "correct-unknown",
    "misinfo-right",
    "noise-answered",
    "replies-changed",
    "replies-better",
    "replies-worse",
    "unknown",
    "malformed-replies",
    "calls",
    "prompt-tokens",
    "generated-tokens",
];

/// Most columns of differences side by side.
const BESIDE: usize = 3;

/// Part of a dataset, by the hash of a question's id: a prompt chosen on one half is confirmed on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// To choose a variant on.
    Choose,
    /// To confirm the choice on.
    Confirm,
    /// Every question.
    Both,
}

impl Half {
    /// Every half with its name.
    pub const NAMES: [(&str, Self); 3] = [("choose", Self::Choose), ("confirm", Self::Confirm), ("both", Self::Both)];

    /// The half called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`].
    pub fn named(name: &str) -> Result<Self> {
        let known = || Self::NAMES.map(|(name, _)| name).join(", ");
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        let unknown = || MootError::UnknownName { kind: "half", name: name.to_owned(), known: known() };
        found.map(|(_, half)| *half).ok_or_else(unknown)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Choose => "choose",
            Self::Confirm => "confirm",
            Self::Both => "both",
        }
    }

    /// Whether a question is in it: the last bit of the SHA-256 of its id, 0 to choose on, 1 to confirm on.
    #[must_use]
    pub fn holds(self, id: &str) -> bool {
        let last = Sha256::digest(id.as_bytes())[31] & 1;
        match self {
            Self::Choose => last == 0,
            Self::Confirm => last == 1,
            Self::Both => true,
        }
    }
}

/// Scores of several variants on the same questions, the first against each other one.
pub struct Compared {
    /// Names of the variants, as shown.
    pub names: Vec<String>,
    /// One a variant.
    pub scores: Vec<Scores>,
    /// Of each variant but the first.
    pub differences: Vec<Difference>,
}

impl Compared {
    /// Compares `records`, one a variant, on `questions` alone.
    #[must_use]
    pub fn new(names: Vec<String>, mut records: Vec<Record>, questions: &[Question]) -> Self {
        let wanted: HashSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
        for record in &mut records {
            record.questions.retain(|recorded| wanted.contains(recorded.question.id.as_str()));
            if let Some(dataset) = &mut record.header.dataset {
                dataset.questions = questions.len();
            }
        }
        let scores = records.iter().map(score).collect();
        let differences = records.iter().skip(1).map(|other| compare(&records[0], other)).collect();
        Self { names, scores, differences }
    }

    /// Indices of the rows of metrics that are shown: those of [`SHOWN`] with a value.
    fn shown(&self) -> Vec<usize> {
        let Some(first) = self.scores.first() else { return Vec::new() };
        let row = |name: &&str| first.rows.iter().position(|(metric, _)| metric.name == *name);
        let has_value = |row: &usize| self.scores.iter().any(|scores| scores.rows[*row].1.is_some());
        SHOWN.iter().filter_map(row).filter(has_value).collect()
    }

    /// For people: a row of values a metric, then differences from the first variant with their intervals.
    #[must_use]
    pub fn table(&self) -> String {
        let rows_shown = self.shown();
        let head = |name: &str, rest: &mut dyn Iterator<Item = String>| {
            [name.to_owned()].into_iter().chain(rest).collect::<Vec<String>>()
        };
        let mut rows = vec![head("", &mut self.names.iter().cloned())];
        for &row in &rows_shown {
            let metric = self.scores[0].rows[row].0;
            let value = |scores: &Scores| scores.rows[row].1.map_or("-".into(), |e| format!("{:.3}", e.mean));
            rows.push(head(metric.name, &mut self.scores.iter().map(value)));
        }
        let mut text = aligned(&rows);
        if self.differences.is_empty() {
            return text;
        }
        text.push_str(&format!(
            "\nDifference from {}, paired by question ({} in both); * the 95 % interval does not hold 0\n",
            self.names[0],
            self.differences.iter().map(|difference| difference.common).min().unwrap_or(0)
        ));
        match self.differences.iter().map(|difference| difference.other_content).max() {
            None | Some(0) => {}
            Some(n) => text.push_str(&format!("{n} with the same id and other content left out\n")),
        }
        for group in rows_shown.chunks(BESIDE) {
            let names = group.iter().map(|&row| self.scores[0].rows[row].0.name.to_owned());
            let mut rows = vec![head("", &mut names.into_iter())];
            for (name, difference) in self.names.iter().skip(1).zip(&self.differences) {
                let of = |&row: &usize| {
                    let (metric, estimate) = difference.rows[row];
                    let clear = estimate.is_some_and(|e| e.low > 0.0 || e.high < 0.0);
                    format!("{}{}", cell(metric, estimate, true), if clear { "*" } else { " " })
                };
                rows.push(head(name, &mut group.iter().map(of)));
            }
            text.push('\n');
            text.push_str(&aligned(&rows));
        }
        text
    }

    /// The same for programs, with every metric.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "variants": self.names, "scores": crate::eval::scores::json(&self.scores, &self.differences) })
    }
}
