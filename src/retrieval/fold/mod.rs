//! Folding of near-duplicates among retrieved passages: ten copies of one statement count once.
//!
//! Candidates are pairs that share most of their shingles of three words. Shingles alone would fold "opened in 1932" and
//! "opened in 1933", the very contradiction that a debate is about. So candidates are aligned word by word and folded
//! only if they differ in articles, in the spelling of a word, or in whole sentences before or after. In doubt they stay
//! apart: a copy that is not folded costs a call, a folded contradiction costs the answer.

mod difference;
mod exact;

use crate::question::Hit;
use crate::question::Passage;
use crate::retrieval::passage::Wanted;
use crate::unicode;
use difference::{Word, same_but_for_trifles};
pub(crate) use exact::Exact;
use std::collections::HashMap;
use unicode_segmentation::UnicodeSegmentation;

/// Words of a shingle.
const SHINGLE: usize = 3;
/// Two passages are aligned if their shingles have at least this Jaccard index, ...
const JACCARD: f64 = 0.5;
/// ... or if the other passage contains this share of the shorter one's shingles (an excerpt).
const CONTAINMENT: f64 = 0.7;
/// Passages with fewer words depend on their title for meaning, so their titles must be equal.
const SHORT: usize = 20;

/// A passage, prepared for comparison.
struct Voice {
    words: Vec<Word>,
    /// Hashes of its shingles, sorted, each once.
    shingles: Vec<u64>,
    title: String,
}

impl Voice {
    fn new(passage: &Passage) -> Self {
        Self::of(&passage.text, passage.title.as_deref())
    }

    fn of(text: &str, title: Option<&str>) -> Self {
        let words = words(text);
        let title = title.map(unicode::folded).unwrap_or_default();
        let title: Vec<&str> = title.unicode_words().collect();
        Self { shingles: shingles(&words), words, title: title.join(" ") }
    }

    fn copies(&self, other: &Self) -> bool {
        let shorter = self.words.len().min(other.words.len());
        let titles_differ = !self.title.is_empty() && !other.title.is_empty() && self.title != other.title;
        if shorter == 0 || (shorter < SHORT && titles_differ) {
            return false;
        }
        let common = common(&self.shingles, &other.shingles);
        let (a, b) = (self.shingles.len() as f64, other.shingles.len() as f64);
        let near = common / (a + b - common) >= JACCARD || common / a.min(b) >= CONTAINMENT;
        near && same_but_for_trifles(&self.words, &other.words)
    }
}

/// Folds each passage of `found`, best first, into the first before it that says the same in the same words. What is
/// left keeps its order; the folded, best first, are its [`Hit::copies`].
///
/// Compares every passage with every one kept: meant for some hundreds.
#[must_use]
pub fn fold(found: Vec<Hit>) -> Vec<Hit> {
    let everything =
        Wanted { top: usize::MAX, by_source: false, filter: crate::retrieval::Filter::default(), fold: true };
    select(found, &everything)
}

/// Groups texts that say the same in the same words: indices in `texts`, each in one group, in the order of their
/// first.
#[must_use]
pub(crate) fn groups(texts: &[&str]) -> Vec<Vec<usize>> {
    let untitled: Vec<(&str, Option<&str>)> = texts.iter().map(|&text| (text, None)).collect();
    titled_groups(&untitled)
}

/// As [`groups`], of texts with their titles: short ones are copies only if no two titles differ.
#[must_use]
pub(crate) fn titled_groups(texts: &[(&str, Option<&str>)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Voice, Vec<usize>)> = Vec::new();
    for (index, (text, title)) in texts.iter().enumerate() {
        let voice = Voice::of(text, *title);
        match groups.iter_mut().find(|(first, _)| first.copies(&voice)) {
            Some((_, group)) => group.push(index),
            None => groups.push((voice, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// A test of two of `texts`, by their indices: whether they share at least half of the shorter one's shingles. Such
/// texts are near copies, which may still contradict each other.
pub(crate) fn resemblance(texts: &[&str]) -> impl Fn(usize, usize) -> bool + use<> {
    let shingles: Vec<Vec<u64>> = texts.iter().map(|text| shingles(&words(text))).collect();
    move |a, b| {
        let shorter = shingles[a].len().min(shingles[b].len()) as f64;
        shorter > 0.0 && common(&shingles[a], &shingles[b]) / shorter >= JACCARD
    }
}

/// Selects `wanted` passages from the candidates `found`, best first: filtered, folded if asked for, the best of all or
/// of each source. Sources are ordered by their best passage; passages without a source form one more source.
///
/// A copy counts for the source of the passage that it is folded into, so its own source can supply another passage.
#[must_use]
pub fn select(found: Vec<Hit>, wanted: &Wanted) -> Vec<Hit> {
    let mut kept: Vec<(Hit, Option<Voice>)> = Vec::new();
    let mut taken: HashMap<Option<String>, usize> = HashMap::new();
    for candidate in found.into_iter().filter(|found| wanted.filter.admits(&found.passage)) {
        let voice = wanted.fold.then(|| Voice::new(&candidate.passage));
        let original = kept
            .iter_mut()
            .find(|(_, other)| voice.as_ref().zip(other.as_ref()).is_some_and(|(voice, other)| other.copies(voice)));
        // Before the limit of its source is checked, which copies do not count towards.
        if let Some((original, _)) = original {
            original.copies.push(candidate.passage);
            original.copies.extend(candidate.copies);
            continue;
        }
        let group = candidate.passage.source.clone().filter(|_| wanted.by_source);
        let count = taken.entry(group).or_default();
        if *count < wanted.top {
            *count += 1;
            kept.push((candidate, voice));
        }
    }
    let mut kept: Vec<Hit> = kept.into_iter().map(|(found, _)| found).collect();
    if wanted.by_source {
        let mut order: HashMap<Option<String>, usize> = HashMap::new();
        for found in &kept {
            let next = order.len();
            order.entry(found.passage.source.clone()).or_insert(next);
        }
        kept.sort_by_key(|found| order[&found.passage.source]);
    }
    kept
}

/// Unicode words (UAX #29); white space, punctuation, case and other spellings of a character are ignored.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for piece in text.split_word_bounds() {
        if piece.chars().any(char::is_alphanumeric) {
            let capital = piece.chars().next().is_some_and(char::is_uppercase);
            words.push(Word { text: unicode::folded(piece).into_owned(), capital, ends: false });
        } else if let Some(last) = words.last_mut() {
            let breaks = piece.contains(['\n', '.', '!', '?', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}']);
            last.ends |= breaks;
        }
    }
    words
}

fn shingles(words: &[Word]) -> Vec<u64> {
    let hash = |words: &[Word]| {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        // Without random keys: equal shingles of two passages have equal hashes.
        BuildHasherDefault::<DefaultHasher>::default().hash_one(texts)
    };
    let mut shingles: Vec<u64> = match words.len() {
        0 => Vec::new(),
        n if n < SHINGLE => vec![hash(words)],
        _ => words.windows(SHINGLE).map(hash).collect(),
    };
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

/// Number of values that two sorted lists share.
fn common(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut count) = (0, 0, 0_u32);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                count += 1;
                i += 1;
                j += 1;
            }
        }
    }
    f64::from(count)
}
