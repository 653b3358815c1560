//! Questions built as those of RAMDocs: what each holds, and how often.

use moot::answers::words::Level;
use moot::eval::slices::{Kind, Slices};
use moot::eval::sources::bench::swap;
use moot::question::{Document, Gold, Label, Question};
use std::collections::BTreeSet;

/// So many questions, each with four years, each of which four documents support.
fn questions(count: usize) -> Vec<Question> {
    let year = |number: usize, answer: usize| (1100 + (number * 37 + answer * 211) % 800).to_string();
    let one = |number: usize| {
        let text = |answer: usize, copy: usize| {
            let year = year(number, answer);
            format!("Witness {copy} says that mill {answer} of place {number} was built in {year}.")
        };
        let label = |answer| Some(Label { kind: "correct".into(), answer: year(number, answer) });
        let documents = (0..16).map(|index| Document {
            text: text(index / 4, index % 4),
            label: label(index / 4),
            ..Document::default()
        });
        Question {
            id: format!("q{number}"),
            text: format!("When was the mill of place {number} built?"),
            documents: documents.collect(),
            gold: Some(Gold::all_of((0..4).map(|answer| year(number, answer)), Vec::new())),
            ..Question::default()
        }
    };
    (0..count).map(one).collect()
}

fn build(questions: &[Question], seed: u64) -> Slices {
    Kind::named("ramdocs").unwrap().build("set", questions, seed)
}

fn of<'a>(item: &'a Question, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let labelled = item.documents.iter().filter_map(|document| Some((document, document.label.as_ref()?)));
    let of_kind = labelled.filter(move |(_, label)| label.kind == kind);
    of_kind.map(|(document, label)| (document.text.as_str(), label.answer.as_str()))
}

/// The ranges of section 3 and the means of Figure 5.
#[test]
fn numbers_are_drawn_as_the_paper_has_them() {
    let source = questions(800);
    let built = build(&source, 0);
    assert_eq!((built.qualified, built.items.len()), (800, 800), "{:?}", built.left_out);
    let count = |count: &dyn Fn(&Question) -> usize| built.items.iter().map(count).collect::<Vec<usize>>();
    let answers = |item: &Question| item.gold.as_ref().unwrap().answers.len();
    for (name, numbers, range, mean) in [
        ("answers", count(&answers), 1..=3, 2.20),
        ("misinformation", count(&|item| of(item, "misinfo").count()), 0..=2, 0.61),
        ("noise", count(&|item| of(item, "noise").count()), 0..=2, 1.08),
    ] {
        assert!(numbers.iter().all(|number| range.contains(number)), "{name}");
        assert!(range.clone().all(|number| numbers.contains(&number)), "{name}: all of the range");
        let found = numbers.iter().sum::<usize>() as f64 / numbers.len() as f64;
        assert!((found - mean).abs() < 0.1, "{name}: {found} instead of {mean}");
    }
    let mut supporters = Vec::new();
    for item in &built.items {
        let right: Vec<&str> = item.gold.as_ref().unwrap().aliases().collect();
        supporters.extend(right.iter().map(|right| of(item, "correct").filter(|(_, answer)| answer == right).count()));
    }
    assert!(supporters.iter().all(|number| (1..=3).contains(number)));
    let found = supporters.iter().sum::<usize>() as f64 / supporters.len() as f64;
    assert!((found - 1.77).abs() < 0.1, "documents of a right answer: {found}");
}

/// A text of several pieces keeps its first word where that only begins like the title.
#[test]
fn pieces_are_cut_behind_the_title_and_within_no_word() {
    let mut source = questions(12);
    for document in source.iter_mut().flat_map(|question| &mut question.documents) {
        document.title = Some("Wit".to_owned());
        document.text.push_str(&" It stands there still.".repeat(40));
    }
    let built = build(&source, 0);
    let texts: Vec<&str> =
        built.items.iter().flat_map(|item| &item.documents).map(|document| document.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.starts_with("Witness ")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.starts_with("Wit ")), "{texts:?}");
}

#[test]
fn documents_are_labelled_by_what_they_hold() {
    let source = questions(120);
    let built = build(&source, 3);
    for (item, asked) in built.items.iter().zip(&source) {
        let gold = item.gold.as_ref().unwrap();
        let all: Vec<&str> = asked.gold.as_ref().unwrap().aliases().collect();
        assert!(gold.aliases().all(|answer| all.contains(&answer)) && gold.all_required);
        let holds = |text: &str, answer: &str| Level::Scored.contains(text, answer);
        assert!(of(item, "correct").all(|(text, answer)| holds(text, answer) && gold.aliases().any(|a| a == answer)));
        // A year of misinformation is not a right answer, stands in its document alone, and has taken the right one's
        // place.
        let wrong: Vec<&str> = of(item, "misinfo").map(|(_, answer)| answer).collect();
        assert_eq!(BTreeSet::from_iter(wrong.iter().copied()), gold.wrong.iter().map(String::as_str).collect());
        for (text, answer) in of(item, "misinfo") {
            assert_eq!(swap::kind(answer), swap::Kind::Year);
            assert!(holds(text, answer) && text.contains(&asked.id.replace('q', "place ")), "{text}");
            assert!(!all.iter().any(|right| holds(text, right)), "{text}: {all:?}");
        }
        for (text, answer) in of(item, "noise") {
            assert_eq!(answer, "unknown");
            assert!(!asked.documents.iter().any(|own| own.text == text), "of another question: {text}");
            assert!(!gold.aliases().chain(wrong.iter().copied()).any(|answer| holds(text, answer)), "{text}");
        }
        let count = |kind| of(item, kind).count();
        let want = [
            format!("ramdocs-answers-{}", gold.answers.len()),
            format!("ramdocs-misinfo-{}", count("misinfo")),
            format!("ramdocs-noise-{}", count("noise")),
        ];
        assert_eq!((item.slices.as_slice(), item.id.clone()), (&want[..], format!("{}-ramdocs", asked.id)));
        let names: Vec<&str> = item.documents.iter().map(|document| document.name.as_str()).collect();
        assert_eq!(names, (1..=names.len()).map(|number| format!("document {number}")).collect::<Vec<_>>());
    }
    assert_eq!(build(&source, 3), built);
    assert_ne!(build(&source, 4), built);
}

/// Misinformation and noise that a question has itself come first; documents are pieces of 100 words that hold the answer.
#[test]
fn long_documents_are_cut_and_labelled_ones_are_used() {
    let filler = "The mill is of brick and stands by the river. ".repeat(20);
    let long = format!("Mill (Orm) {filler}It was built in 1884. {filler}");
    let document = |kind: &str, answer: &str, text: &str| Document {
        title: text.starts_with("Mill (Orm)").then(|| "Mill (Orm)".into()),
        text: text.into(),
        label: Some(Label { kind: kind.into(), answer: answer.into() }),
        ..Document::default()
    };
    let documents = vec![
        document("correct", "1884", &long),
        document("correct", "1901", "Built in 1901."),
        document("misinfo", "1850", "Built in 1850."),
        document("noise", "unknown", "Soup is served."),
    ];
    let gold = Some(Gold::all_of(["1884".into(), "1901".into()], vec!["1850".into()]));
    let asked = Question { id: "mill".into(), text: "When?".into(), documents, gold, ..Question::default() };
    let (mut cut, mut own_lie, mut own_noise) = (0, 0, 0);
    for seed in 0..40 {
        let built = build(std::slice::from_ref(&asked), seed);
        let item = &built.items[0];
        for (text, _) in of(item, "correct").filter(|(_, answer)| *answer == "1884") {
            cut += 1;
            assert!(text.starts_with("Mill (Orm) ") && text.contains("1884"), "{text}");
            assert!((50..=103).contains(&text.split_whitespace().count()), "{text}");
        }
        let lies: Vec<(&str, &str)> = of(item, "misinfo").collect();
        assert!(lies.is_empty() || lies.contains(&("Built in 1850.", "1850")), "{lies:?}");
        own_lie += lies.len();
        let silent: Vec<(&str, &str)> = of(item, "noise").collect();
        assert!(silent.is_empty() || silent == [("Soup is served.", "unknown")], "{silent:?}");
        own_noise += silent.len();
    }
    assert!(cut > 10 && own_lie > 10 && own_noise > 10, "{cut} {own_lie} {own_noise}");
    let mut bare = asked;
    bare.documents.retain(|document| !document.text.contains("1901"));
    let left_out = build(&[bare], 0).left_out;
    assert!(left_out.keys().next().unwrap().contains("fewer than two right answers"), "{left_out:?}");
}
