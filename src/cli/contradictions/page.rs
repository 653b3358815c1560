//! The report for a terminal.

use crate::cli::terminal::columns::{printable, width, wrap};
use crate::contradictions::{Finding, Report, Side, Statement};
use anstyle::{AnsiColor, Style};

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const CHANCE: Style = AnsiColor::Red.on_default();

/// Indentation of the lines below a heading.
const MARGIN: usize = 2;

/// The page, `columns` wide.
pub(super) fn page(report: &Report, columns: usize) -> String {
    let columns = columns.max(40);
    let mut text = String::new();
    for group in &report.groups {
        text.push_str(&format!("{STRONG}{}{STRONG:#}\n", printable(&group.subject)));
        group.findings.iter().for_each(|finding| text.push_str(&one(finding, columns)));
        text.push('\n');
    }
    text + &format!("{}\n", report.told())
}

fn one(finding: &Finding, columns: usize) -> String {
    let head = format!("{:.2}  {}", finding.probability, finding.kind.told());
    let mut text = format!("{}{CHANCE}{head}{CHANCE:#}\n", " ".repeat(MARGIN));
    match finding.sides.as_slice() {
        [left, right] => text.push_str(&beside(left, right, columns)),
        sides => {
            for side in sides {
                let lines = lines(side, columns - 2 * MARGIN);
                lines.iter().for_each(|line| text.push_str(&format!("{}{}\n", " ".repeat(2 * MARGIN), styled(line))));
            }
        }
    }
    text
}

type Line = (Style, String);

fn styled((style, text): &Line) -> String {
    format!("{style}{text}{style:#}")
}

/// Two sides in columns.
fn beside(left: &Side, right: &Side, columns: usize) -> String {
    const BETWEEN: &str = " │ ";
    let room = (columns - 2 * MARGIN - BETWEEN.chars().count()) / 2;
    let (left, right) = (lines(left, room), lines(right, room));
    let mut text = String::new();
    for i in 0..left.len().max(right.len()) {
        let empty: Line = (Style::new(), String::new());
        let (own, other) = (left.get(i).unwrap_or(&empty), right.get(i).unwrap_or(&empty));
        let gap = " ".repeat(room.saturating_sub(width(&own.1)));
        let line = format!("{}{}{gap}{BETWEEN}{}", " ".repeat(2 * MARGIN), styled(own), styled(other));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A side: its values, then each statement with its position.
fn lines(side: &Side, room: usize) -> Vec<Line> {
    let mut head = side.values.join(", ");
    for (is, word) in [(side.odd, "the odd one out"), (side.newest, "newest")] {
        if is {
            head = if head.is_empty() { word.to_owned() } else { format!("{head} ({word})") };
        }
    }
    let block =
        |text: &str, style: Style| wrap(&printable(text), room).into_iter().map(move |line| (style, line)).collect();
    let mut all: Vec<Line> = if head.is_empty() { Vec::new() } else { block(&head, STRONG) };
    for statement in &side.statements {
        all.extend::<Vec<Line>>(block(&format!("“{}”", statement.quote), Style::new()));
        all.extend::<Vec<Line>>(block(&place(statement), FAINT));
    }
    all
}

/// "notes/a.md:12 (Harbour Board, 2019-03)".
fn place(statement: &Statement) -> String {
    format!("{}{}", statement.position(), statement.in_brackets(str::to_owned))
}
