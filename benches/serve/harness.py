"""lm-eval against `moot serve`: replies, scores and likelihoods are those of `moot run` on the same prompts.

    python benches/serve/harness.py MODEL [--moot PROGRAM] [--questions 40]

Generation: `moot run --method closed-book` asks sums and products with a prompt and a regular expression for the answer.
Then lm-eval asks the same of `moot serve` as `local-chat-completions`, by its own task, with the same expression and its own
`exact_match`.

Likelihood: the examiner of `moot run --method moot` reads the log-probabilities of "yes" and "no". lm-eval asks for the
likelihoods of the same tokens behind the same prompts as `local-completions`.

Needs `pip install "lm-eval[api]"`; lm-eval fetches nothing else.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROMPT = "{{ question }} Reply in one sentence that begins with: The answer is"
ANSWER = r"[Tt]he answer is:? \**(-?[0-9]+(?:,[0-9]{3})*)"
TOKENS = 96


def questions(count):
    draw = random.Random(7)
    kinds = [lambda a, b: (f"{a} + {b}", a + b), lambda a, b: (f"{a} - {b}", a - b), lambda a, b: (f"{a} * {b}", a * b)]
    for index in range(count):
        text, result = kinds[index % 3](draw.randint(11, 99), draw.randint(11, 99))
        yield {"id": f"sum-{index}", "question": f"What is {text}?", "answers": [str(result)], "documents": []}


def by_moot(program, model, asked, folder):
    """Reply and score of each question."""
    prompts = folder / "prompts" / "closed_book"
    prompts.mkdir(parents=True)
    (prompts / "one.jinja").write_text(PROMPT)
    (prompts / "one.format").write_text(f"format: free\nanswer: {ANSWER}\n")
    (folder / "asked.jsonl").write_text("".join(json.dumps(question) + "\n" for question in asked))
    record = folder / "moot.jsonl"
    command = [program, "run", str(folder / "asked.jsonl"), "-m", model, "--method", "closed-book", "--set", "one-answer=true",
               "--prompts", str(prompts.parent), "--max-tokens", str(TOKENS), "-o", str(record)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    scored = subprocess.run([program, "score", str(record), "--json"], check=True, capture_output=True, text=True).stdout
    return record, json.loads(scored)


@contextmanager
def served(program, model):
    """A server's address."""
    with subprocess.Popen([program, "serve", "-m", model, "--port", "0"], stderr=subprocess.PIPE, text=True) as server:
        try:
            words = (word for line in server.stderr for word in line.split())
            url = next((word.rstrip("/,;.") for word in words if word.startswith("http://")), None)
            if url is None:
                sys.exit(f"moot serve ended without an address: {server.wait()}")
            yield url
        finally:
            server.terminate()


def by_lm_eval(url, model, asked, folder):
    """lm-eval's results and its samples."""
    from lm_eval import simple_evaluate

    (folder / "task.jsonl").write_text(
        "".join(json.dumps({"question": q["question"], "target": q["answers"][0]}) + "\n" for q in asked))
    task = {
        "task": "sums", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(folder / "task.jsonl")}},
        "test_split": "test", "output_type": "generate_until", "doc_to_text": PROMPT, "doc_to_target": "{{target}}",
        "generation_kwargs": {"until": [], "do_sample": False, "max_gen_toks": TOKENS},
        "filter_list": [{"name": "last", "filter": [
            {"function": "regex", "regex_pattern": ANSWER, "group_select": -1}, {"function": "take_first"}]}],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    return simple_evaluate(
        model="local-chat-completions", model_args=f"model={model},base_url={url}/v1/chat/completions,num_concurrent=8",
        tasks=[task], apply_chat_template=True, log_samples=True, bootstrap_iters=0)


def examined(program, model, folder):
    """Of each call of the examiner its messages, and the log-probabilities of the tokens "yes" and "no" by their ids."""
    record = folder / "examined.jsonl"
    command = [program, "run", str(ROOT / "benches/dated/choose.jsonl"), "-m", model, "--method", "moot", "--limit", "3", "-o",
               str(record)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    calls = (json.loads(line).get("call") for line in record.read_text().splitlines())
    found = {}
    for call in calls:
        if call and call["role"] == "examiner":
            first = {token["text"]: token for token in call["logprobs"][0]["top"]}
            found[json.dumps(call["messages"])] = [(first[word]["id"], first[word]["logprob"]) for word in ("yes", "no") if word in first]
    return [(json.loads(messages), words) for messages, words in found.items()]


def likelihoods(url, model, calls):
    """The largest difference of lm-eval's log-likelihoods from those of `calls`, and how many were compared."""
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    api = LocalCompletionsAPI(model=model, base_url=f"{url}/v1/completions", tokenizer_backend="remote", tokenized_requests=True)
    asked, expected = [], []
    for messages, words in calls:
        body = json.dumps({"model": model, "messages": messages, "add_generation_prompt": True}).encode()
        request = urllib.request.Request(f"{url}/tokenize", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            prompt = json.load(answer)["tokens"]
        for token, logprob in words:
            asked.append((("", ""), prompt, [token]))
            expected.append(logprob)
    found = [logprob for logprob, _ in api._loglikelihood_tokens(asked)]
    return max(abs(a - b) for a, b in zip(found, expected, strict=True)), len(found)


def replies(record):
    """The reply to each question of a record, by the question's text."""
    entries = [json.loads(line) for line in record.read_text().splitlines()]
    calls = {entry["of"]: entry["call"]["reply"] for entry in entries if "call" in entry}
    return {entry["question"]["text"]: calls[entry["question"]["id"]] for entry in entries if "question" in entry}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--moot", default="moot", help="the program [%(default)s]")
    parser.add_argument("--questions", type=int, default=40, metavar="N", help="[%(default)s]")
    args = parser.parse_args()
    asked = list(questions(args.questions))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        record, scored = by_moot(args.moot, args.model, asked, folder)
        given, em = replies(record), scored["records"][0]["metrics"]["em"]["mean"]
        calls = examined(args.moot, args.model, folder)
        with served(args.moot, args.model) as url:
            results = by_lm_eval(url, args.model, asked, folder)
            off, compared = likelihoods(url, args.model, calls)
    [samples], [scores] = results["samples"].values(), results["results"].values()
    others = [sample["doc"]["question"] for sample in samples if sample["resps"] != [[given[sample["doc"]["question"]]]]]
    exact = scores["exact_match,last"]
    print(f"{len(samples)} questions; other replies: {len(others)}; em of moot run {em:.4f}, exact_match of lm-eval {exact:.4f}")
    print(f"{compared} likelihoods of {len(calls)} prompts; the largest difference is {off:.1e}")
    if others or off > 1e-4 or len(samples) != len(asked) or abs(em - exact) > 1e-9:
        sys.exit(f"expected the same replies and scores; other replies to {others[:3]}")


if __name__ == "__main__":
    main()
