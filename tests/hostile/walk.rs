//! Folders with entries that are not regular files, and links to other folders.
#![cfg(unix)]

use super::{one, read};
use moot::retrieval::corpus::Corpus;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn other_than_regular_files_are_skipped_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    pipe(&at("pipe.txt"));
    pipe(&at("pipe.jsonl"));
    let _listening = UnixListener::bind(at("socket.md")).unwrap();
    fs::write(at("z.txt"), "sound").unwrap();
    let (texts, skipped) = read(folder.path()).unwrap();
    assert_eq!(texts, ["sound"]);
    assert_eq!(
        skipped,
        [
            "pipe.jsonl: a named pipe, not a regular file",
            "pipe.txt: a named pipe, not a regular file",
            "socket.md: a socket, not a regular file",
        ]
    );
    // Named itself, it is an error.
    for (name, kind) in [("pipe.txt", "a named pipe"), ("socket.md", "a socket")] {
        let error = Corpus::open(&[at(name).display().to_string()]).unwrap_err().to_string();
        assert!(error.ends_with(&format!("expected a regular file, or a folder, found {kind}")), "{error}");
        let error = moot::retrieval::given::load(&[at(name).display().to_string()]).unwrap_err().to_string();
        assert!(error.ends_with(&format!("expected a regular file, or a folder, found {kind}")), "{error}");
    }
    // As documents that are named on the command line.
    let given = moot::retrieval::given::load(&[folder.path().display().to_string()]).unwrap();
    assert_eq!((given.documents.len(), given.skipped.len()), (1, 3), "{:?}", given.skipped);
    // A link to a device has no other end than this.
    symlink("/dev/zero", at("zero.txt")).unwrap();
    let error = moot::retrieval::given::load(&[at("zero.txt").display().to_string()]).unwrap_err().to_string();
    assert!(error.ends_with("found a device"), "{error}");
    let error = Corpus::open(&[at("zero.txt").display().to_string()]).unwrap_err().to_string();
    assert!(error.ends_with("found a device"), "{error}");
}

/// Folders within each other, `levels` of 200 characters.
fn deep(at: &Path, levels: usize) -> std::path::PathBuf {
    let path = (0..levels).fold(at.to_owned(), |path, _| path.join("d".repeat(200)));
    fs::create_dir_all(&path).unwrap();
    path
}

/// Such a path is made by moving folders: no call takes all of it.
#[test]
fn a_path_that_is_longer_than_the_system_takes_is_passed_over_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus");
    let end = deep(&corpus, 15);
    let other = folder.path().join("other");
    fs::write(deep(&other, 10).join("lost.txt"), "lost").unwrap();
    fs::rename(&other, end.join("other")).unwrap();
    fs::write(end.join("deep.txt"), "deep").unwrap();
    fs::write(corpus.join("z.txt"), "sound").unwrap();
    let (texts, skipped) = read(&corpus).unwrap();
    assert_eq!(texts, ["deep", "sound"]);
    assert!(skipped.len() == 1 && skipped[0].contains("cannot open: File name too long"), "{skipped:?}");
    let build = crate::cli::program::moot(["index", "build", "corpus", "-o", "index", "--embedder", "none"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = crate::cli::program::text(&build.stderr);
    assert!(build.status.success() && said.contains("skipped corpus/"), "{said}");
    let listed = moot::retrieval::given::load(&[corpus.display().to_string()]).unwrap();
    assert_eq!((listed.documents.len(), listed.skipped.len()), (2, 1), "{:?}", listed.skipped);
}

/// A link shortens the typed path: the system opens the folders behind it, and cannot name those whose real path is too long.
#[test]
fn a_folder_that_cannot_be_opened_is_passed_over_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus");
    let end = deep(&corpus, 15);
    fs::write(end.join("deep.txt"), "deep").unwrap();
    let other = folder.path().join("other");
    fs::write(deep(&other, 10).join("lost.txt"), "lost").unwrap();
    fs::rename(&other, end.join("other")).unwrap();
    symlink(end.strip_prefix(&corpus).unwrap(), corpus.join("a")).unwrap();
    fs::write(corpus.join("z.txt"), "sound").unwrap();
    let closed = corpus.join("a/other").join("d".repeat(200)).join("d".repeat(200));
    assert!(closed.is_dir(), "the system opens what is lost");
    let (texts, skipped) = read(&corpus).unwrap();
    assert_eq!(texts, ["deep", "sound"]);
    let lost = skipped.iter().filter(|line| line.starts_with("a/other/d") && line.contains("cannot open: "));
    assert_eq!(lost.count(), 1, "{skipped:?}");
    let given = moot::retrieval::given::load(&[corpus.display().to_string()]).unwrap();
    assert_eq!(given.documents.len(), 2, "{:?}", given.skipped);
}

/// Root may list everything.
#[test]
fn a_folder_that_may_not_be_listed_is_passed_over_and_that_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("a.txt"), "lost").unwrap();
    fs::write(folder.path().join("z.txt"), "sound").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_err() {
        let (texts, skipped) = read(folder.path()).unwrap();
        assert_eq!(texts, ["sound"]);
        assert!(skipped.len() == 1 && skipped[0].starts_with("closed: cannot list: "), "{skipped:?}");
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn links_do_not_lead_out_of_a_folder() {
    let outer = tempfile::tempdir().unwrap();
    let at = |name: &str| outer.path().join(name);
    fs::create_dir_all(at("corpus/inner")).unwrap();
    fs::create_dir(at("secrets")).unwrap();
    fs::write(at("secrets/key.txt"), "SECRET").unwrap();
    fs::write(at("corpus/inner/a.txt"), "sound").unwrap();
    symlink("../secrets", at("corpus/folder")).unwrap();
    symlink("../secrets/key.txt", at("corpus/file.txt")).unwrap();
    symlink("inner/a.txt", at("corpus/within.txt")).unwrap();
    let (texts, skipped) = read(&at("corpus")).unwrap();
    assert_eq!(texts, ["sound"]);
    let out = |name: &str| format!("{name}: a link that leads out of the folder");
    assert_eq!(skipped, [out("file.txt"), out("folder"), "within.txt: given before".into()]);
    let pattern = at("corpus/*").display().to_string();
    let texts: Vec<String> =
        Corpus::open(&[pattern]).unwrap().documents().map(|document| document.unwrap().text).collect();
    assert_eq!(texts, ["sound"]);
    // A link that is named itself, or is the folder that is named, is followed.
    symlink("secrets", at("named")).unwrap();
    for named in ["corpus/file.txt", "named"] {
        let corpus = Corpus::open(&[at(named).display().to_string()]).unwrap();
        assert_eq!(corpus.documents().next().unwrap().unwrap().text, "SECRET", "{named}");
    }
}

#[test]
fn an_unclosed_quotation_mark_merges_no_rows() {
    let whole = "text,title\n\"a \"\"b\"\"\nc\",t\n5\" pipe,u\n\"d\",v";
    assert_eq!(one("a.csv", whole.as_bytes()).unwrap(), "a \"b\"\nc\u{c}5\" pipe\u{c}d");
    let open = "text,title\na,t\nb,\"u\nc,v\nd,w\n";
    for open in [open.to_owned(), format!("\u{feff}{open}")] {
        let expected = "a.csv: 1 line cannot be read: line 3: expected a quotation mark that closes the one on this line, found the \
            end of the file";
        assert_eq!(one("a.csv", open.as_bytes()).unwrap_err(), expected);
    }
    // Where nothing is quoted, a mark is a letter.
    assert_eq!(one("a.tsv", b"1\tsaid \"a\n2\t\"b").unwrap(), "said \"a\u{c}\"b");
}
