//! # Search, then ask
//!
//! ```text
//! cargo run --release --example search [MODEL] [QUESTION] [PATH...]
//! ```
//!
//! For more text than agents can read whole: the files are split into passages and indexed, the passages about the question
//! are found, and each document that they come from gets an agent. The index here has words alone (BM25) and is thrown away
//! at the end. A program that searches often keeps its folder and opens it again with `Index::open`, and one that searches by
//! meaning passes a `LocalEmbedder` where this one passes `None` (see the example `embed`) and leaves `mode` as it is.
//!
//! Between search and debate a program may look at what was found, and add to it or take from it: documents are plain values.
#![allow(clippy::print_stdout)]

use moot::protocol::ctx::Silent;
use moot::question::Question;
use moot::retrieval::chunk::Chunking;
use moot::retrieval::corpus::Corpus;
use moot::retrieval::index::{Builder, Cutoff, Index, IndexRetriever, Limits, Mode, Search, Storage};
use moot::retrieval::{Filter, Retriever, Wanted, merged_documents};
use moot::workspace::{Control, Plan, PlanOptions, Workspace};
use moot::{MootError, Result};
use std::path::Path;

fn main() -> Result<()> {
    let mut typed = std::env::args().skip(1);
    let model = typed.next().unwrap_or_else(|| "smollm2-135m".into());
    let question = typed.next().unwrap_or_else(|| "In which year was Mira Tolland born?".into());
    let mut paths: Vec<String> = typed.collect();
    if paths.is_empty() {
        paths.push("examples/demo".into());
    }

    // Search: the best passages, without those that have nothing to do with the question.
    let folder = tempfile::tempdir().map_err(|e| MootError::io(Path::new("temporary folder"), "create", e))?;
    let index = index(&paths, folder.path())?;
    let search = Search { mode: Mode::Bm25, cutoff: Some(Cutoff::DEFAULT), ..Search::default() };
    let retriever = IndexRetriever::new(index, None, search)?;
    let wanted = Wanted { top: 5, by_source: false, filter: Filter::NONE, fold: true };
    let hits = retriever.retrieve(&question, &wanted)?;
    for hit in &hits {
        let (file, known) = (&hit.passage.origin.file, [&hit.passage.source, &hit.passage.date]);
        let known: Vec<&str> = known.into_iter().flatten().map(String::as_str).collect();
        let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
        println!("{:6.2}  {file}{known}", hit.score);
    }

    // Then ask: passages of one document have one agent.
    let documents = merged_documents(hits);
    if documents.is_empty() {
        println!("no passage is about the question");
        return Ok(());
    }
    let control = Control::default();
    let options = PlanOptions { model, ..PlanOptions::default() };
    let workspace = Workspace::open(Plan::of(options, &control)?, &control)?;
    let asked = Question { id: "asked".into(), text: question.clone(), documents, ..Question::default() };
    let debate = workspace.answer(&asked, &Silent)?;
    println!("{question}");
    let answers = debate.conclusion.unwrap_or_default().answers;
    if answers.is_empty() {
        println!("  unknown");
    }
    for answer in answers {
        let names: Vec<&str> =
            answer.supporters.iter().map(|&number| debate.question.documents[number].name.as_str()).collect();
        println!("  {} ({})", answer.text, names.join(", "));
    }
    Ok(())
}

/// The passages of the files at `paths`, indexed in `folder`.
fn index(paths: &[String], folder: &Path) -> Result<Index> {
    let corpus = Corpus::open(paths)?;
    let mut builder = Builder::create(folder, None, Storage::F16, Limits::default())?;
    builder.run(paths, &mut corpus.passages(Chunking::default()), None, &mut |_| Ok(()))?;
    Index::open(folder)
}
