//! Models behind the trait `Llm`: on servers, several at once, in turn.

mod kinds;
mod methods;
mod peer;
mod remote;
mod replicas;
mod roles;
pub(crate) mod server;
mod turns;
mod wrong;

use moot::cancel::Cancel;
use moot::generation::{Message, Prompt, Role, Schema};
use moot::llm::Call;
use moot::llm::remote::{Address, Key, Notice, Patience, Remote};
use server::Server;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The text of a call's user turn.
fn content(call: &Call) -> &str {
    &call.prompt.messages()[0].content
}

const KEY: &str = "sk-not-for-any-eye";

/// Small limits and short waits, so that no test takes long.
fn impatient() -> Patience {
    Patience {
        calls: 8,
        connect: Duration::from_secs(2),
        silence: Duration::from_millis(300),
        total: Duration::from_secs(3),
        retries: 2,
        first_wait: Duration::from_millis(2),
        longest_wait: Duration::from_secs(1),
    }
}

fn call(content: &str) -> Call {
    let prompt = Prompt::Chat(vec![Message::new(Role::User, content)]);
    Call { seed: 7, ..Call::new(format!("agent of {content}"), "agent", prompt, 20) }
}

fn schema() -> Option<Schema> {
    Some(Schema { name: "reply/some.jsonc".into(), json: r#"{"type":"object"}"#.into() })
}

/// The server's model, opened with a key.
fn open(server: &Server, patience: Patience, cancel: &Cancel) -> (Remote, Arc<Mutex<Vec<String>>>) {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let hears = heard.clone();
    let notice = Notice::new(move |line| hears.lock().unwrap().push(line.to_owned()));
    let address = Address::parse(&format!("{}#tiny", server.base)).unwrap();
    (Remote::open(address, Key::new(KEY), patience, notice, cancel.clone()).unwrap(), heard)
}
