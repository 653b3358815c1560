//! Documents that do not fit into the labeller's context: cut in halves until they do, each part labelled by itself. The
//! part that speaks most clearly for or against a claim gives the document's label.

use super::pairs::{ClaimDocument, Work};
use crate::error::Result;
use crate::protocol::Ctx;
use crate::question::{ClaimRelation, DocumentLabel, Quote};
use std::collections::{BTreeMap, BTreeSet};

/// A text of fewer bytes is not cut: if it does not fit, the claim is too long, and no part would.
const LEAST: usize = 400;

/// Labels pairs of a claim and a document.
pub(super) type Labeller<'a> =
    dyn Fn(&mut Ctx<'_>, &Work<'_>, &[ClaimDocument]) -> Result<BTreeMap<ClaimDocument, DocumentLabel>> + 'a;

/// A half of a document: its index among the parts, and its first character.
type Half = (usize, usize);

/// Replaces the labels of pairs that `by` found too long by those of their documents' parts.
///
/// # Errors
/// As `by`.
pub(super) fn in_parts(
    ctx: &mut Ctx<'_>,
    work: &Work<'_>,
    labels: &mut BTreeMap<ClaimDocument, DocumentLabel>,
    by: &Labeller<'_>,
) -> Result<()> {
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    let mut halves: BTreeMap<usize, [Half; 2]> = BTreeMap::new();
    let long = work.too_long();
    for document in long.iter().map(|(_, document)| *document).collect::<BTreeSet<usize>>() {
        let text = work.text(document);
        let Some(cut) = middle(text).filter(|_| text.len() >= LEAST) else { continue };
        // Cuts are in bytes, quotes in characters.
        halves.insert(document, [(texts.len(), 0), (texts.len() + 1, text[..cut].chars().count())]);
        texts.extend([text[..cut].to_owned(), text[cut..].to_owned()]);
        numbers.extend([work.number(document); 2]);
    }
    if halves.is_empty() {
        return Ok(());
    }
    let of_halves: Vec<(ClaimDocument, [Half; 2])> =
        long.into_iter().filter_map(|pair| Some((pair, *halves.get(&pair.1)?))).collect();
    let mut pairs: Vec<ClaimDocument> =
        of_halves.iter().flat_map(|((claim, _), halves)| halves.map(|(part, _)| (*claim, part))).collect();
    // Part by part: the calls of one share its keys and values.
    pairs.sort_by_key(|&(claim, part)| (part, claim));
    let parts = work.of_parts(texts, numbers);
    let mut found = by(ctx, &parts, &pairs)?;
    // A half may be too long itself.
    in_parts(ctx, &parts, &mut found, by)?;
    for ((claim, document), halves) in of_halves {
        let part = |(part, start): Half| Some(shifted(found.remove(&(claim, part))?, document, start));
        if let [Some(first), Some(second)] = halves.map(part) {
            labels.insert((claim, document), clearest(first, second));
        }
    }
    Ok(())
}

/// The byte at which `text` is cut: behind the line or the sentence that ends nearest to its middle, else behind the
/// nearest space. `None` where there is none.
fn middle(text: &str) -> Option<usize> {
    let half = text.len() / 2;
    let spaces = || text.char_indices().filter(|(_, c)| c.is_whitespace()).map(|(at, c)| (at, at + c.len_utf8()));
    let within = |&(_, end): &(usize, usize)| !text[..end].trim().is_empty() && !text[end..].trim().is_empty();
    let nearest = |cuts: &mut dyn Iterator<Item = (usize, usize)>| {
        cuts.filter(within).map(|(_, end)| end).min_by_key(|end| end.abs_diff(half))
    };
    let ends = |&(at, _): &(usize, usize)| text[at..].starts_with('\n') || text[..at].ends_with(['.', '!', '?']);
    nearest(&mut spaces().filter(ends)).or_else(|| nearest(&mut spaces()))
}

/// A part's label as one of its document, whose character `start` the part begins with.
fn shifted(label: DocumentLabel, document: usize, start: usize) -> DocumentLabel {
    let quote = label
        .quote
        .map(|Quote { text, characters }| Quote { text, characters: characters.start + start..characters.end + start });
    DocumentLabel { document, quote, ..label }
}

/// Of two parts' labels the one for or against that counts, the more probable of two; else one for or against that does
/// not count. Of equals the first. It names the calls of both.
fn clearest(first: DocumentLabel, second: DocumentLabel) -> DocumentLabel {
    let rank = |label: &DocumentLabel| match (label.relation, label.counts()) {
        (ClaimRelation::Irrelevant, true) => 0,
        (ClaimRelation::Irrelevant, false) => 1,
        (_, false) => 2,
        (_, true) => 3,
    };
    let key = |label: &DocumentLabel| (rank(label), label.probability.unwrap_or(0.0));
    let calls = [first.calls.clone(), second.calls.clone()].concat();
    let clearer = if key(&second) > key(&first) { second } else { first };
    DocumentLabel { calls, ..clearer }
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn a_text_is_cut_behind_a_sentence_near_its_middle() {
        let halves = |text: &str| middle(text).map(|cut| text.split_at(cut)).map(|(a, b)| (a.to_owned(), b.to_owned()));
        let cut = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(halves("It opened in 1931. Ships pass. Soup."), cut("It opened in 1931. ", "Ships pass. Soup."));
        assert_eq!(halves("one two\nthree four five"), cut("one two\n", "three four five"));
        assert_eq!(halves("one two three"), cut("one ", "two three"));
        assert_eq!(halves("žluť kůň"), cut("žluť ", "kůň"));
        for whole in ["", " ", "word", " word ", "word. "] {
            assert_eq!(halves(whole), None, "{whole:?}");
        }
    }
}
