//! Tests that every command that help, advice or documentation shows is accepted: by the parser of arguments, and by the
//! switches, presets, prompts and roles of its method.

use super::{Cli, advice};
use crate::cli::args::method::MethodArgs;
use crate::llm::remote::Notice;
use crate::llm::roles::Assignment;
use crate::methods::{ASK, METHODS, RUN};
use crate::protocol::{Row, entailment};
use crate::workspace::{DEFAULT_MODEL, MethodOptions, MethodPlan};
use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches};
use std::path::{Path, PathBuf};

/// The words of a line as a shell reads them, up to a note behind two spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.trim().chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted && word.is_empty() => break,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The commands of a line that call this program, each from `moot` on.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.replace("cargo run --release --", "moot");
    let all = words(&line);
    let parts = all.split(|word| ["&&", "|", "\\", "&", ";"].contains(&word.as_str()));
    // Variables before the name and redirections are the shell's.
    let own = parts.map(|part| {
        let own = part.iter().skip_while(|word| word.contains('='));
        own.take_while(|word| ![">", "<", "2>", "2>&1"].contains(&word.as_str())).cloned().collect()
    });
    own.filter(|part: &Vec<String>| part.first().is_some_and(|word| word == "moot") && part.len() > 1).collect()
}

/// Checks the names of one command: those that its parser does not know.
fn resolve(command: &clap::Command, matches: &ArgMatches) -> Result<(), String> {
    if let Some((name, matches)) = matches.subcommand() {
        return resolve(command.find_subcommand(name).unwrap(), matches);
    }
    let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
    let text = |id: &str| if has(id) { matches.get_one::<String>(id).map(String::as_str) } else { None };
    // Commands without `--preset` and `--seed` do not take all options of a method; of them only the method's name is checked.
    if !has("preset") || !has("seed") {
        return text("method").map_or(Ok(()), |name| Row::named(name).map(drop).map_err(|e| e.to_string()));
    }
    let options = MethodArgs::from_arg_matches(matches).map_err(|e| e.to_string())?.options();
    let options = MethodOptions { prompts: None, source_weights: None, ..options.map_err(|e| e.to_string())? };
    let notice = Notice::new(|_: &str| {});
    let methods = match command.get_name() {
        "run" => options.resolve_all(&notice).map(|all| all.into_iter().map(|(_, method)| method).collect()),
        "ask" => options.resolve(ASK, &notice).map(|one| vec![one]),
        _ => options.resolve(RUN, &notice).map(|one| vec![one]),
    };
    let methods: Vec<MethodPlan> = methods.map_err(|e| e.to_string())?;
    let model = text("model").unwrap_or(DEFAULT_MODEL);
    let models = if model.contains('=') { vec![model] } else { model.split(',').collect() };
    for method in &methods {
        models.iter().try_for_each(|model| has_roles(method, model))?;
        let is_prompt = |role: &str| {
            method.row().prompts.iter().any(|file| Path::new(file.name).file_stem() == Some(role.as_ref()))
        };
        if let Some(role) = text("role").filter(|role| !is_prompt(role)) {
            return Err(format!("{} has no prompt {role:?}", method.row().name));
        }
    }
    Ok(())
}

fn has_roles(method: &MethodPlan, model: &str) -> Result<(), String> {
    let roles = method.method.roles();
    let roles: Vec<&str> = roles.iter().map(String::as_str).chain([entailment::ROLE]).collect();
    let assignment = Assignment::parse(model).map_err(|e| e.to_string())?;
    assignment.resolve(method.row().name, &roles).map(drop).map_err(|e| e.to_string())
}

/// Why the program refuses a command that can be copied as it is.
fn refused(typed: &[String]) -> Option<String> {
    let command = Cli::grouped();
    let matches = command.clone().try_get_matches_from(typed);
    let result = matches.map_err(|e| e.to_string()).and_then(|matches| resolve(&command, &matches));
    result.err().map(|e| format!("{}\n  {e}", typed.join(" ")))
}

/// Why the program refuses a part of a command, with capitals for what the user fills in.
fn refused_part(text: &str) -> Option<String> {
    let typed = words(text);
    let error = Cli::grouped().try_get_matches_from(&typed).err()?;
    let is_open = typed.last().is_some_and(|word| word.starts_with('-'));
    let known = match error.kind() {
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict => false,
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => is_open || text.chars().any(char::is_uppercase),
        _ => true,
    };
    (!known).then(|| format!("`{text}`\n  {error}"))
}

/// The commands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|part| part.starts_with("moot ") && !part.contains("..."))
}

/// All help of a command and its subcommands.
fn helps(command: &clap::Command, all: &mut Vec<String>) {
    let texts = [command.get_about(), command.get_long_about(), command.get_after_help()];
    all.extend(texts.into_iter().flatten().map(ToString::to_string));
    for argument in command.get_arguments() {
        all.extend([argument.get_help(), argument.get_long_help()].into_iter().flatten().map(ToString::to_string));
    }
    command.get_subcommands().for_each(|sub| helps(sub, all));
}

/// Files below `folder` of the repository with this ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, ending, found),
            false if path.extension().is_some_and(|end| end == ending) => found.push(path),
            false => {}
        }
    }
}

fn texts(folders: &[&str], ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in folders {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), ending, &mut found);
    }
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn every_command_of_the_help_is_accepted() {
    let mut all = Vec::new();
    helps(&Cli::grouped(), &mut all);
    let examples: Vec<Vec<String>> = all.iter().flat_map(|text| text.lines().flat_map(commands)).collect();
    assert!(examples.len() > 80, "{}", examples.len());
    let refused: Vec<String> = examples.iter().filter_map(|typed| refused(typed)).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    let parts: Vec<String> = all.iter().flat_map(|text| quoted(text).filter_map(refused_part)).collect();
    assert!(parts.is_empty(), "{}", parts.join("\n"));
}

#[test]
fn every_command_in_messages_and_pages_is_known() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (path, text) in texts(&["src"], "rs").into_iter().chain(texts(&["docs"], "md")) {
        let lines = text.lines().flat_map(quoted).inspect(|_| count += 1);
        wrong.extend(lines.filter_map(refused_part).map(|error| format!("{}: {error}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count} commands");
}

#[test]
fn every_command_of_a_page_is_accepted() {
    let (mut count, mut wrong) = (0, Vec::new());
    let readme = (PathBuf::from("README.md"), include_str!("../../README.md").to_owned());
    for (path, text) in texts(&["docs"], "md").into_iter().chain([readme]) {
        let blocks = text.split("```").skip(1).step_by(2).map(|block| block.replace("\\\n", ""));
        let typed: Vec<Vec<String>> =
            blocks.flat_map(|block| block.lines().flat_map(commands).collect::<Vec<_>>()).collect();
        count += typed.len();
        wrong.extend(
            typed.iter().filter_map(|typed| refused(typed)).map(|error| format!("{}: {error}", path.display())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count} commands");
}

#[test]
fn the_advised_model_has_a_role_of_every_method() {
    for row in METHODS {
        let method = MethodPlan::of(row.build(&Default::default()).unwrap());
        let advised = advice::larger("qwen2.5-coder-1.5b", &method.method.roles());
        assert_eq!(has_roles(&method, &advised), Ok(()), "{advised}");
    }
    let moot = Row::named(ASK).unwrap().build(&Default::default()).unwrap();
    assert_eq!(advice::larger("a", &moot.roles()), "a,judge=NAME");
}

#[test]
fn a_wrong_example_is_found() {
    let lines = [
        "  moot ask \"When?\" --docs a.txt --set rounds=2",
        "  moot prompts list debate",
        "  moot ask \"When?\" --docs a.txt --model a,aggregator=b     a note",
        "  moot ask \"When?\" --docs a.txt --method madam-rag --preset tuned && moot scores a.jsonl",
    ];
    let found: Vec<String> = lines.iter().flat_map(|line| commands(line)).filter_map(|typed| refused(&typed)).collect();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(
        ["has no switch \"rounds\"", "replaced by moot", "has no role \"aggregator\"", "scores"]
            .iter()
            .zip(&found)
            .all(|(text, found)| found.contains(text)),
        "{found:?}"
    );
    assert!(refused_part("moot record shows FILE").is_some() && refused_part("moot record show FILE N").is_none());
}
