//! Metrics of any run that need a model: ConflictScore, and the judges of free answers. The answers of a record are labelled
//! once, in a second record in the same folder.

use super::answers::{first_to_be_judged, to_be_judged, to_be_labelled};
use crate::error::{MootError, Result};
use crate::escape::line as printable;
use crate::eval::record::reader::Record;
use crate::methods::{conflict_score, truthful_judge};
use crate::protocol::labelling::settings;
use crate::question::{Conclusion, Judged, Question};
use crate::transcript::QuestionRecord;
use crate::workspace::control::Control;
use crate::workspace::method::MethodPlan;
use crate::workspace::models::WeightStorage;
use crate::workspace::opened::Workspace;
use crate::workspace::options::{CorpusOptions, DocumentOptions, MethodOptions, PlanOptions};
use crate::workspace::plan::Plan;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A metric that a method computes.
#[derive(Clone, Copy)]
pub(crate) struct Metric {
    method: &'static str,
    /// What the method is run with, of the switches that were given.
    options: fn(MethodOptions) -> MethodOptions,
    /// Ending of the second record: "conflict" for `NAME.conflict.jsonl`.
    suffix: &'static str,
    /// The role whose model is named in the line that is printed.
    role: &'static str,
    /// The reason why questions are left out.
    lacking: &'static str,
    /// The questions about a recorded question's answers.
    asked: &'static [Asked],
}

/// A question about one answer of a recorded question.
#[derive(Clone, Copy)]
struct Asked {
    /// Follows the question's id, where the answer is not the concluded one.
    mark: &'static str,
    /// The question to ask; `None` for none.
    question: fn(&QuestionRecord) -> Option<Question>,
    /// Puts the result into the answer's record.
    put: fn(&mut Conclusion, Conclusion),
}

impl Metric {
    fn is_judge(&self) -> bool {
        self.suffix == JUDGE.suffix
    }

    /// The path of the second record.
    fn beside(&self, record: &Record) -> PathBuf {
        record.path.with_extension(self.suffix)
    }

    /// The questions about the record's answers.
    fn questions(&self, record: &Record) -> Vec<Question> {
        let asked = |record| self.asked.iter().filter_map(move |asked| asked.about(record));
        record.questions.iter().flat_map(asked).collect()
    }
}

impl Asked {
    fn id(&self, id: &str) -> String {
        format!("{id}{}", self.mark)
    }

    fn about(&self, record: &QuestionRecord) -> Option<Question> {
        let question = (self.question)(record)?;
        Some(Question { id: self.id(&question.id), ..question })
    }
}

/// The claims of an answer labelled against its documents. Answers whose method labelled their claims keep those.
pub(crate) const CONFLICT: Metric = Metric {
    method: conflict_score::ROW.name,
    options: MethodOptions::for_claims,
    suffix: "conflict.jsonl",
    role: settings::ROLE,
    lacking: "no answer (malformed, unknown or failed), or no documents",
    asked: &[Asked { mark: "", question: to_be_labelled, put: |conclusion, found| conclusion.claims = found.claims }],
};

/// Verdicts on answers, and on free ones that were replaced, by the dataset's right and wrong answers.
pub(crate) const JUDGE: Metric = Metric {
    method: truthful_judge::ROW.name,
    options: |options| MethodOptions { name: Some(truthful_judge::ROW.name.to_owned()), ..options },
    suffix: "judge.jsonl",
    role: truthful_judge::ROLE,
    lacking: "they failed, or have no right answers to compare with",
    asked: &[
        Asked { mark: "", question: to_be_judged, put: |conclusion, found| conclusion.judged = found.judged },
        Asked {
            mark: " (first answer)",
            question: first_to_be_judged,
            put: |conclusion, found| conclusion.judged_first = found.judged,
        },
    ],
};

/// `records` with the results of `metric` for their answers, by the models, the classifier and the switches of `options`. No model
/// is loaded if all labels exist already.
///
/// # Errors
/// Existing labels of other answers or by other switches; a model that cannot be opened; a call that fails.
pub(crate) fn labelled(
    records: Vec<Record>,
    metric: Metric,
    options: &PlanOptions,
    control: &Control,
) -> Result<Vec<Record>> {
    // Labels are kept beside the record, and later runs would take noise for a model's.
    if let WeightStorage::Random(_) = options.runtime.weights {
        return Err(MootError::Usage("--weights random: expected weights of a model, for labels that are kept".into()));
    }
    let switches = options.method.switches.clone();
    let method = (metric.options)(MethodOptions { switches, ..MethodOptions::default() });
    let (corpus, documents) = (CorpusOptions::default(), DocumentOptions::default());
    let options = PlanOptions { method, corpus, documents, run: None, question: None, ..options.clone() };
    let plan = Plan::of(options, control)?;
    let mut work: Vec<(Record, PathBuf, Vec<Question>)> = Vec::new();
    let mut open = false;
    for record in records {
        let (beside, questions) = (metric.beside(&record), metric.questions(&record));
        note_left_out(metric, &record, control);
        open |= !is_complete(&beside, &questions, plan.method())?;
        work.push((record, beside, questions));
    }
    if open {
        let workspace = Workspace::open(plan, control)?;
        for (_, beside, questions) in work.iter().filter(|(_, _, questions)| !questions.is_empty()) {
            workspace.record_all(beside, questions)?;
        }
        workspace.note_counts();
    }
    let found =
        work.into_iter().map(|(record, beside, questions)| with_found(metric, record, &beside, &questions, control));
    found.collect()
}

/// `record` with the results of `metric` that its second record has, where that has all of them. No model is opened.
///
/// # Errors
/// Labels of other answers or by other switches.
pub(crate) fn kept(record: Record, metric: Metric, control: &Control) -> Result<Record> {
    let method = (metric.options)(MethodOptions::default()).resolve(metric.method, &control.notice())?;
    let (beside, questions) = (metric.beside(&record), metric.questions(&record));
    match is_complete(&beside, &questions, &method)? {
        true => with_found(metric, record, &beside, &questions, control),
        false => Ok(record),
    }
}

/// Whether `beside`, the second record, has the labels of all `questions`.
fn is_complete(beside: &Path, questions: &[Question], method: &MethodPlan) -> Result<bool> {
    if questions.is_empty() {
        return Ok(true);
    }
    if !beside.exists() {
        return Ok(false);
    }
    let known = Record::read(beside)?;
    let wrong = |expected: &str, found: String| MootError::Input {
        path: beside.to_owned(),
        line: None,
        expected: format!("{expected}, or no such file: then the answers are labelled again"),
        found,
    };
    let switches = method.method.values.json();
    if known.header.switches != switches {
        return Err(wrong(&format!("labels by the switches {switches}"), known.header.switches.to_string()));
    }
    let recorded: HashMap<&str, &QuestionRecord> =
        known.questions.iter().map(|question| (question.question.id.as_str(), question)).collect();
    let mut complete = true;
    for question in questions {
        match recorded.get(question.id.as_str()) {
            None => complete = false,
            Some(known) if known.question != *question => {
                return Err(wrong("labels of the record's answers", format!("another answer to {:?}", question.id)));
            }
            Some(_) => {}
        }
    }
    Ok(complete)
}

/// `record` with the results in `beside`, the second record.
fn with_found(
    metric: Metric,
    mut record: Record,
    beside: &Path,
    questions: &[Question],
    control: &Control,
) -> Result<Record> {
    // Where nothing is asked, as of malformed answers alone, there is no second record.
    let mut found = if questions.is_empty() { HashMap::new() } else { read_found(metric, beside, control)? };
    let ids: HashSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
    for question in &mut record.questions {
        if metric.is_judge() && is_malformed_with_gold(question) {
            let neither = Judged { truthful: Some(false), informative: Some(false) };
            question.conclusion.iter_mut().for_each(|conclusion| conclusion.judged = Some(neither));
        }
        for asked in metric.asked {
            let id = asked.id(&question.question.id);
            if !ids.contains(id.as_str()) {
                continue;
            }
            if let (Some(conclusion), Some(found)) = (&mut question.conclusion, found.remove(&id)) {
                (asked.put)(conclusion, found);
            }
        }
    }
    Ok(record)
}

/// The conclusions of the second record, by the ids of its questions.
fn read_found(metric: Metric, beside: &Path, control: &Control) -> Result<HashMap<String, Conclusion>> {
    let labels = Record::read(beside)?;
    let model = printable(&labels.header.model_of(metric.role).name);
    control.note(&format!("{} by {model} in {}", metric.method, printable(&beside.display().to_string())));
    let found = labels.questions.into_iter().filter_map(|question| Some((question.question.id, question.conclusion?)));
    Ok(found.collect())
}

/// Whether the answer is malformed, to a question whose answers can be judged. No judge reads it: it is neither truthful
/// nor informative, so that a reader that always fails is not truthful.
fn is_malformed_with_gold(record: &QuestionRecord) -> bool {
    let malformed = record.conclusion.as_ref().is_some_and(|conclusion| conclusion.malformed);
    malformed && record.question.gold.as_ref().is_some_and(|gold| !gold.answers.is_empty())
}

/// Notes how many questions of a record have no answer that the metric can be computed of: they are in none of its means.
fn note_left_out(metric: Metric, record: &Record, control: &Control) {
    let known = |question: &QuestionRecord| {
        let labelled = |conclusion: &Conclusion| conclusion.claims.is_some() && metric.suffix == CONFLICT.suffix;
        question.conclusion.as_ref().is_some_and(labelled) || metric.is_judge() && is_malformed_with_gold(question)
    };
    let asked = |question: &QuestionRecord| metric.asked.iter().any(|asked| asked.about(question).is_some());
    let without = record.questions.iter().filter(|question| !known(question) && !asked(question)).count();
    if without > 0 {
        let path = printable(&record.path.display().to_string());
        control.note(&format!("{path}: {without} questions are left out of {}: {}", metric.method, metric.lacking));
    }
}
