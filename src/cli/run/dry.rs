//! `moot run --dry-run`: what a run would take.

use super::Prepared;
use crate::cli::columns::printable;
use crate::cli::output;
use crate::error::{MootError, Result};
use crate::eval::dry::{Pass, Probe, pass, probe};
use crate::eval::record::Reader;
use crate::eval::record::differences;
use crate::protocol::ctx::Tools;
use crate::question::Question;
use indicatif::HumanDuration;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Prints questions, calls, tokens and expected time; nothing is written.
///
/// # Errors
/// A record that the run could not continue; what would end the run.
pub(super) fn run(prepared: &Prepared, tools: Tools<'_>) -> Result<()> {
    let (done, journaled) = recorded(prepared, tools)?;
    let left: Vec<Question> =
        prepared.dataset.questions.iter().filter(|question| !done.contains(&question.id)).cloned().collect();
    let count = |differing| pass(&prepared.resolved.method, &left, tools, &prepared.resolved.settings, differing);
    let (alike, differing) = (count(false)?, count(true)?);
    let measured = probe(&prepared.resolved.method, &left, tools, &prepared.resolved.settings, prepared.in_flight)?;
    output::print(&text(prepared, done.len(), journaled, [&alike, &differing], measured))
}

/// The questions that the record has already, and the calls of its journal.
fn recorded(prepared: &Prepared, tools: Tools<'_>) -> Result<(HashSet<String>, usize)> {
    if !prepared.output.exists() {
        return Ok((HashSet::new(), 0));
    }
    let mut reader = Reader::open(&prepared.output)?;
    if let Some((field, there, now)) = differences(reader.header(), &prepared.header(tools)).into_iter().next() {
        let path = prepared.output.display();
        return Err(MootError::Usage(format!(
            "{path}: was recorded with other settings: {field} {there} there, {now} now (choose another -o, or delete it)"
        )));
    }
    let mut done = HashSet::new();
    for record in reader.by_ref() {
        let record = record?;
        if !(prepared.retry_errors && record.error.is_some()) {
            done.insert(record.question.id);
        }
    }
    let left = |id: &&String| !done.contains(*id);
    let journaled = reader.journal().keys().filter(left).map(|id| reader.journal()[id].len()).sum();
    Ok((done, journaled))
}

fn text(prepared: &Prepared, done: usize, journaled: usize, passes: [&Pass; 2], probe: Option<Probe>) -> String {
    let row = prepared.resolved.row();
    let mut lines = vec![format!("Questions  {} to ask", passes[0].questions)];
    if done > 0 || journaled > 0 {
        lines.push(format!("           {done} are recorded, {journaled} calls of others are in the journal"));
    }
    lines.push(format!("Calls      {} (a question: {})", span(passes.map(|pass| pass.calls)), row.calls));
    let mut roles: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (place, pass) in passes.into_iter().enumerate() {
        pass.roles.iter().for_each(|(role, calls)| roles.entry(role).or_default()[place] = *calls);
    }
    if roles.len() > 1 {
        lines.extend(roles.iter().map(|(role, calls)| format!("           {role}: {}", span(*calls))));
    }
    match probe {
        Some(probe) => lines.extend(measured(prepared, passes, &probe)),
        None => lines.push("Tokens     no call to measure".into()),
    }
    if passes[1].malformed > 0 {
        let count = passes[1].malformed;
        lines.push(format!(
            "note: {count} made-up replies did not keep their format; such methods may ask more than this"
        ));
    }
    if let Some((id, reason)) = passes[0].failed.first() {
        let count = passes[0].failed.len();
        lines.push(printable(&format!("note: {count} questions would end in an error; {id}: {reason}")));
    }
    lines.join("\n") + "\n"
}

fn measured(prepared: &Prepared, passes: [&Pass; 2], probe: &Probe) -> Vec<String> {
    let prompt = span(passes.map(|pass| probe.tokens(pass.characters)));
    let most = passes.map(|pass| pass.calls * prepared.resolved.settings.max_tokens);
    let typical = passes.map(|pass| pass.calls * probe.generated_tokens / probe.calls.max(1));
    let seconds = passes.map(|pass| probe.seconds(pass.calls, pass.characters));
    let (least, longest) = (seconds[0].min(seconds[1]), seconds[0].max(seconds[1]));
    let time = |seconds: f64| HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or_default()).to_string();
    let (prefill, decode) = (probe.prefill_seconds, probe.decode_seconds);
    let about =
        if time(least) == time(longest) { time(least) } else { format!("{} to {}", time(least), time(longest)) };
    vec![
        format!("Tokens     {prompt} of prompts, {} generated as measured, {} at most", span(typical), span(most)),
        format!(
            "Time       about {about}, by {} calls at once: {prefill:.1} s for their prompts, {decode:.1} s for their replies",
            probe.calls
        ),
        "           rough: later prompts are longer, and what they share with earlier ones costs nothing".into(),
    ]
}

/// "12", or "12 to 18".
fn span(numbers: [usize; 2]) -> String {
    let (least, most) = (numbers[0].min(numbers[1]), numbers[0].max(numbers[1]));
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}
