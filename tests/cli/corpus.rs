//! `moot ask --corpus` as people type it: found by words, answered by a stand-in server, so no model is needed.

use super::program::{moot, text};
use crate::llm::server::{Server, reply};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

const CLAIM: &str =
    "The bridge over the Elde was opened in 1933, as everybody who lives in the town knows very well by now.";

fn corpus(folder: &Path) -> String {
    let notes = folder.join("notes");
    let copy = format!("The bridge of the town.\n\n{CLAIM} Like and subscribe.");
    for (source, name, content) in [
        (
            "council",
            "bridge.md",
            "---\ndate: 1952-03-19\n---\n# The bridge\n\nThe council opened the bridge over the Elde in 1932.",
        ),
        ("blog", "a.txt", CLAIM),
        ("forum", "b.txt", CLAIM),
        ("mirror", "c.txt", &copy),
        ("press", "ferry.txt", "Soup is served at noon."),
    ] {
        fs::create_dir_all(notes.join(source)).unwrap();
        fs::write(notes.join(source).join(name), content).unwrap();
    }
    notes.display().to_string()
}

/// Agents say the year that their document names.
fn server() -> Server {
    Server::start(|_, received, stream| {
        let asked = received.asked();
        let answer = match () {
            () if asked.contains("All Correct Answers") => {
                "All Correct Answers: [\"1932\"]. Explanation: The minutes say so."
            }
            () if asked.contains("in 1932") => "Answer: 1932. Explanation: The council opened it.",
            () if asked.contains("in 1933") => "Answer: 1933. Explanation: Everybody knows.",
            () => "Answer: unknown. Explanation: Nothing is said.",
        };
        reply(stream, answer);
    })
}

fn ask(cache: &Path, server: &Server, typed: &[&str]) -> Output {
    let question = "When was the bridge over the Elde opened?";
    let fixed = [
        "ask",
        question,
        "--embedder",
        "none",
        "--model",
        &server.base,
        "--free-form",
        "--method",
        "madam-rag",
        "--rounds",
        "1",
    ];
    moot(fixed.into_iter().chain(typed.iter().copied())).env("MOOT_CACHE", cache).output().unwrap()
}

#[test]
fn a_folder_is_indexed_once_debated_and_cited() {
    let folder = tempfile::tempdir().unwrap();
    let (notes, cache, server) = (corpus(folder.path()), folder.path().join("cache"), server());
    let picture = Path::new(&notes).join("press/photo.png");
    fs::write(&picture, [0; 9]).unwrap();
    fs::write(picture.with_file_name("rubbish.txt"), b"\x01\x02\xff").unwrap();
    let cafe = b"The caf\xe9 at the ferry is closed in winter.";
    fs::write(picture.with_file_name("cafe.txt"), cafe).unwrap();
    let skips = |out: &Output| text(&out.stderr).matches("skipped ").count();
    let first = ask(&cache, &server, &["--corpus", &notes]);
    let (out, said) = (text(&first.stdout), text(&first.stderr));
    assert!(first.status.success(), "{said}");
    assert!(said.contains("indexing 6 passages of 6 files, once") && skips(&first) == 2, "{said}");
    let squeezed = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains("notes/council/bridge.md:4 (characters 25-"), "{out}");
    assert!(squeezed.contains("copies, counted once: "), "{out}");
    let cited = squeezed.split("Passages").nth(1).unwrap();
    assert!(["blog", "forum", "mirror"].iter().all(|source| cited.contains(source)), "{out}");
    assert_eq!(out.matches("1933").count(), 2, "three copies are one agent and one line against: {out}");

    let again = ask(&cache, &server, &["--corpus", &notes, "--no-fold", "--top", "9", "--json"]);
    assert!(again.status.success() && !text(&again.stderr).contains("indexing"), "{}", text(&again.stderr));
    assert_eq!(skips(&again), 2, "{}", text(&again.stderr));
    for said in [&said, &text(&again.stderr)] {
        assert!(said.contains("cafe.txt: read as windows-1252: the character set was detected"), "{said}");
    }
    let record: Value = serde_json::from_str(text(&again.stdout).lines().nth(1).unwrap()).unwrap();
    let documents = record["question"]["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 4, "soup is about no bridge: {documents:?}");
    assert!(
        documents
            .iter()
            .all(|d| d["origin"]["file"].as_str().unwrap().contains("/notes/") && d.get("copies").is_none())
    );

    // A file that has changed is read again, and the index of before is gone.
    fs::write(Path::new(&notes).join("press/ferry.txt"), "The ferry stopped when the bridge opened.").unwrap();
    let third = ask(&cache, &server, &["--corpus", &notes]);
    assert!(text(&third.stderr).contains("indexing 6 passages"), "{}", text(&third.stderr));
    let kept: Vec<_> = fs::read_dir(cache.join("corpora")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(kept.len() == 1 && fs::read_dir(&kept[0]).unwrap().count() == 2, "an index, and what is left out of it");
}

/// The lines on work saved and on processes started, for a new corpus, a changed one, and one that is indexed already.
#[test]
fn kept_vectors_and_processes_that_read_pdfs_are_counted_in_a_line() {
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/encoders/bert");
    let folder = tempfile::tempdir().unwrap();
    let (notes, cache, server) = (corpus(folder.path()), folder.path().join("cache"), server());
    fs::write(Path::new(&notes).join("press/a.pdf"), include_bytes!("../golden/pdf/text.pdf")).unwrap();
    let said = || {
        let question = "When was the bridge over the Elde opened?";
        let fixed = ["ask", question, "--method", "majority-vote", "--free-form", "--model", &server.base];
        let typed = fixed.into_iter().chain(["--embedder", tiny, "--corpus", &notes]);
        let out = moot(typed).env("MOOT_CACHE", &cache).output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stderr)
    };
    let counts = |said: &str| -> Vec<String> {
        let heads = ["indexing ", "vectors were reused", "PDF files were"];
        said.lines().filter(|line| heads.iter().any(|head| line.contains(head))).map(str::to_owned).collect()
    };
    // The corpus is read twice, to be counted and to be indexed, and each reading ends its processes.
    let processes = "PDF files were read in 2 processes, 0 of them ended by a file";
    let passages = "indexing 7 passages of 6 files, once";
    assert_eq!(counts(&said()), [passages, "0 vectors were reused from equal texts, 7 were computed", processes]);
    fs::write(Path::new(&notes).join("press/ferry.txt"), "The ferry stopped when the bridge opened.").unwrap();
    assert_eq!(counts(&said()), [passages, "6 vectors were reused from equal texts, 1 were computed", processes]);
    assert_eq!(counts(&said()), Vec::<String>::new());
}

/// Only this user can read the copies of documents in the cache, whatever the process's umask.
#[cfg(unix)]
#[test]
fn the_cache_is_private() {
    use std::os::unix::fs::PermissionsExt;
    fn modes(path: &Path, found: &mut Vec<(String, u32)>) {
        let meta = fs::metadata(path).unwrap();
        found.push((path.display().to_string(), meta.permissions().mode() & 0o777));
        for entry in fs::read_dir(path).into_iter().flatten() {
            modes(&entry.unwrap().path(), found);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (notes, cache, server) = (corpus(folder.path()), folder.path().join("cache"), server());
    let secret = Path::new(&notes).join("council/bridge.md");
    fs::write(secret.with_file_name("rubbish.txt"), b"\x01\x02\xff").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    // The folder is there already, open to all.
    fs::create_dir_all(cache.join("corpora")).unwrap();
    fs::set_permissions(cache.join("corpora"), fs::Permissions::from_mode(0o755)).unwrap();
    let out = ask(&cache, &server, &["--corpus", &notes]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let mut found = Vec::new();
    modes(&cache.join("corpora"), &mut found);
    assert!(found.len() > 5, "{found:?}");
    for (path, mode) in found {
        assert_eq!(mode, if Path::new(&path).is_dir() { 0o700 } else { 0o600 }, "{path}");
    }
}

#[test]
fn sources_and_dates_choose() {
    let folder = tempfile::tempdir().unwrap();
    let (notes, cache, server) = (corpus(folder.path()), folder.path().join("cache"), server());
    let sources = |typed: &[&str]| -> Vec<String> {
        let typed = [&["--corpus", notes.as_str(), "--json", "--no-fold"], typed].concat();
        let out = ask(&cache, &server, &typed);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let record: Value = serde_json::from_str(text(&out.stdout).lines().nth(1).unwrap()).unwrap();
        let documents = record["question"]["documents"].as_array().unwrap().clone();
        let mut sources: Vec<String> = documents.iter().map(|d| d["source"].as_str().unwrap().to_owned()).collect();
        sources.sort();
        sources
    };
    assert_eq!(sources(&["--by-source"]), ["blog", "council", "forum", "mirror"]);
    assert_eq!(sources(&["--source", "blog", "--source", "forum"]), ["blog", "forum"]);
    assert_eq!(sources(&["--until", "1952"]), ["council"]);
    let none = ask(&cache, &server, &["--corpus", &notes, "--until", "1900"]);
    assert!(!none.status.success());
    assert_eq!(
        text(&none.stderr).lines().find(|line| line.starts_with("error: ")),
        Some(
            "error: madam-rag needs at least 1 document: no passage of the corpus that the filters admit is about the \
             question"
        )
    );
    let hint = "hint: ask in other words, or change --source, --from or --until, or admit passages that share little";
    assert!(text(&none.stderr).contains(hint), "{}", text(&none.stderr));
}

fn given(cache: &Path, server: &Server, typed: &[&str], stdin: &str) -> (Vec<Value>, String) {
    let question = "When was the bridge over the Elde opened?";
    let fixed =
        ["ask", question, "--json", "--model", &server.base, "--free-form", "--method", "madam-rag", "--rounds", "1"];
    let mut command = moot(fixed.into_iter().chain(typed.iter().copied()));
    command.env("MOOT_CACHE", cache).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that does not read its input may have ended.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let out = child.wait_with_output().unwrap();
    let said = text(&out.stderr).clone();
    assert!(out.status.success(), "{said}");
    let record: Value = serde_json::from_str(text(&out.stdout).lines().nth(1).unwrap()).unwrap();
    (record["question"]["documents"].as_array().unwrap().clone(), said)
}

#[test]
fn given_documents_are_read_filtered_or_searched_and_the_choice_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (notes, cache, server) = (corpus(folder.path()), folder.path().join("cache"), server());
    let (all, said) = given(&cache, &server, &["--docs", &notes, "-"], "<html><p>It opened in 1933.");
    // Two of the six are copies.
    assert_eq!(all.len(), 5, "{all:?}");
    assert_eq!((&all[4]["name"], &all[4]["text"]), (&"standard input".into(), &"It opened in 1933.".into()));
    assert!(said.contains("5 documents are read whole"), "{said}");

    let (dated, said) = given(&cache, &server, &["--docs", &notes, "--until", "1952"], "");
    assert_eq!((dated.len(), &dated[0]["source"]), (1, &"council".into()));
    assert!(said.contains("4 of 5 documents are left out: 4 without a date as 2018-05-31"), "{said}");
    let (council, _) = given(&cache, &server, &["--docs", &notes, "--source", "council"], "");
    assert_eq!(council.len(), 1);

    // The soup is about no bridge; three copies count once.
    let (found, said) = given(&cache, &server, &["--docs", &notes, "--top", "3", "--retriever", "bm25"], "");
    assert!(said.contains("--retriever was given: the documents are searched"), "{said}");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(said.contains("2 passages of 2 documents found and read"), "{said}");
    assert!(found.iter().all(|document| document["origin"]["file"].is_string()));
    let long = "The bridge over the Elde was opened in 1932. ".repeat(400);
    let (found, said) = given(&cache, &server, &["--docs", "-", "--embedder", "none"], &long);
    assert!(said.contains("standard input has more than 3000 words: the documents are searched"), "{said}");
    assert_eq!(found.len(), 1, "passages of one document are one agent's: {found:?}");
    let (whole, said) = given(&cache, &server, &["--docs", "-", "--whole"], &long);
    assert!(said.contains("1 document is read whole") && whole[0]["text"] == long, "{said}");
}

/// The search comes first: that it found nothing, and what was searched, is printed before a missing model is an error.
#[test]
fn a_search_comes_before_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let notes = corpus(folder.path());
    let said = |typed: &[&str]| {
        let mut command = moot(["ask"].into_iter().chain(typed.iter().copied()).chain(["--model", "no/such.gguf"]));
        let out = command.env("MOOT_CACHE", folder.path().join("cache")).output().unwrap();
        assert!(!out.status.success());
        text(&out.stderr)
    };
    let nothing = said(&["Who won the chess olympiad?", "--corpus", &notes, "--embedder", "none"]);
    let error = "error: moot needs at least 1 document: no passage of the corpus is about the question";
    let hint = "hint: ask in other words, or admit passages that share little with the question by --cutoff off";
    assert!(nothing.contains(error) && nothing.contains(hint) && !nothing.contains("no/such"), "{nothing}");
    let opened = ["When was the bridge opened?", "--embedder", "none", "--top", "2"];
    let off = said(&[&opened[..], &["--corpus", &notes, "--cutoff", "off"]].concat());
    assert!(off.contains("2 passages of 2 documents found and read") && off.contains("no/such.gguf"), "{off}");
    let many = said(&[&opened[..], &["--docs", &notes]].concat());
    assert!(many.contains("5 files hold more than 2 documents: the documents are searched for passages"), "{many}");
    // A dataset's line may be given for its question alone.
    let line = folder.path().join("one.jsonl");
    fs::write(&line, r#"{"question": "When?", "documents": [{"text": "In 1932."}]}"#).unwrap();
    let asked = said(&["--docs", line.to_str().unwrap(), "--method", "closed-book"]);
    assert!(asked.contains("closed-book reads no documents: only the question is used"), "{asked}");
    assert!(!asked.contains("read whole") && asked.contains("no/such.gguf"), "{asked}");
}

#[test]
fn mistyped_arguments_are_reported_before_a_model_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let notes = corpus(folder.path());
    for (typed, expected) in [
        (&["ask", "Q?", "--corpus", "none-such"][..], "none-such: cannot open: No such file"),
        (&["ask", "Q?", "--corpus", &notes, "--docs", &notes], "cannot be used with"),
        (&["ask", "Q?", "--top", "3"], "--corpus"),
        (&["ask", "--corpus", &notes, "When did it open?"], "a question goes first"),
        (&["ask", "--corpus", &notes], "no question"),
        (&["ask", "Q?", "--corpus", "http://h:1"], "expected http://host:6333#collection"),
        (&["ask", "Q?", "--corpus", "http://h:1#c", "--retriever", "bm25"], "searched by meaning alone"),
        (&["ask", "Q?", "--corpus", &notes, "--from", "May"], "expected a date"),
        (&["ask", "Q?", "--docs", &notes, "--from", "2024-13"], "expected a month from 01 to 12"),
        (&["ask", "Q?", "--docs", &notes, "--from", "2024", "--until", "2023"], "expected --from before --until"),
        (&["ask", "Q?", "--docs", &notes, "--source", "radio"], "blog, council, forum, mirror, press"),
        (&["ask", "Q?", "--docs", &notes, "--whole", "--top", "3"], "cannot be used with"),
        (&["ask", "Q?", "--docs", &notes, "--method", "closed-book"], "error: --docs: closed-book reads no documents"),
        (&["ask", "Q?", "--corpus", &notes, "--method", "mad"], "error: --corpus: mad reads no documents"),
    ] {
        let out = moot(typed.iter().copied()).output().unwrap();
        let said = text(&out.stderr);
        assert!(!out.status.success() && said.contains(expected) && !said.contains("panicked"), "{typed:?}: {said}");
    }
}
