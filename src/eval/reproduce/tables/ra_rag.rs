//! Numbers of RA-RAG.

use crate::eval::reproduce::table::{Needed, PaperTable, Row, column};

/// Its tables.
pub(super) static TABLES: [PaperTable; 2] = [
    PaperTable {
        name: "ra-rag-2",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 2",
        about: "what filtering of misaligned answers is worth",
        settings: &[
            "five sources: four spammers of coverage 0.1 and a hammer of coverage 0.6; 800 queries for estimation; Llama3-8B",
            "the paper's main results are figures 2 and 4, without numbers; moot sources simulate has their shapes",
            "moot sources build makes such a benchmark from a set with pools of documents",
        ],
        corpus: false,
        max_tokens: 128,
        data: &[Needed {
            name: "triviaqa",
            get: "TriviaQA questions with factual and misinforming documents of five sources, built by the paper's section 5.3 (moot sources build --reliability 0.9,0.1,0.1,0.1,0.1 --coverage 0.6,0.1,0.1,0.1,0.1)",
            form: "questions",
        }],
        columns: &[column("EM", "triviaqa", "squad-em", "", 1.0)],
        rows: &[
            Row {
                name: "oracle",
                label: "Oracle WMV",
                method: "ra-rag",
                switches: &[("variant", "oracle")],
                note: "needs the planted weights, as moot sources build writes them: --source-weights FILE --row oracle",
                on_demand: true,
                published: &[("Llama3-8B", &[0.549])],
            },
            Row {
                name: "aligned",
                label: "Ours (w/)",
                method: "ra-rag",
                switches: &[],
                note: "needs the weights of its sources: moot sources estimate over the 800 queries for estimation, then --source-weights FILE --row aligned",
                on_demand: true,
                published: &[("Llama3-8B", &[0.543])],
            },
            Row {
                name: "unaligned",
                label: "Ours (w/o)",
                method: "ra-rag",
                switches: &[("align", "false")],
                note: "needs the weights of its sources: moot sources estimate --align 0 over the 800 queries for estimation, then --source-weights FILE --row unaligned",
                on_demand: true,
                published: &[("Llama3-8B", &[0.465])],
            },
            Row {
                name: "mv",
                label: "MV",
                method: "ra-rag",
                switches: &[("variant", "mv")],
                note: "",
                on_demand: false,
                published: &[("Llama3-8B", &[0.449])],
            },
        ],
    },
    PaperTable {
        name: "ra-rag-9",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 9",
        about: "equality of answers by bidirectional entailment",
        settings: &[
            "five sources, reliabilities of a beta prior with mean 0.6, coverage 0.6; 200 queries for estimation",
            "an answer is right in the paper where its cluster has the gold answer; here by exact match",
        ],
        corpus: false,
        max_tokens: 128,
        data: &[Needed {
            name: "nq",
            get: "Natural Questions with factual and misinforming documents of five sources, built by the paper's section 5.1 (moot sources build)",
            form: "questions",
        }],
        columns: &[column("EM", "nq", "squad-em", "", 1.0)],
        rows: &[
            Row {
                name: "entailment",
                label: "RA-RAG + bidirectional entailment clustering",
                method: "ra-rag",
                switches: &[("equality", "entailment")],
                note: "needs the weights of its sources: moot sources estimate over the 200 queries for estimation, then --source-weights FILE --row entailment",
                on_demand: true,
                published: &[("Llama3-8B", &[0.635])],
            },
            Row {
                name: "ra-rag",
                label: "RA-RAG",
                method: "ra-rag",
                switches: &[],
                note: "needs the weights of its sources: moot sources estimate over the 200 queries for estimation, then --source-weights FILE --row ra-rag",
                on_demand: true,
                published: &[("Llama3-8B", &[0.615])],
            },
        ],
    },
];
