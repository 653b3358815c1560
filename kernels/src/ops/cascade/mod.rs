//! The plan of `cuda/attention.cu`: which thread block reads which pages for which rows.
//!
//! Positions are cut into spans of [`SPAN`] pages. A long chunk of one sequence is cut into tiles of rows, and a block
//! goes through all spans of its tile. Few rows (decoding) would keep few blocks busy that way, so each span is a work
//! of its own, and sequences that share a span's pages are in one work: the pages are read once for all of them. A span
//! that they share in part is one work too, with the common pages first and then each sequence's own.

mod plan;

use crate::pages::{PAGE, SequenceRows};
use plan::{PlacedSequence, Plan, VISIT, WORK, first_page};

pub use plan::{Kind, SPAN};

/// Queries of a block: rows times query heads of a KV head. `cuda/attention.cu` has the same.
const QUERIES: usize = 64;

/// Most partial results in a step of sequences with a few rows each. Further sequences are computed as tiles, which keep no
/// partial results: slower where pages are shared, with the same bits.
const MOST_OF_SEVERAL: usize = 1 << 14;

/// The size of a decoding step's plan, rounded up, so that steps of growing sequences have plans of equal size. A captured
/// step is launched again for every plan of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanSize {
    rows: usize,
    /// Most works and most partial results; there are [`SPAN`] times as many visits at most.
    works: usize,
}

impl PlanSize {
    /// Words of a plan.
    #[must_use]
    pub fn words(self) -> usize {
        2 * self.rows + (WORK + VISIT * SPAN) * self.works
    }
}

/// The plan as 32-bit words, uploaded in one copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cascade {
    words: Vec<u32>,
    rows: usize,
    window: usize,
    /// As in [`Kind::ALL`]: first word and works.
    works: [(usize, usize); 2],
    visits: (usize, usize),
    partials: usize,
}

impl Cascade {
    /// Whether `group` query heads of a KV head fit into a block.
    #[must_use]
    pub fn fits(group: usize) -> bool {
        (1..=QUERIES).contains(&group)
    }

    /// `window` as the kernels take it, in 32 bits: positions are fewer.
    pub(crate) fn window_of(window: usize) -> usize {
        window.clamp(1, u32::MAX as usize)
    }

    /// Plans the rows of `sequences`, one after the other, for `group` query heads of a KV head, which must
    /// [fit](Self::fits). Each row attends to `window` positions at most, the last ones, its own among them.
    #[must_use]
    pub fn new(sequences: &[SequenceRows], group: usize, window: usize) -> Self {
        let window = Self::window_of(window);
        let mut plan = Plan::with_tiles(QUERIES / group);
        let mut short: Vec<PlacedSequence<'_>> = Vec::new();
        let (mut row, mut results) = (0, 0);
        for sequence in sequences {
            let part = PlacedSequence { sequence, row, window };
            let several = if sequence.len > 1 { part.results() } else { 0 };
            if sequence.len > QUERIES / group || results + several > MOST_OF_SEVERAL {
                plan.spans(&short);
                short.clear();
                plan.chunk(&part);
            } else if sequence.len > 0 {
                results += several;
                short.push(part);
            }
            row += sequence.len;
        }
        plan.spans(&short);
        Self::written(plan, sequences, window)
    }

    /// The words of `plan`.
    fn written(mut plan: Plan, sequences: &[SequenceRows], window: usize) -> Self {
        // The longest first, so that no long work begins last.
        plan.works.iter_mut().for_each(|works| works.sort_by_key(|work| std::cmp::Reverse(work[3])));
        let mut words: Vec<u32> =
            sequences.iter().flat_map(|s| s.start..s.start + s.len).map(|position| position as u32).collect();
        let rows = words.len();
        words.resize(2 * rows, 0);
        let mut partials = 0;
        for &row in &plan.spanned {
            words[rows + row as usize] = partials;
            let position = words[row as usize] as usize;
            partials += (position / (SPAN * PAGE) - first_page(position, window) / SPAN + 1) as u32;
        }
        let works = plan.works.each_ref().map(|works| {
            let first = words.len();
            words.extend(works.iter().flatten());
            (first, works.len())
        });
        let visits = (words.len(), plan.visits.len());
        words.extend(plan.visits.iter().flatten());
        Self { words, rows, window, works, visits, partials: partials as usize }
    }

    /// All words of the plan.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The first word of the rows' positions.
    #[must_use]
    pub fn positions(&self) -> usize {
        0
    }

    /// The first word of the rows' slots: where the partial result of a row's first span goes.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.rows
    }

    /// First word and number of the works of a kind.
    #[must_use]
    pub fn works(&self, kind: Kind) -> (usize, usize) {
        self.works[kind as usize]
    }

    /// Rows of the batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Positions that a row attends to at most.
    #[must_use]
    pub fn window(&self) -> usize {
        self.window
    }

    /// The first word of the visits.
    #[must_use]
    pub fn visits(&self) -> usize {
        self.visits.0
    }

    /// Pages read, per layer and KV head.
    #[must_use]
    pub fn page_reads(&self) -> usize {
        self.visits.1
    }

    /// Partial results, one a row and span.
    #[must_use]
    pub fn partials(&self) -> usize {
        self.partials
    }

    /// Most partial results of a plan of `rows` rows of `sequences` sequences, of `positions` positions each at most.
    #[must_use]
    pub fn most_partials(sequences: usize, rows: usize, positions: usize, group: usize) -> usize {
        let spans = positions.div_ceil(SPAN * PAGE);
        let few = sequences.saturating_mul(QUERIES / group.max(1)).min(rows);
        sequences.min(rows).saturating_mul(spans).saturating_add(few.saturating_mul(spans).min(MOST_OF_SEVERAL))
    }

    /// The size that this plan takes; `None` where a sequence has so many rows that it is a chunk of a prompt.
    #[must_use]
    pub fn size(&self) -> Option<PlanSize> {
        /// Smallest number of works: some hundred positions of some rows.
        const LEAST: usize = 64;
        let [(_, spans), (_, chunks)] = self.works;
        if chunks > 0 || self.rows == 0 {
            return None;
        }
        let works = spans.max(self.visits.1.div_ceil(SPAN)).max(self.partials);
        Some(PlanSize { rows: self.rows, works: works.next_power_of_two().max(LEAST) })
    }

    /// The same plan, filled up to `size`, which must be [its own](Self::size). Works that are added have no rows and no
    /// visits, so their blocks write nothing.
    #[must_use]
    pub fn padded(&self, size: PlanSize) -> Self {
        let of = |(first, count): (usize, usize), size: usize| &self.words[first..first + size * count];
        let mut words = self.words[..2 * self.rows].to_vec();
        let first = words.len();
        words.extend(of(self.works[0], WORK));
        words.resize(first + WORK * size.works, 0);
        let visits = (words.len(), self.visits.1);
        words.extend(of(self.visits, VISIT));
        words.resize(size.words(), 0);
        let works = [(first, size.works), (visits.0, 0)];
        Self { words, rows: self.rows, window: self.window, works, visits, partials: size.works }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeMap;

    fn sequence(start: usize, len: usize, pages: impl IntoIterator<Item = u32>) -> SequenceRows {
        SequenceRows { start, len, pages: pages.into_iter().collect() }
    }

    /// For every row and span: the pages with keys that it attends to, in the order they are visited, each with its index.
    fn reads(cascade: &Cascade) -> BTreeMap<(u32, u32), Vec<(u32, u32)>> {
        let mut reads: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
        for kind in Kind::ALL {
            let (first, count) = cascade.works(kind);
            for work in cascade.words()[first..first + 4 * count].chunks_exact(4) {
                let [row, rows, visit, visits] = *work else { unreachable!() };
                let from = cascade.visits() + 5 * visit as usize;
                for visit in cascade.words()[from..from + 5 * visits as usize].chunks_exact(5) {
                    let [page, index, first, many, keys] = *visit else { unreachable!() };
                    assert!(first >= row && first + many <= row + rows && (1..=16).contains(&keys));
                    for row in first..first + many {
                        let position = cascade.words()[cascade.positions() + row as usize];
                        let first = (position as usize + 1).saturating_sub(cascade.window());
                        if index * 16 <= position && (index as usize + 1) * 16 > first {
                            assert!(keys > (position - index * 16).min(15), "a key that is attended to is written");
                            reads.entry((row, index / SPAN as u32)).or_default().push((index, page));
                        }
                    }
                }
            }
        }
        reads
    }

    fn check(sequences: &[SequenceRows], group: usize) -> Cascade {
        for window in [1, 16, 17, 100, 128, 129, 300] {
            check_window(sequences, group, window);
        }
        check_window(sequences, group, usize::MAX)
    }

    fn check_window(sequences: &[SequenceRows], group: usize, window: usize) -> Cascade {
        let cascade = Cascade::new(sequences, group, window);
        let reads = reads(&cascade);
        let (mut row, mut spans) = (0, 0);
        for sequence in sequences {
            for position in sequence.start..sequence.start + sequence.len {
                let (first, pages) = ((position + 1).saturating_sub(window) / PAGE, position / PAGE + 1);
                for span in first / SPAN..pages.div_ceil(SPAN) {
                    let own = first.max(span * SPAN)..pages.min((span + 1) * SPAN);
                    let wanted: Vec<(u32, u32)> = own.map(|i| (i as u32, sequence.pages[i])).collect();
                    assert_eq!(reads.get(&(row, span as u32)), Some(&wanted), "row {row}, span {span}");
                    spans += 1;
                }
                row += 1;
            }
        }
        assert_eq!(reads.len(), spans, "no row reads what is not its own");
        assert!(spans >= cascade.partials());
        if let Some(size) = cascade.size() {
            let padded = cascade.padded(size);
            assert_eq!(padded.words().len(), size.words());
            assert_eq!(self::reads(&padded), reads);
            assert_eq!(padded.works(Kind::Span).1, size.works);
        }
        cascade
    }

    #[test]
    fn plans_of_growing_sequences_have_the_same_size() {
        let size = |position| {
            Cascade::new(&[sequence(position, 1, 0..64), sequence(position, 1, 64..128)], 4, usize::MAX).size()
        };
        assert_eq!(size(100), size(900));
        let many = |position| Cascade::new(&vec![sequence(position, 1, 0..64); 30], 4, usize::MAX).size();
        assert_ne!(many(100), many(900));
        assert_eq!(Cascade::new(&[sequence(0, 100, 0..7)], 4, usize::MAX).size(), None);
    }

    #[test]
    fn every_row_reads_its_pages_in_order_and_once() {
        for group in [1, 2, 4, 6, 7, 8, 64] {
            check(&[sequence(0, 1, [3])], group);
            check(&[sequence(130, 1, 0..9), sequence(0, 200, 20..33), sequence(5, 3, [50])], group);
            let shared = |own: u32| (0..20).chain([100 + 2 * own, 101 + 2 * own]);
            check(&(0..8).map(|i| sequence(320 + i, 1, shared(i as u32))).collect::<Vec<_>>(), group);
            check(&[sequence(10, 1, 0..1), sequence(300, 2, 0..19), sequence(12, 1, 0..1)], group);
        }
    }

    #[test]
    fn a_shared_page_is_read_once_for_as_many_as_a_block_holds() {
        let shared = |own: u32| (0..64).chain((0..8).map(move |i| 100 + 8 * own + i));
        let sequences: Vec<_> = (0..8).map(|i| sequence(1151, 1, shared(i))).collect();
        let cascade = check(&sequences, 4);
        assert_eq!(cascade.page_reads(), 64 + 8 * 8);
        assert_eq!(cascade.works(Kind::Span).1, 8 + 8);
        assert_eq!(cascade.partials(), 8 * 9);
        // Twice the rows that fit a block of 64 queries.
        let sequences: Vec<_> = (0..32).map(|i| sequence(1151, 1, shared(i))).collect();
        assert_eq!(check(&sequences, 4).page_reads(), 2 * 64 + 32 * 8);
    }

    #[test]
    fn a_span_that_is_shared_in_part_has_its_common_pages_once() {
        let sequences = [sequence(95, 1, (0..5).chain([10])), sequence(95, 1, (0..5).chain([11]))];
        let cascade = check(&sequences, 4);
        assert_eq!(cascade.page_reads(), 5 + 2);
    }

    #[test]
    fn short_chunks_keep_no_more_results_than_there_is_memory_for() {
        let of = |position: usize, len: usize, sequences: u32| -> Vec<SequenceRows> {
            let pages = (position + len).div_ceil(PAGE) as u32;
            (0..sequences).map(|own| sequence(position, len, own * pages..(own + 1) * pages)).collect()
        };
        for (position, len, sequences, group) in [(0, 1, 3, 4), (127, 1, 9, 4), (128, 16, 5, 4), (900, 64, 2, 1)] {
            let partials = check(&of(position, len, sequences), group).partials();
            let most = Cascade::most_partials(sequences as usize, sequences as usize * len, position + len, group);
            assert!((1..=most).contains(&partials), "{partials} of {most}");
        }
        // Ten spans of 64 rows each: 25 sequences fit.
        let cascade = check(&of(1216, 64, 30), 1);
        assert_eq!((cascade.partials(), cascade.works(Kind::Chunk).1), (25 * 640, 5));
        assert!(cascade.partials() <= Cascade::most_partials(30, 30 * 64, 1280, 1));
    }

    #[test]
    fn a_window_leaves_out_what_no_row_reaches() {
        // Pages 0 to 61 were given back: none of them is read.
        let pages = |own: u32| std::iter::repeat_n(crate::pages::NO_PAGE, 62).chain(100 * own..100 * own + 20);
        let rows = [sequence(1100, 1, pages(1)), sequence(1130, 100, pages(2)), sequence(1101, 1, pages(1))];
        let cascade = check_window(&rows, 4, 100);
        // 100 positions from within a page are in seven or eight pages: of two rows, and of tiles of 16 rows.
        assert!(cascade.page_reads() <= (2 + 7) * 8, "{}", cascade.page_reads());
        assert_eq!(cascade.partials(), 2 + 2);
        // Two rows of one sequence's pages whose windows begin in different pages of a span read them together.
        let both = [sequence(1100, 1, pages(1)), sequence(1116, 1, pages(1))];
        let cascade = check_window(&both, 4, 60);
        assert_eq!((cascade.page_reads(), cascade.works(Kind::Span).1), (5, 1));
    }

    #[test]
    fn long_chunks_are_tiles_of_one_sequence_the_longest_first() {
        let cascade = check(&[sequence(0, 100, 0..7)], 4);
        let (first, count) = cascade.works(Kind::Chunk);
        assert_eq!((count, cascade.works(Kind::Span).1, cascade.partials()), (7, 0, 0));
        let visits: Vec<u32> = cascade.words()[first..first + 4 * count].chunks(4).map(|work| work[3]).collect();
        assert_eq!(visits, [7, 6, 5, 4, 3, 2, 1]);
    }
}
