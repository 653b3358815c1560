//! From a text to its claims.

use crate::answers::quote::single_spaced;
use crate::answers::words::Level;
use crate::error::Result;
use crate::generation::Finish;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::claims::CLAIMS;
use crate::protocol::{Ask, Ctx};
use crate::retrieval::chunk::sentences::sentences;
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

/// The prompt that breaks a text down.
pub(crate) const DECOMPOSER: File = prompt_file!("conflict_score/decomposer.jinja");

/// The role that breaks texts down.
pub(crate) const ROLE: &str = "decomposer";

/// Words of a text, or of a part of one, that is broken down in one call. Small models miss claims of longer texts.
const PART_WORDS: usize = 150;

/// Tokens for each claim that may be written.
const CLAIM_TOKENS: usize = 48;

/// Tokens of a list of claims at most.
const LIST_TOKENS: usize = 1536;

/// How a text is broken down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Every claim.
    All,
    /// The most important ones, from the whole text at once.
    Salient,
    /// The whole text is one claim.
    Whole,
}

/// A text to break down.
pub(crate) struct Text<'a> {
    /// The question that it answers; empty for none.
    pub question: &'a str,
    /// The text.
    pub text: &'a str,
    /// The number of the document whose text it is; `None` for an answer or a report.
    pub from: Option<usize>,
}

/// The claims of each of `texts`, at most `most` each, without repeats. A text whose claims cannot be read has its sentences
/// as claims instead, which is recorded as a fallback. So is a list that was cut, one that is full, and claims beyond `most`,
/// unless only salient claims are wanted.
///
/// # Errors
/// A call that fails, as for a text longer than the model's context. Where all texts are documents, one that fails leaves its
/// document without claims and is recorded as an event, unless all of them fail.
pub(crate) fn decompose(
    ctx: &mut Ctx<'_>,
    texts: &[Text<'_>],
    extent: Extent,
    most: usize,
) -> Result<Vec<Vec<String>>> {
    if extent == Extent::Whole {
        return Ok(texts.iter().map(whole).collect());
    }
    let (mut asks, mut of) = (Vec::new(), Vec::new());
    for (index, text) in texts.iter().enumerate() {
        let parts = match extent {
            Extent::All => parts(text.text),
            _ => vec![text.text.trim()],
        };
        for part in &parts {
            asks.push(ask(text, if parts.len() > 1 { Some(part) } else { None }, extent, most));
            of.push((index, *part));
        }
    }
    let mut claims: Vec<Vec<String>> = vec![Vec::new(); texts.len()];
    let documents = texts.iter().all(|text| text.from.is_some());
    let results =
        if documents { some(ctx.try_all(&asks)?)? } else { ctx.ask_all(&asks)?.into_iter().map(Some).collect() };
    for (call, (index, part)) in results.into_iter().zip(of) {
        let Some(call) = call else { continue };
        match &call.parsed {
            Parsed::Answers { answers, .. } => {
                note_end(ctx, &call, answers.len(), extent);
                claims[index].extend(answers.iter().cloned());
            }
            _ => {
                ctx.fall_back("a list of claims could not be read: the sentences of its text are the claims");
                claims[index].extend(sentences(part).into_iter().map(|range| single_spaced(&part[range])));
            }
        }
    }
    Ok(claims.into_iter().map(|claims| bounded(ctx, claims, extent, most)).collect())
}

/// The results of calls that may fail, but not all of them.
fn some(results: Vec<Result<CallRecord>>) -> Result<Vec<Option<CallRecord>>> {
    if results.iter().any(Result::is_ok) {
        return Ok(results.into_iter().map(Result::ok).collect());
    }
    results.into_iter().map(|result| result.map(Some)).collect()
}

/// Records that a list of claims may have ended before its text did.
fn note_end(ctx: &mut Ctx<'_>, call: &CallRecord, claims: usize, extent: Extent) {
    if call.finish == Finish::Length {
        let tokens = call.max_tokens;
        ctx.fall_back(format!(
            "a list of claims was cut at {tokens} tokens: claims after its {claims} were not checked"
        ));
    } else if extent == Extent::All && call.format_values["most"] == claims {
        ctx.fall_back(format!("a list of claims is full with {claims}: there may be more that were not checked"));
    }
}

/// The first `most` of `claims`, without repeats.
fn bounded(ctx: &mut Ctx<'_>, claims: Vec<String>, extent: Extent, most: usize) -> Vec<String> {
    let mut claims = Level::Voted.without_repeats(claims);
    if extent == Extent::All && claims.len() > most {
        ctx.fall_back(format!("{} claims beyond the first {most} were not checked", claims.len() - most));
    }
    claims.truncate(most);
    claims
}

fn whole(text: &Text<'_>) -> Vec<String> {
    let text_alone = single_spaced(text.text);
    let claim = if text.question.trim().is_empty() { text_alone } else { statement(text.question, &text_alone) };
    vec![claim]
}

/// A question and an answer as one claim.
#[must_use]
pub(crate) fn statement(question: &str, answer: &str) -> String {
    format!("The answer to the question \"{}\" is: {}", single_spaced(question), single_spaced(answer))
}

/// Consecutive sentences of at most [`PART_WORDS`] words together; a longer sentence is a part of its own.
fn parts(text: &str) -> Vec<&str> {
    let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
    let words = |range: &std::ops::Range<usize>| text[range.clone()].split_whitespace().count();
    for sentence in sentences(text) {
        match parts.last_mut() {
            Some(last) if words(&(last.start..sentence.end)) <= PART_WORDS => last.end = sentence.end,
            _ => parts.push(sentence),
        }
    }
    parts.into_iter().map(|range| &text[range]).collect()
}

fn ask(text: &Text<'_>, part: Option<&str>, extent: Extent, most: usize) -> Ask {
    let salient = extent == Extent::Salient;
    // Claims of one sentence share its subject, so a list may have one for every two words; none needs more items.
    let words = part.unwrap_or(text.text).split_whitespace().count();
    // A sentence in a script without spaces counts as one word, so characters are counted too.
    let characters = part.unwrap_or(text.text).chars().count();
    let items = most.min((words.max(characters / 6) / 2).max(4));
    let question = Some(text.question).filter(|question| !question.trim().is_empty());
    let values = json!({
        "question": question, "text": text.text.trim(), "part": part, "salient": salient, "most": items,
    });
    let ask = Ask::new(ROLE, DECOMPOSER, values, &CLAIMS).format_values(json!({ "most": items }));
    let ask = ask.max_tokens((CLAIM_TOKENS * items).min(LIST_TOKENS));
    match text.from {
        Some(number) => ask.document(number),
        None => ask,
    }
}
