//! An assessment on a terminal.

use crate::assess::Neither;
use crate::assess::assessment::{Assessment, Claim, Evidence, Source, counts, number, tally};
use crate::cli::terminal::columns::{pad, printable, shorten, width, wrap};
use crate::cli::terminal::output;
use crate::generation::Usage;
use crate::methods::conflict_score::ROW;
use crate::transcript::QuestionRecord;
use anstyle::{AnsiColor, Style};

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const FOR: Style = AnsiColor::Green.on_default();
const AGAINST: Style = AnsiColor::Red.on_default();

/// Columns before the evidence of a claim.
const MARGIN: usize = 4;

/// An assessment as `moot record show` prints it, and whether it is all that the record holds: some methods also answer.
pub(super) fn shown(record: &QuestionRecord) -> Option<(String, bool)> {
    let assessment = Assessment::of(record, Neither::LeftOut)?;
    let alone = record.calls.iter().all(|call| ROW.all_roles().any(|role| role == call.role));
    Some((page(&assessment, record, output::columns()), alone))
}

/// The page, `columns` wide: the text, every claim with its evidence, the scores, the documents, the cost.
pub(super) fn page(assessment: &Assessment, record: &QuestionRecord, columns: usize) -> String {
    let columns = columns.max(40);
    let mut text = String::new();
    if !assessment.question.trim().is_empty() {
        text.push_str(&block(&printable(&assessment.question), 0, columns, STRONG));
    }
    for response in &assessment.responses {
        let lines = response.lines().map(printable).filter(|line| !line.is_empty());
        lines.for_each(|line| text.push_str(&block(&line, 2, columns, FAINT)));
    }
    for (number, claim) in (1..).zip(&assessment.claims) {
        text.push('\n');
        text.push_str(&one(assessment, number, claim, columns));
    }
    if assessment.claims.is_empty() {
        text.push_str("\nno claims were found\n");
    }
    for note in &assessment.notes {
        text.push_str(&block(&format!("note: {}", printable(note)), 0, columns, FAINT));
    }
    text.push_str(&scores(assessment));
    text.push_str(&format!("\n{STRONG}Documents{STRONG:#}\n"));
    assessment.documents.iter().for_each(|document| text.push_str(&source(document, columns)));
    text + &cost(record)
}

/// Wrapped lines from column `margin` on.
fn block(text: &str, margin: usize, columns: usize, style: Style) -> String {
    let lines = wrap(text, columns - margin);
    lines.iter().map(|line| format!("{}{style}{line}{style:#}\n", " ".repeat(margin))).collect()
}

fn one(assessment: &Assessment, number: usize, claim: &Claim, columns: usize) -> String {
    let label = pad(&number.to_string(), MARGIN);
    let from = claim.from.map(|number| format!("  (from {})", name(assessment, number))).unwrap_or_default();
    let lines = wrap(&(printable(&claim.text) + &from), columns - width(&label));
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let before = if i == 0 { label.clone() } else { " ".repeat(width(&label)) };
        text.push_str(&format!("{before}{STRONG}{line}{STRONG:#}\n"));
    }
    if let Some(newest) = &claim.newest {
        let style = if newest.contradicted { AGAINST } else { FOR };
        text.push_str(&block(&printable(&newest.words()), MARGIN, columns, style));
    }
    let mut shown = 0;
    if let Some((for_it, against)) = claim.pair() {
        text.push_str(&block(&format!("conflict: {}", claim.tally()), MARGIN, columns, AGAINST));
        text.push_str(&side_by_side(assessment, for_it, against, columns));
        shown = 1;
    } else if !claim.supporters.is_empty() || !claim.contradictors.is_empty() {
        text.push_str(&block(&claim.tally(), MARGIN, columns, FAINT));
    }
    for (word, style, evidence) in [("for", FOR, &claim.supporters), ("against", AGAINST, &claim.contradictors)] {
        for evidence in evidence.iter().skip(shown) {
            text.push_str(&entry(assessment, word, style, evidence, columns));
        }
    }
    if claim.supporters.is_empty() && claim.contradictors.is_empty() {
        text.push_str(&block("no document supports or contradicts it", MARGIN, columns, FAINT));
    }
    for unsupported in &claim.unsupported {
        let said =
            format!("unsupported: {}, {}", name(assessment, unsupported.document), printable(&unsupported.why()));
        text.push_str(&block(&said, MARGIN, columns, FAINT));
    }
    text
}

/// "for  2 notes.md, line 3: “...”", and the reason below.
fn entry(assessment: &Assessment, word: &str, style: Style, evidence: &Evidence, columns: usize) -> String {
    let margin = MARGIN + 9;
    let quoted = format!("{}: {}", location(assessment, evidence), evidence.words(printable));
    let lines = wrap(&quoted, columns - margin);
    let label = format!("{}{style}{}{style:#}", " ".repeat(MARGIN), pad(word, 9));
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let before = if i == 0 { label.clone() } else { " ".repeat(margin) };
        text.push_str(&format!("{before}{line}\n"));
    }
    if !evidence.reason.is_empty() {
        text.push_str(&block(&printable(&evidence.reason), margin, columns, FAINT));
    }
    text
}

/// Two columns: a supporter's words and a contradictor's.
fn side_by_side(assessment: &Assessment, for_it: &Evidence, against: &Evidence, columns: usize) -> String {
    const BETWEEN: &str = " │ ";
    let room = (columns - MARGIN - BETWEEN.chars().count()) / 2;
    let column = |word: &str, style: Style, evidence: &Evidence| -> Vec<(Style, String)> {
        let head = wrap(&format!("{word}: {}", location(assessment, evidence)), room);
        let quote = wrap(&evidence.words(printable), room);
        let reason = if evidence.reason.is_empty() { Vec::new() } else { wrap(&printable(&evidence.reason), room) };
        let styled = |style: Style, lines: Vec<String>| lines.into_iter().map(move |line| (style, line));
        styled(style, head).chain(styled(Style::new(), quote)).chain(styled(FAINT, reason)).collect()
    };
    let (left, right) = (column("for", FOR, for_it), column("against", AGAINST, against));
    let mut text = String::new();
    for i in 0..left.len().max(right.len()) {
        let empty = (Style::new(), String::new());
        let ((a, left), (b, right)) = (left.get(i).unwrap_or(&empty), right.get(i).unwrap_or(&empty));
        let gap = " ".repeat(room.saturating_sub(width(left)));
        let line = format!("{}{a}{left}{a:#}{gap}{BETWEEN}{b}{right}{b:#}", " ".repeat(MARGIN));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// "2 notes.md, line 3".
fn location(assessment: &Assessment, evidence: &Evidence) -> String {
    let published = assessment.published(evidence.document).iter().map(|known| printable(known)).collect();
    [vec![name(assessment, evidence.document)], published, evidence.details()].concat().join(", ")
}

fn name(assessment: &Assessment, number: usize) -> String {
    format!("{number} {}", shorten(&printable(assessment.name(number)), 30))
}

fn scores(assessment: &Assessment) -> String {
    let scores = &assessment.scores;
    let in_mean = if assessment.neither == Neither::Zero { "counted as 0" } else { "left out" };
    format!(
        "\n{}\n\
         {STRONG}CS-C{STRONG:#}  {}  claims with both / claims\n\
         {STRONG}CS-R{STRONG:#}  {}  contradictors of supporters and contradictors, mean over claims; those without \
         evidence {in_mean}\n{}\n",
        tally(scores),
        number(scores.cs_c),
        number(scores.cs_r),
        counts(assessment)
    )
}

fn source(document: &Source, columns: usize) -> String {
    let details: Vec<String> = document.details().map(|detail| printable(&detail)).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    block(&format!("{} {}{details}", document.number, printable(&document.name)), 2, columns, Style::new())
}

fn cost(record: &QuestionRecord) -> String {
    let mut usage = Usage::default();
    record.calls.iter().for_each(|call| usage += call.usage);
    format!(
        "\n{} calls: {} prompt tokens ({} reused, {} computed), {} generated; {:.1} s\n",
        record.calls.len(),
        usage.prompt,
        usage.reused,
        usage.computed,
        usage.generated,
        record.seconds
    )
}
