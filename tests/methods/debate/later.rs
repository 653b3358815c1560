//! Later rounds: `history=answers` and `ask-again=needed`.

use super::*;
use moot::eval::metrics::changes;
use moot::question::{Conclusion, Document};

/// Equal answers are one line, a year and a day of it are not; an agent reads neither its own reply, nor those that
/// know nothing, nor malformed ones.
#[test]
fn answers_of_others_are_shown_once_with_their_agents() {
    let replies = [
        "Answer: 1931. Explanation: The register has 1931.",
        "Answer: 1931. Explanation: The plaque has 1931.",
        "Answer: 14 June 1931. Explanation: The parish book has the day.",
        "Answer: 1968. Explanation: A catalogue.",
        "Answer: unknown. Explanation: Soup.",
        "no format at all",
    ];
    let llm = Scripted::new(move |call| match is_aggregator(call) {
        true => VERDICT.into(),
        false => replies[(0..6).find(|n| prompt(call).contains(&format!("Document: text {n}"))).unwrap()].into(),
    });
    let document = |n| Document { name: format!("{n}.md"), text: format!("text {n}"), ..Document::default() };
    let asked = Question { documents: (0..6).map(document).collect(), ..four() };
    let switches = as_madam_rag(&[("history", "answers"), ("rounds", "2")]);
    let (_, calls) = answer("debate", &switches, &asked, &llm);
    let told = |index: usize| {
        let of = |call: &&CallRecord| call.round == 2 && call.document == Some(index);
        let sent = calls.iter().find(of).unwrap().messages[0].content.clone();
        let (_, after) = sent.split_once("of the same name:\n").unwrap();
        after.split_once("\nAnswer the question again").map_or(after, |(lines, _)| lines).trim().to_owned()
    };
    let (year, rest) = ("1931, say Agent 1, Agent 2: The register has 1931.\n", "1968, says Agent 4: A catalogue.");
    let day = "14 June 1931, says Agent 3: The parish book has the day.";
    assert_eq!(told(4), format!("{year}{day}\n{rest}"));
    assert_eq!(told(3), format!("{year}{day}"));
    assert_eq!(told(0), format!("1931, says Agent 2: The plaque has 1931.\n{day}\n{rest}"));
    // They need no verdict: it is asked for beside the next round.
    assert_eq!(calls.iter().position(|call| call.role == "aggregator"), Some(6));
    assert_eq!(calls[6].stage, calls[7].stage);
}

/// Agents that know nothing keep that; one whose reply could not be read is asked again, and its new reply counts.
#[test]
fn only_agents_that_have_an_answer_are_asked_again() {
    let llm = Scripted::new(|call| match () {
        () if is_aggregator(call) => VERDICT.into(),
        () if prompt(call).contains("Document: She was born in 1968") && call.round == 1 => "1968, I think.".into(),
        () if prompt(call).contains("Document: She was born in 1968") => "Answer: 1968. Explanation: x".into(),
        () if prompt(call).contains("Document: Soup") => "Answer: unknown. Explanation: x".into(),
        () => "Answer: 1931. Explanation: x".into(),
    });
    let (conclusion, calls) = answer("debate", &as_madam_rag(&[("ask-again", "needed")]), &four(), &llm);
    let asked = |round: usize| {
        let of = calls.iter().filter(|call| call.round == round);
        of.filter_map(|call| call.document).collect::<Vec<_>>()
    };
    assert_eq!([asked(1), asked(2), asked(3)], [vec![0, 1, 2, 3], vec![0, 1, 2], vec![0, 1, 2]]);
    let conclusion = conclusion.unwrap();
    assert_eq!((conclusion.rounds, conclusion.converged), (3, true));
    assert_eq!((&conclusion.answers[0].supporters, &conclusion.answers[1].supporters), (&vec![0, 2], &vec![1]));
    // The aggregator reads all of them; where none changed it is not asked, and its last verdict stands.
    let verdicts: Vec<&str> = calls.iter().filter(|call| call.role == "aggregator").map(sent).collect();
    assert!(verdicts.len() == 2 && verdicts.iter().all(|sent| sent.contains("Agent 4: Answer: unknown.")));
    assert!(verdicts[1].contains("Agent 2: Answer: 1968."));
    assert_eq!(calls[conclusion.calls[0]].round, 2);
    assert_eq!(turns_left_out(conclusion, calls), 2.0);
    // The same where the verdict is asked for beside the next round.
    for history in ["peers", "answers"] {
        let (conclusion, calls) =
            answer("debate", &as_madam_rag(&[("ask-again", "needed"), ("history", history)]), &four(), &llm);
        let of = |call: &&CallRecord| call.role == "aggregator";
        assert_eq!(calls.iter().filter(of).map(|call| call.round).collect::<Vec<_>>(), [1, 2], "{history}");
        let conclusion = conclusion.unwrap();
        assert_eq!((calls[conclusion.calls[0]].round, conclusion.rounds, conclusion.answers.len()), (2, 3, 2));
    }
    // All know nothing: nothing is asked again.
    let unknown = Scripted::new(|call| match is_aggregator(call) {
        true => "All Correct Answers: []. Explanation: x".into(),
        false => "Answer: unknown. Explanation: x".into(),
    });
    let (conclusion, calls) = answer("debate", &as_madam_rag(&[("ask-again", "needed")]), &four(), &unknown);
    assert_eq!(calls.len(), 5);
    let conclusion = conclusion.unwrap();
    assert!(conclusion.converged);
    assert_eq!(turns_left_out(conclusion, calls), 4.0);
    let (conclusion, calls) = answer("debate", &as_madam_rag(&[]), &four(), &unknown);
    assert_eq!(turns_left_out(conclusion.unwrap(), calls), 0.0);
}

/// The metric that counts the calls saved by `ask-again=needed`.
fn turns_left_out(conclusion: Conclusion, calls: Vec<CallRecord>) -> f64 {
    let record = QuestionRecord { conclusion: Some(conclusion), calls, ..QuestionRecord::default() };
    changes::left_out(&record).unwrap()
}

/// Thirty documents: of an answer that many give, three are named, and a long reason is cut at a word.
#[test]
fn answers_of_many_are_short() {
    let llm = Scripted::new(|call| match is_aggregator(call) {
        true => VERDICT.into(),
        false => format!("Answer: 1931. Explanation: {}end.", "a word of twenty ch. ".repeat(9)),
    });
    let document = |n| Document { name: format!("{n}.md"), text: format!("text {n}"), ..Document::default() };
    let asked = Question { documents: (0..30).map(document).collect(), ..four() };
    let (_, calls) = answer("debate", &as_madam_rag(&[("history", "answers"), ("rounds", "2")]), &asked, &llm);
    let sent = &calls.iter().rfind(|call| call.round == 2 && call.role == "agent").unwrap().messages[0].content;
    let reason = "a word of twenty ch. ".repeat(7) + "a word of...";
    let told = format!("1931, say Agent 1, Agent 2, Agent 3 and 26 more: {reason}\n");
    assert!(sent.contains(&told), "{sent}");
}

/// No other answer can be shown then, and an equal prompt is not sent again.
#[test]
fn where_no_other_agent_has_an_answer_a_later_prompt_is_the_first_one() {
    let asked = question(&["She was born in 1931.", "Soup."]);
    let (conclusion, calls) = answer("debate", &as_madam_rag(&[("history", "answers")]), &asked, &honest());
    assert!(conclusion.unwrap().converged);
    let same = |round: usize| calls.iter().find(|call| call.round == round && call.document == Some(0)).unwrap();
    assert_eq!(same(1).messages, same(2).messages);
    assert_ne!(
        calls[1].messages,
        calls.iter().find(|call| call.round == 2 && call.document == Some(1)).unwrap().messages
    );
}
