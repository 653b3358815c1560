#!/usr/bin/env bash
# The methods of the papers of MADAM-RAG and DRAG on RAMDocs and QACC (those that retrieve search the datasets' documents as a corpus), and those that can retrieve on
# HotpotQA and StrategyQA: benches/methods/run.sh FOLDER MODEL COUNT, where FOLDER has the files of sample.py, MODEL is 0.5b or 1.5b and COUNT is 10, 20 or 100 questions. The same command resumes the runs.
# Needs `moot` on the path; OPTIONS are passed on to it, as OPTIONS="--in-flight 10 --threads 1". DATASETS="qacc hotpotqa" runs these alone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:?the folder that sample.py filled}"
model=${2:?0.5b or 1.5b}
count=${3:?the number of questions}
mkdir -p records
for dataset in ${DATASETS:-}; do
  case " ramdocs qacc hotpotqa strategyqa " in *" $dataset "*) ;; *) echo "DATASETS: $dataset is none of ramdocs, qacc, hotpotqa, strategyqa" >&2; exit 2 ;; esac
done

# Methods that read the documents of a question, and methods that retrieve.
reads=closed-book,concatenated,madam-rag,majority-vote,self-reflection,source-isolated-arbitration,astute-rag,mad,drag,naive-rag,sure
searches=ircot,iter-retgen
both=drag,naive-rag,sure

# Those of the datasets that DATASETS names; all of them without it.
chosen() {
  local dataset
  for dataset; do
    case " ${DATASETS:-$dataset} " in *" $dataset "*) echo "$dataset" ;; esac
  done
}

# $1: dataset, then options. Several methods go side by side.
records() {
  local file=("$1$count".json*) to=records/$1.$model
  mkdir -p "$to"
  # shellcheck disable=SC2086 # several words
  moot run "${file[0]}" -m "qwen2.5-coder-$model" ${OPTIONS:-} "${@:2}" >>"$to/log.txt" 2>&1 || { tail -n 5 "$to/log.txt" >&2; return 1; }
}

# $1: dataset, $2: method, then options: one method alone.
record() { records "$1" --method "$2" "${@:3}" -o "records/$1.$model/$2.jsonl"; }

for dataset in $(chosen ramdocs qacc); do
  to=records/$dataset.$model
  records $dataset --method $reads -o "$to"
  record $dataset self-rag --set prompted=true
  record $dataset speculative-rag --embedder all-minilm-l6-v2
  # At the tokens of MADAM-RAG: prompt and generated ones, a question.
  spent=$(python3 "$here/tokens.py" "$to"/madam-rag*.jsonl)
  record $dataset self-consistency --set "tokens=$spent"
  # And as many replies of each document's agent as these tokens buy.
  once=$(python3 "$here/tokens.py" "$to"/majority-vote.*.jsonl)
  record $dataset majority-vote --set "samples=$(((spent + once / 2) / once))"
  records $dataset --preset every-answer --reuse "$to"/madam-rag*.jsonl -o "$to"
done
for dataset in $(chosen ramdocs qacc hotpotqa strategyqa); do
  corpus=$dataset
  [ $dataset = strategyqa ] && corpus=hotpotqa
  # Built by one of the runs that go beside each other.
  flock $corpus.lock bash -c "[ -e $corpus.index ] || moot index build $corpus.corpus.jsonl -o $corpus.index"
  methods=$searches
  case $dataset in hotpotqa | strategyqa) methods+=,$both ;; esac
  records $dataset --method $methods --corpus $corpus.index -o "records/$dataset.$model"
  # FLARE's own threshold for StrategyQA; Self-RAG as in its own paper, since DRAG compares with that.
  theta=0.8
  [ $dataset = strategyqa ] && theta=0.4
  record $dataset flare --set theta=$theta --corpus $corpus.index
  case $dataset in hotpotqa | strategyqa)
    record $dataset self-rag --set prompted=true --set selection=original --corpus $corpus.index
    record $dataset speculative-rag --embedder all-minilm-l6-v2 --corpus $corpus.index
    ;;
  esac
done
