//! Runs of several methods side by side: question by question, a record each.

use super::header;
use super::journal::{questions, reply};
use super::runner::answering;
use moot::MootError;
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, Writer};
use moot::eval::runner::{Progress, Run, run_all};
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::Built;
use moot::protocol::ctx::{Settings, Tools};
use moot::protocol::switches::Typed;
use moot::question::Conclusion;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Madam-rag of one round, and of three.
fn two() -> [Built; 2] {
    let rounds = |count: &str| Typed::from([("rounds".to_owned(), count.to_owned())]);
    [methods::build("madam-rag", &rounds("1")).unwrap(), methods::build("madam-rag", &rounds("3")).unwrap()]
}

fn writer(path: &Path, method: &Built) -> Writer {
    let header = Header { method: method.row.name.into(), switches: method.values.json(), ..header() };
    Writer::open(path, &header).unwrap()
}

/// Runs `methods` over `count` questions, a record each in `folder`; how it ended.
fn side_by_side(
    folder: &Path,
    methods: &[Built],
    count: usize,
    llm: &Scripted,
) -> (moot::Result<Vec<Progress>>, Vec<PathBuf>) {
    let (questions, settings, stop) = (questions(count, 2), Settings::default(), AtomicBool::new(false));
    let paths: Vec<PathBuf> = (0..methods.len()).map(|index| folder.join(format!("{index}.jsonl"))).collect();
    let mut writers: Vec<Writer> = methods.iter().zip(&paths).map(|(method, path)| writer(path, method)).collect();
    let run = |method| Run {
        questions: &questions,
        method,
        tools: Tools::new(llm),
        settings: &settings,
        in_flight: 1,
        stop: &stop,
        recorded: None,
    };
    let runs: Vec<Run<'_>> = methods.iter().map(run).collect();
    let ended = run_all(&runs, &mut writers.iter_mut().collect::<Vec<_>>(), &mut |_| {});
    (ended, paths)
}

#[test]
fn each_method_has_its_record_and_a_question_goes_through_all_before_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let asked: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
    let order = asked.clone();
    let llm = Scripted::new(move |call| {
        let of = call.prompt.messages()[0].content.lines().find(|line| line.contains("What of")).unwrap_or_default();
        order.lock().unwrap().push((of.to_owned(), call.group));
        reply(call)
    });
    let (ended, paths) = side_by_side(folder.path(), &two(), 2, &llm);
    let ended = ended.unwrap();
    assert_eq!(ended.iter().map(|p| (p.done, p.total)).collect::<Vec<_>>(), [(2, 2), (2, 2)]);
    let calls = |path| Record::read(path).unwrap().questions.iter().map(|q| q.calls.len()).collect::<Vec<_>>();
    assert_eq!((calls(&paths[0]), calls(&paths[1])), (vec![3, 3], vec![9, 9]));
    let mut order = asked.lock().unwrap().clone();
    order.dedup_by(|a, b| a.1 == b.1);
    let groups: Vec<u32> = order.iter().map(|(_, group)| *group).collect();
    assert_eq!(groups, [0, 1, 0, 1], "the first question by both, then the second");
}

/// The record of one method is finished, the other one's has a question and a half: nothing is asked twice.
#[test]
fn each_record_is_gone_on_with_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let stopping = |after: usize| {
        let count = count.clone();
        Scripted::failing(move |call| match count.fetch_add(1, Ordering::SeqCst) {
            n if n >= after => Err(MootError::Engine("killed".into())),
            _ => Ok(reply(call)),
        })
    };
    let (ended, paths) = side_by_side(folder.path(), &two(), 2, &stopping(20));
    assert_eq!(ended.unwrap_err().to_string(), MootError::Engine("killed".into()).to_string());
    let done = |path: &PathBuf| Record::read(path).unwrap().questions.len();
    assert_eq!((done(&paths[0]), done(&paths[1])), (2, 1), "3 + 9 + 3 calls, then the second debate");
    count.store(0, Ordering::SeqCst);
    let (ended, _) = side_by_side(folder.path(), &two(), 2, &stopping(usize::MAX));
    let ended = ended.unwrap();
    let asked = count.load(Ordering::SeqCst);
    assert_eq!((ended[0].calls, ended[1].calls), (0, 9));
    assert_eq!(asked + ended[1].from_journal, 9, "{ended:?}");
    assert!(ended[1].from_journal >= 4, "what arrived before the kill is not asked again: {ended:?}");
    let sum = Progress::sum(&ended);
    assert_eq!((sum.total, sum.done, sum.before), (4, 4, 3));
}

#[test]
fn an_error_of_one_method_ends_all_and_records_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (good, asked) = answering(|_| Ok(Conclusion::default()));
    let (bad, _) = answering(|question| match question.id.as_str() {
        "q1" => Err(MootError::Engine("out of memory".into())),
        _ => Ok(Conclusion::default()),
    });
    let (ended, paths) = side_by_side(folder.path(), &[good, bad], 5, &Scripted::list([] as [&str; 0]));
    assert!(ended.unwrap_err().to_string().contains("out of memory"));
    let done = |path: &PathBuf| Record::read(path).unwrap().questions.len();
    assert_eq!((done(&paths[0]), done(&paths[1]), asked.load(Ordering::SeqCst)), (2, 1, 2));
}
