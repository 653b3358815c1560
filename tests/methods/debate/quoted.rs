//! `evidence=quote`: beside an answer stands the sentence of the agent's document, not the agent's explanation; `evidence=auto`:
//! where no source or date is known.

use super::super::held;
use super::*;
use moot::protocol::ctx::Tools;
use moot::question::Document;
use moot::transcript::Event;

/// The first document names whom it is about in another sentence than the year; the second does not hold its agent's answer.
fn asked() -> Question {
    let document = |text: &str| Document { text: text.into(), ..Document::default() };
    let texts = ["A vase by Mira Tolland! She was born in 1913, he said.", "Mira Tolland, born in 1968.", "Soup."];
    Question { documents: texts.into_iter().map(document).collect(), ..four() }
}

fn script() -> Scripted {
    Scripted::new(|call| match () {
        () if is_aggregator(call) => VERDICT.into(),
        () if prompt(call).contains("Document: A vase") => "Answer: 1913. Explanation: I think so.".into(),
        () if prompt(call).contains("Document: Soup") => "Answer: unknown. Explanation: Soup it is.".into(),
        () => "Answer: nobody. Explanation: It is empty.".into(),
    })
}

/// The reply lines that a prompt shows.
fn lines(sent: &str) -> Vec<&str> {
    sent.lines().filter(|line| line.starts_with("Agent ") || line.contains(", says Agent")).collect()
}

#[test]
fn others_read_the_sentence_of_the_document() {
    let (_, calls) =
        answer("debate", &as_madam_rag(&[("evidence", "quote"), ("history", "peers")]), &asked(), &script());
    let quoted = "Agent 1: Answer: 1913. Explanation: The document says: \"A vase by Mira Tolland! She was born in 1913, he said.\"";
    // Without a sentence that holds the answer, and without an answer, the reply is shown unchanged.
    let own_words = "Agent 2: Answer: nobody. Explanation: It is empty.";
    let unknown = "Agent 3: Answer: unknown. Explanation: Soup it is.";
    let verdict = calls.iter().find(|call| call.role == "aggregator").unwrap();
    let mut read: Vec<&str> = lines(sent(verdict)).into_iter().rev().take(3).collect();
    read.sort_unstable();
    assert_eq!(read, [quoted, own_words, unknown]);
    let later = calls.iter().find(|call| call.round == 2 && call.document == Some(1)).unwrap();
    assert_eq!(lines(sent(later)), [quoted, unknown]);
}

#[test]
fn answers_of_the_others_have_it_too() {
    let (_, calls) =
        answer("debate", &as_madam_rag(&[("evidence", "quote"), ("history", "answers")]), &asked(), &script());
    let later = calls.iter().find(|call| call.round == 2 && call.document == Some(2)).unwrap();
    assert_eq!(
        lines(sent(later)),
        [
            "1913, says Agent 1: The document says: \"A vase by Mira Tolland! She was born in 1913, he said.\"",
            "nobody, says Agent 2: It is empty."
        ]
    );
}

#[test]
fn an_agent_reads_its_own_reply_as_it_made_it() {
    let switches = as_madam_rag(&[("evidence", "quote"), ("own-reply", "true")]);
    let (_, calls) = answer("debate", &switches, &asked(), &script());
    let later = calls.iter().find(|call| call.round == 2 && call.document == Some(0)).unwrap();
    assert!(sent(later).contains("you have replied:\nAnswer: 1913. Explanation: I think so."));
}

#[test]
fn with_auto_a_known_source_or_date_leaves_the_explanations() {
    let auto = as_madam_rag(&[("evidence", "auto"), ("provenance", "true"), ("history", "peers")]);
    let read = |asked: &Question| {
        let (_, calls) = answer("debate", &auto, asked, &script());
        let later = calls.iter().find(|call| call.round == 2 && call.document == Some(1)).unwrap();
        lines(sent(later))[0].to_owned()
    };
    let mut asked = asked();
    assert!(read(&asked).starts_with("Agent 1: Answer: 1913. Explanation: The document says: "), "{}", read(&asked));
    asked.documents[2].date = Some("1968".into());
    assert_eq!(read(&asked), "Agent 1: Answer: 1913. Explanation: I think so.");
}

/// The second agent answers "nobody" in both rounds, and no sentence of its document holds that word.
#[test]
fn an_answer_that_no_sentence_holds_is_a_fallback() {
    let fallbacks = |evidence| {
        let record = held(
            "debate",
            &[("history", "peers"), ("ask-again", "all"), ("grounded", "false"), ("evidence", evidence)],
            &asked(),
            Tools::new(&script()),
        );
        record.events.iter().filter(|event| matches!(event, Event::Fallback { .. })).count()
    };
    assert_eq!(fallbacks("quote"), 2);
    assert_eq!(fallbacks("explanation"), 0);
}
