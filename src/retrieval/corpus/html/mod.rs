//! HTML as text: what a reader sees, each piece with the markup it was made of.
//!
//! The tokenizer is the standard's; no tree is built: blocks part paragraphs, scripts, styles, pictures, hidden and deleted
//! elements are left out, everything else is text. Of a page, blocks that are not its content (menus, footers, notices) are
//! then left out ([`content`]). Time is linear in the file's bytes, and memory is bounded by a multiple of them.

mod cascade;
mod cells;
mod content;
mod elements;
mod length;
mod open;
mod place;
mod raised;
mod references;
mod region;
mod sheet;
mod style;
mod text;
mod tokens;
mod writing;

use super::document::{Fields, Position};
use super::flow::Gap;
use super::marks::{Marks, Tables};
use elements::{BLOCKS, DELETED, LEFT_OUT, OPTIONAL, UNSEEN};
use open::{MAX_OPEN, Open, TooDeep};
use raised::{Child, Math, Raised};
use sheet::Sheet;
use style::{Declared, Style};
use text::Text;
use tokens::{MAX_ATTRIBUTES, Tag, Token, tokens};

/// The result of reading markup.
pub(super) struct Page {
    pub(super) fields: Fields,
    pub(super) text: String,
    pub(super) position: Position,
    pub(super) marks: Marks,
}

/// A page; or the pair (expected, found) of a message.
type Outcome = Result<Page, (String, String)>;

/// The metadata, the text without menus, and the positions of the text in `markup`, which is all content: a chapter, a message.
///
/// # Errors
/// More than [`MAX_OPEN`] elements are open at once.
pub(super) fn read(markup: String) -> Outcome {
    let (fields, mut text) = assemble(&markup)?;
    let kept = content::without_navigation(&text.blocks);
    text.keep(&kept);
    Ok(finished(fields, text, markup))
}

/// As [`read`], of a page of the web: its content, without menus, footers and notices.
///
/// # Errors
/// As [`read`].
pub(super) fn page(markup: String) -> Outcome {
    let (fields, mut text) = assemble(&markup)?;
    let kept = content::kept(&text.blocks, &text.text);
    text.keep(&kept);
    Ok(finished(fields, text, markup))
}

fn finished(fields: Fields, text: Text, markup: String) -> Page {
    let Text { text, runs, marks, .. } = text;
    Page { fields, text, position: Position::Markup { markup, runs }, marks }
}

/// The metadata and the text of `markup`; without its own style sheets where these hide all of it until a script runs.
fn assemble(markup: &str) -> Result<(Fields, Text), (String, String)> {
    let (fields, text) = assemble_with(markup, Sheet::default())?;
    if !text.text.trim().is_empty() {
        return Ok((fields, text));
    }
    assemble_with(markup, Sheet::ignored())
}

fn assemble_with(markup: &str, sheet: Sheet) -> Result<(Fields, Text), (String, String)> {
    let mut reading = Reading { sheet, ..Reading::new(markup) };
    for token in tokens(markup) {
        let found = |at: usize| format!("more, at line {}", markup[..at].bytes().filter(|&b| b == b'\n').count() + 1);
        let token = token.map_err(|_| (format!("at most {MAX_ATTRIBUTES} attributes in a tag"), found(reading.at)))?;
        reading.token(token).map_err(|TooDeep| (format!("at most {MAX_OPEN} open elements"), found(reading.at)))?;
    }
    reading.settle(None);
    let Reading { mut fields, mut text, title, .. } = reading;
    text.end_tables();
    fields.title = Some(title).filter(|title| !title.trim().is_empty()).or(fields.title);
    Ok((fields, text))
}

struct Reading<'a> {
    markup: &'a str,
    fields: Fields,
    text: Text,
    title: String,
    in_title: bool,
    /// Within a link, whether its target is on the same page.
    link: Option<bool>,
    in_button: bool,
    /// Within the head of a table.
    in_head: bool,
    /// Within the reading of a ruby, which is written in parentheses.
    in_ruby_text: bool,
    raised: Option<Raised>,
    math: Math,
    open: Open,
    sheet: Sheet,
    /// The name of the element being left out, and its nesting depth.
    out: Option<(&'static str, usize)>,
    /// First byte of the last end tag of each element of [`OPTIONAL`], filled when first needed.
    last_ends: [Option<Option<usize>>; OPTIONAL.len()],
    /// The byte after the last tag.
    at: usize,
}

impl<'a> Reading<'a> {
    fn new(markup: &'a str) -> Self {
        Self {
            markup,
            fields: Fields::default(),
            text: Text::default(),
            title: String::new(),
            in_title: false,
            link: None,
            in_button: false,
            in_head: false,
            in_ruby_text: false,
            raised: None,
            math: Math::default(),
            open: Open::default(),
            sheet: Sheet::default(),
            out: None,
            last_ends: [None; OPTIONAL.len()],
            at: 0,
        }
    }

    fn token(&mut self, token: Token) -> Result<(), TooDeep> {
        match token {
            Token::Start(tag) => return self.start(&tag),
            Token::End { name } => self.end(&name),
            Token::Text { text, .. } if self.in_title => self.title.push_str(&text),
            Token::Text { text, .. } if self.out.is_some_and(|(out, _)| out == "style") => self.sheet.read(&text),
            Token::Text { text, from, to } if self.out.is_none() && !self.open.sight().hides() => {
                self.characters(&text, from, to);
            }
            Token::Text { .. } => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: &Tag) -> Result<(), TooDeep> {
        let name = tag.name.as_str();
        self.at = tag.to.min(self.markup.len());
        // HTML ignores the `/` of a self-closing tag, except on SVG and MathML elements.
        let empty = tag.self_closing && (matches!(name, "svg" | "math") || self.math.is_open());
        if let Some((out, depth)) = &mut self.out {
            *depth += usize::from(*out == name && !empty);
            return Ok(());
        }
        if let Some(out) = UNSEEN.iter().find(|out| **out == name) {
            self.sheet.begin(tag.value("media"));
            self.out = Some((out, 1));
            return Ok(());
        }
        if let Some(out) = LEFT_OUT.iter().find(|out| **out == name && !empty)
            && self.closes(name)
        {
            self.out = Some((out, 1));
            return Ok(());
        }
        self.open.implied_ends(name);
        let (style, own) = self.visibility(tag);
        let closed = OPTIONAL.contains(&name) && self.closes(name) || !OPTIONAL.contains(&name);
        self.open.start(name, style, own, empty, |around| if closed { around.within(tag) } else { around })?;
        self.end_cells(name);
        if BLOCKS.contains(&name) {
            self.break_off(Gap::Paragraph);
        }
        self.special(tag);
        if !empty {
            self.levels(tag, style);
            self.start_root(name);
        }
        Ok(())
    }

    /// Elements that mean something of their own.
    fn special(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "title" => self.in_title = self.title.trim().is_empty(),
            "meta" => self.meta(tag),
            "link" if tag.says("rel", &["canonical"]) => {
                self.fields.url = tag.value("href").map(str::to_owned).or(self.fields.url.take());
            }
            "a" => self.link = tag.has("href").then(|| raised::is_same_page(tag)),
            "button" => self.in_button = true,
            "br" => self.break_off(Gap::Line),
            "table" => {
                self.text.tables(Tables::start);
                self.text.spans(|spans, _| spans.start_table());
            }
            "li" | "dd" => self.text.tables(Tables::item),
            "thead" => self.in_head = true,
            "tbody" | "tfoot" => self.in_head = false,
            "tr" => {
                self.text.tables(Tables::row);
                self.text.spans(|spans, _| spans.start_row());
            }
            name @ ("td" | "th") => {
                self.break_off(Gap::Space);
                let names = name == "th" || self.in_head;
                self.text.tables(|tables, _| tables.cell(names));
                self.start_cell(tag);
            }
            "img" | "input" => self.break_off(Gap::Space),
            "rt" => {
                self.end_ruby_text();
                self.insert("(");
                self.in_ruby_text = true;
            }
            "rp" | "rb" | "rtc" => self.end_ruby_text(),
            _ => {}
        }
    }

    /// A root of MathML, whose radicand is written in parentheses.
    fn start_root(&mut self, name: &str) {
        match name {
            "msqrt" if self.math.is_open() => self.insert("\u{221a}("),
            "mroot" if self.math.is_open() => self.insert("("),
            // "4 1/2", and not "41/2".
            "mfrac" if self.math.is_open() && self.text.text.ends_with(|c: char| c.is_ascii_digit()) => {
                self.settle(None);
                self.text.widen(Gap::Space);
            }
            _ => {}
        }
    }

    /// Elements that raise or lower their text.
    fn levels(&mut self, tag: &Tag, style: Style) {
        let child = self.math.start(&tag.name);
        if let Some(run) = self.raised.as_mut().filter(|run| run.is_open()) {
            return run.start(tag);
        }
        let begun = match child {
            Child::Script(level) => Some(Raised::script(level)),
            Child::Degree => {
                self.settle(None);
                self.insert(")");
                Some(Raised::degree())
            }
            Child::Denominator => {
                self.settle(None);
                self.text.close_up();
                self.insert("/");
                self.text.close_up();
                None
            }
            Child::Plain => Raised::begin(tag, style, self.link == Some(true)),
        };
        if begun.is_some() {
            self.settle(None);
            self.raised = begun;
        }
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
        self.end_cells(name);
        if name == "msqrt" && self.math.is_open() {
            self.insert(")");
        }
        self.open.end(name);
        if let Some(run) = &mut self.raised {
            run.end(name);
            if self.math.end(name) {
                run.finish();
            }
        } else {
            self.math.end(name);
        }
        match name {
            "a" => self.link = None,
            "button" => self.in_button = false,
            "rt" | "ruby" => self.end_ruby_text(),
            "thead" => self.in_head = false,
            "table" => {
                self.end_row();
                self.in_head = false;
                self.text.tables(Tables::end);
                self.text.spans(|spans, _| spans.end_table());
            }
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.break_off(Gap::Paragraph);
        }
    }

    /// Whether an element has an end tag behind the current position. One of [`OPTIONAL`] that has none is not left out, because
    /// that would remove the rest of the document.
    fn closes(&mut self, name: &str) -> bool {
        let Some(index) = OPTIONAL.iter().position(|known| *known == name) else { return true };
        let last = *self.last_ends[index].get_or_insert_with(|| last_end(self.markup, name));
        last.is_some_and(|last| last >= self.at)
    }

    /// The visibility that the attributes of a tag and the page's style sheets set; and its marks.
    fn visibility(&mut self, tag: &Tag) -> (Style, u64) {
        let own = tag.value("style").and_then(Declared::read).unwrap_or_default();
        let (mut declared, own_marks) = self.sheet.of(tag, self.open.marks());
        declared.take(&own);
        let mut style = declared.style();
        let closed = tag.has("hidden") || tag.has("popover") || (tag.name == "dialog" && !tag.has("open"));
        let deleted = DELETED.contains(&tag.name.as_str()) && self.closes(&tag.name);
        // KaTeX writes a formula twice, as MathML and as what is shown.
        let doubled = tag.says("class", &["katex-html"]);
        // Sheets that give `display` to classes have a rule that keeps `hidden` too, mostly by a selector that is not applied.
        let is_shown = own.style().undisplayed.is_some() && style.undisplayed == Some(false);
        let undisplayed = style.undisplayed == Some(true) || (closed && !is_shown);
        style.gone |= undisplayed || deleted || doubled || tag.name == "rp";
        (style, own_marks)
    }

    /// Reads metadata of the head: Open Graph, Dublin Core and plain names.
    fn meta(&mut self, tag: &Tag) {
        let name = ["property", "name", "itemprop"].iter().find_map(|key| tag.value(key));
        let Some((name, content)) = name.zip(tag.value("content")) else { return };
        let fields = &mut self.fields;
        let field = match name.to_ascii_lowercase().as_str() {
            "og:title" => &mut fields.title,
            "og:site_name" => &mut fields.source,
            "og:url" => &mut fields.url,
            "article:published_time" | "datepublished" | "date" | "dc.date" | "dcterms.date" => &mut fields.date,
            _ => return,
        };
        field.get_or_insert_with(|| content.to_owned());
    }
}

/// First byte of the last end tag of `name`.
fn last_end(markup: &str, name: &str) -> Option<usize> {
    let (bytes, length) = (markup.as_bytes(), name.len());
    let is_end = |at: &usize| {
        let rest = &bytes[*at..];
        rest.starts_with(b"</")
            && rest.get(2..2 + length).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
            && !rest.get(2 + length).is_some_and(u8::is_ascii_alphanumeric)
    };
    (0..bytes.len()).rev().find(is_end)
}
