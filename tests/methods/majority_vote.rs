//! Majority vote's transcripts: MADAM-RAG's first round, and who votes how.

use super::{answer, fallbacks, four, held, prompt, question, shape, stands, typed, usage_error};
use moot::generation::Sampling;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Conclusion, Document, Question};
use moot::sources::{SourceEstimate, SourceWeights, VERSION};
use moot::transcript::{CallRecord, Parsed};

/// Agents give the year of their document; only MADAM-RAG has an aggregator.
fn honest() -> Scripted {
    Scripted::new(|call| {
        let Some((_, document)) = prompt(call).split_once("\n\nDocument: ") else { return "no list".into() };
        let year = ["1931", "1968", "1913"].into_iter().find(|year| document.contains(year));
        format!("Answer: {}. Explanation: So it says.", year.unwrap_or("unknown"))
    })
}

/// Every document's reply is its text.
fn as_written() -> Scripted {
    Scripted::new(|call| {
        let document = prompt(call).split_once("\n\nDocument: ").unwrap().1;
        document.lines().next().unwrap().to_owned()
    })
}

fn of(switches: &[(&str, &str)], texts: &[&str], llm: &Scripted) -> (Conclusion, Vec<CallRecord>) {
    let record = held("majority-vote", switches, &question(texts), Tools::new(llm));
    assert!(fallbacks(&record).is_empty());
    (record.conclusion.unwrap(), record.calls)
}

const YEARS: [&str; 4] = ["Born in 1931.", "Born in 1968.", "In 1968.", "Soup."];

#[test]
fn the_calls_are_madam_rags_first_round() {
    let (conclusion, calls) = of(&[], &YEARS, &honest());
    let (_, debated) = answer("madam-rag", &typed(&[("rounds", "1")]), &question(&YEARS), &honest());
    assert_eq!(calls, debated[..4]);
    assert_eq!(shape(&calls), (0..4).map(|index| (0, "agent", 1, Some(index))).collect::<Vec<_>>());
    assert_eq!(stands(&conclusion.answers), [("1968", &[1, 2][..], &[0][..], &[][..])]);
    assert_eq!(stands(&conclusion.rejected), [("1931", &[0][..], &[1, 2][..], &[][..])]);
    assert_eq!((conclusion.rounds, &conclusion.calls[..], conclusion.malformed), (1, &[0, 1, 2, 3][..], false));
}

#[test]
fn ties_go_to_the_answer_of_the_earlier_document() {
    for (texts, want) in [(["1968", "1931", "1931", "1968"], "1968"), (["Soup.", "1931", "1968", "1913"], "1931")] {
        assert_eq!(of(&[], &texts, &honest()).0.answers[0].text, want);
    }
}

#[test]
fn keep_concludes_the_winner_or_answers_of_two_documents_or_all() {
    let texts = |keep: &str, texts: &[&str]| -> Vec<String> {
        let (conclusion, _) = of(&[("keep", keep)], texts, &honest());
        conclusion.answers.into_iter().map(|answer| answer.text).collect()
    };
    let split = ["In 1931.", "In 1968.", "In 1968.", "In 1931."];
    assert_eq!(texts("winner", &split), ["1931"]);
    assert_eq!(texts("two", &split), ["1931", "1968"]);
    assert_eq!(texts("two", &YEARS), ["1968"]);
    // No answer has two votes: the winner alone.
    assert_eq!(texts("two", &["In 1931.", "In 1968."]), ["1931"]);
    // The most votes first.
    assert_eq!(texts("all", &YEARS), ["1968", "1931"]);
}

#[test]
fn the_answer_of_a_document_is_the_majority_of_its_samples() {
    let replies = [
        // Two of three, the last two; then a tie, which goes to the sample given first.
        ["Answer: 1913. Explanation: x", "Answer: The 1931. Explanation: x", "Answer: 1931. Explanation: x"],
        ["Answer: 1968. Explanation: x", "Answer: 1913. Explanation: x", "no format"],
        ["no format", "Answer: unknown. Explanation: x", "Answer: 1968. Explanation: x"],
    ];
    let (conclusion, calls) = of(&[("samples", "3")], &["A.", "B.", "C."], &Scripted::list(replies.concat()));
    let samples: Vec<(usize, Option<usize>, usize)> =
        calls.iter().map(|call| (call.stage, call.document, call.sample)).collect();
    let want: Vec<(usize, Option<usize>, usize)> =
        (0..3).flat_map(|index| (0..3).map(move |sample| (0, Some(index), sample))).collect();
    assert_eq!(samples, want);
    assert_eq!(stands(&conclusion.answers), [("1968", &[1, 2][..], &[0][..], &[][..])]);
    assert_eq!(stands(&conclusion.rejected), [("The 1931", &[0][..], &[1, 2][..], &[][..])]);
    let mut seeds: Vec<u64> = calls.iter().map(|call| call.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 9);
}

#[test]
fn several_samples_are_sampled_and_one_is_not() {
    let sampling = |switches: &[(&str, &str)], run: Sampling| {
        let settings = Settings { sampling: run, ..Settings::default() };
        let method = methods::build("majority-vote", &typed(switches)).unwrap();
        let record = method.answer(&four(), Tools::new(&honest()), &settings, &Silent).unwrap();
        record.calls[0].sampling.unwrap()
    };
    let warm = Sampling::Seeded { temperature: 0.3, top_k: 7, top_p: 0.9 };
    assert_eq!(sampling(&[], Sampling::Greedy), Sampling::Greedy);
    let several = Sampling::Seeded { temperature: 0.7, top_k: 40, top_p: 1.0 };
    assert_eq!(sampling(&[("samples", "2")], Sampling::Greedy), several);
    assert_eq!(sampling(&[("samples", "2")], warm), warm, "the run's own");
}

fn weighted(weights: &[(&str, f64)], keep: &str, llm: &Scripted) -> Conclusion {
    let estimate = |weight| SourceEstimate { weight: Some(weight), ..SourceEstimate::default() };
    let weights = SourceWeights {
        moot_sources: VERSION,
        estimator: "by hand".into(),
        sources: weights.iter().map(|&(source, weight)| (source.to_owned(), estimate(weight))).collect(),
        ..SourceWeights::default()
    };
    let document = |(source, text): (&str, &str)| Document {
        name: source.into(),
        text: text.into(),
        source: Some(source.into()),
        ..Document::default()
    };
    let documents = [("press", "In 1931."), ("guild", "In 1968."), ("blog", "In 1968.")].map(document).into();
    let question = Question { documents, ..four() };
    held("majority-vote", &[("keep", keep)], &question, Tools { weights: Some(&weights), ..Tools::new(llm) })
        .conclusion
        .unwrap()
}

#[test]
fn documents_vote_with_the_weight_of_their_source() {
    let answers = |weights: &[(&str, f64)], keep: &str| -> Vec<String> {
        weighted(weights, keep, &honest()).answers.into_iter().map(|answer| answer.text).collect()
    };
    assert_eq!(answers(&[], "winner"), ["1968"], "1 each");
    assert_eq!(answers(&[("press", 2.5), ("guild", 1.0), ("blog", 1.0)], "winner"), ["1931"]);
    assert_eq!(answers(&[("press", 1.5), ("guild", 0.5)], "winner"), ["1931"], "a tie");
    assert_eq!(answers(&[("press", 2.5), ("guild", 1.0), ("blog", 1.0)], "two"), ["1931", "1968"], "2.5 and 2 votes");
    assert_eq!(answers(&[("press", 0.0), ("guild", 1.0)], "all"), ["1968"], "a source without weight does not vote");
    let none = weighted(&[("press", 0.0), ("guild", -1.0), ("blog", 0.0)], "winner", &honest());
    assert!(none.answers.is_empty() && !none.malformed && none.rejected.len() == 2);
}

#[test]
fn malformed_and_unknown_replies_do_not_vote() {
    let texts = ["1931 it is", "Answer: unknown. Explanation: x", "Answer: 1913. Explanation: x", "Hm"];
    let (conclusion, calls) = of(&[], &texts, &as_written());
    assert_eq!((&calls[0].parsed, &calls[3].parsed), (&Parsed::Malformed, &Parsed::Malformed));
    assert_eq!(stands(&conclusion.answers), [("1913", &[2][..], &[][..], &[][..])]);
    let (conclusion, _) = of(&[], &["Answer: unknown. Explanation: x", "Hm"], &as_written());
    assert!(conclusion.answers.is_empty() && !conclusion.malformed, "one of them was read");
    let (conclusion, _) = of(&[], &["1931 it is", "Hm"], &as_written());
    assert!(conclusion.answers.is_empty() && conclusion.malformed && conclusion.calls == [0, 1]);
}

#[test]
fn switches_out_of_their_bounds_are_refused() {
    let refused = |name, value| usage_error(methods::build("majority-vote", &typed(&[(name, value)])));
    assert!(refused("samples", "0").contains("a whole number from 1 to 64"));
    assert!(refused("keep", "some").contains("winner, two or all"));
    assert!(methods::build("majority-vote", &Typed::new()).is_ok());
}
