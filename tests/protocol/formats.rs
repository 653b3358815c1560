//! The table of formats: choices between options, lines made of JSON objects, and parsers that never panic.

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use moot::generation::Finish;
use moot::protocol::formats::{ANSWER, ANSWERS, CHOICE, FORMATS, Format, ITEMS, LIST, QUERY_ACTION, TEXT};
use moot::transcript::Parsed;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use toktrie::ApproximateTokEnv;

/// Options as users and datasets write them, and malformed ones.
const OPTIONS: &[&str] = &[
    "yes",
    "no",
    "Proponent Agent",
    "a \"quoted\" one",
    "{braces} {{ x }} {% y %}",
    "back\\slash \\n",
    "two\nlines",
    "tab\tand  spaces",
    "/x*/ | \"y\"",
    "ünï 世 \u{1F600}",
    "12.",
    "12",
    "Choice: yes. Explanation: no",
    "<|im_end|>",
];

fn offered(options: &[&str]) -> Value {
    json!({ "options": options })
}

/// Whether the grammar lets all of `reply` through and may end there.
pub(crate) fn accepts(format: &Format, values: &Value, reply: &str) -> bool {
    let env = ApproximateTokEnv::single_byte_env();
    let factory = ParserFactory::new_simple(&env).unwrap();
    let lark = format.grammar(values).unwrap().unwrap().lark;
    let mut matcher = Matcher::new(factory.create_parser(TopLevelGrammar::from_lark(lark.to_string())));
    assert!(!matcher.is_error(), "{}: {:?}\n{lark}", format.name, matcher.get_error());
    let tokens = env.tokenize(reply);
    matcher.try_consume_tokens(&tokens).unwrap() == tokens.len() && matcher.is_accepting().unwrap()
}

fn choice(option: usize) -> Parsed {
    Parsed::Choice { option, explanation: String::new() }
}

#[test]
fn names_are_unique_and_files_are_templates_of_their_kind() {
    let names: BTreeSet<&str> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(names.len(), FORMATS.len());
    for format in FORMATS {
        assert!(!format.about.is_empty(), "{}", format.name);
        assert_eq!(Format::named(format.name).unwrap(), *format);
        assert!(format.grammar.is_none_or(|file| file.name.ends_with(".lark")), "{}", format.name);
        assert!(format.schema.is_none_or(|file| file.name.ends_with(".jsonc")), "{}", format.name);
        // A grammar of the user's has no schema beside it.
        let schema = format.schema.is_some() || format.name == "free-grammar";
        assert_eq!(format.grammar.is_some(), schema, "{}: servers take one or the other", format.name);
    }
    let unknown = Format::named("choises").unwrap_err().to_string();
    assert!(unknown.contains("\"choises\"") && unknown.contains("query-action"), "{unknown}");
}

#[test]
fn a_choice_is_one_of_the_options_whatever_they_hold() {
    let values = offered(OPTIONS);
    for (index, option) in OPTIONS.iter().enumerate() {
        assert!(accepts(&CHOICE, &values, option), "{option:?}");
        assert_eq!(CHOICE.read(option, Finish::Stop, &values), choice(index), "{option:?}");
    }
    for other in ["", "maybe", "yesno", "\"yes\"", "two", "a quoted one"] {
        assert!(!accepts(&CHOICE, &values, other), "{other:?}");
    }
}

#[test]
fn a_free_choice_is_read_dress_and_case_apart() {
    let values = offered(&["entails", "contradicts", "neither"]);
    for (reply, want) in [
        ("Entails.", choice(0)),
        (" **contradicts** ", choice(1)),
        ("Choice: neither\nbecause it is about soup", choice(2)),
        ("\"Neither\"", choice(2)),
        ("It entails the statement", Parsed::Malformed),
        ("entails or contradicts", Parsed::Malformed),
        ("", Parsed::Malformed),
        ("...", Parsed::Malformed),
    ] {
        assert_eq!(CHOICE.read(reply, Finish::Stop, &values), want, "{reply:?}");
    }
    assert_eq!(CHOICE.read("yes", Finish::Stop, &Value::Null), Parsed::Malformed, "nothing was offered");
}

#[test]
fn schemas_are_json_with_the_options_as_they_are() {
    let schema = CHOICE.schema(&offered(OPTIONS)).unwrap().unwrap();
    let schema: Value = serde_json::from_str(&schema.json).unwrap();
    assert_eq!(schema["properties"]["choice"]["enum"], json!(OPTIONS));
    for format in FORMATS.iter().filter(|format| !format.name.contains("choice")) {
        let values = match format.name {
            "query-action" => json!({ "queries": OPTIONS }),
            "claim-label" => json!({ "label_first": true }),
            _ => Value::Null,
        };
        if let Some(schema) = format.schema(&values).unwrap() {
            let schema: Value = serde_json::from_str(&schema.json).unwrap();
            assert_eq!(schema["type"], "object", "{}", format.name);
            assert_eq!(schema["additionalProperties"], false, "{}", format.name);
        }
    }
    let error = CHOICE.grammar(&json!({})).unwrap_err().to_string();
    assert!(error.starts_with("reply/choice.lark: "), "{error}");
}

#[test]
fn an_object_of_the_schema_becomes_the_line_of_the_grammar() {
    let object = json!({ "answer": "J. \"R.\"\nTolkien", "explanation": " It\n says  so. " }).to_string();
    assert_eq!((ANSWER.line)(&object).unwrap(), "Answer: J. \"R.\" Tolkien. Explanation: It says so.");
    let object = json!({ "answers": ["a\nb", "c \"d\""], "explanation": "x" }).to_string();
    let line = r#"All Correct Answers: ["a b", "c \"d\""]. Explanation: x"#;
    assert_eq!((ANSWERS.line)(&object).unwrap(), line);
    let read = Parsed::Answers { answers: vec!["a b".into(), "c \"d\"".into()], explanation: "x".into() };
    assert_eq!(ANSWERS.read(line, Finish::Stop, &Value::Null), read);
    assert_eq!((LIST.line)(r#"{"answers":["a"]}"#).unwrap(), r#"Answers: ["a"]"#);
    assert_eq!((CHOICE.line)(r#" {"choice": "yes"} "#).unwrap(), "yes");
    for format in FORMATS {
        for broken in ["", "null", "[]", "{}", "{\"answer\": 1}", "{\"answer\": \"a\"", "{\"surprise\": \"a\"}", "yes"]
        {
            assert_eq!((format.line)(broken), None, "{}: {broken:?}", format.name);
        }
    }
    assert_eq!((TEXT.line)(r#"{"answer": "a"}"#), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_reply_makes_a_parser_panic(
        reply in "((answers?|all correct answers|choice|explanation|thought|argument|query (optimization|expansion)|->)[:. ]?|[\\PC\n]{0,4}|[\"'“\\[\\],.*{}]){0,12}",
        options in prop::collection::vec("[\\PC\n]{0,6}", 0..4),
        stop in any::<bool>(),
    ) {
        let finish = if stop { Finish::Stop } else { Finish::Length };
        for format in FORMATS {
            for values in [json!({ "options": options, "queries": options }), json!({ "options": 1 }), Value::Null] {
                match format.read(&reply, finish, &values) {
                    Parsed::Choice { option, .. } => prop_assert!(option < options.len(), "{}", format.name),
                    Parsed::Answers { answers, .. } => prop_assert!(answers.iter().all(|answer| !answer.is_empty())),
                    Parsed::Answer { answer: Some(answer), .. } => prop_assert_eq!(answer.trim(), &answer),
                    Parsed::Text(text) => prop_assert!(format.name == "continuation" || !text.trim().is_empty()),
                    _ => {}
                }
            }
            let _ = (format.line)(&reply);
        }
    }

    /// The parser reads every line of the grammar as the option that it is.
    #[test]
    fn every_option_is_read_back(options in prop::collection::btree_set("[a-zA-Z0-9 .,:'\"{}*\n-]{1,12}", 1..5)) {
        // Two options that differ in white space alone are one line.
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: BTreeSet<String> = options.iter().map(|option| line(option)).collect();
        prop_assume!(lines.len() == options.len() && !lines.contains(""));
        let options: Vec<String> = options.into_iter().collect();
        let values = json!({ "options": options });
        for (index, option) in options.iter().enumerate() {
            prop_assert_eq!(CHOICE.read(option, Finish::Stop, &values), choice(index), "{:?}", option);
            let object = json!({ "choice": option }).to_string();
            prop_assert_eq!(CHOICE.read(&(CHOICE.line)(&object).unwrap(), Finish::Stop, &values), choice(index));
        }
    }

    #[test]
    fn answers_survive_the_way_through_an_object(
        answer in "[a-zA-Z0-9 .,'é世-]{0,20}",
        answers in prop::collection::vec("[b-z]{1,6}( [b-z\"]{1,6})?", 0..4),
        explanation in "[\\PC\n]{0,20}",
    ) {
        let object = json!({ "answers": answers, "explanation": explanation }).to_string();
        let read = ANSWERS.read(&(ANSWERS.line)(&object).unwrap(), Finish::Stop, &Value::Null);
        let without = moot::answers::words::Level::Voted.without_repeats(answers.iter().filter(|a| *a != "unknown").cloned());
        prop_assert!(matches!(&read, Parsed::Answers { answers, .. } if *answers == without), "{read:?}");
        let object = json!({ "answer": answer, "explanation": "x" }).to_string();
        let read = ANSWER.read(&(ANSWER.line)(&object).unwrap(), Finish::Stop, &Value::Null);
        let known = !moot::answers::words::Level::Voted.words(&answer).is_empty();
        prop_assert_eq!(matches!(read, Parsed::Answer { .. }), known, "{:?}", read);
    }
}

#[test]
fn items_and_new_queries_have_a_letter_or_a_digit() {
    let most = json!({ "most": 3 });
    assert!(accepts(&ITEMS, &most, r#"Items: ["Is it 5?", "b"]"#));
    assert!(!accepts(&ITEMS, &most, r#"Items: ["Is it 5?", "?"]"#));
    let queries = json!({ "queries": ["lamp"] });
    assert!(accepts(&QUERY_ACTION, &queries, "Argument: x\nQuery Expansion: -1"));
    assert!(!accepts(&QUERY_ACTION, &queries, "Argument: x\nQuery Expansion: --"));
    assert!(!accepts(&QUERY_ACTION, &queries, "Argument: x\nQuery Optimization: lamp -> ?"));
}
