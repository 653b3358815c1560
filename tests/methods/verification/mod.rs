//! Transcripts of multi-LLM verification: who is asked what in which round, and what is concluded.

mod faults;

use super::{prompt, typed, usage_error};
use crate::eval::header;
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::eval::{datasets, scores};
use moot::generation::Sampling;
use moot::llm::roles::{Assignment, Roles};
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Llm};
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Answer, Document, Question};
use moot::transcript::{CallRecord, Event, Parsed, QuestionRecord};
use moot::{MootError, Result};
use std::fs;

/// Contexts as (host, text); no host where it is empty.
fn asked(contexts: &[(&str, &str)]) -> Question {
    let document = |(index, (host, text)): (usize, &(&str, &str))| Document {
        name: format!("document {}", index + 1),
        text: (*text).to_owned(),
        source: (!host.is_empty()).then(|| (*host).to_owned()),
        ..Document::default()
    };
    Question {
        id: "q1".into(),
        text: "When did the bridge open?".into(),
        documents: contexts.iter().enumerate().map(document).collect(),
        ..Question::default()
    }
}

fn two() -> Question {
    asked(&[("www.roads.example", "It opened in 1932. "), ("", "Opened: 1933.")])
}

/// Models that differ, candidate-N's the N-th; the verifier's is the first. Each replies by `script` of its number and call.
fn models(script: fn(usize, &Call) -> Result<String>) -> Roles {
    // Models are distinguished by their identities, and these by their contexts.
    let model = |number: usize| -> Box<dyn Llm> {
        Box::new(Scripted::failing(move |call| script(number, call)).with_context(100_000 + number))
    };
    let candidates = (1..=3).map(|number| (format!("candidate-{number}"), number - 1));
    Roles::new((1..=3).map(model).collect(), candidates.chain([("verifier".to_owned(), 0)]).collect(), 0)
}

fn held(switches: &[(&str, &str)], question: &Question, llm: &dyn Llm) -> (QuestionRecord, Option<MootError>) {
    let built = methods::build("verification", &typed(switches)).unwrap();
    built.record(question, Tools::new(llm), &Settings::default(), &Silent)
}

/// A record with its conclusion, and the texts of concluded and rejected answers.
fn concluded(
    switches: &[(&str, &str)],
    question: &Question,
    llm: &dyn Llm,
) -> (QuestionRecord, Vec<String>, Vec<String>) {
    let (record, error) = held(switches, question, llm);
    assert!(error.is_none(), "{error:?}");
    let texts = |answers: &[Answer]| answers.iter().map(|answer| answer.text.clone()).collect();
    let conclusion = record.conclusion.as_ref().unwrap();
    let (answers, rejected) = (texts(&conclusion.answers), texts(&conclusion.rejected));
    (record, answers, rejected)
}

fn shape(record: &QuestionRecord) -> Vec<(usize, &str, usize)> {
    record.calls.iter().map(|call| (call.stage, call.role.as_str(), call.round)).collect()
}

/// The part of the prompt after the instructions and the worked example.
fn asked_at_last(call: &CallRecord) -> &str {
    let sent = &call.messages[0].content;
    let own = sent.find("Context 1 from www.roads").unwrap_or_else(|| sent.find("Question: When").unwrap());
    &sent[own..]
}

const CONTEXTS: &str = "Context 1 from www.roads.example: It opened in 1932.\n\nContext 2: Opened: 1933.\n\n\
                        Question: When did the bridge open?";

fn verifies(call: &Call) -> bool {
    prompt(call).starts_with("Below are contexts from the web, a question, and a list of answers")
}

/// Every candidate gives its own year, and every verifier takes the last choice.
fn years(number: usize, call: &Call) -> Result<String> {
    if !verifies(call) {
        return Ok(format!("Answer: {}. Explanation: Says {number}.", 1931 + number));
    }
    let last = prompt(call).lines().rev().find(|line| line.starts_with("Candidate ")).unwrap();
    let answer = last.split(": ").nth(2).unwrap().trim_end_matches(". Explanation");
    Ok(format!("Answer: {answer}. Explanation: Best, by {number}."))
}

#[test]
fn three_models_answer_and_a_verifier_selects() {
    let (record, answers, rejected) = concluded(&[], &two(), &models(years));
    let want = [(0, "candidate-1", 1), (0, "candidate-2", 1), (0, "candidate-3", 1), (1, "verifier", 2)];
    assert_eq!(shape(&record), want);
    for call in &record.calls[..3] {
        assert_eq!(asked_at_last(call), CONTEXTS);
        assert_eq!(
            (call.prompt.as_str(), call.sampling),
            ("verification/answer_and_explain.jinja", Some(Sampling::Greedy))
        );
    }
    assert_eq!(
        asked_at_last(&record.calls[3]),
        format!(
            "{CONTEXTS}\n\nCandidate 1: Answer: 1932. Explanation: Says 1.\n\
             Candidate 2: Answer: 1933. Explanation: Says 2.\nCandidate 3: Answer: 1934. Explanation: Says 3."
        )
    );
    assert_eq!((answers, rejected), (vec!["1934".to_owned()], vec!["1932".to_owned(), "1933".to_owned()]));
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.explanation.as_str(), conclusion.rounds), ("Best, by 1.", 2));
    assert_eq!((conclusion.calls, conclusion.malformed), (vec![3], false));
    assert_eq!(conclusion.rejected[1].mentions, [1]);
    assert!(conclusion.answers[0].mentions.is_empty(), "no document says so");
}

#[test]
fn the_second_round_verifies_the_answers_of_the_first() {
    let (record, answers, _) = concluded(&[("rounds", "2")], &two(), &models(years));
    let first = (1..=2).flat_map(|round| [1, 2, 3].map(|number| (round - 1, number, round)));
    let mut want: Vec<(usize, String, usize)> =
        first.map(|(stage, number, round)| (stage, format!("candidate-{number}"), round)).collect();
    want.push((2, "verifier".into(), 3));
    assert_eq!(shape(&record).iter().map(|&(a, b, c)| (a, b.to_owned(), c)).collect::<Vec<_>>(), want);
    assert!(record.calls[3..6].iter().all(|call| call.prompt == "verification/verifier.jinja"));
    assert_eq!(
        asked_at_last(&record.calls[6]),
        format!(
            "{CONTEXTS}\n\nCandidate 1: Answer: 1934. Explanation: Best, by 1.\n\
             Candidate 2: Answer: 1934. Explanation: Best, by 2.\nCandidate 3: Answer: 1934. Explanation: Best, by 3."
        )
    );
    assert_eq!(answers, ["1934"]);
}

#[test]
fn explanations_can_be_left_out() {
    fn script(number: usize, call: &Call) -> Result<String> {
        if verifies(call) { Ok("1933".into()) } else { years(number, call) }
    }
    let (record, answers, rejected) = concluded(&[("explanations", "false")], &two(), &models(script));
    let last = &record.calls[3];
    assert_eq!((last.prompt.as_str(), last.format.as_str()), ("verification/verifier_plain.jinja", "short"));
    let want = format!("{CONTEXTS}\n\nCandidate 1: 1932\nCandidate 2: 1933\nCandidate 3: 1934\n\nBest answer:");
    assert_eq!(asked_at_last(last), want);
    assert_eq!((answers, rejected), (vec!["1933".to_owned()], vec!["1932".to_owned(), "1934".to_owned()]));
}

#[test]
fn the_four_prompts_of_a_single_model() {
    for (name, file, reply, explanation) in [
        ("no-context", "no_context", "1932", ""),
        ("context", "context", "1932", ""),
        ("context-first", "context_first", "Thought: Context 1 has the date.\nAnswer: 1932", "Context 1 has the date."),
        ("explain", "answer_and_explain", "Answer: 1932. Explanation: So it says.", "So it says."),
    ] {
        let llm = Scripted::new(move |_| reply.into());
        let (record, answers, rejected) = concluded(&[("rounds", "0"), ("prompt", name)], &two(), &llm);
        assert_eq!(shape(&record), [(0, "candidate-1", 1)], "{name}");
        assert_eq!(record.calls[0].prompt, format!("verification/{file}.jinja"));
        let want = if name == "no-context" { "Question: When did the bridge open?" } else { CONTEXTS };
        assert_eq!(asked_at_last(&record.calls[0]), want);
        assert_eq!((answers, rejected.len()), (vec!["1932".to_owned()], 0));
        let conclusion = record.conclusion.unwrap();
        assert_eq!((conclusion.explanation.as_str(), conclusion.rounds), (explanation, 1));
    }
    // A prompt without explanations leaves none to read.
    let (record, ..) = concluded(&[("prompt", "context")], &two(), &Scripted::new(|_| "1932".into()));
    assert_eq!(record.calls[3].prompt, "verification/verifier_plain.jinja");
}

#[test]
fn a_majority_counts_three_six_or_nine_answers() {
    // Candidates differ; in the first round two take the second year, in the last all take the third.
    fn script(number: usize, call: &Call) -> Result<String> {
        let round = prompt(call).matches("Explanation: Round").count();
        let year = match (verifies(call), round) {
            (false, _) => 1931 + number,
            (true, 0) => [1933, 1933, 1932][number - 1],
            (true, _) => 1934,
        };
        let mark = if verifies(call) { "Round" } else { "Says" };
        Ok(format!("Answer: {year}. Explanation: {mark} {number}."))
    }
    for (rounds, calls, winner, explanation, others) in [
        // One vote each: the answer given first.
        ("0", 3, "1932", "Says 1.", ["1933", "1934"]),
        // 1932 twice, 1933 three times.
        ("1", 6, "1933", "Says 2.", ["1932", "1934"]),
        // 1934 four times, 1933 three times.
        ("2", 9, "1934", "Says 3.", ["1932", "1933"]),
    ] {
        let switches = [("conclude", "majority"), ("rounds", rounds)];
        let (record, answers, rejected) = concluded(&switches, &two(), &models(script));
        assert_eq!((record.calls.len(), answers), (calls, vec![winner.to_owned()]), "{rounds}");
        assert_eq!(rejected, others, "{rounds}");
        assert!(record.calls.iter().all(|call| call.role.starts_with("candidate-")));
        let conclusion = record.conclusion.unwrap();
        assert_eq!(conclusion.explanation, explanation);
        assert_eq!(conclusion.calls, (0..calls).collect::<Vec<_>>());
    }
}

#[test]
fn one_model_lists_answers_and_verifies_them_itself() {
    const LIST: &str = r#"All Correct Answers: ["1932", "1933"]. Explanation: Both are stated."#;
    fn script(_: usize, call: &Call) -> Result<String> {
        Ok(if verifies(call) { "Answer: 1933. Explanation: Later." } else { LIST }.into())
    }
    let (record, answers, rejected) = concluded(&[("one-model", "true"), ("rounds", "2")], &two(), &models(script));
    assert_eq!(shape(&record), [(0, "candidate-1", 1), (1, "candidate-1", 2), (2, "candidate-1", 3)]);
    assert!(prompt_of(&record, 0).contains("at most 3,"));
    let listed =
        "Candidate 1: Answer: 1932.\nCandidate 2: Answer: 1933.\n\nExplanation of the listed answers: Both are stated.";
    assert_eq!(asked_at_last(&record.calls[1]), format!("{CONTEXTS}\n\n{listed}"));
    let both = "Candidate 1: Answer: 1933. Explanation: Later.\nCandidate 2: Answer: 1932.\nCandidate 3: Answer: 1933.\n\n\
                Explanation of the listed answers: Both are stated.";
    assert_eq!(asked_at_last(&record.calls[2]), format!("{CONTEXTS}\n\n{both}"));
    assert_eq!((answers, rejected), (vec!["1933".to_owned()], vec!["1932".to_owned()]));
    // Of a longer list no more than were asked for.
    let (record, ..) = concluded(&[("one-model", "true"), ("candidates", "1")], &two(), &models(script));
    assert!(prompt_of(&record, 1).contains("Candidate 1: Answer: 1932.\n\nExplanation of the listed"));
    // Without rounds the list's first answer counts.
    let (record, answers, rejected) = concluded(&[("one-model", "true"), ("rounds", "0")], &two(), &models(script));
    assert_eq!((record.calls.len(), answers), (1, vec!["1932".to_owned()]));
    assert_eq!(rejected, ["1933"]);
}

fn prompt_of(record: &QuestionRecord, call: usize) -> &str {
    &record.calls[call].messages[0].content
}

/// The same model, asked the same at temperature 0, would say the same.
#[test]
fn a_model_that_is_several_candidates_is_sampled_from_its_second_call_on() {
    let alone = Scripted::new(|call| years(1, call).unwrap());
    let (record, ..) = concluded(&[], &two(), &alone);
    let greedy: Vec<bool> = record.calls.iter().map(|call| call.sampling == Some(Sampling::Greedy)).collect();
    assert_eq!(greedy, [true, false, false, true]);
    let seeds: std::collections::BTreeSet<u64> = record.calls.iter().map(|call| call.seed).collect();
    assert_eq!(seeds.len(), 4);
    let warm = Sampling::Seeded { temperature: 0.3, top_k: 0, top_p: 1.0 };
    let built = methods::build("verification", &typed(&[])).unwrap();
    let settings = Settings { sampling: warm, ..Settings::default() };
    let (record, _) = built.record(&two(), Tools::new(&alone), &settings, &Silent);
    assert!(record.calls.iter().all(|call| call.sampling == Some(warm)));
}

#[test]
fn roles_depend_on_the_switches() {
    let roles = |switches: &[(&str, &str)]| methods::build("verification", &typed(switches)).unwrap().roles();
    let candidates = |count: usize| (1..=count).map(|n| format!("candidate-{n}")).collect::<Vec<_>>();
    let with_verifier = |count| [candidates(count), vec!["verifier".to_owned()]].concat();
    assert_eq!(roles(&[]), with_verifier(3));
    assert_eq!(roles(&[]), moot::protocol::Row::named("verification").unwrap().roles);
    assert_eq!(roles(&[("candidates", "9"), ("rounds", "2")]), with_verifier(9));
    assert_eq!(roles(&[("conclude", "majority"), ("candidates", "4")]), candidates(4));
    assert_eq!(roles(&[("rounds", "0")]), candidates(1));
    assert_eq!(roles(&[("one-model", "true")]), candidates(1));

    let assigned = |line: &str, roles: &[String]| {
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        Assignment::parse(line).unwrap().resolve("verification", &roles)
    };
    let models = assigned("candidate-1=a,candidate-2=b,c", &roles(&[])).unwrap();
    let of = ["candidate-1", "candidate-2", "candidate-3", "verifier"].map(|role| models[role]);
    assert_eq!(of, [0, 1, 2, 2]);
    let refused = usage_error(assigned("a,candidate-4=b", &roles(&[])));
    assert_eq!(
        refused,
        "verification has no role \"candidate-4\" (it has: candidate-1, candidate-2, candidate-3, verifier)"
    );
    // A file's name that only looks a little like a role.
    assert_eq!(Assignment::parse("llama-3b=x.gguf").unwrap().models, ["llama-3b=x.gguf"]);
}

/// QACC as published: hosts reach the prompts, gold is `correctAnswer` alone, and the slices are the paper's C and NC.
#[test]
fn qacc_is_scored_by_slices() {
    let folder = tempfile::tempdir().unwrap();
    let item = |question: &str, second: &str, letter: &str| {
        serde_json::json!({
            "question": question, "contexts": ["It opened in 1932.", "Opened: 1933."],
            "sources": ["www.roads.example", "bridges.example"], "firstAnswer": "1932", "firstContext": "['A']",
            "secondAnswer": second, "secondContext": "['B']", "secondAnswerExist": letter, "correctAnswer": "1932",
        })
    };
    let items = [item("When did it open?", "1933", "A"), item("When?", "1933", "A"), item("Opened when?", "", "B")];
    let path = folder.path().join("qacc.json");
    fs::write(&path, serde_json::to_string(&items).unwrap()).unwrap();
    let dataset = datasets::load(&path).unwrap();
    // The verifier answers with the second answer where the question is the first one.
    fn script(number: usize, call: &Call) -> Result<String> {
        let wrong = verifies(call) && prompt(call).contains("Question: When did it open?");
        Ok(format!("Answer: {}. Explanation: By {number}.", if wrong { 1933 } else { 1932 }))
    }
    let record = folder.path().join("r.jsonl");
    let mut writer = Writer::open(&record, &header()).unwrap();
    for question in &dataset.questions {
        let (held, _) = held(&[], question, &models(script));
        assert!(held.calls[0].messages[0].content.contains("Context 2 from bridges.example: Opened: 1933."));
        writer.append(&held).unwrap();
    }
    drop(writer);
    let record = Record::read(&record).unwrap();
    let mean = |record: &Record, name: &str| {
        let scores = scores::score(record);
        let (_, estimate) = scores.rows.iter().find(|(metric, _)| metric.name == name).unwrap();
        estimate.as_ref().unwrap().mean
    };
    let slice = |name| scores::slice(&record, name).unwrap();
    for metric in ["squad-em", "squad-f1"] {
        assert_eq!(mean(&slice("conflicting"), metric), 0.5, "{metric}");
        assert_eq!(mean(&slice("non-conflicting"), metric), 1.0, "{metric}");
        assert!((mean(&record, metric) - 2.0 / 3.0).abs() < 1e-9, "{metric}");
    }
}
