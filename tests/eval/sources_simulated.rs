//! Simulated sources and built benchmarks, without a model.

use super::sources::near;
use moot::answers::words::Level;
use moot::eval::chart::{Chart, Point, Scale, Series};
use moot::eval::sources::Row;
use moot::eval::sources::bench::pools::pools;
use moot::eval::sources::bench::swap::{Kind, kind, swapped, wrong_answers};
use moot::eval::sources::bench::{Lies, Plan, Pool, build, synthetic};
use moot::eval::sources::reliability::{Prior, beta};
use moot::eval::sources::simulate::figures::{FIGURES, Figure, Outcome};
use moot::eval::sources::simulate::{Drawn, FILTERED, UNFILTERED, Way, World};
use moot::eval::stats::Estimate;
use moot::question::{Document, Gold, Label, Question};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

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
        let reached = World { questions: (200, 400), ..world.clone() }.draw(trial).reach(ways);
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
    figure.run(trials, seed).chart.series[1].points.iter().map(|point| point.y.mean).collect()
}

#[test]
fn figures_are_named_once_and_repeat_by_their_seed() {
    let mut names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FIGURES.len());
    let cost: &Figure = FIGURES.iter().find(|figure| figure.name == "cost").unwrap();
    let first = cost.run(2, 5);
    assert_eq!(first, cost.run(2, 5));
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
fn answers_have_types_and_are_swapped_by_their_own() {
    for (answer, of) in [
        ("Yes", Kind::YesNo),
        ("1931", Kind::Year),
        ("3,400", Kind::Number),
        ("12 May 1931", Kind::Date),
        ("Mira Tolland", Kind::Name),
        ("May", Kind::Name),
        ("glass", Kind::Other),
        ("0931", Kind::Number),
    ] {
        assert_eq!(kind(answer), of, "{answer}");
    }
    let random = || ChaCha8Rng::seed_from_u64(7);
    let others: Vec<String> =
        ["Ada Fenn", "Bo Ley", "Cy", "1950", "glass", "Mira Tolland"].iter().map(|text| (*text).to_owned()).collect();
    let names = wrong_answers("Mira Tolland", &["bo ley".into()], &others, 9, &mut random());
    assert_eq!(names, ["Ada Fenn", "Cy"], "of its type, none that is taken or right");
    let years = wrong_answers("1931", &[], &others, 9, &mut random());
    assert_eq!(years.len(), 9);
    assert!(years.iter().all(|year| kind(year) == Kind::Year && year != "1931"));
    assert_eq!(wrong_answers("yes", &[], &others, 9, &mut random()), ["no"]);
    let dates = wrong_answers("12 May 1931", &[], &others, 3, &mut random());
    assert!(
        dates.len() == 3 && dates.iter().all(|date| date.starts_with("12 ") && date.ends_with(" 1931")),
        "{dates:?}"
    );
    assert_eq!(wrong_answers("40", &[], &others, 2, &mut random()).len(), 2);
}

#[test]
fn answers_of_questions_with_the_same_beginning_come_first() {
    let asked = |id: &str, text: &str, gold: &str| Question {
        text: text.into(),
        ..question(id, &[&[gold]], vec![labelled("correct", gold, &format!("It was {gold}."))])
    };
    let questions = vec![
        asked("1", "Who built the mill?", "Ada Fenn"),
        asked("2", "In which town is it?", "Norwick"),
        asked("3", "Who built the bridge?", "Bo"),
        asked("4", "Who built the tower?", "Cy Marr"),
        asked("5", "Who sang?", "Del Orr"),
    ];
    let found = pools(vec![questions], Lies::Own, 9, 0);
    let wrong: Vec<&str> = found.pools[0].wrong.iter().map(|(answer, _)| &**answer).collect();
    assert_eq!(wrong, ["Cy Marr", "Bo", "Del Orr", "Norwick"]);
}

#[test]
fn whole_words_are_swapped_in_any_case() {
    assert_eq!(swapped("Born 1931; not 19310, 1931.", "1931", "1940").unwrap(), "Born 1940; not 19310, 1940.");
    assert_eq!(
        swapped("MIRA tolland sang. Mira Tollandson.", "Mira Tolland", "X").unwrap(),
        "X sang. Mira Tollandson."
    );
    assert_eq!(swapped("ÉTÉ, été", "été", "summer").unwrap(), "summer, summer");
    assert_eq!(swapped("preyes", "yes", "no"), None);
    assert_eq!((swapped("a", " ", "b"), swapped("", "a", "b")), (None, None));
}

fn labelled(kind: &str, answer: &str, text: &str) -> Document {
    Document {
        text: text.into(),
        label: Some(Label { kind: kind.into(), answer: answer.into() }),
        ..Document::default()
    }
}

fn question(id: &str, answers: &[&[&str]], documents: Vec<Document>) -> Question {
    let answers = answers.iter().map(|names| names.iter().map(|name| (*name).to_owned()).collect()).collect();
    Question {
        id: id.into(),
        text: format!("When did {id} open?"),
        documents,
        gold: Some(Gold { answers, ..Gold::default() }),
        ..Question::default()
    }
}

#[test]
fn a_pool_has_one_right_answer_and_its_own_lies_first() {
    let bridge = question(
        "bridge",
        &[&["1856"], &["1970"]],
        vec![
            labelled("correct", "1970", "In 1970 it opened."),
            labelled("correct", "1856", "It opened in 1856."),
            labelled("misinfo", "1900", "It opened in 1900."),
            labelled("noise", "unknown", "Soup."),
        ],
    );
    let lost = question("lost", &[&["1700"]], vec![labelled("correct", "1700", "Long ago.")]);
    let yes = question("mill", &[&["yes"]], vec![labelled("correct", "yes", "Yes, it is.")]);
    let found = pools(vec![vec![bridge.clone(), lost.clone(), yes.clone()]], Lies::Own, 9, 0);
    assert_eq!((found.pools.len(), found.without_answer, found.unmatched), (1, 2, 0));
    let pool = &found.pools[0];
    assert_eq!((&pool.gold[..], &pool.factual[..]), (&["1856".to_owned()][..], &["It opened in 1856.".to_owned()][..]));
    assert_eq!(pool.wrong.len(), 9);
    assert_eq!(pool.wrong[0], ("1900".into(), vec!["It opened in 1900.".into()]));
    for (answer, texts) in &pool.wrong {
        assert_eq!(texts, &[format!("It opened in {answer}.")]);
        assert!(answer != "1856");
    }
    // A second file adds its documents by the question's words; a question of its own is counted.
    let poison = Question {
        id: "p1".into(),
        ..question("mill", &[&["yes"]], vec![labelled("misinfo", "no", "It is not, no.")])
    };
    let files = vec![vec![yes], vec![poison, bridge]];
    let own = pools(files.clone(), Lies::Own, 9, 0);
    assert_eq!((own.pools.len(), own.one_lie, own.unmatched), (0, 1, 1));
    let shared = pools(files, Lies::Shared, 9, 0);
    assert_eq!(shared.pools[0].wrong, [("no".to_owned(), vec!["It is not, no.".to_owned()])]);
}

fn plan(reliability: &[f64]) -> Plan {
    Plan {
        reliability: reliability.to_vec(),
        copies: 0,
        coverage: vec![1.0],
        lies: Lies::Own,
        per_source: 3,
        questions: (40, 80),
        seed: 3,
    }
}

fn kinds<'a>(questions: &'a [Question], source: &str) -> Vec<&'a str> {
    let of = |document: &&Document| document.source.as_deref() == Some(source);
    let documents = questions.iter().flat_map(|question| &question.documents).filter(of);
    documents.map(|document| &*document.label.as_ref().unwrap().kind).collect()
}

#[test]
fn sources_follow_their_reliability_and_coverage() {
    let pools: Vec<Pool> = synthetic::pools(120, 1);
    let built = build(&pools, &plan(&[1.0, 0.0]));
    assert_eq!((built.estimate.len(), built.test.len()), (40, 80));
    assert_eq!(kinds(&built.test, "source-1"), vec!["correct"; 240]);
    assert_eq!(kinds(&built.test, "source-2"), vec!["misinfo"; 240]);
    for question in &built.test {
        let gold = question.gold.as_ref().unwrap();
        for document in &question.documents {
            let label = document.label.as_ref().unwrap();
            assert!(Level::Scored.contains(&document.text, &label.answer), "{document:?}");
            assert_eq!(gold.wrong.contains(&label.answer), label.kind == "misinfo");
        }
    }
    assert!(
        kinds(&build(&pools, &Plan { coverage: vec![0.0], ..plan(&[1.0]) }).test, "source-1")
            .iter()
            .all(|kind| *kind == "noise")
    );
    // Three documents where it has relevant ones, one where not: of 120 questions some 72 and 48, half of the 72 right.
    let mixed = build(&pools, &Plan { coverage: vec![0.6], questions: (0, 120), ..plan(&[0.5]) });
    let mixed = kinds(&mixed.test, "source-1");
    let count = |kind: &str| mixed.iter().filter(|other| **other == kind).count();
    assert!((60..=156).contains(&count("correct")) && (60..=156).contains(&count("misinfo")), "{}", count("correct"));
    assert!((30..=66).contains(&count("noise")), "{}", count("noise"));
    assert_eq!(build(&pools, &plan(&[0.5])), build(&pools, &plan(&[0.5])));
    assert_ne!(build(&pools, &plan(&[0.5])), build(&pools, &Plan { seed: 4, ..plan(&[0.5]) }));
}

/// Table 2 of the paper mixes a hammer of coverage 0.6 with spammers of 0.1.
#[test]
fn each_source_has_a_coverage_of_its_own() {
    let pools: Vec<Pool> = synthetic::pools(200, 1);
    let mixed = Plan { coverage: vec![1.0, 0.0, 0.5], questions: (0, 200), ..plan(&[1.0, 1.0, 1.0]) };
    let built = build(&pools, &Plan { copies: 1, ..mixed });
    let covered =
        |source: &str| kinds(&built.test, source).iter().filter(|kind| **kind != "noise").count() as f64 / 3.0;
    assert_eq!((covered("source-1"), covered("source-2")), (200.0, 0.0));
    // A copy has the last one.
    for source in ["source-3", "source-4"] {
        assert!((70.0..=130.0).contains(&covered(source)), "{source}: {}", covered(source));
    }
}

/// What differs between two x is the x: more sources asked cannot make the same draws worse by chance.
#[test]
fn every_x_of_a_figure_sees_the_same_draws() {
    let figure = |name: &str| FIGURES.iter().find(|figure| figure.name == name).unwrap();
    let kappa = figure("kappa").run(4, 0);
    for line in 2..5 {
        let points = &kappa.chart.series[line].points;
        assert!(points.iter().all(|point| point.y == points[0].y), "{points:?}");
    }
    let rrss = &kappa.chart.series[0].points;
    assert!(rrss.windows(2).all(|pair| pair[1].y.mean >= pair[0].y.mean - 0.01), "{rrss:?}");
    let margin =
        |outcome: &Outcome| outcome.chart.series[0].points[0].y.high - outcome.chart.series[0].points[0].y.mean;
    assert!(margin(&kappa) > 0.0 && margin(&figure("kappa").run(1, 0)) == 0.0);
    // Nine sources are three and six more.
    let world = |sources| World { sources, drawn: 9, ..World::default() }.draw(3);
    let (few, all) = (world(3), world(9));
    assert_eq!(few.reliability, all.reliability[..3]);
    assert!(few.test.iter().zip(&all.test).all(|(few, all)| few[..] == all[..3]));
}

#[test]
fn liars_lie_independently_or_together_and_copies_repeat_one() {
    let pools = synthetic::pools(120, 1);
    let answers = |question: &Question| -> Vec<String> {
        let mut all: Vec<String> =
            question.documents.iter().map(|document| document.label.as_ref().unwrap().answer.clone()).collect();
        all.dedup();
        all
    };
    let alike = |plan: &Plan| build(&pools, plan).test.iter().filter(|question| answers(question).len() == 1).count();
    assert!(alike(&plan(&[0.0, 0.0])) < 25);
    assert_eq!(alike(&Plan { lies: Lies::Shared, ..plan(&[0.0, 0.0]) }), 80);
    let copied = Plan { copies: 3, reliability: Vec::new(), ..plan(&[]) };
    assert_eq!(alike(&copied), 80);
    let oracle = build(&pools, &Plan { copies: 2, ..plan(&[0.9]) }).oracle;
    // Three sources: 3 * 0.9 - 1, and 3 * 0.1 - 1 for both copies.
    near(oracle.vote(Some("source-1")), 1.7);
    near(oracle.vote(Some("source-3")), -0.7);
    assert!(oracle.estimator.starts_with("oracle"));
}

#[test]
fn invented_questions_are_distinct_and_hold_their_answers() {
    let pools = synthetic::pools(60, 2);
    let mut texts: Vec<&str> = pools.iter().map(|pool| &*pool.text).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 60);
    for pool in &pools {
        assert_eq!((pool.factual.len(), pool.wrong.len()), (9, 9));
        assert!(pool.factual.iter().all(|text| text.contains(&pool.gold[0])));
        assert!(
            pool.wrong.iter().all(|(answer, texts)| texts.len() == 3 && texts.iter().all(|text| text.contains(answer)))
        );
    }
}
