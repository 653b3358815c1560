//! Records of parts of a run put together: one record, its hashes made anew.

use crate::error::{MootError, Result};
use crate::eval::record::reader::{Journal, Record};
use crate::eval::record::{Entry, Header, VERSION, Writer, differences};
use crate::files::outputs::refuse_existing;
use crate::transcript::QuestionRecord;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The counts of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Questions written.
    pub questions: usize,
    /// Of them, those that ended in an error.
    pub errors: usize,
    /// Questions that several records have, with the same outcome.
    pub repeated: usize,
    /// Calls of questions that are not finished.
    pub unfinished: usize,
    /// Questions of the dataset, where there is one.
    pub expected: Option<usize>,
}

/// Writes the questions of `inputs` to the new record `output`, in the order given. Records of versions 1 and 2 become one of
/// today's version. A question that is in several is written once; one that ended in an error gives way to its answer.
///
/// # Errors
/// [`MootError::Usage`] where `output` exists, or where headers differ in what can change a number; [`MootError::Input`] for
/// a record that is corrupt or altered, or a question that two records answer differently. Nothing is left of `output` then.
pub fn merge(inputs: &[PathBuf], output: &Path) -> Result<Merged> {
    refuse_existing(output)?;
    let (mut all, mut journal, mut ended) = (All::default(), Journal::new(), true);
    let mut header: Option<(Header, &Path)> = None;
    for path in inputs {
        let (record, ledger) = Record::read_whole(path)?;
        ledger.check(path)?;
        ended &= record.is_whole(&ledger);
        let own = Header { moot_record: VERSION, ..record.header };
        match &header {
            None => header = Some((own, path)),
            Some((first, from)) => agree(first, from, &own, path)?,
        }
        for question in record.questions {
            all.add(question, path)?;
        }
        for (id, calls) in ledger.journal {
            let known = journal.entry(id).or_default();
            if known.len() < calls.len() {
                *known = calls;
            }
        }
    }
    let Some((header, _)) = header else {
        return Err(MootError::Usage("expected records to merge, found none".into()));
    };
    journal.retain(|id, _| !all.indices.contains_key(id));
    let merged = Merged {
        questions: all.questions.len(),
        errors: all.questions.iter().filter(|(question, _)| question.error.is_some()).count(),
        repeated: all.repeated,
        unfinished: journal.values().map(Vec::len).sum(),
        expected: header.dataset.as_ref().map(|dataset| dataset.questions),
    };
    Writer::write_new(output, &header, |writer| {
        if ended {
            writer.ends_after(all.questions.len());
        }
        write(writer, &all, &journal)
    })?;
    Ok(merged)
}

fn agree(first: &Header, from: &Path, own: &Header, path: &Path) -> Result<()> {
    let differing = differences(first, own);
    if differing.is_empty() {
        return Ok(());
    }
    let fields = differing.iter().map(|(field, there, here)| format!("{field} {there} there, {here} here"));
    let fields = fields.collect::<Vec<_>>().join(", ");
    Err(MootError::Usage(format!("{}: recorded with other settings than {}: {fields}", path.display(), from.display())))
}

/// Questions in the order met, each with the file that it is from.
#[derive(Default)]
struct All {
    questions: Vec<(QuestionRecord, PathBuf)>,
    indices: HashMap<String, usize>,
    repeated: usize,
}

impl All {
    fn add(&mut self, question: QuestionRecord, path: &Path) -> Result<()> {
        let Some(&index) = self.indices.get(&question.question.id) else {
            self.indices.insert(question.question.id.clone(), self.questions.len());
            self.questions.push((question, path.into()));
            return Ok(());
        };
        let (known, from) = &self.questions[index];
        match (known.error.is_some(), question.error.is_some()) {
            (true, false) => self.questions[index] = (question, path.into()),
            (_, true) => {}
            (false, false) if same(known, &question) => self.repeated += 1,
            (false, false) => {
                let expected = format!("question {:?} as {} has it", question.question.id, from.display());
                let found = "another conclusion, reply or document".into();
                return Err(MootError::Input { path: path.into(), line: None, expected, found });
            }
        }
        Ok(())
    }
}

/// Whether two records of a question differ in times and tokens from the cache alone.
fn same(a: &QuestionRecord, b: &QuestionRecord) -> bool {
    let replies = |record: &QuestionRecord| -> Vec<(u64, String)> {
        record.calls.iter().map(|call| (call.seed, call.reply.clone())).collect()
    };
    a.question == b.question && a.conclusion == b.conclusion && replies(a) == replies(b)
}

fn write(writer: &mut Writer, all: &All, journal: &Journal) -> Result<()> {
    for (question, _) in &all.questions {
        writer.append(question)?;
    }
    let mut ids: Vec<&String> = journal.keys().collect();
    ids.sort();
    for id in ids {
        let calls = journal[id].iter().enumerate();
        let entries: Vec<Entry<'_>> = calls
            .map(|(entry, known)| Entry::Call { of: id, entry, call: &known.call, elapsed: known.elapsed })
            .collect();
        writer.append_all(&entries)?;
    }
    Ok(())
}
