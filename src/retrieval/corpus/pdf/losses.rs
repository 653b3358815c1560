//! Notes on what of a file is missing from its text.

use super::reply::PageText;
use crate::retrieval::corpus::notes::Notes;

/// Minimum share of a page that pictures cover, and maximum letters beside them, for a page that is mostly a picture.
const PICTURED: f64 = 0.5;
const FEW_LETTERS: usize = 200;
/// Ranges of pages that a note names.
const MAX_RANGES: usize = 12;

/// Notes what the pages of a file lost.
pub(super) fn note(pages: &[PageText], notes: &mut Notes) {
    let is_empty = |page: &PageText| page.text.trim().is_empty();
    let few = |page: &PageText| page.text.chars().take(FEW_LETTERS).count() < FEW_LETTERS;
    let pictures = named(pages, |page| is_empty(page) && page.pictures > 0);
    if let Some(Named { pages, many }) = pictures {
        notes.add(format!("{pages} {} without text", if many { "are pictures" } else { "is a picture" }));
    }
    let mostly = named(pages, |page| !is_empty(page) && page.pictured >= PICTURED && few(page));
    if let Some(Named { pages, many }) = mostly {
        let what = if many { "are mostly pictures" } else { "is mostly a picture" };
        notes.add(format!("{pages} {what}, whose text is not read"));
    }
    if let Some(Named { pages: named, .. }) = named(pages, |page| page.unknown > 0) {
        let letters: usize = pages.iter().map(|page| page.unknown).sum();
        let are = if letters == 1 { "letter is" } else { "letters are" };
        notes.add(format!("{letters} {are} missing on {named}: fonts without a Unicode value for them"));
    }
    if let Some(Named { pages, .. }) = named(pages, |page| page.is_uncertain) {
        notes.add(format!("the reading order of {pages} is uncertain: columns, or rows of a table"));
    }
}

/// Notes pages that a damaged file lacks. `read` and `counted`: pages, and those that its page tree counts.
pub(super) fn note_damage(read: usize, counted: usize, is_cut: bool, notes: &mut Notes) {
    if read < counted {
        notes.add(format!("{} of {counted} pages are missing or cannot be read", counted - read));
    }
    if is_cut {
        notes.add("the file ends early: pages may be missing");
    }
}

/// Pages as a message names them, and whether there are several.
struct Named {
    pages: String,
    many: bool,
}

/// The pages for which `is` holds: "pages 2, 5-7 of 9"; `None` if there are none.
fn named(pages: &[PageText], is: impl Fn(&PageText) -> bool) -> Option<Named> {
    let numbers: Vec<usize> = pages.iter().zip(1..).filter(|(page, _)| is(page)).map(|(_, number)| number).collect();
    let ranges: Vec<&[usize]> = numbers.chunk_by(|a, b| a + 1 == *b).collect();
    let range = |range: &&[usize]| match range {
        [first, .., last] => format!("{first}-{last}"),
        [one] => one.to_string(),
        [] => String::new(),
    };
    let mut told: Vec<String> = ranges.iter().take(MAX_RANGES).map(range).collect();
    let more: usize = ranges.iter().skip(MAX_RANGES).map(|range| range.len()).sum();
    if more > 0 {
        told.push(format!("{more} more"));
    }
    let many = numbers.len() > 1;
    let word = if many { "pages" } else { "page" };
    (!numbers.is_empty()).then(|| Named { pages: format!("{word} {} of {}", told.join(", "), pages.len()), many })
}

#[cfg(test)]
mod tests {
    use super::{Notes, PageText, note};

    #[test]
    fn losses_are_reported_with_their_pages() {
        let full = || PageText { text: "words ".repeat(100), ..PageText::default() };
        let picture = || PageText { pictures: 1, pictured: 0.9, ..PageText::default() };
        let scan = PageText { text: "stamp".into(), ..picture() };
        let pages = [
            full(),
            picture(),
            scan,
            PageText { unknown: 3, ..full() },
            picture(),
            picture(),
            PageText { unknown: 1, is_uncertain: true, ..full() },
            PageText::default(),
            PageText { pictured: 1.0, pictures: 2, ..full() },
        ];
        let mut notes = Notes::default();
        note(&pages, &mut notes);
        let expected = [
            "pages 2, 5-6 of 9 are pictures without text",
            "page 3 of 9 is mostly a picture, whose text is not read",
            "4 letters are missing on pages 4, 7 of 9: fonts without a Unicode value for them",
            "the reading order of page 7 of 9 is uncertain: columns, or rows of a table",
        ];
        assert_eq!(notes.lines(), expected);
        let mut notes = Notes::default();
        note(&[full(), PageText::default()], &mut notes);
        assert!(notes.lines().is_empty());
        let pages: Vec<PageText> = (0..100).map(|number| if number % 2 == 0 { picture() } else { full() }).collect();
        note(&pages, &mut notes);
        assert_eq!(
            notes.lines()[0],
            "pages 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 38 more of 100 are pictures without text"
        );
    }
}
