//! Whole debates on remote models, and on several models.

use super::server::{Kind, Server, begin, content_event, ending, reply, send};
use super::{KEY, impatient, open};
use crate::methods::typed;
use moot::cancel::Cancel;
use moot::generation::Thoughts;
use moot::llm::Llm;
use moot::llm::replay::Replay;
use moot::llm::roles::Roles;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Document, Question};
use moot::transcript::{CallRecord, Parsed};

fn question() -> Question {
    let document = |name: &str, text: &str| Document { name: name.into(), text: text.into(), ..Document::default() };
    let documents = vec![document("a.md", "She was born in 1931."), document("b.md", "She was born in 1968.")];
    Question { id: "q".into(), text: "When was she born?".into(), documents, ..Question::default() }
}

fn answer(llm: &dyn Llm, settings: &Settings) -> moot::transcript::QuestionRecord {
    let method = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap();
    method.answer(&question(), Tools::new(llm), settings, &Silent).unwrap()
}

fn server() -> Server {
    Server::start(|_, received, stream| {
        let asked = received.asked();
        let said = if asked.contains("several agents") {
            r#"<think>Both.</think>{"answers": ["1931", "1968"], "explanation": "Two \"women\"."}"#
        } else if asked.contains("1931") {
            r#"{"answer": "1931", "explanation": "It says\nso."}"#
        } else {
            r#"{"answer": "unknown", "explanation": "No."}"#
        };
        reply(stream, said);
    })
}

#[test]
fn a_server_with_schemas_debates_like_any_model() {
    let server = server();
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    let record = answer(&remote, &Settings::default());
    let [first, second, aggregator] = &record.calls[..] else { panic!("{} calls", record.calls.len()) };
    assert_eq!(first.reply, "Answer: 1931. Explanation: It says so.");
    assert_eq!(first.raw.as_deref(), Some("{\"answer\": \"1931\", \"explanation\": \"It says\\nso.\"}"));
    assert_eq!(first.grammar.as_deref(), Some("reply/answer.jsonc"));
    assert!(matches!(&second.parsed, Parsed::Answer { answer: None, .. }));
    assert_eq!(aggregator.reply, "All Correct Answers: [\"1931\", \"1968\"]. Explanation: Two \"women\".");
    assert_eq!(aggregator.thoughts, Some(Thoughts { text: "Both.".into(), tokens: 0, cut: false }));
    let told = &aggregator.messages[0].content;
    assert!(told.contains("Agent 1: Answer: 1931. Explanation: It says so.") && !told.contains("{\"answer\""));
    assert!(record.conclusion.as_ref().unwrap().answers.iter().map(|answer| answer.text.as_str()).eq(["1931", "1968"]));

    let line = serde_json::to_string(&record).unwrap();
    assert!(!line.contains(KEY));
    let read: moot::transcript::QuestionRecord = serde_json::from_str(&line).unwrap();
    assert_eq!(read, record);
    let replay = Replay::new(remote.identity().clone(), &record.calls);
    assert_eq!(answer(&replay, &Settings::default()).calls, record.calls);
}

#[test]
fn models_here_and_elsewhere_mix() {
    let server = server();
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    let here = Scripted::new(|_| "<think>Let me see.</think>Answer: 1968. Explanation: As I read it.".to_owned());
    let by_role = [("agent".to_owned(), 0), ("aggregator".to_owned(), 1)].into();
    let roles = Roles::new(vec![Box::new(here), Box::new(remote)], by_role, 0);
    let record = answer(&roles, &Settings { think: 9, ..Settings::default() });
    let texts: Vec<Option<&Thoughts>> = record.calls.iter().map(|call| call.thoughts.as_ref()).collect();
    assert!(texts.iter().all(Option::is_some));
    assert_eq!(record.calls[0].reply, "Answer: 1968. Explanation: As I read it.");
    assert!(!record.calls[2].messages[0].content.contains("Let me see"), "thoughts are shown to no other agent");

    assert_eq!((roles.identity().name.as_str(), roles.identity_of("agent").name.as_str()), ("scripted", "scripted"));
    assert_eq!(roles.identity_of("aggregator").architecture, "remote");
    let replay = Replay::new(roles.identity().clone(), &record.calls);
    let again = answer(&replay, &Settings { think: 9, ..Settings::default() });
    assert_eq!(again.calls, record.calls);
}

/// A record of a version before thoughts, schemas and roles is read as one without them.
#[test]
fn calls_of_older_records_are_read() {
    let record = answer(&Scripted::new(|_| "Answer: 1. Explanation: x".into()), &Settings::default());
    let call = serde_json::to_value(&record.calls[0]).unwrap();
    assert!(["raw", "thoughts"].iter().all(|field| call.get(field).is_none()), "{call}");
    assert_eq!(serde_json::from_value::<CallRecord>(call).unwrap(), record.calls[0]);
    assert!(serde_json::to_value(Settings::default()).unwrap().get("think").is_none());
}

/// A server that holds replies by schemas alone would reply to a scored choice with an object, whose first token is a brace.
#[test]
fn a_scored_choice_is_read_from_the_first_token_of_a_reply_that_nothing_holds() {
    let server = Server::start_as(Kind { owned_by: "vllm", page: None }, |_, received, stream| {
        let held = received.body.get("response_format").is_some();
        let said = if held { r#"{"about": "Mira Tolland", "answer": "1931"}"# } else { "The" };
        let top = [("The", -0.1), ("yes", -3.0), ("no", -5.0), ("A", -3.5), ("B", -4.5)];
        let top = top.map(|(token, logprob)| serde_json::json!({ "token": token, "logprob": logprob }));
        let token = serde_json::json!({ "token": said, "logprob": -0.1, "top_logprobs": top });
        let logprobs = format!("\"logprobs\":{{\"content\":[{token}]}},\"finish_reason\"");
        let text = content_event(said).replace("\"finish_reason\"", &logprobs);
        begin(stream);
        send(stream, [text, ending("stop")].concat());
    });
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    let method = methods::build("moot", &typed(&[])).unwrap();
    let record = method.answer(&question(), Tools::new(&remote), &Settings::default(), &Silent).unwrap();
    let of = |role: &str| record.calls.iter().filter(|call| call.role == role).collect::<Vec<_>>();
    assert!(of("reader").iter().all(|call| call.grammar.is_some() && call.parsed != Parsed::Malformed));
    let examined = of("examiner");
    assert!(!examined.is_empty());
    for call in examined {
        assert_eq!((call.reply.as_str(), call.grammar.as_deref(), call.chosen()), ("The", None, Some("yes")));
    }
    let screened = of("screener");
    assert!(!screened.is_empty() && screened.iter().all(|call| call.chosen() == Some("A")));
}
