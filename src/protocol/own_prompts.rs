//! The user's prompts: texts that replace files of `src/prompts`, by name, and formats of the replies to them.
//!
//! The program's grammars and schemas cannot be replaced: their parsers are compiled in. A format of the user's
//! (`agent.format`, `agent.lark` beside `agent.jinja`) brings what reads it.

use crate::error::{MootError, Result};
use crate::prompts::File;
use crate::protocol::own_format::OwnFormat;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strsim::levenshtein;

/// Most bytes of a prompt file; the longest of the program's has some 4,000.
const MOST: u64 = 1 << 20;

/// Values that carry the question and its texts. A prompt that lacks one which the program's prompt has gets a warning.
const SHOWN: [&str; 7] = ["question", "document", "documents", "context", "contexts", "passage", "passages"];

/// The endings of a prompt, and of the two files of a format of the user's.
const PROMPT: &str = ".jinja";
const FORMAT: &str = ".format";
const GRAMMAR: &str = ".lark";
const OF_FORMATS: [&str; 2] = [FORMAT, GRAMMAR];

/// The prompts that can be replaced, by name ([`methods::replaceable`](crate::methods::replaceable)).
pub(crate) type Replaceable = BTreeMap<&'static str, File>;

/// Texts that replace prompts of the program. Empty by default: then every prompt is the program's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnPrompts {
    texts: BTreeMap<&'static str, Arc<str>>,
    /// Formats of replies, by the prompt's name.
    formats: BTreeMap<&'static str, OwnFormat>,
}

impl OwnPrompts {
    /// Reads the folder `dir`. A file's path below it is the name of the prompt that it replaces: `madam_rag/agent.jinja`.
    /// Hidden files and folders are left out. A folder of prompts as they were exported, none of them edited, replaces nothing.
    ///
    /// # Errors
    /// [`MootError::Io`] where the system refuses; [`MootError::Input`] for a file without a prompt's name (with near
    /// names), for one that is not text, and for a folder without any prompt; [`MootError::Prompt`] for a template that
    /// does not parse.
    pub fn read(dir: &Path, files: &Replaceable) -> Result<Self> {
        let (mut own, mut read, mut formats) = (Self::default(), 0, Vec::new());
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
                if Self::is_of_format(&name) && beside(&name, files).is_some() {
                    formats.push((name, path));
                    continue;
                }
                let file = known(&name, files).map_err(|expected| found(&path, &expected, &format!("{name:?}")))?;
                own.replace(file, &text(&path)?)?;
                read += 1;
            }
        }
        own.add_formats(&formats, files)?;
        if read == 0 && own.formats.is_empty() {
            return Err(found(dir, "prompts, named as `moot prompts list METHOD` prints them", "none"));
        }
        Ok(own)
    }

    /// Reads the formats in these files, each by its name below the folder.
    fn add_formats(&mut self, paths: &[(String, PathBuf)], files: &Replaceable) -> Result<()> {
        for (name, path) in paths {
            let Some(stem) = name.strip_suffix(FORMAT) else {
                let format = name.replace(GRAMMAR, FORMAT);
                if paths.iter().any(|(other, _)| *other == format) {
                    continue;
                }
                return Err(found(
                    path,
                    &format!("{format} in the same folder, which states how replies are read"),
                    "no such file",
                ));
            };
            let grammar = paths.iter().find(|(other, _)| *other == format!("{stem}{GRAMMAR}"));
            let grammar = grammar.map(|(_, path)| text(path)).transpose()?;
            let prompt = beside(name, files).expect("names of formats are those of prompts (bug)");
            let format = OwnFormat::parse(&text(path)?, grammar.as_deref());
            let format = format.map_err(|(line, expected)| MootError::Input {
                path: path.clone(),
                line: Some(line),
                expected,
                found: "another line".into(),
            })?;
            self.formats.insert(prompt.name, format);
        }
        Ok(())
    }

    /// The format of the user's for replies to `prompt`.
    pub(crate) fn format(&self, prompt: File) -> Option<&OwnFormat> {
        self.formats.get(prompt.name)
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
        if let Some(prompt) = beside(name, files) {
            return self.replace_format(name, text, prompt);
        }
        let file = known(name, files).map_err(|known| MootError::UnknownName {
            kind: "prompt",
            name: name.to_owned(),
            known,
        })?;
        self.replace(file, text)
    }

    /// Sets the format of replies to `prompt`, or its grammar: a record has the format first, since names are sorted.
    fn replace_format(&mut self, name: &str, text: &str, prompt: File) -> Result<()> {
        let wrong = |(_, expected)| MootError::Usage(format!("{name}: expected {expected}"));
        let known = self.formats.get(prompt.name).map(|format| format.text.clone());
        let format = match known.filter(|_| name.ends_with(GRAMMAR)) {
            Some(format) => OwnFormat::parse(&format, Some(text)),
            None => OwnFormat::parse(text, None),
        };
        self.formats.insert(prompt.name, format.map_err(wrong)?);
        Ok(())
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

    /// Those that replace one of `files`, and the formats of replies to them, by name.
    pub fn among(&self, files: impl IntoIterator<Item = File>) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for file in files {
            all.extend(self.texts.get(file.name).map(|text| (file.name.to_owned(), text.to_string())));
            let Some(format) = self.formats.get(file.name) else { continue };
            let stem = file.name.trim_end_matches(PROMPT);
            all.insert(format!("{stem}{FORMAT}"), format.text.to_string());
            all.extend(format.grammar.as_ref().map(|grammar| (format!("{stem}{GRAMMAR}"), grammar.to_string())));
        }
        all
    }

    /// Whether the file of this name says how replies are read, instead of what is asked.
    #[must_use]
    pub fn is_of_format(name: &str) -> bool {
        OF_FORMATS.iter().any(|end| name.ends_with(end))
    }

    /// The names of the prompts that are replaced, or whose replies have a format of the user's.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.texts.keys().chain(self.formats.keys()).copied()
    }

    /// Whether nothing is replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.formats.is_empty()
    }
}

/// The prompt to which a file of a format belongs: the one of the same name in the same folder.
fn beside(name: &str, files: &Replaceable) -> Option<File> {
    let stem = OF_FORMATS.iter().find_map(|end| name.strip_suffix(end))?;
    files.get(&*format!("{stem}{PROMPT}")).copied()
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

/// The prompt called `name`; else the expected names.
fn known(name: &str, files: &Replaceable) -> std::result::Result<File, String> {
    if let Some(file) = files.get(name) {
        return Ok(*file);
    }
    if name.ends_with(".lark") || name.ends_with(".jsonc") {
        return Err(
            "a prompt (.jinja), or a file beside one (.format, .lark): the program's grammars cannot be replaced"
                .into(),
        );
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
            // Another folder alone costs no more than the limit: the same file there is near.
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
