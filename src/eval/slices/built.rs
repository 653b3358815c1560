//! Built items, and the generator that draws them.

use crate::question::{Document, Gold, Question};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The result of building slices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slices {
    /// One item for each level of each question that qualifies, in the source's order.
    pub items: Vec<Question>,
    /// Questions that qualify.
    pub qualified: usize,
    /// Questions that do not, by the reason.
    pub left_out: BTreeMap<&'static str, usize>,
}

impl Slices {
    /// Adds the items of another set.
    pub fn append(&mut self, other: Self) {
        self.items.extend(other.items);
        self.qualified += other.qualified;
        for (reason, count) in other.left_out {
            *self.left_out.entry(reason).or_default() += count;
        }
    }
}

pub(super) fn random(kind: &str, seed: u64, id: &str) -> ChaCha8Rng {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for text in [kind, id] {
        // Lengths keep kind and id apart.
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    ChaCha8Rng::from_seed(hash.finalize().into())
}

/// An item of `question` called `name`, which is also its slice: numbered documents, and answers all of which are required.
pub(super) fn item(
    question: &Question,
    name: &str,
    documents: impl Iterator<Item = Document>,
    right: &[&str],
    wrong: &[&str],
) -> Question {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let mut documents: Vec<Document> = documents.collect();
    for (number, document) in documents.iter_mut().enumerate() {
        document.name = format!("document {}", number + 1);
    }
    Question {
        id: format!("{}-{name}", question.id),
        text: question.text.clone(),
        documents,
        gold: Some(Gold::all_of(owned(right), owned(wrong))),
        slices: vec![name.to_owned()],
        ..Question::default()
    }
}
