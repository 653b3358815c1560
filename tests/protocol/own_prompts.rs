//! The user's prompts: read from a folder, used instead of the program's, named in the record.

use crate::methods::{four, typed, usage_error};
use moot::eval::record::Header;
use moot::eval::record::reader::Record;
use moot::eval::replay::Replay;
use moot::llm::scripted::Scripted;
use moot::methods::{self, METHODS};
use moot::prompts::File;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::protocol::{OwnPrompts, entailment};
use moot::transcript::Parsed;
use moot::{MootError, prompt_file};
use std::fs;
use std::path::Path;

const AGENT: &str = "madam_rag/agent.jinja";

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The error of a folder that holds this one file.
fn refused(name: &str, text: impl AsRef<[u8]>) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), name, text);
    let error = OwnPrompts::read(folder.path(), &methods::replaceable()).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_prompt_of_ones_own_is_sent_and_hashed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), AGENT, "Mine: {{ question }} / {{ document }}\n");
    write(folder.path(), ".hidden/x.swp", "left out");
    let own = OwnPrompts::read(folder.path(), &methods::replaceable()).unwrap();
    let built = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap().with_prompts(own).unwrap();
    let llm = Scripted::new(|_| "Answer: 1931. Explanation: x".into());
    let settings = Settings::default();
    let (record, error) = built.record(&four(), Tools::new(&llm), &settings, &Silent);
    assert!(error.is_none());
    let sent = |i: usize| record.calls[i].messages[0].content.as_str();
    assert_eq!(sent(0), "Mine: In which year was Mira Tolland born? / She was born in 1931.");
    assert!(sent(4).starts_with("You read what several agents answered"), "the aggregator's is the program's");
    assert_eq!(record.calls[0].prompt, AGENT);
    // The hash is that of the file used; of the others, the program's.
    let text = "Mine: {{ question }} / {{ document }}\n";
    assert_eq!(built.hashes()[AGENT], File { name: AGENT, text }.sha256());
    let plain = methods::build("madam-rag", &Typed::new()).unwrap().hashes();
    assert_ne!(built.hashes()[AGENT], plain[AGENT]);
    assert!(plain.iter().filter(|(name, _)| *name != AGENT).all(|(name, hash)| built.hashes()[name] == *hash));
    assert_eq!(built.prompts.among(built.row.files()), [(AGENT.to_owned(), text.to_owned())].into());
}

#[test]
fn a_file_that_is_no_prompt_is_refused_with_names_that_are_near() {
    let near = refused("madam_rag/agnt.jinja", "x");
    assert!(near.contains("perhaps madam_rag/agent.jinja") && near.contains("\"madam_rag/agnt.jinja\""), "{near}");
    assert!(refused("madam/agent.jinja", "x").contains("madam_rag/agent.jinja"));
    assert!(refused("madam_rag/agent.txt", "x").contains("perhaps madam_rag/agent.jinja"));
    assert!(refused("agent.jinja", "x").contains("madam_rag/agent.jinja"));
    assert!(refused("notes/soup-of-the-day.jinja", "x").contains("moot prompts list"));
    assert!(refused("reply/answer.lark", "x").contains("the program's grammars cannot be replaced"));
    let named =
        OwnPrompts::default().replace_named("madam_rag/agentt.jinja", "x", &methods::replaceable()).unwrap_err();
    assert!(matches!(&named, MootError::UnknownName { known, .. } if known.contains(AGENT)), "{named}");
}

#[test]
fn a_prompt_that_cannot_be_one_is_refused_before_a_model_is_loaded() {
    assert!(refused(AGENT, "{% if %}").contains(AGENT));
    assert!(refused(AGENT, " \n").contains("an empty file"));
    assert!(refused(AGENT, [0xff, 0xfe, 0x41]).contains("UTF-8"));
    assert!(refused(AGENT, vec![b'a'; (1 << 20) + 1]).contains("at most 1048576 bytes"));
    let empty = tempfile::tempdir().unwrap();
    let none = OwnPrompts::read(empty.path(), &methods::replaceable()).unwrap_err().to_string();
    assert!(none.contains("expected prompts, named as `moot prompts list METHOD` prints them, found none"), "{none}");
    assert!(OwnPrompts::read(&empty.path().join("nowhere"), &methods::replaceable()).is_err());
}

#[test]
fn a_value_that_a_prompt_does_not_have_is_named_with_those_that_it_has() {
    let failed = |text: &str| {
        let mut own = OwnPrompts::default();
        own.replace_named(AGENT, text, &methods::replaceable()).unwrap();
        let built = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap().with_prompts(own).unwrap();
        let llm = Scripted::new(|_| unreachable!("no call is made"));
        built.record(&four(), Tools::new(&llm), &Settings::default(), &Silent).1.unwrap().to_string()
    };
    let has = "(this prompt has: document, history, number, question)";
    assert_eq!(
        failed("Mine:\n{{ question }} {{ documnt }}"),
        format!("{AGENT}: line 2: no value is called \"documnt\" {has}")
    );
    let two = failed("{% for i in range(2) %}{{ i }}{{ documnt }}{% endfor %}{% if asked %}x{% endif %}");
    assert_eq!(two, format!("{AGENT}: line 1: no value is called \"asked\" or \"documnt\" {has}"));
    // Only a field of a value is missing.
    assert!(
        failed("{{ question.words.first }}").contains("undefined value"),
        "{}",
        failed("{{ question.words.first }}")
    );
}

#[test]
fn a_prompt_that_never_shows_the_question_is_reported() {
    let mut own = OwnPrompts::default();
    own.replace_named(AGENT, "Say hello. {% if history %}{{ history }}{% endif %}", &methods::replaceable()).unwrap();
    assert_eq!(own.leaving_out(&methods::replaceable()), [(AGENT, vec!["question", "document"])]);
    own.replace_named(
        AGENT,
        "{{ question }} {% for word in document %}{{ word }}{% endfor %}",
        &methods::replaceable(),
    )
    .unwrap();
    assert_eq!(own.leaving_out(&methods::replaceable()), []);
}

#[test]
fn a_folder_of_unedited_prompts_is_accepted_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), AGENT, methods::replaceable()[AGENT].text);
    assert!(OwnPrompts::read(folder.path(), &methods::replaceable()).unwrap().is_empty());
}

#[test]
fn prompts_of_other_methods_alone_are_refused() {
    let mut own = OwnPrompts::default();
    own.replace(prompt_file!("drag/proponent.jinja"), "x").unwrap();
    let built = methods::build("madam-rag", &Typed::new()).unwrap();
    let wrong = usage_error(built.with_prompts(own.clone()));
    assert!(wrong.contains("drag/proponent.jinja") && wrong.contains("it uses madam_rag/agent.jinja"), "{wrong}");
    // Files of other methods are ignored if one of this method is there: a folder may serve several methods.
    own.replace_named(AGENT, "{{ question }}", &methods::replaceable()).unwrap();
    let built = methods::build("madam-rag", &Typed::new()).unwrap().with_prompts(own).unwrap();
    assert_eq!(built.prompts.among(built.row.files()).len(), 1);
}

/// A value that a template names and the method does not give ends the run: every question would fail alike.
#[test]
fn a_value_that_no_call_has_names_the_file() {
    let mut own = OwnPrompts::default();
    own.replace_named(AGENT, "{{ questions }}", &methods::replaceable()).unwrap();
    let built = methods::build("madam-rag", &Typed::new()).unwrap().with_prompts(own).unwrap();
    let llm = Scripted::new(|_| String::new());
    let settings = Settings::default();
    let (_, error) = built.record(&four(), Tools::new(&llm), &settings, &Silent);
    let error = error.unwrap();
    assert!(matches!(&error, MootError::Prompt { file, .. } if file == AGENT), "{error}");
    assert!(!error.is_of_one_question());
}

/// The program's own text replaces nothing, so a folder that was exported and not edited changes no record.
#[test]
fn every_prompt_can_be_replaced_by_its_name() {
    let mut own = OwnPrompts::default();
    for file in METHODS.iter().flat_map(|row| row.prompts.iter().copied()).chain([entailment::PROMPT]) {
        own.replace_named(file.name, file.text, &methods::replaceable()).unwrap();
        assert!(own.is_empty(), "{}", file.name);
        own.replace_named(file.name, "other", &methods::replaceable()).unwrap();
        assert_eq!(own.of(file).text, "other");
        own.replace_named(file.name, file.text, &methods::replaceable()).unwrap();
        assert_eq!((own.of(file).text, own.is_empty()), (file.text, true));
    }
}

/// Formats of replies of one's own, for the agent's prompt.
fn own(format: &str, grammar: Option<&str>) -> Result<OwnPrompts, MootError> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "madam_rag/agent.format", format);
    grammar.iter().for_each(|grammar| write(folder.path(), "madam_rag/agent.lark", grammar));
    OwnPrompts::read(folder.path(), &methods::replaceable())
}

fn told(own: OwnPrompts, reply: &'static str) -> moot::transcript::QuestionRecord {
    let built = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap().with_prompts(own).unwrap();
    let llm = Scripted::new(move |call| match call.role.as_str() {
        "agent" => reply.to_owned(),
        _ => r#"All Correct Answers: ["1931"]. Explanation: x"#.to_owned(),
    });
    let (record, error) = built.record(&four(), Tools::new(&llm), &Settings::default(), &Silent);
    assert!(error.is_none(), "{error:?}");
    record
}

fn answer(answer: Option<&str>, explanation: &str) -> Parsed {
    Parsed::Answer { answer: answer.map(str::to_owned), explanation: explanation.to_owned() }
}

#[test]
fn a_regular_expression_of_ones_own_finds_the_answer() {
    let format = "# how agents answer\nformat: free\nanswer: (?i)the answer is:? (.+?)\\.?$\nexplanation: (?s)^(.*?)\\s*(?i:the answer is)\nunknown: (?i)no idea\n";
    let first = |reply| told(own(format, None).unwrap(), reply).calls[0].clone();
    let call = first("It says so.\nThe answer is 1931.");
    assert_eq!(call.parsed, answer(Some("1931"), "It says so."));
    assert_eq!((call.format.as_str(), call.format_values["list"].as_bool()), ("free", Some(false)));
    assert_eq!(call.grammar, None);
    // Of several the last counts, since reasons come first.
    let year = |reply| told(own("format: free\nanswer: is ([0-9]{4})", None).unwrap(), reply).calls[0].clone().parsed;
    let twice = "The answer is 1930, no: it is 1931.";
    assert_eq!(year(twice), answer(Some("1931"), twice));
    assert_eq!(first("I have no idea").parsed, answer(None, ""));
    assert_eq!(first("The answer is unknown.").parsed, answer(None, ""));
    assert_eq!(first("1931").parsed, Parsed::Malformed, "no match");
    // The aggregator's replies keep the program's format.
    assert_eq!(told(own(format, None).unwrap(), "The answer is 1").calls[4].format, "answers");
}

#[test]
fn a_format_of_ones_own_is_in_the_record_and_comes_back_from_it() {
    let grammar = "start: /The answer is [0-9]{4}/";
    let own = own("format: free\nanswer: ([0-9]{4})", Some(grammar)).unwrap();
    let built = methods::build("madam-rag", &Typed::new()).unwrap();
    let files = own.among(built.row.files());
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["madam_rag/agent.format", "madam_rag/agent.lark"]);
    let hashes = methods::build("madam-rag", &Typed::new()).unwrap().with_prompts(own.clone()).unwrap().hashes();
    assert!(names.iter().all(|name| hashes[*name].len() == 64) && built.hashes().len() + 2 == hashes.len());
    // As a fork or a replay has it, name by name.
    let mut again = OwnPrompts::default();
    for (name, text) in &files {
        again.replace_named(name, text, &methods::replaceable()).unwrap();
    }
    assert_eq!(again, own);
    let call = told(own, "The answer is 1931").calls[0].clone();
    assert_eq!(call.parsed, answer(Some("1931"), "The answer is 1931"));
    assert_eq!((call.format.as_str(), call.format_values["grammar"].as_str()), ("free-grammar", Some(grammar)));
    let held = moot::protocol::formats::Format::named("free-grammar").unwrap().grammar(&call.format_values).unwrap();
    assert!(held.unwrap().lark.ends_with(grammar));
}

#[test]
fn another_row_of_the_program_reads_replies_of_the_same_kind() {
    let call = told(own("format: thought", None).unwrap(), "Thought: it says so.\nAnswer: 1931").calls[0].clone();
    assert_eq!((call.format.as_str(), &call.parsed), ("thought", &answer(Some("1931"), "it says so.")));
    let built = methods::build("madam-rag", &Typed::new()).unwrap();
    let built = built.with_prompts(own("format: answers", None).unwrap()).unwrap();
    let llm = Scripted::new(|_| "x".into());
    let (_, error) = built.record(&four(), Tools::new(&llm), &Settings::default(), &Silent);
    let error = error.unwrap().to_string();
    assert!(
        error.contains("madam_rag/agent.jinja: expected answer, short, thought, about or free, found answers"),
        "{error}"
    );
}

/// A replay asks today's prompts, and reads replies as the user's format says.
#[test]
fn a_replay_reads_by_the_format_of_its_record() {
    let own = own("format: free\nanswer: is ([0-9]{4})", None).unwrap();
    let built = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap().with_prompts(own.clone()).unwrap();
    let header = Header {
        method: "madam-rag".into(),
        switches: built.values.json(),
        prompts: built.hashes(),
        own_prompts: own.among(built.row.files()),
        ..crate::eval::header()
    };
    let questions = vec![told(own, "It is 1931.")];
    let record = Record { path: "out.jsonl".into(), header, questions, torn: false };
    let replay = Replay::new(&record, None).unwrap();
    let (again, report) = replay.run().unwrap();
    assert_eq!((report.calls, report.read_otherwise, report.prompts.len()), (5, 0, 0));
    assert_eq!(again[0].calls[0].parsed, answer(Some("1931"), "It is 1931."));
    assert_eq!(replay.header("").prompts, record.header.prompts);
}

/// The last characters of a reply that was cut may be missing.
#[test]
fn an_answer_at_the_end_of_a_cut_reply_is_malformed() {
    use moot::generation::Finish;
    let free = moot::protocol::formats::Format::named("free").unwrap();
    let values = serde_json::json!({ "answer": "is ([0-9]+)", "list": true });
    let read = |reply: &str, finish| free.read(reply, finish, &values);
    let two = Parsed::Answers { answers: vec!["19".into(), "31".into()], explanation: "is 19, is 31".into() };
    assert_eq!(read("is 19, is 31", Finish::Stop), two);
    assert_eq!(read("is 19, is 31", Finish::Length), Parsed::Malformed);
    assert!(matches!(read("is 19, is 31, and", Finish::Length), Parsed::Answers { .. }));
    assert_eq!(free.read("x", Finish::Stop, &serde_json::Value::Null), Parsed::Malformed);
}

#[test]
fn a_format_that_cannot_be_one_is_refused_with_its_line() {
    for (format, grammar, expected) in [
        ("answer: x", None, "expected a line `format: NAME`"),
        ("format: free", None, "a line `answer: EXPRESSION`, since the format is free"),
        ("format: free\nanswer: (", None, "a regular expression (error: unclosed group"),
        ("format: free\n\nanswr: x", None, "agent.format:3: expected format:, answer:, explanation: or unknown:"),
        ("format: claims", None, "expected free, or one of answer, short, thought, about, answers, list, items"),
        ("format: thought", Some("start: /x/"), "expected free, where there are expressions or a grammar"),
    ] {
        let error = own(format, grammar).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{format:?}: {error}");
    }
    let alone = refused("madam_rag/agent.lark", "start: /x/");
    assert!(alone.contains("madam_rag/agent.format in the same folder"), "{alone}");
}
