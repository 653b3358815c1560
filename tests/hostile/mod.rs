//! Files that were made to do harm: each ends in text or in one line, soon and in little memory.

mod html;
mod index;
mod package;
mod pdf;
mod pdf_worker;
mod record;
mod terminal;
mod values;
mod walk;

use moot::retrieval::corpus::Corpus;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Far more than any of these files takes on a busy machine, less than quadratic time would: 10 minutes and more.
const PATIENCE: Duration = Duration::from_secs(120);

/// The texts of the corpus `folder`, and what was left out.
fn read(folder: &Path) -> Result<(Vec<String>, Vec<String>), String> {
    let corpus = Corpus::open(&[folder.display().to_string()]).map_err(|e| e.to_string())?;
    let mut skipped = corpus.skipped().to_vec();
    let mut documents = corpus.documents();
    let texts = documents.by_ref().map(|document| document.map(|document| document.text));
    let texts: Result<Vec<String>, _> = texts.collect();
    skipped.extend(documents.skipped());
    let bare = |text: String| text.replace(&format!("{}/", folder.display()), "");
    Ok((texts.map_err(|e| bare(e.to_string()))?, skipped.into_iter().map(|s| bare(s.to_string())).collect()))
}

/// The text of one file among others, or why it was left out.
fn one(name: &str, content: &[u8]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    fs::write(folder.path().join("z.txt"), "sound").unwrap();
    let started = Instant::now();
    let (mut texts, skipped) = read(folder.path())?;
    assert!(started.elapsed() < PATIENCE, "{name}: {:?}", started.elapsed());
    assert_eq!(texts.pop().as_deref(), Some("sound"));
    match skipped.into_iter().next() {
        Some(why) => Err(why),
        None => Ok(texts.join("\u{c}")),
    }
}
