//! Simulated sources: what they answer is drawn, so no model is needed (RA-RAG, section 4 without documents).

use super::iteration::{Evidence, Row, fit, winner};
use super::reliability::{Prior, SPAMMER};
use crate::sources::EstimatorSettings;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub mod changes;
pub mod figures;

/// How a reader answers by what it reads: shares of right answers, of the planted wrong answer of misinformation, and of "I
/// don't know"; the rest is hallucinated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reader {
    /// From factual documents.
    pub factual: f64,
    /// From misinformation: right answers, the planted wrong answer, "I don't know".
    pub misinformation: (f64, f64, f64),
    /// From irrelevant documents: right answers, "I don't know".
    pub irrelevant: (f64, f64),
}

/// A reader that gives the answers of its documents alone.
const EXACT: Reader = Reader { factual: 1.0, misinformation: (0.0, 1.0, 0.0), irrelevant: (0.0, 1.0) };
/// Table 1 (Llama3-8B, TQA) without `f_align`.
pub const UNFILTERED: Reader =
    Reader { factual: 0.9282, misinformation: (0.0543, 0.8152, 0.0489), irrelevant: (0.2555, 0.5552) };
/// Table 1 with `f_align`.
pub const FILTERED: Reader =
    Reader { factual: 0.9282, misinformation: (0.0082, 0.8152, 0.1168), irrelevant: (0.0430, 0.8636) };

/// A world of sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct World {
    /// Sources that answer for themselves.
    pub sources: usize,
    /// At least this many sources are drawn and the first `sources` kept: worlds that differ in `sources` alone have the same draws
    /// of the sources that both have. Spammers are anywhere among all that are drawn.
    pub drawn: usize,
    /// Their reliabilities.
    pub prior: Prior,
    /// The probability that a source has relevant documents on a question; of a spammer, where it differs.
    pub coverage: (f64, f64),
    /// Wrong answers to a question; 1 is a single lie that all liars share.
    pub wrong: u16,
    /// Additional sources that repeat one spammer's answers, each answer with the probability `fidelity`; where it does
    /// not, a copy answers for itself, with a spammer's reliability.
    pub copies: usize,
    /// See `copies`.
    pub fidelity: f64,
    /// Questions to estimate from, and to test.
    pub questions: (usize, usize),
    /// How documents become answers where weights are estimated, and in the test.
    pub readers: (Reader, Reader),
    /// The share of what readers hallucinate that is the same for all sources; the rest differs from source to source.
    pub shared: f64,
}

impl Default for World {
    /// Section 5.1: Beta(3, 2), coverage 0.6, nine wrong answers, 200 and 1,400 questions; nine sources.
    fn default() -> Self {
        Self {
            sources: 9,
            drawn: 0,
            prior: Prior::Beta(0.6),
            coverage: (0.6, 0.6),
            wrong: 9,
            copies: 0,
            fidelity: 1.0,
            questions: (200, 1400),
            readers: (EXACT, EXACT),
            shared: 1.0,
        }
    }
}

/// The class of the right answer.
const RIGHT: u16 = 0;

/// One draw of a world.
pub struct Drawn {
    /// Reliabilities, the copies' last.
    pub reliability: Vec<f64>,
    /// Questions to estimate from.
    pub estimate: Vec<Row>,
    /// Questions to test.
    pub test: Vec<Row>,
}

impl World {
    /// Draws reliabilities and answers.
    #[must_use]
    pub fn draw(&self, seed: u64) -> Drawn {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut reliability = self.prior.draw(self.sources.max(self.drawn), &mut random);
        reliability.truncate(self.sources);
        reliability.extend(vec![SPAMMER; self.copies]);
        let mut rows =
            |count: usize, reader: Reader| (0..count).map(|_| self.row(&reliability, reader, &mut random)).collect();
        let (estimate, test) = (rows(self.questions.0, self.readers.0), rows(self.questions.1, self.readers.1));
        Drawn { estimate, test, reliability }
    }

    /// The answer of every source to one question.
    fn row(&self, reliability: &[f64], reader: Reader, random: &mut ChaCha8Rng) -> Row {
        // The same model reads for all sources, so what it remembers of a question is the same for all.
        let memory: f64 = random.random();
        let lie = 1 + random.random_range(0..self.wrong);
        let mut row = Row::with_capacity(reliability.len());
        // The answer of the copied spammer.
        let original = if random.random::<f64>() < SPAMMER { RIGHT } else { lie };
        let unkept = self.drawn.saturating_sub(self.sources);
        for index in 0..reliability.len() + unkept {
            let (coverage, factual): (f64, f64) = (random.random(), random.random());
            let planted = 1 + random.random_range(0..self.wrong);
            let copied = random.random::<f64>() < self.fidelity;
            let chance: f64 = random.random();
            // Sources that are drawn and not kept come before the copies.
            if (self.sources..self.sources + unkept).contains(&index) {
                continue;
            }
            let source = row.len();
            let p = reliability[source];
            let covered = coverage < if p <= SPAMMER { self.coverage.1 } else { self.coverage.0 };
            let factual = factual < p;
            let said = if source >= self.sources && copied {
                if original == RIGHT { Document::Factual } else { Document::Wrong(lie) }
            } else if factual {
                Document::Factual
            } else {
                Document::Wrong(planted)
            };
            let document = if covered { said } else { Document::Irrelevant };
            row.push(reader.read(document, memory, chance, self, source));
        }
        row
    }
}

/// The documents of a source on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Document {
    Factual,
    Wrong(u16),
    Irrelevant,
}

impl Reader {
    /// The answer from a document. `memory` and `chance` are uniform: what the model remembers decides what it says where the
    /// document does not hold it; `chance` decides everything else, also whether a hallucination is the source's own.
    fn read(&self, document: Document, memory: f64, chance: f64, world: &World, source: usize) -> Option<u16> {
        let wrong = world.wrong;
        let mut left = chance;
        let (right, unknown) = match document {
            Document::Factual => (self.factual, 0.0),
            Document::Wrong(planted) => {
                let (right, incorrect, unknown) = self.misinformation;
                if chance < incorrect {
                    return Some(planted);
                }
                left = (chance - incorrect) / (1.0 - incorrect).max(f64::MIN_POSITIVE);
                (right / (1.0 - incorrect).max(f64::MIN_POSITIVE), unknown / (1.0 - incorrect).max(f64::MIN_POSITIVE))
            }
            Document::Irrelevant => self.irrelevant,
        };
        // One class for an answer hallucinated from memory, and one for each source that misread.
        let misread = wrong + 2 + u16::try_from(source).unwrap_or(u16::MAX / 2);
        let common = if left < world.shared { wrong + 1 } else { misread };
        let (decided, own) = if document == Document::Factual { (chance, misread) } else { (memory, common) };
        match decided {
            decided if decided < right => Some(RIGHT),
            decided if decided < right + unknown => None,
            _ => Some(own),
        }
    }
}

/// Ways to answer, by what they use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A vote each.
    Mv,
    /// Estimated weights over all sources.
    Wmv,
    /// True reliabilities, `v = N p - 1`.
    Oracle,
    /// The heaviest this many of those that answered, by estimated weights.
    Rrss(usize),
    /// The heaviest this many.
    Rss(usize),
}

/// The result of a way to answer on the test questions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reached {
    /// The share of right answers; a question that no source answers counts as wrong.
    pub right: f64,
    /// Sources asked for a question.
    pub asked: f64,
}

impl Drawn {
    /// The result of each of these ways; several at once, because the estimate, which they share, costs most.
    #[must_use]
    pub fn reach(&self, ways: &[Way]) -> Vec<Reached> {
        let settings = EstimatorSettings { resamples: 0, ..EstimatorSettings::default() };
        let (sources, n) = (self.reliability.len(), self.reliability.len() as f64);
        let estimated = fit(&Evidence { rows: &self.estimate, ..Evidence::default() }, sources, n, &settings).votes;
        let reached = |way: &Way| match way {
            Way::Mv => self.test(&vec![1.0; sources], Select::All),
            Way::Wmv => self.test(&estimated, Select::All),
            Way::Rrss(kappa) => self.test(&estimated, Select::Answered(*kappa)),
            Way::Rss(kappa) => self.test(&estimated, Select::Heaviest(*kappa)),
            Way::Oracle => {
                let votes: Vec<f64> = self.reliability.iter().map(|p| n * p - 1.0).collect();
                self.test(&votes, Select::All)
            }
        };
        ways.iter().map(reached).collect()
    }

    fn test(&self, votes: &[f64], select: Select) -> Reached {
        let mut order: Vec<usize> = (0..votes.len()).collect();
        order.sort_by(|&a, &b| votes[b].total_cmp(&votes[a]));
        let (mut right, mut asked) = (0_usize, 0_usize);
        for row in &self.test {
            let (chosen, count) = select.choose(row, &order);
            right += usize::from(winner(&chosen, votes) == Some(RIGHT));
            asked += count;
        }
        let all = self.test.len().max(1) as f64;
        Reached { right: right as f64 / all, asked: asked as f64 / all }
    }
}

/// Which sources vote.
#[derive(Debug, Clone, Copy)]
enum Select {
    All,
    Heaviest(usize),
    Answered(usize),
}

impl Select {
    /// The answers that vote, and how many sources were asked for them. `order` has the heaviest source first.
    fn choose(self, row: &[Option<u16>], order: &[usize]) -> (Row, usize) {
        let upto = |kappa: usize, counts: &dyn Fn(usize) -> bool| {
            let mut selected = 0;
            let last = order.iter().position(|&source| {
                selected += usize::from(counts(source));
                selected == kappa
            });
            &order[..last.map_or(order.len(), |index| index + 1)]
        };
        let asked: &[usize] = match self {
            Self::All => order,
            Self::Heaviest(kappa) => upto(kappa, &|_| true),
            Self::Answered(kappa) => upto(kappa, &|source| row[source].is_some()),
        };
        let mut chosen = vec![None; row.len()];
        asked.iter().for_each(|&source| chosen[source] = row[source]);
        (chosen, asked.len())
    }
}
