"""The official Python client of MCP against moot.

    python benches/serve/mcp_client.py PROGRAM MODEL [OPTION ...]

Needs `pip install mcp` (2.3 or later). Starts `PROGRAM mcp` over standard input and output and `PROGRAM serve` over HTTP with
`-m MODEL` and OPTIONs. With each it connects as a client with `initialize` (2025-11-25), as a stateless one (2026-07-28) and as
one that finds out, and does the same: lists the tools, asks a question with progress, labels a text, searches, lists the
sources, asks two questions at once, sends a wrong argument, cancels a long call and asks again. The client checks
every structured content against the tool's output schema. Prints a line of JSON for each connection, and ends with an error if
anything is not as expected.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import anyio
from mcp import StdioServerParameters
from mcp.client.client import Client

DOCUMENTS = [
    {"name": "almanac", "text": "The Orrin ferry stopped in 1974.", "date": "1990", "source": "county"},
    {"name": "board", "text": "The Orrin ferry stopped in 1968.", "date": "1969", "source": "ferry board"},
]
QUESTION = {"question": "When did the Orrin ferry stop?", "documents": DOCUMENTS}
CORPUS = [
    {"text": "The Orrin ferry stopped in 1968.", "source": "ferry board", "date": "1969"},
    {"text": "The Orrin ferry stopped in 1974, says the county.", "source": "county", "date": "1990"},
]
# A question that takes a while with any model.
LONG = {
    "question": "When did the Orrin ferry stop?",
    "documents": [{"text": f"Board {number} says that the ferry stopped in {1900 + number}."} for number in range(20)],
    "method": {"name": "madam-rag", "switches": {"rounds": 3}, "max_tokens": 2000},
}


async def session(client):
    """Everything that a client does; what is printed of it."""
    said = {"revision": client.protocol_version, "server": client.server_info.name if client.server_info else None}
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["ask", "conflict", "contradictions", "search", "sources"], tools
    assert all(tool.annotations.read_only_hint for tool in tools.values())

    progress = []

    async def told(done, total, message):
        progress.append((done, message))

    start = time.monotonic()
    asked = await client.call_tool("ask", QUESTION, progress_callback=told)
    assert not asked.is_error, asked.content
    said["ask_seconds"] = round(time.monotonic() - start, 2)
    said["answers"] = [answer["text"] for answer in asked.structured_content["answers"]]
    said["progress"] = len(progress)
    assert progress and [done for done, _ in progress] == list(range(1, len(progress) + 1)), progress

    labelled = await client.call_tool("conflict", {"text": "The Orrin ferry stopped in 1974.", "documents": DOCUMENTS})
    # A model without training writes no claims.
    said["claims"] = None if labelled.is_error else len(labelled.structured_content["claims"])
    found = await client.call_tool("search", {"query": "Orrin ferry"})
    said["passages"] = len(found.structured_content["passages"])
    listed = await client.call_tool("sources", {})
    said["sources"] = {source["source"]: source["passages"] for source in listed.structured_content["sources"]}
    assert said["sources"] == {"county": 1, "ferry board": 1}, listed

    both = []

    async def ask():
        both.append((await client.call_tool("ask", QUESTION)).structured_content["answers"])

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(ask)
    assert both[0] == both[1] == asked.structured_content["answers"], both

    wrong = await client.call_tool("ask", {"question": "x", "documents": [{"text": 1}]})
    assert wrong.is_error and "documents[0].text" in wrong.content[0].text, wrong

    start = time.monotonic()
    with anyio.CancelScope() as scope:

        async def leave(done, total, message):
            scope.cancel()

        await client.call_tool("ask", LONG, progress_callback=leave)
    assert scope.cancelled_caught, "the long call was answered before it was cancelled"
    again = await client.call_tool("ask", QUESTION)
    assert again.structured_content["answers"] == asked.structured_content["answers"]
    said["after_cancel_seconds"] = round(time.monotonic() - start, 2)
    return said


async def connect(server, mode):
    async with Client(server, mode=mode) as client:
        return await session(client)


def corpus(folder):
    path = os.path.join(folder, "ferry.jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in CORPUS)
    return path


def port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def cancelled(address):
    """The calls that the server says were cancelled."""
    lines = urllib.request.urlopen(f"{address}/metrics").read().decode().splitlines()
    return int(float(next(line for line in lines if line.startswith("moot_cancelled_total")).split()[1]))


def until_ready(address, process):
    for _ in range(1200):
        assert process.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(f"{address}/health")
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server is not ready after two minutes")


def main():
    program, model, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        options = ["-m", model, "--offline", "--corpus", corpus(folder), "--embedder", "none", *options]
        for mode in ("legacy", "2026-07-28", "auto"):
            said = anyio.run(connect, StdioServerParameters(command=program, args=["mcp", *options]), mode)
            print(json.dumps({"transport": "stdio", "mode": mode, **said}), flush=True)
        address = f"http://127.0.0.1:{port()}"
        served = subprocess.Popen([program, "serve", "--port", address.rsplit(":", 1)[1], *options])
        try:
            until_ready(address, served)
            for number, mode in enumerate(("legacy", "2026-07-28", "auto"), start=1):
                said = anyio.run(connect, f"{address}/mcp", mode)
                assert cancelled(address) == number, "the cancelled call goes on"
                print(json.dumps({"transport": "http", "mode": mode, **said}), flush=True)
        finally:
            served.terminate()
            served.wait()


if __name__ == "__main__":
    main()
