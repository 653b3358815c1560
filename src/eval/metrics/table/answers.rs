//! Answers against those of the dataset, and their probabilities.

use crate::eval::metrics::metric::{Better, Metric, Needs, Scope, Unit, ratio};
use crate::eval::metrics::{
    answers::{self, Rule},
    detection, single,
};

const MADAM: &str = "MADAM-RAG, section 5.1";
const ABLATION: &str = "MADAM-RAG, section 6.1 (ablation)";
const VARIANT: &str = "MADAM-RAG leaves the rule open: the strict reading";
const AS_CODE: &str = "MADAM-RAG leaves the rule open: substring of the whole reply, by words";
const SQUAD: &str = "SQuAD (Rajpurkar et al., 2016), section 6.1; DRAG and QACC report it";
const DRAG: &str = "DRAG, section 4.1 (StrategyQA)";
const DETECTION: &str = "ConflictScore, section 4, Table 2";

pub(super) const ROWS: &[Metric] = &[
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
];
