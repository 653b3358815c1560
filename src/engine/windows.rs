//! Pages of layers with a window: when a sequence gives them back, where it can begin, and how many are kept for it.
//!
//! A sequence holds the pages of windowed layers that its next token reaches, and those after them. So it can only begin at a
//! page of the tree before which the pages of a whole window are held.

use super::prefix::{NodeId, PrefixTree};
use super::sequence::{Claim, Sequence};
use moot_models::{PAGE, PageGroups};
use std::collections::HashSet;

impl Sequence {
    /// Gives back the pages that no window of a later token reaches.
    pub(super) fn slide(&mut self, tree: &mut PrefixTree) {
        let first = tree.groups().first_reached(self.cached);
        self.pass(first, tree);
    }

    /// Finds the last page of the tree, beyond the computed tokens, from which this sequence can continue: all pages of
    /// windowed layers that a window there reaches must be present. Gives back the pages that this window does not
    /// reach. Returns the number of tokens up to there, or 0.
    pub(super) fn begin_in_window(&mut self, tree: &mut PrefixTree) -> usize {
        let groups = *tree.groups();
        let (mut index, mut node) = (self.held().len(), self.tip());
        // From this page on, up to `node`, no page of windowed layers is missing.
        let mut whole_from = self.passed();
        let mut last = 0;
        while (index + 1) * PAGE <= self.first_needed() {
            let Some(child) = self.child(node, index * PAGE, tree) else { break };
            (index, node) = (index + 1, child);
            let is_own = index * PAGE <= self.cached;
            if !is_own && !tree.has_window(node) {
                whole_from = index;
            }
            if whole_from <= groups.first_reached(index * PAGE) {
                last = index * PAGE;
            }
        }
        if last <= self.cached {
            // Nothing to gain: the pages that the present window reaches stay.
            return 0;
        }
        self.pass(groups.first_reached(last), tree);
        last
    }

    /// Sufficient reservations for this sequence, the least restrictive first.
    pub(super) fn claims(&self, groups: &PageGroups) -> [Option<Claim>; 2] {
        // Siblings on one document each need little besides what they share.
        let few = groups.windowed == 0 || self.rest() < groups.window_pages();
        [few.then_some(Claim::All), Some(Claim::Window)]
    }

    /// The nodes whose pages of windowed layers it holds.
    fn window_nodes(&self) -> &[NodeId] {
        self.held().get(self.passed()..).unwrap_or(&[])
    }
}

/// Pages that are reserved for `sequences`, besides the pages of full layers that they have already: for full layers,
/// all that they will take; for windowed layers, by their [`Claim`]s, in steps of `step_tokens`.
pub(super) fn claimed<'a>(
    sequences: impl Iterator<Item = &'a Sequence>,
    groups: &PageGroups,
    step_tokens: usize,
) -> usize {
    let (mut full, mut windowed, mut beyond) = (0, 0, 0);
    let mut shared: HashSet<NodeId> = HashSet::new();
    for sequence in sequences {
        full += sequence.rest();
        match sequence.claim {
            _ if groups.windowed == 0 => {}
            Claim::All => {
                let own = sequence.page_count() - sequence.passed().clamp(sequence.held().len(), sequence.page_count());
                windowed += sequence.rest() + own;
                shared.extend(sequence.window_nodes());
            }
            Claim::Window => {
                let most = sequence.pages_at_most();
                let window = most.min(groups.window_pages());
                windowed += window;
                beyond += most - window;
            }
        }
    }
    // The tokens of a step are few: not every sequence computes a whole chunk beyond its window.
    let step = PageGroups::step_pages(step_tokens).min(beyond);
    groups.full * full + groups.windowed * (windowed + shared.len() + step)
}
