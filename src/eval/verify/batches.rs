//! Builds verification batches: one with all calls in another order, then small random ones, some of a single call. Filler calls
//! are mixed in.
//!
//! Prompts are thus divided into other steps, since a prompt gets the tokens that the others leave in a step, and
//! the prefix tree holds other pages: none at first, then those of earlier batches.

use super::Drawn;
use crate::generation::{Prompt, Sampling};
use crate::llm::Call;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Most calls of the sample in a small batch: about as many as agents debate.
const FEW: usize = 5;

/// Most fillers in the first batch, and in a small one.
const FILLERS: (usize, usize) = (16, 2);

/// One call of a batch.
pub(super) enum Member {
    /// Of the sample, by index.
    Drawn(usize),
    /// A filler, whose reply is not used.
    Filler(Box<Call>),
}

/// Calls that are in flight together.
pub(super) type Batch = Vec<Member>;

/// Puts each of `group`, indices in `drawn`, into two batches.
pub(super) fn batches(drawn: &[Drawn<'_>], group: &[usize], random: &mut ChaCha8Rng) -> Vec<Batch> {
    let mut order = group.to_vec();
    order.shuffle(random);
    let mut crowd: Batch = order.iter().map(|&at| Member::Drawn(at)).collect();
    let fillers = order.len().div_ceil(4).min(FILLERS.0);
    join(&mut crowd, fillers, drawn, group, random);
    let mut all = vec![crowd];
    order.shuffle(random);
    let mut rest = &order[..];
    while !rest.is_empty() {
        // One is alone for certain, others by chance.
        let size = if all.len() == 1 { 1 } else { random.random_range(1..=FEW).min(rest.len()) };
        let (now, later) = rest.split_at(size);
        let mut few: Batch = now.iter().map(|&at| Member::Drawn(at)).collect();
        if few.len() > 1 {
            let fillers = random.random_range(0..=FILLERS.1);
            join(&mut few, fillers, drawn, group, random);
        }
        all.push(few);
        rest = later;
    }
    all
}

/// Puts `count` fillers into `batch`, anywhere.
fn join(batch: &mut Batch, count: usize, drawn: &[Drawn<'_>], group: &[usize], random: &mut ChaCha8Rng) {
    for _ in 0..count {
        let model = &drawn[group[random.random_range(0..group.len())]].call;
        let index = random.random_range(0..=batch.len());
        batch.insert(index, Member::Filler(Box::new(filler(model, random))));
    }
}

/// A call with a beginning of `model`'s prompt, so that they share pages. It is shorter, so it fits where `model` does.
fn filler(model: &Call, random: &mut ChaCha8Rng) -> Call {
    let mut call = Call {
        what: "a filler".into(),
        seed: random.random(),
        logprobs: None,
        score: false,
        prefill: Vec::new(),
        ..model.clone()
    };
    if let Prompt::Chat(messages) = &mut call.prompt
        && let Some(last) = messages.last_mut()
    {
        let kept = random.random_range(0..=last.content.chars().count() * 3 / 4);
        last.content = last.content.chars().take(kept).collect();
    }
    call.max_tokens = random.random_range(1..=model.max_tokens.max(1));
    if random.random() {
        call.sampling = Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 0.95 };
    }
    if random.random() {
        call.grammar = None;
    }
    call
}
