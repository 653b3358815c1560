//! Self-reflection's transcripts: one chat of five calls.

use super::record_text::is_golden;
use super::{answer, fallbacks, four, held, shape, stands, typed};
use moot::MootError;
use moot::generation::Role;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::protocol::switches::Typed;
use moot::transcript::Parsed;

const FIRST: &str = r#"All Correct Answers: ["1931"]. Explanation: Document 1 says it."#;
const SECOND: &str = r#"All Correct Answers: ["1931", "1913"]. Explanation: Two women."#;
const THIRD: &str = r#"All Correct Answers: ["1931", "1968"]. Explanation: 1913 was misread."#;

fn replies() -> [&'static str; 5] {
    [FIRST, "Document 2 speaks of another woman.", SECOND, "1913 is not hers. 1968 is missing.", THIRD]
}

#[test]
fn one_reader_reviews_and_answers_twice_in_one_chat() {
    let record = held("self-reflection", &[], &four(), Tools::new(&Scripted::list(replies())));
    let reader = |stage, round| (stage, "reader", round, None);
    assert_eq!(shape(&record.calls), [reader(0, 1), reader(1, 2), reader(2, 2), reader(3, 3), reader(4, 3)]);
    let prompts: Vec<&str> = record.calls.iter().map(|call| call.prompt.as_str()).collect();
    let [read, review, refine] =
        ["concatenated/reader.jinja", "self_reflection/review.jinja", "self_reflection/refine.jinja"];
    assert_eq!(prompts, [read, review, refine, review, refine]);
    // Each call's chat is the last one, its reply, and one turn more: nothing before is rendered anew.
    for pair in record.calls.windows(2) {
        let (before, after) = (&pair[0], &pair[1].messages);
        assert_eq!(after[..before.messages.len()], before.messages[..]);
        let added: Vec<Role> = after[before.messages.len()..].iter().map(|message| message.role).collect();
        assert_eq!(added, [Role::Assistant, Role::User]);
        assert_eq!(after[before.messages.len()].content, before.reply);
    }
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!(stands(&conclusion.answers), [("1931", &[][..], &[][..], &[0][..]), ("1968", &[], &[], &[1])]);
    assert!(conclusion.rejected.is_empty() && !conclusion.malformed && record.events.is_empty());
    assert_eq!((conclusion.rounds, &conclusion.calls[..]), (3, &[4][..]));
    assert_eq!(conclusion.explanation, "1913 was misread.");
    is_golden("self_reflection", &record);
}

#[test]
fn the_first_call_is_the_concatenated_prompt() {
    let (_, reflected) = answer("self-reflection", &Typed::new(), &four(), &Scripted::list(replies()));
    let (_, concatenated) = answer("concatenated", &Typed::new(), &four(), &Scripted::list([FIRST]));
    assert_eq!(reflected[0], concatenated[0]);
    let (conclusion, calls) = answer("self-reflection", &typed(&[("rounds", "0")]), &four(), &Scripted::list([FIRST]));
    assert_eq!((calls, conclusion.unwrap().rounds), (concatenated, 1));
    let switches = typed(&[("rounds", "1")]);
    assert_eq!(answer("self-reflection", &switches, &four(), &Scripted::list(replies())).1.len(), 3);
}

#[test]
fn only_the_last_list_counts() {
    // A malformed list in between is reviewed as it is.
    let replies = ["1931, I think", "No format.", "1931 and 1968", "Still none.", THIRD];
    let record = held("self-reflection", &[], &four(), Tools::new(&Scripted::list(replies)));
    let malformed: Vec<bool> = record.calls.iter().map(|call| call.parsed == Parsed::Malformed).collect();
    assert_eq!(malformed, [true, false, true, false, false]);
    assert!(record.events.is_empty() && record.calls[3].messages[5].content == "1931 and 1968");
    let conclusion = record.conclusion.unwrap();
    assert!(!conclusion.malformed && conclusion.answers.len() == 2);
    // An earlier list does not replace a malformed last one.
    let replies = [FIRST, "Fine.", SECOND, "Fine.", "1931"];
    let conclusion = held("self-reflection", &[], &four(), Tools::new(&Scripted::list(replies))).conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && conclusion.calls == [4]);
    let replies = [FIRST, "Fine.", SECOND, "Fine.", "All Correct Answers: unknown. Explanation: None fits."];
    let conclusion = held("self-reflection", &[], &four(), Tools::new(&Scripted::list(replies))).conclusion.unwrap();
    assert!(!conclusion.malformed && conclusion.answers.is_empty());
}

#[test]
fn an_empty_review_is_a_fallback() {
    let replies = [FIRST, " \n", SECOND, "1913 is not hers.", THIRD];
    let record = held("self-reflection", &[], &four(), Tools::new(&Scripted::list(replies)));
    assert_eq!(record.calls[1].parsed, Parsed::Malformed);
    assert_eq!(fallbacks(&record), ["an empty review: the reader answered again without one"]);
    assert_eq!((record.calls.len(), record.events[0].stage()), (5, 2));
    assert_eq!(record.conclusion.unwrap().answers.len(), 2);
}

/// The chat grows; the call that no longer fits is named, and what was answered before is kept.
#[test]
fn a_chat_that_outgrows_the_context_names_its_round() {
    let long = "word ".repeat(100);
    let replies = [FIRST.to_owned(), long.clone(), SECOND.to_owned(), long, THIRD.to_owned()];
    let words = |call: &moot::transcript::CallRecord| call.usage.prompt + call.max_tokens;
    let (_, calls) = answer("self-reflection", &Typed::new(), &four(), &Scripted::list(replies.clone()));
    let llm = Scripted::list(replies).with_context(words(&calls[3]) - 1);
    let (conclusion, kept) = answer("self-reflection", &Typed::new(), &four(), &llm);
    match conclusion.unwrap_err() {
        MootError::TooLong { what, needed, .. } => assert_eq!((&*what, needed), ("reader, round 3", words(&calls[3]))),
        other => panic!("{other:?}"),
    }
    assert_eq!(kept, calls[..3]);
}

/// With "If there is no problem, say so" a small model said so always, and the method was the concatenated prompt.
#[test]
fn reviews_are_asked_for_problems_and_what_they_change_is_counted() {
    let changed = |replies: [&str; 5]| {
        let record = held("self-reflection", &[], &four(), Tools::new(&Scripted::list(replies)));
        let review = &record.calls[1].messages.last().unwrap().content;
        assert!(review.contains("find the problems") && !review.contains("no problem"), "{review}");
        super::library::metric("refinements-changed", &record)
    };
    assert_eq!(changed(replies()), Some(1.0));
    assert_eq!(changed([FIRST, "x", FIRST, "x", SECOND]), Some(0.5));
    assert_eq!(changed([FIRST, "x", FIRST, "x", FIRST]), Some(0.0));
    let record = held("concatenated", &[], &four(), Tools::new(&Scripted::list([FIRST])));
    assert_eq!(super::library::metric("refinements-changed", &record), None);
}
