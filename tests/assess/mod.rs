//! ConflictScore's numbers by hand, and the pages that show labelled claims.

mod answered;
mod pages;
mod verdict;

use moot::assess::score::ratio;
use moot::assess::{Neither, Scores, score};
use moot::eval::metrics::labels;
use moot::question::{Claim, ClaimRelation, Conclusion, DocumentLabel, JudgedClaim, LabelFault, Question, Quote};
use moot::transcript::QuestionRecord;

/// A label of document `document`: `+`, `-`, `0`; `?` contradicts without a quote, `!` malformed, `x` failed.
pub(crate) fn label(document: usize, sign: char) -> DocumentLabel {
    let (relation, fault) = match sign {
        '+' => (ClaimRelation::Supports, None),
        '-' => (ClaimRelation::Contradicts, None),
        '?' => (ClaimRelation::Contradicts, Some(LabelFault::Unquoted)),
        '!' => (ClaimRelation::Irrelevant, Some(LabelFault::Malformed)),
        'x' => (ClaimRelation::Irrelevant, Some(LabelFault::Failed)),
        _ => (ClaimRelation::Irrelevant, None),
    };
    let quoted = fault.is_none() && relation != ClaimRelation::Irrelevant;
    DocumentLabel {
        document,
        relation,
        fault,
        quote: quoted.then(|| Quote { text: "Some text".into(), characters: 0..9 }),
        misquote: if sign == '?' { "never said".into() } else { String::new() },
        reason: if sign == 'x' { "the server is gone".into() } else { String::new() },
        by: "labeller".into(),
        probability: None,
        calls: Vec::new(),
    }
}

/// A claim with a label a sign.
pub(crate) fn claim(text: &str, signs: &str) -> JudgedClaim {
    let labels = signs.chars().enumerate().map(|(document, sign)| label(document, sign)).collect();
    JudgedClaim { text: text.into(), from: None, labels }
}

fn scores(claims: &[&str], neither: Neither) -> Scores {
    score::scores(&claims.iter().map(|signs| claim("It is so.", signs)).collect::<Vec<_>>(), neither)
}

/// By hand: ratios 1/2, 0, 2/3, 1 and none; their mean over four claims is (3 + 0 + 4 + 6) / 24.
#[test]
fn scores_are_those_of_the_definition() {
    let claims = ["+-00", "++00", "+--0", "-000", "0000"];
    let found = scores(&claims, Neither::LeftOut);
    assert_eq!((found.claims, found.conflicting, found.neither, found.labels), (5, 2, 1, 20));
    assert_eq!(found.cs_c, Some(0.4));
    assert!((found.cs_r.unwrap() - 13.0 / 24.0).abs() < 1e-12, "{found:?}");
    let zero = scores(&claims, Neither::Zero);
    assert!((zero.cs_r.unwrap() - 13.0 / 30.0).abs() < 1e-12, "{zero:?}");
    assert_eq!((zero.cs_c, zero.neither), (Some(0.4), 1));
    // Nine against one and one against one: both are conflicts, the first is more severe.
    assert_eq!(ratio(&claim("x", "+---------")), Some(0.9));
    assert_eq!(ratio(&claim("x", "+-")), Some(0.5));
}

#[test]
fn undefined_scores_have_no_number() {
    let none = scores(&[], Neither::Zero);
    assert_eq!((none.claims, none.cs_c, none.cs_r), (0, None, None));
    let silent = scores(&["00", "", "0"], Neither::LeftOut);
    assert_eq!((silent.cs_c, silent.cs_r, silent.neither), (Some(0.0), None, 3));
    assert_eq!(scores(&["00", "0"], Neither::Zero).cs_r, Some(0.0));
    // Without a label that could be read the result is unknown, which is not the same as no conflict.
    for neither in [Neither::LeftOut, Neither::Zero] {
        let unlabelled = scores(&["!x", "x"], neither);
        assert_eq!((unlabelled.cs_c, unlabelled.cs_r, unlabelled.claims), (None, None, 2));
        assert_eq!(scores(&["!x", "x?"], neither).cs_c, Some(0.0));
    }
}

#[test]
fn labels_that_do_not_count_are_counted_apart() {
    let found = scores(&["+?", "?!", "x+", "?-"], Neither::LeftOut);
    assert_eq!((found.unquoted, found.malformed, found.failed, found.labels), (3, 1, 1, 8));
    // Neither the first nor the last is a conflict: the quote of one side is not in its document.
    assert_eq!((found.conflicting, found.neither), (0, 1));
    assert!((found.cs_r.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!(claim("x", "0+-").conflicts() && !claim("x", "?+").conflicts() && !claim("x", "-").conflicts());
}

#[test]
fn a_quote_is_at_its_offsets_or_absent() {
    let quote = |text: &str, characters| Quote { text: text.into(), characters };
    let document = "Žilina:\nopened in 1931.";
    assert!(quote("opened in 1931", 8..22).stands_in(document));
    for (text, characters) in
        [("opened in 1931", 7..21), ("opened", 8..22), ("opened in 1931", 8..9), ("", 3..3), ("1931.", 18..99)]
    {
        assert!(!quote(text, characters.clone()).stands_in(document), "{text:?} {characters:?}");
    }
}

/// Gold of one claim and six documents: two of each relation. Found: both supports, one of them as a contradiction; one
/// contradiction, the other without a quote; both irrelevant ones.
#[test]
fn labels_are_compared_with_those_of_the_dataset() {
    use ClaimRelation::{Contradicts, Irrelevant, Supports};
    let relations = vec![Supports, Supports, Contradicts, Contradicts, Irrelevant, Irrelevant];
    let question = Question { claims: vec![Claim { relations, ..Claim::default() }], ..Question::default() };
    let conclusion = Conclusion { claims: Some(vec![claim("x", "+--?00")]), ..Conclusion::default() };
    let record = QuestionRecord { question, conclusion: Some(conclusion), ..QuestionRecord::default() };
    let two = |tally: Option<[f64; 4]>| tally.map(|tally| (tally[0], tally[1]));
    assert_eq!(two(labels::agreement(&record)), Some((4.0, 6.0)));
    assert_eq!(two(labels::found(&record, Contradicts)), Some((1.0, 2.0)));
    assert_eq!(two(labels::expected(&record, Contradicts)), Some((1.0, 2.0)));
    assert_eq!(two(labels::found(&record, Supports)), Some((1.0, 1.0)));
    assert_eq!(two(labels::expected(&record, Supports)), Some((1.0, 2.0)));
    assert_eq!(labels::of(&record).unwrap().unquoted, 1);
    let unlabelled = QuestionRecord { conclusion: Some(Conclusion::default()), ..record };
    assert_eq!((labels::agreement(&unlabelled), labels::of(&unlabelled)), (None, None));
}
