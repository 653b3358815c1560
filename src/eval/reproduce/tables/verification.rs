//! Numbers of Multi-LLM verification: tables 1 to 3, 5 and 6 (table 4 is an example).

use crate::eval::reproduce::table::{Column, Needed, PaperTable, TABLE, column, row};

const QACC: Needed = Needed {
    name: "qacc",
    get: "QACC, its test part of 813 questions, published by Amazon Science on GitHub (qa-with-conflicting-context)",
    form: "qacc",
};

/// Exact match and F1 on conflicting (C), other (NC) and all questions (T).
const MEASURES: [Column; 6] = [
    column("EM-C", "qacc", "squad-em", "conflicting", 100.0),
    column("EM-NC", "qacc", "squad-em", "non-conflicting", 100.0),
    column("EM-T", "qacc", "squad-em", "", 100.0),
    column("F1-C", "qacc", "squad-f1", "conflicting", 100.0),
    column("F1-NC", "qacc", "squad-f1", "non-conflicting", 100.0),
    column("F1-T", "qacc", "squad-f1", "", 100.0),
];

const MODELS: &str = "GPT-4o, DeepSeek-R1 and Claude 4 answer in the paper; with one model here its calls after the first of a round are sampled, so give each role its own: -m candidate-1=A,candidate-2=B,candidate-3=C,verifier=A";

/// Of rows in which nothing is verified.
const SINGLE: &str =
    "the paper prints no prompt of a single model: ours, which allows the answer unknown; replies are lines, not JSON";

const VERIFIED: &str = "the paper prints the verifier's prompt alone: the candidates' is ours, and allows the answer unknown; the verifier's worked example is ours; a reply is a line, in the paper a JSON object";

const PLAIN: &str = "the paper prints the verifier's prompt with explanations alone: the candidates' is ours, and allows the answer unknown; the verifier gives the answer alone, and its worked example is ours";

const LISTED: &str =
    "the paper does not print this prompt: ours, whose reply is a line; the answers share one explanation";

const LISTED_VERIFIED: &str = "the paper does not print the prompt for three answers: ours, in which they share one explanation; the verifier's worked example is ours; a reply is a line, in the paper a JSON object";

/// Its tables.
pub(super) static TABLES: [PaperTable; 5] = [
    PaperTable {
        name: "verification-1",
        paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, table 1",
        about: "four prompts of a single model on QACC",
        settings: &["gold is correctAnswer alone"],
        data: &[QACC],
        columns: &MEASURES,
        rows: &[
            row(
                "no-context",
                "No context",
                "verification",
                &[("candidates", "1"), ("rounds", "0"), ("prompt", "no-context"), ("explanations", "false")],
            )
            .published(&[("GPT-4o", &[23.19, 34.82, 31.86, 40.46, 51.18, 48.45])])
            .note(SINGLE),
            row(
                "context",
                "Context",
                "verification",
                &[("candidates", "1"), ("rounds", "0"), ("prompt", "context"), ("explanations", "false")],
            )
            .published(&[("GPT-4o", &[34.78, 46.86, 43.79, 51.02, 63.36, 60.22])])
            .note(SINGLE),
            row(
                "context-first",
                "Context first, then Answer",
                "verification",
                &[("candidates", "1"), ("rounds", "0"), ("prompt", "context-first"), ("explanations", "false")],
            )
            .published(&[("GPT-4o", &[41.55, 57.26, 53.26, 58.89, 71.03, 67.94])])
            .note(SINGLE),
            row(
                "explain",
                "Answer and Explain",
                "verification",
                &[("candidates", "1"), ("rounds", "0"), ("prompt", "explain")],
            )
            .published(&[("GPT-4o", &[42.51, 57.76, 53.87, 60.28, 72.86, 69.65])])
            .note(SINGLE),
        ],
        ..TABLE
    },
    PaperTable {
        name: "verification-2",
        paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, table 2",
        about: "one model alone and several that verify, on QACC",
        settings: &[
            "candidates are GPT-4o, Claude 4 and DeepSeek-R1; give yours by --model candidate-1=A,candidate-2=B,candidate-3=C,verifier=B with --row",
            "columns of the paper are by verifier; with one model for all roles its later candidates are sampled",
            "previous SOTA in the paper (Liu et al., 2025): EM-C 47.34, EM-NC 57.26, EM-T 54.74, F1-C 59.61, F1-NC 69.79, F1-T 67.19",
        ],
        data: &[QACC],
        columns: &MEASURES,
        rows: &[
            row("single", "Single LLM", "verification", &[("candidates", "1"), ("rounds", "0"), ("prompt", "explain")])
                .published(&[
                    ("GPT-4o", &[42.51, 57.76, 53.87, 60.28, 72.86, 69.65]),
                    ("DeepSeek-R1", &[44.44, 60.4, 56.33, 62.16, 73.76, 70.81]),
                    ("Claude 4", &[43.48, 58.91, 54.98, 60.43, 73.13, 69.9]),
                ])
                .note(SINGLE),
            row("majority", "Majority, single LLMs", "verification", &[("rounds", "0"), ("conclude", "majority")])
                .published(&[("all three", &[44.44, 60.4, 56.33, 62.16, 73.76, 70.81])])
                .note(SINGLE),
            row("first-round", "Verifier, first round", "verification", &[("rounds", "1")])
                .published(&[
                    ("GPT-4o", &[44.93, 59.9, 56.09, 62.83, 74.3, 71.38]),
                    ("DeepSeek-R1", &[45.41, 61.88, 57.69, 62.46, 74.76, 71.63]),
                    ("Claude 4", &[48.79, 62.87, 59.29, 64.86, 74.6, 72.12]),
                ])
                .note(VERIFIED),
            row(
                "first-majority",
                "Majority, first round",
                "verification",
                &[("rounds", "1"), ("conclude", "majority")],
            )
            .published(&[("all three", &[44.44, 60.4, 56.33, 62.16, 73.76, 70.81])])
            .note(VERIFIED),
            row("second-round", "Verifier, second round", "verification", &[("rounds", "2")])
                .published(&[
                    ("GPT-4o", &[45.41, 61.55, 57.44, 63.15, 75.21, 72.14]),
                    ("DeepSeek-R1", &[46.86, 61.55, 57.81, 63.49, 74.79, 71.92]),
                    ("Claude 4", &[48.31, 63.53, 59.66, 63.8, 75.21, 72.3]),
                ])
                .note(VERIFIED),
            row(
                "second-majority",
                "Majority, second round",
                "verification",
                &[("rounds", "2"), ("conclude", "majority")],
            )
            .published(&[("all three", &[44.44, 60.4, 56.33, 62.16, 73.76, 70.81])])
            .note(VERIFIED),
        ],
        ..TABLE
    },
    PaperTable {
        name: "verification-3",
        paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, table 3",
        about: "verification without explanations",
        settings: &[MODELS, "candidates explain their answers; verifiers do not see the explanations"],
        data: &[QACC],
        columns: &MEASURES,
        rows: &[
            row("first-plain", "Verifier, first round", "verification", &[("rounds", "1"), ("explanations", "false")])
                .published(&[
                    ("GPT-4o", &[48.31, 61.39, 58.06, 64.2, 75.37, 72.53]),
                    ("DeepSeek-R1", &[47.83, 62.71, 58.92, 63.52, 75.02, 72.09]),
                    ("Claude 4", &[46.86, 62.87, 58.79, 63.42, 75.49, 72.42]),
                ])
                .note(PLAIN),
            row(
                "second-plain",
                "Verifier, second round",
                "verification",
                &[("rounds", "2"), ("explanations", "false")],
            )
            .published(&[
                ("GPT-4o", &[47.34, 62.71, 58.79, 63.98, 75.35, 72.45]),
                ("DeepSeek-R1", &[48.31, 63.2, 59.41, 64.49, 75.43, 72.65]),
                ("Claude 4", &[46.86, 62.71, 58.67, 63.1, 74.93, 71.92]),
            ])
            .note(PLAIN),
        ],
        ..TABLE
    },
    PaperTable {
        name: "verification-5",
        paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, table 5",
        about: "one model lists up to three answers and verifies them itself",
        settings: &["DeepSeek-R1 in the paper"],
        data: &[QACC],
        columns: &MEASURES,
        rows: &[
            row("listed", "Single LLM, 3-answer prompt", "verification", &[("one-model", "true"), ("rounds", "0")])
                .published(&[("DeepSeek-R1", &[44.44, 60.4, 56.33, 62.16, 73.76, 70.81])])
                .note(LISTED),
            row("one-first", "Verifier, round 1", "verification", &[("one-model", "true"), ("rounds", "1")])
                .published(&[("DeepSeek-R1", &[46.38, 59.9, 56.46, 61.16, 72.04, 69.27])])
                .note(LISTED_VERIFIED),
            row("one-second", "Verifier, round 2", "verification", &[("one-model", "true"), ("rounds", "2")])
                .published(&[("DeepSeek-R1", &[46.38, 59.41, 56.09, 61.51, 71.93, 69.28])])
                .note(LISTED_VERIFIED),
        ],
        ..TABLE
    },
    PaperTable {
        name: "verification-6",
        paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, table 6",
        about: "how many of all answers are the majority's",
        settings: &[MODELS],
        data: &[QACC],
        columns: &[column("count", "qacc", "majority-count", "", 1.0)],
        rows: &[
            row("majority", "Round 0, of 3", "verification", &[("rounds", "0"), ("conclude", "majority")])
                .published(&[("all three", &[2.6])])
                .note(SINGLE),
            row("first-majority", "Round 1, of 6", "verification", &[("rounds", "1"), ("conclude", "majority")])
                .published(&[("all three", &[4.9])])
                .note(VERIFIED),
            row("second-majority", "Round 2, of 9", "verification", &[("rounds", "2"), ("conclude", "majority")])
                .published(&[("all three", &[7.6])])
                .note(VERIFIED),
        ],
        ..TABLE
    },
];
