//! Slots of memory for recurrent states: those of running sequences, copies kept at nodes of the prefix tree, and states
//! before draft tokens, to which a sequence returns where these were wrong.
//!
//! Keys and values of a prefix can be taken over at any page; a recurrent state only where a copy of it was kept. Of
//! unused copies the least recently used one makes room first.

use std::collections::BTreeMap;

/// The slots, and the copies by the node `N` that they are kept at.
#[derive(Debug)]
pub(crate) struct States<N> {
    free: Vec<u32>,
    /// Free slots for states before draft tokens. They are apart, so that drafting evicts no copy.
    free_for_drafts: Vec<u32>,
    /// Slots of copies that were dropped in the step under way, which still reads or writes them.
    busy: Vec<u32>,
    kept: BTreeMap<N, Kept>,
    /// Number of the step under way.
    step: u64,
    counts: StateCounts,
}

/// The recurrent state of a running sequence.
#[derive(Debug)]
pub(crate) struct SequenceState<N> {
    /// Its own slot.
    pub slot: u32,
    /// The node whose copy has the state after the computed tokens, if the own slot does not have it.
    pub source: Option<N>,
    /// Slots of the states before each draft token of the step under way.
    pub before_drafts: Vec<u32>,
}

#[derive(Debug)]
struct Kept {
    slot: u32,
    /// Sequences that will begin from it.
    pins: usize,
    /// The step that writes it.
    written: u64,
    /// The last step that wrote or read it.
    used: u64,
}

/// Counts of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StateCounts {
    /// Copies kept.
    pub kept: usize,
    /// Sequences that began from a copy, or went on from one.
    pub reused: usize,
    /// Copies dropped: for another state, or with their page.
    pub evicted: usize,
}

impl<N: Copy + Ord> States<N> {
    /// `slots` for sequences and copies, and `drafts` for states before draft tokens.
    pub(crate) fn new(slots: usize, drafts: usize) -> Self {
        let free = (0..slots as u32).rev().collect();
        let free_for_drafts = (slots as u32..(slots + drafts) as u32).collect();
        Self { free, free_for_drafts, busy: Vec::new(), kept: BTreeMap::new(), step: 0, counts: StateCounts::default() }
    }

    pub(crate) fn counts(&self) -> StateCounts {
        self.counts
    }

    /// A new step begins: the one before is computed.
    pub(crate) fn begin_step(&mut self) {
        self.step += 1;
        self.free.append(&mut self.busy);
    }

    /// A slot for a new owner: a free one, else that of the least recently used copy.
    pub(crate) fn allocate(&mut self) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        // The step under way still writes or reads the others, or a sequence will begin from them.
        let unused = self.kept.iter().filter(|(_, kept)| kept.pins == 0 && kept.used < self.step);
        let oldest = unused.min_by_key(|(_, kept)| kept.used).map(|(node, _)| *node)?;
        self.counts.evicted += 1;
        self.kept.remove(&oldest).map(|kept| kept.slot)
    }

    /// Gives back a slot that holds no copy.
    pub(crate) fn free(&mut self, slot: u32) {
        debug_assert!(!self.free.contains(&slot), "state {slot} is freed twice");
        self.free.push(slot);
    }

    /// At most `wanted` slots for states before draft tokens, as many as are free.
    pub(crate) fn take_for_drafts(&mut self, wanted: usize) -> Vec<u32> {
        let left = self.free_for_drafts.len().saturating_sub(wanted);
        self.free_for_drafts.split_off(left)
    }

    /// Gives back as many slots as were taken for drafts.
    pub(crate) fn free_drafts(&mut self, slots: &mut Vec<u32>) {
        self.free_for_drafts.append(slots);
    }

    /// Whether a copy is, or will be, at `node`.
    pub(crate) fn has(&self, node: N) -> bool {
        self.kept.contains_key(&node)
    }

    /// Whether a sequence can begin from `node` in the step under way: its copy was written by an earlier one.
    pub(crate) fn is_ready(&self, node: N) -> bool {
        self.kept.get(&node).is_some_and(|kept| kept.written < self.step)
    }

    /// Keeps a copy at `node`, which the step under way writes to the returned slot; `None` without a slot for it.
    pub(crate) fn keep(&mut self, node: N) -> Option<u32> {
        if self.has(node) {
            return None;
        }
        let slot = self.allocate()?;
        self.kept.insert(node, Kept { slot, pins: 0, written: self.step, used: self.step });
        self.counts.kept += 1;
        Some(slot)
    }

    /// Holds the copy at `node` for a sequence that will begin from it.
    pub(crate) fn pin(&mut self, node: N) {
        self.kept.get_mut(&node).expect("a copy that is pinned is kept (bug)").pins += 1;
    }

    pub(crate) fn unpin(&mut self, node: N) {
        self.kept.get_mut(&node).expect("a pinned copy is kept (bug)").pins -= 1;
    }

    /// Unpins the copy at `node` once and returns its slot, which the step under way reads.
    pub(crate) fn take(&mut self, node: N) -> u32 {
        let kept = self.kept.get_mut(&node).expect("a pinned copy is kept (bug)");
        kept.pins -= 1;
        kept.used = self.step;
        self.counts.reused += 1;
        kept.slot
    }

    /// Drops the copy at `node`, whose page is evicted.
    pub(crate) fn forget(&mut self, node: N) {
        let Some(kept) = self.kept.remove(&node) else { return };
        debug_assert!(kept.pins == 0, "only unheld nodes are evicted");
        self.counts.evicted += 1;
        let slots = if kept.used == self.step { &mut self.busy } else { &mut self.free };
        slots.push(kept.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_copy_makes_room_unless_it_is_in_use() {
        let mut states: States<usize> = States::new(3, 0);
        let own = states.allocate().unwrap();
        states.begin_step();
        let (a, b) = (states.keep(1).unwrap(), states.keep(2).unwrap());
        assert!(!states.is_ready(1) && states.has(1), "written by the step under way");
        assert_eq!((states.allocate(), states.keep(1)), (None, None));
        states.begin_step();
        assert!(states.is_ready(1) && !states.is_ready(3));
        states.pin(1);
        assert_eq!(states.take(1), a);
        assert_eq!(states.allocate(), Some(b), "the other is read by this step");
        states.begin_step();
        states.pin(1);
        assert_eq!(states.allocate(), None, "a sequence will begin from it");
        states.unpin(1);
        assert_eq!(states.keep(4), Some(a));
        states.free(own);
        assert_eq!(states.counts(), StateCounts { kept: 3, reused: 1, evicted: 2 });
    }

    #[test]
    fn a_slot_that_the_step_writes_is_not_given_away_with_its_page() {
        let mut states: States<usize> = States::new(1, 0);
        states.begin_step();
        let slot = states.keep(1).unwrap();
        states.forget(1);
        assert_eq!(states.allocate(), None);
        states.begin_step();
        assert_eq!(states.allocate(), Some(slot));
    }

    #[test]
    fn drafts_have_slots_of_their_own() {
        let mut states: States<usize> = States::new(1, 3);
        let mut own = states.allocate().unwrap();
        let mut drafts = states.take_for_drafts(2);
        assert_eq!((drafts.len(), states.take_for_drafts(2).len(), states.allocate()), (2, 1, None));
        // The sequence goes on from one of them.
        std::mem::swap(&mut own, &mut drafts[0]);
        states.free_drafts(&mut drafts);
        assert!(drafts.is_empty());
        let again = states.take_for_drafts(9);
        assert_eq!(again.len(), 2, "one was never given back");
        assert!(!again.contains(&own));
    }
}
