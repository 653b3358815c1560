use moot::retrieval::Filter;
use moot::retrieval::chunk::Chunking;
use moot::retrieval::corpus::{Corpus, listed_endings};
use moot::retrieval::given::{Given, LeftOut, Reading, WholeLimit, load, read};
use moot::unicode::nfc;
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

/// Loads paths below `folder`; messages of errors come without it.
fn given(folder: &TempDir, paths: &[&str]) -> Result<Given, String> {
    let full = |path: &&str| folder.path().join(path).display().to_string();
    let prefix = format!("{}/", folder.path().display());
    load(&paths.iter().map(full).collect::<Vec<_>>()).map_err(|e| e.to_string().replace(&prefix, ""))
}

fn names(given: &Given) -> Vec<&str> {
    given.documents.iter().map(|document| document.name.as_str()).collect()
}

fn one(name: &str, content: &[u8]) -> Result<Given, String> {
    given(&folder(&[(name, content)]), &[name])
}

#[test]
fn the_order_is_the_order_given() {
    let f = folder(&[("b.txt", b"B"), ("a.txt", b"A"), ("c/z.md", b"Z"), ("c/y.txt", b"Y")]);
    let found = given(&f, &["b.txt", "c", "a.txt"]).unwrap();
    assert_eq!(names(&found), ["b.txt", "y.txt", "z.md", "a.txt"]);
    assert_eq!(found.documents[1].text, "Y");
}

#[test]
fn folders_are_read_recursively_and_other_files_are_reported() {
    let f = folder(&[
        ("d/a.txt", b"A"),
        ("d/.hidden.txt", b"H"),
        ("d/p.png", b"P"),
        ("d/p.pdf", b"P"),
        ("d/sub/b.html", b"<title>T</title><p>B</p>"),
        ("d/sub/c.csv", b"text,source,date\nC,s,2001\n,s,2001\n"),
    ]);
    let found = given(&f, &["d"]).unwrap();
    assert_eq!(names(&found), ["a.txt", "T", "c.csv:2"]);
    assert_eq!(found.documents[2].source.as_deref(), Some("s"));
    let skipped: Vec<_> = found.skipped.iter().map(|s| s.rsplit('/').next().unwrap()).collect();
    let expected = [
        format!("p.png: not {}", listed_endings()),
        "p.pdf: expected a PDF, found something else, or a broken one".into(),
        "c.csv: 1 record without text".into(),
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn many_files_of_one_kind_and_reason_are_counted() {
    let mut files: Vec<(String, &[u8])> = (0..50).map(|i| (format!("d/{i:02}.png"), &b"P"[..])).collect();
    files.extend((0..3).map(|i| (format!("d/{i}.jpg"), &b"J"[..])));
    files.extend((0..5).map(|i| (format!("d/read{i}"), &b"R"[..])));
    files.push(("d/a.txt".into(), b"A"));
    files.extend((0..4).map(|i| (format!("d/{i}.PDF"), &b"P"[..])));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    let found = given(&folder(&files), &["d"]).unwrap();
    let told: Vec<&str> = found.skipped.iter().map(|line| line.rsplit('/').next().unwrap()).collect();
    let kinds = format!("not {}", listed_endings());
    let named = |names: &[&str]| -> Vec<String> { names.iter().map(|name| format!("{name}: {kinds}")).collect() };
    let mut expected = named(&["0.jpg", "00.png", "01.png", "02.png", "1.jpg", "2.jpg", "read0", "read1", "read2"]);
    let broken = "expected a PDF, found something else, or a broken one";
    expected.extend(["0.PDF", "1.PDF", "2.PDF"].map(|name| format!("{name}: {broken}")));
    expected.push(format!("47 more .png files: {kinds}"));
    expected.push(format!("2 more files without ending: {kinds}"));
    expected.push(format!("1 more .pdf file: {broken}"));
    assert_eq!(told, expected);
}

#[test]
fn the_lines_of_skipped_files_have_an_end() {
    let files: Vec<(String, Vec<u8>)> =
        (0..90).map(|i| (format!("d/{i}.csv"), format!("x{i},y\n1,2\n").into_bytes())).collect();
    let mut files: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (name.as_str(), &content[..])).collect();
    files.push(("d/a.txt", b"A"));
    let found = given(&folder(&files), &["d"]).unwrap();
    assert!(found.skipped.len() <= 21, "{:?}", found.skipped);
}

#[test]
fn folders_are_sources_only_if_they_distinguish_documents() {
    let f = folder(&[("d/a.txt", b"A"), ("d/b.txt", b"B"), ("e/council/a.txt", b"A"), ("e/diary/b.txt", b"B")]);
    let sources = |path: &str| -> Vec<Option<String>> {
        given(&f, &[path]).unwrap().documents.into_iter().map(|document| document.source).collect()
    };
    assert_eq!(sources("d"), [None, None]);
    assert_eq!(sources("e"), [Some("council".to_owned()), Some("diary".to_owned())]);
}

fn filtered(folder: &TempDir, filter: &Filter, room: Option<WholeLimit>) -> Result<Reading, String> {
    let corpus = Corpus::open(&[folder.path().display().to_string()]).unwrap();
    read(&corpus, filter, room, true).map_err(|e| e.to_string())
}

fn whole(reading: Reading) -> Given {
    match reading {
        Reading::Whole(given) => given,
        Reading::TooMuch(why) => panic!("{why}"),
    }
}

/// The number of documents left out is counted by reason.
#[test]
fn filters_leave_documents_out_and_count_them() {
    let rows = b"text,source,date\nA,s,2001\nB,s,\nC,s,May 2000\nD,s,1990\nE,t,2001\n";
    let f = folder(&[("a.csv", rows)]);
    let filter = Filter { sources: vec!["s".into()], from: Some("2000".into()), until: None };
    let found = whole(filtered(&f, &filter, None).unwrap());
    assert_eq!(found.documents.iter().map(|d| d.text.as_str()).collect::<Vec<_>>(), ["A"]);
    assert_eq!(found.left_out, LeftOut { source: 1, date: 1, undated: 2 });
    let said = "4 of 5 documents are left out: 1 of other sources, 1 of other dates, 2 without a date as 2018-05-31";
    assert_eq!(found.left_out.describe(5), said);
    let none = Filter { from: Some("2002".into()), ..filter.clone() };
    assert!(filtered(&f, &none, None).unwrap_err().contains("5 of 5 documents are left out"));
    let unknown = Filter { sources: vec!["x".into()], ..Filter::NONE };
    let wrong = filtered(&f, &unknown, None).unwrap_err();
    assert!(wrong.contains("\"x\"") && wrong.contains("s, t"), "{wrong}");
}

#[test]
fn text_beyond_the_context_is_reported() {
    let f = folder(&[("a.txt", b"one two three"), ("b.txt", b"two"), ("c.txt", b"one")]);
    let room = |documents, words| filtered(&f, &Filter::NONE, Some(WholeLimit { documents, words })).unwrap();
    assert_eq!(whole(room(3, 3)).documents.len(), 3);
    assert_eq!(room(2, 3), Reading::TooMuch("3 files hold more than 2 documents".into()));
    assert_eq!(room(3, 2), Reading::TooMuch("a.txt has more than 2 words".into()));
}

#[test]
fn globs_match_by_name_and_nothing_twice() {
    let f = folder(&[("b.txt", b"B"), ("a.txt", b"A"), ("c.md", b"C"), (".d.txt", b"D")]);
    let found = given(&f, &["*.txt", "[ac].*"]).unwrap();
    assert_eq!(names(&found), ["a.txt", "b.txt", "c.md"]);
    assert!(found.skipped[0].ends_with("a.txt: given before"));
    let wrong = given(&f, &["*.jsonl"]).unwrap_err();
    assert_eq!(wrong, format!("*.jsonl: expected at least one {} file, found nothing", listed_endings()));
}

#[test]
fn a_file_whose_name_looks_like_a_glob_is_a_file() {
    assert_eq!(names(&one("what[1]?.txt", b"A").unwrap()), ["what[1]?.txt"]);
}

#[test]
fn a_file_is_known_by_its_name_unless_it_names_itself() {
    let headed = one("a.md", b"# The bridge\n\nIt opened.").unwrap();
    assert_eq!((names(&headed), &headed.documents[0].title), (vec!["a.md"], &None));
    assert_eq!(names(&one("a.md", b"---\ntitle: T\n---\n# The bridge\n").unwrap()), ["T"]);
    assert_eq!(names(&one("a.html", b"<title>T</title>It opened.").unwrap()), ["T"]);
}

#[test]
fn equal_names_are_made_different() {
    let f = folder(&[("x/a.txt", b"A"), ("y/a.txt", b"B")]);
    let found = given(&f, &["x", "y"]).unwrap();
    assert!(names(&found)[0].ends_with("/x/a.txt") && names(&found)[1].ends_with("/y/a.txt"));
}

#[test]
fn an_index_and_questions_in_a_folder_are_no_documents() {
    let questions: &[u8] = b"{\"question\": \"When?\", \"documents\": [\"In 1884.\", {\"text\": \"In 1931.\"}]}\n";
    let twice = [questions, questions].concat();
    let f = folder(&[
        ("a.txt", b"A"),
        ("more/q.jsonl", &twice),
        ("own.index/manifest.json", b"{}"),
        ("own.index/segments/000000/passages.jsonl", b"{\"text\": \"A\"}"),
    ]);
    let found = given(&f, &["."]).unwrap();
    assert_eq!(names(&found), ["a.txt"]);
    let skipped = found.skipped.join("\n");
    assert!(
        skipped.contains("questions with documents") && skipped.contains("own.index: an index of moot"),
        "{skipped}"
    );
    let error = given(&f, &["own.index"]).unwrap_err();
    assert!(error.contains("expected files or folders with documents, found an index of moot"), "{error}");
    // Documents of a question may be plain texts.
    let one = given(&f, &["more/q.jsonl:2"]).unwrap();
    let texts: Vec<&str> = one.documents.iter().map(|document| document.text.as_str()).collect();
    assert_eq!(texts, ["In 1884.", "In 1931."]);
}

#[test]
fn front_matter_of_markdown() {
    let text = "---\nsource: The Gazette\ndate: 2020-01-02\nurl: https://a.example/b?c\ntags:\n  - one\n---\n\nBody.\n";
    let document = &one("a.md", text.as_bytes()).unwrap().documents[0];
    assert_eq!(document.text, "Body.\n");
    assert_eq!(document.source.as_deref(), Some("The Gazette"));
    assert_eq!(document.date.as_deref(), Some("2020-01-02"));
    assert_eq!(document.url.as_deref(), Some("https://a.example/b?c"));
    let capitals = "---\nSource : The Gazette\nDATE: 2020-01-02\n---\nBody.\n";
    let document = &one("a.md", capitals.as_bytes()).unwrap().documents[0];
    assert_eq!((document.source.as_deref(), document.date.as_deref()), (Some("The Gazette"), Some("2020-01-02")));
    let windows = text.replace('\n', "\r\n");
    assert_eq!(one("a.md", windows.as_bytes()).unwrap().documents[0].source.as_deref(), Some("The Gazette"));
    // A rule is text, and a text file has no front matter.
    assert_eq!(one("a.md", b"---\nBody.").unwrap().documents[0].text, "---\nBody.");
    assert_eq!(one("a.txt", text.as_bytes()).unwrap().documents[0].text, text);
    assert_eq!(one("a.md", b"---\nsource: x\n---\n").unwrap_err(), "a.md: expected text, found an empty document");
}

#[test]
fn lines_of_json() {
    let text = "\u{feff}{\"text\": \"A\", \"source\": \"s\", \"date\": 2020, \"url\": null}\n\n{\"text\": \"B\", \"title\": \"T\"}";
    let found = one("d.jsonl", text.as_bytes()).unwrap();
    assert_eq!(names(&found), ["d.jsonl:1", "T"]);
    assert_eq!(found.documents[0].source.as_deref(), Some("s"));
    assert_eq!(found.documents[0].date.as_deref(), Some("2020"));
    assert_eq!(found.documents[0].url, None);
}

const LINE: &str = "{\"question\":\"Q?\",\"documents\":[{\"text\":\"A\",\"type\":\"correct\",\"answer\":\"a\"},{\"text\":\"B\"}],\
    \"gold_answers\":[\"a\"],\"wrong_answers\":[]}";

#[test]
fn a_dataset_line_brings_its_question() {
    let found = one("r.jsonl", LINE.as_bytes()).unwrap();
    assert_eq!(found.question.as_deref(), Some("Q?"));
    assert_eq!(found.gold.as_ref().unwrap().answers, [["a"]]);
    assert_eq!(names(&found), ["document 1", "document 2"]);
    assert_eq!(found.documents[0].label.as_ref().unwrap().kind, "correct");
    assert_eq!(found.documents[1].label, None);
}

#[test]
fn one_line_of_many() {
    let f = folder(&[("r.jsonl", format!("{LINE}\n{}\n", LINE.replace("Q?", "R?")).as_bytes())]);
    assert_eq!(given(&f, &["r.jsonl:2"]).unwrap().question.as_deref(), Some("R?"));
    let wrong = given(&f, &["r.jsonl"]).unwrap_err();
    assert_eq!(
        wrong,
        "r.jsonl:2: expected the documents of one question, found a second question (take one as r.jsonl:2, or `moot run` for all)"
    );
    let wrong = given(&f, &["r.jsonl:3"]).unwrap_err();
    assert_eq!(wrong, "r.jsonl:3: expected a line of JSON, found a blank line or the end of the file");
}

#[test]
fn faults_are_one_line() {
    #[rustfmt::skip]
    let cases: &[(&str, &[u8], &str)] = &[
        ("a.txt", b"", "a.txt: expected text, found an empty document"),
        ("a.txt", b" \n\t", "a.txt: expected text, found an empty document"),
        ("a.txt", b"ab\0c", "a.txt: expected text, found a binary file (NUL byte at byte 2)"),
        ("a.pdf", b"%PDF", "a.pdf: expected a PDF, found something else, or a broken one"),
        ("a.png", b"x", "a.png: expected ENDINGS, or a folder, found .png"),
        ("a", b"text", "a: expected ENDINGS, or a folder, found no ending"),
        ("a.jsonl", b"", "a.jsonl: expected one JSON object a line, found an empty file"),
        ("a.jsonl", b"\n[1]\n", "a.jsonl:2: expected a JSON object, found a list of 1"),
        ("a.jsonl", b"{\"text\": 3}", "a.jsonl:1: expected a string in `text`, found the number 3"),
        ("a.jsonl", b"{\"text\": \"\"}", "no text in the given documents (a.jsonl: 1 record without text)"),
        ("a.jsonl", b"{\"documents\": [{\"text\": \"A\"}]}\n{\"text\": \"B\"}", "a.jsonl:2: expected a question with `documents` on each line, as on the first, found the fields `text`"),
        ("a.jsonl", b"{\"text\": \"A\", \"source\": []}", "a.jsonl:1: expected a string in `source`, found a list of 0"),
        ("a.jsonl", b"{\"words\": \"A\"}", "a.jsonl:1: expected an object with `text` or `contents`, found the fields `words`"),
        ("a.jsonl", b"{\"documents\": []}", "a.jsonl:1: expected at least one document in `documents`, found an empty list"),
        ("a.jsonl", b"{\"documents\": [{\"text\": 1}]}", "a.jsonl:1: expected a string in `documents[0].text`, found the number 1"),
        ("a.jsonl", b"\x1f\x8b\0", "a.jsonl: expected text, found a binary file (NUL byte at byte 2)"),
    ];
    for (name, content, expected) in cases {
        assert_eq!(one(name, content).unwrap_err(), expected.replace("ENDINGS", &listed_endings()));
    }
    let f = folder(&[("d/p.png", b"P")]);
    fs::create_dir(f.path().join("e")).unwrap();
    assert!(given(&f, &["e"]).unwrap_err().ends_with(".tsv or .jsonl file, found nothing"));
    assert!(given(&f, &["d"]).unwrap_err().contains(".tsv or .jsonl file, found only other things (d/p.png: not "));
    assert!(given(&f, &["none.txt"]).unwrap_err().starts_with("none.txt: cannot open: No such file"));
    assert!(!Path::new("none.txt").exists());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_document_or_an_error(content in prop::collection::vec(any::<u8>(), 0..200), kind in 0..3usize) {
        let name = ["a.txt", "a.md", "a.jsonl"][kind];
        if let Ok(found) = one(name, &content) {
            prop_assert!(found.documents.iter().all(|document| !document.text.trim().is_empty()));
        }
    }

    #[test]
    fn text_comes_back_composed(text in "[^\u{0}\u{feff}]*[a-z][^\u{0}]*") {
        prop_assert_eq!(&one("a.txt", text.as_bytes()).unwrap().documents[0].text, &nfc(&text));
    }
}

#[test]
fn a_detected_character_set_is_noted_with_the_document_and_reported() {
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode("Паром через Ладу впервые отплыл в 1904 году.");
    let f = folder(&[("d/cyrillic.txt", &bytes), ("d/plain.txt", b"It sailed in 1904.")]);
    let found = load(&[f.path().join("d").display().to_string()]).unwrap();
    let note = "read as windows-1251: the character set was detected, the file declares none";
    let notes: Vec<_> = found.documents.iter().map(|d| d.notes.join("; ")).collect();
    assert_eq!(notes, [note, ""]);
    assert!(found.documents[0].text.starts_with("Паром"), "{}", found.documents[0].text);
    assert!(
        matches!(found.notes.as_slice(), [line] if line.ends_with(&format!("cyrillic.txt: {note}"))),
        "{:?}",
        found.notes
    );
    let json = serde_json::to_string(&found.documents).unwrap();
    assert_eq!(json.matches("\"notes\"").count(), 1, "a document without notes is written as before: {json}");
    let corpus = Corpus::open(&[f.path().join("d").display().to_string()]).unwrap();
    let passages: Vec<_> =
        corpus.passages(Chunking::default()).map(|passage| passage.unwrap().notes.join("; ")).collect();
    assert_eq!(passages, [note, ""]);
}

#[test]
fn an_exact_copy_counts_with_its_original() {
    let f = folder(&[
        ("d/register.txt", b"Built in 1788."),
        ("d/report (1).txt", b"The mill was built in 1790.\n"),
        ("d/report.txt", b"the mill was  built\nin 1790."),
        ("d/report2.txt", b"The mill was built in 1791."),
        (
            "d/rows.jsonl",
            b"{\"text\": \"Built in 1788.\", \"source\": \"S\"}\n{\"text\": \"New.\"}\n{\"text\": \"New.\"}\n",
        ),
    ]);
    let found = given(&f, &["d"]).unwrap();
    assert_eq!(names(&found), ["register.txt", "report (1).txt", "report2.txt", "rows.jsonl:2"]);
    let bare = |text: &str| text.replace(&format!("{}/", f.path().display()), "");
    let notes: Vec<_> = found.notes.iter().map(|note| bare(note)).collect();
    assert_eq!(
        notes,
        [
            "d/report.txt: a copy of d/report (1).txt; the two count as one document",
            "d/rows.jsonl: line 1 is a copy of d/register.txt; the two count as one document",
            "d/rows.jsonl: line 3 is a copy of d/rows.jsonl:2; the two count as one document",
        ]
    );
    let copy = &found.documents[0].copies[0];
    assert_eq!(
        (bare(&copy.origin.file).as_str(), copy.origin.line, copy.source.as_deref()),
        ("d/rows.jsonl", Some(1), Some("S"))
    );
    assert_eq!(found.documents[1].copies[0].text, "the mill was  built\nin 1790.");
    // As with passages, folding can be turned off; a dataset's line keeps all of its documents.
    let corpus = Corpus::open(&[f.path().join("d").display().to_string()]).unwrap();
    let Reading::Whole(all) = read(&corpus, &Filter::NONE, None, false).unwrap() else {
        panic!("there is no room to exceed")
    };
    assert_eq!((all.documents.len(), all.notes.len()), (7, 0));
    let line = br#"{"question": "When?", "documents": [{"text": "In 1790."}, {"text": "In 1790."}]}"#;
    assert_eq!(one("q.jsonl", line).unwrap().documents.len(), 2);
}

/// Texts, names and sources are shown in one form, whatever that of the files and of their names.
#[test]
fn documents_are_composed() {
    let f =
        folder(&[("notes/cafe\u{301}.txt", "The cafe\u{301} was opened by Zoe\u{308}.".as_bytes()), ("b.txt", b"B")]);
    let found = given(&f, &["notes", "b.txt"]).unwrap();
    assert_eq!(names(&found), ["café.txt", "b.txt"]);
    assert_eq!(found.documents[0].text, "The café was opened by Zoë.");
    let line = "{\"question\": \"Q\", \"documents\": [{\"text\": \"Zoe\u{308}\", \"source\": \"Cafe\u{301}\"}]}";
    let found = one("q.jsonl", line.as_bytes()).unwrap();
    assert_eq!((&*found.documents[0].text, found.documents[0].source.as_deref()), ("Zoë", Some("Café")));
    let wanted = Filter { sources: vec!["Cafe\u{301}".into()], ..Filter::NONE };
    let f = folder(&[("q.jsonl", line.as_bytes())]);
    let corpus = Corpus::open(&[f.path().join("q.jsonl").display().to_string()]).unwrap();
    assert!(matches!(read(&corpus, &wanted, None, true).unwrap(), Reading::Whole(given) if given.documents.len() == 1));
}

#[test]
fn metadata_of_a_datasets_line_is_bounded() {
    let long = "word ".repeat(200_000);
    let line = serde_json::json!({"question": "Q?", "documents": [{"text": "t", "title": long, "source": long}]});
    let found = one("q.jsonl", line.to_string().as_bytes()).unwrap();
    assert_eq!((names(&found)[0].len(), found.documents[0].source.as_ref().unwrap().len()), (999, 999));
}
