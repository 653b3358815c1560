//! Parts of a run as one record.

use super::journal::{debate, madam_header, questions, reply};
use super::{answered, header};
use moot::MootError;
use moot::eval::merge::{Merged, merge};
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, VERSION, Writer};
use moot::transcript::QuestionRecord;
use std::fs;
use std::path::{Path, PathBuf};

const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-2.jsonl");

fn written(path: &Path, header: &Header, records: &[QuestionRecord]) -> PathBuf {
    let mut writer = Writer::open(path, header).unwrap();
    records.iter().for_each(|record| writer.append(record).unwrap());
    path.into()
}

fn three() -> Vec<QuestionRecord> {
    let failed = QuestionRecord { conclusion: None, error: Some("refused".into()), ..answered("b", &[], &[], &[]) };
    vec![answered("a", &["yes"], &[], &["yes"]), failed, answered("c", &["no"], &[], &["ja"])]
}

#[test]
fn parts_are_one_record_with_hashes_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [a, b, c] = &three()[..] else { panic!() };
    let first = written(&at("1.jsonl"), &header(), &[a.clone(), b.clone()]);
    // The second part answers what the first one failed at, and has one of its questions again.
    let again = QuestionRecord { seconds: 99.0, ..a.clone() };
    let answer = answered("b", &[], &[], &["oui"]);
    let second = written(&at("2.jsonl"), &header(), &[answer.clone(), c.clone(), again]);
    let merged = merge(&[first, second], &at("all.jsonl")).unwrap();
    assert_eq!(merged, Merged { questions: 3, errors: 0, repeated: 1, unfinished: 0, expected: Some(3) });
    let (record, ledger) = Record::read_whole(&at("all.jsonl")).unwrap();
    assert_eq!(record.questions, [a.clone(), answer, c.clone()]);
    assert!(ledger.altered.is_empty() && ledger.chain.len() == 64 && record.header == header());
    // The merged record can be continued as any other.
    assert_eq!(Writer::open(&at("all.jsonl"), &header()).unwrap().finished().len(), 3);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside it");
}

#[test]
fn parts_of_different_runs_are_refused_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let first = written(&at("1.jsonl"), &header(), &three());
    let mut other = header();
    other.settings.seed = 9;
    let seed = written(&at("2.jsonl"), &other, &[]);
    let conflict = written(&at("3.jsonl"), &header(), &[answered("c", &["no"], &[], &["nein"])]);
    let altered = at("4.jsonl");
    fs::write(&altered, fs::read_to_string(&first).unwrap().replacen("\"yes\"", "\"yep\"", 1)).unwrap();
    for (second, said) in [
        (&seed, "2.jsonl: recorded with other settings than"),
        (&seed, "settings.seed 0 there, 9 here"),
        (&conflict, "3.jsonl: expected question \"c\" as"),
        (&altered, "4.jsonl:2: expected a line as it was written"),
    ] {
        let error = merge(&[first.clone(), second.clone()], &at("all.jsonl")).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "{said}");
    }
    let error = merge(std::slice::from_ref(&first), &conflict).unwrap_err().to_string();
    assert!(error.ends_with("3.jsonl: exists already; expected the path of a new file"), "{error}");
}

#[test]
fn a_record_of_version_2_becomes_one_of_today() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.jsonl");
    let old = Record::read(Path::new(OLD)).unwrap();
    assert_eq!((old.header.moot_record, old.questions.len(), old.questions[0].calls.len()), (2, 1, 4));
    merge(&[OLD.into()], &path).unwrap();
    let new = Record::read(&path).unwrap();
    assert_eq!(new.header, Header { moot_record: VERSION, ..old.header.clone() });
    assert_eq!(new.questions, old.questions);
    let refused = Writer::open(Path::new(OLD), &new.header).err().unwrap().to_string();
    assert!(refused.contains("moot_record 2 there, 3 now"), "{refused}");
    assert_eq!(Writer::open(&path, &new.header).unwrap().finished().len(), 1, "it can be gone on with");
}

/// Calls of a question that no part finished are kept, and used by the next run.
#[test]
fn unfinished_questions_keep_their_calls() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut writer = Writer::open(&at("1.jsonl"), &madam_header()).unwrap();
    let ended = debate(&mut writer, &questions(1, 4), 1, |call| match call.role.as_str() {
        "agent" => Ok(reply(call)),
        _ => Err(MootError::Engine("gone".into())),
    });
    assert!(ended.is_err());
    drop(writer);
    assert_eq!(merge(&[at("1.jsonl")], &at("all.jsonl")).unwrap().unfinished, 4);
    let mut writer = Writer::open(&at("all.jsonl"), &madam_header()).unwrap();
    let progress = debate(&mut writer, &questions(1, 4), 1, |call| Ok(reply(call))).unwrap();
    assert_eq!((progress.calls, progress.from_journal), (15, 4));
}
