//! Sentence boundaries: Unicode's rules (UAX #29) without their false boundaries.
//!
//! Those rules end a sentence after every full stop before a capital letter and at every line end. A stop after "Dr" or an
//! initial ends no sentence, nor does the end of a wrapped line. A boundary dropped by mistake makes a sentence longer;
//! a false one can split a name. So a doubtful boundary is dropped.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Abbreviations whose full stop ends no sentence, in lower case: titles and words before names and numbers, in English,
/// German and French; not those that often end a sentence too ("etc.", "p.m.").
#[rustfmt::skip]
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "mx", "dr", "prof", "rev", "hon", "gen", "col", "capt", "lt", "sgt", "maj", "cmdr", "adm", "sen",
    "rep", "gov", "pres", "supt", "st", "ste", "mt", "ft", "messrs", "mme", "mlle", "hr", "fr",
    "no", "nos", "nr", "fig", "figs", "eq", "eqs", "sec", "ch", "chap", "vol", "vols", "pp", "art", "para", "op",
    "vs", "cf", "approx", "ca", "al", "viz", "resp", "bzw", "vgl", "ed", "eds", "trans", "ibid",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
    "mon", "tue", "tues", "wed", "thu", "thurs", "fri",
];

/// The sentences of `text` as byte ranges, in order, without the white space between them.
#[must_use]
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut sentences: Vec<Range<usize>> = Vec::new();
    for (start, piece) in text.split_sentence_bound_indices() {
        let trimmed = piece.trim();
        if trimmed.is_empty() {
            continue;
        }
        let start = start + (piece.len() - piece.trim_start().len());
        let end = start + trimmed.len();
        match sentences.last_mut() {
            Some(last) if goes_on(&text[last.clone()], &text[last.end..start], trimmed) => last.end = end,
            _ => sentences.push(start..end),
        }
    }
    sentences
}

/// Whether the text after `gap` continues the sentence before it.
fn goes_on(before: &str, gap: &str, after: &str) -> bool {
    match gap.matches('\n').count() {
        0 => stops_short(before),
        1 => stops_short(before) || (!is_ended(before) && !begins_a_block(after) && !is_heading(before)),
        // A blank line ends a sentence.
        _ => false,
    }
}

/// Whether `before` ends with an abbreviation or an initial.
fn stops_short(before: &str) -> bool {
    let Some(body) = before.strip_suffix('.') else { return false };
    let word = body.rsplit(|c: char| c.is_whitespace() || "([{\"'\u{201c}\u{2018}".contains(c)).next().unwrap_or(body);
    // "J" of a name, "U.S", "z.B": single letters between stops. "I" is more often a pronoun.
    let letters = word.split('.').all(|part| {
        let mut letters = part.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
    });
    (letters && word != "I") || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Whether `before` ends with a sentence-ending mark, possibly followed by closing quotes or brackets.
fn is_ended(before: &str) -> bool {
    let open = before.trim_end_matches(['"', '\'', ')', ']', '}', '\u{201d}', '\u{2019}', '\u{bb}', '*', '_']);
    open.ends_with(['.', '!', '?', ':', ';', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}', '|'])
}

/// Whether the last line of `before` is a markdown heading.
fn is_heading(before: &str) -> bool {
    before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('#'))
}

/// Whether `line` begins a block: a heading, a list item, a quotation, a table row, a fence.
fn begins_a_block(line: &str) -> bool {
    let marked = ["#", "- ", "* ", "+ ", "\u{2022}", ">", "|", "```", "---", "==="];
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    marked.iter().any(|mark| line.starts_with(mark)) || (digits > 0 && line[digits..].starts_with([')', '.']))
}

#[cfg(test)]
mod tests {
    use super::sentences;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_stop_is_not_always_an_end() {
        let cases: &[(&str, &[&str])] = &[
            ("It opened. It closed!  Did it?", &["It opened.", "It closed!", "Did it?"]),
            ("Dr. Smith met J. R. R. Tolkien. They spoke.", &["Dr. Smith met J. R. R. Tolkien.", "They spoke."]),
            ("The U.S. Navy left at 3.5 knots. Good.", &["The U.S. Navy left at 3.5 knots.", "Good."]),
            (
                "See Fig. 3 (cf. Smith et al. 2020). So do I. Then",
                &["See Fig. 3 (cf. Smith et al. 2020).", "So do I.", "Then"],
            ),
            // Two sentences that the rules cannot separate stay one.
            ("On Jan. 5 at 5 p.m. The bell rang.", &["On Jan. 5 at 5 p.m. The bell rang."]),
            ("She said \"No.\" He left (alone). End", &["She said \"No.\"", "He left (alone).", "End"]),
            (
                "\u{6a4b}\u{3002}\u{958b}\u{3044}\u{305f}\u{3002}",
                &["\u{6a4b}\u{3002}", "\u{958b}\u{3044}\u{305f}\u{3002}"],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(&split(text), expected);
        }
    }

    #[test]
    fn full_lines_are_joined_and_blocks_are_not() {
        assert_eq!(
            split("The bridge\nopened in\r\nMay. It is\nlong."),
            ["The bridge\nopened in\r\nMay.", "It is\nlong."]
        );
        assert_eq!(split("# The bridge\nIt opened\n\nIt closed"), ["# The bridge", "It opened", "It closed"]);
        assert_eq!(split("Sources:\n- one\n- two\n1. three"), ["Sources:", "- one", "- two", "1. three"]);
        assert_eq!(split(" \n\t"), Vec::<&str>::new());
    }
}
