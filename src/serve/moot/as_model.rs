//! A method as a model of OpenAI's API: `moot/madam-rag`, `moot/madam-rag:tuned`. The last message is the question; documents
//! come with the request or from the server's corpus. What agents say is the reasoning, the answer cites documents.

use crate::assess::Answered;
use crate::assess::answered::{Said, Stood};
use crate::cancel::Cancel;
use crate::protocol::Row;
use crate::serve::moot::ask::{self, Body};
use crate::serve::moot::given::GivenDocument;
use crate::serve::moot::sink::Sink;
use crate::serve::moot::turns::Turns;
use crate::serve::refusal::Answer;
use crate::serve::state::{State, run, run_streamed};
use crate::serve::stream::Events;
use crate::workspace::MethodOptions;
use axum::Json;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Prefix of a method's name as a model.
const PREFIX: &str = "moot/";

/// The names of a method and its presets as models, with their descriptions.
pub(in crate::serve) fn names(row: &'static Row) -> impl Iterator<Item = (String, &'static str)> {
    let presets = row.presets.iter().map(|preset| (format!("{PREFIX}{}:{}", row.name, preset.name), preset.about));
    std::iter::once((format!("{PREFIX}{}", row.name), row.about)).chain(presets)
}

/// `name` without the prefix, where it names a method.
pub(in crate::serve) fn method(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// A question to a method.
pub(in crate::serve) struct Asked {
    model: String,
    body: Body,
}

impl Asked {
    /// Of `method`, perhaps with `:preset`.
    pub(in crate::serve) fn of(method: &str, question: String, documents: Vec<GivenDocument>) -> Self {
        let (name, preset) = match method.split_once(':') {
            Some((name, preset)) => (name, Some(preset.to_owned())),
            None => (method, None),
        };
        let options = MethodOptions { name: Some(name.to_owned()), preset, ..MethodOptions::default() };
        let body = Body { question, documents, method: Some(options.into()), ..Body::default() };
        Self { model: format!("{PREFIX}{method}"), body }
    }
}

/// The reply as a completion, whole or streamed.
pub(in crate::serve) async fn answer(state: Arc<State>, asked: Asked, streams: bool, with_usage: bool) -> Answer {
    let Asked { model, body } = asked;
    let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    if streams {
        return run_streamed(state, move |state, cancel, events| {
            let turns = Turns::new(events, &state.records.new_id(), created, &model);
            streamed(state, &turns, body, with_usage, cancel, events)
        })
        .await;
    }
    let reply = run(state, move |state, cancel| {
        let reply = ask::answer(state, body, cancel, &Sink::Discard)?;
        let message = json!({ "role": "assistant", "content": text(&reply.answered), "refusal": null });
        let id = reply.id.clone().unwrap_or_else(|| state.records.new_id());
        Ok(json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": created, "model": model,
            "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" }],
            "usage": usage(&reply.answered), "moot": reply,
        }))
    });
    reply.await.map(|reply| Json(reply).into_response())
}

fn streamed(
    state: &State,
    turns: &Turns,
    body: Body,
    with_usage: bool,
    cancel: &Cancel,
    events: &Events,
) -> Answer<()> {
    turns.delta(&json!({ "role": "assistant", "content": "" }));
    let reply = ask::answer(state, body, cancel, &Sink::Reasoning(turns.clone()))?;
    turns.delta(&json!({ "content": text(&reply.answered) }));
    turns.end(json!(reply));
    if with_usage {
        turns.usage(usage(&reply.answered));
    }
    events.done();
    Ok(())
}

fn usage(answered: &Answered) -> Value {
    let usage = answered.usage;
    json!({
        "prompt_tokens": usage.prompt, "completion_tokens": usage.generated,
        "total_tokens": usage.prompt + usage.generated,
        "prompt_tokens_details": { "cached_tokens": usage.reused },
    })
}

/// The answers as text: each with its probability and the documents for and against it, which are listed below.
pub(in crate::serve) fn text(answered: &Answered) -> String {
    let mut text = String::new();
    if let Some(why) = answered.no_answer {
        let _ = writeln!(text, "{why}");
    }
    for answer in &answered.answers {
        line(&mut text, answer);
    }
    if !answered.explanation.trim().is_empty() {
        let _ = write!(text, "\n{}\n", answered.explanation.trim());
    }
    for refused in &answered.refused {
        let _ = write!(text, "\nRefused: {refused}, which is from the prompt's worked example and in no document.\n");
    }
    if !answered.rejected.is_empty() {
        text.push_str("\nNot taken up:\n\n");
        answered.rejected.iter().for_each(|answer| line(&mut text, answer));
    }
    text.push('\n');
    for document in &answered.documents {
        let known: Vec<&str> = [&document.source, &document.date].into_iter().flatten().map(String::as_str).collect();
        let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
        // Two spaces at the end of a line keep it apart from the next in Markdown.
        let _ = writeln!(text, "[{}] {}{known}  ", document.number, document.name);
    }
    text
}

/// One answer of a list.
fn line(text: &mut String, answer: &Stood) {
    let _ = write!(text, "- **{}**", answer.text);
    if let Some(probability) = answer.probability {
        let _ = write!(text, ", {:.0} %", probability * 100.0);
    }
    if let Some(about) = &answer.about {
        let _ = write!(text, ", about {about}");
    }
    let cited = |said: &[Said]| said.iter().map(|said| format!("[{}]", said.document)).collect::<String>();
    for (what, said) in
        [("for", &answer.supporters), ("against", &answer.opponents), ("mentioned in", &answer.mentioned)]
    {
        if !said.is_empty() {
            let _ = write!(text, "; {what} {}", cited(said));
        }
    }
    if let Some(conflict) = &answer.conflict {
        let _ = write!(text, "; {}", conflict.text);
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::assess::Answered;
    use crate::question::{Answer, Conclusion};
    use crate::transcript::QuestionRecord;

    #[test]
    fn a_conclusion_without_answers_says_why() {
        let told = |conclusion: Conclusion| {
            let record = QuestionRecord { conclusion: Some(conclusion), ..QuestionRecord::default() };
            text(&Answered::of("moot", &record).unwrap())
        };
        assert_eq!(told(Conclusion::default()), "Unknown: no answer was judged right.\n\n");
        let malformed = told(Conclusion { malformed: true, ..Conclusion::default() });
        assert_eq!(malformed, "No answer: the concluding reply does not keep its format.\n\n");
        let refused = told(Conclusion { refused: vec!["1913".into()], ..Conclusion::default() });
        assert!(refused.starts_with("Unknown: every answer was refused.\n\nRefused: 1913, which"), "{refused}");
        let answered = told(Conclusion { answers: vec![Answer::new("1931")], ..Conclusion::default() });
        assert_eq!(answered, "- **1931**\n\n");
    }
}
