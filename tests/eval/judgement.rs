//! How a question ended, by the metric of its kind.

use super::answered;
use moot::eval::judgement::{Outcome, others};
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
