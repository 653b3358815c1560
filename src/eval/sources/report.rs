//! Report on a file of weights beyond its table: notes, sources that move together, questions that cost a source most.

use super::Table;
use super::pairs::{self, Pair};
use crate::sources::{SourceEstimate, SourceWeights};

/// A question on which a source's answer is not the estimated one.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Its text.
    pub question: String,
    /// The source's answer.
    pub own: String,
    /// The estimated answer.
    pub estimated: String,
    /// Sum of the votes of the other sources for the estimated answer, less theirs for the source's own.
    pub margin: f64,
}

/// A file of weights and the table of the answers that it holds.
pub struct Report<'a> {
    weights: &'a SourceWeights,
    table: Table,
    estimates: Vec<SourceEstimate>,
}

impl<'a> Report<'a> {
    /// Of this file.
    #[must_use]
    pub fn new(weights: &'a SourceWeights) -> Self {
        let table = Table::of(&weights.answers);
        let estimate = |name: &String| weights.sources.get(name).copied().unwrap_or_default();
        Self { weights, estimates: table.sources.iter().map(estimate).collect(), table }
    }

    /// Pairs of sources by name, the least likely coincidence first; empty where the file holds no answers.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str, Pair)> {
        let agreement: Vec<Option<f64>> = self.estimates.iter().map(|estimate| estimate.agreement).collect();
        let mut pairs = pairs::pairs(&self.table.rows, &agreement);
        pairs.sort_by(|a, b| a.coincidence.total_cmp(&b.coincidence));
        let name = |index: usize| &*self.table.sources[index];
        pairs.into_iter().map(|pair| (name(pair.sources.0), name(pair.sources.1), pair)).collect()
    }

    /// Questions on which `source` is taken to be wrong, the largest margin first.
    #[must_use]
    pub fn costs(&self, source: &str) -> Vec<Cost> {
        let Some(index) = self.table.sources.iter().position(|name| name == source) else { return Vec::new() };
        let unknown = self.weights.unknown_vote();
        let votes: Vec<f64> = self.estimates.iter().map(|estimate| estimate.weight.unwrap_or(unknown)).collect();
        let mut costs = Vec::new();
        for (at, (row, question)) in self.table.rows.iter().zip(&self.weights.answers).enumerate() {
            let (Some(own), best) = (row[index], self.table.estimated(at, &votes)) else { continue };
            if best == Some(own) || self.table.right[at].as_ref().is_some_and(|right| right.contains(&own)) {
                continue;
            }
            let sum = |class: u16| -> f64 {
                let others = (0..row.len()).filter(|&other| other != index && row[other] == Some(class));
                others.map(|other| votes[other]).sum()
            };
            let text = |class: u16| {
                let giver = self.table.giver(at, class);
                giver.and_then(|giver| question.answers.get(giver)?.answer.clone()).unwrap_or_default()
            };
            let margin = best.map_or(0.0, sum) - sum(own);
            let estimated = best.map_or_else(|| "another answer".to_owned(), text);
            costs.push(Cost { question: question.text.clone(), own: text(own), estimated, margin });
        }
        costs.sort_by(|a, b| b.margin.total_cmp(&a.margin));
        costs
    }

    /// A line on a source of whose answers nothing checks half and more, and which the estimate takes for right there.
    fn alone(&self, name: &str, estimate: &SourceEstimate) -> Option<String> {
        let shrunk = self.weights.settings.and_then(|settings| settings.shrink).is_some_and(|pseudo| pseudo > 0.0);
        let lone = estimate.lone.filter(|lone| !shrunk && *lone > 0 && 2 * lone >= estimate.answers)?;
        let answers = estimate.answers;
        Some(format!(
            "{name:?} is alone on {lone} of the {answers} questions that it answered: it agrees with itself there, so its weight \
             is too high (--shrink leaves them out)"
        ))
    }

    /// Notes on the weights, one line each: sources without a reliable estimate, and sources that depend on each other.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (name, estimate) in &self.weights.sources {
            let asked = estimate.asked;
            match (estimate.answers, estimate.weight) {
                (0, None) => notes.push(format!(
                    "{name:?} never answered ({}): no estimate, it votes with the mean of the others, {:.2}",
                    counted(asked, "question asked", "questions asked"),
                    self.weights.unknown_vote()
                )),
                (1, Some(_)) => {
                    notes.push(format!("{name:?} answered once of {asked}: its weight rests on one question"));
                }
                (_, Some(weight)) if weight < 0.0 => {
                    notes.push(format!(
                        "{name:?} has a weight below 0: its vote counts against the answer that it gives"
                    ));
                }
                _ => {}
            }
            notes.extend(self.alone(name, estimate));
        }
        let answering = self.estimates.iter().filter(|estimate| estimate.answers > 0).count();
        for (a, b, pair) in self.pairs() {
            if pair.is_opposed(answering == 2) {
                let alone =
                    if answering == 2 { ", and no third source answers: no vote decides between them" } else { "" };
                let all =
                    if pair.both == 1 { "the one question".to_owned() } else { format!("all {} questions", pair.both) };
                notes.push(format!("{a:?} and {b:?} differ on {all} that both answered{alone}"));
            } else if pair.moves_together() {
                let (agreed, both, expected) = (pair.agreed, pair.both, pair.expected * pair.both as f64);
                notes.push(format!(
                    "{a:?} and {b:?} agree more often than their weights predict: on {agreed} of {both} questions, expected {expected:.1}"
                ));
            }
        }
        if !self.weights.converged && !self.weights.sources.is_empty() && self.weights.iterations > 0 {
            notes
                .push(format!("the weights did not converge in {} iterations (--iterations)", self.weights.iterations));
        }
        notes
    }
}

/// "1 question asked", "3 questions asked".
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
