//! Indexes: built, stopped, damaged, searched.

mod approximate;
mod building;
mod damage;
mod given_vectors;
mod killed;
mod searching;
mod updating;

use moot::Result;
use moot::question::{Origin, Passage};
use moot::retrieval::index::{BuildProgress, Builder, Cutoff, Index, IndexRetriever, Limits, Mode, Search, Storage};
use moot::retrieval::{Embedder, Filter, Hit, Retriever, Side, Wanted};
use std::path::Path;
use std::sync::Arc;

/// A vector of a text's words, each a fixed random direction: texts that share words lie near each other.
#[derive(Debug, Clone)]
pub(super) struct WordEmbedder {
    pub(super) identity: String,
    pub(super) dimension: usize,
}

impl WordEmbedder {
    pub(super) fn new() -> Self {
        Self { identity: "words".into(), dimension: 40 }
    }
}

pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn numbers(mut seed: u64) -> impl Iterator<Item = f32> {
    std::iter::repeat_with(move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    })
}

impl Embedder for WordEmbedder {
    fn embed(&self, texts: &[&str], _: Side) -> Result<Vec<f32>> {
        let mut all = Vec::new();
        for text in texts {
            let mut vector = vec![0.0; self.dimension];
            for word in text.split_whitespace() {
                vector.iter_mut().zip(numbers(hash(word))).for_each(|(x, y)| *x += y);
            }
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
            all.extend(vector.iter().map(|x| x / length));
        }
        Ok(all)
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}

/// Passages of a small world: words of some subjects, three sources, dates over ten years.
pub(super) fn passages(count: usize) -> Vec<Passage> {
    let passage = |i: usize| {
        let mut draw = numbers(i as u64 * 31 + 7).map(|x| ((x + 1.0) * 1e6) as usize);
        let subject = draw.next().unwrap() % 12;
        let words: Vec<String> = (0..6 + i % 9)
            .map(|_| {
                let word = draw.next().unwrap();
                if word % 3 == 0 { format!("common{}", word % 40) } else { format!("s{subject}w{}", word % 25) }
            })
            .collect();
        let given = |text: String| Some(text);
        Passage {
            text: words.join(" "),
            title: i.is_multiple_of(2).then(|| format!("Title{}", i % 7)),
            source: (i % 10 != 9).then(|| ["council", "diary", "press"][i % 3].to_owned()),
            date: if i % 4 == 3 { None } else { given(format!("{}-0{}-11", 2010 + i % 10, 1 + i % 9)) },
            url: None,
            notes: Vec::new(),
            origin: Origin {
                file: format!("notes/{}.txt", i % 5),
                id: None,
                line: Some(i as u64 + 1),
                page: None,
                characters: 0..10,
            },
        }
    };
    (0..count).map(passage).collect()
}

pub(super) fn small() -> Limits {
    Limits { segment: 64, ..Limits::default() }
}

pub(super) fn corpus() -> Vec<String> {
    vec!["notes".to_owned()]
}

pub(super) fn silent(_: &BuildProgress) -> Result<()> {
    Ok(())
}

/// An index of the first `count` passages, in segments of 64.
pub(super) fn build(dir: &Path, count: usize, embedder: Option<&dyn Embedder>, storage: Storage, limits: Limits) {
    let mut builder = Builder::create(dir, embedder, storage, limits).unwrap();
    builder.run(&corpus(), &mut passages(count).into_iter().map(Ok), embedder, &mut silent).unwrap();
}

pub(super) fn retriever(dir: &Path, search: Search) -> IndexRetriever {
    let embedder = (search.mode != Mode::Bm25).then(|| Arc::new(WordEmbedder::new()) as Arc<dyn Embedder>);
    IndexRetriever::new(Index::open(dir).unwrap(), embedder, search).unwrap()
}

pub(super) fn wanted(top: usize) -> Wanted {
    Wanted { top, by_source: false, filter: Filter::default(), fold: false }
}

/// Lines of the passages found: they are numbered from 1.
pub(super) fn lines(found: &[Hit]) -> Vec<u64> {
    found.iter().map(|found| found.passage.origin.line.unwrap()).collect()
}

pub(super) fn find(dir: &Path, mode: Mode, query: &str, wanted: &Wanted) -> Vec<Hit> {
    retriever(dir, Search { mode, ..Search::default() }).retrieve(query, wanted).unwrap()
}
