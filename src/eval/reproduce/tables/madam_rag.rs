//! Numbers of MADAM-RAG and RAMDocs.

use crate::eval::reproduce::table::{Needed, PaperTable, Row, column};

/// Its tables.
pub(super) static TABLES: [PaperTable; 2] = [
    PaperTable {
        name: "madam-rag-1",
        paper: "Retrieval-Augmented Generation with Conflicting Evidence (MADAM-RAG), table 1",
        about: "strict exact match on FaithEval, AmbigDocs and RAMDocs",
        settings: &[
            "at most 3 rounds; greedy and 128 new tokens are the reference code's, the paper names neither",
            "the scorer's rule of matching is not published; em here asks that the words stand in an answer next to each other (docs/records.md)",
        ],
        corpus: false,
        max_tokens: 128,
        data: &[
            Needed {
                name: "faitheval",
                get: "FaithEval, 1,000 of the 1,500 questions of its part of inconsistent contexts, published by Salesforce on the Hugging Face hub (Parquet: docs/data.md)",
                form: "faitheval",
            },
            Needed {
                name: "ambigdocs",
                get: "AmbigDocs, 1,000 questions of its test part, published by its authors (yoonsanglee) on the Hugging Face hub",
                form: "ambigdocs",
            },
            Needed {
                name: "ramdocs",
                get: "RAMDocs, 500 questions, published by its authors (HanNight) on GitHub and the Hugging Face hub",
                form: "ramdocs",
            },
        ],
        columns: &[
            column("FaithEval EM", "faitheval", "em", "", 100.0),
            column("AmbigDocs EM", "ambigdocs", "em", "", 100.0),
            column("RAMDocs EM", "ramdocs", "em", "", 100.0),
        ],
        rows: &[
            Row {
                name: "self-rag",
                label: "Self-RAG",
                method: "self-rag",
                switches: &[],
                note: "needs its own model, selfrag_llama2_13b; another one is asked in words by `moot run --method self-rag --set prompted=true`",
                on_demand: true,
                published: &[("SelfRAG-Llama2-13B", &[12.4, 55.0, 26.8])],
            },
            Row {
                name: "no-rag",
                label: "No RAG",
                method: "closed-book",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[
                    ("Llama-3.3-70B", &[26.7, 4.3, 5.8]),
                    ("Qwen2.5-72B", &[26.4, 1.8, 4.2]),
                    ("GPT-4o-mini", &[31.0, 1.0, 2.5]),
                ],
            },
            Row {
                name: "prompt-based",
                label: "Prompt-based",
                method: "concatenated",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[
                    ("Llama-3.3-70B", &[27.3, 54.2, 32.6]),
                    ("Qwen2.5-72B", &[38.5, 41.2, 20.6]),
                    ("GPT-4o-mini", &[21.0, 51.5, 25.0]),
                ],
            },
            Row {
                name: "self-reflection",
                label: "Single agent with self-reflection",
                method: "self-reflection",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[
                    ("Llama-3.3-70B", &[25.7, 54.5, 30.4]),
                    ("Qwen2.5-72B", &[39.4, 29.4, 21.8]),
                    ("GPT-4o-mini", &[36.0, 44.5, 22.5]),
                ],
            },
            Row {
                name: "speculative-rag",
                label: "Speculative RAG",
                method: "speculative-rag",
                switches: &[],
                note: "without --embedder its subsets are not clustered",
                on_demand: false,
                published: &[
                    ("Llama-3.3-70B", &[41.8, 44.3, 30.6]),
                    ("Qwen2.5-72B", &[56.2, 13.4, 22.2]),
                    ("GPT-4o-mini", &[36.5, 22.5, 23.0]),
                ],
            },
            Row {
                name: "astute-rag",
                label: "Astute RAG",
                method: "astute-rag",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[
                    ("Llama-3.3-70B", &[37.1, 46.8, 31.8]),
                    ("Qwen2.5-72B", &[44.6, 39.8, 20.8]),
                    ("GPT-4o-mini", &[34.0, 15.0, 13.0]),
                ],
            },
            Row {
                name: "madam-rag",
                label: "MADAM-RAG",
                method: "madam-rag",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[
                    ("Llama-3.3-70B", &[43.1, 58.2, 34.4]),
                    ("Qwen2.5-72B", &[57.7, 52.7, 26.4]),
                    ("GPT-4o-mini", &[38.5, 63.0, 28.0]),
                ],
            },
        ],
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
        corpus: false,
        max_tokens: 128,
        data: &[Needed {
            name: "ramdocs",
            get: "RAMDocs, 500 questions, published by its authors (HanNight) on GitHub and the Hugging Face hub",
            form: "ramdocs",
        }],
        columns: &[
            column("tokens in", "ramdocs", "prompt-tokens", "", 1.0),
            column("tokens out", "ramdocs", "reply-tokens", "", 1.0),
        ],
        rows: &[
            Row {
                name: "prompt-based",
                label: "Prompt-based",
                method: "concatenated",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[("not named", &[822.69, 126.25])],
            },
            Row {
                name: "self-reflection",
                label: "Single agent with self-reflection",
                method: "self-reflection",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[("not named", &[5033.92, 809.1])],
            },
            Row {
                name: "madam-rag",
                label: "MADAM-RAG",
                method: "madam-rag",
                switches: &[],
                note: "",
                on_demand: false,
                published: &[("not named", &[3186.45, 1547.18])],
            },
        ],
    },
];
