//! How far each source can be trusted: weights that were estimated over many questions, kept as a file.

use crate::error::{MootError, Result};
use crate::files::outputs;
use crate::jsonl::{json_fault, parse};
use crate::unicode::{self, into_nfc};
use crate::units::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

/// Raised when a field changes its meaning.
pub const VERSION: u32 = 1;

/// Bytes that a file of weights may have.
const MAX_BYTES: u64 = 64 << 20;

/// The largest weight that a file may hold; `v = N w - 1` with the largest N that can be typed stays below it.
const MOST_WEIGHT: f64 = 1e9;

/// Rounding that a share or a weight may have.
const ROUNDING: f64 = 1e-9;

/// The vote of a source without an estimate where no source has one: the estimator's own first vote (RA-RAG, section 3.3, step 0).
pub(crate) const UNKNOWN_VOTE: f64 = 1.0;

/// How [`SourceWeights::estimator`] begins for reliabilities that were planted, not estimated.
pub(crate) const ORACLE: &str = "oracle";

/// Weights of sources, and what they were estimated from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceWeights {
    /// [`VERSION`]; also marks the file.
    pub moot_sources: u32,
    /// The estimator and its settings, for people; begins with [`ORACLE`] for planted reliabilities.
    pub estimator: String,
    /// File names and hex SHA-256 of the records that it read.
    pub records: Vec<(String, String)>,
    /// Questions on which at least one source answered.
    pub questions: usize,
    /// Iterations until the weights converged, or until the limit.
    pub iterations: usize,
    /// Whether they converged.
    pub converged: bool,
    /// By the sources' names.
    pub sources: BTreeMap<String, SourceEstimate>,
    /// Settings of the estimator, with which the estimate can be repeated; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<EstimatorSettings>,
    /// The sources' answers, so that estimates can be merged and updated; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswers>,
}

/// The statistics of one source.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceEstimate {
    /// The source's vote; `None` where it never answered, so that nothing is known of it.
    pub weight: Option<f64>,
    /// Share of its answers that agree with the estimated ones.
    pub agreement: Option<f64>,
    /// Questions that it answered.
    pub answers: usize,
    /// Questions that it was asked.
    pub asked: usize,
    /// Answers that its documents do not hold, which count as unknown (`f_align`, section 3.2).
    #[serde(default, skip_serializing_if = "crate::units::is_zero")]
    pub dropped: usize,
    /// The 95 % bootstrap interval of the weight, over questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Of its answers, those that nothing checks: no other source answered the question, and its right answer is not known. The
    /// estimate takes them for right. Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lone: Option<usize>,
}

/// Settings of the estimator, as a file of weights keeps them. Files of earlier versions also name the estimator, which is
/// ignored: the one that was dropped differs only where it found copies, and marked them by a field that no source has now.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EstimatorSettings {
    /// The N of `v = N w - 1`; `None` takes the number of sources.
    pub sources: Option<usize>,
    /// Iterations at most (T).
    pub iterations: usize,
    /// Weights that change by no more than this have converged.
    pub tolerance: f64,
    /// Resamples of the bootstrap; 0 for no intervals.
    pub resamples: usize,
    /// Seeds the bootstrap.
    pub seed: u64,
    /// The ROUGE-1 precision of `f_align` below which an answer was dropped, 0 where none was; absent in files of earlier
    /// versions, and where answers that were filtered differently were put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<f64>,
    /// Answers at the sources' mean agreement that are added to each source's, whose answers that nothing checks then do not
    /// count. Absent, and 0, for the paper's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrink: Option<f64>,
}

impl Default for EstimatorSettings {
    fn default() -> Self {
        Self { sources: None, iterations: 100, tolerance: 1e-9, resamples: 1000, seed: 0, align: None, shrink: None }
    }
}

/// The sources' answers to one question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswers {
    /// The question's id in its record.
    pub id: String,
    /// The question.
    pub text: String,
    /// By source.
    pub answers: BTreeMap<String, SourceAnswer>,
    /// The answer that the weights estimate, or that is known to be right (section 3.3, step 3); absent where no source gave one,
    /// and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<String>,
}

/// The answer of one source.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceAnswer {
    /// As given; absent for "I don't know" and for a malformed reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The source's documents do not hold the answer, so it counts as "I don't know" (`f_align`, section 3.2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
    /// The answer whose class this one is in, where the run that was estimated from found them equal by meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_to: Option<String>,
    /// Whether the question's gold answers have it, where the estimate used them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<bool>,
}

impl SourceAnswer {
    /// The answer that counts; `None` is "I don't know".
    #[must_use]
    pub fn counted(&self) -> Option<&str> {
        self.answer.as_deref().filter(|_| !self.dropped)
    }

    /// The answer by which it is compared with others: the one of its class, where a run found classes by meaning.
    #[must_use]
    pub fn compared(&self) -> Option<&str> {
        self.counted().map(|answer| self.equal_to.as_deref().unwrap_or(answer))
    }
}

/// A file of weights as a record's header names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightsIdentity {
    /// File name without folders.
    pub name: String,
    /// Hex SHA-256 of the file.
    pub sha256: String,
}

impl SourceEstimate {
    /// A number that no estimate can have: the expected and the found value.
    fn fault(&self, name: &str) -> Option<(String, String)> {
        let shares = -ROUNDING..=1.0 + ROUNDING;
        let weights = -1.0 - ROUNDING..=MOST_WEIGHT;
        let (low, high) = self.interval.unwrap_or_default();
        let fault = |expected: &str, found: String| Some((format!("{expected} for {name:?}"), found));
        if let Some(number) = self.agreement.filter(|number| !shares.contains(number)) {
            fault("an agreement from 0 to 1", format!("{number:?}"))
        } else if let Some(number) = self.weight.filter(|number| !weights.contains(number)) {
            fault(&format!("a weight from -1 to {MOST_WEIGHT:e}"), format!("{number:?}"))
        } else if self.answers > self.asked {
            fault("at most as many answers as questions asked", format!("{} of {}", self.answers, self.asked))
        } else if self.dropped > self.asked {
            fault("at most as many dropped answers as questions asked", format!("{} of {}", self.dropped, self.asked))
        } else if let Some(lone) = self.lone.filter(|lone| *lone > self.answers) {
            fault("at most as many answers that nothing checks as answers", format!("{lone} of {}", self.answers))
        } else if low > high || !weights.contains(&low) || !weights.contains(&high) {
            fault("an interval of weights from low to high", format!("[{low:?}, {high:?}]"))
        } else {
            None
        }
    }
}

impl SourceWeights {
    /// The text of their file.
    ///
    /// # Errors
    /// Weights that cannot be written as JSON (bug).
    pub(crate) fn text(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| MootError::Usage(format!("the weights cannot be written as JSON: {e} (bug)")))?;
        Ok(text + "\n")
    }

    /// Writes their file; an earlier file at `path` stays until the new one is complete.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        outputs::write(path, self.text()?.as_bytes())
    }

    /// Reads a file that `moot sources` wrote.
    ///
    /// # Errors
    /// [`MootError::Io`] where it cannot be read; [`MootError::Input`] for a file of another kind, of a newer version, or with a
    /// number that no estimate has.
    pub fn read(path: &Path) -> Result<(Self, WeightsIdentity)> {
        let file = crate::files::open(path)?;
        let mut bytes = Vec::new();
        // A longer file is cut here, and refused as JSON that ends too early.
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|e| MootError::io(path, "read", e))?;
        let wrong = |found: String| MootError::Input {
            path: path.into(),
            line: None,
            expected: format!("weights of sources, version {VERSION} (moot sources estimate writes them)"),
            found,
        };
        let weights: Self = parse(&bytes).map_err(|e| wrong(json_fault(&e)))?;
        let weights = weights.composed();
        if weights.moot_sources != VERSION {
            return Err(wrong(format!("version {}", weights.moot_sources)));
        }
        if let Some((expected, found)) = weights.sources.iter().find_map(|(name, estimate)| estimate.fault(name)) {
            return Err(MootError::Input { path: path.into(), line: None, expected, found });
        }
        let sha256 = hex(&Sha256::digest(&bytes));
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok((weights, WeightsIdentity { name, sha256 }))
    }

    /// The vote of a source: its weight, which may be zero or negative; [`Self::unknown_vote`] for a source without an estimate.
    #[must_use]
    pub fn vote(&self, source: Option<&str>) -> f64 {
        self.estimate(source).and_then(|estimate| estimate.weight).unwrap_or_else(|| self.unknown_vote())
    }

    /// The vote of a source of which nothing is known: the mean of the known weights. Weights grow with the number of sources, so a
    /// vote of 1 would make it nearly the least trusted of ten. [`UNKNOWN_VOTE`] where no weight is known.
    #[must_use]
    pub(crate) fn unknown_vote(&self) -> f64 {
        let known: Vec<f64> = self.sources.values().filter_map(|estimate| estimate.weight).collect();
        if known.is_empty() { UNKNOWN_VOTE } else { known.iter().sum::<f64>() / known.len() as f64 }
    }

    /// One line where sources of `asked` have no estimate here, and so vote with [`Self::unknown_vote`]; `None` where all have one.
    #[must_use]
    pub fn unknown(&self, name: &str, asked: &BTreeSet<&str>) -> Option<String> {
        let known = |source: &str| self.estimate(Some(source)).is_some_and(|estimate| estimate.weight.is_some());
        let unknown: Vec<&str> = asked.iter().copied().filter(|source| !known(source)).collect();
        if unknown.is_empty() && !asked.is_empty() {
            return None;
        }
        let own = listed(self.sources.keys().map(String::as_str));
        let vote = format!("the mean of its weights, {:.2}", self.unknown_vote());
        if asked.is_empty() {
            return Some(format!(
                "no document names its source: every vote counts {vote} ({name} has weights of {own})"
            ));
        }
        let (count, all) = (unknown.len(), asked.len());
        let which = listed(unknown.iter().copied());
        Some(if count == all {
            format!("{name} belongs to another corpus: it has weights of {own}, found {which}; every vote is {vote}")
        } else {
            format!("{name} has no weight for {count} of {all} sources ({which}): they vote with {vote}")
        })
    }

    /// With the names of sources in Normalization Form C, as documents have them. Of equivalent names the last counts.
    fn composed(mut self) -> Self {
        self.sources = self.sources.into_iter().map(|(name, estimate)| (into_nfc(name), estimate)).collect();
        for question in &mut self.answers {
            let answers = std::mem::take(&mut question.answers);
            question.answers = answers.into_iter().map(|(name, answer)| (into_nfc(name), answer)).collect();
        }
        self
    }

    fn estimate(&self, source: Option<&str>) -> Option<&SourceEstimate> {
        self.sources.get(&*unicode::nfc(source?))
    }
}

/// "a, b, c and 4 more".
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const NAMED: usize = 4;
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    match names.len() {
        0 => "no source".to_owned(),
        n if n <= NAMED + 1 => names.join(", "),
        n => format!("{} and {} more", names[..NAMED].join(", "), n - NAMED),
    }
}
