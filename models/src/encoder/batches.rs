//! Groups texts of similar length, as many as a budget of tokens allows.

use super::tokens::TextTokens;
use moot_kernels::Texts;

/// The tokens of several texts, one text after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// `[tokens]`
    pub ids: Vec<u32>,
    /// `[tokens]`: 1 in the second text of a pair.
    pub segments: Vec<u32>,
    /// Where each text begins and ends.
    pub texts: Texts,
}

impl Packed {
    /// Packs `texts` in their order.
    #[must_use]
    pub fn new<'a>(texts: impl Iterator<Item = &'a TextTokens> + Clone) -> Self {
        Self {
            ids: texts.clone().flat_map(|text| &text.ids).copied().collect(),
            segments: texts.clone().flat_map(|text| &text.segments).copied().collect(),
            texts: Texts::new(texts.map(|text| text.ids.len())),
        }
    }
}

/// Groups of texts, by their indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batches {
    groups: Vec<Vec<usize>>,
}

impl Batches {
    /// Token budget of a group on the CPU, where every thread computes one group: enough rows to reuse each matrix, few
    /// enough for the activations to stay in the core's cache.
    pub const TOKENS: usize = 512;
    /// Token budget on a GPU, where smaller groups would be bound by launches.
    pub const GPU_TOKENS: usize = 16 * 1024;

    /// Sorts `texts` by length, the longest first (so that a lack of memory shows at once), and groups them up to
    /// `budget` tokens. A longer text is a group by itself.
    #[must_use]
    pub fn new(texts: &[TextTokens], budget: usize) -> Self {
        Self::of_lengths(&texts.iter().map(|text| text.ids.len()).collect::<Vec<_>>(), budget)
    }

    /// As [`Self::new`], of texts of these lengths.
    #[must_use]
    pub(super) fn of_lengths(lengths: &[usize], budget: usize) -> Self {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&text| std::cmp::Reverse(lengths[text]));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut room = 0;
        for text in order {
            let tokens = lengths[text];
            match groups.last_mut() {
                Some(group) if tokens <= room => group.push(text),
                _ => {
                    groups.push(vec![text]);
                    room = budget.max(tokens);
                }
            }
            room -= tokens;
        }
        Self { groups }
    }

    /// The groups, the one with the longest texts first.
    pub fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.groups.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_text_once_and_keep_the_budget() {
        let of = |length| TextTokens { ids: vec![7; length], segments: vec![0; length], truncated: false };
        let texts: Vec<TextTokens> = [3, 9, 1, 4, 30, 4, 2].map(of).into();
        let batches = Batches::new(&texts, 10);
        let mut seen: Vec<usize> = batches.iter().flatten().copied().collect();
        assert_eq!(seen.iter().map(|&i| texts[i].ids.len()).collect::<Vec<_>>(), [30, 9, 4, 4, 3, 2, 1]);
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
        for group in batches.iter() {
            assert!(group.len() == 1 || group.iter().map(|&i| texts[i].ids.len()).sum::<usize>() <= 10, "{group:?}");
        }
        assert_eq!(Batches::new(&[], 10).iter().count(), 0);
    }
}
