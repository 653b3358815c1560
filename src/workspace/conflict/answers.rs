//! Questions about recorded answers: whether documents support their claims, and whether they are right.

use crate::eval::metrics::changes;
use crate::protocol::labelling::decomposer::statement;
use crate::question::{Answer, Claim, Document, Question};
use crate::transcript::{CallRecord, QuestionRecord};

/// A question without a dataset.
pub(crate) fn by_hand(responses: Vec<String>) -> Question {
    Question { id: "asked".into(), responses, ..Question::default() }
}

/// The answer of a record for `moot score --conflict`, unless its method labelled that answer's claims itself.
/// `regenerated-rag` labels its first answer, so an answer that replaced it still has no labels.
pub(crate) fn to_be_labelled(record: &QuestionRecord) -> Option<Question> {
    let conclusion = record.conclusion.as_ref()?;
    let replaced = !conclusion.rejected.is_empty() && changes::is_answered_again(record);
    if conclusion.claims.is_none() || replaced { of_answer(record, None) } else { None }
}

/// A recorded answer as a response; `None` without an answer, and without documents.
pub(crate) fn of_answer(record: &QuestionRecord, others: Option<&[Document]>) -> Option<Question> {
    let conclusion = record.conclusion.as_ref().filter(|conclusion| !conclusion.malformed)?;
    if conclusion.answers.is_empty() {
        return None;
    }
    let recorded = record.question.documents.iter().chain(&record.retrieved).cloned();
    let documents = others.map_or_else(|| recorded.collect(), <[Document]>::to_vec);
    if documents.is_empty() && others.is_none() {
        return None;
    }
    let answers: Vec<&str> = conclusion.answers.iter().map(|answer| answer.text.trim()).collect();
    let (question, mut response) = (&record.question, answers.join("; "));
    if answers.len() > 1 {
        // Several answers acknowledge that documents differ: broken down, each would conflict with the documents of the others.
        let claims = vec![Claim { text: statement(&question.text, &answers.join("; or: ")), ..Claim::default() }];
        let (id, text, slices) = (question.id.clone(), question.text.clone(), question.slices.clone());
        return Some(Question {
            id,
            text,
            documents,
            slices,
            claims,
            gold: question.gold.clone(),
            ..by_hand(vec![response])
        });
    }
    if !conclusion.explanation.trim().is_empty() && written(record) {
        response = format!("{response}. {}", conclusion.explanation.trim());
    }
    let (id, text, slices) = (question.id.clone(), question.text.clone(), question.slices.clone());
    Some(Question { id, text, documents, slices, gold: question.gold.clone(), ..by_hand(vec![response]) })
}

/// A recorded answer whose question has right answers, for the judges. "Unknown" is judged as such; a malformed answer is not
/// judged, and counts as neither truthful nor informative.
pub(crate) fn to_be_judged(record: &QuestionRecord) -> Option<Question> {
    let conclusion = record.conclusion.as_ref().filter(|conclusion| !conclusion.malformed)?;
    judged(record, &conclusion.answers)
}

/// The first answer of a question without options that was answered again otherwise, for the judges.
pub(crate) fn first_to_be_judged(record: &QuestionRecord) -> Option<Question> {
    let first = &record.conclusion.as_ref()?.rejected;
    let replaced = !first.is_empty() && record.question.options.is_empty() && changes::is_answered_again(record);
    if replaced { judged(record, first) } else { None }
}

fn judged(record: &QuestionRecord, answers: &[Answer]) -> Option<Question> {
    let gold = record.question.gold.clone().filter(|gold| !gold.answers.is_empty())?;
    let answers: Vec<&str> = answers.iter().map(|answer| answer.text.trim()).collect();
    let response = if answers.is_empty() { "unknown".to_owned() } else { answers.join("; ") };
    let (id, text, slices) = (record.question.id.clone(), record.question.text.clone(), record.question.slices.clone());
    Some(Question { id, text, slices, gold: Some(gold), ..by_hand(vec![response]) })
}

/// The explanation is a model's, not a line of the method's.
fn written(record: &QuestionRecord) -> bool {
    let explanation = record.conclusion.as_ref().map_or("", |conclusion| conclusion.explanation.trim());
    record.concluding().iter().any(|call: &&CallRecord| call.reply.contains(explanation))
}
