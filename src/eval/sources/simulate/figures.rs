//! The table of simulated figures: the paper's shapes, and copies among sources.

use super::changes::Setting::{self, Coverage, Kappa, Mean, Sources, Wrong};
use super::changes::{Changes, KAPPA_OF_PAPER};
use super::{FILTERED, Reader, UNFILTERED, Way, World};
use crate::eval::chart::{Chart, Point, Scale, Series};
use crate::eval::sources::reliability::Prior;
use crate::eval::stats::Estimate;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// A row of [`FIGURES`].
pub struct Figure {
    /// As typed, and the file's name: `sources-NAME.svg`.
    pub name: &'static str,
    /// One line for people, the chart's title.
    pub title: &'static str,
    /// The paper's figure or table, or that it is our own.
    pub paper: &'static str,
    /// The quantity on the x axis.
    pub x: &'static str,
    /// The values of x.
    at: Steps,
    /// The settings that may be changed.
    takes: &'static [Setting],
    /// The lines: their names, ways to answer, and the readers that the world of this line has, where it has others.
    lines: &'static [Line],
    /// The world at an x.
    world: fn(f64) -> World,
    /// The value shown: accuracy, or number of sources asked.
    shown: Shown,
}

struct Line {
    /// A name that ends in "kappa" is followed by its number.
    name: &'static str,
    /// By x and kappa.
    way: fn(f64, usize) -> Way,
    readers: Option<(Reader, Reader)>,
}

/// The values of x.
#[derive(Clone, Copy)]
enum Steps {
    Listed(&'static [f64]),
    /// From no spammer to all sources but one.
    Spammers,
    /// From 1 to all sources.
    Kappas,
}

#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Right,
    Asked,
}

const fn of(name: &'static str, way: fn(f64, usize) -> Way) -> Line {
    Line { name, way, readers: None }
}

const MV: Line = of("MV", |_, _| Way::Mv);
const WMV: Line = of("WMV (paper)", |_, _| Way::Wmv);
const RRSS: Line = of("RA-RAG, kappa", |_, kappa| Way::Rrss(kappa));
const ORACLE: Line = of("oracle WMV", |_, _| Way::Oracle);

const COUNTS: &[f64] = &[3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
const COPIES: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

/// Section 5.3: MV, weights estimated from filtered and from unfiltered answers, and the oracle; all vote on filtered answers.
const ALIGN: &[Line] = &[
    Line { name: "MV", way: |_, _| Way::Mv, readers: Some((FILTERED, FILTERED)) },
    Line { name: "weights with f_align", way: |_, _| Way::Wmv, readers: Some((FILTERED, FILTERED)) },
    Line { name: "weights without", way: |_, _| Way::Wmv, readers: Some((UNFILTERED, FILTERED)) },
    Line { name: "oracle WMV", way: |_, _| Way::Oracle, readers: Some((FILTERED, FILTERED)) },
];

/// Section 5.3: four spammers of coverage 0.1 and one hammer.
const ONE_HAMMER: World = World {
    sources: 5,
    drawn: 0,
    prior: Prior::SpammerHammer(4),
    coverage: (0.6, 0.1),
    wrong: 9,
    copies: 0,
    fidelity: 1.0,
    questions: (200, 1400),
    readers: (FILTERED, FILTERED),
    shared: 1.0,
};

/// Every figure.
pub static FIGURES: &[Figure] = &[
    Figure {
        name: "count",
        title: "Right answers by number of sources, Beta(3, 2)",
        paper: "figures 2 and 7",
        x: "sources",
        at: Steps::Listed(COUNTS),
        takes: &[Coverage, Mean, Wrong, Kappa],
        lines: &[MV, WMV, RRSS, of("kappa-RSS, kappa", |_, kappa| Way::Rss(kappa)), ORACLE],
        world: |x| World { sources: x as usize, drawn: 9, ..World::default() },
        shown: Shown::Right,
    },
    Figure {
        name: "spammers",
        title: "Right answers by spammers among nine sources",
        paper: "figure 4",
        x: "spammers",
        at: Steps::Spammers,
        takes: &[Sources, Coverage, Wrong, Kappa],
        lines: &[MV, WMV, RRSS, ORACLE],
        world: |x| World { prior: Prior::SpammerHammer(x as usize), ..World::default() },
        shown: Shown::Right,
    },
    Figure {
        name: "kappa",
        title: "Right answers by kappa, nine sources, Beta(3, 2)",
        paper: "figure 5",
        x: "kappa",
        at: Steps::Kappas,
        takes: &[Sources, Coverage, Mean, Wrong],
        lines: &[
            of("kappa-RRSS", |x, _| Way::Rrss(x as usize)),
            of("kappa-RSS", |x, _| Way::Rss(x as usize)),
            MV,
            WMV,
            ORACLE,
        ],
        world: |_| World::default(),
        shown: Shown::Right,
    },
    Figure {
        name: "cost",
        title: "Sources asked for a question, Beta(3, 2)",
        paper: "figure 6",
        x: "sources",
        at: Steps::Listed(COUNTS),
        takes: &[Coverage, Mean, Wrong, Kappa],
        lines: &[WMV, RRSS],
        world: |x| World { sources: x as usize, drawn: 9, ..World::default() },
        shown: Shown::Asked,
    },
    Figure {
        name: "align",
        title: "Four spammers of coverage 0.1, one hammer of 0.6",
        paper: "table 2, with the error rates of table 1",
        x: "questions to estimate from",
        at: Steps::Listed(&[50.0, 100.0, 200.0, 400.0, 800.0]),
        takes: &[Wrong],
        lines: ALIGN,
        world: |x| World { questions: (x as usize, 1400), ..ONE_HAMMER },
        shown: Shown::Right,
    },
    Figure {
        name: "align-shared",
        title: "The same, 800 questions, by what sources hallucinate alike",
        paper: "table 2, with the error rates of table 1",
        x: "share of hallucinations that all sources share",
        at: Steps::Listed(&[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        takes: &[Wrong],
        lines: ALIGN,
        world: |x| World { questions: (800, 1400), shared: x, ..ONE_HAMMER },
        shown: Shown::Right,
    },
    Figure {
        name: "shared-lie",
        title: "As by spammers, where all liars share one lie",
        paper: "none; the case that collapses",
        x: "spammers",
        at: Steps::Spammers,
        takes: &[Sources, Coverage, Kappa],
        lines: &[MV, WMV, RRSS, ORACLE],
        world: |x| World { prior: Prior::SpammerHammer(x as usize), wrong: 1, ..World::default() },
        shown: Shown::Right,
    },
    Figure {
        name: "copies",
        title: "Four sources of Beta(3, 2) and copies of a liar",
        paper: "none; own case",
        x: "copies of one liar",
        at: Steps::Listed(COPIES),
        takes: &[Sources, Coverage, Mean, Wrong, Kappa],
        lines: &[MV, WMV, RRSS, ORACLE],
        world: |x| World { sources: 4, copies: x as usize, ..World::default() },
        shown: Shown::Right,
    },
    Figure {
        name: "loose-copies",
        title: "Four sources of Beta(3, 2), five copies that sometimes differ",
        paper: "none; own case",
        x: "share of answers that a copy repeats",
        at: Steps::Listed(&[0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0]),
        takes: &[Sources, Coverage, Mean, Wrong, Kappa],
        lines: &[MV, WMV, RRSS, ORACLE],
        world: |x| World { sources: 4, copies: 5, fidelity: x, ..World::default() },
        shown: Shown::Right,
    },
];

/// The result of a figure's trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The means with their 95 % intervals over trials, as a chart.
    pub chart: Chart,
    /// By x: of each line, the trials that end 0.1 and more below the figure's last line.
    pub collapsed: Vec<Vec<usize>>,
}

/// Trials that end so far below the figure's last line, mostly the oracle's, count as collapsed.
pub(crate) const COLLAPSE: f64 = 0.1;

/// The seed of one trial, the same at each x: the first number of a stream of the generator that the run's seed begins, so that
/// two runs share no trial.
fn seed_of(seed: u64, trial: usize) -> u64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(trial as u64);
    random.random()
}

/// The mean and its 95 % interval by the normal approximation, which is the mean alone for a single trial.
fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let margin = if n < 2.0 { 0.0 } else { 1.96 * (squares / (n - 1.0) / n).sqrt() };
    Estimate { mean, low: mean - margin, high: mean + margin, n: values.len() }
}

impl Figure {
    /// The names of the lines.
    #[must_use]
    pub fn names(&self, changes: &Changes) -> Vec<String> {
        let kappa = changes.kappa.unwrap_or(KAPPA_OF_PAPER);
        let name = |line: &Line| match line.name.ends_with(" kappa") {
            true => format!("{} {kappa}", line.name),
            false => line.name.to_owned(),
        };
        self.lines.iter().map(name).collect()
    }

    /// The settings that are changed and that this figure varies itself, or does not have.
    #[must_use]
    pub fn refuses(&self, changes: &Changes) -> Option<Setting> {
        changes.all().map(|(setting, _)| setting).find(|setting| !self.takes.contains(setting))
    }

    /// The title, with the changed settings.
    #[must_use]
    pub fn titled(&self, changes: &Changes) -> String {
        let changed: Vec<String> =
            changes.all().map(|(setting, value)| format!("{} {value}", setting.symbol())).collect();
        if changed.is_empty() { self.title.to_owned() } else { format!("{}; here {}", self.title, changed.join(", ")) }
    }

    /// Each x.
    #[must_use]
    pub fn steps(&self, changes: &Changes) -> Vec<f64> {
        let (first, last) = match self.at {
            Steps::Listed(steps) => return steps.to_vec(),
            Steps::Spammers => (0, changes.apply((self.world)(0.0)).sources.saturating_sub(1)),
            Steps::Kappas => (1, changes.apply((self.world)(0.0)).sources),
        };
        (first..=last).map(|x| x as f64).collect()
    }

    /// Runs `trials` trials, each with a seed of its own; every line and every x sees the same draws as far as their worlds allow.
    #[must_use]
    pub fn run(&self, trials: usize, seed: u64, changes: &Changes) -> Outcome {
        let mut series: Vec<Series> = (0..self.lines.len()).map(|index| Series { index, points: Vec::new() }).collect();
        let mut collapsed = Vec::new();
        for x in self.steps(changes) {
            let reached: Vec<Vec<f64>> =
                (0..trials).into_par_iter().map(|trial| self.trial(x, seed_of(seed, trial), changes)).collect();
            for (line, series) in series.iter_mut().enumerate() {
                let of_line: Vec<f64> = reached.iter().map(|trial| trial[line]).collect();
                series.points.push(Point { x, y: estimate(&of_line) });
            }
            let best = self.lines.len() - 1;
            let below = |line: usize| reached.iter().filter(|trial| trial[line] <= trial[best] - COLLAPSE).count();
            collapsed.push((0..self.lines.len()).map(below).collect());
        }
        let (y, top) = match self.shown {
            Shown::Right => ("share of right answers (mean)", 1.0),
            Shown::Asked => ("sources asked (mean)", 10.0),
        };
        let (x, scale) = (self.x.into(), Scale::Linear);
        let chart = Chart { x, y: y.into(), scale, top: Some(top), diagonal: false, series };
        Outcome { chart, collapsed }
    }

    /// The share or the number that each line reached in one trial.
    fn trial(&self, x: f64, seed: u64, changes: &Changes) -> Vec<f64> {
        let kappa = changes.kappa.unwrap_or(KAPPA_OF_PAPER);
        let mut reached = vec![0.0; self.lines.len()];
        let mut done = vec![false; self.lines.len()];
        while let Some(first) = done.iter().position(|done| !done) {
            let readers = self.lines[first].readers;
            let same: Vec<usize> = (0..self.lines.len()).filter(|&line| self.lines[line].readers == readers).collect();
            let world = changes.apply((self.world)(x));
            let drawn = World { readers: readers.unwrap_or(world.readers), ..world }.draw(seed);
            let ways: Vec<Way> = same.iter().map(|&line| (self.lines[line].way)(x, kappa)).collect();
            for (line, found) in same.into_iter().zip(drawn.reach(&ways)) {
                reached[line] = if self.shown == Shown::Right { found.right } else { found.asked };
                done[line] = true;
            }
        }
        reached
    }

    /// Whether collapsed trials are counted.
    #[must_use]
    pub fn counts_collapses(&self) -> bool {
        self.shown == Shown::Right
    }
}
