//! Numbers of ConflictScore: tables 2 to 5 (the others are counts and prompts).

use crate::eval::reproduce::table::{Needed, PaperTable, TABLE, column, row};

const DOCUMENTS: &str = "779 questions, each with documents from the web, which the paper does not publish";

const ITEMS: &str = "a claim is its question and answer in a template, in the paper a sentence by GPT-4; an item without a conflict has all documents that support the claim, in the paper one";

const REPORTS: &str =
    "reports are on the question, in the paper on its main entity; at most 40 claims of a report are labelled";

const VERDICTS: &str = "verdicts without an explanation, a constrained choice";
const FREE: &str = "at most 8 claims of an answer are labelled; verdicts without an explanation, a constrained choice";

const OPTIONS: &str = "the options are a constrained choice of their texts, in the paper letters";
const JUSTIFIED: &str =
    "the options are a constrained choice of their texts, in the paper letters; the second answer has no justification";

/// Its tables.
pub(super) static TABLES: [PaperTable; 4] = [
    PaperTable {
        name: "conflictscore-2",
        paper: "ConflictScore, table 2",
        about: "conflict detection on ConflictBench",
        settings: &["one claim a question, labelled against every document"],
        max_tokens: 512,
        data: &[Needed {
            name: "conflictbench",
            get: "ConflictBench, 2,293 claims with their documents, built of ContraQA, MacNoise over Natural Questions, MacNoise over TriviaQA, AmbigDocs and ConflictingQA by `moot lab slices CONTRAQA MACNOISE-NQ MACNOISE-TQA AMBIGDOCS CONFLICTINGQA --kind detection`, in this order",
            form: "questions",
        }],
        columns: &[
            column("contraqa precision", "conflictbench", "conflict-precision", "contraqa", 1.0),
            column("contraqa recall", "conflictbench", "conflict-recall", "contraqa", 1.0),
            column("contraqa F1", "conflictbench", "conflict-f1", "contraqa", 1.0),
            column("contraqa accuracy", "conflictbench", "conflict-accuracy", "contraqa", 1.0),
            column("contraqa accuracy, conflict", "conflictbench", "accuracy-conflict", "contraqa", 1.0),
            column("contraqa accuracy, no conflict", "conflictbench", "accuracy-no-conflict", "contraqa", 1.0),
            column("macnoise-nq precision", "conflictbench", "conflict-precision", "macnoise", 1.0),
            column("macnoise-nq recall", "conflictbench", "conflict-recall", "macnoise", 1.0),
            column("macnoise-nq F1", "conflictbench", "conflict-f1", "macnoise", 1.0),
            column("macnoise-nq accuracy", "conflictbench", "conflict-accuracy", "macnoise", 1.0),
            column("macnoise-nq accuracy, conflict", "conflictbench", "accuracy-conflict", "macnoise", 1.0),
            column("macnoise-nq accuracy, no conflict", "conflictbench", "accuracy-no-conflict", "macnoise", 1.0),
            column("macnoise-tqa precision", "conflictbench", "conflict-precision", "macnoise-2", 1.0),
            column("macnoise-tqa recall", "conflictbench", "conflict-recall", "macnoise-2", 1.0),
            column("macnoise-tqa F1", "conflictbench", "conflict-f1", "macnoise-2", 1.0),
            column("macnoise-tqa accuracy", "conflictbench", "conflict-accuracy", "macnoise-2", 1.0),
            column("macnoise-tqa accuracy, conflict", "conflictbench", "accuracy-conflict", "macnoise-2", 1.0),
            column("macnoise-tqa accuracy, no conflict", "conflictbench", "accuracy-no-conflict", "macnoise-2", 1.0),
            column("ambigdocs precision", "conflictbench", "conflict-precision", "ambigdocs", 1.0),
            column("ambigdocs recall", "conflictbench", "conflict-recall", "ambigdocs", 1.0),
            column("ambigdocs F1", "conflictbench", "conflict-f1", "ambigdocs", 1.0),
            column("ambigdocs accuracy", "conflictbench", "conflict-accuracy", "ambigdocs", 1.0),
            column("ambigdocs accuracy, conflict", "conflictbench", "accuracy-conflict", "ambigdocs", 1.0),
            column("ambigdocs accuracy, no conflict", "conflictbench", "accuracy-no-conflict", "ambigdocs", 1.0),
            column("conflictingqa precision", "conflictbench", "conflict-precision", "conflictingqa", 1.0),
            column("conflictingqa recall", "conflictbench", "conflict-recall", "conflictingqa", 1.0),
            column("conflictingqa F1", "conflictbench", "conflict-f1", "conflictingqa", 1.0),
            column("conflictingqa accuracy", "conflictbench", "conflict-accuracy", "conflictingqa", 1.0),
            column("conflictingqa accuracy, conflict", "conflictbench", "accuracy-conflict", "conflictingqa", 1.0),
            column(
                "conflictingqa accuracy, no conflict",
                "conflictbench",
                "accuracy-no-conflict",
                "conflictingqa",
                1.0,
            ),
            column("overall precision", "conflictbench", "conflict-precision", "", 1.0),
            column("overall recall", "conflictbench", "conflict-recall", "", 1.0),
            column("overall F1", "conflictbench", "conflict-f1", "", 1.0),
            column("overall accuracy", "conflictbench", "conflict-accuracy", "", 1.0),
            column("overall accuracy, conflict", "conflictbench", "accuracy-conflict", "", 1.0),
            column("overall accuracy, no conflict", "conflictbench", "accuracy-no-conflict", "", 1.0),
        ],
        rows: &[row("conflict-score", "ConflictScore", "conflict-score", &[])
            .published(&[(
                "GPT-4.1",
                &[
                    0.9971, 0.8208, 0.9004, 0.9035, 0.8208, 0.9973, 0.8763, 0.9043, 0.8901, 0.8945, 0.9043, 0.8857,
                    0.9655, 0.9655, 0.9655, 0.9621, 0.9655, 0.9579, 0.9962, 0.8935, 0.942, 0.9508, 0.8935, 0.9972,
                    0.972, 0.9775, 0.9747, 0.9585, 0.9775, 0.8734, 0.9763, 0.9, 0.9366, 0.932, 0.9, 0.9724,
                ],
            )])
            .note(ITEMS)],
        ..TABLE
    },
    PaperTable {
        name: "conflictscore-3",
        paper: "ConflictScore, table 3",
        about: "conflicts in reports of three prompt strengths",
        settings: &[
            "100 questions whose gold labels have a conflict; lower is better",
            "questions without such a conflict are left out before a sample is drawn: --sample 100",
        ],
        max_tokens: 512,
        data: &[Needed {
            name: "conflictingqa",
            get: "ConflictingQA, 100 questions with their web documents, published by its authors (Wan et al., 2024)",
            form: "conflictingqa",
        }],
        columns: &[
            column("CS-C", "conflictingqa", "cs-c", "gold-conflict", 1.0),
            column("CS-R", "conflictingqa", "cs-r", "gold-conflict", 1.0),
        ],
        rows: &[
            row("plain", "RAG", "conflict-report", &[])
                .published(&[("GPT-4.1", &[0.5238, 0.1517]), ("GPT-4.1-nano", &[0.5654, 0.1656])])
                .note(REPORTS),
            row("balanced", "RAG (Balanced)", "conflict-report", &[("strength", "balanced")])
                .published(&[("GPT-4.1", &[0.523, 0.1516]), ("GPT-4.1-nano", &[0.5315, 0.153])])
                .note(REPORTS),
            row("super-balanced", "RAG (Super-Balanced)", "conflict-report", &[("strength", "super-balanced")])
                .published(&[("GPT-4.1", &[0.543, 0.1715]), ("GPT-4.1-nano", &[0.5673, 0.1715])])
                .note(REPORTS),
        ],
        ..TABLE
    },
    PaperTable {
        name: "conflictscore-4",
        paper: "ConflictScore, table 4",
        about: "free answers of TruthfulQA, judged, with and without feedback",
        settings: &[
            DOCUMENTS,
            "gpt-4.1-mini answers and judges in the paper; here the model that answers judges, when the runs are done, by truthful-judge",
        ],
        max_tokens: 512,
        data: &[Needed {
            name: "truthfulqa-free",
            get: "TruthfulQA of January 2025, published by its authors (sylinrl) on GitHub, joined with documents of yours, free answers: moot lab slices FILE --kind as-is (docs/data.md)",
            form: "questions",
        }],
        columns: &[
            column("truthful", "truthfulqa-free", "truthful", "", 100.0),
            column("informative", "truthfulqa-free", "informative", "", 100.0),
        ],
        rows: &[
            row("rag", "RAG", "regenerated-rag", &[("feedback", "none")])
                .published(&[("gpt-4.1-mini", &[78.7, 91.5])])
                .note(VERDICTS),
            row("control-rag", "Control-RAG", "regenerated-rag", &[("feedback", "warning")])
                .published(&[("gpt-4.1-mini", &[81.6, 93.2])])
                .note(VERDICTS),
            row("regenerated-rag", "Regenerated-RAG", "regenerated-rag", &[])
                .published(&[("gpt-4.1-mini", &[82.4, 93.2])])
                .note(FREE),
        ],
        ..TABLE
    },
    PaperTable {
        name: "conflictscore-5",
        paper: "ConflictScore, table 5",
        about: "answers of TruthfulQA with two options, with and without feedback",
        settings: &[DOCUMENTS],
        max_tokens: 512,
        data: &[Needed {
            name: "truthfulqa",
            get: "TruthfulQA in its binary-choice version of January 2025, published by its authors (sylinrl) on GitHub, joined with documents of yours (docs/data.md)",
            form: "questions",
        }],
        columns: &[column("accuracy", "truthfulqa", "choice-accuracy", "", 100.0)],
        rows: &[
            row("rag", "RAG", "regenerated-rag", &[("feedback", "none")])
                .published(&[("gpt-4.1-mini", &[84.21])])
                .note(OPTIONS),
            row("control-rag", "Control-RAG", "regenerated-rag", &[("feedback", "warning")])
                .published(&[("gpt-4.1-mini", &[84.47])])
                .note(OPTIONS),
            row("regenerated-rag", "Regenerated-RAG", "regenerated-rag", &[])
                .published(&[("gpt-4.1-mini", &[85.24])])
                .note(JUSTIFIED),
        ],
        ..TABLE
    },
];
