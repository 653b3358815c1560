//! Chooses what the next step computes: one token for every row that decodes, and prompt chunks in the room left.

use super::prefix::PrefixTree;
use super::request::Request;
use super::sequence::Sequence;
use crate::error::{MootError, Result};
use moot_models::PAGE;
use std::collections::VecDeque;

/// Limits of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sequences that run at once.
    pub rows: usize,
    /// Tokens of a step: decoding rows first, then prompt chunks.
    pub tokens: usize,
    /// Positions of the model.
    pub context: usize,
    /// Pages of KV memory.
    pub pages: usize,
    /// Whether prefixes are shared.
    pub share: bool,
    /// Whether tokens are guessed.
    pub speculate: bool,
}

/// The running and the waiting, and the pages between them.
pub(super) struct Scheduler {
    limits: Limits,
    pub tree: PrefixTree,
    waiting: VecDeque<Sequence>,
    pub running: Vec<Sequence>,
}

/// One sequence's part of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its place in [`Scheduler::running`].
    pub sequence: usize,
    /// Position of its first token.
    pub start: usize,
    /// Tokens, guessed ones included.
    pub len: usize,
    /// Guessed tokens, the last ones.
    pub guessed: usize,
    /// In the order of positions.
    pub pages: Vec<u32>,
    /// The chunk reaches the last known token: its logits choose the next.
    pub samples: bool,
}

impl Scheduler {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, tree: PrefixTree::new(limits.pages), waiting: VecDeque::new(), running: Vec::new() }
    }

    /// Whether `request` could ever run here.
    ///
    /// # Errors
    /// [`MootError::TooLong`] with the numbers.
    pub(super) fn check(&self, request: &Request) -> Result<()> {
        if request.prompt.is_empty() || request.max_tokens == 0 {
            return Err(MootError::Usage("a request needs at least one prompt token and one token to generate".into()));
        }
        if request.think.as_ref().is_some_and(|think| think.tokens == 0 || think.forced.is_empty()) {
            return Err(MootError::Usage("a request that thinks needs a token to think and one to end it".into()));
        }
        let (prompt, generate) = (request.prompt.len(), request.generated_at_most());
        let needed = prompt.saturating_add(generate);
        let limits =
            [("the context of the model", self.limits.context), ("the key-value memory", self.limits.pages * PAGE)];
        for (limit_name, limit) in limits {
            if needed > limit {
                return Err(MootError::TooLong { what: "request".into(), needed, prompt, generate, limit_name, limit });
            }
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, sequence: Sequence) {
        self.waiting.push_back(sequence);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// Pages that running sequences hold; the others are free or can be made so.
    pub(super) fn pages_held(&self) -> usize {
        self.limits.pages - self.tree.available()
    }

    /// Takes out every sequence for which `gone` holds.
    pub(super) fn drain(&mut self, gone: impl Fn(&Sequence) -> bool) -> Vec<Sequence> {
        let (mut out, staying): (Vec<_>, Vec<_>) = std::mem::take(&mut self.running).into_iter().partition(&gone);
        self.running = staying;
        for sequence in &mut out {
            sequence.release(&mut self.tree);
        }
        let (left, staying): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting).into_iter().partition(&gone);
        self.waiting = staying.into();
        out.extend(left);
        out
    }

    /// Takes out the running sequence at `place`.
    pub(super) fn finish(&mut self, place: usize) -> Sequence {
        let mut sequence = self.running.remove(place);
        sequence.release(&mut self.tree);
        sequence
    }

    /// What the next step computes; sequences whose pages are alike lie side by side.
    pub(super) fn schedule(&mut self) -> Vec<Chunk> {
        self.admit();
        let mut chunks = Vec::new();
        let mut room = self.limits.tokens;
        let rows = self.running.iter().map(Sequence::pending).sum();
        for decoding in [true, false] {
            for place in 0..self.running.len() {
                if room > 0 && (self.running[place].pending() == 1) == decoding && !scheduled(&chunks, place) {
                    room -= self.chunk(place, room, rows, &mut chunks);
                }
            }
        }
        chunks.sort_by(|a, b| a.pages.cmp(&b.pages));
        chunks
    }

    /// Moves waiting sequences to the running while rows and pages last, in the order they came.
    fn admit(&mut self) {
        while self.running.len() < self.limits.rows {
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            let most = Sequence::pages_at_most(&sequence.request);
            sequence.reserved = most;
            if self.limits.share {
                sequence.adopt(&mut self.tree);
            }
            let promised: usize = self.running.iter().map(|other| other.reserved).sum();
            if promised + sequence.reserved > self.tree.available() {
                sequence.release(&mut self.tree);
                self.waiting.push_front(sequence);
                return;
            }
            self.running.push(sequence);
        }
    }

    /// Schedules the sequence at `place` for at most `room` tokens, with `rows` wanted by all; how many it got.
    fn chunk(&mut self, place: usize, room: usize, rows: usize, chunks: &mut Vec<Chunk>) -> usize {
        let sequence = &mut self.running[place];
        if self.limits.share {
            sequence.adopt(&mut self.tree);
        }
        let (start, pending) = (sequence.cached, sequence.pending());
        let mut len = pending.min(room);
        if len < pending {
            // A chunk ends with a page, so that siblings can take the page over; in a step too small for that it
            // moves on by what there is, if nothing else does.
            let whole = (start + len) / PAGE * PAGE;
            if whole > start {
                len = whole - start;
            } else if !chunks.is_empty() {
                return 0;
            }
        }
        let samples = len == pending;
        // Guesses take the room that nobody else wants.
        let spare = (room - len).saturating_sub(rows);
        let guessed = if samples && self.limits.speculate { sequence.guess(rows, spare) } else { 0 };
        if !samples {
            sequence.draft.clear();
        }
        sequence.advance(len, guessed, &mut self.tree, self.limits.share);
        let (pages, len) = (sequence.pages(&self.tree), len + guessed);
        chunks.push(Chunk { sequence: place, start, len, guessed, pages, samples });
        len
    }
}

fn scheduled(chunks: &[Chunk], place: usize) -> bool {
    chunks.iter().any(|chunk| chunk.sequence == place)
}
