//! Plans: the same options from every face, resolved once, errors that name the option.

use moot::MootError;
use moot::error::with_options_spelled;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::workspace::{Control, MethodOptions, Plan, PlanOptions, RunOptions, Watch};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

fn plan(body: Value) -> moot::Result<Plan> {
    Plan::of(serde_json::from_value(body).unwrap(), &Control::default())
}

fn refused(body: Value) -> String {
    plan(body).err().unwrap().to_string()
}

#[test]
fn a_json_body_is_a_plan_and_a_plan_is_the_body_again() {
    let body = json!({
        "question": "When?",
        "documents": { "paths": ["notes"] },
        "method": { "name": "madam-rag", "switches": { "rounds": 2, "aggregator": false, "history": "peers" } },
        "runtime": { "weights": "widened", "threads": 2 },
    });
    let plan = plan(body).unwrap();
    let values = plan.method().method.values.json();
    assert_eq!(
        (&values["rounds"], &values["aggregator"], &values["history"]),
        (&json!(2), &json!(false), &json!("peers"))
    );
    let kept = serde_json::to_value(&plan).unwrap();
    let again: PlanOptions = serde_json::from_value(kept.clone()).unwrap();
    assert_eq!(&again, plan.options());
    assert_eq!(kept["runtime"]["weights"], "widened");
    let again = Plan::of(again, &Control::default()).unwrap();
    assert_eq!(again.method().method.values.json(), values);
}

#[test]
fn a_field_that_no_option_has_is_refused_by_name() {
    for body in
        [json!({ "modle": "x" }), json!({ "corpus": { "pahts": [] } }), json!({ "runtime": { "weights": "heavy" } })]
    {
        let error = serde_json::from_value::<PlanOptions>(body.clone()).unwrap_err().to_string();
        let named = ["modle", "pahts", "expected stored, widened"].iter().any(|name| error.contains(name));
        assert!(named, "{body}: {error}");
    }
}

#[test]
fn a_question_alone_is_debated_and_a_method_that_is_named_has_no_preset() {
    let asked = plan(json!({})).unwrap();
    assert_eq!((asked.method().row().name, asked.method().method.preset), (moot::methods::ASK, None));
    let named = plan(json!({ "method": { "name": "concatenated" } })).unwrap();
    assert_eq!((named.method().row().name, named.method().method.preset), ("concatenated", None));
}

#[test]
fn errors_name_the_option_and_each_face_spells_it() {
    let wrong = refused(json!({ "method": { "max_tokens": 0 } }));
    assert_eq!(wrong, "--max-tokens 0: a reply needs at least one token");
    let spelled = with_options_spelled(&wrong, |name| name.replace('-', "_"));
    assert_eq!(spelled, "max_tokens 0: a reply needs at least one token");
    let wrong = refused(json!({ "method": { "temperature": -1.0 } }));
    assert!(wrong.starts_with("--temperature -1"), "{wrong}");
    let wrong = refused(json!({ "corpus": { "paths": ["x"], "from": "2020", "until": "2010" } }));
    assert!(wrong.contains("2020") && wrong.contains("2010"), "{wrong}");
    let unknown = plan(json!({ "method": { "name": "oracle" } })).err().unwrap();
    assert!(matches!(unknown, MootError::UnknownName { kind: "method", .. }));
}

const LINE: &str = r#"{"question":"When?","documents":[{"text":"In 1902.","type":"correct","answer":"1902"}],"disambig_entity":[],"gold_answers":["1902"],"wrong_answers":[]}"#;

fn run_of(folder: &Path, run: RunOptions) -> PlanOptions {
    let dataset = folder.join("set.jsonl");
    fs::write(&dataset, format!("{LINE}\n").repeat(4)).unwrap();
    let output = run.output.or_else(|| Some(folder.join("out.jsonl")));
    let method = MethodOptions { name: Some("concatenated".into()), free_form: true, ..MethodOptions::default() };
    PlanOptions { method, run: Some(RunOptions { dataset, output, ..run }), ..PlanOptions::default() }
}

/// The lines that a run sends to its interface.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Watch for Lines {
    fn note(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

#[test]
fn a_run_continues_from_its_record_and_reports_its_progress() {
    let folder = tempfile::tempdir().unwrap();
    let llm = Scripted::new(|_| r#"All Correct Answers: ["1902"]. Explanation: x"#.into());
    let lines = Lines::default();
    let control = Control::new(lines.clone());
    let first = run_of(folder.path(), RunOptions { limit: Some(2), ..RunOptions::default() });
    let reports = Plan::of(first, &control).unwrap().run(Tools::new(&llm), &control).unwrap();
    assert_eq!((reports[0].progress.total, reports[0].progress.done, reports[0].progress.before), (2, 2, 0));
    let answers = Some(folder.path().join("answers.csv"));
    let all = run_of(folder.path(), RunOptions { answers, ..RunOptions::default() });
    let reports = Plan::of(all, &control).unwrap().run(Tools::new(&llm), &control).unwrap();
    assert_eq!((reports[0].progress.total, reports[0].progress.done, reports[0].progress.before), (4, 4, 2));
    let (path, outcomes) = reports[0].answers.as_ref().unwrap();
    assert!(path.exists() && outcomes.len() == 4 && reports[0].unanswered.is_none());
    assert!(lines.0.lock().unwrap().is_empty(), "nothing went wrong");
    // The message of a stopped run names what is recorded and how to continue.
    control.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let output = Some(folder.path().join("stopped.jsonl"));
    let stopped = run_of(folder.path(), RunOptions { output, ..RunOptions::default() });
    let ended = Plan::of(stopped, &control).unwrap().run(Tools::new(&llm), &control);
    assert!(matches!(ended, Err(MootError::Interrupted)));
    let said = lines.0.lock().unwrap().join("\n");
    assert!(said.contains("interrupted: 0 of 4 questions are in") && said.contains("goes on from there"), "{said}");
}

#[test]
fn several_models_are_a_plan_each_with_a_record_each() {
    let folder = tempfile::tempdir().unwrap();
    let output = Some(folder.path().join("records"));
    let options = run_of(folder.path(), RunOptions { output, ..RunOptions::default() });
    let options = PlanOptions { model: "a.gguf,b.gguf".into(), ..options };
    let plans = Plan::each(options.clone(), &Control::default()).unwrap();
    let of = |plan: &Plan| (plan.options().model.clone(), plan.batches()[0][0].output.file_name().unwrap().to_owned());
    let each: Vec<_> = plans.iter().map(of).collect();
    assert_eq!(each[0], ("a.gguf".to_owned(), "concatenated.a.jsonl".into()));
    assert_eq!(each[1], ("b.gguf".to_owned(), "concatenated.b.jsonl".into()));
    let one = Plan::of(options, &Control::default()).err().unwrap().to_string();
    assert_eq!(one, "expected one model, found several");
}
