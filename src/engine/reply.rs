//! Extends one sequence after a step: samples its next tokens, compares them with its draft, appends them to its thoughts
//! or its reply, and ends it.

use super::next_token::{Next, failed, mask, reports_logprobs};
use super::request::{Completion, Event, Request};
use super::sampler;
use super::sequence::Sequence;
use crate::error::{MootError, Result};
use crate::generation::Finish;
use moot_models::Model;
use moot_models::kernels::ops::read_floats;

/// Extends `sequence` by `next`. Logits after a draft token are used only if that draft token was right. Returns
/// whether the sequence ended.
pub(super) fn extend(sequence: &mut Sequence, next: Next, model: &Model) -> Result<Option<Finish>> {
    match next {
        Next::Logits(rows) => {
            let width = rows.dim(1).map_err(failed)?;
            read_floats(&rows, |logits| extend_by(sequence, logits.chunks_exact(width), model)).map_err(failed)?
        }
        Next::Token(token) => append(sequence, token.ok_or_else(|| unsound(model))?, model),
        Next::Failed(error) => Err(error),
    }
}

/// As [`extend`], with rows of logits: the one after the last known token, then those after the draft tokens.
fn extend_by<'a>(
    sequence: &mut Sequence,
    rows: impl Iterator<Item = &'a [f32]>,
    model: &Model,
) -> Result<Option<Finish>> {
    for (index, logits) in rows.enumerate() {
        let known = sequence.tokens.len();
        let token = choose(sequence, logits, model)?.ok_or_else(|| unsound(model))?;
        let finish = append(sequence, token, model)?;
        if finish.is_some() {
            return Ok(finish);
        }
        // Where thoughts ended, more tokens than the chosen one were appended, so no draft token can be right.
        let chosen = match &sequence.tokens[known..] {
            [token] => Some(*token),
            _ => None,
        };
        if !sequence.draft.learn(index, chosen) {
            break;
        }
        // The step has computed the keys and values of this draft token too.
        sequence.cached += 1;
    }
    Ok(None)
}

/// The next token of `sequence`; `None` where no allowed logit is a number.
fn choose(sequence: &mut Sequence, logits: &[f32], model: &Model) -> Result<Option<u32>> {
    // Rows beyond the vocabulary pad the embedding; no token has them.
    let logits = &logits[..model.tokenizer.vocab_size()];
    let mask = mask(sequence, model)?;
    let token = sequence.sampler.choose(logits, mask.as_deref());
    if reports_logprobs(sequence)
        && let (Some(wanted), Some(token)) = (&sequence.request.logprobs, token)
    {
        sequence.logprobs.push(sampler::logprobs(logits, token, wanted));
    }
    Ok(token)
}

/// Appends a token to `sequence`; returns whether that ended it.
fn append(sequence: &mut Sequence, token: u32, model: &Model) -> Result<Option<Finish>> {
    if sequence.thinking.is_some() {
        return append_thought(sequence, token, model).map(|()| None);
    }
    let eos = model.tokenizer.eos_ids();
    sequence.tokens.push(token);
    let ended = eos.contains(&token);
    let mut bytes = model.tokenizer.decode_bytes(&[token]);
    // A reply is a text of its own, so the space that SentencePiece puts in front of it is not part of it; one that
    // continues a prefill keeps its space.
    let begins = sequence.replied() == 1 && sequence.request.prefill.is_empty();
    if begins && model.tokenizer.leading_space() && bytes.first() == Some(&b' ') {
        bytes.remove(0);
    }
    // The text of an end-of-turn token is not part of the reply.
    let stopped = !ended && sequence.detokenizer.push(&bytes);
    let complete = match &mut sequence.constraint {
        Some(constraint) => constraint.accept(token)?,
        None => false,
    };
    // Before the limit: a reply that ends with its last allowed token is complete.
    if ended || stopped || complete {
        return Ok(Some(Finish::Stop));
    }
    if let Some(text) = sequence.detokenizer.ready() {
        report(&sequence.request, Event::Text(text));
    }
    Ok((sequence.replied() == sequence.request.max_tokens).then_some(Finish::Length))
}

/// Appends a token to the thoughts of `sequence`. They end with their closing mark, with their budget, or where the model
/// would end its turn without a reply; then the reply follows.
fn append_thought(sequence: &mut Sequence, token: u32, model: &Model) -> Result<()> {
    let spent = sequence.thought() + 1;
    let eos = model.tokenizer.eos_ids();
    let asked = sequence.request.think.as_ref().expect("thinking was requested (bug)");
    let text = sequence.thinking.as_mut().expect("a sequence that thinks has thoughts (bug)");
    let marked = asked.close_id == Some(token);
    // A mark that also ends messages, as gpt-oss's, is a part of the turn.
    let over = !marked && eos.contains(&token);
    let closed = marked || (!over && text.push(&model.tokenizer.decode_bytes(&[token])));
    if let Some(more) = text.ready() {
        report(&sequence.request, Event::Thought(more));
    }
    let spent = spent >= asked.tokens;
    let next = match (closed, over || spent) {
        (true, _) => Some((asked.after.clone(), false)),
        // Cut by the budget, unless the model ended its turn itself.
        (false, true) => Some((asked.forced.clone(), !over)),
        (false, false) => None,
    };
    // The end of a turn is not part of the thoughts: the reply follows in the same turn.
    if !over {
        sequence.tokens.push(token);
    }
    if let Some((tokens, cut)) = next
        && let Some(rest) = sequence.begin_reply(&tokens, cut)
    {
        report(&sequence.request, Event::Thought(rest));
    }
    Ok(())
}

/// The end of a sequence that does not sample in this step: once its prefill is scored, where nothing is generated.
pub(super) fn scored(sequence: &Sequence, model: &Model) -> Result<Option<Finish>> {
    if !sequence.is_scored() {
        return Ok(None);
    }
    match sequence.scores.iter().any(|score| score.logprob.is_nan()) {
        true => Err(unsound(model)),
        false => Ok(Some(Finish::Length)),
    }
}

fn unsound(model: &Model) -> MootError {
    MootError::Engine(format!("{} gives no token a finite logit: are its weights sound?", model.path.display()))
}

/// Sends the whole reply.
pub(super) fn complete(mut sequence: Sequence, finish: Finish) {
    let (rest, text) = std::mem::take(&mut sequence.detokenizer).finish();
    if let Some(rest) = rest {
        report(&sequence.request, Event::Text(rest));
    }
    let completion = Completion {
        text,
        thoughts: sequence.thoughts.take(),
        tokens: sequence.generated(),
        finish,
        usage: sequence.usage(),
        logprobs: std::mem::take(&mut sequence.logprobs),
        scores: std::mem::take(&mut sequence.scores),
        seconds: sequence.submitted.elapsed().as_secs_f64(),
    };
    report(&sequence.request, Event::Done(completion));
}

/// Sends an event; a closed receiver cancels the request.
pub(super) fn report(request: &Request, event: Event) {
    if request.events.send((request.tag, event)).is_err() {
        request.cancel.cancel();
    }
}
