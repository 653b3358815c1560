"""moot and its peers in turn, on the same GGUF files: medians, spreads and ratios.

Started by llama_cpp.sh, which builds or installs the peers. Needs only the standard library.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import debate
from sides import MANY_ROWS, ONE_ROW, PREFILL, IkLlamaCpp, LlamaCpp, Moot, OpenVino, Vllm

# Figures for which less is better.
LESS = (debate.SECONDS, debate.COMPUTED, debate.PEAK)
ROOT = Path(__file__).resolve().parents[2]
MODELS = "smollm2-135m,qwen2.5-coder-0.5b,qwen2.5-coder-1.5b"
# CPU flags that choose kernels on either side.
OF_NOTE = ("avx2", "avx512f", "avx512vbmi", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8", "amx_bf16")


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="llama_cpp.sh", usage=argparse.SUPPRESS)
    add = parser.add_argument
    add("--peer", required=True, help=argparse.SUPPRESS)
    add("--folder", required=True, help=argparse.SUPPRESS)
    add("--ik", help=argparse.SUPPRESS)
    add("--openvino", help=argparse.SUPPRESS)
    add("--vllm", help=argparse.SUPPRESS)
    add("--no-amx", action="store_true", help=argparse.SUPPRESS)
    add("--avx-vnni", action="store_true", help=argparse.SUPPRESS)
    add("--avx2", action="store_true", help=argparse.SUPPRESS)
    add("--moot", default=os.environ.get("MOOT", ROOT / "target/release/moot"), help="moot's program [$MOOT]")
    add("--models", default=MODELS, help="names of moot's catalog or paths, with commas [%(default)s]")
    add("--q8", default="", metavar="MODELS", help="models of --models that llama.cpp also runs requantised as Q8_0")
    add("--rounds", type=int, default=5, help="times that each side is measured, in turn [%(default)s]")
    add("--threads", type=int, default=2, help="threads of either side [%(default)s]")
    add("--prompt", type=int, default=512, help="tokens of the prompt, and depth of decoding [%(default)s]")
    add("--generate", type=int, default=64, help="tokens generated a row [%(default)s]")
    add("--rows", type=int, default=8, help="rows that share the prompt [%(default)s]")
    add("--prefix", type=shlex.split, default=[], help='words before each timed command, as "chrt -f 20"')
    add("--output", type=Path, help="file that gets every figure, a JSON object a line [a new one in --folder]")
    recorded = parser.add_argument_group("recorded calls instead")
    add = recorded.add_argument
    add("--record", type=Path, help="a record of `moot run`: its calls, lengths forced, against llama-server")
    add("--questions", type=int, help="only the record's first questions")
    add("--slots", type=int, default=8, help="slots of llama-server [%(default)s]")
    add("--in-flight", type=int, default=1, help="questions at once, on both sides [%(default)s]")
    args = parser.parse_args()
    if min(args.rounds, args.threads, args.prompt, args.generate, args.rows, args.slots, args.in_flight) < 1:
        parser.error("--rounds, --threads, --prompt, --generate, --rows, --slots and --in-flight: at least 1")
    if not Path(args.moot).is_file():
        parser.error(f"{args.moot} is not there: `cargo build --release` makes it, and --moot names another")
    args.models = [name for name in args.models.split(",") if name]
    args.q8 = [name for name in args.q8.split(",") if name]
    if not args.record and not set(args.q8) <= set(args.models):
        parser.error(f"--q8: expected some of {', '.join(args.models)}")
    args.output = args.output or Path(args.folder) / time.strftime("llama_cpp-%Y-%m-%dT%H%M%S.jsonl")
    return args


def machine(args):
    """What the figures hold for."""
    cpu = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines())
    cpu = {key.strip(): value.strip() for key, value in cpu.items()}
    flags = [flag for flag in OF_NOTE if flag in cpu["flags"].split()]
    git = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "kind": "machine",
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": cpu["model name"],
        "flags": flags,
        "cores": os.cpu_count(),
        "threads": args.threads,
        "refused": refused(args),
        "commit": git.stdout.strip() or "unknown",
        "moot": f"{args.moot} of {time.strftime('%Y-%m-%d %H:%M', time.localtime(os.path.getmtime(args.moot)))}",
        "llama.cpp": args.peer,
        "ik_llama.cpp": args.ik,
        "OpenVINO": args.openvino,
        "vLLM": args.vllm,
        "prefix": " ".join(args.prefix),
        "load": os.getloadavg()[0],
    }


def refused(args):
    """The instructions that no side uses."""
    if args.avx2:
        return "AVX-VNNI, AVX-512 and AMX"
    return "AVX-512 and AMX" if args.avx_vnni else "AMX" if args.no_amx else "nothing"


def refusing(args, flags):
    """The environment in which moot leaves alone what the peers are built without, and the libraries too: oneDNN's limit,
    OpenVINO's, and what `in_python.py` tells vLLM. OpenVINO's own kernels may not heed theirs."""

    def environment(table, limit):
        return {"MOOT_CPU": table, "ONEDNN_MAX_CPU_ISA": limit, "OV_CPU_MAX_ISA": limit}

    if args.avx2:
        return environment("avx2", "AVX2")
    below = ("avx-vnni", "AVX2_VNNI") if "avx_vnni" in flags else ("avx2", "AVX2")
    if args.avx_vnni:
        return environment(*below)
    if args.no_amx and "amx_int8" in flags:
        return environment(*(("avx512", "AVX512_CORE_BF16") if "avx512_vnni" in flags else below))
    return {}


def in_turn(sides, rounds, write):
    """Samples by side: every side once, then every side again."""
    samples = {name: [] for name, _ in sides}
    for number in range(rounds):
        for name, measure in sides:
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
            samples[name].append(measure())
            write({"kind": "sample", "round": number, "side": name, **samples[name][-1]})
    return samples


def cell(values):
    """Median and spread."""
    digits = 1 if max(values) < 1000 else 0
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f}..{high:.{digits}f})"


def ratio(ours, theirs, less_is_better=False):
    """Ratio of the medians, and the spread of the rounds' ratios; above 1 where ours is better."""
    if less_is_better:
        ours, theirs = theirs, ours
    rounds = [mine / other for mine, other in zip(ours, theirs)]
    return f"{statistics.median(ours) / statistics.median(theirs):.2f} ({min(rounds):.2f}..{max(rounds):.2f})"


def table(title, works, samples, write):
    """Prints a row for each of `works`, pairs of a name and what it is called, and writes what it says."""
    peers = [name for name in samples if name != "moot"]
    rows = [[title, "moot", "of limit", *(word for name in peers for word in (name, f"against {name}"))]]
    for work, called in works:
        ours = [sample[work] for sample in samples["moot"]]
        limits = [sample.get("share of limit", {}) for sample in samples["moot"]]
        shares = [share[work] for share in limits if work in share]
        row = [called, cell(ours), f"{100 * statistics.median(shares):.0f} %" if shares else ""]
        for name in peers:
            theirs = [sample[work] for sample in samples[name]]
            row += [cell(theirs), ratio(ours, theirs, less_is_better=work in LESS)]
        rows.append(row)
        write({"kind": "summary", "model": title, "work": called, **dict(zip(rows[0][1:], row[1:]))})
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())
    print(flush=True)


def speeds(args, moot, write):
    """Prefill and decode, model by model."""
    works = [
        (PREFILL, f"prefill {args.prompt}, tok/s"),
        (ONE_ROW, f"decode 1 row at depth {args.prompt}, tok/s"),
        (MANY_ROWS, f"decode {args.rows} rows over {args.prompt} shared, tok/s"),
    ]
    peer, ik = LlamaCpp(args), IkLlamaCpp(args)
    environment = moot.environment
    libraries = [OpenVino(args, environment, peer)] * bool(args.openvino) + [Vllm(args, environment)] * bool(args.vllm)
    files = {alias: moot.gguf(alias) for alias in args.models}
    for alias, gguf in files.items():
        # What each is measured on is bound here: a loop's variables would be its last ones'.
        sides = [("llama.cpp", lambda gguf=gguf: peer.measure(gguf)), ("moot", lambda alias=alias: moot.measure(alias))]
        if args.ik:
            sides.insert(1, (ik.name, lambda gguf=gguf: ik.measure(gguf)))
        sides += [(side.name, lambda side=side, gguf=gguf: side.measure(gguf)) for side in libraries]
        if alias in args.q8:
            q8 = peer.requantised(gguf, args.folder)
            sides.append(("llama.cpp Q8_0", lambda q8=q8: peer.measure(q8)))
        write({"kind": "model", "model": alias, "file": gguf.name, "bytes": gguf.stat().st_size})
        table(alias, works, in_turn(sides, args.rounds, write), write)


def main():
    """Measures, prints and writes."""
    args = arguments()
    here = machine(args)
    moot = Moot(args, refusing(args, here["flags"]))
    print(f"{here['cpu']}, {here['cores']} cores: {' '.join(here['flags'])}; refused: {here['refused']}")
    print(f"{here['threads']} threads a side, {args.rounds} rounds in turn, {here['date']}, commit {here['commit']}")
    print("median (least..most); the ratio of the medians (least..most of the rounds' ratios)\n", flush=True)
    with args.output.open("a") as output:

        def write(line):
            output.write(json.dumps(line) + "\n")
            output.flush()

        write(here)
        if args.record:
            peers = [LlamaCpp(args), *([IkLlamaCpp(args)] if args.ik else [])]
            debate.measure(args, moot, peers, in_turn, table, write)
        else:
            speeds(args, moot, write)
    print(f"every figure: {args.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
