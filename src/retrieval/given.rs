//! Documents named on the command line: files, folders and globs.

use crate::error::{MootError, Result};
use crate::jsonl::{Lines, Object};
use crate::question::{Document, Gold, Label};
use crate::retrieval::text::{self, BOM, FrontMatter, input};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The documents read, and the question that came with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// In the order given; those of a folder by name.
    pub documents: Vec<Document>,
    /// The question of the dataset line, if one was given.
    pub question: Option<String>,
    /// The gold answers of the dataset line, if it has some.
    pub gold: Option<Gold>,
    /// Files that were skipped, with the reason, to be shown to the user: "notes.pdf: not .txt, .md or .jsonl".
    pub skipped: Vec<String>,
}

/// Reads the documents that `paths` name.
///
/// A path is a file (`.txt`, `.md`, `.jsonl`), a line of a JSONL file (`file.jsonl:17`), a folder (one level,
/// by name, without hidden files), or a glob. A `.md` file may start with lines `source:`, `date:`, `url:` or
/// `title:` between two lines `---`. A JSONL line is one document (`text`, and optionally `source`, `date`,
/// `url`, `title`), or a question with its `documents`, as in RAMDocs. A document is named by its title, else
/// by its file (and line). Documents that would have the same name are named by their path.
///
/// # Errors
/// [`MootError::Input`] or [`MootError::Io`] for the first path that is missing or matches nothing, and for
/// the first file that is binary, not UTF-8, empty or malformed.
pub fn load(paths: &[String]) -> Result<Given> {
    let mut gathering = Gathering::default();
    for path in paths {
        gathering.add(path)?;
    }
    Ok(gathering.finish())
}

/// The text of one file, without the front matter of a `.md` file.
///
/// # Errors
/// [`MootError::Io`] for a missing file, [`MootError::Input`] for one that is binary, not UTF-8, empty, or a `.jsonl` file.
pub fn text(path: &Path) -> Result<String> {
    let document = match Kind::of(path) {
        Some(Kind::Jsonl) => return Err(input(path, None, "a text", "a .jsonl file")),
        Some(Kind::Markdown) => markdown_document(path, &text::read(path)?)?,
        _ => text_document(path, &text::read(path)?)?,
    };
    Ok(document.text)
}

#[derive(Default)]
struct Gathering {
    given: Given,
    /// The origin of each document: "folder/a.txt" or "b.jsonl:3".
    origins: Vec<String>,
    /// Files already read, by their real path.
    seen: HashSet<PathBuf>,
    /// A dataset line was read.
    asked: bool,
}

impl Gathering {
    fn add(&mut self, typed: &str) -> Result<()> {
        let path = Path::new(typed);
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => self.add_folder(path),
            Ok(_) => self.add_file(path, None),
            Err(e) => match numbered(typed) {
                Some((file, line)) => self.add_file(file, Some(line)),
                None if typed.contains(['*', '?', '[']) => self.add_glob(typed),
                None => Err(MootError::io(path, "open", e)),
            },
        }
    }

    fn add_folder(&mut self, folder: &Path) -> Result<()> {
        let refused = |e| MootError::io(folder, "list", e);
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                entries.push(entry.path());
            }
        }
        entries.sort();
        self.add_found(folder, &entries, "an empty folder")
    }

    fn add_glob(&mut self, pattern: &str) -> Result<()> {
        let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
        let matches = glob::glob_with(pattern, options)
            .map_err(|e| MootError::Usage(format!("{pattern}: not a glob: {} (at {})", e.msg, e.pos)))?;
        let mut entries = Vec::new();
        for entry in matches {
            entries.push(entry.map_err(|e| {
                let path = e.path().to_path_buf();
                MootError::io(&path, "list", e.into())
            })?);
        }
        entries.sort();
        self.add_found(Path::new(pattern), &entries, "no match")
    }

    /// Adds `entries`, which were found in a folder or by a glob: files of other kinds are skipped, not refused.
    fn add_found(&mut self, place: &Path, entries: &[PathBuf], nothing: &str) -> Result<()> {
        let mut taken = 0;
        for entry in entries {
            if entry.is_dir() {
                self.skip(entry, "a folder");
            } else if Kind::of(entry).is_some() {
                if let Some(kind) = fs::metadata(entry).ok().as_ref().and_then(text::irregular) {
                    self.skip(entry, &format!("{kind}, not a regular file"));
                    continue;
                }
                self.add_file(entry, None)?;
                taken += 1;
            } else {
                self.skip(entry, "not .txt, .md or .jsonl");
            }
        }
        if taken > 0 {
            return Ok(());
        }
        let found = match entries {
            [] => nothing.to_owned(),
            [only] => format!("only {}", only.display()),
            [first, ..] => format!("only other things ({}, ...)", first.display()),
        };
        Err(input(place, None, "at least one .txt, .md or .jsonl file", found))
    }

    fn add_file(&mut self, path: &Path, line: Option<usize>) -> Result<()> {
        let kind = Kind::of(path).ok_or_else(|| {
            let found = path.extension().map_or("no ending".into(), |e| format!(".{}", e.to_string_lossy()));
            input(path, None, "a .txt, .md or .jsonl file, or a folder", found)
        })?;
        let real = fs::canonicalize(path).map_err(|e| MootError::io(path, "open", e))?;
        if line.is_none() && !self.seen.insert(real) {
            self.skip(path, "given before");
            return Ok(());
        }
        match kind {
            Kind::Text => {
                let document = text_document(path, &text::read(path)?)?;
                self.push(path.display().to_string(), named(path, None), document);
            }
            Kind::Markdown => {
                let document = markdown_document(path, &text::read(path)?)?;
                self.push(path.display().to_string(), named(path, None), document);
            }
            Kind::Jsonl => self.add_jsonl(path, line)?,
        }
        Ok(())
    }

    fn add_jsonl(&mut self, path: &Path, wanted: Option<usize>) -> Result<()> {
        text::open(path)?;
        let mut any = false;
        for numbered in Lines::open(path)? {
            let (number, text) = numbered?;
            if wanted.is_some_and(|n| n != number) {
                continue;
            }
            any = true;
            let object = Object::parse(path, number, &text)?;
            if object.has("documents") {
                self.add_dataset_line(path, number, &object)?;
            } else if object.has("text") {
                let origin = format!("{}:{number}", path.display());
                self.push(origin, named(path, Some(number)), json_document(&object)?);
            } else {
                let expected = "an object with `text`, or with `question` and `documents`";
                return Err(object.complaint(expected, format!("the fields {}", object.names())));
            }
        }
        match wanted {
            _ if any => Ok(()),
            Some(line) => Err(input(path, Some(line), "a line of JSON", "a blank line or the end of the file")),
            None => Err(input(path, None, "one JSON object a line", "an empty file")),
        }
    }

    fn add_dataset_line(&mut self, path: &Path, number: usize, object: &Object) -> Result<()> {
        if std::mem::replace(&mut self.asked, true) {
            let found = format!("a second question (take one as {}:{number}, or `moot run` for all)", path.display());
            return Err(object.complaint("the documents of one question", found));
        }
        self.given.question = object.optional_string("question")?;
        if object.has("gold_answers") {
            let wrong = if object.has("wrong_answers") { object.strings("wrong_answers")? } else { Vec::new() };
            self.given.gold = Some(Gold::all_of(object.strings("gold_answers")?, wrong));
        }
        let documents = object.objects("documents")?;
        if documents.is_empty() {
            return Err(object.complaint("at least one document in `documents`", "an empty list".into()));
        }
        for (i, object) in documents.iter().enumerate() {
            let mut document = json_document(object)?;
            if object.has("type") {
                let answer = object.optional_string("answer")?.unwrap_or_default();
                document.label = Some(Label { kind: object.string("type")?, answer });
            }
            let origin = format!("{}:{number}, document {}", path.display(), i + 1);
            self.push(origin, format!("document {}", i + 1), document);
        }
        Ok(())
    }

    fn push(&mut self, origin: String, name: String, mut document: Document) {
        if document.name.is_empty() {
            document.name = name;
        }
        self.origins.push(origin);
        self.given.documents.push(document);
    }

    fn skip(&mut self, path: &Path, why: &str) {
        self.given.skipped.push(format!("{}: {why}", path.display()));
    }

    fn finish(mut self) -> Given {
        let mut uses: HashMap<String, usize> = HashMap::new();
        for document in &self.given.documents {
            *uses.entry(document.name.clone()).or_default() += 1;
        }
        for (document, origin) in self.given.documents.iter_mut().zip(&self.origins) {
            if uses[&document.name] > 1 {
                document.name.clone_from(origin);
            }
        }
        self.given
    }
}

enum Kind {
    Text,
    Markdown,
    Jsonl,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "txt" => Some(Self::Text),
            "md" => Some(Self::Markdown),
            "jsonl" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

/// Splits "file.jsonl:17" into path and line, if the file exists.
fn numbered(typed: &str) -> Option<(&Path, usize)> {
    let (file, line) = typed.rsplit_once(':')?;
    let path = Path::new(file);
    let line = line.parse().ok()?;
    (matches!(Kind::of(path), Some(Kind::Jsonl)) && path.is_file()).then_some((path, line))
}

fn named(path: &Path, line: Option<usize>) -> String {
    let file = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    line.map_or(file.clone(), |line| format!("{file}:{line}"))
}

fn text_document(path: &Path, text: &str) -> Result<Document> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    if text.trim().is_empty() {
        return Err(input(path, None, "text", "an empty document"));
    }
    Ok(Document { text: text.to_owned(), ..Document::default() })
}

fn markdown_document(path: &Path, text: &str) -> Result<Document> {
    let (front, body) = FrontMatter::split(text);
    let FrontMatter { title, source, date, url } = front;
    let document = text_document(path, &text[body..])?;
    Ok(Document { name: title.clone().unwrap_or_default(), title, source, date, url, ..document })
}

fn json_document(object: &Object) -> Result<Document> {
    let title = object.optional_string("title")?;
    Ok(Document {
        name: title.clone().unwrap_or_default(),
        text: object.full_string("text")?,
        title,
        source: object.optional_string("source")?,
        date: object.optional_date("date")?,
        url: object.optional_string("url")?,
        ..Document::default()
    })
}
