//! The prefix tree: which token sequences have their keys and values in which pages.
//!
//! A node is one full page, or one page of each group of layers. Children are found by comparing their tokens, never by a
//! hash alone. A running sequence holds every node of its path, so an unheld node has no held descendants, and eviction may
//! take any unheld node: leaves first, the least recently used first.
//!
//! A node can lose its pages of windowed layers before it is evicted. A sequence releases them when its window has passed
//! them. They stay in the node until memory is needed, since another sequence may begin there, and are evicted before any
//! node.

use super::states::States;
use moot_models::{PAGE, PageGroups};
use std::collections::{BTreeMap, BTreeSet};

/// The tokens of a full page.
pub(crate) type PageTokens = [u32; PAGE];

/// A node by its index in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(usize);

/// The pages of sixteen positions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PageSet {
    /// One for each group of full layers.
    pub full: Box<[u32]>,
    /// One for each group of windowed layers; none once they were given back.
    pub windowed: Box<[u32]>,
}

#[derive(Debug)]
struct Node {
    parent: NodeId,
    tokens: PageTokens,
    pages: PageSet,
    /// The group of the request that computed it.
    group: u32,
    children: BTreeMap<PageTokens, NodeId>,
    /// Running sequences whose path goes through here.
    holders: usize,
    /// Of these, sequences whose window covers this page or may later.
    window_holders: usize,
    /// When it was last released.
    used: u64,
    /// When the last window left its pages of windowed layers. `None` if these are not evicted before the node.
    left: Option<u64>,
}

impl PageSet {
    fn is_empty(&self) -> bool {
        self.full.is_empty() && self.windowed.is_empty()
    }
}

impl Node {
    /// With one holder of its pages.
    fn new(parent: NodeId, tokens: PageTokens, pages: PageSet, group: u32) -> Self {
        let window_holders = usize::from(!pages.windowed.is_empty());
        Self {
            parent,
            tokens,
            pages,
            group,
            children: BTreeMap::new(),
            holders: 1,
            window_holders,
            used: 0,
            left: None,
        }
    }
}

/// Pages of KV memory and the tree over those that are full.
#[derive(Debug)]
pub(crate) struct PrefixTree {
    groups: PageGroups,
    nodes: Vec<Node>,
    /// Arena slots without a node.
    vacant: Vec<NodeId>,
    free: Vec<u32>,
    /// Nodes that no sequence holds.
    unheld: usize,
    /// Unheld leaves, by the time of their last use.
    evictable: BTreeSet<(u64, NodeId)>,
    /// Nodes whose pages of windowed layers no sequence holds.
    window_unheld: usize,
    /// Sets of pages of windowed layers that sequences hold, each counted once.
    window_held: usize,
    /// Nodes whose pages of windowed layers can be evicted before the node, by the time when the last window left them.
    left: BTreeSet<(u64, NodeId)>,
    clock: u64,
    evicted: usize,
    freed_by_windows: usize,
    /// Recurrent states, where the model has such.
    pub states: Option<States<NodeId>>,
}

impl PrefixTree {
    /// The root: the empty prefix, which has no page and is never evicted.
    pub(crate) const ROOT: NodeId = NodeId(0);

    /// A tree over `pages`, each of which can be of any of `groups`.
    pub(crate) fn new(pages: usize, groups: PageGroups) -> Self {
        let root = Node { holders: 1, ..Node::new(Self::ROOT, [0; PAGE], PageSet::default(), 0) };
        Self {
            groups,
            nodes: vec![root],
            vacant: Vec::new(),
            // Low numbers first, so that memory the system backs lazily stays small.
            free: (0..pages as u32).rev().collect(),
            unheld: 0,
            evictable: BTreeSet::new(),
            window_unheld: 0,
            window_held: 0,
            left: BTreeSet::new(),
            clock: 0,
            evicted: 0,
            freed_by_windows: 0,
            states: None,
        }
    }

    /// With `slots` recurrent states, and `drafts` states before draft tokens.
    pub(crate) fn with_states(self, slots: usize, drafts: usize) -> Self {
        Self { states: Some(States::new(slots, drafts)), ..self }
    }

    /// The groups that pages are of.
    pub(crate) fn groups(&self) -> &PageGroups {
        &self.groups
    }

    /// Pages that a new owner could get: free ones, those of unheld nodes, and those that windows have left.
    pub(crate) fn available(&self) -> usize {
        self.free.len() + self.groups.full * self.unheld + self.groups.windowed * self.window_unheld
    }

    /// Pages of windowed layers that sequences hold.
    pub(crate) fn window_held(&self) -> usize {
        self.groups.windowed * self.window_held
    }

    /// Pages of cached prefixes evicted so far.
    pub(crate) fn evicted(&self) -> usize {
        self.evicted
    }

    /// Pages given back so far because no window of a running sequence reached them any more.
    pub(crate) fn freed_by_windows(&self) -> usize {
        self.freed_by_windows
    }

    /// The child of `parent` that holds exactly `tokens`.
    pub(crate) fn child(&self, parent: NodeId, tokens: &PageTokens) -> Option<NodeId> {
        self.nodes[parent.0].children.get(tokens).copied()
    }

    /// The pages of a node other than the root.
    pub(crate) fn pages_of(&self, node: NodeId) -> &PageSet {
        &self.nodes[node.0].pages
    }

    /// Whether `node` has its pages of windowed layers, or needs none.
    pub(crate) fn has_window(&self, node: NodeId) -> bool {
        self.groups.windowed == 0 || !self.nodes[node.0].pages.windowed.is_empty()
    }

    /// The group of the request that computed the page of `node`.
    pub(crate) fn group(&self, node: NodeId) -> u32 {
        self.nodes[node.0].group
    }

    /// Adds a holder to `node`. With `in_window` it holds the node's pages of windowed layers too.
    pub(crate) fn retain(&mut self, node: NodeId, in_window: bool) {
        let entry = &mut self.nodes[node.0];
        if entry.holders == 0 {
            self.unheld -= 1;
            self.evictable.remove(&(entry.used, node));
        }
        entry.holders += 1;
        if entry.pages.windowed.is_empty() {
            debug_assert!(!in_window || self.groups.windowed == 0, "a window begins at a node that has its pages");
        } else if in_window {
            if entry.window_holders == 0 {
                self.window_unheld -= 1;
                self.window_held += 1;
                if let Some(left) = entry.left.take() {
                    self.left.remove(&(left, node));
                }
            }
            entry.window_holders += 1;
        } else if entry.window_holders == 0 && entry.left.is_none() {
            // The node cannot be evicted any more, but its pages of windowed layers can.
            self.leave(node);
        }
    }

    /// Removes a holder of `node`. With `in_window` it held the node's pages of windowed layers too. The holder must
    /// have released all descendants of `node` before.
    pub(crate) fn release(&mut self, node: NodeId, in_window: bool) {
        self.clock += 1;
        let entry = &mut self.nodes[node.0];
        entry.holders = entry.holders.checked_sub(1).expect("a node is released once per retain (bug)");
        let held = entry.holders > 0;
        // Other sequences still hold the node: its pages of windowed layers are evicted alone. Those of an unheld node
        // are evicted with it.
        if in_window && self.drop_window(node) && held {
            self.leave(node);
        }
        if !held {
            self.nodes[node.0].used = self.clock;
            self.unheld += 1;
            self.settle(node);
        }
    }

    /// Removes a holder of the windowed layers' pages of `node`: its window has passed them.
    pub(crate) fn leave_window(&mut self, node: NodeId) {
        if self.drop_window(node) {
            self.clock += 1;
            self.freed_by_windows += self.groups.windowed;
            self.leave(node);
        }
    }

    /// Removes a holder of the windowed layers' pages of `node`; returns whether it was the last one.
    fn drop_window(&mut self, node: NodeId) -> bool {
        let entry = &mut self.nodes[node.0];
        if entry.pages.windowed.is_empty() {
            return false;
        }
        entry.window_holders = entry.window_holders.checked_sub(1).expect("a window is left once (bug)");
        let last = entry.window_holders == 0;
        if last {
            self.window_held -= 1;
            self.window_unheld += 1;
        }
        last
    }

    /// Makes the windowed layers' pages of `node` evictable before the node.
    fn leave(&mut self, node: NodeId) {
        self.nodes[node.0].left = Some(self.clock);
        self.left.insert((self.clock, node));
    }

    /// Inserts `pages`, computed for a request of `group`, under `parent` with one holder. Gives `pages` back if that child
    /// exists.
    pub(crate) fn insert(
        &mut self,
        parent: NodeId,
        tokens: PageTokens,
        pages: PageSet,
        group: u32,
    ) -> Result<NodeId, PageSet> {
        debug_assert!(self.nodes[parent.0].holders > 0, "only a held path grows");
        if self.child(parent, &tokens).is_some() {
            return Err(pages);
        }
        let node = Node::new(parent, tokens, pages, group);
        let id = match self.vacant.pop() {
            Some(id) => {
                self.nodes[id.0] = node;
                id
            }
            None => {
                self.nodes.push(node);
                NodeId(self.nodes.len() - 1)
            }
        };
        self.nodes[parent.0].children.insert(tokens, id);
        Ok(id)
    }

    /// Makes `windowed` the windowed layers' pages of `node`, with one holder, which must hold the node. The node must
    /// have no such pages.
    pub(crate) fn give_window(&mut self, node: NodeId, windowed: Box<[u32]>) {
        let entry = &mut self.nodes[node.0];
        debug_assert!(entry.holders > 0 && entry.pages.windowed.is_empty() && !windowed.is_empty());
        // `window_held` stays as it is: `allocate` has counted these pages.
        entry.window_holders = 1;
        entry.pages.windowed = windowed;
    }

    /// Pages of sixteen positions for a new owner: free ones, else those that windows have left, else the least recently
    /// used leaf's.
    pub(crate) fn allocate(&mut self) -> Option<PageSet> {
        while self.free.len() < self.groups.count() {
            self.evict()?;
        }
        let mut take = |count: usize| (0..count).filter_map(|_| self.free.pop()).collect();
        let pages = PageSet { full: take(self.groups.full), windowed: take(self.groups.windowed) };
        self.window_held += usize::from(!pages.windowed.is_empty());
        Some(pages)
    }

    /// Frees pages that belong to no node.
    pub(crate) fn free(&mut self, pages: PageSet) {
        self.window_held -= usize::from(!pages.windowed.is_empty());
        self.put_back(pages);
    }

    /// Frees the windowed layers' pages of `pages`, which belong to no node: the window of their sequence has passed
    /// them.
    pub(crate) fn free_window(&mut self, pages: &mut PageSet) {
        self.freed_by_windows += pages.windowed.len();
        let windowed = std::mem::take(&mut pages.windowed);
        self.free(PageSet { full: Box::default(), windowed });
    }

    fn put_back(&mut self, pages: PageSet) {
        for page in pages.windowed.into_iter().chain(pages.full).rev() {
            debug_assert!(!self.free.contains(&page), "page {page} is freed twice");
            self.free.push(page);
        }
    }

    /// Drops every unheld prefix.
    pub(crate) fn clear_unheld(&mut self) {
        while let Some((_, node)) = self.evictable.pop_first() {
            self.remove(node);
        }
    }

    /// Frees pages that a window has left, or a leaf; `None` where there is neither.
    fn evict(&mut self) -> Option<()> {
        if let Some((_, node)) = self.left.pop_first() {
            let entry = &mut self.nodes[node.0];
            entry.left = None;
            let windowed = std::mem::take(&mut entry.pages.windowed);
            self.window_unheld -= 1;
            self.evicted += windowed.len();
            self.put_back(PageSet { full: Box::default(), windowed });
            // Without full layers it has no page left, and is removed.
            if self.nodes[node.0].holders == 0 {
                self.settle(node);
            }
            return Some(());
        }
        let (_, node) = self.evictable.pop_first()?;
        self.remove(node);
        Some(())
    }

    /// Makes an unheld node evictable if it is a leaf; one without pages is removed.
    fn settle(&mut self, node: NodeId) {
        let entry = &self.nodes[node.0];
        if entry.children.is_empty() {
            if entry.pages.is_empty() {
                // It is listed already where `evict` has just taken its last pages, those of a window.
                self.evictable.remove(&(entry.used, node));
                self.remove(node);
            } else {
                self.evictable.insert((entry.used, node));
            }
        }
    }

    /// Removes an unheld leaf, and the nodes above it that are then unheld leaves without pages.
    fn remove(&mut self, mut node: NodeId) {
        loop {
            let entry = &mut self.nodes[node.0];
            debug_assert!(entry.holders == 0 && entry.children.is_empty(), "only unheld leaves are evicted");
            let (parent, tokens, pages) = (entry.parent, entry.tokens, std::mem::take(&mut entry.pages));
            if let Some(left) = entry.left.take() {
                self.left.remove(&(left, node));
            }
            if let Some(states) = &mut self.states {
                states.forget(node);
            }
            self.window_unheld -= usize::from(!pages.windowed.is_empty());
            self.unheld -= 1;
            self.evicted += pages.full.len() + pages.windowed.len();
            self.put_back(pages);
            self.nodes[parent.0].children.remove(&tokens);
            self.vacant.push(node);
            let above = &self.nodes[parent.0];
            if above.holders > 0 || !above.children.is_empty() {
                return;
            }
            if !above.pages.is_empty() {
                self.evictable.insert((above.used, parent));
                return;
            }
            node = parent;
        }
    }

    /// Every page that is a node's or free, for tests of the invariant that none is both.
    #[cfg(test)]
    pub(crate) fn pages(&self) -> (Vec<u32>, Vec<u32>) {
        let live = (1..self.nodes.len()).filter(|i| !self.vacant.contains(&NodeId(*i)));
        let pages = live.flat_map(|i| self.nodes[i].pages.full.iter().chain(&self.nodes[i].pages.windowed));
        (pages.copied().collect(), self.free.clone())
    }
}
