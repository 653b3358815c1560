"""The official clients against `moot serve`: the package openai, Inspect AI, and, where it is installed, lm-eval.

    python benches/serve/clients.py URL [KEY]

Each check prints one line; the first one that fails ends the script.
"""

import asyncio
import json
import sys

QUESTION = "When did the Orrin ferry stop?"
DOCUMENTS = [
    {"name": "almanac", "text": "The Orrin ferry stopped in 1974.", "date": "1990"},
    {"name": "board", "text": "The Orrin ferry stopped in 1968.", "date": "1969"},
]


def openai_client(url, key):
    from openai import BadRequestError, NotFoundError, OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=key)
    names = [model.id for model in client.models.list()]
    model = names[0]
    assert "moot/madam-rag" in names
    print(f"models: {len(names)}, the first is {model}")

    messages = [{"role": "user", "content": "Name a river of France. One word."}]
    whole = client.chat.completions.create(model=model, messages=messages, max_tokens=16, seed=1, logprobs=True, top_logprobs=2)
    text = whole.choices[0].message.content
    assert whole.usage.completion_tokens > 0 and whole.choices[0].logprobs.content
    pieces = client.chat.completions.create(model=model, messages=messages, max_tokens=16, seed=1, stream=True, stream_options={"include_usage": True})
    streamed, usage = "", None
    for chunk in pieces:
        streamed += chunk.choices[0].delta.content or "" if chunk.choices else ""
        usage = chunk.usage or usage
    assert streamed == text and usage.completion_tokens == whole.usage.completion_tokens
    print(f"chat, whole and streamed: {text!r}")

    schema = {"type": "object", "properties": {"river": {"type": "string"}, "length_km": {"type": "integer"}}, "required": ["river", "length_km"], "additionalProperties": False}
    held = client.chat.completions.create(
        model=model, messages=messages, max_tokens=60,
        response_format={"type": "json_schema", "json_schema": {"name": "river", "schema": schema, "strict": True}},
    )
    found = json.loads(held.choices[0].message.content)
    assert set(found) == {"river", "length_km"}
    print(f"schema: {found}")

    echoed = client.completions.create(model=model, prompt="The capital of France is Paris", max_tokens=0, echo=True, logprobs=1)
    scores = echoed.choices[0].logprobs.token_logprobs
    assert scores[0] is None and all(score <= 0 for score in scores[1:])
    print(f"completions: {len(scores)} tokens scored")

    debate = client.chat.completions.create(
        model="moot/moot", messages=[{"role": "user", "content": QUESTION}], extra_body={"documents": DOCUMENTS}
    )
    answers = [answer["text"] for answer in debate.model_extra["moot"]["answers"]]
    print(f"a method as a model: {answers}")

    for error, call in (
        (NotFoundError, lambda: client.chat.completions.create(model="gpt-4", messages=messages)),
        (BadRequestError, lambda: client.chat.completions.create(model=model, messages=messages, temperature=-1)),
        (NotFoundError, lambda: client.embeddings.create(model="x", input="y")),
    ):
        try:
            call()
        except error as refused:
            print(f"refused: {refused.body['message']}")
        else:
            raise AssertionError(f"expected {error.__name__}")
    return model


def inspect(url, key, model):
    import os

    os.environ.update(MOOT_BASE_URL=f"{url}/v1", MOOT_API_KEY=key)
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    samples = [Sample(input="What is 2 + 2? Answer with the number.", target="4"), Sample(input="Spell the word cat.", target="cat")]
    task = Task(dataset=samples, solver=generate(), scorer=includes())
    [log] = eval(task, model=f"openai-api/moot/{model}", max_tokens=32, display="none", log_dir="/tmp/moot-inspect", temperature=0)
    assert log.status == "success", log.error
    print(f"Inspect AI: {log.status}, {log.results.scores[0].metrics}")


def lm_eval(url, model):
    """Log-likelihoods of given continuations and a generated text, as lm-eval's tasks ask for them."""
    try:
        from lm_eval.models.openai_completions import LocalCompletionsAPI
    except ImportError:
        print("lm-eval: not installed, left out")
        return
    from lm_eval.api.instance import Instance

    def instances(kind, arguments):
        return [Instance(request_type=kind, doc={}, arguments=given, idx=index) for index, given in enumerate(arguments)]

    api = LocalCompletionsAPI(model=model, base_url=f"{url}/v1/completions")
    pairs = [("The capital of France is", " Paris"), ("The capital of France is", " Rome")]
    (paris, _), (rome, _) = api.loglikelihood(instances("loglikelihood", pairs))
    assert paris > rome, (paris, rome)
    [rolling] = api.loglikelihood_rolling(instances("loglikelihood_rolling", [("The capital of France is Paris.",)]))
    assert rolling < 0, rolling
    [text] = api.generate_until(instances("generate_until", [("One, two, three,", {"until": ["five"], "max_gen_toks": 16})]))
    assert "four" in text and "five" not in text, text
    print(f"lm-eval: log-likelihoods {paris:.3f} and {rome:.3f}, of a whole text {rolling:.3f}; generated {text!r}")


def main():
    url, key = sys.argv[1].rstrip("/"), (sys.argv[2] if len(sys.argv) > 2 else "none")
    model = openai_client(url, key)
    inspect(url, key, model)
    lm_eval(url, model)
    print("all clients are served")


if __name__ == "__main__":
    main()
