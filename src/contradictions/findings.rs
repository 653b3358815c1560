//! Contradictions from labelled pairs: those about one fact are one finding, with a side for each value.

use super::claims::{Claim, stem_of};
use super::folder::{Folder, Source};
use super::kind::Kind;
use super::pairs::Pair;
use super::quantities::Relation;
use super::value::{differing, shared};
use super::words::{Words, overlap};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A statement of a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statement {
    /// The document's number, from 1.
    pub document: usize,
    /// Its file.
    pub file: String,
    /// Line from 1, where the file has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Page from 1, where the file has pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The document's publisher or author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The document's date, as given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// What the document says, verbatim but for white space.
    pub quote: String,
    /// What it is about, in words of the document.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    #[serde(skip)]
    claim: usize,
}

/// The statements that agree on one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// What differs from the other sides, as far as code sees it: numbers, dates or names.
    pub values: Vec<String>,
    /// At least one; the surest first.
    pub statements: Vec<Statement>,
    /// It is outnumbered: more documents have another value.
    pub odd: bool,
    /// The newest document of the finding is on this side, and documents of other sides are older.
    pub newest: bool,
}

/// A fact on which documents contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Of the surest pair.
    pub probability: f64,
    /// What differs.
    pub kind: Kind,
    /// At least two.
    pub sides: Vec<Side>,
}

/// The findings about one subject, the most probable first.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

    /// Its document's publisher and date, as far as they are known.
    pub fn details(&self) -> impl Iterator<Item = &str> {
        [&self.source, &self.date].into_iter().flatten().map(String::as_str)
    }
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
    findings: Vec<(Finding, Vec<Vec<usize>>)>,
}

/// A labelled pair, with its probability.
pub(super) type Labelled = (Pair, f64);

/// The findings of the pairs whose probability is at least `least`, grouped by subject; the most probable first.
pub(super) fn groups(folder: &Folder, claims: &[Claim], labelled: &[Labelled], least: f64) -> Vec<Group> {
    let mut sure: Vec<&Labelled> = labelled.iter().filter(|(_, probability)| *probability >= least).collect();
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
        let side = |own: usize, other: usize| Side {
            values: differing(&self.claims[own], &self.claims[other]).into_iter().collect(),
            statements: self.statements(own),
            odd: false,
            newest: false,
        };
        let finding = Finding { probability, kind, sides: vec![side(a, b), side(b, a)] };
        self.findings.push((finding, vec![vec![a], vec![b]]));
    }

    /// Adds `other` to a finding in which `known` stands with the same differing value; whether there is one.
    fn join(&mut self, known: usize, other: usize, kind: Kind) -> bool {
        let (own, others) =
            (differing(&self.claims[known], &self.claims[other]), differing(&self.claims[other], &self.claims[known]));
        let statements = self.statements(other);
        for (finding, sides) in &mut self.findings {
            let Some(at) = sides.iter().position(|side| side.contains(&known)) else { continue };
            let same = |values: &[String], set: &BTreeSet<String>| {
                (values.is_empty() && set.is_empty()) || values.iter().any(|value| set.contains(value))
            };
            if !same(&finding.sides[at].values, &own) || (finding.kind != kind && own.is_empty()) {
                continue;
            }
            if sides.iter().any(|side| side.contains(&other)) {
                return true;
            }
            let beside = (0..sides.len()).find(|&side| side != at && same(&finding.sides[side].values, &others));
            match beside {
                Some(side) => {
                    push(&mut finding.sides[side].statements, statements);
                    sides[side].push(other);
                }
                None => {
                    let values = others.into_iter().collect();
                    finding.sides.push(Side { values, statements, odd: false, newest: false });
                    sides.push(vec![other]);
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
                let text = self.claims[other].text.to_lowercase();
                for (finding, sides) in &mut self.findings {
                    let taken = sides.iter().any(|side| side.contains(&other));
                    let Some(at) = sides.iter().position(|side| side.contains(&known)) else { continue };
                    if !taken && finding.sides[at].values.iter().any(|value| text.contains(value.as_str())) {
                        push(&mut finding.sides[at].statements, statements.clone());
                        sides[at].push(other);
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

    /// What the first claims of a finding's sides are about.
    fn subject(&self, sides: &[Vec<usize>]) -> String {
        let first: Vec<&Claim> =
            sides.iter().filter_map(|side| side.first()).map(|&claim| &self.claims[claim]).collect();
        let [one, other, ..] = first.as_slice() else { return String::new() };
        let last = |claim: &Claim| claim.heading.rsplit(" > ").next().unwrap_or_default().to_owned();
        let named = [one.subject.clone(), other.subject.clone()].into_iter().find(|subject| !subject.is_empty());
        let is_title = |heading: &String| !heading.is_empty() && !heading.starts_with('|');
        let subject =
            named.or_else(|| shared(one, other)).or_else(|| [last(one), last(other)].into_iter().find(is_title));
        subject.unwrap_or_else(|| stem_of(&self.folder.sources[one.source()].file))
    }

    fn grouped(mut self) -> Vec<Group> {
        let mut groups: Vec<(BTreeSet<String>, Group)> = Vec::new();
        for (mut finding, sides) in std::mem::take(&mut self.findings) {
            mark(&mut finding);
            let subject = self.subject(&sides);
            let words = Words::of(&subject).content;
            let same = |(known, _): &&mut (BTreeSet<String>, Group)| {
                let (share, _) = overlap(known, &words, |_| 1.0);
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

/// Adds statements of documents that have none there yet.
fn push(statements: &mut Vec<Statement>, more: Vec<Statement>) {
    for statement in more {
        if statements.iter().all(|known| known.document != statement.document) {
            statements.push(statement);
        }
    }
}

/// Marks the sides that more documents contradict, and the side of the newest document.
fn mark(finding: &mut Finding) {
    let counts: Vec<usize> = finding.sides.iter().map(|side| side.documents().len()).collect();
    let most = counts.iter().copied().max().unwrap_or_default();
    let newest = |side: &Side| side.statements.iter().filter_map(|statement| statement.date.clone()).max();
    let dates: Vec<Option<String>> = finding.sides.iter().map(newest).collect();
    let last = dates.iter().flatten().max().cloned();
    let alone = dates.iter().filter(|date| **date == last).count() == 1 && dates.iter().all(Option::is_some);
    for ((side, count), date) in finding.sides.iter_mut().zip(counts).zip(dates) {
        side.odd = most > 1 && count < most;
        side.newest = alone && date == last;
    }
    finding.sides.sort_by_key(|side| Reverse(side.documents().len()));
}
