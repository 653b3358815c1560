//! `moot contradictions` with scripted models: what is found, folded, resumed and refused.

mod books;
mod sides;
mod unread;

use moot::contradictions::{self, Folder, Follow, JUDGE, Kind, Options, Report, html, markdown};
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::{Settings, Tools};
use moot::protocol::formats::SUBJECTS;
use moot::{MootError, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn read(path: &Path) -> Result<Folder> {
    Folder::read(&[path.display().to_string()], None)
}

const GUIDE: (&str, &str) = (
    "guide.md",
    "# The mill\n\nHarlow Mill was built in 1790 by Ada Brook. The mill has 240 windows. Dogs are allowed in the yard of the mill.\n",
);
const LEAFLET: (&str, &str) = (
    "leaflet.txt",
    "Welcome, friends of the mill!\n\nHarlow Mill was built in 1811 by Ada Brook. The mill has 240 windows.\n",
);

/// The last user message.
fn asked(call: &Call) -> &str {
    call.prompt.messages().last().map_or("", |message| &message.content)
}

/// A reader that names the mill for every sentence; a judge that fills blanks with the first year of the text, and sees a
/// contradiction where 1790 stands beside a later year.
fn reply(call: &Call) -> String {
    let text = asked(call);
    let grammar = call.grammar.as_ref().map_or("", |grammar| &*grammar.name);
    match grammar {
        "reply/subjects.lark" => (1..=8).map(|number| format!("{number}: The mill\n")).collect(),
        "reply/choice.lark" if text.contains("1790") && text.contains("18") => "contradicts".into(),
        "reply/choice.lark" => "neither".into(),
        _ => ["1790", "1811"].into_iter().find(|year| text.contains(year)).unwrap_or("unknown").into(),
    }
}

/// Stops the work where it is to.
#[derive(Default)]
struct Watch {
    stop: bool,
}

impl Follow for Watch {
    fn is_stopped(&self) -> bool {
        self.stop
    }
}

fn find_with(folder: &Folder, llm: &Scripted, cache: Option<PathBuf>, watch: &Watch) -> Result<Report> {
    let options = Options { cache, least: 0.3, ..Options::default() };
    contradictions::find(folder, Tools::new(llm), &Settings::default(), &options, watch)
}

fn find(folder: &Folder) -> Report {
    find_with(folder, &Scripted::new(reply), None, &Watch::default()).unwrap()
}

/// They have three of seven words in common and no value that differs: a pair that promises little.
#[test]
fn the_nearest_claim_of_each_claim_is_labelled() {
    let files = folder(&[
        ("a.txt", "The old harbour crane lifts heavy granite blocks.\n"),
        ("b.txt", "The old harbour crane needs fresh orange paint.\n"),
    ]);
    assert_eq!(find(&read(files.path()).unwrap()).counts.pairs, 1);
    // Both of b.txt have the claim of a.txt as nearest one.
    let files = folder(&[
        ("a.txt", "The old harbour crane lifts heavy granite blocks.\n"),
        ("b.txt", "The old harbour crane needs fresh orange paint.\n\nThe old harbour crane went to cold Norway.\n"),
    ]);
    assert_eq!(find(&read(files.path()).unwrap()).counts.pairs, 2);
}

/// Neither ends with a full stop; by its looks each could be a heading.
#[test]
fn rows_and_list_items_of_markup_are_claims() {
    let page = "<h1>Tarn Bridge</h1><table><tr><th>Item</th><th>Entry</th></tr><tr><td>Opening</td><td>Opened in May \
                1876</td></tr><tr><td>Arches</td><td>It has nine arches</td></tr></table><p>It is grey.</p><ul><li>Toll of two \
                pence a cart</li><li>No dogs</li></ul>";
    let text = "Tarn Bridge\n\nIt opened in May 1879.\n\nIt has nine arches.\n\nThe toll is two pence a cart.\n";
    let files = folder(&[("a.html", page), ("b.txt", text)]);
    let report = find(&read(files.path()).unwrap());
    let quotes: BTreeSet<&str> = report
        .labelled
        .iter()
        .flat_map(|pair| [&pair["a"], &pair["b"]])
        .filter_map(|side| side["quote"].as_str())
        .collect();
    for quote in ["Opening Opened in May 1876", "Arches It has nine arches", "Toll of two pence a cart"] {
        assert!(quotes.contains(quote), "{quote}: {quotes:?}");
    }
    assert!(!quotes.iter().any(|quote| quote.contains("Item Entry") || quote.contains("No dogs")), "{quotes:?}");
}

#[test]
fn a_planted_contradiction_is_found_with_both_quotes_and_lines() {
    let files = folder(&[GUIDE, LEAFLET]);
    let report = find(&read(files.path()).unwrap());
    let findings: Vec<_> = report.findings().collect();
    assert_eq!(findings.len(), 1, "{report:#?}");
    let finding = findings[0];
    assert_eq!(finding.kind, Kind::Date);
    let shown: Vec<(&str, Option<u64>, Vec<&str>)> = finding
        .sides
        .iter()
        .map(|side| {
            (
                side.statements[0].quote.as_str(),
                side.statements[0].line,
                side.values.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    let expected = [
        ("Harlow Mill was built in 1790 by Ada Brook.", Some(3), vec!["1790"]),
        ("Harlow Mill was built in 1811 by Ada Brook.", Some(3), vec!["1811"]),
    ];
    assert_eq!(shown, expected);
    assert!(report.told().starts_with("1 contradiction about 1 subject in 2 documents"), "{}", report.told());
}

#[test]
fn where_several_agree_the_odd_one_is_named_and_a_fact_is_one_finding() {
    let second =
        ("other.txt", "Harlow Mill was built in 1790 by Ada Brook. It stands by the river and is open on Sundays.\n");
    let files = folder(&[GUIDE, LEAFLET, second]);
    let report = find(&read(files.path()).unwrap());
    let findings: Vec<_> = report.findings().collect();
    assert_eq!(findings.len(), 1, "{report:#?}");
    let sides: Vec<(usize, bool)> = findings[0].sides.iter().map(|side| (side.statements.len(), side.odd)).collect();
    assert_eq!(sides, [(2, false), (1, true)]);
}

#[test]
fn copies_are_read_once_and_contradict_nothing() {
    let copies: Vec<(String, &str)> = (0..30).map(|number| (format!("copy{number:02}.md"), GUIDE.1)).collect();
    let files: Vec<(&str, &str)> = copies.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let files = folder(&files);
    let folder = read(files.path()).unwrap();
    assert_eq!((folder.documents(), folder.sentences()), (1, 3));
    assert!(folder.notes.iter().any(|note| note.starts_with("29 files are copies of another")), "{:?}", folder.notes);
    let report = find(&folder);
    assert_eq!((report.findings().count(), report.documents[0].copies.len()), (0, 29));
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let second =
        ("other.txt", "Harlow Mill was built in 1805 by Ada Brook. It stands by the river and is open on Sundays.\n");
    let files = folder(&[GUIDE, LEAFLET, second]);
    let (folder, cache) = (read(files.path()).unwrap(), tempfile::tempdir().unwrap());
    let whole = find(&folder);
    // The judge breaks: what the reader said is kept.
    let broken = Scripted::failing(|call| match call.role.as_str() {
        JUDGE => Err(MootError::Interrupted),
        _ => Ok(reply(call)),
    });
    let cache = Some(cache.path().join("work"));
    assert!(find_with(&folder, &broken, cache.clone(), &Watch::default()).is_err());
    let only_judge = Scripted::new(|call| {
        assert_eq!(call.role, JUDGE, "read again: {}", call.what);
        reply(call)
    });
    let resumed = find_with(&folder, &only_judge, cache.clone(), &Watch::default()).unwrap();
    assert_eq!(resumed.groups, whole.groups);
    // Everything is known now, and a cut line is dropped.
    let labels = cache.as_ref().unwrap().join("labels.jsonl");
    let text = std::fs::read_to_string(&labels).unwrap();
    let cut = format!("{{\"key\":\"{}", "12".repeat(400));
    std::fs::write(&labels, format!("{text}{cut}")).unwrap();
    let silent = Scripted::failing(|call| Err(MootError::Usage(format!("asked again: {}", call.what))));
    let again = find_with(&folder, &silent, cache, &Watch::default()).unwrap();
    assert_eq!((again.groups, again.counts.calls), (whole.groups, 0));
    assert_eq!(std::fs::read_to_string(&labels).unwrap(), text);
}

#[test]
fn a_stop_ends_the_work() {
    let files = folder(&[GUIDE, LEAFLET]);
    let watch = Watch { stop: true };
    let ended = find_with(&read(files.path()).unwrap(), &Scripted::new(reply), None, &watch);
    assert!(matches!(ended, Err(MootError::Interrupted)));
}

#[test]
fn only_what_contradicts_a_changed_document_is_looked_for() {
    let third =
        ("third.txt", "Harlow Mill was built in 1805 by Ada Brook. It stands by the river and is open on Sundays.\n");
    let files = folder(&[GUIDE, LEAFLET, third]);
    let paths = [files.path().display().to_string()];
    let of = |name: &str| {
        let changed = BTreeSet::from([std::fs::canonicalize(files.path().join(name)).unwrap()]);
        find(&Folder::read(&paths, Some(&changed)).unwrap())
    };
    let report = of("third.txt");
    assert!(report.findings().count() > 0);
    for pair in &report.labelled {
        let both = format!("{} {}", pair["a"]["file"], pair["b"]["file"]);
        assert!(both.contains("third.txt"), "{both}");
    }
    let none = find(&Folder::read(&paths, Some(&BTreeSet::new())).unwrap());
    assert_eq!((none.findings().count(), none.counts.pairs), (0, 0));
}

#[test]
fn pages_escape_what_documents_say() {
    let hostile = (
        "<script>alert(1)</script>.md",
        "<b>Harlow Mill</b> was built in 1790 by Ada | Brook & <img src=x onerror=alert(1)>.\n",
    );
    let files = folder(&[LEAFLET]);
    let name = hostile.0.replace('/', "");
    std::fs::write(files.path().join(&name), hostile.1).unwrap();
    let report = find(&read(files.path()).unwrap());
    assert_eq!(report.findings().count(), 1, "{report:#?}");
    let page = html::page(&report);
    assert!(!page.contains("<script") && !page.contains("<img") && page.contains("&lt;img"), "{page}");
    assert!(page.contains("default-src 'none'"));
    let markdown = markdown::page(&report);
    assert!(markdown.contains("&lt;img") && markdown.contains(r"Ada \| Brook"), "{markdown}");
}

#[test]
fn folders_without_two_documents_are_told_in_one_line() {
    let message = |path: &Path| read(path).unwrap_err().to_string();
    let empty = folder(&[]);
    assert_eq!(message(empty.path()).lines().count(), 1);
    let one = folder(&[GUIDE]);
    assert!(message(one.path()).ends_with("expected at least 2 documents"), "{}", message(one.path()));
    let questions = folder(&[("a.txt", "Who is it?\n"), ("b.txt", "# Nothing\n")]);
    assert!(message(questions.path()).contains("expected documents with statements"), "{}", message(questions.path()));
}

#[test]
fn a_long_file_is_read_up_to_a_limit_and_other_languages_are_noted() {
    let long: String =
        (0..1500).map(|n| format!("The pump number {n} was built in the year {}.\n\n", 1000 + n)).collect();
    let german = "Die Mühle wurde von der Gemeinde gebaut und steht am Fluss neben der alten Brücke.\n".repeat(3);
    let files = folder(&[("long.txt", &long), ("muehle.txt", &german), GUIDE]);
    let folder = read(files.path()).unwrap();
    let has = |wanted: &str| folder.notes.iter().any(|note| note.contains(wanted));
    assert!(has("its first 1000 of 1500 sentences are read"), "{:?}", folder.notes);
    assert!(has("muehle.txt: not English"), "{:?}", folder.notes);
}

#[test]
fn documents_of_a_request_are_compared_as_files_are() {
    let document = |name: &str, text: &str| moot::question::Document {
        name: name.into(),
        text: text.into(),
        ..moot::question::Document::default()
    };
    let given = [document("a", GUIDE.1), document("b", LEAFLET.1), document("c", GUIDE.1)];
    let folder = Folder::of(&given).unwrap();
    assert_eq!(folder.documents(), 2);
    let report = find(&folder);
    assert_eq!((report.findings().count(), report.documents[0].copies.clone()), (1, vec!["c".to_owned()]));
    assert!(Folder::of(&given[..1]).is_err());
}

#[test]
fn a_subject_is_words_of_the_text() {
    let values = serde_json::json!({ "numbers": [2, 5], "text": "The mill \"Orm\". It was built by Ada Brook." });
    let accepts = |reply: &str| crate::protocol::formats::accepts(&SUBJECTS, &values, reply);
    assert!(accepts("2: The mill\n5: Ada Brook"));
    assert!(!accepts("2: The castle\n5: Ada Brook"));
    assert!(!accepts("2: The mill"));
}

#[test]
fn pairs_of_a_document_are_bounded() {
    let year = |year: usize| (format!("{year}.txt"), format!("Harlow Mill was built in {year} by Ada Brook.\n"));
    let texts: Vec<(String, String)> = (0..10).map(|n| year(1790 + n)).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let files = folder(&files);
    let pairs = |of_document: usize| {
        let options = Options { pairs: 9, of_document, ..Options::default() };
        let (llm, settings) = (Scripted::new(reply), Settings::default());
        let folder = read(files.path()).unwrap();
        let watch = Watch::default();
        contradictions::find(&folder, Tools::new(&llm), &settings, &options, &watch).unwrap().counts.pairs
    };
    assert_eq!(pairs(9), 45);
    assert!((10..=20).contains(&pairs(2)), "{}", pairs(2));
}

/// Everything that is compared, however improbable.
fn find_all(folder: &Folder) -> Report {
    let options = Options { least: 0.0, ..Options::default() };
    let (llm, settings) = (Scripted::new(reply), Settings::default());
    contradictions::find(folder, Tools::new(&llm), &settings, &options, &Watch::default()).unwrap()
}

/// The first finding of two files, its subject, and the values of its sides.
fn compared(one: (&str, &str), other: (&str, &str)) -> (Kind, String, Vec<Vec<String>>) {
    let files = folder(&[one, other]);
    let report = find_all(&read(files.path()).unwrap());
    let group = report.groups.first().unwrap_or_else(|| panic!("nothing is compared: {one:?}, {other:?}"));
    let values = group.findings[0].sides.iter().map(|side| side.values.clone()).collect();
    (group.findings[0].kind, group.subject.clone(), values)
}

#[test]
fn values_are_shown_as_the_text_writes_them() {
    let (_, _, values) = compared(
        ("a.txt", "Harlow Mill shut for ever on 3 May, 1911.\n"),
        ("b.txt", "Harlow Mill shut for ever on 9 June 1914.\n"),
    );
    assert_eq!(values, [["3 May 1911"], ["9 June 1914"]]);
    let (_, _, values) = compared(
        ("a.txt", "The mill by the river was built by Ada Brook.\n"),
        ("b.txt", "The mill by the river was built by Olive Renshaw.\n"),
    );
    assert_eq!(values, [["Ada Brook"], ["Olive Renshaw"]]);
}

#[test]
fn a_group_without_a_subject_has_a_title_or_shared_words_as_heading() {
    let row = |seats: usize| format!("# Rooms\n\n| room | seats |\n|---|---|\n| hall | {seats} seats in all |\n");
    assert_eq!(compared(("a.md", &row(80)), ("b.md", &row(95))).1, "Rooms", "not the head of the table");
    let deep = |feet: usize| format!("The old pump of the lower field is {feet} feet deep.\n");
    assert_eq!(compared(("a.txt", &deep(12)), ("b.txt", &deep(30))).1, "old pump of the lower field");
}

#[test]
fn statements_on_other_parts_have_another_scope() {
    let (kind, ..) = compared(
        ("a.txt", "On weekdays Harlow Mill opens at 9:00.\n"),
        ("b.txt", "On Sundays Harlow Mill opens at 10:30.\n"),
    );
    assert_eq!(kind, Kind::Scope);
}

#[test]
fn the_newest_side_is_that_of_the_latest_date_however_it_is_written() {
    let document = |name: &str, year: u32, date: &str| moot::question::Document {
        name: name.into(),
        text: format!("Harlow Mill was built in {year} by Ada Brook.\n"),
        date: Some(date.into()),
        ..moot::question::Document::default()
    };
    let newest = |first: &str, second: &str| -> Vec<bool> {
        let report = find(&Folder::of(&[document("a", 1790, first), document("b", 1811, second)]).unwrap());
        report.findings().next().unwrap().sides.iter().map(|side| side.newest).collect()
    };
    assert_eq!(newest("May 2000", "2019-01-01"), [false, true]);
    assert_eq!(newest("14 June 2019", "2019-01-01"), [true, false]);
    assert_eq!(newest("2019", "2019-01-01"), [false, false], "neither is known to be newer");
    assert_eq!(newest("long ago", "2019-01-01"), [false, false]);
}

#[test]
fn a_pair_of_which_a_call_failed_has_no_label_and_the_failure_is_told() {
    let files = folder(&[GUIDE, LEAFLET]);
    let (folder, cache) = (read(files.path()).unwrap(), tempfile::tempdir().unwrap());
    let broken = Scripted::failing(|call| match call.grammar.as_ref().map(|grammar| &*grammar.name) {
        Some("reply/short.lark") => Err(MootError::Question("the prompt cannot be rendered".into())),
        _ => Ok(reply(call)),
    });
    let cache = cache.path().join("work");
    let report = find_with(&folder, &broken, Some(cache.clone()), &Watch::default()).unwrap();
    assert!(report.counts.failed > 0 && report.unlabelled == 1, "{:?} {}", report.counts, report.unlabelled);
    let of_dates = |pair: &serde_json::Value| pair["features"]["date_differs"] == 1.0;
    let (dated, rest): (Vec<_>, Vec<_>) = report.labelled.iter().partition(|pair| of_dates(pair));
    assert!(dated.len() == 1 && dated[0]["said"].is_null(), "a blank could not be filled: {dated:?}");
    assert!(rest.iter().all(|pair| pair["said"].is_object()), "{rest:?}");
    assert_eq!(std::fs::read_to_string(cache.join("labels.jsonl")).unwrap().lines().count(), rest.len());
    let told = format!("{} calls failed", report.counts.failed);
    for page in [report.told(), html::page(&report), markdown::page(&report)] {
        assert!(page.contains(&told), "{page}");
    }
}

#[test]
fn a_changed_copy_of_an_unchanged_file_is_compared() {
    let files = folder(&[GUIDE, LEAFLET, ("moved.md", GUIDE.1)]);
    let changed = BTreeSet::from([std::fs::canonicalize(files.path().join("moved.md")).unwrap()]);
    let report = find(&Folder::read(&[files.path().display().to_string()], Some(&changed)).unwrap());
    assert_eq!(report.findings().count(), 1, "{report:#?}");
}
