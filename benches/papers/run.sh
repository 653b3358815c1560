#!/usr/bin/env bash
# The papers' methods at their papers' settings, 1.5B: benches/papers/run.sh FOLDER, where FOLDER has ram100.jsonl and
# qacc100.json (benches/headline/sample.py), and for figure 4 imbalance.jsonl and misinfo.jsonl, which
# `moot lab slices dev100.jsonl calibrate100.jsonl --kind imbalance -o imbalance.jsonl` builds. The same command resumes.
# Needs `moot` on the path; OPTIONS are passed on to it, as OPTIONS="--in-flight 8 --threads 1".
set -euo pipefail
cd "${1:?the folder with ram100.jsonl and qacc100.json}"
model="-m qwen2.5-coder-1.5b ${OPTIONS:-}"

# $1: table, $2: dataset=file, then options.
table() {
  # shellcheck disable=SC2086 # several words
  moot lab reproduce "$1" --data "$2" $model -o records "${@:3}"
}

table madam-rag-1 ramdocs=ram100.jsonl --row prompt-based,self-reflection,astute-rag,madam-rag
# The first rounds of figure 3 are those of the debate.
debate=records/madam-rag.ramdocs.madam-rag.qwen2.5-coder-1.5b.jsonl
table madam-rag-figure-3 ramdocs=ram100.jsonl --reuse $debate
# shellcheck disable=SC2086 # several words
moot run qacc100.json $model --method majority-vote,ra-rag,verification,drag -o qacc
for kind in imbalance misinfo; do
  [ -e $kind.jsonl ] || continue
  case $kind in imbalance) figure=4a ;; *) figure=4b ;; esac
  table madam-rag-figure-$figure $kind=$kind.jsonl
done
