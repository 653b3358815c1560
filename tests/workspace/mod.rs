//! Plans: the same options from every face, resolved once, errors that name the option.

mod conflict;
mod inline;
mod own;
mod recorded;

use moot::MootError;
use moot::error::with_options_spelled;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::workspace::{Control, MethodOptions, Plan, PlanOptions, RunOptions, Watch, field_of};
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
fn a_method_has_its_paper_s_tokens_unless_others_are_given() {
    let tokens = |method: Value| plan(json!({ "method": method })).unwrap().method().settings.max_tokens;
    assert_eq!((tokens(json!({})), tokens(json!({ "name": "drag" }))), (128, 256));
    assert_eq!(tokens(json!({ "name": "drag", "max_tokens": 128 })), 128);
    let of = |name: &str| tokens(json!({ "name": name }));
    assert_eq!((of("naive-rag"), of("conflict-report"), of("regenerated-rag")), (256, 512, 512));
}

/// A text by hand is labelled with the preset `tuned`, unless another one is given.
#[test]
fn claims_by_hand_have_a_preset() {
    let of = |preset: Option<&str>| {
        let options = MethodOptions { preset: preset.map(str::to_owned), ..MethodOptions::default() }.for_claims();
        (options.name.unwrap(), options.preset.unwrap())
    };
    assert_eq!(of(None), ("conflict-score".to_owned(), "tuned".to_owned()));
    assert_eq!(of(Some("paper")).1, "paper");
}

#[test]
fn candidates_are_enough_and_a_reranker_reads_them() {
    let corpus = |fields: Value| {
        let mut corpus = json!({ "paths": ["notes"] });
        corpus.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "corpus": corpus })
    };
    assert!(plan(corpus(json!({ "reranker": "r", "reranker_candidates": 5 }))).is_ok());
    assert!(plan(corpus(json!({ "reranker": "r", "reranker_candidates": 1, "by_source": true }))).is_ok());
    let few = refused(corpus(json!({ "reranker": "r", "reranker_candidates": 4 })));
    assert_eq!(few, "--reranker-candidates 4: expected at least 5, the passages that are wanted");
    let alone = refused(corpus(json!({ "reranker_candidates": 9 })));
    assert_eq!(alone, "--reranker-candidates 9: needs --reranker");
    let searched = plan(json!({ "corpus": { "reranker": "r" } })).unwrap();
    let error = moot::Workspace::open(searched, &Control::default()).err().unwrap().to_string();
    assert_eq!(error, "--reranker: expected --docs or --corpus beside it, found neither");
}

#[test]
fn errors_name_the_option_and_each_face_spells_it() {
    let wrong = refused(json!({ "method": { "max_tokens": 0 } }));
    assert_eq!(wrong, "--max-tokens 0: a reply needs at least one token");
    let spelled = with_options_spelled(&wrong, field_of);
    assert_eq!(spelled, "method.max_tokens 0: a reply needs at least one token");
    let wrong = refused(json!({ "method": { "temperature": -1.0 } }));
    assert!(wrong.starts_with("--temperature -1"), "{wrong}");
    let wrong = refused(json!({ "corpus": { "paths": ["x"], "from": "2020", "until": "2010" } }));
    assert!(wrong.contains("2020") && wrong.contains("2010"), "{wrong}");
    let unknown = plan(json!({ "method": { "name": "oracle" } })).err().unwrap();
    assert!(matches!(unknown, MootError::UnknownName { kind: "method", .. }));
}

#[test]
fn values_that_the_command_line_refuses_are_refused_from_json() {
    let searched = |name: &str, value: Value| json!({ "corpus": { "paths": ["x"], name: value } });
    let method = |name: &str, value: Value| json!({ "method": { name: value } });
    let runtime = |name: &str, value: Value| json!({ "runtime": { name: value } });
    let run = |name: &str, value: Value| json!({ "run": { "output": "o", name: value } });
    let cases = [
        (searched("top", json!(0)), "--top 0: expected a whole number from 1 to 1000000000"),
        (searched("from", json!("20-01-01")), "--from 20-01-01: expected a date"),
        (searched("until", json!("2018-13")), "--until 2018-13: expected a month"),
        (method("max_tokens", json!(2_000_000_000)), "--max-tokens 2000000000: expected"),
        (method("think", json!(2_000_000_000)), "--think 2000000000: expected"),
        (method("top_k", json!(40)), "--top-k needs --temperature"),
        (method("top_p", json!(0.5)), "--top-p needs --temperature"),
        (method("top_p", json!(1.5)), "--top-p 1.5: expected"),
        (runtime("threads", json!(0)), "--threads 0: expected"),
        (runtime("max_rows", json!(0)), "--max-rows 0: expected"),
        (runtime("step_tokens", json!(0)), "--step-tokens 0: expected"),
        (runtime("kv_memory", json!(2_000_000_000_000_000_u64)), "--kv-memory 2000000000000000: expected"),
        (runtime("memory", json!(2_000_000_000_000_000_u64)), "--memory 2000000000000000: expected"),
        (runtime("remote_calls", json!(0)), "--remote-calls 0: expected"),
        (runtime("remote_timeout", json!(0)), "--remote-timeout 0: expected"),
        (runtime("remote_retries", json!(2_000_000_000)), "--remote-retries 2000000000: expected"),
        (run("limit", json!(0)), "--limit 0: expected"),
        (run("sample", json!(0)), "--sample 0: expected"),
        (run("in_flight", json!(0)), "--in-flight 0: expected"),
        (run("shard", json!([3, 2])), "--shard 3/2: expected a part from 1 to 2"),
        (run("answers", json!("answers.txt")), "--answers answers.txt: expected a file that ends in .csv or .jsonl"),
    ];
    for (body, expected) in cases {
        let wrong = refused(body.clone());
        assert!(wrong.starts_with(expected), "{body}: {wrong}");
    }
}

#[test]
fn options_that_exclude_or_require_each_other_are_refused_from_json() {
    let cases = [
        (json!({ "documents": { "paths": ["a"] }, "corpus": { "paths": ["b"] } }), "--docs: "),
        (json!({ "corpus": { "top": 3 } }), "--top needs --docs or --corpus"),
        (json!({ "corpus": { "fold": false } }), "--no-fold needs --docs or --corpus"),
        (json!({ "documents": { "whole": true } }), "--whole needs --docs"),
        (json!({ "documents": { "paths": ["a"], "whole": true }, "corpus": { "top": 3 } }), "--top: "),
        (json!({ "documents": { "paths": ["a"], "whole": true }, "corpus": { "by_source": true } }), "--by-source: "),
        (json!({ "run": { "output": "o", "limit": 1, "sample": 1 } }), "--sample: "),
        (json!({ "run": { "output": "o", "dry_run": true, "reuse": ["r.jsonl"] } }), "--reuse: "),
    ];
    for (body, expected) in cases {
        let wrong = refused(body.clone());
        assert!(wrong.starts_with(expected), "{body}: {wrong}");
    }
    assert!(plan(json!({ "documents": { "paths": ["a"] }, "corpus": { "top": 3 } })).is_ok());
    assert!(plan(json!({ "documents": { "paths": ["a"], "whole": true }, "corpus": { "fold": false } })).is_ok());
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
    assert!(
        said.contains("interrupted: 0 of 4 questions are in") && said.contains("run the same command to resume"),
        "{said}"
    );
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
