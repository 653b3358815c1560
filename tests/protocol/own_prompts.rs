//! The user's prompts: read from a folder, used instead of the program's, named in the record.

use crate::methods::{four, typed, usage_error};
use moot::llm::scripted::Scripted;
use moot::methods::{self, METHODS};
use moot::prompts::File;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::protocol::{OwnPrompts, entailment};
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
    assert!(refused("reply/answer.lark", "x").contains("grammars and schemas cannot be replaced"));
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
