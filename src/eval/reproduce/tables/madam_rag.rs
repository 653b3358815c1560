//! Numbers of MADAM-RAG and RAMDocs: tables 1 and 2, figures 3 and 4, and what section 6 says of them.

use crate::eval::reproduce::table::{Column, Derivation, Derived, Figure, Needed, PaperTable, Row, TABLE, column, row};

const FAITHEVAL: Needed = Needed {
    name: "faitheval",
    get: "FaithEval, 1,000 of the 1,500 questions of its part of inconsistent contexts, published by Salesforce on the Hugging Face hub (Parquet: docs/data.md)",
    form: "faitheval",
};
const RAMDOCS: Needed = Needed {
    name: "ramdocs",
    get: "RAMDocs, 500 questions, published by its authors (HanNight) on GitHub and the Hugging Face hub",
    form: "ramdocs",
};

const MODEL: &str = "Llama-3.3-70B";
const NONE: f64 = f64::NAN;

/// Figure 3's measures of both datasets.
const MEASURES: [Column; 8] = [
    column("FaithEval Acc.", "faitheval", "em", "", 100.0),
    column("FaithEval Prec.", "faitheval", "precision", "", 100.0),
    column("FaithEval Rec.", "faitheval", "recall", "", 100.0),
    column("FaithEval F1", "faitheval", "f1", "", 100.0),
    column("RAMDocs Acc.", "ramdocs", "em", "", 100.0),
    column("RAMDocs Prec.", "ramdocs", "precision", "", 100.0),
    column("RAMDocs Rec.", "ramdocs", "recall", "", 100.0),
    column("RAMDocs F1", "ramdocs", "f1", "", 100.0),
];

/// A row of figure 3 with the aggregator; section 6.1 prints its accuracy, precision and F1 on RAMDocs, not all of them for each.
const fn debate(
    name: &'static str,
    label: &'static str,
    switches: &'static [(&'static str, &'static str)],
    published: &'static [(&'static str, &'static [f64])],
) -> Row {
    row(name, label, "madam-rag", switches).published(published)
}

/// Rounds after the first without the aggregator.
const PEERS: &str =
    "agents read each other (history=peers), since there is no aggregator; the paper does not say what they read";

/// A row of figure 3 without the aggregator.
const fn alone(
    name: &'static str,
    label: &'static str,
    switches: &'static [(&'static str, &'static str)],
    published: &'static [(&'static str, &'static [f64])],
) -> Row {
    row(name, label, "madam-rag", switches).published(published)
}

const ASTUTE_RAG: Row = row("astute-rag", "Astute RAG", "astute-rag", &[]).note(
    "one passage from memory at most, where the model chooses in appendix C; passages from memory and consolidations have 160 tokens a passage",
);

const SELF_REFLECTION: Row = row("self-reflection", "Single agent with self-reflection", "self-reflection", &[])
    .note("the second refinement still reads the first answer and its review");

/// The three methods of figure 4.
const COMPARED: [Row; 3] = [
    row("prompt-based", "Concatenated-prompt", "concatenated", &[]),
    ASTUTE_RAG,
    row("madam-rag", "MADAM-RAG", "madam-rag", &[]),
];

/// Its tables and figures.
pub(super) static TABLES: [PaperTable; 5] = [
    PaperTable {
        name: "madam-rag-1",
        paper: "Retrieval-Augmented Generation with Conflicting Evidence (MADAM-RAG), table 1",
        about: "strict exact match on FaithEval, AmbigDocs and RAMDocs",
        settings: &[
            "at most 3 rounds; greedy and 128 new tokens are the reference code's, the paper names neither",
            "FaithEval names no wrong answers: they are found in its documents (docs/data.md); where none is found, a reply that adds the wrong answer is right",
            "the scorer's rule of matching is not published; em here requires the words next to each other in an answer (docs/records.md)",
        ],
        data: &[
            FAITHEVAL,
            Needed {
                name: "ambigdocs",
                get: "AmbigDocs, 1,000 questions of its test part, published by its authors (yoonsanglee) on the Hugging Face hub",
                form: "ambigdocs",
            },
            RAMDOCS,
        ],
        columns: &[
            column("FaithEval EM", "faitheval", "em", "", 100.0),
            column("AmbigDocs EM", "ambigdocs", "em", "", 100.0),
            column("RAMDocs EM", "ramdocs", "em", "", 100.0),
        ],
        rows: &[
            row("self-rag", "Self-RAG", "self-rag", &[]).needs("needs its own model, selfrag_llama2_13b; another one is asked in words by `moot run --method self-rag --set prompted=true`").published(&[("SelfRAG-Llama2-13B", &[12.4, 55.0, 26.8])]),
            row("no-rag", "No RAG", "closed-book", &[]).published(&[
                    ("Llama-3.3-70B", &[26.7, 4.3, 5.8]),
                    ("Qwen2.5-72B", &[26.4, 1.8, 4.2]),
                    ("GPT-4o-mini", &[31.0, 1.0, 2.5]),
                ]),
            row("prompt-based", "Prompt-based", "concatenated", &[]).published(&[
                    ("Llama-3.3-70B", &[27.3, 54.2, 32.6]),
                    ("Qwen2.5-72B", &[38.5, 41.2, 20.6]),
                    ("GPT-4o-mini", &[21.0, 51.5, 25.0]),
                ]),
            SELF_REFLECTION.published(&[
                    ("Llama-3.3-70B", &[25.7, 54.5, 30.4]),
                    ("Qwen2.5-72B", &[39.4, 29.4, 21.8]),
                    ("GPT-4o-mini", &[36.0, 44.5, 22.5]),
                ]),
            row("speculative-rag", "Speculative RAG", "speculative-rag", &[]).note("the embedder gets no instruction; without --embedder the subsets of documents are drawn by chance").published(&[
                    ("Llama-3.3-70B", &[41.8, 44.3, 30.6]),
                    ("Qwen2.5-72B", &[56.2, 13.4, 22.2]),
                    ("GPT-4o-mini", &[36.5, 22.5, 23.0]),
                ]),
            ASTUTE_RAG.published(&[
                    ("Llama-3.3-70B", &[37.1, 46.8, 31.8]),
                    ("Qwen2.5-72B", &[44.6, 39.8, 20.8]),
                    ("GPT-4o-mini", &[34.0, 15.0, 13.0]),
                ]),
            row("madam-rag", "MADAM-RAG", "madam-rag", &[]).published(&[
                    ("Llama-3.3-70B", &[43.1, 58.2, 34.4]),
                    ("Qwen2.5-72B", &[57.7, 52.7, 26.4]),
                    ("GPT-4o-mini", &[38.5, 63.0, 28.0]),
                ]),
        ],
        ..TABLE
    },
    PaperTable {
        name: "madam-rag-2",
        paper: "Retrieval-Augmented Generation with Conflicting Evidence (MADAM-RAG), table 2",
        about: "tokens in and out a question",
        settings: &[
            "the paper names neither dataset nor model of this table; RAMDocs is taken here",
            "tokens in count a prompt whole, those from the cache included",
            "809.10 tokens out of self-reflection's five calls fit no limit of 128: the paper's limit is not known",
        ],
        data: &[RAMDOCS],
        columns: &[
            column("tokens in", "ramdocs", "prompt-tokens", "", 1.0),
            column("tokens out", "ramdocs", "reply-tokens", "", 1.0),
        ],
        rows: &[
            row("prompt-based", "Prompt-based", "concatenated", &[]).published(&[("not named", &[822.69, 126.25])]),
            SELF_REFLECTION.published(&[("not named", &[5033.92, 809.1])]),
            row("madam-rag", "MADAM-RAG", "madam-rag", &[]).published(&[("not named", &[3186.45, 1547.18])]),
        ],
        ..TABLE
    },
    PaperTable {
        name: "madam-rag-figure-3",
        paper: "Retrieval-Augmented Generation with Conflicting Evidence (MADAM-RAG), figure 3 and section 6.1",
        about: "with and without the aggregator, one to three rounds",
        settings: &[
            "the paper draws the figure and prints some of its numbers in the text; only those are given here",
            "table 1 and figure 3 differ for MADAM-RAG on RAMDocs (34.40 and at least 37.80); the paper does not say why",
        ],
        data: &[FAITHEVAL, RAMDOCS],
        columns: &MEASURES,
        rows: &[
            alone(
                "alone-1",
                "without aggregator, 1 round",
                &[("rounds", "1"), ("aggregator", "false")],
                &[(MODEL, &[NONE, NONE, NONE, NONE, 30.0, NONE, NONE, 59.79])],
            ),
            alone("alone-2", "without aggregator, 2 rounds", &[("rounds", "2"), ("aggregator", "false")], &[]).note(PEERS),
            alone("alone-3", "without aggregator, 3 rounds", &[("aggregator", "false")], &[]).note(PEERS),
            debate(
                "debate-1",
                "with aggregator, 1 round",
                &[("rounds", "1")],
                &[(MODEL, &[NONE, NONE, NONE, NONE, 37.8, 67.41, NONE, 68.63])],
            ),
            debate(
                "debate-2",
                "with aggregator, 2 rounds",
                &[("rounds", "2")],
                &[(MODEL, &[NONE, NONE, NONE, NONE, NONE, 68.52, NONE, NONE])],
            ),
            debate(
                "debate-3",
                "with aggregator, 3 rounds",
                &[],
                &[(MODEL, &[NONE, NONE, NONE, NONE, NONE, 68.57, NONE, NONE])],
            ),
        ],
        derived: &[
            Derived {
                label: "gain in accuracy from round 1 to 3 without aggregator, FaithEval",
                published: 21.1,
                of: Derivation::Rows("alone-3", "alone-1", "FaithEval Acc."),
            },
            Derived {
                label: "gain in F1 from round 1 to 3 without aggregator, RAMDocs",
                published: 3.62,
                of: Derivation::Rows("alone-3", "alone-1", "RAMDocs F1"),
            },
            Derived {
                label: "gain in accuracy by the aggregator in round 1, RAMDocs",
                published: 7.8,
                of: Derivation::Rows("debate-1", "alone-1", "RAMDocs Acc."),
            },
        ],
        figure: Some(Figure::Rows {
            x: "rounds",
            lines: &[
                ("without aggregator", &[(1.0, "alone-1"), (2.0, "alone-2"), (3.0, "alone-3")]),
                ("with aggregator", &[(1.0, "debate-1"), (2.0, "debate-2"), (3.0, "debate-3")]),
            ],
        }),
        ..TABLE
    },
    PaperTable {
        name: "madam-rag-figure-4a",
        paper: "Retrieval-Augmented Generation with Conflicting Evidence (MADAM-RAG), figure 4a and section 6.2",
        about: "two right answers, one with 1 document, the other with 1 to 3",
        settings: &[
            "200 questions of RAMDocs; moot lab slices RAMDOCS --kind imbalance -o FILE builds them",
            "the paper draws the figure; a fall by up to 8 and the variance below are in its text",
        ],
        data: &[Needed {
            name: "imbalance",
            get: "questions of RAMDocs with two right answers, built by moot lab slices RAMDOCS --kind imbalance",
            form: "questions",
        }],
        columns: &[
            column("EM, 1 document", "imbalance", "em", "imbalance-1v1", 100.0),
            column("EM, 2 documents", "imbalance", "em", "imbalance-1v2", 100.0),
            column("EM, 3 documents", "imbalance", "em", "imbalance-1v3", 100.0),
        ],
        rows: &COMPARED,
        derived: &[
            Derived {
                label: "change from 1 to 3 documents, concatenated-prompt",
                published: -8.0,
                of: Derivation::Columns("prompt-based", "EM, 3 documents", "EM, 1 document"),
            },
            Derived {
                label: "variance over the numbers of documents, MADAM-RAG",
                published: 3.33,
                of: Derivation::Variance("madam-rag"),
            },
        ],
        figure: Some(Figure::Columns { x: "documents for the other answer", y: "exact match", at: &[1.0, 2.0, 3.0] }),
        ..TABLE
    },
    PaperTable {
        name: "madam-rag-figure-4b",
        paper: "Retrieval-Augmented Generation with Conflicting Evidence (MADAM-RAG), figure 4b and section 6.3",
        about: "two right answers with 1 document each, and 1 to 3 documents of misinformation",
        settings: &[
            "200 questions of RAMDocs; moot lab slices RAMDOCS --kind misinfo -o FILE builds them",
            "documents of misinformation that RAMDocs lacks have the right answer exchanged, as FaithEval makes them",
            "the paper says \"a decrease of 46 %\" without its beginning; from 0 to 3 documents is taken here",
        ],
        data: &[Needed {
            name: "misinfo",
            get: "questions of RAMDocs with two right answers, built by moot lab slices RAMDOCS --kind misinfo",
            form: "questions",
        }],
        columns: &[
            column("EM, 0 documents", "misinfo", "em", "misinfo-0", 100.0),
            column("EM, 1 document", "misinfo", "em", "misinfo-1", 100.0),
            column("EM, 2 documents", "misinfo", "em", "misinfo-2", 100.0),
            column("EM, 3 documents", "misinfo", "em", "misinfo-3", 100.0),
        ],
        rows: &COMPARED,
        derived: &[
            Derived {
                label: "change from 0 to 3 documents, concatenated-prompt",
                published: -46.0,
                of: Derivation::Columns("prompt-based", "EM, 3 documents", "EM, 0 documents"),
            },
            Derived {
                label: "change from 0 to 3 documents, Astute RAG",
                published: -46.0,
                of: Derivation::Columns("astute-rag", "EM, 3 documents", "EM, 0 documents"),
            },
        ],
        figure: Some(Figure::Columns { x: "documents of misinformation", y: "exact match", at: &[0.0, 1.0, 2.0, 3.0] }),
        ..TABLE
    },
];
