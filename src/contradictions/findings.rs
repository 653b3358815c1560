//! Contradictions from labelled pairs: those about one fact are one finding, with a side for each value.

use super::claims::Claim;
use super::folder::{Folder, Source};
use super::kind::Kind;
use super::pairs::Pair;
use super::quantities::Relation;
use super::value::{Values, as_written, names_a_subject, shared, shared_words};
use super::words::{Words, overlap};
use crate::dates::Date;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A statement of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The document's number, from 1.
    pub document: usize,
    /// Its file.
    pub file: String,
    /// Line from 1, where the file has lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Page from 1, where the file has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The document's publisher or author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The document's date, as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The sentence, verbatim but for white space.
    pub quote: String,
    /// The referent of the pronoun it begins with, in words of the document; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    #[serde(skip)]
    claim: usize,
}

/// The statements that agree on one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The differing numbers, dates or names, as far as code finds them.
    pub values: Vec<String>,
    /// At least one; the surest first.
    pub statements: Vec<Statement>,
    /// Outnumbered: another side has more documents, at least two.
    pub odd: bool,
    /// The newest document of the finding is on this side, and documents of other sides are older.
    pub newest: bool,
}

/// A fact on which documents contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Of the surest pair.
    pub probability: f64,
    /// The kind of difference.
    pub kind: Kind,
    /// At least two.
    pub sides: Vec<Side>,
}

/// The findings about one subject, the most probable first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// In words of a document.
    pub subject: String,
    /// At least one.
    pub findings: Vec<Finding>,
}

impl Statement {
    /// "notes/a.md:12", "b.pdf, page 3".
    #[must_use]
    pub fn position(&self) -> String {
        match (self.line, self.page) {
            (Some(line), _) if !self.file.ends_with(&format!(":{line}")) => format!("{}:{line}", self.file),
            (None, Some(page)) => format!("{}, page {page}", self.file),
            _ => self.file.clone(),
        }
    }

    /// " (Harbour Board, 2019-03)": its document's publisher and date, those that are known, each passed through `shown`; empty
    /// without any.
    pub(crate) fn in_brackets(&self, shown: impl Fn(&str) -> String) -> String {
        in_brackets([&self.source, &self.date], shown)
    }
}

/// " (Harbour Board, 2019-03)": the details that are known.
pub(super) fn in_brackets(details: [&Option<String>; 2], shown: impl Fn(&str) -> String) -> String {
    let details: Vec<String> = details.into_iter().flatten().map(|detail| shown(detail)).collect();
    if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) }
}

impl Side {
    fn documents(&self) -> BTreeSet<usize> {
        self.statements.iter().map(|statement| statement.document).collect()
    }
}

/// Gathers findings from labelled pairs.
pub(super) struct Gathering<'a> {
    folder: &'a Folder,
    claims: &'a [Claim],
    findings: Vec<(Finding, Vec<Known>)>,
}

/// What a side holds: its claims, and the values of the first one.
struct Known {
    claims: Vec<usize>,
    values: Values,
}

impl Known {
    fn has(&self, claim: usize) -> bool {
        self.claims.contains(&claim)
    }
}

/// A labelled pair, with its probability.
pub(super) type Labelled = (Pair, f64);

/// The findings of the pairs whose probability is at least `least`, grouped by subject; the most probable first.
pub(super) fn groups(folder: &Folder, claims: &[Claim], labelled: &[Labelled], least: f64) -> Vec<Group> {
    let mut sure: Vec<&Labelled> = labelled.iter().filter(|(_, probability)| *probability >= least).collect();
    // A finding keeps the probability and the kind of its first pair, so the surest pairs come first.
    sure.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.of.cmp(&b.0.of)));
    let mut gathering = Gathering { folder, claims, findings: Vec::new() };
    sure.iter().for_each(|(pair, probability)| gathering.add(pair, *probability));
    gathering.support(labelled, least);
    gathering.grouped()
}

impl Gathering<'_> {
    fn add(&mut self, pair: &Pair, probability: f64) {
        let kind = Kind::of(&pair.signals);
        let (a, b) = pair.of;
        for (one, other) in [(a, b), (b, a)] {
            if self.join(one, other, kind) {
                return;
            }
        }
        let sides = [(a, b), (b, a)].map(|(own, other)| self.side(own, other));
        let (shown, known) = sides.into_iter().unzip();
        self.findings.push((Finding { probability, kind, sides: shown }, known));
    }

    /// A side of the claim `own`, which differs from `other`.
    fn side(&self, own: usize, other: usize) -> (Side, Known) {
        let values = Values::of(&self.claims[own], &self.claims[other]);
        let statements = self.statements(own);
        let side = Side { values: values.texts().into_iter().collect(), statements, odd: false, newest: false };
        (side, Known { claims: vec![own], values })
    }

    /// Adds `other` to a finding that has `known` with the same differing value; returns whether there is one.
    fn join(&mut self, known: usize, other: usize, kind: Kind) -> bool {
        let own = Values::of(&self.claims[known], &self.claims[other]);
        let (side, others) = self.side(other, known);
        for (finding, sides) in &mut self.findings {
            let Some(at) = sides.iter().position(|side| side.has(known)) else { continue };
            // Without a value that differs, only the kind tells whether two pairs are about one fact.
            if !sides[at].values.meet(&own) || (finding.kind != kind && own.is_empty()) {
                continue;
            }
            if sides.iter().any(|side| side.has(other)) {
                return true;
            }
            let beside = (0..sides.len()).find(|&side| side != at && sides[side].values.meet(&others.values));
            match beside {
                Some(beside) => {
                    push(&mut finding.sides[beside].statements, side.statements);
                    sides[beside].claims.push(other);
                }
                None => {
                    finding.sides.push(side);
                    sides.push(others);
                }
            }
            return true;
        }
        false
    }

    /// Adds to each side the statements that agree with it: labelled pairs that do not contradict each other and share the value.
    fn support(&mut self, labelled: &[Labelled], least: f64) {
        for (pair, _) in labelled.iter().filter(|(_, probability)| *probability < least) {
            let signals = &pair.signals;
            let agrees = signals.quantities == Relation::Agree || signals.dates == Relation::Agree;
            if !agrees || signals.differs() || signals.overlap < 0.2 {
                continue;
            }
            for (known, other) in [(pair.of.0, pair.of.1), (pair.of.1, pair.of.0)] {
                let statements = self.statements(other);
                for (finding, sides) in &mut self.findings {
                    let taken = sides.iter().any(|side| side.has(other));
                    let Some(at) = sides.iter().position(|side| side.has(known)) else { continue };
                    // The two may agree on another number than the disputed one, so the side's value has to be there.
                    if !taken && sides[at].values.are_stated_by(&self.claims[other]) {
                        push(&mut finding.sides[at].statements, statements.clone());
                        sides[at].claims.push(other);
                    }
                }
            }
        }
    }

    fn statements(&self, claim: usize) -> Vec<Statement> {
        let Claim { stated, text, subject, .. } = &self.claims[claim];
        let statement = |(source, origin): &(usize, crate::question::Origin)| {
            let Source { file, source: publisher, date, .. } = &self.folder.sources[*source];
            Statement {
                document: source + 1,
                file: file.clone(),
                line: origin.line,
                page: origin.page,
                source: publisher.clone(),
                date: date.clone(),
                quote: text.clone(),
                about: subject.clone(),
                claim,
            }
        };
        stated.iter().map(statement).collect()
    }

    /// The subject of a finding: that of its first claims, else a name, a heading, a title or words that they share.
    fn subject(&self, sides: &[Known]) -> String {
        let first: Vec<&Claim> =
            sides.iter().filter_map(|side| side.claims.first()).map(|&claim| &self.claims[claim]).collect();
        let [one, other, ..] = first.as_slice() else { return String::new() };
        let both = [*one, *other];
        let source = |claim: &Claim| &self.folder.sources[claim.source()];
        let named = both.map(|claim| claim.subject.clone()).into_iter().find(|subject| names_a_subject(subject));
        named
            .or_else(|| shared(one, other))
            .or_else(|| both.into_iter().find_map(heading))
            .or_else(|| both.into_iter().find_map(|claim| source(claim).title.clone()))
            .or_else(|| shared_words(&one.text, &other.text))
            .unwrap_or_else(|| source(one).name())
    }

    fn grouped(mut self) -> Vec<Group> {
        let mut groups: Vec<(BTreeSet<String>, Group)> = Vec::new();
        for (mut finding, sides) in std::mem::take(&mut self.findings) {
            mark(&mut finding);
            let subject = self.subject(&sides);
            let words = Words::of(&subject).content;
            let same = |(known, _): &&mut (BTreeSet<String>, Group)| {
                let (share, _) = overlap(known, &words, |_| 1.0);
                // Subjects without content words have no overlap; they are one group.
                share > 0.6 || (known.is_empty() && words.is_empty())
            };
            match groups.iter_mut().find(same) {
                Some((_, group)) => group.findings.push(finding),
                None => groups.push((words, Group { subject, findings: vec![finding] })),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

/// The innermost heading of a claim, first rows of tables left out.
fn heading(claim: &Claim) -> Option<String> {
    let heading = claim.heading.rsplit(" > ").find(|heading| !heading.is_empty() && !heading.starts_with('|'));
    heading.map(str::to_owned)
}

/// Adds the statements of further documents, one of each.
fn push(statements: &mut Vec<Statement>, more: Vec<Statement>) {
    for statement in more {
        if statements.iter().all(|known| known.document != statement.document) {
            statements.push(statement);
        }
    }
}

/// Marks outnumbered sides and the side of the newest document; spells values as the texts do.
fn mark(finding: &mut Finding) {
    let counts: Vec<usize> = finding.sides.iter().map(|side| side.documents().len()).collect();
    let most = counts.iter().copied().max().unwrap_or_default();
    let newest = newest(&finding.sides);
    for (index, (side, count)) in finding.sides.iter_mut().zip(counts).enumerate() {
        side.odd = most > 1 && count < most;
        side.newest = newest == Some(index);
        side.values = as_written(&side.values, side.statements.first().map_or("", |statement| &statement.quote));
    }
    finding.sides.sort_by_key(|side| Reverse(side.documents().len()));
}

/// The side whose latest document is newer than those of all others; `None` where a side has no date, or the order is not known.
fn newest(sides: &[Side]) -> Option<usize> {
    let latest = |side: &Side| {
        let dates = side.statements.iter().filter_map(|statement| Date::of_document(statement.date.as_deref()?));
        dates.max_by_key(|date| date.sort_key())
    };
    let dates: Vec<Date> = sides.iter().map(latest).collect::<Option<_>>()?;
    let is_newest =
        |one: &usize| (0..dates.len()).all(|other| other == *one || dates[*one].order(dates[other]).is_gt());
    (0..dates.len()).find(is_newest)
}
