//! The user's prompts: texts that replace files of `src/prompts`, by name.
//!
//! Grammars and schemas cannot be replaced: their parsers are compiled in, and a record's calls are repeated with the
//! program's grammars.

use crate::error::{MootError, Result};
use crate::prompts::File;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strsim::levenshtein;

/// Most bytes of a prompt file; the longest of the program's has some 4,000.
const MOST: u64 = 1 << 20;

/// Values that carry the question and its texts. A prompt that lacks one which the program's prompt has gets a warning.
const SHOWN: [&str; 7] = ["question", "document", "documents", "context", "contexts", "passage", "passages"];

/// The prompts that can be replaced, by name ([`methods::replaceable`](crate::methods::replaceable)).
pub(crate) type Replaceable = BTreeMap<&'static str, File>;

/// Texts that replace prompts of the program. Empty by default: then every prompt is the program's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnPrompts {
    texts: BTreeMap<&'static str, Arc<str>>,
}

impl OwnPrompts {
    /// Reads the folder `dir`. A file's path below it is the name of the prompt that it replaces: `madam_rag/agent.jinja`.
    /// Hidden files and folders are left out. A folder of prompts as they were exported, none of them edited, replaces nothing.
    ///
    /// # Errors
    /// [`MootError::Io`] where the system refuses; [`MootError::Input`] for a file whose name is no prompt's (with near
    /// names), for one that is no text, and for a folder without any prompt; [`MootError::Prompt`] for a template that
    /// does not parse.
    pub fn read(dir: &Path, files: &Replaceable) -> Result<Self> {
        let (mut own, mut read) = (Self::default(), 0);
        let mut folders: Vec<PathBuf> = vec![dir.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(|e| MootError::io(&folder, "read", e))? {
                let path = entry.map_err(|e| MootError::io(&folder, "read", e))?.path();
                if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let below = path.strip_prefix(dir).unwrap_or(&path);
                let name = below.components().map(|part| part.as_os_str().to_string_lossy());
                let name = name.collect::<Vec<_>>().join("/");
                let file = known(&name, files).map_err(|expected| found(&path, &expected, &format!("{name:?}")))?;
                own.replace(file, &text(&path)?)?;
                read += 1;
            }
        }
        if read == 0 {
            return Err(found(dir, "prompts, named as `moot prompts list METHOD` prints them", "none"));
        }
        Ok(own)
    }

    /// Replaces the prompt `file` by `text`. A text that is the program's own replaces nothing.
    ///
    /// # Errors
    /// [`MootError::Prompt`] for a template that does not parse.
    pub fn replace(&mut self, file: File, text: &str) -> Result<()> {
        File { name: file.name, text }.check()?;
        if text == file.text {
            self.texts.remove(file.name);
        } else {
            self.texts.insert(file.name, Arc::from(text));
        }
        Ok(())
    }

    /// As [`OwnPrompts::replace`], by the prompt's name.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] for a name that no prompt has; as [`OwnPrompts::replace`].
    pub fn replace_named(&mut self, name: &str, text: &str, files: &Replaceable) -> Result<()> {
        let file = known(name, files).map_err(|known| MootError::UnknownName {
            kind: "prompt",
            name: name.to_owned(),
            known,
        })?;
        self.replace(file, text)
    }

    /// The file as it is used: with its own text, or with the program's.
    #[must_use]
    pub fn of(&self, file: File) -> File<&str> {
        File { name: file.name, text: self.texts.get(file.name).map_or(file.text, |text| &**text) }
    }

    /// Prompts that leave out what the program's show: each by name, with those values of [`SHOWN`] that it never names.
    #[must_use]
    pub fn leaving_out(&self, files: &Replaceable) -> Vec<(&'static str, Vec<&'static str>)> {
        let left_out = |(name, text): (&&'static str, &Arc<str>)| {
            let (theirs, own) = (files.get(name)?.values(), File { name, text: &**text }.values());
            let missing = SHOWN.into_iter().filter(|value| theirs.contains(*value) && !own.contains(*value));
            Some((*name, missing.collect::<Vec<_>>()))
        };
        self.texts.iter().filter_map(left_out).filter(|(_, missing)| !missing.is_empty()).collect()
    }

    /// Those that replace one of `files`, by name.
    pub fn among(&self, files: impl IntoIterator<Item = File>) -> BTreeMap<String, String> {
        let own = |file: File| Some((file.name.to_owned(), self.texts.get(file.name)?.as_ref().to_owned()));
        files.into_iter().filter_map(own).collect()
    }

    /// The names of the prompts that are replaced.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.texts.keys().copied()
    }

    /// Whether no prompt is replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// The text of a prompt file, for [`OwnPrompts::replace`].
///
/// # Errors
/// [`MootError::Io`] where it cannot be read; [`MootError::Input`] where it is too long, empty, or no UTF-8.
pub(crate) fn text(path: &Path) -> Result<String> {
    let bytes = fs::metadata(path).map_err(|e| MootError::io(path, "read", e))?.len();
    if bytes > MOST {
        return Err(found(path, &format!("a prompt of at most {MOST} bytes"), &format!("{bytes} bytes")));
    }
    let text = fs::read(path).map_err(|e| MootError::io(path, "read", e))?;
    let text = String::from_utf8(text).map_err(|_| found(path, "a prompt in UTF-8", "other bytes"))?;
    if text.trim().is_empty() {
        return Err(found(path, "a prompt", "an empty file"));
    }
    Ok(text)
}

/// The prompt called `name`; else what was expected.
fn known(name: &str, files: &Replaceable) -> std::result::Result<File, String> {
    if let Some(file) = files.get(name) {
        return Ok(*file);
    }
    if name.ends_with(".lark") || name.ends_with(".jsonc") {
        return Err("a prompt (.jinja): grammars and schemas cannot be replaced".into());
    }
    let near = near(name, files.keys().copied());
    Err(match near.as_slice() {
        [] => format!("a prompt's name, as `moot prompts list` prints them ({} prompts)", files.len()),
        near => format!("a prompt's name, perhaps {}", near.join(" or ")),
    })
}

/// Up to four of `names` that are near `name`: the same file in another folder, the same folder, or few letters apart.
fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let (folder, stem) = parts(name);
    let mut ranked: Vec<(usize, &str)> = names
        .map(|known| {
            let (its_folder, its_stem) = parts(known);
            (levenshtein(folder, its_folder).min(4) + levenshtein(stem, its_stem), known)
        })
        .filter(|(edits, _)| *edits <= 4)
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(4).map(|(_, known)| known).collect()
}

/// The folder, and the file without its ending.
fn parts(name: &str) -> (&str, &str) {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    (folder, file.split('.').next().unwrap_or(file))
}

fn found(path: &Path, expected: &str, found: &str) -> MootError {
    MootError::Input { path: path.into(), line: None, expected: expected.into(), found: found.into() }
}
