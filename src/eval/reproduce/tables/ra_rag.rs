//! Numbers of RA-RAG: tables 1 to 9.

use crate::eval::reproduce::table::{Column, Needed, PaperTable, Row, TABLE, column, row};

/// One source with documents of all kinds, built by the paper's section 5.3.
const fn alone(name: &'static str, get: &'static str) -> Needed {
    Needed { name, get, form: "questions" }
}

const TQA: Needed = alone(
    "triviaqa-one",
    "1,600 questions of TriviaQA with documents of one source, factual, misinforming or irrelevant: `moot run triviaqa.jsonl --method source-pools --corpus wikipedia -o triviaqa-pools.jsonl`, then `moot sources build triviaqa-pools.jsonl -o triviaqa-one --reliability 0.5 --coverage 0.5 --estimate 0 --test 1600`, and triviaqa-one/test.jsonl",
);
const NQ: Needed = alone(
    "nq-one",
    "1,600 questions of Natural Questions with documents of one source, factual, misinforming or irrelevant: `moot run nq.jsonl --method source-pools --corpus wikipedia -o nq-pools.jsonl`, then `moot sources build nq-pools.jsonl -o nq-one --reliability 0.5 --coverage 0.5 --estimate 0 --test 1600`, and nq-one/test.jsonl",
);
const HOTPOTQA: Needed = alone(
    "hotpotqa-one",
    "1,600 single-hop questions of HotpotQA with documents of one source, factual, misinforming or irrelevant: `moot run hotpotqa.jsonl --method source-pools -o hotpotqa-pools.jsonl`, then `moot sources build hotpotqa-pools.jsonl -o hotpotqa-one --reliability 0.5 --coverage 0.5 --estimate 0 --test 1600`, and hotpotqa-one/test.jsonl",
);

/// How every row differs from the paper.
const DEALT: &str = "without --corpus the documents come with a question, in the paper Contriever retrieves them; replies are greedy, of at most 128 tokens, in the reference code sampled (temperature 0.1), of at most 30";

/// Kinds of answers by the kind of the documents, in percent.
const fn kinds(data: &'static str) -> [Column; 10] {
    [
        column("factual: correct", data, "squad-em", "factual", 100.0),
        column("factual: IDK", data, "unknown", "factual", 100.0),
        column("factual: hallucination", data, "answer-hallucinated", "factual", 100.0),
        column("misinformation: correct", data, "squad-em", "misinformation", 100.0),
        column("misinformation: incorrect", data, "answer-planted", "misinformation", 100.0),
        column("misinformation: IDK", data, "unknown", "misinformation", 100.0),
        column("misinformation: hallucination", data, "answer-hallucinated", "misinformation", 100.0),
        column("irrelevant: correct", data, "squad-em", "irrelevant", 100.0),
        column("irrelevant: IDK", data, "unknown", "irrelevant", 100.0),
        column("irrelevant: hallucination", data, "answer-hallucinated", "irrelevant", 100.0),
    ]
}

static OF_TQA: [Column; 10] = kinds("triviaqa-one");
static OF_NQ: [Column; 10] = kinds("nq-one");
static OF_HOTPOTQA: [Column; 10] = kinds("hotpotqa-one");

/// Without and with f_align.
const fn filtered(
    without: &'static [(&'static str, &'static [f64])],
    with: &'static [(&'static str, &'static [f64])],
) -> [Row; 2] {
    [
        row("unaligned", "w/o f_align", "ra-rag", &[("variant", "mv"), ("align", "false")])
            .published(without)
            .note(DEALT),
        row("aligned", "w/ f_align", "ra-rag", &[("variant", "mv")]).published(with).note(DEALT),
    ]
}

/// What tables 1 and 3 to 8 have in common.
const FILTER: PaperTable = PaperTable {
    about: "kinds of answers by the kind of the documents, with and without f_align",
    settings: &[
        "one source of reliability 0.5 and coverage 0.5; 1,600 queries",
        "a hallucination is an answer that is neither right nor the one that the documents were made to give",
    ],
    ..TABLE
};

/// Its tables.
#[expect(clippy::approx_constant, reason = "3.14 is a published percentage")]
pub(super) static TABLES: [PaperTable; 9] = [
    PaperTable {
        name: "ra-rag-1",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 1",
        data: &[TQA],
        columns: &OF_TQA,
        rows: &filtered(
            &[("Llama3-8B", &[92.82, 0.0, 7.18, 5.43, 81.52, 4.89, 8.15, 25.55, 55.52, 18.92])],
            &[("Llama3-8B", &[92.82, 0.0, 7.18, 0.82, 81.52, 11.68, 5.98, 4.3, 86.36, 9.34])],
        ),
        ..FILTER
    },
    PaperTable {
        name: "ra-rag-2",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 2",
        about: "what filtering of misaligned answers is worth",
        settings: &[
            "five sources: four spammers of coverage 0.1 and a hammer of coverage 0.6; 800 queries for estimation; Llama3-8B",
            "the paper's main results are figures 2 and 4, without numbers: moot sources trials draws them",
            "moot sources build makes such a benchmark from a set with pools of documents",
        ],
        data: &[Needed {
            name: "triviaqa-five",
            get: "TriviaQA questions with factual and misinforming documents of five sources (section 5.3): `moot run triviaqa.jsonl --method source-pools --corpus wikipedia -o triviaqa-pools.jsonl`, then `moot sources build triviaqa-pools.jsonl -o triviaqa-five --reliability 0.9,0.1,0.1,0.1,0.1 --coverage 0.6,0.1,0.1,0.1,0.1 --estimate 800`, and triviaqa-five/test.jsonl",
            form: "questions",
        }],
        columns: &[column("EM", "triviaqa-five", "squad-em", "", 1.0)],
        rows: &[
            row("oracle", "Oracle WMV", "ra-rag", &[("variant", "oracle")])
                .weighs("needs the planted weights: --source-weights triviaqa-five/oracle.json --row oracle")
                .published(&[("Llama3-8B", &[0.549])])
                .note(DEALT),
            row("aligned", "Ours (w/)", "ra-rag", &[])
                .weighs("needs weights from the 800 queries for estimation: `moot run triviaqa-five/estimate.jsonl --method ra-rag --variant wmv -o estimate.jsonl`, `moot sources estimate estimate.jsonl -o aligned.json`, then --source-weights aligned.json --row aligned")
                .published(&[("Llama3-8B", &[0.543])])
                .note(DEALT),
            row("unaligned", "Ours (w/o)", "ra-rag", &[("align", "false")])
                .weighs("needs weights from the 800 queries for estimation: `moot run triviaqa-five/estimate.jsonl --method ra-rag --variant wmv -o estimate.jsonl`, `moot sources estimate estimate.jsonl --align-threshold 0 -o unaligned.json`, then --source-weights unaligned.json --row unaligned")
                .published(&[("Llama3-8B", &[0.465])])
                .note(DEALT),
            row("mv", "MV", "ra-rag", &[("variant", "mv")]).published(&[("Llama3-8B", &[0.449])]).note(DEALT),
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-3",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 3",
        data: &[NQ],
        columns: &OF_NQ,
        rows: &filtered(
            &[("Phi3-mini", &[83.5, 2.5, 14.0, 0.77, 88.92, 3.35, 6.96, 8.37, 65.15, 26.48])],
            &[("Phi3-mini", &[82.25, 5.0, 12.75, 0.77, 88.66, 3.87, 6.7, 2.59, 82.76, 14.66])],
        ),
        ..FILTER
    },
    PaperTable {
        name: "ra-rag-4",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 4",
        data: &[TQA],
        columns: &OF_TQA,
        rows: &filtered(
            &[("Phi3-mini", &[93.54, 0.0, 6.46, 4.08, 82.34, 3.53, 10.05, 36.49, 33.66, 29.85])],
            &[("Phi3-mini", &[93.06, 0.72, 6.22, 0.82, 81.79, 9.51, 7.88, 4.79, 83.29, 11.92])],
        ),
        ..FILTER
    },
    PaperTable {
        name: "ra-rag-5",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 5",
        settings: &[
            "one source of reliability 0.5 and coverage 0.5; 1,600 queries",
            "16.56 % incorrect answers to misinformation without f_align, 68.62 % with it: one must be wrong, and the column adds up to 46; printed as in the paper",
        ],
        data: &[HOTPOTQA],
        columns: &OF_HOTPOTQA,
        rows: &filtered(
            &[("Phi3-mini", &[82.78, 0.25, 16.96, 6.65, 16.56, 3.99, 18.88, 20.87, 36.67, 42.46])],
            &[("Phi3-mini", &[81.52, 3.04, 15.44, 1.06, 68.62, 14.63, 15.69, 8.32, 71.65, 20.02])],
        ),
        ..FILTER
    },
    PaperTable {
        name: "ra-rag-6",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 6",
        data: &[NQ],
        columns: &OF_NQ,
        rows: &filtered(
            &[("GPT-4o-mini", &[82.25, 6.25, 11.5, 1.03, 86.6, 5.15, 7.22, 2.71, 92.36, 4.93])],
            &[("GPT-4o-mini", &[82.25, 6.75, 11.0, 0.77, 86.6, 5.93, 6.7, 1.72, 93.72, 4.56])],
        ),
        ..FILTER
    },
    PaperTable {
        name: "ra-rag-7",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 7",
        data: &[TQA],
        columns: &OF_TQA,
        rows: &filtered(
            &[("GPT-4o-mini", &[92.58, 0.48, 6.94, 2.72, 71.74, 19.29, 6.25, 9.34, 88.82, 1.84])],
            &[("GPT-4o-mini", &[92.58, 0.72, 6.7, 1.09, 71.74, 21.47, 5.71, 3.81, 95.09, 1.11])],
        ),
        ..FILTER
    },
    PaperTable {
        name: "ra-rag-8",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 8",
        data: &[HOTPOTQA],
        columns: &OF_HOTPOTQA,
        rows: &filtered(
            &[("GPT-4o-mini", &[85.32, 1.01, 13.67, 6.65, 64.36, 17.02, 11.97, 10.01, 81.06, 8.93])],
            &[("GPT-4o-mini", &[84.3, 2.78, 12.91, 0.8, 64.36, 23.94, 10.9, 3.14, 91.19, 5.67])],
        ),
        ..FILTER
    },
    PaperTable {
        name: "ra-rag-9",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), table 9",
        about: "equality of answers by bidirectional entailment",
        settings: &[
            "five sources, reliabilities of a beta prior with mean 0.6, coverage 0.6; 200 queries for estimation",
            "an answer is right where its cluster has the gold answer: where a source whose answer is in it gave the gold one by exact match (class-em)",
        ],
        data: &[Needed {
            name: "nq-five",
            get: "Natural Questions with factual and misinforming documents of five sources (section 5.1): `moot run nq.jsonl --method source-pools --corpus wikipedia -o nq-pools.jsonl`, then `moot sources build nq-pools.jsonl -o nq-five --sources 5 --estimate 200 --test 1400`, and nq-five/test.jsonl",
            form: "questions",
        }],
        columns: &[column("EM", "nq-five", "class-em", "", 1.0)],
        rows: &[
            row("entailment", "RA-RAG + bidirectional entailment clustering", "ra-rag", &[("equality", "entailment")])
                .weighs("needs weights from the 200 queries for estimation, whose answers are equal by entailment too: `moot run nq-five/estimate.jsonl --method ra-rag --variant wmv --equality entailment -o entailed.jsonl`, `moot sources estimate entailed.jsonl -o entailed.json`, then --source-weights entailed.json --row entailment")
                .published(&[("Llama3-8B", &[0.635])])
                .note(DEALT),
            row("ra-rag", "RA-RAG", "ra-rag", &[])
                .weighs("needs weights from the 200 queries for estimation: `moot run nq-five/estimate.jsonl --method ra-rag --variant wmv -o estimate.jsonl`, `moot sources estimate estimate.jsonl -o sources.json`, then --source-weights sources.json --row ra-rag")
                .published(&[("Llama3-8B", &[0.615])])
                .note(DEALT),
        ],
        ..TABLE
    },
];
