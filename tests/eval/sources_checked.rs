//! Checks of a source's answers: by known answers, by other sources, or by nothing.

use super::sources::{THREE, near, questions, quick, weight};
use moot::eval::sources::report::Report;
use moot::eval::sources::{estimate, note_gold};
use moot::question::{Gold, Question};
use moot::sources::{EstimatorSettings, SourceWeights};

/// Two liars share a lie, and an honest source says X.
const SHARED_LIE: [&str; 4] = ["YYX", "YYX", "YYX", "YYX"];

#[test]
fn known_answers_break_the_symmetry_of_a_shared_lie() {
    let blind = estimate(questions(&SHARED_LIE), &quick());
    assert!(weight(&blind, "a") > weight(&blind, "c"));
    let mut known = questions(&SHARED_LIE);
    let gold = Question { gold: Some(Gold::any_of(["x".to_owned()])), ..Question::default() };
    note_gold(&mut known[0], &gold);
    note_gold(&mut known[1], &gold);
    assert_eq!(known[0].answers["c"].right, Some(true));
    // With two known of four all have w = 0.5, and the last two stay Y. With three c becomes the heaviest.
    let two = estimate(known.clone(), &quick());
    assert_eq!(two.sources["c"].agreement, Some(0.5));
    note_gold(&mut known[2], &gold);
    let weights = estimate(known.clone(), &quick());
    near(weights.sources["c"].agreement.unwrap(), 1.0);
    near(weights.sources["a"].agreement.unwrap(), 0.0);
    assert!(weights.estimator.ends_with("3 questions with known answers"), "{}", weights.estimator);
    let estimated = |weights: &SourceWeights| -> Vec<Option<String>> {
        weights.answers.iter().map(|question| question.estimated.clone()).collect()
    };
    assert_eq!(estimated(&weights), vec![Some("X".to_owned()); 4]);
    assert_eq!(estimated(&blind), vec![Some("Y".to_owned()); 4]);
    // None of the answers is right: all three sources are wrong there, and nothing is estimated.
    let other = Question { gold: Some(Gold::any_of(["Z".to_owned()])), ..Question::default() };
    let mut none = questions(&["XXX"]);
    note_gold(&mut none[0], &other);
    let none = estimate(none, &quick());
    assert_eq!((estimated(&none), none.sources["a"].agreement), (vec![None], Some(0.0)));
    let cost = &Report::new(&none).costs("a")[0];
    assert_eq!((&*cost.own, &*cost.estimated), ("X", "another answer"));
    // Without gold answers nothing is known; where no answer is right, every answer is wrong.
    let mut unknown = questions(&["XX"]);
    note_gold(&mut unknown[0], &Question { gold: Some(Gold::default()), ..Question::default() });
    assert_eq!(unknown[0].answers["a"].right, None);
    note_gold(&mut unknown[0], &Question { gold: Some(Gold::none()), ..Question::default() });
    assert_eq!(unknown[0].answers["a"].right, Some(false));
}

/// a and b check each other on four questions and agree on three; c is alone on its own topic.
const ALONE: [&str; 7] = ["XX ", "XX ", "XX ", "XY ", "  X", "  X", "  X"];

#[test]
fn answers_that_nothing_checks_are_counted_told_and_shrunk() {
    let weights = estimate(questions(&ALONE), &quick());
    // As published: c agrees with itself.
    near(weight(&weights, "c"), 2.0);
    assert!(weight(&weights, "c") > weight(&weights, "a"));
    let lone = |weights: &SourceWeights| ["a", "b", "c"].map(|source| weights.sources[source].lone);
    assert_eq!(lone(&weights), [Some(0), Some(0), Some(3)]);
    let notes = Report::new(&weights).notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("\"c\" is alone on 3 of the 3 questions that it answered"), "{notes:?}");
    // The fourth question is tied, so each is right to 0.5: a and b agree on 3.5 of 4, all checked answers on 7 of 8. With one
    // answer at 7/8 more all three have w = 7/8, and c has it from the mean alone.
    let shrunk = estimate(questions(&ALONE), &EstimatorSettings { shrink: Some(1.0), ..quick() });
    for source in ["a", "b", "c"] {
        near(shrunk.sources[source].agreement.unwrap(), 0.875);
    }
    assert!(Report::new(&shrunk).notes().is_empty() && shrunk.estimator.contains("shrunk to the mean by 1"));
    // THREE with two answers more at the mean: 0 changes nothing, and two pull c up.
    let of = |shrink: f64| estimate(questions(&THREE), &EstimatorSettings { shrink: Some(shrink), ..quick() });
    near(weight(&of(0.0), "c"), -0.25);
    // a agrees on 3 of 4, b on 3 of 3, c on 1 of 4: 7 of 11 in all.
    near(of(2.0).sources["c"].agreement.unwrap(), (1.0 + 14.0 / 11.0) / 6.0);
    near(of(2.0).sources["b"].agreement.unwrap(), (3.0 + 14.0 / 11.0) / 5.0);
    // A known answer checks a source that is alone.
    let mut known = questions(&["  X"]);
    note_gold(&mut known[0], &Question { gold: Some(Gold::any_of(["X".to_owned()])), ..Question::default() });
    assert_eq!(estimate(known, &quick()).sources["c"].lone, Some(0));
}
