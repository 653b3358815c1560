//! Retrieval and entailment inside a method, and the order in which the record has them.

use super::{Log, Shelf, by, model, passage, say, with};
use crate::methods::usage_error;
use moot::llm::scripted::Scripted;
use moot::nli::{Classifier, ScriptedClassifier};
use moot::protocol::ctx::{Settings, Tools};
use moot::retrieval::{Filter, Retriever, Wanted};
use moot::transcript::{Event, Pair, QuestionRecord, Relation};

fn shelf() -> Shelf {
    Shelf::new([
        passage("notes/a.md", 3, Some("The bridge"), "It opened in 1932."),
        passage("notes/a.md", 9, Some("The bridge"), "A footbridge opened in 1971."),
        passage("notes/b.md", 1, None, "Soup at noon."),
    ])
}

fn wanted(top: usize) -> Wanted {
    Wanted { top, by_source: true, filter: Filter::default(), fold: true }
}

fn searching<'a>(llm: &'a Scripted, shelf: &'a dyn Retriever) -> Tools<'a> {
    Tools { retriever: Some(shelf), ..Tools::new(llm) }
}

#[test]
fn passages_are_found_recorded_and_taken_up_once_each() {
    let ((llm, sent), shelf, log) = (model("x"), shelf(), Log::default());
    let settings = Settings::default();
    let (record, numbers) = with(searching(&llm, &shelf), &settings, &log, |ctx| {
        ctx.ask(say("a"))?;
        let hits = ctx.retrieve(&["opened", "noon"], &wanted(2))?;
        let [first, second] = &hits[..] else { panic!("{} lists", hits.len()) };
        let numbers = (ctx.take_up(first.clone()), ctx.take_up([second.clone(), vec![first[1].clone()]].concat()));
        ctx.ask(say("b").document(5))?;
        Ok((numbers, ctx.documents().map(|document| document.name.clone()).collect::<Vec<_>>()))
    });
    // The question has four documents; the record counts on.
    let (numbers, names) = numbers.unwrap();
    assert_eq!(numbers, (vec![4, 5], vec![6, 5]));
    assert_eq!(names, ["a.md", "b.txt", "c.md", "d.txt", "The bridge:3", "The bridge:9", "b.md"]);
    assert_eq!(record.retrieved.len(), 3);
    assert_eq!(record.document(4).unwrap().text, "The bridge\nIt opened in 1932.");
    assert_eq!(record.document(4).unwrap().origin.as_ref().unwrap().line, Some(3));
    assert!(record.document(6).unwrap().name == "b.md" && record.document(7).is_none());
    assert_eq!(sent.lock().unwrap()[1].what, "agent of The bridge:9, round 1");

    let [Event::Retrieval { stage, queries, top, by_source, hits, .. }] = &record.events[..] else {
        panic!("{:?}", record.events)
    };
    assert_eq!((*stage, *top, *by_source, &queries[..]), (1, 2, true, &["opened".to_owned(), "noon".into()][..]));
    assert_eq!(hits.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(record.calls.iter().map(|call| call.stage).collect::<Vec<_>>(), [0, 2]);
    let asked = shelf.asked.lock().unwrap();
    assert_eq!(asked.iter().map(|(query, _)| query.as_str()).collect::<Vec<_>>(), ["opened", "noon"]);
    assert!(asked.iter().all(|(_, found)| *found == wanted(2)));
    let heard = [
        "stage 0 of 1",
        "call 0: x",
        "retrieval 1",
        "taken up The bridge:3",
        "taken up The bridge:9",
        "taken up b.md",
        "stage 2 of 1",
        "call 0: x",
    ];
    assert_eq!(log.lines(), heard.map(str::to_owned));
    let line = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<QuestionRecord>(&line).unwrap(), record);
}

#[test]
fn the_error_of_a_method_that_retrieves_names_what_is_missing() {
    let (llm, _) = model("x");
    let (record, result) = by(&llm, |ctx| ctx.retrieve(&["opened"], &wanted(2)));
    assert_eq!(usage_error(result), "tested retrieves: expected --corpus PATH, found none");
    assert!(record.events.is_empty());
}

#[test]
fn the_users_search_settings_are_those_of_a_method() {
    let (llm, _) = model("x");
    let asked = Wanted { top: 9, by_source: false, filter: Filter::default(), fold: false };
    let tools = Tools { wanted: &asked, ..Tools::new(&llm) };
    let (_, found) = with(tools, &Settings::default(), &Log::default(), |ctx| Ok(ctx.wanted().clone()));
    assert_eq!(found.unwrap(), asked);
    assert_eq!(Tools::new(&llm).wanted.top, 5);
}

fn pair(premise: &str, hypothesis: &str) -> Pair {
    Pair { premise: premise.into(), hypothesis: hypothesis.into() }
}

fn relation(entailment: f32, neutral: f32, contradiction: f32) -> Relation {
    Relation { entailment, neutral, contradiction }
}

#[test]
fn a_classifier_classifies_without_a_call() {
    let ((llm, sent), log, settings) = (model("x"), Log::default(), Settings::default());
    let classifier = ScriptedClassifier::new(|pair| {
        let holds = pair.premise.contains(&pair.hypothesis);
        Some(if holds { relation(0.9, 0.1, 0.0) } else { relation(0.0, 0.25, 0.75) })
    });
    let tools = Tools { classifier: Some(&classifier), ..Tools::new(&llm) };
    let pairs = [pair("opened in 1932", "1932"), pair("opened in 1932", "1971")];
    let (record, relations) = with(tools, &settings, &log, |ctx| {
        let relations = ctx.entail(&pairs)?;
        ctx.ask(say("a"))?;
        Ok(relations)
    });
    let want = [relation(0.9, 0.1, 0.0), relation(0.0, 0.25, 0.75)];
    assert_eq!(relations.unwrap(), want);
    assert_eq!(classifier.counts().pairs, 2);
    let [Event::Entailment { stage: 0, pairs: asked, relations, by, .. }] = &record.events[..] else {
        panic!("{:?}", record.events)
    };
    assert_eq!((&asked[..], &relations[..], by.as_str()), (&pairs[..], &want[..], "classifier"));
    assert_eq!((record.calls.len(), record.calls[0].stage, sent.lock().unwrap().len()), (1, 1, 1));
    assert_eq!(log.lines()[0], "entailment 0");
    let line = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<QuestionRecord>(&line).unwrap(), record);
}

#[test]
fn without_a_classifier_the_role_entailment_replies() {
    let llm = Scripted::new(|call| {
        assert_eq!((call.role.as_str(), call.prompt.messages().len()), ("entailment", 1));
        let lark = &call.grammar.as_ref().unwrap().lark;
        assert!(lark.contains(r#""entails" | "contradicts" | "neither""#), "{lark}");
        let content = &call.prompt.messages()[0].content;
        assert!(content.starts_with("Text: opened in 1932\n\nStatement: "), "{content}");
        let says = [("1932", "entails"), ("1971", "Contradicts."), ("soup", "neither"), ("?", "I cannot say")];
        says.iter().find(|(word, _)| content.contains(&format!("Statement: {word}"))).unwrap().1.to_owned()
    });
    let pairs = ["1932", "1971", "soup", "?"].map(|text| pair("opened in 1932", text));
    let log = Log::default();
    let (record, relations) = with(Tools::new(&llm), &Settings::default(), &log, |ctx| ctx.entail(&pairs));
    let neutral = relation(0.0, 1.0, 0.0);
    // A malformed reply gives no label for the pair.
    let want = [relation(1.0, 0.0, 0.0), relation(0.0, 0.0, 1.0), neutral, neutral];
    assert_eq!(relations.unwrap(), want);
    let [Event::Entailment { stage, relations, by, .. }] = &record.events[..] else { panic!("{:?}", record.events) };
    assert_eq!((*stage, by.as_str(), &relations[..]), (0, "calls", &want[..]));
    assert!(record.calls.len() == 4 && record.calls.iter().all(|call| call.role == "entailment" && call.stage == 0));
}

#[test]
fn a_fallback_is_recorded_before_the_stage_that_follows_it() {
    let ((llm, _), shelf, log) = (model("x"), shelf(), Log::default());
    let (record, _) = with(searching(&llm, &shelf), &Settings::default(), &log, |ctx| {
        ctx.ask(say("a"))?;
        ctx.fall_back("nothing to say: the question itself is searched");
        ctx.retrieve(&["opened"], &wanted(1))?;
        ctx.ask(say("b"))
    });
    let stages: Vec<usize> = record.events.iter().map(Event::stage).collect();
    assert_eq!(stages, [1, 1]);
    let Event::Fallback { what, .. } = &record.events[0] else { panic!("{:?}", record.events) };
    assert_eq!(what, "nothing to say: the question itself is searched");
    assert_eq!(record.calls[1].stage, 2);
    assert_eq!(log.lines()[2..4], ["fallback 1".to_owned(), "retrieval 1".into()]);
}
