//! Astute RAG's transcripts: passages from memory, consolidation, and the final list.

use super::record_text::is_golden;
use super::{fallbacks, four, held, shape, stands};
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::transcript::{Parsed, QuestionRecord};

const REMEMBERED: &str = "Mira Tolland, a botanist, was born in 1931.";
const LIST: &str = r#"All Correct Answers: ["1931", "1968"]. Explanation: Two groups agree with a document each."#;

fn of(switches: &[(&str, &str)], replies: &[&str]) -> QuestionRecord {
    held("astute-rag", switches, &four(), Tools::new(&Scripted::list(replies.iter().copied())))
}

/// The lines of a call's prompt that show a document.
fn shown(record: &QuestionRecord, call: usize) -> Vec<&str> {
    record.calls[call].messages[0].content.lines().filter(|line| line.starts_with("Document ")).collect()
}

#[test]
fn memory_joins_the_documents_and_one_call_consolidates_and_answers() {
    let record = of(&[("iterations", "1")], &[REMEMBERED, LIST]);
    assert_eq!(shape(&record.calls), [(0, "writer", 1, None), (1, "finaliser", 1, None)]);
    // The writer sees the question alone.
    assert!(!record.calls[0].messages[0].content.contains("She was born") && record.calls[0].max_tokens == 160);
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!(stands(&conclusion.answers), [("1931", &[][..], &[][..], &[0][..]), ("1968", &[], &[], &[1])]);
    assert_eq!((conclusion.rounds, &conclusion.calls[..], record.events.len()), (1, &[1][..], 0));
    is_golden("astute_rag", &record);
}

#[test]
fn each_round_of_consolidation_reads_the_sources_and_the_last_context() {
    let replies = [REMEMBERED, "Group A: 1931.", "Group B: 1931, 1968.", LIST];
    let record = of(&[("iterations", "3")], &replies);
    let consolidator = |round| (round, "consolidator", round, None);
    let want = [(0, "writer", 1, None), consolidator(1), consolidator(2), (3, "finaliser", 3, None)];
    assert_eq!(shape(&record.calls), want);
    let sent = |call: usize| record.calls[call].messages[0].content.as_str();
    assert!(!sent(1).contains("Last context") && sent(1).contains("Rewrite these documents as a new context"));
    assert!(sent(2).contains("Last context:\nGroup A: 1931.\n\nQuestion:"));
    assert!(sent(3).contains("Consolidated context:\nGroup B: 1931, 1968.\n\nQuestion:"));
    assert!(!sent(3).contains("Group A"), "a context replaces the one before");
    // Every step begins with the same sources.
    let sources = shown(&record, 1);
    assert_eq!(sources.last(), Some(&"Document 5 (from memory): Mira Tolland, a botanist, was born in 1931."));
    assert!(sources.len() == 5 && sources == shown(&record, 2) && sources == shown(&record, 3));
    // A new context may be as long as a passage for each source.
    assert_eq!([1, 2, 3].map(|call| record.calls[call].max_tokens), [5 * 160, 5 * 160, 128]);
    assert_eq!(record.conclusion.as_ref().unwrap().rounds, 3);
    is_golden("astute_rag.iterations", &record);
}

#[test]
fn a_model_that_answers_unknown_adds_no_passage() {
    for said in ["I don't know", "I don\u{2019}t know.", "I do not know who she is.", "Unknown."] {
        let record = of(&[("iterations", "1")], &[said, LIST]);
        assert_eq!(shown(&record, 1).len(), 4, "{said}");
        assert!(record.events.is_empty(), "it is what the protocol says");
    }
    let record = of(&[("internal", "2"), ("iterations", "1")], &["Mira was born in 1931.\n\nI don't know more.", LIST]);
    assert_eq!(shown(&record, 1).len(), 5, "a passage that tells something stays");
    let record = of(&[("iterations", "1")], &["People say \"I don't know\" of the year 1931.", LIST]);
    assert_eq!(shown(&record, 1).len(), 5, "the phrase within a passage is no reply of its own");
    let record = of(&[("internal", "0"), ("iterations", "1")], &[LIST]);
    assert_eq!((shape(&record.calls), shown(&record, 0).len()), (vec![(0, "finaliser", 1, None)], 4));
}

#[test]
fn several_passages_from_memory_are_parted_at_blank_lines() {
    let record =
        of(&[("internal", "2"), ("iterations", "1")], &["First.\nStill first.\n\n\n Second. \n\nThird.", LIST]);
    assert!(record.calls[0].messages[0].content.contains("at most 2 short passages"));
    assert_eq!(record.calls[0].max_tokens, 320);
    let sent = &record.calls[1].messages[0].content;
    assert!(sent.contains("Document 5 (from memory): First.\nStill first.\n\nDocument 6 (from memory): Second.\n"));
    assert!(!sent.contains("Third"), "more than were asked for");
    let record = of(&[("iterations", "1")], &["First.\n\nSecond.", LIST]);
    assert_eq!(shown(&record, 1)[4..], ["Document 5 (from memory): First."]);
}

#[test]
fn malformed_replies_at_every_role() {
    let record = of(&[("iterations", "1")], &["", LIST]);
    assert_eq!(fallbacks(&record), ["an empty passage from memory was left out"]);
    assert_eq!((record.calls[0].parsed.clone(), shown(&record, 1).len()), (Parsed::Malformed, 4));
    // The context before an empty one is kept.
    let record = of(&[("iterations", "3")], &[REMEMBERED, "Group A: 1931.", "\n", LIST]);
    assert_eq!(fallbacks(&record), ["an empty consolidation was left out"]);
    assert!(record.calls[3].messages[0].content.contains("Consolidated context:\nGroup A: 1931."));
    let record = of(&[("iterations", "2")], &[REMEMBERED, "", LIST]);
    assert!(!record.calls[2].messages[0].content.contains("Consolidated context"));
    let conclusion = of(&[("iterations", "1")], &[REMEMBERED, "1931 and 1968"]).conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && conclusion.calls == [1]);
}
