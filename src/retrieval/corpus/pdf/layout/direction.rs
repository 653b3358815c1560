//! Reading order of a line whose letters are stored from left to right.
//!
//! Letters of Hebrew and Arabic are sorted by their position like all others, so their words come out reversed, with numbers
//! and Latin words between them the right way round. Reordering by the rules for display (Unicode annex 9) once more undoes
//! that: those rules reverse runs of letters, and reversing them twice restores them.

use super::judge::is_from_right;
use crate::unicode::baseline::Shift;
use unicode_bidi::{BidiInfo, Level as Embedding};

/// A letter of a line, or a space.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) text: String,
    pub(super) level: Option<Shift>,
}

/// Puts items that are stored from left to right into reading order, for text written from the right or from the left.
pub(super) fn reading_order(items: Vec<Item>, from_right: bool) -> Vec<Item> {
    let first = |item: &Item| item.text.chars().next().unwrap_or(' ');
    if !items.iter().any(|item| is_from_right(first(item))) {
        return items;
    }
    let line: String = items.iter().map(first).collect();
    let base = if from_right { Embedding::rtl() } else { Embedding::ltr() };
    let info = BidiInfo::new(&line, Some(base));
    let embeddings: Vec<Embedding> = line.char_indices().filter_map(|(at, _)| info.levels.get(at).copied()).collect();
    if embeddings.len() != items.len() {
        return items;
    }
    let order = BidiInfo::reorder_visual(&embeddings);
    let mut read: Vec<Item> = order.iter().map(|&at| items[at].clone()).collect();
    let reversed: Vec<bool> = order.iter().map(|&at| embeddings[at].is_rtl()).collect();
    mirror_brackets(&mut read, &reversed);
    read
}

/// Swaps brackets in reversed runs if the first one closes: the file names them as they look, not as they are read.
fn mirror_brackets(items: &mut [Item], reversed: &[bool]) {
    const PAIRS: [(&str, &str); 5] = [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("\u{ab}", "\u{bb}")];
    let pair_of = |text: &str| PAIRS.iter().find(|(open, close)| text == *open || text == *close);
    let first = items
        .iter()
        .zip(reversed)
        .find_map(|(item, reversed)| pair_of(&item.text).filter(|_| *reversed).map(|pair| item.text == pair.1));
    if first != Some(true) {
        return;
    }
    for (item, _) in items.iter_mut().zip(reversed).filter(|(_, reversed)| **reversed) {
        if let Some((open, close)) = pair_of(&item.text) {
            item.text = if item.text == *open { close } else { open }.to_string();
        }
    }
}

/// Whether the words of a text are spelled backwards: letters that occur only at the end of Hebrew words begin more words
/// than they end.
pub(super) fn is_backwards(text: &str) -> bool {
    let is_final = |letter: char| matches!(letter, '\u{5da}' | '\u{5dd}' | '\u{5df}' | '\u{5e3}' | '\u{5e5}');
    let words = || text.split(|c: char| !is_from_right(c)).filter(|word| word.chars().count() > 1);
    let begin = words().filter(|word| word.starts_with(is_final)).count();
    let end = words().filter(|word| word.ends_with(is_final)).count();
    begin > end
}

#[cfg(test)]
mod tests {
    use super::{Item, is_backwards, reading_order};

    fn read(line: &str, from_right: bool) -> String {
        let items = line.chars().map(|letter| Item { text: letter.to_string(), level: None }).collect();
        reading_order(items, from_right).into_iter().map(|item| item.text).collect()
    }

    #[test]
    fn words_from_the_right_are_reversed_and_numbers_are_not() {
        assert_eq!(read("2021 \u{5ea}\u{5e0}\u{5e9}\u{5dc}", true), "\u{5dc}\u{5e9}\u{5e0}\u{5ea} 2021");
        assert_eq!(read("Anna Rell \u{5ea}\u{5d0} 12.5", true), "12.5 \u{5d0}\u{5ea} Anna Rell");
        assert_eq!(read("in \u{5ea}\u{5d0} town", false), "in \u{5d0}\u{5ea} town");
        assert_eq!(read("plain 12", true), "plain 12");
    }

    #[test]
    fn brackets_are_mirrored_where_they_close_first() {
        assert_eq!(read("(\u{5d1}\u{5d0}) \u{5d3}\u{5d2}", true), "\u{5d2}\u{5d3} (\u{5d0}\u{5d1})");
        assert_eq!(read(")\u{5d1}\u{5d0}( \u{5d3}\u{5d2}", true), "\u{5d2}\u{5d3} (\u{5d0}\u{5d1})");
    }

    #[test]
    fn final_letters_decide_the_direction() {
        assert!(is_backwards("\u{5dd}\u{5d5}\u{5dc}\u{5e9}"));
        assert!(!is_backwards("\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{5e9}\u{5dc}\u{5d5}"));
    }
}
