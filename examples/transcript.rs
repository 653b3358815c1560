//! # Read a debate from its record
//!
//! ```text
//! cargo run --release --example transcript [MODEL]
//! ```
//!
//! Everything that was said is data. A `QuestionRecord` holds each call with its prompt, its raw reply, what was read
//! from that reply, and what it cost; this is also one line of the file that `moot run` writes, so a program that reads
//! such a file goes on from here unchanged.
//!
//! This example has MADAM-RAG debate the demo documents for at most two rounds and prints who said what. Two things are
//! worth watching in the output:
//!
//! - **The reply is not the answer.** `reply` is what the model wrote; `parsed` is what could be read from it: one
//!   answer, a list of answers, or `Malformed`, which is counted and never guessed at.
//! - **Stages are forward passes together.** All calls of a stage were in flight at once and shared what their prompts
//!   have in common: `reused` says how many prompt tokens a call did not have to compute.
//!
//! The plan names a method with its switches; without a name it is that of `moot ask`. `Workspace::answer` takes an observer:
//! `Silent` ignores everything; the one of `moot ask` prints each reply as it arrives.
#![allow(clippy::print_stdout)]

use moot::Result;
use moot::protocol::ctx::Silent;
use moot::question::Question;
use moot::retrieval::given;
use moot::transcript::{CallRecord, Parsed};
use moot::workspace::{Control, MethodOptions, Plan, PlanOptions, Workspace};

fn main() -> Result<()> {
    let model = std::env::args().nth(1).unwrap_or_else(|| "smollm2-135m".into());
    let method = MethodOptions {
        name: Some("madam-rag".into()),
        switches: [("rounds".to_owned(), "2".to_owned())].into(),
        max_tokens: Some(64),
        ..MethodOptions::default()
    };
    let control = Control::default();
    let plan = Plan::of(PlanOptions { model, method, ..PlanOptions::default() }, &control)?;
    let workspace = Workspace::open(plan, &control)?;

    let question = Question {
        // Every call's seed is derived from the id, so it should say which question this is.
        id: "mira-tolland".into(),
        text: "In which year was Mira Tolland born?".into(),
        documents: given::load(&["examples/demo".into()])?.documents,
        ..Question::default()
    };
    let debate = workspace.answer(&question, &Silent)?;

    println!("{}", question.text);
    // Calls lie in the order asked, so those of a stage lie side by side.
    for stage in debate.calls.chunk_by(|a, b| a.stage == b.stage) {
        println!("\nstage {}, round {}", stage[0].stage, stage[0].round);
        stage.iter().for_each(|call| print_call(&question, call));
    }
    let answers: Vec<String> = debate.conclusion.into_iter().flat_map(|c| c.answers).map(|a| a.text).collect();
    println!("\nconcluded: {answers:?} in {:.1} s", debate.seconds);
    Ok(())
}

fn print_call(question: &Question, call: &CallRecord) {
    // An agent speaks for a document; the aggregator speaks for none.
    let speaker = call.document.map_or(call.role.as_str(), |number| &question.documents[number].name);
    let read = match &call.parsed {
        Parsed::Answer { answer, .. } => answer.clone().unwrap_or_else(|| "unknown".into()),
        Parsed::Answers { answers, .. } => answers.join(" | "),
        Parsed::Text(text) => text.clone(),
        Parsed::Choice { option, .. } => format!("option {}", option + 1),
        Parsed::Fields(fields) => format!("{} fields", fields.len()),
        Parsed::Scored => format!("{:.3}", call.total_score()),
        Parsed::Malformed => "nothing: malformed".into(),
    };
    println!("{speaker} ({} prompt tokens, {} of them reused)", call.usage.prompt, call.usage.reused);
    println!("  wrote: {}", call.reply.trim());
    println!("  read:  {read}");
}
