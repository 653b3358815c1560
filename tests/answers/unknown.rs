//! Replies that count as "unknown".

use moot::answers::unknown::{begins_unknown, is_unknown};

#[test]
fn no_answer_in_other_words() {
    for none in [
        "Unknown.",
        "N/A",
        "n/a.",
        "IDK",
        "I don\u{2019}t know.",
        "Not stated",
        "not mentioned in the document",
        "not mentioned in the provided document",
        "Not explicitly stated in the given text.",
        "Not given by this text.",
        "It is not specified in any of the documents",
        "The answer is unknown.",
        "It's unknown",
        "The document does not say.",
        "The provided text doesn't mention it",
        "This passage does not provide any information",
        "The document gives no answer.",
        "not enough information",
        "Cannot be determined from the context",
        "ｕｎｋｎｏｗｎ",
    ] {
        assert!(is_unknown(none), "{none}");
    }
}

#[test]
fn answers_that_look_like_none() {
    for answer in [
        "None",
        "no",
        "not guilty",
        "not given away",
        "in the document",
        "Na",
        "not known in the region",
        "the unknown soldier",
        "The document of 1931",
        "The document does not mention the king",
        "does not say",
        "unknown artist",
        "it is red",
        "",
    ] {
        assert!(!is_unknown(answer), "{answer}");
    }
}

#[test]
fn a_passage_that_begins_like_unknown_is_recognised() {
    assert!(begins_unknown("I don't know of any such person, but here is a guess.") && begins_unknown("I do not know"));
    assert!(!begins_unknown("I do not knowingly lie.") && !begins_unknown("The bridge opened."));
}
