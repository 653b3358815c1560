//! The character set that markup declares.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes in which a declaration is looked for. The HTML standard (section 13.2.3.2) has 1,024; pages with scripts in front
/// of it are still read.
const PRESCAN: usize = 8192;

/// The character set by `<meta charset>`, `<meta http-equiv=content-type>` or the XML declaration of a page.
pub(crate) fn in_markup(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = String::from_utf8_lossy(&start[..start.len().min(PRESCAN)]).to_ascii_lowercase();
    xml(&start).or_else(|| meta(&start))
}

fn xml(start: &str) -> Option<&'static Encoding> {
    let (declaration, _) = start.strip_prefix("<?xml")?.split_once("?>")?;
    known(value(declaration, "encoding")?)
}

fn meta(start: &str) -> Option<&'static Encoding> {
    let mut rest = start;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = rest.find("-->").map_or("", |end| &rest[end..]);
            continue;
        }
        let end = rest.find('>').unwrap_or(rest.len());
        let is_meta =
            rest.strip_prefix("<meta").is_some_and(|rest| rest.starts_with([' ', '\t', '\n', '\r', '\x0c', '/']));
        // `charset=` is an attribute, or within `content`.
        if let Some(encoding) = value(&rest[..end], "charset").filter(|_| is_meta).and_then(known) {
            return Some(encoding);
        }
        rest = &rest[1..];
    }
    None
}

/// The value behind `name=` in a tag.
fn value<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let after = tag[tag.find(name)? + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    let bare = after.trim_start_matches(['"', '\'']);
    let end = bare.find(|c: char| matches!(c, '"' | '\'' | ';' | '/' | '>') || c.is_whitespace()).unwrap_or(bare.len());
    Some(&bare[..end])
}

/// The set called `label`. A page whose declaration can be read is not in UTF-16 (HTML standard, section 13.2.3.2).
fn known(label: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
    Some(match encoding {
        utf16 if utf16 == UTF_16BE || utf16 == UTF_16LE => UTF_8,
        own if own.name() == "x-user-defined" => WINDOWS_1252,
        encoding => encoding,
    })
}

#[cfg(test)]
mod tests {
    use super::in_markup;

    #[test]
    fn declarations() {
        for (markup, expected) in [
            ("<meta charset=\"KOI8-R\">", Some("KOI8-R")),
            ("<!-- <meta charset=koi8-r> --><meta name=a><meta\ncharset = 'gb2312' />", Some("GBK")),
            ("<meta content='text/html;charset=Shift_JIS' http-equiv=content-type>", Some("Shift_JIS")),
            ("<?xml version='1.0' encoding='ISO-8859-2'?><html>", Some("ISO-8859-2")),
            ("<meta charset=utf-16le>", Some("UTF-8")),
            ("<meta charset=nothing>", None),
            ("<p data-charset=koi8-r>", None),
            ("<meta name=charset content=koi8-r", None),
        ] {
            assert_eq!(in_markup(markup.as_bytes()).map(encoding_rs::Encoding::name), expected, "{markup}");
        }
    }
}
