//! Reading order of columns, tables and what is around them.

use super::super::one;
use super::make::{at, lines, one_page, rows};

/// The page's text with one space between words.
fn flat(content: &str) -> String {
    let pages = one("a.pdf", &one_page(content)).unwrap();
    pages[0].text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const LEFT: [&str; 5] = [
    "The harbour council met in March and",
    "decided that the old ferry, which had",
    "served the town for ninety years, was",
    "to be sold to the town of Brackwater",
    "for forty crowns.",
];
const RIGHT: [&str; 5] = [
    "In the same year the swimming hall",
    "was closed because its roof leaked.",
    "It was pulled down, and nobody has",
    "asked for a new one since that time,",
    "as the report says.",
];

fn joined(lines: &[&str]) -> String {
    lines.join(" ")
}

#[test]
fn two_columns_drawn_row_by_row_are_read_one_after_the_other() {
    let pairs: Vec<[&str; 2]> = LEFT.into_iter().zip(RIGHT).map(|(left, right)| [left, right]).collect();
    let pairs: Vec<&[&str]> = pairs.iter().map(|pair| &pair[..]).collect();
    let expected = format!("{} {}", joined(&LEFT), joined(&RIGHT));
    assert_eq!(flat(&rows(&[60.0, 320.0], 700.0, 11.0, 14.0, &pairs)), expected);
    // A gutter as narrow as LaTeX's: one letter height.
    assert_eq!(flat(&rows(&[60.0, 262.0], 700.0, 11.0, 13.0, &pairs)), expected);
}

#[test]
fn columns_with_different_line_heights() {
    let content = lines(60.0, 700.0, 11.0, 14.0, &LEFT) + &lines(320.0, 703.0, 9.0, 11.0, &RIGHT);
    assert_eq!(flat(&content), format!("{} {}", joined(&LEFT), joined(&RIGHT)));
    // Drawn from the bottom, the right column first.
    let content: String = content.lines().rev().map(|line| format!("{line}\n")).collect();
    assert_eq!(flat(&content), format!("{} {}", joined(&LEFT), joined(&RIGHT)));
}

/// The longer column is not cut where the shorter one ends, though a later line of it is the widest.
#[test]
fn columns_of_different_lengths() {
    const TAIL: [&str; 3] =
        ["The money was spent on a wide new quay of", "stone, which a storm broke in the", "next winter."];
    let long = [&LEFT[..], &TAIL].concat();
    let content = lines(60.0, 700.0, 11.0, 14.0, &long) + &lines(320.0, 700.0, 11.0, 14.0, &RIGHT);
    assert_eq!(flat(&content), format!("{} {}", joined(&long), joined(&RIGHT)));
    let content = lines(60.0, 700.0, 11.0, 14.0, &RIGHT) + &lines(320.0, 700.0, 11.0, 14.0, &long);
    assert_eq!(flat(&content), format!("{} {}", joined(&RIGHT), joined(&long)));
    // A paragraph across the page below them is none of their lines.
    let below =
        "The quay was mended in the year 1981 by a firm from Sandholm, which had to wait three years for its money.";
    let below = at(60.0, 580.0, 11.0, below);
    let content = lines(60.0, 700.0, 11.0, 14.0, &long) + &lines(320.0, 700.0, 11.0, 14.0, &RIGHT) + &below;
    assert!(flat(&content).contains("winter. In the same year"));
}

#[test]
fn headings_and_footers_across_columns_are_above_and_below() {
    let heading = at(60.0, 740.0, 16.0, "News from the harbour and from the council of the town");
    let footer =
        at(60.0, 560.0, 9.0, "Harbour Courier, printed by Anna Rell at the old mill in Maddock Bay, 12 March 1973");
    let number = at(300.0, 540.0, 9.0, "12");
    let columns = lines(60.0, 700.0, 11.0, 14.0, &LEFT) + &lines(320.0, 700.0, 11.0, 14.0, &RIGHT);
    let below = lines(60.0, 610.0, 11.0, 14.0, &["The mill was mended in May, and the", "baker moved in."])
        + &lines(320.0, 610.0, 11.0, 14.0, &["In June the council bought a boat for", "the school."]);
    let middle =
        at(60.0, 626.0, 11.0, "A picture of the ferry, which lay at the quay until the summer of the next year");
    let pages = one("a.pdf", &one_page(&(footer + &number + &columns + &below + &middle + &heading))).unwrap();
    let text = pages[0].text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!(
        "News from the harbour and from the council of the town {} {} A picture of the ferry, which lay at the quay until the \
         summer of the next year The mill was mended in May, and the baker moved in. In June the council bought a boat for \
         the school. Harbour Courier, printed by Anna Rell at the old mill in Maddock Bay, 12 March 1973 12",
        joined(&LEFT),
        joined(&RIGHT)
    );
    assert_eq!(text, expected);
}

#[test]
fn three_columns_below_a_headline() {
    let content = at(60.0, 740.0, 16.0, "Three notes from the harbour of Maddock Bay")
        + &rows(
            &[60.0, 230.0, 400.0],
            700.0,
            10.0,
            12.0,
            &[
                &["Anna Rell bought the mill", "Bruno Falk sold his boat", "Clara Dunn married in July"],
                &["in March and opened a", "in May and left for the", "and moved to the old school"],
                &["bakery.", "islands.", "in the town."],
            ],
        );
    let expected = "Three notes from the harbour of Maddock Bay Anna Rell bought the mill in March and opened a bakery. \
                    Bruno Falk sold his boat in May and left for the islands. Clara Dunn married in July and moved to the \
                    old school in the town.";
    assert_eq!(flat(&content), expected);
}

#[test]
fn tables_are_read_row_by_row() {
    let table: &[&[&str]] = &[
        &["Boat", "Length", "Built", "Price"],
        &["Aurora Minor", "12 m", "1931", "40 crowns"],
        &["Old Bessie", "9 m", "1904", "15 crowns"],
        &["Petrel", "17 m", "1968", "220 crowns"],
        &["Sea Lark", "8 m", "1899", "9 crowns"],
    ];
    let expected: Vec<String> = table.iter().map(|row| row.join(" ")).collect();
    let xs = [60.0, 180.0, 280.0, 380.0];
    assert_eq!(flat(&rows(&xs, 700.0, 11.0, 16.0, table)), expected.join(" "));
    // Between paragraphs, in a column of prose.
    let content = lines(
        60.0,
        740.0,
        11.0,
        14.0,
        &["The council sold its boats in the spring of the year, and these were the prices."],
    ) + &rows(&xs, 700.0, 11.0, 16.0, table)
        + &lines(
            60.0,
            600.0,
            11.0,
            14.0,
            &["None of them was ever seen in the harbour again, as the harbour master wrote."],
        );
    let text = flat(&content);
    assert!(text.contains(&format!("prices. {} None", expected.join(" "))), "{text}");
}

#[test]
fn labels_and_long_cells_stay_with_their_rows() {
    let list: &[&[&str]] = &[
        &["Ferry", "A flat boat that carries people and carts over a"],
        &["", "river along a rope, for a toll."],
        &["Quay", "A wall at the water where ships are loaded and"],
        &["", "unloaded."],
        &["Toll", "Money that is paid for the use of a road, bridge or"],
        &["", "ferry."],
    ];
    let expected: Vec<String> = list.iter().map(|row| row.join(" ").trim().to_owned()).collect();
    assert_eq!(flat(&rows(&[60.0, 160.0], 700.0, 11.0, 14.0, list)), expected.join(" "));
    // Cells of several lines on both sides, each row apart from the next.
    let cells = [
        (
            ["Who sold the ferry to the", "town of Brackwater?"],
            ["The harbour council sold it for", "forty crowns in 1973."],
        ),
        (["Who closed the swimming", "hall?"], ["The mayor closed it when the", "roof began to leak."]),
        (["Who opened the bakery in", "the mill?"], ["Anna Rell opened it in March,", "with her brother."]),
    ];
    let content: String = cells
        .iter()
        .enumerate()
        .flat_map(|(number, (left, right))| {
            let y = 700.0 - 50.0 * number as f64;
            (0..2).map(move |line| {
                let y = y - 14.0 * line as f64;
                at(60.0, y, 11.0, left[line]) + &at(300.0, y, 11.0, right[line])
            })
        })
        .collect();
    let expected: Vec<String> =
        cells.iter().map(|(left, right)| format!("{} {}", left.join(" "), right.join(" "))).collect();
    assert_eq!(flat(&content), expected.join(" "));
}

#[test]
fn options_and_their_descriptions_in_lower_case_stay_together() {
    let options: &[&[&str]] = &[
        &["-c, --check", "checks the syntax only"],
        &["-o, --output=FILE", "output file"],
        &["-h, --help", "display this help and exit"],
        &["-v, --version", "output version information and exit"],
    ];
    let expected: Vec<String> = options.iter().map(|row| row.join(" ")).collect();
    assert_eq!(flat(&rows(&[80.0, 250.0], 700.0, 10.0, 12.0, options)), expected.join(" "));
}

#[test]
fn a_sidebar_is_read_for_itself() {
    let main = lines(
        60.0,
        700.0,
        11.0,
        14.0,
        &[
            "The ferry over the Elde was built in 1883 by the brothers Sand,",
            "who owned the mill. It carried carts and people for a toll of two",
            "pence. When the bridge opened, the council sold the ferry to the",
            "town of Brackwater, where it was used until a storm sank it in the",
            "winter of 1979. A model of it stands in the museum.",
        ],
    );
    let sidebar = lines(
        440.0,
        696.0,
        9.0,
        11.5,
        &["The toll", "In 1883 a cart paid", "two pence, a horse", "one penny, and a", "child nothing."],
    );
    let below = lines(
        60.0,
        600.0,
        11.0,
        14.0,
        &["The museum is open on Sundays from ten to four; children and members of the society pay nothing."],
    );
    let text = flat(&(sidebar + &main + &below));
    let expected = "A model of it stands in the museum. The toll In 1883 a cart paid two pence, a horse one penny, and a child \
                    nothing. The museum is open";
    assert!(text.starts_with("The ferry over the Elde") && text.contains(expected), "{text}");
}

#[test]
fn wide_spaces_of_a_paragraph_are_no_gutter() {
    // Justified lines, of which two have spaces of more than a letter's height below each other, and three smaller ones.
    let parts = [
        ("The harbour council of", 184.0, "Maddock Bay met in March and"),
        ("the old town decided to", 186.0, "ask the mayor whether he would"),
        ("sell the ferry to them in", 186.0, "March, buy a boat for the school,"),
        ("and close the hall of the", 185.5, "town in the summer of this year."),
    ];
    let content: String = parts
        .iter()
        .enumerate()
        .map(|(number, (left, x, right))| {
            let y = 700.0 - 14.0 * number as f64;
            at(60.0, y, 11.0, left) + &at(*x, y, 11.0, right)
        })
        .collect();
    let expected: Vec<String> = parts.iter().map(|(left, _, right)| format!("{left} {right}")).collect();
    assert_eq!(flat(&content), expected.join(" "));
}

#[test]
fn words_broken_between_columns_are_joined() {
    let content = lines(60.0, 700.0, 11.0, 14.0, &["The council praised the", "men who had led the recon-"])
        + &lines(300.0, 700.0, 11.0, 14.0, &["struction of the bridge, and", "gave each of them a medal."]);
    assert_eq!(
        flat(&content),
        "The council praised the men who had led the reconstruction of the bridge, and gave each of them a medal."
    );
}

#[test]
fn rotated_text_is_laid_out_for_itself() {
    let stamp = "BT /F 20 Tf 0 1 -1 0 30 200 Tm (Stamp of the archive) Tj ET\n";
    let content = stamp.to_owned() + &lines(60.0, 700.0, 11.0, 14.0, &LEFT);
    assert_eq!(flat(&content), format!("{} Stamp of the archive", joined(&LEFT)));
    // A whole page that is turned reads as one that is not.
    let turned = format!(
        "q 0 1 -1 0 600 0 cm {} Q",
        rows(&[60.0, 320.0], 500.0, 11.0, 14.0, &[&[LEFT[0], RIGHT[0]], &[LEFT[1], RIGHT[1]], &[LEFT[2], RIGHT[2]]])
    );
    assert_eq!(flat(&turned), format!("{} {}", joined(&LEFT[..3]), joined(&RIGHT[..3])));
}

#[test]
fn a_page_of_many_letters_takes_linear_time() {
    let started = std::time::Instant::now();
    let row = |number: usize| {
        at(10.0 + (number * 7 % 400) as f64, 700.0 - number as f64 * 0.3, 5.0, "a b c d e f g h i j k l m n")
    };
    let content: String = (0..20_000).map(row).collect();
    assert!(one("a.pdf", &one_page(&content)).is_ok());
    let wide = format!("BT /F 1 Tf 1 0 0 1 0 700 Tm {} ET", "(a) Tj 3 0 Td ".repeat(100_000));
    assert!(one("a.pdf", &one_page(&wide)).is_ok());
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// Rows of text that are padded with blanks to columns of so many letters, in a font whose letters have different widths.
fn padded(width: usize, rows: &[&[&str]]) -> String {
    let row = |cells: &&[&str]| -> String {
        let padded: String = cells.iter().map(|cell| format!("{cell:width$}")).collect();
        padded.trim_end().to_owned()
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    lines(40.0, 700.0, 8.0, 10.0, &rows.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn columns_that_blanks_alone_part_are_read_one_after_the_other_with_a_note() {
    let read = |content: &str| {
        let pages = one("a.pdf", &one_page(content)).unwrap();
        assert_eq!(pages[0].notes, ["the reading order of page 1 of 1 is uncertain: columns, or rows of a table"]);
        pages[0].text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // "will" and "map" are as many letters as "mill" and "hum", but not as wide.
    let left = [
        "Willi will fill till bills lilt ill,",
        "mammoth mummies hum among moms,",
        "fill it till Will lifts it, still,",
    ];
    let left = [left[0], left[1], left[2], "warm swamps mow many women,", "illicit lilies tilt in little inns,"];
    let right = ["it is in the old mill that we", "all met and said what had been", "lost by both of the boats as"];
    let right = [right[0], right[1], right[2], "they came in from the sea and", "went up the long river."];
    let pairs: Vec<[&str; 2]> = left.into_iter().zip(right).map(|(left, right)| [left, right]).collect();
    let mut pairs: Vec<&[&str]> = pairs.iter().map(|pair| &pair[..]).collect();
    let expected = format!("{} {}", joined(&left), joined(&right));
    assert_eq!(read(&padded(40, &pairs)), expected);
    // The left column is longer.
    pairs.push(&["and so on."]);
    assert_eq!(read(&padded(40, &pairs)), format!("{} and so on. {}", joined(&left), joined(&right)));
}

#[test]
fn a_table_that_blanks_alone_part_is_read_row_by_row() {
    let table: &[&[&str]] = &[
        &["Boat", "Length", "Price"],
        &["Willi Illy", "12 m", "40 crowns"],
        &["Mammoth Wommy", "9 m", "15 crowns"],
        &["Petrel", "17 m", "220 crowns"],
        &["Wmmmmm", "8 m", "9 crowns"],
    ];
    let expected: Vec<String> = table.iter().map(|row| row.join(" ")).collect();
    assert_eq!(flat(&padded(16, table)), expected.join(" "));
}
