//! The result of a run, in lines on standard error.

use crate::cli::terminal::columns::printable;
use crate::cli::terminal::progress::tell;
use crate::error::MootError;
use crate::eval::answers::Outcome;
use crate::eval::runner::Progress;
use crate::units::plural;
use crate::workspace::RunReport;
use std::path::Path;

/// Prints each report; the first error of questions that were not answered.
pub(in crate::cli) fn print_reports(reports: Vec<RunReport>) -> Option<MootError> {
    let mut unanswered = None;
    for report in reports {
        let output = report.output.display();
        tell(&summary(&report.progress));
        tell(&format!("recorded in {output}; `moot score {output}` scores it"));
        if let Some((path, outcomes)) = &report.answers {
            tell(&answered(path, outcomes));
        }
        unanswered = unanswered.or(report.unanswered);
    }
    unanswered
}

/// The line on a table of answers.
fn answered(path: &Path, outcomes: &[Outcome]) -> String {
    let count = |wanted: Outcome| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    let kinds = [(Outcome::Unknown, "unknown"), (Outcome::Malformed, "malformed"), (Outcome::Error, "failed")];
    let others = kinds.map(|(outcome, name)| (count(outcome), name)).into_iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, name)| format!(", {count} {name}")).collect();
    let path = printable(&path.display().to_string());
    format!("{path}: {} of {} questions answered{others}", count(Outcome::Answered), outcomes.len())
}

/// The counts of a run: questions, calls, tokens.
fn summary(progress: &Progress) -> String {
    let new = progress.done - progress.before;
    let earlier = if progress.before > 0 { format!(" ({} recorded before)", progress.before) } else { String::new() };
    let journal = match progress.from_journal {
        0 => String::new(),
        calls => format!(" ({calls} from the journal)"),
    };
    let taken_over = match progress.taken_over {
        0 => String::new(),
        calls => format!(" ({calls} took the reply of an equal call)"),
    };
    format!(
        "{}{earlier} in {:.1} s: {}{journal}{taken_over}, {}, {}, {} tokens in ({} reused), {} out",
        plural(new, "question", "questions"),
        progress.elapsed.as_secs_f64(),
        plural(progress.calls, "call", "calls"),
        plural(progress.malformed, "malformed reply", "malformed replies"),
        plural(progress.errors, "error", "errors"),
        progress.usage.prompt,
        progress.usage.reused,
        progress.usage.generated
    )
}
