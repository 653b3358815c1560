//! Bounds on a template's source, checked before it is compiled.
//!
//! The compiler bounds nesting alone. Chains (`a + b + c`, `a | b | c`, `a.b.c`, `not not a`, `elif`) become trees as deep
//! as the chain is long, which are compiled and dropped recursively; and constants are computed while compiling.

use super::budget::{Result, fits};
use minijinja::machinery::{self, Token};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

/// Bytes of a template at most; the longest that are published have a tenth of them.
const MAX_SOURCE: usize = 1 << 20;
/// Bytes of a line, and lines: the compiler counts both in 16 bits.
const MAX_POSITION: usize = u16::MAX as usize;
/// Levels of the syntax tree: statements within each other, and the longest chain of operators of each bracket within
/// brackets. Published templates have about 20.
const MAX_DEPTH: usize = 160;
/// Bytes that products of constants could make.
const MAX_PRODUCTS: usize = 4 << 20;
/// Bytes of a name: instructions that look a name up take time by its length.
const MAX_NAME: usize = 256;
/// Statements that load other templates or parts of them. A model has one template; they would run unchecked.
const REFUSED: [&str; 5] = ["block", "extends", "from", "import", "include"];

/// Checks `source`.
///
/// # Errors
/// It is too long, has too long a line, is too deep, has too long a name, multiplies constants to more than [`MAX_PRODUCTS`] bytes, loads other
/// templates, or its tokens cannot be read.
pub(super) fn check(source: &str) -> Result<()> {
    if source.len() > MAX_SOURCE {
        return Err(refused(&format!("expected at most {MAX_SOURCE} bytes, found {}", source.len())));
    }
    fits(source.lines().map(str::len).max().unwrap_or(0), MAX_POSITION, "bytes in a line")?;
    fits(source.matches('\n').count(), MAX_POSITION, "lines")?;
    let (mut products, mut depth) = (Products::default(), Depth::default());
    for token in machinery::tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token?;
        if let Token::Ident(name) = &token {
            fits(name.len(), MAX_NAME, "bytes in a name")?;
        }
        products.add(&token, span.start_offset as usize, span.end_offset as usize)?;
        depth.add(&token)?;
    }
    Ok(())
}

/// Refuses constants that a product makes large: the compiler computes `'x' * 99999999` itself, before any step. Counted is
/// what an expression could make at most, its own bytes times all of its numbers.
struct Products {
    /// Bytes that all expressions so far could make.
    made: usize,
    /// Where this expression begins.
    start: usize,
    /// The product of its numbers.
    factor: usize,
    multiplies: bool,
}

impl Default for Products {
    fn default() -> Self {
        Self { made: 0, start: 0, factor: 1, multiplies: false }
    }
}

impl Products {
    fn add(&mut self, token: &Token<'_>, start: usize, end: usize) -> Result<()> {
        let mut times = |number: usize| self.factor = self.factor.saturating_mul(number.max(2));
        match token {
            Token::VariableStart | Token::BlockStart => {
                *self = Self { start, made: self.made, ..Self::default() };
            }
            Token::Mul => self.multiplies = true,
            Token::Pow | Token::Int128(_) => times(usize::MAX),
            Token::Int(number) => times(usize::try_from(*number).unwrap_or(usize::MAX)),
            // A number below one divides.
            Token::Float(number) => times(number.max(1.0 / number).ceil() as usize),
            Token::VariableEnd | Token::BlockEnd if self.multiplies => {
                let bytes = end.saturating_sub(self.start);
                self.made = self.made.saturating_add(bytes.saturating_mul(self.factor));
                fits(self.made, MAX_PRODUCTS, "bytes of text by products of constants")?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Bounds the depth of the syntax tree, from above.
#[derive(Default)]
struct Depth {
    /// Open statements, each with the levels that it adds: 1, and 1 for each `elif`.
    statements: Vec<usize>,
    /// Open brackets of the expression, the expression itself first.
    brackets: Vec<Bracket>,
    /// The statement that these tokens belong to, until its end.
    keyword: Option<String>,
    /// Whether they are a statement whose keyword comes next.
    is_first: bool,
    assigns: bool,
    /// The most levels so far.
    reached: usize,
}

/// A bracket, or a whole expression.
#[derive(Default)]
struct Bracket {
    /// Operators since the last comma or colon.
    chain: usize,
    /// The deepest of its parts.
    deepest: usize,
    /// The longest of its chains.
    longest: usize,
}

impl Bracket {
    fn depth(&self) -> usize {
        self.longest.max(self.chain) + self.deepest
    }
}

impl Depth {
    fn add(&mut self, token: &Token<'_>) -> Result<()> {
        if std::mem::take(&mut self.is_first) {
            return self.keyword(token);
        }
        match token {
            Token::VariableStart | Token::BlockStart => {
                self.brackets = vec![Bracket::default()];
                self.is_first = matches!(token, Token::BlockStart);
                (self.keyword, self.assigns) = (None, false);
            }
            Token::VariableEnd | Token::BlockEnd => {
                let inner: usize = self.brackets.iter().map(Bracket::depth).sum();
                self.fits(inner)?;
                self.open();
            }
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                self.operator();
                self.brackets.push(Bracket::default());
                self.fits(self.brackets.iter().map(|bracket| bracket.chain).sum())?;
            }
            Token::ParenClose | Token::BracketClose | Token::BraceClose if self.brackets.len() > 1 => {
                let inner = self.brackets.pop().map_or(0, |bracket| bracket.depth());
                if let Some(outer) = self.brackets.last_mut() {
                    outer.deepest = outer.deepest.max(inner);
                }
            }
            // Items between commas are parsed one after the other: the longest chain counts, not the sum.
            Token::Comma | Token::Colon => {
                if let Some(bracket) = self.brackets.last_mut() {
                    bracket.longest = bracket.longest.max(std::mem::take(&mut bracket.chain));
                }
            }
            Token::Assign if self.brackets.len() == 1 => self.assigns = true,
            Token::Ident(name) if !["and", "else", "if", "in", "is", "not", "or"].contains(name) => {}
            Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => {}
            Token::TemplateData(_) | Token::Assign => {}
            _ => self.operator(),
        }
        Ok(())
    }

    fn operator(&mut self) {
        if let Some(bracket) = self.brackets.last_mut() {
            bracket.chain += 1;
        }
    }

    fn keyword(&mut self, token: &Token<'_>) -> Result<()> {
        let Token::Ident(name) = token else { return Ok(()) };
        if REFUSED.contains(name) {
            return Err(refused(&format!("expected one template, found the statement {name:?}")));
        }
        match *name {
            "elif" => {
                if let Some(levels) = self.statements.last_mut() {
                    *levels += 1;
                }
            }
            name if name.starts_with("end") => drop(self.statements.pop()),
            _ => self.keyword = Some((*name).to_owned()),
        }
        Ok(())
    }

    /// Enters the body of a statement that has one.
    fn open(&mut self) {
        let has_body = match self.keyword.take().as_deref() {
            None | Some("else" | "do" | "break" | "continue") => false,
            Some("set") => !self.assigns,
            Some(_) => true,
        };
        if has_body {
            self.statements.push(1);
        }
    }

    fn fits(&mut self, inner: usize) -> Result<()> {
        let outer: usize = self.statements.iter().sum();
        self.reached = self.reached.max(outer + inner);
        fits(self.reached, MAX_DEPTH, "levels of statements and operators within each other")
    }
}

fn refused(reason: &str) -> Error {
    Error::new(ErrorKind::SyntaxError, reason.to_owned())
}

/// `source` without `{% generation %}`, which marks for training what the assistant said. As blocks that are always true,
/// the tags keep their white-space control and do nothing else.
pub(super) fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        // Not the sign that the tag begins with: `{%}` has no end.
        let Some(length) = rest[start + 2..].find("%}").map(|length| length + 2) else { break };
        let (tag, after) = rest[start..].split_at(length);
        out.push_str(&rest[..start]);
        match tag[2..].trim_matches(['-', '+']).trim() {
            "generation" => out.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => out.push_str(&tag.replace("endgeneration", "endif")),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Depth, MAX_DEPTH, check, without_generation_tags};
    use minijinja::machinery;
    use minijinja::syntax::SyntaxConfig;

    fn accepted(source: &str) -> bool {
        check(source).is_ok()
    }

    fn depth(source: &str) -> Depth {
        let mut depth = Depth::default();
        for token in machinery::tokenize(source, false, SyntaxConfig::default()) {
            depth.add(&token.unwrap().0).unwrap();
        }
        depth
    }

    #[test]
    fn chains_and_brackets_add_up() {
        for chain in [" + a", " | b", ".b", "[0]", " is b"] {
            let source = |times: usize| format!("{{{{ a{} }}}}", chain.repeat(times));
            assert!(accepted(&source(100)), "{chain}");
            assert!(!accepted(&source(161)), "{chain}");
        }
        let within =
            |outer: usize, inner: usize| format!("{{{{ a{}({}b) }}}}", " + a".repeat(outer), "not ".repeat(inner));
        assert!(accepted(&within(100, 50)) && !accepted(&within(100, 61)));
        let beside = format!("{{{{ [{}] }}}}", vec!["a + b + c"; 1000].join(", "));
        assert!(accepted(&beside));
    }

    #[test]
    fn statements_add_up() {
        let elifs = |times: usize| format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}x".repeat(times));
        assert!(accepted(&elifs(150)) && !accepted(&elifs(160)));
        assert!(accepted(&elifs(150).repeat(3)));
        let sets = "{% set a = 1 %}{% set b %}x{% endset %}{% if a %}{% else %}{% endif %}".repeat(500);
        assert!(accepted(&sets));
        assert!(depth(&sets).statements.is_empty());
    }

    #[test]
    fn published_templates_are_far_below_the_bound() {
        for file in std::fs::read_dir(crate::tokenizer::template::PUBLISHED).unwrap() {
            let path = file.unwrap().path();
            let source = without_generation_tags(&std::fs::read_to_string(&path).unwrap());
            let depth = depth(&source);
            assert!(depth.reached * 3 < MAX_DEPTH && depth.statements.is_empty(), "{path:?}: {}", depth.reached);
        }
    }
}
