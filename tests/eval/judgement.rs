//! How a question ended, by the metric of its kind.

use super::answered;
use moot::eval::judgement::{Outcome, is_right, others};
use moot::eval::metrics::changes::against;
use moot::question::{Gold, Question};
use moot::transcript::QuestionRecord;

/// A multiple-choice question whose right option is "Lenn".
fn choice(answer: &str) -> QuestionRecord {
    let mut record = answered("q", &[], &[], &[answer]);
    record.question.options = ["Ost", "Lenn", "Harrow Water"].map(str::to_owned).to_vec();
    record.question.gold = Some(Gold::any_of(["Lenn".to_owned()]));
    record
}

#[test]
fn an_option_is_right_by_its_text_or_its_letter() {
    for (answer, want) in
        [("Lenn", Outcome::Right), ("B", Outcome::Right), ("(b)", Outcome::Right), ("A", Outcome::Wrong)]
    {
        let record = choice(answer);
        assert_eq!(Outcome::of(&record), want, "{answer}");
        assert_eq!(others(&record), 0, "{answer}: one option is chosen");
        assert_eq!(Outcome::of_answers(&record.question, &[answer.to_owned()], true), Some(want), "{answer}");
    }
}

/// One of two options that are named together is not chosen, although its words are in the answer.
#[test]
fn an_answer_alone_is_right_by_the_rule_of_its_question() {
    let question = choice("").question;
    for (answer, right) in [("B", true), ("Lenn", true), ("Ost or Lenn", false), ("C", false)] {
        assert_eq!(is_right(&question, answer), Some(right), "{answer}");
    }
    let free = answered("q", &["1931", "1968"], &["1940"], &[]).question;
    for (answer, right) in [("in 1931", true), ("1931, not 1940", false), ("1932", false)] {
        assert_eq!(is_right(&free, answer), Some(right), "{answer}");
    }
    assert_eq!(is_right(&Question::default(), "1931"), None);
}

/// Kept, corrected, spoilt; by exact match none of these letters would be right.
#[test]
fn chosen_options_of_two_runs_are_compared() {
    let of = |before, after| against(&choice(before), &choice(after)).unwrap();
    assert_eq!(of("A", "B"), [false, true, false]);
    assert_eq!(of("B", "Ost"), [false, false, true]);
    assert_eq!(of("B", "Lenn"), [true, false, false]);
    assert_eq!(of("A", "C"), [false, false, false]);
}

#[test]
fn yes_and_no_are_right_by_the_first_word() {
    let of = |answers: &[&str]| Outcome::of(&answered("q", &["yes"], &[], answers));
    assert_eq!(of(&["Yes, it did."]), Outcome::Right);
    assert_eq!(of(&["No, though some say yes"]), Outcome::Partly);
    assert_eq!(of(&["No"]), Outcome::Wrong);
}

#[test]
fn answers_beside_the_right_ones_are_counted() {
    let record = answered("q", &["1931"], &["1932"], &["1931", "1940"]);
    assert_eq!((Outcome::of(&record), others(&record)), (Outcome::Right, 1));
    assert_eq!(Outcome::of(&answered("q", &["1931"], &["1932"], &["1931", "1932"])), Outcome::Partly);
}

#[test]
fn one_of_several_right_answers_is_right_by_itself() {
    let question: Question = answered("q", &["1931", "1968"], &[], &[]).question;
    let of = |answers: &[&str], one| {
        let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
        Outcome::of_answers(&question, &answers, one).unwrap()
    };
    assert_eq!((of(&["1931"], true), of(&["1931"], false)), (Outcome::Right, Outcome::Partly));
    assert_eq!((of(&["1932"], true), of(&[], true)), (Outcome::Wrong, Outcome::Unknown));
    assert_eq!(Outcome::of_answers(&Question::default(), &[], true), None);
}
