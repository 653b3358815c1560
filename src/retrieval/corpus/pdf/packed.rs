//! Decoded bytes of the streams that opening a PDF decodes: cross-reference streams and object streams.
//!
//! The dictionaries of these streams are parsed here from the file's bytes. All other streams are measured when a page
//! uses them (`budget`).

use super::budget::{Budget, Excess};
use super::decode::{Filter, decoded};
use super::lexer::{Lexer, Token};
use super::output::MAX_STREAM;
use super::page_tree::PageTree;

/// Maximum nesting of dictionaries and arrays in a stream's dictionary.
const MAX_DEPTH: usize = 64;
/// Maximum bytes read as dictionaries, and searched for the end of streams of wrong length, per byte of the file. Only
/// files with overlapping objects need more.
const READ_AGAIN: usize = 16;
/// Maximum decoded bytes per byte of DEFLATE (a match of 258 bytes takes at least two bits).
const MOST_EXPANSION: usize = 1032;
/// Maximum bytes of an encrypted object stream, whose decoded length is unknown before decryption.
const MAX_ENCRYPTED: usize = 256 << 10;

/// Charges `budget` for all streams that opening the file `raw` decodes.
///
/// # Errors
/// [`Excess`].
pub(super) fn measure(raw: &[u8], budget: &mut Budget) -> Result<(), Excess> {
    let encrypted = names_in(raw, b"Encrypt");
    let ends: Vec<usize> = ends(raw);
    let mut left = raw.len().saturating_mul(READ_AGAIN).saturating_add(1 << 20);
    let mut tree = PageTree::default();
    let mut at = 0;
    while let Some(found) = find(&raw[at..], b"obj") {
        let start = at + found + 3;
        let end = find(&raw[start..], b"obj").map_or(raw.len(), |next| start + next);
        tree.read(&raw[start..end], number_before(&raw[..start - 3]))?;
        at = start;
        let mut lexer = Lexer { raw, at: start };
        let packed = Packed::read(&mut lexer);
        let searched = packed.as_ref().map_or(0, |packed| packed.searched(raw, &ends));
        left = left.checked_sub(lexer.at - start + searched).ok_or(Excess::Overlapping)?;
        if let Some(packed) = packed.filter(Packed::opened_early) {
            packed.charge(raw, encrypted, budget, &mut tree)?;
        }
    }
    Ok(())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The number of the object whose header, `5 0 obj`, `raw` ends with, but for its last word.
fn number_before(raw: &[u8]) -> Option<u64> {
    let header = &raw[raw.len().saturating_sub(40)..];
    let mut words = header.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().filter(|generation| generation.iter().all(u8::is_ascii_digit))?;
    std::str::from_utf8(words.next()?).ok()?.parse().ok()
}

/// First bytes of all `endstream`s.
fn ends(raw: &[u8]) -> Vec<usize> {
    let word = b"endstream";
    raw.windows(word.len()).enumerate().filter(|(_, window)| *window == word).map(|(at, _)| at).collect()
}

/// Whether the name `wanted` occurs in the file.
fn names_in(raw: &[u8], wanted: &[u8]) -> bool {
    raw.iter().enumerate().filter(|(_, byte)| **byte == b'/').any(|(at, _)| Lexer { raw, at: at + 1 }.name() == wanted)
}

/// The entries of a stream's dictionary that decide how it is decoded.
#[derive(Debug, Default)]
struct Packed {
    filters: Vec<Filter>,
    /// A filter or its parameters are given by reference.
    elsewhere: bool,
    columns: u64,
    length: Option<usize>,
    /// The keys that mark an object stream or a cross-reference stream.
    count: bool,
    first: bool,
    widths: bool,
    /// First byte of its data.
    data: usize,
}

impl Packed {
    fn opened_early(&self) -> bool {
        self.widths || (self.count && self.first)
    }

    fn charge(&self, raw: &[u8], encrypted: bool, budget: &mut Budget, tree: &mut PageTree) -> Result<(), Excess> {
        if self.elsewhere || self.columns > super::budget::MAX_COLUMNS {
            return Err(Excess::Stream);
        }
        let data = self.data(raw);
        if encrypted && !self.widths {
            let expands = self.filters.iter().filter(|filter| filter.expands()).count();
            if expands > 1 || data.len() > MAX_ENCRYPTED {
                return Err(Excess::Stream);
            }
            return budget.keep(data.len().saturating_mul(MOST_EXPANSION).min(MAX_STREAM) / 64);
        }
        // EarlyChange is not read here; the longer of its two results counts.
        let ways: &[bool] = if self.filters.contains(&Filter::Lzw) { &[true, false] } else { &[true] };
        let mut longest = 0;
        for early in ways {
            let decoded = decoded(&self.filters, *early, data).map_err(|_| Excess::Stream)?;
            tree.read(&decoded, None)?;
            longest = longest.max(decoded.len());
        }
        budget.keep(longest)
    }

    /// Its data by `Length` if `endstream` follows; else all bytes to the end of the file.
    fn data<'r>(&self, raw: &'r [u8]) -> &'r [u8] {
        self.by_length(raw).unwrap_or(&raw[self.data.min(raw.len())..])
    }

    /// Its data by `Length`, if `endstream` follows.
    fn by_length<'r>(&self, raw: &'r [u8]) -> Option<&'r [u8]> {
        let (data, after) = raw.get(self.data..)?.split_at_checked(self.length?)?;
        let after = &after[..after.len().min(64)];
        after.trim_ascii_start().starts_with(b"endstream").then_some(data)
    }

    /// Bytes that hayro searches for the end of the stream, one of `ends`, each time it reads the stream.
    fn searched(&self, raw: &[u8], ends: &[usize]) -> usize {
        if self.by_length(raw).is_some() {
            return 0;
        }
        let end = ends.get(ends.partition_point(|end| *end < self.data)).copied().unwrap_or(raw.len());
        end.saturating_sub(self.data)
    }
}

impl Packed {
    /// The stream that begins here, if one does.
    fn read(lexer: &mut Lexer<'_>) -> Option<Self> {
        let mut packed = Self::default();
        if lexer.next()? != Token::Open || lexer.raw.get(lexer.at - 1) != Some(&b'<') {
            return None;
        }
        let (mut depth, mut key, mut is_key) = (1, Vec::new(), true);
        while depth > 0 {
            let token = lexer.next()?;
            match &token {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                Token::Stream => return None,
                _ => {}
            }
            if depth > MAX_DEPTH {
                return None;
            }
            if depth == 1 && is_key {
                let Token::Name(name) = token else { continue };
                packed.key(&name);
                (key, is_key) = (name, false);
                continue;
            }
            packed.value(&key, &token);
            // A value can be three tokens, a reference; a reference never ends with a name.
            is_key = depth == 1 && (!matches!(token, Token::Integer(_)) || !lexer.reference_follows());
        }
        if lexer.next()? != Token::Stream {
            return None;
        }
        packed.data = lexer.at;
        Some(packed)
    }

    fn key(&mut self, name: &[u8]) {
        match name {
            b"N" => self.count = true,
            b"First" => self.first = true,
            b"W" => self.widths = true,
            _ => {}
        }
    }

    /// Handles a token of the value of `key`, a key of the stream's dictionary.
    fn value(&mut self, key: &[u8], token: &Token) {
        let filters = matches!(key, b"Filter" | b"F");
        let parameters = matches!(key, b"DecodeParms" | b"DP");
        match token {
            Token::Name(name) if filters => self.filters.extend(Filter::named(name)),
            Token::Reference if filters || parameters => self.elsewhere = true,
            // Every number counts as columns, the only parameter that can be large.
            Token::Integer(number) if parameters => self.columns = self.columns.max(*number),
            Token::Integer(number) if key == b"Length" && self.length.is_none() => {
                self.length = usize::try_from(*number).ok();
            }
            Token::Reference if key == b"Length" => self.length = None,
            _ => {}
        }
    }
}
