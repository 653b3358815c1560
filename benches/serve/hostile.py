"""Requests that are wrong, slow, too large or left: no panic, nothing held afterwards.

    python benches/serve/hostile.py PROGRAM MODEL [REQUESTS] [SEED]

Starts the server itself and reads its messages. REQUESTS (1,000) malformed ones are drawn; beside them one client sends
a byte a second, one a body that is too large, one headers that are too large, and forty leave in the middle of their body
or of their stream.
"""

import http.client
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATHS = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/tokenize", "/detokenize", "/moot/v1/ask", "/moot/v1/runs",
         "/moot/v1/conflict", "/moot/v1/contradictions", "/moot/v1/search", "/moot/v1/documents", "/moot/v1/calls", "/mcp",
         "/moot/v1/asks/x", "/moot/v1/runs/x", "/moot/v1/records/..%2f..", "/moot/v1/records/x/fork", "/", "/nothing"]
SOUND = {"messages": [{"role": "user", "content": "Hello."}], "prompt": "a", "question": "When?", "max_tokens": 4, "text": "It stopped.",
         "documents": [{"text": "It stopped in 1968."}], "questions": [{"question": "When?", "documents": ["In 1968."]}]}
ODD = [None, True, -1, 0, 1e308, -1e-300, 2**63, 2**64, "", "\u0000", "\ud83d\ude00" * 50, [], {}, [[]], [None] * 30_000, {"a": {"b": []}}, "x" * 70_000]


def odd(rng, body):
    """`body` with a field exchanged for something odd, at any depth."""
    body = json.loads(json.dumps(body))
    at = body
    while True:
        key = rng.choice(list(at)) if isinstance(at, dict) and at else rng.randrange(len(at)) if isinstance(at, list) and at else None
        if key is None:
            return body
        if isinstance(at[key], (dict, list)) and rng.random() < 0.6:
            at = at[key]
        else:
            at[key] = rng.choice(ODD)
            return body


def damaged(rng, text):
    """Bytes cut, exchanged, inserted."""
    data = bytearray(text)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(3)
        if way == 0:
            data[at:] = b""
        elif way == 1:
            data[at : at + 1] = rng.randbytes(1)
        else:
            data[at:at] = rng.randbytes(rng.randrange(1, 20))
        if not data:
            break
    return bytes(data)


def malformed(rng, host):
    """The bytes of a request that is wrong."""
    path, way = rng.choice(PATHS), rng.randrange(6)
    body = json.dumps(odd(rng, SOUND) if way < 3 else SOUND).encode()
    if way == 3:
        body = damaged(rng, body)
    elif way == 4:
        body = rng.choice([b"[" * 100_000, b"{\"a\":" * 50_000, b"\xff\xfe" + body, b"", body + b"{}", rng.randbytes(2000)])
    length = len(body) if rng.random() < 0.9 else rng.choice([0, -5, "x", 10**12, len(body) - 3])
    kind = "application/json" if rng.random() < 0.9 else rng.choice(["text/plain", "", "multipart/form-data; boundary=x"])
    method = "POST" if rng.random() < 0.9 else rng.choice(["GET", "PUT", "DELETE", "BREW", "\x00"])
    name = host if rng.random() < 0.95 else rng.choice(["evil.example", "", "[::1", "a" * 300])
    head = f"{method} {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    head = head.encode("latin-1")
    return (damaged(rng, head) if way == 5 else head) + body


def exchange(host, data, patience):
    """The status line of the answer to `data`, or why there is none."""
    address, port = host.split(":")
    try:
        with socket.create_connection((address, int(port)), 10) as stream:
            stream.settimeout(patience)
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            answer = b""
            while len(answer) < 12 and (more := stream.recv(4096)):
                answer += more
            return answer[9:12].decode("latin-1") or "closed"
    except TimeoutError:
        return "silent"
    except OSError:
        return "cut"


def slow(host, told):
    """Sends headers a byte a second until the server ends the connection; the seconds that took."""
    address, port = host.split(":")
    begun = time.monotonic()
    with socket.create_connection((address, int(port)), 10) as stream:
        try:
            for byte in (b"GET /health HTTP/1.1\r\nX-Slow: " + b"a" * 600):
                stream.sendall(bytes([byte]))
                time.sleep(1)
        except OSError:
            pass
    told["slow"] = time.monotonic() - begun


def leave(host, rng):
    """Leaves in the middle of a body, or of a stream."""
    address, port = host.split(":")
    body = json.dumps({**SOUND, "max_tokens": 200, "stream": True}).encode()
    path = rng.choice(["/v1/chat/completions", "/v1/completions"])
    question = {"question": "When?", "documents": SOUND["documents"] * 3, "stream": True}
    if rng.random() < 0.5:
        path, body = "/moot/v1/ask", json.dumps({**question, "method": "madam-rag"}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection((address, int(port)), 10) as stream:
        stream.sendall(head + (body if rng.random() < 0.7 else body[: len(body) // 2]))
        time.sleep(rng.random())


def get(host, path):
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read().decode()


def main():
    program, model, *rest = sys.argv[1:]
    count, seed = int(rest[0]) if rest else 1000, int(rest[1]) if rest[1:] else 1
    rng, counts, told = random.Random(seed), {}, {}
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{listener.getsockname()[1]}"
    log = tempfile.TemporaryFile("w+", errors="replace")
    server = subprocess.Popen([program, "serve", "-m", model, "--offline", "--port", host.split(":")[1], "--max-tokens", "32"], stdout=log, stderr=log)
    try:
        while True:
            try:
                if get(host, "/health")[0] == 200:
                    break
            except OSError:
                time.sleep(0.1)
        slowly = threading.Thread(target=slow, args=(host, told))
        slowly.start()
        for number in range(count):
            if number % (count // 40 or 1) == 0:
                leave(host, rng)
            status = exchange(host, malformed(rng, host), 120)
            counts[status] = counts.get(status, 0) + 1
        head = f"POST /tokenize HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {17 << 20}\r\n\r\n".encode()
        told["body of 17 MiB"] = exchange(host, head + b" " * (17 << 20), 120)
        told["headers of 100 KiB"] = exchange(host, f"GET /health HTTP/1.1\r\nHost: {host}\r\nX: ".encode() + b"a" * (100 << 10) + b"\r\n\r\n", 120)
        slowly.join(120)
        time.sleep(5)
        status, metrics = get(host, "/metrics")
        held = {name: next(float(line.split()[-1]) for line in metrics.splitlines() if line.startswith(f"moot_{name} "))
                for name in ("requests_running", "requests_waiting", "engine_pages_held", "cancelled_total")}
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("POST", "/v1/chat/completions", json.dumps({"messages": SOUND["messages"], "max_tokens": 4}), {"Content-Type": "application/json"})
        answers = connection.getresponse().status
    finally:
        server.send_signal(signal.SIGTERM)
        ended = server.wait(60)
    log.seek(0)
    panics = [line for line in log.read().splitlines() if "panicked" in line or "(bug)" in line]
    print(f"{count} malformed requests, seed {seed}: {dict(sorted(counts.items()))}")
    print(f"slow client ended after {told['slow']:.0f} s; body of 17 MiB: {told['body of 17 MiB']}; headers of 100 KiB: {told['headers of 100 KiB']}")
    print(f"afterwards: {held}; a chat is answered with {answers}; ended with {ended}; {len(panics)} panics")
    print("\n".join(panics[:5]))
    stuck = held["requests_running"] or held["requests_waiting"] or held["engine_pages_held"]
    sys.exit(1 if panics or stuck or answers != 200 or counts.get("silent") else 0)


if __name__ == "__main__":
    main()
