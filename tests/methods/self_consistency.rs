//! Self-consistency's transcripts: samples of the concatenated prompt, their votes, and a budget of tokens.

use super::record_text::is_golden;
use super::{answer, fallbacks, four, held, typed};
use moot::generation::Sampling;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools, derive_seed};
use moot::protocol::switches::Typed;
use moot::question::Conclusion;
use moot::transcript::{CallRecord, Parsed};

fn list(answers: &str, why: &str) -> String {
    format!("All Correct Answers: {answers}. Explanation: {why}")
}

fn of(switches: &[(&str, &str)], replies: &[String]) -> (Conclusion, Vec<CallRecord>) {
    let record = held("self-consistency", switches, &four(), Tools::new(&Scripted::list(replies)));
    assert!(fallbacks(&record).is_empty());
    (record.conclusion.unwrap(), record.calls)
}

fn answers(conclusion: &Conclusion) -> Vec<&str> {
    conclusion.answers.iter().map(|answer| answer.text.as_str()).collect()
}

#[test]
fn most_of_five_samples_win_as_sets() {
    let replies = [
        list(r#"["1931"]"#, "a"),
        list(r#"["1968", "the 1931"]"#, "b"),
        list("unknown", "c"),
        list(r#"["1931", "1968", "1931"]"#, "d"),
        list(r#"["1913"]"#, "e"),
    ];
    let llm = Scripted::list(&replies);
    let record = held("self-consistency", &[], &four(), Tools::new(&llm));
    let keys: Vec<(usize, usize, usize)> =
        record.calls.iter().map(|call| (call.stage, call.round, call.sample)).collect();
    assert_eq!(keys, [(0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3), (0, 1, 4)]);
    let conclusion = record.conclusion.as_ref().unwrap();
    // Order, articles and repeats do not count; the wording is that of the first such list.
    assert_eq!((answers(conclusion), &conclusion.calls[..]), (vec!["1968", "the 1931"], &[1][..]));
    assert_eq!((conclusion.explanation.as_str(), &conclusion.answers[1].mentions[..]), ("b", &[0][..]));
    is_golden("self_consistency", &record);
}

#[test]
fn the_prompt_is_the_concatenated_one_sampled_with_seeds_of_its_own() {
    let (_, calls) = of(&[("samples", "3")], &[(); 3].map(|()| list(r#"["1931"]"#, "x")));
    let (_, concatenated) = answer("concatenated", &Typed::new(), &four(), &Scripted::list([list("unknown", "x")]));
    let sampling = Sampling::Seeded { temperature: 0.7, top_k: 40, top_p: 1.0 };
    for (sample, call) in calls.iter().enumerate() {
        assert_eq!((&call.messages, call.sampling), (&concatenated[0].messages, Some(sampling)));
        assert_eq!(call.seed, derive_seed(0, "q1", "reader", 1, sample));
    }
    // A run that samples keeps its own sampling.
    let warm = Sampling::Seeded { temperature: 0.3, top_k: 7, top_p: 0.9 };
    let settings = Settings { sampling: warm, ..Settings::default() };
    let method = methods::build("self-consistency", &typed(&[("samples", "1")])).unwrap();
    let llm = Scripted::new(|_| list("unknown", "x"));
    let record = method.answer(&four(), Tools::new(&llm), &settings, &Silent).unwrap();
    assert_eq!((record.calls.len(), record.calls[0].sampling), (1, Some(warm)));
}

#[test]
fn ties_go_to_the_list_given_first_and_unknown_is_a_vote() {
    let [a, b, none] = [list(r#"["1931"]"#, "a"), list(r#"["1968"]"#, "b"), list("[]", "none")];
    let of = |replies: &[&String]| {
        let replies: Vec<String> = replies.iter().map(|&reply| reply.clone()).collect();
        of(&[("samples", &replies.len().to_string())], &replies).0
    };
    assert_eq!(answers(&of(&[&b, &a, &a, &b])), ["1968"]);
    assert_eq!(answers(&of(&[&a, &b])), ["1931"]);
    let unknown = of(&[&none, &a, &none]);
    assert!(unknown.answers.is_empty() && !unknown.malformed && unknown.explanation == "none");
}

#[test]
fn malformed_samples_do_not_vote() {
    let bad = || "1931".to_owned();
    let (conclusion, calls) = of(&[("samples", "3")], &[bad(), bad(), list(r#"["1968"]"#, "x")]);
    assert_eq!((&calls[0].parsed, answers(&conclusion)), (&Parsed::Malformed, vec!["1968"]));
    assert!(!conclusion.malformed);
    let (conclusion, _) = of(&[("samples", "2")], &[bad(), bad()]);
    assert!(conclusion.malformed && conclusion.answers.is_empty() && conclusion.calls == [0, 1]);
}

/// A token of these tests is a word, so each sample costs the same.
#[test]
fn a_budget_buys_as_many_samples_as_the_first_one_measures() {
    let reply = list(r#"["1931"]"#, "x");
    let (_, calls) = of(&[("samples", "1")], std::slice::from_ref(&reply));
    let cost = calls[0].usage.prompt + calls[0].usage.generated;
    assert!(cost > 200, "the prompt counts");
    let replies: Vec<String> = (0..300).map(|_| reply.clone()).collect();
    let samples = |switches: &[(&str, String)]| {
        let switches: Vec<(&str, &str)> = switches.iter().map(|(name, value)| (*name, value.as_str())).collect();
        of(&switches, &replies).1
    };
    let budget = |tokens: usize| ("tokens", tokens.to_string());
    assert_eq!(samples(&[budget(7 * cost / 2 - 1)]).len(), 3);
    assert_eq!([4 * cost - 1, 4 * cost].map(|tokens| samples(&[budget(tokens)]).len()), [4, 4], "the nearest number");
    assert_eq!(samples(&[budget(1)]).len(), 1, "one is always made");
    assert_eq!(samples(&[budget(100 * cost), ("samples", "6".into())]).len(), 6, "a number that is typed is the most");
    assert_eq!(samples(&[budget(7 * cost)]).len(), 7, "the default number is none");
    // The first sample is a stage of its own; seeds go on after it.
    let bought = samples(&[budget(3 * cost)]);
    assert_eq!(bought.iter().map(|call| call.stage).collect::<Vec<_>>(), [0, 1, 1]);
    let seeds: Vec<u64> = (0..3).map(|sample| derive_seed(0, "q1", "reader", 1, sample)).collect();
    assert_eq!(bought.iter().map(|call| call.seed).collect::<Vec<_>>(), seeds);
}
