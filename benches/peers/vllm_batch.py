"""Seconds of vLLM for one batch of a debate's round, on random weights: a process of its own, which gpu.py starts.

    python benches/peers/vllm_batch.py '{"kind": "qwen2", "hidden_size": 1536, ...}' --questions 1 --agents 8 --shared 1024 \\
        --own 512 --generate 128 --rounds 3

The shape is transformers' configuration. Prefixes are cached, as they are by default; each round has other tokens. Prints
one JSON object.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

KINDS = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}


def main():
    """Builds the model once, and measures each round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", type=json.loads)
    for name in ("questions", "agents", "shared", "own", "generate", "rounds"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    from vllm import LLM, SamplingParams

    rows, length = args.questions * args.agents, args.shared + args.own
    vocab = args.shape["vocab_size"]
    with tempfile.TemporaryDirectory() as folder:
        config = {key: value for key, value in args.shape.items() if key != "kind"}
        config |= {"model_type": args.shape["kind"], "architectures": [KINDS[args.shape["kind"]]], "torch_dtype": "bfloat16",
                   "hidden_act": "silu", "rms_norm_eps": 1e-6, "max_position_embeddings": 8192, "eos_token_id": None}
        Path(folder, "config.json").write_text(json.dumps(config))
        model = LLM(folder, load_format="dummy", skip_tokenizer_init=True, dtype="bfloat16", seed=1,
                    max_model_len=length + args.generate, max_num_seqs=rows)
        sampling = SamplingParams(max_tokens=args.generate, min_tokens=args.generate, temperature=0, ignore_eos=True,
                                  detokenize=False)

        def once(seed):
            draw = random.Random(seed)
            prompts = []
            for _ in range(args.questions):
                shared = [draw.randrange(vocab) for _ in range(args.shared)]
                prompts += [{"prompt_token_ids": shared + [draw.randrange(vocab) for _ in range(args.own)]}
                            for _ in range(args.agents)]
            began = time.perf_counter()
            outputs = model.generate(prompts, sampling, use_tqdm=False)
            seconds = time.perf_counter() - began
            counts = {len(output.outputs[0].token_ids) for output in outputs}
            assert counts == {args.generate}, f"replies of {counts} tokens, expected {args.generate}"
            return seconds

        once(0)
        found = [once(seed) for seed in range(1, args.rounds + 1)]
    print(json.dumps({"seconds": statistics.median(found), "all": found}), flush=True)
    # Its processes need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
