//! A record replayed without a model.

use super::journal::{debate, madam_header, questions, reply};
use crate::methods::typed;
use moot::Result;
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, Writer};
use moot::eval::replay::{Replay, Report};
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::prompts;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Hit, Origin, Passage, Question};
use moot::retrieval::{Retriever, RetrieverIdentity, Wanted};
use moot::transcript::{Event, Parsed};
use std::path::Path;

/// Two debates, recorded.
fn recorded(folder: &Path) -> Record {
    let path = folder.join("out.jsonl");
    let built = methods::build("madam-rag", &Typed::new()).unwrap();
    let header =
        Header { switches: built.values.json(), prompts: prompts::hashes(built.row.files()), ..madam_header() };
    let mut writer = Writer::open(&path, &header).unwrap();
    debate(&mut writer, &questions(2, 3), 2, |call| Ok(reply(call))).unwrap();
    Record::read(&path).unwrap()
}

fn told(record: &Record) -> (Vec<moot::transcript::QuestionRecord>, Report) {
    Replay::new(record, None).unwrap().run().unwrap()
}

#[test]
fn a_replay_by_the_same_program_is_equal() {
    let folder = tempfile::tempdir().unwrap();
    let record = recorded(folder.path());
    let (questions, report) = told(&record);
    assert_eq!(questions, record.questions, "times included");
    assert_eq!(report, Report { questions: 2, calls: 24, ..Report::default() });
    let replay = Replay::new(&record, None).unwrap();
    assert!(replay.files.is_empty());
    let header = replay.header("abc");
    assert_eq!(header.replayed.as_ref().unwrap().chain, "abc");
    assert_eq!(Header { replayed: None, program: record.header.program.clone(), ..header }, record.header);
}

/// An earlier parser read a reply as malformed, and an earlier vote concluded something else.
#[test]
fn differences_of_a_replay_are_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = recorded(folder.path());
    record.questions[1].calls[2].parsed = Parsed::Malformed;
    record.questions[1].conclusion.as_mut().unwrap().explanation.push('!');
    record.questions[0].calls[0].reply = "no format at all".into();
    let (questions, report) = told(&record);
    assert_eq!((report.read_otherwise, report.newly_malformed), (2, 1));
    assert!(report.concluded_otherwise.contains(&record.questions[1].question.id));
    assert!(matches!(questions[1].calls[2].parsed, Parsed::Answer { .. }));
    assert_eq!(questions[0].calls[0].parsed, Parsed::Malformed);
}

#[test]
fn a_prompt_that_differs_is_reported_with_its_offset() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = recorded(folder.path());
    let content = &mut record.questions[0].calls[1].messages[0].content;
    *content = content.replacen("Text 1 of", "Text one of", 1);
    record.questions[0].calls[2].max_tokens = 7;
    record.header.prompts.insert("madam_rag/agent.jinja".into(), "ab".repeat(32));
    let (_, report) = told(&record);
    let [prompt, limit] = &report.prompts[..] else { panic!("{:?}", report.prompts) };
    assert_eq!((prompt.call.as_str(), prompt.differs.as_str()), ("agent of d1, round 1", "the prompt"));
    let (then, now) = prompt.texts.as_ref().unwrap();
    assert!(then.contains("Text one of") && now.contains("Text 1 of"), "{then:?} {now:?}");
    assert_eq!((limit.differs.as_str(), &limit.texts), ("the token limit", &None));
    assert_eq!(Replay::new(&record, None).unwrap().files, ["madam_rag/agent.jinja"]);
}

/// A call that was not recorded fails its question alone; more rounds than recorded are such calls.
#[test]
fn calls_that_were_not_made_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = recorded(folder.path());
    let id = record.questions[0].question.id.clone();
    record.questions[0].calls.truncate(5);
    let (questions, report) = told(&record);
    assert_eq!(report.failed.len(), 1);
    assert_eq!(report.failed[0].0, id);
    assert!(report.failed[0].1.contains("round 2: the recorded run made no such call"), "{:?}", report.failed);
    assert!(questions[1].error.is_none());
    // With fewer rounds some recorded calls are not used.
    let mut record = recorded(tempfile::tempdir().unwrap().path());
    record.header.switches["rounds"] = 1.into();
    assert_eq!((told(&record).1.calls, told(&record).1.unused), (8, 16));
    record.header.method = "echo".into();
    assert!(Replay::new(&record, None).err().unwrap().to_string().contains("expected a method of this program"));
}

/// Finds one passage whatever is asked.
struct One;

impl Retriever for One {
    fn retrieve(&self, query: &str, _: &Wanted) -> Result<Vec<Hit>> {
        let origin = Origin { file: "a.txt".into(), id: None, line: Some(1), page: None, characters: 0..4 };
        let passage = Passage {
            text: format!("Of {query}"),
            title: None,
            source: None,
            date: None,
            url: None,
            notes: Vec::new(),
            origin,
        };
        Ok(vec![Hit { passage, score: 1.0, copies: Vec::new() }])
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity { index: "one".into(), embedder: None, reranker: None, mode: "lexical".into() }
    }
}

/// Searches before the method (its documents) and within it come from the record.
#[test]
fn searches_come_from_the_record() {
    for (method, switches, reply) in [
        ("concatenated", &[][..], r#"All Correct Answers: ["a"]. Explanation: b"#),
        ("naive-rag", &[], "a"),
        ("iter-retgen", &[], "Thought: so\nAnswer: a"),
    ] {
        let built = methods::build(method, &typed(switches)).unwrap();
        let llm = Scripted::new(move |_| reply.into());
        let tools = Tools { retriever: Some(&One), ..Tools::new(&llm) };
        let question = Question { id: "q".into(), text: "What?".into(), ..Question::default() };
        let old = built.answer(&question, tools, &Settings::default(), &Silent).unwrap();
        assert!(old.events.iter().any(|event| matches!(event, Event::Retrieval { .. })), "{method}");
        let header = Header {
            method: method.into(),
            switches: built.values.json(),
            retriever: Some(One.identity()),
            wanted: Some(tools.wanted.clone()),
            ..madam_header()
        };
        let record = Record { path: "out.jsonl".into(), header, questions: vec![old.clone()], torn: false };
        let (mut questions, report) = told(&record);
        assert_eq!(report, Report { questions: 1, calls: old.calls.len(), ..Report::default() }, "{method}");
        let mut old = old;
        for record in [&mut old, &mut questions[0]] {
            record.events.iter_mut().filter_map(|event| event.seconds_mut()).for_each(|seconds| *seconds = 0.0);
        }
        assert_eq!(questions[0], old, "{method}");
    }
}
