//! RA-RAG's second stage ("Retrieval-Augmented Generation with Estimation of Source Reliability"): sources answer alone, in
//! the order of their weights, and vote with them. `moot sources estimate` is the first stage.

use crate::answers::equality;
use crate::answers::vote;
use crate::error::{MootError, Result};
use crate::protocol::equality::Equality;
use crate::protocol::formats::SHORT;
use crate::protocol::source_readers::{ALIGN, ALIGN_THRESHOLD, PER_SOURCE, READER, Source, gather, of_each, sources};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::retrieval::Wanted;
use crate::sources::ORACLE;
use crate::transcript::{CallRecord, Parsed};
use baselines::MEMORY;

mod baselines;

/// RA-RAG's row.
pub(crate) static ROW: Row = Row {
    name: "ra-rag",
    paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (arXiv 2410.22954), section 3.4 and appendix B (algorithm 2)",
    about: "sources answer alone, the heaviest first, until enough know something; a weighted majority wins",
    protocol: "\
1. Documents of one source belong together; a document without a source is one of its own. Where no documents are given, the
   best `per-source` of each source are retrieved, unfolded. Sources are ordered by weight (`--source-weights`, else 1 each).
2. The reader answers from the documents of each source alone, in keywords or with unknown (\"I don't know\").
3. `align`: an answer whose ROUGE-1 precision against its source's documents is below `align-threshold` is dropped and counts
   as unknown, which is recorded; so does a malformed reply. So \"yes\" and \"no\" are dropped where its documents do not have
   the word.
4. `variant`: `rrss` asks down the order until `kappa` sources have given an answer, as many at once as are still needed; `rss`
   asks the `kappa` heaviest; `wmv`, `mv` (votes of 1) and `oracle` (planted weights) ask all; `naive-rag` reads the best
   `pool` documents at once; `naive-llm` reads none.
5. Equal answers add up their sources' weights, also those below zero. Ties go to the heavier source, then to the earlier one.",
    calls: "sources, at most; rss kappa, at most; wmv, mv and oracle sources; naive-rag and naive-llm 1",
    headline: "",
    prompts: &[READER, MEMORY],
    formats: &[&SHORT],
    roles: &["reader"],
    switches: &[
        Switch { name: "kappa", about: "sources selected by rrss and rss", kind: Kind::Count(1, 1000), default: "4" },
        Switch {
            name: "variant",
            about: "the paper's method (rrss), or one of its variants and baselines (section 5.1)",
            kind: Kind::Choice(&["rrss", "rss", "wmv", "mv", "oracle", "naive-rag", "naive-llm"]),
            default: "rrss",
        },
        ALIGN,
        ALIGN_THRESHOLD,
        crate::protocol::equality::SWITCH,
        PER_SOURCE,
        Switch { name: "pool", about: "documents that naive-rag reads", kind: Kind::Count(1, 100), default: "10" },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs { equality: true, embedder: true, dense: true, ..Needs::PASSAGES },
    build,
};

/// Which of the paper's methods runs (sections 3.4, 5.1 and 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// Reliable and relevant source selection.
    Rrss,
    /// Reliable source selection.
    Rss,
    /// Weighted majority vote over every source.
    Wmv,
    /// Majority vote over every source.
    Mv,
    /// Weighted majority vote with the true reliabilities.
    Oracle,
    NaiveRag,
    NaiveLlm,
}

struct RaRag {
    kappa: usize,
    variant: Variant,
    /// The least ROUGE-1 precision of an answer; `None` where answers are not filtered.
    threshold: Option<f64>,
    equality: Equality,
    per_source: usize,
    pool: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let variant = match values.choice("variant") {
        "rss" => Variant::Rss,
        "wmv" => Variant::Wmv,
        "mv" => Variant::Mv,
        "oracle" => Variant::Oracle,
        "naive-rag" => Variant::NaiveRag,
        "naive-llm" => Variant::NaiveLlm,
        _ => Variant::Rrss,
    };
    Ok(Box::new(RaRag {
        kappa: values.count("kappa"),
        variant,
        threshold: values.flag("align").then(|| values.number("align-threshold")),
        equality: Equality::of(values),
        per_source: values.count("per-source"),
        pool: values.count("pool"),
    }))
}

/// An answer that counts, with the index of its source.
type Given = (usize, String);

impl Method for RaRag {
    fn weighs(&self) -> bool {
        !matches!(self.variant, Variant::Mv | Variant::NaiveRag | Variant::NaiveLlm)
    }

    fn wanted(&self, user: Wanted) -> Wanted {
        match self.variant {
            Variant::NaiveRag => baselines::of_pool(self.pool, user.filter),
            _ => of_each(self.per_source, user.filter),
        }
    }

    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        match self.variant {
            Variant::NaiveLlm => return baselines::from_memory(question, ctx),
            Variant::NaiveRag => return baselines::from_pool(question, ctx, self.pool),
            // Weights belong to the run, not to the switches, so that `build` cannot refuse this.
            Variant::Oracle if !ctx.weights().is_some_and(|weights| weights.estimator.starts_with(ORACLE)) => {
                let expected = "expected --source-weights with planted reliabilities (moot sources build writes them)";
                let found = ctx.weights().map_or("none", |weights| &weights.estimator);
                return Err(MootError::Usage(format!("ra-rag, variant oracle: {expected}, found {found}")));
            }
            _ => {}
        }
        gather("ra-rag", question, self.per_source, ctx)?;
        let sources = sources(ctx, self.variant != Variant::Mv);
        let wanted = match self.variant {
            Variant::Rrss | Variant::Rss => self.kappa,
            _ => sources.len(),
        };
        let mut replies: Vec<CallRecord> = Vec::new();
        let mut given: Vec<Given> = Vec::new();
        let mut selected = 0;
        while selected < wanted && replies.len() < sources.len() {
            let left = &sources[replies.len()..];
            // Algorithm 2 asks source by source. As many at once as are still needed give the same selection.
            let next = &left[..left.len().min(wanted - selected)];
            let asks: Vec<Ask> = next.iter().map(|source| source.ask(&question.text)).collect();
            let stage = ctx.ask_all(&asks)?;
            for (at, (source, call)) in next.iter().zip(&stage).enumerate() {
                let answer = source.given(call, self.threshold, self.equality.compared(), ctx);
                if answer.is_some() || self.variant != Variant::Rrss {
                    selected += 1;
                }
                given.extend(answer.map(|answer| (replies.len() + at, answer)));
            }
            replies.extend(stage);
        }
        self.conclude(question, &sources, &replies, &given, ctx)
    }
}

impl RaRag {
    /// The weighted majority vote of the answers given (equation 1), which are in the order of the sources.
    fn conclude(
        &self,
        question: &Question,
        sources: &[Source],
        replies: &[CallRecord],
        given: &[Given],
        ctx: &mut Ctx<'_>,
    ) -> Result<Conclusion> {
        let answers: Vec<&str> = given.iter().map(|(_, answer)| answer.as_str()).collect();
        let classes = self.equality.classes(question, &answers, ctx)?;
        let answers = equality::by_first(&answers, &classes);
        let mut stances: Vec<Option<&str>> = vec![None; ctx.documents().len()];
        for ((source, _), &answer) in given.iter().zip(&answers) {
            sources[*source].numbers.iter().for_each(|&number| stances[number] = Some(answer));
        }
        let votes = match self.variant {
            Variant::Mv => vec![1.0; given.len()],
            // The documents of a source have one weight: the first stands for all.
            _ => given.iter().map(|(index, _)| ctx.vote(sources[*index].numbers[0])).collect(),
        };
        // Of equal sums the answer given first wins, and answers are given in the order of the sources.
        let voted = vote::weighted_classes(answers.iter().copied().zip(votes));
        // Equation 1 takes the largest sum, even a negative one.
        let winner: Vec<String> = voted.into_iter().take(1).map(|(answer, _)| answer).collect();
        let (answers, rejected) = vote::by_vote(&winner, &stances);
        let malformed = !replies.is_empty() && replies.iter().all(|call| call.parsed == Parsed::Malformed);
        let calls = replies.iter().map(|call| call.number).collect();
        Ok(Conclusion { answers, rejected, malformed, rounds: 1, calls, ..Conclusion::default() })
    }
}
