//! Responses of a remote model's server: streams of events, whole replies, scores, lists of models, errors.

use super::Bound;
use moot::generation::{Logprobs, Message, Prompt, Role, Segment};
use moot::llm::Call;
use moot::llm::remote::{Address, Answer, InProcess, Key};
use moot::{MootError, Result};

/// A response has at most 64 KiB and 6.5 KiB a token, here all of an input. An item of a list of JSON values (`0,`) takes
/// 72 bytes in a vector that doubles; a token with log-probability is some 100 bytes and as long on the wire. The client's
/// own settings and TLS roots are fixed.
pub(super) const BOUND: Bound = Bound { fixed: 8 << 20, factor: 400 };

const BASE: &str = "http://127.0.0.1:1/v1";

const KEY: &str = "sk-fuzz/key";

/// The first line says the kind of server, what is called, and the response's head: "sglang score 200 application/json".
/// The rest is the body.
pub(super) fn stream(bytes: &[u8]) -> Result<()> {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let body = bytes[(end + 1).min(bytes.len())..].to_vec();
    let words: Vec<&str> = head.split_whitespace().collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let (owner, what) = (word(0).to_owned(), word(1).to_owned());
    let status = word(2).parse().ok().filter(|status| (200..600).contains(status)).unwrap_or(200);
    let answer = Answer { status, content_type: word(3).to_owned(), body };
    let call = call(&what);
    let server = InProcess::new(move |path| {
        let json = |text: String| Answer { status: 200, content_type: "application/json".into(), body: text.into() };
        match path {
            "/v1/models" if what != "models" => {
                json(format!(r#"{{"data":[{{"id":"tiny","owned_by":{owner:?},"max_model_len":4096}}]}}"#))
            }
            "/tokenize" if what != "tokenize" => json(r#"{"tokens":[5,6]}"#.into()),
            "/apply-template" if what != "template" => json(r#"{"prompt":"x"}"#.into()),
            _ => answer.clone(),
        }
    });
    let outcome = server
        .open(Address { base: BASE.into(), model: None }, Key::new(KEY))
        .and_then(|remote| remote.answer_here(&call));
    let told = format!("{outcome:?}");
    assert!(!told.contains(KEY), "the key is in what a server said");
    outcome.map(drop).map_err(|error| {
        let said = error.to_string();
        assert!(said.chars().count() <= 1000 && !said.contains('\n'), "{said}");
        // The found value comes from the body: the beginning of the message identifies the outcome.
        let reason = said.trim_start_matches(BASE).trim_start_matches(&call.what).trim_start_matches(": ");
        MootError::Usage(reason.split([':', '`', '"']).next().unwrap_or_default().to_owned())
    })
}

fn call(what: &str) -> Call {
    let chat = Prompt::Chat(vec![Message::new(Role::User, "In which year?")]);
    let call = Call::new("agent of a.txt, round 1", "agent", chat, 32);
    let logprobs = Some(Logprobs { top: 2, watch: Vec::new() });
    let raw = Prompt::Raw(vec![Segment::Content("In which year?".into())]);
    match what {
        "logprobs" => Call { logprobs, stop: vec!["\n".into()], think: 8, ..call },
        "score" | "tokenize" | "template" => {
            let prompt = if what == "score" { raw } else { call.prompt.clone() };
            Call { prompt, score: true, prefill: vec![Segment::Content("yes".into())], logprobs, ..call }
        }
        "watch" => Call { prompt: raw, logprobs: Some(Logprobs { top: 1, watch: vec![7, 9] }), ..call },
        _ => call,
    }
}
