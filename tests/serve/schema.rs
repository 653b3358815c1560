//! The description of the interface (`docs/serve.openapi.json`) against the code: paths, fields, and real answers.

use super::Started;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn description() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/serve.openapi.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// "get /v1/models" for each route of the code. Those of the page are not described.
fn routes() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for part in text.split(".route(\"").skip(1) {
                let (route, rest) = part.split_once('"').unwrap();
                let method = rest.trim_start_matches([',', ' ']).split('(').next().unwrap();
                found.insert(format!("{method} {}", route.replace("{*", "{")));
            }
        }
    }
    let undescribed = ["get /", "get /page/{name}", "any /mcp", "post /mcp"];
    found.retain(|route| !undescribed.contains(&route.as_str()));
    found
}

#[test]
fn every_path_is_described_and_every_described_one_exists() {
    let description = description();
    let paths = description["paths"].as_object().unwrap().iter();
    let described =
        paths.flat_map(|(path, ways)| ways.as_object().unwrap().keys().map(move |way| format!("{way} {path}")));
    assert_eq!(described.collect::<BTreeSet<_>>(), routes());
}

/// The parts of `value` that violate `schema`. Fields that a schema does not list are wrong: a description that forgets
/// one is noticed.
pub(super) fn wrong(schema: &Value, value: &Value, at: &str, all: &Value) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        let referred = &all["components"]["schemas"][name];
        assert!(referred.is_object(), "no schema {name}");
        return wrong(referred, value, at, all);
    }
    if let Some(ways) = schema["oneOf"].as_array() {
        let found: Vec<Vec<String>> = ways.iter().map(|way| wrong(way, value, at, all)).collect();
        return if found.iter().any(Vec::is_empty) { Vec::new() } else { found.concat() };
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is = |named: &str| named == kind || named == "number" && kind == "integer";
    let fits = match &schema["type"] {
        Value::String(named) => is(named),
        Value::Array(several) => several.iter().any(|named| is(named.as_str().unwrap())),
        _ => true,
    };
    if !fits {
        return vec![format!("{at}: expected {}, found {kind}", schema["type"])];
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        return vec![format!("{at}: {value} is not among {}", schema["enum"])];
    }
    let mut found = Vec::new();
    if let (Some(items), Some(entries)) = (schema.get("items"), value.as_array()) {
        found.extend(entries.iter().enumerate().flat_map(|(n, entry)| wrong(items, entry, &format!("{at}[{n}]"), all)));
    }
    if let (Some(properties), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
        for (name, field) in fields {
            match properties.get(name) {
                Some(schema) => found.extend(wrong(schema, field, &format!("{at}.{name}"), all)),
                None => found.push(format!("{at}.{name} is not described")),
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
        found.extend(required.filter(|name| !fields.contains_key(*name)).map(|name| format!("{at}.{name} is missing")));
    }
    found
}

/// Checks the JSON that a path answers with.
fn check(all: &Value, method: &str, path: &str, value: &Value) {
    let response = &all["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"];
    assert!(response.is_object(), "{method} {path} is not described");
    let found = wrong(response, value, path, all);
    assert!(found.is_empty(), "{}\n{value:#}", found.join("\n"));
}

#[test]
fn answers_are_as_they_are_described() {
    let all = description();
    let server = Started::with(|options| {
        let folder = Path::new(&options.plan.model).with_file_name("notes");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("board.txt"), "The Orrin ferry stopped in 1968.\n").unwrap();
        let mut plan = options.plan.clone();
        plan.corpus.paths = vec![folder.display().to_string()];
        plan.corpus.embedder = Some("none".into());
        moot::serve::ServeOptions { plan, ..options }
    });
    let get = |path: &str| check(&all, "get", path, &server.get(path).json());
    ["/health", "/v1/models", "/moot/v1/server", "/moot/v1/methods", "/openapi.json", "/tokenizer_info"]
        .iter()
        .for_each(|path| get(path));
    let documents =
        json!([{ "name": "a", "text": "It stopped in 1974.", "date": "1990" }, { "text": "It stopped in 1968." }]);
    let apart = json!([
        { "name": "a", "text": "The Orrin ferry stopped in 1974.", "date": "1990", "source": "Board" },
        { "name": "b", "text": "The Orrin ferry stopped in 1968." },
    ]);
    let chat = json!([{ "role": "user", "content": "When did it stop?" }]);
    let every = json!({ "name": "madam-rag", "preset": "every-answer", "max_tokens": 12 });
    let posts = [
        ("/tokenize", json!({ "prompt": "a b" })),
        ("/tokenize", json!({ "messages": chat })),
        ("/detokenize", json!({ "tokens": [5, 6] })),
        ("/v1/chat/completions", json!({ "messages": chat, "max_tokens": 4, "logprobs": true })),
        (
            "/v1/chat/completions",
            json!({ "model": "moot/madam-rag:every-answer", "messages": chat, "documents": documents }),
        ),
        ("/v1/completions", json!({ "prompt": "a", "max_tokens": 3, "logprobs": 1, "echo": true })),
        ("/moot/v1/ask", json!({ "question": "When did it stop?", "documents": documents, "method": every })),
        ("/moot/v1/ask", json!({ "question": "When did it stop?", "documents": documents })),
        ("/moot/v1/ask", json!({ "question": "When did the ferry stop?", "method": every })),
        ("/moot/v1/conflict", json!({ "text": "It stopped in 1968.", "documents": documents })),
        ("/moot/v1/documents", json!({ "documents": documents })),
        ("/moot/v1/search", json!({ "query": "ferry" })),
        ("/moot/v1/contradictions", json!({ "documents": apart, "least": 0.0 })),
        ("/moot/v1/runs", json!({ "questions": [{ "question": "When did it stop?", "documents": ["In 1968."] }] })),
    ];
    for (path, body) in posts {
        check(&all, "post", path, &server.ask(path, &body));
    }
    let records = server.get("/moot/v1/records").json();
    check(&all, "get", "/moot/v1/records", &records);
    let of_question = |entry: &&Value| entry["kind"] == "question";
    let id = records.as_array().unwrap().iter().find(of_question).unwrap()["id"].as_str().unwrap();
    check(&all, "get", "/moot/v1/records/{id}", &server.get(&format!("/moot/v1/records/{id}?format=json")).json());
    let forked = server.ask(&format!("/moot/v1/records/{id}/fork"), &json!({ "tell": "It rained." }));
    check(&all, "post", "/moot/v1/records/{id}/fork", &forked);
    let refused = server.post("/moot/v1/ask", &json!({})).json();
    assert_eq!(wrong(&json!({ "$ref": "#/Error" }), &refused, "error", &all), Vec::<String>::new());
}

/// The fields that a request may have: the error of an unknown one lists them, and they are the described ones.
#[test]
fn described_fields_of_requests_are_known() {
    let (all, server) = (description(), Started::new());
    for (path, schema) in [
        ("/moot/v1/ask", "Ask"),
        ("/moot/v1/conflict", "Conflicts"),
        ("/moot/v1/contradictions", "Compare"),
        ("/moot/v1/runs", "Run"),
        ("/moot/v1/search", "Search"),
    ] {
        for field in all["components"]["schemas"][schema]["properties"].as_object().unwrap().keys() {
            let body = match schema {
                "Search" => json!({ "query": "x", "search": { field: null } }),
                _ => json!({ field: null }),
            };
            let error = server.post(path, &body).error();
            assert!(!error.contains("unknown field"), "{path}: {error}");
        }
        let body = if schema == "Search" { json!({ "search": { "nothing": 1 } }) } else { json!({ "nothing": 1 }) };
        let error = server.post(path, &body).error();
        let (_, known) = error.split_once("expected one of ").unwrap();
        let known: BTreeSet<&str> = known.split('`').skip(1).step_by(2).collect();
        let described = all["components"]["schemas"][schema]["properties"].as_object().unwrap();
        assert_eq!(known, described.keys().map(String::as_str).collect(), "{path}");
    }
}

/// Clients send many fields that are ignored, so an error lists none: the code's own list is compared.
#[test]
fn every_field_of_a_chat_or_a_completion_that_is_read_is_described() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve/openai/fields.rs")).unwrap();
    let (_, rest) = text.split_once("struct Body {").unwrap();
    let (fields, _) = rest.split_once("\n}").unwrap();
    let field = |line: &str| line.trim().trim_start_matches("pub ").split_once(": ").map(|(name, _)| name.to_owned());
    let lines = fields.lines().filter(|line| !line.trim_start().starts_with(['/', '#']));
    let read: BTreeSet<String> = lines.filter_map(field).collect();
    let all = description();
    let of = |schema: &str| all["components"]["schemas"][schema]["properties"].as_object().unwrap().clone();
    let described: BTreeSet<String> = of("Chat").into_iter().chain(of("Completion")).map(|(name, _)| name).collect();
    assert_eq!(read, described);
}

#[test]
fn what_is_not_described_is_noticed() {
    let all = json!({ "components": { "schemas": { "A": { "type": "object", "required": ["a"], "properties": { "a": { "type": "string" } } } } } });
    let found = |value: Value| wrong(&json!({ "$ref": "#/A" }), &value, "x", &all);
    assert!(found(json!({ "a": "b" })).is_empty());
    assert_eq!(found(json!({ "a": 1 })).len(), 1);
    assert_eq!(found(json!({ "b": "c" })), ["x.b is not described", "x.a is missing"]);
}
