#!/usr/bin/env bash
# Compares the variants of MADAM-RAG's prompts: benches/prompts/run.sh FOLDER HALF, where FOLDER has ramdocs100.jsonl and
# qacc100.json of benches/methods/sample.py. HALF is `choose`: all variants, or `confirm`: the prompt in use beside the one of
# before. The same command resumes. Needs `moot` on the path; OPTIONS are passed on to it, as OPTIONS="--threads 1".
# MODELS="0.5b" and DATASETS="qacc100.json" take these alone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:?the folder that sample.py filled}"
half=${2:?choose or confirm}

# $1: role, $2: preset, $3: model, $4: dataset's file, then options.
compare() {
  local folder=$half/${4%%.*}.$3 variants=() file
  for file in "$here/$1"/*.jinja; do
    if [ "$half" = choose ] || [ "$(basename "$file")" = before.jinja ]; then variants+=(--variant "$file"); fi
  done
  mkdir -p "$folder"
  # shellcheck disable=SC2086 # several words
  moot prompts compare "$4" -o "$folder/$1" --role "$1" "${variants[@]}" --preset "$2" --half "$half" \
    -m "qwen2.5-coder-$3" "${@:5}" ${OPTIONS:-} >"$folder/$1.txt"
}

for dataset in ${DATASETS:-ramdocs100.jsonl qacc100.json}; do
  for model in ${MODELS:-1.5b 0.5b}; do
    compare agent every-answer $model $dataset
    # The agents' replies to the prompt in use are there already.
    folder=$half/${dataset%%.*}.$model
    compare aggregator one-round $model $dataset --reuse "$folder"/agent/agent.in-use.jsonl
  done
done
