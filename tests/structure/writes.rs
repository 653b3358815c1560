//! Files are written by one module, so that no output is lost halfway and none replaces an input.

use super::files;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Calls that open a file for writing.
const WRITES: &[&str] = &["File::create", "File::options", "fs::write", "fs::copy", "OpenOptions::new", "tempfile_in"];

/// The files of `src` that may use them, and what they write.
const WRITERS: &[(&str, &str)] = &[
    ("doctor/mod.rs", "a file without a name: asks whether the cache can be written"),
    ("doctor/self_test.rs", "a model of its own in a temporary folder"),
    ("eval/record/writer.rs", "records, which are appended to"),
    ("files/mod.rs", "private files of the cache"),
    ("files/outputs.rs", "outputs"),
    ("retrieval/index/files.rs", "new files of a segment, which the manifest names at the end"),
    ("retrieval/index/folder.rs", "the lock of an index"),
    ("retrieval/index/journal.rs", "the vectors of a build that may be stopped"),
    ("serve/moot/runs.rs", "the dataset that a client sent, in a temporary folder"),
    ("workspace/inline.rs", "a file that a client sent, in a temporary folder"),
    ("workspace/run/record_file.rs", "nothing: asks whether a record can be appended to"),
];

/// The files below `source` whose code outside of tests has one of [`WRITES`].
fn writers(source: &Path) -> BTreeSet<String> {
    let mut paths = Vec::new();
    files(source, &mut paths);
    let writes = |text: &str| {
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.flat_map(|line| WRITES.iter().map(move |name| (line, name))).any(|(line, name)| {
            // `HashedFile::create` is another function.
            line.match_indices(name).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let writing = paths.iter().filter(|path| writes(&fs::read_to_string(path).unwrap()));
    writing.map(|path| path.strip_prefix(source).unwrap().display().to_string().replace('\\', "/")).collect()
}

#[test]
fn files_are_written_by_the_module_of_outputs() {
    let found = writers(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let known: BTreeSet<String> = WRITERS.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(found, known, "files that write, and those that may: use files::outputs, or add a reason");
}

#[test]
fn a_write_is_found_in_code_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.rs", "fn f() {\n    let file = std::fs::File::create_new(path);\n}\n"),
        ("b.rs", "let file = HashedFile::create(path);\n// File::create\n"),
        ("c.rs", "use x;\n#[cfg(test)]\nmod tests {\n    fs::write(path, text);\n}\n"),
        ("d.rs", "    fs::write(path, text)?;\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    assert_eq!(writers(folder.path()), ["a.rs", "d.rs"].map(str::to_owned).into());
}
