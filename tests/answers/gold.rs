//! Whether an answer is right.

use moot::answers::gold::{Known, Match};
use moot::answers::words::Level::Scored;
use moot::question::Gold;

fn gold(right: &[&str], wrong: &[&str]) -> Gold {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    Gold::all_of(owned(right), owned(wrong))
}

fn is_right(answer: &str, gold: &Gold) -> bool {
    Known::of(gold).is_right(&Scored.words(answer), Match::Contained)
}

#[test]
fn an_answer_is_right_where_it_gives_a_right_answer_and_no_wrong_one() {
    let gold = gold(&["1931", "Port Hale"], &["1968"]);
    assert!(is_right("founded in 1931", &gold) && is_right("Port Hale, 1931", &gold));
    for wrong in ["1968", "1931 or 1968", "19310", "Hale", "", "..."] {
        assert!(!is_right(wrong, &gold), "{wrong:?}");
    }
    let known = Known::of(&gold);
    let given = ["in 1931", "1968"].map(|text| Scored.words(text));
    assert_eq!((known.right_given(&given, Match::Contained), known.wrong_given(&given, Match::Contained)), (1, 1));
    assert_eq!((known.right_given(&given, Match::Equal), known.wrong_given(&given, Match::Equal)), (0, 1));
}

/// Metrics are no more tolerant than the published rules: the same characters in other code points are equal, nothing else.
#[test]
fn scores_are_blind_to_code_points_alone() {
    let gold = gold(&["Zoë Trémaine"], &[]);
    assert!(is_right("Zoe\u{308} Tre\u{301}maine", &gold) && is_right("ZOË TRÉMAINE", &gold));
    assert!(!is_right("Zoe Tremaine", &gold));
    let five = self::gold(&["five"], &[]);
    assert!(!is_right("ﬁve", &five));
}

#[test]
fn an_answer_of_another_type_is_named_in_words() {
    let error = serde_json::from_str::<Gold>("{\"answers\": [\"1968\", 5]}").unwrap_err().to_string();
    assert!(error.starts_with("an answer that is neither a string nor a list of strings"), "{error}");
    assert_eq!(serde_json::from_str::<Gold>("{\"answers\": [\"a\", [\"b\", \"c\"]]}").unwrap().aliases().count(), 3);
}
