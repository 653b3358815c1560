//! An assessment as Markdown.

use super::assessment::{Assessment, Claim, Evidence, counts, number};
use crate::escape;
use std::fmt::Write;

/// The page: scores, then every claim with its evidence, then the documents.
#[must_use]
pub fn page(assessment: &Assessment) -> String {
    let scores = &assessment.scores;
    let mut page = String::from("# Claims and evidence\n\n");
    if !assessment.question.trim().is_empty() {
        let _ = writeln!(page, "Question: {}\n", inline(&assessment.question));
    }
    for response in &assessment.responses {
        response.lines().for_each(|line| {
            let _ = writeln!(page, "> {}", inline(line));
        });
        page.push('\n');
    }
    page.push_str("| claims | supported | contradicted | both | without evidence | CS-C | CS-R |\n|---|---|---|---|---|---|---|\n");
    let (cs_c, cs_r) = (number(scores.cs_c), number(scores.cs_r));
    let counts_of = [scores.claims, scores.supported, scores.contradicted, scores.conflicting, scores.neither];
    let cells = counts_of.map(|count| count.to_string()).join(" | ");
    let _ = writeln!(page, "| {cells} | {cs_c} | {cs_r} |\n");
    let _ = writeln!(page, "{}\n", counts(assessment));
    for note in &assessment.notes {
        let _ = writeln!(page, "Note: {}\n", inline(note));
    }
    if assessment.claims.is_empty() {
        page.push_str("No claims were found\n\n");
    }
    for (number, claim) in (1..).zip(&assessment.claims) {
        page.push_str(&section(assessment, number, claim));
    }
    page.push_str("## Documents\n\n");
    for document in &assessment.documents {
        let details: Vec<String> = document.details().map(|detail| inline(&detail)).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        let _ = writeln!(page, "{}. {}{details}", document.number, inline(&document.name));
    }
    page
}

fn section(assessment: &Assessment, number: usize, claim: &Claim) -> String {
    let from = claim.from.map(|number| format!(" (from {})", inline(assessment.name(number)))).unwrap_or_default();
    let conflict = if claim.conflict { " **conflict**" } else { "" };
    let mut text = format!("## {number}. {}{from}\n\n", inline(&claim.text));
    if let Some((for_it, against)) = claim.pair() {
        let _ = writeln!(text, "| for | against |\n|---|---|\n| {} | {} |\n", cell(for_it), cell(against));
    }
    let _ = writeln!(
        text,
        "Supported by {}, contradicted by {}{conflict}\n",
        claim.supporters.len(),
        claim.contradictors.len()
    );
    if let Some(newest) = &claim.newest {
        let _ = writeln!(text, "{}\n", inline(&newest.words()));
    }
    for (sign, evidence) in [("for", &claim.supporters), ("against", &claim.contradictors)] {
        for evidence in evidence {
            let name = inline(assessment.name(evidence.document));
            let published = assessment.published(evidence.document).iter().map(|known| inline(known)).collect();
            let place = [vec![name], published, evidence.details()].concat().join(", ");
            let _ = writeln!(text, "- {sign}: {place}: {}", evidence.words(inline));
            if !evidence.reason.is_empty() {
                let _ = writeln!(text, "  {}", inline(&evidence.reason));
            }
        }
    }
    for unsupported in &claim.unsupported {
        let name = inline(assessment.name(unsupported.document));
        let _ = writeln!(text, "- unsupported: {name}, {}", inline(&unsupported.why()));
    }
    text.push('\n');
    text
}

fn cell(evidence: &Evidence) -> String {
    format!("{} ({})", evidence.words(inline), evidence.document)
}

/// Text in which nothing is markup, on one line.
pub(crate) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape::line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '#' | '|' | '!' | '~' | '+' | '-' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
