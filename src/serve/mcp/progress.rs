//! Events of a call, as notifications of its progress.

use crate::cancel::Cancel;
use crate::serve::mcp::rpc::{Id, notification};
use crate::serve::moot::sink::Sink;
use crate::serve::moot::turns::line;
use crate::units::plural;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Sends a notification for each stage and each call, numbered from 1; none where the client gave no token, and none after the
/// call was cancelled.
pub(super) fn sink(token: Option<Id>, cancel: &Cancel, send: impl Fn(&Value) + Send + Sync + 'static) -> Sink {
    let Some(token) = token else { return Sink::Discard };
    let (cancel, sent) = (cancel.clone(), Mutex::new(0_u64));
    Sink::Told(Arc::new(move |name, value| {
        let Some(message) = message(name, value).filter(|_| !cancel.is_cancelled()) else { return };
        // Held while it is sent: numbers must grow on the wire.
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        *sent += 1;
        let params = json!({ "progressToken": token, "progress": *sent, "message": message });
        send(&notification("notifications/progress", &params));
    }))
}

fn message(name: &str, value: &Value) -> Option<String> {
    let number = |field: &str| value[field].as_u64().unwrap_or_default();
    match name {
        "loading" => Some("the models are being loaded".into()),
        "stage" => Some(format!("stage {}: {}", number("stage") + 1, plural(number("calls"), "call", "calls"))),
        "reading" | "labelling" => Some(format!("{name}: {} of {}", number("done"), number("of"))),
        "document" => Some(format!("found {}", value["name"].as_str().unwrap_or_default())),
        _ => line(name, value),
    }
}
