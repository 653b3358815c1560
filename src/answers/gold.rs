//! The one rule by which an answer gives a gold answer or a wrong one. Whether a question is answered right depends on its kind
//! too (`eval::judgement`).
//!
//! Words are compared at [`Level::Scored`]. Any alias of a gold answer gives it, and wrong answers are matched in the same way.

use crate::answers::words::{Level, Words};
use crate::question::Gold;

/// When an answer gives a known one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// The known answer's words occur in it, in order and next to each other: "founded in 1856" gives 1856. The reverse does not
    /// count: "1856" does not give "12 May 1856".
    Contained,
    /// The two have the same words.
    Equal,
}

/// The gold answers of a question and those that are wrong, as words.
#[derive(Debug)]
pub struct Known {
    /// The aliases of each right answer.
    right: Vec<Vec<Words>>,
    wrong: Vec<Words>,
}

impl Known {
    /// Of these gold answers.
    #[must_use]
    pub fn of(gold: &Gold) -> Self {
        let words = |texts: &[String]| texts.iter().map(|text| Level::Scored.words(text)).collect::<Vec<_>>();
        Self { right: gold.answers.iter().map(|aliases| words(aliases)).collect(), wrong: words(&gold.wrong) }
    }

    /// How many of the right answers one of `given` gives.
    #[must_use]
    pub fn right_given(&self, given: &[Words], by: Match) -> usize {
        self.right.iter().filter(|aliases| aliases.iter().any(|alias| gives_any(given, alias, by))).count()
    }

    /// How many of the wrong answers one of `given` gives.
    #[must_use]
    pub fn wrong_given(&self, given: &[Words], by: Match) -> usize {
        self.wrong.iter().filter(|wrong| gives_any(given, wrong, by)).count()
    }

    /// Whether an answer gives a right answer and no wrong one.
    #[must_use]
    pub fn is_right(&self, answer: &Words, by: Match) -> bool {
        let given = std::slice::from_ref(answer);
        self.right_given(given, by) > 0 && self.wrong_given(given, by) == 0
    }
}

fn gives_any(given: &[Words], known: &Words, by: Match) -> bool {
    given.iter().any(|answer| match by {
        Match::Contained => known.within(answer),
        Match::Equal => !answer.is_empty() && answer == known,
    })
}
