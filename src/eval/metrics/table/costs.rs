//! Malformed replies, calls, rounds, tokens and time.

use crate::eval::metrics::metric::{Better, Metric, Needs, Scope, Unit};
use crate::eval::metrics::{cost, labels, single};

const ABLATION: &str = "MADAM-RAG, section 6.1 (ablation)";
const LEDGER: &str = "MADAM-RAG, Table 2";
const SCORE: &str = "ConflictScore, section 3";

pub(super) const ROWS: &[Metric] = &[
    count!(
        "malformed-replies",
        Less,
        Calls,
        "replies of any role that did not keep their format",
        "malformed replies are counted",
        |r| { cost::malformed_replies(r) }
    )
    .headline(),
    count!("claims", Neither, Calls, "claims labelled", SCORE, |r| Some(labels::of(r)?.claims as f64)),
    count!("claims-supported", Neither, Calls, "claims with supporters alone", SCORE, |r| {
        Some(labels::of(r)?.supported as f64)
    }),
    count!("claims-contradicted", Neither, Calls, "claims with contradictors alone", SCORE, |r| {
        Some(labels::of(r)?.contradicted as f64)
    }),
    count!(
        "claims-with-neither",
        Neither,
        Calls,
        "claims without supporters and contradictors, which cs-r leaves out",
        SCORE,
        |r| { Some(labels::of(r)?.neither as f64) }
    ),
    count!(
        "unquoted-labels",
        Less,
        Calls,
        "labels without a quote that is in the document",
        "quotes are verified",
        |r| { Some(labels::of(r)?.unquoted as f64) }
    ),
    count!("malformed-labels", Less, Calls, "labels whose reply did not keep its format", "they do not count", |r| {
        Some(labels::of(r)?.malformed as f64)
    }),
    count!("failed-labels", Less, Calls, "labels whose call failed", "they do not count", |r| Some(
        labels::of(r)?.failed as f64
    )),
    count!("unsure-labels", Less, Calls, "labels for or against of too low a probability", "they do not count", |r| {
        Some(labels::of(r)?.unsure as f64)
    }),
    count!("calls", Less, Calls, "calls of the model", LEDGER, cost::calls).headline().ranked(10),
    count!("calls-taken-over", More, Calls, "duplicate calls that reused a reply", LEDGER, cost::taken_over),
    count!(
        "answers-not-held",
        Less,
        Calls,
        "readers' answers that count as unknown: not in their document",
        "the method moot",
        cost::not_held
    ),
    count!(
        "steering-values",
        Less,
        Calls,
        "values whose documents say what the answer should be",
        "the method moot",
        cost::steering
    ),
    count!(
        "majority-count",
        More,
        Calls,
        "replies that give the concluded answer, where several are counted",
        "Multi-LLM verification, Table 6",
        single::majority_count
    ),
    count!("retriever-calls", Less, Calls, "queries sent to the retriever", "DRAG, Figure 4", cost::retriever_calls),
    count!("entailment-pairs", Less, Calls, "pairs classified for entailment", "cost", cost::entailment_pairs),
    count!(
        "failed-calls",
        Less,
        Calls,
        "calls that failed and that the method went on without",
        "cost",
        cost::failed_calls
    ),
    count!(
        "fallbacks",
        Less,
        Calls,
        "departures from the method's protocol",
        "a fallback is another method",
        cost::fallbacks
    ),
    count!("rounds", Less, Calls, "rounds held", ABLATION, cost::rounds),
    count!(
        "retrieval-rounds",
        Less,
        Calls,
        "rounds of DRAG's retrieval debate",
        "DRAG, Table 3",
        cost::retrieval_rounds
    ),
    count!("response-rounds", Less, Calls, "rounds of DRAG's response debate", "DRAG, Table 2", cost::response_rounds),
    count!("queries", Less, Calls, "queries in DRAG's final pool", "DRAG, Table 3", cost::queries),
    count!("prompt-tokens", Less, Calls, "tokens in", LEDGER, |r| cost::tokens(r, |usage| usage.prompt)).headline(),
    count!("reused-tokens", More, Calls, "tokens in that were in the cache", "prefix reuse", |r| cost::tokens(
        r,
        |u| u.reused
    ))
    .headline(),
    count!("generated-tokens", Less, Calls, "tokens out", LEDGER, |r| cost::tokens(r, |usage| usage.generated))
        .headline(),
    count!(
        "reply-tokens",
        Less,
        Calls,
        "tokens out; a reply that several equal calls share counts for each of them",
        LEDGER,
        cost::reply_tokens
    ),
    metric!(
        "seconds",
        Less,
        Calls,
        "wall time, including the wait for other questions in flight",
        "cost",
        Seconds,
        Scope::Question(cost::seconds)
    )
    .headline(),
];
