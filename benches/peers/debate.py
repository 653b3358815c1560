"""Recorded calls with forced lengths on both sides: llama-server with slots, and `moot lab bench --calls`."""

import json
import sys
import tempfile
from pathlib import Path

from timed import lines, run

# Names of figures of both sides.
SECONDS, COMPUTED, GENERATED, PEAK = "seconds", "computed_tokens", "generated_tokens", "peak_resident_mb"


def exported(args):
    """The record's calls, limited to the first --questions questions if given; and the number of questions."""
    calls = lines(run([args.moot, "record", "calls", args.record]))
    order = dict.fromkeys(call["question"] for call in calls)
    kept = set(list(order)[: args.questions])
    return [call for call in calls if call["question"] in kept], len(kept)


def through_server(args, peer, gguf, calls):
    """Figures of a new llama-server with empty caches."""
    client = [sys.executable, Path(__file__).parent / "server.py", peer.program("llama-server"), gguf, calls]
    return lines(run([*client, args.threads, args.slots, args.in_flight, *peer.server_words], args.prefix))[0]


def through_moot(args, moot, alias, calls):
    """Figures of moot, started anew."""
    words = ["--model", alias, "--offline", "--threads", args.threads, "--calls", calls]
    figures = lines(moot.run("lab", "bench", *words, "--in-flight", args.in_flight, "--json"))[0]
    return {**figures, PEAK: figures["peak_resident_bytes"] / 1e6}


def measure(args, moot, peers, in_turn, table, write):
    """All sides in turn, and a table."""
    with args.record.open() as record:
        alias = json.loads(record.readline())["model"]["name"]
    gguf = moot.gguf(alias)
    calls, questions = exported(args)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(call) + "\n" for call in calls)
        file.flush()
        sides = [
            *((peer.name, lambda peer=peer: through_server(args, peer, gguf, file.name)) for peer in peers),
            ("moot", lambda: through_moot(args, moot, alias, file.name)),
        ]
        if alias in args.q8:
            q8 = peers[0].requantised(gguf, args.folder)
            sides.append(("llama.cpp Q8_0", lambda: through_server(args, peers[0], q8, file.name)))
        counts = {"questions": questions, "calls": len(calls), "slots": args.slots, "in_flight": args.in_flight}
        write({"kind": "calls", "record": args.record.name, "model": alias, **counts})
        samples = in_turn(sides, args.rounds, write)
    print(f"{questions} questions, {len(calls)} calls, {args.in_flight} questions at a time, {args.slots} slots")
    works = [(SECONDS, "seconds"), (COMPUTED, "prompt tokens computed"), (GENERATED, "tokens generated")]
    works.append((PEAK, "peak resident, MB"))
    table(alias, works, samples, write)
