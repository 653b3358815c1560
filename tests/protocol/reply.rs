//! Every format: what its grammar lets through, and what its parser reads.

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use moot::generation::Finish;
use moot::protocol::formats::{ANSWER, ANSWERS, CHOICE, Format, ITEMS, LIST, QUERY_ACTION, SHORT, THOUGHT};
use moot::transcript::Parsed;
use serde_json::{Value, json};
use std::sync::Arc;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

fn matcher(format: &Format) -> (Matcher, TokEnv) {
    let env = ApproximateTokEnv::single_byte_env();
    let factory = ParserFactory::new_simple(&env).unwrap();
    let lark = format.grammar(&Value::Null).unwrap().unwrap().lark;
    let matcher = Matcher::new(factory.create_parser(TopLevelGrammar::from_lark(lark.to_string())));
    assert!(!matcher.is_error(), "{}: {:?}", format.name, matcher.get_error());
    (matcher, env)
}

fn read(format: &Format, reply: &str, finish: Finish) -> Parsed {
    format.read(reply, finish, &Value::Null)
}

/// Bytes of `reply` that the grammar lets through, and whether the reply may end there.
fn walk(format: &Format, reply: &str) -> (usize, bool) {
    let (mut matcher, env) = matcher(format);
    let tokens = env.tokenize(reply);
    assert_eq!(tokens.len(), reply.len());
    let taken = matcher.try_consume_tokens(&tokens).unwrap();
    (taken, matcher.is_accepting().unwrap())
}

fn accepts(format: &Format, reply: &str) {
    assert_eq!(walk(format, reply), (reply.len(), true), "{reply:?}");
    assert_ne!(read(format, reply, Finish::Stop), Parsed::Malformed, "what the grammar accepts is read: {reply:?}");
}

fn refuses(format: &Format, reply: &str) {
    assert_ne!(walk(format, reply), (reply.len(), true), "{reply:?}");
}

#[test]
fn the_answer_grammar_holds_a_reply_to_its_line() {
    let f = &ANSWER;
    accepts(f, "Answer: 1956. Explanation: It says so.");
    accepts(f, "Answer: unknown. Explanation: It does not say.");
    accepts(f, "Answer: St. Louis, Missouri. Explanation: x");
    accepts(f, "Answer: J. R. R. Tolkien. Explanation: x");
    accepts(f, "Answer: Zürich – 2.5 km². Explanation: Ja.");
    accepts(f, &format!("Answer: {}. Explanation: x", "é".repeat(100)));
    refuses(f, &format!("Answer: {}. Explanation: x", "é".repeat(101)));
    refuses(f, "Answer: 1956. The document says so. Explanation: x");
    refuses(f, "Answer: . Explanation: x");
    refuses(f, "Answer:  1956. Explanation: x");
    refuses(f, "Answer: {1956}. Explanation: x");
    refuses(f, "Answer: 19\n56. Explanation: x");
    refuses(f, "Answer: 1956. Explanation: ");
    refuses(f, "Answer: 1956. Explanation: two\nlines");
    refuses(f, "The answer is 1956.");
    // The explanation begins once: an answer does not hold it.
    refuses(f, "Answer: 1956 Explanation: It says so. Explanation: x");
    refuses(f, "Answer: 1956, explanation : so. Explanation: x");
    accepts(f, "Answer: An Explanation of the Bridge. Explanation: x");
    accepts(f, r"Answer: C:\data\pump.txt. Explanation: x");
}

#[test]
fn after_a_sentence_the_answer_grammar_forces_the_explanation() {
    let (mut matcher, env) = matcher(&ANSWER);
    matcher.consume_tokens(&env.tokenize("Answer: 1956. ")).unwrap();
    assert_eq!(String::from_utf8(matcher.compute_ff_bytes()).unwrap(), "Explanation: ");
}

#[test]
fn the_answers_grammar_is_a_json_list_or_the_word() {
    let f = &ANSWERS;
    accepts(f, r#"All Correct Answers: ["1963", "1956"]. Explanation: Two men."#);
    accepts(f, r#"All Correct Answers: []. Explanation: None."#);
    accepts(f, r#"All Correct Answers: unknown. Explanation: None."#);
    accepts(f, r#"All Correct Answers: ["the \"Fox\" inn"]. Explanation: x"#);
    refuses(f, r#"All Correct Answers: [""]. Explanation: x"#);
    refuses(f, r#"All Correct Answers: [" 1963"]. Explanation: x"#);
    refuses(f, r#"All Correct Answers: [1963]. Explanation: x"#);
    refuses(f, r#"All Correct Answers: ["a"]."#);
    accepts(f, r#"All Correct Answers: ["a\n"]. Explanation: x"#);
    refuses(f, "All Correct Answers: [\"a\n\"]. Explanation: x");
    let list = |n: usize| vec!["\"a\""; n].join(", ");
    accepts(f, &format!("All Correct Answers: [{}]. Explanation: x", list(8)));
    refuses(f, &format!("All Correct Answers: [{}]. Explanation: x", list(9)));
    accepts(f, &format!("All Correct Answers: [\"{}\"]. Explanation: x", "b".repeat(100)));
    refuses(f, &format!("All Correct Answers: [\"{}\"]. Explanation: x", "b".repeat(101)));
}

#[test]
fn the_list_grammar_ends_with_its_list() {
    let f = &LIST;
    accepts(f, r#"Answers: ["Paris"]"#);
    accepts(f, r#"Answers: ["Paris", "Paris, Texas"]"#);
    refuses(f, r#"Answers: []"#);
    refuses(f, r#"Answers: ["Paris"] and"#);
}

#[test]
fn an_answer_has_a_letter_or_a_digit() {
    refuses(&ANSWER, "Answer: ?!. Explanation: x");
    refuses(&ANSWER, "Answer: —. Explanation: x");
    refuses(&ANSWER, "Answer: .. 7. Explanation: x");
    accepts(&ANSWER, "Answer: .NET. Explanation: x");
    accepts(&ANSWER, "Answer: - ½. Explanation: x");
    accepts(&ANSWER, "Answer: +7. Explanation: x");
    for (format, begin, end) in [(&ANSWERS, "All Correct Answers: [", "]. Explanation: x"), (&LIST, "Answers: [", "]")]
    {
        refuses(format, &format!("{begin}\",\"{end}"));
        refuses(format, &format!("{begin}\"Paris\", \"-\"{end}"));
        accepts(format, &format!("{begin}\"Paris\", \"№ 5\"{end}"));
    }
    refuses(&SHORT, ".");
    accepts(&SHORT, "±1");
    refuses(&THOUGHT, "Thought: x\nAnswer: --");
    accepts(&THOUGHT, "Thought: x\nAnswer: -é-");
}

#[test]
fn a_list_ends_within_the_tokens_of_a_reply() {
    let list = |letters: usize| format!("\"{}\", ", "b".repeat(91)).repeat(3) + &format!("\"{}\"", "b".repeat(letters));
    // With its brackets 2 + 3 x 95 + 2 characters, and the letters of the last answer: 360 at most.
    for (format, begin, end) in [(&ANSWERS, "All Correct Answers: [", "]. Explanation: x"), (&LIST, "Answers: [", "]")]
    {
        accepts(format, &format!("{begin}{}{end}", list(71)));
        refuses(format, &format!("{begin}{}{end}", list(72)));
    }
}

fn answer(answer: Option<&str>, explanation: &str) -> Parsed {
    Parsed::Answer { answer: answer.map(str::to_owned), explanation: explanation.to_owned() }
}

fn answers(answers: &[&str], explanation: &str) -> Parsed {
    Parsed::Answers { answers: answers.iter().map(|&a| a.to_owned()).collect(), explanation: explanation.to_owned() }
}

#[test]
fn an_answer_is_read_from_its_marker_on() {
    for (reply, want) in [
        ("Answer: 1956. Explanation: It says so.", answer(Some("1956"), "It says so.")),
        ("  answer :  1956 .\n EXPLANATION : It says so.\n", answer(Some("1956"), "It says so.")),
        ("Sure! Here it is:\n\n**Answer:** 1956\n\n**Explanation:** Because.", answer(Some("1956"), "Because.")),
        ("Answer: {1956}. Explanation: {Because.}", answer(Some("1956"), "{Because.}")),
        (
            "Answer: 3 Explanation\u{ff1a}It has 3 gates. Explanation: So.",
            answer(Some("3"), "It has 3 gates. Explanation: So."),
        ),
        ("Answer\u{ff1a}1956", answer(Some("1956"), "")),
        ("Answer:\n1956\nThe document says so.", answer(Some("1956"), "The document says so.")),
        ("Final Answer: \"Port Hale\"", answer(Some("Port Hale"), "")),
        ("Answer: Unknown. Explanation: No word of it.", answer(None, "No word of it.")),
        ("Answer: The unknown. Explanation: No word of it.", answer(None, "No word of it.")),
        ("Answer: the unknown soldier. Explanation: x", answer(Some("the unknown soldier"), "x")),
        ("Answer: Zoe\u{308}. Explanation: x", answer(Some("Zoë"), "x")),
        ("Answer: IDK. Explanation: x", answer(None, "x")),
        ("Answer: not mentioned in the provided document. Explanation: x", answer(None, "x")),
    ] {
        assert_eq!(read(&ANSWER, reply, Finish::Stop), want, "{reply:?}");
    }
}

#[test]
fn nothing_is_read_where_the_marker_or_the_answer_is_missing() {
    for reply in [
        "",
        "1956",
        "The document says 1956.",
        "Answer 1956. Explanation: x",
        "Answer:",
        "Answer: . Explanation: x",
        "Answer: ... Explanation: x",
        "Answer: \"\". Explanation: x",
        "Explanation: It was 1956.",
        "Answers: 1956",
        "Unanswer: 1956",
        "unknown",
    ] {
        assert_eq!(read(&ANSWER, reply, Finish::Stop), Parsed::Malformed, "{reply:?}");
    }
}

/// A label, a query or an answer of which a part is missing would be taken for a whole one.
#[test]
fn a_reply_cut_inside_what_it_decides_is_malformed() {
    let queries = json!({ "queries": ["Who built it?", "What does p->x mean in C?"] });
    let options = json!({ "options": ["yes", "yes, in part", "no"] });
    let read = |format: &Format, reply: &str, finish, values: &Value| format.read(reply, finish, values);
    for (format, values, reply) in [
        (&SHORT, &Value::Null, "The Treaty of Vers"),
        (&THOUGHT, &Value::Null, "Thought: It says so.\nAnswer: The Treaty of Vers"),
        (&QUERY_ACTION, &queries, "Argument: a\nQuery Expansion: Ada Quill birth"),
        (&QUERY_ACTION, &queries, "Argument: a\nQuery Optimization: Who built it? -> Ada"),
        (&CHOICE, &options, "yes"),
    ] {
        assert_ne!(read(format, reply, Finish::Stop, values), Parsed::Malformed, "{reply}");
        assert_eq!(read(format, reply, Finish::Length, values), Parsed::Malformed, "{reply}");
    }
    // The decisive part is complete: only later text was cut.
    for (format, values, reply) in [
        (&SHORT, &Value::Null, "The Treaty of Versailles\nIt was sig"),
        (&THOUGHT, &Value::Null, "Thought: It says so.\nAnswer: The Treaty\n"),
        (&QUERY_ACTION, &queries, "Argument: a\nQuery Expansion: Ada Quill\nThis wo"),
        (&CHOICE, &options, "no"),
    ] {
        assert_ne!(read(format, reply, Finish::Length, values), Parsed::Malformed, "{reply}");
    }
}

/// The arrow of the query is not that of the action.
#[test]
fn a_query_may_hold_an_arrow() {
    let values = json!({ "queries": ["What does p->x mean in C?"] });
    let reply = "Argument: a\nQuery Optimization: What does p->x mean in C? -> member access of a pointer";
    let Parsed::Fields(fields) = QUERY_ACTION.read(reply, Finish::Stop, &values) else { panic!() };
    assert_eq!((&fields["old"], &fields["new"]), (&json!(0), &json!("member access of a pointer")));
}

/// Each arrow is compared with all queries, so that a reply of arrows would take quadratic time.
#[test]
fn the_arrow_behind_a_query_is_one_of_the_first() {
    for (arrows, is_read) in [(31, true), (32, false), (10_000, false)] {
        let query = "When? -> ".repeat(arrows) + "When?";
        let reply = format!("Argument: a\nQuery Optimization: {query} -> now");
        let read = QUERY_ACTION.read(&reply, Finish::Stop, &json!({ "queries": [query] }));
        assert_eq!(matches!(read, Parsed::Fields(_)), is_read, "{arrows}");
    }
}

#[test]
fn a_reply_cut_after_its_answer_is_read_and_one_cut_within_is_not() {
    for (reply, want) in [
        // The sentence that was cut is left out; a single one is marked.
        ("Answer: 1956. Explanation: It sa", answer(Some("1956"), "It sa…")),
        ("Answer: 1956. Explanation: See p. 4. It says so. The seco", answer(Some("1956"), "See p. 4. It says so.")),
        ("Answer: 1956. Explanation: It says \"so.\"", answer(Some("1956"), "It says \"so.\"")),
        ("Answer: 1956. Explanation:", answer(Some("1956"), "")),
        ("Answer: 1956\nIt sa", answer(Some("1956"), "It sa…")),
        ("Answer: 195", Parsed::Malformed),
        ("Answer: 1956. Expl", Parsed::Malformed),
    ] {
        assert_eq!(read(&ANSWER, reply, Finish::Length), want, "{reply:?}");
    }
    for (reply, want) in [
        (r#"All Correct Answers: ["a"]. Expl"#, answers(&["a"], "Expl…")),
        (r#"All Correct Answers: ["a"]. Explanation: It says so. Bu"#, answers(&["a"], "It says so.")),
        (r#"All Correct Answers: ["a"]"#, answers(&["a"], "")),
        (r#"All Correct Answers: ["a", "b"#, Parsed::Malformed),
        (r#"All Correct Answers: ["a","#, Parsed::Malformed),
        (r#"All Correct Answers: unknown"#, Parsed::Malformed),
        (r#"All Correct Answers: unknown. Explanation: x"#, answers(&[], "x…")),
    ] {
        assert_eq!(read(&ANSWERS, reply, Finish::Length), want, "{reply:?}");
    }
}

#[test]
fn a_list_is_read_as_models_write_it() {
    for (reply, want) in [
        (r#"All Correct Answers: ["1963", "1956"]. Explanation: Two men."#, answers(&["1963", "1956"], "Two men.")),
        (r#"all  correct answers: [ '1963' ,'Jordan's Inn' ] Explanation: x"#, answers(&["1963", "Jordan's Inn"], "x")),
        ("**All Correct Answers**: [“1963”, ”1956”]\nBecause.", answers(&["1963", "1956"], "Because.")),
        ("All Correct Answers: [1963, Port Hale,]. Explanation: x", answers(&["1963", "Port Hale"], "x")),
        (r#"All Correct Answers: ["The Fox", "fox", "unknown"]. Explanation: x"#, answers(&["The Fox"], "x")),
        (r#"All Correct Answers: ["say \"hi\" é"]."#, answers(&["say \"hi\" é"], "")),
        ("All Correct Answers: []. Explanation: None is.", answers(&[], "None is.")),
        ("All Correct Answers: Unknown.", answers(&[], "")),
        ("Unknown.", answers(&[], "")),
        ("unknown. Explanation: Nobody knows.", answers(&[], "Nobody knows.")),
        (r#"All Correct Answers: ["1963", ""]. Explanation: x"#, answers(&["1963"], "x")),
        (r#"All Correct Answers: ["", "..."]. Explanation: x"#, Parsed::Malformed),
        ("All Correct Answers: 1963. Explanation: x", Parsed::Malformed),
        (r#"All Correct Answers: [""]. Explanation: x"#, Parsed::Malformed),
        (r#"All Correct Answers: ["a", ","]. Explanation: x"#, answers(&["a"], "x")),
        (r#"All Correct Answers: [["a"]]. Explanation: x"#, Parsed::Malformed),
        (r#"All Correct Answers: ["a" "b"]. Explanation: x"#, Parsed::Malformed),
        (r#"["1963"]"#, Parsed::Malformed),
        ("Nobody is unknown here.", Parsed::Malformed),
        ("", Parsed::Malformed),
    ] {
        assert_eq!(read(&ANSWERS, reply, Finish::Stop), want, "{reply:?}");
    }
    assert_eq!(read(&LIST, r#"Answers: ["Paris"]"#, Finish::Stop), answers(&["Paris"], ""));
    assert_eq!(read(&LIST, "Paris", Finish::Stop), Parsed::Malformed);
}

/// White space in a long reply: in quadratic time the test would take minutes.
#[test]
fn markers_are_found_in_linear_time() {
    let started = std::time::Instant::now();
    let reply = format!("{}Answer: 1931.{0}Explanation: So.", " \t".repeat(100_000));
    assert_eq!(read(&ANSWER, &reply, Finish::Stop), answer(Some("1931"), "So."));
    assert_eq!(read(&ANSWERS, &" ".repeat(200_000), Finish::Stop), Parsed::Malformed);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// As many characters and words as the vocabularies of models have: what a mask costs grows with them.
fn large_vocabulary() -> TokEnv {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let characters = ('\u{80}'..='\u{ffff}').map(|character| character.to_string().into_bytes());
    let letters = || b'a'..=b'z';
    let words = (letters().chain(b'A'..=b'Z'))
        .flat_map(|a| letters().flat_map(move |b| letters().map(move |c| vec![b' ', a, b, c])));
    let marks = [".,", ".\"", ",\"", "\",", "\".", "\"]", "--", " -"].map(|marks| marks.as_bytes().to_vec());
    let end = vec![TokTrie::SPECIAL_TOKEN_MARKER];
    let tokens: Vec<Vec<u8>> = bytes.chain(characters).chain(words).chain(marks).chain([end]).collect();
    let last = tokens.len() as u32 - 1;
    Arc::new(ApproximateTokEnv::new(TokTrie::from(&TokRxInfo::new(last + 1, last), &tokens)))
}

/// llguidance bounds the work for a mask, which grows with the vocabulary: over the single bytes of the other tests no grammar
/// reaches the bound, over a model's vocabulary a class of all letters does.
#[test]
fn masks_over_a_large_vocabulary_stay_within_the_default_limits() {
    let env = large_vocabulary();
    let factory = ParserFactory::new_simple(&env).unwrap();
    let replies = [
        (&ANSWER, "Answer: - St. Ånes, \"Zürich\". Explanation: It says so."),
        (&ANSWERS, r#"All Correct Answers: ["№ 5", "Łódź", "the \"Fox\" inn"]. Explanation: Two men."#),
        (&LIST, r#"Answers: ["№ 5", "Łódź"]"#),
        (&ITEMS, r#"Items: ["He was born in 1931.", "– she too"]"#),
        (&SHORT, "«Łódź» 1931"),
        (&THOUGHT, "Thought: The city is told.\nAnswer: – Łódź"),
        (&QUERY_ACTION, "Argument: It lacks the year.\nQuery Expansion: \"year\" of birth"),
    ];
    for (format, reply) in replies {
        let lark = format.grammar(&json!({ "queries": ["who"], "most": 8 })).unwrap().unwrap().lark;
        let mut matcher = Matcher::new(factory.create_parser(TopLevelGrammar::from_lark(lark.to_string())));
        for token in env.tokenize(reply) {
            let mask = matcher.compute_mask().unwrap_or_else(|reason| panic!("{}: {reason}", format.name));
            assert!(mask.is_allowed(token), "{}: {reply}", format.name);
            matcher.consume_token(token).unwrap();
        }
        assert!(matcher.is_accepting().unwrap(), "{}", format.name);
    }
}
