//! A server of several models: each request may name one, which then has every role.

use super::{Started, tiny};
use crate::cli::program::with_context;
use moot::eval::record::reader::Record;
use moot::serve::ServeOptions;
use serde_json::{Value, json};
use std::path::Path;

const OTHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/tiny/qwen2.gguf");

/// A server of two models: one has the role `spare`, which no method has, the other one all roles.
fn two_models() -> Started {
    Started::with(|options| {
        let folder = Path::new(&options.plan.model).parent().unwrap();
        let other = folder.join("other.gguf");
        std::fs::write(&other, with_context(&std::fs::read(OTHER).unwrap(), "qwen2", 8192)).unwrap();
        let records = Some(folder.join("asked"));
        let mut plan = options.plan.clone();
        plan.model = format!("{},spare={}", tiny(folder), other.display());
        ServeOptions { plan, records, ..options }
    })
}

fn body(model: Value) -> Value {
    json!({ "question": "When did the Orrin ferry stop?", "documents": ["It stopped in 1974.", "It stopped in 1968."],
        "method": { "name": "madam-rag", "preset": "every-answer", "max_tokens": 12 }, "model": model })
}

/// The name of the model of each role in the record of an answer.
fn models_of(server: &Started, answer: &Value) -> Vec<String> {
    let file = server.folder.path().join("asked").join(format!("{}.jsonl", answer["id"].as_str().unwrap()));
    let header = Record::read(&file).unwrap().header;
    let name = |role: &str| Path::new(&header.model_of(role).name).file_name().unwrap().to_str().unwrap().to_owned();
    ["agent", "aggregator"].map(name).into()
}

#[test]
fn a_request_names_the_model_of_every_role() {
    let server = two_models();
    let listed = server.get("/moot/v1/server").json();
    let listed: Vec<(&Value, &Value)> =
        listed["models"].as_array().unwrap().iter().map(|model| (&model["name"], &model["roles"])).collect();
    assert_eq!(listed, [(&json!("tiny.gguf"), &json!(["others"])), (&json!("other.gguf"), &json!(["spare"]))]);
    for model in [json!(null), json!(""), json!("tiny.gguf")] {
        assert_eq!(models_of(&server, &server.ask("/moot/v1/ask", &body(model))), ["tiny.gguf", "tiny.gguf"]);
    }
    let asked = server.ask("/moot/v1/ask", &body(json!("other.gguf")));
    assert_eq!(models_of(&server, &asked), ["other.gguf", "other.gguf"]);

    // A record goes on with its own model.
    let path = format!("/moot/v1/records/{}/fork", asked["id"].as_str().unwrap());
    let forked = server.ask(&path, &json!({ "tell": "It rained." }));
    assert_eq!(models_of(&server, &forked), ["other.gguf", "other.gguf"]);

    let questions = json!([{ "question": "When did it stop?", "documents": ["In 1968.", "In 1974."] }]);
    let run = json!({ "questions": questions, "model": "other.gguf", "method": body(json!(null))["method"] });
    let run = server.ask("/moot/v1/runs", &run);
    assert_eq!(models_of(&server, &run), ["other.gguf", "other.gguf"]);
    let check = json!({ "text": "It stopped in 1968.", "documents": ["In 1968."], "model": "other.gguf" });
    let check = server.ask("/moot/v1/conflict", &check);
    assert_eq!(models_of(&server, &check), ["other.gguf", "other.gguf"]);
    let compared =
        json!({ "documents": ["The ferry stopped in 1974.", "The ferry stopped in 1968."], "model": "other.gguf" });
    let compared = server.ask("/moot/v1/contradictions", &compared);
    let kept = server.get(&format!("/moot/v1/records/{}", compared["id"].as_str().unwrap())).json();
    assert!(kept["models"].to_string().matches("other.gguf").count() == 2, "{}", kept["models"]);
}

#[test]
fn a_model_that_is_not_loaded_is_refused() {
    let server = two_models();
    for path in ["/moot/v1/ask", "/moot/v1/runs", "/moot/v1/conflict", "/moot/v1/contradictions"] {
        let body = match path {
            "/moot/v1/ask" => body(json!("moot/madam-rag")),
            "/moot/v1/runs" => json!({ "questions": [{ "question": "When?", "documents": ["x"] }], "model": "gpt-4" }),
            "/moot/v1/conflict" => json!({ "text": "It stopped.", "documents": ["x"], "model": "gpt-4" }),
            _ => json!({ "documents": ["It stopped in 1968.", "It stopped in 1974."], "model": "gpt-4" }),
        };
        let refused = server.post(path, &body);
        let expected = "model: expected one of tiny.gguf, other.gguf, found";
        assert!(refused.status == 404 && refused.error().starts_with(expected), "{path}: {}", refused.body);
    }
}
