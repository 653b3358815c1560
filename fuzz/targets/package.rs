//! Documents that are zip archives of XML.

use super::{Bound, corpus, tokens, words};
use crate::mutate;
use crate::random::Random;
use moot::{MootError, Result};
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// All parts of a package that [`change`] makes have at most [`PARTS`] bytes. A part is there as bytes, as text, as an
/// EPUB's markup a second time, as its text with the position of each run, and as passages: 100 bytes a byte at most. The
/// stated limits (256 MiB decoded) would allow more.
pub(super) const BOUND: Bound = Bound { fixed: 100 * PARTS, factor: 100 };

/// Bytes of all parts that [`change`] makes.
const PARTS: usize = 256 << 10;

/// A package, of the kind that its parts' names say.
pub(super) fn package(bytes: &[u8]) -> Result<()> {
    let has = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    let ending = match () {
        () if has("META-INF/container") => "epub",
        () if has("content.xml") && has("sheets") => "ods",
        () if has("content.xml") => "odt",
        () if has("ppt/presentation.xml") => "pptx",
        () if has("xl/workbook.xml") => "xlsx",
        () => "docx",
    };
    let outcome = corpus(ending, bytes);
    // The corpus reader goes on after a panic; here it is a fault.
    if let Err(MootError::Input { found, .. }) = &outcome {
        assert!(!found.contains("panic"), "{found}");
    }
    outcome
}

/// Changes the markup of a part, the parts there are, or the archive itself.
pub(super) fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let Some(mut parts) = parts(bytes).filter(|parts| !parts.is_empty() && random.below(5) != 0) else {
        mutate::blind(bytes, random);
        return;
    };
    let at = random.below(parts.len());
    match random.below(8) {
        0 => drop(parts.swap_remove(at)),
        1 => parts.push((format!("{}{}", parts[at].0, random.below(4)), parts[at].1.clone())),
        2 => {
            let mut name = parts[at].0.clone().into_bytes();
            mutate::blind(&mut name, random);
            parts[at].0 = String::from_utf8_lossy(&name).into_owned();
        }
        3 | 4 => tokens(&mut parts[at].1, random, words::XML),
        _ => elements(&mut parts[at].1, random),
    }
    let size: usize = parts.iter().map(|(name, text)| name.len() + text.len()).sum();
    let packed = if size > PARTS { None } else { pack(&parts, random) };
    match packed {
        Some(packed) => *bytes = packed,
        None => mutate::blind(bytes, random),
    }
}

/// Puts whole elements before a tag, or takes away what is between two tags: the markup mostly stays well-formed.
fn elements(text: &mut Vec<u8>, random: &mut Random) {
    let tags: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'<').collect();
    let Some(&at) = tags.get(random.below(tags.len())) else { return };
    if random.below(4) == 0 {
        let end = text[at..].iter().position(|&byte| byte == b'>').map_or(text.len(), |end| at + end + 1);
        drop(text.drain(end..tags.iter().copied().find(|&tag| tag >= end).unwrap_or(text.len())));
        return;
    }
    let times = 1 + random.below(3) * random.below(200);
    let element = random.pick(words::ELEMENTS).as_bytes().repeat(times);
    drop(text.splice(at..at, element));
}

type Parts = Vec<(String, Vec<u8>)>;

/// The names and contents of an archive's parts; `None` for bytes that are not an archive, or for too large a one.
fn parts(bytes: &[u8]) -> Option<Parts> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut parts = Parts::new();
    for at in 0..archive.len() {
        let part = archive.by_index(at).ok()?;
        let (name, mut text) = (part.name().ok()?.into_owned(), Vec::new());
        part.take(PARTS as u64 + 1).read_to_end(&mut text).ok().filter(|read| *read <= PARTS)?;
        parts.push((name, text));
    }
    Some(parts)
}

/// An archive of `parts`; `None` where two have one name.
pub(crate) fn pack(parts: &Parts, random: &mut Random) -> Option<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        let method = *random.pick(&[CompressionMethod::Deflated, CompressionMethod::Stored]);
        archive.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).ok()?;
        archive.write_all(text).ok()?;
    }
    Some(archive.finish().ok()?.into_inner())
}
