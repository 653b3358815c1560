//! Plans by methods that the caller has built, beside those of the program.

use super::run_of;
use moot::eval::record::reader::Record;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::Tools;
use moot::protocol::switches::Typed;
use moot::protocol::{Built, Ctx, Method, Needs, Row};
use moot::question::{Answer, Conclusion, Question};
use moot::workspace::{Control, MethodOptions, Plan, PlanOptions, RunOptions};
use std::sync::atomic::{AtomicUsize, Ordering};

static OWN: Row = Row {
    name: "own",
    paper: "none: a test",
    about: "says how many documents there are",
    protocol: "",
    calls: "0",
    headline: "",
    prompts: &[],
    formats: &[],
    roles: &["reader"],
    switches: &[],
    presets: &[],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build: |_| Ok(Box::new(Own)),
};

struct Own;

static ANSWERED: AtomicUsize = AtomicUsize::new(0);

impl Method for Own {
    fn answer(&self, _: &Question, ctx: &mut Ctx<'_>) -> moot::Result<Conclusion> {
        ANSWERED.fetch_add(1, Ordering::Relaxed);
        let answer = Answer::new(&ctx.documents().len().to_string());
        Ok(Conclusion { answers: vec![answer], rounds: 1, ..Conclusion::default() })
    }

    fn may_be_rehearsed(&self) -> bool {
        false
    }
}

fn own() -> Built {
    OWN.build(&Typed::new()).unwrap()
}

#[test]
fn a_method_of_the_callers_runs_beside_one_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let output = Some(folder.path().join("records"));
    let options = run_of(folder.path(), RunOptions { output, ..RunOptions::default() });
    let options = PlanOptions { method: MethodOptions::default(), ..options };
    let (llm, control) = (Scripted::new(|_| "1902".into()), Control::default());
    let both = || vec![own(), methods::build("naive-rag", &Typed::new()).unwrap()];
    let reports = Plan::by(options.clone(), both(), &control).unwrap().run(Tools::new(&llm), &control).unwrap();
    let read = |index: usize| Record::read(&reports[index].output).unwrap();
    assert_eq!((read(0).header.method, read(1).header.method), ("own".to_owned(), "naive-rag".to_owned()));
    assert_eq!((read(0).questions.len(), read(1).questions.len()), (4, 4));
    assert_eq!(ANSWERED.load(Ordering::Relaxed), 4, "it was not run to measure its calls");
    let refused = |options: PlanOptions, methods| Plan::by(options, methods, &control).err().unwrap().to_string();
    assert_eq!(refused(options.clone(), vec![own(), own()]), "own is given twice: expected different methods");
    let single = PlanOptions { run: None, ..options.clone() };
    assert!(refused(single.clone(), both()).contains("expected one method for a single question"));
    assert!(Plan::by(single, vec![own()], &control).is_ok());
    let method = MethodOptions { preset: Some("tuned".into()), ..MethodOptions::default() };
    assert!(refused(PlanOptions { method, ..options }, vec![own()]).starts_with("--preset: expected none"));
}
