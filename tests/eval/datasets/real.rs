//! The publishers' own files. They are not part of the repository: `MOOT_DATASETS` names the folder that has them.

use moot::eval::datasets::{self, Dataset};
use std::path::PathBuf;

/// The path of a publisher's file. It fails the test if the folder is not named or the file is missing.
pub(in crate::eval) fn published_file(file: &str) -> PathBuf {
    let folder = std::env::var_os("MOOT_DATASETS").expect("MOOT_DATASETS names the folder of the published datasets");
    let path = PathBuf::from(folder).join(file);
    assert!(path.is_file(), "expected the published dataset {}, found no file", path.display());
    path
}

fn real(file: &str, format: &str) -> Dataset {
    let set = datasets::load(&published_file(file)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((set.format, set.identity.questions), (format, set.questions.len()), "{file}");
    assert!(set.questions.iter().all(|q| !q.text.trim().is_empty()));
    set
}

fn of_kind(set: &Dataset, kind: &str) -> usize {
    let documents = set.questions.iter().flat_map(|q| &q.documents);
    documents.filter(|d| d.label.as_ref().is_some_and(|label| label.kind == kind)).count()
}

fn in_slice(set: &Dataset, slice: &str) -> usize {
    set.questions.iter().filter(|q| q.slices.iter().any(|s| s == slice)).count()
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn ramdocs() {
    let set = real("ramdocs/dev100.jsonl", "ramdocs");
    assert_eq!(set.questions.len(), 100);
    assert!(set.questions.iter().all(|q| q.gold.as_ref().is_some_and(|gold| gold.all_required)));
    assert!(of_kind(&set, "correct") > 0 && of_kind(&set, "misinfo") > 0 && of_kind(&set, "noise") > 0);
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn qacc_with_bare_nan() {
    let set = real("qacc/ConflictQA_train_dev.json", "qacc");
    assert_eq!(set.questions.len(), 804);
    assert_eq!((in_slice(&set, "conflicting"), in_slice(&set, "non-conflicting")), (174, 630));
    assert_eq!(set.questions.iter().filter(|q| q.gold.is_none()).count(), 1);
    assert!(
        set.questions
            .iter()
            .filter_map(|q| q.gold.as_ref())
            .all(|gold| gold.answers.len() == 1 && gold.required() == 1)
    );
    assert!(set.questions.iter().all(|q| (6..=10).contains(&q.documents.len())));
    let first = &set.questions[0];
    assert_eq!(first.gold.as_ref().unwrap().answers, [["every Monday"]]);
    assert_eq!(first.documents[0].source.as_deref(), Some("apnews.com"));
    // The contexts F and E support the correct answer.
    let labelled: Vec<usize> = (0..9).filter(|&i| first.documents[i].label.is_some()).collect();
    assert_eq!(labelled, [4, 5]);
    assert!(of_kind(&set, "correct") > 500 && of_kind(&set, "other") > 0);
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn hotpotqa_as_ircot_prepares_it() {
    let set = real("hotpotqa/dev500_ircot.jsonl", "ircot");
    assert_eq!(set.questions.len(), 500);
    assert_eq!(of_kind(&set, "supporting"), 1000);
    assert_eq!(set.questions.iter().map(|q| q.documents.len()).sum::<usize>(), 4931);
    assert_eq!(set.questions[0].documents[1].name, "Shirley Temple");
    assert_eq!(set.questions[0].gold.as_ref().unwrap().answers, [["Chief of Protocol"]]);
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn poisonedrag() {
    for file in ["hotpotqa", "nq", "msmarco"] {
        let set = real(&format!("poisonedrag/{file}.json"), "poisonedrag");
        assert_eq!((set.questions.len(), of_kind(&set, "misinfo")), (100, 500), "{file}");
        assert!(set.questions.iter().all(|q| q.gold.as_ref().unwrap().wrong.len() == 1));
    }
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn strategyqa() {
    let set = real("strategyqa/dev.json", "strategyqa");
    let yes = set.questions.iter().filter(|q| q.gold.as_ref().unwrap().answers == [["yes"]]).count();
    assert!(set.questions.len() == 229 && (50..180).contains(&yes), "{yes}");
    assert_eq!(set.questions[0].gold.as_ref().unwrap().answers, [["no"]]);
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn truthfulqa() {
    let set = real("truthfulqa/TruthfulQA.csv", "truthfulqa");
    assert_eq!((set.questions.len(), in_slice(&set, "adversarial")), (813, 435));
    let gold = set.questions[0].gold.as_ref().unwrap();
    assert!(gold.answers[0][0].starts_with("Veins appear blue because blue light does not penetrate"));
    assert_eq!(gold.wrong[0], "Veins appear blue due to the deoxygenated blood");
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn healthver() {
    let set = real("healthver/healthver_dev.csv", "healthver");
    let counts = ["supports", "refutes", "neutral"].map(|label| in_slice(&set, label));
    assert_eq!((set.questions.len(), counts), (1917, [533, 391, 993]));
    assert!(set.questions.iter().all(|q| q.documents.len() == 1 && q.claims.len() == 1));
}

#[test]
#[ignore = "needs the publishers' files in the folder MOOT_DATASETS"]
fn hipporag() {
    let set = real("hipporag/musique_train.json", "musique");
    assert_eq!((set.questions.len(), in_slice(&set, "answerable")), (100, 100));
    assert!(set.questions.iter().all(|q| q.documents.len() == 20));
    for corpus in ["musique_train_corpus.json", "2wikimultihopqa_corpus.json"] {
        let error = datasets::load(&published_file(&format!("hipporag/{corpus}"))).unwrap_err().to_string();
        assert!(error.contains("passages of a corpus rather than questions"), "{error}");
    }
}
