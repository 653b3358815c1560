//! Items of conflict detection, built from labelled documents after ConflictBench (ConflictScore, section 4.2 and appendix A).
//! Departures: the claim is not rewritten by a model; without a conflict all supporting documents are taken, not one.
//!
//! An item has one claim. A conflict is a claim with documents that support it and documents that contradict it; without a
//! conflict the claim has documents that support it, and two documents of other questions. A question that allows both gives one
//! of them, drawn by the seed and its id. Sets whose documents take sides by themselves (yes and no, or a relation to the
//! claim) are taken as they are.

use super::{Slices, random};
use crate::answers::unknown::is_unknown;
use crate::answers::words::Level;
use crate::protocol::labelling::decomposer::statement;
use crate::question::{Claim, ClaimRelation, Document, Gold, Question};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::collections::{HashMap, HashSet};

/// The kind's name.
pub(super) const NAME: &str = "detection";

/// Number of documents of other questions that are added to a claim without a conflict.
const OTHERS: usize = 2;

const UNLABELLED: &str = "no document that is labelled as supporting an answer";
const LONELY: &str = "fewer than two documents of other questions without the answer's words";

/// A claim, and the relation of each of its documents to it.
struct Evidence {
    id: String,
    question: String,
    claim: String,
    /// The answer that the claim states; empty where the set has the claim itself.
    answer: String,
    documents: Vec<(Document, ClaimRelation)>,
    /// The dataset lists the documents of the claim.
    as_is: bool,
}

impl Evidence {
    fn has(&self, relation: ClaimRelation) -> bool {
        self.documents.iter().any(|(_, found)| *found == relation)
    }
}

/// The items of the set `part`: a claim each.
pub(super) fn build(part: &str, questions: &[Question], seed: u64) -> Slices {
    let mut slices = Slices::default();
    let mut claims: Vec<Evidence> = Vec::new();
    let mut of_claim: HashMap<&str, usize> = HashMap::new();
    for question in questions {
        match question.claims.as_slice() {
            // Rows of one claim, an evidence each, are one item.
            [claim] if claim.relations.len() == question.documents.len() && !claim.relations.is_empty() => {
                let pairs = question.documents.iter().cloned().zip(claim.relations.iter().copied());
                match of_claim.get(claim.text.as_str()) {
                    Some(&known) => claims[known].documents.extend(pairs),
                    None => {
                        of_claim.insert(&claim.text, claims.len());
                        claims.push(given(question, &claim.text, pairs.collect()));
                    }
                }
            }
            _ => match labelled(question) {
                Ok(evidence) => claims.push(evidence),
                Err(reason) => *slices.left_out.entry(reason).or_default() += 1,
            },
        }
    }
    // A copy would be no further evidence.
    for evidence in &mut claims {
        let mut texts = HashSet::new();
        evidence.documents.retain(|(document, _)| texts.insert(document.text.trim().to_owned()));
    }
    for evidence in &claims {
        match item(part, evidence, &claims, seed) {
            Ok(item) => {
                slices.qualified += 1;
                slices.items.push(item);
            }
            Err(reason) => *slices.left_out.entry(reason).or_default() += 1,
        }
    }
    slices
}

fn given(question: &Question, claim: &str, documents: Vec<(Document, ClaimRelation)>) -> Evidence {
    let (id, question, claim) = (question.id.clone(), question.text.clone(), claim.to_owned());
    Evidence { id, question, claim, answer: String::new(), documents, as_is: true }
}

/// The evidence of a question whose documents are labelled with the answers that they support.
fn labelled(question: &Question) -> Result<Evidence, &'static str> {
    let answers = |kinds: &[&str]| {
        let of = |document: &Document| {
            let label = document.label.as_ref().filter(|label| kinds.is_empty() || kinds.contains(&&*label.kind))?;
            answered(&label.answer).map(str::to_owned)
        };
        question.documents.iter().find_map(of)
    };
    let gold = question.gold.as_ref();
    // The claim states a right answer: one that a document supports, else the first gold one.
    let answer = answers(&["correct", "supporting", "yes"])
        .or_else(|| gold.and_then(|gold| gold.aliases().next().map(str::to_owned)))
        .or_else(|| answers(&[]))
        .ok_or(UNLABELLED)?;
    let as_is = question.documents.iter().flat_map(|d| &d.label).any(|label| matches!(&*label.kind, "yes" | "no"));
    let relate = |document: &Document| Some((document.clone(), relation(document, &answer, gold)?));
    let documents: Vec<(Document, ClaimRelation)> = question.documents.iter().filter_map(relate).collect();
    let claim = statement(&question.text, &answer);
    let evidence =
        Evidence { id: question.id.clone(), question: question.text.clone(), claim, answer, documents, as_is };
    if evidence.has(ClaimRelation::Supports) { Ok(evidence) } else { Err(UNLABELLED) }
}

fn answered(answer: &str) -> Option<&str> {
    Some(answer.trim()).filter(|answer| !answer.is_empty() && !is_unknown(answer))
}

/// How a labelled document relates to the claim that `answer` is right; `None` where its label does not tell: it has none, its
/// answer overlaps with the claim's, or it is some other document that may say anything.
fn relation(document: &Document, answer: &str, gold: Option<&Gold>) -> Option<ClaimRelation> {
    let label = document.label.as_ref()?;
    let right = |text: &str| gold.is_some_and(|gold| gold.aliases().any(|alias| Level::Scored.equal(alias, text)));
    match (label.kind.as_str(), answered(&label.answer)) {
        ("noise" | "distractor", _) => Some(ClaimRelation::Irrelevant),
        (_, Some(own)) if Level::Scored.equal(own, answer) => Some(ClaimRelation::Supports),
        // Another alias of the answer, for a question where one alias is enough.
        (_, Some(own)) if gold.is_some_and(|gold| !gold.all_required) && right(own) && right(answer) => {
            Some(ClaimRelation::Supports)
        }
        (_, Some(own)) if Level::Scored.contains(own, answer) || Level::Scored.contains(answer, own) => None,
        (_, Some(_)) | ("misinfo", None) => Some(ClaimRelation::Contradicts),
        // An original paragraph: the dataset says only that it was not falsified.
        ("other", None) if gold.is_some() && Level::Scored.contains(&document.text, answer) => {
            Some(ClaimRelation::Supports)
        }
        _ => None,
    }
}

/// Documents of other questions that do not hold the answer's words, each text once.
fn others<'a>(evidence: &Evidence, all: &'a [Evidence]) -> Vec<&'a Document> {
    let mut texts: HashSet<&str> = evidence.documents.iter().map(|(document, _)| document.text.trim()).collect();
    let others = all.iter().filter(|other| other.id != evidence.id && other.question != evidence.question);
    let documents = others.flat_map(|other| &other.documents).map(|(document, _)| document);
    let silent = documents.filter(|document| !Level::Scored.contains(&document.text, &evidence.answer));
    silent.filter(|document| !document.text.trim().is_empty() && texts.insert(document.text.trim())).collect()
}

/// The item of a claim.
fn item(part: &str, evidence: &Evidence, all: &[Evidence], seed: u64) -> Result<Question, &'static str> {
    // With the set's name: two sets may have the same ids.
    let mut random = random(NAME, seed, &format!("{part}:{}", evidence.id));
    let both = evidence.has(ClaimRelation::Supports) && evidence.has(ClaimRelation::Contradicts);
    let others = others(evidence, all);
    let drawn = random.random_bool(0.5);
    let conflict = both && (evidence.as_is || drawn || others.len() < OTHERS);
    let mut documents: Vec<(Document, ClaimRelation)> = if conflict || evidence.as_is {
        evidence.documents.clone()
    } else {
        if others.len() < OTHERS {
            return Err(LONELY);
        }
        let own = evidence.documents.iter().filter(|(_, relation)| *relation == ClaimRelation::Supports);
        let mut others = others;
        others.shuffle(&mut random);
        let others = others.into_iter().take(OTHERS).map(|document| (document.clone(), ClaimRelation::Irrelevant));
        let mut documents: Vec<(Document, ClaimRelation)> = own.cloned().chain(others).collect();
        documents.shuffle(&mut random);
        documents
    };
    for (number, (document, _)) in documents.iter_mut().enumerate() {
        document.name = format!("document {}", number + 1);
    }
    let (documents, relations) = documents.into_iter().unzip();
    let class = if conflict { "conflict" } else { "no-conflict" };
    let part = if part.is_empty() { Vec::new() } else { vec![part.to_owned()] };
    Ok(Question {
        id: part.iter().map(|part| format!("{part}:")).collect::<String>() + &evidence.id,
        text: evidence.question.clone(),
        documents,
        claims: vec![Claim { text: evidence.claim.clone(), relations, conflict: Some(conflict) }],
        slices: part.into_iter().chain([class.to_owned()]).collect(),
        ..Question::default()
    })
}
