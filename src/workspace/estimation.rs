//! Weights of sources estimated from records (RA-RAG, section 3.3), or from earlier estimates put together.

use crate::answers::align;
use crate::answers::grounds::is_choice;
use crate::error::{MootError, Result};
use crate::eval::record::Header;
use crate::eval::record::reader::Record;
use crate::eval::sources::merge::Gathered;
use crate::eval::sources::{answers_of, estimate, note_classes, note_gold};
use crate::files::outputs;
use crate::protocol::equality::{self, Equality};
use crate::sources::{EstimatorSettings, QuestionAnswers, SourceWeights};
use crate::transcript::QuestionRecord;
use crate::workspace::control::Control;
use crate::workspace::ranges::share;
use moot_models::source::sha256_file;
use std::path::{Path, PathBuf};

/// The largest [`EstimateOptions::shrink`].
const MOST_PSEUDO: f64 = 1e6;

/// Inputs and settings of an estimate of weights. A setting that is `None` is taken from the first file of weights that
/// has settings, else from the defaults of [`EstimatorSettings`].
#[derive(Debug, Clone, Default)]
pub struct EstimateOptions {
    /// Files of weights whose answers are used again. Without `records` the output must not be one of them.
    pub weights: Vec<PathBuf>,
    /// Records of a method that asks each source or document alone. Of one source's answers to a question the last one
    /// counts, and those of records come after those of files of weights.
    pub records: Vec<PathBuf>,
    /// The file of weights that is written.
    pub output: PathBuf,
    /// Least ROUGE-1 precision of a recorded answer against its source's documents, from 0 to 1. Answers below count as
    /// unknown; 0 drops none.
    pub align: Option<f64>,
    /// The N of `v = N w - 1`, at least 2; by default the number of sources.
    pub sources: Option<usize>,
    /// Iterations, at most.
    pub iterations: Option<usize>,
    /// Resamples of the bootstrap intervals; 0 for none.
    pub resamples: Option<usize>,
    /// Seed of the bootstrap.
    pub seed: Option<u64>,
    /// Gold answers of recorded questions decide which answers are right, where there are some.
    pub gold: bool,
    /// Answers at the mean agreement that are added to each source's, 0 or more (see [`EstimatorSettings::shrink`]).
    pub shrink: Option<f64>,
}

impl EstimateOptions {
    /// Estimates the weights and writes them. Notes say what was left out, replaced or dropped.
    ///
    /// # Errors
    /// A record or a file of weights that cannot be read; an output that is an input; records in which no source answers a
    /// question; a file that cannot be written.
    pub fn estimate(&self, control: &Control) -> Result<SourceWeights> {
        self.check_output()?;
        self.align.map_or(Ok(()), |align| share("--align-threshold", align))?;
        let mut gathered = Gathered::default();
        let before = self.read_weights(&mut gathered, control)?;
        let mut settings = self.settings(before)?;
        let mut left = LeftOut::default();
        if !self.records.is_empty() {
            let align = self.align.or(settings.align).unwrap_or(align::LEAST);
            if let (Some(file), Some(other)) = (self.weights.first(), settings.align.filter(|other| *other != align)) {
                control.note(&mixed(&file.display().to_string(), other, "those of the records", align));
            }
            self.records
                .iter()
                .try_for_each(|path| self.read_record(path, align, &mut gathered, &mut left, control))?;
            let same = self.weights.is_empty() || settings.align == Some(align);
            settings.align = same.then_some(align);
        }
        self.note(&gathered, &left, control)?;
        self.note_known(&gathered, control)?;
        let weights = SourceWeights { records: gathered.records, ..estimate(gathered.questions, &settings) };
        weights.write(&self.output)?;
        Ok(weights)
    }

    /// An update may replace the file of weights that it begins with; nothing else may be replaced by the output.
    fn check_output(&self) -> Result<()> {
        let records = self.records.iter().map(|path| ("RECORD", path.as_path()));
        let weights = self.weights.iter().filter(|_| self.records.is_empty()).map(|path| ("FILE", path.as_path()));
        outputs::distinct(&[("-o", &self.output)], &records.chain(weights).collect::<Vec<_>>())
    }

    fn settings(&self, before: Option<EstimatorSettings>) -> Result<EstimatorSettings> {
        let before = before.unwrap_or_default();
        if let Some(one) = self.sources.filter(|sources| *sources < 2) {
            let why = "expected at least 2 (votes are N w - 1, never positive for N = 1)";
            return Err(MootError::Usage(format!("--sources {one}: {why}")));
        }
        if let Some(wrong) = self.shrink.filter(|pseudo| !(0.0..=MOST_PSEUDO).contains(pseudo)) {
            return Err(MootError::Usage(format!("--shrink {wrong}: expected a number from 0 to {MOST_PSEUDO:e}")));
        }
        Ok(EstimatorSettings {
            shrink: self.shrink.or(before.shrink),
            sources: self.sources.or(before.sources),
            iterations: self.iterations.unwrap_or(before.iterations),
            resamples: self.resamples.unwrap_or(before.resamples),
            seed: self.seed.unwrap_or(before.seed),
            ..before
        })
    }

    /// Adds the answers of the files of weights; returns the first file's settings, without `align` where the files differ in it.
    fn read_weights(&self, gathered: &mut Gathered, control: &Control) -> Result<Option<EstimatorSettings>> {
        let mut before: Option<(&PathBuf, EstimatorSettings)> = None;
        let mut align = None;
        for path in &self.weights {
            let (weights, _) = SourceWeights::read(path)?;
            let own = weights.settings;
            let mut found = Gathered::default();
            found.add_all(weights, path)?;
            self.note_apart(gathered, &found, path, control);
            found.records.into_iter().for_each(|record| gathered.note(record));
            found.questions.into_iter().for_each(|question| gathered.add(question));
            let Some(own) = own else { continue };
            match (&before, own.align) {
                (None, _) => align = own.align,
                (Some((first, settings)), Some(other)) if settings.align.is_some_and(|known| known != other) => {
                    let known = settings.align.unwrap_or_default();
                    let (first, second) = (first.display().to_string(), format!("those of {}", path.display()));
                    control.note(&mixed(&first, known, &second, other));
                    align = None;
                }
                (Some(_), other) => align = align.filter(|known| other == Some(*known)),
            }
            before = before.or(Some((path, own)));
        }
        Ok(before.map(|(_, settings)| EstimatorSettings { align, ..settings }))
    }

    /// Adds the answers of a record, without those below `align`.
    fn read_record(
        &self,
        path: &Path,
        align: f64,
        gathered: &mut Gathered,
        left: &mut LeftOut,
        control: &Control,
    ) -> Result<()> {
        let record = Record::read(path)?;
        gathered.note((name(path), sha256_file(path)?));
        let equality = equality_of(&record.header);
        let mut found = Gathered::default();
        for question in &record.questions {
            let mut answers = answers_of(question, Some(align).filter(|align| *align > 0.0), equality.compared());
            if equality != Equality::Exact {
                note_classes(&mut answers, question);
            }
            if self.gold {
                note_gold(&mut answers, &question.question);
            }
            if answers.answers.is_empty() {
                left.add(question);
            }
            found.add(answers);
        }
        self.note_apart(gathered, &found, path, control);
        gathered.replaced += found.replaced;
        found.questions.into_iter().for_each(|question| gathered.add(question));
        Ok(())
    }

    /// Notes that `found`, read from `path`, has no source in common with what was gathered before.
    fn note_apart(&self, gathered: &Gathered, found: &Gathered, path: &Path, control: &Control) {
        let (known, own) = (gathered.sources(), found.sources());
        if known.is_empty() || own.is_empty() || !known.is_disjoint(&own) {
            return;
        }
        let first = self.weights.iter().chain(&self.records).next().map(|first| first.display().to_string());
        let (first, second, all) = (first.unwrap_or_default(), path.display(), known.len() + own.len());
        control.note(&format!(
            "{first} and {second} share no source: weights of two corpora are estimated jointly ({all} sources) and may not \
             be comparable"
        ));
    }

    /// Notes how many questions have known answers; refuses gold that no question has.
    fn note_known(&self, gathered: &Gathered, control: &Control) -> Result<()> {
        let known = |question: &&QuestionAnswers| question.answers.values().any(|answer| answer.right.is_some());
        let (known, all) = (gathered.questions.iter().filter(known).count(), gathered.questions.len());
        if self.gold && known == 0 {
            return Err(MootError::Usage(format!("--gold: none of {all} questions with an answer has gold answers")));
        }
        if known > 0 {
            control.note(&format!("gold answers decide {known} of {all} questions"));
        }
        Ok(())
    }

    /// Notes what does not count; refuses answers of which none counts.
    fn note(&self, gathered: &Gathered, left: &LeftOut, control: &Control) -> Result<()> {
        let answers = gathered.questions.iter().flat_map(|question: &QuestionAnswers| question.answers.values());
        let (mut asked, mut dropped, mut choices, mut counted) = (0, 0, 0, 0);
        for answer in answers {
            asked += 1;
            dropped += usize::from(answer.dropped);
            let choice = |text: &String| answer.dropped && is_choice(text, &[]);
            choices += usize::from(answer.answer.as_ref().is_some_and(choice));
            counted += usize::from(answer.counted().is_some());
        }
        if counted == 0 {
            let found = match (asked, dropped) {
                (0, _) if left.reasons().next().is_none() => "no question".to_owned(),
                (0, _) => left.reasons().collect::<Vec<_>>().join(", "),
                (_, 0) => format!("{asked} replies, all of them unknown or malformed: nothing can be estimated"),
                _ => format!(
                    "{asked} replies, {dropped} of them dropped (--align-threshold) and the others unknown: nothing can be estimated"
                ),
            };
            return Err(MootError::Input {
                path: self.records.iter().chain(&self.weights).next().cloned().unwrap_or_default(),
                line: None,
                expected: "records in which sources answer questions".into(),
                found,
            });
        }
        left.reasons().for_each(|reason| control.note(&format!("left out: {reason}")));
        if gathered.replaced > 0 {
            let count = gathered.replaced;
            control.note(&format!("{count} answers replaced by later ones of the same source to the same question"));
        }
        if dropped > 0 {
            let choices = if choices > 0 { format!("; {choices} of them are yes or no") } else { String::new() };
            control.note(&format!(
                "{dropped} of {asked} replies dropped: their words are not in the source's documents (--align-threshold){choices}"
            ));
        }
        Ok(())
    }
}

/// Questions that were left out, by the reason.
#[derive(Default)]
struct LeftOut {
    /// No call is for a single document.
    without_call: usize,
    /// No document that was asked names its source.
    without_source: usize,
}

impl LeftOut {
    fn add(&mut self, question: &QuestionRecord) {
        let asked = question.calls.iter().any(|call| call.document.is_some());
        *(if asked { &mut self.without_source } else { &mut self.without_call }) += 1;
    }

    /// The reasons, with their numbers of questions.
    fn reasons(&self) -> impl Iterator<Item = String> {
        let reasons = [
            (self.without_call, "without a call for a single document (naive RAG and other readers of all documents)"),
            (self.without_source, "without a document that names its source (its field `source`)"),
        ];
        let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
        reasons.map(|(count, why)| format!("{count} {} {why}", if count == 1 { "question" } else { "questions" }))
    }
}

/// How a run of `ra-rag` compared answers: its conclusions list their classes. Other methods count by words.
fn equality_of(header: &Header) -> Equality {
    let typed = header.switches.get(equality::SWITCH.name).and_then(|value| value.as_str());
    typed.filter(|_| header.method == "ra-rag").map(Equality::named).unwrap_or_default()
}

/// One line on answers that were filtered differently and are estimated from together.
fn mixed(first: &str, known: f64, second: &str, other: f64) -> String {
    format!(
        "answers of {first} were filtered with --align-threshold {known}, {second} with {other}: they are estimated from together"
    )
}

/// The file name without folders.
fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
