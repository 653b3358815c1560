//! Lists in replies: the grammar, the parser and the line made of a JSON object agree on every text.

use super::formats::accepts;
use moot::generation::Finish;
use moot::protocol::claims::CLAIMS;
use moot::protocol::formats::{ANSWERS, Format, ITEMS, LIST};
use moot::transcript::Parsed;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Every format with a list: the name of the object's field, and what the reply has around the list.
fn formats() -> [(&'static Format, &'static str, &'static str, &'static str); 4] {
    [
        (&ANSWERS, "answers", "All Correct Answers: ", ". Explanation: x"),
        (&LIST, "answers", "Answers: ", ""),
        (&ITEMS, "items", "Items: ", ""),
        (&CLAIMS, "claims", "Claims: ", ""),
    ]
}

fn values() -> Value {
    json!({ "most": 8 })
}

/// The object of a schema as the line of the grammar.
fn line(format: &Format, field: &str, items: &[String]) -> String {
    let mut object = json!({ field: items });
    if format.name == "answers" {
        object["explanation"] = "x".into();
    }
    (format.line)(&object.to_string()).unwrap()
}

fn read(format: &Format, reply: &str) -> Vec<String> {
    match format.read(reply, Finish::Stop, &values()) {
        Parsed::Answers { answers, .. } => answers,
        other => panic!("{}: {reply:?} is {other:?}", format.name),
    }
}

#[test]
fn every_text_survives_the_way_through_an_object() {
    let items = [
        r"C:\data\pump.txt",
        r"D:\new\table\",
        r"\\server\share",
        r#"the "Old" Mill"#,
        "[1] a, b; c: {d}",
        r"\frac{a}{b} \\ \beta",
        r#"\d+\.\w*["']"#,
        r#"{"a": [1, "b"], "c": "\n"}"#,
        "O'Brien, “Ash & Elm”",
        "🌉 bridge",
        r#"ends in "quotes""#,
        r"ends in \",
        r#"x", "y"#,
        r#"u"]. v"#,
        "Zoë—2.5 km²",
        "https://a.b/c?d=e#f",
    ];
    for (format, field, ..) in formats() {
        for pair in items.chunks(2) {
            let pair: Vec<String> = pair.iter().map(|&item| item.to_owned()).collect();
            let line = line(format, field, &pair);
            assert!(accepts(format, &values(), &line), "{}: {line}", format.name);
            assert_eq!(read(format, &line), pair, "{}: {line}", format.name);
        }
        // A line end becomes a space.
        let line = line(format, field, &["two\nlines\there".to_owned()]);
        assert!(accepts(format, &values(), &line), "{line}");
        assert_eq!(read(format, &line), ["two lines here"]);
    }
}

#[test]
fn a_model_may_write_backslashes_as_the_document_has_them() {
    for (list, want) in [
        (r#"["C:\data\pump.txt", "D:\logs\pump.txt"]"#, [r"C:\data\pump.txt", r"D:\logs\pump.txt"]),
        (r#"["C:\\data\\pump.txt", "D:\\logs\\pump.txt"]"#, [r"C:\data\pump.txt", r"D:\logs\pump.txt"]),
        (r#"["C:\data\", "D:\logs\"]"#, [r"C:\data\", r"D:\logs\"]),
        (r#"["\\server\share", "\d+"]"#, [r"\\server\share", r"\d+"]),
    ] {
        for (format, _, before, after) in formats() {
            let reply = format!("{before}{list}{after}");
            assert!(accepts(format, &values(), &reply), "{reply}");
            assert_eq!(read(format, &reply), want, "{reply}");
        }
    }
    let reply = r#"All Correct Answers: ["C:\data\", "D:\logs\"]. Explanation: Agents 1 and 2 say "so"."#;
    let parsed = ANSWERS.read(reply, Finish::Stop, &values());
    let want = Parsed::Answers {
        answers: vec![r"C:\data\".into(), r"D:\logs\".into()],
        explanation: "Agents 1 and 2 say \"so\".".into(),
    };
    assert_eq!(parsed, want);
}

/// An item with a letter of its own first, so that no two of a list are equal.
fn item() -> impl Strategy<Value = String> {
    "[a-z0-9éß🌉\\\\\"'\\[\\]{}(),;:/.?!$^*+|%#& “’—-]{0,12}[a-z]"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_written_list_is_accepted_and_read(items in prop::collection::vec(item(), 1..4)) {
        let distinct = |(index, item): (usize, &String)| format!("n{index} {item}");
        let items: Vec<String> = items.iter().enumerate().map(distinct).collect();
        let items: Vec<String> = items.iter().map(|i| i.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for (format, field, ..) in formats() {
            let line = line(format, field, &items);
            prop_assert!(accepts(format, &values(), &line), "{}: {line}", format.name);
            prop_assert_eq!(read(format, &line), items.clone(), "{}", line);
        }
    }
}
