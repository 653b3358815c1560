//! Weights, ties and votes.

use super::{held, honest, shown, stand, stands, years};
use crate::methods::{prompt, typed};
use moot::answers::vote;
use moot::cli::debate::show;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::transcript::QuestionRecord;

#[test]
fn weights_are_summed_over_the_sources_that_agree() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1932")]);
    let held = held(&[], &question, &[("a", 3.0), ("b", 2.0), ("c", 1.5)], &honest());
    assert_eq!(stands(&held.conclusion.answers), [stand("1932", &[1, 2], &[0])]);
}

#[test]
fn without_weights_every_source_has_one_vote_in_the_order_of_documents() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1932"), ("", "1931"), ("", "1931")]);
    let (llm, settings) = (honest(), Settings::default());
    let built = methods::build("ra-rag", &typed(&[("variant", "wmv")])).unwrap();
    let record = built.answer(&question, Tools::new(&llm), &settings, &Silent).unwrap();
    assert_eq!(record.calls.iter().map(|call| call.document.unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(stands(&record.conclusion.unwrap().answers), [stand("1931", &[0, 3, 4], &[1, 2])]);
}

#[test]
fn ties_go_to_the_heavier_source_then_to_the_earlier_one() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1931")]);
    // 1 + 1 against 2: the heavier source is asked first.
    let tied = held(&[], &question, &[("a", 1.0), ("b", 2.0), ("c", 1.0)], &honest());
    assert_eq!(tied.stages, [(0, 1), (0, 0), (0, 2)]);
    assert_eq!(tied.conclusion.answers[0].text, "1932");
    let equal = held(&[], &years(&[("b", "1932"), ("a", "1931")]), &[], &honest());
    assert_eq!(equal.conclusion.answers[0].text, "1932");
}

#[test]
fn a_weight_below_zero_counts_against_its_answer() {
    let question = years(&[("a", "1931"), ("b", "1931"), ("c", "1932")]);
    let weighed = |weights: &[(&str, f64)]| held(&[], &question, weights, &honest());
    // 1 - 0.8 against 0.5, then 1 - 0.4.
    let less = weighed(&[("a", 1.0), ("b", -0.8), ("c", 0.5)]);
    assert_eq!(less.stages, [(0, 0), (0, 2), (0, 1)]);
    assert_eq!(stands(&less.conclusion.answers), [stand("1932", &[2], &[0, 1])]);
    assert_eq!(stands(&less.conclusion.rejected), [stand("1931", &[0, 1], &[2])]);
    assert_eq!(weighed(&[("a", 1.0), ("b", -0.4), ("c", 0.5)]).conclusion.answers[0].text, "1931");
    // The largest sum wins, also where no sum is above zero.
    assert_eq!(weighed(&[("a", 0.0), ("b", -1.0), ("c", 0.0)]).conclusion.answers[0].text, "1932");
    let alone = held(&[], &years(&[("b", "1931")]), &[("b", -1.0)], &honest());
    assert_eq!(stands(&alone.conclusion.answers), [stand("1931", &[0], &[])]);
}

#[test]
fn mv_counts_sources_and_wmv_their_weights() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1932")]);
    let weights = [("a", 5.0), ("b", 1.0), ("c", 1.0)];
    let variant = |name: &str| held(&[("variant", name), ("kappa", "1")], &question, &weights, &honest());
    assert_eq!(stands(&variant("wmv").conclusion.answers), [stand("1931", &[0], &[1, 2])]);
    assert_eq!(stands(&variant("mv").conclusion.answers), [stand("1932", &[1, 2], &[0])]);
    assert_eq!(variant("mv").stages, [(0, 0), (0, 1), (0, 2)]);
}

#[test]
fn the_conclusion_shows_the_weight_of_every_source() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("", "1931")]);
    let weighed = held(&[], &question, &[("a", 1.25), ("b", -0.5)], &honest());
    assert_eq!(weighed.conclusion.weights, [1.25, -0.5, 0.375]);
    let printed = |record: &QuestionRecord| String::from_utf8(show(Vec::new(), record, 100).unwrap()).unwrap();
    let shown = printed(&weighed.record);
    assert!(
        shown.contains("1 d0 (a; weight 1.25), 3 d2 (weight 0.38)") && shown.contains("2 d1 (1932; b; weight -0.50)"),
        "{shown}"
    );
    let (llm, settings) = (honest(), Settings::default());
    let built = methods::build("ra-rag", &typed(&[])).unwrap();
    let plain = built.answer(&question, Tools::new(&llm), &settings, &Silent).unwrap();
    assert!(plain.conclusion.as_ref().unwrap().weights.is_empty() && !printed(&plain).contains("weight"));
}

/// 0.1 + 0.2 is above 0.3 by rounding alone.
#[test]
fn sums_that_differ_by_rounding_tie() {
    let question = years(&[("a", "1931"), ("b", "1931"), ("c", "1932")]);
    let tied = held(&[], &question, &[("a", 0.1), ("b", 0.2), ("c", 0.3)], &honest());
    assert_eq!(tied.conclusion.answers[0].text, "1932", "the answer of the heavier source");
    let sums = |votes: &[(&'static str, f64)]| vote::weighted(votes.iter().copied());
    let texts = |votes: &[(&'static str, f64)]| sums(votes).into_iter().map(|(text, _)| text).collect::<Vec<_>>();
    assert_eq!(texts(&[("x", 0.3), ("y", 0.1), ("y", 0.2), ("z", 0.31)]), ["z", "x", "y"]);
    assert_eq!(texts(&[("x", -0.3), ("", 9.0), ("y", -0.1)]), ["y", "x"]);
    assert_eq!(sums(&[("The X", 1.0), ("x.", 0.5)]), [("The X".to_owned(), 1.5)]);
}

#[test]
fn a_source_supports_the_answer_that_it_voted_for_and_no_other() {
    let question = years(&[("a", "In 1931."), ("b", "In May 1931."), ("c", "In May 1931.")]);
    let said = Scripted::list(["1931", "May 1931", "May 1931"]);
    let voted = held(&[], &question, &[], &said).conclusion;
    assert_eq!(stands(&voted.answers), [stand("May 1931", &[1, 2], &[0])]);
    assert_eq!(stands(&voted.rejected), [stand("1931", &[0], &[1, 2])]);
}

/// "7.2" is not "72", and "three" is "3": by words it would be the other way round.
#[test]
fn values_decide_votes_where_they_are_asked_for() {
    let question = years(&[("a", "three"), ("b", "3"), ("c", "7.2"), ("d", "72"), ("e", "7.2")]);
    let said = || Scripted::new(|call| shown(prompt(call)).trim_start_matches("Context:").trim().to_owned());
    let voted = |equality: &str| held(&[("variant", "wmv"), ("equality", equality)], &question, &[], &said());
    let by_words = voted("exact");
    assert_eq!(stands(&by_words.conclusion.answers), [stand("7.2", &[2, 3, 4], &[0, 1])]);
    let weights = [("a", 1.0), ("b", 1.5), ("c", 1.0), ("d", 1.0), ("e", 1.0)];
    let by_value = held(&[("variant", "wmv"), ("equality", "values")], &question, &weights, &said());
    assert_eq!(stands(&by_value.conclusion.answers), [stand("3", &[0, 1], &[2, 3, 4])]);
    let rejected = [stand("7.2", &[2, 4], &[0, 1, 3]), stand("72", &[3], &[0, 1, 2, 4])];
    assert_eq!(stands(&by_value.conclusion.rejected), rejected);
}

/// An answer that its source's document has in other digits is kept.
#[test]
fn values_decide_f_align_where_they_are_asked_for() {
    let question = years(&[("a", "It has three arches."), ("b", "It has 4 arches.")]);
    let reads = || Scripted::new(|call| if prompt(call).contains("three") { "3" } else { "4" }.into());
    let first = |equality: &str| {
        let run = held(&[("kappa", "1"), ("equality", equality)], &question, &[("a", 2.0)], &reads());
        run.conclusion.answers[0].text.clone()
    };
    assert_eq!((first("exact").as_str(), first("values").as_str()), ("4", "3"));
}
