//! One text in different characters: which of them each comparison treats as equal.

use moot::answers::equality::{Likeness, agree, likeness};
use moot::answers::grounds::Held;
use moot::answers::words::Level::{Assessed, Scored, Voted};
use moot::answers::words::squad;
use moot::answers::{evidence, vote};
use moot::question::Document;

/// Texts that are canonically equivalent.
const SAME: [(&str, &str); 3] = [
    ("Zoë Trémaine", "Zoe\u{308} Tre\u{301}maine"),
    ("Ångström", "A\u{30a}ngstro\u{308}m"),
    ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"),
];

#[test]
fn canonical_equivalence_is_equality_everywhere() {
    for (a, b) in SAME {
        for level in [Scored, Voted, Assessed] {
            assert!(level.equal(a, b) && level.contains(&format!("by {a}."), b), "{a} {level:?}");
        }
        assert_eq!(squad(a), squad(b));
        assert_eq!(likeness(a, b), Likeness::Same);
        let document = Document { text: format!("The café was opened by {a} in 1931."), ..Document::default() };
        assert!(Held::of([&document], true).holds(b) && Held::of([&document], true).grounds(b));
        assert_eq!(vote::count([a, b]).len(), 1);
        assert_eq!(vote::mentioned(b, [&document]).mentions, [0]);
        assert_eq!(evidence::sentence(&document.text, b, "Who opened the cafe?").as_deref(), Some(&*document.text));
    }
}

#[test]
fn characters_of_typography_are_plain_to_votes_and_not_to_metrics() {
    for (a, b) in [
        ("ﬁve ﬂoors", "five floors"),
        ("１９３１", "1931"),
        ("10\u{a0}000 km", "10 000 km"),
        ("Jean\u{2011}Paul", "Jean-Paul"),
        ("Straße", "STRASSE"),
        ("10⁶ m²", "10^6 m^2"),
        ("½", "1/2"),
        ("Acme™", "Acme"),
    ] {
        for level in [Voted, Assessed] {
            assert!(level.equal(a, b), "{a} {level:?}");
        }
        assert!(agree(a, b), "{a}");
    }
    for (a, b) in [("ﬁve", "five"), ("１９３１", "1931"), ("Straße", "STRASSE")] {
        assert!(!Scored.equal(a, b) && squad(a) != squad(b), "{a}");
    }
    for (a, b) in [("10⁶", "106"), ("m²", "m2"), ("10^6", "106"), ("10⁻³", "10³"), ("3½", "31/2")] {
        assert!(!Voted.equal(a, b) && !Assessed.equal(a, b) && !agree(a, b), "{a} {b}");
    }
    assert_eq!(likeness("\u{2212}5", "-5"), Likeness::Same);
    assert_eq!(likeness("１４．６．１９５２", "14 June 1952"), Likeness::Same);
}

#[test]
fn marks_on_letters_do_not_count_in_assessments_alone() {
    let (with, without) = ("Zoë Trémaine of Łódź", "Zoe Tremaine of Lodz");
    assert!(agree(with, without) && Assessed.equal(with, without));
    assert!(!Voted.equal(with, without) && !Scored.equal(with, without));
    let document = Document { text: format!("It was opened by {with}."), ..Document::default() };
    assert!(Held::of([&document], true).holds(without));
    // In other scripts marks are letters of their own.
    assert!(!agree("Андрей", "Андреи") && !agree("がく", "かく"));
}
