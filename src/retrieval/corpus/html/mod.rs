//! HTML as text: what a reader sees, each piece with the markup it was made of.
//!
//! The tokenizer is the standard's (html5gum); no tree is built, because nothing here depends on one: blocks part
//! paragraphs, scripts, styles, menus, pictures and hidden elements are left out, everything else is text. Time is linear
//! in the file's bytes.

mod open;
mod style;

use super::document::{Fields, Position, TextRun};
use super::flow::{Gap, MAX_TITLE};
use html5gum::{DefaultEmitter, HtmlString, Spanned, StartTag, StringReader, Token, Tokenizer};
use open::{MAX_OPEN, Open, TooDeep};
use style::Style;

/// Elements that stand on lines of their own.
#[rustfmt::skip]
const BLOCKS: &[&str] = &[
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header",
    "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "option", "p", "pre", "section", "summary", "table",
    "tbody", "tfoot", "thead", "title", "tr", "ul",
];

/// Visible elements that are not part of the document's text. The content of one that is never closed is kept as text,
/// because leaving it out would remove the rest of the document.
const LEFT_OUT: &[&str] = &["nav", "noscript", "select", "svg"];

/// Elements whose content is never rendered, closed or not.
const UNSEEN: &[&str] =
    &["audio", "canvas", "datalist", "iframe", "noembed", "noframes", "script", "style", "template", "video"];

/// The metadata, the text and the positions of the text in `markup`.
///
/// # Errors
/// The pair (expected, found) for a message if more than [`MAX_OPEN`] elements are open at once.
pub(super) fn read(markup: String) -> Result<(Fields, String, Position), (String, String)> {
    let mut reading = Reading::new(&markup);
    for Ok(token) in tokens(&markup) {
        reading.token(token).map_err(|TooDeep| {
            let line = markup[..reading.at].bytes().filter(|&b| b == b'\n').count() + 1;
            (format!("at most {MAX_OPEN} open elements"), format!("more, at line {line}"))
        })?;
    }
    let Reading { mut fields, text, runs, title, .. } = reading;
    fields.title = Some(title).filter(|title| !title.is_empty()).or(fields.title);
    Ok((fields, text, Position::Markup { markup, runs }))
}

fn tokens(markup: &str) -> Tokenizer<StringReader<'_>, DefaultEmitter<usize>> {
    let mut emitter = DefaultEmitter::new_with_span();
    // Otherwise the tokenizer reads the content of scripts as markup.
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(markup, emitter)
}

struct Reading<'a> {
    markup: &'a str,
    fields: Fields,
    text: String,
    runs: Vec<TextRun>,
    title: String,
    /// White space since the last text.
    gap: Gap,
    in_title: bool,
    open: Open,
    /// The name of the element being left out, and its nesting depth.
    out: Option<(&'static str, usize)>,
    /// First byte of the last end tag of each element of [`LEFT_OUT`], filled when first needed.
    last_ends: [Option<Option<usize>>; LEFT_OUT.len()],
    /// The byte after the last tag.
    at: usize,
}

impl<'a> Reading<'a> {
    fn new(markup: &'a str) -> Self {
        Self {
            markup,
            fields: Fields::default(),
            text: String::new(),
            runs: Vec::new(),
            title: String::new(),
            gap: Gap::None,
            in_title: false,
            open: Open::default(),
            out: None,
            last_ends: [None; LEFT_OUT.len()],
            at: 0,
        }
    }

    fn token(&mut self, token: Token<usize>) -> Result<(), TooDeep> {
        match token {
            Token::StartTag(tag) => return self.start(&tag),
            Token::EndTag(tag) => self.end(&lossy(&tag.name)),
            Token::String(text) if self.in_title => self.title_text(&text),
            Token::String(text) if self.out.is_none() && !self.open.sight().hides() => self.characters(&text),
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: &StartTag<usize>) -> Result<(), TooDeep> {
        let name = lossy(&tag.name);
        self.at = tag.span.end.min(self.markup.len());
        // HTML ignores the `/` of a self-closing tag, except on SVG and MathML elements.
        let empty = tag.self_closing && matches!(name.as_str(), "svg" | "math");
        if let Some((out, depth)) = &mut self.out {
            *depth += usize::from(*out == name && !empty);
            return Ok(());
        }
        if let Some(out) = UNSEEN.iter().find(|out| **out == name) {
            self.out = Some((out, 1));
            return Ok(());
        }
        if let Some(index) = LEFT_OUT.iter().position(|out| *out == name && !empty)
            && self.closes(index, tag.span.end)
        {
            self.out = Some((LEFT_OUT[index], 1));
            return Ok(());
        }
        self.open.start(&name, visibility(tag, &name), empty)?;
        match name.as_str() {
            "title" => self.in_title = self.title.is_empty(),
            "meta" => self.meta(tag),
            "link" if attribute(tag, "rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical")) => {
                self.fields.url = attribute(tag, "href").or(self.fields.url.take());
            }
            "br" => self.widen_gap(Gap::Line),
            "td" | "th" | "img" | "input" | "wbr" => self.widen_gap(Gap::Space),
            _ => {}
        }
        if BLOCKS.contains(&name.as_str()) {
            self.widen_gap(Gap::Paragraph);
        }
        Ok(())
    }

    fn end(&mut self, name: &str) {
        if let Some((out, depth)) = &mut self.out {
            *depth -= usize::from(*out == name);
            if *depth == 0 {
                self.out = None;
            }
            return;
        }
        self.in_title &= name != "title";
        self.open.end(name);
        if BLOCKS.contains(&name) {
            self.widen_gap(Gap::Paragraph);
        }
    }

    /// Whether the element `index` of [`LEFT_OUT`] has an end tag after byte `from`.
    fn closes(&mut self, index: usize, from: usize) -> bool {
        let last = *self.last_ends[index].get_or_insert_with(|| last_end(self.markup, LEFT_OUT[index]));
        last.is_some_and(|last| last >= from)
    }

    /// Reads metadata of the head: Open Graph, Dublin Core and plain names.
    fn meta(&mut self, tag: &StartTag<usize>) {
        let name = ["property", "name", "itemprop"].iter().find_map(|key| attribute(tag, key));
        let Some((name, content)) = name.zip(attribute(tag, "content")) else { return };
        let fields = &mut self.fields;
        let field = match name.to_ascii_lowercase().as_str() {
            "og:title" => &mut fields.title,
            "og:site_name" => &mut fields.source,
            "og:url" => &mut fields.url,
            "article:published_time" | "datepublished" | "date" | "dc.date" | "dcterms.date" => &mut fields.date,
            _ => return,
        };
        field.get_or_insert(content);
    }

    fn title_text(&mut self, text: &HtmlString) {
        for word in lossy(text).split_whitespace() {
            if self.title.len() + word.len() >= MAX_TITLE {
                return;
            }
            if !self.title.is_empty() {
                self.title.push(' ');
            }
            self.title.push_str(word);
        }
    }

    fn characters(&mut self, text: &Spanned<HtmlString>) {
        let (from, to) = (text.span.start, text.span.end);
        let value = lossy(text);
        // A span that does not fit the text would be the tokenizer's mistake; the whole text is then one run.
        let source = self.markup.get(from..to).unwrap_or_default();
        let rest = self.align(&value, source, from);
        if !rest.is_empty() {
            let end = to.clamp(from, self.markup.len().max(from));
            self.push(rest, from, end, false);
        }
    }

    /// Splits `value` into runs that equal the markup `source`, which begins at byte `from`, and decoded character
    /// references. Returns the rest of `value` that does not match.
    fn align<'v>(&mut self, value: &'v str, source: &str, from: usize) -> &'v str {
        let (mut value, mut at) = (value, 0);
        while at < source.len() {
            let rest = &source[at..];
            let run = rest.find(['&', '\r']).unwrap_or(rest.len());
            let (length, decoded) = match rest.as_bytes()[run.min(rest.len() - 1)] {
                _ if run > 0 => (run, None),
                b'\r' => (1 + usize::from(rest[1..].starts_with('\n')), Some("\n".to_owned())),
                _ => {
                    let reference = reference(rest);
                    (reference.len(), Some(decode(reference)))
                }
            };
            let made = decoded.as_deref().unwrap_or(&rest[..length]);
            let Some(left) = value.strip_prefix(made) else { return value };
            self.push(made, from + at, from + at + length, made == &rest[..length]);
            (value, at) = (left, at + length);
        }
        value
    }

    /// Adds `text` with white space collapsed; it came from bytes `from..to` of the markup.
    fn push(&mut self, text: &str, from: usize, to: usize, same: bool) {
        let mut at = 0;
        for word in text.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            if !bare.is_empty() {
                self.fill();
                let (from, to) = if same { (from + at, from + at + bare.len()) } else { (from, to) };
                self.runs.push(TextRun { text: self.text.len(), from, to, same });
                self.text.push_str(bare);
            }
            if bare.len() < word.len() {
                self.widen_gap(Gap::Space);
            }
            at += word.len();
        }
    }

    /// Records white space; the widest since the last text is kept.
    fn widen_gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Writes the recorded white space.
    fn fill(&mut self) {
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        if !self.text.is_empty() {
            self.text.push_str(gap.text());
        }
    }
}

/// The longest prefix of `text` that can be a character reference.
fn reference(text: &str) -> &str {
    let name = text[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '#').map_or(text.len(), |at| 1 + at);
    &text[..name + usize::from(text[name..].starts_with(';'))]
}

/// Decodes a character reference.
fn decode(reference: &str) -> String {
    let mut text = String::new();
    for Ok(token) in tokens(reference) {
        if let Token::String(text_part) = token {
            text.push_str(&lossy(&text_part));
        }
    }
    text
}

/// First byte of the last end tag of `name`.
fn last_end(markup: &str, name: &str) -> Option<usize> {
    let tag = format!("</{name}");
    markup.as_bytes().windows(tag.len()).rposition(|window| window.eq_ignore_ascii_case(tag.as_bytes()))
}

/// The visibility that the attributes of a tag set.
fn visibility(tag: &StartTag<usize>, name: &str) -> Style {
    let mut style = attribute(tag, "style").map_or(Style::default(), |text| Style::read(&text));
    let has = |name: &str| tag.attributes.contains_key(name.as_bytes());
    let aria_hidden = attribute(tag, "aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    style.gone |= aria_hidden || has("hidden") || (name == "dialog" && !has("open"));
    style
}

fn attribute(tag: &StartTag<usize>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    let value = lossy(value).trim().to_owned();
    (!value.is_empty()).then_some(value)
}

fn lossy(bytes: &HtmlString) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
