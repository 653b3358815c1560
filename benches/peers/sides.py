"""The sides: how each runs the same work, and how its output is read."""

import json
import sys
from pathlib import Path

from timed import lines, run

# Figures, in tokens per second. Memory is compared over recorded calls instead: here moot also measures the machine's
# limits, which takes more memory than a small model.
PREFILL, ONE_ROW, MANY_ROWS = "prefill", "decode 1", "decode N"
HERE = Path(__file__).resolve().parent
# Files of the catalog with tensors of Q5_0.
WITH_Q5_0 = ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",)


class LlamaCpp:
    """llama.cpp's own bench programs with their defaults: flash attention where supported, f16 keys and values."""

    name = "llama.cpp"
    # What its server needs beyond its defaults.
    server_words = ()

    def __init__(self, args):
        self.args, self.folder = args, args.peer

    def program(self, name):
        """A program's path."""
        return Path(self.folder) / name

    def measure(self, gguf):
        """Figures by name. Its programs warm up first, by a whole prompt and by 16 tokens."""
        args = self.args
        common = ["-m", gguf, "-t", args.threads]
        bench = [self.program("llama-bench"), *common, "-r", 1, "-o", "jsonl"]
        prefill = lines(run([*bench, "-p", args.prompt, "-n", 0], args.prefix))[0]
        one = lines(run([*bench, "-p", 0, "-n", args.generate, "-d", args.prompt], args.prefix))[0]
        # Each row has a cache of its own, of whole blocks of 256.
        context = args.rows * ((args.prompt + args.generate + 255) // 256 * 256)
        batched = [self.program("llama-batched-bench"), *common, "-tb", args.threads, "-c", context, "-pps"]
        batched += ["-npp", args.prompt, "-ntg", args.generate, "-npl", args.rows, "--output-format", "jsonl"]
        many = lines(run(batched, args.prefix))[0]
        return {
            PREFILL: prefill["avg_ts"],
            ONE_ROW: one["avg_ts"],
            MANY_ROWS: many["speed_tg"],
            "commit": prefill["build_commit"],
        }

    def requantised(self, gguf, stored):
        """The path of `gguf` with its weights as Q8_0, made in the folder `stored` where it is not there yet."""
        made = Path(stored) / f"{gguf.stem}.requantised-q8_0.gguf"
        if not made.exists():
            partial = made.with_suffix(".partial")
            print(f"requantising {gguf.name} as {made}", file=sys.stderr)
            run([self.program("llama-quantize"), "--allow-requantize", gguf, partial, "Q8_0", self.args.threads])
            partial.rename(made)
        return made


class IkLlamaCpp(LlamaCpp):
    """ik_llama.cpp's batched bench, with flash attention. Its run-time repacking (`-rtr 1`) is left out: it made prefill
    slower."""

    name = "ik_llama.cpp"
    # With flash attention and several slots its server ends at `GGML_ASSERT(S > 0)` (iqk_fa_templates.h).
    server_words = ("-fa", "off")

    def __init__(self, args):
        super().__init__(args)
        self.folder = args.ik

    def measure(self, gguf):
        """Figures by name, all of one run: a prompt and one row over it, then the rows. It warms up by 16 tokens."""
        args = self.args
        context = args.rows * ((args.prompt + args.generate + 255) // 256 * 256)
        batched = [self.program("llama-batched-bench").resolve(), "-m", gguf.resolve(), "-t", args.threads, "-tb", args.threads]
        batched += ["-c", context, "-pps", "-fa", "on", "-npp", args.prompt, "-ntg", args.generate]
        # It leaves a log where it runs.
        printed = run([*batched, "-npl", f"1,{args.rows}"], args.prefix, errors=True, folder=args.folder)
        # A table: PP, TG, B, N_KV, T_PP, S_PP, T_TG, S_TG, T, S.
        cells = [line.strip("|").split("|") for line in printed.splitlines() if line.startswith("|")]
        one, many = ([float(cell) for cell in row] for row in cells if row[0].strip().isdigit())
        return {PREFILL: one[5], ONE_ROW: one[7], MANY_ROWS: many[7]}


class Library:
    """A Python library, which `in_python.py` runs in the library's own environment."""

    name = side = None

    def __init__(self, args, environment, python):
        self.args, self.environment, self.python = args, environment, python

    def work(self, mode, *words):
        """What `in_python.py` prints."""
        return run([self.python, HERE / "in_python.py", mode, *words], self.args.prefix, self.environment)

    def model(self, gguf):
        """What the library opens instead of `gguf`."""
        raise NotImplementedError

    def measure(self, gguf):
        """Figures by name."""
        args = self.args
        words = ["--threads", args.threads, "--prompt", args.prompt, "--generate", args.generate, "--rows", args.rows]
        return lines(self.work(self.side, self.model(gguf), *words))[-1]


class OpenVino(Library):
    """OpenVINO GenAI on the GGUF file. It does not read Q5_0, so a file that has it is requantised as Q8_0."""

    name, side = "OpenVINO", "openvino"

    def __init__(self, args, environment, llama_cpp):
        super().__init__(args, environment, args.openvino)
        self.llama_cpp = llama_cpp

    def model(self, gguf):
        return self.llama_cpp.requantised(gguf, self.args.folder) if gguf.name in WITH_Q5_0 else gguf


class Vllm(Library):
    """vLLM for CPUs on the file's weights, widened to bfloat16."""

    name, side = "vLLM", "vllm"

    def __init__(self, args, environment):
        super().__init__(args, environment, args.vllm)

    def model(self, gguf):
        made = Path(self.args.folder) / f"{gguf.stem}.bfloat16"
        if not made.exists():
            partial = made.with_suffix(".partial")
            print(f"widening {gguf.name} to {made}", file=sys.stderr)
            self.work("widen", gguf, partial)
            partial.rename(made)
        return made


class Moot:
    """This repository's program."""

    name = "moot"

    def __init__(self, args, environment):
        self.args, self.environment = args, environment

    def run(self, *words):
        """Runs a subcommand that is timed."""
        return run([self.args.moot, *words], self.args.prefix, self.environment)

    def measure(self, alias):
        """Figures by name. Two rows warm up, as the peer's programs do, and are passed over."""
        args = self.args
        words = ["--model", alias, "--offline", "--threads", args.threads, "--prompt", args.prompt, "--shared-prefix"]
        words += ["--generate", args.generate, "--rows", f"2,1,{args.rows}", "--json"]
        _, one, many = lines(self.run("lab", "bench", *words))
        return {
            PREFILL: one["prefill_tok_s"],
            ONE_ROW: one["decode_tok_s"],
            MANY_ROWS: many["decode_tok_s"],
            "table": one["device"],
            "share of limit": {
                PREFILL: one["prefill_share"],
                ONE_ROW: one["decode_share"],
                MANY_ROWS: many["decode_share"],
            },
        }

    def gguf(self, alias):
        """Where the GGUF file of a model lies: `alias` itself where it is a path."""
        if Path(alias).is_file():
            return Path(alias)
        info = json.loads(run([self.args.moot, "models", "info", alias, "--json"]))
        if not info["here"]:
            sys.exit(f"{alias} is not on this machine: `moot models pull {alias}` fetches it")
        return Path(info["path"])
