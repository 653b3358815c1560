//! The examination: does this document state that this value is the answer? The documents are screened in the same stage.

use super::screen;
use super::values::Value;
use crate::error::Result;
use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::CHOICE;
use crate::protocol::passages::shown;
use crate::protocol::scored::{TOKENS, TOP, log_odds, probability};
use crate::protocol::{Ask, Ctx};
use crate::question::Question;
use crate::transcript::CallRecord;
use serde_json::json;

/// Its prompt.
pub(super) const EXAMINER: File = prompt_file!("moot/examiner.jinja");

const OPTIONS: [&str; 2] = ["yes", "no"];

/// Documents with a question, an answer that the document states and one that it does not. One model says yes to nearly all of them,
/// another to none: the mean of their log-odds is the level above which a yes counts (contextual calibration, arXiv 2102.09690).
const PROBES: [[&str; 4]; 2] = [
    [
        "The Corran Bridge is a stone arch bridge over the Leithe. It was designed by Anna Weir and opened on 3 May 1884. A tram \
         ran across it until 1931.",
        "When was Corran Bridge opened?",
        "3 May 1884",
        "1931",
    ],
    [
        "Harlan Vey (3 March 1871 – 9 May 1934) was a Danish landscape painter and etcher. His brother Otto was a lawyer in Aarhus.",
        "What is Harlan Vey's occupation?",
        "landscape painter",
        "lawyer",
    ],
];

/// The result of examining a value.
pub(super) struct Examined {
    /// The log-odds of yes in the surest of its documents, less the mean of the probes.
    pub(super) own: f64,
    /// The excess of its least steering document (see [`screen`]).
    pub(super) steering: f64,
}

/// The subject of a call.
#[derive(Clone, Copy)]
enum Asked {
    Probe,
    /// Unit of documents.
    Screen(usize),
    /// Unit of documents, value.
    Cell(usize, usize),
}

/// Examines each value in the documents that give it. Of documents that are copies of each other the first is examined.
pub(super) fn all(
    question: &Question,
    values: &[Value],
    units: &[Vec<usize>],
    ctx: &mut Ctx<'_>,
) -> Result<Vec<Examined>> {
    let probes = PROBES.iter().flat_map(|&[document, asked, stated, other]| {
        [(stated, "probe, stated"), (other, "probe, not stated")]
            .map(|(candidate, about)| (Asked::Probe, ask(document, asked, candidate).about(about)))
    });
    // The calls of one document are adjacent: they share its prefix.
    let of_unit = |(unit, numbers): (usize, &Vec<usize>)| {
        let gives = |value: &Value| numbers.iter().find(|number| value.documents.contains(number)).copied();
        let screened =
            values.iter().filter_map(gives).min().map(|number| (Asked::Screen(unit), screen::ask(question, number)));
        let cells = values
            .iter()
            .enumerate()
            .filter_map(|(index, value)| Some((Asked::Cell(unit, index), of_cell(question, gives(value)?, value))));
        screened.into_iter().chain(cells).collect::<Vec<_>>()
    };
    let (asked, asks): (Vec<Asked>, Vec<Ask>) = probes.chain(units.iter().enumerate().flat_map(of_unit)).unzip();
    let replies = ctx.ask_all(&asks)?;
    Ok(found(values.len(), &asked, &replies))
}

/// The outcome for each value, from the replies in the order of `asked`.
fn found(values: usize, asked: &[Asked], replies: &[CallRecord]) -> Vec<Examined> {
    // Without a bound here: the level is subtracted first, and the features bound the difference.
    let yes = |call: &CallRecord| log_odds(probability(call, OPTIONS), f64::INFINITY);
    let both = || asked.iter().copied().zip(replies);
    let probes: Vec<f64> =
        both().filter(|(asked, _)| matches!(asked, Asked::Probe)).map(|(_, call)| yes(call)).collect();
    let level = probes.iter().sum::<f64>() / probes.len() as f64;
    let screened: Vec<(usize, f64)> = both()
        .filter_map(|(asked, call)| match asked {
            Asked::Screen(unit) => Some((unit, screen::steering(call)?)),
            _ => None,
        })
        .collect();
    let excess = screen::excess(&screened.iter().map(|&(_, steering)| steering).collect::<Vec<_>>());
    let excess_of = |unit: usize| screened.iter().zip(&excess).find(|((known, _), _)| *known == unit).map(|(_, &x)| x);
    let of_value = |value: usize| {
        let cells = || {
            both().filter_map(move |(asked, call)| match asked {
                Asked::Cell(unit, own) if own == value => Some((unit, call)),
                _ => None,
            })
        };
        Examined {
            own: cells().map(|(_, call)| yes(call)).fold(f64::NEG_INFINITY, f64::max) - level,
            steering: cells().filter_map(|(unit, _)| excess_of(unit)).reduce(f64::min).unwrap_or(0.0),
        }
    };
    (0..values).map(of_value).collect()
}

fn of_cell(question: &Question, number: usize, value: &Value) -> Ask {
    ask(&shown(&question.documents[number]), &question.text, &value.text).document(number).about(value.text.as_str())
}

fn ask(document: &str, question: &str, candidate: &str) -> Ask {
    let asked = json!({ "question": question, "document": document, "candidate": candidate });
    let logprobs = Logprobs { top: TOP, ..Logprobs::default() };
    Ask::new("examiner", EXAMINER, asked, &CHOICE).round(2).options(OPTIONS).max_tokens(TOKENS).logprobs(logprobs)
}
