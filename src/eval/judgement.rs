//! How a question ended, and whether its answers are right: the one rule, which lists, reports and debates show.

use crate::eval::metrics::answers::{self, Rule};
use crate::eval::metrics::single;
use crate::question::{Answer, Concluded, Conclusion, Question};
use crate::transcript::QuestionRecord;
use serde::Serialize;

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every required answer and no wrong one, or none where none is right; see [`exact`].
    Right,
    /// Not right, and some answer given is right.
    Partly,
    /// Answers, none of them right.
    Wrong,
    /// No answer, though some are right.
    Unknown,
    /// The concluding reply did not keep its format.
    Malformed,
    /// No conclusion.
    Error,
    /// A conclusion on a question without gold answers.
    Answered,
}

impl Outcome {
    /// Of a question's record.
    #[must_use]
    pub fn of(record: &QuestionRecord) -> Self {
        let Some(conclusion) = record.conclusion.as_ref().filter(|_| record.error.is_none()) else {
            return Self::Error;
        };
        let partly = || {
            let required = record.question.gold.as_ref().is_some_and(|gold| gold.required() > 0);
            required && answers::f1(record, Rule::Contained).is_some_and(|f1| f1 > 0.0)
        };
        match () {
            () if conclusion.outcome() == Concluded::Malformed => Self::Malformed,
            // Before `Unknown`: where no answer is right, giving none is right.
            () if exact(record) == Some(1.0) => Self::Right,
            () if conclusion.outcome() == Concluded::Unknown => Self::Unknown,
            () if record.question.gold.is_none() => Self::Answered,
            () if partly() => Self::Partly,
            () => Self::Wrong,
        }
    }

    /// Of answers to `question`, as if they were concluded; `None` without gold answers. `one` answer is right as soon as it is
    /// among the right ones.
    #[must_use]
    pub fn of_answers(question: &Question, given: &[String], one: bool) -> Option<Self> {
        let gold = question.gold.clone()?;
        let conclusion =
            Conclusion { answers: given.iter().map(|text| Answer::new(text)).collect(), ..Conclusion::default() };
        let question = Question { gold: Some(gold), options: question.options.clone(), ..Question::default() };
        let record = QuestionRecord { question, conclusion: Some(conclusion), ..QuestionRecord::default() };
        Some(match Self::of(&record) {
            Self::Partly if one && of_one_choice(&record).is_none() => Self::Right,
            outcome => outcome,
        })
    }

    /// As lists and pages say it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Partly => "partly",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
            Self::Malformed => "malformed",
            Self::Error => "error",
            Self::Answered => "answered",
        }
    }
}

/// 1 where the conclusion is right by the metric of the question's kind: the chosen option, yes or no, else strict exact match.
/// `None` without gold answers.
#[must_use]
pub fn exact(record: &QuestionRecord) -> Option<f64> {
    of_one_choice(record).or_else(|| answers::exact_match(record, Rule::Contained))
}

/// The metric that says whether these questions are right, and its title: the chosen option where all that have gold
/// answers have options, yes or no where all of these are answered so, else strict exact match.
#[must_use]
pub fn metric<'a>(questions: impl IntoIterator<Item = &'a QuestionRecord>) -> (&'static str, &'static str) {
    let scored: Vec<&QuestionRecord> = questions.into_iter().filter(|record| record.question.gold.is_some()).collect();
    let all = |is: fn(&QuestionRecord) -> bool| !scored.is_empty() && scored.iter().all(|record| is(record));
    match () {
        () if all(|record| !record.question.options.is_empty()) => ("choice-accuracy", "options chosen rightly"),
        () if all(|record| single::yes_no(record).is_some()) => ("yes-no-em", "yes or no, right"),
        () => ("em", "exact match"),
    }
}

/// [`exact`] of questions that are answered by one of several given answers: options, or yes and no. `None` for others.
fn of_one_choice(record: &QuestionRecord) -> Option<f64> {
    single::choice(record).or_else(|| single::yes_no(record))
}

/// Whether `answer` alone is right as an answer to `question`, by the rule of [`exact`]: one of several required answers is.
/// `None` without gold answers.
#[must_use]
pub fn is_right(question: &Question, answer: &str) -> Option<bool> {
    Some(Outcome::of_answers(question, &[answer.to_owned()], true)? == Outcome::Right)
}

/// Concluded answers that are neither right nor known to be wrong: they do not change exact match. None for options, of
/// which one is chosen.
#[must_use]
pub fn others(record: &QuestionRecord) -> usize {
    if !record.question.options.is_empty() {
        return 0;
    }
    answers::tally(record).map_or(0, |[right, given, ..]| (given - right) as usize)
}
