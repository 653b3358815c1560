//! Recurrent states of sequences: the copies from which sequences start, the pages at which copies are kept, the
//! sequences that wait for the copy of another one, and the way back from wrong draft tokens.
//!
//! A sequence can only begin at a page whose node has a copy of the state. Copies are kept where the sequences in
//! flight part, where a prompt leaves a path that the tree has already, and near the end of a prompt, since the next
//! prompt of an agent often begins with its last one. Of sequences with a common beginning one computes it, and the
//! others wait for its copy.

use super::prefix::{NodeId, PageTokens, PrefixTree};
use super::sequence::Sequence;
use super::states::SequenceState;
use moot_models::PAGE;
use moot_models::kernels::StateRows;
use std::collections::BTreeSet;
use std::ops::Range;

/// Pages of a sequence in the tree, beyond the nodes that it holds.
struct Known {
    /// The tokens up to the last page that has a copy of the state, and its node.
    kept: Option<(usize, NodeId)>,
    /// The tokens up to the last page.
    tokens: usize,
}

impl Sequence {
    /// Takes a slot for its state; false where there is none.
    pub(super) fn take_state(&mut self, tree: &mut PrefixTree) -> bool {
        if tree.states.is_none() {
            return true;
        }
        // The copy from which the sequence can begin must not be evicted for the sequence's own slot.
        let kept = self.known(tree).kept.map(|(_, node)| node);
        let Some(states) = &mut tree.states else { return true };
        kept.into_iter().for_each(|node| states.pin(node));
        let slot = states.allocate();
        kept.into_iter().for_each(|node| states.unpin(node));
        let Some(slot) = slot else { return false };
        self.state = Some(SequenceState { slot, source: None, before_drafts: Vec::new() });
        true
    }

    /// Frees the slots of its state.
    pub(super) fn release_state(&mut self, tree: &mut PrefixTree) {
        if let (Some(mut state), Some(states)) = (self.state.take(), &mut tree.states) {
            states.free_drafts(&mut state.before_drafts);
            states.free(state.slot);
            state.source.into_iter().for_each(|node| states.unpin(node));
        }
    }

    /// Takes slots for the states before `wanted` draft tokens; returns how many draft tokens have one. A model without
    /// recurrent states needs no slots, so all draft tokens count.
    pub(super) fn take_draft_states(&mut self, wanted: usize, tree: &mut PrefixTree) -> usize {
        let (Some(state), Some(states)) = (&mut self.state, &mut tree.states) else { return wanted };
        state.before_drafts = states.take_for_drafts(wanted);
        state.before_drafts.len()
    }

    /// Ends a step in which the first `right` draft tokens were right: returns to the state after them, and frees the
    /// slots of the others.
    pub(super) fn settle_drafts(&mut self, right: usize, tree: &mut PrefixTree) {
        let (Some(state), Some(states)) = (&mut self.state, &mut tree.states) else { return };
        // Where all were right, the state after the last one is in the sequence's own slot.
        if let Some(slot) = state.before_drafts.get_mut(right) {
            std::mem::swap(slot, &mut state.slot);
        }
        states.free_drafts(&mut state.before_drafts);
    }

    /// Finds a copy of the state beyond the computed tokens and continues from it; returns the tokens up to it, or 0.
    pub(super) fn begin_from_kept(&mut self, tree: &mut PrefixTree) -> usize {
        let Some((tokens, node)) = self.known(tree).kept.filter(|(tokens, _)| *tokens > self.cached) else { return 0 };
        if let (Some(state), Some(states)) = (&mut self.state, &mut tree.states) {
            states.pin(node);
            if let Some(before) = state.source.replace(node) {
                states.unpin(before);
            }
            return tokens;
        }
        0
    }

    /// Its pages in the tree, up to the first position whose logits are needed.
    fn known(&self, tree: &PrefixTree) -> Known {
        let most = self.first_own();
        let mut known = Known { kept: None, tokens: self.held().len() * PAGE };
        let mut node = self.tip();
        while known.tokens + PAGE <= most {
            let Some(child) = self.child(node, known.tokens, tree) else { break };
            known.tokens += PAGE;
            node = child;
            if tree.states.as_ref().is_some_and(|states| states.is_ready(node)) {
                known.kept = Some((known.tokens, node));
            }
        }
        known
    }

    /// The position up to which the tree has pages of its prompt that it cannot adopt without a state: its next chunk ends
    /// there, with a copy of the state.
    pub(super) fn parts_from_tree(&self, tree: &PrefixTree) -> Option<usize> {
        tree.states.as_ref()?;
        Some(self.known(tree).tokens).filter(|&tokens| tokens > self.cached)
    }

    /// The state of a chunk of known tokens at `positions`, of which those in `parts` leave a copy, and of the draft tokens
    /// after them; its pages are in the tree.
    pub(super) fn state_rows(
        &mut self,
        positions: Range<usize>,
        parts: &BTreeSet<usize>,
        tree: &mut PrefixTree,
    ) -> Option<StateRows> {
        let mut saves = Vec::new();
        for &part in parts.range(positions.start + 1..=positions.end) {
            let Some(node) = self.node_at(part, tree) else { continue };
            if let Some(slot) = tree.states.as_mut().and_then(|states| states.keep(node)) {
                saves.push((part - positions.start, slot));
            }
        }
        let (state, states) = (self.state.as_mut()?, tree.states.as_mut()?);
        // A chunk that samples reaches beyond every part, so that these follow in order.
        saves.extend((positions.len()..).zip(state.before_drafts.iter().copied()));
        let from = match state.source.take() {
            Some(node) => Some(states.take(node)),
            None => (positions.start > 0).then_some(state.slot),
        };
        Some(StateRows { from, to: state.slot, saves })
    }

    /// The node of the page that ends at `position`.
    fn node_at(&self, position: usize, tree: &PrefixTree) -> Option<NodeId> {
        if let Some(&node) = self.held().get((position / PAGE).checked_sub(1)?) {
            return Some(node);
        }
        let mut starts = (self.held().len() * PAGE..position).step_by(PAGE);
        starts.try_fold(self.tip(), |node, start| self.child(node, start, tree))
    }

    /// The child of `node` that holds its tokens from position `start` on.
    pub(super) fn child(&self, node: NodeId, start: usize, tree: &PrefixTree) -> Option<NodeId> {
        let page: &PageTokens = self.tokens.get(start..start + PAGE)?.try_into().ok()?;
        tree.child(node, page)
    }

    /// A page before its prompt's end: the template's last tokens, shorter than a page, are not repeated by a prompt
    /// that goes on where this one ends.
    fn near_end(&self) -> usize {
        self.request.prompt.len().saturating_sub(PAGE) / PAGE * PAGE
    }

    /// The whole pages that it has in common with `other` and `other` could take over.
    fn common(&self, other: &Self) -> usize {
        let pages = |sequence: &Self| sequence.first_own() / PAGE;
        let equal = self.tokens.chunks_exact(PAGE).zip(other.tokens.chunks_exact(PAGE));
        let equal = equal.take_while(|(a, b)| a == b).count();
        equal.min(pages(self)).min(pages(other)) * PAGE
    }
}

/// Where the prompts of a step part.
#[derive(Debug, Default)]
pub(super) struct Partings {
    /// Of each running sequence, the positions at which copies of its state are useful.
    pub parts: Vec<BTreeSet<usize>>,
    /// Of each running sequence, whether another one computes what comes next.
    pub waits: Vec<bool>,
}

impl Partings {
    /// Of `running` sequences, and of the first `waiting` ones.
    pub(super) fn of<'a>(running: &[Sequence], waiting: &(impl Iterator<Item = &'a Sequence> + Clone)) -> Self {
        let mut parts: Vec<BTreeSet<usize>> =
            running.iter().map(|sequence| BTreeSet::from([sequence.near_end()])).collect();
        let mut waits = vec![false; running.len()];
        let prefills = |index: &usize| running[*index].pending() > 1;
        for a in (0..running.len()).filter(prefills) {
            // A copy where they part lets the waiting sequence begin there.
            for other in waiting.clone() {
                parts[a].insert(running[a].common(other));
            }
            for b in (a + 1..running.len()).filter(prefills) {
                let common = running[a].common(&running[b]);
                let (behind, ahead) = if running[b].cached > running[a].cached { (a, b) } else { (b, a) };
                // The one ahead still computes a part of their common beginning.
                if running[ahead].cached < common {
                    waits[behind] = true;
                    parts[ahead].insert(common);
                }
            }
        }
        Self { parts, waits }
    }

    /// Whether sequence `index` waits for another one.
    pub(super) fn waits(&self, index: usize) -> bool {
        self.waits.get(index).copied().unwrap_or(false)
    }
}
