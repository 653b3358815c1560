//! `moot run --dry-run`: the estimated cost of a run.

use crate::cli::terminal::columns::printable;
use crate::eval::dry::{Pass, Probe};
use crate::units::plural;
use crate::workspace::DryRun;
use indicatif::HumanDuration;
use std::collections::BTreeMap;
use std::time::Duration;

/// Questions, calls, tokens and expected time.
pub(super) fn text(run: &DryRun<'_>) -> String {
    let (row, done, journaled) = (run.recording.method.row(), run.done, run.journaled);
    let passes = [&run.passes[0], &run.passes[1]];
    let mut lines = vec![format!("Questions  {} to ask", passes[0].questions)];
    if done > 0 || journaled > 0 {
        lines.push(format!("           {done} are recorded, {journaled} calls of others are in the journal"));
    }
    lines.push(format!("Calls      {} (a question: {})", span(passes.map(|pass| pass.calls)), row.calls));
    let mut roles: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (index, pass) in passes.into_iter().enumerate() {
        pass.roles.iter().for_each(|(role, calls)| roles.entry(role).or_default()[index] = *calls);
    }
    if roles.len() > 1 {
        lines.extend(roles.iter().map(|(role, calls)| format!("           {role}: {}", span(*calls))));
    }
    match &run.probe {
        Some(probe) => lines.extend(measured(run, passes, probe)),
        None => lines.push("Tokens     no call to measure".into()),
    }
    if passes[1].malformed > 0 {
        let count = passes[1].malformed;
        lines.push(format!(
            "note: {}; the real run may need more calls",
            plural(count, "simulated reply was malformed", "simulated replies were malformed")
        ));
    }
    if let Some((id, reason)) = passes[0].failed.first() {
        let count = passes[0].failed.len();
        lines.push(printable(&format!(
            "note: {} would end in an error; {id}: {reason}",
            plural(count, "question", "questions")
        )));
    }
    lines.join("\n") + "\n"
}

fn measured(run: &DryRun<'_>, passes: [&Pass; 2], probe: &Probe) -> Vec<String> {
    let prompt = span(passes.map(|pass| probe.tokens(pass.characters)));
    let most = passes.map(|pass| pass.calls * run.recording.method.settings.max_tokens);
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
