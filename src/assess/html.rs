//! An assessment as one self-contained HTML page: no script, no address is opened.

use super::assessment::{Assessment, Claim, Evidence, Source, counts, number};
use crate::escape;
use std::fmt::Write;
use std::ops::Range;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff;
overflow-wrap:anywhere}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .5rem;border-top:1px solid #ccc;padding-top:1rem}
blockquote{margin:0 0 1rem;padding:.5rem 1rem;border-left:3px solid #999;white-space:pre-wrap}
table{border-collapse:collapse}td,th{padding:.2rem .8rem;border:1px solid #ccc;text-align:left}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1rem}.pair div{padding:.6rem 1rem;border-radius:.3rem}
.for{background:#e7f5ea}.against{background:#fbe9e7}.conflict{color:#a32018;font-weight:600}
.note,.reason,.unsupported{color:#555;font-size:.9rem}ul{padding-left:1.2rem}li{margin:.4rem 0}td,th{overflow-wrap:normal}
pre{white-space:pre-wrap;font:inherit}mark{background:#fff0b3}
@media(max-width:40rem){.pair{grid-template-columns:1fr}table{font-size:.85rem}td,th{padding:.2rem .4rem}}
@media(prefers-color-scheme:dark){body{background:#16181a;color:#e6e6e6}.for{background:#173522}.against{background:#41201d}
h2,td,th{border-color:#4a4d50}.conflict{color:#ff8a80}.note,.reason,.unsupported{color:#aaa}mark{background:#5c4d00;color:inherit}}";

/// The page: scores, every claim with its evidence, and the documents with all quotes marked.
#[must_use]
pub fn page(assessment: &Assessment) -> String {
    let mut body = String::from("<h1>Claims and evidence</h1>\n");
    if !assessment.question.trim().is_empty() {
        let _ = writeln!(body, "<p>{}</p>", text(&assessment.question));
    }
    for response in &assessment.responses {
        let _ = writeln!(body, "<blockquote>{}</blockquote>", text(response));
    }
    body.push_str(&numbers(assessment));
    for note in &assessment.notes {
        let _ = writeln!(body, "<p class=\"unsupported\">{}</p>", text(note));
    }
    if assessment.claims.is_empty() {
        body.push_str("<p>no claims were found</p>\n");
    }
    for (number, claim) in (1..).zip(&assessment.claims) {
        body.push_str(&section(assessment, number, claim));
    }
    body.push_str("<h2>Documents</h2>\n");
    assessment.documents.iter().for_each(|document| body.push_str(&source(assessment, document)));
    frame("Claims and evidence", STYLE, &body)
}

/// A page with this title, these styles and this body; the browser opens no address and runs no script of it.
pub(crate) fn frame(title: &str, style: &str, body: &str) -> String {
    // The style stands in the page, which has no other file: it is all that the policy allows.
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{style}\n</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

fn numbers(assessment: &Assessment) -> String {
    let scores = &assessment.scores;
    format!(
        "<table><tr><th>claims</th><th>supported</th><th>contradicted</th><th>both</th><th>without evidence</th>\
         <th>CS-C</th><th>CS-R</th></tr>\n<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td></tr></table>\n<p class=\"note\">{}</p>\n",
        scores.claims,
        scores.supported,
        scores.contradicted,
        scores.conflicting,
        scores.neither,
        number(scores.cs_c),
        number(scores.cs_r),
        text(&counts(assessment))
    )
}

fn section(assessment: &Assessment, number: usize, claim: &Claim) -> String {
    let mut html = format!("<h2>{number}. {}", text(&claim.text));
    if let Some(number) = claim.from {
        let _ = write!(html, " <span class=\"note\">from {}</span>", text(assessment.name(number)));
    }
    html.push_str("</h2>\n");
    if claim.conflict {
        let _ = writeln!(html, "<p class=\"conflict\">conflict: {}</p>", claim.tally());
    } else if !claim.supporters.is_empty() || !claim.contradictors.is_empty() {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", claim.tally());
    }
    if let Some(newest) = &claim.newest {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", text(&newest.words()));
    }
    if let Some((for_it, against)) = claim.pair() {
        html.push_str("<div class=\"pair\">\n");
        for (class, evidence) in [("for", for_it), ("against", against)] {
            // In words too, because not every reader sees colours.
            let _ = writeln!(html, "<div class=\"{class}\"><b>{class}</b> {}</div>", quote(assessment, evidence));
        }
        html.push_str("</div>\n");
    }
    // The first of each list is shown in the pair above.
    let in_pair = usize::from(claim.pair().is_some());
    for (label, class, evidence) in
        [("supports", "for", &claim.supporters), ("contradicts", "against", &claim.contradictors)]
    {
        let rest = evidence.iter().skip(in_pair);
        let items: String = rest
            .map(|evidence| {
                format!("<li><span class=\"{class}\">{label}</span> {}</li>\n", quote(assessment, evidence))
            })
            .collect();
        if !items.is_empty() {
            let _ = writeln!(html, "<ul>\n{items}</ul>");
        }
    }
    if claim.supporters.is_empty() && claim.contradictors.is_empty() {
        html.push_str("<p class=\"note\">no document supports or contradicts it</p>\n");
    }
    for unsupported in &claim.unsupported {
        let (name, why) = (text(assessment.name(unsupported.document)), text(&unsupported.why()));
        let _ = writeln!(html, "<p class=\"unsupported\">unsupported: {name}, {why}</p>");
    }
    html
}

fn quote(assessment: &Assessment, evidence: &Evidence) -> String {
    let number = evidence.document;
    let start = evidence.quote.as_ref().map(|quote| format!("-{}", quote.characters.start)).unwrap_or_default();
    let name = vec![assessment.name(number).to_owned()];
    let place = [name, assessment.published(number), evidence.details()].concat().join(", ");
    let words = evidence.words(text);
    let mut html = format!("{words}<br><a class=\"note\" href=\"#d{number}{start}\">{}</a>", text(&place));
    if !evidence.reason.is_empty() {
        let _ = write!(html, "<br><span class=\"reason\">{}</span>", text(&evidence.reason));
    }
    html
}

/// A document, folded up, with its quotes marked.
fn source(assessment: &Assessment, document: &Source) -> String {
    let details: Vec<String> = document.details().map(|detail| text(&detail)).collect();
    let evidence = assessment.claims.iter().flat_map(|claim| claim.supporters.iter().chain(&claim.contradictors));
    let quotes = evidence.filter(|evidence| evidence.document == document.number);
    let ranges = quotes.filter_map(|evidence| Some(evidence.quote.as_ref()?.characters.clone()));
    let mut ranges: Vec<Range<usize>> = ranges.collect();
    ranges.sort_by_key(|range| (range.start, range.end));
    format!(
        "<details id=\"d{0}\" open><summary>{0}. {1} <span class=\"note\">{2}</span></summary><pre>{3}</pre></details>\n",
        document.number,
        text(&document.name),
        details.join(", "),
        marked(document.number, &document.text, &ranges)
    )
}

/// A text with the ranges of characters marked, each with an anchor; `ranges` are in order and may overlap.
fn marked(number: usize, document: &str, ranges: &[Range<usize>]) -> String {
    let characters: Vec<char> = document.chars().collect();
    let part = |range: Range<usize>| {
        // Of overlapping quotes the range between them ends before it begins; slicing it would panic.
        let end = range.end.min(characters.len());
        text(&characters[range.start.min(end)..end].iter().collect::<String>())
    };
    let (mut html, mut at, mut anchor) = (String::new(), 0, None);
    for range in ranges {
        html.push_str(&part(at..range.start));
        // Equal positions have one anchor; text that an earlier quote marked is not repeated.
        let id = if anchor == Some(range.start) { String::new() } else { format!(" id=\"d{number}-{}\"", range.start) };
        anchor = Some(range.start);
        let _ = write!(html, "<mark{id}>{}</mark>", part(at.max(range.start)..range.end));
        at = at.max(range.end);
    }
    html + &part(at..characters.len())
}

/// Text without markup and without control characters; lines stay.
pub(crate) fn text(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in escape::lines(text).chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}
