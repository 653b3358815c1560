//! The report as Markdown.

use crate::assess::markdown::inline;
use crate::contradictions::findings::{Finding, Side, Statement, in_brackets};
use crate::contradictions::report::Report;
use std::fmt::Write;

/// The page: findings by subject, then the documents.
#[must_use]
pub fn page(report: &Report) -> String {
    let mut page = format!("# Contradictions\n\n{}\n\n", inline(&report.told()));
    for note in &report.notes {
        let _ = writeln!(page, "- {}", inline(note));
    }
    for group in &report.groups {
        let _ = writeln!(page, "\n## {}\n", inline(&group.subject));
        group.findings.iter().for_each(|finding| page.push_str(&section(finding)));
    }
    page.push_str("\n## Documents\n\n");
    for (number, document) in (1..).zip(&report.documents) {
        let details = in_brackets([&document.source, &document.date], inline);
        let _ = writeln!(page, "{number}. {}{details}", inline(&document.file));
    }
    page
}

fn section(finding: &Finding) -> String {
    let mut text = format!("### {}, probability {:.2}\n\n", finding.kind.told(), finding.probability);
    let heads: Vec<String> = finding.sides.iter().map(|side| inline(&head(side))).collect();
    let _ = writeln!(text, "| {} |\n|{}", heads.join(" | "), "---|".repeat(heads.len()));
    let most = finding.sides.iter().map(|side| side.statements.len()).max().unwrap_or_default();
    for row in 0..most {
        let cell = |side: &Side| side.statements.get(row).map(cell).unwrap_or_default();
        let cells: Vec<String> = finding.sides.iter().map(cell).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
    text
}

/// "240 seats (the odd one out)": a side's values and marks.
pub(in crate::contradictions) fn head(side: &Side) -> String {
    let mut head = if side.values.is_empty() { "says".to_owned() } else { side.values.join(", ") };
    if side.odd {
        head.push_str(" (the odd one out)");
    }
    if side.newest {
        head.push_str(" (newest)");
    }
    head
}

fn cell(statement: &Statement) -> String {
    let details = statement.in_brackets(inline);
    format!("“{}” {}{details}", inline(&statement.quote), inline(&statement.position()))
}
