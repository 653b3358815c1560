//! Small files in each published form; `tests/fixtures/datasets/README.md` names the sources of the schemas.

use super::{fixture, load, load_with};
use moot::eval::datasets::{self, Dataset};
use moot::question::{Gold, Question};
use serde_json::json;

fn read(file: &str, format: &str) -> Dataset {
    let set = datasets::load(&fixture(file)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(set.format, format, "{file}");
    set
}

fn one(file: &str, format: &str) -> Question {
    read(file, format).questions.swap_remove(0)
}

fn gold(question: &Question) -> &Gold {
    question.gold.as_ref().unwrap()
}

/// Name, kind and answer of each document.
fn labels(question: &Question) -> Vec<(&str, &str, &str)> {
    let label = |d: &'_ moot::question::Document| d.label.clone().unwrap_or_default();
    let leaked = |text: String| -> &'static str { text.leak() };
    question.documents.iter().map(|d| (d.name.as_str(), leaked(label(d).kind), leaked(label(d).answer))).collect()
}

#[test]
fn open_questions() {
    let set = read("nq_open.jsonl", "nq-open");
    assert_eq!(gold(&set.questions[0]).answers, [["Orrin Hale", "O. Hale"]]);
    assert_eq!((set.questions.len(), gold(&set.questions[0]).required()), (2, 1));

    let trivia = one("triviaqa.json", "triviaqa");
    assert_eq!(trivia.id, "tc_1");
    assert_eq!(gold(&trivia).answers, [["Skerrow", "Isle of Skerrow"]]);
    let row = one("triviaqa_rows.jsonl", "triviaqa");
    assert_eq!(row.id, "tc_2");
    assert_eq!(gold(&row).answers, [["Ost", "River Ost"]]);

    let set = read("popqa.tsv", "popqa");
    assert_eq!(
        (set.questions[0].id.as_str(), set.questions[0].text.as_str()),
        ("4222362", "What is Ansel Quirke's occupation?")
    );
    assert_eq!(gold(&set.questions[0]).answers, [["lighthouse keeper", "keeper of lights"]]);
    assert_eq!(set.questions[1].slices, ["place-of-birth"]);
}

#[test]
fn multi_hop() {
    let wiki = one("2wikimultihopqa.json", "2wikimultihopqa");
    assert_eq!(wiki.slices, ["compositional"]);
    assert_eq!(gold(&wiki).answers, [["Lenn"]]);
    let expected = [("Veldra Bridge", "supporting", ""), ("Orrin Hale", "supporting", ""), ("Soup", "distractor", "")];
    assert_eq!(labels(&wiki), expected);
    assert_eq!(wiki.documents[0].text, "The Veldra Bridge crosses the Ost. It was built by Orrin Hale.");

    let hotpot = one("hotpotqa.json", "hotpotqa");
    assert_eq!((hotpot.slices.join(" "), labels(&hotpot)[0].1), ("comparison hard".to_owned(), "distractor"));
    let row = one("hotpotqa_rows.jsonl", "hotpotqa");
    assert_eq!(
        (row.id.as_str(), row.documents.len(), labels(&row)[0].1),
        ("5a8b57f25542995d1e6f1372", 3, "supporting")
    );
    assert_eq!(row.documents[0].text, wiki.documents[0].text);
}

#[test]
fn musique_asks_some_questions_twice() {
    let set = read("musique.jsonl", "musique");
    let [answerable, not, test] = set.questions.as_slice() else { panic!() };
    assert_eq!(gold(answerable).answers, [["Orrin Hale", "Hale"]]);
    assert_eq!(answerable.slices, ["2hop", "answerable"]);
    let expected = [("Veldra Bridge (document 1)", "supporting", ""), ("Veldra Bridge (document 2)", "distractor", "")];
    assert_eq!(labels(answerable), expected);
    assert_eq!((not.id.as_str(), gold(not)), ("2hop__482757_12019-unanswerable", &Gold::none()));
    assert_eq!((test.gold.clone(), test.slices[0].as_str(), test.documents[0].label.clone()), (None, "3hop", None));
}

#[test]
fn ambiguity_and_contradiction() {
    let set = read("ambigdocs.json", "ambigdocs");
    let question = &set.questions[0];
    assert_eq!(gold(question).answers, [["1884"], ["1971"]]);
    assert_eq!((question.id.as_str(), gold(question).required(), question.documents.len()), ("17", 2, 3));
    assert_eq!(labels(question)[1], ("Veldra Bridge (Harrow)", "correct", "1971"));
    assert_eq!(question.documents[1].title.as_deref(), Some("Veldra Bridge (Harrow)"));
    // The text alone does not say which of the bridges it is about.
    assert_eq!(question.documents[1].text, "Veldra Bridge (Harrow) It opened in 1971.");
    assert_eq!(set.questions[1].documents[0].text, "Hale (a) A builder.");
    let identity = serde_json::to_value(&set.identity).unwrap();
    assert_eq!(identity["titled"], true);
    let other = serde_json::to_value(read("2wikimultihopqa.json", "2wikimultihopqa").identity).unwrap();
    assert!(other.get("titled").is_none(), "records of other sets stay as they are: {other}");
    assert_eq!(labels(&set.questions[1]), [("Hale (a)", "correct", "a builder")]);

    let wiki = one("wikicontradict.csv", "wikicontradict");
    assert_eq!(gold(&wiki).answers, [["210 m"], ["190 m"]]);
    assert_eq!((gold(&wiki).required(), wiki.slices.join(" ")), (2, "implicit different-passage".to_owned()));
    assert_eq!(labels(&wiki)[1], ("Veldra Bridge (document 2)", "correct", "190 m"));
    assert_eq!(wiki.documents[0].text, "The bridge is 210 m long,\nsay its builders.");

    let bank = one("conflictbank.jsonl", "conflictbank");
    assert_eq!(
        (gold(&bank).answers[0][0].as_str(), gold(&bank).wrong[0].as_str(), bank.options.len()),
        ("Lenn", "Harrow", 4)
    );
    let kinds: Vec<_> = labels(&bank).into_iter().map(|(_, kind, answer)| (kind, answer)).collect();
    assert_eq!(kinds, [("correct", "Lenn"), ("misinfo", "Harrow"), ("temporal", "Harrow"), ("semantic", "Harrow")]);
}

#[test]
fn faitheval_has_three_parts() {
    let set = read("faitheval.jsonl", "faitheval");
    let [unanswerable, inconsistent, counterfactual] = set.questions.as_slice() else { panic!() };
    assert_eq!((gold(unanswerable), unanswerable.slices[0].as_str()), (&Gold::none(), "unanswerable"));
    let texts: Vec<_> = inconsistent.documents.iter().map(|d| d.text.as_str()).collect();
    assert_eq!(texts, ["The bridge opened in 1884.", "The bridge opened in 1848."]);
    assert_eq!((gold(inconsistent).answers[0][0].as_str(), inconsistent.slices[0].as_str()), ("1884", "inconsistent"));
    assert_eq!(gold(inconsistent).wrong, ["1848"]);
    assert_eq!(labels(inconsistent), [("document 1", "correct", "1884"), ("document 2", "misinfo", "1848")]);
    assert_eq!(counterfactual.options, ["rock", "marshmallows"]);
    assert_eq!(
        (gold(counterfactual).answers[0][0].as_str(), counterfactual.id.as_str()),
        ("marshmallows", "Mercury_1")
    );
}

/// The text begins with a title only where it does so in whole words.
#[test]
fn a_title_is_part_of_no_longer_word() {
    let shown = |title: &str, text: &str| {
        let item = json!([{ "qid": "1", "ambiguous_entity": "Art", "question": "What is it?", "documents": [
            { "title": title, "text": text, "pid": "1", "answer": "a king" }
        ] }]);
        load(&item.to_string()).unwrap().questions[0].documents[0].text.clone()
    };
    assert_eq!(shown("Art", "Arthur was a king."), "Art Arthur was a king.");
    assert_eq!(shown("Art", "Art: a king."), "Art: a king.");
    assert_eq!(shown("東京", "東京は首都。"), "東京は首都。");
}

/// FlashRAG's form does not say that all answers of a set are yes or no; StrategyQA's own form does.
#[test]
fn strategyqa_offers_yes_and_no_in_flashrags_form_too() {
    let row =
        |golden: &str| format!("{{\"id\": \"test_0\", \"question\": \"Is it?\", \"golden_answers\": {golden}}}\n");
    let options = datasets::Options::default().format("strategyqa").unwrap();
    let read = |golden: &str| load_with(&row(golden), &options).map(|set| set.questions[0].clone());
    for (golden, right, wrong) in [("[\"yes\"]", "yes", "no"), ("[\"No\"]", "no", "yes"), ("[true]", "yes", "no")] {
        let question = read(golden).unwrap();
        assert_eq!((question.id.as_str(), &question.options[..]), ("test_0", &["yes".to_owned(), "no".to_owned()][..]));
        assert_eq!(
            (&gold(&question).answers, &gold(&question).wrong[..]),
            (&vec![vec![right.to_owned()]], &[wrong.to_owned()][..])
        );
    }
    for bad in ["[\"perhaps\"]", "[\"yes\", \"no\"]", "[]"] {
        let error = read(bad).unwrap_err();
        assert!(error.contains("expected yes, no, true or false, alone in its list, in `golden_answers`"), "{error}");
    }
}

/// A reply with the right and the planted answer is wrong; the word "Document:" in a sentence begins no document.
#[test]
fn faitheval_has_a_wrong_answer_a_question() {
    let item = |more: &str, second: &str| {
        let context = format!("Document: Form 7, see Document: Hale, opened in 1884.\n\n  Document: {second}");
        let item = json!({ "qid": "i1", "question": "When?", "context": context, "answers": ["1884"] });
        let set = load(&item.to_string().replacen('{', &format!("{{{more}"), 1)).unwrap();
        set.questions[0].clone()
    };
    let alike = item("", "Form 7, see Document: Hale, opened in\n1848.");
    let texts: Vec<_> = alike.documents.iter().map(|d| d.text.as_str()).collect();
    assert_eq!(texts, ["Form 7, see Document: Hale, opened in 1884.", "Form 7, see Document: Hale, opened in\n1848."]);
    assert_eq!(gold(&alike).wrong, ["1848"]);
    // Not alike: the wrong answer is unknown unless the file has it.
    assert!(gold(&item("", "The year was 1848.")).wrong.is_empty());
    let given = item("\"wrong_answers\": [\"1848\"], ", "The year was 1848.");
    assert_eq!(gold(&given).wrong, ["1848"]);
    assert_eq!(labels(&given)[1], ("document 2", "misinfo", "1848"));
}

#[test]
fn flashrag_has_golden_answers() {
    let set = read("flashrag.jsonl", "flashrag");
    let [open, yes, choice] = set.questions.as_slice() else { panic!() };
    assert_eq!(
        (open.id.as_str(), &gold(open).answers),
        ("test_0", &vec![vec!["Orrin Hale".to_owned(), "Hale".to_owned()]])
    );
    assert!(open.documents.is_empty() && gold(yes).answers == [["yes"]]);
    assert_eq!((choice.options.len(), &gold(choice).answers), (3, &vec![vec!["Lenn".to_owned()]]));
    for (golden, right) in [("[2]", "Harrow"), ("[\"B\"]", "Lenn"), ("[\"Ost\"]", "Ost"), ("\"0\"", "Ost")] {
        let item = format!(
            "{{\"question\": \"Where?\", \"choices\": [\"Ost\", \"Lenn\", \"Harrow\"], \"golden_answers\": {golden}}}"
        );
        assert_eq!(gold(&load(&item).unwrap().questions[0]).answers, [[right]], "{golden}");
    }
    let found = load(r#"{"question": "Where?", "choices": ["Ost"], "golden_answers": ["B"]}"#).unwrap_err();
    let expected = "expected one of 1 `choices`, by number, letter or text, in `golden_answers`, found a list of 1";
    assert_eq!(found, format!("set.jsonl:1: {expected}"));
    // With documents of its own a question is in the form of docs/data.md, whose field is `answers`.
    let found = load(r#"{"question": "Where?", "documents": ["a"], "golden_answers": ["B"]}"#).unwrap_err();
    assert!(found.contains("`golden_answers`, which is called `answers` here"), "{found}");
}

#[test]
fn truthfulqa_of_2025_names_the_incorrect_answer_of_binary_choice() {
    let table = "Type,Category,Question,Best Answer,Best Incorrect Answer,Correct Answers,Incorrect Answers,Source\n\
        Adversarial,Myths,Why?,Because,So they say,Because; So it is,No reason; So they say; None,x\n";
    let set = load(table).unwrap();
    assert_eq!(
        (set.format, &gold(&set.questions[0]).wrong[..]),
        ("truthfulqa", &["So they say", "No reason", "None"].map(String::from)[..])
    );
}

/// The publisher's retriever also returns false paragraphs on other subjects, and some that keep the answer.
#[test]
fn a_false_paragraph_of_contraqa_contradicts_only_the_answer_that_it_replaces() {
    let found = |context: &str, paragraphs: &[(&str, &str)]| {
        let results: Vec<_> =
            paragraphs.iter().map(|(id, text)| json!({ "id": id, "text": text, "score": 1.0 })).collect();
        let item = json!({
            "id": "q", "question": "When did it open?", "context": context, "retrieval_results": results,
            "answers": { "text": ["1816"], "answer_start": [0] },
        });
        let question = load(&format!("[{item}]")).unwrap().questions.swap_remove(0);
        question.documents.iter().map(|d| d.label.as_ref().unwrap().kind.clone()).collect::<Vec<_>>().join(" ")
    };
    let original = "The theatre was founded in 1816 in Warsaw.";
    let kept = "The theatre was founded in 1816 in Krakow.";
    let changed = "The theatre was founded in 1861 in Warsaw.";
    let beside = |fake| {
        found("", &[("7:::Theatre", original), ("7:::Theatre-FAKE", fake), ("9:::Soup-FAKE", "Soup is of 1848.")])
    };
    assert_eq!(beside(changed), "other misinfo altered");
    assert_eq!(beside(kept), "other altered altered");
    // The true paragraph was not retrieved; it is the question's own.
    let alone = |fake| found(original, &[("7:::Theatre-FAKE", fake), ("9:::Soup-FAKE", "Soup is of 1848.")]);
    assert_eq!((alone(changed).as_str(), alone(kept).as_str()), ("misinfo altered", "altered altered"));
}

#[test]
fn a_parquet_file_is_named() {
    let found = load("PAR1\u{15}\u{4}").unwrap_err();
    assert!(found.ends_with("found a Parquet file (docs/data.md has the line that converts it)"), "{found}");
}

#[test]
fn inputs_of_conflictbench() {
    let noise = one("macnoise.json", "macnoise");
    let expected = [
        ("Veldra Bridge (document 1)", "correct", "Orrin Hale"),
        ("Veldra Bridge (document 2)", "misinfo", ""),
        ("Ost", "other", ""),
    ];
    assert_eq!(labels(&noise), expected);
    let texts: Vec<_> = noise.documents.iter().map(|d| d.text.as_str()).collect();
    assert_eq!(texts, ["It was built by Orrin Hale.", "It was built by Jonas Peet.", "A river."]);

    let contra = one("contraqa.json", "contraqa");
    assert_eq!(gold(&contra).answers, [["1884", "in 1884"]]);
    let kinds: Vec<_> = labels(&contra).into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!((kinds, contra.documents[1].text.as_str()), (vec!["other", "misinfo"], "It opened in 1848."));

    let set = read("conflictingqa.jsonl", "conflictingqa");
    let [scrolling, soup] = set.questions.as_slice() else { panic!() };
    assert_eq!((scrolling.text.as_str(), scrolling.gold.clone()), ("Is infinite scrolling good?", None));
    assert_eq!(scrolling.slices, ["web-design"]);
    let expected = [("Scroll on (document 1)", "yes", "yes"), ("Scroll on (document 2)", "no", "no")];
    assert_eq!(labels(scrolling), expected);
    let sources: Vec<_> = scrolling.documents.iter().map(|d| d.source.as_deref()).collect();
    assert_eq!(sources, [Some("design.example"), Some("ux.example")]);
    assert_eq!((soup.documents[0].text.as_str(), soup.documents[0].name.as_str()), ("Soup fills.", "Soup"));
}

#[test]
fn an_option_is_named_by_one_letter() {
    let text = std::fs::read_to_string(fixture("conflictbank.jsonl")).unwrap();
    let found = load(&text.replacen("\"correct_option\": \"C\"", "\"correct_option\": \"CA\"", 1)).unwrap_err();
    assert_eq!(found, "set.jsonl:1: expected the letter of one of 4 options in `correct_option`, found \"CA\"");
}

#[test]
fn every_passage_of_macnoise_has_a_mark() {
    let item = r#"{"question": "Who?", "answers": ["A"], "ctxs": [{"text": "a", "text_pert": "b"}, {"text": "c"}], "pert_lbls": [1]}"#;
    let found = load(item).unwrap_err();
    assert_eq!(found, "set.jsonl:1: expected 2 marks in `pert_lbls`, one for each of `ctxs`, found 1");
}

#[test]
fn contexts_of_another_answer_are_not_correct_ones() {
    let item = r#"{"question": "When?", "contexts": ["In 1884.", "In 1848.", "Soup."], "sources": ["a.example", "b.example", "c.example"],
        "firstAnswer": "1884", "firstContext": "['A']", "secondAnswerExist": "A", "secondAnswer": "1848", "secondContext": "['B']",
        "correctAnswer": "1884"}"#;
    let set = load(&item.replace('\n', " ")).unwrap();
    let expected = [("document 1", "correct", "1884"), ("document 2", "other", "1848"), ("document 3", "", "")];
    assert_eq!((set.format, labels(&set.questions[0])), ("qacc", expected.to_vec()));
}

#[test]
fn an_alias_of_truthfulqa_is_listed_once() {
    let table = "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source\n\
        Adversarial,Myths,Why?,Because,Because; So it is,No reason,x\n";
    let set = load(table).unwrap();
    assert_eq!(gold(&set.questions[0]).answers, [["Because", "So it is"]]);
}
