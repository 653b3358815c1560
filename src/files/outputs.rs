//! Outputs: every file that a command writes for its user goes through here.
//!
//! An [`Output`] appears at its path when it is complete, or not at all. Until then it is a new file of an unpredictable name in
//! the same folder, so no file of the user's is touched. [`distinct`] refuses an output that is an input or another output of
//! the same command, whatever its name. Records of runs are the exception: they are appended to (`eval/record/writer.rs`).

use super::refuse_irregular;
use crate::error::{MootError, Result};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How names of unfinished files begin. A command that was killed may leave one.
const PREFIX: &str = ".moot-";

/// A file that a command writes.
pub(crate) struct Output {
    file: NamedTempFile,
    /// Links resolved.
    target: PathBuf,
    /// The mode of the file that is replaced.
    kept: Option<Permissions>,
    replaces: bool,
}

impl Output {
    /// Begins a file that is new, or replaces the one at `path`. A link is followed: its target is replaced.
    ///
    /// # Errors
    /// [`MootError::Io`]; [`MootError::Input`] for anything but a regular file or a new name in a folder that exists.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        check(path)?;
        let existing = fs::metadata(path).ok();
        // A rename needs no right to the file that it replaces, so that a read-only file would be lost.
        if existing.as_ref().is_some_and(|found| found.permissions().readonly()) {
            return Err(MootError::io(path, "write", io::ErrorKind::PermissionDenied.into()));
        }
        let target = match existing {
            Some(_) => fs::canonicalize(path).map_err(|e| MootError::io(path, "open", e))?,
            None => path.to_owned(),
        };
        Self::begin(path, target, existing.map(|found| found.permissions()), true)
    }

    /// Begins a file at `path`, where nothing may be.
    ///
    /// # Errors
    /// [`MootError::Usage`] where something is there; otherwise as [`Output::create`].
    pub(crate) fn create_new(path: &Path) -> Result<Self> {
        refuse_existing(path)?;
        check(path)?;
        Self::begin(path, path.to_owned(), None, false)
    }

    fn begin(path: &Path, target: PathBuf, kept: Option<Permissions>, replaces: bool) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        if kept.is_none() {
            use std::os::unix::fs::PermissionsExt;
            // The process's umask applies, as to any new file.
            builder.permissions(Permissions::from_mode(0o666));
        }
        // In the folder of the target, since a rename does not cross file systems.
        let file = builder.tempfile_in(folder(&target)).map_err(|e| MootError::io(path, "create", e))?;
        Ok(Self { file, target, kept, replaces })
    }

    /// The open file, before it has its name.
    ///
    /// # Errors
    /// [`MootError::Io`].
    pub(crate) fn file(&self) -> Result<File> {
        self.file.as_file().try_clone().map_err(|e| MootError::io(&self.target, "open", e))
    }

    /// Gives the file its name; it is on the disk when this returns.
    ///
    /// # Errors
    /// [`MootError::Io`], a full disk for example; [`MootError::Usage`] where a file must be new, and another was made there
    /// meanwhile. Nothing is left then, and a file that was to be replaced is as it was.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { file, target, kept, replaces } = self;
        let wrong = |e| MootError::io(&target, "write", e);
        if let Some(kept) = kept {
            file.as_file().set_permissions(kept).map_err(wrong)?;
        }
        // Before the rename: after a crash the name must not lead to a file without its content.
        file.as_file().sync_all().map_err(wrong)?;
        let named = if replaces { file.persist(&target) } else { file.persist_noclobber(&target) };
        named.map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&target),
            _ => wrong(e.error),
        })?;
        sync_folder(&target);
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

/// Writes a file that is new, or replaces the one at `path`.
///
/// # Errors
/// As [`Output::create`] and [`Output::finish`].
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fill(Output::create(path)?, path, bytes)
}

/// Writes a file at `path`, where nothing may be.
///
/// # Errors
/// As [`Output::create_new`] and [`Output::finish`].
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    fill(Output::create_new(path)?, path, bytes)
}

fn fill(mut output: Output, path: &Path, bytes: &[u8]) -> Result<()> {
    output.write_all(bytes).map_err(|e| MootError::io(path, "write", e))?;
    output.finish()
}

/// Makes the name of a new file last as long as its content. Where folders cannot be synced, only that is lost.
pub(crate) fn sync_folder(path: &Path) {
    if let Ok(folder) = File::open(folder(path)) {
        let _ = folder.sync_all();
    }
}

/// The folder of `path`.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether `path` can be an output: a regular file, or a new name in a folder that exists. It is not opened.
///
/// # Errors
/// [`MootError::Io`]; [`MootError::Input`] for anything else.
pub(crate) fn check(path: &Path) -> Result<()> {
    let wrong = |expected: &str, found: String| {
        Err(MootError::Input { path: path.into(), line: None, expected: expected.into(), found })
    };
    match fs::metadata(path) {
        Ok(found) => refuse_irregular(path, &found),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return wrong("a file, or a new name", "a link to a file that is not there".into());
            }
            let folder = folder(path);
            if folder.is_dir() {
                return Ok(());
            }
            wrong("a file in a folder that exists", format!("no folder {}", folder.display()))
        }
        Err(e) => Err(MootError::io(path, "open", e)),
    }
}

/// Refuses an output that must be new and is there already.
///
/// # Errors
/// [`MootError::Usage`].
pub(crate) fn refuse_existing(path: &Path) -> Result<()> {
    if fs::symlink_metadata(path).is_ok() { Err(exists(path)) } else { Ok(()) }
}

fn exists(path: &Path) -> MootError {
    MootError::Usage(format!("{}: exists already; expected the path of a new file", path.display()))
}

/// Whether a file can be created beside `path`: tried, since permissions alone do not say so.
///
/// # Errors
/// [`MootError::Io`].
pub(crate) fn creatable(path: &Path) -> Result<()> {
    let probe = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder(path));
    probe.map(drop).map_err(|e| MootError::io(path, "create", e))
}

/// A path of an input, with the argument that it was typed for: `("--reuse", path)`.
pub(crate) type InputPath<'a> = (&'a str, &'a Path);

/// A path of an output, with the argument that it was typed for: `("--answers", path)`.
type OutputPath<'a> = (&'a str, &'a Path);

/// Refuses an output that is an input or another output of the same command. Links are resolved, hard ones too. Inputs
/// may be folders and patterns as corpora are typed: a file in such a folder is an input. A file that does not exist
/// yet is not an input.
///
/// # Errors
/// [`MootError::Usage`] with both arguments.
pub(crate) fn distinct(outputs: &[OutputPath<'_>], inputs: &[InputPath<'_>]) -> Result<()> {
    for (index, &(argument, path)) in outputs.iter().enumerate() {
        if let Some((other, _)) = outputs[..index].iter().find(|(_, other)| is_same_output(path, other)) {
            let path = path.display();
            return Err(MootError::Usage(format!("{argument} {path}: expected another file than that of {other}")));
        }
        if path.exists()
            && let Some((input, typed)) = inputs.iter().find(|(_, input)| is_read(path, input))
        {
            let (path, typed) = (path.display(), typed.display());
            return Err(MootError::Usage(format!(
                "{argument} {path}: expected a file that the command does not read, found one of {input} {typed}"
            )));
        }
    }
    Ok(())
}

/// Whether two outputs are one file; where neither is there, whether they have one name but for its case.
fn is_same_output(a: &Path, b: &Path) -> bool {
    // Some file systems do not tell names apart by their case.
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    match (identity(a), identity(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => name(a) == name(b) && identity(folder(a)) == identity(folder(b)),
        _ => false,
    }
}

/// Whether the file at `path` is read where `typed` is an input: it is that file, or lies in that folder, or the pattern has it.
fn is_read(path: &Path, typed: &Path) -> bool {
    let (Some(own), Ok(real)) = (identity(path), fs::canonicalize(path)) else { return false };
    let holds = |input: &Path| {
        identity(input).is_some_and(|input| input == own)
            || input.is_dir() && fs::canonicalize(input).is_ok_and(|folder| real.starts_with(folder))
    };
    let text = typed.to_string_lossy();
    // `file.jsonl:17` is a line of a file.
    let line = text.rsplit_once(':').filter(|(_, line)| line.parse::<usize>().is_ok()).map(|(file, _)| file);
    holds(typed)
        || line.is_some_and(|file| holds(Path::new(file)))
        || text.contains(['*', '?', '['])
            && glob::glob(&text).is_ok_and(|mut found| found.any(|found| found.is_ok_and(|found| holds(&found))))
}

/// The identity of a file: device and inode.
#[cfg(unix)]
pub(crate) type Identity = (u64, u64);

/// The identity of a file: its whole path. Two hard links to a file count as two files.
#[cfg(not(unix))]
pub(crate) type Identity = PathBuf;

/// The identity of the file at `path`, links resolved; `None` where there is none.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The identity of the file at `path`, links resolved; `None` where there is none.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    fs::canonicalize(path).ok()
}

#[cfg(test)]
mod tests {
    use super::{Output, distinct, write, write_new};
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    fn names(folder: &Path) -> Vec<String> {
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn an_output_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        for part in ["a.part", "a.csv.part", "a.csv.new"] {
            fs::write(folder.path().join(part), "mine").unwrap();
        }
        let before = names(folder.path());
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(output);
        assert_eq!(names(folder.path()), before, "an unfinished file is removed");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()).len(), before.len() + 1);
        let refused = write_new(&path, b"three").unwrap_err().to_string();
        assert!(refused.contains("exists already"), "{refused}");
        // Another program makes the file in between.
        let late = Output::create_new(&folder.path().join("b")).unwrap();
        fs::write(folder.path().join("b"), "theirs").unwrap();
        assert!(late.finish().unwrap_err().to_string().contains("exists already"));
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"theirs");
        assert!(write(&folder.path().join("no/a"), b"").unwrap_err().to_string().contains("no folder"));
        assert!(write(folder.path(), b"").unwrap_err().to_string().contains("a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn modes_are_kept_and_links_lead_to_their_file() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        fs::write(at("plain"), "").unwrap();
        write(&at("new"), b"").unwrap();
        assert_eq!(mode("new"), mode("plain"), "the umask decides");
        fs::set_permissions(at("plain"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink(at("plain"), at("link")).unwrap();
        write(&at("link"), b"text").unwrap();
        assert_eq!((mode("plain"), fs::read(at("plain")).unwrap()), (0o640, b"text".to_vec()));
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        symlink(at("nothing"), at("broken")).unwrap();
        assert!(write(&at("broken"), b"").unwrap_err().to_string().contains("a link to a file that is not there"));
        assert!(write_new(&at("broken"), b"").is_err() && !at("nothing").exists());
        fs::set_permissions(at("plain"), fs::Permissions::from_mode(0o440)).unwrap();
        assert!(write(&at("link"), b"").unwrap_err().to_string().contains("cannot write"));
    }

    #[test]
    fn an_output_is_no_input_and_no_other_output() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("corpus/more")).unwrap();
        for name in ["q.jsonl", "corpus/a.csv", "corpus/more/b.csv"] {
            fs::write(at(name), "").unwrap();
        }
        fs::hard_link(at("q.jsonl"), at("hard.jsonl")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("q.jsonl"), at("soft.jsonl")).unwrap();
        let refused = |output: &Path, input: &Path| distinct(&[("--answers", output)], &[("DATASET", input)]).is_err();
        assert!(refused(&at("q.jsonl"), &at("q.jsonl")) && refused(&at("corpus/../q.jsonl"), &at("q.jsonl")));
        assert!(refused(&at("q.jsonl"), Path::new(&format!("{}:17", at("q.jsonl").display()))));
        assert!(refused(&at("corpus/more/b.csv"), &at("corpus")) && refused(&at("corpus/a.csv"), &at("corpus/*.csv")));
        assert!(!refused(&at("corpus/new.csv"), &at("corpus")) && !refused(&at("q.jsonl"), &at("corpus")));
        assert!(!refused(&at("q.jsonl"), Path::new("http://127.0.0.1:6333#name")));
        #[cfg(unix)]
        assert!(refused(&at("hard.jsonl"), &at("q.jsonl")) && refused(&at("soft.jsonl"), &at("q.jsonl")));
        let both = |a: &Path, b: &Path| distinct(&[("-o", a), ("--answers", b)], &[]).map_err(|e| e.to_string());
        assert!(both(&at("z.jsonl"), &at("corpus/../z.jsonl")).unwrap_err().contains("--answers"));
        assert!(both(&at("z.jsonl"), &at("Z.jsonl")).is_err() && both(&at("z.jsonl"), &at("z.csv")).is_ok());
        assert!(both(&at("q.jsonl"), &at("new")).is_ok());
    }
}
