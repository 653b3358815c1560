//! Signals: what code computes of two claims; and the features of the logistic model, signals and the judge's numbers.

use super::claims::Claim;
use super::judged::Judged;
use super::quantities::Relation;
use super::words::{Words, overlap};
use std::collections::BTreeSet;

/// Similarity of two claims by their vectors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Likeness {
    /// Cosine of the sentences.
    pub(super) cosine: f64,
    /// Mean of the cosines without titles, counted twice, and with them.
    pub(super) near: f64,
}

/// Quantities that code computes for two claims.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Signals {
    /// Similarity by their vectors.
    pub(super) likeness: Likeness,
    /// Weighted share of their content words that both have.
    pub(super) overlap: f64,
    /// The same share of the content words of the claim with fewer.
    pub(super) contained: f64,
    pub(super) quantities: Relation,
    pub(super) dates: Relation,
    /// Each has names that the other lacks.
    pub(super) names_differ: bool,
    /// One negates what the other does not.
    pub(super) negated: bool,
    /// One negates a word that the other affirms, or one permits and the other forbids.
    pub(super) denied: bool,
    /// One has the opposite of a word of the other.
    pub(super) opposed: bool,
    /// The sentence of one calls something an error, or the next one calls it an error.
    pub(super) corrected: bool,
    /// One has reported speech: "she said that".
    pub(super) reported: bool,
    /// One is about a plan, a proposal or an estimate.
    pub(super) planned: bool,
    /// One says that something changed or was planned to change.
    pub(super) changed: bool,
    /// Their headings or titles name different years.
    pub(super) years_differ: bool,
    /// They are about different parts of one thing: weekdays and Sundays, the free plan and the team plan.
    pub(super) scopes_differ: bool,
    /// One is about the past and the other is not.
    pub(super) tenses_differ: bool,
    /// A sentence of the folder has the values of both and says that one replaced or corrects the other.
    pub(super) explained: bool,
    /// Overlap of subject words: the share of one claim's `head` that the other claim has. The smaller of both directions,
    pub(super) head_least: f64,
    /// and the larger.
    pub(super) head_most: f64,
    /// Weighted share of the words of the shorter subject that both subjects have.
    pub(super) subject: f64,
    /// Each subject has a name that the other document's subject, headings and sentence lack.
    pub(super) subjects_differ: bool,
}

impl Signals {
    /// Of two claims whose vectors say this; `weight` is a word's.
    pub(super) fn of(a: &Claim, b: &Claim, likeness: Likeness, weight: &dyn Fn(&str) -> f64) -> Self {
        let (share, contained) = overlap(&a.words.content, &b.words.content, weight);
        let foreign = |own: &Words, other: &Claim| own.names.iter().any(|name| !other.knows(name));
        // Behind the `x`, the first word of a subject can be a name.
        let subjects = (Words::of(&format!("x {}", a.subject)), Words::of(&format!("x {}", b.subject)));
        let (_, subject) = overlap(&subjects.0.content, &subjects.1.content, weight);
        let wrong = |claim: &Claim| claim.words.corrects() || Words::of(&claim.after).corrects_what_is_before();
        let apart = |a: &BTreeSet<u32>, b: &BTreeSet<u32>| !a.is_empty() && !b.is_empty() && a.is_disjoint(b);
        let heads = [head(a, b, weight), head(b, a, weight)];
        Self {
            likeness,
            overlap: share,
            contained,
            quantities: a.numbers.quantities_with(&b.numbers),
            dates: a.numbers.dates_with(&b.numbers),
            names_differ: foreign(&a.words, b) && foreign(&b.words, a),
            negated: a.words.negate(&b.words),
            denied: a.words.deny(&b.words),
            opposed: a.words.oppose(&b.words),
            corrected: wrong(a) || wrong(b),
            reported: a.words.reports() || b.words.reports(),
            planned: a.words.plans() || b.words.plans(),
            changed: a.words.changes() || b.words.changes(),
            years_differ: apart(&a.years, &b.years),
            scopes_differ: a.words.other_scope(&b.words),
            tenses_differ: a.words.is_past() != b.words.is_past(),
            // Set by `explained::mark`, which reads all claims, for the pairs that are kept.
            explained: false,
            head_least: heads[0].min(heads[1]),
            head_most: heads[0].max(heads[1]),
            subject,
            subjects_differ: foreign(&subjects.0, b) && foreign(&subjects.1, a),
        }
    }

    /// Whether a value, a name or the polarity differs.
    pub(super) fn differs(&self) -> bool {
        self.quantities == Relation::Differ
            || self.dates == Relation::Differ
            || self.names_differ
            || self.negated
            || self.denied
            || self.opposed
    }

    /// The features of the logistic model, by name.
    pub(super) fn named(&self, judged: &Judged) -> Vec<(&'static str, f64)> {
        let flag = |flag: bool| f64::from(u8::from(flag));
        let number = flag(self.quantities == Relation::Differ);
        let date = flag(self.dates == Relation::Differ);
        vec![
            ("cosine", self.likeness.cosine),
            ("overlap", self.overlap),
            ("number_differs", number),
            ("date_differs", date),
            ("both_differ", date * flag(matches!(self.quantities, Relation::Differ | Relation::Apart))),
            ("names_differ", flag(self.names_differ)),
            ("denied", flag(self.denied || self.opposed)),
            ("no_difference", flag(!self.differs())),
            ("corrected", flag(self.corrected)),
            ("reported", flag(self.reported)),
            ("planned", flag(self.planned)),
            ("explained", flag(self.explained)),
            ("years_differ", flag(self.years_differ)),
            ("scopes_differ", flag(self.scopes_differ)),
            ("then", number * flag(self.tenses_differ)),
            ("head_least", self.head_least),
            ("head_most", self.head_most),
            ("subjects_differ", flag(self.subjects_differ)),
            ("answers_differ", judged.differ),
            ("answers_both", flag(judged.differ > 1.0)),
            ("answers_agree", judged.agree),
            ("conflict", judged.conflict),
            ("conflict_of_words", judged.conflict_of_words),
        ]
    }

    /// Score that orders pairs before they are labelled.
    pub(super) fn promise(&self) -> f64 {
        let flag = |flag: bool, weight: f64| if flag { weight } else { 0.0 };
        2.0 * self.likeness.near
            + self.overlap
            + self.contained
            + flag(self.differs(), 0.8)
            + flag(self.quantities == Relation::Differ || self.dates == Relation::Differ || self.denied, 0.4)
            + 0.3 * self.subject
            - flag(self.subjects_differ, 0.5)
            - flag(self.years_differ || self.scopes_differ, 0.3)
    }
}

/// Weighted share of the words in `own.head` that `other` has; 0.5 without such words.
fn head(own: &Claim, other: &Claim, weight: &dyn Fn(&str) -> f64) -> f64 {
    let sum = |words: &mut dyn Iterator<Item = &String>| words.map(|word| weight(word)).sum::<f64>();
    let all = sum(&mut own.head.iter());
    if all > 0.0 { sum(&mut own.head.intersection(&other.known)) / all } else { 0.5 }
}
