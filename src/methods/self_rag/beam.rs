//! Long answers: a beam search over segments (section 3.3, tree decoding with critique tokens; algorithm 1).

use super::critique::SelfRag;
use super::tokens::{Segment, Tokens};
use crate::answers::unknown::is_unknown;
use crate::error::Result;
use crate::generation;
use crate::protocol::passages::{search, texts};
use crate::protocol::{Ask, Ctx};
use crate::question::{Answer, Conclusion, Question};
use std::collections::BTreeSet;

/// An answer so far.
#[derive(Clone, Default)]
struct Path {
    /// Each with the document that it was written from.
    segments: Vec<(usize, Segment)>,
    ended: bool,
}

impl Path {
    fn text(&self) -> String {
        self.segments.iter().map(|(_, segment)| segment.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn written(&self) -> Vec<generation::Segment> {
        self.segments.iter().flat_map(|(_, segment)| segment.written.clone()).collect()
    }

    /// The mean of its segments' scores, so that long answers compare with short ones.
    fn score(&self, method: &SelfRag) -> f64 {
        let scores = self.segments.iter().map(|(_, segment)| method.score(&segment.critique));
        scores.sum::<f64>() / self.segments.len().max(1) as f64
    }

    fn answer(&self) -> Answer {
        let documents: BTreeSet<usize> = self.segments.iter().map(|(document, _)| *document).collect();
        Answer { supporters: documents.into_iter().collect(), ..Answer::new(&self.text()) }
    }
}

/// Builds the answer segment by segment; `numbers` are the documents of the first one.
pub(super) fn answer(
    method: &SelfRag,
    tokens: &Tokens,
    question: &Question,
    ctx: &mut Ctx<'_>,
    numbers: &[usize],
) -> Result<Conclusion> {
    let mut beam = vec![Path::default()];
    for depth in 1..=method.max_depth {
        if beam.iter().all(|path| path.ended) {
            break;
        }
        beam = grow(method, tokens, question, ctx, beam, numbers, depth)?;
    }
    let shown = |path: &Path| -> Vec<String> {
        let line = |(document, segment): &(usize, Segment)| {
            let name = ctx.documents().nth(*document).map_or("", |document| document.name.as_str());
            format!("{} ({name}: {})", segment.text, method.critique_line(&segment.critique))
        };
        path.segments.iter().map(line).collect()
    };
    let calls: Vec<usize> = beam[0].segments.iter().map(|(_, segment)| segment.call).collect();
    let all = || ctx.calls().iter().filter(|call| call.round == 1 && call.document.is_some());
    let malformed = beam[0].segments.is_empty();
    let mut answers: Vec<Answer> = beam.iter().filter(|path| !path.segments.is_empty()).map(Path::answer).collect();
    answers.retain(|answer| !is_unknown(&answer.text));
    let rejected = if answers.is_empty() { Vec::new() } else { answers.split_off(1) };
    Ok(Conclusion {
        answers,
        rejected,
        explanation: shown(&beam[0]).join("\n"),
        malformed,
        rounds: beam[0].segments.len().max(1),
        calls: if malformed { all().map(|call| call.number).collect() } else { calls },
        ..Conclusion::default()
    })
}

/// One step of the search: every path that has not ended goes on from every document, and the best stay.
fn grow(
    method: &SelfRag,
    tokens: &Tokens,
    question: &Question,
    ctx: &mut Ctx<'_>,
    beam: Vec<Path>,
    numbers: &[usize],
    depth: usize,
) -> Result<Vec<Path>> {
    let (mut asks, mut of): (Vec<Ask>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    for (index, path) in beam.iter().enumerate().filter(|(_, path)| !path.ended) {
        let found = documents(method, question, ctx, path, numbers)?;
        for (&number, text) in found.iter().zip(texts(ctx, &found)) {
            asks.push(tokens.go_on(question, path.written(), &text).document(number).round(depth));
            of.push((index, number));
        }
    }
    let calls = if asks.is_empty() { Vec::new() } else { ctx.ask_all(&asks)? };
    let mut grown: Vec<Path> = Vec::new();
    for (index, path) in beam.into_iter().enumerate() {
        let mine = of.iter().zip(&calls).filter(|((of, _), _)| *of == index);
        let before = grown.len();
        for ((_, number), call) in mine {
            let Some(segment) = tokens.segment(call, method.threshold, method.sequence_score) else { continue };
            let ended = segment.last;
            let segments = [path.segments.as_slice(), &[(*number, segment)]].concat();
            grown.push(Path { segments, ended });
        }
        if grown.len() == before {
            // Nothing was written after it: it is whole.
            grown.push(Path { ended: true, ..path });
        }
    }
    // Of equals the first stays first.
    grown.sort_by(|a, b| b.score(method).total_cmp(&a.score(method)));
    grown.truncate(method.beam_width);
    Ok(grown)
}

/// The documents of a path's next segment: those that came with the question, or what is found for the question and the path's
/// last segment.
fn documents(
    method: &SelfRag,
    question: &Question,
    ctx: &mut Ctx<'_>,
    path: &Path,
    numbers: &[usize],
) -> Result<Vec<usize>> {
    let Some((_, last)) = path.segments.last().filter(|_| question.documents.is_empty()) else {
        return Ok(numbers.to_vec());
    };
    let query = format!("{} {}", question.text, last.text);
    let mut found = search(ctx, &[&query], method.top)?.concat();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        ctx.fall_back("nothing was found for a segment: the answer ends before it");
    }
    Ok(found)
}
