//! Quotes: where the words of a reply occur in a document.
//!
//! A reply writes white space as single spaces, a document has line ends and indentation. So quotes are looked for in
//! the document with its white space made single spaces and its characters plain, and kept as the document has them,
//! with their position. A quote begins and ends at words: "cost 10" is not a quote of "cost 100".

use crate::question::Quote;
use crate::retrieval::chunk::sentences::sentences;
use crate::unicode::{self, baseline};
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::GraphemeCursor;

/// Characters that a quote has at least, unless its document is shorter: fewer show nothing.
pub(crate) const LEAST: usize = 5;

/// Characters of a piece that a grammar offers: longer sentences are cut.
const PIECE: usize = 240;

/// Characters of a quote of words at most, as the grammar says.
const WORDS: usize = 400;

/// A text in plain characters ([`unicode::plain`]) with single spaces, and the offset of each of its bytes in the
/// original.
struct SingleSpaced {
    text: String,
    /// For each byte of `text`, the offset in the original of the characters that it belongs to; one more for the end.
    offsets: Vec<usize>,
}

impl SingleSpaced {
    fn new(original: &str) -> Self {
        let (mut text, mut offsets) = (String::with_capacity(original.len()), Vec::with_capacity(original.len() + 1));
        let (mut at, mut end) = (0, 0);
        while let Some(c) = original[at..].chars().next() {
            let next = at + length(&original[at..]);
            if c.is_whitespace() {
                if !text.is_empty() && !text.ends_with(' ') {
                    text.push(' ');
                    end = next;
                }
            } else if let Some((word, bytes)) = baseline::spelled_run(&text, &original[at..]) {
                text.push_str(&word);
                end = at + bytes;
            } else {
                text.push_str(&unicode::plain(&original[at..next]));
                end = next;
            }
            offsets.resize(text.len(), at);
            at = next.max(end);
        }
        if text.ends_with(' ') {
            text.pop();
            end = offsets.pop().unwrap_or(end);
        }
        offsets.push(end);
        Self { text, offsets }
    }
}

/// Bytes of the first character of `text` with the marks on it.
fn length(text: &str) -> usize {
    let mut characters = text.char_indices();
    characters.next();
    characters.find(|(_, c)| c.is_ascii() || !is_combining_mark(*c)).map_or(text.len(), |(at, _)| at)
}

/// `text` with each run of white space as one space, none around it.
#[must_use]
pub(crate) fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The pieces of a document that a quote may consist of: its sentences, long ones cut at a word. Put together they are the
/// document with single spaces, so each piece but the first begins with the space before it, if there is one.
#[must_use]
pub fn pieces(document: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for range in sentences(document) {
        let start = range.start;
        let sentence = single_spaced(&document[range]);
        // In some languages no space separates sentences.
        let spaced = document[..start].ends_with(char::is_whitespace) && !pieces.is_empty();
        let mut rest = sentence.as_str();
        let mut lead = if spaced { " " } else { "" };
        while !rest.is_empty() {
            let (head, tail) = cut(rest);
            match pieces.last_mut().filter(|last| is_short(last)) {
                Some(last) => last.extend([lead, head]),
                None => pieces.push(format!("{lead}{head}")),
            }
            rest = tail.trim_start();
            lead = if tail.starts_with(' ') { " " } else { "" };
        }
    }
    // A short piece was joined with the one after it. A short last piece is joined with the one before it.
    if pieces.len() > 1
        && let Some(short) = pieces.pop_if(|last| is_short(last))
        && let Some(last) = pieces.last_mut()
    {
        last.push_str(&short);
    }
    pieces
}

/// Whether a piece is too short to be a quote.
fn is_short(piece: &str) -> bool {
    piece.trim().chars().count() < LEAST
}

/// Tokens of the longest quote that consists of `pieces`, at most: of one or two adjacent ones, or of any run of
/// [`WORDS`] characters.
#[must_use]
pub fn tokens(pieces: &[String], words: bool) -> usize {
    let sizes: Vec<usize> = pieces.iter().map(|piece| tokens_of(piece)).collect();
    if words {
        // Upper bound: a run of `WORDS` characters, each with as many tokens as in the densest piece.
        let densest = |(piece, size): (&String, &usize)| (size * WORDS).div_ceil(piece.chars().count().max(1));
        let all: usize = sizes.iter().sum();
        return all.min(pieces.iter().zip(&sizes).map(densest).max().unwrap_or(0));
    }
    let pairs = sizes.windows(2).map(|pair| pair[0] + pair[1]).max();
    pairs.or(sizes.first().copied()).unwrap_or(0)
}

/// Tokens of `text` at most, without its tokenizer: English text has a token for more than three letters or spaces; other
/// ASCII characters are a token each, other characters at most one for each byte.
#[must_use]
pub(crate) fn tokens_of(text: &str) -> usize {
    let of = |c: char| match c {
        ' ' | 'a'..='z' | 'A'..='Z' => 1,
        c => 3 * c.len_utf8(),
    };
    text.chars().map(of).sum::<usize>().div_ceil(3)
}

/// The first [`PIECE`] characters of `text`, to the end of a word where there is one, and the rest.
fn cut(text: &str) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(PIECE) else { return (text, "") };
    let words = text[..end].rfind(' ').filter(|&space| space > 0).unwrap_or(end);
    text.split_at(words)
}

/// The first occurrence of `quote` in `document`: white space may differ, and the quotation marks or the ellipses
/// around it; other characters are compared in plain form. `None` if the document does not have the quote, or only
/// inside of words or numbers, and if the quote is too short to show anything.
#[must_use]
pub fn locate(document: &str, quote: &str) -> Option<Quote> {
    let spaced = SingleSpaced::new(document);
    let bare = SingleSpaced::new(quote).text;
    let candidates = [bare.as_str(), undressed(&bare)];
    let least = LEAST.min(spaced.text.chars().count());
    let found = candidates.into_iter().filter(|words| words.chars().count() >= least && !words.is_empty());
    let (start, words) = found.filter_map(|words| Some((whole(document, &spaced.text, words)?, words))).next()?;
    let range = spaced.offsets[start]..spaced.offsets[start + words.len()];
    // A quote that ends before a space of the single-spaced text ends before the white space of the original.
    let text = document[range.clone()].trim_end();
    let first = document[..range.start].chars().count();
    Some(Quote { characters: first..first + text.chars().count(), text: text.to_owned() })
}

/// The first position in `text`, the single-spaced `document`, where `words` split no word and no number. The ends of
/// [`pieces`] are allowed, which a sequence of more than [`PIECE`] letters has inside.
fn whole(document: &str, text: &str, words: &str) -> Option<usize> {
    let mut seams: Option<Vec<usize>> = None;
    let mut allowed = |at: usize| {
        !splits(text, at) || {
            let ends = pieces(document).into_iter().scan(0, |end, piece| {
                *end += unicode::plain(&piece).len();
                Some(*end)
            });
            seams.get_or_insert_with(|| ends.collect()).contains(&at)
        }
    };
    let mut from = 0;
    while let Some(start) = text[from..].find(words).map(|found| from + found) {
        if allowed(start) && allowed(start + words.len()) {
            return Some(start);
        }
        from = start + text[start..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// Whether a cut of `text` at this byte goes through a character with its marks, a number, or a word of a script that puts
/// spaces between words.
fn splits(text: &str, at: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
    let (Some(last), Some(next)) = (before, after) else { return false };
    if !GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true) {
        return true;
    }
    let digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    let mark = |c: char| matches!(c, '.' | ',');
    if mark(next) && digit(before) && digit(text[at + next.len_utf8()..].chars().next())
        || mark(last) && digit(after) && digit(text[..at - last.len_utf8()].chars().next_back())
    {
        return true;
    }
    digit(before) && digit(after)
        || last.is_alphanumeric() && next.is_alphanumeric() && !is_unspaced(last) && !is_unspaced(next)
}

/// A letter of a script that puts no spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, Han, Kana, Yi.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x109F | 0x1780..=0x17FF | 0x2E80..=0xA4CF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F
        | 0x20000..=0x3FFFF)
}

fn undressed(quote: &str) -> &str {
    quote
        .trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '“' | '”' | '…' | '*' | '`'))
        .trim_matches('.')
        .trim()
}

#[cfg(test)]
mod tests {
    use super::{SingleSpaced, locate, pieces, single_spaced};

    #[test]
    fn a_single_spaced_text_has_the_offsets_of_the_original() {
        let text = " A  bridge\r\n\topened\u{a0}in Žilina. ";
        let spaced = SingleSpaced::new(text);
        assert_eq!(spaced.text, single_spaced(text));
        assert_eq!(spaced.offsets.len(), spaced.text.len() + 1);
        let at = spaced.text.find("opened").unwrap();
        assert!(text[spaced.offsets[at]..].starts_with("opened"));
        assert_eq!(&text[..*spaced.offsets.last().unwrap()], text.trim_end());
        assert_eq!(SingleSpaced::new(" \n ").text, "");
    }

    #[test]
    fn pieces_are_the_single_spaced_document() {
        let long = "word ".repeat(120) + "ends.";
        for text in
            ["It opened.  It\nclosed! Did it?", "橋は開いた。1931年だ。", &long, "# Title\n\n- one\n- two\n", "x"]
        {
            assert_eq!(pieces(text).concat(), single_spaced(text), "{text:?}");
        }
        assert_eq!(pieces("橋は開いた。1931年だ。"), ["橋は開いた。", "1931年だ。"]);
        assert_eq!(pieces("It opened.  It\nclosed!"), ["It opened.", " It closed!"]);
        assert!(pieces(&long).iter().all(|piece| piece.chars().count() <= 241));
        assert_eq!(pieces(&"x".repeat(500)).iter().map(String::len).collect::<Vec<_>>(), [240, 240, 20]);
        assert!(pieces(" \n").is_empty());
        assert_eq!(pieces("No. It did.\n\nYes"), ["No. It did. Yes"]);
    }

    #[test]
    fn a_quote_is_found_as_the_document_has_it() {
        let document = "Über die Brücke:\nthe bridge\n  opened in 1931. It closed.";
        let quote = locate(document, "the bridge opened in 1931.").unwrap();
        assert_eq!(quote.text, "the bridge\n  opened in 1931.");
        assert_eq!(quote.characters, 17..45);
        assert!(quote.stands_in(document) && !quote.stands_in(&document.replace("1931", "1932")));
        assert_eq!(locate(document, "“the bridge opened in 1931...”").unwrap().text, "the bridge\n  opened in 1931");
        assert_eq!(locate(document, "Über die Brücke:").unwrap().characters, 0..16);
        for other in ["the bridge opened in 1932.", "", "  ", "1931", "The bridge opened in 1931.", "closed. It"] {
            assert_eq!(locate(document, other), None, "{other:?}");
        }
        // Other characters that say the same, and the document's own in the quote.
        let typeset = "Zoë’s “café” sold ﬁve tons, 10⁶ crowns.";
        let plain = locate(typeset, "Zoe\u{308}'s \"cafe\u{301}\" sold five tons, 10^6").unwrap();
        assert_eq!(plain.text, "Zoë’s “café” sold ﬁve tons, 10⁶");
        assert!(plain.stands_in(typeset) && locate(typeset, &plain.text).unwrap() == plain);
        assert_eq!(locate(typeset, "sold 5ve tons"), None);
        let apart = "The cafe\u{301} was opened.";
        assert_eq!(locate(apart, "The café was").unwrap().text, "The cafe\u{301} was");
        // All of a document shorter than that.
        assert_eq!(locate("In 1931\n", "In 1931").unwrap().characters, 0..7);
    }
}
