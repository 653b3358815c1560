//! How probable answers are if sources of one voice copy each other.
//!
//! A voice says one thing to a question, right with probability p, else one of K wrong answers. A member of a shared voice
//! repeats it with probability s, else it gives one of the K other answers; the only member of a voice is the voice. What a
//! voice says is not observed where it is shared, and neither is the right answer, which is any of K + 1 with the same
//! probability: both are summed over. p and s are estimated by expectation maximisation, beginning with one vote a voice.

use super::super::iteration::Row;
use std::collections::BTreeMap;

/// Iterations of the expectation maximisation.
const ITERATIONS: usize = 12;
/// A Beta(2, 2) prior of p, as right and all answers.
const PRIOR_RIGHT: (f64, f64) = (1.0, 2.0);
/// A Beta(10, 2) prior of s: copies repeat most of what they copy.
const PRIOR_REPEAT: (f64, f64) = (9.0, 10.0);

/// Successes and trials.
type Counts = (f64, f64);

/// The answers of one voice's members to a question.
struct Given {
    /// The voice's place.
    voice: usize,
    /// Of each class of the question, how many members give it.
    times: Vec<f64>,
    members: f64,
}

/// A question: its voices and the number of classes of answers given.
struct Asked {
    groups: Vec<Given>,
    classes: usize,
}

struct Model {
    asked: Vec<Asked>,
    /// Whether a voice has several members.
    shared: Vec<bool>,
    right: Vec<Counts>,
    repeat: Vec<Counts>,
    wrong: f64,
}

/// The log-likelihood of `rows` where `voices` has a number a source and a question has `wrong` wrong answers.
pub(super) fn log_likelihood(rows: &[Row], voices: &[usize], wrong: f64) -> f64 {
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for voice in voices {
        let next = places.len();
        places.entry(*voice).or_insert(next);
    }
    let places: Vec<usize> = voices.iter().map(|voice| places[voice]).collect();
    let count = places.iter().max().map_or(0, |most| most + 1);
    let shared = (0..count).map(|voice| places.iter().filter(|of| **of == voice).count() > 1).collect();
    let asked: Vec<Asked> = rows.iter().map(|row| asked(row, &places)).collect();
    let (right, repeat) = (vec![PRIOR_RIGHT; count], vec![PRIOR_REPEAT; count]);
    let mut model = Model { asked, shared, right, repeat, wrong };
    model.begin();
    (0..ITERATIONS).fold(0.0, |_, _| model.step());
    model.step()
}

fn asked(row: &[Option<u16>], places: &[usize]) -> Asked {
    let mut classes: Vec<u16> = row.iter().flatten().copied().collect();
    classes.sort_unstable();
    classes.dedup();
    let mut groups: Vec<Given> = Vec::new();
    for (said, &voice) in row.iter().zip(places) {
        let Some(class) = said.and_then(|said| classes.binary_search(&said).ok()) else { continue };
        let known = groups.iter().position(|group| group.voice == voice);
        let place = known.unwrap_or_else(|| {
            groups.push(Given { voice, times: vec![0.0; classes.len()], members: 0.0 });
            groups.len() - 1
        });
        groups[place].times[class] += 1.0;
        groups[place].members += 1.0;
    }
    Asked { groups, classes: classes.len() }
}

fn share((successes, trials): Counts) -> f64 {
    successes / trials
}

impl Model {
    /// The first counts: a voice says what most of its members say, and what most voices say is right.
    fn begin(&mut self) {
        let (mut right, mut repeat) = (vec![PRIOR_RIGHT; self.right.len()], vec![PRIOR_REPEAT; self.repeat.len()]);
        for asked in &self.asked {
            let said: Vec<usize> = asked.groups.iter().map(|group| most(&group.times)).collect();
            let votes = |class: usize| said.iter().filter(|other| **other == class).count();
            let top = said.iter().map(|class| votes(*class)).max().unwrap_or(0);
            let tied = (0..asked.classes).filter(|class| votes(*class) == top).count().max(1) as f64;
            for (group, class) in asked.groups.iter().zip(&said) {
                let right = &mut right[group.voice];
                right.0 += if votes(*class) == top { 1.0 / tied } else { 0.0 };
                right.1 += 1.0;
                let repeat = &mut repeat[group.voice];
                repeat.0 += group.times[*class];
                repeat.1 += group.members;
            }
        }
        (self.right, self.repeat) = (right, repeat);
    }

    /// One iteration; returns the log-likelihood before it.
    fn step(&mut self) -> f64 {
        let (mut right, mut repeat) = (vec![PRIOR_RIGHT; self.right.len()], vec![PRIOR_REPEAT; self.repeat.len()]);
        let log = self.asked.iter().map(|asked| self.expect(asked, &mut right, &mut repeat)).sum();
        (self.right, self.repeat) = (right, repeat);
        log
    }

    /// Adds a question's expected counts; returns its log-probability.
    fn expect(&self, asked: &Asked, right: &mut [Counts], repeat: &mut [Counts]) -> f64 {
        let (classes, all) = (asked.classes, self.wrong + 1.0);
        let unseen = (all - classes as f64).max(0.0);
        // Of each voice and each thing that it may say, an unseen one last, the probability of what its members say.
        let said: Vec<Vec<f64>> =
            asked.groups.iter().map(|group| (0..=classes).map(|says| self.members(group, says)).collect()).collect();
        let odds = |voice: usize, says: usize, truth: usize| {
            let p = share(self.right[voice]);
            if says == truth { p } else { (1.0 - p) / self.wrong }
        };
        // The probability of what a voice's members say, if `truth` is right.
        let given = |group: &Given, said: &[f64], truth: usize| -> f64 {
            let seen: f64 = (0..classes).map(|says| odds(group.voice, says, truth) * said[says]).sum();
            let other = odds(group.voice, classes, usize::MAX);
            let rest = if truth == classes {
                odds(group.voice, truth, truth) + (unseen - 1.0) * other
            } else {
                unseen * other
            };
            seen + rest.max(0.0) * said[classes]
        };
        let each: Vec<Vec<f64>> = asked
            .groups
            .iter()
            .zip(&said)
            .map(|(group, said)| (0..=classes).map(|truth| given(group, said, truth)).collect())
            .collect();
        let prior = |truth: usize| if truth == classes { unseen / all } else { 1.0 / all };
        let joint: Vec<f64> =
            (0..=classes).map(|truth| prior(truth) * each.iter().map(|each| each[truth]).product::<f64>()).collect();
        let total = joint.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        for ((group, said), each) in asked.groups.iter().zip(&said).zip(&each) {
            right[group.voice].1 += 1.0;
            repeat[group.voice].1 += group.members;
            for truth in (0..=classes).filter(|&truth| joint[truth] > 0.0) {
                let weight = joint[truth] / total / each[truth];
                right[group.voice].0 += weight * odds(group.voice, truth, truth) * said[truth];
                let repeated = |says: usize| group.times[says] * said[says] * odds(group.voice, says, truth);
                repeat[group.voice].0 += weight * (0..classes).map(repeated).sum::<f64>();
            }
        }
        total.ln()
    }

    /// The probability of what the members of a voice say, if it says the class `says`, or one that is not seen.
    fn members(&self, group: &Given, says: usize) -> f64 {
        let same = group.times.get(says).copied().unwrap_or(0.0);
        if !self.shared[group.voice] {
            return same;
        }
        let s = share(self.repeat[group.voice]);
        s.powf(same) * ((1.0 - s) / self.wrong).powf(group.members - same)
    }
}

/// The place of the largest number, the first of several.
fn most(times: &[f64]) -> usize {
    let top = times.iter().copied().fold(0.0, f64::max);
    times.iter().position(|times| *times == top).unwrap_or(0)
}
