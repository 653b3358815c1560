//! The iteration of RA-RAG's first stage (section 3.3 and algorithm 1).

use crate::answers::vote::ties;
use crate::sources::{EstimatorSettings, UNKNOWN_VOTE};

/// The answer of each source to one question, as the number of a class of equal answers; `None` is "I don't know".
pub type Row = Vec<Option<u16>>;

/// Weights as the iteration left them.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// `w`, the share of a source's answers that agree with the estimated ones; `None` for a source that never answered.
    pub agreement: Vec<Option<f64>>,
    /// `v = N w - 1`; [`UNKNOWN_VOTE`] for a source that never answered.
    pub votes: Vec<f64>,
    /// Iterations made.
    pub iterations: usize,
    /// Whether the votes converged.
    pub converged: bool,
}

/// Answers to estimate from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// One a question, with an entry for each source.
    pub rows: &'a [Row],
    /// The right classes of questions whose answers are known; `None`, and no entry, where they are not.
    pub right: &'a [Option<Vec<u16>>],
    /// How often each question counts; once, where it is `None`.
    pub times: Option<&'a [u32]>,
}

impl Evidence<'_> {
    fn times(&self, question: usize) -> f64 {
        self.times.map_or(1.0, |times| f64::from(times[question]))
    }

    fn right(&self, question: usize) -> Option<&[u16]> {
        self.right.get(question)?.as_deref()
    }

    /// The source whose answer nothing checks: no other source answers the question, and its right answer is not known.
    pub(super) fn lone(&self, question: usize) -> Option<usize> {
        let mut answering = (0..).zip(&self.rows[question]).filter(|(_, said)| said.is_some());
        let (source, _) = answering.next()?;
        (self.right(question).is_none() && answering.next().is_none()).then_some(source)
    }

    /// Answers of each source; with `checked`, without those that nothing checks.
    fn answers(&self, sources: usize, checked: bool) -> Vec<f64> {
        let mut answers = vec![0.0; sources];
        for (question, row) in self.rows.iter().enumerate().filter(|(at, _)| !checked || self.lone(*at).is_none()) {
            for (answers, said) in answers.iter_mut().zip(row) {
                *answers += if said.is_some() { self.times(question) } else { 0.0 };
            }
        }
        answers
    }

    /// Of [`Self::answers`], those that agree with the right answer, or with the one that these votes estimate.
    fn agreed(&self, votes: &[f64], checked: bool) -> Vec<f64> {
        let mut agreed = vec![0.0; votes.len()];
        let mut sums = Vec::new();
        for (question, row) in self.rows.iter().enumerate() {
            let counted = self.times(question);
            if counted == 0.0 || checked && self.lone(question).is_some() || !add_up(row, votes, &mut sums) {
                continue;
            }
            let most = sums.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            let best = |class: u16| sums[usize::from(class)].is_some_and(|sum| ties(sum, most));
            let tied = sums.iter().flatten().filter(|sum| ties(**sum, most)).count() as f64;
            let share = |class: u16| match self.right(question) {
                Some(right) => f64::from(u8::from(right.contains(&class))),
                None if best(class) => 1.0 / tied,
                None => 0.0,
            };
            for (agreed, said) in agreed.iter_mut().zip(row) {
                *agreed += counted * said.map_or(0.0, share);
            }
        }
        agreed
    }
}

/// Beginning with votes of 1, each question's answer is the one with the largest sum of votes (equation 3), `w` is the share
/// of a source's answers that agree (equation 4), its vote is `N w - 1`; again, until no vote changes by more than the
/// tolerance, or for `T` iterations.
///
/// A vote of zero or below is used as the formula has it: it is added like any other, so a negative one counts against the
/// answer that it is given to. A question without an answer counts for no source. The paper states no rule for ties: of `t`
/// answers with the same sum each is right to the share `1 / t`, so that neither the order of sources nor their names matter.
///
/// Not in the paper: where the right answers of a question are known, they take the place of the estimated one; and with
/// [`EstimatorSettings::shrink`] C above 0, `w = (a + C m) / (n + C)`: a of n answers agree, counted without those that nothing
/// checks, and m is the share of all sources' checked answers that agree (1 where none is checked).
#[must_use]
pub fn fit(evidence: &Evidence<'_>, sources: usize, n: f64, settings: &EstimatorSettings) -> Fit {
    let pseudo = settings.shrink.unwrap_or(0.0);
    let checked = pseudo > 0.0;
    let (all, counted) = (evidence.answers(sources, false), evidence.answers(sources, checked));
    let mut fit =
        Fit { agreement: vec![None; sources], votes: vec![UNKNOWN_VOTE; sources], iterations: 0, converged: false };
    while fit.iterations < settings.iterations && !fit.converged {
        fit.iterations += 1;
        let agreed = evidence.agreed(&fit.votes, checked);
        let sums: (f64, f64) = (agreed.iter().sum(), counted.iter().sum());
        let mean = if sums.1 > 0.0 { sums.0 / sums.1 } else { 1.0 };
        fit.converged = true;
        for source in (0..sources).filter(|&source| all[source] > 0.0) {
            let w = (agreed[source] + pseudo * mean) / (counted[source] + pseudo);
            let v = n * w - 1.0;
            fit.converged &= (fit.votes[source] - v).abs() <= settings.tolerance;
            (fit.agreement[source], fit.votes[source]) = (Some(w), v);
        }
    }
    fit
}

/// The sum of votes of each class, by its number; `None` for a class that no source gave. False where none was given.
fn add_up(row: &[Option<u16>], votes: &[f64], sums: &mut Vec<Option<f64>>) -> bool {
    sums.clear();
    for (source, said) in row.iter().enumerate() {
        let Some(class) = said.map(usize::from) else { continue };
        if sums.len() <= class {
            sums.resize(class + 1, None);
        }
        *sums[class].get_or_insert(0.0) += votes[source];
    }
    !sums.is_empty()
}

/// The class with the largest sum of votes (equation 1). Ties go to the answer of the source with the larger vote, then of
/// the earlier source. `None` where no source answered.
#[must_use]
pub fn winner(row: &[Option<u16>], votes: &[f64]) -> Option<u16> {
    let mut sums = Vec::new();
    if !add_up(row, votes, &mut sums) {
        return None;
    }
    let most = sums.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut best: Option<(u16, f64)> = None;
    for (said, vote) in row.iter().zip(votes) {
        let Some(class) = said.filter(|class| sums[usize::from(*class)].is_some_and(|sum| ties(sum, most))) else {
            continue;
        };
        if best.is_none_or(|(_, heaviest)| *vote > heaviest) {
            best = Some((class, *vote));
        }
    }
    best.map(|(class, _)| class)
}
