//! Passages as methods that retrieve use them: found for a query, taken up as documents, shown in prompts.

use crate::answers::words::Level;
use crate::error::Result;
use crate::protocol::ask::Ask;
use crate::protocol::ctx::Ctx;
use crate::protocol::formats::CHOICE;
use crate::protocol::switches::{Kind, Switch};
use crate::question::{Document, Question};
use crate::retrieval::Wanted;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// The switch `per-query` of methods that retrieve for each query (DRAG, section 4.3: 3).
pub(crate) const TOP: Switch =
    Switch { name: "per-query", about: "passages retrieved for each query", kind: Kind::Count(1, 100), default: "3" };

/// Retrieves for each of `queries` with the user's filters, and takes the passages up; their document numbers, a list a query.
///
/// # Errors
/// As [`Ctx::retrieve`].
pub(crate) fn search(ctx: &mut Ctx<'_>, queries: &[&str], top: usize) -> Result<Vec<Vec<usize>>> {
    let wanted = Wanted { top, ..ctx.wanted().clone() };
    let found = ctx.retrieve(queries, &wanted)?;
    Ok(found.into_iter().map(|hits| ctx.take_up(hits)).collect())
}

/// The numbers of the documents that came with the question; where it has none, of the passages found for its text. With a
/// corpus it has none ([`Built::gather`](crate::protocol::Built::gather)).
///
/// # Errors
/// As [`search`].
pub(crate) fn given_or_found(ctx: &mut Ctx<'_>, question: &Question, top: usize) -> Result<Vec<usize>> {
    if question.documents.is_empty() {
        return Ok(search(ctx, &[&question.text], top)?.pop().unwrap_or_default());
    }
    Ok((0..question.documents.len()).collect())
}

/// Most characters of a source in a prompt.
const MOST_CHARACTERS: usize = 160;

/// Where a document comes from and when it was written, as prompts show it: `(council, 1884-05-12)`. A part that is not known
/// is left out; `None` where neither is. Titles are left out: small models give them as answers (`docs/prompts.md`).
pub(crate) fn provenance(document: &Document) -> Option<String> {
    let line = |value: &str| value.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = |value: &String| line(value).chars().take(MOST_CHARACTERS).collect::<String>();
    let known = [&document.source, &document.date].into_iter().flatten().map(short);
    let known: Vec<String> = known.filter(|part| !part.is_empty()).collect();
    (!known.is_empty()).then(|| format!("({})", known.join(", ")))
}

/// A document as prompts show it: where it comes from, then its text.
pub(crate) fn shown(document: &Document) -> String {
    let text = document.text.trim();
    provenance(document).map_or_else(|| text.to_owned(), |known| format!("{known} {text}"))
}

/// The texts of the question's documents, for prompts with several. Source and date are left out there: on `benches/dated` a
/// reader of 0.5B copies titles and sources as answers (F1 0.19 lower on 16 questions, interval 0.03 to 0.37).
pub(crate) fn all_texts(question: &Question) -> Vec<&str> {
    question.documents.iter().map(|document| document.text.trim()).collect()
}

/// The texts of documents alone. A passage's text already begins with its title.
pub(crate) fn texts(ctx: &Ctx<'_>, numbers: &[usize]) -> Vec<String> {
    let documents: Vec<&Document> = ctx.documents().collect();
    numbers.iter().filter_map(|&number| documents.get(number)).map(|document| document.text.trim().to_owned()).collect()
}

/// The `pool` documents nearest to the question, best first: by the dot product of their vectors where the run has an
/// embedder, else by the share of the question's words that they hold. Ties are broken by the question's seed, because
/// documents of one source are adjacent. Where there are no more than `pool`, all of them in the given order.
pub(crate) fn nearest(question: &Question, ctx: &mut Ctx<'_>, pool: usize) -> Result<Vec<usize>> {
    let documents: Vec<Document> = ctx.documents().cloned().collect();
    let mut numbers: Vec<usize> = (0..documents.len()).collect();
    if numbers.len() <= pool {
        return Ok(numbers);
    }
    let all: Vec<&str> = documents.iter().map(|document| &*document.text).collect();
    let scores: Vec<f32> = match ctx.embed_beside(&question.text, &all)? {
        Some(vectors) => vectors[1..].iter().map(|v| v.iter().zip(&vectors[0]).map(|(a, b)| a * b).sum()).collect(),
        None => documents.iter().map(|document| held(&question.text, document)).collect(),
    };
    numbers.shuffle(&mut ChaCha8Rng::seed_from_u64(ctx.seed("pool", 1, 0)));
    // The sort is stable: equal scores keep the order that the seed drew.
    numbers.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    numbers.truncate(pool);
    Ok(numbers)
}

/// The share of the question's distinct words that a document holds.
fn held(question: &str, document: &Document) -> f32 {
    let words: HashSet<String> = Level::Voted.words(question).to_vec().into_iter().collect();
    let there: HashSet<String> = Level::Voted.words(&document.text).to_vec().into_iter().collect();
    words.intersection(&there).count() as f32 / words.len().max(1) as f32
}

/// Adds the numbers that `known` lacks, up to `most` in all.
pub(crate) fn join(known: &mut Vec<usize>, new: impl IntoIterator<Item = usize>, most: usize) {
    for number in new {
        if known.len() < most && !known.contains(&number) {
            known.push(number);
        }
    }
}

/// The options of a question, as prompts list them; empty for a free answer.
pub(crate) fn offered(question: &Question) -> String {
    question.options.join(", ")
}

/// The ask; of a question with options ("yes", "no") its reply is one of them, and nothing else.
pub(crate) fn short_answer(question: &Question, ask: Ask) -> Ask {
    if question.options.is_empty() { ask } else { Ask { format: &CHOICE, ..ask.options(&question.options) } }
}
