//! A question's record as text, for golden files: whole prompts, replies, events and the conclusion, in their order.

use crate::prompts::golden;
use moot::generation::{Prompt, Role, Sampling, Segment};
use moot::question::Answer;
use moot::transcript::{CallRecord, Event, QuestionRecord};
use std::fmt::Write;

/// Equal to `tests/golden/transcripts/NAME.txt`, which `MOOT_GOLDEN=write` writes anew.
pub(super) fn is_golden(name: &str, record: &QuestionRecord) {
    golden(&format!("transcripts/{name}.txt"), &written(record));
}

fn written(record: &QuestionRecord) -> String {
    let mut text = String::new();
    let mut events = record.events.iter().peekable();
    for call in &record.calls {
        while let Some(event) = events.next_if(|event| event.stage() <= call.stage) {
            text.push_str(&of_event(event));
        }
        text.push_str(&of_call(call, &record.calls[..call.number]));
    }
    events.for_each(|event| text.push_str(&of_event(event)));
    if let Some(conclusion) = &record.conclusion {
        let list = |answers: &[Answer]| answers.iter().map(of_answer).collect::<String>();
        write!(
            text,
            "== conclusion: calls {:?}, {} rounds, converged {}, malformed {}\nanswers:\n{}rejected:\n{}explanation: {}\n",
            conclusion.calls,
            conclusion.rounds,
            conclusion.converged,
            conclusion.malformed,
            list(&conclusion.answers),
            list(&conclusion.rejected),
            conclusion.explanation
        )
        .unwrap();
    }
    text
}

fn of_answer(answer: &Answer) -> String {
    let Answer { text, supporters, opponents, mentions, marks, estimate } = answer;
    let marks = if marks.is_empty() { String::new() } else { format!(", marks {marks:?}") };
    let estimate = estimate.as_ref().map_or(String::new(), |one| {
        let features: Vec<String> = one.features.iter().map(|(name, x)| format!("{name} {x:.3}")).collect();
        format!("\n    {:.3}, about {:?}: {}", one.probability, one.about, features.join(", "))
    });
    format!("  {text}: supporters {supporters:?}, opponents {opponents:?}, mentions {mentions:?}{marks}{estimate}\n")
}

fn of_event(event: &Event) -> String {
    match event {
        Event::Retrieval { stage, queries, top, hits, .. } => {
            let mut text = String::new();
            for (query, hits) in queries.iter().zip(hits) {
                let found = hits.len();
                writeln!(text, "== event at stage {stage}: searched for {query:?}, {top} wanted, {found} found")
                    .unwrap();
                hits.iter().for_each(|hit| writeln!(text, "-- found: {}", hit.passage.text).unwrap());
            }
            text.push('\n');
            text
        }
        Event::Fallback { stage, what, .. } => format!("== event before stage {stage}: fallback: {what}\n\n"),
        other => format!("== event: {other:?}\n\n"),
    }
}

fn of_call(call: &CallRecord, before: &[CallRecord]) -> String {
    let document = call.document.map(|number| format!(" of document {number}")).unwrap_or_default();
    let sampled = match call.sampling.unwrap() {
        Sampling::Greedy => "greedy".to_owned(),
        Sampling::Seeded { temperature, top_k, top_p } => format!("sampled {temperature} {top_k} {top_p}"),
    };
    let mut text = format!(
        "== call {}: {}{document}, round {}, stage {}, sample {} ({}, format {}, {} tokens, {sampled})\n",
        call.number, call.role, call.round, call.stage, call.sample, call.prompt, call.format, call.max_tokens
    );
    match call.sent() {
        Prompt::Chat(messages) => {
            for (turn, message) in messages.iter().enumerate() {
                let role = match message.role {
                    Role::System => "system",
                    Role::User => "user",
                    Role::Assistant => "assistant",
                };
                // A turn that was shown is shown once.
                let shown = before.iter().find(|call| call.messages.get(turn) == Some(message));
                match shown {
                    Some(call) => writeln!(text, "-- {role}: as in call {}", call.number),
                    None => writeln!(text, "-- {role}:\n{}", message.content),
                }
                .unwrap();
            }
        }
        Prompt::Raw(segments) => {
            writeln!(text, "-- raw:\n{}", segments.iter().map(Segment::text).collect::<String>()).unwrap();
        }
    }
    if !call.prefill.is_empty() {
        writeln!(text, "-- begun:\n{}", call.prefill.iter().map(Segment::text).collect::<String>()).unwrap();
    }
    if !call.format_values.is_null() {
        writeln!(text, "-- values: {}", call.format_values).unwrap();
    }
    writeln!(text, "-- reply:\n{}\n", call.reply).unwrap();
    text
}
