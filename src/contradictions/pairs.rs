//! Candidate pairs: the nearest claims of other documents to each claim, and of these the most promising.

use super::claims::Claim;
use super::folder::Folder;
use super::signals::{Likeness, Signals};
use crate::error::Result;
use crate::retrieval::{Embedder, Side};
use moot_models::kernels::math::ln;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

/// Texts embedded at once.
const BATCH: usize = 64;

/// Nearest claims that are considered for each claim.
const NEAREST: usize = 24;

/// The least mean of cosines of a candidate.
const NEAR: f64 = 0.3;

/// Least [`Signals::promise`] of a pair that is labelled.
const PROMISING: f64 = 1.5;

/// Two claims of different documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    /// Indices of the claims, the lower one first.
    pub(super) of: (usize, usize),
    /// One is the nearest claim of another document to the other one. Such pairs are labelled whatever their promise.
    nearest: bool,
    pub(super) signals: Signals,
}

impl Pair {
    /// The most promising first.
    fn order(&self, other: &Self) -> Ordering {
        let by_promise = || other.signals.promise().total_cmp(&self.signals.promise());
        other.nearest.cmp(&self.nearest).then_with(by_promise).then(self.of.cmp(&other.of))
    }
}

/// Vectors of length 1, one a claim.
struct Table {
    values: Vec<f32>,
    dimension: usize,
}

/// Vectors of claims.
pub(super) struct Vectors {
    /// Of each sentence, with its subject where it begins with a pronoun.
    alone: Table,
    /// Of the same behind the title of its document, which says what a document of another style is about; without an embedder
    /// there is none.
    titled: Option<Table>,
}

impl Vectors {
    /// Computed by `embedder`. `each` receives the number of finished texts, two a claim; its error ends the work.
    pub(super) fn embedded(
        folder: &Folder,
        claims: &[Claim],
        embedder: &dyn Embedder,
        each: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Self> {
        let mut table = |before: usize, text: &dyn Fn(&Claim) -> String| -> Result<Table> {
            let mut values = Vec::with_capacity(claims.len() * embedder.dimension());
            for (number, batch) in claims.chunks(BATCH).enumerate() {
                each(before + number * BATCH)?;
                let texts: Vec<String> = batch.iter().map(text).collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                values.extend(embedder.embed(&texts, Side::Passage)?);
            }
            Ok(Table::normalised(values, embedder.dimension()))
        };
        let titled = |claim: &Claim| format!("{}. {}", folder.sources[claim.source()].name(), claim.alone());
        Ok(Self { alone: table(0, &Claim::alone)?, titled: Some(table(claims.len(), &titled)?) })
    }

    /// Bags of words: each stem adds its weight to the coordinate that its hash selects.
    pub(super) fn of_words(claims: &[Claim], weights: &Weights) -> Self {
        const DIMENSION: usize = 512;
        let mut values = vec![0.0; claims.len() * DIMENSION];
        for (claim, vector) in claims.iter().zip(values.chunks_exact_mut(DIMENSION)) {
            let about: Vec<String> = claim.about.iter().map(|name| super::words::stem(name)).collect();
            for word in claim.words.content.iter().chain(&about) {
                // djb2: the standard library's hashes may change with its version, and a folder's pairs with them.
                let hash = word.bytes().fold(5381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte));
                vector[hash % DIMENSION] += weights.of(word) as f32;
            }
        }
        Self { alone: Table::normalised(values, DIMENSION), titled: None }
    }

    fn likeness(&self, a: usize, b: usize) -> Likeness {
        let cosine = f64::from(self.alone.cosine(a, b));
        let near = self.titled.as_ref().map_or(cosine, |titled| (2.0 * cosine + f64::from(titled.cosine(a, b))) / 3.0);
        Likeness { cosine, near }
    }
}

impl Table {
    fn normalised(mut values: Vec<f32>, dimension: usize) -> Self {
        for vector in values.chunks_exact_mut(dimension) {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                vector.iter_mut().for_each(|x| *x /= length);
            }
        }
        Self { values, dimension }
    }

    fn of(&self, index: usize) -> &[f32] {
        &self.values[index * self.dimension..(index + 1) * self.dimension]
    }

    fn cosine(&self, a: usize, b: usize) -> f32 {
        // Sixteen sums become vector instructions; the compiler may not reorder a single one.
        let mut lanes = [0.0_f32; 16];
        let (one, two) = (self.of(a).chunks_exact(16), self.of(b).chunks_exact(16));
        let rest: f32 = one.remainder().iter().zip(two.remainder()).map(|(x, y)| x * y).sum();
        for (x, y) in one.zip(two) {
            for lane in 0..16 {
                lanes[lane] += x[lane] * y[lane];
            }
        }
        lanes.iter().sum::<f32>() + rest
    }
}

/// Weights of words by rarity: the smoothed logarithm of all claims over the claims that have the word (inverse document
/// frequency).
pub(super) struct Weights {
    counts: HashMap<String, usize>,
    all: f64,
}

impl Weights {
    pub(super) fn of_claims(claims: &[Claim]) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for word in claims.iter().flat_map(|claim| &claim.words.content) {
            *counts.entry(word.clone()).or_default() += 1;
        }
        // In a small folder no word is rare: a floor keeps the weights of folders of any size alike.
        Self { counts, all: (claims.len() as f64).max(200.0) }
    }

    pub(super) fn of(&self, word: &str) -> f64 {
        ln(1.0 + self.all / (1.0 + self.counts.get(word).copied().unwrap_or(0) as f64))
    }
}

/// The pairs to label: of each claim the nearest neighbours, and by promise others up to `most` in all.
pub(super) fn find(folder: &Folder, claims: &[Claim], vectors: &Vectors, weights: &Weights, most: usize) -> Vec<Pair> {
    let all: Vec<Vec<(Likeness, usize)>> =
        (0..claims.len()).into_par_iter().map(|claim| nearest(folder, claims, vectors, claim)).collect();
    let first = |claim: usize| all[claim].first().map(|(_, nearest)| *nearest);
    let found: Vec<Vec<Pair>> = all
        .par_iter()
        .enumerate()
        .map(|(a, nearest)| {
            let pair = |(likeness, b): &(Likeness, usize)| {
                let of = (a.min(*b), a.max(*b));
                let signals = Signals::of(&claims[of.0], &claims[of.1], *likeness, &|word| weights.of(word));
                Pair { of, nearest: first(a) == Some(*b) || first(*b) == Some(a), signals }
            };
            let mut pairs: Vec<Pair> = nearest.iter().map(pair).collect();
            pairs.retain(|pair| pair.nearest || pair.signals.promise() >= PROMISING);
            pairs.sort_by(Pair::order);
            // Nearest neighbours come first and are all labelled.
            let of_nearest = pairs.iter().filter(|pair| pair.nearest).count();
            pairs.truncate(most.max(of_nearest));
            pairs
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut pairs: Vec<Pair> = found.into_iter().flatten().filter(|pair| seen.insert(pair.of)).collect();
    pairs.sort_by_key(|pair| pair.of);
    pairs
}

/// Removes pairs whose documents both have `most` better ones, except nearest neighbours; returns the number of removed pairs.
pub(super) fn bound(pairs: &mut Vec<Pair>, claims: &[Claim], most: usize) -> usize {
    let all = pairs.len();
    let mut counts: HashMap<usize, usize> = HashMap::new();
    pairs.sort_by(Pair::order);
    pairs.retain(|pair| {
        let sources = [claims[pair.of.0].source(), claims[pair.of.1].source()];
        let keep = pair.nearest || sources.iter().any(|source| counts.get(source).copied().unwrap_or_default() < most);
        if keep {
            sources.iter().for_each(|source| *counts.entry(*source).or_default() += 1);
        }
        keep
    });
    pairs.sort_by_key(|pair| pair.of);
    all - pairs.len()
}

/// The nearest claims of other documents, nearest first.
fn nearest(folder: &Folder, claims: &[Claim], vectors: &Vectors, a: usize) -> Vec<(Likeness, usize)> {
    let changed = |claim: &Claim| claim.stated.iter().any(|(source, _)| folder.sources[*source].changed);
    let own = changed(&claims[a]);
    let elsewhere = |b: usize| {
        let (one, two) = (&claims[a], &claims[b]);
        // A claim of several documents may be compared with claims of its first one.
        b != a && (one.stated.len() > 1 || two.stated.len() > 1 || one.source() != two.source())
    };
    let mut best: Vec<(Likeness, usize)> = Vec::with_capacity(NEAREST + 1);
    for b in (0..claims.len()).filter(|&b| elsewhere(b)) {
        if folder.only_changes && !own && !changed(&claims[b]) {
            continue;
        }
        let likeness = vectors.likeness(a, b);
        let near = likeness.near;
        if near < NEAR || (best.len() == NEAREST && best.last().is_some_and(|(last, _)| last.near >= near)) {
            continue;
        }
        let at = best.partition_point(|(other, _)| other.near >= near);
        best.insert(at, (likeness, b));
        best.truncate(NEAREST);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{Claim, Folder, Table, Vectors, Weights, find};
    use crate::contradictions::folder::Source;
    use crate::question::Origin;

    /// Four claims in a row: the two in the middle are nearest to each other, and say the same, which promises least.
    #[test]
    fn nearest_pairs_are_kept_beyond_the_most_of_a_claim() {
        let mut folder = Folder::default();
        folder.sources.resize(4, Source::default());
        let claim = |(source, year): (usize, u32)| {
            let origin = Origin { file: String::new(), id: None, line: None, page: None, characters: 0..0 };
            let text = format!("Harlow Mill was built in {year} by Ada Brook.");
            Claim { stated: vec![(source, origin)], ..Claim::of_text(&text) }
        };
        let claims: Vec<Claim> = [1790, 1811, 1811, 1790].into_iter().enumerate().map(claim).collect();
        let alone = Table::normalised(vec![10.0, 0.0, 9.0, 5.0, 6.0, 7.0, 2.0, 10.0], 2);
        let vectors = Vectors { alone, titled: None };
        let pairs = find(&folder, &claims, &vectors, &Weights::of_claims(&claims), 1);
        let found: Vec<(usize, usize)> = pairs.iter().map(|pair| pair.of).collect();
        assert_eq!(found, [(0, 1), (1, 2), (2, 3)]);
    }
}
