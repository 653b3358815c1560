//! Claims, labels and judgements of ConflictScore.

use crate::eval::metrics::metric::{Better, Metric, Needs, Scope, Unit, ratio};
use crate::eval::metrics::{calibration, judged, labels};
use crate::question::ClaimRelation::{Contradicts, Supports};

const SCORE: &str = "ConflictScore, section 3";
const LABELS: &str = "ConflictScore, section 4.4: labels against the dataset's";
const CALIBRATION: &str = "Guo et al., 2017, section 2 (expected calibration error)";
const JUDGES: &str = "ConflictScore, section 6.1, Table 4 (TruthfulQA)";

pub(super) const ROWS: &[Metric] = &[
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
];
