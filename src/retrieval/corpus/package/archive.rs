//! A zip archive whose parts are decoded within limits.

use crate::charset;
use crate::escape;
use crate::retrieval::corpus::notes::Notes;
use encoding_rs::{Encoding, UTF_8};
use std::borrow::Cow;
use std::io::{Cursor, Read};
use std::path::Path;
use zip::ZipArchive;
use zip::result::ZipError;

/// Maximum decoded bytes of one part.
const MAX_PART: u64 = 64 << 20;
/// Maximum decoded bytes of the parts that are read of a file.
const MAX_TOTAL: u64 = 256 << 20;
/// Beginning of a compound file: Office's own formats before 2007, and its encrypted documents.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0";
/// Extensions of pictures.
#[rustfmt::skip]
const PICTURES: &[&str] = &["bmp", "emf", "gif", "heic", "jpeg", "jpg", "jp2", "png", "svg", "tif", "tiff", "webp", "wmf"];

/// The pair (expected, found) of a message.
pub(in crate::retrieval::corpus) type Fault = (String, String);

/// Both contain names of parts and elements, and those may be long and hold anything.
pub(in crate::retrieval::corpus) fn fault(expected: impl AsRef<str>, found: impl AsRef<str>) -> Fault {
    (escape::excerpt(expected.as_ref()), escape::excerpt(found.as_ref()))
}

/// Why a part was not decoded.
enum Trouble {
    /// It exceeds a limit: the file is refused.
    Limit(Fault),
    /// It is damaged or encrypted: other parts may be read.
    Broken(Fault),
}

impl Trouble {
    fn fault(self) -> Fault {
        let (Self::Limit(fault) | Self::Broken(fault)) = self;
        fault
    }
}

/// An archive whose parts are decoded within the limits.
pub(in crate::retrieval::corpus) struct Package {
    archive: ZipArchive<Cursor<Vec<u8>>>,
    /// Decoded bytes that are left.
    left: u64,
}

impl Package {
    /// The archive `bytes`, which is to be `what`.
    ///
    /// # Errors
    /// No archive, or a broken one.
    pub(in crate::retrieval::corpus) fn open(bytes: Vec<u8>, what: &str) -> Result<Self, Fault> {
        if bytes.starts_with(COMPOUND) {
            return Err(fault(what, "an encrypted document, or one in the binary format of before 2007"));
        }
        let archive = ZipArchive::new(Cursor::new(bytes))
            .map_err(|e| fault(what, format!("something else, or a broken archive ({e})")))?;
        Ok(Self { archive, left: MAX_TOTAL })
    }

    fn decode(&mut self, name: &str) -> Result<Option<String>, Trouble> {
        let broken = |expected: String, found: String| Trouble::Broken(fault(expected, found));
        let part = match self.archive.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(e) => return Err(broken(format!("a part {name} that can be read"), e.to_string())),
        };
        let most = MAX_PART.min(self.left);
        let mut bytes = Vec::new();
        // One byte more than is allowed shows that there are more.
        let read = part.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|e| broken(format!("a part {name} that can be decoded"), e.to_string()))?;
        let length = bytes.len() as u64;
        if length > MAX_PART {
            let expected = format!("parts that decode to at most {} MiB each", MAX_PART >> 20);
            return Err(Trouble::Limit(fault(expected, "more in one")));
        }
        if length > self.left {
            let expected = format!("a file that decodes to at most {} MiB", MAX_TOTAL >> 20);
            return Err(Trouble::Limit(fault(expected, "more")));
        }
        self.left -= length;
        text(bytes)
            .map(Some)
            .map_err(|at| broken(format!("UTF-8 text in {name}"), format!("an invalid byte at byte {at}")))
    }

    /// The part `name` as text; `None` if there is no such part.
    ///
    /// # Errors
    /// A part that is broken or exceeds a limit.
    pub(in crate::retrieval::corpus) fn part(&mut self, name: &str) -> Result<Option<String>, Fault> {
        self.decode(name).map_err(Trouble::fault)
    }

    /// As [`Package::part`]; a broken one is reported in `notes`.
    ///
    /// # Errors
    /// A part that exceeds a limit.
    pub(in crate::retrieval::corpus) fn optional(
        &mut self,
        name: &str,
        notes: &mut Notes,
    ) -> Result<Option<String>, Fault> {
        match self.decode(name) {
            Ok(part) => Ok(part),
            Err(Trouble::Limit(fault)) => Err(fault),
            Err(Trouble::Broken((expected, found))) => {
                notes.add(format!("{name} is not read: expected {expected}, found {found}"));
                Ok(None)
            }
        }
    }

    /// The part `name`, which `what` must have.
    ///
    /// # Errors
    /// As [`Package::part`]; no such part.
    pub(in crate::retrieval::corpus) fn needed(&mut self, name: &str, what: &str) -> Result<String, Fault> {
        self.part(name)?.ok_or_else(|| fault(what, format!("an archive without {name}")))
    }

    /// Notes the pictures and embedded files among the parts below one of `folders`: their text is not read.
    pub(in crate::retrieval::corpus) fn note_unread(&self, folders: &[&str], notes: &mut Notes) {
        let within = |name: &str| folders.iter().any(|folder| name.starts_with(folder)) && !name.ends_with('/');
        let all = self.archive.file_names().flatten().filter(|name| within(name));
        let (pictures, others): (Vec<_>, Vec<_>) = all.partition(|name| is_picture(name));
        for (names, one, many) in
            [(pictures, "picture is", "pictures are"), (others, "embedded object is", "embedded objects are")]
        {
            if let Some(list) = named(&names) {
                let what = if names.len() == 1 { one } else { many };
                notes.add(format!("{} {what} not read: {list}", names.len()));
            }
        }
    }
}

fn is_picture(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| PICTURES.contains(&extension.to_ascii_lowercase().as_str()))
}

/// The first of `names`, without their folders: "a.png, b.png, ..."; `None` for none.
fn named(names: &[Cow<'_, str>]) -> Option<String> {
    const SHOWN: usize = 3;
    let mut sorted: Vec<&str> = names.iter().map(|name| name.rsplit('/').next().unwrap_or(name)).collect();
    sorted.sort_unstable();
    let more = if sorted.len() > SHOWN { ", ..." } else { "" };
    sorted.truncate(SHOWN);
    (!sorted.is_empty()).then(|| format!("{}{more}", sorted.join(", ")))
}

/// A part as text: UTF-8, UTF-16 by its byte-order mark, else in the character set that it declares.
///
/// # Errors
/// The first byte that is not text.
fn text(bytes: Vec<u8>) -> Result<String, usize> {
    match Encoding::for_bom(&bytes).filter(|(encoding, _)| *encoding != UTF_8) {
        Some((encoding, _)) => Ok(encoding.decode_with_bom_removal(&bytes).0.into_owned()),
        None => String::from_utf8(bytes).or_else(|e| {
            let declared = charset::in_markup(e.as_bytes()).filter(|declared| *declared != UTF_8);
            let decoded = declared.map(|declared| declared.decode_without_bom_handling(e.as_bytes()).0.into_owned());
            decoded.ok_or(e.utf8_error().valid_up_to())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_part_may_declare_its_character_set() {
        let declared = b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><p>Br\xfccke</p>";
        assert!(text(declared.to_vec()).unwrap().ends_with("<p>Brücke</p>"));
        assert_eq!(text(b"\xff\xfeB\0r\0\xfc\0".to_vec()).unwrap(), "Brü");
        assert_eq!(text(b"<p>Br\xfccke</p>".to_vec()), Err(5));
    }
}
