"""The page's tests of documents without a question: reading files, checking a text, contradictions."""

import json
import re
import urllib.request
from pathlib import Path

from opened import QUESTION, STEPPED, TEXTS, Opened, Server, answered, choose, equal, fill, tiny, until


def test_reading(browser, server, folder):
    with Opened(browser, server.url) as page:
        held, names = [], []

        # The second file is never read.
        def read(route):
            names.append(json.loads(route.request.post_data)["documents"][0]["name"])
            if len(names) == 2:
                held.append(route)
            else:
                route.continue_()

        page.route("**/moot/v1/documents", read)
        for name in TEXTS:
            (Path(folder) / name).write_text(TEXTS[name])
        page.set_input_files("#files", [str(Path(folder) / name) for name in TEXTS])
        equal(lambda: page.inner_text("#reading-line"), "reading file 2 of 3: board.txt")
        assert page.evaluate("document.getElementById('reading-bar').value") == 1
        page.fill("#question", QUESTION)
        page.click("#go")
        until(lambda: "still being read" in page.inner_text("#error"), "a refusal")
        page.click("#stop-reading")
        until(lambda: not page.is_visible("#reading"), "the end")
        held[0].abort()
        assert page.inner_text("#unread") == "cancelled: 1 of 3 files were read"
        assert names == ["almanac.md", "board.txt"] and page.locator("#documents li").count() == 1
        page.set_input_files("#files", [str(Path(folder) / "board.txt")])
        equal(lambda: page.locator("#documents li").count(), 2)
        until(lambda: not page.is_visible("#unread") and not page.is_visible("#reading"), "a page without lines on reading")


def test_folders(browser, server, folder):
    """A folder that is picked or dropped: its files by their paths, hidden ones left out."""
    notes = Path(folder) / "notes"
    for path in ("b.txt", "sub/a.txt", ".git/config.txt", ".hidden.txt"):
        (notes / path).parent.mkdir(parents=True, exist_ok=True)
        (notes / path).write_text(f"The file {path}.\n")
    names = lambda: page.locator("#documents summary").all_inner_texts()  # noqa: E731
    expected = ["notes/b.txt", "notes/sub/a.txt"]
    with Opened(browser, server.url) as page:
        page.set_input_files("#folder", str(notes))
        equal(lambda: sorted(names()), expected)
    with Opened(browser, server.url) as page:
        dropped = {"items": [], "files": [str(notes)], "dragOperationsMask": 1}
        box, session = page.locator("#drop").bounding_box(), page.context.new_cdp_session(page)
        for kind in ("dragEnter", "dragOver", "drop"):
            session.send("Input.dispatchDragEvent", {"type": kind, "x": box["x"] + 9, "y": box["y"] + 9, "data": dropped})
        equal(names, expected)


def test_check(browser, server, folder):
    with Opened(browser, server.url) as page:
        fill(page, folder)
        page.click("[data-view=check]")
        page.fill("#text", "The ferry stopped in 1968.")
        page.click("#go")
        answered(page)
        assert page.locator("#answer .value").inner_text() == "The ferry stopped in 1968."
        assert page.locator("#texts details").count() == 3
        page.locator("#answer .against button, #answer .for button").last.click()
        until(lambda: page.locator("#texts mark").count() == 1, "a quote")
        assert page.locator("#answer img, #texts img").count() == 0


# Two documents against one, of which one sentence holds markup.
FERRY = {
    "almanac.md": TEXTS["almanac.md"],
    "board.txt": "The Orrin ferry stopped in 1968.\n",
    "hostile.txt": "The Orrin ferry <img src=x onerror=alert(1)> stopped in 1968.\n",
}


def compared(page, folder, texts):
    page.click("[data-view=contradictions]")
    assert page.inner_text("#go") == "Find contradictions" and not page.is_visible("#question")
    for name in texts:
        (Path(folder) / name).write_text(texts[name])
    page.set_input_files("#files", [str(Path(folder) / name) for name in texts])
    equal(lambda: page.locator("#documents li").count(), len(texts))


def test_contradictions(browser, server, folder):
    with Opened(browser, server.url) as page:
        compared(page, folder, FERRY)
        page.focus("#go")
        page.keyboard.press("Enter")
        answered(page)
        assert "1 contradiction about 1 subject in 3 documents" in page.inner_text("#status")
        assert page.locator("#answer .subject h3").count() == 1
        kind = page.locator("#answer .kind").inner_text()
        assert "different date" in kind and re.search(r"\d+ % probable", kind), kind
        sides = {side.locator("h4").inner_text().split()[0]: side for side in page.locator("#answer .side").all()}
        assert sorted(sides) == ["1968", "1974"]
        assert "the odd one out" in sides["1974"].inner_text() and "odd" not in sides["1968"].inner_text()
        assert "1 almanac.md (county, 1990), line 1" in sides["1974"].inner_text()
        assert "<img src=x onerror=alert(1)>" in sides["1968"].inner_text()
        # Beside each other, not below.
        tops = {round(side.bounding_box()["y"]) for side in sides.values()}
        assert len(tops) == 1, tops
        sides["1974"].locator("button").press("Enter")
        equal(lambda: (page.locator("#texts mark.for").all_inner_texts(), page.locator("#texts mark.against").count()),
              (["The Orrin ferry stopped in 1974."], 2))
        assert page.locator("#answer img, #texts img").count() == 0


def test_no_contradictions(browser, server, folder):
    with Opened(browser, server.url) as page:
        compared(page, folder, {"tea.txt": "Tea is grown in Assam.\n", "owl.txt": "Owls hunt at night.\n"})
        page.click("#go")
        answered(page)
        assert page.locator("#answer .card").count() == 1
        assert "Nothing found: no contradictions in 2 documents" in page.inner_text("#answer .card")
    opened = Opened(browser, server.url)
    page = opened.page
    compared(page, folder, {"tea.txt": "Tea is grown in Assam.\n"})
    page.click("#go")
    until(lambda: page.is_visible("#error"), "an error")
    assert "two documents or more" in page.inner_text("#error")
    assert all("400" in line for line in opened.wrong), opened.wrong
    opened.context.close()


def test_cancel_contradictions(browser, server, folder):
    with Opened(browser, server.url, script=STEPPED) as page:
        compared(page, folder, {**FERRY, "board.txt": "The Orrin ferry stopped in 1968. It seats 240.\n"})
        page.evaluate("window.passed = 2")
        page.click("#go")
        until(lambda: page.is_visible("#progress"), "progress")
        assert page.inner_text("#status") == "0 of 1 passage read"
        # Only a question can be paused.
        assert not page.is_visible("#pause")
        page.click("#cancel")
        equal(lambda: page.inner_text("#status"), "cancelled")
        assert page.is_enabled("#go") and page.locator("#answer h2").count() == 0


def posted(server, path, body):
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def saved(page, button, ending):
    with page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename.endswith(ending), download.value.suggested_filename
    return Path(download.value.path()).read_text()


def test_kept(browser, server, folder):
    """Runs, checks and contradictions in the history."""
    documents = [{"name": name, "text": text} for name, text in FERRY.items()]
    questions = [{"question": QUESTION, "documents": [text]} for text in FERRY.values()]
    posted(server, "/moot/v1/runs", {"questions": questions})
    checked = "The ferry stopped in 1968."
    posted(server, "/moot/v1/conflict", {"text": checked, "documents": documents})
    with Opened(browser, server.url) as page:
        compared(page, folder, FERRY)
        page.click("#go")
        answered(page)
        assert "different date" in saved(page, page.locator("#report"), ".html")
        assert json.loads(saved(page, page.locator("#record"), ".json"))["report"]["groups"]
        page.click("[data-view=history]")
        entry = page.locator("#records button")
        until(lambda: entry.count() > 2, "records")
        lines = entry.all_inner_texts()[:3]
        assert lines == [
            "Contradictions of 3 documents: 1 found", f"Check of a text: {checked}", "Run of 3 questions (moot): report",
        ], lines
        assert QUESTION in saved(page, entry.nth(2), ".html")
        entry.nth(1).click()
        until(lambda: page.locator("#answer .value").count() > 0, "the check")
        assert page.inner_text("#answer .value") == checked and page.inner_text("#go") == "Check"
        assert page.locator("#texts details").count() == 3 and page.locator("#answer img, #texts img").count() == 0
        assert "Claims and evidence" in saved(page, page.locator("#report"), ".html")
        assert not page.is_visible("#tell-form")
        page.click("[data-view=history]")
        until(lambda: entry.count() > 2, "records")
        entry.nth(0).click()
        until(lambda: page.locator("#answer .side").count() == 2, "the contradiction")
        page.locator("#answer figure button").first.click()
        until(lambda: page.locator("#texts mark").count() > 1, "quotes of both sides")


def test_choices(browser, program, folder):
    """A model of several, and the server's corpus instead of files."""
    own = Path(folder) / "choices"
    (own / "notes").mkdir(parents=True)
    for name, text in FERRY.items():
        (own / "notes" / name).write_text(text)
    model = f"{tiny(own)},spare={tiny(own, 'qwen2')}"
    typed = ("--corpus", str(own / "notes"), "--embedder", "none")
    with Server(program, own, *typed, model=model) as server, Opened(browser, server.url) as page:
        choose(page, "madam-rag", "every-answer")
        named = page.locator("#model option").all_inner_texts()
        assert named == ["by role: llama.gguf (others), qwen2.gguf (spare)", "llama.gguf", "qwen2.gguf"], named
        # Who has no documents is offered the corpus.
        assert page.input_value("#from") == "corpus" and not page.is_visible("#drop")
        bodies = []
        page.on("request", lambda request: bodies.append(json.loads(request.post_data)) if request.method == "POST" else None)
        page.fill("#question", QUESTION)
        page.select_option("#model", "qwen2.gguf")
        page.click("#go")
        answered(page)
        assert page.locator("#texts details").count() > 1
        assert [(body["documents"], body["model"]) for body in bodies] == [([], "qwen2.gguf")], bodies
        page.select_option("#from", "files")
        assert page.is_visible("#drop")
        page.click("#go")
        until(lambda: page.is_visible("#error"), "a refusal")
        assert "no documents: add some" in page.inner_text("#error") and len(bodies) == 1
        page.select_option("#from", "corpus")
        page.select_option("#model", "")
        page.click("[data-view=contradictions]")
        page.click("#go")
        answered(page)
        assert "1 contradiction about 1 subject in 3 documents" in page.inner_text("#status")
        # The page has no text of these documents.
        assert page.locator("#answer q").count() == 3 and page.locator("#answer figure button, #texts details").count() == 0
        assert page.is_visible("#kept")


TESTS = [
    test_reading, test_folders, test_check, test_contradictions, test_no_contradictions, test_cancel_contradictions,
    test_kept,
]
