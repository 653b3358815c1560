//! PDF files read by the program, in processes of its own.

use crate::cli::program::{moot, run, text};
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

const SOUND: &[u8] = include_bytes!("../golden/pdf/text.pdf");

/// The replies of a worker to files, one after the other.
fn answers(files: &[&[u8]]) -> Vec<serde_json::Value> {
    let mut worker = moot(["read-pdf"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (worker.stdin.take().unwrap(), worker.stdout.take().unwrap());
    let answers = files.iter().map(|file| {
        to.write_all(&(file.len() as u64).to_le_bytes()).unwrap();
        to.write_all(file).unwrap();
        let mut length = [0; 8];
        from.read_exact(&mut length).unwrap();
        let mut answer = vec![0; u64::from_le_bytes(length) as usize];
        from.read_exact(&mut answer).unwrap();
        serde_json::from_slice(&answer).unwrap()
    });
    let answers = answers.collect();
    drop(to);
    assert!(worker.wait().unwrap().success());
    answers
}

#[test]
fn a_worker_reads_one_file_after_another() {
    let answers = answers(&[SOUND, b"no PDF", SOUND]);
    assert_eq!(answers[0]["Ok"]["pages"][1]["text"], "The council closed it in 1998.");
    assert_eq!(answers[1]["Err"]["expected"], "a PDF");
    assert_eq!(answers[0], answers[2]);
}

#[test]
fn the_program_reads_good_files_beside_bad_ones() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    for (name, content) in [("a.pdf", SOUND), ("b.pdf", b"no PDF"), ("c.pdf", SOUND)] {
        fs::write(corpus.join(name), content).unwrap();
    }
    let mut build = moot(["index", "build", "corpus", "-o", "index", "--embedder", "none"]);
    build.current_dir(folder.path()).env("MOOT_CACHE", folder.path().join("cache"));
    let output = run(build);
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(told.contains("b.pdf: expected a PDF, found something else, or a broken one"), "{told}");
    let mut search = moot(["index", "search", "index", "When did the council close the bridge?"]);
    search.current_dir(folder.path()).env("MOOT_CACHE", folder.path().join("cache"));
    let found = text(&run(search).stdout);
    assert!(found.contains("The council closed it in 1998."), "{found}");
}
