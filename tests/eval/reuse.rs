//! Replies of earlier records instead of the model's.

use super::header;
use crate::methods::typed;
use moot::Result;
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, Writer};
use moot::eval::reuse::{Replies, Reusing};
use moot::eval::runner::{Run, run};
use moot::generation::Sampling;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::prompts;
use moot::protocol::ctx::{Settings, Tools};
use moot::question::{Document, Question};
use moot::sources::{SourceEstimate, SourceWeights, VERSION};
use moot::transcript::QuestionRecord;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn questions() -> Vec<Question> {
    let document = |(source, year): (&str, u32)| Document {
        name: source.into(),
        text: format!("It opened in {year}, says {source}."),
        source: Some(source.into()),
        ..Document::default()
    };
    let question = |of: u32| Question {
        id: format!("q{of}"),
        text: format!("When did bridge {of} open?"),
        documents: [("a", 1900 + of), ("b", 1800 + of), ("c", 1800 + of)].map(document).into(),
        ..Question::default()
    };
    (0..4).map(question).collect()
}

/// The source a outweighs the others, and c comes before b.
fn weights() -> SourceWeights {
    let estimate = |weight| SourceEstimate { weight: Some(weight), ..SourceEstimate::default() };
    let sources = [("a", 3.0), ("b", 0.5), ("c", 1.0)].map(|(name, weight)| (name.to_owned(), estimate(weight)));
    SourceWeights { moot_sources: VERSION, sources: sources.into(), ..SourceWeights::default() }
}

struct Ran {
    path: PathBuf,
    header: Header,
    record: Vec<QuestionRecord>,
    asked: usize,
    reused: usize,
}

/// Runs a variant of ra-rag into `folder`, with the replies of earlier records.
fn ran(folder: &Path, variant: &str, settings: &Settings, reuse: &[PathBuf]) -> Result<Ran> {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let llm = Scripted::new(move |call| {
        counter.fetch_add(1, Ordering::SeqCst);
        let prompt =
            call.prompt.messages()[0].content.rsplit("Answer: Protecting the herring").next().unwrap().to_owned();
        let years = prompt.split(|c: char| !c.is_ascii_digit()).find(|word| word.len() == 4);
        years.unwrap_or("unknown").to_owned()
    });
    let method = methods::build("ra-rag", &typed(&[("variant", variant)])).unwrap();
    let replies = Replies::read(reuse)?;
    let header = Header {
        method: "ra-rag".into(),
        switches: method.values.json(),
        settings: settings.clone(),
        prompts: prompts::hashes(method.row.files()),
        reused: replies.chains().to_vec(),
        ..header()
    };
    replies.check(&header)?;
    let reusing = Reusing::new(&llm, &replies);
    let (stop, known, questions) = (AtomicBool::new(false), weights(), questions());
    let tools = Tools { llm: &reusing, weights: Some(&known), ..Tools::new(&llm) };
    let path = folder.join(format!("{variant}.{}.jsonl", reuse.len()));
    let mut writer = Writer::open(&path, &header)?;
    let run_ =
        Run { questions: &questions, method: &method, tools, settings, in_flight: 2, stop: &stop, recorded: None };
    run(&run_, &mut writer, &mut |_| {})?;
    drop(writer);
    let mut record = Record::read(&path)?.questions;
    record.sort_by(|a, b| a.question.id.cmp(&b.question.id));
    Ok(Ran { path, header, record, asked: asked.load(Ordering::SeqCst), reused: reusing.reused() })
}

fn concluded(ran: &Ran) -> Vec<String> {
    ran.record.iter().map(|record| record.conclusion.as_ref().unwrap().answers[0].text.clone()).collect()
}

#[test]
fn variants_are_replayed_from_the_replies_of_one() {
    let (folder, settings) = (tempfile::tempdir().unwrap(), Settings::default());
    let wmv = ran(folder.path(), "wmv", &settings, &[]).unwrap();
    assert_eq!((wmv.asked, wmv.reused), (12, 0));
    assert_eq!(concluded(&wmv), ["1900", "1901", "1902", "1903"]);
    // The sources are asked in another order, so every call but the first has another seed.
    let mv = ran(folder.path(), "mv", &settings, std::slice::from_ref(&wmv.path)).unwrap();
    assert_eq!((mv.asked, mv.reused), (0, 12));
    assert_eq!(concluded(&mv), ["1800", "1801", "1802", "1803"]);
    assert_eq!(mv.header.reused, [Record::read_whole(&wmv.path).unwrap().1.chain]);
    let alone = ran(folder.path(), "mv", &settings, &[]).unwrap();
    let replies = |ran: &Ran| -> Vec<(String, u64, usize)> {
        let calls = ran.record.iter().flat_map(|record| &record.calls);
        calls.map(|call| (call.reply.clone(), call.seed, call.usage.prompt)).collect()
    };
    assert_eq!(replies(&mv), replies(&alone), "as if the model had been asked");
    // Calls that no record has are asked.
    let naive = ran(folder.path(), "naive-rag", &settings, &[wmv.path.clone(), mv.path]).unwrap();
    assert_eq!((naive.asked, naive.reused), (4, 0));
}

#[test]
fn a_sampled_reply_belongs_to_its_seed() {
    let folder = tempfile::tempdir().unwrap();
    let sampling = Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 };
    let settings = Settings { sampling, ..Settings::default() };
    let wmv = ran(folder.path(), "wmv", &settings, &[]).unwrap();
    // By weight a, c, b; by documents a, b, c.
    let mv = ran(folder.path(), "mv", &settings, std::slice::from_ref(&wmv.path)).unwrap();
    assert_eq!((mv.asked, mv.reused), (8, 4));
    let greedy = ran(folder.path(), "wmv", &Settings::default(), &[wmv.path]).unwrap();
    assert_eq!((greedy.asked, greedy.reused), (12, 0), "other sampling");
}

#[test]
fn replies_of_another_model_or_format_are_refused_in_one_line() {
    let (folder, settings) = (tempfile::tempdir().unwrap(), Settings::default());
    let wmv = ran(folder.path(), "wmv", &settings, &[]).unwrap();
    let replies = Replies::read(std::slice::from_ref(&wmv.path)).unwrap();
    let refused = |change: &dyn Fn(&mut Header)| {
        let mut other = wmv.header.clone();
        change(&mut other);
        let line = replies.check(&other).unwrap_err().to_string();
        assert!(line.contains("wmv.0.jsonl:1: expected a record whose replies this run would get: "), "{line}");
        assert!(!line.contains('\n'), "{line}");
        line
    };
    assert!(refused(&|header| header.model.name = "other".into()).contains("its model"));
    assert!(refused(&|header| header.settings.free_form = true).contains("free-form true"));
    let format = |header: &mut Header| drop(header.prompts.insert("reply/short.lark".into(), "ab".repeat(32)));
    assert!(refused(&format).contains("reply formats"));
    // A file is known by its hash; roles of another method, and formats that only one of the two has, are ignored.
    let mut now = wmv.header.clone();
    now.prompts.remove("reply/short.lark");
    now.prompts.insert("reply/list.lark".into(), "ab".repeat(32));
    replies.check(&now).unwrap();
    let bytes = std::fs::read_to_string(&wmv.path).unwrap().replacen("1900", "1999", 1);
    std::fs::write(&wmv.path, bytes).unwrap();
    assert!(Replies::read(&[wmv.path]).unwrap_err().to_string().contains("another hash"));
}
