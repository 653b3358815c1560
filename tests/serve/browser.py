"""The page of `moot serve` in a browser, on a model whose replies are senseless and quick.

    python tests/serve/browser.py PROGRAM [SCREENSHOTS]
"""

import contextlib
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "report"))
from harness import WIDTHS, equal, overflow, tools, until  # noqa: E402

ROOT = HERE.parents[1]
QUESTION = "When did the Orrin ferry stop?"
TEXTS = {
    "almanac.md": "---\nsource: county\ndate: 1990\n---\nThe Orrin ferry stopped in 1974.\n",
    "board.txt": "The Orrin ferry stopped in 1968.\n",
    "hostile.txt": "<img src=x onerror=alert(1)><script>alert(2)</script> The ferry stopped in 1950.\n",
}


def tiny(folder):
    """The tests' tiny model with room for prompts: its metadata say how many tokens of context it has."""
    data = bytearray((ROOT / "models/tests/golden/tiny/llama.gguf").read_bytes())
    key = b"llama.context_length"
    at = data.index(key) + len(key)
    assert struct.unpack_from("<I", data, at)[0] == 4, "a number of 32 bits"
    struct.pack_into("<I", data, at + 4, 8192)
    path = Path(folder) / "tiny.gguf"
    path.write_bytes(data)
    return path


class Server:
    """The program, serving on a free port; `env` may hold a key."""

    def __init__(self, program, folder, *more, **env):
        typed = [program, "serve", "--port", "0", "--model", str(tiny(folder)), "--offline", "--kv-memory", "64M"]
        typed += ["--records", str(Path(folder) / "asked"), "--max-tokens", "24", *more]
        self.process = subprocess.Popen(typed, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
        for line in self.process.stderr:
            if found := re.search(r"listening on (http://\S+)", line):
                self.url = found[1]
                return
        raise AssertionError("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(60) == 0


class Opened:
    """A page of the browser that keeps what it complains of and what it asks other servers for."""

    def __init__(self, browser, url, size="desk", colours="light", context=None):
        width, height = WIDTHS[size]
        self.own = context is None
        self.context = context or browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
        self.page, self.wrong = self.context.new_page(), []
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: None if request.url.startswith((url, "data:", "blob:")) else self.wrong.append(request.url))
        self.page.goto(url)

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        if self.own:
            self.context.close()
        else:
            self.page.close()
        if kind is None:
            assert not self.wrong, self.wrong


def fill(page, folder, names=tuple(TEXTS)):
    for name in names:
        (Path(folder) / name).write_text(TEXTS[name])
    page.set_input_files("#files", [str(Path(folder) / name) for name in names])
    equal(lambda: page.locator("#documents li").count(), len(names))
    page.fill("#question", QUESTION)


def choose(page, method, preset=""):
    until(lambda: page.locator("#method option").count() > 5, "methods")
    page.select_option("#method", method)
    page.select_option("#preset", preset)


def answered(page):
    until(lambda: page.locator("#answer h2").count() > 0, lambda: f"an answer; there is {page.inner_text('#output')!r}")
    until(lambda: page.is_enabled("#go"), "the end")


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
        page.locator("#texts details").nth(2).get_by_role("button", name="Strike it").click()
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


def test_pause_and_cancel(browser, server, folder):
    with Opened(browser, server.url) as page:
        fill(page, folder)
        choose(page, "madam-rag")
        page.click("#go")
        until(lambda: page.is_visible("#cancel") or page.locator("#answer h2").count() > 0, "a debate")
        # The tiny model may have concluded by now; a click then finds no button.
        with contextlib.suppress(Exception):
            page.click("#cancel", timeout=500)
        until(lambda: page.is_enabled("#go") and not page.is_visible("#cancel"), "the end")
        page.click("#go")
        with contextlib.suppress(Exception):
            page.click("#pause", timeout=500)
            equal(lambda: page.inner_text("#pause"), "Resume")
            page.click("#pause", timeout=500)
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


def test_looks(browser, server, folder, screenshots):
    for size in WIDTHS:
        for colours in ("light", "dark"):
            with Opened(browser, server.url, size, colours) as page:
                fill(page, folder)
                choose(page, "madam-rag", "every-answer")
                page.click("#go")
                answered(page)
                page.locator("#answer button").first.click()
                wide, first = overflow(page)
                assert wide <= 0, (size, wide, first)
                if screenshots:
                    page.screenshot(path=str(Path(screenshots) / f"serve-{size}-{colours}.png"), full_page=True)
                # Whatever can be clicked can be reached and has a name.
                unnamed = page.evaluate("""() => [...document.querySelectorAll("button, input, select, textarea")]
                  .filter((one) => one.checkVisibility() && !(one.labels?.length || one.ariaLabel || one.innerText.trim()))
                  .map((one) => one.outerHTML)""")
                assert not unnamed, unnamed


def main():
    program, *rest = sys.argv[1:]
    screenshots = rest[0] if rest else None
    playwright, found = tools()
    if playwright is None:
        sys.exit(f"the page cannot be opened: {found}")
    tests = [test_debate, test_fork, test_history, test_pause_and_cancel, test_reload, test_two_tabs, test_errors]
    with playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        with Server(program, folder) as server:
            for test in tests:
                test(browser, server, folder)
                print(f"{test.__name__} ok", flush=True)
            test_looks(browser, server, folder, screenshots)
        test_key(browser, program, folder)
        browser.close()
    print("the page is as it should be")


if __name__ == "__main__":
    main()
