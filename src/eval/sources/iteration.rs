//! The iteration of RA-RAG's first stage (section 3.3 and algorithm 1).

use crate::answers::vote::ties;
use crate::sources::{EstimatorSettings, UNKNOWN_VOTE};

/// What each source answered to one question, as the number of a class of equal answers; `None` is "I don't know".
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

/// Beginning with votes of 1, each question's answer is the one with the largest sum of votes (equation 3), `w` is the share
/// of a source's answers that agree (equation 4), its vote is `N w - 1`; again, until no vote changes by more than the
/// tolerance, or for `T` iterations.
///
/// A vote of zero or below is used as the formula has it: it is added like any other, so a negative one counts against the
/// answer that it is given to. A question without an answer counts for no source. The paper states no rule for ties: of `t`
/// answers with the same sum each is right to the share `1 / t`, so that neither the order of sources nor their names matter.
///
/// A row has an entry for each of `sources` sources. `times` says how often each question counts (once, where it is `None`).
#[must_use]
pub fn fit(rows: &[Row], sources: usize, n: f64, settings: &EstimatorSettings, times: Option<&[u32]>) -> Fit {
    let times = |question: usize| times.map_or(1.0, |times| f64::from(times[question]));
    let mut answers = vec![0.0; sources];
    for (question, row) in rows.iter().enumerate() {
        for (answers, said) in answers.iter_mut().zip(row) {
            *answers += if said.is_some() { times(question) } else { 0.0 };
        }
    }
    let mut fit =
        Fit { agreement: vec![None; sources], votes: vec![UNKNOWN_VOTE; sources], iterations: 0, converged: false };
    let mut sums = Vec::new();
    while fit.iterations < settings.iterations && !fit.converged {
        fit.iterations += 1;
        let mut agreed = vec![0.0; sources];
        for (question, row) in rows.iter().enumerate() {
            let counted = times(question);
            if counted == 0.0 || !add_up(row, &fit.votes, &mut sums) {
                continue;
            }
            let most = sums.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            let best = |class: u16| sums[usize::from(class)].is_some_and(|sum| ties(sum, most));
            let tied = sums.iter().flatten().filter(|sum| ties(**sum, most)).count() as f64;
            for (agreed, said) in agreed.iter_mut().zip(row) {
                *agreed += if said.is_some_and(best) { counted / tied } else { 0.0 };
            }
        }
        fit.converged = true;
        for source in (0..sources).filter(|&source| answers[source] > 0.0) {
            let w = agreed[source] / answers[source];
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
