//! Prompts as pieces: what other prompts and the debate have too is stored once.
//!
//! Calls of a debate repeat the documents, earlier replies and the instructions. A prompt is cut at every such text that is
//! long enough, and the rest at its line ends; the pieces joined are the prompt again.

use super::texts::Texts;
use crate::generation::Segment;
use crate::transcript::{CallRecord, QuestionRecord};
use serde_json::{Value, json};

/// A shorter text costs less than the numbers of the pieces around it.
const SHORTEST: usize = 24;

/// The texts of a debate that its prompts may repeat, longest first.
pub(super) struct Known<'a>(Vec<&'a str>);

impl<'a> Known<'a> {
    /// Documents, replies and the question of `record`.
    pub(super) fn of(record: &'a QuestionRecord) -> Self {
        let documents = record.question.documents.iter().chain(&record.retrieved).map(|document| document.text.trim());
        let replies = record.calls.iter().map(|call| call.reply.trim());
        let mut texts: Vec<&str> = documents.chain(replies).chain([record.question.text.trim()]).collect();
        texts.retain(|text| text.len() >= SHORTEST);
        // A shorter text within a longer one would cut it to pieces. Equal texts are neighbours, for `dedup`.
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        texts.dedup();
        Self(texts)
    }

    /// The pieces of `text`, in order.
    pub(super) fn cut<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pieces = Vec::new();
        self.cut_from(0, text, &mut pieces);
        pieces
    }

    fn cut_from<'t>(&self, first: usize, text: &'t str, pieces: &mut Vec<&'t str>) {
        let found = (first..self.0.len()).find_map(|index| Some((index, text.find(self.0[index])?)));
        let Some((index, at)) = found else {
            return pieces.extend(text.split_inclusive('\n'));
        };
        let end = at + self.0[index].len();
        // Longer texts are in neither part.
        self.cut_from(index, &text[..at], pieces);
        pieces.push(&text[at..end]);
        self.cut_from(index, &text[end..], pieces);
    }

    fn numbers(&self, text: &str, texts: &mut Texts) -> Vec<usize> {
        self.cut(text).into_iter().map(|piece| texts.add(piece)).collect()
    }
}

/// The prompt as sent: turns as `[role, pieces]`; a raw prompt is one turn without a role, a prefill a turn "prefill".
pub(super) fn sent(call: &CallRecord, known: &Known<'_>, texts: &mut Texts) -> Vec<Value> {
    let joined = |segments: &[Segment]| segments.iter().map(Segment::text).collect::<String>();
    let mut turns: Vec<Value> =
        call.messages.iter().map(|turn| json!([turn.role, known.numbers(&turn.content, texts)])).collect();
    for (name, segments) in [("prompt", &call.raw_prompt), ("prefill", &call.prefill)] {
        if !segments.is_empty() {
            turns.push(json!([name, known.numbers(&joined(segments), texts)]));
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::Known;

    #[test]
    fn pieces_joined_are_the_prompt() {
        let (document, reply) =
            ("A document, longer than the shortest one.\nTwo lines.", "An answer: two lines, said twice.");
        let known = Known(vec![document, reply]);
        let prompt = format!("Instructions.\nRead:\n{document}\n\nAgent 1: {reply}\nAgent 2: {reply}\nÄnde");
        let pieces = known.cut(&prompt);
        assert_eq!(pieces.concat(), prompt);
        assert_eq!(
            pieces,
            [
                "Instructions.\n",
                "Read:\n",
                document,
                "\n",
                "\n",
                "Agent 1: ",
                reply,
                "\n",
                "Agent 2: ",
                reply,
                "\n",
                "Ände"
            ]
        );
        assert!(known.cut("").is_empty());
    }
}
