//! Words of answers, and votes: examples and properties.

use moot::answers::vote;
use moot::answers::words::Level::{Assessed, Scored, Voted};
use moot::question::Document;
use proptest::prelude::*;
use unicode_normalization::char::is_combining_mark;

#[test]
fn normalisation_by_example() {
    for (text, want) in [
        ("The  Beatles!", "beatles"),
        ("U.S.", "us"),
        ("1,000", "1000"),
        ("Jean-Paul", "jean paul"),
        ("1914–1918", "1914 1918"),
        ("“Ash & Elm”", "ash elm"),
        ("A", "a"),
        ("the", "the"),
        ("O’Brien", "obrien"),
        ("ÉCOLE", "école"),
        ("€ 5", "€ 5"),
        ("...", ""),
        ("", ""),
    ] {
        for level in [Scored, Voted, Assessed] {
            // Assessments keep decimal points and leave marks out.
            let want = if level == Assessed { want.replace('é', "e") } else { want.to_owned() };
            assert_eq!(level.normalised(text), want, "{text:?} {level:?}");
        }
    }
}

#[test]
fn matching_is_by_whole_words() {
    assert!(Voted.contains("born on 17 February 1963.", "1963"));
    assert!(!Voted.contains("19630", "1963"));
    assert!(!Voted.contains("Port of Hale", "Port Hale"));
    assert!(Voted.overlap("Hale", "Port Hale") && Voted.overlap("Port Hale", "Hale"));
    for empty in ["", "...", " \n"] {
        assert!(
            !Voted.contains("anything", empty)
                && !Voted.overlap(empty, "anything")
                && !Voted.overlap(empty, empty)
                && !Voted.equal(empty, empty)
        );
    }
}

// Words that must not be articles are of the letters b to s: an answer of articles alone keeps them.
proptest! {
    #[test]
    fn normalising_twice_changes_nothing(text in "\\PC{0,40}") {
        // Marks that punctuation held apart may be swapped without it.
        let text: String = text.chars().filter(|&c| !is_combining_mark(c)).collect();
        for level in [Scored, Voted] {
            let once = level.normalised(&text);
            // "A. Smith" keeps an "a" that without its full stop is an article.
            let again = if level.words(&text).has("a") { once.clone() } else { level.normalised(&once) };
            prop_assert_eq!(again, once);
        }
    }

    #[test]
    fn equality_is_blind_to_case_space_articles_and_full_stops(text in "[b-s]{1,8}( [b-s]{1,8}){0,3}") {
        let dressed = format!(" The {}. ", text.to_uppercase().replace(' ', "\t "));
        prop_assert!(Voted.equal(&text, &dressed));
    }

    #[test]
    fn containment_is_of_words_in_a_row(words_in in prop::collection::vec("[b-s]{1,3}", 1..8), from in 0usize..8, to in 0usize..8) {
        let (from, to) = (from.min(words_in.len()), to.min(words_in.len()));
        let part = words_in.get(from..to).unwrap_or_default().join(" ");
        prop_assert_eq!(Voted.contains(&words_in.join(" "), &part), !Voted.words(&part).is_empty());
    }

    #[test]
    fn containment_both_ways_is_equality(a in "[a-c ]{0,6}", b in "[a-c ]{0,6}") {
        prop_assert_eq!(Voted.contains(&a, &b) && Voted.contains(&b, &a), Voted.equal(&a, &b));
    }

    #[test]
    fn no_answer_is_kept_twice(answers in prop::collection::vec("[a-c.]{0,2}", 0..8)) {
        let kept = Voted.without_repeats(answers.clone());
        for (i, a) in kept.iter().enumerate() {
            prop_assert!(!kept[..i].iter().any(|b| Voted.equal(a, b)));
        }
        prop_assert!(answers.iter().all(|a| Voted.words(a).is_empty() || kept.iter().any(|b| Voted.equal(a, b))));
    }

    #[test]
    fn every_agent_with_an_answer_supports_one(
        concluded in prop::collection::vec("[b-e]{1}( [b-e])?", 0..3),
        stances in prop::collection::vec(prop::option::of("[b-e]{1}( [b-e])?"), 0..6),
    ) {
        let stances: Vec<Option<&str>> = stances.iter().map(Option::as_deref).collect();
        let (answers, rejected) = vote::by_stance(&concluded, &stances);
        prop_assert_eq!(answers.len(), concluded.len());
        for (index, stance) in stances.iter().enumerate() {
            for answer in answers.iter().chain(&rejected) {
                let stands = (answer.supporters.contains(&index), answer.opponents.contains(&index));
                let want = if stance.is_none() { (false, false) } else { (stands.0, !stands.0) };
                prop_assert_eq!(stands, want);
            }
            let backed = answers.iter().chain(&rejected).any(|answer| answer.supporters.contains(&index));
            prop_assert_eq!(backed, stance.is_some());
        }
    }
}

#[test]
fn documents_mention_the_answers_whose_words_they_hold() {
    let document = |text: &str| Document { text: text.into(), ..Document::default() };
    let documents =
        [document("in Port Hale, 1963"), document("in 1956"), document("not 1963, surely"), document("soup")];
    let mentions = |text: &str| {
        let answer = vote::mentioned(text, &documents);
        assert_eq!((answer.supporters.len(), answer.opponents.len()), (0, 0), "words are no vote");
        answer.mentions
    };
    assert_eq!(mentions("1963"), [0, 2]);
    assert_eq!(mentions("1956"), [1]);
    assert!(mentions("").is_empty());
}

#[test]
fn a_letter_that_ends_a_name_is_no_article() {
    for level in [Scored, Voted, Assessed] {
        for (a, b) in [
            ("Serie A", "Serie B"),
            ("Serie A", "Serie"),
            ("vitamin A", "vitamin"),
            ("Group A (north)", "Group B (north)"),
            ("A. Smith", "B. Smith"),
            ("A. Smith", "Smith"),
            ("A-levels", "levels"),
        ] {
            assert!(!level.equal(a, b) && !level.equal(b, a), "{a}, {b}");
        }
        for (a, b) in
            [("Serie A", "serie a"), ("the Serie A", "Serie A."), ("a river", "river"), ("A river", "the river")]
        {
            assert!(level.equal(a, b), "{a}, {b}");
        }
        for whole in ["He played in Serie A in 1931.", "Serie A", "serie a clubs", "the Serie A Championship"] {
            assert!(level.contains(whole, "Serie A") && level.contains(whole, "Serie"), "{whole}");
            assert!(!level.contains(whole, "Serie B"), "{whole}");
        }
        assert!(!level.contains("Serie B", "Serie A") && !level.contains("a Serie B club", "Serie A"));
        assert!(level.contains("the king of a small country", "king of small country"));
        assert!(level.contains("a king", "A king") && !level.contains("in a way", "a"));
    }
    assert!(!moot::answers::equality::agree("Serie A", "Serie B"));
    assert!(!moot::answers::equality::agree("A. Smith", "B. Smith"));
}

/// A list in a long reply: in quadratic time the test would take minutes.
#[test]
fn many_answers_are_grouped_in_linear_time() {
    let answers = (0..100_000).map(|number| format!("answer {}", number % 60_000));
    let started = std::time::Instant::now();
    assert_eq!(Voted.without_repeats(answers).len(), 60_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
