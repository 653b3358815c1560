//! Metrics of a debate's course: first rounds, changes, verifiers.

use crate::eval::metrics::metric::{Better, Metric, Needs, Scope, Unit, ratio};
use crate::eval::metrics::{
    changes::{self, Change, Revision},
    cost,
    extraction::{self, Outcome},
    single,
};

const FEEDBACK: &str = "ConflictScore, section 6.4: answers given again with the conflict shown";
const EXTRACTION: &str = "RAMDocs' document labels against first-round replies";
const CHANGES: &str = "effect of the debate: replies of round 2 and later against the round before";

pub(super) const ROWS: &[Metric] = &[
    share!(
        "class-em",
        More,
        Calls,
        "squad-em, or 1 where an answer that the vote counted as equal to the concluded one equals an alias",
        "RA-RAG, appendix I: right if the answer's cluster has the right one",
        single::class_match
    ),
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
];
