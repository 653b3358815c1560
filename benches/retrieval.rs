//! Search in an index of 1,000,000 vectors of 384 numbers: exact by storage type, approximate with its recall.
//!
//! `cargo bench --bench retrieval [-- PASSAGES [FOLDER [clustered-f16 ...]]]`. Indexes stay in FOLDER (by default a
//! temporary one), so that a second run measures the same ones. Times are of `Retriever::retrieve` without embedding: from a
//! query's vector to ten passages read from the page cache, the median of 60 queries.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use moot::Result;
use moot::question::{Origin, Passage};
use moot::retrieval::index::{BuildProgress, Builder, Index, IndexRetriever, Limits, Mode, Search, Storage};
use moot::retrieval::{Embedder, Filter, Hit, Retriever, Side, Wanted};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const DIMENSION: usize = 384;
const QUERIES: usize = 60;

/// Two distributions of unit vectors. A text is the number of its vector, or "q" and a number for a query.
#[derive(Clone, Copy, PartialEq)]
enum World {
    /// 10,000 clusters of 100 around random directions; two vectors of a cluster have a cosine of 0.6.
    Clustered,
    /// A random map of 24 dimensions into 384, with noise: neighbours everywhere, no clusters.
    Smooth,
}

struct Drawn {
    world: World,
    identity: String,
    /// `[10,000, 384]` or `[24, 384]`.
    base: Vec<f32>,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Approximately normal: the sum of four uniform numbers.
    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|i| bits >> (16 * i) & 0xffff).sum();
        (sum as f32 / 65_536.0 - 2.0) * 1.732
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

impl Drawn {
    fn new(world: World) -> Self {
        let (name, count) = if world == World::Clustered { ("clustered", 10_000) } else { ("smooth", 24) };
        let mut random = Random(1);
        let base = (0..count).flat_map(|_| unit((0..DIMENSION).map(|_| random.normal()).collect())).collect();
        Self { world, identity: format!("drawn at random, {name}"), base }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let query = text.starts_with('q');
        let number: u64 = text.trim_start_matches('q').parse().unwrap();
        let mut random = Random(number << 1 | u64::from(query));
        random.next();
        let noise = if self.world == World::Clustered { 0.8 } else { 0.3 } / (DIMENSION as f32).sqrt();
        let mut vector = vec![0.0; DIMENSION];
        let rows = self.base.chunks_exact(DIMENSION);
        if self.world == World::Clustered {
            vector.copy_from_slice(rows.clone().nth((random.next() % 10_000) as usize).unwrap());
        } else {
            for row in rows {
                let weight = random.normal() / 24.0_f32.sqrt();
                vector.iter_mut().zip(row).for_each(|(x, y)| *x += weight * y);
            }
        }
        vector.iter_mut().for_each(|x| *x += noise * random.normal());
        unit(vector)
    }
}

impl Embedder for Drawn {
    fn embed(&self, texts: &[&str], _: Side) -> Result<Vec<f32>> {
        Ok(texts.par_iter().flat_map_iter(|text| self.vector(text)).collect())
    }
    fn dimension(&self) -> usize {
        DIMENSION
    }
    fn identity(&self) -> &str {
        &self.identity
    }
}

fn passage(number: usize) -> Passage {
    let origin = Origin { file: "drawn".into(), id: None, line: Some(number as u64), page: None, characters: 0..1 };
    let source = Some(format!("source {}", number % 50));
    Passage { text: number.to_string(), title: None, source, date: None, url: None, notes: Vec::new(), origin }
}

fn build(dir: &Path, drawn: &Drawn, storage: Storage, passages: usize) {
    if Index::open(dir).is_ok_and(|index| index.manifest().builds.last().is_some_and(|build| build.finished)) {
        return;
    }
    let start = Instant::now();
    let mut builder = Builder::create(dir, Some(drawn), storage, Limits::default()).unwrap();
    let mut indexed = 0.0;
    let mut told = |progress: &BuildProgress| {
        if *progress == (BuildProgress::Grouping { done: 0, total: 3 }) {
            indexed = start.elapsed().as_secs_f64();
        }
        Ok(())
    };
    let corpus = [format!("{passages} drawn")];
    builder.run(&corpus, &mut (0..passages).map(|n| Ok(passage(n))), Some(drawn), &mut told).unwrap();
    let all = start.elapsed().as_secs_f64();
    println!("  built in {all:.0} s, {:.0} of them to group", all - indexed);
}

fn wanted(filter: Filter) -> Wanted {
    Wanted { top: 10, by_source: false, filter, fold: false }
}

fn queries() -> Vec<String> {
    (0..QUERIES).map(|i| format!("q{i}")).collect()
}

/// Median milliseconds per query, and the hits.
fn timed(retriever: &IndexRetriever, embed: f64, wanted: &Wanted) -> (f64, Vec<Vec<Hit>>) {
    let mut times = Vec::new();
    let mut found = Vec::new();
    for query in queries() {
        let start = Instant::now();
        found.push(retriever.retrieve(&query, wanted).unwrap());
        times.push(start.elapsed().as_secs_f64() * 1e3 - embed);
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], found)
}

fn recall(found: &[Vec<Hit>], want: &[Vec<Hit>]) -> f64 {
    let same = |(found, want): (&Vec<Hit>, &Vec<Hit>)| {
        found.iter().filter(|f| want.iter().any(|w| w.passage.text == f.passage.text)).count()
    };
    let total: usize = want.iter().map(Vec::len).sum();
    found.iter().zip(want).map(same).sum::<usize>() as f64 / total as f64
}

fn measure(dir: &Path, world: World, storage: Storage, passages: usize, truth: &mut Option<Vec<Vec<Hit>>>) {
    let drawn = Arc::new(Drawn::new(world));
    println!("{}, {passages} x {DIMENSION}, {}", drawn.identity, storage.name());
    build(dir, &drawn, storage, passages);
    let open = |exact, share| {
        let search = Search { mode: Mode::Dense, exact, share, ..Search::default() };
        IndexRetriever::new(Index::open(dir).unwrap(), Some(drawn.clone()), search).unwrap()
    };
    let start = Instant::now();
    queries().iter().for_each(|query| drop(drawn.vector(query)));
    let embed = start.elapsed().as_secs_f64() * 1e3 / QUERIES as f64;
    let retriever = open(true, 0.0);
    timed(&retriever, embed, &wanted(Filter::default()));
    let (exact, found) = timed(&retriever, embed, &wanted(Filter::default()));
    let truth = truth.get_or_insert_with(|| found.clone());
    let gigabytes = passages as f64 * storage.stride(DIMENSION) as f64 / 1e9;
    println!(
        "  exact                {exact:8.2} ms  {:5.1} GB/s  recall {:.3}",
        gigabytes / exact * 1e3,
        recall(&found, truth)
    );
    let all = queries();
    for count in [4, 16] {
        let all: Vec<&str> = all.iter().take(count).map(String::as_str).collect();
        let start = Instant::now();
        retriever.retrieve_all(&all, &wanted(Filter::default())).unwrap();
        let each = start.elapsed().as_secs_f64() * 1e3 / count as f64;
        println!("  exact, {count:2} at once    {each:8.2} ms");
    }
    let one = Filter { sources: vec!["source 7".into()], ..Filter::default() };
    timed(&retriever, embed, &wanted(one.clone()));
    let (filtered, want) = timed(&retriever, embed, &wanted(one.clone()));
    println!("  exact, 1 of 50       {filtered:8.2} ms");
    for share in [1.0 / 128.0, 1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0] {
        let retriever = open(false, share);
        timed(&retriever, embed, &wanted(Filter::default()));
        let (time, found) = timed(&retriever, embed, &wanted(Filter::default()));
        let (speed, recall) = (exact / time, recall(&found, truth));
        println!("  1/{:<3.0} of the rows    {time:8.2} ms  {speed:5.1} x     recall {recall:.3}", 1.0 / share);
    }
    let retriever = open(false, Search::default().share);
    timed(&retriever, embed, &wanted(one.clone()));
    let (time, found) = timed(&retriever, embed, &wanted(one));
    println!("  default, 1 of 50     {time:8.2} ms             recall {:.3}", recall(&found, &want));
}

fn main() {
    // `cargo bench` adds "--bench".
    let mut typed = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let passages = typed.next().map_or(1_000_000, |number| number.parse().unwrap());
    let temporary = tempfile::tempdir().unwrap();
    let folder = typed.next().map_or(temporary.path().to_owned(), Into::into);
    let named: Vec<String> = typed.collect();
    for world in [World::Clustered, World::Smooth] {
        let mut truth = None;
        for storage in [Storage::F32, Storage::F16, Storage::I8] {
            let name = format!("{}-{}", if world == World::Clustered { "clustered" } else { "smooth" }, storage.name());
            let usual = world == World::Clustered || storage == Storage::F16;
            if if named.is_empty() { usual } else { named.contains(&name) } {
                measure(&folder.join(name), world, storage, passages, &mut truth);
            }
        }
    }
}
