//! Recorded debates that are continued with a change, and the document that changed an answer.

use super::header;
use crate::methods::typed;
use moot::eval::compare::{self, Options, answers_differ};
use moot::eval::fork::{self, Change, Course, Fork};
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, Writer};
use moot::eval::why::{self, Why, Whys};
use moot::generation::Sampling;
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Document, Gold, Hit, Origin, Passage, Question};
use moot::retrieval::{Retriever, RetrieverIdentity, Wanted};
use moot::transcript::QuestionRecord;
use moot::{MootError, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// An agent answers the year of its document, with what it was told; the aggregator lists the year that most agents gave.
fn reply(call: &Call) -> String {
    let prompt = &call.prompt.messages().last().unwrap().content;
    match call.role.as_str() {
        "agent" => {
            let document = prompt.lines().find(|line| line.starts_with("Document: "));
            let year = document.and_then(|line| line.split_once("Opened in ")).map_or("unknown", |(_, year)| year);
            let heard = if prompt.ends_with("Beware.") { "warned" } else { "so it says" };
            format!("Answer: {}. Explanation: Round {}, {heard}.", year.trim_end_matches('.'), call.round)
        }
        _ => {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for year in ["1901", "1902", "1903"] {
                counts.insert(
                    year,
                    prompt.rsplit("Question:").next().unwrap_or(prompt).matches(&format!("Answer: {year}")).count(),
                );
            }
            let most = counts.iter().max_by_key(|(_, count)| **count).map_or("", |(year, _)| *year);
            format!("All Correct Answers: [\"{most}\"]. Explanation: Round {}.", call.round)
        }
    }
}

/// A model that answers as [`reply`] does, and the number of calls that it answered.
fn counting() -> (Scripted, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let llm = Scripted::new(move |call| {
        counter.fetch_add(1, Ordering::SeqCst);
        reply(call)
    });
    (llm, count)
}

fn question(years: &[&str]) -> Question {
    let document = |(index, year): (usize, &&str)| Document {
        name: format!("d{}", index + 1),
        text: format!("Opened in {year}."),
        source: Some(format!("s{index}")),
        ..Document::default()
    };
    Question {
        id: "bridge".into(),
        text: "When did it open?".into(),
        documents: years.iter().enumerate().map(document).collect(),
        gold: Some(Gold::all_of(["1902".to_owned()], Vec::new())),
        ..Question::default()
    }
}

/// MADAM-RAG of `rounds` rounds over documents of these years, recorded.
fn recorded(years: &[&str], rounds: &str, sampling: Sampling) -> Record {
    let built = methods::build("madam-rag", &typed(&[("rounds", rounds)])).unwrap();
    let settings = Settings { sampling, ..Settings::default() };
    let llm = Scripted::new(reply);
    let old = built.answer(&question(years), Tools::new(&llm), &settings, &Silent).unwrap();
    let header = Header {
        method: "madam-rag".into(),
        switches: built.values.json(),
        prompts: built.hashes(),
        settings,
        ..header()
    };
    Record { path: "out.jsonl".into(), header, questions: vec![old], torn: false }
}

/// The fork, the number of calls that reached the model, and their last turns.
fn held(record: &Record, round: usize, change: Change) -> (Result<Course>, Vec<String>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = asked.clone();
    let llm = Scripted::new(move |call| {
        kept.lock().unwrap().push(call.prompt.messages().last().unwrap().content.clone());
        reply(call)
    });
    let method = fork::method_of(record).unwrap();
    let fork = Fork { round, change };
    let course = fork.hold(&record.header, method, &record.questions[0], Tools::new(&llm), &Silent);
    let asked = asked.lock().unwrap().clone();
    (course, asked)
}

fn answer(course: &Course) -> &str {
    &course.record.conclusion.as_ref().unwrap().answers[0].text
}

#[test]
fn without_a_document_the_other_agents_are_not_asked_again() {
    let record = recorded(&["1902", "1903", "1902", "1903", "1902"], "1", Sampling::Greedy);
    let (course, asked) = held(&record, 1, Change::Drop(0));
    let course = course.unwrap();
    let cost = course.cost;
    assert_eq!((cost.kept, cost.unchanged, cost.computed, asked.len()), (0, 4, 1, 1), "only the aggregator reads it");
    assert!(cost.usage.prompt > 0 && cost.usage.generated > 0);
    assert_eq!(course.record.question.documents.len(), 4);
    assert_eq!(course.record.calls.len(), 5);
    let documents: Vec<Option<usize>> = course.record.calls.iter().map(|call| call.document).collect();
    assert_eq!(documents, [Some(0), Some(1), Some(2), Some(3), None], "numbers are those of the new debate");
    assert!(
        answers_differ(&record.questions[0], &course.record),
        "two against two: the later one is the first by count"
    );
}

/// Drawn tokens depend on the seed, and a seed depends on the call's index: every agent behind the gap is asked.
#[test]
fn with_sampling_a_call_is_unchanged_only_with_its_seed() {
    let sampling = Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 };
    let record = recorded(&["1902", "1903", "1902"], "1", sampling);
    let cost = held(&record, 1, Change::Drop(1)).0.unwrap().cost;
    assert_eq!((cost.unchanged, cost.computed), (1, 2));
}

#[test]
fn earlier_rounds_are_kept_and_later_ones_read_the_change() {
    let record = recorded(&["1902", "1903", "1901"], "2", Sampling::Greedy);
    let old = &record.questions[0];
    assert_eq!(old.calls.len(), 8);
    let (course, asked) = held(&record, 2, Change::Tell("Beware.".into()));
    let course = course.unwrap();
    assert_eq!((course.cost.kept, course.cost.unchanged, course.cost.computed), (4, 0, 4));
    assert!(asked.len() == 4 && asked.iter().all(|prompt| prompt.ends_with("\n\nBeware.")), "{asked:?}");
    assert_eq!(course.record.calls[..4], old.calls[..4], "the first round as it was sent");
    assert!(course.record.calls[4].reply.contains("Round 2, warned"));
    let all = held(&record, 1, Change::Tell("Beware.".into())).0.unwrap();
    assert_eq!((all.cost.kept, all.cost.computed), (0, 8));
}

#[test]
fn an_edited_document_is_read_from_its_round_on() {
    let record = recorded(&["1902", "1903", "1903"], "2", Sampling::Greedy);
    let old = &record.questions[0];
    let (course, asked) = held(&record, 2, Change::Edit(1, "In spring: Opened in 1902.".into()));
    let course = course.unwrap();
    assert_eq!(course.record.question.documents[1].text, "In spring: Opened in 1902.");
    let sent = |number: usize| &course.record.calls[number].messages.last().unwrap().content;
    assert!(sent(1).contains("1903") && course.record.calls[1] == old.calls[1], "the past read the old text");
    assert!(sent(5).contains("Document: In spring: Opened in 1902.") && course.record.calls[5].reply.contains("1902"));
    assert_eq!(
        (course.cost.kept, course.cost.unchanged, asked.len()),
        (4, 2, 2),
        "the edited agent and the aggregator"
    );
    assert_eq!(answer(&course), "1902");
}

/// The agent of the dropped document is gone with its first reply; the others keep theirs, under their new numbers.
#[test]
fn a_document_dropped_later_leaves_the_others_their_past() {
    let record = recorded(&["1902", "1903", "1901"], "2", Sampling::Greedy);
    let old = &record.questions[0];
    let course = held(&record, 2, Change::Drop(0)).0.unwrap();
    assert_eq!(course.cost.kept, 3, "two agents and the aggregator of round one");
    let past: Vec<(Option<usize>, &str)> =
        course.record.calls[..3].iter().map(|call| (call.document, call.reply.as_str())).collect();
    let then = |number: usize| old.calls[number].reply.as_str();
    assert_eq!(past, [(Some(0), then(1)), (Some(1), then(2)), (None, then(3))]);
}

#[test]
fn a_round_and_a_document_that_were_not_there_are_refused() {
    let record = recorded(&["1902", "1903"], "2", Sampling::Greedy);
    for (round, change, said) in [
        (3, Change::Drop(0), "expected a round from 1 to 2, found 3"),
        (0, Change::Drop(0), "expected a round from 1 to 2, found 0"),
        (1, Change::Drop(2), "expected a document from 1 to 2, found 3"),
        (1, Change::Edit(5, String::new()), "expected a document from 1 to 2, found 6"),
    ] {
        let error = held(&record, round, change).0.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let mut other = record;
    other.header.method = "echo".into();
    assert!(fork::method_of(&other).unwrap_err().to_string().contains("expected a method of this program"));
}

#[test]
fn a_saved_fork_names_its_origin_and_is_compared_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let record = recorded(&["1902", "1903", "1902", "1903", "1902"], "1", Sampling::Greedy);
    let fork = Fork { round: 1, change: Change::Drop(0) };
    let course = held(&record, 1, fork.change.clone()).0.unwrap();
    let method = fork::method_of(&record).unwrap();
    let header = fork::header(&record, &method, "abc", &record.questions[0], &fork);
    let path = folder.path().join("fork.jsonl");
    Writer::open(&path, &header).unwrap().append(&course.record).unwrap();
    let saved = Record::read(&path).unwrap();
    let origin = saved.header.forked.as_ref().unwrap();
    assert_eq!((origin.record.as_str(), origin.chain.as_str(), origin.round), ("out.jsonl", "abc", 1));
    assert_eq!(origin.change, "without document 1, d1");
    let compared = compare::compare(&[record.clone(), saved.clone()], &Options::default()).unwrap();
    assert_eq!(compared.parts[0].sides[1].against.as_ref().unwrap().pairs, 1, "by id, though the documents differ");
    assert!(compared.records[1].settings.iter().any(|(field, ..)| field.starts_with("forked")), "{compared:?}");
    assert_eq!(compare::changed(&record, &saved, "em").unwrap().len(), 1);
}

/// The result of `moot record why` for the only question.
fn reasons(record: &Record, llm: &Scripted) -> Why {
    let method = || fork::method_of(record);
    let whys = Whys { header: &record.header, method: &method, tools: Tools::new(llm), in_flight: 2 };
    let mut all = Vec::new();
    let ended = whys.hold(&[&record.questions[0]], &mut |why| {
        all.push(why);
        Ok(())
    });
    ended.unwrap();
    all.remove(0)
}

/// Two debates of a tenth of a second at once: their sum is more than the clock's.
#[test]
fn seconds_are_reported_by_the_clock_and_as_a_sum() {
    let record = recorded(&["1902", "1903"], "1", Sampling::Greedy);
    let llm = Scripted::new(|call| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        reply(call)
    });
    let why = reasons(&record, &llm);
    let each: f64 = why.documents.iter().map(|one| one.cost.seconds).sum();
    assert!((why.cost.seconds - each).abs() < 1e-6 && each >= 0.2, "{why:?}");
    assert!((0.1..each * 0.9).contains(&why.elapsed), "{} of {each}", why.elapsed);
}

/// An error of the progress callback ends the work, and so does an error of a debate.
#[test]
fn no_debate_begins_after_an_error() {
    let mut record = recorded(&["1902", "1903"], "1", Sampling::Greedy);
    record.questions = (0..40).map(|_| record.questions[0].clone()).collect();
    let olds: Vec<_> = record.questions.iter().collect();
    let (method, (llm, count)) = (|| fork::method_of(&record), counting());
    let whys = Whys { header: &record.header, method: &method, tools: Tools::new(&llm), in_flight: 1 };
    let ended = whys.hold(&olds, &mut |_| Err(MootError::Interrupted));
    assert!(matches!(ended, Err(MootError::Interrupted)));
    let broken = || Err(MootError::Usage("no method".into()));
    let whys = Whys { method: &broken, ..whys };
    assert!(whys.hold(&olds, &mut |_| Ok(())).unwrap_err().to_string().contains("no method"));
    assert!(count.load(Ordering::SeqCst) < 80, "{count:?}");
}

/// Questions come in their order; one without documents has no debate of its own, so the first of them come at once.
#[test]
fn a_question_waits_for_the_debates_of_earlier_ones_alone() {
    let mut record = recorded(&["1902", "1903", "1902"], "1", Sampling::Greedy);
    let named = |id: &str, old: &QuestionRecord, documents: usize| {
        let mut old = old.clone();
        old.question.id = id.into();
        old.question.documents.truncate(documents);
        old
    };
    let old = record.questions.remove(0);
    let all = [("a", 0), ("b", 0), ("c", 3), ("d", 0), ("e", 3), ("f", 0)];
    record.questions = all.map(|(id, documents)| named(id, &old, documents)).into();
    let olds: Vec<_> = record.questions.iter().collect();
    let (method, (llm, count)) = (|| fork::method_of(&record), counting());
    for in_flight in [1, 4] {
        count.store(0, Ordering::SeqCst);
        let whys = Whys { header: &record.header, method: &method, tools: Tools::new(&llm), in_flight };
        let mut known = Vec::new();
        let ended = whys.hold(&olds, &mut |why| {
            known.push((why.question, why.documents.len(), count.load(Ordering::SeqCst) > 0));
            Ok(())
        });
        ended.unwrap();
        let found: Vec<_> = known.iter().map(|(id, documents, _)| (id.as_str(), *documents)).collect();
        assert_eq!(found, all, "{in_flight} in flight");
        let asked: Vec<bool> = known.iter().map(|(.., asked)| *asked).collect();
        assert_eq!(asked, [false, false, true, true, true, true], "{in_flight} in flight");

        // An error at the first of them begins no debate, and where no question has documents there is none.
        count.store(0, Ordering::SeqCst);
        assert!(matches!(whys.hold(&olds, &mut |_| Err(MootError::Interrupted)), Err(MootError::Interrupted)));
        let mut ids = Vec::new();
        let ended = whys.hold(&olds[..2], &mut |why| {
            ids.push(why.question);
            Ok(())
        });
        assert!(ended.is_ok() && ids == ["a", "b"], "{ids:?}");
        assert_eq!(count.load(Ordering::SeqCst), 0, "{in_flight} in flight");
    }
}

#[test]
fn the_document_that_turned_the_answer_is_found_with_its_cost() {
    let record = recorded(&["1902", "1903", "1903", "1902", "1902"], "1", Sampling::Greedy);
    let (llm, count) = counting();
    let why = reasons(&record, &llm);
    // Three against two: without one of the three there is a tie, which the scripted aggregator gives to the later year.
    assert_eq!(why.turning().map(|one| one.document).collect::<Vec<_>>(), [1, 4, 5]);
    assert_eq!((why.outcome.as_str(), why.right), ("1902", Some(true)));
    let first = &why.documents[0];
    assert_eq!((first.outcome.as_str(), first.right, first.source.as_deref()), ("1903", Some(false), Some("s0")));
    assert_eq!((why.cost.unchanged, why.cost.computed), (20, 5), "five debates: four agents each, one aggregator");
    assert_eq!(count.load(Ordering::SeqCst), 5);
    assert_eq!(why.cost.usage.generated, why.documents.iter().map(|one| one.cost.usage.generated).sum::<usize>());
}

#[test]
fn without_its_only_document_a_question_has_no_answer() {
    let record = recorded(&["1902"], "1", Sampling::Greedy);
    let why = reasons(&record, &Scripted::new(reply));
    assert!(why.documents[0].turned && why.documents[0].outcome.contains("none is left"), "{why:?}");
    assert_eq!(why.cost.computed, 0);
}

/// Finds two passages whatever is asked.
struct Two;

impl Retriever for Two {
    fn retrieve(&self, _: &str, _: &Wanted) -> Result<Vec<Hit>> {
        let hit = |line: u64, text: &str| {
            let origin =
                Origin { file: format!("{line}.txt"), id: None, line: Some(line), page: None, characters: 0..4 };
            let passage = Passage {
                text: text.into(),
                title: None,
                source: None,
                date: None,
                url: None,
                notes: Vec::new(),
                origin,
            };
            Hit { passage, score: 1.0, copies: Vec::new() }
        };
        Ok(vec![hit(1, "It opened in 1902."), hit(2, "It opened in 1903.")])
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity { index: "two".into(), embedder: None, reranker: None, mode: "lexical".into() }
    }
}

/// Passages that a method found for itself are left out of the recorded search; nothing is searched again.
#[test]
fn a_passage_that_was_found_can_be_left_out() {
    for (method, answer) in [("naive-rag", "a"), ("concatenated", "All Correct Answers: [\"a\"]. Explanation: b")] {
        let built = methods::build(method, &typed(&[])).unwrap();
        let llm = Scripted::new(move |_| answer.into());
        let tools = Tools { retriever: Some(&Two), ..Tools::new(&llm) };
        let asked = Question { id: "q".into(), text: "When?".into(), ..Question::default() };
        let old = built.answer(&asked, tools, &Settings::default(), &Silent).unwrap();
        assert_eq!(why::documents(&old), 2, "{method}");
        let header = Header {
            method: method.into(),
            switches: built.values.json(),
            retriever: Some(Two.identity()),
            wanted: Some(tools.wanted.clone()),
            ..header()
        };
        let record = Record { path: "out.jsonl".into(), header, questions: vec![old], torn: false };
        let (course, asked) = held(&record, 1, Change::Drop(0));
        let course = course.unwrap();
        assert_eq!(course.record.error, None, "{method}");
        assert_eq!(why::documents(&course.record), 1, "{method}");
        assert!(asked.len() == 1 && asked[0].contains("1903") && !asked[0].contains("1902"), "{method}: {asked:?}");
    }
}
