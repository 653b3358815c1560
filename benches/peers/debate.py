"""The calls of a recorded run on both sides, lengths forced: llama-server with slots against `moot bench --calls`."""

import json
import sys
import tempfile
from pathlib import Path

from timed import run

# Names of figures of both sides.
SECONDS, COMPUTED, GENERATED = "seconds", "computed_tokens", "generated_tokens"


def exported(args):
    """The lines of `moot calls`, of the first questions alone where so asked; and the number of questions."""
    lines = run([args.moot, "calls", args.record]).out.splitlines()
    order = dict.fromkeys(json.loads(line)["question"] for line in lines)
    kept = set(list(order)[: args.questions])
    return [line for line in lines if json.loads(line)["question"] in kept], len(kept)


def through_server(args, peer, gguf, calls):
    """Figures of llama-server, started anew: its caches are cold."""
    client = [sys.executable, Path(__file__).parent / "server.py", peer.program("llama-server"), gguf, calls]
    return run([*client, args.threads, args.slots, args.in_flight], args.prefix).lines()[0]


def through_moot(args, moot, alias, calls):
    """Figures of moot, started anew."""
    words = ["--model", alias, "--offline", "--threads", args.threads, "--calls", calls]
    return moot.run("bench", *words, "--in-flight", args.in_flight, "--json").lines()[0]


def measure(args, moot, peer, in_turn, table, write):
    """Both sides in turn, and a table."""
    with args.record.open() as record:
        alias = json.loads(record.readline())["model"]["name"]
    gguf = moot.gguf(alias)
    lines, questions = exported(args)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as calls:
        calls.write("\n".join(lines) + "\n")
        calls.flush()
        sides = [
            ("llama.cpp", lambda: through_server(args, peer, gguf, calls.name)),
            ("moot", lambda: through_moot(args, moot, alias, calls.name)),
        ]
        if alias in args.q8:
            q8 = peer.requantised(gguf, args.folder)
            sides.append(("llama.cpp Q8_0", lambda: through_server(args, peer, q8, calls.name)))
        counts = {"questions": questions, "calls": len(lines), "slots": args.slots, "in_flight": args.in_flight}
        write({"kind": "calls", "record": args.record.name, "model": alias, **counts})
        samples = in_turn(sides, args.rounds, write)
    print(f"{questions} questions, {len(lines)} calls, {args.in_flight} questions at a time, {args.slots} slots")
    works = [(SECONDS, "seconds"), (COMPUTED, "prompt tokens computed"), (GENERATED, "tokens generated")]
    table(alias, works, samples, write)
