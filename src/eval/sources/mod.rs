//! Estimates how far each source can be trusted, from what sources answered over many questions and without labels (RA-RAG,
//! section 3.3). `docs/sources.md` states the formulas and where they fail.

use crate::answers::align::{self, Compared};
use crate::answers::equality;
use crate::answers::words::Level;
use crate::eval::judgement::Outcome;
use crate::question::{Gold, Question};
use crate::sources::{EstimatorSettings, QuestionAnswers, SourceAnswer, SourceEstimate, SourceWeights, VERSION};
use crate::transcript::QuestionRecord;
use crate::units::plural;
use std::collections::{BTreeMap, BTreeSet};

pub mod bench;
mod intervals;
mod iteration;
pub mod labels;
pub mod merge;
pub mod pairs;
pub mod reliability;
pub mod report;
pub mod simulate;
pub mod tables;
pub mod trials;

pub use iteration::{Evidence, Fit, Row, fit, winner};

/// Answers as the estimator sees them: of each question, what each source answered as the number of a class of equal
/// answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Names, in their order.
    pub sources: Vec<String>,
    /// One a question; an entry a source. `None` is "I don't know" or not asked.
    pub rows: Vec<Row>,
    /// By question, the classes that are right where its right answers are known ([`SourceAnswer::right`]).
    pub right: Vec<Option<Vec<u16>>>,
}

impl Table {
    /// The table of these questions: answers are equal after normalisation, or where their run found them equal by meaning
    /// ([`SourceAnswer::compared`]); classes of a question are numbered by their first source.
    #[must_use]
    pub fn of(questions: &[QuestionAnswers]) -> Self {
        let names: BTreeSet<&str> = questions.iter().flat_map(|q| q.answers.keys().map(String::as_str)).collect();
        let sources: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let row = |question: &QuestionAnswers| {
            let said: Vec<Option<&str>> =
                sources.iter().map(|source| question.answers.get(source).and_then(SourceAnswer::compared)).collect();
            let given: Vec<&str> = said.iter().copied().flatten().collect();
            let mut classes = equality::exact(&given).0.into_iter();
            let class = |said: &Option<&str>| said.and_then(|_| classes.next()).flatten();
            said.iter().map(class).map(|class| class.and_then(|class| u16::try_from(class).ok())).collect()
        };
        let rows: Vec<Row> = questions.iter().map(row).collect();
        let right = |(question, row): (&QuestionAnswers, &Row)| {
            question.answers.values().any(|answer| answer.right.is_some()).then(|| {
                let is_right = |name: &String| question.answers.get(name).is_some_and(|own| own.right == Some(true));
                sources.iter().zip(row).filter(|(name, _)| is_right(name)).filter_map(|(_, class)| *class).collect()
            })
        };
        let right = questions.iter().zip(&rows).map(right).collect();
        Self { sources, rows, right }
    }

    /// As the estimator takes it.
    #[must_use]
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { rows: &self.rows, right: &self.right, times: None }
    }

    /// The first source whose answer to a question is of this class.
    pub(crate) fn giver(&self, question: usize, class: u16) -> Option<&String> {
        let giver = self.rows[question].iter().position(|said| *said == Some(class))?;
        self.sources.get(giver)
    }

    /// The estimated answer of a question (step 3): the class with the largest sum of `votes`, of the right ones where they are
    /// known. `None` where no source answered, or none rightly.
    #[must_use]
    pub fn estimated(&self, question: usize, votes: &[f64]) -> Option<u16> {
        let row = &self.rows[question];
        match &self.right[question] {
            None => winner(row, votes),
            Some(right) => {
                let right: Row = row.iter().map(|said| said.filter(|class| right.contains(class))).collect();
                winner(&right, votes)
            }
        }
    }
}

/// Estimated weights of the sources of `questions`, with bootstrap intervals, and the answers themselves.
#[must_use]
pub fn estimate(mut questions: Vec<QuestionAnswers>, settings: &EstimatorSettings) -> SourceWeights {
    let table = Table::of(&questions);
    let evidence = table.evidence();
    let n = settings.sources.unwrap_or(table.sources.len()) as f64;
    let fit = fit(&evidence, table.sources.len(), n, settings);
    let intervals = intervals::bootstrap(&evidence, n, settings);
    let mut lone = vec![0; table.sources.len()];
    (0..table.rows.len()).filter_map(|question| evidence.lone(question)).for_each(|source| lone[source] += 1);
    for (at, question) in questions.iter_mut().enumerate() {
        let giver = table.estimated(at, &fit.votes).and_then(|class| table.giver(at, class));
        question.estimated = giver.and_then(|giver| question.answers.get(giver)?.compared().map(str::to_owned));
    }
    let mut sources: BTreeMap<String, SourceEstimate> = BTreeMap::new();
    for (index, name) in table.sources.iter().enumerate() {
        let own: Vec<&SourceAnswer> = questions.iter().filter_map(|question| question.answers.get(name)).collect();
        let agreement = fit.agreement[index];
        sources.insert(
            name.clone(),
            SourceEstimate {
                weight: agreement.map(|_| fit.votes[index]),
                agreement,
                answers: own.iter().filter(|answer| answer.counted().is_some()).count(),
                asked: own.len(),
                dropped: own.iter().filter(|answer| answer.dropped).count(),
                interval: intervals[index],
                lone: Some(lone[index]),
            },
        );
    }
    SourceWeights {
        moot_sources: VERSION,
        estimator: described(n, settings, table.right.iter().flatten().count()),
        records: Vec::new(),
        questions: table.rows.iter().filter(|row| row.iter().any(Option::is_some)).count(),
        iterations: fit.iterations,
        converged: fit.converged,
        sources,
        settings: Some(*settings),
        answers: questions,
    }
}

/// The estimator and its settings, for people; `known` questions have known answers.
fn described(n: f64, settings: &EstimatorSettings, known: usize) -> String {
    let mut text = format!("paper (RA-RAG, section 3.3): N = {n}, at most {} iterations", settings.iterations);
    if let Some(pseudo) = settings.shrink.filter(|pseudo| *pseudo > 0.0) {
        text.push_str(&format!(", shrunk to the mean by {pseudo}"));
    }
    if known > 0 {
        text.push_str(&format!(", {} with known answers", plural(known, "question", "questions")));
    }
    text
}

/// The answers of the sources of one recorded question: each document's call in the first round that has calls for
/// single documents. A source with several calls answers with the first that counts.
///
/// `least` is the ROUGE-1 precision of `f_align` (section 3.2): an answer whose words the documents of its source hold to a
/// smaller share, compared as the run did, is dropped; `None` drops nothing. Documents without a source are left out.
#[must_use]
pub fn answers_of(record: &QuestionRecord, least: Option<f64>, compared: Compared) -> QuestionAnswers {
    let mut answers: BTreeMap<String, SourceAnswer> = BTreeMap::new();
    let first = record.calls.iter().filter(|call| call.document.is_some()).map(|call| call.round).min();
    for call in record.calls.iter().filter(|call| Some(call.round) == first) {
        let Some(source) = call.document.and_then(|number| record.document(number)?.source.clone()) else { continue };
        let answer = align::answer(call).map(str::to_owned);
        let all = record.question.documents.iter().chain(&record.retrieved);
        let texts = all.filter(|document| document.source.as_ref() == Some(&source)).map(|document| &*document.text);
        let held = |answer: &String| least.is_none_or(|least| compared.precision(answer, texts.clone()) >= least);
        let dropped = answer.as_ref().is_some_and(|answer| !held(answer));
        let known = answers.entry(source).or_default();
        // A dropped answer is kept only until one that counts comes.
        if known.counted().is_none() && (known.answer.is_none() || !dropped) && answer.is_some() {
            *known = SourceAnswer { answer, dropped, ..SourceAnswer::default() };
        }
    }
    QuestionAnswers { id: record.question.id.clone(), text: record.question.text.clone(), answers, estimated: None }
}

/// Notes which answers are right, by the question's gold answers, where it has some.
pub fn note_gold(answers: &mut QuestionAnswers, question: &Question) {
    let known = |gold: &Gold| gold.unanswerable || !gold.answers.is_empty();
    if !question.gold.as_ref().is_some_and(known) {
        return;
    }
    for own in answers.answers.values_mut() {
        let outcome =
            own.answer.as_ref().and_then(|answer| Outcome::of_answers(question, std::slice::from_ref(answer), true));
        own.right = outcome.map(|outcome| outcome == Outcome::Right);
    }
}

/// Notes which answers a run of `ra-rag` found equal by meaning: its conclusion lists each answer once, with the documents of
/// the sources whose answers are in its class. Answers that the run dropped are compared by their words.
pub fn note_classes(answers: &mut QuestionAnswers, record: &QuestionRecord) {
    let Some(conclusion) = &record.conclusion else { return };
    for class in conclusion.answers.iter().chain(&conclusion.rejected) {
        let sources = class.supporters.iter().filter_map(|&number| record.document(number)?.source.as_ref());
        for source in sources {
            let Some(own) = answers.answers.get_mut(source) else { continue };
            let other = own.answer.as_ref().is_some_and(|answer| !Level::Scored.equal(answer, &class.text));
            own.equal_to = other.then(|| class.text.clone());
        }
    }
}
