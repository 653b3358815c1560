"""moot, vLLM and Hugging Face transformers on one NVIDIA GPU: the same shapes, random weights and token counts, bf16.

    python benches/peers/gpu.py --moot target/release/moot

Needs torch with CUDA and transformers; moot built with `--features cuda`; vLLM where it is to be measured. Fetches
nothing: models have random weights in their shapes. The sides use the card in turn. A debate's round is eight agents
that share the first 1,024 tokens of their prompts and have 512 of their own, and generate 128; then 64 such questions at
once. Limits of the card (rate of a matrix product, bandwidth of a copy) are measured here, and by moot itself in the same
call as its figures. Results go to benches/results/<date>-<device>.md, which ends with one table of all engines, raw
figures to a .jsonl beside it. A failure on one side is recorded there, and the other measurements continue.

With --gguf FILE, a file of quantised weights is measured too, and with --llama-cpp FOLDER beside llama.cpp's
llama-batched-bench of a CUDA build, in turn: rows that share nothing, --own tokens each. `random_gguf.py` makes such a
file where no model is at hand.
"""

import argparse
import gc
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benches/results"
# As moot's catalog has them (models/catalog.toml), which are the published config.json's numbers.
SHAPES = {
    "llama-3.1-8b": dict(
        kind="llama", hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=128256, rope_theta=500000.0, tie_word_embeddings=False),
    "qwen2.5-1.5b": dict(
        kind="qwen2", hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
        num_key_value_heads=2, vocab_size=151936, rope_theta=1000000.0, tie_word_embeddings=True),
    "qwen2.5-7b": dict(
        kind="qwen2", hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28,
        num_key_value_heads=4, vocab_size=152064, rope_theta=1000000.0, tie_word_embeddings=False),
}


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--moot", type=Path, default=os.environ.get("MOOT", ROOT / "target/release/moot"), help="moot's program [$MOOT]")
    add("--models", default=",".join(SHAPES), help="some of %(default)s")
    add("--agents", type=int, default=8, help="rows of a question [%(default)s]")
    add("--questions", default="1,64", help="questions in flight, one measurement each [%(default)s]")
    add("--shared", type=int, default=1024, help="tokens that a question's rows share [%(default)s]")
    add("--own", type=int, default=512, help="tokens of a row's own [%(default)s]")
    add("--generate", type=int, default=128, help="tokens generated a row [%(default)s]")
    add("--rounds", type=int, default=3, help="times that each is measured; medians are reported [%(default)s]")
    add("--timeout", type=int, default=1800, help="seconds after which a run of moot is given up [%(default)s]")
    add("--skip", default="", help="sides to leave out: moot, exact, vllm, generate, generate_batch")
    add("--gguf", type=Path, help="a model file of quantised weights")
    add("--llama-cpp", type=Path, help="the folder of llama-batched-bench, built with CUDA")
    add("--rows", default="1,8,64", help="rows of the file's measurements [%(default)s]")
    add("--output", type=Path, help="the report [benches/results/<date>-<device>.md]")
    args = parser.parse_args()
    args.models = [name for name in args.models.split(",") if name]
    args.questions = [int(n) for n in args.questions.split(",")]
    args.skip = {side for side in args.skip.split(",") if side}
    unknown = [name for name in args.models if name not in SHAPES]
    if unknown:
        parser.error(f"--models: {', '.join(unknown)}: expected some of {', '.join(SHAPES)}")
    if args.llama_cpp and not (args.gguf and (args.llama_cpp / "llama-batched-bench").is_file()):
        parser.error(f"--llama-cpp: expected --gguf too, and llama-batched-bench in {args.llama_cpp}")
    if not args.moot.is_file() and not {"moot", "exact"} <= args.skip:
        parser.error(f"{args.moot} is not there: `cargo build --release --features cuda` makes it, --moot names another")
    return args


def timed(once, synchronize):
    """Seconds of one call."""
    synchronize()
    started = time.perf_counter()
    once()
    synchronize()
    return time.perf_counter() - started


def ceilings(torch):
    """Operations and bytes a second that the card reaches, best of five."""
    side, size, times = 8192, 1 << 30, 10
    a, b = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    data = torch.empty(size // 4, device="cuda")
    copy = torch.empty_like(data)

    def multiply():
        for _ in range(times):
            torch.mm(a, b)

    def copying():
        for _ in range(times):
            copy.copy_(data)

    best = lambda once: min(timed(once, torch.cuda.synchronize) for _ in range(5)) / times
    return {"operations_s": 2 * side**3 / best(multiply), "bytes_s": 2 * size / best(copying)}


def prompts(torch, args, vocab, questions):
    """Token ids `[rows, shared + own]`: a question's rows share their first tokens."""
    torch.manual_seed(questions)
    rows = []
    for _ in range(questions):
        shared = torch.randint(vocab, (1, args.shared)).expand(args.agents, -1)
        rows.append(torch.cat([shared, torch.randint(vocab, (args.agents, args.own))], dim=1))
    return torch.cat(rows)


def build(torch, shape, attention):
    """Random weights in a model's shape on the card."""
    from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

    values = {key: value for key, value in shape.items() if key != "kind"}
    config = {"llama": LlamaConfig, "qwen2": Qwen2Config}[shape["kind"]](max_position_embeddings=8192, **values)
    config.eos_token_id = config.bos_token_id = config.pad_token_id = None
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    finally:
        torch.set_default_dtype(before)
    return model.eval()


def padded(torch, args, model, ids):
    """`generate` on batches as large as the card takes; seconds and rows of a batch."""
    size = len(ids)
    while size > 0:
        try:
            def once():
                for batch in ids.split(size):
                    batch = batch.to("cuda")
                    out = model.generate(
                        batch, attention_mask=torch.ones_like(batch), max_new_tokens=args.generate,
                        min_new_tokens=args.generate, do_sample=False, use_cache=True, pad_token_id=0)
                    assert out.shape[1] == ids.shape[1] + args.generate
            return timed(once, torch.cuda.synchronize), size
        except torch.cuda.OutOfMemoryError:
            gc.collect()
            torch.cuda.empty_cache()
            size //= 2
    raise RuntimeError("not even one row fits")


def continuous(torch, args, model, ids):
    """`generate_batch`, paged and continuous; seconds."""
    from transformers import GenerationConfig

    config = GenerationConfig(max_new_tokens=args.generate, do_sample=False, eos_token_id=-1, pad_token_id=0)
    inputs = [row.tolist() for row in ids]
    produced = {}

    def once():
        produced["out"] = model.generate_batch(inputs=inputs, generation_config=config)

    seconds = timed(once, torch.cuda.synchronize)
    counts = {len(one.generated_tokens) for one in produced["out"].values()}
    if len(produced["out"]) != len(inputs) or counts != {args.generate}:
        raise RuntimeError(f"{len(produced['out'])} replies of {counts} tokens for {len(inputs)} of {args.generate}")
    return seconds


def paged_attention():
    """The name of paged attention by PyTorch's own kernels, which changed from version to version."""
    import transformers

    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    return "sdpa" if version >= (5, 20) else "paged|sdpa" if version >= (5, 0) else "sdpa_paged"


def of_transformers(torch, args, name, note):
    """Both ways of transformers, on one model after the other, for all numbers of questions."""
    for side, attention in [("generate", "sdpa"), ("generate_batch", paged_attention())]:
        if side in args.skip:
            continue
        try:
            model = build(torch, SHAPES[name], attention)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other sides go on
            note(side=side, model=name, failed=str(error)[:500])
            continue
        # The continuous batch is computed in a thread of its own, which an inference mode of this thread does not reach.
        with torch.inference_mode() if side == "generate" else torch.no_grad():
            for questions in args.questions:
                ids = prompts(torch, args, SHAPES[name]["vocab_size"], questions)
                try:
                    run = padded if side == "generate" else continuous
                    run(torch, args, model, ids[: args.agents])
                    results = [run(torch, args, model, ids) for _ in range(args.rounds)]
                except Exception as error:  # noqa: BLE001
                    note(side=side, model=name, questions=questions, failed=f"{type(error).__name__}: {error}"[:500])
                    continue
                seconds = [r[0] if isinstance(r, tuple) else r for r in results]
                batch = results[0][1] if isinstance(results[0], tuple) else None
                note(side=side, model=name, questions=questions, seconds=statistics.median(seconds), all=seconds, batch=batch)
        del model
        gc.collect()
        torch.cuda.empty_cache()


def libraries():
    """The environment of moot: CUDA's libraries out of PyTorch's wheels, where they are."""
    environment = dict(os.environ)
    found = importlib.util.find_spec("nvidia.cu13") if importlib.util.find_spec("nvidia") else None
    if found and found.submodule_search_locations:
        folders = [f"{place}/lib" for place in found.submodule_search_locations]
        environment["LD_LIBRARY_PATH"] = ":".join([*folders, environment.get("LD_LIBRARY_PATH", "")]).strip(":")
    return environment


def of_vllm(args, name, note):
    """vLLM, where it is installed, in processes of its own."""
    if "vllm" in args.skip or importlib.util.find_spec("vllm") is None:
        return
    for questions in args.questions:
        command = [sys.executable, str(ROOT / "benches/peers/vllm_batch.py"), json.dumps(SHAPES[name])]
        for field, value in (("questions", questions), ("agents", args.agents), ("shared", args.shared), ("own", args.own),
                             ("generate", args.generate), ("rounds", args.rounds)):
            command += [f"--{field}", str(value)]
        try:
            note(side="vllm", model=name, questions=questions, **run(command, args.timeout))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            note(side="vllm", model=name, questions=questions, failed=str(error)[:500])


def run(command, timeout):
    """The last line that a program prints, as JSON."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=libraries())
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        raise RuntimeError(done.stderr.strip()[-500:] or f"exit status {done.returncode} and no figures")
    return json.loads(lines[-1])


def of_file(args, note):
    """Tokens a second of moot and llama.cpp on one file, in turn."""
    for rows in [int(n) for n in args.rows.split(",")]:
        own, generate = str(args.own), str(args.generate)
        sides = {"moot": [
            str(args.moot), "lab", "bench", "--model", str(args.gguf), "--device", "cuda", "--json", "--prompt", own,
            "--generate", generate, "--rows", str(rows), "--max-rows", str(rows), "--step-tokens", "8192", "--repeat", "1"]}
        if args.llama_cpp:
            sides["llama.cpp"] = [
                str(args.llama_cpp / "llama-batched-bench"), "-m", str(args.gguf), "-ngl", "99", "-fa", "on",
                "-c", str(rows * (args.own + args.generate + 8)), "-b", "2048", "-ub", "2048", "-npp", own, "-ntg", generate,
                "-npl", str(rows), "--output-format", "jsonl"]
        figures = {side: [] for side in sides}
        for _ in range(args.rounds):
            for side, command in sides.items():
                try:
                    measured = run(command, args.timeout)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    note(side=side, model=args.gguf.name, rows=rows, command=command, failed=str(error)[:500])
                    continue
                names = ("prefill_tok_s", "decode_tok_s") if side == "moot" else ("speed_pp", "speed_tg")
                figures[side].append([measured[name] for name in names])
        for side, found in figures.items():
            if found:
                prefill, decode = (statistics.median(column) for column in zip(*found))
                note(side=side, model=args.gguf.name, rows=rows, command=sides[side], prefill=prefill, decode=decode, all=found)


def of_moot(args, name, note):
    """`moot lab bench`, with and without sums in a fixed order, in processes of their own."""
    for side, extra in [("moot", []), ("exact", ["--exact"])]:
        if side in args.skip:
            continue
        for questions in args.questions:
            rows = questions * args.agents
            command = [
                str(args.moot), "lab", "bench", "--model", name, "--weights", "random:bf16", "--device", "cuda", "--json",
                "--prompt", str(args.shared + args.own), "--shared", str(args.shared), "--group", str(args.agents),
                "--generate", str(args.generate), "--rows", str(rows), "--max-rows", str(rows), "--step-tokens", "8192",
                "--repeat", str(args.rounds), *extra]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout, env=libraries())
            except subprocess.TimeoutExpired:
                note(side=side, model=name, questions=questions, command=command, failed=f"no end after {args.timeout} s")
                continue
            if done.returncode != 0:
                note(side=side, model=name, questions=questions, command=command, failed=done.stderr.strip()[-500:])
                continue
            measured = json.loads(done.stdout.strip().splitlines()[-1])
            note(side=side, model=name, questions=questions, command=command, seconds=measured["seconds"], moot=measured)


def in_one_table(args, notes):
    """Seconds of each workload by engine. Of a file they follow from its rates; of transformers' two ways it is the faster."""
    engines = {"moot": "moot", "generate": "transformers", "generate_batch": "transformers", "vllm": "vLLM",
               "llama.cpp": "llama.cpp"}
    works = {}
    for one in notes:
        if "prefill" in one:
            work = f"{one['model']}, {one['rows']} rows"
            seconds = one["rows"] * (args.own / one["prefill"] + args.generate / one["decode"])
        elif "seconds" in one:
            work, seconds = f"{one['model']}, {one['questions']} questions", one["seconds"]
        else:
            continue
        engine = engines.get(one["side"])
        if engine:
            times = works.setdefault(work, {})
            times[engine] = min(seconds, times.get(engine, seconds))
    present = [engine for engine in dict.fromkeys(engines.values()) if any(engine in times for times in works.values())]
    lines = ["", "All engines, seconds:", "", f"| | {' | '.join(present)} |", "|---" * (len(present) + 1) + "|"]
    for work, times in works.items():
        cells = [f"{times[engine]:.2f}" if engine in times else "-" for engine in present]
        lines.append(f"| {work} | {' | '.join(cells)} |")
    return lines if works else []


def report(args, torch, limits, notes, output):
    """The tables."""
    git = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    import transformers

    # Not every argument is for a shell, so each stands as it is.
    command = " ".join(sys.argv)
    lines = [
        f"# {torch.cuda.get_device_name(0)}, {time.strftime('%Y-%m-%d')}", "",
        f"`python {command}`, commit {git.stdout.strip() or 'unknown'}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}, CUDA {torch.version.cuda}.", "",
        f"{args.agents} agents, {args.shared} shared and {args.own} own tokens, {args.generate} generated, bf16, random "
        f"weights, medians of {args.rounds}. Limits measured in this call: {limits['operations_s'] / 1e12:.0f} TFLOP/s "
        f"(8192 x 8192 bf16), {limits['bytes_s'] / 1e12:.2f} TB/s (copy, read and written).", "",
        "Seconds for all of it. moot's are those of its prefill and of its decoding after it, each measured by itself, "
        "so the first token is counted twice.", "",
        "| model | questions | moot | moot --exact | vLLM | generate | generate_batch | vLLM / moot | generate / moot "
        "| generate_batch / moot |", "|---|---|---|---|---|---|---|---|---|---|"]
    by = {(n["side"], n["model"], n.get("questions")): n for n in notes}
    failures = [n for n in notes if "failed" in n]
    shares = []
    for name in args.models:
        for questions in args.questions:
            found = [by.get((side, name, questions), {}) for side in ("moot", "exact", "vllm", "generate", "generate_batch")]
            times = [one.get("seconds") for one in found]
            cell = lambda value, unit="": "-" if value is None else f"{value:.2f}{unit}"
            ratio = lambda other: other / times[0] if other and times[0] else None
            ratios = " | ".join(cell(ratio(t), "x") for t in times[2:])
            lines.append(f"| {name} | {questions} | {' | '.join(map(cell, times))} | {ratios} |")
            for label, one in zip(("moot", "moot --exact"), found[:2]):
                if "moot" in one:
                    m = one["moot"]
                    shares.append(
                        f"| {name} | {questions} | {label} | {m['prefill_tok_s']:.0f} | {100 * m['prefill_share']:.0f} % | "
                        f"{m['decode_tok_s']:.0f} | {100 * m['decode_share']:.0f} % |")
    lines += ["", "Shares of the limits, which each run of moot measures itself: prefill of the matrix product's rate, decoding "
              "of the copy's bandwidth (all weights once and each KV page once a step).", "",
              "| model | questions | side | prefill tok/s | share | decode tok/s | share |", "|---|---|---|---|---|---|---|"]
    lines += shares
    if args.gguf:
        lines += ["", f"{args.gguf.name}, {args.own} tokens of a prompt, {args.generate} generated, nothing shared. Tokens a "
                  "second.", "", "| rows | side | prefill | decode |", "|---|---|---|---|"]
        lines += [f"| {n['rows']} | {n['side']} | {n['prefill']:.0f} | {n['decode']:.0f} |" for n in notes if "prefill" in n]
    if failures:
        lines += ["", "What failed:", ""]
        lines += [f"- {n['side']}, {n['model']}, {n.get('questions', n.get('rows', 'all'))}: {n['failed']!r}" for n in failures]
    lines += in_one_table(args, notes)
    output.write_text("\n".join(lines) + "\n")
    print(f"report: {output}", flush=True)


def main():
    """Measures, and writes after every figure, so that an end in between loses none."""
    args = arguments()
    import torch

    if not torch.cuda.is_available():
        sys.exit("no CUDA device: expected one NVIDIA GPU and torch built for it")
    device = torch.cuda.get_device_name(0).lower().replace(" ", "-")
    output = args.output or RESULTS / f"{time.strftime('%Y-%m-%d')}-{device}.md"
    output.parent.mkdir(parents=True, exist_ok=True)
    limits, notes = ceilings(torch), []
    raw = output.with_suffix(".jsonl").open("w")

    def note(**fields):
        notes.append(fields)
        print(json.dumps(fields), file=raw, flush=True)
        print(json.dumps(fields), flush=True)
        report(args, torch, limits, notes, output)

    print(json.dumps({"side": "torch", **limits}), file=raw, flush=True)
    if args.gguf:
        of_file(args, note)
    for name in args.models:
        torch.cuda.empty_cache()
        of_moot(args, name, note)
        of_vllm(args, name, note)
        of_transformers(torch, args, name, note)
    print("\n".join(in_one_table(args, notes)), flush=True)


if __name__ == "__main__":
    main()
