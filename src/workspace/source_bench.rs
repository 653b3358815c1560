//! A benchmark of sources with planted reliabilities, made of datasets, a record, or invented questions (RA-RAG, section 4).

use crate::error::{MootError, Result};
use crate::eval::datasets;
use crate::eval::record::is_record;
use crate::eval::record::reader::Record;
use crate::eval::sources::bench::folder::save;
use crate::eval::sources::bench::pools::{Pools, pools};
use crate::eval::sources::bench::recorded::{Recorded, recorded};
use crate::eval::sources::bench::{Built, Lies, Plan, Pool, build, reliabilities, synthetic};
use crate::eval::sources::reliability::Prior;
use crate::question::Question;
use crate::workspace::control::Control;
use crate::workspace::ranges::share;
use std::path::{Path, PathBuf};

/// The method that makes documents for benchmarks.
const SOURCE_POOLS: &str = "source-pools";

/// Inputs and sources of a benchmark, as given.
#[derive(Debug, Clone)]
pub struct SourceBenchOptions {
    /// Labelled datasets, or one record of the method `source-pools`; none: questions are invented.
    pub files: Vec<PathBuf>,
    /// Sources.
    pub sources: usize,
    /// Mean of the reliabilities, above 0 and below 1: they are drawn from Beta(2 w / (1 - w), 2).
    pub mean: f64,
    /// Number of spammers (reliability 0.1) among hammers (0.9), instead of the mean.
    pub spammers: Option<usize>,
    /// The reliability of each source, from 0 to 1, instead of drawn ones.
    pub reliability: Vec<f64>,
    /// Additional sources that repeat one spammer's documents.
    pub copies: usize,
    /// The probability that a source has relevant documents: one number, or one for each source.
    pub coverage: Vec<f64>,
    /// How liars choose.
    pub lies: Lies,
    /// Wrong answers of a question at most.
    pub wrong: usize,
    /// Documents of a source on a question at most.
    pub per_source: usize,
    /// Questions to estimate from; `None`: 200 invented ones, or 40 % of the usable ones.
    pub estimate: Option<usize>,
    /// Questions to test; `None`: 1400 invented ones, or the other usable ones.
    pub test: Option<usize>,
    /// Seeds everything that is drawn.
    pub seed: u64,
}

impl SourceBenchOptions {
    /// Builds the benchmark and writes it to a folder that has none.
    ///
    /// # Errors
    /// An option out of range; files without usable questions; a folder with a benchmark.
    pub fn build(&self, folder: &Path, control: &Control) -> Result<Built> {
        let (pools, questions) = self.pools(control)?;
        let built = build(&pools, &self.plan(questions)?);
        save(&built, folder)?;
        Ok(built)
    }

    /// The pools of documents, and the numbers of questions to estimate from and to test. Notes what is left out.
    pub(crate) fn pools(&self, control: &Control) -> Result<(Vec<Pool>, (usize, usize))> {
        if self.wrong < 2 && self.lies == Lies::Own {
            let why = "all liars would tell the same lie: expected at least 2, or --shared-lie";
            return Err(MootError::Usage(format!("--wrong {}: {why}", self.wrong)));
        }
        let (pools, questions) = if self.files.is_empty() {
            let questions = (self.estimate.unwrap_or(200), self.test.unwrap_or(1400));
            let mut pools = synthetic::pools(questions.0 + questions.1, self.seed);
            pools.iter_mut().for_each(|pool| pool.wrong.truncate(self.wrong));
            (pools, questions)
        } else {
            let pools = self.of_files(control)?;
            let usable = pools.len();
            let estimate = self.estimate.unwrap_or((usable * 2).div_ceil(5)).min(usable);
            (pools, (estimate, self.test.unwrap_or(usable).min(usable - estimate)))
        };
        let wanted = self.estimate.unwrap_or(0) + self.test.unwrap_or(0);
        if wanted > questions.0 + questions.1 {
            let (usable, (estimate, test)) = (pools.len(), questions);
            control
                .note(&format!("{wanted} questions wanted, {usable} usable: {estimate} to estimate, {test} to test"));
        }
        Ok((pools, questions))
    }

    /// The plan of the benchmark, with these numbers of questions to estimate from and to test.
    pub(crate) fn plan(&self, questions: (usize, usize)) -> Result<Plan> {
        let reliability = self.planted()?;
        let (found, sources) = (self.coverage.len(), reliability.len());
        if found != 1 && found != sources {
            let expected = format!("expected one number, or {sources}, one for each source");
            return Err(MootError::Usage(format!("--coverage: {expected}; found {found}")));
        }
        self.coverage.iter().try_for_each(|&coverage| share("--coverage", coverage))?;
        Ok(Plan {
            reliability,
            copies: self.copies,
            coverage: self.coverage.clone(),
            lies: self.lies,
            per_source: self.per_source,
            questions,
            seed: self.seed,
        })
    }

    fn planted(&self) -> Result<Vec<f64>> {
        if !self.reliability.is_empty() {
            self.reliability.iter().try_for_each(|&p| share("--reliability", p))?;
            return Ok(self.reliability.clone());
        }
        let mean = self.mean;
        if !(mean > 0.0 && mean < 1.0) {
            return Err(MootError::Usage(format!("--mean {mean}: expected a number between 0 and 1")));
        }
        let prior = self.spammers.map_or(Prior::Beta(mean), Prior::SpammerHammer);
        if let Some(spammers) = self.spammers.filter(|spammers| *spammers > self.sources) {
            return Err(MootError::Usage(format!(
                "--spammers {spammers}: expected at most --sources {}",
                self.sources
            )));
        }
        Ok(reliabilities(prior, self.sources, self.seed))
    }

    fn of_files(&self, control: &Control) -> Result<Vec<Pool>> {
        if let [path] = self.files.as_slice()
            && is_record(path)?
        {
            return self.of_record(path, control);
        }
        let files: Vec<Vec<Question>> =
            self.files.iter().map(|path| Ok(datasets::load(path)?.questions)).collect::<Result<_>>()?;
        let all = files.first().map_or(0, Vec::len);
        let Pools { pools, without_answer, one_lie, unmatched } = pools(files, self.lies, self.wrong, self.seed);
        control.note(&format!("{} of {all} questions of {} are usable", pools.len(), self.files[0].display()));
        for (count, why) in [
            (without_answer, "left out: no document holds the right answer, or no wrong answer can be made"),
            (one_lie, "left out: a single wrong answer would be shared by all liars (--shared-lie takes them)"),
            (unmatched, "left out: only in later files"),
        ] {
            if count > 0 {
                control.note(&format!("{count} questions {why}"));
            }
        }
        if pools.is_empty() {
            return Err(MootError::Input {
                path: self.files[0].clone(),
                line: None,
                expected: "questions with gold answers and documents labelled correct, supporting or misinfo".into(),
                found: "none that is usable".into(),
            });
        }
        Ok(pools)
    }

    /// The pools of a record of the method `source-pools`.
    fn of_record(&self, path: &Path, control: &Control) -> Result<Vec<Pool>> {
        let record = Record::read(path)?;
        if record.header.method != SOURCE_POOLS {
            return Err(MootError::Input {
                path: path.to_owned(),
                line: Some(1),
                expected: format!("a record of {SOURCE_POOLS}, or a labelled dataset"),
                found: format!("a record of {}", record.header.method),
            });
        }
        let Recorded { pools, nothing, unusable, left_out } = recorded(&record, self.wrong);
        let (usable, all) = (pools.len(), record.questions.len());
        control.note(&format!("{usable} of {all} questions of {} are usable", path.display()));
        for (count, why) in [
            (
                nothing,
                "questions left out: not closed-ended, without a document that holds the right answer, or failed",
            ),
            (unusable, "questions left out: without a factual document, or with fewer than two wrong answers"),
            (left_out, "texts left out: without their answer, or with the right one"),
        ] {
            if count > 0 {
                control.note(&format!("{count} {why}"));
            }
        }
        Ok(pools)
    }
}
