//! `moot prompts`, `--prompts` and `--preset`, in processes of their own, on a tiny model.

use super::program::{DEMO, THREE, Workspace, moot, run, text};
use moot::eval::record::reader::Record;
use moot::methods::replaceable;
use std::fs;
use std::path::Path;
use std::process::Output;

const AGENT: &str = "madam_rag/agent.jinja";

/// Standard error of a command that is refused.
fn refused(output: &Output) -> String {
    assert!(!output.status.success());
    let text = text(&output.stderr);
    assert!(text.lines().filter(|line| line.starts_with("error:")).count() == 1, "{text}");
    text
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn prompts_are_listed_and_exported_once() {
    let listed = text(&run(moot(["prompts", "list", "majority-vote"])).stdout);
    assert!(listed.lines().any(|line| line.starts_with(AGENT) && line.contains("madam-rag")), "{listed}");
    assert_eq!(text(&run(moot(["prompts", "list"])).stdout).lines().count(), replaceable().len());
    let folder = tempfile::tempdir().unwrap();
    let export = || {
        let mut command = moot(["prompts", "export", "mine", "--method", "madam-rag"]);
        command.current_dir(folder.path());
        command
    };
    run(export());
    let file = folder.path().join("mine").join(AGENT);
    assert_eq!(fs::read_to_string(&file).unwrap(), replaceable()[AGENT].text);
    fs::write(&file, "edited").unwrap();
    assert!(refused(&export().output().unwrap()).contains("agent.jinja"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "edited");
}

/// The header of `moot ask --json` with these arguments.
fn header(workspace: &Workspace, typed: &[&str]) -> serde_json::Value {
    let mut command = workspace.moot(["ask", "When did the bridge open?", "--json", "--docs", DEMO]);
    command.args(typed);
    serde_json::from_str(text(&run(command).stdout).lines().next().unwrap()).unwrap()
}

#[test]
fn the_record_names_the_preset_and_the_prompts_of_ones_own() {
    let workspace = Workspace::new();
    let method = header(&workspace, &["--method", "madam-rag"]);
    assert!(method.get("preset").is_none() && method.get("own_prompts").is_none());
    write(&workspace.path("mine").join(AGENT), "{{ question }} {{ document }}");
    let own = header(&workspace, &["--preset", "peers", "--prompts", "mine"]);
    assert_eq!((&own["preset"], &own["switches"]["history"]), (&"peers".into(), &"peers".into()));
    assert_eq!(own["own_prompts"][AGENT], "{{ question }} {{ document }}");
    assert_ne!(own["prompts"][AGENT], method["prompts"][AGENT]);
    assert_eq!(own["prompts"]["madam_rag/aggregator.jinja"], method["prompts"]["madam_rag/aggregator.jinja"]);
    let listed = text(&run(moot(["methods"])).stdout);
    assert!(listed.contains("Presets (--preset NAME)") && listed.contains("every-answer"), "{listed}");
}

/// A record of own prompts is verified as any other: the calls hold what was sent, and grammars are the program's.
#[test]
fn a_run_with_own_prompts_continues_only_with_the_same_ones_and_is_verified() {
    let workspace = Workspace::new();
    let go = |limit: &str| {
        let mut command = workspace.moot(["run", THREE, "-o", "own.jsonl", "--prompts", "mine", "--limit", limit]);
        command.output().unwrap()
    };
    write(&workspace.path("mine").join(AGENT), "{{ question }} {{ document }}");
    assert!(go("1").status.success());
    assert!(go("2").status.success());
    write(&workspace.path("mine").join(AGENT), "{{ document }} {{ question }}");
    let other = refused(&go("3"));
    assert!(other.contains("prompts.madam_rag/agent.jinja") && !other.contains("own_prompts"), "{other}");
    let mut verify = moot(["record", "verify", "own.jsonl", "--offline", "--kv-memory", "64M", "--sample", "4"]);
    verify.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    assert!(text(&run(verify).stdout).contains("all the same"));
}

fn compare(workspace: &Workspace, typed: &[&str]) -> Output {
    let mut command = workspace.moot(["prompts", "compare", THREE, "-o", "out"]);
    command.args(if typed.contains(&"--half") { &[][..] } else { &["--half", "both"] });
    command.args(typed).output().unwrap()
}

#[test]
fn variants_are_compared_recorded_and_gone_on_with() {
    let workspace = Workspace::new();
    write(&workspace.path("short.jinja"), "{{ document }} {{ question }} Answer:");
    let variant = ["--variant", "short.jinja"];
    let some = compare(&workspace, &[&["--role", "agent", "--limit", "1"], &variant[..]].concat());
    assert!(some.status.success(), "{}", text(&some.stderr));
    // The same prompt by its folder and name.
    let all = compare(&workspace, &[&["--role", "madam_rag/agent"], &variant[..]].concat());
    assert!(all.status.success(), "{}", text(&all.stderr));
    assert!(text(&all.stderr).contains("2 questions (1 recorded before)"), "{}", text(&all.stderr));
    let table = text(&all.stdout);
    assert!(table.starts_with("madam_rag/agent of three.jsonl, 3 questions (both)\n"), "{table}");
    for part in ["in-use", "short", "em", "malformed-replies", "Difference from in-use", "(3 in both)"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let read = |name: &str| Record::read(&workspace.path("out").join(name)).unwrap();
    let (first, second) = (read("agent.in-use.jsonl"), read("agent.short.jsonl"));
    assert_eq!((first.questions.len(), second.questions.len()), (3, 3));
    assert_eq!(second.header.own_prompts[AGENT], "{{ document }} {{ question }} Answer:");
    assert!(second.questions[0].calls[0].messages[0].content.ends_with("Answer:"));
}

/// The agents' first round is the same for every variant of the aggregator's prompt.
#[test]
fn a_variant_of_the_aggregator_does_not_ask_the_agents_again() {
    let workspace = Workspace::new();
    write(&workspace.path("brief.jinja"), "{{ question }} {% for reply in replies %}{{ reply }} {% endfor %}");
    let typed = ["--role", "aggregator", "--variant", "brief.jinja", "--set", "history=peers", "--limit", "1"];
    let output = compare(&workspace, &typed);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |name: &str| Record::read(&workspace.path("out").join(name)).unwrap().questions.remove(0);
    let (first, second) = (read("aggregator.in-use.jsonl"), read("aggregator.brief.jsonl"));
    let documents = first.question.documents.len();
    let says = text(&output.stderr);
    let recalled =
        says.lines().find_map(|line| line.strip_suffix(" duplicate calls reused another variant's reply")).unwrap();
    assert!(recalled.parse::<usize>().unwrap() >= documents, "{says}");
    assert_eq!(first.calls[..documents], second.calls[..documents]);
}

#[test]
fn variants_take_the_replies_of_an_earlier_run() {
    let workspace = Workspace::new();
    write(&workspace.path("brief.jinja"), "{{ document }} {{ question }}");
    let mut before = workspace.moot(["run", THREE, "-o", "before.jsonl", "--limit", "1"]);
    let output = before.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let typed = ["--role", "agent", "--variant", "brief.jinja", "--limit", "1"];
    let output = compare(&workspace, &[&typed[..], &["--reuse", "before.jsonl"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |name: &str| Record::read(&workspace.path(name)).unwrap();
    let (before, after) = (read("before.jsonl"), read("out/agent.in-use.jsonl"));
    assert_eq!(before.questions[0].calls, after.questions[0].calls);
    assert_eq!(after.header.reused.len(), 1);
    let says = text(&output.stderr);
    let reused = says.lines().find_map(|line| line.strip_suffix(" calls were answered from the records of --reuse"));
    assert_eq!(reused, Some(after.questions[0].calls.len().to_string().as_str()), "{says}");
}

#[test]
fn impossible_comparisons_are_refused_before_a_model_is_loaded() {
    let workspace = Workspace::new();
    write(&workspace.path("a.jinja"), "a {{ document }}");
    write(&workspace.path("b/a.jinja"), "b {{ document }}");
    write(&workspace.path("c.jinja"), "a {{ document }}");
    write(&workspace.path("same.jinja"), replaceable()[AGENT].text);
    let wrong = |typed: &[&str]| refused(&compare(&workspace, typed));
    assert!(wrong(&["--role", "judge", "--variant", "a.jinja"]).contains("madam_rag/agent.jinja"));
    assert!(wrong(&["--role", "agent", "--variant", "a.jinja", "--variant", "b/a.jinja"]).contains("the name of `a`"));
    assert!(wrong(&["--role", "agent", "--variant", "a.jinja", "--variant", "c.jinja"]).contains("the text of `a`"));
    assert!(wrong(&["--role", "agent", "--variant", "same.jinja"]).contains("the text of `in-use`"));
    let six: Vec<&str> = ["--variant", "a.jinja"].repeat(6);
    assert!(wrong(&[&["--role", "agent"][..], &six].concat()).contains("at most 5 files"));
    assert!(wrong(&["--role", "agent", "--variant", "a.jinja", "--half", "third"]).contains("choose, confirm, both"));
}
