//! Lexer of PDF objects, as lenient as hayro's.

/// Lexer of PDF objects.
pub(super) struct Lexer<'r> {
    pub(super) raw: &'r [u8],
    /// The next byte.
    pub(super) at: usize,
}

/// A token of a dictionary.
#[derive(Debug, PartialEq)]
pub(super) enum Token {
    Name(Vec<u8>),
    Integer(u64),
    Open,
    Close,
    /// `R`, which makes the numbers before it a reference.
    Reference,
    Stream,
    Other,
}

impl Lexer<'_> {
    /// Whether the last integer begins a reference, `5 0 R`, or continues one.
    pub(super) fn reference_follows(&self) -> bool {
        let mut ahead = Lexer { raw: self.raw, at: self.at };
        match ahead.next() {
            Some(Token::Reference) => true,
            Some(Token::Integer(_)) => ahead.next() == Some(Token::Reference),
            _ => false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        self.skip();
        let byte = *self.raw.get(self.at)?;
        self.at += 1;
        Some(match byte {
            b'/' => Token::Name(self.name()),
            b'<' if self.raw.get(self.at) == Some(&b'<') => {
                self.at += 1;
                Token::Open
            }
            b'>' if self.raw.get(self.at) == Some(&b'>') => {
                self.at += 1;
                Token::Close
            }
            b'[' => Token::Open,
            b']' => Token::Close,
            b'(' => self.string(),
            b'<' => {
                let rest = &self.raw[self.at..];
                self.at += rest.iter().position(|byte| *byte == b'>').map_or(rest.len(), |end| end + 1);
                Token::Other
            }
            _ => self.word(self.at - 1),
        })
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        while let Some(&byte) = self.raw.get(self.at) {
            match byte {
                0 | 9 | 10 | 12 | 13 | 32 => self.at += 1,
                b'%' => {
                    let rest = &self.raw[self.at..];
                    self.at += rest.iter().position(|byte| matches!(byte, 10 | 13)).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Reads a name and resolves its escapes.
    pub(super) fn name(&mut self) -> Vec<u8> {
        let mut name = Vec::new();
        while let Some(&byte) = self.raw.get(self.at).filter(|byte| regular(**byte)) {
            let digit = |at: usize| self.raw.get(at).and_then(|&byte| char::from(byte).to_digit(16));
            let escaped = digit(self.at + 1).zip(digit(self.at + 2)).filter(|_| byte == b'#');
            name.push(escaped.map_or(byte, |(high, low)| (high << 4 | low) as u8));
            self.at += if escaped.is_some() { 3 } else { 1 };
        }
        name
    }

    fn string(&mut self) -> Token {
        let mut depth = 1;
        while let Some(&byte) = self.raw.get(self.at).filter(|_| depth > 0) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
        }
        self.at = self.at.min(self.raw.len());
        Token::Other
    }

    fn word(&mut self, from: usize) -> Token {
        let rest = &self.raw[from..];
        // A lone `)` or `}` has no byte of a word: without a step the lexer would stand still.
        let length = rest.iter().position(|byte| !regular(*byte)).unwrap_or(rest.len()).max(1);
        let word = &rest[..length];
        self.at = from + length;
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        match word {
            b"R" => Token::Reference,
            _ if word.starts_with(b"stream") => {
                let data = &rest[6..];
                let end = if data.starts_with(b"\r\n") { 2 } else { 1 };
                self.at = (from + 6 + end).min(self.raw.len());
                Token::Stream
            }
            _ => number.map_or(Token::Other, Token::Integer),
        }
    }
}

/// Whether a byte can be part of a name or a number.
fn regular(byte: u8) -> bool {
    !matches!(byte, 0 | 9 | 10 | 12 | 13 | 32 | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}
