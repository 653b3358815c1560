//! The report as one self-contained HTML page.

use super::markdown::head;
use crate::assess::html::{frame, text};
use crate::contradictions::findings::{Finding, Side, Statement, in_brackets};
use crate::contradictions::report::Report;
use std::fmt::Write;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c1e21;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin:2rem 0 .5rem;border-bottom:1px solid #ddd}h3{font-size:1rem;margin:1rem 0 .3rem}
body{overflow-wrap:anywhere}.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(16rem,1fr));gap:1rem}
.side{padding:.6rem 1rem;border-radius:.3rem;background:#eef3fa}.odd{background:#fbe9e7}.note{color:#555;font-size:.9rem}
blockquote{margin:.4rem 0}.chance{color:#a32018;font-weight:600}
@media(prefers-color-scheme:dark){body{background:#16181a;color:#e6e6e6}.side{background:#1c2936}.odd{background:#41201d}
h2{border-color:#4a4d50}.chance{color:#ff8a80}.note{color:#aaa}}";

/// The page: findings by subject, then the documents.
#[must_use]
pub fn page(report: &Report) -> String {
    let mut body = format!("<h1>Contradictions</h1>\n<p>{}</p>\n", text(&report.told()));
    for note in &report.notes {
        let _ = writeln!(body, "<p class=\"note\">{}</p>", text(note));
    }
    for group in &report.groups {
        let _ = writeln!(body, "<h2>{}</h2>", text(&group.subject));
        group.findings.iter().for_each(|finding| body.push_str(&section(finding)));
    }
    body.push_str("<h2>Documents</h2>\n<ol>\n");
    for document in &report.documents {
        let details = in_brackets([&document.source, &document.date], text);
        let copies: Vec<String> = document.copies.iter().map(|copy| text(copy)).collect();
        let copies = if copies.is_empty() { String::new() } else { format!("; copies: {}", copies.join(", ")) };
        let _ = writeln!(body, "<li>{}<span class=\"note\">{details}{copies}</span></li>", text(&document.file));
    }
    body.push_str("</ol>\n");
    frame("Contradictions", STYLE, &body)
}

fn section(finding: &Finding) -> String {
    let (kind, probability) = (finding.kind.told(), finding.probability);
    let mut html =
        format!("<h3>{kind} <span class=\"chance\">probability {probability:.2}</span></h3>\n<div class=\"sides\">\n");
    finding.sides.iter().for_each(|side| html.push_str(&column(side)));
    html.push_str("</div>\n");
    html
}

fn column(side: &Side) -> String {
    let class = if side.odd { "side odd" } else { "side" };
    let quotes: String = side.statements.iter().map(quote).collect();
    format!("<div class=\"{class}\"><b>{}</b>\n{quotes}</div>\n", text(&head(side)))
}

fn quote(statement: &Statement) -> String {
    let details = statement.in_brackets(text);
    let position = text(&statement.position());
    format!(
        "<blockquote>“{}”<br><span class=\"note\">{position}{details}</span></blockquote>\n",
        text(&statement.quote)
    )
}
