//! Chooses what the next step computes: one token for every row that decodes, and chunks of prompts in the room left.

use super::prefix::PrefixTree;
use super::recurrence::Partings;
use super::request::Request;
use super::sequence::Sequence;
use super::windows::claimed;
use crate::error::{MootError, Result};
use moot_models::kernels::StateRows;
use moot_models::{PAGE, PageGroups};
use std::collections::VecDeque;
use std::ops::Range;

/// Limits of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sequences that run at once.
    pub rows: usize,
    /// Tokens of a step: decoding rows first, then prompt chunks.
    pub tokens: usize,
    /// Positions of the model.
    pub context: usize,
    /// Pages of KV memory, each of one group of layers.
    pub pages: usize,
    /// The groups.
    pub groups: PageGroups,
    /// Recurrent states of sequences and of shared prefixes; 0 for a model without such states.
    pub states: usize,
    /// Recurrent states before draft tokens, beside `states`.
    pub draft_states: usize,
    /// Whether prefixes are shared.
    pub share: bool,
    /// Whether draft tokens are computed.
    pub speculate: bool,
    /// Whether prompts are computed apart from generated tokens: then pages of generated tokens are not shared, and a
    /// chunk holds tokens of one kind.
    pub separate: bool,
}

impl Limits {
    /// Positions of one request that the KV memory holds.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.groups.positions(self.pages, self.tokens)
    }

    /// Whether `request` could ever run here.
    ///
    /// # Errors
    /// [`MootError::TooLong`] with the numbers.
    pub fn check(&self, request: &Request) -> Result<()> {
        let refused = |reason: &str| Err(MootError::Usage(format!("a request needs {reason}")));
        if request.prompt.is_empty() {
            return refused("at least one prompt token");
        }
        if request.max_tokens == 0 && (!request.score || request.prefill.is_empty()) {
            return refused("at least one token to generate, or a prefill to score");
        }
        if let Some(think) = &request.think {
            if request.max_tokens == 0 {
                return refused("at least one token to generate where it thinks");
            }
            if think.tokens == 0 || think.forced.is_empty() {
                return refused("a token to think and one to end it where it thinks");
            }
        }
        let (prompt, generate) = (request.given(), request.generated_at_most());
        let needed = prompt.saturating_add(generate);
        let limits = [("the context of the model", self.context), ("the key-value memory", self.positions())];
        for (limit_name, limit) in limits {
            if needed > limit {
                return Err(MootError::TooLong { what: "request".into(), needed, prompt, generate, limit_name, limit });
            }
        }
        Ok(())
    }
}

/// Running and waiting sequences, and the pages they share.
pub(super) struct Scheduler {
    limits: Limits,
    pub tree: PrefixTree,
    waiting: VecDeque<Sequence>,
    pub running: Vec<Sequence>,
    /// Number of the step under way.
    step: u64,
    /// The last step that computed tokens of a prompt, or in which no prompt was pending.
    last_prefill: u64,
}

/// One sequence's part of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its index in [`Scheduler::running`].
    pub sequence: usize,
    /// Position of its first token.
    pub start: usize,
    /// Tokens, draft tokens included.
    pub len: usize,
    /// Draft tokens, the last ones.
    pub drafted: usize,
    /// Of each group of layers, in the order of positions.
    pub pages: Vec<Vec<u32>>,
    /// Where its recurrent state is, where the model has such.
    pub state: Option<StateRows>,
    /// Positions whose logits score the token after them.
    pub scored: Range<usize>,
    /// The chunk reaches the last known token: its logits choose the next.
    pub samples: bool,
    /// It holds given tokens, which are computed apart.
    pub given: bool,
}

impl Scheduler {
    pub(super) fn new(limits: Limits) -> Self {
        let tree = PrefixTree::new(limits.pages, limits.groups);
        let tree = if limits.states > 0 { tree.with_states(limits.states, limits.draft_states) } else { tree };
        Self { limits, tree, waiting: VecDeque::new(), running: Vec::new(), step: 0, last_prefill: 0 }
    }

    /// The groups of layers that pages are of.
    pub(super) fn groups(&self) -> &PageGroups {
        &self.limits.groups
    }

    /// As [`Limits::check`].
    pub(super) fn check(&self, request: &Request) -> Result<()> {
        self.limits.check(request)
    }

    pub(super) fn wait(&mut self, mut sequence: Sequence) {
        if self.limits.separate {
            sequence.shareable = sequence.given_at_first();
        }
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
        // Waiting sequences hold no pages and no state: `admit` gives both back before it lets one wait again.
        let (left, staying): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting).into_iter().partition(&gone);
        self.waiting = staying.into();
        out.extend(left);
        out
    }

    /// Takes out running sequence `index`.
    pub(super) fn finish(&mut self, index: usize) -> Sequence {
        // Not `swap_remove`: prompts are scheduled in the order of arrival.
        let mut sequence = self.running.remove(index);
        sequence.release(&mut self.tree);
        sequence
    }

    /// The tokens that the next step computes; sequences with common pages are adjacent.
    pub(super) fn schedule(&mut self) -> Vec<Chunk> {
        if let Some(states) = &mut self.tree.states {
            states.begin_step();
        }
        // Before admission, which can use the pages that windows have left.
        self.running.iter_mut().for_each(|sequence| sequence.slide(&mut self.tree));
        self.admit();
        self.step += 1;
        // After admission, since prompts of new sequences part from those of running ones.
        let partings = self.partings();
        let mut chunks = Vec::new();
        let mut room = self.limits.tokens;
        let rows = self.running.iter().map(Sequence::pending).sum();
        for index in self.order(&partings) {
            if room == 0 {
                break;
            }
            let prefills = self.running[index].pending() > 1;
            let len = self.chunk(index, room, rows, &partings, &mut chunks);
            room -= len;
            if len > 0 {
                self.running[index].last_step = self.step;
                if prefills {
                    self.last_prefill = self.step;
                }
            }
        }
        // Sequences with common pages become neighbours, so that attention reads a shared page once for all of them.
        chunks.sort_by(|a, b| a.pages.cmp(&b.pages));
        chunks
    }

    /// Where running sequences part, of a model with recurrent states.
    fn partings(&mut self) -> Partings {
        if self.tree.states.is_none() || !self.limits.share {
            return Partings::default();
        }
        // What the tree has already is not computed again, so no sequence may wait for it.
        self.running.iter_mut().for_each(|sequence| sequence.adopt(&mut self.tree));
        // Each is compared with every running sequence, and no more than `rows` can run at once.
        let waiting = self.waiting.iter().take(self.limits.rows);
        Partings::of(&self.running, &waiting)
    }

    /// Indices in the order in which sequences get room: rows that decode, the one that waits longest first, so that
    /// they take turns where a step has no room for all; then prompts in the order of arrival, so that one is soon done
    /// and its siblings find its pages. Where decoding leaves no room for them, every other step begins with the first
    /// prompt.
    fn order(&mut self, partings: &Partings) -> Vec<usize> {
        let decodes = |sequence: &Sequence| sequence.pending() == 1;
        let prefills = |(index, sequence): (usize, &Sequence)| !decodes(sequence) && !partings.waits(index);
        let first_prompt = self.running.iter().enumerate().position(prefills);
        if first_prompt.is_none() {
            self.last_prefill = self.step;
        }
        let overdue = first_prompt.filter(|_| self.step > self.last_prefill + 1);
        let mut order: Vec<usize> = (0..self.running.len()).filter(|&index| !partings.waits(index)).collect();
        order.sort_by_key(|&index| match &self.running[index] {
            _ if overdue == Some(index) => (0, 0),
            sequence if decodes(sequence) => (1, sequence.last_step),
            _ => (2, 0),
        });
        order
    }

    /// Moves waiting sequences to the running while rows and pages last, in the order they came.
    fn admit(&mut self) {
        while self.running.len() < self.limits.rows {
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            // Sequences behind it wait too, as below.
            if !sequence.take_state(&mut self.tree) {
                self.waiting.push_front(sequence);
                return;
            }
            if self.limits.share {
                // Before its pages are counted: shared pages need no memory.
                sequence.adopt(&mut self.tree);
            }
            if !self.has_pages_for(&mut sequence) {
                sequence.release(&mut self.tree);
                // It adopts the pages again when it is admitted, and they must not count twice.
                (sequence.reused, sequence.borrowed) = (0, 0);
                // Back to the front: if short requests could overtake it, a long one might never be admitted.
                self.waiting.push_front(sequence);
                return;
            }
            self.running.push(sequence);
        }
    }

    /// Whether pages last for `sequence` besides the running ones, each of which may still take all that it claims: so an
    /// admitted sequence never runs out of pages.
    fn has_pages_for(&self, sequence: &mut Sequence) -> bool {
        for claim in sequence.claims(&self.limits.groups).into_iter().flatten() {
            sequence.claim = claim;
            let all = self.running.iter().chain([&*sequence]);
            // Claims include the pages that windows hold already, so these count as available.
            if claimed(all, &self.limits.groups, self.limits.tokens) <= self.tree.available() + self.tree.window_held()
            {
                return true;
            }
        }
        false
    }

    /// Schedules at most `room` tokens of sequence `index`, with `rows` pending in all sequences; returns the number
    /// scheduled.
    fn chunk(&mut self, index: usize, room: usize, rows: usize, partings: &Partings, chunks: &mut Vec<Chunk>) -> usize {
        let sequence = &mut self.running[index];
        let mut parts = partings.parts.get(index).cloned().unwrap_or_default();
        let mut ahead = None;
        if self.limits.share {
            sequence.adopt(&mut self.tree);
            ahead = sequence.parts_from_tree(&self.tree);
            parts.extend(ahead);
        }
        let (start, pending) = (sequence.cached, sequence.pending());
        let mut len = pending.min(room).min(ahead.map_or(usize::MAX, |end| end - start));
        if len < pending {
            // A chunk ends at a page boundary, so that siblings can share its pages. If the room ends before the
            // boundary, the chunk waits, or takes the room if the step is empty.
            let whole = (start + len) / PAGE * PAGE;
            if whole > start {
                len = whole - start;
            } else if !chunks.is_empty() {
                return 0;
            }
        }
        let scored = sequence.scored_rows(start..start + len);
        let samples = len == pending && sequence.request.max_tokens > 0;
        // Draft tokens take the room that is left over.
        let spare = (room - len).saturating_sub(rows);
        let given = self.limits.separate && start < sequence.shareable;
        let mut drafted = 0;
        if samples && self.limits.speculate && !given {
            drafted = sequence.draft_tokens(rows, spare, &mut self.tree);
        }
        if !samples {
            // An earlier draft must not count as computed in this step.
            sequence.draft.clear();
        }
        sequence.advance(len, drafted, &mut self.tree, self.limits.share);
        let state = sequence.state_rows(start..start + len, &parts, &mut self.tree);
        let (pages, len) = (sequence.pages(&self.tree), len + drafted);
        chunks.push(Chunk { sequence: index, start, len, drafted, pages, state, scored, samples, given });
        len
    }
}
