//! Benchmarks of sources with planted reliabilities (RA-RAG, section 4): questions whose documents come from sources that
//! have relevant documents with one probability and factual ones with another.

use super::reliability::{Prior, SPAMMER};
use crate::answers::words::Level;
use crate::question::{Document, Gold, Label, Question};
use crate::sources::{ORACLE, SourceEstimate, SourceWeights, VERSION};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) mod folder;
pub mod pools;
pub mod recorded;
pub mod swap;
pub mod synthetic;

/// A question and the documents that sources may have on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pool {
    /// Unique.
    pub id: String,
    /// The question.
    pub text: String,
    /// The right answer, then other names of it.
    pub gold: Vec<String>,
    /// Documents that hold the right answer, the best first.
    pub factual: Vec<String>,
    /// Wrong answers, each with documents that hold it.
    pub wrong: Vec<(String, Vec<String>)>,
}

/// How liars choose among the wrong answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lies {
    /// Each chooses one by itself.
    #[default]
    Own,
    /// All take the first: the case in which the estimate collapses.
    Shared,
}

/// The plan of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// p of each source: the probability that its relevant documents are factual.
    pub reliability: Vec<f64>,
    /// Additional sources that repeat the documents of one spammer.
    pub copies: usize,
    /// r of each source, the probability that it has relevant documents; one number is that of all, and copies have the last.
    pub coverage: Vec<f64>,
    /// How liars choose.
    pub lies: Lies,
    /// Documents of a source on a question, at most.
    pub per_source: usize,
    /// Questions to estimate from, and to test.
    pub questions: (usize, usize),
    /// Seeds everything that is drawn.
    pub seed: u64,
}

impl Plan {
    /// r of a source by its index.
    fn coverage(&self, index: usize) -> f64 {
        self.coverage.get(index).or(self.coverage.last()).copied().unwrap_or_default()
    }
}

/// A benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    /// Questions to estimate weights from.
    pub estimate: Vec<Question>,
    /// Questions to test.
    pub test: Vec<Question>,
    /// The planted reliabilities as weights, `v = N p - 1`.
    pub oracle: SourceWeights,
}

/// Reliabilities drawn from a prior.
#[must_use]
pub(crate) fn reliabilities(prior: Prior, sources: usize, seed: u64) -> Vec<f64> {
    prior.draw(sources, &mut ChaCha8Rng::seed_from_u64(seed))
}

/// Deals documents to sources. Questions are taken in an order by the seed; a question's documents too.
#[must_use]
pub fn build(pools: &[Pool], plan: &Plan) -> Built {
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    let mut order: Vec<&Pool> = pools.iter().collect();
    order.shuffle(&mut random);
    let asked = order.iter().take(plan.questions.0 + plan.questions.1);
    let mut questions: Vec<Question> = asked.map(|pool| question(pool, pools, plan, &mut random)).collect();
    let test = questions.split_off(plan.questions.0.min(questions.len()));
    Built { estimate: questions, test, oracle: oracle(plan) }
}

/// The name of a source by its index.
#[must_use]
pub fn source(index: usize) -> String {
    format!("source-{}", index + 1)
}

fn oracle(plan: &Plan) -> SourceWeights {
    let n = (plan.reliability.len() + plan.copies) as f64;
    let all = plan.reliability.iter().copied().chain(std::iter::repeat_n(SPAMMER, plan.copies));
    let estimate = |(index, p): (usize, f64)| {
        let known = SourceEstimate { weight: Some(n * p - 1.0), agreement: Some(p), ..SourceEstimate::default() };
        (source(index), known)
    };
    SourceWeights {
        moot_sources: VERSION,
        estimator: format!("{ORACLE}: planted reliabilities p, weight N p - 1, N = {n}"),
        converged: true,
        sources: all.enumerate().map(estimate).collect(),
        ..SourceWeights::default()
    }
}

/// The documents of one source on a question.
#[derive(Clone, Copy)]
enum Held {
    Factual,
    Wrong(usize),
}

fn question(pool: &Pool, pools: &[Pool], plan: &Plan, random: &mut ChaCha8Rng) -> Question {
    let lie = |random: &mut ChaCha8Rng| match plan.lies {
        Lies::Own => Held::Wrong(random.random_range(0..pool.wrong.len())),
        Lies::Shared => Held::Wrong(0),
    };
    let draw = |p: f64, random: &mut ChaCha8Rng| if random.random::<f64>() < p { Held::Factual } else { lie(random) };
    let copied = draw(SPAMMER, random);
    let mut documents = Vec::new();
    for index in 0..plan.reliability.len() + plan.copies {
        let held = plan.reliability.get(index).map_or(copied, |&p| draw(p, random));
        if random.random::<f64>() < plan.coverage(index) {
            documents.extend(relevant(pool, held, plan.per_source, random).map(|document| of(index, document)));
        } else if let Some(document) = irrelevant(pool, pools, random) {
            documents.push(of(index, document));
        }
    }
    let gold = Gold {
        wrong: pool.wrong.iter().map(|(answer, _)| answer.clone()).collect(),
        ..Gold::any_of(pool.gold.iter().cloned())
    };
    Question { id: pool.id.clone(), text: pool.text.clone(), documents, gold: Some(gold), ..Question::default() }
}

fn of(index: usize, document: Document) -> Document {
    Document { source: Some(source(index)), name: source(index), ..document }
}

/// Documents of a pool that one source has: all of the factual ones, or of one wrong answer, up to `most`, drawn where there
/// are more.
fn relevant(pool: &Pool, held: Held, most: usize, random: &mut ChaCha8Rng) -> impl Iterator<Item = Document> {
    let (kind, answer, texts) = match held {
        Held::Factual => ("correct", &pool.gold[0], &pool.factual),
        Held::Wrong(index) => ("misinfo", &pool.wrong[index].0, &pool.wrong[index].1),
    };
    let mut chosen: Vec<&String> = texts.iter().collect();
    if chosen.len() > most {
        chosen.shuffle(random);
        chosen.truncate(most);
    }
    let label = Label { kind: kind.to_owned(), answer: answer.clone() };
    let document = |text: &String| Document { text: text.clone(), label: Some(label.clone()), ..Document::default() };
    chosen.into_iter().map(document).collect::<Vec<_>>().into_iter()
}

/// A document on another question that holds no answer to this one.
fn irrelevant(pool: &Pool, pools: &[Pool], random: &mut ChaCha8Rng) -> Option<Document> {
    const TRIES: usize = 20;
    let holds = |text: &str| {
        let mut answers = pool.gold.iter().chain(pool.wrong.iter().map(|(answer, _)| answer));
        answers.any(|answer| Level::Scored.contains(text, answer))
    };
    (0..TRIES).find_map(|_| {
        let text = pools.choose(random).filter(|other| other.id != pool.id)?.factual.choose(random)?;
        let label = Label { kind: "noise".to_owned(), answer: "unknown".to_owned() };
        (!holds(text)).then(|| Document { text: text.clone(), label: Some(label), ..Document::default() })
    })
}
