//! Kinds of server: how each is recognised, what it can do, and how scores, prefills and raw prompts are asked of it.

use super::server::{Kind, Received, Server, begin, content_event, ending, reply, respond, send};
use super::{call, impatient, open};
use moot::cancel::Cancel;
use moot::generation::{Finish, Logprobs, Prompt, Segment, Usage};
use moot::llm::{Call, Capabilities, Llm, Reply};
use serde_json::{Value, json};
use std::net::TcpStream;

const VLLM: Kind = Kind { owned_by: "vllm", page: None };
const SGLANG: Kind = Kind { owned_by: "sglang", page: None };
const LLAMA_CPP: Kind = Kind { owned_by: "llamacpp", page: None };

fn answer(server: &Server, call: &Call) -> moot::Result<Reply> {
    let (remote, _) = open(server, impatient(), &Cancel::default());
    remote.ask_all(std::slice::from_ref(call), &mut |_, _| {}).map(|mut replies| replies.remove(0))
}

fn say(stream: &mut TcpStream, json: &Value) {
    respond(stream, "200 OK", &["content-type: application/json"], json.to_string());
}

fn segments() -> Vec<Segment> {
    vec![Segment::Scaffold("<s>Q: ".into()), Segment::Content("why?".into())]
}

/// `prefill` is to be scored, with the two likeliest tokens.
fn scored(prompt: Prompt, prefill: &str) -> Call {
    Call {
        prompt,
        prefill: vec![Segment::Content(prefill.into())],
        score: true,
        max_tokens: 0,
        logprobs: Some(Logprobs { top: 2, watch: Vec::new() }),
        ..call("what")
    }
}

/// The words of a text as ids: their lengths.
fn encoded(text: &str) -> Value {
    let ids: Vec<usize> = text.split_whitespace().map(str::len).collect();
    json!({ "tokens": ids, "count": ids.len() })
}

#[test]
fn a_server_is_known_by_its_list_or_by_a_page_that_only_it_has() {
    let page = |path, page| Kind { owned_by: "me", page: Some((path, page)) };
    let kinds = [
        (VLLM, "scores raw prefill logprobs"),
        (page("/version", r#"{"version":"0.11.0"}"#), "scores raw prefill logprobs"),
        (SGLANG, "scores raw prefill logprobs watch"),
        (page("/get_model_info", r#"{"model_path":"x"}"#), "scores raw prefill logprobs watch"),
        (LLAMA_CPP, "scores raw prefill logprobs"),
        (page("/props", r#"{"default_generation_settings":{}}"#), "scores raw prefill logprobs"),
        // A proxy reports everything as its own, and no ability of it is certain.
        (Kind { owned_by: "openai", page: None }, ""),
        (page("/version", "no JSON"), ""),
    ];
    for (kind, able) in kinds {
        let server = Server::start_as(kind, |_, _, stream| reply(stream, "yes"));
        let (remote, _) = open(&server, impatient(), &Cancel::default());
        let has = |name: &str| able.split(' ').any(|one| one == name);
        let expected = Capabilities {
            grammar: false,
            schema: true,
            logprobs: has("logprobs"),
            watch: has("watch"),
            prefill: has("prefill"),
            scores: has("scores"),
            raw: has("raw"),
        };
        assert_eq!(remote.capabilities("agent"), expected, "{} {:?}", kind.owned_by, kind.page);
    }
}

#[test]
fn a_call_that_a_server_cannot_answer_is_not_sent() {
    let server = Server::start(|_, _, stream| reply(stream, "yes"));
    let watch = Some(Logprobs { top: 0, watch: vec![1] });
    let cases = [
        (
            Call { prompt: Prompt::Raw(segments()), ..call("x") },
            "gives no prompts without a chat template; vLLM, SGLang",
        ),
        (
            Call { prefill: segments(), ..call("x") },
            "gives no prefilled replies; vLLM, SGLang, llama.cpp, moot serve can",
        ),
        (scored(call("x").prompt, "yes"), "gives no scores of given text; vLLM, SGLang, llama.cpp, moot serve can"),
        (
            Call { logprobs: watch, ..call("x") },
            "log-probabilities of given tokens; SGLang, moot serve can, and so can a model in",
        ),
        (Call { logprobs: Some(Logprobs::default()), ..call("x") }, "gives no log-probabilities; vLLM"),
        (Call { max_tokens: 0, ..call("x") }, "nothing is to be generated and nothing scored"),
    ];
    for (call, said) in cases {
        let error = answer(&server, &call).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let chat = scored(call("x").prompt, "yes");
    let sglang = Server::start_as(SGLANG, |_, _, stream| reply(stream, "yes"));
    let error = answer(&sglang, &chat).unwrap_err().to_string();
    assert!(error.contains("for raw prompts alone, not for a chat") && error.contains("llama.cpp"), "{error}");
    assert_eq!((server.received().len(), sglang.received().len()), (0, 0));
}

#[test]
fn a_reply_without_the_log_probabilities_that_were_asked_for_is_an_error() {
    let server = Server::start_as(VLLM, |_, _, stream| reply(stream, "yes"));
    let wanted = Call { logprobs: Some(Logprobs::default()), ..call("x") };
    let error = answer(&server, &wanted).unwrap_err().to_string();
    assert!(error.contains("no log-probabilities, which the call asked for"), "{error}");
}

#[test]
fn a_raw_prompt_is_continued_to_the_first_stop_text() {
    let server = Server::start_as(VLLM, |_, _, stream| {
        begin(stream);
        let lists = json!({ "tokens": ["It", " is", ".\n", "Q"], "token_logprobs": [-0.5, -1.0, -0.25, -3.0],
            "top_logprobs": [{ "It": -0.5, "He": -1.5, "A": -2.5 }, { " is": -1.0 }, { ".\n": -0.25 }, {}] });
        let event = json!({ "choices": [{ "index": 0, "text": "It is.\nQ", "logprobs": lists }] });
        send(stream, format!("data: {event}\n\n{}", ending("stop")));
    });
    let raw = Call {
        prompt: Prompt::Raw(segments()),
        prefill: vec![Segment::Content(" A:".into())],
        stop: vec!["Z".into(), "\nQ".into()],
        logprobs: Some(Logprobs { top: 2, watch: Vec::new() }),
        ..call("what")
    };
    let reply = answer(&server, &raw).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("It is.", Finish::Stop));
    let told: Vec<_> = reply.logprobs.iter().map(|token| (token.text.as_str(), token.logprob)).collect();
    assert_eq!(told, [("It", -0.5), (" is", -1.0), (".\n", -0.25)], "they end with the text");
    let top: Vec<_> = reply.logprobs[0].top.iter().map(|one| (one.text.as_str(), one.logprob)).collect();
    assert_eq!(top, [("It", -0.5), ("He", -1.5)]);
    let received = &server.received()[0];
    assert_eq!((received.path(), &received.body["prompt"]), ("/v1/completions", &"<s>Q: why? A:".into()));
    assert_eq!((&received.body["stop"], &received.body["logprobs"]), (&json!(["Z", "\nQ"]), &2.into()));
}

#[test]
fn a_prefilled_chat_is_continued_and_ids_are_read_if_the_server_sends_them() {
    let server = Server::start_as(LLAMA_CPP, |_, _, stream| {
        begin(stream);
        let token = json!({ "id": 7, "token": " 1931", "bytes": [], "logprob": -0.5,
            "top_logprobs": [{ "id": 7, "token": " 1931", "logprob": -0.5 }, { "id": 9, "token": " 19", "logprob": -2.0 }] });
        let text = content_event(" 1931")
            .replace("\"finish_reason\"", &format!("\"logprobs\":{{\"content\":[{token}]}},\"finish_reason\""));
        send(stream, [text, ending("length")].concat());
    });
    let prefilled = Call {
        prefill: vec![Segment::Content("In the year".into())],
        logprobs: Some(Logprobs::default()),
        ..call("what")
    };
    let reply = answer(&server, &prefilled).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), (" 1931", Finish::Length));
    assert_eq!((reply.logprobs[0].id, reply.logprobs[0].top.len()), (Some(7), 0));
    let received = &server.received()[0];
    assert_eq!((received.path(), received.asked()), ("/v1/chat/completions", "In the year"));
    assert_eq!(
        (&received.body["messages"][1]["role"], &received.body["top_logprobs"]),
        (&"assistant".into(), &1.into())
    );
}

#[test]
fn a_prefill_that_the_server_repeats_is_no_part_of_the_reply() {
    let said = |kind: Kind| {
        let server = Server::start_as(kind, |_, _, stream| reply(stream, "In the year 1931"));
        answer(&server, &Call { prefill: vec![Segment::Content("In the year".into())], ..call("what") }).unwrap().text
    };
    assert_eq!(said(LLAMA_CPP), " 1931");
    assert_eq!(said(VLLM), "In the year 1931", "vLLM repeats nothing: the model does");
}

/// vLLM with the tokens "1931" (4) and "it" (2): log-probability -id / 8.
fn vllm(received: &Received, stream: &mut TcpStream) {
    let body = &received.body;
    match received.path() {
        "/tokenize" if body.get("messages").is_some() => say(stream, &json!({ "tokens": [90, 91, 92] })),
        "/tokenize" => say(stream, &encoded(body["prompt"].as_str().unwrap())),
        "/v1/completions" if body.get("prompt_logprobs").is_some() => {
            let one = |id: u64| json!({ "logprob": -(id as f64) / 8.0, "rank": 3, "decoded_token": format!("<{id}>") });
            let step = |id: &Value| {
                let id = id.as_u64().unwrap();
                json!({ id.to_string(): one(id), "1": one(1), "0": one(0) })
            };
            let mut told: Vec<Value> = body["prompt"].as_array().unwrap().iter().map(step).collect();
            told[0] = Value::Null;
            let choice = json!({ "text": "!", "finish_reason": "length", "prompt_logprobs": told });
            say(stream, &json!({ "choices": [choice], "usage": { "prompt_tokens": 5 } }));
        }
        _ => reply(stream, " and on"),
    }
}

#[test]
fn vllm_scores_a_prefilled_chat_and_then_continues_it() {
    let server = Server::start_as(VLLM, |_, received, stream| vllm(received, stream));
    let score = scored(call("what").prompt, "it 1931");
    let reply = answer(&server, &score).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish, &reply.logprobs[..]), ("", Finish::Length, &[][..]));
    assert_eq!(reply.usage, Usage { prompt: 5, reused: 0, computed: 5, generated: 0 });
    let told: Vec<_> = reply.scores.iter().map(|token| (token.id, token.text.as_str(), token.logprob)).collect();
    assert_eq!(told, [(Some(2), "<2>", -0.25), (Some(4), "<4>", -0.5)]);
    let top: Vec<_> = reply.scores[1].top.iter().map(|one| (one.id, one.logprob)).collect();
    assert_eq!(top, [(Some(0), 0.0), (Some(1), -0.125)], "likeliest first");
    let received = server.received();
    assert_eq!(received.iter().map(Received::path).collect::<Vec<_>>(), ["/tokenize", "/tokenize", "/v1/completions"]);
    assert_eq!(
        (&received[0].body["add_generation_prompt"], &received[1].body["prompt"]),
        (&true.into(), &"it 1931".into())
    );
    assert_eq!(received[2].body["prompt"], json!([90, 91, 92, 2, 4]));

    let reply = answer(&server, &Call { max_tokens: 5, logprobs: None, ..score }).unwrap();
    assert_eq!((reply.text.as_str(), reply.scores.len(), reply.usage.prompt), (" and on", 2, 25));
    let last = server.received().pop().unwrap();
    assert_eq!((last.path(), &last.body["continue_final_message"]), ("/v1/chat/completions", &true.into()));
}

#[test]
fn a_server_that_leaves_scores_out_is_an_error() {
    let server = Server::start_as(VLLM, |_, received, stream| match received.path() {
        "/tokenize" => vllm(received, stream),
        _ => say(stream, &json!({ "choices": [{ "text": "!", "finish_reason": "length" }] })),
    });
    let error = answer(&server, &scored(call("what").prompt, "it")).unwrap_err().to_string();
    assert!(error.contains("expected `prompt_logprobs` for each token of the prompt, found {"), "{error}");
    let error = answer(&server, &scored(call("what").prompt, "")).unwrap_err().to_string();
    assert!(error.contains("a score needs a token before the scored text, and one in it"), "{error}");
}

#[test]
fn llama_cpp_scores_a_token_a_request_and_encodes_content_as_text() {
    let server = Server::start_as(LLAMA_CPP, |_, received, stream| match received.path() {
        "/apply-template" => say(stream, &json!({ "prompt": "<s>user what assistant" })),
        "/tokenize" => say(stream, &encoded(received.body["content"].as_str().unwrap())),
        _ => {
            let id = received.body["logit_bias"][0][0].as_u64().unwrap();
            let one =
                |id: u64| json!({ "id": id, "token": format!("<{id}>"), "logprob": -(id as f64) / 8.0, "bytes": [] });
            let mut told = one(id);
            told["top_logprobs"] = json!([one(0), one(1)]);
            say(stream, &json!({ "content": "x", "completion_probabilities": [told] }));
        }
    });
    let reply = answer(&server, &scored(call("what").prompt, "it 1931")).unwrap();
    let told: Vec<_> = reply.scores.iter().map(|token| (token.id, token.logprob, token.top.len())).collect();
    assert_eq!(told, [(Some(2), -0.25, 2), (Some(4), -0.5, 2)]);
    let received = server.received();
    assert_eq!(received[0].body["messages"][0]["content"], "what");
    assert_eq!((&received[1].body["parse_special"], &received[1].body["add_special"]), (&true.into(), &true.into()));
    assert_eq!((&received[2].body["parse_special"], &received[2].body["add_special"]), (&false.into(), &false.into()));
    assert_eq!((&received[3].body["prompt"], &received[4].body["prompt"]), (&json!([7, 4, 9]), &json!([7, 4, 9, 2])));
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    assert_eq!((remote.token("agent", "word"), remote.token("agent", "two words")), (Some(4), None));
}

/// SGLang's own interface: row i of a side is of log-probability -i, the id of the prompt or 70 + i.
fn sglang(received: &Received, stream: &mut TcpStream) {
    let body = &received.body;
    if received.path() == "/tokenize" {
        return say(stream, &encoded(body["prompt"].as_str().unwrap()));
    }
    let ids: Vec<u64> = body["input_ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    let from = body["logprob_start_len"].as_i64().unwrap();
    let input = if from < 0 { &[][..] } else { &ids[from as usize..] };
    let output: Vec<u64> = (0..body["sampling_params"]["max_new_tokens"].as_u64().unwrap()).map(|i| 70 + i).collect();
    let rows = |ids: &[u64]| -> Vec<Value> {
        let row = |(i, id): (usize, &u64)| {
            json!([if i == 0 && ids[0] < 70 { Value::Null } else { json!(-(i as f64)) }, id, "t"])
        };
        ids.iter().enumerate().map(row).collect()
    };
    let watched = |ids: &[u64]| -> Vec<Value> {
        let watch = body["token_ids_logprob"].as_array().cloned().unwrap_or_default();
        let step = |i: usize| watch.iter().map(|id| json!([-(i as f64) - 0.5, id, null])).collect::<Vec<_>>();
        (0..ids.len()).map(|i| json!(step(i))).collect()
    };
    let meta = json!({ "finish_reason": { "type": "stop" }, "completion_tokens": output.len(), "cached_tokens": 1,
        "input_token_logprobs": rows(input), "output_token_logprobs": rows(&output),
        "input_token_ids_logprobs": watched(input), "output_token_ids_logprobs": watched(&output) });
    say(stream, &json!({ "text": "tt", "meta_info": meta }));
}

#[test]
fn sglang_scores_generates_and_watches_in_one_request() {
    let server = Server::start_as(SGLANG, |_, received, stream| sglang(received, stream));
    let logprobs = Some(Logprobs { top: 0, watch: vec![5, 3] });
    let both = Call { max_tokens: 2, logprobs, ..scored(Prompt::Raw(segments()), "it 1931") };
    let reply = answer(&server, &both).unwrap();
    let told: Vec<_> = reply.scores.iter().map(|t| (t.id, t.logprob, t.watched.clone())).collect();
    assert_eq!(told, [(Some(2), -1.0, vec![-1.5, -1.5]), (Some(4), -2.0, vec![-2.5, -2.5])]);
    let told: Vec<_> = reply.logprobs.iter().map(|t| (t.id, t.logprob, t.watched.clone())).collect();
    assert_eq!(told, [(Some(70), 0.0, vec![-0.5, -0.5]), (Some(71), -1.0, vec![-1.5, -1.5])]);
    assert_eq!((reply.text.as_str(), reply.finish), ("tt", Finish::Stop));
    assert_eq!(reply.usage, Usage { prompt: 4, reused: 1, computed: 3, generated: 2 });
    let received = server.received();
    assert_eq!(received.iter().map(Received::path).collect::<Vec<_>>(), ["/tokenize", "/tokenize", "/generate"]);
    assert_eq!(
        (&received[2].body["logprob_start_len"], &received[2].body["token_ids_logprob"]),
        (&1.into(), &json!([5, 3]))
    );

    let reply = answer(&server, &Call { max_tokens: 0, ..both }).unwrap();
    assert_eq!((reply.text.as_str(), reply.scores.len(), reply.logprobs.len()), ("", 2, 0));
    // Without an entry for a watched id there is no score of it.
    let silent = Server::start_as(SGLANG, |_, received, stream| {
        let mut received = received.clone();
        received.body["token_ids_logprob"] = Value::Null;
        sglang(&received, stream);
    });
    let watch = Some(Logprobs { top: 0, watch: vec![5] });
    let watched = Call { prompt: Prompt::Raw(segments()), logprobs: watch, max_tokens: 1, ..call("what") };
    let error = answer(&silent, &watched).unwrap_err().to_string();
    assert!(error.contains("expected those of watched tokens for each of 1 output tokens"), "{error}");
}

#[test]
fn refused_fields_are_in_the_reply() {
    let server = Server::start(|_, received, stream| match received.body.get("seed") {
        Some(_) => {
            respond(stream, "422 Unprocessable Entity", &[], r#"{"detail":[{"loc":["body","seed"],"msg":"extra"}]}"#);
        }
        None => reply(stream, "yes"),
    });
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    for sent in [2, 3] {
        let reply = remote.ask_all(&[call("what")], &mut |_, _| {}).unwrap().remove(0);
        assert_eq!((reply.dropped, server.received().len()), (vec!["seed".to_owned()], sent));
    }
    let whole = Server::start(|_, _, stream| reply(stream, "yes"));
    assert_eq!(answer(&whole, &call("what")).unwrap().dropped, Vec::<String>::new());
}

/// Each value takes more memory than its bytes.
#[test]
fn a_score_of_countless_values_is_refused() {
    for kind in [VLLM, SGLANG, LLAMA_CPP] {
        let body = format!(r#"{{"tokens":[{}0]}}"#, "[],".repeat(20_000));
        let server = Server::start_as(kind, move |_, _, stream| {
            respond(stream, "200 OK", &["content-type: application/json"], &body);
        });
        let error = answer(&server, &scored(Prompt::Raw(segments()), "yes")).unwrap_err().to_string();
        assert!(error.contains("more than ") && error.contains(" values"), "{}: {error}", kind.owned_by);
    }
}
