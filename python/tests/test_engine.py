"""The engine: questions, claims, vectors, replies."""

from __future__ import annotations

import _thread
import dataclasses
import json
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import moot
from conftest import pdf

TWO: list[Any] = ["Mira Tolland was born in 1968.", {"text": "Mira Tolland, born 1931.", "source": "Glass Guild", "date": "1994"}]
QUESTION = "In which year was Mira Tolland born?"
DEBATE: dict[str, Any] = {"method": "madam-rag", "switches": {"rounds": 2}, "max_tokens": 8}


def timeless(value: object) -> object:
    """A result without its wall times and without what was computed earlier."""
    plain = dataclasses.asdict(value)  # type: ignore[call-overload]
    return {name: item for name, item in plain.items() if name not in ("seconds", "usage")}


def test_documents_of_every_kind_are_read_in_the_order_given(engine: moot.Engine, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Born in 1970.")
    documents = [*TWO, moot.Document("Born in 1969.", name="last", date="2019-03"), tmp_path / "note.md"]
    answer = engine.ask(QUESTION, documents, **DEBATE)
    assert [(listed.number, listed.name) for listed in answer.documents] == [
        (1, "document 1"), (2, "document 2"), (3, "last"), (4, "note.md"),
    ]
    assert (answer.documents[1].source, answer.documents[2].date) == ("Glass Guild", "2019-03")
    assert answer.method == "madam-rag" and 1 <= answer.rounds <= 2 and answer.calls > 4
    assert answer.usage.prompt == answer.usage.reused + answer.usage.computed


def test_the_result_is_that_of_the_record(engine: moot.Engine, tmp_path: Path) -> None:
    answer = engine.ask(QUESTION, TWO, output=tmp_path / "one.jsonl", **DEBATE)
    record = moot.records(tmp_path / "one.jsonl")
    [question] = record.questions
    assert timeless(question.answer) == timeless(dataclasses.replace(answer, notes=[]))
    assert len(question.calls) == answer.calls and question.calls[0].messages[-1]["role"] == "user"
    assert question.calls[0].document == 1 and record.header["method"] == "madam-rag"


def test_dataclasses_have_every_field_of_the_json(engine: moot.Engine, tmp_path: Path) -> None:
    from moot._json import fields

    def missing(kind: type, value: dict[str, Any]) -> set[str]:
        return set(value) - set(fields(kind))

    raw, telling = engine._engine, lambda told: events.append(json.loads(told))
    events: list[dict[str, Any]] = []
    with_ = {"documents": [{"text": "Born in 1968."}], "method": {"max_tokens": 8}}
    answered = json.loads(raw.ask(json.dumps({"question": "When?", "with": with_}), None, telling))
    assert not missing(moot.Answer, answered)
    assert not any(missing(moot.Stand, stand) for stand in answered["answers"] + answered["rejected"])
    assert not any(missing(moot.Listed, listed) for listed in answered["documents"])
    assert not any(missing(moot.Event, event) for event in events)
    calls = [event["call"] for event in events if event["kind"] == "call"]
    assert calls and not any(missing(moot.Call, call) for call in calls)
    assessed = json.loads(raw.conflict(json.dumps({"text": "Born in 1931.", "with": with_}), telling))
    assert not missing(moot.Assessment, assessed) and not missing(moot.Scores, assessed["scores"])
    assert not any(missing(moot.Claim, claim) for claim in assessed["claims"])
    [reply] = json.loads(raw.generate(json.dumps({
        "chats": [[{"role": "user", "content": "Who?"}]], "role": "", "schema": None, "max_tokens": 4, "think": 0,
        "temperature": 0, "top_k": 0, "top_p": 1, "seed": 0, "stop": [],
    }), telling))
    assert not missing(moot.Reply, reply)


def test_the_command_line_gives_the_same_answer(engine: moot.Engine, tiny: Path, tmp_path: Path) -> None:
    from moot import _moot

    (tmp_path / "a.txt").write_text("Mira Tolland was born in 1968.")
    (tmp_path / "b.txt").write_text("Mira Tolland, born 1931.")
    answer = engine.ask(QUESTION, [tmp_path / "a.txt", tmp_path / "b.txt"], output=tmp_path / "one.jsonl", **DEBATE)
    (tmp_path / "set.jsonl").write_text(json.dumps({
        "id": "asked", "question": QUESTION,
        "documents": [{"name": name, "text": (tmp_path / name).read_text()} for name in ("a.txt", "b.txt")],
    }))
    code = _moot.main([
        "moot", "run", str(tmp_path / "set.jsonl"), "--method", "madam-rag", "--rounds", "2", "--max-tokens", "8",
        "--model", str(tiny), "--kv-memory", "64M", "--offline", "-o", str(tmp_path / "two.jsonl"),
    ])
    assert code == 0
    [ours], [theirs] = (moot.records(tmp_path / name).questions for name in ("one.jsonl", "two.jsonl"))
    assert [call.reply for call in ours.calls] == [call.reply for call in theirs.calls] and answer.calls == len(ours.calls)


def test_events_come_in_the_thread_of_the_caller(engine: moot.Engine) -> None:
    seen: list[tuple[str, int]] = []
    engine.ask(QUESTION, TWO, on_event=lambda event: seen.append((event.kind, threading.get_ident())), **DEBATE)
    assert {thread for _, thread in seen} == {threading.get_ident()}
    assert [kind for kind, _ in seen].count("call") >= 5 and seen[0][0] == "stage"


def test_an_exception_of_a_callback_ends_the_work_and_is_raised(engine: moot.Engine) -> None:
    def first(event: moot.Event) -> None:
        raise ZeroDivisionError(event.kind)

    with pytest.raises(ZeroDivisionError, match="stage"):
        engine.ask(QUESTION, TWO, on_event=first, **DEBATE)
    assert engine.ask(QUESTION, TWO, **DEBATE).calls > 2, "the engine goes on"


def test_ctrl_c_cancels_the_calls(engine: moot.Engine) -> None:
    # 1,280 replies that end late: the question takes many times as long as the time until it is interrupted.
    many = [f"Mira Tolland was born in {1900 + number}." for number in range(40)]
    long: dict[str, Any] = {"method": "majority-vote", "switches": {"samples": 32}, "max_tokens": 4000, "temperature": 2.0}
    # A process that a shell started in the background ignores the signal, and Python then leaves it so.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, _thread.interrupt_main).start()
        before = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            engine.ask(QUESTION, many, **long)
        assert time.monotonic() - before < 20
    finally:
        signal.signal(signal.SIGINT, handler)


def test_threads_share_one_engine(engine: moot.Engine) -> None:
    questions = [f"{QUESTION} {number}" for number in range(6)]
    alone = [timeless(engine.ask(question, TWO, **DEBATE)) for question in questions]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda question: timeless(engine.ask(question, TWO, **DEBATE)), questions))
    assert alone == together


@pytest.mark.parametrize(("arguments", "error", "field", "said"), [
    ({"max_tokens": 0}, moot.OptionError, "method.max_tokens", "a reply needs at least one token"),
    ({"max_tokens": "8"}, moot.OptionError, "method.max_tokens", "invalid type: string"),
    ({"max_token": 8}, moot.OptionError, "max_token", "expected one of name, preset"),
    ({"method": "madam"}, moot.OptionError, "method.name", 'no method is called "madam"'),
    ({"method": 3}, moot.OptionError, "method", "found int"),
    ({"method": "naive-rag", "corpus": {"top": 3}}, moot.OptionError, "corpus.top", "expected a corpus that is searched"),
    ({"method": "ircot"}, moot.OptionError, None, "ircot retrieves"),
    ({"corpus": {"tops": 3}}, moot.OptionError, "corpus.tops", "unknown field `tops`"),
    ({"question": " "}, moot.OptionError, "question", "expected a text, found none"),
    ({"documents": []}, moot.QuestionError, None, "needs at least 1 document"),
    ({"documents": "a text"}, moot.OptionError, "documents", "expected a list of documents, found str"),
    ({"documents": ["", "b"]}, moot.OptionError, "documents[0].text", "expected a text"),
    ({"documents": [5]}, moot.OptionError, "documents[0]", "found int"),
    ({"documents": [{"text": "a", "author": "b"}]}, moot.OptionError, "documents[0].author", "unknown field"),
    ({"documents": [Path("nowhere.txt")]}, moot.FileError, None, "nowhere.txt"),
    ({"documents": ["word " * 3001]}, moot.OptionError, "documents", "at most 3000 words"),
    ({"documents": ["word"] * 41}, moot.OptionError, "documents", "at most 40"),
])
def test_errors_name_the_field(
    engine: moot.Engine, arguments: dict[str, Any], error: type[moot.MootError], field: str | None, said: str
) -> None:
    arguments = {"question": QUESTION, "documents": TWO, **arguments}
    with pytest.raises(error) as raised:
        engine.ask(**arguments)
    assert said in str(raised.value) and "--" not in str(raised.value)
    assert raised.value.field == field


def test_files_of_other_kinds_are_read_and_pdf_files_in_a_process_of_their_own(
    engine: moot.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.pdf").write_bytes(pdf("Mira Tolland was born in 1968."))
    # It would be imported by a worker that looked for modules here.
    (tmp_path / "moot.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    answer = engine.ask(QUESTION, [tmp_path / "one.pdf"], output=tmp_path / "one.jsonl", **DEBATE)
    assert answer.documents[0].name == "one.pdf"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt > before, "a process read it, and has ended"
    [question] = moot.records(tmp_path / "one.jsonl").questions
    assert "Mira Tolland was born in 1968." in question.calls[0].messages[-1]["content"]


def test_claims_are_labelled(engine: moot.Engine) -> None:
    assessment = engine.conflict("Mira Tolland was born in 1968.", TWO, question=QUESTION, max_tokens=8)
    assert len(assessment.documents) == 2 and assessment.scores.claims == len(assessment.claims)
    with pytest.raises(moot.OptionError) as raised:
        engine.conflict("", TWO)
    assert raised.value.field == "text"


def test_documents_are_compared(engine: moot.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_CACHE", str(tmp_path / "cache"))
    texts: list[str | dict[str, str]] = [
        "The ferry of Brackwater opened in 1968.",
        {"text": "The ferry of Brackwater opened in 1931.", "source": "Guild"},
    ]
    heard: list[moot.Event] = []
    found = engine.contradictions(texts, least=0, on_event=heard.append)
    [finding] = found.findings
    assert [(side.values, side.statements[0].document) for side in finding.sides] == [(["1968"], 1), (["1931"], 2)]
    assert finding.sides[1].statements[0].source == "Guild" and found.documents[1].source == "Guild"
    assert found.counts.pairs == 1 and [event.total for event in heard if event.kind == "labelling"][-1] == 1
    # Texts have no place in the cache; files have lines.
    assert not (tmp_path / "cache").exists()
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Opening\n\nThe ferry of Brackwater opened in 1968.")
    (folder / "b.txt").write_text("The ferry of Brackwater opened in 1931.")
    first = engine.contradictions(folder, least=0)
    assert [side.statements[0].line for side in first.findings[0].sides] == [3, 1]
    again = engine.contradictions(folder, least=0)
    assert (first.counts.calls > 0, again.counts.calls, again.groups) == (True, 0, first.groups)
    with pytest.raises(moot.OptionError, match="least: expected a probability from 0 to 1, found 2") as raised:
        engine.contradictions(texts, least=2)
    assert raised.value.field == "least"
    with pytest.raises(moot.MootError, match="expected at least 2 documents"):
        engine.contradictions(texts[:1])


def test_replies_keep_a_schema_and_are_the_same_in_a_batch(engine: moot.Engine) -> None:
    schema = {"type": "object", "properties": {"year": {"type": "integer", "minimum": 1900, "maximum": 1999}},
              "required": ["year"], "additionalProperties": False}
    reply = engine.generate([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When?"}],
                            schema=schema, max_tokens=40)
    assert 1900 <= reply.data["year"] <= 1999 and not reply.cut
    chats = [f"When, {number}?" for number in range(5)]
    together = engine.generate_all(chats, max_tokens=12, temperature=0.8, seed=7)
    alone = [engine.generate(chat, max_tokens=12, temperature=0.8, seed=7) for chat in chats]
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    wrongs: list[dict[str, Any]] = [{"max_tokens": 0}, {"top_p": 0.0}, {"temperature": -1}]
    for wrong in wrongs:
        with pytest.raises(moot.OptionError) as raised:
            engine.generate("Who?", **wrong)
        assert [raised.value.field] == list(wrong)
    with pytest.raises(moot.OptionError, match="last message of role user"):
        engine.generate([{"role": "assistant", "content": "I am."}])


def test_an_engine_without_an_embedder_says_so(engine: moot.Engine) -> None:
    with pytest.raises(moot.OptionError) as raised:
        engine.embed(["one"])
    assert raised.value.field == "corpus.embedder"


def test_an_engine_with_a_corpus_searches_it(tiny: Path, tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text(f"The bridge of village {number} opened in {1900 + number}.")
    corpus = {"paths": [tmp_path], "retriever": "bm25"}
    with moot.Engine(tiny, corpus=corpus, kv_memory=64 << 20, offline=True) as engine:
        answer = engine.ask("When did the bridge of village 3 open?", method="madam-rag", corpus={"top": 2}, max_tokens=8)
        assert len(answer.documents) == 2 and answer.documents[0].origin
        with pytest.raises(moot.OptionError) as raised:
            engine.ask("When?", method="madam-rag", corpus={"paths": [str(tmp_path)]})
        assert "all plans share" in str(raised.value)


def test_a_closed_engine_says_so(tiny: Path) -> None:
    engine = moot.Engine(tiny, kv_memory=64 << 20)
    assert engine.model["architecture"] == "llama" and engine.model["context"] == 8192
    engine.close()
    with pytest.raises(moot.MootError, match="closed"):
        engine.ask(QUESTION, TWO)


def test_what_is_wrong_with_an_engine_names_its_field(tiny: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kv_memory": "64M"}, "runtime.kv_memory"), ({"max_rows": 0}, "runtime.max_rows"), ({"kv_memori": 1}, "kv_memori"),
        ({"corpus": {"retriever": "magic"}}, "corpus.retriever"),
    ]
    for options, field in wrong:
        with pytest.raises(moot.OptionError) as raised:
            moot.Engine(tiny, **options)
        assert raised.value.field == field
    with pytest.raises(moot.ModelError) as missing:
        moot.Engine("qwen2.5-coder-1.6b", offline=True)
    assert missing.value.field == "model"
