//! SuRe's transcripts: candidates, summaries, verdicts, and how they add up.

use super::record_text::is_golden;
use super::{fallbacks, four, held, prompt, question, shape, stands};
use crate::protocol::ctx::{Shelf, passage};
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::question::Conclusion;
use moot::transcript::{Parsed, QuestionRecord};

/// The role's replies: candidates, a summary of its candidate, and verdicts by prompt.
fn says(candidates: &'static str, verdict: impl Fn(&str) -> &'static str + Send + Sync + 'static) -> Scripted {
    Scripted::new(move |call: &Call| match call.role.as_str() {
        "reader" => candidates.into(),
        "summariser" => {
            let candidate = prompt(call).split_once(" to the question is: ").unwrap().1.lines().next().unwrap();
            format!("[{candidate}] A passage says so.")
        }
        _ => verdict(prompt(call)).into(),
    })
}

/// Verdicts: whether each of two candidates is valid, and which summary wins as first ("1931" before "1968") and as second.
fn two(valid: [&'static str; 2], ranks: [&'static str; 2]) -> Scripted {
    says(r#"Answers: ["1931", "1968"]"#, move |prompt| match () {
        () if prompt.contains("Prediction: 1931") => valid[0],
        () if prompt.contains("Prediction: 1968") => valid[1],
        () if prompt.contains("Summary 1: [1931]") => ranks[0],
        () => ranks[1],
    })
}

fn of(switches: &[(&str, &str)], llm: &Scripted) -> QuestionRecord {
    held("sure", switches, &four(), Tools::new(llm))
}

fn winner(llm: &Scripted) -> Conclusion {
    of(&[], llm).conclusion.unwrap()
}

#[test]
fn two_candidates_take_seven_calls_in_three_stages() {
    let record = of(&[], &two(["no", "yes"], ["2", "1"]));
    let judge = (2, "judge", 3, None);
    let summariser = (1, "summariser", 2, None);
    assert_eq!(shape(&record.calls), [(0, "reader", 1, None), summariser, summariser, judge, judge, judge, judge]);
    let sent = |call: usize| record.calls[call].messages[0].content.as_str();
    // Passages and question are computed once for candidates and summaries.
    let (shared, _) = sent(0).split_once("\n\nRead the passages").unwrap();
    assert!(shared.contains("She was born") && (1..3).all(|call| sent(call).starts_with(shared)));
    // The judge reads summaries and no passage; each pair comes in both orders.
    assert!(!sent(3).contains("She was born") && sent(3).contains("Prediction: 1931\n\nSummary: [1931]"));
    assert!(sent(5).contains("Summary 1: [1931] A passage says so.\n\nSummary 2: [1968]"));
    assert!(sent(6).contains("Summary 1: [1968] A passage says so.\n\nSummary 2: [1931]"));
    let options: Vec<String> = record.calls[3..].iter().map(|call| call.format_values["options"].to_string()).collect();
    assert_eq!(options, [r#"["yes","no"]"#, r#"["yes","no"]"#, r#"["1","2"]"#, r#"["1","2"]"#]);
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!(stands(&conclusion.answers), [("1968", &[][..], &[][..], &[1][..])]);
    assert_eq!(stands(&conclusion.rejected), [("1931", &[][..], &[][..], &[0][..])]);
    // The winner's summary is the explanation.
    assert_eq!((conclusion.explanation.as_str(), &conclusion.calls[..]), ("[1968] A passage says so.", &[2][..]));
    assert!(fallbacks(&record).is_empty());
    is_golden("sure", &record);
}

/// Validity weighs as much as a pair over both of its orders (its section 3.3).
#[test]
fn validity_and_ranking_are_added() {
    let cases = [
        // Both valid or neither: the ranking decides.
        (["yes", "yes"], ["2", "1"], "1968"),
        (["no", "no"], ["2", "1"], "1968"),
        (["yes", "yes"], ["1", "2"], "1931"),
        // If one position always wins, the pairs give no ranking, so validity decides.
        (["no", "yes"], ["1", "1"], "1968"),
        (["no", "yes"], ["2", "2"], "1968"),
        // 1 + 0 against 0 + 1, and all alike: ties, which go to the candidate given first.
        (["yes", "no"], ["2", "1"], "1931"),
        (["no", "yes"], ["1", "2"], "1931"),
        (["yes", "yes"], ["1", "1"], "1931"),
    ];
    for (valid, ranks, want) in cases {
        let conclusion = winner(&two(valid, ranks));
        assert_eq!(conclusion.answers[0].text, want, "{valid:?} {ranks:?}");
        assert!(conclusion.answers.len() == 1 && conclusion.rejected.len() == 1);
    }
}

#[test]
fn three_candidates_take_thirteen_calls() {
    let llm = says(r#"Answers: ["1931", "1968", "1913", "1900"]"#, |prompt| match prompt {
        // The last one wins whatever it is compared with.
        _ if prompt.contains("Summary 1: [1913]") => "1",
        _ if prompt.contains("Summary 2: [1913]") => "2",
        _ if prompt.contains("Summary 1:") => "1",
        _ => "no",
    });
    let record = of(&[("candidates", "3")], &llm);
    assert_eq!(record.calls.len(), 1 + 3 + 3 + 6);
    assert!(record.calls[0].messages[0].content.contains("give the 3 most likely answers"));
    let conclusion = record.conclusion.unwrap();
    assert_eq!(conclusion.answers[0].text, "1913");
    let rejected: Vec<&str> = conclusion.rejected.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(rejected, ["1931", "1968"], "a fourth candidate was not asked for");
    // A verdict that cannot be read is a tie of its two summaries: each has 1 here, and 1913 would win alone otherwise.
    let llm = says(r#"Answers: ["1931", "1968", "1913"]"#, |prompt| match prompt {
        _ if prompt.contains("[1931]") && prompt.contains("[1968]") => "both",
        _ if prompt.contains("Summary 1:") => "1",
        _ => "no",
    });
    assert_eq!(of(&[("candidates", "3")], &llm).conclusion.unwrap().answers[0].text, "1931");
}

#[test]
fn fewer_than_two_candidates_are_not_ranked() {
    let one = of(&[], &says(r#"Answers: ["1931", "The 1931"]"#, |_| "never asked"));
    assert_eq!((one.calls.len(), fallbacks(&one)), (1, vec!["1 candidates instead of 2: nothing was ranked"]));
    let conclusion = one.conclusion.unwrap();
    assert_eq!(
        (stands(&conclusion.answers), &conclusion.calls[..]),
        (vec![("1931", &[][..], &[][..], &[0][..])], &[0][..])
    );
    let none = of(&[], &says("Answers: []", |_| "never asked"));
    assert_eq!(fallbacks(&none), ["0 candidates instead of 2: nothing was ranked"]);
    assert!(none.conclusion.unwrap().answers.is_empty());
    // Of one candidate that was asked for there is nothing to rank: no fallback.
    let asked = of(&[("candidates", "1")], &says(r#"Answers: ["1968", "1931"]"#, |_| "never asked"));
    assert_eq!((asked.calls.len(), fallbacks(&asked).len()), (1, 0));
    let answers = asked.conclusion.unwrap().answers;
    assert_eq!(answers.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>(), ["1968"]);
}

#[test]
fn malformed_replies_at_every_role() {
    let conclusion = of(&[], &says("1931 or 1968", |_| "never asked")).conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && conclusion.calls == [0]);
    // A verdict that cannot be read: not valid, or a tie.
    let record = of(&[], &two(["perhaps", "yes"], ["both", "neither"]));
    assert!(record.calls[3].parsed == Parsed::Malformed && fallbacks(&record).is_empty());
    assert_eq!(record.conclusion.unwrap().answers[0].text, "1968");
    let record = of(&[], &two(["?", "?"], ["?", "?"]));
    assert_eq!(fallbacks(&record), ["no verdict could be read: the first candidate won"]);
    assert_eq!(record.conclusion.unwrap().answers[0].text, "1931");
    let llm = Scripted::new(|call| match call.role.as_str() {
        "reader" => r#"Answers: ["1931", "1968"]"#.into(),
        "summariser" if prompt(call).contains(" to the question is: 1931") => String::new(),
        "summariser" => "A passage says 1968.".into(),
        _ if prompt(call).contains("Prediction: 1968") => "yes".into(),
        _ if prompt(call).contains("Prediction") => "no".into(),
        _ => "1".into(),
    });
    let record = of(&[], &llm);
    assert_eq!(fallbacks(&record), ["an empty summary was judged as it is"]);
    assert_eq!((record.calls.len(), record.conclusion.unwrap().answers[0].text.as_str()), (7, "1968"));
}

#[test]
fn passages_are_found_for_the_question_alone() {
    let texts = ["Mira was born in 1931.", "Mira was born in 1968.", "Mira sings."];
    let shelf = Shelf::new(texts.map(|text| passage("lives.md", 1, None, text)));
    let llm = two(["no", "yes"], ["2", "1"]);
    let tools = Tools { retriever: Some(&shelf), ..Tools::new(&llm) };
    let record = held("sure", &[("per-query", "2")], &question(&[]), tools);
    let asked =
        shelf.asked.lock().unwrap().iter().map(|(query, wanted)| (query.clone(), wanted.top)).collect::<Vec<_>>();
    assert_eq!(asked, [("In which year was Mira Tolland born?".to_owned(), 2)]);
    assert_eq!((record.retrieved.len(), record.calls.len(), record.calls[0].stage), (2, 7, 1));
    // Reader and summarisers read the same passages.
    for call in &record.calls[..3] {
        let passages = "Passage 1: Mira was born in 1931.\n\nPassage 2: Mira was born in 1968.\n\nQuestion:";
        assert!(call.messages[0].content.contains(passages));
    }
    assert_eq!(stands(&record.conclusion.unwrap().answers), [("1968", &[][..], &[][..], &[1][..])]);
    let bare = Shelf::default();
    let record = held("sure", &[], &question(&[]), Tools { retriever: Some(&bare), ..Tools::new(&llm) });
    assert_eq!(fallbacks(&record), ["nothing was found: candidates and summaries were written from memory"]);
    // Without a corpus the question's documents are read.
    let record = of(&[], &llm);
    assert!(record.retrieved.is_empty() && record.calls[0].messages[0].content.contains("Passage 4: Soup is served."));
}
