//! Word alignment of two passages: whether their differences can change the meaning.

use std::ops::Range;

/// Words whose presence does not change the meaning.
const TRIFLES: &[&str] = &["a", "an", "the", "that", "which", "also"];
/// Longest passage that is aligned, in words: the alignment table grows with the product of both lengths.
const LONGEST: usize = 2000;
/// Shortest word that may differ in spelling: "cat" and "cut" are different words.
const SPELT: usize = 5;

/// A word of a passage, for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// In folded case.
    pub(super) text: String,
    /// Begins with a capital letter.
    pub(super) capital: bool,
    /// A sentence ends after it.
    pub(super) ends: bool,
}

/// A difference: a range of words of `a` and the range of words of `b` in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    a: Range<usize>,
    b: Range<usize>,
}

/// Whether `a` and `b` differ only in ways that cannot change the meaning.
pub(super) fn same_but_for_trifles(a: &[Word], b: &[Word]) -> bool {
    if a.len() > LONGEST || b.len() > LONGEST {
        return a == b;
    }
    hunks(a, b).iter().all(|hunk| is_outside(hunk, a, b) || is_trifle(&a[hunk.a.clone()], &b[hunk.b.clone()]))
}

/// Whether the hunk consists of whole sentences before or after the other passage. Within a sentence, extra words could
/// change the meaning ("It is a myth that ...").
fn is_outside(hunk: &Hunk, a: &[Word], b: &[Word]) -> bool {
    let (words, text, other) = match (hunk.a.is_empty(), hunk.b.is_empty()) {
        (false, true) => (&hunk.a, a, hunk.b.start..b.len()),
        (true, false) => (&hunk.b, b, hunk.a.start..a.len()),
        _ => return false,
    };
    // "[The town is old.] The bridge": an alignment may also have matched the first "The" and left "town is old. The".
    // Both alignments are equivalent; the hunk is slid to the beginning if possible.
    let slides = || (0..words.start).all(|i| text[i].text == text[i + words.len()].text);
    let before = words.start == other.start && text[words.len() - 1].ends && slides();
    let after = words.end == text.len() && other.is_empty() && words.start > 0 && text[words.start - 1].ends;
    before || after
}

/// Whether two hunks differ only in optional words and spellings.
fn is_trifle(a: &[Word], b: &[Word]) -> bool {
    let counts = |word: &&Word| !TRIFLES.contains(&word.text.as_str());
    let (a, b): (Vec<&Word>, Vec<&Word>) = (a.iter().filter(counts).collect(), b.iter().filter(counts).collect());
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.text == b.text || is_spelling(a, b))
}

/// One letter wrong, missing, too many or two exchanged, in a word that is neither a name nor a number. The first
/// letter must be right: "legal" is not a spelling of "illegal", nor "moral" of "amoral".
fn is_spelling(a: &Word, b: &Word) -> bool {
    let (x, y): (Vec<char>, Vec<char>) = (a.text.chars().collect(), b.text.chars().collect());
    let plain = |word: &Word, letters: &[char]| !word.capital && letters.iter().all(|c| c.is_alphabetic());
    let (short, long) = if x.len() <= y.len() { (&x, &y) } else { (&y, &x) };
    if short.len() < SPELT || x[0] != y[0] || !plain(a, &x) || !plain(b, &y) {
        return false;
    }
    let first = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 => {
            let exchanged = first + 1 < x.len() && x[first] == y[first + 1] && x[first + 1] == y[first];
            let behind = first + if exchanged { 2 } else { 1 };
            x.get(behind..) == y.get(behind..)
        }
        1 => short[first..] == long[first + 1..],
        _ => false,
    }
}

/// The differences of `a` and `b`: the words outside a longest common subsequence.
fn hunks(a: &[Word], b: &[Word]) -> Vec<Hunk> {
    let same = |i: usize, j: usize| a[i].text == b[j].text;
    let width = b.len() + 1;
    // longest[i * width + j]: of what begins at words i and j.
    // No subsequence is longer than LONGEST, so that 16 bits hold it.
    let mut longest = vec![0_u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if same(i, j) {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && same(i, j) {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let start = (i, j);
        while (i < a.len() || j < b.len()) && !(i < a.len() && j < b.len() && same(i, j)) {
            let skip_a = j == b.len() || (i < a.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1]);
            if skip_a { i += 1 } else { j += 1 }
        }
        hunks.push(Hunk { a: start.0..i, b: start.1..j });
    }
    hunks
}
