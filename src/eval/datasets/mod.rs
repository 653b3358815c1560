//! Datasets: questions with documents and answers. [`DATASETS`] has a row for each form that is read; `docs/adding.md`
//! says how to add one.

use crate::error::{MootError, Result};
use crate::eval::record::DatasetIdentity;
use crate::question::Question;
use moot_models::source::sha256_file;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::path::Path;

mod ambigdocs;
mod conflictbank;
mod conflictingqa;
mod contraqa;
mod faitheval;
mod fields;
mod flashrag;
mod healthver;
mod input;
mod macnoise;
mod multihop;
mod musique;
mod nq_open;
mod own;
mod poisonedrag;
mod popqa;
mod qacc;
mod ramdocs;
mod row;
mod scan;
mod strategyqa;
mod triviaqa;
mod truthfulqa;
mod wikicontradict;

pub use fields::question_id;
pub use input::{Form, Item};
pub use row::Row;
pub use truthfulqa::BEST_INCORRECT;

/// Every form, in the order of detection: the narrower before the wider.
pub const DATASETS: &[Row] = &[
    ramdocs::ROW,
    qacc::ROW,
    multihop::IRCOT,
    musique::ROW,
    poisonedrag::ROW,
    strategyqa::ROW,
    truthfulqa::ROW,
    healthver::ROW,
    multihop::TWO_WIKI,
    multihop::HOTPOTQA,
    popqa::ROW,
    triviaqa::ROW,
    ambigdocs::ROW,
    faitheval::ROW,
    conflictbank::ROW,
    wikicontradict::ROW,
    macnoise::ROW,
    contraqa::ROW,
    conflictingqa::ROW,
    nq_open::ROW,
    flashrag::ROW,
    own::ROW,
];

/// The names of [`DATASETS`], comma-separated.
#[must_use]
pub(crate) fn names() -> String {
    DATASETS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// How to read a dataset file.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// The dataset's form; detected where `None`.
    pub row: Option<&'static Row>,
    /// The file's form; detected where `None`.
    pub form: Option<Form>,
    /// Leave out items that cannot be read, instead of failing at the first.
    pub skip_bad: bool,
}

impl Options {
    /// Reads `--format`: a dataset's name, a file form, or both joined by a comma ("popqa,tsv").
    ///
    /// # Errors
    /// [`MootError::UnknownName`] for a name that is neither.
    pub fn format(mut self, typed: &str) -> Result<Self> {
        for name in typed.split(',').map(str::trim) {
            if let Some((_, form)) = Form::NAMES.iter().find(|(known, _)| *known == name) {
                self.form = Some(*form);
            } else if let Some(row) = DATASETS.iter().find(|row| row.name == name) {
                self.row = Some(row);
            } else {
                let forms: Vec<_> = Form::NAMES.iter().map(|(name, _)| *name).collect();
                let known = format!("{}; {}", names(), forms.join(", "));
                return Err(MootError::UnknownName { kind: "dataset format", name: name.to_owned(), known });
            }
        }
        Ok(self)
    }
}

/// A file of questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// For the record's header.
    pub identity: DatasetIdentity,
    /// The row's name.
    pub format: &'static str,
    /// In the file's order.
    pub questions: Vec<Question>,
    /// The errors of the items that were left out, where [`Options::skip_bad`] allowed it.
    pub skipped: Vec<String>,
}

impl Dataset {
    /// Keeps a uniform sample of `count` questions, in the file's order; all of them where there are fewer.
    ///
    /// Questions are ranked by the SHA-256 of (seed, id), so the same seed gives the same sample on every machine, and a
    /// larger sample contains every smaller one.
    pub fn sample(&mut self, count: usize, seed: u64) {
        let rank = |question: &Question| {
            let mut hash = Sha256::new();
            hash.update(seed.to_le_bytes());
            hash.update(question.id.as_bytes());
            hash.finalize()
        };
        let mut ranked: Vec<_> = self.questions.iter().enumerate().map(|(i, q)| (rank(q), i)).collect();
        ranked.sort_unstable();
        let kept: HashSet<usize> = ranked.into_iter().take(count).map(|(_, i)| i).collect();
        let mut at = 0..;
        self.questions.retain(|_| at.next().is_some_and(|i| kept.contains(&i)));
    }
}

/// Reads the dataset at `path`, detecting its form.
///
/// # Errors
/// As [`load_with`].
pub fn load(path: &Path) -> Result<Dataset> {
    load_with(path, &Options::default())
}

/// Reads the dataset at `path`.
///
/// # Errors
/// [`MootError::Io`] where it cannot be read; [`MootError::Input`] for a form that no row knows, and for the first item
/// that its form forbids, with line, field, what was expected and what is there. With [`Options::skip_bad`] only a file
/// without any good item is an error.
pub fn load_with(path: &Path, options: &Options) -> Result<Dataset> {
    let form = options.form.map_or_else(|| input::detect(path, &names()), Ok)?;
    let row = options.row.map_or_else(|| detect(path, form, options.skip_bad), Ok)?;
    let mut gathered = Gathered::default();
    for item in input::items(path, form, row.bare_nan)? {
        let added = item.and_then(|item| gathered.add(row, question(row, &item)?, &item));
        match added {
            Err(e) if options.skip_bad => gathered.skipped.push(e.to_string()),
            other => other?,
        }
    }
    let Gathered { mut questions, skipped, .. } = gathered;
    if row.merge {
        // Not before all documents of a question are known.
        questions.iter_mut().for_each(|q| q.documents = fields::named(std::mem::take(&mut q.documents)));
    }
    if questions.is_empty() {
        let found = match skipped.first() {
            Some(first) => format!("{} bad ones, the first: {first}", skipped.len()),
            None => "an empty file".to_owned(),
        };
        return Err(MootError::Input { path: path.into(), line: None, expected: "a question".into(), found });
    }
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let sha256 = sha256_file(path)?;
    let identity = DatasetIdentity { name, sha256, questions: questions.len(), titled: row.titled };
    Ok(Dataset { identity, format: row.name, questions, skipped })
}

/// Whether the first item of the file at `path` has a field called `name`.
///
/// # Errors
/// As [`load_with`], for a file that cannot be split into items.
pub fn has_field(path: &Path, options: &Options, name: &str) -> Result<bool> {
    let form = options.form.map_or_else(|| input::detect(path, &names()), Ok)?;
    Ok(input::items(path, form, true)?.next().transpose()?.is_some_and(|item| item.object.has(name)))
}

/// The question of an item, as methods are given it.
fn question(row: &Row, item: &Item) -> Result<Question> {
    let question = (row.read)(item)?.composed();
    Ok(fields::bounded(if row.titled { fields::titled(question) } else { question }))
}

/// The items of a file in any of the forms that datasets have, whatever their fields.
///
/// # Errors
/// As [`load_with`], for a file that cannot be split into items.
pub(super) fn items(path: &Path) -> Result<input::Items> {
    input::items(path, input::detect(path, "predictions")?, false)
}

#[derive(Default)]
struct Gathered {
    questions: Vec<Question>,
    skipped: Vec<String>,
    /// By id, the index in `questions`.
    seen: HashMap<String, usize>,
}

impl Gathered {
    fn add(&mut self, row: &Row, question: Question, item: &Item) -> Result<()> {
        match self.seen.get(&question.id) {
            None => {
                self.seen.insert(question.id.clone(), self.questions.len());
                self.questions.push(question);
            }
            Some(&earlier) if row.merge => {
                let Question { documents, slices, .. } = &mut self.questions[earlier];
                documents.extend(question.documents);
                for slice in question.slices {
                    if !slices.contains(&slice) {
                        slices.push(slice);
                    }
                }
            }
            Some(_) => {
                return Err(item.object.complaint("each id once", format!("question {:?} again", question.id)));
            }
        }
        Ok(())
    }
}

fn detect(path: &Path, form: Form, skip_bad: bool) -> Result<&'static Row> {
    // With bare words: whether the publisher's files have them is known with the row.
    let mut items = input::items(path, form, true)?;
    let first = if skip_bad { items.find(Result::is_ok) } else { items.next() };
    let Some(first) = first else {
        return Err(MootError::Input {
            path: path.into(),
            line: None,
            expected: format!("a dataset ({})", names()),
            found: if skip_bad { "no good item".into() } else { "no items".into() },
        });
    };
    let object = first?.object;
    DATASETS.iter().find(|row| (row.detect)(&object)).ok_or_else(|| {
        let passages = object.has("text") && !object.has("question");
        let note = if passages { ", passages of a corpus rather than questions" } else { "" };
        let found = own::misnamed(&object).unwrap_or_else(|| format!("the fields {}{note}", object.names()));
        object.complaint(&format!("an item of a known dataset ({})", names()), found)
    })
}
