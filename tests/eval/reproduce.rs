//! The papers' tables: every name in them exists here, and our numbers are printed beside theirs on their scale.

use super::{answered, header};
use moot::eval::datasets::DATASETS;
use moot::eval::metrics::METRICS;
use moot::eval::record::Header;
use moot::eval::record::reader::Record;
use moot::eval::reproduce::{PaperTable, beside, tables};
use std::collections::BTreeSet;

#[test]
fn every_table_names_methods_switches_metrics_and_forms_that_exist() {
    let names: BTreeSet<&str> = tables().map(|table| table.name).collect();
    assert_eq!(names.len(), tables().count(), "names are unique");
    for paper in ["madam-rag", "drag", "conflictscore", "verification", "ra-rag"] {
        assert!(names.iter().any(|name| name.starts_with(paper)), "{paper} has a table");
    }
    for table in tables() {
        let rows: BTreeSet<&str> = table.rows.iter().map(|row| row.name).collect();
        assert_eq!(rows.len(), table.rows.len(), "{}: rows are unique", table.name);
        for needed in table.data {
            assert!(DATASETS.iter().any(|row| row.name == needed.form), "{}: {}", table.name, needed.form);
            assert!(table.columns.iter().any(|column| column.data == needed.name), "{} is measured", needed.name);
            assert!(!needed.get.contains("://") && !needed.get.contains(".com"), "a name, no host: {}", needed.get);
        }
        for column in table.columns {
            assert!(METRICS.iter().any(|metric| metric.name == column.metric), "{}: {}", table.name, column.metric);
            assert!(table.dataset(column.data).is_ok());
        }
        for row in table.rows {
            row.build().unwrap();
            assert!(!row.on_demand || !row.note.is_empty(), "{}: what {} needs is said", table.name, row.name);
            for (model, values) in row.published {
                assert_eq!(
                    values.len(),
                    table.columns.len(),
                    "{}, {}, {model}: a number a column",
                    table.name,
                    row.name
                );
            }
        }
    }
}

/// Numbers read off the papers once more, by hand.
#[test]
fn the_published_numbers_are_the_papers() {
    let number = |table: &str, row: &str, model: &str, column: &str| {
        let table = PaperTable::named(table).unwrap();
        let index = table.columns.iter().position(|known| known.label == column).unwrap();
        let row = table.rows.iter().find(|known| known.name == row).unwrap();
        row.published.iter().find(|(known, _)| *known == model).unwrap().1[index]
    };
    assert_eq!(number("madam-rag-1", "madam-rag", "Llama-3.3-70B", "RAMDocs EM"), 34.40);
    assert_eq!(number("madam-rag-1", "prompt-based", "Qwen2.5-72B", "RAMDocs EM"), 20.60);
    assert_eq!(number("madam-rag-2", "madam-rag", "not named", "tokens out"), 1547.18);
    assert_eq!(number("drag-1", "drag", "Llama-3.1-8B", "HotpotQA EM"), 30.80);
    assert_eq!(number("drag-1", "drag", "Llama-3.1-8B", "StrategyQA EM"), 69.20);
    assert_eq!(number("conflictscore-2", "conflict-score", "GPT-4.1", "ambigdocs F1"), 0.9420);
    assert_eq!(number("conflictscore-2", "conflict-score", "GPT-4.1", "overall accuracy"), 0.932);
    assert_eq!(number("conflictscore-2", "conflict-score", "GPT-4.1", "overall accuracy, no conflict"), 0.9724);
    assert_eq!(number("verification-2", "second-round", "Claude 4", "EM-T"), 59.66);
    assert_eq!(number("ra-rag-2", "unaligned", "Llama3-8B", "EM"), 0.465);
}

fn record(right: usize, wrong: usize) -> Record {
    let question = |i: usize| answered(&format!("q{i}"), &["yes"], &[], &[if i < right { "yes" } else { "no" }]);
    let header = Header { method: "madam-rag".into(), ..header() };
    Record { path: "out.jsonl".into(), header, questions: (0..right + wrong).map(question).collect(), torn: false }
}

#[test]
fn our_numbers_are_beside_theirs_on_their_scale() {
    let table = PaperTable::named("madam-rag-1").unwrap();
    let all =
        beside(table, &|row, needed| Ok((row.name == "madam-rag" && needed.name == "ramdocs").then(|| record(1, 3))))
            .unwrap();
    assert_eq!(all.len(), 7 * 3, "every row and column");
    let with: Vec<_> = all.iter().filter(|one| one.ours.is_some()).collect();
    assert_eq!(with.len(), 1);
    assert_eq!((with[0].row, with[0].column, with[0].model.as_deref()), ("MADAM-RAG", "RAMDocs EM", Some("scripted")));
    let ours = with[0].ours.unwrap();
    assert!((ours.mean - 25.0).abs() < 1e-9 && ours.high <= 100.0 && ours.n == 4, "{ours:?}");
    assert_eq!(with[0].published.len(), 3);
    let alone = all.iter().find(|one| one.row == "Self-RAG").unwrap();
    assert_eq!(alone.published.len(), 1);
}

/// A slice that the recorded part of a dataset does not have is no number and no error.
#[test]
fn a_slice_without_a_question_is_left_open() {
    let table = PaperTable::named("verification-1").unwrap();
    let mut some = record(2, 0);
    some.questions[0].question.slices = vec!["non-conflicting".into()];
    let all = beside(table, &|row, _| Ok((row.name == "explain").then(|| some.clone()))).unwrap();
    let ours =
        |label: &str| all.iter().find(|one| one.row == "Answer and Explain" && one.column == label).unwrap().ours;
    assert_eq!((ours("EM-C"), ours("EM-NC").map(|e| e.n), ours("EM-T").map(|e| e.n)), (None, Some(1), Some(2)));
}

#[test]
fn rows_that_need_more_run_only_where_they_are_named() {
    let table = PaperTable::named("ra-rag-2").unwrap();
    let names = |typed: &[String]| table.rows(typed).unwrap().iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(names(&[]), ["mv"]);
    assert_eq!(names(&["aligned".into(), "mv".into()]), ["aligned", "mv"]);
    let known = |error: moot::MootError| error.to_string().contains("oracle, aligned, unaligned, mv");
    assert!(known(table.rows(&["x".into()]).err().unwrap()));
    assert!(PaperTable::named("madam").err().unwrap().to_string().contains("madam-rag-1"));
}
