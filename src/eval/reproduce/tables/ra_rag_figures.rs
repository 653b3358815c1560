//! RA-RAG's figures. They are means over ten trials, which `moot sources trials` runs and draws; the paper prints no numbers of
//! them. Figures 1 and 26 are drawings, 3 and 12 single examples, the others prompts and examples.

use crate::eval::reproduce::table::{PaperTable, TABLE};

/// How the figures are made (section 5.1).
const TRIALS: &str = "means over 10 trials; coverage 0.6, mean reliability 0.6, kappa 4, three documents of each source; 200 queries to estimate from, 1,400 to test; here a source's documents come with the question, in the paper Contriever retrieves them, and without --embedder the documents of Naive RAG are ranked by the question's words";

const MODELS: &str = "Llama3-8B, Phi3-mini and GPT-4o-mini";

/// Its figures.
pub(super) static FIGURES: [PaperTable; 9] = [
    PaperTable {
        name: "ra-rag-figure-2",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 2",
        about: "exact match by the number of sources, reliabilities of a beta prior",
        settings: &[
            TRIALS,
            MODELS,
            "the paper says: WMV is close to Oracle WMV, RA-RAG (kappa 4) to WMV, and all are above MV and Naive RAG",
            "Naive LLM is not among the trials: moot run TEST --method ra-rag --variant naive-llm",
        ],
        made_by: &[
            "moot run nq.jsonl --method source-pools --corpus wikipedia -o nq-pools.jsonl",
            "moot sources trials nq-pools.jsonl -o figure-2-nq --estimate 200 --test 1400 --vary sources --at 3,4,5,6,7,8,9",
            "moot run triviaqa.jsonl --method source-pools --corpus wikipedia -o triviaqa-pools.jsonl",
            "moot sources trials triviaqa-pools.jsonl -o figure-2-triviaqa --estimate 200 --test 1400 --vary sources --at 3,4,5,6,7,8,9",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-4",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 4",
        about: "exact match by the number of spammers among nine sources, NQ",
        settings: &[
            TRIALS,
            "Llama3-8B",
            "the paper says: RA-RAG is robust, and with more than five spammers MV is below Naive RAG",
        ],
        made_by: &[
            "moot run nq.jsonl --method source-pools --corpus wikipedia -o nq-pools.jsonl",
            "moot sources trials nq-pools.jsonl -o figure-4-nq --estimate 200 --test 1400 --vary spammers --at 0,1,2,3,4,5,6,7,8 --sources 9",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-5",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 5",
        about: "exact match by kappa, nine sources, NQ",
        settings: &[TRIALS, "Llama3-8B", "the paper says: at kappa 4 RA-RAG is above MV and slightly below WMV"],
        made_by: &[
            "moot run nq.jsonl --method source-pools --corpus wikipedia -o nq-pools.jsonl",
            "moot sources trials nq-pools.jsonl -o figure-5-nq --estimate 200 --test 1400 --vary kappa --at 1,2,3,4,5,6,7,8,9 --sources 9",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-6",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 6",
        about: "inference costs of RA-RAG and WMV by the number of sources",
        settings: &[
            TRIALS,
            "GPT-4o-mini; the paper's costs are prices, here calls a question (trials) and tokens (report)",
            "the paper says: RA-RAG costs less than WMV, and the difference grows with the number of sources",
        ],
        made_by: &[
            "moot run nq.jsonl --method source-pools --corpus wikipedia -o nq-pools.jsonl",
            "moot sources trials nq-pools.jsonl -o figure-6-nq --estimate 200 --test 1400 --vary sources --at 3,4,5,6,7,8,9",
            "moot sources report figure-6-nq/sources-9/trial-1/mv.record.jsonl --source-weights figure-6-nq/sources-9/trial-1/sources.json",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-7",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 7",
        about: "kappa-RRSS and kappa-RSS (kappa 4) by the number of sources, NQ",
        settings: &[TRIALS, "the paper says: kappa-RSS is far below kappa-RRSS", "the trials of figure 2 have both"],
        made_by: &[
            "moot run nq.jsonl --method source-pools --corpus wikipedia -o nq-pools.jsonl",
            "moot sources trials nq-pools.jsonl -o figure-7-nq --estimate 200 --test 1400 --vary sources --at 3,4,5,6,7,8,9",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-8",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 8",
        about: "exact match by the number of sources, reliabilities of a beta prior, HotpotQA",
        settings: &[TRIALS, MODELS, "the documents are HotpotQA's own, of single-hop questions"],
        made_by: &[
            "moot run hotpotqa.jsonl --method source-pools -o hotpotqa-pools.jsonl",
            "moot sources trials hotpotqa-pools.jsonl -o figure-8-hotpotqa --estimate 200 --test 1400 --vary sources --at 3,4,5,6,7,8,9",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-9",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 9",
        about: "exact match by the number of spammers among nine sources, TriviaQA and HotpotQA",
        settings: &[TRIALS, "Llama3-8B"],
        made_by: &[
            "moot run triviaqa.jsonl --method source-pools --corpus wikipedia -o triviaqa-pools.jsonl",
            "moot sources trials triviaqa-pools.jsonl -o figure-9-triviaqa --estimate 200 --test 1400 --vary spammers --at 0,1,2,3,4,5,6,7,8 --sources 9",
            "moot run hotpotqa.jsonl --method source-pools -o hotpotqa-pools.jsonl",
            "moot sources trials hotpotqa-pools.jsonl -o figure-9-hotpotqa --estimate 200 --test 1400 --vary spammers --at 0,1,2,3,4,5,6,7,8 --sources 9",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-10",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 10",
        about: "exact match by kappa, nine sources, TriviaQA and HotpotQA",
        settings: &[TRIALS, "Llama3-8B"],
        made_by: &[
            "moot run triviaqa.jsonl --method source-pools --corpus wikipedia -o triviaqa-pools.jsonl",
            "moot sources trials triviaqa-pools.jsonl -o figure-10-triviaqa --estimate 200 --test 1400 --vary kappa --at 1,2,3,4,5,6,7,8,9 --sources 9",
            "moot run hotpotqa.jsonl --method source-pools -o hotpotqa-pools.jsonl",
            "moot sources trials hotpotqa-pools.jsonl -o figure-10-hotpotqa --estimate 200 --test 1400 --vary kappa --at 1,2,3,4,5,6,7,8,9 --sources 9",
        ],
        ..TABLE
    },
    PaperTable {
        name: "ra-rag-figure-13",
        paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (RA-RAG), figure 13",
        about: "keywords by the prompt alone, and with extraction of keywords from the reply",
        settings: &[
            "the paper says: both perform alike",
            "nothing here makes it: the extraction (Xiang et al., 2024) takes words by their part of speech (spaCy), and there is no tagger here",
        ],
        made_by: &[],
        ..TABLE
    },
];
