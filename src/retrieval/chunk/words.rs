//! Words as passages count them.

use std::ops::Range;

/// Longest run of characters that counts as one word. Longer runs (addresses, hashes, scripts without spaces) count by
/// their length.
const LONGEST_WORD: usize = 32;

/// The words of `text` as byte ranges: runs between white space, split every [`LONGEST_WORD`] characters; each ideograph
/// and kana is a word.
pub(in crate::retrieval) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let (start, first) = characters.next()?;
        let mut end = start + first.len_utf8();
        if !is_ideograph(first) {
            let mut length = 1;
            while let Some((at, c)) =
                characters.next_if(|(_, c)| length < LONGEST_WORD && !c.is_whitespace() && !is_ideograph(*c))
            {
                end = at + c.len_utf8();
                length += 1;
            }
        }
        Some(start..end)
    })
}

/// Whether `c` is Han, Hiragana or Katakana, which put no spaces between words.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}
