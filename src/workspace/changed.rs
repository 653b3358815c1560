//! The files that changed since a git revision or a date.

use crate::dates::days_from_civil;
use crate::error::{MootError, Result};
use crate::retrieval::check_date;
use crate::retrieval::corpus::Corpus;
use crate::units::plural;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Changed files, by their full paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The files.
    pub files: BTreeSet<PathBuf>,
    since: String,
}

impl Changed {
    /// The files of `paths` that changed since `since`: a date, or a revision of the git repository that each path is in. With a
    /// revision, these are the files that differ from it, uncommitted and untracked ones included. In a repository, a date selects
    /// the last commit before it; elsewhere, files are compared by their time of change. A year or a month is its first day.
    ///
    /// # Errors
    /// An invalid date; an unknown revision; no git.
    pub fn since(since: &str, paths: &[String]) -> Result<Self> {
        let is_date = since.starts_with(|c: char| c.is_ascii_digit()) && since.len() >= 4 && check_date(since).is_ok();
        let day = is_date.then(|| first_day(since));
        let mut files = BTreeSet::new();
        for path in paths {
            let path = Path::new(path);
            let folder = if path.is_dir() {
                path
            } else {
                path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
            };
            match (&day, top(folder)) {
                (Some(day), None) => files.extend(modified(day, path)?),
                (Some(day), Some(top)) => {
                    let before = git(folder, &["rev-list", "-1", &format!("--before={day} 00:00"), "HEAD"])?;
                    let before = before.trim();
                    // The empty tree: everything is newer.
                    let before = if before.is_empty() { "4b825dc642cb6eb9a060e54bf8d69288fbee4904" } else { before };
                    files.extend(differing(before, folder, &top)?);
                }
                (None, Some(top)) => {
                    let named = git(
                        folder,
                        // A revision that begins with a dash must not be read as an option.
                        // `^{commit}` leads from a tag to its commit.
                        &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{since}^{{commit}}")],
                    );
                    let commit = named.map_err(|_| {
                        MootError::Usage(format!(
                            "--since {since}: expected a revision that git knows, or a date as 2024-05-31"
                        ))
                    })?;
                    files.extend(differing(commit.trim(), folder, &top)?);
                }
                (None, None) => {
                    let folder = folder.display();
                    return Err(MootError::Usage(format!(
                        "--since {since}: expected a date as 2024-05-31, or a git repository in {folder}"
                    )));
                }
            }
        }
        Ok(Self { files, since: since.to_owned() })
    }

    /// "3 files changed since main".
    #[must_use]
    pub fn told(&self) -> String {
        format!("{} changed since {}", plural(self.files.len(), "file", "files"), self.since)
    }
}

/// The root of the repository that `folder` is in.
fn top(folder: &Path) -> Option<PathBuf> {
    // Without git, or outside of a repository, a date is compared with the time of each file.
    let top = git(folder, &["rev-parse", "--show-toplevel"]).ok()?;
    // Not `trim`: the name of a folder may end in a space.
    Some(PathBuf::from(top.trim_end_matches('\n')))
}

/// Files below `folder` that differ from `commit`, and those that git does not know.
fn differing(commit: &str, folder: &Path, top: &Path) -> Result<BTreeSet<PathBuf>> {
    // With `-z` git puts no quotes around unusual names.
    let changed = git(folder, &["diff", "--name-only", "-z", commit, "--", "."])?;
    // `--full-name`, since `diff` names files from the root of the repository too.
    let unknown = git(folder, &["ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", "."])?;
    let paths = changed.split('\0').chain(unknown.split('\0')).filter(|path| !path.is_empty());
    // A deleted file has no full path any more, and is left out.
    Ok(paths.filter_map(|path| std::fs::canonicalize(top.join(path)).ok()).collect())
}

/// Files of `path` that were written on `day` or later.
fn modified(day: &str, path: &Path) -> Result<BTreeSet<PathBuf>> {
    let corpus = Corpus::open(&[path.display().to_string()])?;
    let from = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * days(day));
    let newer = |path: &&Path| std::fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|time| time >= from);
    Ok(corpus.paths().filter(newer).filter_map(|path| std::fs::canonicalize(path).ok()).collect())
}

/// Days from 1970 to `day`, a whole date that was checked; 0 for an earlier one.
fn days(day: &str) -> u64 {
    let mut parts = day.split('-').map(|part| part.parse().unwrap_or(1));
    let mut part = || parts.next().unwrap_or(1);
    u64::try_from(days_from_civil(part(), part(), part())).unwrap_or_default()
}

/// The first day of a valid year, month or day: git would fill in missing parts from today's date.
fn first_day(date: &str) -> String {
    format!("{date}{}", &"-01-01"[date.len().saturating_sub(4).min(6)..])
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output();
    let output = output.map_err(|e| MootError::io(Path::new("git"), "run", e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("git failed");
    Err(MootError::Usage(format!("--since: git {}: {said}", arguments.first().unwrap_or(&""))))
}

#[cfg(test)]
mod tests {
    use super::{days, first_day};

    #[test]
    fn a_date_begins_on_its_first_day() {
        let first = ["1970", "1970-02", "2000-03-01"].map(first_day);
        assert_eq!(first, ["1970-01-01", "1970-02-01", "2000-03-01"]);
        assert_eq!((first.map(|day| days(&day)), days("1950-01-01")), ([0, 31, 11_017], 0));
    }
}
