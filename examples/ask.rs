//! # Ask from a program
//!
//! ```text
//! cargo run --release --example ask [MODEL] [QUESTION] [PATH...]
//! ```
//!
//! Three steps are all that a program needs: fill in the options, open the plan, ask. Options have the defaults of `moot ask`,
//! and take what it takes. A model is a short name of the catalog, a `.gguf` file, a model folder or an address on a hub; one
//! that is not on this machine yet is fetched first, and verified.
//!
//! [`Control`] stops the work, and receives notes and progress; `examples/face.rs` uses it.
//!
//! The result is the whole record of the debate: the conclusion, and every call that led to it. This program prints the
//! conclusion. An answer is more than its text: it lists the documents for and against it, because an answer from
//! sources that contradict each other is only as good as its sources.
//!
//! The default model here is the smallest there is, so that the example is quick to fetch. It is too small to read well;
//! name `qwen2.5-coder-1.5b` and the debate makes sense.
#![allow(clippy::print_stdout)]

use moot::Result;
use moot::protocol::ctx::Silent;
use moot::question::Document;
use moot::workspace::{Control, DocumentOptions, Plan, PlanOptions, Workspace};

fn main() -> Result<()> {
    let mut typed = std::env::args().skip(1);
    let model = typed.next().unwrap_or_else(|| "smollm2-135m".into());
    let question = typed.next().unwrap_or_else(|| "In which year was Mira Tolland born?".into());
    let mut paths: Vec<String> = typed.collect();
    if paths.is_empty() {
        paths.push("examples/demo".into());
    }

    // The three steps.
    let documents = DocumentOptions { paths, ..DocumentOptions::default() };
    let options = PlanOptions { question: Some(question.clone()), documents, model, ..PlanOptions::default() };
    let control = Control::default();
    let workspace = Workspace::open(Plan::of(options, &control)?, &control)?;
    let debate = workspace.ask(&Silent)?;

    // A debate that ran has a conclusion; "unknown" is one, too, and has no answers.
    let conclusion = debate.conclusion.unwrap_or_default();
    println!("{question}");
    for answer in &conclusion.answers {
        let named = |indices: &[usize]| names(&debate.question.documents, indices);
        println!("  {}", answer.text);
        println!("    for      {}", named(&answer.supporters));
        println!("    against  {}", named(&answer.opponents));
    }
    if conclusion.answers.is_empty() {
        println!("  unknown");
    }
    println!("{} calls in {} rounds, {:.1} s", debate.calls.len(), conclusion.rounds, debate.seconds);
    Ok(())
}

/// An answer names its documents by their indices in the question.
fn names(documents: &[Document], indices: &[usize]) -> String {
    let names: Vec<&str> = indices.iter().map(|&index| documents[index].name.as_str()).collect();
    if names.is_empty() { "no document".into() } else { names.join(", ") }
}
