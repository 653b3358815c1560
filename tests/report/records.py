"""Records that the page is tested on: invented questions, in version 2 of the format, the same bytes at every call.

Used by browser.py; alone: python3 records.py FOLDER writes them all.
"""

import json
import random
import sys
from pathlib import Path

HASH = "ab" * 32
WORDS = (
    "the bridge over the river was opened in spring after years of work and the council paid for stone and timber "
    "while the mill stood idle a painter kept a diary of the floods the ferry ran until noon and nobody of the town "
    "doubted the date on the plate near the southern arch"
).split()

# What a document may try: to end its element, to be markup, to run, to turn the line, to be a template.
HOSTILE = [
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'> <svg/onload=window.owned=3>",
    "javascript:window.owned=4 <a href='javascript:window.owned=5'>click</a>",
    "A right-to-left override: \u202eevil\u202c, isolates \u2066x\u2069, zero\u200bwidth, a tag \U000e0041.",
    "{{ 7 * 7 }} {% for x in range(9) %}{{ x }}{% endfor %} ${7*7} <%= 7 %>",
    "A NUL \u0000, an escape \u001b[31m, line separators \u2028 and \u2029 <!-- --> ]]> <style>*{display:none}</style>",
]


def header(method, switches, dataset, questions, **more):
    return {
        "moot_record": 2,
        "program": "moot 0.1.0",
        "dataset": {"name": dataset, "sha256": HASH[: -len(dataset)] + dataset.encode().hex()[: len(dataset)], "questions": questions},
        "method": method,
        "switches": switches,
        "settings": {"seed": 0, "max_tokens": 128, "sampling": "greedy", "free_form": False},
        "model": {"name": "invented-1b", "sha256": "cd" * 32, "architecture": "llama", "context": 8192, "recipe": "cpu 4"},
        "prompts": {"madam_rag/agent.jinja": "ef" * 32, "madam_rag/aggregator.jinja": "01" * 32},
        **more,
    }


def sentence(rng, words):
    text = " ".join(rng.choice(WORDS) for _ in range(words))
    return text[0].upper() + text[1:] + "."


def document(rng, number, answer, kind, words=90):
    text = f"{sentence(rng, words // 2)} The bridge was opened in {answer}, says the plate. {sentence(rng, words // 2)}"
    return {
        "name": f"document {number + 1}",
        "text": text,
        "source": rng.choice(["council.example", "diary.example", "gazette.example"]),
        "date": f"19{rng.randrange(10, 99)}-05-01",
        "label": {"kind": kind, "answer": answer if kind != "noise" else "unknown"},
    }


def question(rng, number, documents=6, words=90):
    right = [str(1800 + rng.randrange(99)), str(1900 + rng.randrange(99))]
    wrong = str(1700 + rng.randrange(99))
    bad = number % 3 if documents > 3 else 0
    answers = [right[0]] * (documents - bad - 1) + [right[1]] + [wrong] * bad
    kinds = ["correct"] * (documents - bad) + ["misinfo"] * bad
    docs = [document(rng, place, *pair, words=words) for place, pair in enumerate(zip(answers, kinds))]
    return {
        "id": f"{number + 1}-{rng.randrange(16**6):06x}",
        "text": f"When was bridge number {number + 1} over the river opened?",
        "documents": docs,
        "gold": {"answers": [[right[0], f"in {right[0]}"], [right[1]]], "all_required": True, "wrong": [wrong]},
        "slices": ["misinfo" if bad else "clean"],
    }


def call(role, round_, stage, content, reply, parsed, document=None, prompt=900, **more):
    return {
        "role": role,
        "round": round_,
        "stage": stage,
        **({} if document is None else {"document": document}),
        "prompt": f"madam_rag/{role}.jinja",
        "format": "answers" if role in ("aggregator", "reader") else "answer",
        "messages": [{"role": "system", "content": "You answer from what you are given.\nSay unknown where it does not say.\n"}, {"role": "user", "content": content}],
        "max_tokens": 128,
        "sampling": "greedy",
        "seed": 17 * stage + (document or 0),
        "reply": reply,
        "finish": "stop",
        "parsed": parsed,
        "usage": {"prompt": prompt, "reused": prompt // 2, "computed": prompt - prompt // 2, "generated": 40},
        "seconds": 0.75,
        **more,
    }


def madam(rng, asked, rounds=3):
    """A debate in which agents of misinformation give way in the last round, and one reply of the first is malformed."""
    docs = asked["documents"]
    calls, stage, told = [], 0, ""
    last = [doc["label"]["answer"] for doc in docs]
    for round_ in range(1, rounds + 1):
        spoken = []
        for place, doc in enumerate(docs):
            answer = doc["label"]["answer"]
            if round_ == rounds and doc["label"]["kind"] == "misinfo":
                answer = docs[0]["label"]["answer"]
            why = f'My document says "opened in {doc["label"]["answer"]}", and {sentence(rng, 14).lower()}'
            content = f"Question: {asked['text']}\nDocument:\n{doc['text']}\n{told}Answer with your reasons."
            reply = f"Answer: {answer}. Explanation: {why}"
            parsed = {"answer": {"answer": answer, "explanation": why}}
            if place == 1 and round_ == 1 and int(asked["id"].split("-")[0]) % 4 == 0:
                reply, parsed = "Well, I could not say for certain what the question", "malformed"
            calls.append(call("agent", round_, stage, content, reply, parsed, place))
            spoken.append(f"Agent {place + 1}: {reply}")
            last[place] = answer
        stage += 1
        answers = sorted(set(last))
        why = f"The agents name {' and '.join(answers)}. {sentence(rng, 20)}"
        reply = f"All answers: {answers}. Explanation: {why}"
        replies = "\n".join(spoken)
        calls.append(call("aggregator", round_, stage, f"Question: {asked['text']}\n{replies}\n", reply, {"answers": {"answers": answers, "explanation": why}}))
        told = f"Aggregator: {reply}\n"
        stage += 1
    concluded = [
        {"text": one, "supporters": [p for p, a in enumerate(last) if a == one], "opponents": [p for p, a in enumerate(last) if a != one]}
        for one in sorted(set(last))
    ]
    return {"answers": concluded, "rejected": [], "explanation": why, "rounds": rounds, "converged": rounds > 2, "calls": [len(calls) - 1]}, calls


def concatenated(rng, asked):
    docs = asked["documents"]
    answers = [docs[0]["label"]["answer"]] if rng.random() < 0.7 else []
    content = "\n".join(doc["text"] for doc in docs)
    reply = f"All answers: {answers}"
    why = sentence(rng, 12)
    found = [{"text": one, "supporters": [], "opponents": [], "mentions": [p for p, d in enumerate(docs) if one in d["text"]]} for one in answers]
    parsed = {"answers": {"answers": answers, "explanation": why}}
    return {"answers": found, "rejected": [], "explanation": why, "rounds": 1, "calls": [0]}, [call("reader", 1, 0, content, reply, parsed)]


def line(asked, conclusion, calls, **more):
    return {"question": asked, "conclusion": conclusion, "calls": calls, "seconds": 12.5, **more}


def debates(count, method, seed=5, rounds=3, words=90, documents=None):
    rng = random.Random(seed)
    out = []
    for number in range(count):
        asked = question(rng, number, documents or 2 + number % 5, words)
        own = random.Random(f"{method} {number}")
        made = madam(own, asked, rounds) if method == "madam-rag" else concatenated(own, asked)
        out.append(line(asked, *made))
    if method == "concatenated" and count > 3:
        out[2] = {**out[2], "conclusion": None, "error": "the prompt has 9000 tokens, and the context 8192", "calls": []}
        out[3]["conclusion"] = {"answers": [], "rejected": [], "explanation": "", "malformed": True, "rounds": 1, "calls": [0]}
        out[3]["calls"][0]["parsed"] = "malformed"
    return out


def label(document, relation, text, words, **more):
    start = text.find(words) if words else -1
    quote = {"quote": {"text": words, "characters": {"start": start, "end": start + len(words)}}} if start >= 0 else {}
    return {"document": document, "relation": relation, **quote, "by": "labeller", **more}


def claims():
    texts = ["The bridge was opened in 1889, as the plate says.", "In 1901 the bridge was opened by the mayor.", "The mill stood idle that year."]
    asked = {
        "id": "c1",
        "text": "When was the bridge opened?",
        "documents": [{"name": f"notes-{n}.md", "text": text, "source": "archive"} for n, text in enumerate(texts)],
        "responses": ["The bridge was opened in 1889. The mill was busy."],
    }
    judged = [
        {
            "text": "The bridge was opened in 1889.",
            "labels": [
                label(0, "supports", texts[0], "opened in 1889", reason="The plate gives the year."),
                label(1, "contradicts", texts[1], "In 1901 the bridge was opened", reason="Another year."),
                label(2, "irrelevant", texts[2], ""),
            ],
        },
        {
            "text": "The mill was busy.",
            "labels": [
                label(0, "irrelevant", texts[0], ""),
                label(1, "supports", texts[1], "", fault="unquoted", misquote="the mill was busy", reason="It says so."),
                label(2, "contradicts", texts[2], "mill stood idle", probability=0.91),
            ],
        },
    ]
    calls = [call("labeller", 1, 0, f"Claim 1\n{text}", "CONTRADICTS", {"fields": {"relation": "CONTRADICTS"}}, place) for place, text in enumerate(texts)]
    conclusion = {"answers": [], "rejected": [], "explanation": "", "rounds": 1, "claims": judged, "weights": [0.9, 0.4, 0.6]}
    return [line(asked, conclusion, calls)]


def hostile():
    text = " ".join(HOSTILE)
    docs = [{"name": one, "text": f"Opened in 1889. {one}", "source": one, "date": one, "url": "javascript:window.owned=6", "label": {"kind": one, "answer": one}} for one in HOSTILE]
    asked = {
        "id": HOSTILE[0],
        "text": f"When? {text}",
        "documents": docs,
        "gold": {"answers": [[HOSTILE[1]], ["1889"]], "all_required": True, "wrong": [HOSTILE[2]]},
        "slices": HOSTILE,
    }
    calls = [call("agent", 1, 0, text, f'It says "{one}"', {"answer": {"answer": one, "explanation": text}}, place) for place, one in enumerate(HOSTILE)]
    calls.append(call(HOSTILE[0], 1, 1, text, text, {"answers": {"answers": HOSTILE, "explanation": text}}, raw=text, thoughts={"text": text, "tokens": 3}))
    answers = [{"text": one, "supporters": [place], "opponents": [5 - place]} for place, one in enumerate(HOSTILE)]
    events = [{"event": "fallback", "stage": 1, "what": text}, {"event": "failure", "stage": 1, "what": text, "role": HOSTILE[0], "error": text}]
    return [line(asked, {"answers": answers, "rejected": answers[:1], "explanation": text, "rounds": 1, "calls": [6]}, calls, events=events)]


def all_records():
    """File name -> lines."""
    rounds = {"rounds": 3, "history": "aggregate", "aggregator": True}
    name, count = "bridges.jsonl", 24
    rude = header(HOSTILE[0], {HOSTILE[1]: HOSTILE[2]}, "hostile.jsonl", 1, label=HOSTILE[1])
    rude["model"]["name"] = HOSTILE[2]
    return {
        "madam.jsonl": [header("madam-rag", rounds, name, count), *debates(count, "madam-rag")],
        "concatenated.jsonl": [header("concatenated", {}, name, count), *debates(count, "concatenated")],
        "claims.jsonl": [header("conflict-score", {}, "claims.jsonl", 1), *claims()],
        "hostile.jsonl": [rude, *hostile()],
    }


def many():
    """500 debates of 6 documents in 3 rounds."""
    rounds = {"rounds": 3, "history": "aggregate", "aggregator": True}
    return [header("madam-rag", rounds, "many.jsonl", 500), *debates(500, "madam-rag", words=140, documents=6)]


def write(path, lines):
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines), encoding="utf-8")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for file, lines in {**all_records(), "many.jsonl": many()}.items():
        write(folder / file, lines)
