//! OpenAI's API: replies as the engine gives them, streamed as whole, held by schemas, scored.

use super::{Started, tiny};
use moot::generation::{Logprobs, Message, Prompt, Role, Segment};
use moot::llm::{Call, Llm};
use moot::workspace::models::RuntimeOptions;
use moot::workspace::{Control, Plan, PlanOptions, Workspace};
use serde_json::{Value, json};

/// The tiny model opened without a server.
fn opened(folder: &std::path::Path) -> Workspace {
    let runtime = RuntimeOptions { offline: true, kv_memory: Some(64 << 20), ..RuntimeOptions::default() };
    let options = PlanOptions { model: tiny(folder), runtime, ..PlanOptions::default() };
    let control = Control::default();
    Workspace::open_to_share(Plan::of(options, &control).unwrap(), &control).unwrap()
}

fn text(choice: &Value) -> &str {
    choice["message"]["content"].as_str().unwrap()
}

#[test]
fn a_chat_has_the_reply_of_the_engine_and_a_stream_has_its_pieces() {
    let server = Started::new();
    let messages = json!([{ "role": "system", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "Where does the Orrin end?" }] }]);
    for temperature in [0.0, 0.8] {
        let body = json!({ "messages": messages, "max_tokens": 12, "temperature": temperature, "seed": 7 });
        let whole = server.ask("/v1/chat/completions", &body);
        let chat = vec![Message::new(Role::System, "Be brief."), Message::new(Role::User, "Where does the Orrin end?")];
        let sampling = match temperature {
            0.0 => moot::generation::Sampling::Greedy,
            temperature => moot::generation::Sampling::Seeded { temperature, top_k: 0, top_p: 1.0 },
        };
        let call = Call { seed: 7, sampling, ..Call::new("chat", "", Prompt::Chat(chat), 12) };
        let workspace = opened(server.folder.path());
        let reply = workspace.models().ask_all(&[call], &mut |_, _| {}).unwrap().remove(0);
        assert_eq!(text(&whole["choices"][0]), reply.text);
        assert_eq!(whole["usage"]["completion_tokens"], reply.usage.generated);
        assert_eq!(whole["usage"]["prompt_tokens"], reply.usage.prompt);

        let mut streaming = body.clone();
        streaming["stream"] = true.into();
        streaming["stream_options"] = json!({ "include_usage": true });
        let events = server.post("/v1/chat/completions", &streaming).events();
        let pieces = events.iter().filter_map(|(_, value)| value["choices"][0]["delta"]["content"].as_str());
        assert_eq!(pieces.collect::<String>(), reply.text);
        assert!(events.iter().filter(|(_, value)| value["choices"][0]["delta"]["content"].is_string()).count() > 2);
        let finish = events.iter().find_map(|(_, value)| value["choices"][0]["finish_reason"].as_str());
        assert_eq!(finish, whole["choices"][0]["finish_reason"].as_str());
        let usage = events.iter().find(|(_, value)| value["usage"].is_object()).unwrap();
        assert_eq!(usage.1["usage"]["completion_tokens"], reply.usage.generated);
        assert_eq!(events.last().unwrap().1, "[DONE]");
    }
}

#[test]
fn several_replies_have_seeds_that_follow_each_other() {
    let server = Started::new();
    let ask = |seed: i64, n: usize| {
        let body = json!({ "messages": [{ "role": "user", "content": "Say a word." }], "max_tokens": 10,
            "temperature": 1.0, "seed": seed, "n": n });
        server.ask("/v1/chat/completions", &body)
    };
    let three = ask(5, 3);
    let texts: Vec<&str> = three["choices"].as_array().unwrap().iter().map(text).collect();
    for (index, expected) in texts.iter().enumerate() {
        let one = ask(5 + index as i64, 1);
        assert_eq!(text(&one["choices"][0]), *expected);
    }
    assert!(texts[0] != texts[1] || texts[1] != texts[2], "{texts:?}");
    assert_eq!(three["usage"]["prompt_tokens"], ask(5, 1)["usage"]["prompt_tokens"]);
}

#[test]
fn a_schema_holds_the_reply() {
    let server = Started::new();
    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["place", "year"],
        "properties": { "place": { "enum": ["Orrin", "Sandholm"] }, "year": { "type": "integer", "minimum": 1900, "maximum": 1999 } } });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "found", "schema": schema } });
    let body = json!({ "messages": [{ "role": "user", "content": "Where and when?" }], "max_tokens": 200,
        "response_format": format });
    let reply = server.ask("/v1/chat/completions", &body);
    let found: Value = serde_json::from_str(text(&reply["choices"][0])).unwrap();
    assert!(["Orrin", "Sandholm"].contains(&found["place"].as_str().unwrap()));
    assert!((1900..=1999).contains(&found["year"].as_u64().unwrap()));
    let broken = json!({ "messages": [{ "role": "user", "content": "?" }],
        "response_format": { "type": "json_schema", "json_schema": { "schema": { "type": "nothing" } } } });
    assert_eq!(server.post("/v1/chat/completions", &broken).status, 400);
}

#[test]
fn log_probabilities_of_a_chat_sum_over_its_text() {
    let server = Started::new();
    let body = json!({ "messages": [{ "role": "user", "content": "Name it." }], "max_tokens": 6, "logprobs": true,
        "top_logprobs": 3 });
    let whole = server.ask("/v1/chat/completions", &body);
    let tokens = whole["choices"][0]["logprobs"]["content"].as_array().unwrap();
    assert!(!tokens.is_empty());
    for token in tokens {
        let top = token["top_logprobs"].as_array().unwrap();
        assert_eq!(top.len(), 3);
        // Greedy: the chosen token is the likeliest.
        assert_eq!(token["logprob"], top[0]["logprob"]);
    }
    let mut streaming = body;
    streaming["stream"] = true.into();
    let events = server.post("/v1/chat/completions", &streaming).events();
    let streamed = events.iter().find(|(_, value)| value["choices"][0]["logprobs"].is_object()).unwrap();
    assert_eq!(streamed.1["choices"][0]["logprobs"], whole["choices"][0]["logprobs"]);
}

#[test]
fn an_echoed_text_has_the_scores_that_its_tokens_had_when_they_were_generated() {
    let server = Started::new();
    let prompt = "The ferry across the Orrin stopped in 1968.";
    let call = Call {
        logprobs: Some(Logprobs::default()),
        ..Call::new("raw", "", Prompt::Raw(vec![Segment::Scaffold(prompt.into())]), 6)
    };
    let reply = opened(server.folder.path()).models().ask_all(&[call], &mut |_, _| {}).unwrap().remove(0);
    let given = server.ask("/tokenize", &json!({ "prompt": prompt }))["tokens"].as_array().unwrap().clone();
    let ids: Vec<Value> = given.iter().cloned().chain(reply.tokens.iter().map(|&id| id.into())).collect();

    let body = json!({ "prompt": ids, "max_tokens": 0, "echo": true, "logprobs": 2 });
    let echoed = server.ask("/v1/completions", &body);
    let logprobs = &echoed["choices"][0]["logprobs"];
    let scores = logprobs["token_logprobs"].as_array().unwrap();
    assert_eq!(scores.len(), ids.len());
    assert!(scores[0].is_null() && scores[1..].iter().all(Value::is_f64));
    assert!(logprobs["top_logprobs"][1].as_object().unwrap().len() >= 2);
    let generated: Vec<Value> = reply.logprobs.iter().map(|token| token.logprob.into()).collect();
    assert_eq!(scores[given.len()..given.len() + generated.len()], generated[..]);
    assert!(echoed["choices"][0]["text"].as_str().unwrap().contains(prompt));
    assert_eq!(echoed["usage"]["completion_tokens"], 0);

    // As lm-eval asks: one token more, from the text or from its tokens.
    let ask = |prompt: &Value| {
        server.ask("/v1/completions", &json!({ "prompt": prompt, "max_tokens": 1, "echo": true, "logprobs": 1 }))
    };
    let (by_text, by_tokens) = (ask(&json!(prompt)), ask(&json!(given)));
    assert_eq!(by_text["choices"], by_tokens["choices"]);
    let scores = by_text["choices"][0]["logprobs"]["token_logprobs"].as_array().unwrap();
    assert_eq!((scores.len(), &scores[given.len()]), (given.len() + 1, &generated[0]));
}

#[test]
fn prompts_of_one_request_are_answered_in_their_order() {
    let server = Started::new();
    let prompts = ["alpha beta", "one two three", "x"];
    let many = server.ask("/v1/completions", &json!({ "prompt": prompts, "max_tokens": 5 }));
    for (index, prompt) in prompts.iter().enumerate() {
        let one = server.ask("/v1/completions", &json!({ "prompt": prompt, "max_tokens": 5 }));
        assert_eq!(many["choices"][index]["index"], index);
        assert_eq!(many["choices"][index]["text"], one["choices"][0]["text"], "{prompt}");
    }
    let body = json!({ "prompt": prompts[1], "max_tokens": 5, "stream": true });
    let events = server.post("/v1/completions", &body).events();
    let pieces: String = events.iter().filter_map(|(_, value)| value["choices"][0]["text"].as_str()).collect();
    assert_eq!(many["choices"][1]["text"], pieces.as_str());
}

#[test]
fn tokens_go_back_to_their_text() {
    let server = Started::new();
    let split = server.ask("/tokenize", &json!({ "prompt": "Orrin 1968", "add_special_tokens": false }));
    assert_eq!(split["count"], split["tokens"].as_array().unwrap().len());
    let joined = server.ask("/detokenize", &json!({ "tokens": split["tokens"] }));
    assert_eq!(joined["prompt"].as_str().unwrap().trim(), "Orrin 1968");
    assert_eq!(server.post("/detokenize", &json!({ "tokens": [4_000_000_000_u32] })).status, 400);
}

#[test]
fn a_chat_is_split_as_it_is_sent_to_the_model() {
    let server = Started::new();
    let call = json!({ "id": "a", "type": "function", "function": { "name": "clock", "arguments": "{}" } });
    let messages = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "What time is it?" }] },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "a", "content": "noon" },
    ]);
    let split = server.ask("/tokenize", &json!({ "messages": messages }));
    let chat = server.ask("/v1/chat/completions", &json!({ "messages": messages, "max_tokens": 1 }));
    assert_eq!(split["count"], chat["usage"]["prompt_tokens"]);
    let text = |body: &Value| {
        let split = server.ask("/tokenize", body);
        server.ask("/detokenize", &json!({ "tokens": split["tokens"] }))["prompt"].as_str().unwrap().to_owned()
    };
    let (whole, cut) =
        (json!({ "messages": messages }), json!({ "messages": messages, "add_generation_prompt": false }));
    let (whole, cut) = (text(&whole), text(&cut));
    assert!(whole.starts_with(&cut) && whole.len() > cut.len(), "{whole:?} {cut:?}");
    assert!(whole.contains("clock({})") && whole.contains("Result of clock:\nnoon"), "{whole}");
    let refused = [
        ("prompt", json!({ "prompt": "a", "messages": messages })),
        ("prompt", json!({})),
        ("add_special_tokens", json!({ "messages": messages, "add_special_tokens": true })),
        ("continue_final_message", json!({ "messages": messages, "continue_final_message": true })),
        ("return_token_strs", json!({ "prompt": "a", "return_token_strs": true })),
        ("chat_template_kwargs.tools", json!({ "messages": messages, "chat_template_kwargs": { "tools": 1 } })),
    ];
    for (field, body) in refused {
        let response = server.post("/tokenize", &body);
        assert!(response.status == 400 && response.error().starts_with(field), "{field}: {}", response.body);
    }
}

/// lm-eval renders this template itself.
#[test]
fn the_chat_template_is_the_models_own() {
    let server = Started::new();
    let template = server.get("/tokenizer_info").json()["chat_template"].as_str().unwrap().to_owned();
    let workspace = opened(server.folder.path());
    assert_eq!(template, workspace.models().engine("").unwrap().model().template.source());
    assert!(template.contains("messages"), "{template}");
}

/// lm-eval splits the text of `eos_token` and takes its first token as what comes before a text.
#[test]
fn the_token_that_ends_texts_is_one_token() {
    let server = Started::new();
    let end = server.get("/tokenizer_info").json()["eos_token"].as_str().unwrap().to_owned();
    let split = server.ask("/tokenize", &json!({ "prompt": end, "add_special_tokens": false }));
    assert_eq!(split["count"], 1, "{end}: {split}");
    assert_eq!(server.ask("/detokenize", &json!({ "tokens": split["tokens"] }))["prompt"], end.as_str());
}

#[test]
fn models_are_listed_with_methods_beside_them() {
    let server = Started::new();
    let list = server.get("/v1/models").json();
    let ids: Vec<&str> = list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert!(ids[0] == "tiny.gguf" && ids.contains(&"moot/madam-rag") && ids.contains(&"moot/madam-rag:tuned"));
    assert_eq!(server.get("/v1/models/moot/madam-rag:tuned").json()["id"], "moot/madam-rag:tuned");
    assert_eq!(server.get("/v1/models/nope").status, 404);
}

#[test]
fn what_would_change_a_reply_is_refused_and_what_would_not_is_ignored() {
    let server = Started::new();
    let chat = |field: &str, value: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "?" }], "max_tokens": 1 });
        body[field] = value;
        server.post("/v1/chat/completions", &body)
    };
    let refused = [
        ("tool_choice", json!("required")),
        ("tool_choice", json!({ "type": "function", "function": { "name": "f" } })),
        ("function_call", json!({ "name": "f" })),
        ("logit_bias", json!({ "5": 1 })),
        ("frequency_penalty", json!(0.5)),
        ("temperature", json!(-1)),
        ("top_p", json!(0)),
        ("n", json!(0)),
        ("stop", json!(vec!["x"; 17])),
        ("top_logprobs", json!(2)),
        ("max_tokens", json!(0)),
        ("reasoning_effort", json!("vast")),
        ("messages", json!([])),
        ("messages", json!([{ "role": "user", "content": [{ "type": "image_url" }] }])),
        ("messages", json!([{ "role": "nobody", "content": "x" }])),
        ("chat_template_kwargs", json!({ "thinking": true })),
        ("guided_json", json!({ "type": "object" })),
        ("structured_outputs", json!({ "choice": ["yes"] })),
        ("min_tokens", json!(3)),
        ("ignore_eos", json!(true)),
    ];
    for (field, value) in refused {
        let response = chat(field, value.clone());
        assert_eq!(response.status, 400, "{field} {value}: {}", response.body);
        assert!(response.error().contains(field), "{field}: {}", response.error());
        assert!(response.json()["error"]["param"].as_str().unwrap().starts_with(field));
    }
    let ignored = [
        ("user", json!("me")),
        ("store", json!(true)),
        ("presence_penalty", json!(0)),
        ("stop", json!(null)),
        ("tools", json!([{ "type": "function", "function": { "name": "f" } }])),
        ("tool_choice", json!("auto")),
        ("tool_choice", json!("none")),
        ("chat_template_kwargs", json!({ "enable_thinking": false })),
        ("ignore_eos", json!(false)),
        ("guided_json", json!(null)),
    ];
    for (field, value) in ignored {
        assert_eq!(chat(field, value).status, 200, "{field}");
    }
    assert_eq!(chat("model", json!("gpt-4")).status, 404);
    assert!(chat("model", json!("gpt-4")).error().contains("tiny.gguf"));
}

#[test]
fn a_completion_keeps_a_schema() {
    let server = Started::new();
    let schema = json!({ "type": "object", "properties": { "n": { "enum": [1, 2] } }, "required": ["n"], "additionalProperties": false });
    let form = json!({ "type": "json_schema", "json_schema": { "name": "number", "schema": schema } });
    let reply = server.ask("/v1/completions", &json!({ "prompt": "alpha", "max_tokens": 64, "response_format": form }));
    let text = reply["choices"][0]["text"].as_str().unwrap();
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(value["n"] == 1 || value["n"] == 2, "{text}");
}
