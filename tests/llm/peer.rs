//! A real server: llama.cpp's, on SmolLM2-135M from the user's cache.
//!
//! `MOOT_LLAMA_SERVER=/path/to/llama-server cargo test --release -- --ignored llm::peer` runs these; `moot models pull
//! smollm2-135m` fetches the model.

use super::{call, impatient, schema};
use crate::methods::typed;
use moot::MootError;
use moot::cancel::Cancel;
use moot::generation::{Finish, Logprobs, Prompt, Segment};
use moot::llm::remote::{Address, Notice, Patience, Remote};
use moot::llm::{Call, Llm};
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Document, Question};
use moot::transcript::Parsed;
use moot_models::source;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server's process; it ends with this.
struct Peer {
    child: Child,
    base: String,
}

impl Peer {
    fn start() -> Self {
        let program = std::env::var_os("MOOT_LLAMA_SERVER").expect("MOOT_LLAMA_SERVER names llama.cpp's server");
        let options = source::Options { cache: source::default_cache().unwrap(), offline: true };
        let model = source::locate("smollm2-135m", &options, &mut |_| {}).unwrap().path;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.arg("-m").arg(model).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["-c", "16384", "-np", "4", "--jinja"]).stdout(Stdio::null()).stderr(Stdio::null());
        let peer = Self { child: command.spawn().unwrap(), base: format!("http://127.0.0.1:{port}/v1") };
        let start = Instant::now();
        // The server listens before it has loaded the model, and answers 503 until then; every run waits for that.
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "llama-server does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        peer
    }

    fn open(&self, cancel: &Cancel) -> Remote {
        let patience = Patience {
            silence: Duration::from_secs(120),
            total: Duration::from_secs(300),
            retries: 20,
            first_wait: Duration::from_millis(200),
            ..impatient()
        };
        Remote::open(Address::parse(&self.base).unwrap(), None, patience, Notice::default(), cancel.clone()).unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs llama.cpp's server (MOOT_LLAMA_SERVER) and smollm2-135m in the cache"]
fn a_stage_is_answered_counted_and_repeatable() {
    let peer = Peer::start();
    let remote = peer.open(&Cancel::default());
    assert!(!remote.identity().name.ends_with("/v1"), "{:?}", remote.identity());
    let asked: Vec<Call> = ["Name a colour.", "Name an animal.", "Count to five."].into_iter().map(call).collect();
    let replies = remote.ask_all(&asked, &mut |_, _| {}).unwrap();
    for reply in &replies {
        assert!(!reply.text.is_empty() && reply.usage.prompt > 0 && (1..=20).contains(&reply.usage.generated));
        assert_eq!((&reply.thoughts, &reply.held_by), (&None, &None));
    }
    assert!(replies.iter().any(|reply| reply.finish == Finish::Length || reply.usage.generated < 20));
    let again = remote.ask_all(&asked[..1], &mut |_, _| {}).unwrap();
    assert_eq!(again[0].text, replies[0].text, "greedy");
    let with = Call { logprobs: Some(Logprobs { top: 3, watch: Vec::new() }), max_tokens: 4, ..call("Name a colour.") };
    let reply = remote.ask_all(&[with], &mut |_, _| {}).unwrap().remove(0);
    assert_eq!(reply.logprobs.len(), reply.usage.generated.min(reply.logprobs.len()));
    assert!(reply.logprobs.iter().all(|token| token.logprob <= 0.0 && token.top.len() == 3), "{:?}", reply.logprobs);
}

fn question() -> Question {
    let document = |name: &str, text: &str| Document { name: name.into(), text: text.into(), ..Document::default() };
    let documents = vec![document("a", "The bridge opened in 1931."), document("b", "The bridge opened in 1968.")];
    Question { id: "q".into(), text: "When did the bridge open?".into(), documents, ..Question::default() }
}

#[test]
#[ignore = "needs llama.cpp's server (MOOT_LLAMA_SERVER) and smollm2-135m in the cache"]
fn a_debate_is_held_by_schemas() {
    let peer = Peer::start();
    let remote = peer.open(&Cancel::default());
    let method = methods::build("madam-rag", &typed(&[("rounds", "2")])).unwrap();
    let settings = Settings { max_tokens: 200, ..Settings::default() };
    let record = method.answer(&question(), Tools::new(&remote), &settings, &Silent).unwrap();
    for call in &record.calls {
        assert!(call.grammar.as_deref().is_some_and(|name| name.ends_with(".jsonc")), "{call:?}");
        assert!(call.finish == Finish::Length || (call.raw.is_some() && call.parsed != Parsed::Malformed), "{call:?}");
    }
    assert!(record.calls.iter().any(|call| call.usage.reused > 0), "prompts begin alike");
}

#[test]
#[ignore = "needs llama.cpp's server (MOOT_LLAMA_SERVER) and smollm2-135m in the cache"]
fn scored_choices_are_read_without_a_schema() {
    let peer = Peer::start();
    let remote = peer.open(&Cancel::default());
    let method = methods::build("moot", &typed(&[])).unwrap();
    let record = method.answer(&question(), Tools::new(&remote), &Settings::default(), &Silent).unwrap();
    let scored: Vec<_> = record.calls.iter().filter(|call| call.format == "choice").collect();
    assert!(scored.iter().any(|call| call.role == "examiner") && scored.iter().any(|call| call.role == "screener"));
    for call in scored {
        assert!(call.chosen().is_some() && call.logprobs[0].top.len() > 1, "{call:?}");
    }
}

#[test]
#[ignore = "needs llama.cpp's server (MOOT_LLAMA_SERVER) and smollm2-135m in the cache"]
fn what_it_refuses_is_told_and_a_cancelled_stream_ends() {
    let peer = Peer::start();
    let cancel = Cancel::default();
    let remote = peer.open(&cancel);
    let long = Call { schema: schema(), ..call(&"word ".repeat(30_000)) };
    let refused = remote.ask_all(&[long], &mut |_, _| {}).unwrap_err();
    assert!(matches!(&refused, MootError::Remote { reason, .. } if reason.contains("400 Bad Request")), "{refused:?}");
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            cancel.cancel();
        });
        let endless = Call { max_tokens: 3000, ..call("Tell a very long story.") };
        let ended = remote.ask_all(&[endless], &mut |_, _| {});
        assert!(matches!(ended, Err(MootError::Interrupted)), "{ended:?}");
    });
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
#[ignore = "needs llama.cpp's server (MOOT_LLAMA_SERVER) and smollm2-135m in the cache"]
fn scores_are_the_log_probabilities_of_the_same_tokens_when_they_are_generated() {
    let peer = Peer::start();
    let remote = peer.open(&Cancel::default());
    assert!(remote.capabilities("agent").scores && remote.token("agent", "<|im_end|>").is_some());
    let raw = vec![Segment::Scaffold("The capital of France is".into())];
    let wanted = Some(Logprobs { top: 3, watch: Vec::new() });
    let generate = Call { prompt: Prompt::Raw(raw), max_tokens: 6, logprobs: wanted, ..call("raw") };
    let generated = remote.ask_all(std::slice::from_ref(&generate), &mut |_, _| {}).unwrap().remove(0);
    let prefill = vec![Segment::Content(generated.text.clone())];
    let score = Call { prefill, score: true, max_tokens: 0, ..generate };
    let scored = remote.ask_all(&[score], &mut |_, _| {}).unwrap().remove(0);
    assert_eq!(scored.scores.len(), generated.logprobs.len());
    for (score, token) in scored.scores.iter().zip(&generated.logprobs) {
        assert!(score.id == token.id && (score.logprob - token.logprob).abs() < 0.02, "{score:?} {token:?}");
    }
    let prefilled = Call { prefill: vec![Segment::Content("The capital of France is".into())], ..call("Capitals?") };
    assert!(!remote.ask_all(&[prefilled], &mut |_, _| {}).unwrap()[0].text.contains("The capital of France is"));
}
