//! The table of metrics.

use super::answers::{self, Rule};
use super::changes::{self, Change, Revision};
use super::extraction::{self, Outcome};
use super::metric::{Better, Metric, Needs, Scope, Tally, Unit};
use super::{calibration, cost, detection, judged, labels, single};
use crate::question::ClaimRelation::{Contradicts, Supports};

/// The first count of a tally over the second.
fn ratio(tally: &Tally) -> Option<f64> {
    (tally[1] > 0.0).then(|| tally[0] / tally[1])
}

/// A row: name, [`Better`], [`Needs`], formula, source, unit and scope.
macro_rules! metric {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $unit:ident, $scope:expr) => {
        Metric {
            name: $name,
            formula: $formula,
            source: $source,
            unit: Unit::$unit,
            scope: $scope,
            better: Better::$better,
            needs: Needs::$needs,
            title: None,
            is_headline: false,
            rank: None,
        }
    };
}

/// A share by question.
macro_rules! share {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $of:expr) => {
        metric!($name, $better, $needs, $formula, $source, Share, Scope::Question($of))
    };
}

/// A share over the run.
macro_rules! run {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $tally:expr, $value:expr) => {
        metric!($name, $better, $needs, $formula, $source, Share, Scope::Run { tally: $tally, value: $value })
    };
}

/// A share over the run, by bins of probability.
macro_rules! binned {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $value:expr) => {
        metric!(
            $name,
            $better,
            $needs,
            $formula,
            $source,
            Share,
            Scope::Binned { tally: calibration::tally, value: $value }
        )
    };
}

/// A count by question.
macro_rules! count {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $of:expr) => {
        metric!($name, $better, $needs, $formula, $source, Count, Scope::Question($of))
    };
}

const MADAM: &str = "MADAM-RAG, section 5.1";
const ABLATION: &str = "MADAM-RAG, section 6.1 (ablation)";
const VARIANT: &str = "MADAM-RAG leaves the rule open: the strict reading";
const AS_CODE: &str = "MADAM-RAG leaves the rule open: substring of the whole reply, by words";
const LEDGER: &str = "MADAM-RAG, Table 2";
const SQUAD: &str = "SQuAD (Rajpurkar et al., 2016), section 6.1; DRAG and QACC report it";
const DRAG: &str = "DRAG, section 4.1 (StrategyQA)";
const DETECTION: &str = "ConflictScore, section 4, Table 2";
const SCORE: &str = "ConflictScore, section 3";
const LABELS: &str = "ConflictScore, section 4.4: labels against the dataset's";
const CALIBRATION: &str = "Guo et al., 2017, section 2 (expected calibration error)";
const JUDGES: &str = "ConflictScore, section 6.1, Table 4 (TruthfulQA)";
const FEEDBACK: &str = "ConflictScore, section 6.4: answers given again with the conflict shown";
const EXTRACTION: &str = "RAMDocs' document labels against first-round replies";
const CHANGES: &str = "effect of the debate: replies of round 2 and later against the round before";

/// Every metric, in the order that reports print them.
pub const METRICS: &[Metric] = &[
    share!("em", More, Answers, "1 where every required answer is given and no wrong one, else 0", MADAM, |r| {
        answers::exact_match(r, Rule::Contained)
    })
    .titled("Exact match")
    .headline()
    .ranked(1),
    share!("precision", More, Answers, "right answers / answers given", ABLATION, |r| answers::precision(
        r,
        Rule::Contained
    ))
    .headline(),
    share!("recall", More, Answers, "required answers given / required answers", ABLATION, |r| answers::recall(
        r,
        Rule::Contained
    ))
    .headline(),
    share!("f1", More, Answers, "2 P R / (P + R)", ABLATION, |r| answers::f1(r, Rule::Contained))
        .titled("F1")
        .headline()
        .ranked(7),
    run!(
        "f1-corpus",
        More,
        Answers,
        "2 P R / (P + R), P and R from counts added up over the run",
        ABLATION,
        answers::tally,
        answers::corpus_f1
    ),
    share!("em-equal", More, Answers, "em, answers matched by equality", VARIANT, |r| answers::exact_match(
        r,
        Rule::Equal
    )),
    share!("precision-equal", More, Answers, "precision, answers matched by equality", VARIANT, |r| {
        answers::precision(r, Rule::Equal)
    }),
    share!("recall-equal", More, Answers, "recall, answers matched by equality", VARIANT, |r| answers::recall(
        r,
        Rule::Equal
    )),
    share!("f1-equal", More, Answers, "f1, answers matched by equality", VARIANT, |r| answers::f1(r, Rule::Equal)),
    share!(
        "em-text",
        More,
        Calls,
        "1 where the final reply's text holds every required answer and no wrong one",
        AS_CODE,
        |r| { answers::exact_match(r, Rule::WholeText) }
    ),
    share!(
        "precision-text",
        More,
        Calls,
        "right answers in the text / right and wrong answers in the text",
        AS_CODE,
        |r| { answers::precision(r, Rule::WholeText) }
    ),
    share!("recall-text", More, Calls, "required answers in the text / required answers", AS_CODE, |r| {
        answers::recall(r, Rule::WholeText)
    }),
    share!("f1-text", More, Calls, "2 P R / (P + R) of the two above", AS_CODE, |r| answers::f1(r, Rule::WholeText)),
    share!(
        "squad-em",
        More,
        Answers,
        "1 where the answer equals an alias after SQuAD's normalisation; one required answer",
        SQUAD,
        |r| { single::exact_match(r) }
    )
    .titled("Exact match (SQuAD)")
    .headline(),
    share!(
        "squad-f1",
        More,
        Answers,
        "token F1 with the nearest alias after SQuAD's normalisation; one required answer",
        SQUAD,
        |r| { single::token_f1(r) }
    )
    .titled("F1 (SQuAD)")
    .headline(),
    share!(
        "hotpot-f1",
        More,
        Answers,
        "squad-f1; yes, no and noanswer share tokens with themselves alone",
        "HotpotQA (Yang et al., 2018) and FlashRAG, which DRAG uses",
        |r| { single::hotpot_f1(r) }
    ),
    share!(
        "yes-no-em",
        More,
        Answers,
        "1 where the answer's first word is the gold yes or no; yes/no questions",
        DRAG,
        single::yes_no
    )
    .titled("Yes or no, right")
    .headline()
    .ranked(2),
    run!(
        "accuracy-yes",
        More,
        Answers,
        "yes-no-em over questions whose answer is yes",
        DRAG,
        |r| single::class(r, "yes"),
        ratio
    ),
    run!(
        "accuracy-no",
        More,
        Answers,
        "yes-no-em over questions whose answer is no",
        DRAG,
        |r| single::class(r, "no"),
        ratio
    ),
    share!(
        "choice-accuracy",
        More,
        Answers,
        "1 where the chosen option is right; multiple choice",
        "ConflictScore, section 5",
        |r| { single::choice(r) }
    )
    .titled("Options chosen rightly")
    .headline()
    .ranked(3),
    run!(
        "conflict-precision",
        More,
        Answers,
        "TP / (TP + FP), positive: Conflict",
        DETECTION,
        detection::tally,
        detection::precision
    ),
    run!("conflict-recall", More, Answers, "TP / (TP + FN)", DETECTION, detection::tally, detection::recall),
    run!("conflict-f1", More, Answers, "2 P R / (P + R)", DETECTION, detection::tally, detection::f1)
        .titled("F1 of conflicts found")
        .headline()
        .ranked(4),
    run!("conflict-accuracy", More, Answers, "(TP + TN) / all", DETECTION, detection::tally, detection::accuracy),
    run!("accuracy-conflict", More, Answers, "TP / (TP + FN)", DETECTION, detection::tally, detection::recall),
    run!("accuracy-no-conflict", More, Answers, "TN / (TN + FP)", DETECTION, detection::tally, detection::specificity),
    share!("cs-c", Neither, Calls, "claims with supporters and contradictors / claims", SCORE, |r| labels::of(r)?.cs_c)
        .titled("ConflictScore, share of claims in conflict (CS-C)")
        .ranked(5),
    share!(
        "cs-r",
        Neither,
        Calls,
        "mean over claims of contradictors / (supporters + contradictors); claims with neither are left out",
        SCORE,
        |r| labels::of(r)?.cs_r
    )
    .titled("ConflictScore, contradictors (CS-R)"),
    share!("cs-r-zero", Neither, Calls, "cs-r, claims with neither count as 0", SCORE, labels::ratio_with_zeros),
    run!("label-accuracy", More, Calls, "labels that are the dataset's / labels", LABELS, labels::agreement, ratio)
        .ranked(6),
    run!(
        "contradicts-precision",
        More,
        Calls,
        "right labels CONTRADICTS / labels CONTRADICTS",
        LABELS,
        |r| { labels::found(r, Contradicts) },
        ratio
    ),
    run!(
        "contradicts-recall",
        More,
        Calls,
        "right labels CONTRADICTS / those of the dataset",
        LABELS,
        |r| { labels::expected(r, Contradicts) },
        ratio
    ),
    run!(
        "supports-precision",
        More,
        Calls,
        "right labels SUPPORTS / labels SUPPORTS",
        LABELS,
        |r| { labels::found(r, Supports) },
        ratio
    ),
    run!(
        "supports-recall",
        More,
        Calls,
        "right labels SUPPORTS / those of the dataset",
        LABELS,
        |r| { labels::expected(r, Supports) },
        ratio
    ),
    binned!(
        "label-confidence",
        Neither,
        Calls,
        "mean probability of labels that have one",
        CALIBRATION,
        calibration::confidence
    ),
    binned!(
        "label-ece",
        Less,
        Calls,
        "sum over ten bins of |right labels - sum of their probabilities| / labels",
        CALIBRATION,
        calibration::error
    ),
    share!("truthful", More, Calls, "1 where a judge found the answer truthful", JUDGES, judged::truthful),
    share!("informative", More, Calls, "1 where a judge found the answer informative", JUDGES, judged::informative),
    share!("truthful-informative", More, Calls, "1 where a judge found the answer both", JUDGES, judged::both),
    share!(
        "answer-planted",
        Less,
        Calls,
        "1 where the answer equals that of a document labelled misinfo; questions with such a document",
        "RA-RAG, Table 1 (incorrect)",
        single::planted
    ),
    share!(
        "answer-hallucinated",
        Less,
        Calls,
        "1 where there is an answer, not squad-em and not answer-planted",
        "RA-RAG, Table 1 (hallucination)",
        single::hallucinated
    ),
    share!(
        "unknown",
        Less,
        Answers,
        "1 where no answer was given though the reply kept its format",
        "abstention",
        cost::unknown
    )
    .headline()
    .ranked(8),
    share!(
        "malformed",
        Less,
        Calls,
        "1 where the concluding reply did not keep its format",
        "malformed replies are scored",
        |r| { cost::malformed(r) }
    )
    .headline()
    .ranked(9),
    share!(
        "error",
        Less,
        Answers,
        "1 where the question ended in an error",
        "failed questions are scored",
        cost::error
    )
    .headline(),
    run!(
        "extracted",
        More,
        Calls,
        "first-round replies that give their document's answer / replies",
        EXTRACTION,
        |r| { extraction::tally(r, None, Outcome::Right) },
        ratio
    ),
    run!(
        "correct-right",
        More,
        Calls,
        "correct documents whose agent gives the label's answer",
        EXTRACTION,
        |r| { extraction::tally(r, Some("correct"), Outcome::Right) },
        ratio
    ),
    run!(
        "correct-wrong",
        Less,
        Calls,
        "correct documents whose agent gives another answer, or a malformed reply",
        EXTRACTION,
        |r| { extraction::tally(r, Some("correct"), Outcome::Wrong) },
        ratio
    ),
    run!(
        "correct-unknown",
        Less,
        Calls,
        "correct documents whose agent gives no answer",
        EXTRACTION,
        |r| { extraction::tally(r, Some("correct"), Outcome::Unknown) },
        ratio
    ),
    run!(
        "misinfo-right",
        Neither,
        Calls,
        "misinformation documents whose agent gives the label's answer",
        EXTRACTION,
        |r| { extraction::tally(r, Some("misinfo"), Outcome::Right) },
        ratio
    ),
    run!(
        "misinfo-wrong",
        Neither,
        Calls,
        "misinformation documents whose agent gives another answer",
        EXTRACTION,
        |r| { extraction::tally(r, Some("misinfo"), Outcome::Wrong) },
        ratio
    ),
    run!(
        "misinfo-unknown",
        Neither,
        Calls,
        "misinformation documents whose agent gives no answer",
        EXTRACTION,
        |r| { extraction::tally(r, Some("misinfo"), Outcome::Unknown) },
        ratio
    ),
    run!(
        "noise-answered",
        Less,
        Calls,
        "noise documents whose agent gives an answer, or a malformed reply",
        EXTRACTION,
        |r| { extraction::tally(r, Some("noise"), Outcome::Wrong) },
        ratio
    ),
    run!(
        "replies-changed",
        Neither,
        Calls,
        "later replies with another answer / later replies",
        CHANGES,
        |r| { changes::tally(r, Change::Any) },
        ratio
    ),
    run!(
        "replies-better",
        More,
        Calls,
        "later replies that rise (wrong < unknown < right) / later replies",
        CHANGES,
        |r| { changes::tally(r, Change::Better) },
        ratio
    ),
    run!(
        "replies-worse",
        Less,
        Calls,
        "later replies that fall (wrong < unknown < right) / later replies",
        CHANGES,
        |r| { changes::tally(r, Change::Worse) },
        ratio
    ),
    run!(
        "refinements-changed",
        Neither,
        Calls,
        "refined lists of answers that differ from the list reviewed / refined lists",
        "MADAM-RAG, section 5.1 (self-reflection): whether reviews do anything",
        changes::refined,
        ratio
    ),
    run!(
        "answers-kept",
        Neither,
        Calls,
        "answers given again unchanged, or judged alike / answers given again",
        FEEDBACK,
        |r| { changes::revised(r, Revision::Kept) },
        ratio
    ),
    run!(
        "answers-corrected",
        More,
        Calls,
        "wrong answers that became right / answers given again",
        FEEDBACK,
        |r| { changes::revised(r, Revision::Corrected) },
        ratio
    ),
    run!(
        "answers-spoilt",
        Less,
        Calls,
        "right answers that became wrong / answers given again",
        FEEDBACK,
        |r| { changes::revised(r, Revision::Spoilt) },
        ratio
    ),
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
    count!("calls-taken-over", More, Calls, "calls not made: an equal one had been answered", LEDGER, cost::taken_over),
    count!(
        "answers-not-held",
        Less,
        Calls,
        "readers' answers that count as unknown: not in their document",
        "the method moot",
        cost::not_held
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

impl Metric {
    /// The row of [`METRICS`] with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}
