//! The journal of calls after a kill, a full disk, an edit and a second process.

mod damage;
mod disk;

use super::header;
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, Storage, Writer};
use moot::eval::runner::{Progress, Run, run};
use moot::generation::Sampling;
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Document, Question};
use moot::transcript::QuestionRecord;
use moot::{MootError, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Agents change their answers, so that a debate has all its rounds; the aggregator lists one.
pub(crate) fn reply(call: &Call) -> String {
    match call.role.as_str() {
        "agent" => format!("Answer: {}. Explanation: So it \"says\", ünd so on.", call.seed % 5),
        _ => format!("All Correct Answers: [\"{}\"]. Explanation: They say so.", call.seed % 5),
    }
}

pub(crate) fn questions(count: usize, documents: usize) -> Vec<Question> {
    let document = |of: usize, i: usize| Document {
        name: format!("d{i}"),
        text: format!("Text {i} of {of}."),
        ..Document::default()
    };
    let question = |of: usize| Question {
        id: format!("q{of}"),
        text: format!("What of {of}?"),
        documents: (0..documents).map(|i| document(of, i)).collect(),
        ..Question::default()
    };
    (0..count).map(question).collect()
}

pub(crate) fn madam_header() -> Header {
    Header { method: "madam-rag".into(), ..header() }
}

/// Runs MADAM-RAG over `questions` on `writer`.
pub(crate) fn debate(
    writer: &mut Writer,
    questions: &[Question],
    in_flight: usize,
    reply: impl Fn(&Call) -> Result<String> + Send + Sync + 'static,
) -> Result<Progress> {
    let (llm, settings, stop) = (Scripted::failing(reply), Settings::default(), AtomicBool::new(false));
    let method = methods::build("madam-rag", &Typed::new()).unwrap();
    let run_ = Run {
        questions,
        method: &method,
        tools: Tools::new(&llm),
        settings: &settings,
        in_flight,
        stop: &stop,
        recorded: None,
    };
    run(&run_, writer, &mut |_| {})
}

/// As [`debate`] into the record at `path`; how many calls were asked.
fn debated(path: &Path, questions: &[Question], in_flight: usize) -> (Progress, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let mut writer = Writer::open(path, &madam_header()).unwrap();
    let progress = debate(&mut writer, questions, in_flight, move |call| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(reply(call))
    });
    (progress.unwrap(), asked.load(Ordering::SeqCst))
}

fn without_times(mut record: QuestionRecord) -> QuestionRecord {
    record.seconds = 0.0;
    record.calls.iter_mut().for_each(|call| call.seconds = 0.0);
    record.events.iter_mut().filter_map(|event| event.seconds_mut()).for_each(|seconds| *seconds = 0.0);
    record
}

/// All of a record but its times, in the order of ids.
fn content(path: &Path) -> Vec<QuestionRecord> {
    let mut questions: Vec<_> = Record::read(path).unwrap().questions.into_iter().map(without_times).collect();
    questions.sort_by(|a, b| a.question.id.cmp(&b.question.id));
    questions
}

fn call_lines(bytes: &[u8]) -> usize {
    // A line that is cut before its line end is whole.
    let whole = |line: &&[u8]| line.starts_with(b"{\"of\"") && serde_json::from_slice::<Value>(line).is_ok();
    bytes.split(|&b| b == b'\n').filter(whole).count()
}

/// With one question in flight a resumed record has the very hashes of an uninterrupted one: all but its times are equal. No
/// call whose line was whole is asked again.
#[test]
fn a_run_cut_at_200_random_bytes_continues_with_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole.jsonl"), folder.path().join("cut.jsonl"));
    let questions = questions(3, 5);
    let (progress, calls) = debated(&whole, &questions, 1);
    assert_eq!((progress.calls, progress.from_journal), (calls, 0));
    assert_eq!(calls, 3 * 3 * 6, "three rounds of five agents and an aggregator");
    let bytes = fs::read(&whole).unwrap();
    assert_eq!(call_lines(&bytes), calls, "each call once");
    let chain = Record::read_whole(&whole).unwrap().1.chain;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    // Two cuts before a line end, after which the last line is whole, and 200 at random.
    let ends = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').skip(3).take(2);
    let cuts: Vec<usize> = ends.chain((0..200).map(|_| random.random_range(0..=bytes.len()))).collect();
    for cut in cuts {
        fs::write(&path, &bytes[..cut]).unwrap();
        let (progress, asked) = debated(&path, &questions, 1);
        assert_eq!(asked, calls - call_lines(&bytes[..cut]), "cut at {cut}");
        assert_eq!(progress.done, 3);
        let (record, ledger) = Record::read_whole(&path).unwrap();
        assert_eq!((ledger.chain, record.torn, ledger.journal.len()), (chain.clone(), false, 0), "cut at {cut}");
        assert!(ledger.altered.is_empty(), "cut at {cut}");
    }
    assert_eq!(content(&path), content(&whole));
}

/// A question of 30 documents, killed in its last stage but one: nothing that was answered is asked again, and its time goes on.
#[test]
fn a_long_question_is_not_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let questions = questions(1, 30);
    let mut writer = Writer::open(&path, &madam_header()).unwrap();
    let ended = debate(&mut writer, &questions, 1, |call| match call.what.as_str() {
        "agent of d17, round 3" => Err(MootError::Engine("out of memory".into())),
        _ => Ok(reply(call)),
    });
    assert_eq!(ended.unwrap_err().to_string(), "the engine stopped: out of memory");
    drop(writer);
    let (record, ledger) = Record::read_whole(&path).unwrap();
    // A stage that fails gives no replies here.
    assert_eq!((record.questions.len(), ledger.journal["q0"].len()), (0, 2 * 31));
    let elapsed = ledger.journal["q0"].last().unwrap().elapsed;
    let (progress, asked) = debated(&path, &questions, 1);
    assert_eq!((asked, progress.calls, progress.from_journal), (31, 93, 62));
    let record = Record::read(&path).unwrap();
    assert_eq!(
        record.questions[0].calls.iter().map(|call| call.number).collect::<Vec<_>>(),
        (0..93).collect::<Vec<_>>()
    );
    assert!(record.questions[0].seconds > elapsed && elapsed > 0.0);
}

/// A journaled reply is used only for a call that is equal in every setting.
#[test]
fn a_call_that_differs_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.jsonl");
    let asked_of = |change: &dyn Fn(&mut Value)| {
        let path = folder.path().join("changed.jsonl");
        let mut writer = Writer::open(&path, &madam_header()).unwrap();
        let ended = debate(&mut writer, &questions(1, 3), 1, |call| match call.role.as_str() {
            "agent" => Ok(reply(call)),
            _ => Err(MootError::Engine("gone".into())),
        });
        assert!(ended.is_err());
        let mut ledger = Record::read_whole(&path).unwrap().1;
        fs::remove_file(&path).unwrap();
        let mut writer = Writer::open(&path, &madam_header()).unwrap();
        for (entry, journaled) in ledger.journal.remove("q0").unwrap().iter_mut().enumerate() {
            let mut value = serde_json::to_value(&journaled.call).unwrap();
            change(&mut value);
            let call = serde_json::from_value(value).unwrap();
            let entry = moot::eval::record::Entry::Call { of: "q0", entry, call: &call, elapsed: 1000.0 };
            writer.append_all(&[entry]).unwrap();
        }
        drop(writer);
        let (progress, asked) = debated(&path, &questions(1, 3), 1);
        assert_eq!(content(&path), content(&whole), "the changed calls are not the record's");
        assert!(Record::read(&path).unwrap().questions[0].seconds > 1000.0, "the question's time goes on");
        fs::remove_file(&path).unwrap();
        assert_eq!(asked + progress.from_journal, 12);
        progress.from_journal
    };
    debated(&whole, &questions(1, 3), 1);
    assert_eq!(asked_of(&|_| {}), 3, "as they are, all are taken");
    let sampling = serde_json::to_value(Sampling::Seeded { temperature: 0.5, top_k: 0, top_p: 1.0 }).unwrap();
    let changes: [&dyn Fn(&mut Value); 11] = [
        &|call| call["seed"] = 5.into(),
        &|call| call["role"] = "reader".into(),
        &|call| call["messages"][0]["content"] = "Another prompt.".into(),
        &|call| call["max_tokens"] = 7.into(),
        &|call| call["think"] = 9.into(),
        &|call| call["sampling"] = sampling.clone(),
        &|call| call["stop"] = serde_json::json!(["\n"]),
        &|call| call["prefill"] = serde_json::json!([{ "content": "So" }]),
        &|call| call["score"] = true.into(),
        &|call| call["wanted_logprobs"] = serde_json::json!({ "top": 2 }),
        &|call| call["format"] = "answers".into(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!(asked_of(change), 0, "change {number}");
    }
}

/// `--retry-errors` uses the calls that a failed question has recorded.
#[test]
fn a_question_that_failed_keeps_its_answered_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut writer = Writer::open(&path, &madam_header()).unwrap();
    debate(&mut writer, &questions(2, 3), 1, |call| {
        match (call.role.as_str(), call.prompt.messages()[0].content.contains("of 1?")) {
            ("aggregator", true) => Err(MootError::Question("refused".into())),
            _ => Ok(reply(call)),
        }
    })
    .unwrap();
    drop(writer);
    let failed = Record::read(&path).unwrap().questions.remove(1);
    assert_eq!((failed.error.as_deref(), failed.calls.len()), (Some("refused"), 3));
    assert_eq!(debated(&path, &questions(2, 3), 1).1, 0, "an error is final unless it is asked for again");
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let mut writer = Writer::open_for(&path, &madam_header(), true).unwrap();
    let again = debate(&mut writer, &questions(2, 3), 1, move |call| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(reply(call))
    });
    assert_eq!((again.unwrap().from_journal, asked.load(Ordering::SeqCst)), (3, 9));
    let whole = folder.path().join("whole.jsonl");
    debated(&whole, &questions(2, 3), 1);
    assert_eq!(content(&path), content(&whole));
}

/// Replies are journaled in the order of arrival, and recorded in the order asked.
#[test]
fn calls_that_arrive_in_another_order_keep_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole.jsonl"), folder.path().join("out.jsonl"));
    debated(&whole, &questions(1, 6), 1);
    let (llm, settings, stop) = (Scripted::new(reply).backwards(), Settings::default(), AtomicBool::new(false));
    let method = methods::build("madam-rag", &Typed::new()).unwrap();
    let questions = questions(1, 6);
    let tools = Tools::new(&llm);
    let run_ = Run {
        questions: &questions,
        method: &method,
        tools,
        settings: &settings,
        in_flight: 1,
        stop: &stop,
        recorded: None,
    };
    run(&run_, &mut Writer::open(&path, &madam_header()).unwrap(), &mut |_| {}).unwrap();
    assert_eq!(content(&path), content(&whole));
    let text = fs::read_to_string(&path).unwrap();
    let first: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&first["entry"], &first["call"]["document"]), (&0.into(), &5.into()), "the last agent arrived first");
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["entries"][0], 5);
}

/// The aggregator's second prompt is its first one, so its reply is used again: no entry for it is written on resume.
#[test]
fn a_reply_that_was_used_again_is_journaled_once() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole.jsonl"), folder.path().join("cut.jsonl"));
    let (questions, settings, never) = (questions(2, 3), Settings::default(), AtomicBool::new(false));
    let method = methods::build("madam-rag", &Typed::new()).unwrap();
    let held = |path: &Path| {
        let llm = Scripted::new(|call| match call.document {
            Some(document) => format!("Answer: {document}. Explanation: So."),
            None => "All Correct Answers: [\"0\"]. Explanation: So.".into(),
        });
        let llm = llm.deterministic();
        let tools = Tools::new(&llm);
        let one = Run {
            questions: &questions,
            method: &method,
            tools,
            settings: &settings,
            in_flight: 1,
            stop: &never,
            recorded: None,
        };
        let mut writer = Writer::open(path, &madam_header()).unwrap();
        run(&one, &mut writer, &mut |_| {}).unwrap()
    };
    let progress = held(&whole);
    assert_eq!((progress.calls, progress.taken_over), (16, 2), "two rounds of three agents and an aggregator");
    let indices: Vec<Option<usize>> = content(&whole).iter().map(|record| record.place).collect();
    assert_eq!(indices, [Some(0), Some(1)]);
    let bytes = fs::read(&whole).unwrap();
    let chain = Record::read_whole(&whole).unwrap().1.chain;
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    for cut in ends {
        fs::write(&path, &bytes[..cut]).unwrap();
        held(&path);
        let (record, ledger) = Record::read_whole(&path).unwrap();
        assert_eq!((&ledger.chain, ledger.journal.len()), (&chain, 0), "cut at {cut}");
        assert_eq!(record.questions.len(), 2);
    }
    assert_eq!(content(&path), content(&whole));
}
