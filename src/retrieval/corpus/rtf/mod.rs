//! Rich Text Format (version 1.9.1): the letters of the document's body, its notes, and its title.
//!
//! Left out is what a reader does not see: hidden text (`\v`, styles are not followed), deleted and struck text, text below
//! 1 pt, headers, footers, instructions of fields, pictures, and destinations that a reader may ignore (`\*`).

mod fonts;

use super::document::Fields;
use super::flow::{Gap, Story, first_words};
use crate::unicode::baseline::Shift;
use fonts::{Fonts, Letters};

/// Maximum nesting depth of groups.
const MAX_GROUPS: usize = 512;

/// Groups that hold no text of the body.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    "annotation", "bkmkend", "bkmkstart", "colortbl", "comment", "datastore", "filetbl", "fldinst", "footer",
    "footerf", "footerl", "footerr", "header", "headerf", "headerl", "headerr", "info", "listoverridetable", "listtable",
    "object", "pict", "revtbl", "rsidtbl", "shprslt", "stylesheet", "template", "themedata", "xe", "tc",
];

/// The destination of a group's letters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Body,
    /// A footnote or endnote: notes follow the body.
    Note,
    Title,
    FontTable,
    Nowhere,
}

/// State that ends with its group.
#[derive(Clone, Copy)]
struct Group {
    target: Target,
    hidden: bool,
    small: bool,
    deleted: bool,
    struck: bool,
    level: Option<Shift>,
    /// Number of its font; `None` is the default one.
    font: Option<i64>,
    /// Replacement letters after `\u`.
    fallback: usize,
    /// The group is that of a text box.
    boxed: bool,
}

const FIRST: Group = Group {
    target: Target::Body,
    hidden: false,
    small: false,
    deleted: false,
    struck: false,
    level: None,
    font: None,
    fallback: 1,
    boxed: false,
};

/// The title and the text of `file`.
///
/// # Errors
/// The pair (expected, found) for a message: text that is not RTF, or nested too deep, or letters of a code page that
/// is not known.
pub(super) fn read(file: &[u8]) -> Result<(Fields, String), (String, String)> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file).trim_ascii_start();
    if !file.starts_with(b"{\\rtf") {
        return Err(("an RTF document".into(), "something else".into()));
    }
    let mut reading = Reading {
        rest: file,
        is_utf8: std::str::from_utf8(file).is_ok(),
        groups: vec![FIRST],
        body: Story::default(),
        notes: Story::default(),
        title: Story::default(),
        fonts: Fonts::default(),
        coded: Vec::new(),
        skip: 0,
        high: None,
    };
    reading.body.start_paragraph();
    reading.run()?;
    reading.decode()?;
    let title = Some(first_words(&reading.title.finish())).filter(|title| !title.is_empty());
    let (body, notes) = (reading.body.finish(), reading.notes.finish());
    let text = if notes.is_empty() { body } else { format!("{body}\n\n{notes}") };
    Ok((Fields { title, ..Fields::default() }, text))
}

struct Reading<'a> {
    rest: &'a [u8],
    /// Bytes beyond ASCII that are not escaped form UTF-8, which some writers use against the standard.
    is_utf8: bool,
    groups: Vec<Group>,
    body: Story,
    notes: Story,
    title: Story,
    fonts: Fonts,
    /// Bytes of the current font's code page: a letter may take two.
    coded: Vec<u8>,
    /// Letters still to be skipped after a `\u`.
    skip: usize,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

type Outcome = Result<(), (String, String)>;

impl Reading<'_> {
    fn run(&mut self) -> Outcome {
        while let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            match byte {
                b'{' if self.groups.len() > MAX_GROUPS => {
                    return Err((format!("at most {MAX_GROUPS} groups within each other"), "more".into()));
                }
                b'{' => {
                    self.decode()?;
                    // The beginning of a group ends the letters that replace a `\u`, as its end does (RTF 1.9.1).
                    self.skip = 0;
                    let group = Group { boxed: false, ..*self.group() };
                    self.groups.push(group);
                }
                b'}' => {
                    self.close()?;
                    if self.groups.len() <= 1 {
                        return Ok(());
                    }
                }
                b'\\' => self.control()?,
                b'\r' | b'\n' => {}
                0x80.. if self.is_utf8 => self.utf8(*byte)?,
                _ => self.byte(*byte),
            }
        }
        Ok(())
    }

    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("the first group stays (bug)")
    }

    /// Ends a group.
    fn close(&mut self) -> Outcome {
        self.decode()?;
        // As at its beginning.
        self.skip = 0;
        let Some(closed) = self.groups.pop() else { return Ok(()) };
        if closed.boxed {
            self.body.close_box();
        }
        let outer = self.groups.last().map(|group| group.target);
        if closed.target == Target::Note && outer != Some(Target::Note) {
            self.notes.flow().widen(Gap::Paragraph);
        }
        Ok(())
    }

    /// A byte of the current code page.
    fn byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if !matches!(self.group().target, Target::Nowhere | Target::FontTable) {
            self.coded.push(byte);
        }
    }

    /// An unescaped letter beyond ASCII, in UTF-8.
    fn utf8(&mut self, first: u8) -> Outcome {
        let length = match first {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
        let mut letter = vec![first];
        let (more, rest) = self.rest.split_at((length - 1).min(self.rest.len()));
        letter.extend(more);
        self.rest = rest;
        self.letters(&String::from_utf8_lossy(&letter))
    }

    /// Decodes and adds the bytes of the code page since the last other letter.
    fn decode(&mut self) -> Outcome {
        if self.coded.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.coded);
        let group = *self.group();
        let letters =
            if group.target == Target::Title { self.fonts.of_document() } else { self.fonts.letters(group.font) };
        match letters {
            _ if bytes.is_ascii() => self.add(&String::from_utf8_lossy(&bytes)),
            Letters::Coded(page) => {
                let encoding = fonts::encoding(page)
                    .ok_or_else(|| ("RTF in Unicode or a known code page".to_owned(), format!("code page {page}")))?;
                let (text, _) = encoding.decode_without_bom_handling(&bytes);
                self.add(&text);
            }
            // Of the pictures of symbol fonts only the bullet is known to be one in each of them.
            Letters::Symbols => {
                let known = |byte: &u8| if *byte == 0xb7 { '\u{2022}' } else { char::from(*byte) };
                let text: String = bytes.iter().filter(|byte| byte.is_ascii() || **byte == 0xb7).map(known).collect();
                self.add(&text);
            }
        }
        Ok(())
    }

    /// Adds letters, unless they replace one that was read.
    fn letters(&mut self, text: &str) -> Outcome {
        self.decode()?;
        if self.skip > 0 {
            self.skip -= 1;
        } else {
            self.add(text);
        }
        Ok(())
    }

    /// Adds letters where the group's letters go.
    fn add(&mut self, text: &str) {
        let group = *self.group();
        let is_seen = !(group.hidden || group.small || group.deleted || group.struck) || group.target == Target::Title;
        if let Some(story) = self.story(group.target).filter(|_| is_seen) {
            story.flow().push_at(text, group.level);
        }
    }

    fn story(&mut self, target: Target) -> Option<&mut Story> {
        match target {
            Target::Body => Some(&mut self.body),
            Target::Note => Some(&mut self.notes),
            Target::Title => Some(&mut self.title),
            Target::FontTable | Target::Nowhere => None,
        }
    }

    fn gap(&mut self, gap: Gap) {
        let target = self.group().target;
        let Some(story) = self.story(target) else { return };
        if gap == Gap::Paragraph {
            story.end_paragraph();
            story.start_paragraph();
        } else {
            story.flow().widen(gap);
        }
    }

    /// A control word or symbol; its backslash is read.
    fn control(&mut self) -> Outcome {
        let word = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if word == 0 {
            return self.symbol();
        }
        self.decode()?;
        let name = String::from_utf8_lossy(&self.rest[..word]).into_owned();
        self.rest = &self.rest[word..];
        let signed = usize::from(self.rest.first() == Some(&b'-'));
        let digits = self.rest[signed..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = (digits > 0).then(|| std::str::from_utf8(&self.rest[..signed + digits]).ok()?.parse::<i64>().ok());
        if digits > 0 {
            self.rest = &self.rest[signed + digits..];
        }
        if self.rest.first() == Some(&b' ') {
            self.rest = &self.rest[1..];
        }
        self.word(&name, number.flatten())
    }

    fn symbol(&mut self) -> Outcome {
        let Some((symbol, rest)) = self.rest.split_first() else { return Ok(()) };
        self.rest = rest;
        match symbol {
            b'\'' => {
                let code = rest.get(..2).and_then(|code| std::str::from_utf8(code).ok());
                let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) else { return Ok(()) };
                self.rest = &rest[2..];
                self.byte(byte);
                return Ok(());
            }
            b'*' => self.group().target = Target::Nowhere,
            b'~' => return self.letters("\u{a0}"),
            b'_' => return self.letters("-"),
            b'\r' | b'\n' => {
                self.decode()?;
                self.gap(Gap::Paragraph);
            }
            b'\\' | b'{' | b'}' => self.byte(*symbol),
            _ => {}
        }
        Ok(())
    }

    fn word(&mut self, name: &str, number: Option<i64>) -> Outcome {
        let on = number != Some(0);
        match name {
            "par" | "sect" | "page" | "row" => self.gap(Gap::Paragraph),
            "line" => self.gap(Gap::Line),
            "tab" | "cell" | "nestcell" | "emspace" | "enspace" => self.gap(Gap::Space),
            "emdash" => return self.letters("\u{2014}"),
            "endash" => return self.letters("\u{2013}"),
            "lquote" => return self.letters("\u{2018}"),
            "rquote" => return self.letters("\u{2019}"),
            "ldblquote" => return self.letters("\u{201c}"),
            "rdblquote" => return self.letters("\u{201d}"),
            "bullet" => return self.letters("\u{2022}"),
            "u" => return self.unicode(number.unwrap_or_default()),
            "uc" => self.group().fallback = number.and_then(|n| usize::try_from(n).ok()).unwrap_or(1).min(16),
            "bin" => {
                let length = number.and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
                self.rest = &self.rest[length.min(self.rest.len())..];
            }
            "v" => self.group().hidden = on,
            "deleted" => self.group().deleted = on,
            "strike" | "striked" => self.group().struck = on,
            // In half points: below 1 pt nothing can be read.
            "fs" => self.group().small = number.is_some_and(|size| size < 2),
            "super" => self.group().level = on.then_some(Shift::Raised),
            "sub" => self.group().level = on.then_some(Shift::Lowered),
            "nosupersub" => self.group().level = None,
            // Half points above or below the line.
            "up" => self.group().level = on.then_some(Shift::Raised),
            "dn" => self.group().level = on.then_some(Shift::Lowered),
            "plain" => {
                let Group { target, fallback, boxed, .. } = *self.group();
                *self.group() = Group { target, fallback, boxed, ..FIRST };
            }
            name if self.encoding_word(name, number) => {}
            name => self.destination(name),
        }
        Ok(())
    }

    /// A control word that concerns code pages; whether it was one.
    fn encoding_word(&mut self, name: &str, number: Option<i64>) -> bool {
        let defines = self.group().target == Target::FontTable;
        match (name, number) {
            ("ansicpg", Some(page)) => self.fonts.set_page(page),
            ("mac", None) => self.fonts.set_page(10_000),
            ("pc", None) => self.fonts.set_page(437),
            ("pca", None) => self.fonts.set_page(850),
            ("deff", Some(font)) => self.fonts.set_default(font),
            ("f", Some(font)) if defines => self.fonts.define(font),
            ("f", Some(font)) => self.group().font = Some(font),
            ("fcharset", Some(charset)) if defines => self.fonts.charset(charset),
            ("cpg", Some(page)) if defines => self.fonts.code_page(page),
            _ => return false,
        }
        true
    }

    /// A control word that says what its group is.
    fn destination(&mut self, name: &str) {
        let target = self.group().target;
        match name {
            "fonttbl" => self.group().target = Target::FontTable,
            // A title stands within `info`, which is left out.
            "title" if target == Target::Nowhere => self.group().target = Target::Title,
            "footnote" if target == Target::Body => *self.group() = Group { target: Target::Note, ..FIRST },
            // Properties of a shape, which a reader may ignore, hold the text of a box.
            "shptxt" if !self.group().boxed && self.is_in_body() => {
                *self.group() = Group { boxed: true, ..FIRST };
                self.body.open_box();
                self.body.start_paragraph();
            }
            name if LEFT_OUT.contains(&name) => self.group().target = Target::Nowhere,
            _ => {}
        }
    }

    /// Whether the group is a part of the body that is left out by nothing but `\*`, at most three groups away: a shape's
    /// properties within the shape.
    fn is_in_body(&self) -> bool {
        self.groups.iter().rev().take(4).any(|group| group.target == Target::Body)
    }

    /// A UTF-16 unit, written as a signed number of 16 bits.
    fn unicode(&mut self, number: i64) -> Outcome {
        let unit = number.rem_euclid(1 << 16) as u16;
        self.skip = 0;
        match (self.high.take(), unit) {
            (_, 0xd800..=0xdbff) => self.high = Some(unit),
            (Some(high), low) => self.letters(&String::from_utf16_lossy(&[high, low]))?,
            (None, unit) => self.letters(&String::from_utf16_lossy(&[unit]))?,
        }
        self.skip = self.group().fallback;
        Ok(())
    }
}
