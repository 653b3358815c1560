"""Many clients of one server for some minutes: nothing lost, memory bounded, clients served alike.

    python benches/serve/load.py URL [CLIENTS] [SECONDS] [PID]

Each client sends one request after another: chats, whole and streamed, completions, and questions of three documents. One
in twenty requests is left in the middle. With PID, the memory of the server's process is read (Linux).
"""

import http.client
import json
import random
import statistics
import sys
import threading
import time
from urllib.parse import urlsplit

DOCUMENTS = [
    {"name": "almanac", "text": "The Orrin ferry stopped in 1974.", "date": "1990"},
    {"name": "board", "text": "The Orrin ferry stopped in 1968.", "date": "1969"},
    {"name": "diary", "text": "The weather was fine."},
]


def request(rng, model):
    """A path, a body, and whether the client leaves before the answer."""
    leaves = rng.random() < 0.05
    topic = rng.choice(["rivers", "bridges", "ferries", "towns"])
    chat = {"model": model, "messages": [{"role": "user", "content": f"Name some {topic}, number {rng.randrange(1000)}."}], "max_tokens": 24}
    kind = rng.randrange(4)
    if kind == 0:
        return "/v1/chat/completions", chat, leaves
    if kind == 1:
        return "/v1/chat/completions", {**chat, "stream": True}, leaves
    if kind == 2:
        return "/v1/completions", {"model": model, "prompt": f"Some {topic}:", "max_tokens": 16, "echo": True, "logprobs": 1}, leaves
    body = {"question": "When did the Orrin ferry stop?", "documents": DOCUMENTS, "method": {"name": "madam-rag", "preset": "every-answer", "max_tokens": 48}}
    return "/moot/v1/ask", body, leaves


def whole(path, body, data):
    """Whether an answer is all of it."""
    if body.get("stream"):
        return data.rstrip().endswith(b"data: [DONE]")
    answer = json.loads(data)
    if path == "/moot/v1/ask":
        return answer["calls"] == len(DOCUMENTS)
    return all(choice["finish_reason"] in ("stop", "length") for choice in answer["choices"])


class Client(threading.Thread):
    def __init__(self, number, host, model, ends):
        super().__init__(daemon=True)
        self.rng, self.host, self.model, self.ends = random.Random(number), host, model, ends
        self.times, self.left, self.busy, self.wrong = [], 0, 0, []

    def run(self):
        while time.monotonic() < self.ends:
            path, body, leaves = request(self.rng, self.model)
            start = time.monotonic()
            try:
                connection = http.client.HTTPConnection(self.host, timeout=600)
                connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
                if leaves:
                    time.sleep(self.rng.random() * 0.5)
                    connection.close()
                    self.left += 1
                    continue
                response = connection.getresponse()
                data = response.read()
                connection.close()
            except OSError as error:
                self.wrong.append(f"{path}: {error!r}")
                continue
            if response.status == 429:
                self.busy += 1
                time.sleep(1)
            elif response.status != 200 or not whole(path, body, data):
                self.wrong.append(f"{path}: {response.status} {data[:200]!r}")
            else:
                self.times.append(time.monotonic() - start)


def memory(pid):
    """Resident MiB of a process."""
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def get(host, path):
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", path)
    data = connection.getresponse().read().decode()
    connection.close()
    return data


def metric(host, name):
    return next(float(line.split()[-1]) for line in get(host, "/metrics").splitlines() if line.startswith(f"{name} "))


def main():
    url, *rest = sys.argv[1:]
    clients, seconds, pid = int(rest[0]) if rest else 64, int(rest[1]) if rest[1:] else 600, rest[2] if rest[2:] else None
    host = urlsplit(url).netloc
    model = json.loads(get(host, "/v1/models"))["data"][0]["id"]
    ends = time.monotonic() + seconds
    all_clients = [Client(number, host, model, ends) for number in range(clients)]
    [client.start() for client in all_clients]
    resident = []
    while time.monotonic() < ends:
        time.sleep(min(10, max(0.1, ends - time.monotonic())))
        if pid:
            resident.append(memory(pid))
    [client.join(900) for client in all_clients]
    time.sleep(2)
    times = sorted(time for client in all_clients for time in client.times)
    counts = sorted(len(client.times) for client in all_clients)
    wrong = [line for client in all_clients for line in client.wrong]
    print(f"{clients} clients, {seconds} s, {model}: {len(times)} answers, {sum(client.left for client in all_clients)} left, {sum(client.busy for client in all_clients)} refused with 429, {len(wrong)} wrong")
    print(f"seconds of an answer: median {statistics.median(times):.2f}, 95 % below {times[int(len(times) * 0.95)]:.2f}, longest {times[-1]:.2f}")
    print(f"answers of a client: {counts[0]} to {counts[-1]}, median {counts[len(counts) // 2]}")
    if resident:
        third = len(resident) // 3 or 1
        print(f"resident MiB: median of the first third {statistics.median(resident[:third]):.0f}, of the last {statistics.median(resident[-third:]):.0f}, most {max(resident):.0f}")
    held, running = metric(host, "moot_engine_pages_held"), metric(host, "moot_requests_running")
    print(f"afterwards: {running:.0f} requests run, {held:.0f} pages are held; {metric(host, 'moot_generated_tokens_total'):.0f} tokens generated, at most {metric(host, 'moot_engine_peak_rows'):.0f} sequences in a step")
    print("\n".join(wrong[:5]))
    sys.exit(1 if wrong or held or running else 0)


if __name__ == "__main__":
    main()
