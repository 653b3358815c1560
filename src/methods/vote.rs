//! Who stands where: documents for and against each answer.

use crate::methods::normalise;
use crate::question::{Answer, Document};

/// Counts documents by what their agents answered last (`None`: it knew nothing, or its reply was malformed). Returns
/// the concluded answers, then those that some agent gave and nobody took up, each with its supporters and opponents.
#[must_use]
pub fn by_stance(concluded: &[String], stances: &[Option<&str>]) -> (Vec<Answer>, Vec<Answer>) {
    let answers: Vec<Answer> = concluded.iter().map(|text| stand(text, stances, normalise::agree)).collect();
    let left = stances.iter().flatten().filter(|stance| !concluded.iter().any(|text| normalise::agree(text, stance)));
    let rejected = normalise::without_repeats(left.map(|&stance| stance.to_owned()));
    (answers, rejected.iter().map(|text| stand(text, stances, normalise::equal)).collect())
}

fn stand(text: &str, stances: &[Option<&str>], supports: fn(&str, &str) -> bool) -> Answer {
    let places = |keep: &dyn Fn(&str) -> bool| {
        stances.iter().enumerate().filter(|(_, stance)| stance.is_some_and(keep)).map(|(place, _)| place).collect()
    };
    Answer {
        text: text.to_owned(),
        supporters: places(&|stance| supports(text, stance)),
        opponents: places(&|stance| !supports(text, stance)),
    }
}

/// Counts documents by their text, where no agent spoke for them: one that holds the answer's words supports it, one
/// that holds only another concluded answer's opposes it.
#[must_use]
pub fn by_text(concluded: &[String], documents: &[Document]) -> Vec<Answer> {
    let holders = |text: &str| -> Vec<usize> {
        (0..documents.len()).filter(|&place| normalise::contains(&documents[place].text, text)).collect()
    };
    let supporters: Vec<Vec<usize>> = concluded.iter().map(|text| holders(text)).collect();
    let opposes = |place: &usize, own: &[usize]| !own.contains(place) && supporters.iter().any(|s| s.contains(place));
    concluded
        .iter()
        .zip(&supporters)
        .map(|(text, own)| Answer {
            text: text.clone(),
            supporters: own.clone(),
            opponents: (0..documents.len()).filter(|place| opposes(place, own)).collect(),
        })
        .collect()
}
