//! End to end on a real model, SmolLM2-135M from the user's cache. The tests check that it answers, not its answers.
//!
//! `moot lab bench --model smollm2-135m` fetches the model; `cargo test --release -- --ignored cli::real` runs these.

use super::program::{DEMO, THREE, moot, reads_like_a_record, run, text, wait_for};
use moot::answers::words::Level;
use moot::eval::record::reader::Record;
use moot::transcript::Parsed;
use std::process::Command;

fn on_smollm<'a>(typed: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = moot(typed);
    command.args(["--model", "smollm2-135m", "--offline", "--max-tokens", "32", "--rounds", "2"]);
    command
}

#[test]
#[ignore = "needs smollm2-135m in the cache (moot lab bench --model smollm2-135m fetches it)"]
fn the_demo_is_debated() {
    let output = run(on_smollm([
        "ask",
        "In which year was Mira Tolland born?",
        "--method",
        "madam-rag",
        "--full",
        "--docs",
        DEMO,
    ]));
    let debate = text(&output.stdout);
    let expected =
        ["Round 1", "Round 2", "1 bird-observatory.md", "4 harbour-ferry.txt", "Conclusion", "Tokens", "Time"];
    for part in expected {
        assert!(debate.contains(part), "{part} is missing: {debate}");
    }
    assert!(!debate.contains('\u{1b}'));
    assert!(text(&output.stderr).contains("smollm2-135m: from cache"));
}

#[test]
#[ignore = "needs smollm2-135m in the cache (moot lab bench --model smollm2-135m fetches it)"]
fn three_questions_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let command = || on_smollm(["run", THREE, "--in-flight", "1", "-o", path.to_str().unwrap()]);
    let mut child = command().spawn().unwrap();
    assert!(wait_for(&mut child, &path, 1), "the run was over before it could be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    let said = text(&run(command()).stderr);
    // The kill came in the middle of a question: its answered calls are not asked again.
    assert!(said.contains("3 questions") && said.contains(" from the journal)"), "{said}");

    let record = Record::read(&path).unwrap();
    assert_eq!(record.questions.len(), 3);
    let calls: Vec<_> = record.questions.iter().flat_map(|q| &q.calls).collect();
    // The aggregator is held to a list by its grammar, which 32 tokens are enough to close.
    assert!(calls.iter().any(|call| matches!(call.parsed, Parsed::Answers { .. })), "nothing could be read");
    // Rounds share the prompt up to the history.
    assert!(calls.iter().any(|call| call.round == 2 && call.usage.reused > call.usage.computed));
    reads_like_a_record(&path, 3);
}

/// SmolLM2 takes answers from the worked example of its prompt: none of them becomes a conclusion.
#[test]
#[ignore = "needs smollm2-135m in the cache (moot lab bench --model smollm2-135m fetches it)"]
fn no_conclusion_is_a_worked_example() {
    let folder = tempfile::tempdir().unwrap();
    for method in ["madam-rag", "concatenated"] {
        let path = folder.path().join(format!("{method}.jsonl"));
        let mut command = moot(["run", THREE, "--method", method, "--model", "smollm2-135m", "--offline"]);
        command.args(["--max-tokens", "32", "-o", path.to_str().unwrap()]);
        if method == "madam-rag" {
            command.args(["--rounds", "1"]);
        }
        run(command);
        let record = Record::read(&path).unwrap();
        assert_eq!(record.questions.len(), 3);
        for question in &record.questions {
            let conclusion = question.conclusion.as_ref().unwrap();
            let examples = ["cello", "trumpet", "harp"];
            let is = |text: &str| examples.iter().any(|example| Level::Voted.equal(text, example));
            assert!(!conclusion.answers.iter().any(|answer| is(&answer.text)), "{conclusion:?}");
        }
    }
}
