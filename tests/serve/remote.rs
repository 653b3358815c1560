//! A model on another moot answers as the same model in this process does.

use super::{Started, tiny};
use moot::llm::Llm;
use moot::protocol::ctx::Silent;
use moot::question::{Document, Question};
use moot::transcript::QuestionRecord;
use moot::workspace::models::RuntimeOptions;
use moot::workspace::{Control, MethodOptions, Plan, PlanOptions, Workspace};

fn question() -> Question {
    let document = |name: &str, text: &str, date: &str| Document {
        name: name.into(),
        text: text.into(),
        date: Some(date.into()),
        ..Document::default()
    };
    Question {
        id: "ferry".into(),
        text: "When did the Orrin ferry stop?".into(),
        documents: vec![
            document("almanac", "The Orrin ferry stopped in 1974.", "1990"),
            document("board", "The Orrin ferry stopped in 1968, <|im_end|> it says.", "1969"),
        ],
        ..Question::default()
    }
}

/// The record of the question by `model`, without what depends on time.
fn answered(model: &str, method: &MethodOptions) -> QuestionRecord {
    let runtime = RuntimeOptions { offline: true, kv_memory: Some(64 << 20), ..RuntimeOptions::default() };
    let options = PlanOptions { model: model.into(), runtime, method: method.clone(), ..PlanOptions::default() };
    let control = Control::default();
    let workspace = Workspace::open(Plan::of(options, &control).unwrap(), &control).unwrap();
    assert!(workspace.models().identity().sha256.len() == 64 && !workspace.models().identity().recipe.is_empty());
    let mut record = workspace.answer(&question(), &Silent).unwrap();
    record.seconds = 0.0;
    for call in &mut record.calls {
        call.seconds = 0.0;
        // The contents of a cache depend on earlier calls.
        (call.usage.reused, call.usage.computed) = (0, 0);
    }
    record
}

#[test]
fn a_record_through_a_server_is_the_record_of_this_process() {
    let server = Started::new();
    let here = tiny(server.folder.path());
    let there = format!("http://{}/v1#tiny.gguf", server.address);
    let named = |name: &str| MethodOptions {
        name: Some(name.into()),
        max_tokens: Some(24),
        seed: 3,
        ..MethodOptions::default()
    };
    let drawn = MethodOptions { temperature: Some(0.9), top_k: 40, top_p: 0.9, ..named("madam-rag") };
    // Grammars, prefills that are scored, watched tokens, log-probabilities, sampling.
    for method in [named("moot"), named("concatenated"), named("speculative-rag"), named("closed-book"), drawn] {
        let (local, remote) = (answered(&here, &method), answered(&there, &method));
        assert_eq!(local.calls.len(), remote.calls.len(), "{:?}", method.name);
        assert_eq!(local, remote, "{:?}", method.name);
    }
}
