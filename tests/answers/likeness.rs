//! Answers as the assessment compares them: numbers with their points, dates of different precision.

use moot::answers::equality::{Likeness, agree, distinct, likeness, most_precise};
use moot::answers::vote;
use moot::answers::words::Level;
use moot::answers::words::numbers::{LoneOne, in_digits};
use moot::dates::{found_in, read};

fn words(text: &str) -> Vec<String> {
    Level::Assessed.words(text).to_vec()
}

#[test]
fn a_number_keeps_its_point_and_loses_its_thousands() {
    assert_eq!(words("7.2"), ["7.2"]);
    assert_eq!(words("$7.20 million"), ["7.2", "million"]);
    for (a, b) in [("1,000", "1000"), ("7,2", "7.2"), ("1.234.567", "1234567"), ("1,234.50", "1234.5"), ("7.0", "7")] {
        assert_eq!(likeness(a, b), Likeness::Same, "{a} {b}");
    }
    for (a, b) in [("7.2", "72"), ("0.125", "125"), ("1.5", "15"), ("3.5 km", "35 km")] {
        assert_eq!(likeness(a, b), Likeness::Different, "{a} {b}");
        assert!(!agree(a, b), "{a} {b}");
    }
    assert_eq!(likeness("...", "..."), Likeness::Different);
    assert_eq!(words("The U.S. Jean-Paul"), ["us", "jean", "paul"]);
    assert_eq!(words("in 1952."), ["in", "1952"]);
}

#[test]
fn dates_of_different_precision_agree_and_other_dates_do_not() {
    for more in ["14.6.1952", "14 June 1952", "June 14th, 1952", "1952-06-14", "on the 14th of June 1952", "14/6/1952"]
    {
        assert_eq!(likeness(more, "14. 6. 1952"), Likeness::Same, "{more}");
        for less in ["1952", "June 1952", "in 1952", "6/1952", "1952-06", "the year 1952", "14 June", "Jun. 14"] {
            assert_eq!(likeness(less, more), Likeness::LessPrecise, "{less} {more}");
            assert_eq!(likeness(more, less), Likeness::MorePrecise, "{less} {more}");
            assert!(agree(less, more) && agree(more, less));
        }
        for other in ["1951", "July 1952", "15.6.1952", "June 1953", "14 May"] {
            assert_eq!(likeness(other, more), Likeness::Different, "{other} {more}");
            assert!(!agree(other, more), "{other} {more}");
        }
    }
    // Which number is the month is not known: it agrees with both readings, which differ from each other.
    assert_eq!(likeness("4/5/1952", "4 May 1952"), Likeness::Same);
    assert_eq!(likeness("4/5/1952", "5 April 1952"), Likeness::Same);
    // Neither date has all parts of the other.
    assert_eq!(likeness("14 June", "June 1952"), Likeness::Different);
    assert_eq!(likeness("May", "May 1952"), Likeness::Different);
}

#[test]
fn the_most_precise_of_agreeing_answers_is_kept() {
    assert_eq!(distinct(["1952", "14.6.1952", "June 1952", "14 June 1952", "..."]), ["14.6.1952"]);
    // Two days of one year: the year agrees with both, and is kept.
    assert_eq!(distinct(["1952", "14.6.1952", "3.5.1952"]), ["1952", "14.6.1952", "3.5.1952"]);
    assert_eq!(most_precise("1952", ["June 1952", "14.6.1952", "1951"]), "14.6.1952");
    assert_eq!(most_precise("1952", ["14.6.1952", "3.5.1952"]), "1952");
}

#[test]
fn an_answer_that_holds_another_agrees_with_it() {
    assert!(agree("Paris", "Paris, France") && agree("the year 1931, in Sandholm", "1931"));
    assert!(!agree("1956", "19560") && !agree("", "x") && !agree("2", "7.2"));
}

#[test]
fn other_texts_are_no_dates() {
    for text in
        ["", "7.2", "7/2", "June", "195", "19520", "14 6", "1952 people", "32.6.1952", "1952-53", "1.2.3", "3.1952"]
    {
        assert!(read(text).is_empty(), "{text}");
    }
    assert_eq!(read("13/12/1952").len(), 1);
    assert_eq!(read("11/12/1952").len(), 2);
    assert_eq!(read("4/4/1952").len(), 1);
}

#[test]
fn dates_are_found_in_running_text() {
    let found = found_in("It opened (on 14 June 1952), not on 3.5.1950; tickets cost 7.50.");
    for date in ["14 June 1952", "June 1952", "1952", "1950-05-03"] {
        assert!(found.contains(&read(date)[0]), "{date}");
    }
    assert!(!found.contains(&read("1951")[0]));
}

#[test]
fn the_stances_of_an_assessment_agree_at_different_precision() {
    let stances = [Some("14.6.1952"), Some("1952"), Some("1951"), Some("June 1951"), None];
    let (answers, rejected) = vote::by_stance(&["June 1952".to_owned()], &stances);
    assert_eq!((&answers[0].supporters[..], &answers[0].opponents[..]), (&[0, 1][..], &[2, 3][..]));
    // Of the other two answers the more precise one is kept for both.
    assert_eq!(rejected.len(), 1);
    assert_eq!((rejected[0].text.as_str(), &rejected[0].supporters[..]), ("June 1951", &[2, 3][..]));
    let (answers, rejected) = vote::by_stance(&["7.2".to_owned()], &[Some("72"), Some("7.2 million")]);
    assert_eq!((&answers[0].supporters[..], &answers[0].opponents[..]), (&[1][..], &[0][..]));
    assert_eq!(rejected[0].text, "72");
}

/// `text` with its number words in digits.
fn digits(text: &str, lone: LoneOne) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    in_digits(&words, lone).join(" ")
}

#[test]
fn runs_of_number_words_become_digits() {
    for (spelt, expected) in [
        ("two days week", "2 days week"),
        ("zero", "0"),
        ("nineteen", "19"),
        ("twenty one days", "21 days"),
        ("ninety", "90"),
        ("hundred", "100"),
        ("two hundred and five", "205"),
        ("nineteen hundred", "1900"),
        ("five hundred thousand", "500000"),
        ("thousand", "1000"),
        ("two thousand and twenty four", "2024"),
        ("three thousand two hundred", "3200"),
        ("nineteen eighty four", "19 84"),
        ("two and three", "2 and 3"),
        ("ten to twenty", "10 to 20"),
        ("twenty ten", "20 10"),
        ("hundreds", "hundreds"),
        ("1000 two", "1000 2"),
    ] {
        assert_eq!(digits(spelt, LoneOne::First), expected, "{spelt}");
    }
}

#[test]
fn one_by_itself_is_a_number_where_a_whole_answer_begins() {
    for (spelt, first, never, always) in [
        ("one", "1", "one", "1"),
        ("one day", "1 day", "one day", "1 day"),
        ("no one", "no one", "no one", "no 1"),
        ("twenty one", "21", "21", "21"),
        ("one hundred", "100", "100", "100"),
    ] {
        let found = [LoneOne::First, LoneOne::Never, LoneOne::Always].map(|lone| digits(spelt, lone));
        assert_eq!(found, [first, never, always], "{spelt}");
    }
}

#[test]
fn number_words_equal_digits_in_whole_answers() {
    for (a, b) in [
        ("2 days a week", "Two days a week"),
        ("twenty-one", "21"),
        ("two hundred and five", "205"),
        ("one", "1"),
        ("One day", "1 day"),
        ("two thousand", "2,000"),
    ] {
        assert_eq!(likeness(a, b), Likeness::Same, "{a} {b}");
        assert!(agree(a, b) && agree(b, a), "{a} {b}");
    }
    for (a, b) in [
        ("no one", "1"),
        ("No. 1", "no one"),
        ("1", "one of the councils"),
        ("twenty", "twenty-one"),
        ("two days", "3 days"),
        ("one hundred", "1"),
    ] {
        assert_eq!(likeness(a, b), Likeness::Different, "{a} {b}");
        assert!(!agree(a, b) && !agree(b, a), "{a} {b}");
    }
    // An answer that holds another agrees with it.
    assert!(agree("2 days", "two days a week") && !agree("one", "no one"));
    assert_eq!(distinct(["two", "2", "3"]), ["two", "3"]);
    let (answers, rejected) =
        vote::by_stance(&["2 days a week".to_owned()], &[Some("Two days a week"), Some("5 days"), Some("five days")]);
    assert_eq!((&answers[0].supporters[..], &answers[0].opponents[..]), (&[0][..], &[1, 2][..]));
    assert_eq!(rejected.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>(), ["5 days"]);
    // Metrics and votes keep SQuAD's normalisation.
    assert!(!Level::Scored.equal("two", "2"));
    assert_eq!(vote::count(["two", "2"]).len(), 2);
}

#[test]
fn words_that_punctuation_holds_together_are_apart() {
    for (text, want) in [
        ("in 1955.[3]", "in 1955 3"),
        ("b.1931 opened(1884) Opened:1884 |1884|", "b 1931 opened 1884 opened 1884 1884"),
        ("\"1884\",\"title\"", "1884 title"),
        ("EUR3,500 3500€ 5km", "eur 3500 3500 € 5 km"),
        ("the road.The bridge", "road bridge"),
        ("U.S. Ph.D. 1930s 21st 7.2 1,000", "us phd 1930s 21st 7.2 1000"),
        ("-5 degrees, 1990-1995", "-5 degrees 1990 1995"),
    ] {
        assert_eq!(words(text).join(" "), want, "{text}");
    }
}

#[test]
fn an_answer_is_not_said_in_its_contrary() {
    for (a, b) in [
        ("not required", "required"),
        ("never opened", "opened"),
        ("no longer valid", "valid"),
        ("wasn't built", "built"),
        ("not in 1884", "1884"),
        ("-5", "5"),
    ] {
        assert!(!agree(a, b) && !agree(b, a), "{a}, {b}");
    }
    assert!(agree("not required", "not required in Veldra") && agree("1884, not 1883", "1884"));
}
