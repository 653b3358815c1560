#!/usr/bin/env bash
# The papers' methods at their papers' settings, 1.5B: benches/papers/run.sh FOLDER, which benches/papers/sample.sh
# filled. The same command resumes; STEPS="debate qacc" takes these alone. Needs `moot` on the path; OPTIONS are
# passed on to it, as OPTIONS="--in-flight 8 --threads 1".
set -euo pipefail
cd "${1:?the folder that sample.sh filled}"
model="-m qwen2.5-coder-1.5b ${OPTIONS:-}"
debate=records/madam-rag.ramdocs.madam-rag.qwen2.5-coder-1.5b.jsonl

# $1: folder of the records, $2: table, $3: dataset=file, then options.
table() {
  # shellcheck disable=SC2086 # several words
  moot lab reproduce "$2" --data "$3" $model -o "$1" "${@:4}"
}

# RAMDocs, 100 questions.
debate() {
  table records madam-rag-1 ramdocs=ram100.jsonl --row prompt-based,self-reflection,astute-rag,madam-rag
  # shellcheck disable=SC2086 # several words
  moot run ram100.jsonl $model --preset every-answer -o records/every-answer.jsonl
}

# QACC, 100 questions of which 50 are conflicting.
qacc() {
  # shellcheck disable=SC2086 # several words
  moot run qacc100.json $model --method majority-vote,ra-rag,verification,drag -o qacc
}

# HotpotQA, 60 questions, over the paragraphs of 500.
corpus() {
  table records drag-1 hotpotqa=hotpotqa100.jsonl --limit 60 --row naive-rag,ircot,iter-retgen,drag \
    --corpus hotpotqa.index --embedder multilingual-e5-small --retriever dense --exact-search --no-fold --top 3
}

# With the replies of table 1's debates where a call is the same. Records that take replies over name their origin, so they
# are not those of table 1.
figure3() { table figure3 madam-rag-figure-3 ramdocs=ram100.jsonl --reuse $debate; }

# Every question of RAMDocs that qualifies, in three or four variants.
figure4a() { table figure4 madam-rag-figure-4a imbalance=imbalance.jsonl; }
figure4b() { table figure4 madam-rag-figure-4b misinfo=misinfo.jsonl; }

# One page of the records that are there. Each is compared with the first one of its dataset, so MADAM-RAG, naive RAG
# and majority vote are listed first.
report() {
  local record all=()
  shopt -s nullglob
  for record in records/madam-rag.ramdocs.madam-rag.*.jsonl records/drag.hotpotqa.naive-rag.*.jsonl \
    qacc/majority-vote.*.jsonl figure4/*.madam-rag.*.jsonl {records,figure3,figure4,qacc}/*.jsonl; do
    [[ " ${all[*]} " == *" $record "* ]] || all+=("$record")
  done
  shopt -u nullglob
  moot report "${all[@]}" --title "The papers' methods, Qwen2.5-Coder-1.5B" -o papers.html
}

for step in ${STEPS:-debate qacc corpus figure3 figure4a figure4b report}; do
  case $step in
    debate | qacc | corpus | figure3 | figure4a | figure4b | report) $step ;;
    *) echo "STEPS: $step is none of debate, qacc, corpus, figure3, figure4a, figure4b, report" >&2 && exit 2 ;;
  esac
done
