//! Content streams without their inline images.
//!
//! hayro searches the rest of the stream again at each `EI` of an inline image, which takes quadratic time. So inline images
//! are cut out here, in one pass, before hayro reads the operators.

use super::lexer::Lexer;
use std::borrow::Cow;

/// Bytes after `EI` that must be text for the image to end there, as in pdf.js.
const LOOKED_AT: usize = 15;

/// A content stream in which the operator `EI` alone replaces each inline image.
pub(super) fn without_inline_images(content: &[u8]) -> Cow<'_, [u8]> {
    let mut scanner = Scanner { content, at: 0 };
    let (mut kept, mut copied) = (Vec::new(), 0);
    while let Some((start, token)) = scanner.token() {
        if !matches!(token, Token::Word(word) if is_begin(word)) {
            continue;
        }
        let resume = scanner.at;
        let Some(image) = scanner.image() else {
            scanner.at = resume;
            continue;
        };
        scanner.at = image.end(content);
        kept.extend_from_slice(&content[copied..start]);
        kept.extend_from_slice(b" EI ");
        copied = scanner.at;
    }
    if copied == 0 {
        return Cow::Borrowed(content);
    }
    kept.extend_from_slice(&content[copied..]);
    Cow::Owned(kept)
}

/// Whether an operator is `BI`; hayro resolves escapes in operators too.
fn is_begin(word: &[u8]) -> bool {
    word == b"BI" || (word.contains(&b'#') && Lexer { raw: word, at: 0 }.name() == b"BI")
}

/// The entries of an inline image's dictionary that decide where its data ends (PDF 32000-1, section 8.9.7).
#[derive(Debug, Default)]
struct Image {
    /// First byte of the data.
    data: usize,
    width: Option<usize>,
    height: Option<usize>,
    bits: Option<usize>,
    /// Components of a pixel.
    components: Option<usize>,
    mask: bool,
    filtered: bool,
    /// `Length` of PDF 2.0.
    length: Option<usize>,
}

impl Image {
    /// The byte after the image's `EI`; the end of the content if there is none.
    fn end(&self, content: &[u8]) -> usize {
        let known = self.length.or_else(|| self.unfiltered_length());
        if let Some(end) = known.and_then(|length| end_at(content, self.data.checked_add(length)?)) {
            return end;
        }
        let mut at = self.data;
        while let Some(found) = content[at..].windows(2).position(|pair| pair == b"EI") {
            let end = at + found + 2;
            let before = content[..end - 2].last().is_none_or(|byte| white(*byte)) || at + found == self.data;
            let after = &content[end..content.len().min(end + LOOKED_AT)];
            if before && after.first().is_none_or(|byte| white(*byte)) && after.iter().all(|byte| textual(*byte)) {
                return end;
            }
            at = end;
        }
        content.len()
    }

    fn unfiltered_length(&self) -> Option<usize> {
        if self.filtered {
            return None;
        }
        let bits = if self.mask { 1 } else { self.bits?.checked_mul(self.components?)? };
        let row = self.width?.checked_mul(bits)?.div_ceil(8);
        row.checked_mul(self.height?)
    }

    fn entry(&mut self, key: &[u8], value: &Token<'_>) {
        let number = || if let Token::Word(word) = value { std::str::from_utf8(word).ok()?.parse().ok() } else { None };
        match key {
            b"W" | b"Width" => self.width = number(),
            b"H" | b"Height" => self.height = number(),
            b"BPC" | b"BitsPerComponent" => self.bits = number(),
            b"L" | b"Length" => self.length = number(),
            b"IM" | b"ImageMask" => self.mask = *value == Token::Word(b"true"),
            b"F" | b"Filter" => self.filtered = true,
            b"CS" | b"ColorSpace" => {
                self.components = match value {
                    Token::Name(b"G" | b"DeviceGray" | b"CalGray") => Some(1),
                    Token::Name(b"RGB" | b"DeviceRGB" | b"CalRGB") => Some(3),
                    Token::Name(b"CMYK" | b"DeviceCMYK") => Some(4),
                    Token::Open => Some(1),
                    _ => None,
                };
            }
            _ => {}
        }
    }
}

/// The byte after the `EI` that follows `at`, if one does.
fn end_at(content: &[u8], at: usize) -> Option<usize> {
    let rest = content.get(at..)?;
    let space = rest.iter().take(4).take_while(|byte| white(**byte)).count();
    let after = rest[space..].strip_prefix(b"EI")?;
    after.first().is_none_or(|byte| !regular(*byte)).then_some(at + space + 2)
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    /// An operator, a number or a keyword.
    Word(&'a [u8]),
    Name(&'a [u8]),
    /// `[` or `<<`.
    Open,
    /// `]` or `>>`.
    Close,
    String,
}

struct Scanner<'a> {
    content: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// The next token and its first byte.
    fn token(&mut self) -> Option<(usize, Token<'a>)> {
        self.skip_space();
        let start = self.at;
        let byte = *self.content.get(start)?;
        self.at += 1;
        let token = match byte {
            b'/' => Token::Name(self.regular(start + 1)),
            b'(' => self.string(),
            b'<' if self.content.get(self.at) == Some(&b'<') => {
                self.at += 1;
                Token::Open
            }
            b'<' => {
                let rest = &self.content[self.at..];
                self.at += rest.iter().position(|byte| *byte == b'>').map_or(rest.len(), |end| end + 1);
                Token::String
            }
            b'[' => Token::Open,
            b']' => Token::Close,
            b'>' => {
                self.at += usize::from(self.content.get(self.at) == Some(&b'>'));
                Token::Close
            }
            byte if regular(byte) => Token::Word(self.regular(start)),
            _ => Token::Word(&self.content[start..self.at]),
        };
        Some((start, token))
    }

    /// The regular characters from `start` on.
    fn regular(&mut self, start: usize) -> &'a [u8] {
        let rest = &self.content[start..];
        let length = rest.iter().position(|byte| !regular(*byte)).unwrap_or(rest.len());
        self.at = start + length;
        &rest[..length]
    }

    fn string(&mut self) -> Token<'a> {
        let mut depth = 1;
        while depth > 0
            && let Some(&byte) = self.content.get(self.at)
        {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
        }
        self.at = self.at.min(self.content.len());
        Token::String
    }

    fn skip_space(&mut self) {
        while let Some(&byte) = self.content.get(self.at) {
            match byte {
                byte if white(byte) => self.at += 1,
                b'%' => {
                    let rest = &self.content[self.at..];
                    self.at += rest.iter().position(|byte| matches!(byte, 10 | 13)).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// The image whose dictionary begins here; `None` if no `ID` ends one.
    fn image(&mut self) -> Option<Image> {
        let mut image = Image::default();
        loop {
            match self.token()?.1 {
                Token::Word(b"ID") => break,
                Token::Name(key) => {
                    let value = self.token()?.1;
                    if value == Token::Open {
                        self.skip_nested()?;
                    }
                    image.entry(key, &value);
                }
                _ => return None,
            }
        }
        // One white-space character follows `ID`.
        image.data = (self.at + 1).min(self.content.len());
        Some(image)
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.token()?.1 {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                Token::Word(b"BI" | b"ID") => return None,
                _ => {}
            }
        }
        Some(())
    }
}

fn white(byte: u8) -> bool {
    matches!(byte, 0 | 9 | 10 | 12 | 13 | 32)
}

fn textual(byte: u8) -> bool {
    matches!(byte, 9 | 10 | 12 | 13 | 32..=126)
}

/// Whether a byte is part of a name, a number or an operator.
fn regular(byte: u8) -> bool {
    !white(byte) && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

#[cfg(test)]
mod tests {
    use super::without_inline_images;
    use std::time::{Duration, Instant};

    fn kept(content: &[u8]) -> String {
        let kept = without_inline_images(content);
        String::from_utf8_lossy(&kept).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn images_are_cut_out_and_text_is_kept() {
        let cases: [(&[u8], &str); 9] = [
            (b"q BT (BI ID x EI) Tj ET Q", "q BT (BI ID x EI) Tj ET Q"),
            (b"q BI /W 2 /H 2 /BPC 8 /CS /G ID \xffEI\x00 EI Q (a) Tj", "q EI Q (a) Tj"),
            (b"BI /W 4 /H 1 /BPC 8 /CS /G /F /Fl ID a EI\xff EI Q (a) Tj", "EI Q (a) Tj"),
            (b"BI /F [/A85 /Fl] /DP [null << /K -1 >>] ID 8;Z]~>\nEI\n(b) Tj", "EI (b) Tj"),
            (b"BI /IM true /W 9 /H 1 ID \x01\x02 EI BI ID x EI (c) Tj", "EI EI (c) Tj"),
            (b"BI /W 1 /L 5 ID  EI  EI (d) Tj", "EI (d) Tj"),
            (b"BI (no dictionary) Tj % BI ID\n(e) Tj", "BI (no dictionary) Tj % BI ID (e) Tj"),
            (b"(f) Tj BI /W 1 ID never ends", "(f) Tj EI"),
            (b"B#49 ID x EI (g) Tj", "EI (g) Tj"),
        ];
        for (content, expected) in cases {
            assert_eq!(kept(content), expected, "{}", String::from_utf8_lossy(content));
        }
    }

    #[test]
    fn ends_of_images_take_linear_time() {
        let started = Instant::now();
        for unit in ["EI ", "BI ", "BI ID x EI ", "BI /W 1 ", "EI\u{ff} ", "BI /F [[ ", "BI /F ( "] {
            let content = format!("BI ID x {}", unit.repeat(1 << 20)).into_bytes();
            without_inline_images(&content);
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}
