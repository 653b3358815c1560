//! FLARE's transcripts: tentative sentences, unsure tokens, queries made of them, and sentences written again.

use super::library::{Library, asked, failed, fallbacks, held, metric, passages, read, record, with_documents};
use super::record_text::is_golden;
use super::{typed, usage_error};
use moot::generation::{Finish, Segment, TokenLogprob};
use moot::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use moot::protocol::switches::Typed;
use moot::transcript::QuestionRecord;
use moot::{MootError, Result};

const ASKED: &str = "Where was the designer of the Arlen Bridge born?";

/// A token and its probability.
type Token = (&'static str, f32);

/// A model that says tokens: to a tentative sentence, to one with passages, to a question about a span, and at the end.
struct Writer<F> {
    identity: ModelIdentity,
    says: F,
}

impl<F: Fn(&Call) -> &'static [Token] + Send + Sync> Llm for Writer<F> {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::ALL
    }

    fn token(&self, _: &str, _: &str) -> Option<u32> {
        None
    }

    fn answer(&self, calls: &[Call], _: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let reply = |call: &Call| match (self.says)(call) {
            [("(fails)", _)] => Err(MootError::Engine("gone".into())),
            tokens => Ok(reply(tokens, call)),
        };
        let results: Vec<Result<Reply>> = calls.iter().map(reply).collect();
        for (index, result) in results.iter().enumerate() {
            result.iter().for_each(|reply| on_reply(index, reply));
        }
        results
    }
}

fn reply(tokens: &[Token], call: &Call) -> Reply {
    let token = |(text, probability): &Token| TokenLogprob {
        id: None,
        text: (*text).to_owned(),
        logprob: probability.ln(),
        top: Vec::new(),
        watched: Vec::new(),
    };
    let logprobs = if call.logprobs.is_some() { tokens.iter().map(token).collect() } else { Vec::new() };
    let text = tokens.iter().map(|(text, _)| *text).collect();
    Reply { text, logprobs, finish: Finish::Stop, ..Reply::default() }
}

fn writer<F: Fn(&Call) -> &'static [Token] + Send + Sync>(says: F) -> Writer<F> {
    Writer { identity: ModelIdentity::default(), says }
}

/// The step of a call in its protocol: the chain that it continues, and whether passages are shown.
fn chain(call: &Call) -> String {
    call.prefill.iter().map(Segment::text).collect()
}

fn has_passages(call: &Call) -> bool {
    call.prompt.messages()[0].content.contains("\nPassage 1: ")
}

fn asks_a_question(call: &Call) -> bool {
    call.prompt.messages()[0].content.contains("Ask one short question")
}

/// Sure of everything but one name (0.3, below beta) and one word (0.6, below theta alone).
const TENTATIVE: &[Token] = &[
    ("The", 0.99),
    (" bridge", 0.9),
    (" was", 0.95),
    (" designed", 0.6),
    (" by", 0.9),
    (" Tom", 0.3),
    (" Be", 0.3),
    ("ll", 0.9),
    (".", 0.9),
    (" He", 0.01),
    (" left", 0.01),
    (".", 0.9),
];
const AGAIN: &[Token] = &[("The bridge was designed by Ada Quill.", 0.2), (" So on.", 0.2)];
const LAST: &[Token] = &[("So", 0.95), (" the", 0.95), (" answer", 0.9), (" is", 0.9), (": Tessin.", 0.85)];
const MASKED: &str = "The bridge was designed byll.";

fn usual(call: &Call) -> &'static [Token] {
    match () {
        () if asks_a_question(call) => &[("Who designed the bridge?", 0.5)],
        () if !chain(call).is_empty() => LAST,
        () if has_passages(call) => AGAIN,
        () => TENTATIVE,
    }
}

fn library() -> Library {
    const FOUND: &[&str] = &["Arlen Bridge: by Ada Quill.", "Ada Quill, of Tessin.", "Arlen is a town.", "Not wanted."];
    Library::new(&[
        (MASKED, FOUND),
        (ASKED, &["Found for the question."]),
        ("Who designed the bridge?", FOUND),
        ("What was done?", &["It was built in 1884.", "Ada Quill, of Tessin."]),
    ])
}

fn flare(switches: &[(&str, &str)], says: fn(&Call) -> &'static [Token]) -> (QuestionRecord, Vec<String>) {
    let library = library();
    let record = held("flare", &typed(switches), &asked(ASKED), &writer(says), &library);
    (record, library.queries())
}

#[test]
fn an_unsure_sentence_is_a_query_without_its_unsure_tokens_and_is_written_again() {
    let (record, queries) = flare(&[], usual);
    is_golden("flare", &record);
    // Tokens of the first sentence alone: those of the second are less likely still.
    assert_eq!(queries, [MASKED]);
    assert_eq!((metric("calls", &record), metric("retriever-calls", &record)), (Some(3.0), Some(1.0)));
    assert_eq!(record.calls.iter().map(passages).collect::<Vec<_>>(), [0, 3, 0], "look-ahead reads no passage");
    assert!(record.calls.iter().all(|call| call.max_tokens == 64 && call.stop == ["\n"]));
    assert!(record.calls.iter().all(|call| call.wanted_logprobs.is_some()));
    // The sentence written again is kept as it is, however unsure.
    let begun: Vec<String> = record.calls.iter().map(|call| call.prefill.iter().map(Segment::text).collect()).collect();
    assert_eq!(begun, ["", "", "The bridge was designed by Ada Quill."]);
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.rounds, conclusion.calls), ("Tessin", 2, vec![2]));
    assert_eq!(conclusion.explanation, "The bridge was designed by Ada Quill. So the answer is: Tessin.");
    assert_eq!(conclusion.answers[0].mentions, [1]);
}

#[test]
fn theta_decides_about_a_search_and_beta_its_words() {
    // The least likely token of the first sentence has 0.3.
    for (theta, retrieves) in [("0.29", false), ("0.31", true), ("0", false), ("1", true)] {
        let (record, queries) = flare(&[("theta", theta)], usual);
        // With theta 1 the last sentence is unsure as well.
        assert_eq!(!queries.is_empty(), retrieves, "{theta}");
        assert_eq!(passages(&record.calls[1]) > 0, retrieves, "{theta}");
    }
    let masked = [
        ("0.25", "The bridge was designed by Tom Bell."),
        ("0.7", "The bridge was byll."),
        ("0.98", "The"),
        // Nothing is left: the question is the query.
        ("1", ASKED),
    ];
    for (beta, query) in masked {
        assert_eq!(flare(&[("beta", beta)], usual).1, [query], "{beta}");
    }
}

#[test]
fn generated_questions_ask_about_each_unsure_part() {
    fn says(call: &Call) -> &'static [Token] {
        match () {
            () if asks_a_question(call) && call.prompt.messages()[0].content.contains("answer: Tom Bell\n") => {
                &[("Who designed the bridge?", 0.5)]
            }
            () if asks_a_question(call) => &[("What was done?", 0.5)],
            () => usual(call),
        }
    }
    let (record, queries) = flare(&[("queries", "questions"), ("beta", "0.7")], says);
    is_golden("flare_questions", &record);
    assert_eq!(queries, ["What was done?", "Who designed the bridge?"]);
    let spans: Vec<String> = record.calls[1..3].iter().map(read).collect();
    assert!(
        spans[0].contains("is the answer: designed\n") && spans[1].contains("is the answer: Tom Bell\n"),
        "{spans:?}"
    );
    assert!(spans.iter().all(|seen| seen.contains("Answer so far: The bridge was designed by Tom Bell.\n")));
    assert_eq!(record.calls[1].stage, record.calls[2].stage);
    // Three passages in all, the best of each question first.
    let shown = read(&record.calls[3]);
    let (_, shown) = shown.split_once("Now do the same").unwrap();
    let offsets = ["1: It was built", "2: Arlen Bridge: by", "3: Ada Quill, of"]
        .map(|start| shown.find(&format!("Passage {start}")));
    assert!(offsets.iter().all(Option::is_some) && offsets.is_sorted() && passages(&record.calls[3]) == 3, "{shown}");
    // Unsure, but nothing below beta: the sentence itself is searched.
    let (record, queries) = flare(&[("queries", "questions"), ("beta", "0.1")], usual);
    assert_eq!((queries, record.calls.len()), (vec!["The bridge was designed by Tom Bell.".to_owned()], 3));
}

#[test]
fn a_part_without_a_question_is_recorded() {
    fn says(call: &Call) -> &'static [Token] {
        if asks_a_question(call) { &[] } else { usual(call) }
    }
    let (record, queries) = flare(&[("queries", "questions")], says);
    assert_eq!(queries, ["The bridge was designed by Tom Bell."]);
    let said = [
        "an unsure part got no question: nothing was retrieved for it",
        "nothing was found: the sentence was written again without passages",
        "the answer \"Tessin\" occurs in the prompt's worked example and in no document: it was refused",
    ];
    assert_eq!(fallbacks(&record), said);
}

#[test]
fn it_ends_with_the_answer_the_writer_or_the_steps() {
    // The writer says nothing more: the chain is continued by the words that state an answer.
    fn short(call: &Call) -> &'static [Token] {
        match chain(call).as_str() {
            "" => &[("Ada Quill designed it.", 0.9)],
            begun if begun.ends_with("So the answer is:") => &[(" Lugano", 0.9)],
            _ => &[],
        }
    }
    let (record, queries) = flare(&[], short);
    let begun: String = record.calls[2].prefill.iter().map(Segment::text).collect();
    assert_eq!((record.calls.len(), begun.as_str()), (3, "Ada Quill designed it. So the answer is:"));
    assert_eq!(fallbacks(&record), ["the chain stated no answer: it was continued by \"So the answer is:\""]);
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.calls.as_slice()), ("Lugano", &[2][..]));
    assert_eq!((queries.len(), metric("rounds", &record)), (0, Some(2.0)));
    // As many sentences as there are steps, then the same.
    fn endless(call: &Call) -> &'static [Token] {
        if call.what == "writer, round 3" && chain(call).ends_with("answer is:") {
            &[("Grau", 0.9)]
        } else {
            &[("More.", 0.9)]
        }
    }
    let (record, _) = flare(&[("steps", "3")], endless);
    assert_eq!((record.calls.len(), fallbacks(&record).len()), (4, 1));
    assert_eq!(record.conclusion.unwrap().answers[0].text, "Grau");
    // "Unknown" is not an answer.
    fn unknown(_: &Call) -> &'static [Token] {
        &[("So the answer is: unknown.", 0.9)]
    }
    let conclusion = flare(&[], unknown).0.conclusion.unwrap();
    assert!(conclusion.answers.is_empty() && !conclusion.malformed);
    // "yes" is the answer of a worked example too, and is accepted: it may be the answer to any question.
    fn yes(_: &Call) -> &'static [Token] {
        &[("So the answer is: yes.", 0.9)]
    }
    assert_eq!(flare(&[], yes).0.conclusion.unwrap().answers[0].text, "yes");
    // Two calls a step at most, and the last one.
    fn unsure(call: &Call) -> &'static [Token] {
        if call.logprobs.is_none() { &[("Grau", 0.1)] } else { &[("More.", 0.1)] }
    }
    let (record, queries) = flare(&[("steps", "3")], unsure);
    assert_eq!((record.calls.len(), queries), (7, vec![ASKED.to_owned(); 3]));
    assert!(record.calls[1].prefill.is_empty() && passages(&record.calls[1]) == 1);
}

#[test]
fn malformed_replies_at_every_call() {
    // Nothing is written with the passages.
    fn silent(call: &Call) -> &'static [Token] {
        if has_passages(call) { &[] } else { usual(call) }
    }
    let (record, _) = flare(&[], silent);
    assert_eq!(fallbacks(&record), ["nothing was written with the passages: the tentative sentence was kept"]);
    assert_eq!(metric("malformed-replies", &record), Some(1.0));
    let conclusion = record.conclusion.unwrap();
    assert!(
        conclusion.explanation.starts_with("The bridge was designed by Tom Bell. So"),
        "{}",
        conclusion.explanation
    );
    // Nothing at all.
    let (record, queries) = flare(&[], |_| &[]);
    assert_eq!((record.calls.len(), queries.len(), fallbacks(&record).len()), (2, 0, 1));
    let conclusion = record.conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
    // "The answer is" with no answer behind it.
    let (record, _) =
        flare(&[], |call| if call.logprobs.is_none() { &[("unknown", 0.9)] } else { &[("The answer is: .", 0.9)] });
    let conclusion = record.conclusion.as_ref().unwrap();
    assert!(!conclusion.malformed && conclusion.answers.is_empty() && fallbacks(&record).len() == 1);
}

#[test]
fn characters_of_several_tokens_are_whole_in_a_query() {
    fn says(call: &Call) -> &'static [Token] {
        match () {
            () if !chain(call).is_empty() || has_passages(call) => LAST,
            () => &[
                ("In", 0.9),
                (" \u{fffd}", 0.9),
                ("\u{fffd}", 0.9),
                ("ód", 0.9),
                ("\u{fffd}", 0.9),
                ("\u{fffd}", 0.1),
                (".", 0.9),
            ],
        }
    }
    let library = Library::default();
    let model = writer(says);
    // Joins the tokens' bytes into characters, as a byte-level tokenizer does.
    struct Whole<L>(L);
    impl<L: Llm> Llm for Whole<L> {
        fn identity(&self) -> &ModelIdentity {
            self.0.identity()
        }
        fn capabilities(&self, role: &str) -> Capabilities {
            self.0.capabilities(role)
        }
        fn token(&self, role: &str, text: &str) -> Option<u32> {
            self.0.token(role, text)
        }
        fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
            let whole = |reply: Reply| Reply {
                text: reply.text.replace("\u{fffd}\u{fffd}ód\u{fffd}\u{fffd}", "Łódź"),
                ..reply
            };
            let results = self.0.answer(calls, on_failure, &mut |_, _| {});
            let results: Vec<Result<Reply>> = results.into_iter().map(|result| result.map(whole)).collect();
            for (index, result) in results.iter().enumerate() {
                result.iter().for_each(|reply| on_reply(index, reply));
            }
            results
        }
    }
    held("flare", &Typed::new(), &asked(ASKED), &Whole(model), &library);
    // The last token of "ź" is unsure, so the letter is left out; "Ł" is whole.
    assert_eq!(library.queries(), ["In Łód."]);
}

#[test]
fn no_passage_thirty_and_documents_of_the_question() {
    let nothing = Library::default();
    let record = held("flare", &Typed::new(), &asked(ASKED), &writer(usual), &nothing);
    assert_eq!((nothing.queries(), record.retrieved.len()), (vec![MASKED.to_owned()], 0));
    assert_eq!((record.calls.len(), passages(&record.calls[1])), (3, 0), "written again without passages");
    let thirty: Vec<String> = (0..40).map(|i| format!("Text {i} about it.")).collect();
    let thirty: Vec<&str> = thirty.iter().map(String::as_str).collect();
    let library = Library::new(&[(MASKED, &thirty)]);
    let record = held("flare", &typed(&[("per-query", "30")]), &with_documents(ASKED, 3), &writer(usual), &library);
    assert_eq!((passages(&record.calls[1]), record.retrieved.len()), (30, 30));
    assert!(record.calls.iter().all(|call| !read(call).contains("Own document")));
}

#[test]
fn a_failed_call_is_the_questions_error() {
    const FAILS: &[Token] = &[("(fails)", 1.0)];
    let cases: [(&str, fn(&Call) -> &'static [Token], usize); 4] = [
        ("masked", |_| FAILS, 0),
        ("masked", |call| if has_passages(call) { FAILS } else { usual(call) }, 1),
        ("masked", |call| if chain(call).is_empty() { usual(call) } else { FAILS }, 2),
        ("questions", |call| if asks_a_question(call) { FAILS } else { usual(call) }, 1),
    ];
    for (queries, says, before) in cases {
        let switches = typed(&[("queries", queries)]);
        let (error, calls) = failed(record("flare", &switches, &asked(ASKED), &writer(says), Some(&library())));
        assert_eq!((error.contains("gone"), calls), (true, before), "{error}");
    }
    let (_, error) = record("flare", &Typed::new(), &asked(ASKED), &writer(usual), None);
    assert!(usage_error(error.map_or(Ok(()), Err)).contains("--corpus"));
}

#[test]
fn it_needs_log_probabilities() {
    let needs = moot::protocol::Row::named("flare").unwrap().needs.model;
    assert!(needs.logprobs && needs.prefill);
}
