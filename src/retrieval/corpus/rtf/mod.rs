//! Rich Text Format (version 1.9.1): the letters of the document's body, and its title.
//!
//! Left out is what a reader does not see: hidden text (`\v`, styles are not followed), deleted text, text below 1 pt,
//! headers, footers, instructions of fields, pictures, and destinations that a reader may ignore (`\*`).

use super::document::Fields;
use super::flow::{Flow, Gap, first_words};

/// Maximum nesting depth of groups.
const MAX_GROUPS: usize = 512;

/// Groups that hold no text of the body.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    "annotation", "bkmkend", "bkmkstart", "colortbl", "comment", "datastore", "filetbl", "fldinst", "fonttbl", "footer",
    "footerf", "footerl", "footerr", "header", "headerf", "headerl", "headerr", "info", "listoverridetable", "listtable",
    "object", "pict", "revtbl", "rsidtbl", "stylesheet", "template", "themedata", "xe", "tc",
];

/// Letters 0x80 to 0x9f of Windows code page 1252.
#[rustfmt::skip]
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}',
    '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}',
    '\u{17e}', '\u{178}',
];

/// Where letters of a group go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Body,
    Title,
    Nowhere,
}

/// State that ends with its group.
#[derive(Clone, Copy)]
struct Group {
    target: Target,
    hidden: bool,
    small: bool,
    deleted: bool,
    /// Letters after `\u` that stand in for it.
    fallback: usize,
}

/// The title and the text of `file`.
///
/// # Errors
/// The pair (expected, found) for a message: text that is no RTF, or nested too deep, or letters of another code page than
/// 1252.
pub(super) fn read(file: &str) -> Result<(Fields, String), (String, String)> {
    if !file.trim_start().starts_with("{\\rtf") {
        return Err(("an RTF document".into(), "something else".into()));
    }
    let first = Group { target: Target::Body, hidden: false, small: false, deleted: false, fallback: 1 };
    let mut reading = Reading {
        rest: file.trim_start().as_bytes(),
        groups: vec![first],
        body: Flow::default(),
        title: Flow::default(),
        page: 1252,
        skip: 0,
        high: None,
    };
    reading.run()?;
    let title = Some(first_words(&reading.title.finish())).filter(|title| !title.is_empty());
    Ok((Fields { title, ..Fields::default() }, reading.body.finish()))
}

struct Reading<'a> {
    rest: &'a [u8],
    groups: Vec<Group>,
    body: Flow,
    title: Flow,
    /// Code page of `\'hh`.
    page: i64,
    /// Letters still to be skipped after a `\u`.
    skip: usize,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

impl Reading<'_> {
    fn run(&mut self) -> Result<(), (String, String)> {
        while let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            match byte {
                b'{' if self.groups.len() > MAX_GROUPS => {
                    return Err((format!("at most {MAX_GROUPS} groups within each other"), "more".into()));
                }
                b'{' => {
                    let group = *self.group();
                    self.groups.push(group);
                }
                b'}' => {
                    self.groups.pop();
                    self.skip = 0;
                    if self.groups.len() <= 1 {
                        return Ok(());
                    }
                }
                b'\\' => self.control()?,
                b'\r' | b'\n' => {}
                _ => self.plain(*byte),
            }
        }
        Ok(())
    }

    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("the first group stays (bug)")
    }

    /// A letter as it stands; one beyond ASCII is the start of a run in UTF-8, which some writers use against the standard.
    fn plain(&mut self, first: u8) {
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
        self.letters(&String::from_utf8_lossy(&letter));
    }

    /// Adds letters where the group's letters go, unless they stand in for one that was read.
    fn letters(&mut self, text: &str) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let group = *self.group();
        match group.target {
            Target::Body if !(group.hidden || group.small || group.deleted) => self.body.push(text),
            Target::Title => self.title.push(text),
            _ => {}
        }
    }

    fn gap(&mut self, gap: Gap) {
        if self.group().target == Target::Body {
            self.body.widen(gap);
        }
    }

    /// A control word or symbol; its backslash is read.
    fn control(&mut self) -> Result<(), (String, String)> {
        let word = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if word == 0 {
            return self.symbol();
        }
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
        self.word(&name, number.flatten());
        Ok(())
    }

    fn symbol(&mut self) -> Result<(), (String, String)> {
        let Some((symbol, rest)) = self.rest.split_first() else { return Ok(()) };
        self.rest = rest;
        match symbol {
            b'\'' => {
                let code = rest.get(..2).and_then(|code| std::str::from_utf8(code).ok());
                let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) else { return Ok(()) };
                self.rest = &rest[2..];
                self.coded(byte)?;
            }
            b'*' => self.group().target = Target::Nowhere,
            b'~' => self.letters("\u{a0}"),
            b'_' => self.letters("-"),
            b'\r' | b'\n' => self.gap(Gap::Paragraph),
            b'\\' | b'{' | b'}' => self.letters(&char::from(*symbol).to_string()),
            _ => {}
        }
        Ok(())
    }

    /// A letter of the code page.
    fn coded(&mut self, byte: u8) -> Result<(), (String, String)> {
        let shown = self.skip == 0 && self.group().target != Target::Nowhere;
        if byte >= 0x80 && shown && self.page != 1252 {
            return Err(("RTF in Unicode or code page 1252".into(), format!("code page {}", self.page)));
        }
        let letter = match byte {
            0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
            _ => char::from(byte),
        };
        self.letters(letter.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn word(&mut self, name: &str, number: Option<i64>) {
        let on = number != Some(0);
        match name {
            "par" | "sect" | "page" | "row" => self.gap(Gap::Paragraph),
            "line" => self.gap(Gap::Line),
            "tab" | "cell" | "nestcell" | "emspace" | "enspace" => self.gap(Gap::Space),
            "emdash" => self.letters("\u{2014}"),
            "endash" => self.letters("\u{2013}"),
            "lquote" => self.letters("\u{2018}"),
            "rquote" => self.letters("\u{2019}"),
            "ldblquote" => self.letters("\u{201c}"),
            "rdblquote" => self.letters("\u{201d}"),
            "bullet" => self.letters("\u{2022}"),
            "u" => self.unicode(number.unwrap_or_default()),
            "uc" => self.group().fallback = number.and_then(|n| usize::try_from(n).ok()).unwrap_or(1).min(16),
            "bin" => {
                let length = number.and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
                self.rest = &self.rest[length.min(self.rest.len())..];
            }
            "ansicpg" => self.page = number.unwrap_or(1252),
            "mac" => self.page = 10_000,
            "pc" => self.page = 437,
            "v" => self.group().hidden = on,
            "deleted" => self.group().deleted = on,
            // In half points: below 1 pt nothing can be read.
            "fs" => self.group().small = number.is_some_and(|size| size < 2),
            "plain" => {
                let group = self.group();
                (group.hidden, group.small, group.deleted) = (false, false, false);
            }
            "title" if self.group().target == Target::Nowhere => self.group().target = Target::Title,
            name if LEFT_OUT.contains(&name) => self.group().target = Target::Nowhere,
            _ => {}
        }
    }

    /// A UTF-16 unit, written as a signed number of 16 bits.
    fn unicode(&mut self, number: i64) {
        let unit = number.rem_euclid(1 << 16) as u16;
        self.skip = 0;
        match (self.high.take(), unit) {
            (_, 0xd800..=0xdbff) => self.high = Some(unit),
            (Some(high), low) => self.letters(&String::from_utf16_lossy(&[high, low])),
            (None, unit) => self.letters(&String::from_utf16_lossy(&[unit])),
        }
        self.skip = self.group().fallback;
    }
}
