//! Questions with two options (ConflictScore, section 6: TruthfulQA's multiple choice).

use crate::answers::words::Level;
use crate::question::{Gold, Question};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Why a question is left out that has no documents.
pub const NO_DOCUMENTS: &str = "no documents";

/// The best answer and the first incorrect one, in an order drawn by the seed. The question's documents stay.
pub(super) fn build(question: &Question, random: &mut ChaCha8Rng) -> Result<Vec<Question>, &'static str> {
    let gold = question.gold.as_ref().ok_or("no right answer")?;
    let right = gold.aliases().next().ok_or("no right answer")?.to_owned();
    let wrong = gold.wrong.first().ok_or("no wrong answer")?.clone();
    if Level::Scored.equal(&right, &wrong) {
        return Err("a wrong answer that is the right one");
    }
    let mut options = vec![right.clone(), wrong.clone()];
    options.shuffle(random);
    let gold = Some(Gold { wrong: vec![wrong], ..Gold::any_of([right]) });
    Ok(vec![Question { gold, options, ..question.clone() }])
}

/// Gives the questions without documents those of the question of the same text in `others`; the number of questions that
/// have documents then.
pub fn with_documents(questions: &mut [Question], others: &[Question]) -> usize {
    let key = |question: &Question| question.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let known: std::collections::HashMap<String, &Question> = others.iter().map(|other| (key(other), other)).collect();
    for question in questions.iter_mut().filter(|question| question.documents.is_empty()) {
        if let Some(other) = known.get(&key(question)) {
            question.documents.clone_from(&other.documents);
        }
    }
    questions.iter().filter(|question| !question.documents.is_empty()).count()
}

/// The question unchanged: only its documents were needed.
pub(super) fn as_it_is(question: &Question, _: &mut ChaCha8Rng) -> Result<Vec<Question>, &'static str> {
    if question.documents.is_empty() { Err(NO_DOCUMENTS) } else { Ok(vec![question.clone()]) }
}
