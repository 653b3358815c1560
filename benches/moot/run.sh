#!/usr/bin/env bash
# The records of benches/results/moot.md, 1.5B: benches/moot/run.sh FOLDER, which has ramdocs.jsonl (100 questions of
# RAMDocs), qacc.json (of qacc.py) and dated.jsonl (benches/dated/confirm.jsonl). The same command resumes;
# STEPS="readme others" takes these alone. Needs `moot` on the path; OPTIONS are passed on to it.
set -euo pipefail
cd "${1:?the folder with ramdocs.jsonl, qacc.json and dated.jsonl}"
mkdir -p ramdocs dated qacc
model="-m qwen2.5-coder-1.5b ${OPTIONS:-}"

# $1: record, $2: questions, then options.
record() {
  # shellcheck disable=SC2086 # several words
  moot run "$2" $model -o "$1.jsonl" "${@:3}"
}

# README's table.
readme() {
  record ramdocs/every-answer ramdocs.jsonl --preset every-answer
  record ramdocs/moot ramdocs.jsonl --method moot
  record ramdocs/concatenated ramdocs.jsonl --method concatenated
  # Its first round is `every-answer`.
  record ramdocs/madam-rag.tuned ramdocs.jsonl --method madam-rag --preset tuned --reuse ramdocs/every-answer.jsonl
}

dated() {
  for method in every-answer moot; do record dated/$method dated.jsonl "$(option $method)" $method; done
}

qacc() {
  for method in every-answer moot concatenated majority-vote verification; do
    record qacc/$method qacc.json "$(option $method)" $method
  done
}

# All other methods that answer from given documents, at their papers' settings, in one run: their calls share steps and
# prefixes.
others() {
  # shellcheck disable=SC2086 # several words
  moot run ramdocs.jsonl $model -o ramdocs --method \
    self-reflection,astute-rag,majority-vote,ra-rag,verification,drag,source-isolated-arbitration,self-consistency,speculative-rag,sure,naive-rag,mad,closed-book
}

option() { [[ $1 == every-answer ]] && echo --preset || echo --method; }

for step in ${STEPS:-readme dated qacc others}; do
  case $step in
    readme | dated | qacc | others) $step ;;
    *) echo "STEPS: $step is none of readme, dated, qacc, others" >&2 && exit 2 ;;
  esac
done
