//! Mail (RFC 5322, MIME): subject, sender and date as metadata, the text of the message and of messages that it forwards, and the
//! names of attachments.

use super::document::Fields;
use super::flow::first_words;
use super::html;
use super::notes::Notes;
use super::package::{Fault, fault};
use crate::charset;
use crate::retrieval::text::BOM;
use encoding_rs::Encoding;
use mailparse::{DispositionType, MailHeader, MailHeaderMap, MailParseError, ParsedMail};

/// Maximum parts, and lines of headers, of a message.
const MAX_PARTS: usize = 10_000;
const MAX_HEADERS: usize = 100_000;
/// Maximum depth of messages within each other.
const MAX_FORWARDED: usize = 4;
/// Headers of a forwarded message that are written above its text: without them it would be the sender's own.
const FORWARDED: &[&str] = &["From", "Date", "Subject"];
/// Types of parts that are signatures: nothing of the message is lost without them.
const SIGNATURES: &[&str] =
    &["application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"];
/// Types of encrypted messages.
const ENCRYPTED: &[&str] = &["multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"];

/// The metadata and the text of a message.
///
/// # Errors
/// The pair (expected, found) for a message: bytes that are no mail, or one that is encrypted.
pub(super) fn read(bytes: &[u8], notes: &mut Notes) -> Result<(Fields, String), Fault> {
    const WHAT: &str = "a mail message (.eml)";
    bounded(bytes)?;
    let mail = mailparse::parse_mail(bytes).map_err(|e| fault(WHAT, e.to_string()))?;
    let header = |name: &str| {
        let value = mail.headers.get_first_header(name).map(|header| first_words(&value(header, &mail)));
        value.filter(|value| !value.is_empty())
    };
    if ["From", "Date", "Subject", "To", "MIME-Version", "Message-ID"].iter().all(|name| header(name).is_none()) {
        return Err(fault(WHAT, "a text without the headers of one"));
    }
    let mut message = Message { text: String::new(), attachments: Vec::new(), encrypted: false, depth: 0, notes };
    message.part(&mail);
    if message.encrypted && message.text.trim().is_empty() {
        return Err(fault("text", "an encrypted message"));
    }
    let date = header("Date").map(|date| day(&date).unwrap_or(date));
    let fields = Fields { title: header("Subject"), source: header("From"), date, url: None, id: None };
    message.attachments.iter().for_each(|name| message.notes.add(format!("attachment {name} is not read")));
    Ok((fields, message.text))
}

/// Checks that a message has no more parts and headers than a limit, because each takes more memory than its line.
fn bounded(bytes: &[u8]) -> Result<(), Fault> {
    let (mut parts, mut headers, mut in_headers) = (0, 0, true);
    for line in bytes.split(|byte| *byte == b'\n') {
        let is_boundary = line.starts_with(b"--");
        parts += usize::from(is_boundary);
        headers += usize::from(in_headers);
        in_headers = is_boundary || (in_headers && !line.trim_ascii().is_empty());
    }
    match () {
        () if parts > MAX_PARTS => Err(fault(format!("a mail message of at most {MAX_PARTS} parts"), "more")),
        () if headers > MAX_HEADERS => Err(fault(format!("a mail message of at most {MAX_HEADERS} headers"), "more")),
        () => Ok(()),
    }
}

struct Message<'n> {
    text: String,
    attachments: Vec<String>,
    encrypted: bool,
    /// Messages around the open one.
    depth: usize,
    notes: &'n mut Notes,
}

impl Message<'_> {
    /// Adds the text of a part and of those within it, which the parser bounds in depth.
    fn part(&mut self, part: &ParsedMail<'_>) {
        let kind = part.ctype.mimetype.as_str();
        self.encrypted |= ENCRYPTED.contains(&kind);
        let disposition = part.get_content_disposition();
        let name = disposition.params.get("filename").or_else(|| part.ctype.params.get("name"));
        let attached = disposition.disposition == DispositionType::Attachment;
        match kind {
            _ if SIGNATURES.contains(&kind) => {}
            "multipart/alternative" => self.alternative(part),
            _ if kind.starts_with("multipart/") => part.subparts.iter().for_each(|part| self.part(part)),
            "message/rfc822" | "message/global" if self.depth < MAX_FORWARDED => self.forwarded(part),
            "text/plain" | "text/html" if !attached => self.body(part, kind == "text/html"),
            _ => self.attachments.push(name.map_or_else(|| format!("of type {kind}"), |name| first_words(name))),
        }
    }

    /// Adds a message within this one, behind the headers that say whose it is.
    fn forwarded(&mut self, part: &ParsedMail<'_>) {
        let bytes = part.get_body_raw().ok().filter(|bytes| bounded(bytes).is_ok()).unwrap_or_default();
        let Some(mail) = mailparse::parse_mail(&bytes).ok().filter(|mail| !mail.headers.is_empty()) else {
            return self.notes.add("a forwarded message is not read");
        };
        let line = |name: &&str| {
            let value = first_words(&value(mail.headers.get_first_header(name)?, &mail));
            (!value.is_empty()).then(|| format!("{name}: {value}"))
        };
        let headers: Vec<String> = FORWARDED.iter().filter_map(line).collect();
        self.push(&format!("Forwarded message\n{}", headers.join("\n")));
        self.depth += 1;
        self.part(&mail);
        self.depth -= 1;
    }

    fn push(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            let gap = if self.text.is_empty() { "" } else { "\n\n" };
            self.text.push_str(gap);
            self.text.push_str(text);
        }
    }

    /// Takes one of several forms of the same text: the plain one, else the page.
    fn alternative(&mut self, part: &ParsedMail<'_>) {
        let chosen = part.subparts.iter().find(|part| holds(part, "text/plain"));
        let chosen = chosen.or_else(|| part.subparts.iter().find(|part| holds(part, "text/html")));
        match chosen {
            Some(chosen) => self.part(chosen),
            None => part.subparts.iter().for_each(|part| self.part(part)),
        }
    }

    /// The text of a part in the character set that it declares, else in the one that is detected.
    fn decoded(&mut self, part: &ParsedMail<'_>, is_page: bool) -> Result<String, MailParseError> {
        // The web has no UTF-7.
        if part.ctype.charset.to_ascii_lowercase().contains("utf-7") {
            return part.get_body();
        }
        let bytes = part.get_body_raw()?;
        let declared = declared(part).or_else(|| charset::in_markup(&bytes).filter(|_| is_page));
        let Ok(decoded) = charset::decode(bytes, declared) else { return part.get_body() };
        decoded.notes.into_iter().for_each(|note| self.notes.add(note));
        Ok(decoded.text.trim_start_matches(BOM).to_owned())
    }

    fn body(&mut self, part: &ParsedMail<'_>, is_page: bool) {
        let text = match self.decoded(part, is_page) {
            Ok(text) => text,
            Err(e) => return self.notes.add(format!("a part of type {} is not read: {e}", part.ctype.mimetype)),
        };
        let text = match is_page.then(|| html::read(text.clone())) {
            Some(Ok(page)) => page.text,
            Some(Err((expected, found))) => {
                return self.notes.add(format!("a page is not read: expected {expected}, found {found}"));
            }
            None => flowed(part, text.replace("\r\n", "\n")),
        };
        self.push(&text);
    }
}

/// The character set that a part declares; what is declared as ASCII and has other bytes is in another set.
fn declared(part: &ParsedMail<'_>) -> Option<&'static Encoding> {
    let label = part.ctype.params.get("charset")?;
    Encoding::for_label(label.as_bytes()).filter(|_| !label.to_ascii_lowercase().ends_with("ascii"))
}

/// The value of a header. Bytes that should have been encoded are in the character set of the message.
fn value(header: &MailHeader<'_>, mail: &ParsedMail<'_>) -> String {
    let raw = header.get_value_raw();
    let decoded = std::str::from_utf8(raw).is_err().then(|| charset::decode(raw.to_vec(), declared(mail)));
    decoded.and_then(Result::ok).map_or_else(|| header.get_value(), |decoded| decoded.text)
}

/// `text` of a part with its paragraphs put together, where they are wrapped (RFC 3676, `format=flowed`): a line that ends
/// with a space goes on in the next one of the same depth of quotation.
fn flowed(part: &ParsedMail<'_>, text: String) -> String {
    let says = |name: &str, value: &str| part.ctype.params.get(name).is_some_and(|v| v.eq_ignore_ascii_case(value));
    if !says("format", "flowed") {
        return text;
    }
    let deletes_space = says("delsp", "yes");
    let (mut joined, mut open) = (String::with_capacity(text.len()), None);
    for line in text.lines() {
        let bare = line.trim_start_matches('>');
        let depth = line.len() - bare.len();
        let content = bare.strip_prefix(' ').unwrap_or(bare);
        if open != Some(depth) {
            joined.push_str(if joined.is_empty() { "" } else { "\n" });
            joined.push_str(&line[..depth]);
            joined.push_str(if depth > 0 { " " } else { "" });
        }
        // The line above a signature is not a paragraph.
        open = (content.ends_with(' ') && content != "-- ").then_some(depth);
        joined.push_str(if open.is_some() && deletes_space { &content[..content.len() - 1] } else { content });
    }
    joined
}

/// Whether a part is text of this type, or has one within it.
fn holds(part: &ParsedMail<'_>, kind: &str) -> bool {
    // Behind the headers.
    let body = || part.raw_bytes.get(part.get_headers().get_raw_bytes().len()..).unwrap_or_default();
    (part.ctype.mimetype == kind && !body().trim_ascii().is_empty())
        || part.subparts.iter().any(|part| holds(part, kind))
}

/// The day that a date names, where it was written: "Fri, 31 May 2024 23:30:00 +0200" is 2024-05-31.
fn day(date: &str) -> Option<String> {
    const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    let words: Vec<&str> =
        date.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect();
    words.windows(3).find_map(|words| {
        let day: u32 = words[0].parse().ok().filter(|day| (1..=31).contains(day))?;
        let name = words[1].get(..3)?.to_ascii_lowercase();
        let month = MONTHS.match_indices(&name).find(|(at, _)| at % 3 == 0)?.0 / 3 + 1;
        let year: u32 = words[2].parse().ok()?;
        // Years of two digits (RFC 5322, section 4.3).
        let year = match year {
            0..50 => year + 2000,
            50..1000 => year + 1900,
            year => year,
        };
        Some(format!("{year:04}-{month:02}-{day:02}"))
    })
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn dates_name_a_day() {
        for (date, expected) in [
            ("Fri, 31 May 2024 23:30:00 +0200", Some("2024-05-31")),
            ("1 Jan 99 00:00 GMT", Some("1999-01-01")),
            ("yesterday", None),
            ("32 May 2024", None),
        ] {
            assert_eq!(day(date).as_deref(), expected, "{date}");
        }
    }
}
