"""Peers that are Python libraries, each measured alone in its own environment; started by measure.py. Prints one JSON line:
tokens per second of prefill, of one row's decoding, and of several rows' decoding over a shared prompt.

    in_python.py openvino MODEL.gguf --threads 2 --prompt 512 --generate 64 --rows 8
    in_python.py vllm MODEL_FOLDER ...
    in_python.py widen MODEL.gguf MODEL_FOLDER        writes the weights as bfloat16, for vllm
"""

import argparse
import json
import os
import time
from pathlib import Path


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    for name in SIDES:
        side = modes.add_parser(name)
        side.add_argument("model")
        for option in ("threads", "prompt", "generate", "rows"):
            side.add_argument(f"--{option}", type=int, required=True)
    files = modes.add_parser("widen")
    files.add_argument("model", type=Path)
    files.add_argument("folder", type=Path)
    return parser.parse_args()


def ids(length, row):
    """A prompt of ordinary token ids; each `row` has another, alike in every run."""
    return [1000 + (row * 7919 + place * 31) % 20000 for place in range(length)]


def openvino(args):
    """OpenVINO GenAI with continuous batching, which is its way to share prompts; keys and values as it chooses."""
    import numpy
    import openvino
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True
    scheduler.cache_size = 2
    scheduler.max_num_batched_tokens = args.prompt
    pipeline = openvino_genai.ContinuousBatchingPipeline(
        args.model, scheduler, "CPU", {"INFERENCE_NUM_THREADS": args.threads}, {})

    def reply(prompts, tokens):
        config = openvino_genai.GenerationConfig(max_new_tokens=tokens, ignore_eos=True, do_sample=False)
        tensors = [openvino.Tensor(numpy.array([prompt], dtype=numpy.int64)) for prompt in prompts]
        replies = pipeline.generate(tensors, [config] * len(tensors))
        assert all(len(reply.m_generation_ids[0]) == tokens for reply in replies)

    return reply, {"version": openvino_genai.__version__}


def refuse_in_torch(limit):
    """Hides from vLLM what oneDNN may not use either: it asks torch which of its own kernels to take."""
    if not limit:
        return
    # In this process, where the answers below are given.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    if limit.startswith("AVX2"):
        os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
    import torch

    torch.cpu._is_amx_tile_supported = lambda: False
    if limit.startswith("AVX2"):
        torch.cpu._is_avx512_supported = torch.cpu._is_avx512_bf16_supported = lambda: False


def vllm(args):
    """vLLM with bfloat16 weights and its defaults; prompts are shared by its prefix cache."""
    os.environ["VLLM_CPU_OMP_THREADS_BIND"] = ",".join(map(str, range(args.threads)))
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    refuse_in_torch(os.environ.get("ONEDNN_MAX_CPU_ISA"))
    import vllm as package

    llm = package.LLM(model=args.model, dtype="bfloat16", max_model_len=args.prompt + args.generate + 16,
                      skip_tokenizer_init=True, enable_prefix_caching=True, disable_log_stats=True)

    def reply(prompts, tokens):
        sampling = package.SamplingParams(max_tokens=tokens, ignore_eos=True, temperature=0, detokenize=False)
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        replies = llm.generate(requests, sampling, use_tqdm=False)
        assert all(len(reply.outputs[0].token_ids) == tokens for reply in replies)

    return reply, {"version": package.__version__}


def widen(args):
    """Writes a GGUF file's weights, in bfloat16, and its tokenizer as a folder of safetensors."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(args.model.parent, gguf_file=args.model.name, dtype=torch.bfloat16)
    # The weights are widened, but the model still calls itself quantised, and would not be saved.
    del model.config.quantization_config
    model.hf_quantizer = None
    model.save_pretrained(args.folder)
    AutoTokenizer.from_pretrained(args.model.parent, gguf_file=args.model.name).save_pretrained(args.folder)


SIDES = {"openvino": openvino, "vllm": vllm}


def main():
    """Measures and prints."""
    args = arguments()
    if args.mode == "widen":
        return widen(args)
    reply, more = SIDES[args.mode](args)

    def seconds(prompts, tokens):
        started = time.perf_counter()
        reply(prompts, tokens)
        return time.perf_counter() - started

    reply([ids(args.prompt, 0)] * 2, 16)
    prompt = ids(args.prompt, 1)
    prefill = seconds([prompt], 1)
    # The prompt is cached now, and each call below computes at most a block of it again: the difference of two calls that
    # do so alike is the decoding of all tokens but the first.
    decoding = {}
    for rows in (1, args.rows):
        first, whole = seconds([prompt] * rows, 1), seconds([prompt] * rows, 1 + args.generate)
        decoding[rows] = rows * args.generate / (whole - first)
    print(json.dumps({"prefill": args.prompt / prefill, "decode 1": decoding[1], "decode N": decoding[args.rows], **more}))


if __name__ == "__main__":
    main()
