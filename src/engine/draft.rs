//! Prompt-lookup speculation: guesses what a sequence says next from its own prompt and reply, since agents quote their
//! documents, their earlier replies and each other.
//!
//! Guessed tokens are computed in the same step as the last known one, and sampling goes on over them as long as it
//! chooses what was guessed. A row's logits do not depend on its company, so no token is ever changed by this: a right
//! guess saves a step, a wrong one costs a row.

/// Runs of newest tokens that are looked up, the longest first.
const RUNS: [usize; 3] = [4, 3, 2];

/// Most tokens guessed at once.
const MOST: usize = 12;

/// How much longer a step takes for reading the weights than for one more row: 3 to 4 on the CPUs measured, from 135 M
/// to 1.5 B weights. So a row among `rows` is worth its cost where it is right with a probability of `rows / (rows + 4)`.
const STEP_IN_ROWS: f32 = 4.0;

/// Weight of one guess in the share of right ones.
const LEARNING: f32 = 0.2;

/// One sequence's guesses.
#[derive(Debug)]
pub(super) struct Draft {
    /// Share of looked-up tokens that were right, lately.
    trust: f32,
    /// What may come next.
    tokens: Vec<u32>,
    /// How many of them are computed in the step under way.
    computed: usize,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self { trust: 0.6, tokens: Vec::new(), computed: 0 }
    }

    /// Guesses what follows `known`, with `rows` tokens in the step beside: at most `room` tokens are to be computed, as
    /// many as are worth it. `forced` are tokens that a grammar leaves no choice but to spell.
    pub(super) fn guess(&mut self, known: &[u32], forced: Vec<u32>, rows: usize, room: usize) -> usize {
        let sure = !forced.is_empty();
        self.tokens = if sure { forced } else { look_up(known).to_vec() };
        self.tokens.truncate(MOST);
        let worth = if sure { MOST } else { self.worth(rows) };
        self.computed = self.tokens.len().min(worth).min(room);
        self.computed
    }

    /// Guesses nothing in this step.
    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.computed = 0;
    }

    /// The guessed tokens that the step under way computes.
    pub(super) fn computed(&self) -> &[u32] {
        &self.tokens[..self.computed]
    }

    /// Learns that `token` was chosen where guess number `place` stood; whether the next logits are those that follow it.
    pub(super) fn learn(&mut self, place: usize, token: Option<u32>) -> bool {
        let Some(&guess) = self.tokens.get(place) else { return false };
        let right = token == Some(guess);
        self.trust += LEARNING * (f32::from(u8::from(right)) - self.trust);
        right && place < self.computed
    }

    /// How many guesses in a row are more likely right than a step with so many rows makes them cost.
    fn worth(&self, rows: usize) -> usize {
        let least = rows as f32 / (rows as f32 + STEP_IN_ROWS);
        let (mut chance, mut count) = (self.trust, 0);
        while chance >= least && count < MOST {
            chance *= self.trust;
            count += 1;
        }
        count
    }
}

/// What came after the newest tokens where they stood last.
fn look_up(known: &[u32]) -> &[u32] {
    for run in RUNS {
        let Some(before) = known.len().checked_sub(run).filter(|&before| before > 0) else { continue };
        let newest = &known[before..];
        if let Some(place) = known[..known.len() - 1].windows(run).rposition(|window| window == newest) {
            return &known[place + run..];
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_and_its_last_place_are_looked_up() {
        // 1 2 3 came twice; after it 4 the first time, 5 the second.
        let known = [9, 1, 2, 3, 4, 7, 1, 2, 3, 5, 8, 1, 2, 3];
        assert_eq!(look_up(&known), [5, 8, 1, 2, 3]);
        assert_eq!(look_up(&[9, 1, 2, 3, 4, 7, 2, 3, 5, 9, 1, 2, 3]), [4, 7, 2, 3, 5, 9, 1, 2, 3]);
        assert_eq!(look_up(&[6, 6, 6]), [6]);
        assert_eq!(look_up(&[1, 2]), [0_u32; 0]);
        assert_eq!(look_up(&[]), [0_u32; 0]);
    }

    #[test]
    fn guesses_grow_with_trust_and_shrink_with_company() {
        let known: Vec<u32> = (0..20).chain(0..4).collect();
        let mut draft = Draft::new();
        let (alone, among) = (draft.guess(&known, Vec::new(), 1, 99), draft.guess(&known, Vec::new(), 16, 99));
        assert!(alone > among, "{alone} alone, {among} among sixteen");
        for _ in 0..30 {
            draft.guess(&known, Vec::new(), 1, 99);
            assert!(!draft.learn(0, Some(99)));
        }
        assert_eq!(draft.guess(&known, Vec::new(), 1, 99), 0);
        assert_eq!(draft.guess(&known, vec![1, 2, 3], 64, 99), 3, "what a grammar forces is always computed");
        assert_eq!(draft.guess(&known, vec![1, 2, 3], 64, 2), 2);
        assert!(draft.learn(0, Some(1)) && draft.learn(1, Some(2)) && !draft.learn(2, Some(3)));
        // What is not computed is still learnt from, so trust comes back.
        for _ in 0..30 {
            draft.guess(&known, Vec::new(), 1, 0);
            assert!(!draft.learn(0, Some(4)));
        }
        assert_eq!(draft.guess(&known, Vec::new(), 1, 99), MOST);
    }
}
