"""moot serve beside llama.cpp's server, and vLLM's if it is named: the same model, slots, threads and prompts, in turn.

    python benches/serve/beside.py MODEL.gguf [--llama BIN/llama-server] [--moot PROGRAM] [--vllm PYTHON --widened FOLDER]
        [--rounds 3] [--chats 32] [--slots 8] [--threads 2] [--prefix "chrt -f 20"]

Prompts are pieces of this repository's pages (docs/). Each round starts each server anew and measures

    start       seconds from the program's start to the first answer of one token; with --chats 0 this alone
    start, CPU  CPU seconds of the server until then (Linux)
    apart       tokens/s of chats of 64 tokens, one client a slot; each chat has a document of its own
    shared      the same with one document for all chats
    first, new  seconds to the first token of a chat alone whose document is new, median of 5
    first, seen the same where the document was read before
    first, all  as many chats at once as there are slots, all of one new document: median
"""

import argparse
import http.client
import json
import os
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKENS, WORDS = 64, 250
QUESTIONS = ["What is this text about?", "Which numbers does it give?", "Who is it written for?", "Which files does it name?"]


def documents(words):
    """Pieces of that many words of this repository's pages, in order."""
    text = " ".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))).split()
    return [" ".join(text[at : at + words]) for at in range(0, len(text) - words, words)]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def cpu_seconds(pid):
    """In user mode and in the kernel, by all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A server that runs until the end of the block."""

    def __init__(self, command, prefix):
        self.port, self.model = free_port(), None
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.started = time.monotonic()
        words = [*prefix, *[str(word).replace("PORT", str(self.port)) for word in command]]
        self.process = subprocess.Popen(words, stdout=self.log, stderr=self.log)
        self.wait()

    def wait(self):
        while True:
            if self.process.poll() is not None or time.monotonic() - self.started > 600:
                self.log.seek(0)
                sys.exit(f"the server ended or does not answer:\n{self.log.read()[-2000:]}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    break
            except OSError:
                pass
            time.sleep(0.01)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", "/v1/models")
        self.model = json.loads(connection.getresponse().read())["data"][0]["id"]
        self.chat("Hello.", 1)
        self.start = time.monotonic() - self.started
        self.start_cpu = cpu_seconds(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def chat(self, text, tokens):
        """Seconds to the first token and to the end, and the tokens of the reply. Streamed, as a chat is."""
        body = {"model": self.model, "messages": [{"role": "user", "content": text}], "max_tokens": tokens}
        body |= {"temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        begun, first, generated = time.monotonic(), None, 0
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            sys.exit(f"{response.status}: {response.read()[:500]}")
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if first is None and any(choice["delta"].get("content") for choice in event["choices"]):
                first = time.monotonic() - begun
            generated = (event.get("usage") or {}).get("completion_tokens", generated)
        connection.close()
        return first, time.monotonic() - begun, generated


def asked(document, question):
    return f"Read this text.\n\n{document}\n\n{question} Answer at length."


def throughput(server, chats, slots):
    """Generated tokens per second, and how many were generated."""
    begun = time.monotonic()
    with ThreadPoolExecutor(slots) as pool:
        generated = sum(done[2] for done in pool.map(lambda text: server.chat(text, TOKENS), chats))
    return generated / (time.monotonic() - begun), generated


def measure(server, slots, chats):
    """Figures by name. Each measurement has documents of its own, so that none is in a cache already."""
    pieces, figures = iter(documents(WORDS)), {"start": server.start, "start, CPU": server.start_cpu}
    if chats == 0:
        return figures
    apart = [asked(next(pieces), QUESTIONS[n % len(QUESTIONS)]) for n in range(chats)]
    one = next(pieces)
    shared = [asked(one, f"{QUESTIONS[n % len(QUESTIONS)]} ({n})") for n in range(chats)]
    figures["apart"], figures["apart tokens"] = throughput(server, apart, slots)
    figures["shared"], figures["shared tokens"] = throughput(server, shared, slots)
    longer = iter(documents(3 * WORDS))
    next(longer)
    new, seen = [], []
    for _ in range(5):
        document = "Another one. " + next(longer)
        new.append(server.chat(asked(document, QUESTIONS[0]), 2)[0])
        seen.append(server.chat(asked(document, QUESTIONS[1]), 2)[0])
    figures["first, new"], figures["first, seen"] = statistics.median(new), statistics.median(seen)
    document = "The last one. " + next(longer)
    with ThreadPoolExecutor(slots) as pool:
        texts = [asked(document, f"{QUESTIONS[n % len(QUESTIONS)]} ({n})") for n in range(slots)]
        firsts = [done[0] for done in pool.map(lambda text: server.chat(text, 2), texts)]
    figures["first, all"] = statistics.median(firsts)
    return figures


def sides(args):
    """The command of each server."""
    slots, threads = args.slots, args.threads
    commands = {
        "moot": [args.moot, "serve", "--model", args.model, "--offline", "--port", "PORT", "--threads", threads, "--requests", slots],
    }
    if args.llama:
        words = ["-m", args.model, "--port", "PORT", "-t", threads, "-tb", threads, "-np", slots, "-c", 2048 * slots]
        commands["llama.cpp"] = [args.llama, *words]
    if args.vllm:
        words = ["-m", "vllm.entrypoints.openai.api_server", "--model", args.widened, "--port", "PORT", "--dtype", "bfloat16"]
        commands["vLLM"] = [args.vllm, *words, "--max-num-seqs", slots, "--max-model-len", 2048]
    return commands


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model")
    add("--llama")
    add("--moot", default=ROOT / "target/release/moot")
    add("--vllm")
    add("--widened")
    add("--rounds", type=int, default=3)
    add("--chats", type=int, default=32)
    add("--slots", type=int, default=8)
    add("--threads", type=int, default=2)
    add("--prefix", type=shlex.split, default=[])
    args = parser.parse_args()
    os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "2", "OMP_NUM_THREADS": str(args.threads)}
    all_figures = {}
    for number in range(args.rounds):
        for name, command in sides(args).items():
            with Server(command, args.prefix) as server:
                figures = measure(server, args.slots, args.chats)
            print(json.dumps({"round": number, "side": name, **{key: round(value, 4) for key, value in figures.items()}}), flush=True)
            for key, value in figures.items():
                all_figures.setdefault(key, {}).setdefault(name, []).append(value)
    print(f"\n{Path(args.model).name}, {args.slots} slots, {args.threads} threads: median of {args.rounds} (least..most)")
    for key, values in all_figures.items():
        shown = [f"{name} {statistics.median(of):.3g} ({min(of):.3g}..{max(of):.3g})" for name, of in values.items()]
        ours = statistics.median(values["moot"])
        ratios = [f"{name}/moot {statistics.median(of) / ours:.2f}" for name, of in values.items() if name != "moot"]
        print(f"{key:14} {'; '.join(shown)}; {'; '.join(ratios)}")


if __name__ == "__main__":
    main()
