//! Every prompt rendered on a fixed example, against `tests/golden/prompts`.
//! `MOOT_GOLDEN=write cargo test` writes the files anew: read the difference before you commit it.

use moot::methods::METHODS;
use moot::prompts::File;
use moot::protocol::entailment;
use moot::{MootError, prompt_file};
use serde_json::{Value, json};
use std::path::Path;

/// Equal to the file below `tests/golden`, or written there where the environment says so.
pub(crate) fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("MOOT_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e} (MOOT_GOLDEN=write)", path.display()));
    assert_eq!(found, want, "{}", path.display());
}

/// Every prompt of any method, entailment's among them, once.
fn prompts() -> Vec<File> {
    let mut files: Vec<File> = METHODS.iter().flat_map(|row| row.files()).chain([entailment::PROMPT]).collect();
    files.retain(|file| file.name.ends_with(".jinja"));
    files.sort_by_key(|file| file.name);
    files.dedup();
    files
}

/// Everything that any prompt names, with text in it that looks like markup, like a template and like a reply.
fn values() -> Value {
    let mut values = json!({
        "question": "Who wrote \"Ash & Elm\"?",
        "document": "First line, <b>not</b> escaped.\n{{ question }} stays as it is.",
        "documents": ["The first.", "The second."],
        "number": 2,
        "history": null,
        "replies": ["Agent 2: Answer: unknown. Explanation: x", "Agent 1: Answer: A. Tor. Explanation: y"],
        "premise": "A. Tor wrote <b>Ash & Elm</b>.\nNobody else did.",
        "hypothesis": "Ash & Elm is by {{ premise }}.",
        "passages": ["The first.", "The second: {{ question }}."],
        "sources": [{ "origin": "from retrieval", "text": "The first." }, { "origin": "from memory", "text": "It was A. Tor." }],
        "context": null,
        "most": 2,
        "queries": [
            { "text": "Who wrote Ash & Elm?", "passages": ["The first.", "The second."] },
            { "text": "A. Tor's books", "passages": [] },
        ],
        "proponent": "Argument: The first says it.",
        "challenger": "Argument: It does not.\nQuery Expansion: Tor, author",
        "name": "Challenger Agent",
        "chain": "Ash & Elm is a novel. It was written by A. Tor.",
        "span": "A. Tor",
        "reply": "Answer: B. Ley. Explanation: z",
        "groups": [
            { "answer": "A. Tor", "evidence": ["A. Tor wrote it.", "It is by A. Tor <i>alone</i>."] },
            { "answer": "B. Ley", "evidence": ["By B. Ley."] },
        ],
        "contexts": [
            { "source": "www.books.example", "text": "A. Tor wrote <b>Ash & Elm</b>." },
            { "source": null, "text": "The second: {{ question }}." },
        ],
    });
    let more = json!({
        "candidates": [
            { "answer": "A. Tor", "explanation": "Context 1 says so." },
            { "answer": "B. Ley", "explanation": "" },
        ],
        "reasons": "The second is a {{ guess }}.",
        "count": 2,
        "candidate": "A. Tor",
        "summary": "The first says that A. Tor wrote it.",
        "reader": true,
        "first": "It was A. Tor.",
        "second": "It was B. Ley.",
        "step": "document",
        "options": "A. Tor, B. Ley",
        "answer": "A. Tor",
        "rationale": "The first says so: {{ answer }}.",
        "response": "Answer: A. Tor. Explanation: x",
        "right": ["A. Tor wrote it."],
        "wrong": ["B. Ley wrote it."],
        "warned": true,
        "strength": "super-balanced",
        "supporters": [{ "document": 1, "text": "A. Tor wrote <b>it</b>.", "exact": true, "reason": "So it says." }],
        "contradictors": [
            { "document": 2, "text": "{{ claim }} is wrong.", "exact": true, "reason": "" },
            { "document": 3, "text": "By B. Ley.", "exact": false, "reason": "Another author." },
            { "document": 4, "text": "", "exact": false, "reason": "Another {{ author }}." },
            { "document": 5, "text": "", "exact": false, "reason": "" },
        ],
        "text": "A. Tor wrote it. {{ claim }}",
        "part": null,
        "salient": false,
        "fact": "A. Tor wrote {{ it }}.",
        "pairs": [{ "question": "Who wrote it?", "answer": "A. Tor" }, { "question": "{{ question }}", "answer": "B. Ley" }],
        "claim": "A. Tor wrote \"Ash & Elm\".",
        "label": "CONTRADICTS",
        "label_first": false,
        "rationale_first": false,
        "quote": "It is by <b>A. Tor</b>.",
        "responses": ["Response 1 (score 1.20): A. Tor", "Response 2 (score 0.30): {{ question }}"],
    });
    let (known, more) = (values.as_object_mut().unwrap(), more.as_object().unwrap());
    known.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
    values
}

#[test]
fn every_prompt_looks_as_it_did() {
    let values = values();
    for file in prompts() {
        let mut values = values.clone();
        if file.name.starts_with("astute_rag/") {
            values["passages"] = json!([
                { "origin": "from retrieval", "text": "The first." },
                { "origin": "from memory", "text": "The second: {{ question }}." },
            ]);
        }
        if file.name.starts_with("regenerated_rag/") {
            values["options"] = json!(["A. Tor", "B. Ley"]);
        }
        let rendered = file.render(&values).unwrap();
        assert!(!rendered.contains("MADAM"), "the paper's name is no part of the prompt");
        assert_eq!(rendered, rendered.trim());
        golden(&format!("prompts/{}", file.name.replace('/', ".").replace(".jinja", ".txt")), &rendered);
    }
    let mut later = values;
    later["history"] = json!(["Agent 1: Answer: A. Tor. Explanation: y", "Agent 3: Answer: B. Ley. Explanation: z"]);
    let rendered = prompt_file!("madam_rag/agent.jinja").render(&later).unwrap();
    golden("prompts/madam_rag.agent.later.txt", &rendered);
}

#[test]
fn names_from_files_do_not_stretch_a_message() {
    let error = prompt_file!("madam_rag/agent.jinja").render(json!({ "a\n\u{1b}b": 1 })).unwrap_err().to_string();
    assert!(error.ends_with("(this prompt has: a b)") && !error.contains('\n'), "{error:?}");
    let named = |name: String| MootError::UnknownName { kind: "storage type", name, known: "f32".into() }.to_string();
    assert_eq!(named("f64".into()), "no storage type is called \"f64\" (known: f32)");
    assert_eq!(
        named("ä\n".repeat(5000)),
        format!("no storage type is called \"{}...\" (known: f32)", "ä\\n".repeat(50))
    );
}

#[test]
fn a_value_that_is_missing_is_an_error_that_names_the_file() {
    match prompt_file!("closed_book/answerer.jinja").render(json!({})).unwrap_err() {
        MootError::Prompt { file, reason } => {
            assert_eq!(file, "closed_book/answerer.jinja");
            assert!(
                reason.contains("no value is called \"options\" or \"question\" (this prompt has: none)"),
                "{reason}"
            );
            assert!(!reason.contains('\n'), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}
