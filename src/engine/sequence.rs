//! A request while it runs: its tokens, its pages, and how many of its keys and values are computed.

use super::detokenize::Detokenizer;
use super::draft::Draft;
use super::grammar::Constraint;
use super::prefix::{NodeId, PageSet, PageTokens, PrefixTree};
use super::request::{Request, TokenLogprobs};
use super::sampler::Sampler;
use super::states::SequenceState;
use crate::generation::{Thoughts, Usage};
use moot_models::PAGE;
use moot_models::kernels::NO_PAGE;
use std::ops::Range;
use std::time::Instant;

/// The pages of windowed layers that are reserved for a sequence until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// The pages of one window, shared or not. A page that the window has passed is held by others, or available again.
    Window,
    /// All pages that it has and will take. Pages that several sequences share count once.
    All,
}

/// One running or waiting request.
pub(super) struct Sequence {
    pub request: Request,
    /// The prompt, thoughts, the prefill, the reply.
    pub tokens: Vec<u32>,
    /// Leading tokens whose pages can be shared.
    pub shareable: usize,
    /// Leading tokens whose keys and values are in pages, or will be once the step under way is done.
    pub cached: usize,
    /// Nodes of the prefix tree that hold the first pages.
    held: Vec<NodeId>,
    /// Pages after these, which are this sequence's alone: the one being filled, and those that draft tokens need
    /// beyond it.
    own: Vec<PageSet>,
    /// How many of its pages its window has passed, held ones first: for these it has no pages of windowed layers.
    passed: usize,
    /// The pages of windowed layers that the scheduler reserves for it.
    pub claim: Claim,
    /// Tokens of the prompt and the prefill reused from the prefix tree.
    pub reused: usize,
    /// Of these, tokens that a request of another group had computed.
    pub borrowed: usize,
    /// Its recurrent state, where the model has such.
    pub state: Option<SequenceState<NodeId>>,
    /// The last step that it had a part in.
    pub last_step: u64,
    pub sampler: Sampler,
    /// Draft tokens after the last known one.
    pub draft: Draft,
    pub constraint: Option<Constraint>,
    pub detokenizer: Detokenizer,
    /// Text of the thoughts, while it thinks.
    pub thinking: Option<Detokenizer>,
    /// Thoughts that have ended.
    pub thoughts: Option<Thoughts>,
    /// Positions of the prefill in `tokens`; empty while it thinks.
    prefill: Range<usize>,
    /// Of the generated reply.
    pub logprobs: Vec<TokenLogprobs>,
    /// Of the prefill's first tokens, as far as they are computed.
    pub scores: Vec<TokenLogprobs>,
    pub submitted: Instant,
}

impl Sequence {
    pub(super) fn new(mut request: Request, constraint: Option<Constraint>) -> Self {
        let prompt = request.prompt.len();
        let mut sequence = Self {
            tokens: request.prompt.clone(),
            shareable: usize::MAX,
            cached: 0,
            held: Vec::new(),
            own: Vec::new(),
            passed: 0,
            claim: Claim::Window,
            reused: 0,
            borrowed: 0,
            state: None,
            last_step: 0,
            sampler: Sampler::new(request.sampling, request.seed),
            draft: Draft::new(),
            constraint,
            detokenizer: Detokenizer::new(std::mem::take(&mut request.stop)),
            thinking: request.think.as_ref().map(|think| Detokenizer::new(think.spelt_close())),
            thoughts: None,
            prefill: prompt..prompt,
            logprobs: Vec::new(),
            scores: Vec::new(),
            submitted: Instant::now(),
            request,
        };
        // Thoughts come first: then the prefill is appended where they end.
        if sequence.thinking.is_none() {
            sequence.append_prefill();
        }
        sequence
    }

    fn append_prefill(&mut self) {
        let start = self.tokens.len();
        self.tokens.extend_from_slice(&self.request.prefill);
        self.prefill = start..self.tokens.len();
    }

    /// Pages for everything given and everything it may generate. The last token's keys are never stored.
    pub(super) fn pages_at_most(&self) -> usize {
        (self.request.given() + self.request.generated_at_most() - 1).div_ceil(PAGE)
    }

    /// Pages that it may still take; the scheduler keeps as many available.
    pub(super) fn rest(&self) -> usize {
        self.pages_at_most().saturating_sub(self.page_count())
    }

    /// Generated tokens: thoughts with the text appended to them, then the reply; without the prefill.
    pub(super) fn generated(&self) -> Vec<u32> {
        let thoughts = &self.tokens[self.request.prompt.len()..self.prefill.start];
        [thoughts, &self.tokens[self.prefill.end..]].concat()
    }

    /// Tokens of thought so far, while it thinks.
    pub(super) fn thought(&self) -> usize {
        self.tokens.len() - self.request.prompt.len()
    }

    /// Generated tokens of the reply, once it has begun.
    pub(super) fn replied(&self) -> usize {
        self.tokens.len() - self.prefill.end
    }

    /// Ends the thoughts and appends `tokens` and the prefill; returns the rest of the thoughts' text. The reply follows.
    pub(super) fn begin_reply(&mut self, tokens: &[u32], cut: bool) -> Option<String> {
        self.tokens.extend_from_slice(tokens);
        let (rest, text) = self.thinking.take().unwrap_or_default().finish();
        self.thoughts = Some(Thoughts { text, tokens: self.thought(), cut });
        self.append_prefill();
        rest
    }

    /// Tokens still to be computed before the next one can be sampled, or before the last one is scored. Where nothing is
    /// generated the last token's own logits are not needed.
    pub(super) fn pending(&self) -> usize {
        self.tokens.len() - usize::from(self.request.max_tokens == 0) - self.cached
    }

    /// Positions among `rows` whose logits score a token of the prefill: each scores the token after it.
    pub(super) fn scored_rows(&self, rows: Range<usize>) -> Range<usize> {
        let last = if self.request.score { self.prefill.end } else { self.prefill.start };
        // Not negative: `Limits::check` refuses a request without a prompt token.
        let start = rows.start.max(self.prefill.start - 1);
        start..rows.end.min(last - 1).max(start)
    }

    /// Whether nothing is to be generated and the whole prefill is scored.
    pub(super) fn is_scored(&self) -> bool {
        self.request.max_tokens == 0 && self.scores.len() == self.prefill.len()
    }

    /// The first position whose logits are still needed. Its page and those after it are computed for this sequence, also
    /// where the prefix tree has them: the tree keeps keys and values, not logits.
    pub(super) fn first_needed(&self) -> usize {
        if self.request.score && self.scores.len() < self.prefill.len() {
            self.prefill.start - 1 + self.scores.len()
        } else {
            self.tokens.len() - 1
        }
    }

    /// The tokens before the first generated one.
    pub(super) fn given_at_first(&self) -> usize {
        if self.request.think.is_some() { self.request.prompt.len() } else { self.request.given() }
    }

    /// The first position whose page is computed for this sequence, wherever others have it.
    pub(super) fn first_own(&self) -> usize {
        self.first_needed().min(self.shareable)
    }

    /// How many of `positions` are of the prompt or the prefill.
    pub(super) fn given(&self, positions: Range<usize>) -> usize {
        let common =
            |other: Range<usize>| other.end.min(positions.end).saturating_sub(other.start.max(positions.start));
        common(0..self.request.prompt.len()) + common(self.prefill.clone())
    }

    pub(super) fn usage(&self) -> Usage {
        let prompt = self.request.given();
        Usage { prompt, reused: self.reused, computed: prompt - self.reused, generated: self.tokens.len() - prompt }
    }

    /// Pages of each group of layers in the order of positions.
    pub(super) fn pages(&self, tree: &PrefixTree) -> Vec<Vec<u32>> {
        let sets = || self.held.iter().map(|&node| tree.pages_of(node)).chain(&self.own);
        let full = (0..tree.groups().full).map(|group| sets().map(|set| set.full[group]).collect());
        let windowed = (0..tree.groups().windowed).map(|group| {
            let reached = sets().skip(self.passed).map(|set| set.windowed[group]);
            std::iter::repeat_n(NO_PAGE, self.passed).chain(reached).collect()
        });
        full.chain(windowed).collect()
    }

    /// Pages at the beginning that are nodes of the tree.
    pub(super) fn held(&self) -> &[NodeId] {
        &self.held
    }

    /// How many pages its window has passed.
    pub(super) fn passed(&self) -> usize {
        self.passed
    }

    /// Gives back the pages of windowed layers before page `first`.
    pub(super) fn pass(&mut self, first: usize, tree: &mut PrefixTree) {
        for index in self.passed..first.min(self.page_count()) {
            match self.held.get(index) {
                Some(&node) => tree.leave_window(node),
                None => tree.free_window(&mut self.own[index - self.held.len()]),
            }
        }
        self.passed = self.passed.max(first);
    }

    pub(super) fn page_count(&self) -> usize {
        self.held.len() + self.own.len()
    }

    /// Shares the next pages that the tree has. They are computed, or will be in this step: siblings share while they
    /// run. Pages from the first needed logits on are not shared. With recurrent states, pages are shared up to the
    /// last one that has a copy of the state, and as far as this sequence has computed them itself; with windowed
    /// layers, up to the last one before which the pages of a whole window are present.
    pub(super) fn adopt(&mut self, tree: &mut PrefixTree) {
        let mut shared = self.first_own();
        if tree.states.is_some() {
            shared = shared.min(self.cached.max(self.begin_from_kept(tree)));
        }
        if tree.groups().windowed > 0 {
            shared = shared.min(self.cached.max(self.begin_in_window(tree)));
        }
        while let Some(tokens) = self.next_page().filter(|_| (self.held.len() + 1) * PAGE <= shared) {
            let Some(node) = tree.child(self.tip(), &tokens) else { return };
            // The sequence may have begun to fill a page of its own for these positions.
            let mut own = if self.own.is_empty() { PageSet::default() } else { self.own.remove(0) };
            let in_window = self.held.len() >= self.passed;
            let gives = in_window && !tree.has_window(node);
            // If this sequence gives the pages, `give_window` makes it their holder.
            tree.retain(node, in_window && !gives);
            // The node has lost its pages of windowed layers, but this sequence has computed them.
            if gives {
                tree.give_window(node, std::mem::take(&mut own.windowed));
            }
            // This sequence's copy of the page is freed; the tree's stays.
            tree.free(own);
            self.held.push(node);
            let from = self.cached;
            self.cached = from.max(self.held.len() * PAGE);
            let given = self.given(from..self.cached);
            self.reused += given;
            self.borrowed += if tree.group(node) == self.request.group { 0 } else { given };
        }
    }

    /// Drafts tokens after its last one, with `rows` tokens scheduled by all sequences and `room` for draft tokens in the
    /// step; returns how many the step computes. Never more than it could still generate, or than there are states for.
    pub(super) fn draft_tokens(&mut self, rows: usize, room: usize, tree: &mut PrefixTree) -> usize {
        let most = self.request.given() + self.request.generated_at_most();
        let room = room.min(most.saturating_sub(1 + self.tokens.len()));
        let constraint = self.constraint.as_mut().filter(|_| self.thinking.is_none());
        let forced = || constraint.map_or_else(Vec::new, Constraint::forced);
        let wanted = self.draft.propose(&self.tokens, forced, rows, room);
        let count = self.take_draft_states(wanted, tree);
        self.draft.limit(count);
        count
    }

    /// Accounts for `count` more computed tokens: takes pages for them and for `drafted` draft tokens beyond, and enters
    /// pages that become full of known tokens into the tree.
    pub(super) fn advance(&mut self, count: usize, drafted: usize, tree: &mut PrefixTree, share: bool) {
        self.cached += count;
        while self.page_count() * PAGE < self.cached + drafted {
            debug_assert!(self.rest() > 0, "a sequence takes what it reserved");
            self.own.push(tree.allocate().expect("a reserved page is available (bug)"));
        }
        while share && !self.own.is_empty() && (self.held.len() + 1) * PAGE <= self.cached.min(self.shareable) {
            let tokens = self.next_page().expect("cached tokens are known (bug)");
            match tree.insert(self.tip(), tokens, self.own.remove(0), self.request.group) {
                Ok(node) => self.held.push(node),
                // A sibling inserted an equal page: `adopt` takes it over before the next chunk.
                Err(own) => return self.own.insert(0, own),
            }
        }
    }

    /// Gives every page back: shared ones stay in the tree.
    pub(super) fn release(&mut self, tree: &mut PrefixTree) {
        // Descendants first, as `PrefixTree::release` requires.
        for (index, node) in self.held.drain(..).enumerate().rev() {
            tree.release(node, index >= self.passed);
        }
        for page in self.own.drain(..) {
            tree.free(page);
        }
        // `admit` may put the sequence back among the waiting ones, and it begins anew from there.
        self.passed = 0;
        self.cached = 0;
        self.release_state(tree);
    }

    pub(super) fn tip(&self) -> NodeId {
        self.held.last().copied().unwrap_or(PrefixTree::ROOT)
    }

    /// The tokens of the page after the held ones, where they are all known.
    fn next_page(&self) -> Option<PageTokens> {
        let from = self.held.len() * PAGE;
        self.tokens.get(from..from + PAGE)?.try_into().ok()
    }
}
