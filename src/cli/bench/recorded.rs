//! `moot lab bench --calls`: repeats a run's calls with forced lengths, the same work that another server can be given.

use super::args::Args;
use super::machine::{device, peak_resident_bytes};
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::engine::{Event, Request};
use crate::error::{MootError, Result};
use crate::generation::{Message, Thinking, Usage};
use crate::jsonl::{Lines, json_fault};
use crate::llm::Llm;
use crate::llm::local::Local;
use crate::threads;
use crate::workspace::open_single;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Instant;

/// A line of `moot record calls`, as far as it is used.
#[derive(Debug, Deserialize)]
struct Call {
    question: String,
    stage: usize,
    messages: Vec<Message>,
    completion_tokens: usize,
}

/// The calls of one question, stage by stage.
type Stages = Vec<Vec<Call>>;

/// The result for all calls.
#[derive(Debug, Serialize)]
struct Measured {
    model: String,
    /// The CPU table, or the device.
    device: String,
    threads: usize,
    questions: usize,
    calls: usize,
    in_flight: usize,
    /// From the first call to the last token, without loading.
    seconds: f64,
    prompt_tokens: usize,
    /// Prompt tokens computed; the others were cached.
    computed_tokens: usize,
    generated_tokens: usize,
    peak_resident_bytes: u64,
}

/// Measures and prints.
///
/// # Errors
/// A file that `moot record calls` did not print, a model that does not load, calls that do not fit its context or memory.
pub(super) fn run(args: &Args, path: &Path) -> Result<()> {
    let questions = read(path)?;
    let control = interrupt::listen()?;
    let llm = open_single("moot lab bench", &args.model.name(), &args.model.runtime.options(), &control)?;
    let started = Instant::now();
    let used = answer_all(&llm, &questions, args.in_flight)?;
    let measured = Measured {
        model: llm.identity().name.clone(),
        device: device(&llm),
        threads: rayon::current_num_threads(),
        questions: questions.len(),
        calls: questions.iter().flatten().map(Vec::len).sum(),
        in_flight: args.in_flight,
        seconds: started.elapsed().as_secs_f64(),
        prompt_tokens: used.prompt,
        computed_tokens: used.computed,
        generated_tokens: used.generated,
        peak_resident_bytes: peak_resident_bytes(),
    };
    let line = if args.json {
        output::json(&measured)?
    } else {
        format!(
            "{} questions, {} calls: {:.2} s\n{} prompt tokens, {} of them computed, {} generated, {:.0} MB at most\n",
            measured.questions,
            measured.calls,
            measured.seconds,
            measured.prompt_tokens,
            measured.computed_tokens,
            measured.generated_tokens,
            measured.peak_resident_bytes as f64 / 1e6
        )
    };
    output::print(&line)
}

/// The questions of a file, in its order.
fn read(path: &Path) -> Result<Vec<Stages>> {
    let mut questions: Vec<Vec<Call>> = Vec::new();
    for line in Lines::open(path)? {
        let (number, text) = line?;
        let wrong = |found| MootError::Input { path: path.into(), line: Some(number), expected: LINE.into(), found };
        let call: Call = serde_json::from_str(&text).map_err(|e| wrong(json_fault(&e)))?;
        if call.completion_tokens == 0 {
            return Err(wrong("a reply without tokens".into()));
        }
        match questions.last_mut().filter(|calls| calls[0].question == call.question) {
            Some(calls) => calls.push(call),
            None => questions.push(vec![call]),
        }
    }
    if questions.is_empty() {
        let found = "no call".into();
        return Err(MootError::Input { path: path.into(), line: None, expected: LINE.into(), found });
    }
    Ok(questions.into_iter().map(stages).collect())
}

const LINE: &str = "a call, as `moot record calls` prints it";

/// One question's calls grouped by stage, in order.
fn stages(mut calls: Vec<Call>) -> Stages {
    calls.sort_by_key(|call| call.stage);
    let mut stages: Stages = Vec::new();
    for call in calls {
        match stages.last_mut().filter(|stage| stage[0].stage == call.stage) {
            Some(stage) => stage.push(call),
            None => stages.push(vec![call]),
        }
    }
    stages
}

/// Answers `in_flight` questions at a time.
fn answer_all(llm: &Local, questions: &[Stages], in_flight: usize) -> Result<Usage> {
    let answer = |stages: &Stages| -> Result<Usage> {
        let mut used = Usage::default();
        for stage in stages {
            used += ask(llm, stage)?;
        }
        Ok(used)
    };
    let mut used = Usage::default();
    threads::in_order(questions, in_flight, answer, |one| {
        used += one;
        Ok(())
    })?;
    Ok(used)
}

/// Sends the calls of a stage at once and waits for all of them.
fn ask(llm: &Local, stage: &[Call]) -> Result<Usage> {
    let model = llm.engine().model();
    let (events, inbox) = channel();
    let request = |(tag, call): (usize, &Call)| {
        let segments = model.template.render(&call.messages, true, Thinking::Off)?;
        let prompt = model.tokenizer.encode_prompt(&segments)?;
        Ok(Request::of_length(tag, prompt, call.completion_tokens, events.clone()))
    };
    llm.engine().submit_all(stage.iter().enumerate().map(request).collect::<Result<_>>()?)?;
    drop(events);
    let mut used = Usage::default();
    for (_, event) in &inbox {
        match event {
            Event::Failed(error) => return Err(error),
            Event::Done(done) => used += done.usage,
            Event::Text(_) | Event::Thought(_) => {}
        }
    }
    Ok(used)
}
