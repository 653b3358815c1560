//! Pages: everything is shown, and no document's text is markup.

use super::claim;
use crate::prompts::golden;
use moot::assess::assessment::Unsupported;
use moot::assess::{Assessment, Neither, html, markdown};
use moot::question::{Conclusion, Document, DocumentLabel, JudgedClaim, Question, Quote};
use moot::transcript::QuestionRecord;

/// Text that would be markup, a script, an address, or steer a terminal.
const HOSTILE: &str =
    "<script>alert(1)</script> [x](javascript:y) ![i](http://z) \"'&amp; </pre></mark> | # * \u{1b}[2J\u{202e}";

fn quote(document: &str, text: &str) -> Quote {
    let start = document[..document.find(text).unwrap()].chars().count();
    Quote { text: text.into(), characters: start..start + text.chars().count() }
}

/// Two documents that contradict each other about a bridge, one of them hostile, and a silent third.
fn record() -> QuestionRecord {
    let texts = ["The bridge of Žilina\nopened in 1931.", &format!("It opened in 1947. {HOSTILE}"), "Soup is served."];
    let documents = texts.iter().zip(["council.txt", HOSTILE, "soup.txt"]).map(|(text, name)| Document {
        name: name.into(),
        text: (*text).into(),
        source: Some("archive".into()),
        ..Document::default()
    });
    let documents: Vec<Document> = documents.collect();
    let mut opened: JudgedClaim = claim("The bridge opened in 1931.", "+-0");
    let quoted = |label: &mut DocumentLabel, text: &str, reason: &str| {
        label.quote = Some(quote(&documents[label.document].text, text));
        label.reason = reason.into();
    };
    quoted(&mut opened.labels[0], "opened in 1931.", "The same year.");
    let hostile = documents[1].text.clone();
    quoted(&mut opened.labels[1], &hostile, "Another year <b>.");
    let other = claim("It is a bridge <i>of stone</i>.", "?!x");
    let conclusion = Conclusion { claims: Some(vec![opened, other]), ..Conclusion::default() };
    let responses = vec!["The bridge opened in 1931.\nIt is a bridge <i>of stone</i>.".into()];
    let question = Question { id: "asked".into(), text: "When?".into(), documents, responses, ..Question::default() };
    QuestionRecord { question, conclusion: Some(conclusion), ..QuestionRecord::default() }
}

#[test]
fn an_assessment_has_every_claim_with_the_origins_of_its_quotes() {
    let found = Assessment::of(&record(), Neither::LeftOut).unwrap();
    let first = &found.claims[0];
    assert!(first.conflict && first.supporters.len() == 1 && first.contradictors.len() == 1);
    assert_eq!((first.supporters[0].document, first.supporters[0].line), (1, Some(2)));
    assert_eq!(first.supporters[0].quote.as_ref().unwrap().characters, 21..36);
    assert_eq!((first.contradictors[0].document, first.irrelevant.as_slice()), (2, &[3][..]));
    let why: Vec<String> = found.claims[1].unsupported.iter().map(Unsupported::why).collect();
    assert_eq!(why[0], "labelled as contradicting, but the quote is not in the document: \"never said\"");
    assert_eq!(why[2], "no label: the server is gone");
    assert_eq!(found.labelled_by, [("labeller".to_owned(), 6)]);
    assert_eq!((found.scores.cs_c, found.scores.cs_r), (Some(0.5), Some(0.5)));
    let scores = &found.scores;
    assert_eq!((scores.supported, scores.contradicted, scores.conflicting, scores.neither), (0, 0, 1, 1));
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["claims"][0]["supporters"][0]["quote"]["text"], "opened in 1931.");
    assert!(json["documents"][0].get("text").is_none(), "the documents are the reader's own");
    let unlabelled = QuestionRecord { conclusion: Some(Conclusion::default()), ..record() };
    assert_eq!(Assessment::of(&unlabelled, Neither::LeftOut), None);
}

#[test]
fn the_html_page_holds_no_markup_of_a_document() {
    let page = html::page(&Assessment::of(&record(), Neither::LeftOut).unwrap());
    golden("assess/page.html", &page);
    assert!(page.contains("conflict: 1 for, 1 against, 1 irrelevant"), "{page}");
    for forbidden in ["<script", "year <b>", "<i>", "http://z\"", "\u{1b}", "\u{202e}", "src=", "</pre></mark>"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    // Only anchors of the page itself are opened.
    assert!(page.matches("href=").count() == 2 && page.matches("href=\"#d").count() == 2);
    let anchors: Vec<&str> = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(anchors.iter().all(|anchor| page.contains(&format!("id=\"{anchor}\""))), "{anchors:?}");
    assert_eq!(page.matches("<mark").count(), page.matches("</mark>").count());
}

#[test]
fn overlapping_quotes_are_marked_once_each() {
    let mut record = record();
    let claims = record.conclusion.as_mut().unwrap().claims.as_mut().unwrap();
    let mut again = claims[0].clone();
    again.labels[0].quote = Some(Quote { text: "Žilina\nopened in".into(), characters: 14..30 });
    claims.push(again);
    let page = html::page(&Assessment::of(&record, Neither::LeftOut).unwrap());
    let marked = "<pre>The bridge of <mark id=\"d1-14\">Žilina\nopened in</mark><mark id=\"d1-21\"> 1931.</mark></pre>";
    assert!(page.contains(marked), "{page}");
}

#[test]
fn the_markdown_page_holds_no_markup_of_a_document() {
    let page = markdown::page(&Assessment::of(&record(), Neither::LeftOut).unwrap());
    golden("assess/page.md", &page);
    assert!(!page.contains("<script") && !page.contains("](javascript") && !page.contains('\u{1b}'));
    assert!(page.contains("| “opened in 1931.” (1) | “It opened in 1947."), "{page}");
    assert!(page.contains("- for: council.txt, archive, line 2, characters 21-36: “opened in 1931.”"), "{page}");
}

/// The words on the dates of the first claim, with these dates of its supporter and its contradictor.
fn newest(supporter: Option<&str>, contradictor: Option<&str>) -> Option<String> {
    let mut record = record();
    record.question.documents[0].date = supporter.map(str::to_owned);
    record.question.documents[1].date = contradictor.map(str::to_owned);
    let found = Assessment::of(&record, Neither::LeftOut).unwrap();
    found.claims[0].newest.as_ref().map(moot::assess::Newest::words)
}

#[test]
fn a_newer_document_is_named_where_dates_decide() {
    let against = newest(Some("2019-05-02"), Some("March 2024")).unwrap();
    assert_eq!(against, "contradicted by a newer document (March 2024; for it 2019-05-02)");
    let for_it = newest(Some("2024"), Some("2019-05-02")).unwrap();
    assert_eq!(for_it, "supported by a newer document (2024; against it 2019-05-02)");
    // The order is not known, a date is missing, or it cannot be read.
    for (supporter, contradictor) in [("2019", "2019-05"), ("2019", "2019"), ("2019", "soon")] {
        assert_eq!(newest(Some(supporter), Some(contradictor)), None, "{supporter} {contradictor}");
    }
    assert_eq!((newest(None, Some("2024")), newest(Some("2024"), None)), (None, None));
}

/// A year may be after a month of it: then neither side is newer.
#[test]
fn a_date_must_be_later_than_all_of_the_other_side() {
    let mut record = record();
    let claims = record.conclusion.as_mut().unwrap().claims.as_mut().unwrap();
    claims[0].labels[2].relation = moot::question::ClaimRelation::Supports;
    let of = |dates: [&str; 3]| {
        let mut record = record.clone();
        for (document, date) in record.question.documents.iter_mut().zip(dates) {
            document.date = Some(date.into());
        }
        let found = Assessment::of(&record, Neither::LeftOut).unwrap();
        found.claims[0].newest.as_ref().map(moot::assess::Newest::words)
    };
    assert_eq!(of(["2024-05", "2024-06", "2024"]), None);
    let words = of(["2024-05", "2024-06", "2023"]).unwrap();
    assert_eq!(words, "contradicted by a newer document (2024-06; for it 2024-05)");
}

#[test]
fn the_document_that_states_a_claim_speaks_for_it() {
    let mut record = record();
    record.question.documents[2].date = Some("2010".into());
    record.question.documents[1].date = Some("2020".into());
    let of = |record: &QuestionRecord| Assessment::of(record, Neither::LeftOut).unwrap().claims[0].newest.clone();
    assert_eq!(of(&record), None, "the supporter has no date");
    record.conclusion.as_mut().unwrap().claims.as_mut().unwrap()[0].from = Some(2);
    let words = of(&record).unwrap().words();
    assert_eq!(words, "contradicted by a newer document (2020; for it 2010)");
}

#[test]
fn every_page_says_which_side_is_newer() {
    let mut record = record();
    record.question.documents[0].date = Some("2019-05-02".into());
    record.question.documents[1].date = Some("2024".into());
    let found = Assessment::of(&record, Neither::LeftOut).unwrap();
    assert!(
        html::page(&found).contains("<p class=\"note\">contradicted by a newer document (2024; for it 2019-05-02)")
    );
    let markdown = markdown::page(&found);
    assert!(markdown.contains("contradicted by a newer document \\(2024; for it 2019\\-05\\-02\\)"), "{markdown}");
    let json = serde_json::to_value(&found).unwrap();
    let expected = serde_json::json!({ "for": "2019-05-02", "against": "2024", "contradicted": true });
    assert_eq!(json["claims"][0]["newest"], expected);
}
