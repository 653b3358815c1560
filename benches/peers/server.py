"""Recorded calls through llama-server, timed: `server.py PROGRAM GGUF CALLS THREADS SLOTS IN_FLIGHT
[OPTIONS OF THE SERVER]`.

CALLS is the output of `moot record calls`. The calls of a stage are sent at once, stages in order, IN_FLIGHT questions at a
time, each call forced to its recorded length. This separate program also starts the server, so that --prefix applies to
both. Prints one JSON object.
"""

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby


def questions(path):
    """The calls of each question as a list of stages, in their order."""
    with open(path) as lines:
        calls = [json.loads(line) for line in lines]
    result = []
    for _, asked in groupby(calls, key=lambda call: call["question"]):
        # A question's calls are in the order asked, which may run ahead of a stage.
        asked = sorted(asked, key=lambda call: call["stage"])
        result.append([list(stage) for _, stage in groupby(asked, key=lambda call: call["stage"])])
    return result


def context(asked):
    """Tokens that a slot must hold. A token is 2 bytes at least on the average of any text that is a prompt here."""
    calls = [call for stages in asked for stage in stages for call in stage]
    needed = [sum(len(m["content"].encode()) for m in c["messages"]) // 2 + c["completion_tokens"] for c in calls]
    return (max(needed) + 128 + 255) // 256 * 256


def free_port():
    """A free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def request(port, method, path, body=None):
    """Status and JSON of a reply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def complete(port, call):
    """Sends a call; its usage."""
    tokens = call["completion_tokens"]
    body = {"messages": call["messages"], "max_tokens": tokens, "ignore_eos": True}
    body |= {"temperature": 0, "cache_prompt": True}
    status, reply = request(port, "POST", "/v1/chat/completions", body)
    if status != 200:
        raise RuntimeError(f"llama-server: {status}: {reply}")
    if reply["usage"]["completion_tokens"] != tokens:
        raise RuntimeError(f"llama-server: {reply['usage']['completion_tokens']} tokens where {tokens} were forced")
    return {**reply["usage"], "computed": reply["timings"]["prompt_n"]}


def wait_until_ready(port, server):
    """Returns when the model is loaded."""
    while True:
        if server.poll() is not None:
            raise RuntimeError(f"llama-server ended with {server.returncode}")
        try:
            if request(port, "GET", "/health")[0] == 200:
                return
        except OSError:
            pass  # It does not listen yet.
        time.sleep(0.1)


def run(port, asked, in_flight):
    """Seconds, and the usage of every call."""

    def answer(stages, pool):
        return [usage for stage in stages for usage in pool.map(lambda call: complete(port, call), stage)]

    most = max(len(stage) for stages in asked for stage in stages)
    with ThreadPoolExecutor(in_flight) as askers, ThreadPoolExecutor(most * in_flight) as callers:
        started = time.monotonic()
        answered = list(askers.map(lambda stages: answer(stages, callers), asked))
        return time.monotonic() - started, [usage for usages in answered for usage in usages]


def main():
    """Starts the server, times the calls, ends it."""
    program, gguf, calls, threads, slots, in_flight, *more = sys.argv[1:]
    asked, port = questions(calls), free_port()
    command = [os.path.abspath(program), "-m", os.path.abspath(gguf), "--host", "127.0.0.1", "--port", str(port)]
    command += ["-t", threads, "-tb", threads, "-np", slots, "-c", str(int(slots) * context(asked)), *more]
    # ik_llama.cpp's server also leaves a log where it runs.
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", errors="replace") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: (server.kill(), os._exit(1)))
        try:
            wait_until_ready(port, server)
            seconds, usages = run(port, asked, int(in_flight))
        except (RuntimeError, OSError, http.client.HTTPException) as error:
            log.seek(0)
            sys.exit(f"{error!r}; the end of the server's log:\n{log.read()[-2000:]}")
        finally:
            server.terminate()
            server.wait()
    prompt, computed, generated = (
        sum(usage[name] for usage in usages) for name in ("prompt_tokens", "computed", "completion_tokens")
    )
    figures = {"calls": len(usages), "seconds": seconds, "prompt_tokens": prompt, "computed_tokens": computed}
    figures["peak_resident_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    print(json.dumps({**figures, "generated_tokens": generated}))


if __name__ == "__main__":
    main()
