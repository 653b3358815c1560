//! The context that methods work in: calls as sent and recorded, retrieval, entailment, failures.

mod calls;
mod failures;
mod raw;
mod tools;

use crate::methods::four;
use moot::Result;
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Llm};
use moot::prompts::File;
use moot::protocol::ctx::{Ctx, Observer, Settings, Tools};
use moot::protocol::formats::{ANSWER, CHOICE, SCORES, TEXT};
use moot::protocol::{Ask, Needs, Row};
use moot::question::{Document, Hit, Origin, Passage};
use moot::retrieval::{Retriever, RetrieverIdentity, Wanted};
use moot::transcript::{CallRecord, Event};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// The user's turn in these tests.
const SAY: File = File { name: "test/say.jinja", text: "{#- Test. -#}\nSay {{ what }}." };
const SYSTEM: File = File { name: "test/system.jinja", text: "{#- Test. -#}\nYou say {{ what }}." };
const RAW: File = File { name: "test/raw.jinja", text: "<|im_start|>[{{ what }}]<|im_end|>{{ what }}\n" };

/// The row of a method that does whatever a test does with the context.
static ROW: Row = Row {
    name: "tested",
    paper: "",
    about: "",
    protocol: "",
    calls: "",
    headline: "",
    prompts: &[SAY, SYSTEM, RAW],
    formats: &[&ANSWER, &TEXT, &CHOICE, &SCORES],
    roles: &["agent", "judge"],
    switches: &[],
    presets: &[],
    max_tokens: 128,
    needs: Needs { entailment: true, ..Needs::NOTHING },
    build: |_| unreachable!("built by hand"),
};

fn say(what: &str) -> Ask {
    Ask::new("agent", SAY, json!({ "what": what }), &TEXT)
}

/// A model that replies `said`, and the calls that it was sent.
fn model(said: &'static str) -> (Scripted, Arc<Mutex<Vec<Call>>>) {
    let sent: Arc<Mutex<Vec<Call>>> = Arc::default();
    let keeps = sent.clone();
    let script = move |call: &Call| {
        keeps.lock().unwrap().push(call.clone());
        said.to_owned()
    };
    (Scripted::new(script), sent)
}

/// Records every event in one line.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Observer for Log {
    fn stage(&self, stage: usize, count: usize) {
        self.add(format!("stage {stage} of {count}"));
    }
    fn call(&self, index: usize, call: &CallRecord) {
        self.add(format!("call {index}: {}", call.reply));
    }
    fn taken_up(&self, document: &Document) {
        self.add(format!("taken up {}", document.name));
    }
    fn event(&self, event: &Event) {
        let kind = serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned();
        self.add(format!("{kind} {}", event.stage()));
    }
}

/// The record of a question with four documents that `method` answers, and the result of `method`.
fn with<T>(
    tools: Tools<'_>,
    settings: &Settings,
    observer: &dyn Observer,
    method: impl FnOnce(&mut Ctx<'_>) -> Result<T>,
) -> (moot::transcript::QuestionRecord, Result<T>) {
    let question = four();
    let mut ctx = Ctx::new(ROW.name, ROW.files().collect(), &question, tools, settings, observer);
    let result = method(&mut ctx);
    (ctx.into_record(), result)
}

/// As [`with`], by a model alone.
fn by<T>(
    llm: &dyn Llm,
    method: impl FnOnce(&mut Ctx<'_>) -> Result<T>,
) -> (moot::transcript::QuestionRecord, Result<T>) {
    with(Tools::new(llm), &Settings::default(), &Log::default(), method)
}

/// Finds passages whose text holds a word of the query; keeps what it was asked.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(super) passages: Vec<Passage>,
    pub(crate) asked: Mutex<Vec<(String, Wanted)>>,
}

pub(crate) fn passage(file: &str, line: u64, title: Option<&str>, text: &str) -> Passage {
    let origin = Origin { file: file.into(), id: None, line: Some(line), page: None, characters: 0..9 };
    Passage {
        text: text.into(),
        title: title.map(str::to_owned),
        source: None,
        date: None,
        url: None,
        notes: Vec::new(),
        origin,
    }
}

impl Shelf {
    pub(crate) fn new(passages: impl IntoIterator<Item = Passage>) -> Self {
        Self { passages: passages.into_iter().collect(), asked: Mutex::default() }
    }
}

impl Retriever for Shelf {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        self.asked.lock().unwrap().push((query.to_owned(), wanted.clone()));
        let holds = |passage: &&Passage| query.split(' ').any(|word| passage.text.contains(word));
        let found = self.passages.iter().filter(holds).take(wanted.top);
        Ok(found.map(|passage| Hit { passage: passage.clone(), score: 1.0, copies: Vec::new() }).collect())
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity { index: "shelf".into(), embedder: None, reranker: None, mode: "lexical".into() }
    }
}
