//! # Claims of a text, checked against documents
//!
//! ```text
//! cargo run --release --example claims MODEL TEXT DOCUMENT..
//! ```
//!
//! Divides the text of a file into claims and prints the documents that support and that contradict each, with quotes, as
//! `moot conflict` does.
#![allow(clippy::print_stdout)]

use moot::MootError;
use moot::workspace::{
    Assessment, Control, Document, Evidence, MethodOptions, Neither, Plan, PlanOptions, Question, Silent, Workspace,
};
use std::path::Path;

/// Prints the documents of one side, each with the words that show it.
fn print(side: &str, all: &[Evidence], assessment: &Assessment) {
    for evidence in all {
        println!("  {side} {}: {}", assessment.name(evidence.document), evidence.words(str::to_owned));
    }
}

fn main() -> moot::Result<()> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let [model, text, paths @ ..] = typed.as_slice() else {
        return Err(MootError::Usage("expected MODEL TEXT DOCUMENT..".into()));
    };
    let method = MethodOptions::default().for_claims();
    let options = PlanOptions { method, model: model.clone(), ..PlanOptions::default() };
    let control = Control::default();
    let workspace = Workspace::open(Plan::of(options, &control)?, &control)?;
    let read = |path: &str| std::fs::read_to_string(path).map_err(|e| MootError::io(Path::new(path), "read", e));
    let document = |path: &String| -> moot::Result<Document> {
        Ok(Document { name: path.clone(), text: read(path)?, ..Document::default() })
    };
    let documents = paths.iter().map(document).collect::<moot::Result<Vec<Document>>>()?;
    let question = Question { id: "claims".into(), responses: vec![read(text)?], documents, ..Question::default() };
    let record = workspace.conflict(&question, None, &Silent)?;
    let Some(assessment) = Assessment::of(&record, Neither::LeftOut) else { return Ok(()) };
    for claim in &assessment.claims {
        println!("{}", claim.text);
        print("supported by", &claim.supporters, &assessment);
        print("contradicted by", &claim.contradictors, &assessment);
    }
    let scores = &assessment.scores;
    println!("{} supported, {} contradicted, {} both", scores.supported, scores.contradicted, scores.conflicting);
    Ok(())
}
