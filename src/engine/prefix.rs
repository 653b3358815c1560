//! The prefix tree: which token sequences have their keys and values in which pages.
//!
//! A node is one full page. Children are found by comparing their tokens, never by a hash alone. A running sequence
//! holds every node of its path, so an unheld node has no held descendants, and eviction may take any unheld node: leaves
//! first, the least recently used first.

use super::states::States;
use moot_models::PAGE;
use std::collections::{BTreeMap, BTreeSet};

/// The tokens of a full page.
pub(crate) type PageTokens = [u32; PAGE];

/// A node by its index in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(usize);

#[derive(Debug)]
struct Node {
    parent: NodeId,
    tokens: PageTokens,
    page: u32,
    /// The group of the request that computed it.
    group: u32,
    children: BTreeMap<PageTokens, NodeId>,
    /// Running sequences whose path goes through here.
    holders: usize,
    /// When it was last released.
    used: u64,
}

/// Pages of KV memory and the tree over those that are full.
#[derive(Debug)]
pub(crate) struct PrefixTree {
    nodes: Vec<Node>,
    /// Arena slots without a node.
    vacant: Vec<NodeId>,
    free: Vec<u32>,
    /// Nodes that no sequence holds.
    unheld: usize,
    /// Those of them without children, by the time of their last use.
    evictable: BTreeSet<(u64, NodeId)>,
    clock: u64,
    evicted: usize,
    /// Recurrent states, where the model has such.
    pub states: Option<States<NodeId>>,
}

impl PrefixTree {
    /// The root: the empty prefix, which has no page and is never evicted.
    pub(crate) const ROOT: NodeId = NodeId(0);

    pub(crate) fn new(pages: usize) -> Self {
        let root = Node {
            parent: Self::ROOT,
            tokens: [0; PAGE],
            page: u32::MAX,
            group: 0,
            children: BTreeMap::new(),
            holders: 1,
            used: 0,
        };
        Self {
            nodes: vec![root],
            vacant: Vec::new(),
            // Low numbers first, so that memory the system backs lazily stays small.
            free: (0..pages as u32).rev().collect(),
            unheld: 0,
            evictable: BTreeSet::new(),
            clock: 0,
            evicted: 0,
            states: None,
        }
    }

    /// With `slots` recurrent states.
    pub(crate) fn with_states(self, slots: usize) -> Self {
        Self { states: Some(States::new(slots)), ..self }
    }

    /// Pages that a new owner could get: free ones, and those of unheld nodes.
    pub(crate) fn available(&self) -> usize {
        self.free.len() + self.unheld
    }

    /// Nodes evicted so far.
    pub(crate) fn evicted(&self) -> usize {
        self.evicted
    }

    /// The child of `parent` that holds exactly `tokens`.
    pub(crate) fn child(&self, parent: NodeId, tokens: &PageTokens) -> Option<NodeId> {
        self.nodes[parent.0].children.get(tokens).copied()
    }

    /// The page of a node other than the root.
    pub(crate) fn page(&self, node: NodeId) -> u32 {
        self.nodes[node.0].page
    }

    /// The group of the request that computed the page of `node`.
    pub(crate) fn group(&self, node: NodeId) -> u32 {
        self.nodes[node.0].group
    }

    /// One more sequence goes through `node`.
    pub(crate) fn retain(&mut self, node: NodeId) {
        if self.nodes[node.0].holders == 0 {
            self.unheld -= 1;
            self.evictable.remove(&(self.nodes[node.0].used, node));
        }
        self.nodes[node.0].holders += 1;
    }

    /// One sequence less goes through `node`; its descendants must have been released before.
    pub(crate) fn release(&mut self, node: NodeId) {
        self.clock += 1;
        let clock = self.clock;
        let entry = &mut self.nodes[node.0];
        entry.holders = entry.holders.checked_sub(1).expect("a node is released once per retain (bug)");
        if entry.holders == 0 {
            entry.used = clock;
            self.unheld += 1;
            if entry.children.is_empty() {
                self.evictable.insert((clock, node));
            }
        }
    }

    /// Inserts `page`, computed for a request of `group`, under `parent` with one holder. Returns `None` if that child exists; the
    /// caller then keeps `page`.
    pub(crate) fn insert(&mut self, parent: NodeId, tokens: PageTokens, page: u32, group: u32) -> Option<NodeId> {
        debug_assert!(self.nodes[parent.0].holders > 0, "only a held path grows");
        if self.child(parent, &tokens).is_some() {
            return None;
        }
        let node = Node { parent, tokens, page, group, children: BTreeMap::new(), holders: 1, used: 0 };
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
        Some(id)
    }

    /// A page for a new owner: a free one, else the least recently used leaf's.
    pub(crate) fn allocate(&mut self) -> Option<u32> {
        if let Some(page) = self.free.pop() {
            return Some(page);
        }
        let (_, node) = self.evictable.pop_first()?;
        Some(self.remove(node))
    }

    /// Gives back a page that is no node's.
    pub(crate) fn free(&mut self, page: u32) {
        debug_assert!(!self.free.contains(&page), "page {page} is freed twice");
        self.free.push(page);
    }

    /// Drops every unheld prefix.
    pub(crate) fn clear_unheld(&mut self) {
        while let Some((_, node)) = self.evictable.pop_first() {
            let page = self.remove(node);
            self.free.push(page);
        }
    }

    fn remove(&mut self, node: NodeId) -> u32 {
        let (parent, tokens, page) = {
            let entry = &self.nodes[node.0];
            debug_assert!(entry.holders == 0 && entry.children.is_empty(), "only unheld leaves are evicted");
            (entry.parent, entry.tokens, entry.page)
        };
        if let Some(states) = &mut self.states {
            states.forget(node);
        }
        self.nodes[parent.0].children.remove(&tokens);
        self.unheld -= 1;
        self.evicted += 1;
        self.vacant.push(node);
        let above = &self.nodes[parent.0];
        if above.holders == 0 && above.children.is_empty() {
            self.evictable.insert((above.used, parent));
        }
        page
    }

    /// Every page that is a node's or free, for tests of the invariant that none is both.
    #[cfg(test)]
    pub(crate) fn pages(&self) -> (Vec<u32>, Vec<u32>) {
        let live = (1..self.nodes.len()).filter(|i| !self.vacant.contains(&NodeId(*i)));
        (live.map(|i| self.nodes[i].page).collect(), self.free.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(n: u32) -> PageTokens {
        [n; PAGE]
    }

    #[test]
    fn the_least_recently_used_leaf_goes_first_and_its_parent_after_it() {
        let mut tree = PrefixTree::new(3);
        let pages: Vec<u32> = (0..3).map(|_| tree.allocate().unwrap()).collect();
        let a = tree.insert(PrefixTree::ROOT, tokens(1), pages[0], 0).unwrap();
        let b = tree.insert(a, tokens(2), pages[1], 0).unwrap();
        let c = tree.insert(PrefixTree::ROOT, tokens(3), pages[2], 0).unwrap();
        for node in [b, a, c] {
            tree.release(node);
        }
        assert_eq!(tree.available(), 3);
        assert_eq!(tree.allocate(), Some(pages[1]), "b is a leaf and older than c");
        tree.retain(c);
        assert_eq!(tree.allocate(), Some(pages[0]), "a became a leaf; c is held");
        assert_eq!(tree.allocate(), None);
    }

    #[test]
    fn an_equal_page_is_not_inserted_twice() {
        let mut tree = PrefixTree::new(2);
        let (p, q) = (tree.allocate().unwrap(), tree.allocate().unwrap());
        assert!(tree.insert(PrefixTree::ROOT, tokens(1), p, 0).is_some());
        assert!(tree.insert(PrefixTree::ROOT, tokens(1), q, 0).is_none());
    }

    proptest! {
        /// Random paths are held, grown and released: no page has two owners, none is lost, held pages are never taken.
        #[test]
        fn pages_have_one_owner(steps in proptest::collection::vec((0_u32..4, 1_usize..5, any::<bool>()), 1..120)) {
            const PAGES: usize = 12;
            let mut tree = PrefixTree::new(PAGES);
            let mut held: Vec<Vec<NodeId>> = Vec::new();
            for (seed, depth, release) in steps {
                if release && !held.is_empty() {
                    let path = held.remove(seed as usize % held.len());
                    for node in path.into_iter().rev() {
                        tree.release(node);
                    }
                    continue;
                }
                let mut path = vec![];
                let mut at = PrefixTree::ROOT;
                for level in 0..depth {
                    let tokens = tokens(seed + level as u32 / 2);
                    match tree.child(at, &tokens) {
                        Some(child) => { tree.retain(child); at = child; }
                        None => {
                            let Some(page) = tree.allocate() else { break };
                            at = tree.insert(at, tokens, page, 0).unwrap();
                        }
                    }
                    path.push(at);
                }
                held.push(path);
                let (nodes, free) = tree.pages();
                let mut all: Vec<u32> = nodes.iter().chain(&free).copied().collect();
                all.sort_unstable();
                prop_assert_eq!(all, (0..PAGES as u32).collect::<Vec<_>>());
            }
            for path in held {
                for node in path.into_iter().rev() {
                    tree.release(node);
                }
            }
            prop_assert_eq!(tree.available(), PAGES);
        }
    }
}
