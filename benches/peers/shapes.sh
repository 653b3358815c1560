#!/bin/sh
# Every architecture in the shape of a catalog row, with random weights: speed of `moot lab bench`, then a debate of
# eight documents by `moot ask`. Replies are noise; shapes, memory and time are real.
#
#   benches/peers/shapes.sh FOLDER [MODEL ...]       MODEL:TYPE, as smollm3-3b:q4_k; one line of JSON a model
#
# KV_MEMORY is 600M; OLMo 3, whose heads all have keys of their own, needs 2G.
set -eu
folder=$1
shift
[ $# -gt 0 ] || set -- gemma-3-270m:q8_0 lfm2-350m:q4_k qwen3.5-0.8b:q4_k granite-3.3-2b:q4_k smollm3-3b:q4_k \
    gemma-4-e2b:q4_k olmo-3-7b:q4_k ministral-3-8b:q4_k glm-4-9b:q4_k lfm2-8b-a1b:q4_k gpt-oss-20b:q4_k \
    gemma-4-26b-a4b:q4_k qwen3-30b-a3b:q4_k qwen3.5-35b-a3b:q4_k
mkdir -p "$folder/documents"
i=1
while [ $i -le 8 ]; do
    # One character is one token of the stand-in vocabulary: some 400 tokens a document.
    printf 'The bridge at Alder opened in 19%d1. It has %d arches of stone, and the road from the mill crosses it. ' $i $i \
        > "$folder/documents/note$i.txt"
    printf 'Its toll was %d pence until the council bought it in 19%d7. A flood took the first bridge, which was of wood. ' \
        $i $i >> "$folder/documents/note$i.txt"
    printf 'Boats pass below the second arch; in summer %d of them came every week, and the keeper wrote down each one.\n' \
        $((i * 3)) >> "$folder/documents/note$i.txt"
    i=$((i + 1))
done
for model in "$@"; do
    name=${model%%:*}
    set -- --model "$name" --weights "random:${model##*:}" --kv-memory "${KV_MEMORY:-600M}" ${OPTIONS:-}
    moot lab bench "$@" --prompt 256 --shared 192 --group 8 --generate 16 --rows 1,8 --json > "$folder/$name.bench.json"
    start=$(date +%s)
    moot ask "When did the bridge at Alder open?" --docs "$folder/documents" --method madam-rag --rounds 2 --max-tokens 24 \
        --offline "$@" --json > "$folder/$name.json" 2> "$folder/$name.err"
    echo "{\"model\": \"$name\", \"seconds\": $(($(date +%s) - start)), \"bench\": [$(paste -sd, "$folder/$name.bench.json")]}"
done
