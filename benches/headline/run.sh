#!/usr/bin/env bash
# The headline runs: benches/headline/run.sh FOLDER, where FOLDER has the files of sample.py. The same command resumes them.
# Needs `moot` on the path; OPTIONS are passed on to it, as OPTIONS="--in-flight 8 --threads 1".
set -euo pipefail
cd "${1:?the folder with ram100.jsonl, ram40.jsonl and qacc40.json}"
mkdir -p ramdocs qacc
model="-m qwen2.5-coder-1.5b ${OPTIONS:-}"

# $1: folder of the records, $2: dataset, $3: name of the record, then what the method needs.
record() {
  local to=$1/$3.jsonl from=$2
  shift 3
  # shellcheck disable=SC2086 # several words
  moot run "$from" $model "$@" -o "$to"
}

record ramdocs ram100.jsonl madam-rag --method madam-rag
record ramdocs ram100.jsonl concatenated --method concatenated
record ramdocs ram100.jsonl every-answer --preset every-answer --reuse ramdocs/madam-rag.jsonl
record ramdocs ram40.jsonl majority-vote --method majority-vote --reuse ramdocs/madam-rag.jsonl
# Tokens a question: of MADAM-RAG here, of DRAG below.
record ramdocs ram40.jsonl self-consistency --method self-consistency --set tokens=9300
for method in ra-rag verification drag; do record ramdocs ram40.jsonl $method --method $method; done

for method in concatenated majority-vote ra-rag verification drag; do record qacc qacc40.json $method --method $method; done
record qacc qacc40.json self-consistency --method self-consistency --set tokens=3170

moot report ramdocs/{madam-rag,concatenated,majority-vote,self-consistency,ra-rag,verification,drag,every-answer}.jsonl \
  --across-datasets --title "RAMDocs, Qwen2.5-Coder-1.5B" -o ramdocs.html
moot report qacc/{concatenated,majority-vote,self-consistency,ra-rag,verification,drag}.jsonl \
  --title "QACC, Qwen2.5-Coder-1.5B" -o qacc.html
