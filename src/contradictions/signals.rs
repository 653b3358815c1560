//! What code sees of two claims, and what the judge says of them: the quantities that decide.

use super::claims::Claim;
use super::judged::Judged;
use super::quantities::Relation;
use super::words::{Words, overlap};
use std::collections::BTreeSet;

/// What code sees of two claims.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Signals {
    /// Cosine of their vectors.
    pub(super) cosine: f64,
    /// The share of content words that both have, of all.
    pub(super) overlap: f64,
    /// The same, of the shorter one's.
    pub(super) contained: f64,
    pub(super) quantities: Relation,
    /// A number of one is one of the other, whatever it counts.
    pub(super) shared_value: bool,
    pub(super) dates: Relation,
    /// Each has names that the other lacks.
    pub(super) names_differ: bool,
    /// One negates what the other does not.
    pub(super) negated: bool,
    /// One has the opposite of a word of the other.
    pub(super) opposed: bool,
    /// The sentence of one, or one beside it, calls something an error.
    pub(super) corrected: bool,
    /// One says that something changed or was to.
    pub(super) changed: bool,
    /// Their headings or titles name different years.
    pub(super) years_differ: bool,
    /// They speak of different parts: one of weekdays and one of Sundays, one of the free plan and one of the team plan.
    pub(super) scopes_differ: bool,
    /// Their subjects have words in common, of the shorter one's.
    pub(super) subject: f64,
    /// Each subject has a name that the other document's subject, headings and sentence lack.
    pub(super) subjects_differ: bool,
}

impl Signals {
    /// Of two claims whose vectors have this cosine; `weight` is a word's.
    pub(super) fn of(a: &Claim, b: &Claim, cosine: f64, weight: &dyn Fn(&str) -> f64) -> Self {
        let (share, contained) = overlap(&a.words.content, &b.words.content, weight);
        let foreign = |own: &Words, other: &Claim| own.names.iter().any(|name| !other.knows(name));
        let subjects = (Words::of(&format!("x {}", a.subject)), Words::of(&format!("x {}", b.subject)));
        let (_, subject) = overlap(&subjects.0.content, &subjects.1.content, weight);
        let beside = |claim: &Claim| {
            let near = [&claim.before, &claim.after];
            claim.words.corrects() || near.iter().any(|text| Words::of(text).corrects())
        };
        let apart = |a: &BTreeSet<u32>, b: &BTreeSet<u32>| !a.is_empty() && !b.is_empty() && a.is_disjoint(b);
        Self {
            cosine,
            overlap: share,
            contained,
            quantities: a.numbers.quantities_with(&b.numbers),
            shared_value: a.numbers.share_a_value(&b.numbers),
            dates: a.numbers.dates_with(&b.numbers),
            names_differ: foreign(&a.words, b) && foreign(&b.words, a),
            negated: a.words.negate(&b.words),
            opposed: a.words.oppose(&b.words),
            corrected: beside(a) || beside(b),
            changed: a.words.changes() || b.words.changes(),
            years_differ: apart(&a.years, &b.years),
            scopes_differ: a.words.other_scope(&b.words),
            subject,
            subjects_differ: foreign(&subjects.0, b) && foreign(&subjects.1, a),
        }
    }

    /// Whether code sees a difference that could be a contradiction.
    pub(super) fn differs(&self) -> bool {
        self.quantities == Relation::Differ
            || self.dates == Relation::Differ
            || self.names_differ
            || self.negated
            || self.opposed
    }

    /// By name, with what the judge says.
    pub(super) fn named(&self, judged: &Judged) -> Vec<(&'static str, f64)> {
        let is = |relation: Relation, wanted: Relation| f64::from(u8::from(relation == wanted));
        let flag = |flag: bool| f64::from(u8::from(flag));
        let number = is(self.quantities, Relation::Differ);
        let date = is(self.dates, Relation::Differ);
        vec![
            ("cosine", self.cosine),
            ("overlap", self.overlap),
            ("contained", self.contained),
            ("number_differs", number),
            ("number_apart", is(self.quantities, Relation::Apart)),
            ("shared_value", flag(self.shared_value)),
            ("date_differs", date),
            ("date_agrees", is(self.dates, Relation::Agree)),
            ("both_differ", number * date),
            ("names_differ", flag(self.names_differ)),
            ("polarity", flag(self.negated || self.opposed)),
            ("no_difference", flag(!self.differs())),
            ("corrected", flag(self.corrected)),
            ("changed", flag(self.changed)),
            ("years_differ", flag(self.years_differ)),
            ("scopes_differ", flag(self.scopes_differ)),
            ("subject", self.subject),
            ("subjects_differ", flag(self.subjects_differ)),
            ("answers_differ", judged.differ),
            ("answers_agree", judged.agree),
            ("answers_unknown", judged.unknown),
            ("truth", judged.truth),
        ]
    }

    /// How promising a pair is before it is labelled.
    pub(super) fn promise(&self) -> f64 {
        let flag = |flag: bool, weight: f64| if flag { weight } else { 0.0 };
        2.0 * self.cosine
            + self.overlap
            + self.contained
            + flag(self.differs(), 0.8)
            + flag(self.quantities == Relation::Differ || self.dates == Relation::Differ, 0.4)
            + 0.3 * self.subject
            - flag(self.subjects_differ, 0.5)
            - flag(self.years_differ || self.scopes_differ, 0.3)
    }
}
