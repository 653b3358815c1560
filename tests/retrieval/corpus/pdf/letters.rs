//! Letters that are not read as they are drawn: raised ones, hyphens, right-to-left scripts, accents.

use super::super::one;
use super::make::{File, at, hex, lines, one_page, unicode_font};

fn text(content: &str) -> String {
    one("a.pdf", &one_page(content)).unwrap()[0].text.clone()
}

/// The text of a page whose font `/U` has all letters.
fn unicode(content: &str) -> String {
    let mut file = File::new();
    let font = unicode_font(&mut file);
    file.page_with(content, &format!("/U {font} 0 R"), "");
    one("a.pdf", &file.bytes()).unwrap()[0].text.clone()
}

#[test]
fn raised_and_lowered_letters_keep_their_level() {
    let by_rise =
        "BT /F 11 Tf 1 0 0 1 60 720 Tm (built in 1788) Tj /F 7 Tf 4 Ts (3) Tj 0 Ts /F 11 Tf ( by the brothers) Tj ET";
    assert_eq!(text(by_rise), "built in 1788 [3] by the brothers");
    let raised = at(60.0, 700.0, 11.0, "It cost 10") + &at(110.5, 704.0, 7.0, "6") + &at(118.0, 700.0, 11.0, "crowns");
    assert_eq!(text(&raised), "It cost 10^6 crowns");
    let equal_size = "BT /F 11 Tf 1 0 0 1 60 720 Tm (40 m) Tj 4 Ts (2) Tj 0 Ts ( of H) Tj -3 Ts /F 8 Tf (2) Tj 0 Ts /F 11 Tf (O) Tj ET";
    assert_eq!(text(equal_size), "40 m^2 of H2O");
    // A note below the line of the page, in small letters, and its mark.
    let note =
        at(60.0, 90.0, 5.0, "3") + &at(64.0, 87.0, 8.0, "As the register says.") + &at(60.0, 110.0, 11.0, "in 1788");
    assert_eq!(text(&note), "in 1788\n\n[3] As the register says.");
}

#[test]
fn lines_in_small_letters_are_lines() {
    let content =
        at(60.0, 700.0, 12.0, "A heading") + &lines(60.0, 690.0, 7.0, 8.0, &["small letters below", "in two lines"]);
    assert_eq!(
        text(&content).split_whitespace().collect::<Vec<_>>().join(" "),
        "A heading small letters below in two lines"
    );
}

#[test]
fn a_large_first_letter_begins_its_word() {
    let content = at(60.0, 674.0, 38.0, "T")
        + &lines(84.0, 691.0, 11.0, 14.0, &["he ferry was sold to the town", "of Brackwater, which used it"])
        + &lines(60.0, 663.0, 11.0, 14.0, &["until a storm sank it in winter."]);
    assert_eq!(
        text(&content).split_whitespace().collect::<Vec<_>>().join(" "),
        "The ferry was sold to the town of Brackwater, which used it until a storm sank it in winter."
    );
}

#[test]
fn hyphens_are_removed_by_the_words_of_the_whole_document() {
    let broken = lines(
        60.0,
        720.0,
        11.0,
        14.0,
        &[
            "The recon-",
            "struction of the far-",
            "flung mill by Jean-",
            "Pierre in 1921-",
            "1924, a co-",
            "operative and X-",
            "ray plan\\255",
            "ned wind\\255break.",
        ],
    );
    let joined = "The reconstruction of the farflung mill by Jean-Pierre in 1921-1924, a cooperative and X-ray planned windbreak.";
    assert_eq!(text(&broken), joined);
    let mut file = File::new();
    file.page(&broken);
    file.page(at(60.0, 720.0, 11.0, "Far-flung towns had a co-operative."));
    let pages = one("a.pdf", &file.bytes()).unwrap();
    assert_eq!(pages[0].text, joined.replace("farflung", "far-flung").replace("cooperative", "co-operative"));
}

#[test]
fn a_soft_hyphen_that_is_drawn_as_a_blank_parts_no_word() {
    // The blank has a width, and the next letter is drawn at its start.
    let drawn = |back: u32| unicode(&format!("BT /U 10 Tf 1 0 0 1 60 720 Tm [<006100620020> {back} <00630064>] TJ ET"));
    assert_eq!((drawn(500), drawn(0)), ("abcd".into(), "ab cd".into()));
}

const HEBREW: &str = "\u{5d3}\u{5d5}\u{5d7} \u{5e2}\u{5dc} \u{5d4}\u{5e1}\u{5d9}\u{5db}\u{5d5}\u{5e0}\u{5d9}\u{5dd} \u{5dc}\u{5e9}\u{5e0}\u{5ea}";

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

#[test]
fn letters_from_the_right_are_read_from_the_right() {
    let expected = format!("{HEBREW} 2021");
    let visual = format!("BT /U 11 Tf 1 0 0 1 60 720 Tm <{}> Tj ET", hex(&format!("2021 {}", reversed(HEBREW))));
    assert_eq!(unicode(&visual), expected);
    // Each letter placed by itself, in reading order.
    let mut x = 400.0;
    let mut placed = String::new();
    for letter in HEBREW.chars() {
        x -= 5.5;
        placed += &format!("BT /U 11 Tf 1 0 0 1 {x} 720 Tm <{}> Tj ET\n", hex(&letter.to_string()));
    }
    placed += &format!("BT /U 11 Tf 1 0 0 1 {} 720 Tm <{}> Tj ET", x - 27.5, hex("2021"));
    assert_eq!(unicode(&placed), expected);
    // Drawn from left to right in reading order, against the rules; the final forms of letters show it.
    let logical = format!("BT /U 11 Tf 1 0 0 1 60 720 Tm <{}> Tj ET", hex(&expected));
    assert_eq!(unicode(&logical), expected);
}

#[test]
fn a_line_from_the_right_is_read_so_among_others() {
    let line = |y: f64, text: &str| format!("BT /U 11 Tf 1 0 0 1 60 {y} Tm <{}> Tj ET\n", hex(text));
    let page = line(720.0, "The report on the risks of the harbour was given to the council in the same spring.")
        + &line(706.0, &format!("2021 {}", reversed(HEBREW)));
    assert!(unicode(&page).ends_with(&format!("spring.\n{HEBREW} 2021")), "{}", unicode(&page));
}

#[test]
fn scripts_of_both_directions_in_one_line() {
    let line = |text: &str| unicode(&format!("BT /U 11 Tf 1 0 0 1 60 720 Tm <{}> Tj ET", hex(text)));
    let (word, other) = (
        "\u{5de}\u{5e2}\u{5d1}\u{5d5}\u{5e8}\u{5ea}",
        "\u{5e0}\u{5de}\u{5db}\u{5e8}\u{5d4} \u{5d1}\u{5e7}\u{5d9}\u{5e5}",
    );
    assert_eq!(
        line(&format!("1973 {} Aurora Minor 12 {}", reversed(other), reversed(word))),
        format!("{word} Aurora Minor 12 {other} 1973")
    );
    assert_eq!(
        line(&format!("the ferry ({}) was sold in 1973", reversed(word))),
        format!("the ferry ({word}) was sold in 1973")
    );
    assert_eq!(line(&format!("({}) {}", reversed(word), reversed(other))), format!("{other} ({word})"));
    // Letters of Arabic by their shape.
    assert_eq!(line("\u{fe8e}\u{fe92}\u{feae}\u{fee3}"), "\u{645}\u{631}\u{628}\u{627}");
}

#[test]
fn columns_from_the_right_begin_at_the_right() {
    let column = |x: f64, words: [&str; 3]| -> String {
        let line = |(number, words): (usize, &str)| {
            let start = x - 5.5 * words.chars().count() as f64;
            format!(
                "BT /U 11 Tf 1 0 0 1 {start} {} Tm <{}> Tj ET\n",
                720.0 - 14.0 * number as f64,
                hex(&reversed(words))
            )
        };
        words.into_iter().enumerate().map(line).collect()
    };
    let letters = |from: u32| -> String {
        let word = |at: u32| -> String { (0..4).filter_map(|i| char::from_u32(0x5d0 + (from + at + i) % 9)).collect() };
        (0..4).map(word).collect::<Vec<_>>().join(" ")
    };
    let texts: Vec<String> = (0..6).map(letters).collect();
    let right = [&*texts[0], &*texts[1], &*texts[2]];
    let left = [&*texts[3], &*texts[4], &*texts[5]];
    let text = unicode(&(column(250.0, left) + &column(450.0, right)));
    assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), texts.join(" "));
}

#[test]
fn accents_drawn_over_letters_are_part_of_them() {
    // As TeX does: the accent, back, the letter.
    let tex = format!(
        "BT /U 10 Tf 1 0 0 1 60 720 Tm <{}> Tj [<{}> 500 <{}>] TJ <{}> Tj [<{}> 480 <{}>] TJ [<{}> 520 <{}>] TJ ET",
        hex("caf"),
        hex("\u{b4}"),
        hex("e"),
        hex(" na"),
        hex("\u{a8}"),
        hex("\u{131}"),
        hex("\u{2c7}"),
        hex("c"),
    );
    assert_eq!(unicode(&tex), "caf\u{e9} na\u{ef}\u{10d}");
    let after = format!("BT /U 10 Tf 1 0 0 1 60 720 Tm [<{}> 500 <{}>] TJ ET", hex("e"), hex("\u{b4}"));
    assert_eq!(unicode(&after), "\u{e9}");
    // Over a capital letter an accent is raised; combining letters have no width.
    let raised = format!(
        "BT /U 10 Tf 1 0 0 1 60 720 Tm 2.2 Ts <{}> Tj 0 Ts [500 <{}>] TJ <{}> Tj ET",
        hex("\u{b4}"),
        hex("E"),
        hex("tude\u{301}")
    );
    assert_eq!(unicode(&raised), "\u{c9}tud\u{e9}");
    assert_eq!(unicode(&format!("BT /U 10 Tf 1 0 0 1 60 720 Tm <{}> Tj ET", hex("x^2 ~ 5"))), "x^2 ~ 5");
}

#[test]
fn words_drawn_twice_to_make_them_bold_are_one() {
    assert_eq!(text(&(at(60.0, 700.0, 11.0, "The ferry") + &at(60.3, 700.0, 11.0, "The ferry"))), "The ferry");
}
