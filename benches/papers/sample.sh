#!/usr/bin/env bash
# What benches/papers/run.sh needs: benches/papers/sample.sh DATA FOLDER, where DATA has ramdocs/dev100.jsonl,
# ramdocs/calibrate100.jsonl, qacc/ConflictQA_train_dev.json, hotpotqa/dev500_ircot.jsonl and strategyqa/dev.json.
# Needs `moot` on the path, and the embedder multilingual-e5-small in its cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
data=${1:?the folder with ramdocs, qacc, hotpotqa and strategyqa}
to=${2:?the folder to fill}
python3 "$here/headline/sample.py" "$data/ramdocs/dev100.jsonl" "$data/qacc/ConflictQA_train_dev.json" "$to"
python3 "$here/methods/sample.py" "$data" "$to/more"
mv "$to/more/hotpotqa100.jsonl" "$to/more/hotpotqa.corpus.jsonl" "$to"
rm -r "$to/more"
moot index build "$to/hotpotqa.corpus.jsonl" --embedder multilingual-e5-small -o "$to/hotpotqa.index"
for kind in imbalance misinfo; do
  moot lab slices "$data/ramdocs/dev100.jsonl" "$data/ramdocs/calibrate100.jsonl" --kind $kind -o "$to/$kind.jsonl"
done
