//! A call and its reply, as `moot.Call` has them. Documents are numbered from 1, as everywhere outside the program.

use moot::generation::{Finish, Segment};
use moot::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};

/// A recorded call.
pub(crate) fn json(call: &CallRecord) -> Value {
    let answers = match &call.parsed {
        Parsed::Answers { answers, .. } => Some(json!(answers)),
        Parsed::Answer { answer, .. } => Some(json!(answer.iter().collect::<Vec<_>>())),
        _ => None,
    };
    let data = match &call.parsed {
        Parsed::Fields(fields) => json!(fields),
        _ => Value::Null,
    };
    json!({
        "number": call.number,
        "stage": call.stage,
        "round": call.round,
        "role": call.role,
        "document": call.document.map(|number| number + 1),
        "sample": call.sample,
        "format": call.format,
        "messages": call.messages,
        "reply": call.prefill.iter().map(Segment::text).chain([call.reply.as_str()]).collect::<String>(),
        "thoughts": call.thoughts.as_ref().map(|thoughts| &thoughts.text),
        "answers": answers,
        "chosen": call.chosen(),
        "explanation": call.explanation(),
        "data": data,
        "malformed": call.parsed == Parsed::Malformed,
        "score": call.mean_score(),
        "cut": call.finish == Finish::Length,
        "usage": call.usage,
        "seconds": call.seconds,
    })
}
