//! The index as a [`Retriever`]: dense, BM25 or hybrid.

use super::columns::Allowed;
use super::dense::{approximate, exact, exact_by_source};
use super::lexical;
use super::reader::Index;
use super::relevance::{Cutoff, Subject};
use super::rows::kernel;
use super::words::full_text;
use crate::error::{MootError, Result};
use crate::retrieval::{Embedder, Filter, Hit, Retriever, RetrieverIdentity, Side, SourceCount, Wanted, fold};
use moot_models::kernels::{Best, Queries};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// How passages are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The nearest vectors.
    Dense,
    /// BM25 over the query's words.
    Bm25,
    /// Both, fused by rank.
    Hybrid,
}

/// Search settings of an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Ranking.
    pub mode: Mode,
    /// Read every vector, even if they are clustered.
    pub exact: bool,
    /// Share of the clustered vectors that is read.
    pub share: f32,
    /// The constant of reciprocal rank fusion (Cormack et al. 2009): a passage scores `1 / (constant + rank)` in each list.
    pub constant: f32,
    /// Leave out passages that have nothing to do with the query.
    pub cutoff: Option<Cutoff>,
}

impl Default for Search {
    fn default() -> Self {
        Self { mode: Mode::Hybrid, exact: false, share: 1.0 / 16.0, constant: 60.0, cutoff: None }
    }
}

/// Passages of each list that are fused: a multiple of those wanted, and a minimum.
const DEPTH: (usize, usize) = (10, 100);
/// Maximum number of candidates for one query: folding compares each with every passage kept.
const MOST: usize = 1024;

/// Passages by number, with scores, best first.
type Ranked = Vec<(u64, f32)>;

/// The results of a search for one query.
#[derive(Default)]
struct Found {
    /// One list, or one of each source.
    groups: Vec<Ranked>,
    /// Cosines of the passages that vectors found.
    cosines: HashMap<u64, f32>,
}

/// Searches an index.
pub struct IndexRetriever {
    index: Index,
    embedder: Option<Arc<dyn Embedder>>,
    search: Search,
}

impl IndexRetriever {
    /// Opens `index` for searching; `embedder` may be `None` for BM25.
    ///
    /// # Errors
    /// [`MootError::Index`] if the embedder did not make the index's vectors, or is missing although one is needed.
    pub fn new(index: Index, embedder: Option<Arc<dyn Embedder>>, search: Search) -> Result<Self> {
        let refuse = |wrong: String, hint: &str| {
            Err(MootError::Index { path: index.dir().to_owned(), wrong, hint: hint.into() })
        };
        if search.mode != Mode::Bm25 {
            match (&embedder, &index.manifest().dense) {
                (Some(embedder), _) => index.check(embedder.as_ref())?,
                (None, Some(dense)) => {
                    return refuse(
                        format!("expected the embedder {}, found none", dense.embedder),
                        "name it with --embedder",
                    );
                }
                (None, None) => {
                    return refuse("expected vectors, found BM25 alone".into(), "search it with --retriever bm25");
                }
            }
        }
        if search.mode != Mode::Dense && !index.manifest().bm25 {
            return refuse(
                "expected an index of words, found vectors alone".into(),
                "search it with --retriever dense",
            );
        }
        Ok(Self { index, embedder, search })
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Takes more candidates where folding copies of one statement left too few passages.
    fn further(&self, query: &str, wanted: &Wanted, asked: usize, allowed: Option<&Allowed>) -> Result<Vec<Hit>> {
        let mut asked = asked;
        loop {
            asked = asked.saturating_mul(2);
            let (chosen, more) = self.candidates(&[query], wanted, asked, allowed)?.pop().unwrap_or_default();
            if !more || asked >= MOST {
                return Ok(chosen);
            }
        }
    }

    fn candidates(
        &self,
        queries: &[&str],
        wanted: &Wanted,
        asked: usize,
        allowed: Option<&Allowed>,
    ) -> Result<Vec<(Vec<Hit>, bool)>> {
        let found: Vec<Found> = if wanted.by_source {
            let search = |query: &&str| self.ranked_by_source(query, asked, allowed);
            queries.iter().map(search).collect::<Result<_>>()?
        } else {
            self.ranked(queries, asked, allowed)?
        };
        queries.iter().zip(found).map(|(query, found)| self.select(query, found, wanted, asked)).collect()
    }

    fn queries(&self, queries: &[&str]) -> Result<(Vec<f32>, usize)> {
        let embedder = self.embedder.as_ref().expect("checked when it was made (bug)");
        Ok((embedder.embed(queries, Side::Query)?, embedder.dimension()))
    }

    fn dense(&self, queries: &[&str], top: usize, allowed: Option<&Allowed>) -> Result<Vec<Ranked>> {
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        let (values, dimension) = self.queries(queries)?;
        match &self.index.clusters {
            Some(clusters) if !self.search.exact => {
                let search = |query: &[f32]| {
                    let query = Queries::new(query, dimension).map_err(kernel)?;
                    approximate(&self.index, clusters, &query, top, self.search.share, allowed)
                };
                values.chunks_exact(dimension).map(search).collect()
            }
            _ => exact(&self.index, &Queries::new(&values, dimension).map_err(kernel)?, top, allowed),
        }
    }

    fn bm25(&self, queries: &[&str], top: usize, allowed: Option<&Allowed>) -> Result<Vec<Ranked>> {
        let segments = self.index.lexical()?;
        queries.iter().map(|query| lexical::top(segments, query, top, allowed)).collect()
    }

    fn ranked(&self, queries: &[&str], top: usize, allowed: Option<&Allowed>) -> Result<Vec<Found>> {
        let by_vector = |ranked: Ranked| Found { cosines: ranked.iter().copied().collect(), groups: vec![ranked] };
        match self.search.mode {
            Mode::Dense => Ok(self.dense(queries, top, allowed)?.into_iter().map(by_vector).collect()),
            Mode::Bm25 => {
                let by_word = |ranked| Found { groups: vec![ranked], ..Found::default() };
                Ok(self.bm25(queries, top, allowed)?.into_iter().map(by_word).collect())
            }
            Mode::Hybrid => {
                let depth = depth(top);
                let pairs = self.dense(queries, depth, allowed)?.into_iter().zip(self.bm25(queries, depth, allowed)?);
                let fused = |(dense, words): (Ranked, Ranked)| {
                    let cosines = dense.iter().copied().collect();
                    Found { groups: vec![fuse(&[dense, words], self.search.constant, top)], cosines }
                };
                Ok(pairs.map(fused).collect())
            }
        }
    }

    /// The best of each source; sources are ordered by their best passage.
    fn ranked_by_source(&self, query: &str, top: usize, allowed: Option<&Allowed>) -> Result<Found> {
        let columns = self.index.columns()?;
        let dense = |top| {
            let (values, dimension) = self.queries(&[query])?;
            let query = Queries::new(&values, dimension).map_err(kernel)?;
            exact_by_source(&self.index, &query, top, allowed, columns)
        };
        let words = |top| lexical::top_by_source(self.index.lexical()?, query, top, allowed, columns);
        let sorted = |best: HashMap<u32, Best>| best.into_iter().map(|(source, best)| (source, best.into_sorted()));
        let mut cosines: HashMap<u64, f32> = HashMap::new();
        let mut groups: Vec<Ranked> = match self.search.mode {
            Mode::Dense => {
                let groups: Vec<Ranked> = sorted(dense(top)?).map(|(_, ranked)| ranked).collect();
                cosines.extend(groups.iter().flatten().copied());
                groups
            }
            Mode::Bm25 => sorted(words(top)?).map(|(_, ranked)| ranked).collect(),
            Mode::Hybrid => {
                let depth = depth(top);
                let mut lists: HashMap<u32, Vec<Ranked>> = HashMap::new();
                let dense: Vec<(u32, Ranked)> = sorted(dense(depth)?).collect();
                cosines.extend(dense.iter().flat_map(|(_, ranked)| ranked.iter().copied()));
                for (source, ranked) in dense.into_iter().chain(sorted(words(depth)?)) {
                    lists.entry(source).or_default().push(ranked);
                }
                lists.into_values().map(|lists| fuse(&lists, self.search.constant, top)).collect()
            }
        };
        groups.retain(|group| !group.is_empty());
        // The lists come from a hash map, in no fixed order.
        groups.sort_by(|a, b| b[0].1.total_cmp(&a[0].1).then(a[0].0.cmp(&b[0].0)));
        Ok(Found { groups, cosines })
    }

    /// The hits selected from the candidates, and whether more candidates could give more hits.
    fn select(&self, query: &str, found: Found, wanted: &Wanted, asked: usize) -> Result<(Vec<Hit>, bool)> {
        // A list of that length was cut off, so there may be more candidates.
        let more = found.groups.iter().any(|group| group.len() >= asked);
        let mut best: Ranked = found.groups.into_iter().flatten().collect();
        best.sort_by(|(i, a), (j, b)| b.total_cmp(a).then(i.cmp(j)));
        let candidates = best.len();
        let relevance = self.relevance(query)?;
        let mut hits = Vec::with_capacity(candidates);
        for (id, score) in best {
            let passage = self.index.passage(id)?;
            if relevance.as_ref().is_none_or(|relevance| relevance.keeps(&passage, found.cosines.get(&id))) {
                hits.push(Hit { passage, score, copies: Vec::new() });
            }
        }
        let cut = candidates - hits.len();
        let chosen = fold::select(hits, wanted);
        let short = wanted.fold && !wanted.by_source && chosen.len() + cut < wanted.top;
        Ok((chosen, short && more))
    }

    /// Whether a share of the vectors is read: they are clustered, and an exact search was not asked for.
    fn is_approximate(&self) -> bool {
        self.search.mode != Mode::Bm25 && !self.search.exact && self.index.manifest().clusters.is_some()
    }

    /// The criterion that separates passages about `query` from others; `None` without a cut-off.
    fn relevance(&self, query: &str) -> Result<Option<Relevance>> {
        let Some(cutoff) = self.search.cutoff else { return Ok(None) };
        let cosine = cutoff.cosine_for(self.embedder.as_ref().map(|embedder| embedder.identity()));
        // Vectors of an embedder whose cosines are not known are not judged by words.
        if (self.search.mode != Mode::Bm25 && cosine.is_none()) || !self.index.manifest().bm25 {
            return Ok(None);
        }
        let subject = Subject::new(self.index.lexical()?, query)?;
        Ok(Some(Relevance { subject, coverage: cutoff.coverage, cosine: cosine.unwrap_or(f32::INFINITY) }))
    }

    /// Number of passages that `filter` leaves out because they have no date that can be compared.
    ///
    /// # Errors
    /// [`MootError::Index`] for a damaged file.
    pub fn undated(&self, filter: &Filter) -> Result<u64> {
        if filter.from.is_none() && filter.until.is_none() { Ok(0) } else { Ok(self.index.columns()?.undated(filter)) }
    }
}

/// A query's subject, and how near a passage has to be.
struct Relevance {
    subject: Subject,
    coverage: f32,
    cosine: f32,
}

impl Relevance {
    fn keeps(&self, passage: &crate::question::Passage, cosine: Option<&f32>) -> bool {
        cosine.is_some_and(|cosine| *cosine >= self.cosine)
            || self.subject.coverage(&full_text(passage)) >= self.coverage
    }
}

fn depth(top: usize) -> usize {
    top.saturating_mul(DEPTH.0).max(DEPTH.1)
}

impl Retriever for IndexRetriever {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        Ok(self.retrieve_all(&[query], wanted)?.into_iter().next().unwrap_or_default())
    }

    /// An exact search reads every vector once for all queries.
    fn retrieve_all(&self, queries: &[&str], wanted: &Wanted) -> Result<Vec<Vec<Hit>>> {
        let allowed = if wanted.filter.is_empty() { None } else { self.index.columns()?.allowed(&wanted.filter)? };
        let candidates = wanted.candidates();
        let first = self.candidates(queries, wanted, candidates, allowed.as_ref())?;
        let settled = |(query, (chosen, more)): (&&str, (Vec<Hit>, bool))| {
            if more { self.further(query, wanted, candidates, allowed.as_ref()) } else { Ok(chosen) }
        };
        queries.iter().zip(first).map(settled).collect()
    }

    fn sources(&self) -> Result<Option<Vec<SourceCount>>> {
        Ok(Some(self.index.columns()?.counted()))
    }

    fn identity(&self) -> RetrieverIdentity {
        let mode = match self.search.mode {
            Mode::Dense => "dense",
            Mode::Bm25 => "lexical",
            Mode::Hybrid => "hybrid",
        };
        let embedder = self.embedder.as_ref().filter(|_| self.search.mode != Mode::Bm25);
        RetrieverIdentity {
            index: self.index.sha256(),
            embedder: embedder.map(|embedder| embedder.identity().to_owned()),
            reranker: None,
            mode: [mode]
                .into_iter()
                .chain(self.is_approximate().then_some("approximate"))
                .chain(self.search.cutoff.map(|_| "cut off"))
                .collect::<Vec<_>>()
                .join(", "),
        }
    }
}

/// Reciprocal rank fusion; ties go to the lowest passage number.
fn fuse(lists: &[Ranked], constant: f32, top: usize) -> Ranked {
    let mut scores: HashMap<u64, f32> = HashMap::new();
    for list in lists {
        for (rank, (id, _)) in (1_u32..).zip(list) {
            *scores.entry(*id).or_default() += 1.0 / (constant + rank as f32);
        }
    }
    let mut best = Best::new(top);
    // The order of the hash map does not matter: `Best` breaks ties by the lowest number.
    scores.into_iter().for_each(|(id, score)| best.push(score, id));
    best.into_sorted()
}

#[cfg(test)]
mod tests {
    use super::fuse;

    #[test]
    fn ranks_are_fused_as_in_the_paper() {
        let fused = fuse(&[vec![(7, 0.9), (3, 0.8)], vec![(3, 12.0), (5, 4.0), (7, 1.0)]], 60.0, 10);
        let ids: Vec<u64> = fused.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [3, 7, 5]);
        assert!((fused[0].1 - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-7);
        assert!((fused[2].1 - 1.0 / 62.0).abs() < 1e-7);
        assert_eq!(fuse(&[vec![(2, 1.0)], vec![(1, 1.0)]], 60.0, 1), [(1, 1.0 / 61.0)]);
    }
}
