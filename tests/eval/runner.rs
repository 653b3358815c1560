use super::{concluded, header, questions};
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::eval::runner::{Progress, Run, run};
use moot::fault::RemoteFault;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::{Settings, Tools};
use moot::protocol::switches::{Typed, Values};
use moot::protocol::{Built, Ctx, Method, Needs, Row};
use moot::question::{Conclusion, Document, Question};
use moot::{MootError, Result};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// The row of the methods below, which make no call.
static ROW: Row = Row {
    name: "echo",
    paper: "",
    about: "",
    protocol: "",
    calls: "0",
    headline: "",
    prompts: &[],
    formats: &[],
    roles: &[],
    switches: &[],
    presets: &[],
    max_tokens: 128,
    needs: Needs::NOTHING,
    build: |_| unreachable!("built by hand"),
};

/// Answers by a function of the question, and counts.
struct Answering<F> {
    answer: F,
    asked: Arc<AtomicUsize>,
}

impl<F: Fn(&Question) -> Result<Conclusion> + Send + Sync> Method for Answering<F> {
    fn answer(&self, question: &Question, _: &mut Ctx<'_>) -> Result<Conclusion> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        (self.answer)(question)
    }
}

/// A method that answers by a function of the question, and how often it was asked.
pub(crate) fn answering(
    answer: impl Fn(&Question) -> Result<Conclusion> + Send + Sync + 'static,
) -> (Built, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let method = Answering { answer, asked: asked.clone() };
    let values = Values::resolve(ROW.name, ROW.switches, &Typed::new()).unwrap();
    (Built::new(&ROW, values, Box::new(method)), asked)
}

pub(crate) fn run_to(
    path: &Path,
    questions: &[Question],
    method: &Built,
    in_flight: usize,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Progress> {
    run_with(path, questions, method, in_flight, stop, progress, false)
}

fn run_with(
    path: &Path,
    questions: &[Question],
    method: &Built,
    in_flight: usize,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
    retry_errors: bool,
) -> Result<Progress> {
    let llm = Scripted::list([] as [&str; 0]);
    let settings = Settings::default();
    let mut writer = Writer::open_for(path, &header(), retry_errors)?;
    run(
        &Run { questions, method, tools: Tools::new(&llm), settings: &settings, in_flight, stop, recorded: None },
        &mut writer,
        progress,
    )
}

fn ids(path: &Path) -> Vec<String> {
    Record::read(path).unwrap().questions.into_iter().map(|q| q.question.id).collect()
}

#[test]
fn every_question_once_whatever_is_in_flight() {
    for in_flight in [1, 3, 50] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let (method, asked) = answering(|_: &Question| Ok(concluded(&["yes"])));
        let mut told = Vec::new();
        let never = AtomicBool::new(false);
        run_to(&path, &questions(20), &method, in_flight, &never, &mut |p| told.push(p.done)).unwrap();
        assert_eq!(ids(&path).iter().collect::<HashSet<_>>().len(), 20);
        assert_eq!(asked.load(Ordering::SeqCst), 20);
        assert!(told.is_sorted() && told[0] == 0 && told.last() == Some(&20));
    }
}

#[test]
fn finished_questions_are_not_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let never = AtomicBool::new(false);
    let (method, asked) = answering(|_: &Question| Ok(concluded(&["yes"])));
    run_to(&path, &questions(5), &method, 2, &never, &mut |_| {}).unwrap();
    let end = run_to(&path, &questions(8), &method, 2, &never, &mut |_| {}).unwrap();
    assert_eq!((end.before, end.done, end.total), (5, 8, 8));
    assert_eq!(asked.load(Ordering::SeqCst), 8);
}

#[test]
fn a_question_that_fails_is_recorded_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let (method, _) = answering(|question: &Question| match question.id.as_str() {
        "q3" => Err(MootError::Question("a document too long".into())),
        _ => Ok(concluded(&["yes"])),
    });
    let end = run_to(&path, &questions(6), &method, 2, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!((end.done, end.errors), (6, 1));
    let record = Record::read(&path).unwrap();
    let failed: Vec<_> = record.questions.iter().filter(|q| q.conclusion.is_none()).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].error.as_deref(), Some("a document too long"));
}

#[test]
fn an_engine_that_stopped_ends_the_run_and_is_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let (method, _) = answering(|question: &Question| match question.id.as_str() {
        "q3" => Err(MootError::Engine("out of memory".into())),
        _ => Ok(concluded(&["yes"])),
    });
    let error = run_to(&path, &questions(1000), &method, 1, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "the engine stopped: out of memory");
    assert_eq!(ids(&path), ["q0", "q1", "q2"]);
}

#[test]
fn stopping_begins_no_question_and_keeps_finished_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let stop = AtomicBool::new(false);
    let (method, asked) = answering(|_: &Question| {
        std::thread::sleep(Duration::from_millis(2));
        Ok(concluded(&["yes"]))
    });
    let all = questions(500);
    let error = run_to(&path, &all, &method, 4, &stop, &mut |p| stop.store(p.done >= 10, Ordering::Relaxed));
    assert!(matches!(error, Err(MootError::Interrupted)));
    let asked = asked.load(Ordering::SeqCst);
    assert!((10..100).contains(&asked), "{asked}");
    assert_eq!(ids(&path).len(), asked);
    run_to(&path, &all, &method, 4, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(ids(&path).len(), 500);
}

#[test]
fn rate_and_rest_of_a_progress() {
    let progress =
        Progress { total: 30, done: 15, before: 5, elapsed: Duration::from_secs(120), ..Progress::default() };
    assert!((progress.per_minute() - 5.0).abs() < 1e-9);
    assert_eq!(progress.remaining(), Some(Duration::from_secs(180)));
    assert_eq!(Progress { done: 5, ..progress }.remaining(), None);
}

/// Four questions are in flight when the fourth fails: the others are finished and recorded, no fifth is begun.
#[test]
fn questions_in_flight_are_finished_and_recorded_when_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let together = Barrier::new(4);
    let (method, asked) = answering(move |question: &Question| {
        if ["q0", "q1", "q2", "q3"].contains(&question.id.as_str()) {
            together.wait();
        }
        let late = |milliseconds| std::thread::sleep(Duration::from_millis(milliseconds));
        match question.id.as_str() {
            "q3" => Err(MootError::Engine("out of memory".into())),
            "q2" => {
                late(250);
                Err(MootError::Engine("gone".into()))
            }
            _ => {
                late(150);
                Ok(concluded(&["yes"]))
            }
        }
    });
    let mut told = Vec::new();
    let ended = run_to(&path, &questions(100), &method, 4, &AtomicBool::new(false), &mut |p| told.push(p.done));
    assert_eq!(ended.unwrap_err().to_string(), "the engine stopped: out of memory", "the first error counts");
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    let mut recorded = ids(&path);
    recorded.sort();
    assert_eq!(recorded, ["q0", "q1"]);
    assert_eq!(told.last(), Some(&2));
}

/// One kind of error each: those of a question are its record, all others would fail the next question too.
#[test]
fn errors_of_configuration_and_of_servers_are_no_answers() {
    let remote = |kind| MootError::Remote { server: "http://h/v1".into(), kind, reason: "no".into() };
    let server = "http://h:6333#c";
    let qdrant = move |kind| MootError::Collection { server: server.into(), kind, reason: "no".into(), hint: None };
    let index = || MootError::Index { path: "an-index".into(), wrong: "no".into(), hint: String::new() };
    let io = || MootError::io(Path::new("a.txt"), "read", std::io::ErrorKind::StorageFull.into());
    let prompt = || MootError::Prompt { file: "a.jinja".into(), reason: "undefined value".into() };
    let long = || MootError::TooLong {
        what: "agent".into(),
        needed: 9,
        prompt: 8,
        generate: 1,
        limit_name: "the context of the model",
        limit: 5,
    };
    type Make = Box<dyn Fn() -> MootError + Send + Sync>;
    let cases: Vec<(bool, Make)> = vec![
        (true, Box::new(long)),
        (true, Box::new(|| MootError::Question("no document".into()))),
        (true, Box::new(move || remote(RemoteFault::Refused))),
        (false, Box::new(move || remote(RemoteFault::Busy))),
        (false, Box::new(move || remote(RemoteFault::Unreachable))),
        (false, Box::new(move || remote(RemoteFault::Key))),
        (false, Box::new(move || qdrant(RemoteFault::Refused))),
        (false, Box::new(move || qdrant(RemoteFault::Broken))),
        (false, Box::new(index)),
        (false, Box::new(io)),
        (false, Box::new(prompt)),
        (false, Box::new(|| MootError::Usage("--top 0".into()))),
        (false, Box::new(|| MootError::Engine("gone".into()))),
        (false, Box::new(|| MootError::Interrupted)),
    ];
    for (recorded, make) in cases {
        let (folder, message) = (tempfile::tempdir().unwrap(), make().to_string());
        let path = folder.path().join("out.jsonl");
        let (method, _) = answering(move |question: &Question| match question.id.as_str() {
            "q1" => Err(make()),
            _ => Ok(concluded(&["yes"])),
        });
        let ended = run_to(&path, &questions(3), &method, 1, &AtomicBool::new(false), &mut |_| {});
        if recorded {
            assert_eq!(ended.unwrap().errors, 1, "{message}");
            assert_eq!(Record::read(&path).unwrap().questions[1].error.as_deref(), Some(message.as_str()));
        } else {
            assert_eq!(ended.unwrap_err().to_string(), message);
            assert_eq!(ids(&path), ["q0"], "{message}");
        }
    }
}

#[test]
fn recorded_errors_are_asked_again_on_request_and_the_later_line_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let never = AtomicBool::new(false);
    let (method, _) = answering(|question: &Question| match question.id.as_str() {
        "q1" | "q2" => Err(MootError::Question("the server refused it".into())),
        _ => Ok(concluded(&["yes"])),
    });
    run_to(&path, &questions(4), &method, 1, &never, &mut |_| {}).unwrap();
    let (method, asked) = answering(|question: &Question| match question.id.as_str() {
        "q2" => Err(MootError::Question("refused again".into())),
        _ => Ok(concluded(&["ja"])),
    });
    run_to(&path, &questions(4), &method, 1, &never, &mut |_| {}).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 0, "unasked for, an error is final");

    let end = run_with(&path, &questions(4), &method, 1, &never, &mut |_| {}, true).unwrap();
    assert_eq!((asked.load(Ordering::SeqCst), end.before, end.done, end.errors), (2, 2, 4, 1));
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 7, "nothing is overwritten");
    let record = Record::read(&path).unwrap();
    let told = |q: &moot::transcript::QuestionRecord| match (&q.conclusion, &q.error) {
        (Some(conclusion), None) => conclusion.answers[0].text.clone(),
        (None, Some(error)) => error.clone(),
        other => panic!("{other:?}"),
    };
    let told: Vec<(String, String)> = record.questions.iter().map(|q| (q.question.id.clone(), told(q))).collect();
    let want = [("q0", "yes"), ("q1", "ja"), ("q2", "refused again"), ("q3", "yes")];
    assert_eq!(told, want.map(|(id, text)| (id.to_owned(), text.to_owned())));
    // A question that was answered is not answered twice.
    let text = std::fs::read_to_string(&path).unwrap();
    let last = text.lines().nth(1).unwrap();
    std::fs::write(&path, format!("{text}{last}\n")).unwrap();
    assert!(Record::read(&path).unwrap_err().to_string().contains("question \"q0\" again, as on line 2"));
}

/// `f_align` drops "yes" and "no", which no document has; the run counts such answers, and no other dropped one.
#[test]
fn dropped_choices_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let document = |source: &str| Document {
        source: Some(source.into()),
        text: "It opened in 1931.".into(),
        ..Document::default()
    };
    let question = Question {
        id: "q".into(),
        text: "Is it open?".into(),
        documents: ["a", "b", "c", "d"].map(document).to_vec(),
        ..Question::default()
    };
    let method = moot::methods::build("ra-rag", &Typed::new()).unwrap();
    let llm = Scripted::list(["Yes", "no", "1940", "1931"]);
    let (settings, never) = (Settings::default(), AtomicBool::new(false));
    let mut writer = Writer::open(&folder.path().join("out.jsonl"), &header()).unwrap();
    let tools = Tools::new(&llm);
    let questions = [question];
    let (questions, method, settings, stop) = (&questions[..], &method, &settings, &never);
    let run_of = Run { questions, method, tools, settings, in_flight: 1, stop, recorded: None };
    let ended = run(&run_of, &mut writer, &mut |_| {}).unwrap();
    assert_eq!((ended.done, ended.calls, ended.dropped_choices), (1, 4, 2));
    assert_eq!(Progress::sum(&[ended.clone(), ended]).dropped_choices, 4);
}
