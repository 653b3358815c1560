//! Astute RAG (Wang et al., arXiv 2410.07176), as MADAM-RAG runs it (appendices C and E): passages from memory join the
//! documents, consistent passages are merged, conflicting ones are kept apart, and the most reliable answers are kept.

use crate::answers::unknown::begins_unknown;
use crate::answers::vote;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWERS, TEXT};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};

const INTERNAL: File = prompt_file!("astute_rag/internal.jinja");
const CONSOLIDATE: File = prompt_file!("astute_rag/consolidate.jinja");
const FINALISE: File = prompt_file!("astute_rag/finalise.jinja");

/// Astute RAG's row.
pub(crate) static ROW: Row = Row {
    name: "astute-rag",
    paper: "Astute RAG (arXiv 2410.07176), section 3; Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), appendices C and E",
    about: "passages from memory join the documents; agreement and conflict decide which answers are kept",
    protocol: "\
1. The writer writes down what it knows (at most `internal` passages), or that it does not know.
2. `iterations` - 1 times the consolidator rewrites documents and memory as one context, then that context anew: what agrees
   together, what conflicts apart, each part with its source. Its limit is 160 tokens for each passage that goes in; the
   writer's is 160 for each that it may write.
3. The finaliser reads documents, memory and the last context, groups them, proposes an answer with its confidence for each
   group, and keeps all correct ones.
An empty passage or context is left out, which counts as a fallback; a malformed list of the finaliser leaves no answer.",
    calls: "iterations + 1 (3 by default); without internal passages iterations",
    headline: "RAMDocs strict EM: Llama-3.3-70B 31.80, Qwen2.5-72B 20.80 (MADAM-RAG, table 1)",
    prompts: &[INTERNAL, CONSOLIDATE, FINALISE],
    formats: &[&TEXT, &ANSWERS],
    roles: &["writer", "consolidator", "finaliser"],
    switches: &[
        Switch { name: "internal", about: "passages from memory at most", kind: Kind::Count(0, 8), default: "1" },
        Switch { name: "iterations", about: "rounds of consolidation, the final one counted", kind: Kind::Count(1, 8), default: "2" },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build,
};

/// Tokens of a passage from memory, and of a consolidated context for each passage that goes into it.
const PASSAGE_TOKENS: usize = 160;

struct AstuteRag {
    internal: usize,
    iterations: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(AstuteRag { internal: values.count("internal"), iterations: values.count("iterations") }))
}

impl Method for AstuteRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let remembered = self.remember(question, ctx)?;
        let passage = |origin: &str, text: &str| json!({ "origin": origin, "text": text.trim() });
        let retrieved = question.documents.iter().map(|document| passage("from retrieval", &document.text));
        let sources: Vec<Value> = retrieved.chain(remembered.iter().map(|text| passage("from memory", text))).collect();

        let mut context: Option<String> = None;
        // The last of the iterations is the finaliser's.
        for round in 1..self.iterations {
            let values = json!({ "question": question.text, "sources": sources, "context": context });
            let ask = Ask::new("consolidator", CONSOLIDATE, values, &TEXT).round(round);
            match ctx.ask(ask.max_tokens(PASSAGE_TOKENS * sources.len()))?.parsed {
                Parsed::Text(text) => context = Some(text),
                // An empty text would erase the context of the round before.
                _ => ctx.fall_back("an empty consolidation was left out"),
            }
        }

        let values = json!({ "question": question.text, "sources": sources, "context": context });
        let verdict = ctx.ask(Ask::new("finaliser", FINALISE, values, &ANSWERS).round(self.iterations))?;
        Ok(Conclusion { rounds: self.iterations, ..vote::reader(&verdict, &question.documents) })
    }
}

impl AstuteRag {
    /// The model's own knowledge as passages; none if it says that it does not know.
    fn remember(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Vec<String>> {
        if self.internal == 0 {
            return Ok(Vec::new());
        }
        let values = json!({ "question": question.text, "most": self.internal });
        let ask = Ask::new("writer", INTERNAL, values, &TEXT).max_tokens(PASSAGE_TOKENS * self.internal);
        let written = ctx.ask(ask)?;
        let passages = passages(&written, self.internal);
        if written.parsed == Parsed::Malformed {
            ctx.fall_back("an empty passage from memory was left out");
        }
        Ok(passages)
    }
}

/// The passages of a reply, a blank line between them.
fn passages(written: &CallRecord, most: usize) -> Vec<String> {
    let Parsed::Text(text) = &written.parsed else { return Vec::new() };
    // Its prompt asks for "I don't know" instead of a passage.
    let tells = |text: &&str| !text.is_empty() && !begins_unknown(text);
    text.split("\n\n").map(str::trim).filter(tells).take(most).map(str::to_owned).collect()
}
