//! IRCoT (Trivedi et al., arXiv 2212.10509): a sentence of reasoning, a retrieval with that sentence, and so on.

use crate::answers::vote;
use crate::error::Result;
use crate::llm::Capabilities;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::chain::{ends_chain, first_sentence};
use crate::protocol::formats::{CONTINUATION, TEXT, THOUGHT};
use crate::protocol::passages::{TOP, join, offered, search, texts};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::Parsed;
use serde_json::json;

/// The prompt of both roles; `reader` selects the layout of the worked examples and of the reply.
const CHAIN: File = prompt_file!("ircot/chain.jinja");

/// IRCoT's row.
pub(crate) static ROW: Row = Row {
    name: "ircot",
    paper: "Interleaving Retrieval with Chain-of-Thought Reasoning (arXiv 2212.10509), section 3",
    about: "reasoning a sentence at a time, each sentence a query; then a reader",
    protocol: "\
1. The retriever finds `per-query` passages for the question.
2. The reasoner continues its chain of thought by one sentence, from all passages so far (at most `passages`).
3. A sentence with \"answer is\" ends the chain; any other is the next query, and its passages join.
4. After at most `steps` sentences the reader thinks and answers from the collected passages.
The chain ends too where the reasoner has no further sentence; no sentence at all counts as a fallback. A malformed reply
of the reader leaves no answer.",
    calls: "steps + 1, at most (6 by default), with at most `steps` retriever calls",
    headline: "HotpotQA EM 25.20, StrategyQA EM 53.60: Llama-3.1-8B (DRAG, table 1)",
    prompts: &[CHAIN],
    formats: &[&TEXT, &CONTINUATION, &THOUGHT],
    roles: &["reasoner", "reader"],
    switches: &[
        Switch {
            name: "steps",
            about: "sentences of reasoning at most (its paper 8, DRAG 5)",
            kind: Kind::Count(1, 16),
            default: "5",
        },
        Switch { name: "passages", about: "passages collected at most", kind: Kind::Count(1, 100), default: "15" },
        TOP,
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs { model: Capabilities { prefill: true, ..Needs::NOTHING.model }, ..Needs::RETRIEVER },
    build,
};

/// Tokens of a sentence.
const SENTENCE_TOKENS: usize = 64;

struct Ircot {
    steps: usize,
    passages: usize,
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let (steps, passages, top) = (values.count("steps"), values.count("passages"), values.count("per-query"));
    Ok(Box::new(Ircot { steps, passages, top }))
}

impl Method for Ircot {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let mut collected = Vec::new();
        let mut query = question.text.clone();
        let mut chain = String::new();
        let mut rounds = 0;
        for step in 1..=self.steps {
            rounds = step;
            let found = search(ctx, &[&query], self.top)?.concat();
            if found.is_empty() {
                ctx.fall_back("nothing was found: the reasoner read what was collected before");
            }
            join(&mut collected, found, self.passages);
            let Some(sentence) = self.think(question, ctx, &collected, &chain, step)? else { break };
            chain = if chain.is_empty() { sentence.clone() } else { format!("{chain} {sentence}") };
            if ends_chain(&sentence) {
                break;
            }
            query = sentence;
        }
        let values = json!({ "question": question.text, "passages": texts(ctx, &collected), "options": offered(question), "reader": true });
        let call = ctx.ask(Ask::new("reader", CHAIN, values, &THOUGHT).round(rounds))?;
        Ok(Conclusion { rounds, ..vote::reader(&call, ctx.documents()) })
    }
}

impl Ircot {
    /// The next sentence after `chain`; `None` where the chain has ended.
    fn think(
        &self,
        question: &Question,
        ctx: &mut Ctx<'_>,
        collected: &[usize],
        chain: &str,
        step: usize,
    ) -> Result<Option<String>> {
        let values = json!({ "question": question.text, "passages": texts(ctx, collected), "options": offered(question), "reader": false });
        let format = if chain.is_empty() { &TEXT } else { &CONTINUATION };
        let ask = Ask::new("reasoner", CHAIN, values, format).round(step);
        let ask = ask.max_tokens(SENTENCE_TOKENS).stop(["\n"]);
        let ask = if chain.is_empty() { ask } else { ask.prefill(chain) };
        let sentence = match ctx.ask(ask)?.parsed {
            Parsed::Text(text) => first_sentence(&text),
            _ => None,
        };
        if sentence.is_none() && chain.is_empty() {
            ctx.fall_back("the reasoner wrote no sentence: the chain has none");
        }
        Ok(sentence)
    }
}
