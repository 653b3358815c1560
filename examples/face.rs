//! # A face in sixty lines
//!
//! ```text
//! cargo run --release --example face MODEL CORPUS WEIGHTS CLASSIFIER DATASET RECORD [QUESTION]
//! ```
//!
//! Asks over a corpus with a classifier and source weights, prints events as they happen, and resumes a record.
#![allow(clippy::print_stdout)]

use moot::workspace::{
    CallRecord, ClassifierOptions, Control, CorpusOptions, MethodOptions, Observer, Plan, PlanOptions, RunOptions,
    Watch, Workspace,
};

/// Prints notes, and each call as it is answered.
struct Printer;

impl Watch for Printer {
    fn note(&self, line: &str) {
        println!("note: {line}");
    }
}

impl Observer for Printer {
    fn stage(&self, stage: usize, calls: usize) {
        println!("stage {stage}: {calls} calls");
    }

    fn call(&self, _: usize, call: &CallRecord) {
        println!("{}, round {}: {}", call.role, call.round, call.reply);
    }
}

fn main() -> moot::Result<()> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let [model, corpus, weights, classifier, dataset, record, question @ ..] = typed.as_slice() else {
        println!("expected MODEL CORPUS WEIGHTS CLASSIFIER DATASET RECORD [QUESTION]");
        return Ok(());
    };
    let method = MethodOptions { name: Some("ra-rag".into()), ..MethodOptions::default() };
    let options = PlanOptions {
        question: Some(question.first().map_or("In which year was Mira Tolland born?", String::as_str).into()),
        corpus: CorpusOptions { paths: vec![corpus.clone()], ..CorpusOptions::default() },
        method: MethodOptions { source_weights: Some(weights.into()), ..method },
        classifier: ClassifierOptions { name: Some(classifier.clone()), ..ClassifierOptions::default() },
        model: model.clone(),
        ..PlanOptions::default()
    };
    let control = Control::new(Printer);
    let asked = Workspace::open(Plan::of(options.clone(), &control)?, &control)?.ask(&Printer)?;
    println!("{:#?}", asked.conclusion);
    let run = RunOptions { dataset: dataset.into(), output: Some(record.into()), ..RunOptions::default() };
    let plan = Plan::of(PlanOptions { run: Some(run), ..options }, &control)?;
    for report in Workspace::open(plan, &control)?.run()? {
        println!("{} of {} questions are recorded", report.progress.done, report.progress.total);
    }
    Ok(())
}
