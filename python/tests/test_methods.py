"""Methods in Python, beside the program's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

import moot
from moot import _moot


class Vote(moot.Method):
    """Every document is asked, and each answer has those that gave it."""

    name = "python-vote"

    def __init__(self, tries: int = 1, wording: str = "Answer in a word.") -> None:
        self.tries = tries
        self.wording = wording
        self._answered: list[str] = []

    def answer(self, question: moot.Question, ctx: moot.Context) -> list[moot.Supported]:
        self._answered.append(question.id)
        asks = [
            moot.Ask(f"{document.text}\n\n{question.text} {self.wording}", document=document, format="short",
                     samples=self.tries, max_tokens=6)
            for document in ctx.documents
        ]
        votes: dict[str, set[int]] = {}
        for reply in ctx.ask_all(asks):
            assert reply.document is not None
            if reply.answer:
                votes.setdefault(reply.answer, set()).add(reply.document)
        best = sorted(votes.items(), key=lambda vote: -len(vote[1]))
        everybody = set(range(1, len(ctx.documents) + 1))
        return [moot.Supported(text, sorted(of), sorted(everybody - of)) for text, of in best]


def test_it_runs_beside_a_method_of_the_program(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    vote = Vote(tries=2)
    seen: list[int] = []
    reports = engine.run(three, tmp_path / "runs/", method=[vote, "naive-rag"], max_tokens=8,
                         on_progress=lambda progress: seen.append(progress.done))
    assert [Path(report.output).name.split(".")[0] for report in reports] == ["python-vote", "naive-rag"]
    assert sorted(vote._answered) == sorted(set(vote._answered)), "each question once: nothing is rehearsed"
    assert [report.progress.done for report in reports] == [3, 3] and seen[-1] == 6
    record = reports[0].record()
    assert record.header["method"] == "python-vote"
    assert record.header["switches"] == {"tries": 2, "wording": "Answer in a word."}
    assert "test_methods.Vote.py" in record.header["prompts"]
    calls = record.questions[0].calls
    assert {call.stage for call in calls} == {0} and {call.sample for call in calls} == {0, 1}
    assert record.questions[0].answer is not None and record.questions[0].gold


def test_the_program_reads_its_record(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    [report] = engine.run(three, tmp_path / "vote.jsonl", method=Vote())
    for command, said in [(["score"], "python-vote"), (["record", "show"], "Veldra"), (["record", "calls"], "reader")]:
        program = subprocess.run([sys.executable, "-m", "moot", *command, report.output], capture_output=True, text=True)
        assert program.returncode == 0 and said in program.stdout, program
    again = tmp_path / "report.html"
    program = subprocess.run([sys.executable, "-m", "moot", "report", report.output, "-o", again], capture_output=True, text=True)
    assert program.returncode == 0 and "python-vote" in again.read_text(), program
    # Its code is not in the record, so it cannot be run again from there.
    program = subprocess.run([sys.executable, "-m", "moot", "record", "replay", report.output], capture_output=True, text=True)
    assert program.returncode != 0 and "a method of this program" in program.stderr, program


def test_a_run_goes_on_with_the_same_method_and_refuses_another(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    record = tmp_path / "vote.jsonl"
    engine.run(three, record, method=Vote(), limit=1)
    [report] = engine.run(three, record, method=Vote())
    assert (report.progress.before, report.progress.done) == (1, 3)
    for other in (Vote(tries=3), type("Vote", (Vote,), {"__doc__": "Another.", "name": "python-other"})()):
        with pytest.raises(moot.MootError, match="recorded with other settings"):
            engine.run(three, record, method=other)


def test_its_calls_are_those_of_the_engine(engine: moot.Engine) -> None:
    class All(moot.Method):
        name = "all-kinds"

        def answer(self, question: moot.Question, ctx: moot.Context) -> moot.Conclusion:
            chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "First."},
                    {"role": "assistant", "content": "Yes."}, {"role": "user", "content": question.text}]
            schema = {"type": "object", "properties": {"year": {"enum": [1931, 1968]}}, "required": ["year"],
                      "additionalProperties": False}
            free, chosen, held, begun, scored = ctx.ask_all([
                moot.Ask(chat, max_tokens=4),
                moot.Ask("Which?", format="choice", options=["left", "right"]),
                moot.Ask("Which year?", schema=schema, max_tokens=20),
                moot.Ask("Go on.", prefill="It was", max_tokens=4, temperature=0.7),
                moot.Ask("Go on.", prefill="It was so", scored=True),
            ])
            assert [message["role"] for message in free.messages] == ["system", "user", "assistant", "user"]
            assert chosen.chosen in ("left", "right")
            assert held.data["year"] in (1931, 1968)
            assert begun.reply.startswith("It was")
            assert scored.score is not None and scored.score < 0 and scored.usage.generated == 0
            later = ctx.ask(moot.Ask("Again?", round=2, document=ctx.documents[0], max_tokens=3))
            assert (later.stage, later.round, later.document) == (1, 2, 1)
            assert ctx.seed() == ctx.seed() != ctx.seed(call=1)
            ctx.fall_back("nothing else to do")
            return moot.Conclusion([moot.Supported("1968", [1], probability=0.7)], ["1931"], "because", rounds=2)

    answer = engine.ask("When?", ["Born in 1968."], method=All())
    assert (answer.calls, answer.rounds, answer.explanation) == (6, 2, "because")
    [stand] = answer.answers
    assert (stand.text, stand.probability, [said.document for said in stand.supporters]) == ("1968", 0.7, [1])
    assert stand.supporters[0].quote == "Born in 1968." and answer.rejected[0].text == "1931"


def test_an_exception_ends_the_run_and_is_raised(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    class Broken(Vote):
        name = "broken"

        def answer(self, question: moot.Question, ctx: moot.Context) -> list[moot.Supported]:
            super().answer(question, ctx)
            raise LookupError(question.id)

    with pytest.raises(LookupError):
        engine.run(three, tmp_path / "broken.jsonl", method=Broken())
    assert moot.records(tmp_path / "broken.jsonl").questions == []


def test_a_question_that_cannot_be_answered_is_recorded(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    class Picky(Vote):
        name = "picky"

        def answer(self, question: moot.Question, ctx: moot.Context) -> list[moot.Supported]:
            if not self._answered:
                self._answered.append(question.id)
                raise moot.QuestionError("nothing to say")
            # Longer than the context: an error of the engine that the method does not catch.
            ctx.ask(moot.Ask("word " * 9000))
            return []

    [report] = engine.run(three, tmp_path / "picky.jsonl", method=Picky(), in_flight=1)
    errors = [question.error for question in report.record().questions]
    assert errors[0] == "nothing to say" and all("is 8192" in str(error) for error in errors[1:])
    assert report.unanswered and report.progress.errors == 3


@pytest.mark.parametrize(("concluded", "field", "said"), [
    ("1968", "Wrong.answer", "expected a list of answers"),
    ([moot.Supported("1968", [2])], "answers[0].supporters", "from 1 to 1, found 2"),
    ([moot.Supported("1968", [], [0])], "answers[0].opponents", "found 0"),
    (moot.Conclusion(cast(Any, [1968])), None, "'int'"),
])
def test_wrong_conclusions_say_what_was_expected(
    engine: moot.Engine, concluded: object, field: str | None, said: str
) -> None:
    class Wrong(moot.Method):
        name = "wrong"

        def answer(self, question: moot.Question, ctx: moot.Context) -> list[str]:
            return concluded  # type: ignore[return-value]

    with pytest.raises((moot.OptionError, AttributeError)) as raised:
        engine.ask("When?", ["Born in 1968."], method=Wrong())
    assert said in str(raised.value) and getattr(raised.value, "field", None) == field


@pytest.mark.parametrize(("ask", "field"), [
    (moot.Ask("Who?", document=2), "asks[0].document"),
    (moot.Ask("Who?", round=0), "asks[0].round"),
    (moot.Ask("  "), "asks[0].messages"),
    (moot.Ask("Who?", temperature=-1.0), "asks[0].temperature"),
    (moot.Ask("Who?", format="poem"), None),
    (moot.Ask([{"role": "poet", "content": "Who?"}]), "asks[0].messages[0].role"),
])
def test_wrong_asks_name_their_field(engine: moot.Engine, ask: moot.Ask, field: str | None) -> None:
    class Wrong(moot.Method):
        name = "wrong"

        def answer(self, question: moot.Question, ctx: moot.Context) -> list[str]:
            ctx.ask(ask)
            return []

    with pytest.raises(moot.OptionError) as raised:
        engine.ask("When?", ["Born in 1968."], method=Wrong())
    assert raised.value.field == field


def test_names_and_parameters_are_checked(engine: moot.Engine) -> None:
    nameless = type("Nameless", (moot.Method,), {"name": "A method"})()
    for method, field in [(nameless, "Nameless.name"), (Vote(wording=cast(Any, object())), "Vote.wording")]:
        with pytest.raises(moot.OptionError) as raised:
            engine.ask("When?", ["Born in 1968."], method=method)
        assert raised.value.field == field
    with pytest.raises(moot.OptionError, match="object of a moot.Method, found Vote"):
        engine.run("set.jsonl", "out.jsonl", method=[Vote])  # type: ignore[list-item]


def test_a_context_is_over_with_its_question(engine: moot.Engine) -> None:
    kept: list[moot.Context] = []

    class Keeps(moot.Method):
        name = "keeps"

        def answer(self, question: moot.Question, ctx: moot.Context) -> list[str]:
            kept.append(ctx)
            return ["1968"]

    engine.ask("When?", ["Born in 1968."], method=Keeps())
    with pytest.raises(moot.OptionError, match="over"):
        kept[0].ask(moot.Ask("Who?"))


def test_it_searches(tiny: Path, tmp_path: Path) -> None:
    class Searches(moot.Method):
        name = "searches"
        retrieves = True

        def answer(self, question: moot.Question, ctx: moot.Context) -> list[moot.Supported]:
            assert ctx.documents == []
            found = ctx.retrieve(question.text, "village 5", top=1)
            assert [document.number for document in ctx.documents] == [1, 2]
            return [moot.Supported("1903", [found[0]], [found[1]])]

    for number in range(8):
        (tmp_path / f"{number}.txt").write_text(f"The bridge of village {number} opened in {1900 + number}.")
    with moot.Engine(tiny, corpus={"paths": [tmp_path], "retriever": "bm25"}, kv_memory=64 << 20) as engine:
        answer = engine.ask("When did the bridge of village 3 open?", method=Searches())
        assert [listed.name for listed in answer.documents] == ["3.txt", "5.txt"]
        assert answer.answers[0].opponents[0].document == 2
    assert "searches" not in _moot.option_fields(), "nothing is registered"
