//! Numbers of Multi-LLM verification.

use crate::eval::reproduce::table::{Needed, PaperTable, Row, column};

/// Its tables.
pub(super) static TABLES: [PaperTable; 2] = [
    PaperTable {
        name: "verification-1",
        paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, table 1",
        about: "four prompts of a single model on QACC",
        settings: &["gold is the first annotated answer alone"],
        data: &[Needed {
            name: "qacc",
            get: "QACC, its test part of 813 questions, published by Amazon Science on GitHub (qa-with-conflicting-context)",
            form: "qacc",
        }],
        columns: &[
            column("EM-C", "qacc", "squad-em", "conflicting", 100.0),
            column("EM-NC", "qacc", "squad-em", "non-conflicting", 100.0),
            column("EM-T", "qacc", "squad-em", "", 100.0),
            column("F1-C", "qacc", "squad-f1", "conflicting", 100.0),
            column("F1-NC", "qacc", "squad-f1", "non-conflicting", 100.0),
            column("F1-T", "qacc", "squad-f1", "", 100.0),
        ],
        rows: &[
            Row {
                name: "no-context",
                label: "No context",
                method: "verification",
                switches: &[("candidates", "1"), ("rounds", "0"), ("prompt", "no-context"), ("explanations", "false")],
                note: "",
                on_demand: false,
                published: &[("GPT-4o", &[23.19, 34.82, 31.86, 40.46, 51.18, 48.45])],
            },
            Row {
                name: "context",
                label: "Context",
                method: "verification",
                switches: &[("candidates", "1"), ("rounds", "0"), ("prompt", "context"), ("explanations", "false")],
                note: "",
                on_demand: false,
                published: &[("GPT-4o", &[34.78, 46.86, 43.79, 51.02, 63.36, 60.22])],
            },
            Row {
                name: "context-first",
                label: "Context first, then Answer",
                method: "verification",
                switches: &[
                    ("candidates", "1"),
                    ("rounds", "0"),
                    ("prompt", "context-first"),
                    ("explanations", "false"),
                ],
                note: "",
                on_demand: false,
                published: &[("GPT-4o", &[41.55, 57.26, 53.26, 58.89, 71.03, 67.94])],
            },
            Row {
                name: "explain",
                label: "Answer and Explain",
                method: "verification",
                switches: &[("candidates", "1"), ("rounds", "0"), ("prompt", "explain")],
                note: "",
                on_demand: false,
                published: &[("GPT-4o", &[42.51, 57.76, 53.87, 60.28, 72.86, 69.65])],
            },
        ],
    },
    PaperTable {
        name: "verification-2",
        paper: "Multi-LLM Verification for Question Answering under Conflicting Contexts, table 2",
        about: "one model alone and several that verify, on QACC",
        settings: &[
            "candidates are GPT-4o, Claude 4 and DeepSeek-R1; give yours by --model candidate-1=A,candidate-2=B,candidate-3=C,verifier=B with --row",
            "columns of the paper are by verifier; with one model for all roles its later candidates are sampled",
        ],
        data: &[Needed {
            name: "qacc",
            get: "QACC, its test part of 813 questions, published by Amazon Science on GitHub (qa-with-conflicting-context)",
            form: "qacc",
        }],
        columns: &[
            column("EM-C", "qacc", "squad-em", "conflicting", 100.0),
            column("EM-NC", "qacc", "squad-em", "non-conflicting", 100.0),
            column("EM-T", "qacc", "squad-em", "", 100.0),
            column("F1-C", "qacc", "squad-f1", "conflicting", 100.0),
            column("F1-NC", "qacc", "squad-f1", "non-conflicting", 100.0),
            column("F1-T", "qacc", "squad-f1", "", 100.0),
        ],
        rows: &[
            Row {
                name: "single",
                label: "Single LLM",
                method: "verification",
                switches: &[("candidates", "1"), ("rounds", "0"), ("prompt", "explain")],
                note: "",
                on_demand: false,
                published: &[
                    ("GPT-4o", &[42.51, 57.76, 53.87, 60.28, 72.86, 69.65]),
                    ("DeepSeek-R1", &[44.44, 60.4, 56.33, 62.16, 73.76, 70.81]),
                    ("Claude 4", &[43.48, 58.91, 54.98, 60.43, 73.13, 69.9]),
                ],
            },
            Row {
                name: "majority",
                label: "Majority, single LLMs",
                method: "verification",
                switches: &[("rounds", "0"), ("conclude", "majority")],
                note: "",
                on_demand: false,
                published: &[("all three", &[44.44, 60.4, 56.33, 62.16, 73.76, 70.81])],
            },
            Row {
                name: "first-round",
                label: "Verifier, first round",
                method: "verification",
                switches: &[("rounds", "1")],
                note: "",
                on_demand: false,
                published: &[
                    ("GPT-4o", &[44.93, 59.9, 56.09, 62.83, 74.3, 71.38]),
                    ("DeepSeek-R1", &[45.41, 61.88, 57.69, 62.46, 74.76, 71.63]),
                    ("Claude 4", &[48.79, 62.87, 59.29, 64.86, 74.6, 72.12]),
                ],
            },
            Row {
                name: "second-round",
                label: "Verifier, second round",
                method: "verification",
                switches: &[("rounds", "2")],
                note: "",
                on_demand: false,
                published: &[
                    ("GPT-4o", &[45.41, 61.55, 57.44, 63.15, 75.21, 72.14]),
                    ("DeepSeek-R1", &[46.86, 61.55, 57.81, 63.49, 74.79, 71.92]),
                    ("Claude 4", &[48.31, 63.53, 59.66, 63.8, 75.21, 72.3]),
                ],
            },
        ],
    },
];
