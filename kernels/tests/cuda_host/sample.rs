//! Sampling: which tokens are kept, which is drawn, and what a mask forbids.

use crate::host::{Buffer, random};
use crate::library::{Library, library};
use moot_kernels::launch::{self, Choice, Element, NO_MASK};

const GREEDY: Choice = Choice { temperature: 0.0, top_p: 1.0, draw: 0.0, top_k: 0, mask: NO_MASK };

fn sample(library: &Library, logits: &[Vec<f32>], vocab: usize, masks: &[Vec<u32>], choices: &[Choice]) -> Vec<u32> {
    let stride = logits[0].len();
    let words = masks.first().map_or(0, Vec::len);
    let choices: Vec<u32> = choices.iter().flat_map(Choice::words).collect();
    let (logits, choices) = (Buffer::of(Element::F32, &logits.concat()), Buffer::words(&choices));
    let (masks, tokens) = (Buffer::words(&masks.concat()), Buffer::words(&vec![77; choices.to_words().len() / 5]));
    let pointers = [&logits, &masks, &choices, &tokens].map(Buffer::pointer);
    let rows = tokens.to_words().len();
    library.run(&launch::sample(pointers, rows, vocab, stride, words));
    tokens.to_words()
}

#[test]
fn greedy_takes_the_lowest_of_equals_and_nothing_forbidden() {
    let library = library();
    let mut logits = random(Element::F32, 3, 3001);
    logits[1700] = 9.0;
    logits[2900] = 9.0;
    logits[3000] = 99.0;
    let mut mask = vec![u32::MAX; 3001_usize.div_ceil(32)];
    mask[1700 / 32] &= !(1 << (1700 % 32));
    let masked = Choice { mask: 1, ..GREEDY };
    let unsound = vec![f32::NAN; 3001];
    let rows = [logits.clone(), logits, unsound];
    // The last number is beyond the vocabulary.
    let got = sample(library, &rows, 3000, &[vec![0; mask.len()], mask], &[GREEDY, masked, GREEDY]);
    assert_eq!(got, [1700, 2900, u32::MAX]);
    let none = sample(library, &rows[..1], 3000, &[vec![0; 94]], &[Choice { mask: 0, ..GREEDY }]);
    assert_eq!(none, [u32::MAX]);
    assert_eq!(sample(library, &[vec![-0.0, 0.0, -1.0]], 3, &[], &[GREEDY]), [0], "minus zero is zero");
}

/// Tokens 100 to 103 with probabilities of 1 to 4 tenths, among others that no draw meets.
fn tenths() -> Vec<f32> {
    let mut logits = vec![-80.0; 2100];
    (1..5).for_each(|n| logits[99 + n] = (n as f32).ln());
    logits
}

#[test]
fn top_k_and_top_p_keep_the_likeliest() {
    let library = library();
    for (top_k, top_p, kept) in [
        (1, 1.0, vec![103]),
        (2, 1.0, vec![102, 103]),
        (0, 0.5, vec![102, 103]),
        (0, 1.0, vec![100, 101, 102, 103]),
        (3, 0.99, vec![101, 102, 103]),
        (0, 0.0, vec![103]),
    ] {
        let draws: Vec<Choice> =
            (0..60).map(|i| Choice { temperature: 1.0, top_p, top_k, draw: i as f32 / 60.0, mask: NO_MASK }).collect();
        let got = sample(library, &vec![tenths(); draws.len()], 2100, &[], &draws);
        let mut seen = got.clone();
        seen.dedup();
        assert_eq!(seen, kept, "top_k {top_k}, top_p {top_p}");
        let of_all: usize = kept.iter().map(|id| *id as usize - 99).sum();
        for id in &kept {
            let share = got.iter().filter(|token| *token == id).count() as f32 / draws.len() as f32;
            let wanted = (id - 99) as f32 / of_all as f32;
            assert!((share - wanted).abs() < 0.03, "{id}: {share} of {wanted}");
        }
    }
}

#[test]
fn equals_at_the_cut_are_kept_by_id_and_temperature_sharpens() {
    let library = library();
    let equal = vec![1.0; 1500];
    let draws: Vec<Choice> = (0..30)
        .map(|i| Choice { temperature: 0.7, top_p: 1.0, top_k: 3, draw: i as f32 / 30.0, mask: NO_MASK })
        .collect();
    let mut got = sample(library, &vec![equal.clone(); 30], 1500, &[], &draws);
    got.dedup();
    assert_eq!(got, [0, 1, 2]);
    let middle = Choice { temperature: 1.0, top_p: 1.0, top_k: 2, draw: 0.5, mask: NO_MASK };
    assert_eq!(
        sample(library, std::slice::from_ref(&equal), 1500, &[], &[middle]),
        [1],
        "half is no longer the first's"
    );
    let half = Choice { temperature: 1.0, top_p: 0.5, top_k: 0, draw: 0.9999, mask: NO_MASK };
    assert_eq!(sample(library, &[equal], 1500, &[], &[half]), [749]);
    let cold = Choice { temperature: 0.01, top_p: 1.0, top_k: 0, draw: 0.001, mask: NO_MASK };
    assert_eq!(sample(library, &[tenths()], 2100, &[], &[cold]), [103]);
    let mut mask = vec![u32::MAX; 66];
    mask[103 / 32] &= !(1 << (103 % 32));
    let masked = Choice { draw: 0.999, mask: 0, ..cold };
    assert_eq!(sample(library, &[tenths()], 2100, &[mask], &[masked]), [102]);
}
