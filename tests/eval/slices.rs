//! Datasets of controlled conflicts: what each level holds, and which questions qualify.

use moot::answers::words::Level;
use moot::eval::datasets;
use moot::eval::slices::{KINDS, Kind, Slices, line};
use moot::question::{Document, Gold, Label, Question};
use std::collections::BTreeSet;

fn document(kind: &str, answer: &str, text: &str) -> Document {
    let label = Some(Label { kind: kind.into(), answer: answer.into() });
    Document { name: "document 9".into(), text: text.into(), label, ..Document::default() }
}

fn question(id: &str, documents: Vec<Document>, right: &[&str], wrong: &[&str]) -> Question {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let gold = Some(Gold::all_of(owned(right), owned(wrong)));
    Question { id: id.into(), text: "When was the mill built?".into(), documents, gold, ..Question::default() }
}

/// 1884 has three documents, 1901 two, 1711 none; 1850 is wrong and has one.
fn mill() -> Question {
    let documents = vec![
        document("correct", "1884", "The mill at Orne was built in 1884."),
        document("misinfo", "1850", "The mill was built in 1850."),
        document("correct", "1901", "The mill of Tess: built 1901, burnt 1902."),
        document("noise", "unknown", "Soup is served."),
        document("correct", "1884", "In 1884 the mill stood. It has 18840 bricks."),
        document("correct", "1884", "Orne's mill (1884) is of brick."),
        document("correct", "1901", "Tess has a mill since 1901."),
    ];
    question("mill", documents, &["1884", "1901", "1711"], &["1850"])
}

fn build(kind: &str, question: &Question, seed: u64) -> Slices {
    Kind::named(kind).unwrap().build("", std::slice::from_ref(question), seed)
}

/// Labels of an item's documents, sorted: "correct 1884".
fn labels(item: &Question) -> Vec<String> {
    let label = |document: &Document| document.label.as_ref().map(|label| format!("{} {}", label.kind, label.answer));
    let mut labels: Vec<String> = item.documents.iter().filter_map(label).collect();
    labels.sort();
    labels
}

/// Of each level: the texts of its documents, in order.
fn texts(item: &Question) -> Vec<&str> {
    item.documents.iter().map(|document| document.text.as_str()).collect()
}

#[test]
fn one_document_conflicts_with_one_to_three() {
    let built = build("imbalance", &mill(), 0);
    assert_eq!((built.qualified, built.items.len()), (1, 3));
    for (count, item) in (1..).zip(&built.items) {
        assert_eq!(item.slices, [format!("imbalance-1v{count}")]);
        assert_eq!(item.id, format!("mill-imbalance-1v{count}"));
        let want = [vec!["correct 1884".to_owned(); count], vec!["correct 1901".to_owned()]].concat();
        assert_eq!(labels(item), want);
        let gold = item.gold.as_ref().unwrap();
        let mut right: Vec<&str> = gold.aliases().collect();
        right.sort_unstable();
        assert_eq!((right, gold.all_required, gold.wrong.len()), (vec!["1884", "1901"], true, 0));
        let names: BTreeSet<&str> = item.documents.iter().map(|document| document.name.as_str()).collect();
        assert!(names.len() == count + 1 && names.contains("document 1"));
    }
    nested(&built.items);
}

/// A level holds all documents of the one below it, in the same order.
fn nested(items: &[Question]) {
    for pair in items.windows(2) {
        let (fewer, more) = (texts(&pair[0]), texts(&pair[1]));
        assert_eq!(more.len(), fewer.len() + 1);
        assert_eq!(more.into_iter().filter(|text| fewer.contains(text)).collect::<Vec<_>>(), fewer);
    }
}

#[test]
fn misinformation_grows_and_nothing_else_changes() {
    for seed in 0..20 {
        let built = build("misinfo", &mill(), seed);
        assert_eq!((built.qualified, built.items.len()), (1, 4));
        for (count, item) in built.items.iter().enumerate() {
            assert_eq!(item.slices, [format!("misinfo-{count}")]);
            let right = vec!["correct 1884".to_owned(), "correct 1901".to_owned()];
            assert_eq!(labels(item), [right, vec!["misinfo 1850".to_owned(); count]].concat());
            assert_eq!(item.gold.as_ref().unwrap().wrong, ["1850"]);
            for document in item.documents.iter().filter(|document| document.label.as_ref().unwrap().kind == "misinfo")
            {
                assert!(document.text.contains("1850"), "{}", document.text);
                assert!(
                    !Level::Scored.contains(&document.text, "1884") && !Level::Scored.contains(&document.text, "1901")
                );
                // A number that only begins with the answer's digits is not an answer.
                assert!(!document.text.contains("18500"), "{}", document.text);
            }
        }
        nested(&built.items);
        // The question's own misinformation comes before what was made.
        assert!(texts(&built.items[1]).contains(&"The mill was built in 1850."), "seed {seed}");
        assert_eq!(build("misinfo", &mill(), seed), built);
    }
    let orders: BTreeSet<Vec<String>> = (0..20)
        .map(|seed| build("misinfo", &mill(), seed).items[3].documents.iter().map(|d| d.text.clone()).collect())
        .collect();
    assert!(orders.len() > 10, "the seed draws documents and their order");
}

/// RAMDocs' misinformation is often a correct document with another answer: exchanging the answer makes the same text again.
/// A right answer that overlaps with each other one is passed over, whatever the order drawn.
#[test]
fn two_answers_that_fit_are_found_among_several() {
    let mut asked = mill();
    asked.documents.push(document("correct", "1884 or 1901", "The mill was built in 1884 or 1901."));
    asked.gold.as_mut().unwrap().answers.push(vec!["1884 or 1901".into()]);
    for seed in 0..20 {
        let built = build("misinfo", &asked, seed);
        assert_eq!(built.qualified, 1, "{seed}: {:?}", built.left_out);
        assert!(built.items.iter().all(|item| item.gold.as_ref().unwrap().aliases().all(|answer| answer.len() == 4)));
    }
}

/// An answer with three documents that overlaps with every other one is passed over for another with three.
#[test]
fn another_answer_with_three_documents_is_tried() {
    let mut asked = mill();
    for text in ["Built in 1884 or 1901.", "In 1884 or 1901, they say.", "The mill: 1884 or 1901."] {
        asked.documents.push(document("correct", "1884 or 1901", text));
    }
    asked.gold.as_mut().unwrap().answers.push(vec!["1884 or 1901".into()]);
    for seed in 0..20 {
        let built = build("imbalance", &asked, seed);
        assert_eq!(built.qualified, 1, "{seed}: {:?}", built.left_out);
        assert_eq!(labels(&built.items[2]), ["correct 1884", "correct 1884", "correct 1884", "correct 1901"]);
    }
}

#[test]
fn no_text_occurs_twice_in_an_item() {
    let mut twice = mill();
    twice.documents[1].text = "The mill at Orne was built in 1850.".into();
    twice.documents.push(twice.documents[0].clone());
    // Two options and unchanged questions keep the documents that there are.
    let kinds = || KINDS.iter().filter(|kind| !["binary", "as-is"].contains(&kind.name));
    for (kind, seed) in kinds().flat_map(|kind| (0..20).map(move |seed| (kind.name, seed))) {
        let built = build(kind, &twice, seed);
        assert_eq!(built.qualified, 1, "{kind}");
        for item in &built.items {
            let texts = texts(item);
            assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len(), "{kind}, seed {seed}: {texts:?}");
        }
    }
}

#[test]
fn a_question_that_does_not_qualify_is_counted_with_the_reason() {
    let left_out = |kind: &str, question: &Question| {
        let built = build(kind, question, 0);
        assert!(built.items.is_empty());
        assert_eq!((built.qualified, built.left_out.values().sum::<usize>()), (0, 1));
        *built.left_out.keys().next().unwrap()
    };
    let mut one = mill();
    one.documents.retain(|document| document.label.as_ref().unwrap().answer != "1901");
    assert!(left_out("imbalance", &one).contains("fewer than two right answers"));
    let mut two = mill();
    two.documents.remove(0);
    assert!(left_out("imbalance", &two).contains("three documents"));
    let harmless = Question { gold: Some(Gold::all_of(["1884".into(), "1901".into()], Vec::new())), ..mill() };
    assert_eq!(left_out("misinfo", &harmless), "no wrong answer");
    let overlapping =
        Question { gold: Some(Gold::all_of(["1884".into(), "1901".into()], vec!["in 1884".into()])), ..mill() };
    assert!(left_out("misinfo", &overlapping).contains("apart from the right ones"));
    let documents = vec![document("correct", "1884", "Built then."), document("correct", "1901", "Built later.")];
    assert!(left_out("misinfo", &question("bare", documents, &["1884", "1901"], &["1850"])).contains("could support"));
    assert!(left_out("imbalance", &Question { gold: None, ..mill() }).contains("all required"));
}

/// The loader reads a written item as the same question.
#[test]
fn items_are_read_back_as_they_were_built() {
    let folder = tempfile::tempdir().unwrap();
    let mut named = mill();
    (1..).zip(&mut named.documents).for_each(|(number, document)| document.name = format!("document {number}"));
    for kind in KINDS {
        let items = build(kind.name, &named, 3).items;
        assert!(!items.is_empty());
        let path = folder.path().join(kind.name);
        std::fs::write(&path, items.iter().map(|item| format!("{}\n", line(item))).collect::<String>()).unwrap();
        let read = datasets::load(&path).unwrap();
        assert_eq!((read.format, read.questions), ("questions", items));
    }
    assert!(Kind::named("imbalanced").err().unwrap().to_string().contains("imbalance, misinfo"));
}

/// The first 100 questions of RAMDocs' test set, as published.
#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn ramdocs_has_questions_of_each_kind() {
    let dataset = datasets::load(&super::datasets::real::published_file("ramdocs/dev100.jsonl")).unwrap();
    for (kind, levels) in [("imbalance", 3), ("misinfo", 4)] {
        let built = Kind::named(kind).unwrap().build("ramdocs", &dataset.questions, 0);
        assert_eq!(built.items.len(), built.qualified * levels);
        assert_eq!(built.qualified + built.left_out.values().sum::<usize>(), 100);
        assert!(built.qualified >= 10, "{kind}: {} of 100", built.qualified);
        built.items.chunks(levels).for_each(nested);
        let ids: BTreeSet<&str> = built.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids.len(), built.items.len());
    }
}

/// ConflictBench's rules: the claim of a conflict keeps its documents, the other one has its own and two of other questions.
#[test]
fn items_of_detection_have_a_claim_and_a_relation_for_each_document() {
    use moot::question::ClaimRelation::{Contradicts, Irrelevant, Supports};
    let mut questions: Vec<Question> = (0..40).map(|number| Question { id: format!("m{number}"), ..mill() }).collect();
    for (number, question) in questions.iter_mut().enumerate() {
        question.text = format!("When was mill {number} built?");
        question.documents.iter_mut().for_each(|document| document.text.push_str(&format!(" Mill {number}.")));
        question.documents.push(document("noise", "unknown", &format!("Mill {number} has a roof.")));
    }
    let built = Kind::named("detection").unwrap().build("mills", &questions, 0);
    assert_eq!((built.items.len(), built.qualified), (40, 40));
    let mut conflicts = 0;
    for (number, item) in built.items.iter().enumerate() {
        let [claim] = item.claims.as_slice() else { panic!("{item:?}") };
        assert_eq!(claim.text, format!("The answer to the question \"When was mill {number} built?\" is: 1884"));
        assert_eq!(claim.relations.len(), item.documents.len());
        let mut counts =
            [Supports, Contradicts, Irrelevant].map(|r| claim.relations.iter().filter(|&&x| x == r).count());
        if claim.conflict == Some(true) {
            conflicts += 1;
            assert_eq!((counts, item.slices[1].as_str()), ([3, 3, 2], "conflict"));
        } else {
            assert_eq!((counts, item.slices[1].as_str()), ([3, 0, 2], "no-conflict"));
            for (document, relation) in item.documents.iter().zip(&claim.relations) {
                let own = document.text.contains(&format!("ill {number} "))
                    || document.text.ends_with(&format!(" {number}."));
                assert_eq!(own, *relation == Supports, "{document:?}");
                assert!(*relation == Supports || !Level::Scored.contains(&document.text, "1884"), "{document:?}");
            }
        }
        counts.sort_unstable();
        assert_eq!((item.slices[0].as_str(), item.id.as_str()), ("mills", &*format!("mills:m{number}")));
    }
    assert!((10..30).contains(&conflicts), "{conflicts} of 40");
    assert_eq!(Kind::named("detection").unwrap().build("mills", &questions, 0), built);
    assert_ne!(Kind::named("detection").unwrap().build("mills", &questions, 1), built);
}

/// Answers that overlap give no label, an unmarked paragraph with the answer supports it, false ones contradict; pages that say
/// yes or no, and rows of one claim, are taken as they are.
#[test]
fn labels_of_other_sets_become_relations() {
    use moot::question::ClaimRelation::{Contradicts, Irrelevant, Supports};
    let one = |question: Question| {
        let built = Kind::named("detection").unwrap().build("", &[question], 0);
        let [item] = built.items.as_slice() else { panic!("{built:?}") };
        (item.claims[0].relations.clone(), item.claims[0].conflict.unwrap())
    };
    let any =
        |documents| Question { gold: Some(Gold::any_of(["1884".to_owned()])), ..question("a", documents, &[], &[]) };
    let paragraphs = vec![
        document("other", "", "It was built in 1884."),
        document("misinfo", "", "It was built in 1850."),
        document("other", "", "It is a mill."),
        document("other", "in 1884", "Then it was built."),
    ];
    assert_eq!(one(any(paragraphs)), (vec![Supports, Contradicts], true));
    let pages =
        vec![document("no", "no", "It is not."), document("yes", "yes", "It is."), document("no", "no", "Never.")];
    let pages = Question { gold: None, ..question("p", pages, &[], &[]) };
    assert_eq!(one(pages.clone()), (vec![Contradicts, Supports, Contradicts], true));
    let mut agreed = pages;
    agreed.documents.retain(|document| document.name.is_empty() || document.label.as_ref().unwrap().kind == "yes");
    assert_eq!(one(agreed), (vec![Supports], false));
    let row = |id: &str, text: &str, relation| Question {
        claims: vec![moot::question::Claim { text: "Mills grind.".into(), relations: vec![relation], conflict: None }],
        gold: None,
        ..question(id, vec![document("x", "", text)], &[], &[])
    };
    let rows =
        [row("r1", "They do.", Supports), row("r2", "Soup.", Irrelevant), row("r3", "They do not.", Contradicts)];
    let built = Kind::named("detection").unwrap().build("rows", &rows, 0);
    assert_eq!(built.items.len(), 1);
    assert_eq!(built.items[0].claims[0].relations, [Supports, Irrelevant, Contradicts]);
    assert_eq!(
        (built.items[0].claims[0].text.as_str(), built.items[0].claims[0].conflict),
        ("Mills grind.", Some(true))
    );
    let bare = Kind::named("detection").unwrap().build(
        "",
        &[question("b", vec![document("noise", "", "Soup.")], &[], &[])],
        0,
    );
    assert_eq!((bare.items.len(), bare.left_out.len()), (0, 1));
}

#[test]
fn two_options_are_the_best_and_the_first_wrong_answer() {
    use moot::eval::slices::binary::with_documents;
    let ask = |id: &str| Question {
        gold: Some(Gold { wrong: vec!["no".into(), "never".into()], ..Gold::any_of(["yes".into(), "aye".into()]) }),
        ..question(id, Vec::new(), &[], &[])
    };
    let mut orders = BTreeSet::new();
    for number in 0..20 {
        let item = build("binary", &ask(&number.to_string()), 0).items.remove(0);
        orders.insert(item.options.clone());
        assert_eq!(item.gold, Some(Gold { wrong: vec!["no".into()], ..Gold::any_of(["yes".into()]) }));
    }
    assert_eq!(orders.len(), 2, "the order is drawn: {orders:?}");
    let mut questions = vec![ask("a"), Question { text: "Another?".into(), ..ask("b") }];
    let found = Question { text: " when was  the mill built?".into(), ..mill() };
    assert_eq!(with_documents(&mut questions, &[found]), 1);
    assert_eq!((questions[0].documents.len(), questions[1].documents.len()), (7, 0));
    assert_eq!(build("as-is", &questions[0], 0).items, [questions[0].clone()]);
    assert_eq!(build("as-is", &questions[1], 0).left_out.keys().next(), Some(&"no documents"));
}
