//! `moot record verify` on records of real runs of the tiny model, whole and spoilt.

use super::program::{Workspace, moot, run, text};
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, INLINE, Writer};
use serde_json::{Value, json};
use std::fs;
use std::process::Output;

/// A workspace with a record of three questions, in which chance looks at every bit of the logits.
fn recorded() -> Workspace {
    let workspace = Workspace::new();
    let mut command = workspace.run_of(1, "out.jsonl");
    command.args(["--temperature", "1"]);
    run(command);
    workspace
}

fn verify(workspace: &Workspace, record: &str, typed: &[&str]) -> Output {
    let mut command =
        moot(["record", "verify", record, "--offline", "--kv-memory", "64M"].iter().chain(typed).copied());
    command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path("")).output().unwrap()
}

/// The record in version 2's form (calls inside their question's line, no hashes), with each line, the header as number 0, as
/// `change` leaves it.
fn changed(workspace: &Workspace, name: &str, change: impl Fn(usize, &mut Value)) {
    let record = Record::read(&workspace.path("out.jsonl")).unwrap();
    let header = Header { moot_record: INLINE, ..record.header };
    let questions = record.questions.iter().map(|question| serde_json::to_value(question).unwrap());
    let mut lines = String::new();
    for (number, mut line) in std::iter::once(serde_json::to_value(&header).unwrap()).chain(questions).enumerate() {
        change(number, &mut line);
        lines += &format!("{line}\n");
    }
    fs::write(workspace.path(name), lines).unwrap();
}

/// The calls of a question's line; the header has none.
fn calls(line: &mut Value) -> &mut [Value] {
    line.get_mut("calls").and_then(Value::as_array_mut).map_or(&mut [], |calls| calls)
}

fn last_line(output: &Output) -> String {
    text(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_run_is_the_same_in_any_batch() {
    let workspace = recorded();
    let mut all = 0;
    changed(&workspace, "copy.jsonl", |_, line| {
        assert!(calls(line).iter().all(|call| !call["tokens"].as_array().unwrap().is_empty()), "{line}");
    });
    for typed in [&[][..], &["--threads", "1", "--step-tokens", "48", "--seed", "7"], &["--no-prefix-reuse"]] {
        let output = verify(&workspace, "copy.jsonl", typed);
        let line = last_line(&output);
        assert!(output.status.success() && line.ends_with("in other batches: all the same"), "{typed:?}: {output:?}");
        assert!(!text(&output.stderr).contains("note:"), "{}", text(&output.stderr));
        all = line.split(' ').next().unwrap().parse().unwrap();
    }
    assert!(all > 12, "{all} calls");
    // A few, of a record whose model is elsewhere now.
    fs::rename(workspace.path("tiny.gguf"), workspace.path("moved.gguf")).unwrap();
    assert!(text(&verify(&workspace, "out.jsonl", &[]).stderr).contains("tiny.gguf"));
    let output = verify(&workspace, "out.jsonl", &["--sample", "5", "--model", "moved.gguf", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["same"], &report["calls"], &report["of"]), (&json!(true), &json!(5), &json!(all)));
    assert!(report["fillers"].as_u64() > Some(0) && report["batches"].as_u64() > Some(1), "{report}");
}

#[test]
fn one_altered_token_is_found() {
    let workspace = recorded();
    changed(&workspace, "altered.jsonl", |number, line| {
        if number == 2 {
            let token = &mut calls(line)[1]["tokens"][2];
            *token = ((token.as_u64().unwrap() + 1) % 320).into();
        }
    });
    let output = verify(&workspace, "altered.jsonl", &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stdout);
    let differences: Vec<&str> = said.lines().filter(|line| line.contains("token 3 is ")).collect();
    // Once in each batch.
    assert_eq!(differences.len(), 2, "{said}");
    assert!(differences.iter().all(|line| line.contains(", agent of document 2, round 1, call 2, ")), "{said}");
    assert!(last_line(&output).contains(" in other batches: 1 of "), "{said}");
    assert!(!text(&output.stderr).contains("error"), "what differs has been said");
    let json: Value = serde_json::from_slice(&verify(&workspace, "altered.jsonl", &["--json"]).stdout).unwrap();
    assert_eq!((&json["same"], &json["differing"]), (&json!(false), &json!(1)));
    let found = &json["differences"][0];
    assert_eq!((&found["differs"], &found["token"], &found["call"]), (&json!("token"), &json!(3), &json!(2)));
}

/// On any machine: what is asked for, or else what the record names.
#[test]
fn the_arithmetic_is_that_of_the_record() {
    let workspace = Workspace::new();
    let of = |recipe: &'static str| {
        let record = format!("{recipe}.jsonl");
        let mut command = workspace.run_of(1, &record);
        command.args(["--temperature", "1", "--recipe", recipe]);
        run(command);
        record
    };
    for (recipe, other, in_bf16) in [("bf16", "int8", true), ("int8", "bf16", false)] {
        let record = of(recipe);
        let named = Record::read(&workspace.path(&record)).unwrap().header.model.recipe;
        assert!(named.starts_with("cpu ") && named.contains("prompts in bf16") == in_bf16, "{named}");
        let output = verify(&workspace, &record, &[]);
        assert!(output.status.success() && !text(&output.stderr).contains("recipe"), "{output:?}");
        let notes = text(&verify(&workspace, &record, &["--recipe", other]).stderr);
        assert!(notes.contains("because the recipe changed"), "{notes}");
        // Without an option a run goes on by the recipe of its record.
        let mut command = workspace.run_of(1, &record);
        command.args(["--temperature", "1"]);
        run(command);
        let mut command = workspace.run_of(1, &record);
        command.args(["--temperature", "1", "--recipe", other]);
        let refused = command.output().unwrap();
        assert!(!refused.status.success() && text(&refused.stderr).contains("recipe"), "{refused:?}");
    }
}

#[test]
fn a_record_without_ids_is_compared_by_its_text() {
    let workspace = recorded();
    let without = |line: &mut Value| {
        if let Some(model) = line.get_mut("model") {
            model.as_object_mut().unwrap().remove("recipe").unwrap();
        }
        calls(line).iter_mut().for_each(|call| drop(call.as_object_mut().unwrap().remove("tokens").unwrap()));
    };
    changed(&workspace, "earlier.jsonl", |_, line| without(line));
    let output = verify(&workspace, "earlier.jsonl", &[]);
    assert!(output.status.success() && last_line(&output).ends_with("all the same"), "{output:?}");
    let notes = text(&output.stderr);
    assert!(notes.contains("no token ids") && notes.contains("does not name the recipe"), "{notes}");
    // A run whose record names no recipe can be continued.
    let mut record = Record::read(&workspace.path("out.jsonl")).unwrap();
    record.header.model.recipe.clear();
    let mut writer = Writer::open(&workspace.path("unsaid.jsonl"), &record.header).unwrap();
    record.questions.iter().for_each(|question| writer.append(question).unwrap());
    drop(writer);
    run({
        let mut command = workspace.run_of(1, "unsaid.jsonl");
        command.args(["--temperature", "1"]);
        command
    });
    changed(&workspace, "altered.jsonl", |number, line| {
        without(line);
        if number == 1 {
            let reply = &mut calls(line)[0]["reply"];
            *reply = format!("{}!", reply.as_str().unwrap()).into();
        }
    });
    let output = verify(&workspace, "altered.jsonl", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("character ") && last_line(&output).contains(": 1 of "), "{output:?}");
}

#[test]
fn records_that_cannot_be_repeated_are_refused_in_one_line() {
    let workspace = recorded();
    changed(&workspace, "elsewhere.jsonl", |_, line| {
        if let Some(model) = line.get_mut("model") {
            model["sha256"] = "".into();
        }
    });
    changed(&workspace, "weights.jsonl", |_, line| {
        if let Some(model) = line.get_mut("model") {
            model["sha256"] = "12".repeat(32).into();
        }
    });
    changed(&workspace, "grammar.jsonl", |_, line| {
        if let Some(prompts) = line.get_mut("prompts") {
            prompts["reply/answer.lark"] = "12".repeat(32).into();
        }
    });
    changed(&workspace, "method.jsonl", |number, line| {
        if number == 0 {
            line["method"] = "echo".into();
        }
    });
    changed(&workspace, "none.jsonl", |_, line| {
        if let Some(calls) = line.get_mut("calls") {
            *calls = json!([]);
        }
    });
    for (record, code, said) in [
        (
            "elsewhere.jsonl",
            1,
            "elsewhere.jsonl: expected calls that a model on this machine answered, found replies by",
        ),
        ("weights.jsonl", 1, "found replies by tiny.gguf (SHA-256 121212121212...)"),
        ("grammar.jsonl", 1, "found another \"reply/answer.lark\""),
        ("method.jsonl", 1, "found no method is called \"echo\""),
        ("none.jsonl", 1, "found 3 questions and no call"),
        ("nowhere.jsonl", 1, "nowhere.jsonl: cannot open"),
        ("set.jsonl", 1, "set.jsonl:1: expected a record of moot"),
    ] {
        let output = verify(&workspace, record, &[]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{record}: {stderr}");
        assert!(stderr.lines().any(|line| line.starts_with("error: ") && line.contains(said)), "{record}: {stderr}");
        assert!(output.stdout.is_empty());
    }
    let output = verify(&workspace, "out.jsonl", &["--sample", "0"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // A different arithmetic is reported, not refused.
    let output = verify(&workspace, "out.jsonl", &["--weights", "widened"]);
    assert!(text(&output.stderr).contains("bits and tokens may differ, because the recipe changed"), "{output:?}");
}

/// Gold answers, parsed values, replies, settings: a change is reported with its line, before a model is opened.
#[test]
fn a_changed_line_is_noticed_by_its_hash() {
    let workspace = recorded();
    let whole = fs::read_to_string(workspace.path("out.jsonl")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let hashes = |name: &str| verify(&workspace, name, &["--hashes", "--model", "nowhere.gguf"]);
    let fine = hashes("out.jsonl");
    let said = text(&fine.stdout);
    assert!(fine.status.success() && said.starts_with(&format!("{} lines are as they were", lines.len())), "{fine:?}");
    // The last hash is the one that the last line states, by ordinary means.
    let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert!(said.trim_end().ends_with(last["chain"].as_str().unwrap()), "{said}");

    let gold = whole.replacen("\"1902\"", "\"1903\"", 1);
    let gold = if gold == whole { whole.replacen("\"gold\":", "\"gold\" :", 1) } else { gold };
    let number = 1 + whole.lines().zip(gold.lines()).position(|(a, b)| a != b).unwrap();
    fs::write(workspace.path("gold.jsonl"), gold).unwrap();
    for typed in [&["--hashes"][..], &[]] {
        let output = verify(&workspace, "gold.jsonl", typed);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stdout).contains(&format!("line {number}: hash mismatch")), "{output:?}");
        assert!(last_line(&output).starts_with(&format!("1 of {} lines", lines.len())), "{output:?}");
    }
    let json: Value = serde_json::from_slice(&verify(&workspace, "gold.jsonl", &["--json"]).stdout).unwrap();
    assert_eq!(json["altered"], json!([number]));
    // Tools that only read say so and go on; a run that would write refuses.
    let shown = moot(["record", "show", workspace.path("gold.jsonl").to_str().unwrap()]).output().unwrap();
    assert!(shown.status.success() && text(&shown.stderr).contains(&format!("first line {number} ")), "{shown:?}");
    let mut resumed = workspace.run_of(1, "gold.jsonl");
    let resumed = resumed.args(["--temperature", "1"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(1));
    assert!(
        text(&resumed.stderr).contains(&format!("gold.jsonl:{number}: expected a line as it was written")),
        "{resumed:?}"
    );

    let old = hashes("old.jsonl");
    assert_eq!(old.status.code(), Some(1));
    changed(&workspace, "old.jsonl", |_, _| {});
    let old = hashes("old.jsonl");
    assert!(old.status.success() && text(&old.stdout).contains("version 2 have no hashes"), "{old:?}");
}

/// Every hash of what is left is right then, and the last hash is simply another one.
#[test]
fn a_record_that_lost_its_end_is_no_finished_run() {
    let workspace = recorded();
    let whole = fs::read_to_string(workspace.path("out.jsonl")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let hashes = |name: &str, typed: &[&str]| verify(&workspace, name, &[&["--hashes"], typed].concat());
    let fine = hashes("out.jsonl", &[]);
    assert!(fine.status.success() && text(&fine.stdout).lines().count() == 1, "{fine:?}");
    for kept in 1..lines.len() {
        fs::write(workspace.path("cut.jsonl"), lines[..kept].concat()).unwrap();
        let (output, questions) =
            (hashes("cut.jsonl", &[]), lines[..kept].iter().filter(|line| line.starts_with("{\"question\"")).count());
        let said = text(&output.stdout);
        assert!(output.status.code() == Some(1) && said.starts_with(&format!("{kept} lines are as")), "{output:?}");
        let of = format!("{questions} of 3 questions, and the last line is not the end of a run: ");
        assert!(last_line(&output).starts_with(&of), "{said}");
    }
    let json: Value = serde_json::from_slice(&hashes("cut.jsonl", &["--json"]).stdout).unwrap();
    assert_eq!((&json["whole"], &json["questions"], &json["altered"]), (&json!(false), &json!(2), &json!([])));
    // The same command ends the run.
    let mut resumed = workspace.run_of(1, "cut.jsonl");
    resumed.args(["--temperature", "1"]);
    run(resumed);
    let again = hashes("cut.jsonl", &[]);
    assert!(again.status.success() && text(&again.stdout).lines().count() == 1, "{again:?}");
}

/// The run of a part of a dataset says where it ended, and so does what is made of it.
#[test]
fn a_run_of_two_questions_ends_with_the_second() {
    let workspace = Workspace::new();
    let two = |record: &str| {
        let mut command = workspace.run_of(1, record);
        command.args(["--limit", "2"]);
        command
    };
    run(two("out.jsonl"));
    let lines = fs::read_to_string(workspace.path("out.jsonl")).unwrap();
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    fs::write(workspace.path("cut.jsonl"), lines[..lines.len() - 1].concat()).unwrap();
    let here = |typed: &[&str]| {
        let mut command = moot(typed.iter().copied());
        command.current_dir(workspace.path("")).output().unwrap().status.code()
    };
    for name in ["out", "cut"] {
        let (record, whole) = (format!("{name}.jsonl"), i32::from(name == "cut"));
        let made = ["replay", "merge"].map(|kind| format!("{name}-{kind}.jsonl"));
        assert_eq!(here(&["record", "replay", &record, "-o", &made[0]]), Some(0));
        assert_eq!(here(&["record", "merge", &record, "-o", &made[1]]), Some(0));
        for record in [&record, &made[0], &made[1]] {
            assert_eq!(here(&["record", "verify", record, "--hashes"]), Some(whole), "{record}");
        }
    }
    // Continued with the third question, both lines have the mark, and the last one counts.
    run(workspace.run_of(1, "out.jsonl"));
    let lines = fs::read_to_string(workspace.path("out.jsonl")).unwrap();
    assert_eq!(lines.matches(",\"last\":true,\"chain\"").count(), 2);
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    fs::write(workspace.path("cut.jsonl"), lines[..lines.len() - 1].concat()).unwrap();
    assert_eq!(
        (here(&["record", "verify", "out.jsonl", "--hashes"]), here(&["record", "verify", "cut.jsonl", "--hashes"])),
        (Some(0), Some(1))
    );
}
