//! Speculative decoding without a draft model. Draft tokens come from the grammar, where it leaves no choice of text, or
//! from prompt lookup: agents quote their documents, their earlier replies and each other, so what followed the newest
//! tokens at their last occurrence is likely to follow again.
//!
//! Draft tokens are computed in the same step as the last known token, and sampling goes on over them as long as it
//! chooses the same tokens. A row's logits are the same in any batch, so drafting changes no token: a right draft token
//! saves a row of a later step, a wrong one costs a row.

/// Lengths of the runs of newest tokens that are looked up, the longest first.
const RUNS: [usize; 3] = [4, 3, 2];

/// Most draft tokens in a step.
const MOST: usize = 12;

/// Cost of reading the weights in a step, in rows: 3 to 4 on the CPUs measured, from 135 M to 1.5 B weights. So a draft
/// token beside `rows` rows is worth its cost where it is right with a probability of `rows / (rows + 4)`.
const STEP_IN_ROWS: f32 = 4.0;

/// Weight of one draft token in the share of right ones.
const LEARNING: f32 = 0.2;

/// While draft tokens are not worth computing, one step in so many makes some anyway, to test whether they would be
/// right.
const PROBE: usize = 4;

/// Where draft tokens come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Text that the grammar forces, in the tokenizer's tokens. A guess: the model may spell it in other tokens, and the
    /// last of them may merge with what follows.
    Grammar,
    /// The sequence's own prompt and reply.
    Lookup,
}

/// One sequence's draft tokens.
#[derive(Debug)]
pub(super) struct Draft {
    grammar: Trust,
    lookup: Trust,
    /// Of `tokens`.
    source: Source,
    tokens: Vec<u32>,
    /// How many of them the step under way computes.
    computed: usize,
}

impl Draft {
    pub(super) fn new() -> Self {
        // Starting shares, since forced text is accepted far more often than repeated text.
        let (grammar, lookup) = (Trust::new(0.95), Trust::new(0.6));
        Self { grammar, lookup, source: Source::Lookup, tokens: Vec::new(), computed: 0 }
    }

    /// Drafts what follows `known`, with `rows` tokens in the step beside; returns how many draft tokens the step computes,
    /// at most `room`. `forced` gives the tokens that a grammar forces; it is called only where they may be computed.
    pub(super) fn propose(
        &mut self,
        known: &[u32],
        forced: impl FnOnce() -> Vec<u32>,
        rows: usize,
        room: usize,
    ) -> usize {
        self.clear();
        let worth = self.grammar.worth(rows).min(room);
        // First what a grammar forces: it is accepted far more often than what the text repeats.
        if self.grammar.is_due(worth) {
            self.tokens = forced();
            self.source = Source::Grammar;
            self.computed = worth;
        }
        if self.tokens.is_empty() {
            let worth = self.lookup.worth(rows).min(room);
            if self.lookup.is_due(worth) {
                self.tokens.extend(look_up(known).iter().take(MOST));
            }
            self.source = Source::Lookup;
            self.computed = worth;
        }
        self.tokens.truncate(MOST);
        self.computed = self.computed.min(self.tokens.len());
        self.computed
    }

    /// Computes at most `count` draft tokens in this step.
    pub(super) fn limit(&mut self, count: usize) {
        self.computed = self.computed.min(count);
    }

    /// Drafts nothing in this step.
    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.computed = 0;
    }

    /// The draft tokens that the step under way computes.
    pub(super) fn computed(&self) -> &[u32] {
        &self.tokens[..self.computed]
    }

    /// Where they come from.
    pub(super) fn source(&self) -> Source {
        self.source
    }

    /// Learns that `token` was chosen at the position of draft token number `index`; returns whether the next row of
    /// logits follows it.
    pub(super) fn learn(&mut self, index: usize, token: Option<u32>) -> bool {
        let Some(&draft) = self.tokens.get(index) else { return false };
        let right = token == Some(draft);
        match self.source {
            Source::Grammar => self.grammar.learn(right),
            Source::Lookup => self.lookup.learn(right),
        }
        right && index < self.computed
    }
}

/// How often the draft tokens of a source were right.
#[derive(Debug)]
struct Trust {
    /// Moving share of right ones.
    share: f32,
    /// Steps in a row in which none was worth computing.
    idle: usize,
}

impl Trust {
    fn new(share: f32) -> Self {
        Self { share, idle: 0 }
    }

    /// Number of draft tokens worth computing beside `rows` rows.
    fn worth(&self, rows: usize) -> usize {
        let least = rows as f32 / (rows as f32 + STEP_IN_ROWS);
        let (mut chance, mut count) = (self.share, 0);
        while chance >= least && count < MOST {
            chance *= self.share;
            count += 1;
        }
        count
    }

    /// Whether this step looks up a draft, given that `worth` draft tokens are worth computing. With `worth` = 0 it
    /// does so every [`PROBE`] steps: such a draft is not computed, only compared with the sampled tokens, so that the
    /// share can rise again.
    fn is_due(&mut self, worth: usize) -> bool {
        self.idle = if worth > 0 { 0 } else { self.idle + 1 };
        self.idle.is_multiple_of(PROBE)
    }

    fn learn(&mut self, right: bool) {
        self.share += LEARNING * (f32::from(u8::from(right)) - self.share);
    }
}

/// The tokens that followed the last earlier occurrence of the newest tokens.
fn look_up(known: &[u32]) -> &[u32] {
    for run in RUNS {
        let Some(before) = known.len().checked_sub(run).filter(|&before| before > 0) else { continue };
        let newest = &known[before..];
        // Without the last token, so that the newest tokens do not match themselves.
        if let Some(start) = known[..known.len() - 1].windows(run).rposition(|window| window == newest) {
            return &known[start + run..];
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_occurrence_of_the_longest_run_is_looked_up() {
        // 1 2 3 came twice; after it 4 the first time, 5 the second.
        let known = [9, 1, 2, 3, 4, 7, 1, 2, 3, 5, 8, 1, 2, 3];
        assert_eq!(look_up(&known), [5, 8, 1, 2, 3]);
        assert_eq!(look_up(&[9, 1, 2, 3, 4, 7, 2, 3, 5, 9, 1, 2, 3]), [4, 7, 2, 3, 5, 9, 1, 2, 3]);
        assert_eq!(look_up(&[6, 6, 6]), [6]);
        assert_eq!(look_up(&[1, 2]), [0_u32; 0]);
        assert_eq!(look_up(&[]), [0_u32; 0]);
    }

    /// Twenty tokens and the first four again: token 4 is looked up next.
    fn repeating() -> Vec<u32> {
        (0..20).chain(0..4).collect()
    }

    #[test]
    fn drafts_grow_with_trust_and_shrink_with_the_batch() {
        let known = repeating();
        let mut draft = Draft::new();
        let (alone, among) = (draft.propose(&known, Vec::new, 1, 99), draft.propose(&known, Vec::new, 16, 99));
        assert!(alone > among, "{alone} alone, {among} among sixteen");
        for _ in 0..100 {
            draft.propose(&known, Vec::new, 1, 99);
            draft.learn(0, Some(99));
        }
        assert_eq!(draft.propose(&known, Vec::new, 1, 99), 0);
    }

    #[test]
    fn a_useless_lookup_is_tried_only_now_and_then() {
        let known = repeating();
        let mut draft = Draft::new();
        let looked_up = |draft: &mut Draft, room, token| -> usize {
            let steps = (0..40).map(|_| {
                draft.propose(&known, Vec::new, 1, room);
                draft.learn(0, Some(token));
                usize::from(!draft.tokens.is_empty())
            });
            steps.sum()
        };
        looked_up(&mut draft, 99, 99);
        assert_eq!(looked_up(&mut draft, 99, 99), 40 / PROBE, "wrong every time");
        // Tokens that were not verified are still learned from, so that trust recovers even if a step has no room.
        assert_eq!(looked_up(&mut draft, 0, 4), 40 / PROBE);
        assert_eq!(looked_up(&mut draft, 99, 4), 40);
        assert_eq!(draft.propose(&known, Vec::new, 1, 99), MOST);
    }

    #[test]
    fn a_grammar_goes_before_a_lookup_and_has_its_own_trust() {
        let known = repeating();
        let mut draft = Draft::new();
        assert_eq!(draft.propose(&known, || vec![1, 2, 3], 1, 99), 3);
        assert_eq!((draft.computed(), draft.source()), (&[1, 2, 3][..], Source::Grammar));
        assert!(draft.learn(0, Some(1)) && draft.learn(1, Some(2)) && draft.learn(2, Some(3)) && !draft.learn(3, None));
        assert_eq!(draft.propose(&known, || vec![1, 2, 3], 64, 99), 2, "beside 64 rows");
        assert_eq!(draft.propose(&known, || vec![1, 2, 3], 1, 2), 2, "room for two");
        for _ in 0..100 {
            draft.propose(&known, || vec![1, 2, 3], 1, 99);
            if draft.source() == Source::Grammar {
                draft.learn(0, Some(99));
            }
        }
        draft.grammar.idle = 0;
        let never = || unreachable!("not worth computing");
        assert_eq!(draft.propose(&known, never, 1, 99), 3, "the lookup has its own trust");
        assert_eq!(draft.source(), Source::Lookup);
    }
}
