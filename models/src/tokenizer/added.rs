//! Added tokens: the ones written as fixed texts and matched before any BPE. Leftmost, then longest, as in Hugging
//! Face tokenizers; but in scaffold alone, save for runs of white space, which mean nothing but themselves.

use std::ops::Range;

/// One added token, with the flags of `tokenizer.json`.
#[derive(Debug, Clone, Default)]
pub(super) struct AddedToken {
    pub(super) id: u32,
    pub(super) text: String,
    pub(super) flags: Flags,
    /// Recognised in content too: white space that some vocabularies keep as added tokens.
    pub(super) anywhere: bool,
}

/// How an added token treats its surroundings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    /// White space before it belongs to it.
    pub(super) lstrip: bool,
    /// White space after it belongs to it.
    pub(super) rstrip: bool,
    /// Only recognised where no word character touches it.
    pub(super) single_word: bool,
}

/// An added token at bytes `start..end` of a text, stripped white space included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All added tokens, ready to be found.
#[derive(Debug)]
pub(super) struct AddedTokens {
    tokens: Vec<AddedToken>,
    /// By first byte: indices into `tokens`, longest text first. Scaffold is short and such tokens begin alike
    /// (`<`), so this is fast enough and needs no automaton.
    by_first_byte: Vec<Vec<usize>>,
}

impl AddedTokens {
    /// Empty texts match nowhere.
    pub(super) fn new(tokens: Vec<AddedToken>) -> Self {
        let mut by_first_byte = vec![Vec::new(); 256];
        for (index, token) in tokens.iter().enumerate() {
            if let Some(&byte) = token.text.as_bytes().first() {
                by_first_byte[usize::from(byte)].push(index);
            }
        }
        for bucket in &mut by_first_byte {
            bucket.sort_by_key(|&index| std::cmp::Reverse(tokens[index].text.len()));
        }
        Self { tokens, by_first_byte }
    }

    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.tokens.iter().find(|token| token.text == text).map(|token| token.id)
    }

    /// Every added token of `text`, in order and disjoint. `scaffold`: ascending disjoint byte ranges.
    pub(super) fn find(&self, text: &str, scaffold: &[Range<usize>]) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut regions = scaffold.iter().peekable();
        let (mut at, mut free) = (0, 0);
        while at < text.len() {
            while regions.next_if(|region| region.end <= at).is_some() {}
            // Only a region that has begun can hold a token that begins here.
            let trusted_end = regions.peek().filter(|region| region.start <= at).map_or(at, |region| region.end);
            match self.longest_at(text, at, trusted_end) {
                None => at += 1,
                Some(token) => {
                    let end = at + token.text.len();
                    if token.flags.allow(text, at, end) {
                        let hit = token.flags.widen(text, token.id, at, end, free);
                        free = hit.end;
                        found.push(hit);
                        at = free;
                    } else {
                        at = end;
                    }
                }
            }
        }
        found
    }

    /// The longest token at byte `at` that ends by `trusted_end`, or that is allowed anywhere.
    fn longest_at(&self, text: &str, at: usize, trusted_end: usize) -> Option<&AddedToken> {
        let rest = &text.as_bytes()[at..];
        let bucket = self.by_first_byte.get(usize::from(*rest.first()?))?;
        bucket.iter().map(|&index| &self.tokens[index]).find(|token| {
            rest.starts_with(token.text.as_bytes()) && (token.anywhere || at + token.text.len() <= trusted_end)
        })
    }
}

impl Flags {
    fn allow(self, text: &str, start: usize, end: usize) -> bool {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        !self.single_word || !(text[..start].ends_with(word) || text[end..].starts_with(word))
    }

    fn widen(self, text: &str, id: u32, start: usize, end: usize, free: usize) -> Found {
        let start = if self.lstrip { text[..start].trim_end().len().max(free) } else { start };
        let end = if self.rstrip { text.len() - text[end..].trim_start().len() } else { end };
        Found { id, start, end }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{AddedToken, AddedTokens, Flags, Found};

    fn tokens(list: &[(&str, Flags)]) -> AddedTokens {
        let added = list.iter().enumerate().map(|(id, (text, flags))| AddedToken {
            id: u32::try_from(id).unwrap(),
            text: (*text).to_owned(),
            flags: *flags,
            anywhere: text.trim().is_empty(),
        });
        AddedTokens::new(added.collect())
    }

    fn spans(tokens: &AddedTokens, text: &str, scaffold: &[std::ops::Range<usize>]) -> Vec<(u32, usize, usize)> {
        tokens.find(text, scaffold).into_iter().map(|Found { id, start, end }| (id, start, end)).collect()
    }

    #[test]
    fn leftmost_then_longest() {
        let added = tokens(&[("<a>", Flags::default()), ("<a><b>", Flags::default()), ("b>", Flags::default())]);
        assert_eq!(spans(&added, "x<a><b><a>b>", std::slice::from_ref(&(0..12))), [(1, 1, 7), (0, 7, 10), (2, 10, 12)]);
    }

    #[test]
    fn only_wholly_inside_scaffold() {
        let added = tokens(&[("<a>", Flags::default()), ("  ", Flags::default())]);
        let text = "<a><a>  <a>";
        assert_eq!(spans(&added, text, &[0..3, 5..11]), [(0, 0, 3), (1, 6, 8), (0, 8, 11)]);
        assert_eq!(spans(&added, text, &[0..2, 2..5, 8..10, 10..11]), [(1, 6, 8)]);
        assert_eq!(spans(&added, text, &[]), [(1, 6, 8)]);
    }

    #[test]
    fn flags_are_honoured() {
        let strip = Flags { lstrip: true, rstrip: true, single_word: false };
        let word = Flags { single_word: true, ..Flags::default() };
        let added = tokens(&[("<s>", strip), ("mask", word)]);
        assert_eq!(spans(&added, "a <s> <s> é", std::slice::from_ref(&(0..12))), [(0, 1, 6), (0, 6, 10)]);
        assert_eq!(spans(&added, "mask unmask mask", std::slice::from_ref(&(0..16))), [(1, 0, 4), (1, 12, 16)]);
    }
}
