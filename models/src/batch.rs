//! One step's work, flat: the new tokens of many sequences, side by side, without padding.

use crate::kv::PageGroups;
use moot_kernels::ops::kv_store::Slots;
use moot_kernels::{AttentionPlan, NO_PAGE, PAGE, SequenceRows, StateRows};

/// The input of one [`crate::Decoder::forward`].
#[derive(Debug, Clone)]
pub struct Batch {
    /// `[tokens]`
    pub(crate) tokens: Vec<u32>,
    /// The pages of each group of layers.
    pub(crate) tables: Vec<Table>,
    /// Rows whose logits are wanted.
    pub(crate) logit_rows: Vec<u32>,
    /// Tokens of each sequence.
    pub(crate) lens: Vec<usize>,
    /// The recurrent state of each sequence.
    pub(crate) states: Vec<StateRows>,
    /// Whether all tokens are given ones.
    pub(crate) of_prompts: bool,
}

/// The pages of a batch's sequences in one group of layers.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The pages that each row reads, and each row's position.
    pub plan: AttentionPlan,
    /// Where each token's keys and values go.
    pub slots: Slots,
}

impl Table {
    fn new(sequences: Vec<SequenceRows>, plan: fn(Vec<SequenceRows>) -> AttentionPlan) -> Self {
        let slot = |pages: &[u32], p: usize| pages[p / PAGE] * PAGE as u32 + (p % PAGE) as u32;
        let slots = sequences.iter().flat_map(|s| (s.start..s.start + s.len).map(move |p| slot(&s.pages, p))).collect();
        Self { plan: plan(sequences), slots: Slots::new(slots) }
    }

    /// As the table of a batch with `plan`, with `rows` alone and no slots.
    fn of_rows(plan: &AttentionPlan, rows: &[u32]) -> Self {
        Self { plan: AttentionPlan::new(plan.sequences_of_rows(rows)), slots: Slots::new(Vec::new()) }
    }
}

/// `sequences` with the pages of one layer, where `share` layers share a place in each page.
fn of_layers(mut sequences: Vec<SequenceRows>, share: usize) -> Vec<SequenceRows> {
    if share > 1 {
        let pages = sequences.iter_mut().flat_map(|sequence| &mut sequence.pages);
        pages.filter(|page| **page != NO_PAGE).for_each(|page| *page *= share as u32);
    }
    sequences
}

impl Batch {
    /// `tokens` are those of `sequences`, one after the other. Sequences that share pages should lie side by side:
    /// attention then reads these pages once for all of them.
    #[must_use]
    pub fn new(tokens: Vec<u32>, sequences: Vec<SequenceRows>, logit_rows: Vec<u32>) -> Self {
        let lens: Vec<usize> = sequences.iter().map(|s| s.len).collect();
        debug_assert_eq!(tokens.len(), lens.iter().sum::<usize>());
        let tables = vec![Table::new(sequences, AttentionPlan::new)];
        Self { tokens, tables, logit_rows, lens, states: Vec::new(), of_prompts: false }
    }

    /// As [`Self::new`], of a cache of `groups`: `sequences` has for each group, at least for one, the sequences with their
    /// pages of it.
    #[must_use]
    pub fn in_groups(
        tokens: Vec<u32>,
        sequences: Vec<Vec<SequenceRows>>,
        logit_rows: Vec<u32>,
        groups: &PageGroups,
    ) -> Self {
        let lens: Vec<usize> = sequences[0].iter().map(|s| s.len).collect();
        debug_assert_eq!(tokens.len(), lens.iter().sum::<usize>());
        let table = |(group, sequences): (usize, Vec<SequenceRows>)| {
            Table::new(of_layers(sequences, groups.share(group)), AttentionPlan::new)
        };
        let tables = sequences.into_iter().enumerate().map(table).collect();
        Self { tokens, tables, logit_rows, lens, states: Vec::new(), of_prompts: false }
    }

    /// As [`Self::new`], with attention in both directions: each of `sequences` is all of a text.
    #[must_use]
    pub fn in_both_directions(tokens: Vec<u32>, sequences: Vec<SequenceRows>, logit_rows: Vec<u32>) -> Self {
        let lens = sequences.iter().map(|s| s.len).collect();
        let tables = vec![Table::new(sequences, AttentionPlan::in_both_directions)];
        Self { tokens, tables, logit_rows, lens, states: Vec::new(), of_prompts: false }
    }

    /// With the recurrent state of each sequence, which a model with recurrent layers needs.
    #[must_use]
    pub fn with_states(self, states: Vec<StateRows>) -> Self {
        Self { states, ..self }
    }

    /// The rows whose logits are wanted, in their order, for layers that attend to what is stored already and store nothing.
    pub(crate) fn of_wanted(&self) -> Self {
        let tables = self.tables.iter().map(|table| Table::of_rows(&table.plan, &self.logit_rows)).collect();
        Self {
            tokens: self.logit_rows.iter().map(|&row| self.tokens[row as usize]).collect(),
            tables,
            logit_rows: (0..self.logit_rows.len() as u32).collect(),
            lens: Vec::new(),
            states: Vec::new(),
            of_prompts: self.of_prompts,
        }
    }

    /// Number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Of given tokens alone, which some decoders compute otherwise ([`crate::Decoder::separates_prompts`]).
    #[must_use]
    pub fn of_prompts(self) -> Self {
        Self { of_prompts: true, ..self }
    }

    /// Whether every row's logits are wanted, in the order of the rows.
    pub(crate) fn logits_of_all(&self) -> bool {
        self.logit_rows.iter().copied().eq(0..self.tokens.len() as u32)
    }

    /// The attention plan of the first group of layers, with its count of page reads.
    #[must_use]
    pub fn plan(&self) -> &AttentionPlan {
        &self.tables[0].plan
    }

    /// Where the keys and values of the tokens go in the first group of layers.
    pub(crate) fn slots(&self) -> &Slots {
        &self.tables[0].slots
    }
}
