//! Benchmarks of sources: typed answers, pools of questions, sources that follow their reliability.

use super::sources::near;
use moot::answers::words::Level;
use moot::eval::sources::bench::pools::pools;
use moot::eval::sources::bench::swap::{Kind, kind, swapped, wrong_answers};
use moot::eval::sources::bench::{Lies, Plan, Pool, build, synthetic};
use moot::question::{Document, Gold, Label, Question};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

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

/// Two values of x differ in nothing else: more sources asked cannot make the same draws worse by chance.
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
