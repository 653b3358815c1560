use super::{answered, header};
use moot::eval::record::reader::Record;
use moot::eval::record::{Chain, Writer};
use moot::eval::verify::Sample;
use moot::generation::Sampling;
use moot::transcript::QuestionRecord;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn three() -> Vec<QuestionRecord> {
    vec![
        answered("1-aa", &["yes"], &["no"], &["yes"]),
        QuestionRecord { conclusion: None, error: Some("too long".into()), ..answered("2-bb", &["yes"], &[], &[]) },
        answered("3-cc", &["ja", "oui"], &[], &["oui", "ça \u{1F600}"]),
    ]
}

fn written(folder: &Path, records: &[QuestionRecord]) -> PathBuf {
    let path = folder.join("out.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    for record in records {
        writer.append(record).unwrap();
    }
    path
}

fn refused(path: &Path, header: &moot::eval::record::Header) -> String {
    match Writer::open(path, header) {
        Ok(_) => panic!("opened"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn a_written_value_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let record = Record::read(&path).unwrap();
    assert_eq!(record.header, header());
    assert_eq!(record.questions, three());
    assert!(!record.torn);
    // The header, three calls, three questions.
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 7);
}

#[test]
fn continues_after_a_cut_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = whole.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(i, _)| i).collect();
    // Behind the header, a call and its question in turn.
    let ends: Vec<usize> = ends.into_iter().skip(2).step_by(2).collect();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let mut writer = Writer::open(&path, &header()).unwrap();
        // A line counts once its last brace is there, with or without its end.
        let expected = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(writer.finished().len(), expected, "cut at {cut}");
        for record in three().iter().filter(|r| !writer.finished().contains(&r.question.id)).collect::<Vec<_>>() {
            writer.append(record).unwrap();
        }
        drop(writer);
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
    }
}

#[test]
fn a_torn_end_is_reported_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let record = Record::read(&path).unwrap();
    assert!(record.torn);
    assert_eq!(record.questions, three()[..2]);
}

#[test]
fn another_header_is_refused_by_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let before = fs::read(&path).unwrap();
    let mut other = header();
    other.settings.seed = 7;
    other.switches["rounds"] = 2.into();
    other.model.architecture = "llama".into();
    let error = refused(&path, &other);
    for part in ["settings.seed 0 there, 7 now", "switches.rounds 3 there, 2 now", "model.architecture", "another -o"] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    assert!(!error.contains("max_tokens"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn names_of_files_change_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = header();
    first.model.sha256 = "12".repeat(32);
    let path = folder.path().join("out.jsonl");
    drop(Writer::open(&path, &first).unwrap());
    let mut renamed = first.clone();
    renamed.model.name = "elsewhere/model.gguf".into();
    renamed.dataset.as_mut().unwrap().name = "copy.jsonl".into();
    drop(Writer::open(&path, &renamed).unwrap());
    renamed.model.sha256 = "13".repeat(32);
    assert!(refused(&path, &renamed).contains("model.sha256"));
}

#[test]
fn a_file_that_is_no_record_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    for content in ["my notes", "{\"question\": 1}\n", "\n", "{\"moot_record\":true}\n", "{\"moot_record\":1}\n"] {
        fs::write(&path, content).unwrap();
        let error = refused(&path, &header());
        assert!(error.contains("out.jsonl:1: expected a record"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn a_newer_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    fs::write(&path, "{\"moot_record\":4,\"program\":\"moot 9.0\",\"new\":1}\n").unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(
        error.ends_with("out.jsonl:1: expected a record of version 3 or older, found version 4, written by moot 9.0")
    );
    assert!(refused(&path, &header()).contains("version 4"));
}

#[test]
fn a_corrupt_line_in_the_middle_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The call of the second question, cut.
    fs::write(&path, format!("{}\n{}\n{}\n{}\n{}\n", lines[0], lines[1], lines[2], &lines[3][..40], lines[4])).unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(error.contains("out.jsonl:4: expected a question's record, found JSON that ends too early"), "{error}");
    assert!(refused(&path, &header()).contains("out.jsonl:4"));
    // Its call is missing.
    fs::write(&path, format!("{}\n{}\n{}\n{}\n", lines[0], lines[1], lines[2], lines[4])).unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("out.jsonl:4: expected the lines of calls 0 to 0 of question \"2-bb\" before it, found 0"),
        "{error}"
    );
    let without = |line: &str| line.replace("\"entries\":[0]", "\"entries\":[]");
    fs::write(&path, format!("{}\n{}\n{}\n", lines[0], without(lines[2]), without(lines[2]))).unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(
        error.ends_with("out.jsonl:3: expected each question once, found question \"1-aa\" again, as on line 2"),
        "{error}"
    );
}

/// A journal whose hashes are right and whose calls are not numbered from 0 without a gap.
#[test]
fn a_gap_among_calls_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut chain = Chain::default();
    let mut bytes = chain.link(&header()).unwrap();
    let call = &three()[0].calls[0];
    for entry in [0, 2] {
        bytes.extend(chain.link(&serde_json::json!({ "of": "q", "entry": entry, "call": call })).unwrap());
    }
    fs::write(&path, bytes).unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("out.jsonl:3: expected call 1 of question \"q\", found call 2 of it"), "{error}");
}

#[test]
fn two_writers_are_one_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let first = Writer::open(&path, &header()).unwrap();
    assert!(refused(&path, &header()).contains("another process is writing this record"));
    drop(first);
    assert!(Writer::open(&path, &header()).is_ok());
}

#[test]
fn a_missing_folder_is_named() {
    let error = refused(Path::new("no/such/folder/out.jsonl"), &header());
    assert!(error.starts_with("no/such/folder/out.jsonl: expected a file in a folder that exists"), "{error}");
}

#[test]
fn fractions_in_a_header_do_not_differ_from_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut header = header();
    header.switches["weight"] = 988_315_746.307_652_5.into();
    header.settings.sampling = Sampling::Seeded { temperature: 0.7, top_k: 0, top_p: 0.9 };
    drop(Writer::open(&path, &header).unwrap());
    assert!(Writer::open(&path, &header).is_ok());
}

proptest! {
    // Each case is a file on a disk that is synced.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_survives(text in any::<String>(), answers in prop::collection::vec(any::<String>(), 0..4), ticks in any::<u16>()) {
        let folder = tempfile::tempdir().unwrap();
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let mut record = answered("x", &answers, &[&text], &answers);
        record.question.text = text;
        // Few digits: a parsed fraction of many may differ in its last bit.
        record.seconds = f64::from(ticks) / 1024.0;
        let path = written(folder.path(), std::slice::from_ref(&record));
        let read = Record::read(&path).unwrap();
        prop_assert_eq!(&read.questions, &[record]);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &three());
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(&tail);
        fs::write(&path, bytes).unwrap();
        let _ = Record::read(&path);
        fs::write(&path, tail).unwrap();
        prop_assert!(Record::read(&path).is_err());
    }
}

#[test]
fn a_question_has_each_of_its_calls_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"entries\":[0]", "\"entries\":[0,0]", 1)).unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(
        error.ends_with("out.jsonl:3: expected each call of question \"1-aa\" once, found call 0 again"),
        "{error}"
    );
}

#[test]
fn an_error_is_a_short_line_whatever_the_record_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let text = fs::read_to_string(&path).unwrap();
    let long = "x".repeat(5000);
    for (from, to) in [
        ("\"finish\":\"stop\"", "\"finish\":\"a\\nb\"".to_owned()),
        ("\"finish\":\"stop\"", format!("\"finish\":\"{long}\"")),
        ("\"method\":\"echo\"", format!("\"method\":\"{long}\"")),
        (
            "\"method\":\"echo\",",
            format!(
                "\"method\":\"mad\",\"roles\":{{\"reader\":{{\"name\":\"{long}\",\"architecture\":\"\",\"context\":0}}}},"
            ),
        ),
        ("\"round\":1", format!("\"round\":\"{long}\"")),
        ("{\"of\":\"1-aa\",\"entry\":0", format!("{{\"of\":\"{long}\",\"entry\":7")),
        ("\"moot_record\":3,\"program\":\"", format!("\"moot_record\":4,\"program\":\"\\n{long}")),
    ] {
        let edited = text.replacen(from, &to, 1);
        assert_ne!(edited, text, "{from}");
        fs::write(&path, edited).unwrap();
        let read = Record::read(&path).and_then(|record| Sample::draw(&record, None, 0).map(drop));
        let error = read.unwrap_err().to_string();
        assert!(error.len() < 900 + path.as_os_str().len() && !error.contains('\n'), "{from}: {error}");
    }
}

/// Line `number`, from 0, of the record at `path` with `more` before its last brace.
fn with_more(path: &Path, number: usize, more: &str) -> Vec<u8> {
    let mut lines: Vec<String> = fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    let line = &mut lines[number];
    line.truncate(line.len() - 1);
    line.push_str(&format!(",{more}}}"));
    (lines.join("\n") + "\n").into_bytes()
}

/// The hash covers what stands before it, and the parser reads the whole line.
#[test]
fn only_times_follow_the_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let whole = fs::read(&path).unwrap();
    let model = r#""model":{"name":"qwen2.5-72b","sha256":"ff","architecture":"llama","context":8}"#;
    let cases = [
        (0, model, "found `model` twice"),
        (0, r#""method":"closed-book""#, "found `method` twice"),
        (0, r#""m\u006fdel":{}"#, "found `model` twice"),
        (0, r#""label":"x""#, "expected nothing behind the hash, found `label`"),
        (0, r#""own_prompts":{"a":"b"}"#, "found `own_prompts`"),
        (0, r#""times":{"seconds":1}"#, "found `times`"),
        (1, r#""of":"q9""#, "found `of` twice"),
        (1, r#""times":{}"#, "found `times` twice"),
        (1, r#""error":"x""#, "expected nothing but `times` behind the hash, found `error`"),
        (2, r#""error":"x""#, "found `error`"),
        (2, r#""retrieved":[]"#, "found `retrieved`"),
        (2, r#""question":{}"#, "found `question` twice"),
    ];
    for (number, more, found) in cases {
        fs::write(&path, with_more(&path, number, more)).unwrap();
        let error = Record::read(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("out.jsonl:{}: expected", number + 1)) && error.contains(found), "{error}");
        let before = fs::read(&path).unwrap();
        assert!(refused(&path, &header()).contains(found), "{more}");
        assert_eq!(fs::read(&path).unwrap(), before, "{more}");
        fs::write(&path, &whole).unwrap();
    }
    // Times have their own fields alone.
    let text = String::from_utf8(whole).unwrap();
    fs::write(&path, text.replacen("\"times\":{", "\"times\":{\"label\":\"x\",", 1)).unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(error.contains("unknown field `label`"), "{error}");
}

#[test]
fn a_name_is_once_in_a_line_of_older_versions_too() {
    let folder = tempfile::tempdir().unwrap();
    for version in [1, 2] {
        let old = format!("{}/tests/fixtures/version-{version}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let path = folder.path().join("old.jsonl");
        for (number, more) in [(0, r#""method":"closed-book""#), (1, r#""conclusion":null"#)] {
            fs::write(&path, with_more(Path::new(&old), number, more)).unwrap();
            let error = Record::read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("old.jsonl:{}: ", number + 1)) && error.contains("twice"), "{error}");
        }
        let text = fs::read_to_string(&old).unwrap();
        // Within objects too.
        fs::write(&path, text.replacen("\"settings\":{", "\"settings\":{\"seed\":9,", 1)).unwrap();
        let error = Record::read(&path).unwrap_err().to_string();
        assert!(error.contains("found `seed` twice"), "{error}");
    }
}

/// 6 MB of them would take half a gigabyte.
#[test]
fn a_line_has_a_bounded_number_of_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &three());
    let whole = fs::read(&path).unwrap();
    let lists = format!("\"x\":[{}0]", "[],".repeat(2 << 20));
    for number in [0, 1, 2] {
        let mut lines: Vec<Vec<u8>> = whole.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        drop(lines[number].splice(1..1, format!("{lists},").into_bytes()));
        if number == 0 {
            // The mark stays at the beginning.
            drop(lines[0].splice(..1, []));
            lines[0] = [br#"{"moot_record":3,"#.as_slice(), &lines[0]].concat();
        }
        fs::write(&path, lines.concat()).unwrap();
        let error = Record::read(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("out.jsonl:{}: ", number + 1)) && error.contains("more values"), "{error}");
        fs::write(&path, &whole).unwrap();
    }
}

/// A whole record appears at once; what fails half way leaves nothing, so the same command can be repeated.
#[test]
fn a_whole_record_appears_at_once_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.jsonl");
    let failed = Writer::write_new(&path, &header(), |writer| {
        writer.append(&three()[0])?;
        assert!(!path.exists());
        Err(moot::MootError::Interrupted)
    });
    assert!(failed.is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let all = |writer: &mut Writer| three().iter().try_for_each(|record| writer.append(record));
    Writer::write_new(&path, &header(), all).unwrap();
    assert_eq!(Record::read(&path).unwrap().questions, three());
    assert_eq!(fs::read(&path).unwrap(), fs::read(written(folder.path(), &three())).unwrap());
    let error = Writer::write_new(&path, &header(), all).unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
}
