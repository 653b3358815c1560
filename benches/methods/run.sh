#!/usr/bin/env bash
# Every method on RAMDocs and QACC, and where it retrieves on HotpotQA and StrategyQA: benches/methods/run.sh FOLDER, where FOLDER
# has the files of sample.py. 20 questions with the 0.5B, 10 with the 1.5B. The same command resumes the runs. Needs `moot` on the
# path; OPTIONS are passed on to it, as OPTIONS="--in-flight 8 --threads 1".
set -euo pipefail
cd "${1:?the folder that sample.py filled}"
mkdir -p records
for corpus in ramdocs qacc hotpotqa; do
  [ -e $corpus.index ] || moot index build $corpus.corpus.jsonl -o $corpus.index
done

reads="closed-book concatenated majority-vote self-consistency madam-rag self-reflection source-isolated-arbitration astute-rag mad
  drag naive-rag sure self-rag speculative-rag"
searches="drag naive-rag ircot iter-retgen flare sure self-rag speculative-rag"

# $1: questions, $2: model, $3: method, $4: dataset, then options.
record() {
  local file=($4$1.json*) to=records/$4.$3.$2.jsonl switches=()
  if [ "$3" = self-rag ]; then switches=(--set prompted=true); fi
  # shellcheck disable=SC2086 # several words
  moot run "${file[0]}" -m "qwen2.5-coder-$2" --method "$3" "${switches[@]}" "${@:5}" ${OPTIONS:-} -o "$to"
}

for pair in "20 0.5b" "10 1.5b"; do
  read -r count model <<<"$pair"
  for method in $reads; do
    record "$count" "$model" "$method" ramdocs
    record "$count" "$model" "$method" qacc --format qacc
  done
  for method in $searches; do
    case $method in
      ircot | iter-retgen | flare)
        record "$count" "$model" "$method" ramdocs --corpus ramdocs.index
        record "$count" "$model" "$method" qacc --format qacc --corpus qacc.index
        ;;
    esac
    record "$count" "$model" "$method" hotpotqa --corpus hotpotqa.index
    record "$count" "$model" "$method" strategyqa --format strategyqa --corpus hotpotqa.index
  done
done
