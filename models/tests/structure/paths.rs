//! The paths that a source file names.

/// A path in a file.
pub(super) struct Use {
    pub(super) line: usize,
    /// The module that it stands in: the file's, or an inline one.
    pub(super) module: Vec<String>,
    pub(super) path: Vec<String>,
    /// The name that a `use` item gives it here; `*` for all names.
    pub(super) alias: Option<String>,
    /// Whether it is a `pub use`.
    pub(super) public: bool,
}

/// A word, `::`, or a single character.
#[derive(Debug)]
pub(in super::super) struct Token {
    pub(in super::super) text: String,
    pub(in super::super) line: usize,
}

impl Token {
    pub(in super::super) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The tokens of a source text without comments, texts and characters.
pub(in super::super) fn tokens(source: &str) -> Vec<Token> {
    let (mut out, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = text_length(rest) {
            length
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            out.push(Token { text: rest[..length].to_owned(), line });
            length
        } else {
            let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            if !first.is_whitespace() {
                out.push(Token { text: rest[..length].to_owned(), line });
            }
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    out
}

/// The length of the text or character that `rest` begins with.
fn text_length(rest: &str) -> Option<usize> {
    let plain = ["\"", "b\"", "c\""].into_iter().find(|start| rest.starts_with(start));
    if let Some(start) = plain {
        return Some(closed(rest, start.len(), '"'));
    }
    let raw = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r');
    if let Some(raw) = raw.filter(|raw| raw.trim_start_matches('#').starts_with('"')) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let begin = rest.len() - raw.len() + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len()));
    }
    let quoted = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('\'')?;
    let start = rest.len() - quoted.len();
    let mut letters = quoted.chars();
    let (first, second) = (letters.next()?, letters.next());
    // Otherwise it is a lifetime.
    (first == '\\' || second == Some('\'')).then(|| closed(rest, start, '\''))
}

/// Where the text that begins at `start` is closed by `mark`, that included.
fn closed(text: &str, start: usize, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in text[start..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return start + at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// All paths of a file with these tokens, whose module path is `module`.
pub(super) fn paths(tokens: &[Token], module: &[String]) -> Vec<Use> {
    Reader { tokens, at: 0, module: module.to_vec(), uses: Vec::new() }.read()
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    module: Vec<String>,
    uses: Vec<Use>,
}

impl Reader<'_> {
    fn read(mut self) -> Vec<Use> {
        // Inline modules, by the depth of braces that they end at.
        let (mut depth, mut inline) = (0_usize, Vec::new());
        while let Some(text) = self.text(0) {
            match text {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    if inline.last() == Some(&depth) {
                        inline.pop();
                        self.module.pop();
                    }
                }
                "mod" if self.text(2) == Some("{") && self.is_test() => {
                    self.skip_braces();
                    continue;
                }
                "mod" if self.text(2) == Some("{") => {
                    self.module.push(self.tokens[self.at + 1].text.clone());
                    inline.push(depth);
                    depth += 1;
                    self.at += 2;
                }
                "use" => self.item(),
                _ if self.begins_path() => {
                    let (line, path) = (self.tokens[self.at].line, self.path());
                    self.push(line, path, None, false);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.uses
    }

    fn begins_path(&self) -> bool {
        let goes_on = self.at > 0 && self.tokens[self.at - 1].text == "::";
        !goes_on && self.text(1) == Some("::") && self.tokens[self.at].is_word()
    }

    fn text(&self, ahead: usize) -> Option<&str> {
        self.tokens.get(self.at + ahead).map(|token| token.text.as_str())
    }

    fn push(&mut self, line: usize, path: Vec<String>, alias: Option<String>, public: bool) {
        self.uses.push(Use { line, module: self.module.clone(), path, alias, public });
    }

    /// Whether an attribute shortly before this token is `#[cfg(test)]`.
    fn is_test(&self) -> bool {
        let before: String = self.tokens[self.at.saturating_sub(32)..self.at].iter().map(|t| t.text.as_str()).collect();
        let attribute = before.rfind("#[cfg(").map(|at| &before[at..]);
        attribute.is_some_and(|text| text.contains("test") && !text.contains([';', '{', '}']))
    }

    fn skip_braces(&mut self) {
        let mut depth = 0_usize;
        while let Some(text) = self.text(0) {
            match text {
                "{" => depth += 1,
                "}" if depth == 1 => break,
                "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
    }

    /// The words that `::` joins, from here on; stays at the first token after them.
    fn path(&mut self) -> Vec<String> {
        let mut path = Vec::new();
        while self.tokens.get(self.at).is_some_and(Token::is_word) {
            path.push(self.tokens[self.at].text.clone());
            self.at += 1;
            if self.text(0) != Some("::") {
                break;
            }
            self.at += 1;
        }
        path
    }

    /// A `use` item, which begins here; stays at its semicolon.
    fn item(&mut self) {
        let public = self.at > 0 && ["pub", ")"].contains(&self.tokens[self.at - 1].text.as_str());
        self.at += 1;
        self.tree(&[], public);
    }

    fn tree(&mut self, prefix: &[String], public: bool) {
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut path = [prefix, &self.path()].concat();
        match self.text(0) {
            Some("{") => {
                self.at += 1;
                while self.text(0).is_some_and(|text| text != "}") {
                    self.tree(&path, public);
                    if self.text(0) == Some(",") {
                        self.at += 1;
                    }
                }
                self.at += 1;
            }
            Some("*") => {
                self.at += 1;
                self.push(line, path, Some("*".to_owned()), public);
            }
            _ => {
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let mut alias = path.last().cloned();
                if self.text(0) == Some("as") {
                    alias = self.text(1).map(str::to_owned);
                    self.at += 2;
                }
                self.push(line, path, alias, public);
            }
        }
    }
}
