//! Simulated sources and built benchmarks, without a model.

use super::sources::near;
use moot::eval::chart::{Chart, Point, Scale, Series};
use moot::eval::sources::Row;
use moot::eval::sources::reliability::{Prior, beta};
use moot::eval::sources::simulate::changes::{Changes, Setting};
use moot::eval::sources::simulate::figures::{FIGURES, Figure, Outcome};
use moot::eval::sources::simulate::{Drawn, FILTERED, UNFILTERED, Way, World};
use moot::eval::stats::Estimate;

#[test]
fn quantiles_of_beta_are_those_of_its_distribution_function() {
    // Beta(3, 2): F(0.5) = 0.125 * (4 - 1.5); Beta(2, 2) is symmetric.
    near(beta(0.6, 0.3125), 0.5);
    near(beta(0.5, 0.5), 0.5);
    let mean = (0..1000).map(|i| beta(0.6, (f64::from(i) + 0.5) / 1000.0)).sum::<f64>() / 1000.0;
    assert!((mean - 0.6).abs() < 1e-3, "{mean}");
}

#[test]
fn every_way_to_answer_is_as_defined() {
    // The weights of these four questions are 1.25, 2 and -0.25 (tests of the estimator).
    let estimate = vec![
        vec![Some(0), Some(0), Some(1)],
        vec![Some(0), Some(0), Some(1)],
        vec![Some(0), Some(1), Some(1)],
        vec![Some(0), None, Some(1)],
    ];
    let test = vec![vec![Some(0), Some(1), Some(1)], vec![Some(0), None, Some(1)], vec![None, None, Some(0)]];
    let drawn = Drawn { reliability: vec![0.9, 0.1, 0.5], estimate, test };
    let ways = [Way::Mv, Way::Wmv, Way::Oracle, Way::Rrss(1), Way::Rss(1), Way::Rss(2)];
    let found: Vec<(f64, f64)> = drawn.reach(&ways).iter().map(|r| ((r.right * 3.0).round(), r.asked)).collect();
    assert_eq!(found, [(2.0, 3.0), (2.0, 3.0), (3.0, 3.0), (2.0, 2.0), (0.0, 1.0), (1.0, 2.0)]);
}

/// The mean shares of right answers over a few trials.
fn mean(world: &World, ways: &[Way]) -> Vec<f64> {
    const TRIALS: u64 = 8;
    let mut sums = vec![0.0; ways.len()];
    for trial in 0..TRIALS {
        let reached = World { questions: (200, 400), ..*world }.draw(trial).reach(ways);
        sums.iter_mut().zip(reached).for_each(|(sum, reached)| *sum += reached.right / TRIALS as f64);
    }
    sums
}

#[test]
fn the_papers_shapes_come_out_of_the_simulation() {
    let ways = [Way::Mv, Way::Wmv, Way::Oracle, Way::Rrss(4), Way::Rss(4)];
    let six = mean(&World { prior: Prior::SpammerHammer(6), ..World::default() }, &ways);
    assert!(six[2] - six[1] < 0.02 && six[1] > six[0] + 0.05, "{six:?}");
    let beta = mean(&World::default(), &ways);
    assert!(beta[2] - beta[1] < 0.02 && beta[1] > beta[0] && beta[3] > beta[4], "{beta:?}");
}

#[test]
fn the_cases_that_collapse_do() {
    let shared = World { prior: Prior::SpammerHammer(6), wrong: 1, ..World::default() };
    let found = mean(&shared, &[Way::Wmv, Way::Oracle]);
    assert!(found[0] < 0.4 && found[1] > 0.8, "{found:?}");
    let copies = World { sources: 4, copies: 5, ..World::default() };
    let found = mean(&copies, &[Way::Mv, Way::Wmv, Way::Rrss(4), Way::Oracle]);
    assert!(found[1] < 0.2 && found[2] < 0.2 && found[3] > found[0] + 0.2, "{found:?}");
}

#[test]
fn readers_err_by_the_rates_of_table_1() {
    let world = |reader| World {
        sources: 1,
        prior: Prior::SpammerHammer(1),
        coverage: (0.0, 0.0),
        questions: (0, 20_000),
        readers: (reader, reader),
        ..World::default()
    };
    for (reader, right, unknown) in [(UNFILTERED, 0.2555, 0.5552), (FILTERED, 0.0430, 0.8636)] {
        let rows = world(reader).draw(1).test;
        let share = |said: Option<u16>| rows.iter().filter(|row| row[0] == said).count() as f64 / rows.len() as f64;
        assert!((share(Some(0)) - right).abs() < 0.015 && (share(None) - unknown).abs() < 0.015, "{reader:?}");
    }
    // Misinformation throughout, but for the one right answer in ten of a spammer.
    let rows = World { coverage: (1.0, 1.0), ..world(UNFILTERED) }.draw(1).test;
    let planted = rows.iter().filter(|row| row[0].is_some_and(|said| (1..=9).contains(&said))).count() as f64;
    assert!((planted / rows.len() as f64 - 0.9 * 0.8152).abs() < 0.015, "{planted}");
}

/// Where every source hallucinates for itself no two agree; where all hallucinations are shared, all agree.
#[test]
fn hallucinations_are_shared_at_the_set_rate() {
    let agreeing = |coverage: f64, shared: f64| {
        let world = World {
            sources: 2,
            prior: Prior::SpammerHammer(2),
            coverage: (coverage, coverage),
            questions: (0, 20_000),
            readers: (UNFILTERED, UNFILTERED),
            shared,
            ..World::default()
        };
        let invented = |row: &&Row| row.iter().all(|said| said.is_some_and(|said| said > 9));
        let rows = world.draw(3).test;
        let both: Vec<&Row> = rows.iter().filter(invented).collect();
        both.iter().filter(|row| row[0] == row[1]).count() as f64 / both.len() as f64
    };
    assert_eq!((agreeing(0.0, 0.0), agreeing(0.0, 1.0)), (0.0, 1.0));
    // Both must hallucinate what is shared: from irrelevant documents, and from misinformation.
    for (coverage, tolerance) in [(0.0, 0.02), (1.0, 0.06)] {
        let half = agreeing(coverage, 0.5);
        assert!((half - 0.25).abs() < tolerance, "{coverage}: {half}");
    }
}

/// The means of a figure's second line.
fn mean_of(figure: &Figure, trials: usize, seed: u64) -> Vec<f64> {
    figure.run(trials, seed, &Changes::default()).chart.series[1].points.iter().map(|point| point.y.mean).collect()
}

#[test]
fn figures_are_named_once_and_repeat_by_their_seed() {
    let mut names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FIGURES.len());
    let cost: &Figure = FIGURES.iter().find(|figure| figure.name == "cost").unwrap();
    let first = cost.run(2, 5, &Changes::default());
    assert_eq!(first, cost.run(2, 5, &Changes::default()));
    // No trial of one seed is one of another, in no order: their means differ by more than rounding.
    for (one, other, trials) in [(0, 1, 2), (3, 5, 8), (5, 6, 2)] {
        let (one, other) = (mean_of(cost, trials, one), mean_of(cost, trials, other));
        assert!(one.iter().zip(&other).skip(2).all(|(a, b)| (a - b).abs() > 1e-9), "{one:?} {other:?}");
    }
    assert!(!cost.counts_collapses());
    // All of nine sources are asked; about four answers of coverage 0.6 take seven.
    let last = |line: usize| first.chart.series[line].points.last().unwrap().y.mean;
    assert_eq!(last(0), 9.0);
    assert!((6.0..7.0).contains(&last(1)), "{}", last(1));
}

#[test]
fn a_picture_is_one_svg_with_its_title_names_and_lines() {
    let point = |x: f64, mean: f64| Point { x, y: Estimate { mean, low: mean, high: mean, n: 1 } };
    let chart = Chart {
        x: "sources".into(),
        y: "share".into(),
        scale: Scale::Linear,
        top: Some(1.0),
        diagonal: false,
        series: vec![
            Series { index: 0, points: vec![point(0.0, 0.0), point(1.0, 1.0)] },
            Series { index: 1, points: vec![point(0.25, 0.5)] },
        ],
    };
    let svg = chart.picture("A < B & C", &["one", "<two>"]).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for text in ["A &lt; B &amp; C", "sources", "share", "one", "&lt;two&gt;", "0.25"] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
    }
    assert_eq!(svg, chart.picture("A < B & C", &["one", "<two>"]).unwrap());
    // The line rises from the lower left to the upper right.
    let line =
        svg.split("<polyline").find(|line| line.contains("#0B5FA5") && line.contains("stroke-width=\"2\"")).unwrap();
    let points = line.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    let points: Vec<Vec<i32>> =
        points.split_whitespace().map(|at| at.split(',').map(|n| n.parse().unwrap()).collect()).collect();
    assert!(points[0][0] < points[1][0] && points[0][1] > points[1][1], "{points:?}");
}

#[test]
fn every_x_of_a_figure_sees_the_same_draws() {
    let figure = |name: &str| FIGURES.iter().find(|figure| figure.name == name).unwrap();
    let kappa = figure("kappa").run(4, 0, &Changes::default());
    for line in 2..5 {
        let points = &kappa.chart.series[line].points;
        assert!(points.iter().all(|point| point.y == points[0].y), "{points:?}");
    }
    let rrss = &kappa.chart.series[0].points;
    assert!(rrss.windows(2).all(|pair| pair[1].y.mean >= pair[0].y.mean - 0.01), "{rrss:?}");
    let margin =
        |outcome: &Outcome| outcome.chart.series[0].points[0].y.high - outcome.chart.series[0].points[0].y.mean;
    assert!(margin(&kappa) > 0.0 && margin(&figure("kappa").run(1, 0, &Changes::default())) == 0.0);
    // Nine sources are three and six more.
    let world = |sources| World { sources, drawn: 9, ..World::default() }.draw(3);
    let (few, all) = (world(3), world(9));
    assert_eq!(few.reliability, all.reliability[..3]);
    assert!(few.test.iter().zip(&all.test).all(|(few, all)| few[..] == all[..3]));
}

#[test]
fn settings_of_a_figure_can_be_changed_where_it_has_them() {
    let figure = |name: &str| FIGURES.iter().find(|figure| figure.name == name).unwrap();
    let changes = Changes { sources: Some(5), coverage: Some(0.3), kappa: Some(2), ..Changes::default() };
    let spammers = figure("spammers");
    assert_eq!(spammers.refuses(&changes), None);
    assert_eq!(spammers.steps(&changes), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(spammers.steps(&Changes::default()).len(), 9);
    assert_eq!(spammers.names(&changes)[2], "RA-RAG, kappa 2");
    assert!(spammers.titled(&changes).ends_with("; here N 5, r 0.3, kappa 2"), "{}", spammers.titled(&changes));
    assert_eq!(figure("kappa").steps(&Changes { sources: Some(3), ..Changes::default() }), [1.0, 2.0, 3.0]);
    // A figure varies its x itself, and spammers and hammers have no mean.
    assert_eq!(figure("count").refuses(&changes), Some(Setting::Sources));
    assert_eq!(spammers.refuses(&Changes { mean: Some(0.5), ..Changes::default() }), Some(Setting::Mean));
    // Fewer documents, fewer right answers; more reliable sources, more of them.
    let oracle = |changes: Changes| {
        let outcome = figure("kappa").run(2, 0, &Changes { sources: Some(4), ..changes });
        outcome.chart.series[4].points[0].y.mean
    };
    let usual = oracle(Changes::default());
    assert!(oracle(Changes { coverage: Some(0.2), ..Changes::default() }) < usual - 0.2);
    assert!(oracle(Changes { mean: Some(0.9), ..Changes::default() }) > usual + 0.05);
    // Four sources of which two are selected ask fewer.
    let asked =
        |kappa| figure("cost").run(1, 0, &Changes { kappa, ..Changes::default() }).chart.series[1].points[6].y.mean;
    assert!(asked(Some(1)) < 3.0 && asked(None) > 6.0, "{} {}", asked(Some(1)), asked(None));
    // A single wrong answer is the shared lie.
    let share = |wrong| {
        let changes = Changes { wrong, sources: Some(5), ..Changes::default() };
        figure("spammers").run(2, 0, &changes).chart.series[1].points[3].y.mean
    };
    assert!(share(Some(1)) < share(None), "{} {}", share(Some(1)), share(None));
}
