//! Records, runs, datasets and scores.

mod answers;
mod check;
mod compare;
mod computed_slices;
mod datasets;
mod dry;
mod fork;
mod journal;
mod judgement;
mod kill;
mod label_fit;
mod merge;
mod metrics;
mod old_records;
mod predictions;
mod record;
mod recorded_method;
mod replay;
mod reproduce;
mod reuse;
mod runner;
mod scores;
mod several;
mod slices;
mod slices_ramdocs;
mod sources;
mod sources_built;
mod sources_checked;
mod sources_simulated;
mod sources_tables;
mod stats;
mod variants;
mod verify;

use moot::eval::record::{DatasetIdentity, Header, VERSION};
use moot::generation::{Message, Role, Usage};
use moot::llm::ModelIdentity;
use moot::protocol::ctx::Settings;
use moot::question::{Answer, Conclusion, Document, Gold, Question};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::json;

pub(crate) fn header() -> Header {
    Header {
        moot_record: VERSION,
        program: "moot 0.1.0".into(),
        dataset: Some(DatasetIdentity {
            name: "some.jsonl".into(),
            sha256: "ab".repeat(32),
            questions: 3,
            titled: false,
        }),
        method: "echo".into(),
        label: None,
        preset: None,
        switches: json!({"rounds": 3}),
        settings: Settings::default(),
        model: ModelIdentity { name: "scripted".into(), architecture: "scripted".into(), ..Default::default() },
        roles: [].into(),
        prompts: [("echo/reader.jinja".to_owned(), "cd".repeat(32))].into(),
        own_prompts: [].into(),
        weights: None,
        retriever: None,
        wanted: None,
        classifier: None,
        embedder: None,
        replayed: None,
        forked: None,
        corrected: None,
        reused: vec![],
    }
}

pub(crate) fn question(id: &str, gold: &[&str], wrong: &[&str]) -> Question {
    Question {
        id: id.into(),
        text: format!("What of {id}? \"Ünï\"\n"),
        documents: vec![Document { name: "document 1".into(), text: "Some text.".into(), ..Default::default() }],
        gold: Some(Gold::all_of(owned(gold), owned(wrong))),
        ..Question::default()
    }
}

pub(crate) fn questions(count: usize) -> Vec<Question> {
    (0..count).map(|i| question(&format!("q{i}"), &["yes"], &["no"])).collect()
}

pub(crate) fn concluded(answers: &[&str]) -> Conclusion {
    let answer = |text: &&str| Answer { supporters: vec![0], ..Answer::new(text) };
    Conclusion { answers: answers.iter().map(answer).collect(), rounds: 1, ..Default::default() }
}

pub(crate) fn call(stage: usize, reply: &str, parsed: Parsed) -> CallRecord {
    CallRecord {
        role: "aggregator".into(),
        round: stage + 1,
        stage,
        prompt: "echo/reader.jinja".into(),
        messages: vec![Message { role: Role::User, content: "What?".into() }],
        max_tokens: 16,
        seed: 1,
        reply: reply.into(),
        parsed,
        usage: Usage { prompt: 10, reused: 4, computed: 6, generated: 2 },
        seconds: 0.5,
        ..CallRecord::default()
    }
}

/// A record whose question has this gold, and whose method concluded with these answers.
pub(crate) fn answered(id: &str, gold: &[&str], wrong: &[&str], answers: &[&str]) -> QuestionRecord {
    let parsed = Parsed::Answers { answers: owned(answers), explanation: String::new() };
    QuestionRecord {
        question: question(id, gold, wrong),
        conclusion: Some(concluded(answers)),
        calls: vec![call(0, &answers.join(" and "), parsed)],
        seconds: 1.25,
        ..QuestionRecord::default()
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
