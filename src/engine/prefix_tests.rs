//! Tests of the prefix tree.

use super::prefix::{NodeId, PageSet, PageTokens, PrefixTree};
use moot_models::{PAGE, PageGroups};
use proptest::prelude::*;
use std::collections::BTreeSet;

const ONE: PageGroups = PageGroups { places: 2, full: 1, windowed: 0, window: usize::MAX, shares: [1, 1] };
/// A window reaches two pages before its own.
const WINDOWED: PageGroups = PageGroups { places: 1, full: 1, windowed: 2, window: 2 * PAGE + 1, shares: [1, 1] };

fn tokens(n: u32) -> PageTokens {
    [n; PAGE]
}

/// A tree over `pages`, of layers without windows.
fn tree(pages: usize) -> PrefixTree {
    PrefixTree::new(pages, ONE)
}

#[test]
fn the_least_recently_used_leaf_goes_first_and_its_parent_after_it() {
    let mut tree = tree(3);
    let pages: Vec<PageSet> = (0..3).map(|_| tree.allocate().unwrap()).collect();
    let a = tree.insert(PrefixTree::ROOT, tokens(1), pages[0].clone(), 0).unwrap();
    let b = tree.insert(a, tokens(2), pages[1].clone(), 0).unwrap();
    let c = tree.insert(PrefixTree::ROOT, tokens(3), pages[2].clone(), 0).unwrap();
    for node in [b, a, c] {
        tree.release(node, true);
    }
    assert_eq!(tree.available(), 3);
    assert_eq!(tree.allocate().as_ref(), Some(&pages[1]), "b is a leaf and older than c");
    tree.retain(c, true);
    assert_eq!(tree.allocate().as_ref(), Some(&pages[0]), "a became a leaf; c is held");
    assert_eq!(tree.allocate(), None);
}

#[test]
fn an_equal_page_is_not_inserted_twice() {
    let mut tree = tree(2);
    let (p, q) = (tree.allocate().unwrap(), tree.allocate().unwrap());
    assert!(tree.insert(PrefixTree::ROOT, tokens(1), p, 0).is_ok());
    assert_eq!(tree.insert(PrefixTree::ROOT, tokens(1), q.clone(), 0), Err(q));
}

/// A path of `depth` nodes under the root, held.
fn grown(tree: &mut PrefixTree, depth: u32) -> Vec<NodeId> {
    let mut path = vec![PrefixTree::ROOT];
    for level in 0..depth {
        let pages = tree.allocate().unwrap();
        path.push(tree.insert(path[level as usize], tokens(level), pages, 0).unwrap());
    }
    path.split_off(1)
}

#[test]
fn pages_that_windows_have_left_go_before_leaves_and_the_nodes_stay() {
    let mut tree = PrefixTree::new(9, WINDOWED);
    let path = grown(&mut tree, 3);
    assert_eq!((tree.available(), tree.window_held()), (0, 6));
    tree.retain(path[0], true);
    tree.leave_window(path[0]);
    assert_eq!((tree.available(), tree.freed_by_windows()), (0, 0), "another sequence holds it");
    tree.leave_window(path[0]);
    assert_eq!((tree.available(), tree.freed_by_windows(), tree.window_held()), (2, 2, 4));
    assert!(tree.has_window(path[0]), "as long as memory lasts");
    // The other sequence comes back for it.
    tree.retain(path[0], true);
    assert_eq!(tree.available(), 0);
    tree.leave_window(path[0]);
    for (node, in_window) in [(path[2], true), (path[1], true), (path[0], false)] {
        tree.release(node, in_window);
    }
    tree.release(path[0], false);
    tree.release(path[0], false);
    assert_eq!(tree.available(), 9);
    assert!(tree.allocate().is_some());
    assert_eq!(tree.child(PrefixTree::ROOT, &tokens(0)), Some(path[0]));
    assert!(!tree.has_window(path[0]) && tree.has_window(path[1]));
    assert_eq!(tree.evicted(), 5, "two pages that were left, then the three of the leaf");
    assert_eq!(tree.child(path[1], &tokens(2)), None);
}

/// A sequence that begins further on holds the nodes before, but not their pages of windowed layers.
#[test]
fn pages_before_the_window_of_a_beginning_can_be_evicted() {
    let mut tree = PrefixTree::new(7, WINDOWED);
    let path = grown(&mut tree, 2);
    tree.release(path[1], true);
    tree.release(path[0], true);
    tree.retain(path[0], false);
    tree.retain(path[1], true);
    assert_eq!((tree.available(), tree.window_held()), (3, 2));
    assert!(tree.allocate().is_some());
    assert!(!tree.has_window(path[0]) && tree.has_window(path[1]));
    assert_eq!((tree.available(), tree.allocate()), (0, None));
}

/// Of layers with windows alone, a path does not outlive its last pages.
#[test]
fn nodes_without_pages_are_removed() {
    let mut tree = PrefixTree::new(3, PageGroups { full: 0, windowed: 1, ..WINDOWED });
    let path = grown(&mut tree, 3);
    tree.leave_window(path[0]);
    let own = tree.allocate().unwrap();
    assert!(!tree.has_window(path[0]));
    tree.release(path[2], true);
    tree.release(path[1], true);
    tree.release(path[0], false);
    tree.free(own);
    assert_eq!(tree.available(), 3);
    let all: Vec<_> = (0..3).map_while(|_| tree.allocate()).collect();
    assert_eq!((all.len(), tree.child(PrefixTree::ROOT, &tokens(0))), (3, None));
}

/// A path with windows, as a sequence has it.
#[derive(Debug, Default)]
struct Path {
    nodes: Vec<NodeId>,
    passed: usize,
}

impl Path {
    /// Takes or makes the page of `tokens`; false where there is none for it.
    fn grow(&mut self, tokens: PageTokens, tree: &mut PrefixTree) -> bool {
        let tip = self.nodes.last().copied().unwrap_or(PrefixTree::ROOT);
        let node = match tree.child(tip, &tokens) {
            Some(node) if tree.has_window(node) => {
                tree.retain(node, true);
                node
            }
            found => {
                let Some(mut pages) = tree.allocate() else { return false };
                // The node that was found may have been evicted for these pages.
                match found.and_then(|_| tree.child(tip, &tokens)) {
                    Some(node) => {
                        tree.retain(node, false);
                        tree.give_window(node, std::mem::take(&mut pages.windowed));
                        tree.free(pages);
                        node
                    }
                    None => tree.insert(tip, tokens, pages, 0).unwrap(),
                }
            }
        };
        self.nodes.push(node);
        let first = tree.groups().first_reached(self.nodes.len() * PAGE);
        for node in &self.nodes[self.passed..first.max(self.passed)] {
            tree.leave_window(*node);
        }
        self.passed = self.passed.max(first);
        true
    }

    fn release(self, tree: &mut PrefixTree) {
        for (index, node) in self.nodes.into_iter().enumerate().rev() {
            tree.release(node, index >= self.passed);
        }
    }
}

proptest! {
    /// Random paths are held, grown and released: no page has two owners, none is lost, pages that windows reach are never
    /// taken, and the counts are those of the paths.
    #[test]
    fn pages_have_one_owner(
        kind in 0_usize..4,
        steps in proptest::collection::vec((0_u32..4, 1_usize..7, any::<bool>()), 1..120),
    ) {
        const PAGES: usize = 40;
        let groups = [ONE, WINDOWED, PageGroups { full: 0, windowed: 1, ..WINDOWED }, PageGroups { window: 1, ..WINDOWED }];
        let mut tree = PrefixTree::new(PAGES, groups[kind]);
        let mut held: Vec<Path> = Vec::new();
        for (seed, depth, release) in steps {
            if release && !held.is_empty() {
                held.remove(seed as usize % held.len()).release(&mut tree);
            } else {
                let mut path = Path::default();
                for level in 0..depth {
                    if !path.grow(tokens(seed + level as u32 / 2), &mut tree) {
                        break;
                    }
                }
                held.push(path);
            }
            let (nodes, free) = tree.pages();
            let mut all: Vec<u32> = nodes.iter().chain(&free).copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..PAGES as u32).collect::<Vec<_>>());
            let reached: BTreeSet<NodeId> = held.iter().flat_map(|path| path.nodes[path.passed..].to_vec()).collect();
            prop_assert!(reached.iter().all(|&node| tree.has_window(node)));
            prop_assert_eq!(tree.window_held(), groups[kind].windowed * reached.len());
            let nodes: BTreeSet<NodeId> = held.iter().flat_map(|path| path.nodes.clone()).collect();
            prop_assert_eq!(tree.available(), PAGES - groups[kind].full * nodes.len() - tree.window_held());
        }
        held.into_iter().for_each(|path| path.release(&mut tree));
        prop_assert_eq!((tree.available(), tree.window_held()), (PAGES, 0));
        let count = PAGES / groups[kind].count();
        prop_assert_eq!((0..=PAGES).map_while(|_| tree.allocate()).count(), count);
        prop_assert!((0..8).all(|first| tree.child(PrefixTree::ROOT, &tokens(first)).is_none()));
    }
}
