//! EPUB books: the chapters of the spine, each read as HTML, with its rules for hidden text.

use super::xml::{self, Tag, Visit};
use super::{Fault, Package, Read, Text, fault};
use crate::retrieval::corpus::document::{Fields, Position};
use crate::retrieval::corpus::html::{self, Page};
use crate::retrieval::corpus::marks::Marks;
use crate::retrieval::corpus::notes::Notes;
use std::collections::{HashMap, HashSet};

const ENCRYPTION: &str = "META-INF/encryption.xml";
const CONTAINER: &str = "META-INF/container.xml";
/// Most chapters of a book.
const MAX_CHAPTERS: usize = 10_000;
/// Elements of HTML that have no end tag.
#[rustfmt::skip]
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
];

/// The chapters of a book.
///
/// # Errors
/// An archive that is not an EPUB, that is broken or exceeds the limits. A chapter that is missing, encrypted or broken
/// is reported in the notes.
pub(super) fn read(bytes: Vec<u8>) -> Result<Read, Fault> {
    const WHAT: &str = "an EPUB book";
    let mut package = Package::open(bytes, WHAT)?;
    let mut notes = Notes::default();
    let container = package.needed(CONTAINER, WHAT)?;
    let mut spine = Spine::default();
    xml::read(CONTAINER, &container, &mut spine)?;
    let root = spine.root.take().ok_or_else(|| fault(WHAT, format!("{CONTAINER} without a `rootfile`")))?;
    let opf = package.needed(&root, WHAT)?;
    xml::read(&root, &opf, &mut spine)?;
    let fields = metadata(&root, &opf)?;
    if spine.order.len() > MAX_CHAPTERS {
        return Err(fault(format!("at most {MAX_CHAPTERS} chapters"), spine.order.len().to_string()));
    }
    let encrypted = encrypted(&mut package, &mut notes)?;
    let (mut texts, mut taken) = (Vec::new(), HashSet::new());
    for id in &spine.order {
        let Some(href) = spine.items.get(id) else {
            if !spine.contents.contains(id) {
                notes.add(format!("chapter {id} is missing: the book does not say where it is"));
            }
            continue;
        };
        let name = resolved(&root, href);
        // A spine names a chapter once (EPUB 3.3, section 5.7.2).
        if !taken.insert(name.clone()) {
            continue;
        }
        if encrypted.contains(&name) {
            notes.add(format!("chapter {name} is encrypted"));
        } else if let Some((text, marks)) = chapter(&mut package, &name, &mut notes)? {
            let fields = Fields { id: Some(name), ..fields.clone() };
            texts.push(Text { fields, text, position: Position::Extracted, marks });
        }
    }
    Ok(Read { texts, notes })
}

/// The text of a chapter and its marks; `None` where it cannot be read.
fn chapter(package: &mut Package, name: &str, notes: &mut Notes) -> Result<Option<(String, Marks)>, Fault> {
    let before = notes.clone();
    let Some(markup) = package.optional(name, notes)? else {
        if *notes == before {
            notes.add(format!("chapter {name} is missing"));
        }
        return Ok(None);
    };
    match html::read(closed(&markup)) {
        Ok(Page { text, marks, .. }) => {
            let has_picture = ["<img", "<svg", "<image"].iter().any(|tag| markup.contains(tag));
            if text.trim().is_empty() && has_picture {
                notes.add(format!("chapter {name} is a picture without text"));
            }
            Ok(Some((text, marks)))
        }
        Err((expected, found)) => {
            notes.add(format!("chapter {name} is not read: expected {expected}, found {found}"));
            Ok(None)
        }
    }
}

/// The names of the parts that are encrypted (OCF 3.3, section 4.2.6.3.2).
fn encrypted(package: &mut Package, notes: &mut Notes) -> Result<HashSet<String>, Fault> {
    #[derive(Default)]
    struct Names(HashSet<String>);
    impl Visit for Names {
        fn start(&mut self, tag: &Tag<'_>) {
            if tag.name() == "CipherReference" {
                self.0.extend(tag.value("URI").map(|uri| decoded(&uri)));
            }
        }
        fn end(&mut self, _: &str) {}
        fn letters(&mut self, _: &str) {}
    }
    let mut names = Names::default();
    if let Some(list) = package.optional(ENCRYPTION, notes)? {
        xml::read_or_note(ENCRYPTION, &list, &mut names, notes);
    }
    Ok(names.0)
}

/// Title, publisher or author, and date of publication.
fn metadata(root: &str, opf: &str) -> Result<Fields, Fault> {
    let values = xml::values(root, opf, &["title", "publisher", "creator", "date"])?;
    let first = |wanted: &str| values.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let date = first("date").map(|date| date.split('T').next().unwrap_or_default().to_owned());
    Ok(Fields {
        title: first("title"),
        source: first("publisher").or_else(|| first("creator")),
        date,
        url: None,
        id: None,
    })
}

/// Where the package document is, and what it lists.
#[derive(Default)]
struct Spine {
    root: Option<String>,
    /// Addresses of the items by id; without the table of contents.
    items: HashMap<String, String>,
    /// Ids of tables of contents.
    contents: HashSet<String>,
    /// Ids in reading order.
    order: Vec<String>,
}

impl Visit for Spine {
    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name().as_str() {
            "rootfile" if self.root.is_none() => self.root = tag.value("full-path"),
            "item" if tag.value("properties").is_some_and(|all| all.split_whitespace().any(|one| one == "nav")) => {
                self.contents.extend(tag.value("id"));
            }
            "item" => self.items.extend(tag.value("id").zip(tag.value("href"))),
            "itemref" => self.order.extend(tag.value("idref")),
            _ => {}
        }
    }

    fn end(&mut self, _: &str) {}

    fn letters(&mut self, _: &str) {}
}

/// The name of the part that `href` of the package document `root` addresses.
fn resolved(root: &str, href: &str) -> String {
    let href = decoded(href.split('#').next().unwrap_or_default());
    let mut parts: Vec<&str> = root.split('/').collect();
    parts.pop();
    for part in href.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Percent-encoded bytes decoded; unchanged where they are no UTF-8.
fn decoded(href: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = href.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| href.to_owned())
}

/// XHTML as HTML: an element that is closed in its start tag gets an end tag, because HTML ignores the `/`.
fn closed(markup: &str) -> String {
    let mut out = String::with_capacity(markup.len());
    let mut rest = markup;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>")].into_iter().find(|(begin, _)| rest.starts_with(begin));
        let length = match skipped {
            Some((_, end)) => rest.find(end).map_or(rest.len(), |found| found + end.len()),
            None => tag_length(rest),
        };
        let tag = &rest[..length];
        rest = &rest[length..];
        let name: &str = tag[1..].split(|c: char| c.is_whitespace() || c == '/' || c == '>').next().unwrap_or_default();
        match tag.strip_suffix("/>") {
            Some(open) if !name.is_empty() && !VOID.contains(&name.to_ascii_lowercase().as_str()) => {
                out.push_str(open);
                out.push_str("></");
                out.push_str(name);
                out.push('>');
            }
            _ => out.push_str(tag),
        }
    }
    out + rest
}

/// Bytes of the tag that `text` begins with; quotation marks hide a `>`.
fn tag_length(text: &str) -> usize {
    let mut quoted: Option<u8> = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quoted, byte) {
            (Some(mark), byte) if mark == byte => quoted = None,
            (None, b'"' | b'\'') => quoted = Some(byte),
            (None, b'>') => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{closed, resolved};

    #[test]
    fn elements_closed_in_their_start_tag_get_an_end_tag() {
        let cases = [
            ("<title/>a", "<title></title>a"),
            ("<script src=\"a>b\"/><p>x<br/>y</p>", "<script src=\"a>b\"></script><p>x<br/>y</p>"),
            ("a < b <!-- <p/> --> c", "a < b <!-- <p/> --> c"),
            ("<p", "<p"),
        ];
        for (markup, expected) in cases {
            assert_eq!(closed(markup), expected);
        }
    }

    #[test]
    fn addresses_are_relative_to_the_package_document() {
        assert_eq!(resolved("OEBPS/c.opf", "text/a%20b.xhtml#x"), "OEBPS/text/a b.xhtml");
        assert_eq!(resolved("OEBPS/c.opf", "../a.xhtml"), "a.xhtml");
        assert_eq!(resolved("c.opf", "../../a%e9.xhtml"), "a%e9.xhtml");
    }
}
