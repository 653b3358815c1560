//! `/v1/embeddings`: what is refused, with a hint for the client that sends it.

use super::Started;
use moot::serve::ServeOptions;
use serde_json::json;

fn server() -> Started {
    Started::with(|options| {
        let mut plan = options.plan.clone();
        plan.corpus.embedder = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/encoders/bert").into());
        ServeOptions { plan, ..options }
    })
}

#[test]
fn too_many_texts_are_refused_for_their_number() {
    let server = server();
    for (input, said) in [
        (json!(vec!["x"; 20_001]), "input: expected at most 20000 entries, found 20001"),
        (json!(vec![5; 20_001]), "input: expected a text or a list of texts, found tokens"),
        (json!(["x", 5]), "input[1]: expected"),
    ] {
        let refused = server.post("/v1/embeddings", &json!({ "input": input }));
        assert!(refused.status == 400 && refused.error().starts_with(said), "{said}: {}", refused.body);
    }
}

#[test]
fn tokens_are_refused_with_a_hint() {
    let server = server();
    let reply = server.ask("/v1/embeddings", &json!({ "input": ["The ferry stopped.", "It rained."] }));
    assert_eq!(reply["data"].as_array().unwrap().len(), 2);
    for input in [json!([5, 6]), json!([[5, 6], [7]]), json!({ "text": "x" })] {
        let refused = server.post("/v1/embeddings", &json!({ "input": input }));
        assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!("input")), "{input}");
        let said = refused.error();
        assert!(said.starts_with("input: expected a text or a list of texts, found tokens"), "{said}");
        assert!(said.contains("LangChain sends texts with check_embedding_ctx_length=False"), "{said}");
    }
}
