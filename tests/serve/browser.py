"""The page of `moot serve` in a browser, on a model whose replies are senseless and quick.

    python tests/serve/browser.py PROGRAM [SCREENSHOTS]
"""

import json
import sys
import tempfile
from pathlib import Path

import comparing
from comparing import FERRY, compared
from opened import QUESTION, STEPPED, WIDTHS, Opened, Server, answered, choose, equal, fill, until

# `opened` adds their folder to the path.
from harness import overflow, tools


def test_debate(browser, server, folder):
    with Opened(browser, server.url) as page:
        fill(page, folder)
        equal(lambda: page.locator("#documents summary").all_inner_texts()[0], "almanac.md (county, 1990)")
        choose(page, "madam-rag", "every-answer")
        page.keyboard.press("Escape")
        page.focus("#question")
        page.keyboard.press("Control+Enter")
        answered(page)
        assert page.locator("#debate .turn").count() == 3
        assert "3 calls" in page.inner_text("#status")
        assert page.locator("#texts details").count() == 3
        # What a document says is text, whatever it is.
        page.locator("#texts details").nth(2).locator("summary").click()
        assert "<img src=x onerror=alert(1)>" in page.locator("#texts details").nth(2).inner_text()
        assert page.locator("#texts img, #documents img, #texts script").count() == 0
        for button, ending in (("#report", ".html"), ("#record", ".jsonl")):
            with page.expect_download() as download:
                page.click(button)
            assert download.value.suggested_filename.endswith(ending)
            assert Path(download.value.path()).stat().st_size > 500


def test_fork(browser, server, folder):
    with Opened(browser, server.url) as page:
        fill(page, folder)
        choose(page, "madam-rag", "every-answer")
        page.click("#go")
        answered(page)
        page.locator("#texts details").nth(2).locator("summary").click()
        struck = page.locator("#texts details").nth(2)
        assert struck.get_by_label("Round").get_attribute("max") == "1"
        struck.get_by_role("button", name="Strike it").click()
        until(lambda: page.locator("#texts details").count() == 2, "a debate of two documents")
        until(lambda: page.is_enabled("#go"), "the end")
        page.fill("#tell", "The board was repainted in 1999.")
        page.click("#tell-form button")
        answered(page)
        assert page.locator("#texts details").count() == 2


def test_history(browser, server, folder):
    with Opened(browser, server.url) as page:
        page.click("[data-view=history]")
        until(lambda: page.locator("#records button").count() > 0, "records")
        assert QUESTION in page.locator("#records button").first.inner_text()
        page.locator("#records button").first.click()
        until(lambda: page.locator("#answer h2").count() > 0, "the recorded answer")
        assert page.locator("#debate .turn").count() > 0


def test_strike_at_a_round(browser, server, folder):
    with Opened(browser, server.url) as page:
        fill(page, folder)
        choose(page, "madam-rag")
        page.click("#go")
        answered(page)
        heading = page.locator("#debate h3").first.inner_text()
        bodies = []
        page.on("request", lambda request: bodies.append(json.loads(request.post_data)) if request.url.endswith("/fork") else None)
        struck = page.locator("#texts details").nth(1)
        struck.locator("summary").click()
        round = struck.get_by_label("Round")
        assert (round.get_attribute("max"), page.get_attribute("#round", "max")) == ("3", "3")
        round.fill("2")
        round.press("Enter")
        until(lambda: page.locator("#texts details").count() == 2, "a debate of two documents")
        answered(page)
        assert [(body["strike"], body["round"]) for body in bodies] == [(2, 2)], bodies
        # The first round is the recorded one, whose three agents were held then.
        assert page.locator("#debate h3").first.inner_text() == heading


def test_quotes(browser, server, folder):
    """An answer opens its documents with the quotes for and against it; a name opens one."""
    texts = ["<b>Notice</b>. The ferry\nstopped in 1968. It was loved.", "The ferry stopped in 1974.", "The ferry stopped in 1968."]
    documents = [{"name": f"{index}.txt", "text": text} for index, text in enumerate(texts, 1)]
    voice = lambda document, quote, answer=None: {"document": document, "answer": answer, "quote": quote}  # noqa: E731
    answer = {
        "text": "1968", "probability": 0.7, "about": None, "conflict": None,
        "for": [voice(1, "The ferry stopped in 1968.")], "against": [voice(2, "The ferry stopped in 1974.", "1974")],
    }
    value = {
        "id": "1", "calls": 3, "usage": {"prompt": 1, "generated": 1}, "seconds": 0.1, "answers": [answer], "rejected": [],
        "explanation": "", "notes": [], "documents": [{"name": one["name"]} for one in documents],
    }
    events = [("open", {"id": "1", "method": "moot", "documents": documents}), ("answer", value)]
    with Opened(browser, server.url) as page:
        body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
        page.route("**/moot/v1/ask", lambda route: route.fulfill(body=body, content_type="text/event-stream"))
        page.fill("#question", QUESTION)
        page.click("#go")
        answered(page)
        page.get_by_role("button", name="1968", exact=True).press("Enter")
        marks = lambda kind: page.locator(f"#texts mark.{kind}").all_inner_texts()  # noqa: E731
        equal(lambda: (marks("for"), marks("against")), (["The ferry\nstopped in 1968."], ["The ferry stopped in 1974."]))
        opened = lambda: page.locator("#texts details[open]").evaluate_all("all => all.map((one) => one.dataset.document)")  # noqa: E731
        assert opened() == ["1", "2"] and page.locator("#texts b").count() == 0
        assert page.evaluate("document.activeElement.innerText") == "1 1.txt"
        page.get_by_role("button", name="2 2.txt").click()
        equal(lambda: (marks("for"), marks("against")), ([], ["The ferry stopped in 1974."]))


def test_live(browser, server, folder):
    with Opened(browser, server.url, script=STEPPED) as page:
        fill(page, folder)
        choose(page, "madam-rag", "every-answer")
        # The question is open, a stage begins, and the first agent speaks.
        page.evaluate("window.passed = 3")
        page.click("#go")
        equal(lambda: page.locator("#debate .turn").count(), 1)
        assert page.locator("#answer h2").count() == 0
        assert "1 of 3 calls" in page.inner_text("#status") and page.is_visible("#progress")
        page.evaluate("window.passed = Infinity")
        answered(page)
        assert page.locator("#debate .turn").count() == 3 and not page.is_visible("#progress")


def test_cancel(browser, server, folder):
    with Opened(browser, server.url, script=STEPPED) as page:
        fill(page, folder)
        choose(page, "madam-rag", "every-answer")
        page.evaluate("window.passed = 2")
        page.click("#go")
        until(lambda: page.locator("#debate section").count() == 1, "a stage")
        page.click("#cancel")
        equal(lambda: page.inner_text("#status"), "cancelled")
        assert page.is_enabled("#go") and not page.is_visible("#cancel") and not page.is_visible("#progress")
        page.evaluate("window.passed = Infinity")
        assert page.locator("#answer h2, #debate .turn").count() == 0
        page.click("#go")
        answered(page)


def test_pause(browser, server, folder):
    with Opened(browser, server.url, script=STEPPED) as page:
        fill(page, folder)
        choose(page, "madam-rag", "every-answer")
        acts = []

        # The tiny model has answered by now, and the server knows the question no more.
        def act(route):
            acts.append((route.request.url.rsplit("/", 1)[1], json.loads(route.request.post_data)["action"]))
            route.fulfill(json={"id": acts[-1][0]})

        page.route("**/moot/v1/asks/*", act)
        page.evaluate("window.passed = 2")
        page.click("#go")
        until(lambda: page.locator("#debate section").count() == 1, "a stage")
        page.click("#pause")
        equal(lambda: page.inner_text("#pause"), "Resume")
        equal(lambda: page.inner_text("#status"), "pauses before the next stage")
        page.click("#pause")
        until(lambda: page.inner_text("#pause") == "Pause" and len(acts) == 2, "two requests")
        assert [action for _, action in acts] == ["pause", "resume"] and acts[0][0] == acts[1][0] != ""
        page.evaluate("window.passed = Infinity")
        answered(page)


def test_reload(browser, server, folder):
    with Opened(browser, server.url) as page:
        fill(page, folder)
        choose(page, "madam-rag")
        page.click("#go")
        page.reload()
        equal(lambda: page.input_value("#question"), QUESTION)
        equal(lambda: page.locator("#documents li").count(), 3)
        choose(page, "madam-rag", "every-answer")
        page.click("#go")
        answered(page)


def test_two_tabs(browser, server, folder):
    with Opened(browser, server.url) as first:
        with Opened(browser, server.url, context=first.context) as second:
            fill(first, folder, ("almanac.md", "board.txt"))
            fill(second, folder)
            for page in (first, second):
                choose(page, "madam-rag", "every-answer")
            first.click("#go")
            second.click("#go")
            answered(first)
            answered(second)
            assert first.locator("#texts details").count() == 2
            assert second.locator("#texts details").count() == 3


def test_errors(browser, server, folder):
    with Opened(browser, server.url) as page:
        until(lambda: page.locator("#method option").count() > 5, "methods")
        (Path(folder) / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    opened = Opened(browser, server.url)
    page = opened.page
    until(lambda: page.locator("#method option").count() > 5, "methods")
    page.set_input_files("#files", [str(Path(folder) / "picture.png")])
    until(lambda: page.is_visible("#unread"), "a file that is not read")
    assert "picture.png" in page.inner_text("#unread")
    page.click("#go")
    until(lambda: page.is_visible("#error"), "an error")
    assert "question: expected a text" in page.inner_text("#error")
    # The browser logs each response that is no success; nothing else is wrong.
    assert all("400" in line for line in opened.wrong), opened.wrong
    opened.context.close()


def test_key(browser, program, folder):
    with Server(program, folder, MOOT_SERVE_KEY="secret") as server:
        opened = Opened(browser, server.url)
        page = opened.page
        until(lambda: page.is_visible("#key-form"), "the question for the key")
        page.fill("#key", "wrong")
        page.click("#key-form button")
        until(lambda: page.is_visible("#key-form"), "the question again")
        page.fill("#key", "secret")
        page.click("#key-form button")
        until(lambda: page.locator("#method option").count() > 5, "methods")
        assert all("401" in line for line in opened.wrong), opened.wrong
        opened.context.close()


def looks(page, name, screenshots):
    wide, first = overflow(page)
    assert wide <= 0, (name, wide, first)
    if screenshots:
        page.screenshot(path=str(Path(screenshots) / f"serve-{name}.png"), full_page=True)
    # Whatever can be clicked can be reached and has a name.
    unnamed = page.evaluate("""() => [...document.querySelectorAll("button, input, select, textarea, progress")]
      .filter((one) => one.checkVisibility() && !(one.labels?.length || one.ariaLabel || one.innerText?.trim()))
      .map((one) => one.outerHTML)""")
    assert not unnamed, unnamed


def test_looks(browser, server, folder, screenshots):
    for size in WIDTHS:
        for colours in ("light", "dark"):
            with Opened(browser, server.url, size, colours) as page:
                fill(page, folder)
                choose(page, "madam-rag", "every-answer")
                page.click("#go")
                answered(page)
                page.locator("#answer button").first.click()
                looks(page, f"{size}-{colours}", screenshots)
            with Opened(browser, server.url, size, colours) as page:
                compared(page, folder, FERRY)
                page.click("#go")
                answered(page)
                page.locator("#answer button").first.click()
                looks(page, f"contradictions-{size}-{colours}", screenshots)


def main():
    program, *rest = sys.argv[1:]
    screenshots = rest[0] if rest else None
    playwright, found = tools()
    if playwright is None:
        sys.exit(f"the page cannot be opened: {found}")
    tests = [
        test_debate, test_fork, test_strike_at_a_round, test_quotes, test_history, test_live, test_cancel, test_pause,
        test_reload, test_two_tabs, test_errors, *comparing.TESTS,
    ]
    with playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        with Server(program, folder) as server:
            for test in tests:
                test(browser, server, folder)
                print(f"{test.__name__} ok", flush=True)
            test_looks(browser, server, folder, screenshots)
        test_key(browser, program, folder)
        comparing.test_choices(browser, program, folder)
        browser.close()
    print("the page is as it should be")


if __name__ == "__main__":
    main()
