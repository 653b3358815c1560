//! Every row of the table of methods as cases to run: switches, documents, a scripted model, and what each record must be.

use super::formula::clauses;
use super::scripted::{Takes, read_by};
use super::typed;
use crate::protocol::ctx::{Shelf, passage};
use crate::retrieval::Letters;
use moot::MootError;
use moot::llm::Llm;
use moot::methods::METHODS;
use moot::nli::ScriptedClassifier;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::{Kind, Typed};
use moot::protocol::{Row, entailment};
use moot::question::{Answer, Document, Question};
use moot::sources::SourceWeights;
use moot::transcript::{CallRecord, Event, Parsed, QuestionRecord, Relation};
use serde_json::Value;
use std::collections::BTreeSet;

/// One way to run a method: its row, what was typed, which options the model takes, and where the documents are.
pub(super) struct Case {
    pub(super) row: &'static Row,
    pub(super) typed: Typed,
    pub(super) takes: Takes,
    /// A corpus has the documents, not the question.
    pub(super) searches: bool,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { row, typed, takes, searches } = self;
        write!(f, "{} {typed:?}, the model takes {takes:?}, searching: {searches}", row.name)
    }
}

/// Every combination of a method's flags and choices.
pub(super) fn modes(row: &'static Row) -> Vec<Typed> {
    let mut all = vec![Typed::new()];
    for switch in row.switches {
        let values: &[&str] = match switch.kind {
            Kind::Flag => &["true", "false"],
            Kind::Choice(choices) => choices,
            Kind::Count(..) | Kind::Number(..) | Kind::Object => continue,
        };
        let others: Vec<&&str> = values.iter().filter(|value| **value != switch.default).collect();
        let before = all.clone();
        for (value, mut typed) in others.iter().flat_map(|value| before.iter().map(move |typed| (value, typed.clone())))
        {
            typed.insert(switch.name.to_owned(), (**value).to_owned());
            all.push(typed);
        }
    }
    all.retain(|typed| row.build(typed).is_ok());
    all
}

/// Each count and number at its least, and a little above, the other switches at their defaults.
pub(super) fn extremes(row: &Row) -> Vec<Typed> {
    let values = |kind| match kind {
        Kind::Count(least, most) => vec![least.to_string(), most.min(least + 2).to_string()],
        Kind::Number(least, most) => vec![least.to_string(), most.to_string()],
        Kind::Flag | Kind::Choice(_) | Kind::Object => Vec::new(),
    };
    let of = |switch: &moot::protocol::switches::Switch| -> Vec<Typed> {
        values(switch.kind).iter().map(|value| typed(&[(switch.name, value)])).collect()
    };
    row.switches.iter().flat_map(of).collect()
}

/// The cases of a row with these switches.
pub(super) fn cases(row: &'static Row, switches: Vec<Typed>) -> Vec<Case> {
    let mut all = Vec::new();
    for typed in switches {
        for takes in [Takes::First, Takes::Last] {
            for searches in [false, true] {
                if searches && !row.needs.searches() || !searches && row.needs.retriever {
                    continue;
                }
                all.push(Case { row, typed: typed.clone(), takes, searches });
            }
        }
    }
    all
}

/// Every row whose replies the scripted model can write, and that answers. Methods that label claims quote their documents, and
/// judges judge responses, and the documents of a benchmark need a right answer; their cases are elsewhere.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    let answers = METHODS.iter().copied().filter(|row| !["truthful-judge", "source-pools"].contains(&row.name));
    answers.filter(|row| row.formats.iter().all(|format| !format.name.starts_with("claim")))
}

/// Cases of every row in each of its modes.
pub(super) fn all_cases() -> impl Iterator<Item = Case> {
    rows().flat_map(|row| cases(row, modes(row)))
}

const KEEPERS: [&str; 6] = ["Averin", "Brandt", "Corlis", "Dunmore", "Estrik", "Fallow"];
const TOWNS: [&str; 5] = ["Aldmouth", "Brackwater", "Cask Hill", "Dornes", "Elmstead"];

/// The text of the document of this number: no two are copies, and each gives another year.
pub(super) fn text(number: usize) -> String {
    let (keeper, town) = (KEEPERS[number % 6], TOWNS[number % 5]);
    format!("{keeper} of {town} kept a note: the lamp was lit in {} by {keeper}.", 1901 + number)
}

pub(super) fn texts(count: usize) -> Vec<String> {
    (0..count).map(text).collect()
}

pub(super) fn question(texts: &[String]) -> Question {
    let document = |(number, text): (usize, &String)| Document {
        name: format!("note-{number}.md"),
        text: text.clone(),
        ..Document::default()
    };
    let documents = texts.iter().enumerate().map(document).collect();
    Question { id: "q1".into(), text: "When was the lamp lit?".into(), documents, ..Question::default() }
}

pub(super) fn shelf(texts: &[String]) -> Shelf {
    let passages = texts.iter().enumerate();
    Shelf::new(passages.map(|(number, text)| passage(&format!("note-{number}.md"), 1, None, text)))
}

impl Case {
    /// The record of a question about these texts, and the error of its run.
    pub(super) fn run(&self, texts: &[String], options: &[&str], llm: &dyn Llm) -> (QuestionRecord, Option<MootError>) {
        let shelf = shelf(texts);
        let mut asked = question(if self.searches { &[] } else { texts });
        asked.options = options.iter().map(|&option| option.to_owned()).collect();
        self.with(&asked, Tools { retriever: self.searches.then_some(&shelf), ..Tools::new(llm) })
    }

    pub(super) fn with(&self, asked: &Question, tools: Tools<'_>) -> (QuestionRecord, Option<MootError>) {
        let neutral = ScriptedClassifier::new(|_| Some(Relation { entailment: 0.0, neutral: 1.0, contradiction: 0.0 }));
        let classifier = tools.classifier.or(Some(&neutral));
        let planted = SourceWeights { estimator: "oracle: planted".into(), ..SourceWeights::default() };
        let oracle = self.typed.get("variant").is_some_and(|variant| variant == "oracle");
        let weights = tools.weights.or(oracle.then_some(&planted));
        let dbscan = self.typed.get("equality").is_some_and(|equality| equality == "dbscan");
        let embedder = tools.embedder.or(if dbscan { Some(&Letters) } else { None });
        let built = self.row.build(&self.typed).unwrap();
        built.record(asked, Tools { classifier, weights, embedder, ..tools }, &Settings::default(), &Silent)
    }

    /// As [`Case::run`], where an answer is expected.
    pub(super) fn answered(&self, texts: &[String], llm: &dyn Llm) -> QuestionRecord {
        let (record, error) = self.run(texts, &[], llm);
        assert!(error.is_none() && record.conclusion.is_some(), "{self}: {error:?}");
        self.check(&record);
        record
    }

    /// The values of the row's formula for the documents of `record`.
    pub(super) fn formula(&self, record: &QuestionRecord) -> Vec<usize> {
        let values = self.row.build(&self.typed).unwrap().values.json();
        let documents = record.question.documents.len() + record.retrieved.len();
        clauses(self.row.calls, &|name| match name {
            "documents" | "sources" => Some(documents),
            // No sentence of these tests has more unsure parts.
            "parts" => Some(3),
            _ => values.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok()),
        })
    }

    /// Checks that hold for every record, whether the question was answered or not.
    pub(super) fn check(&self, record: &QuestionRecord) {
        let documents = record.question.documents.len() + record.retrieved.len();
        let row = self.row;
        for (index, call) in record.calls.iter().enumerate() {
            assert_eq!(call.number, index, "{self}");
            assert!(row.all_roles().any(|role| role == call.role), "{self}: the role {} is not listed", call.role);
            assert!(row.files().any(|file| file.name == call.prompt), "{self}: {} is not listed", call.prompt);
            assert!(formats(row).contains(call.format.as_str()), "{self}: the format {} is not listed", call.format);
            assert!(call.document.is_none_or(|number| number < documents), "{self}: {:?}", call.document);
            assert!(!read_by(&call.sent()).trim().is_empty() && call.round > 0, "{self}");
            assert!(index == 0 || record.calls[index - 1].stage <= call.stage, "{self}: stages go back");
        }
        let most = self.formula(record).into_iter().max().unwrap_or_else(|| panic!("{self}: no formula"));
        assert!(record.calls.len() <= most, "{self}: {} calls, {} say {most}", record.calls.len(), row.calls);
        let Some(conclusion) = &record.conclusion else { return };
        assert!(!conclusion.calls.is_empty(), "{self}: no call concluded");
        assert!(conclusion.calls.iter().all(|&number| number < record.calls.len()), "{self}: {:?}", conclusion.calls);
        assert!(!conclusion.malformed || conclusion.answers.is_empty(), "{self}: answers of a malformed reply");
        let documents_of = |answer: &Answer| [&answer.supporters[..], &answer.opponents, &answer.mentions].concat();
        for answer in conclusion.answers.iter().chain(&conclusion.rejected) {
            assert!(!answer.text.trim().is_empty(), "{self}: an empty answer");
            assert!(documents_of(answer).into_iter().all(|number| number < documents), "{self}: {answer:?}");
        }
        // A reply that cannot be read concludes nothing, unless the method says what it did instead.
        if record.concluding().iter().all(|call| call.parsed == Parsed::Malformed) {
            assert!(
                conclusion.malformed || fallbacks(record) > 0,
                "{self}: a malformed conclusion passes for a good one"
            );
        }
    }
}

fn formats(row: &Row) -> BTreeSet<&'static str> {
    let entailment = row.needs.entails().then_some(entailment::FORMAT);
    row.formats.iter().copied().chain(entailment).map(|format| format.name).collect()
}

pub(super) fn fallbacks(record: &QuestionRecord) -> usize {
    record.events.iter().filter(|event| matches!(event, Event::Fallback { .. })).count()
}

pub(super) fn failures(record: &QuestionRecord) -> usize {
    record.events.iter().filter(|event| matches!(event, Event::Failure { .. })).count()
}

/// A call as its error names it.
pub(super) fn named(record: &QuestionRecord, call: &CallRecord) -> String {
    let document = call.document.map(|number| format!(" of {}", record.document(number).unwrap().name));
    format!("{}{}, round {}", call.role, document.unwrap_or_default(), call.round)
}
