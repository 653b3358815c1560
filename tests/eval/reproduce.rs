//! The papers' tables: every name in them exists here, and our numbers are printed beside theirs on their scale.

use super::{answered, header};
use moot::eval::datasets::DATASETS;
use moot::eval::metrics::METRICS;
use moot::eval::record::Header;
use moot::eval::record::reader::Record;
use moot::eval::reproduce::{Derivation, Figure, PaperTable, beside, derived, drawn, tables};
use std::collections::{BTreeMap, BTreeSet};

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
            assert!(!row.weighs || !row.needs.is_empty(), "{}: what {} needs is said", table.name, row.name);
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

/// Every table and figure of the papers that prints numbers or draws a curve. Figures of RA-RAG are of trials: they have the
/// commands that make them.
#[test]
fn no_table_of_the_papers_is_missing() {
    let names: Vec<&str> = tables().map(|table| table.name).collect();
    let numbered = |paper: &str, numbers: &[&str]| {
        for number in numbers {
            assert!(names.contains(&&*format!("{paper}-{number}")), "{paper}-{number}");
        }
    };
    numbered("madam-rag", &["1", "2", "figure-3", "figure-4a", "figure-4b"]);
    numbered("drag", &["1", "2", "3", "4", "5", "6", "figure-4"]);
    numbered("conflictscore", &["2", "3", "4", "5"]);
    numbered("verification", &["1", "2", "3", "5", "6"]);
    numbered("ra-rag", &["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    numbered(
        "ra-rag",
        &["figure-2", "figure-4", "figure-5", "figure-6", "figure-7", "figure-8", "figure-9", "figure-10"],
    );
    numbered("ra-rag", &["figure-13"]);
    assert_eq!(names.len(), 39);
    for table in tables() {
        let elsewhere = !table.made_by.is_empty() || table.name == "ra-rag-figure-13";
        assert_eq!(table.rows.is_empty(), elsewhere, "{}", table.name);
        assert!(!table.settings.is_empty() || !elsewhere, "{}", table.name);
    }
}

/// Tables of a paper share records, so a dataset's name, and the limit of a reply, mean the same in all of them.
#[test]
fn equal_runs_of_a_paper_have_one_record() {
    let (mut forms, mut limits) = (BTreeMap::new(), BTreeMap::new());
    for table in tables() {
        assert_eq!(*limits.entry(table.key()).or_insert(table.max_tokens), table.max_tokens, "{}", table.name);
        for needed in table.data {
            let known = *forms.entry((table.key(), needed.name)).or_insert((needed.get, needed.form));
            assert_eq!(known, (needed.get, needed.form), "{}: {}", table.name, needed.name);
        }
    }
    let record = |table: &str, row: &str| {
        PaperTable::named(table).unwrap().rows.iter().find(|known| known.name == row).unwrap().record()
    };
    assert_eq!(record("drag-1", "drag"), record("drag-6", "res-3"));
    assert_eq!(record("drag-4", "without"), record("drag-5", "retrieval"));
    assert_eq!(record("drag-5", "symmetric"), "drag+asymmetry=false");
    assert_eq!(PaperTable::named("madam-rag-figure-4b").unwrap().key(), "madam-rag");
}

#[test]
fn figures_and_derived_numbers_name_rows_and_columns_that_exist() {
    for table in tables() {
        let row = |name: &str| assert!(table.rows.iter().any(|row| row.name == name), "{}: {name}", table.name);
        let column = |label: &str| assert!(table.columns.iter().any(|c| c.label == label), "{}: {label}", table.name);
        for one in table.derived {
            match one.of {
                Derivation::Rows(a, b, label) => (row(a), row(b), column(label)).0,
                Derivation::Columns(name, a, b) => (row(name), column(a), column(b)).0,
                Derivation::Variance(name) => row(name),
            }
        }
        match &table.figure {
            Some(Figure::Rows { lines, .. }) => {
                lines.iter().flat_map(|(_, rows)| *rows).for_each(|(_, name)| row(name));
            }
            Some(Figure::Columns { at, .. }) => assert_eq!(at.len(), table.columns.len(), "{}", table.name),
            Some(Figure::Pair) => assert_eq!(table.columns.len(), 2, "{}", table.name),
            None => {}
        }
        let labels: BTreeSet<&str> = table.columns.iter().map(|column| column.label).collect();
        assert_eq!(labels.len(), table.columns.len(), "{}: labels are unique", table.name);
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
    assert_eq!(number("madam-rag-figure-3", "debate-1", "Llama-3.3-70B", "RAMDocs F1"), 68.63);
    assert_eq!(number("drag-2", "ret-2", "Llama-3.1-8B", "2Wiki EM"), 29.6);
    assert_eq!(number("drag-3", "drag", "Llama-3.1-8B", "HotpotQA rounds"), 1.46);
    assert_eq!(number("drag-4", "with", "Llama-3.1-8B", "TriviaQA F1"), 40.21);
    assert_eq!(number("drag-5", "symmetric", "Llama-3.1-8B", "2Wiki F1"), 29.36);
    assert_eq!(number("drag-6", "res-1", "Llama-3.1-8B", "StrategyQA EM"), 71.0);
    assert_eq!(number("drag-figure-4", "drag", "Llama-3.1-8B", "LLM calls"), 10.36);
    assert_eq!(number("conflictscore-4", "regenerated-rag", "gpt-4.1-mini", "truthful"), 82.4);
    assert_eq!(number("verification-3", "second-plain", "DeepSeek-R1", "EM-T"), 59.41);
    assert_eq!(number("verification-5", "one-first", "DeepSeek-R1", "F1-C"), 61.16);
    assert_eq!(number("verification-6", "second-majority", "all three", "count"), 7.6);
    assert_eq!(number("ra-rag-1", "aligned", "Llama3-8B", "irrelevant: IDK"), 86.36);
    assert_eq!(number("ra-rag-8", "unaligned", "GPT-4o-mini", "misinformation: hallucination"), 11.97);
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

/// A slice that the recorded part of a dataset does not have gives neither a number nor an error.
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

/// Table 2 of DRAG has the exact match of its table 6.
#[test]
fn tables_that_repeat_numbers_repeat_the_same_ones() {
    let cells = |name: &str, label: &str| -> Vec<f64> {
        let table = PaperTable::named(name).unwrap();
        let index = table.columns.iter().position(|column| column.label == label).unwrap();
        table.rows.iter().map(|row| row.published[0].1[index]).collect()
    };
    for label in ["NQ EM", "TriviaQA EM", "PopQA EM", "2Wiki EM", "HotpotQA EM"] {
        assert_eq!(cells("drag-2", label), cells("drag-6", label), "{label}");
    }
}

/// Records of figure 3 whose row is in `rights`, with so many right answers of 4.
fn figure_3(rights: &[(&'static str, usize)]) -> (&'static PaperTable, Vec<moot::eval::reproduce::Beside>) {
    let table = PaperTable::named("madam-rag-figure-3").unwrap();
    let of = |name: &str| rights.iter().find(|(row, _)| *row == name).map(|(_, right)| record(*right, 4 - right));
    let all = beside(table, &|row, needed| Ok((needed.name == "ramdocs").then(|| of(row.name)).flatten())).unwrap();
    (table, all)
}

#[test]
fn numbers_of_the_text_are_computed_from_the_tables() {
    let (table, all) = figure_3(&[("alone-1", 1), ("debate-1", 3)]);
    let found = derived(table, &all);
    let ours: Vec<Option<f64>> = found.iter().map(|one| one.ours).collect();
    assert_eq!(ours, [None, None, Some(50.0)], "{found:?}");
    assert_eq!(found[2].published, 7.8);
    let table = PaperTable::named("madam-rag-figure-4a").unwrap();
    let mut some = record(3, 3);
    for (index, question) in some.questions.iter_mut().enumerate() {
        question.question.slices = vec![format!("imbalance-1v{}", index / 2 + 1)];
    }
    // Right in 1, 0.5 and 0 of the levels' questions: a variance of (50 squared + 0 + 50 squared) / 3.
    let all = beside(table, &|row, _| Ok((row.name == "madam-rag").then(|| some.clone()))).unwrap();
    let found = derived(table, &all);
    assert_eq!(found[0].ours, None);
    assert!((found[1].ours.unwrap() - 5000.0 / 3.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_figure_is_drawn_from_what_is_recorded() {
    let (table, all) = figure_3(&[("alone-1", 1), ("debate-1", 3), ("debate-3", 4)]);
    let charts = drawn(table, &all);
    let suffixes: Vec<&str> = charts.iter().map(|chart| chart.suffix.as_str()).collect();
    assert_eq!(suffixes, ["-ramdocs-acc", "-ramdocs-prec", "-ramdocs-rec", "-ramdocs-f1"]);
    assert_eq!(charts[0].names, ["without aggregator", "with aggregator"]);
    let points = |line: usize| charts[0].chart.series[line].points.iter().map(|p| (p.x, p.y.mean)).collect::<Vec<_>>();
    assert_eq!((points(0), points(1)), (vec![(1.0, 0.25)], vec![(1.0, 0.75), (3.0, 1.0)]));
    let picture = charts[0].chart.picture(&charts[0].title, &charts[0].names).unwrap();
    assert!(picture.contains("<svg") && picture.contains("with aggregator"), "{picture}");
    assert!(drawn(table, &figure_3(&[]).1).is_empty());
    let calls = PaperTable::named("drag-figure-4").unwrap();
    let all = beside(calls, &|row, _| Ok((row.name == "drag").then(|| record(1, 1)))).unwrap();
    let charts = drawn(calls, &all);
    assert_eq!((charts.len(), charts[0].names.as_slice(), charts[0].suffix.as_str()), (1, &["DRAG"][..], ""));
    assert!(charts[0].chart.top.is_some(), "counts have their own scale");
}

#[test]
fn a_row_that_differs_from_the_paper_says_how() {
    let table = PaperTable::named("drag-1").unwrap();
    let mut some = record(1, 1);
    some.header.settings.max_tokens = 64;
    some.header.preset = Some("tuned".into());
    some.header.own_prompts = [("drag/judge.jinja".to_owned(), "x".to_owned())].into();
    let retriever = |mode: &str| moot::retrieval::RetrieverIdentity {
        index: "ab".into(),
        embedder: None,
        reranker: None,
        mode: mode.into(),
    };
    some.header.retriever = Some(retriever("hybrid, approximate"));
    let wanted =
        |fold| moot::retrieval::Wanted { top: 3, by_source: false, filter: moot::retrieval::Filter::default(), fold };
    some.header.wanted = Some(wanted(true));
    let of = |some: &Record| {
        let all = beside(table, &|row, needed| Ok((row.name == "drag" && needed.name == "nq").then(|| some.clone())));
        all.unwrap().into_iter().find(|one| one.name == "drag" && one.ours.is_some()).unwrap().deviates
    };
    assert_eq!(
        of(&some),
        [
            "at most 64 tokens a reply instead of 256",
            "preset tuned",
            "custom prompts: drag/judge.jinja",
            "search was hybrid, approximate instead of dense and exact",
            "near-duplicates were folded"
        ]
    );
    let mut exact = record(1, 1);
    exact.header.settings.max_tokens = 256;
    exact.header.preset = Some("paper".into());
    exact.header.retriever = Some(retriever("dense"));
    exact.header.wanted = Some(wanted(false));
    assert_eq!(of(&exact), Vec::<String>::new());
    let reranked = moot::retrieval::RetrieverIdentity { reranker: Some("minilm-l6".into()), ..retriever("dense") };
    exact.header.retriever = Some(reranked);
    let nli =
        moot::nli::ClassifierIdentity { name: "deberta-nli".into(), kind: "scripted".into(), ..Default::default() };
    exact.header.classifier = Some(nli);
    assert_eq!(of(&exact), ["passages were reranked by minilm-l6", "classifier of pairs: deberta-nli"]);
}

/// Differences of a row itself are told before anything is recorded.
#[test]
fn rows_say_how_they_differ_from_their_papers() {
    let note = |table: &str, row: &str| {
        let table = PaperTable::named(table).unwrap();
        let all = beside(table, &|_, _| Ok(None)).unwrap();
        let one = all.into_iter().find(|one| one.name == row).unwrap();
        one.deviates.join("; ")
    };
    for (table, row, parts) in [
        ("conflictscore-2", "conflict-score", &["in a template", "all documents that support the claim"][..]),
        ("conflictscore-3", "balanced", &["in the paper on its main entity", "at most 40 claims"]),
        ("conflictscore-4", "control-rag", &["verdicts without an explanation"]),
        ("conflictscore-4", "regenerated-rag", &["at most 8 claims", "verdicts without an explanation"]),
        ("conflictscore-5", "rag", &["in the paper letters"]),
        ("conflictscore-5", "regenerated-rag", &["in the paper letters", "no justification"]),
        ("verification-1", "context", &["prints no prompt of a single model"]),
        ("verification-2", "second-majority", &["in the paper a JSON object"]),
        ("verification-3", "first-plain", &["gives the answer alone"]),
        ("verification-5", "one-first", &["share one explanation", "in the paper a JSON object"]),
        ("ra-rag-1", "aligned", &["in the paper Contriever retrieves them", "in the reference code sampled"]),
        ("ra-rag-9", "entailment", &["in the paper Contriever retrieves them"]),
    ] {
        let found = note(table, row);
        assert!(parts.iter().all(|part| found.contains(part)), "{table}, {row}: {found}");
    }
    // Of these papers no row is the paper's in all.
    let keys = ["conflictscore", "verification", "ra-rag"];
    for table in tables().filter(|table| keys.contains(&table.key())) {
        let without: Vec<&str> = table.rows.iter().filter(|row| row.note.is_empty()).map(|row| row.name).collect();
        assert_eq!(without, [""; 0], "{}", table.name);
    }
    let sota = PaperTable::named("verification-2").unwrap().settings.join("\n");
    for number in ["47.34", "57.26", "54.74", "59.61", "69.79", "67.19"] {
        assert!(sota.contains(number), "{sota}");
    }
}

/// The paper's candidates are three models, one of which verifies.
#[test]
fn candidates_that_share_a_model_are_marked() {
    let named = |name: &str| moot::llm::ModelIdentity { name: name.into(), ..Default::default() };
    let marked = |table: &str, roles: &[(&str, moot::llm::ModelIdentity)]| -> Vec<&'static str> {
        let table = PaperTable::named(table).unwrap();
        let mut some = record(1, 1);
        some.header.roles = roles.iter().map(|(role, model)| ((*role).to_owned(), model.clone())).collect();
        let all = beside(table, &|_, _| Ok(Some(some.clone()))).unwrap();
        let shared = |deviates: &[String]| deviates.iter().any(|line| line.starts_with("candidates share a model"));
        let names = all.iter().filter(|one| shared(&one.deviates)).map(|one| one.name);
        names.collect::<BTreeSet<&str>>().into_iter().collect()
    };
    assert_eq!(
        marked("verification-2", &[]),
        ["first-majority", "first-round", "majority", "second-majority", "second-round"],
        "all but the single model"
    );
    assert_eq!(marked("verification-3", &[]), ["first-plain", "second-plain"]);
    assert_eq!(marked("verification-6", &[]), ["first-majority", "majority", "second-majority"]);
    assert_eq!(
        (marked("verification-1", &[]), marked("verification-5", &[])),
        (vec![], vec![]),
        "one model in the paper"
    );
    // The header's model has the roles that are not listed.
    let two = [("candidate-2", named("b"))];
    assert_eq!(marked("verification-3", &two), ["first-plain", "second-plain"]);
    let three = [("candidate-2", named("b")), ("candidate-3", named("c"))];
    assert_eq!(marked("verification-3", &three), [""; 0]);
    let file = |name: &str| moot::llm::ModelIdentity { sha256: "ab".into(), ..named(name) };
    let same = [("candidate-2", file("b")), ("candidate-3", file("c"))];
    assert_eq!(marked("verification-3", &same), ["first-plain", "second-plain"], "one file has two names");
}
