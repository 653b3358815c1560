//! Errors at the command line: one line for the error, at most one more for the remedy, and an exit code that shows whose
//! fault it is. The program itself, on the tiny model.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn moot(folder: &Path, typed: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moot"));
    command.args(typed).current_dir(folder).env_remove("MOOT_MODEL").env("MOOT_CACHE", folder.join("cache"));
    command.output().unwrap()
}

/// `typed`, split at spaces, ends with `code` and one line `error:` that holds all of `parts`.
fn refused(folder: &Path, typed: &str, code: i32, parts: &[&str]) {
    let output = moot(folder, &typed.split(' ').collect::<Vec<_>>());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{typed}: {text}");
    let lines: Vec<_> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("error: ")).expect(&text);
    assert!(parts.iter().all(|part| lines[at].contains(part)), "{typed}: {text}");
    let after = &lines[at + 1..];
    assert!(after.is_empty() || (after.len() == 1 && after[0].starts_with("hint: ")), "{typed}: {text}");
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden/tiny/llama.gguf");
    fs::copy(tiny, folder.path().join("tiny.gguf")).unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(folder.path().join("docs/a.txt"), "The bridge opened in 1932.").unwrap();
    folder
}

#[test]
fn mistyped_arguments_exit_with_2() {
    let folder = folder();
    for (typed, parts) in [
        ("aks", &["unrecognized subcommand 'aks'"][..]),
        ("ask Q --doc docs", &["--doc"]),
        ("run set.jsonl", &["required", "--output <FILE>"]),
        ("ask Q --docs docs --method madam-rag --rounds -1", &["switch rounds", "from 1 to 16", "found \"-1\""]),
        ("ask Q --docs docs --max-tokens 0", &["'0'", "--max-tokens", "from 1"]),
        ("ask Q --docs docs --temperature 1 --top-k -1", &["'-1'", "--top-k", "at least 0"]),
        ("ask Q --docs docs --temperature NaN", &["--temperature NaN"]),
        ("ask Q --docs docs --method oracle", &["oracle", "madam-rag"]),
        ("ask Q --docs docs -m smollm", &["smollm", "near: ", "smollm2-135m"]),
        ("ask Q --docs docs --threads 100000", &["--threads 100000", "1024"]),
        ("ask Q --docs docs -m tiny.gguf --kv-memory 900000G", &["--kv-memory", "the memory that there is"]),
        ("ask Q --docs docs -m tiny.gguf --embedder all-minilm-l6-v2", &["--embedder", "moot embeds nothing"]),
        ("ask Q --corpus docs --embedder minilm", &["no encoder is called", "near: all-minilm-l6-v2"]),
        ("ask Q -m nowhere.gguf", &["moot needs documents", "--docs"]),
        ("ask Q --corpus docs --whole", &["'--corpus", "cannot be used with", "'--whole'"]),
        ("ask Q --docs ", &["expected a file, a folder or a glob, found an empty argument"]),
        ("ask Q --docs https://example.org/a.html", &["found https://example.org/a.html; addresses are not fetched"]),
        ("ask Q --docs docs --devices cuda:0", &["'cuda:0'", "--devices", "expected a whole number of at least 0"]),
        ("run set.jsonl -o out.jsonl --sample-seed 3", &["required", "--sample <N>"]),
        ("record verify out.jsonl --hashes --sample 3", &["--hashes", "cannot be used with", "--sample"]),
        ("ask --docs docs Q?", &["a question goes first"]),
        ("bench -m tiny.gguf --rows 99999999", &["--rows", "4096"]),
        ("bench -m tiny.gguf --weights random", &["--model tiny.gguf", "a short name of the catalog"]),
        ("bench -m smollm --weights random", &["smollm", "near: ", "smollm2-135m"]),
        ("bench --weights random:q9_k", &["'random:q9_k'", "--weights", "q4_k"]),
        (
            "ask Q --docs docs -m tiny.gguf --weights random",
            &["--weights random with --model tiny.gguf", "a short name of the catalog"],
        ),
    ] {
        refused(folder.path(), typed, 2, parts);
    }
}

#[test]
fn faults_of_files_exit_with_1() {
    let folder = folder();
    let dataset = r#"{"question":"Q","documents":[],"disambig_entity":[],"gold_answers":[],"wrong_answers":[]}"#;
    fs::write(folder.path().join("set.jsonl"), dataset).unwrap();
    fs::write(folder.path().join("keys.jsonl"), format!(r#"{{"{}":1}}"#, "k".repeat(5000))).unwrap();
    fs::write(folder.path().join("break.jsonl"), "{\"a\\nb\":1}").unwrap();
    for (typed, parts) in [
        ("ask Q --docs docs --offline -m smollm2-135m:q5_k_m", &["cannot fetch smollm2-135m:q5_k_m: "][..]),
        ("ask Q --docs docs -m nowhere.gguf", &["nowhere.gguf: cannot open", "No such file"]),
        ("ask Q --docs docs -m docs", &["docs: expected a model folder", "found neither"]),
        ("ask Q --docs docs -m hf:foo", &["hf:foo", "hf:organisation/repository[/file.gguf]"]),
        ("ask Q --docs docs -m tiny.gguf", &["reader of a.txt, round 1", "the context of the model is 256"]),
        ("bench -m tiny.gguf --prompt 1000000000", &["1000000064 tokens", "the context of the model is 256"]),
        ("ask Q --docs break.jsonl", &["break.jsonl:1", "found the fields `a b`"]),
        ("ask Q --docs keys.jsonl", &["keys.jsonl:1", "found the fields `kkk"]),
        ("run set.jsonl -o nowhere/out.jsonl", &["nowhere/out.jsonl", "no folder nowhere"]),
    ] {
        refused(folder.path(), typed, 1, parts);
    }
}

/// No text of a file and no name of one can break the line or control the terminal.
#[test]
fn a_message_is_one_line_whatever_it_quotes() {
    let folder = folder();
    let output = moot(folder.path(), &["record", "show", "a\nb\u{1b}[31m.jsonl"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn every_subcommand_has_help() {
    fn check(command: &clap::Command, path: &[String]) {
        for flag in ["-h", "--help"] {
            let typed = path.iter().map(String::as_str).chain([flag]);
            let answer = ::moot::cli::Cli::grouped().try_get_matches_from(typed).unwrap_err();
            assert_eq!(answer.kind(), clap::error::ErrorKind::DisplayHelp, "{path:?} {flag}: {answer}");
            assert!(answer.to_string().contains("Usage: moot"), "{path:?}: {answer}");
        }
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            check(sub, &[path, &[sub.get_name().to_owned()]].concat());
        }
    }
    check(&::moot::cli::Cli::grouped(), &["moot".to_owned()]);
    let folder = folder();
    let output = moot(folder.path(), &["conflict", "calibrate", "--help"]);
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("Usage: moot conflict calibrate")
    );
}

/// The help lists each subcommand once, in a group; names of earlier versions work and are not listed.
#[test]
fn every_subcommand_is_in_a_group_or_an_old_name() {
    let command = ::moot::cli::Cli::grouped();
    let help = command.clone().render_help().to_string();
    let nested = |noun: &str| -> Vec<String> {
        let noun = command.find_subcommand(noun).unwrap();
        noun.get_subcommands().map(|sub| sub.get_name().to_owned()).filter(|name| name != "help").collect()
    };
    let old = [nested("record"), nested("lab")].concat();
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = sub.get_name();
        let listed = help.lines().filter(|line| line.trim_start().split(' ').next() == Some(name)).count();
        // A worker of this program is not a command for users.
        let is_old = old.iter().any(|old| old == name) || name.starts_with("read-pdf");
        assert_eq!(listed, usize::from(!is_old), "{name}: {help}");
        assert_eq!(sub.is_hide_set(), is_old, "{name}");
    }
    let folder = folder();
    let usage = |typed: &[&str]| String::from_utf8(moot(folder.path(), typed).stdout).unwrap();
    assert!(usage(&["show", "--help"]).contains("Usage: moot show"));
    assert!(usage(&["record", "show", "--help"]).contains("Usage: moot record show"));
    let wrong = String::from_utf8(moot(folder.path(), &["record", "show"]).stderr).unwrap();
    assert!(wrong.contains("see `moot record show --help`"), "{wrong}");
}

/// The commands of a product stand first; every description begins in one column, and no line is wider than the help.
#[test]
fn the_list_of_subcommands_is_aligned() {
    let help = ::moot::cli::Cli::grouped().render_help().to_string();
    let (_, listed) = help.split_once("\n\nCommands:\n").unwrap_or_else(|| panic!("{help}"));
    let (listed, _) = listed.split_once("Options:").unwrap();
    let first: Vec<&str> = listed.lines().take_while(|line| !line.is_empty()).collect();
    let names =
        first.iter().filter(|line| !line[2..].starts_with(' ')).map(|line| line.split_whitespace().next().unwrap());
    let want = ["ask", "run", "conflict", "contradictions", "score", "compare", "report", "index", "models"];
    assert_eq!(names.collect::<Vec<_>>(), want);
    for line in listed.lines().filter(|line| line.starts_with("  ")) {
        assert!(line.chars().count() <= 100, "{line}");
        let (name, about) = line.split_at("  contradictions  ".len());
        assert!(name.ends_with("  ") && about.starts_with(|c: char| c.is_alphabetic()), "{line:?}");
    }
}

#[test]
fn the_help_of_ask_is_one_screen_and_all_of_it_has_every_option() {
    let folder = folder();
    let said = |typed: &[&str]| {
        let output = moot(folder.path(), typed);
        assert!(output.status.success(), "{typed:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for command in ["ask", "run"] {
        let (short, all) = (said(&[command, "--help"]), said(&[command, "--help-all"]));
        let most = if command == "ask" { 45 } else { 72 };
        assert!(short.lines().count() <= most, "{} lines: {short}", short.lines().count());
        assert_eq!(short, said(&[command, "-h"]));
        assert!(
            ["--model", "--docs", "--corpus", "--method", "--help-all"]
                .iter()
                .all(|option| { short.contains(option) || (command == "run" && *option == "--docs") })
        );
        for option in ["--kv-memory", "--no-speculation", "--theta", "--top-p", "--remote-retries", "--embedder-device"]
        {
            assert!(all.contains(option) && !short.contains(option), "{option}");
        }
        assert!(all.contains("--model") && all.contains("--method"));
        // The help of a switch that differs between methods gives its meaning in each.
        let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
        for meaning in ["a document; several are sampled (majority-vote)", "(self-consistency)"] {
            let (_, samples) = words.split_once("--samples").unwrap();
            assert!(samples.split_once(" --").unwrap().0.contains(meaning), "{samples:.300}");
        }
        // The examples use options that the same help lists.
        let (listed, examples) = short.split_once("Examples:").unwrap();
        for option in examples.split_whitespace().filter(|word| word.starts_with("--")) {
            let is = |word: &str| word.trim_end_matches(',') == option;
            assert!(listed.split_whitespace().any(is), "{command}: {option}");
        }
    }
    let ask = said(&["ask", "--help"]);
    assert!(ask.contains("documents read whole [default: 40]"), "{ask}");
    // A command with few options has one help, without `--help-all`.
    assert!(!said(&["record", "merge", "--help"]).contains("--help-all"));
}

/// The advice of a message must not lose a file, and an address is distinguished from a name.
#[test]
fn hints_do_no_harm() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let damaged = fs::read(at("tiny.gguf")).unwrap();
    fs::create_dir_all(at("cache/models")).unwrap();
    for name in ["mine.gguf", "cache/models/fetched.gguf"] {
        fs::write(at(name), &damaged[..2000]).unwrap();
    }
    fs::write(at("report.pdf"), "%PDF-1.7 a report").unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("folder/config.json"), "{").unwrap();
    fs::write(at("folder/model.safetensors"), "no weights").unwrap();
    let said = |name: &str| {
        let output = moot(folder.path(), &["ask", "Q", "--docs", "docs", "-m", name]);
        assert_eq!(output.status.code(), Some(if name.contains(':') && !name.contains('/') { 2 } else { 1 }), "{name}");
        String::from_utf8(output.stderr).unwrap()
    };
    for name in ["mine.gguf", "report.pdf", "folder"] {
        assert!(!said(name).contains("delete"), "{}", said(name));
    }
    assert!(said("mine.gguf").contains("hint: moot reads .gguf files and model folders"), "{}", said("mine.gguf"));
    assert!(said("cache/models/fetched.gguf").contains("delete it and fetch it again"));
    for name in ["127.0.0.1:8123", "localhost:8080#name", "127.0.0.1:8123/v1"] {
        assert!(said(name).contains(&format!("begins with http:// or https://, as http://{name}")), "{}", said(name));
    }
    assert!(!said("smollm2:q8_0").contains("http"), "a name with a quantisation is no address");
}
