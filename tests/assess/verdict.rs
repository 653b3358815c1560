//! The verdict of a debate as readers see it.

use moot::answers::vote;
use moot::assess::Verdict;
use moot::assess::verdict::{GivenUp, Withdrawal, quoted};
use moot::question::{Conclusion, Document, Mark, Question};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};

fn document(text: &str) -> Document {
    Document { name: "notes".into(), text: text.into(), ..Document::default() }
}

/// Agents' answers by round, `None` for unknown, and what was concluded of the last ones.
fn record(texts: &[&str], rounds: &[&[Option<&str>]], concluded: &[&str]) -> QuestionRecord {
    let call = |(round, document, answer): (usize, usize, Option<&str>)| CallRecord {
        round: round + 1,
        stage: round,
        document: Some(document),
        parsed: Parsed::Answer { answer: answer.map(str::to_owned), explanation: String::new() },
        ..CallRecord::default()
    };
    let calls = rounds.iter().enumerate().flat_map(|(round, answers)| {
        answers.iter().enumerate().map(move |(document, answer)| (round, document, *answer)).collect::<Vec<_>>()
    });
    let concluded: Vec<String> = concluded.iter().map(|&answer| answer.to_owned()).collect();
    let (answers, rejected) = vote::by_stance(&concluded, rounds.last().unwrap());
    QuestionRecord {
        question: Question {
            text: "When did it open?".into(),
            documents: texts.iter().map(|text| document(text)).collect(),
            ..Question::default()
        },
        conclusion: Some(Conclusion { answers, rejected, ..Conclusion::default() }),
        calls: calls.map(call).collect(),
        ..QuestionRecord::default()
    }
}

#[test]
fn the_more_precise_date_is_shown_and_the_other_agrees() {
    let texts = ["It opened on 14.6.1952.", "It opened in 1952.", "It opened in 1950."];
    let verdict = Verdict::of(&record(&texts, &[&[Some("14.6.1952"), Some("1952"), Some("1950")]], &["1952"])).unwrap();
    let [answer] = &verdict.answers[..] else { panic!("{verdict:?}") };
    assert_eq!((answer.text.as_str(), &answer.also[..]), ("14.6.1952", &["1952".to_owned()][..]));
    let voices = |voices: &[moot::assess::verdict::Voice]| -> Vec<(usize, Option<String>)> {
        voices.iter().map(|voice| (voice.document, voice.said.clone())).collect()
    };
    assert_eq!(voices(&answer.supporters), [(0, None), (1, Some("1952".into()))]);
    assert_eq!(voices(&answer.opponents), [(2, Some("1950".into()))]);
    assert_eq!(verdict.tally, [("14.6.1952".to_owned(), 2), ("1950".to_owned(), 1)]);
    assert!(verdict.refused.is_empty() && verdict.answers.iter().all(|answer| answer.marks.is_empty()));
    // Both concluded: one answer. Two days of one year: the year stands by itself.
    let both = record(&texts, &[&[Some("14.6.1952"), Some("1952"), None]], &["1952", "14.6.1952"]);
    assert_eq!(Verdict::of(&both).unwrap().answers.len(), 1);
    let days = record(&texts, &[&[Some("14.6.1952"), Some("3.5.1952"), None]], &["1952"]);
    assert_eq!(Verdict::of(&days).unwrap().answers[0].text, "1952");
}

#[test]
fn an_old_record_is_matched_again() {
    let texts = ["It opened on 14.6.1952.", "It opened in 1952.", "It cost 7.2 million."];
    let mut old = record(&texts, &[&[Some("14.6.1952"), Some("1952"), None]], &["1952"]);
    let answer = &mut old.conclusion.as_mut().unwrap().answers[0];
    (answer.supporters, answer.opponents) = (vec![1], vec![0]);
    let verdict = Verdict::of(&old).unwrap();
    assert_eq!((verdict.answers[0].supporters.len(), verdict.answers[0].opponents.len()), (2, 0));
    assert!(verdict.answers[0].marks.is_empty());
    let mut invented = record(&texts, &[&[Some("1952"), None, None]], &["1897"]);
    invented.conclusion.as_mut().unwrap().refused = vec!["cello".into()];
    let verdict = Verdict::of(&invented).unwrap();
    assert_eq!(verdict.answers[0].marks, [Mark::NoSupporter, Mark::NotInDocuments]);
    assert_eq!(verdict.refused, ["cello"]);
    assert!(Verdict::of(&QuestionRecord::default()).is_none());
}

#[test]
fn a_withdrawal_differs_from_an_agent_that_never_answered() {
    let rounds: &[&[Option<&str>]] =
        &[&[Some("1952"), Some("1950"), None], &[Some("1952"), Some("1951"), None], &[Some("1952"), None, None]];
    let verdict = Verdict::of(&record(&["It opened in 1952.", "Soup.", "Tea."], rounds, &["1952"])).unwrap();
    assert_eq!(verdict.withdrawn, [Withdrawal { document: 1, said: "1951".into(), round: 2 }]);
    assert_eq!(verdict.silent, [2]);
    assert_eq!(verdict.tally, [("1952".to_owned(), 1), ("unknown".to_owned(), 2)]);
}

/// An answer of round 1 that no agent gives at the end is not among the concluded answers: the verdict lists it as given up.
#[test]
fn answers_that_no_agent_keeps_are_given_up() {
    let texts = ["It opened in 1884.", "It opened in 1848.", "It opened in 1884, they say.", "Soup."];
    let rounds: &[&[Option<&str>]] = &[
        &[Some("1884"), Some("1848"), Some("in 1884"), None],
        &[Some("Minutes"), Some("Minutes"), Some("Minutes"), Some("Minutes")],
    ];
    let given_up = |said: &str, documents: &[usize], now: Option<&str>| GivenUp {
        said: said.into(),
        documents: documents.into(),
        now: now.map(str::to_owned),
    };
    let verdict = Verdict::of(&record(&texts, rounds, &["Minutes"])).unwrap();
    assert_eq!(verdict.given_up, [given_up("1884", &[0, 2], Some("Minutes")), given_up("1848", &[1], Some("Minutes"))]);
    assert!(verdict.withdrawn.is_empty() && verdict.rejected.is_empty());
    // One that another agent gives at the end, or that the conclusion names, is listed there already.
    let held: &[&[Option<&str>]] = &[&[Some("1884"), Some("1848")], &[Some("1848"), Some("1850")]];
    assert_eq!(Verdict::of(&record(&texts[..2], held, &["1848", "1884"])).unwrap().given_up, []);
    let lost = Verdict::of(&record(&texts[..2], held, &["1850"])).unwrap().given_up;
    assert_eq!(lost, [given_up("1884", &[0], Some("1848"))]);
    // The last answer before "unknown" is withdrawn; one before that is given up. A more precise date is the same answer.
    let later: &[&[Option<&str>]] =
        &[&[Some("1950"), Some("1884")], &[Some("1951"), Some("12 May 1884")], &[None, Some("12 May 1884")]];
    let verdict = Verdict::of(&record(&texts[..2], later, &["12 May 1884"])).unwrap();
    assert_eq!(verdict.given_up, [given_up("1950", &[0], None)]);
    assert_eq!(verdict.withdrawn, [Withdrawal { document: 0, said: "1951".into(), round: 2 }]);
    // A single round gives nothing up.
    assert_eq!(Verdict::of(&record(&texts[..2], &held[..1], &["1900"])).unwrap().given_up, []);
}

#[test]
fn the_sentence_that_shows_an_answer_is_quoted() {
    let text = "The bridge cost much in 1952. It was painted. The bridge did open in June 1952, they say. Rain fell.";
    let question = "When did the bridge open?";
    let shown = "The bridge did open in June 1952, they say.";
    assert_eq!(quoted(&document(text), "1952", question), Some(shown));
    assert_eq!(quoted(&document(text), "June 1952", question), Some(shown));
    assert_eq!(quoted(&document(text), "14 June 1952", question), None);
}
