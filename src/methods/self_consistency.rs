//! Self-consistency (Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models"): several sampled
//! replies to the concatenated prompt, and the answer that most of them give.

use crate::answers::equality;
use crate::answers::vote;
use crate::error::Result;
use crate::generation::Sampling;
use crate::protocol::equality::Equality;
use crate::protocol::formats::ANSWERS;
use crate::protocol::readers::{CONCATENATED, SAMPLING, of_all_documents};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use std::collections::BTreeSet;

/// Self-consistency's row.
pub(crate) static ROW: Row = Row {
    name: "self-consistency",
    paper: "Self-Consistency Improves Chain of Thought Reasoning in Language Models (arXiv 2203.11171), section 2",
    about: "several sampled replies to the concatenated prompt; most of them win",
    protocol: "\
1. The reader answers the concatenated prompt several times, sampled (temperature 0.7, top-k 40, unless the run samples).
2. With `tokens`, as many samples are made as that many tokens (prompt and generated) pay for, at least one: the first one
   is the measure. So a comparison spends what the compared method spends.
3. Each sample's list of answers is one vote, an empty list (unknown) too; lists are equal as sets of equal answers
   (`equality`). Ties go to the list given first. Malformed samples do not vote; where all are malformed, there is no answer.",
    calls: "samples (5 by default); with `tokens` as many as they pay for, at most `samples` where that is typed too",
    headline: "",
    prompts: &[CONCATENATED],
    formats: &[&ANSWERS],
    roles: &["reader"],
    switches: &[
        Switch { name: "samples", about: "replies that vote, at most", kind: Kind::Count(1, 256), default: "5" },
        Switch {
            name: "tokens",
            about: "tokens that a question may spend; 0 for no limit",
            kind: Kind::Count(0, 100_000_000),
            default: "0",
        },
        crate::protocol::equality::SWITCH,
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs { equality: true, embedder: true, ..Needs::DOCUMENTS },
    build,
};

struct SelfConsistency {
    samples: usize,
    tokens: usize,
    equality: Equality,
}

/// With a limit of tokens, the number of samples follows from it unless it was typed too.
fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let tokens = values.count("tokens");
    if tokens > 0 && !values.is_typed("samples") {
        values.set("samples", 256);
    }
    let equality = Equality::of(values);
    Ok(Box::new(SelfConsistency { samples: values.count("samples"), tokens, equality }))
}

impl Method for SelfConsistency {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let mut ask = of_all_documents(question);
        if ctx.settings().sampling == Sampling::Greedy {
            ask = ask.sampling(SAMPLING);
        }
        let mut replies = Vec::new();
        let mut left = self.samples;
        if self.tokens > 0 {
            let first = ctx.ask(ask.clone())?;
            let spent = first.usage.prompt.saturating_add(first.usage.generated);
            // The nearest whole number of samples.
            // A server that does not count tokens may report none: hence no division by `spent` itself.
            left = ((self.tokens + spent / 2) / spent.max(1)).clamp(1, self.samples) - 1;
            replies.push(first);
        }
        if left > 0 {
            replies.extend(ctx.ask_all(&[ask.samples(left)])?);
        }
        let all: Vec<&str> = replies.iter().filter_map(answers).flatten().map(String::as_str).collect();
        let classes = self.equality.classes(question, &all, ctx)?;
        let Some(winner) = winner(&replies, &equality::by_first(&all, &classes)) else {
            let calls = replies.iter().map(|call| call.number).collect();
            return Ok(Conclusion { malformed: true, rounds: 1, calls, ..Conclusion::default() });
        };
        Ok(vote::reader(winner, &question.documents))
    }
}

/// The first reply whose answers most replies give; malformed replies do not vote. `equal` has one of each class of
/// equal answers instead of every answer, in the order of the replies.
fn winner<'a>(replies: &'a [CallRecord], equal: &[&str]) -> Option<&'a CallRecord> {
    let mut rest = equal;
    let mut sets: Vec<(&CallRecord, BTreeSet<&str>)> = Vec::new();
    for call in replies {
        let Some(answers) = answers(call) else { continue };
        let (own, after) = rest.split_at(answers.len());
        rest = after;
        sets.push((call, own.iter().copied().collect()));
    }
    let votes = |set: &BTreeSet<&str>| sets.iter().filter(|(_, other)| other == set).count();
    // `max_by_key` gives the last of equals: from the back, that is the first reply.
    sets.iter().rev().max_by_key(|(_, set)| votes(set)).map(|(call, _)| *call)
}

/// A reply's answers; `None` where it is malformed.
fn answers(call: &CallRecord) -> Option<&Vec<String>> {
    match &call.parsed {
        Parsed::Answers { answers, .. } => Some(answers),
        _ => None,
    }
}
