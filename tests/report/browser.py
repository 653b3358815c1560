#!/usr/bin/env python3
"""The report in a real browser: python3 tests/report/browser.py [PROGRAM]

Needs Playwright's Python package and a Chromium that is installed (CHROMIUM names another one); where one of them is
missing, one line says so and nothing is tested. MOOT_GOLDEN=write renews the accessibility trees beside this file.
MOOT_SHOTS=FOLDER keeps pictures of the pages at three widths, light and dark.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import records  # noqa: E402

WIDTHS = {"desk": (1440, 900), "tablet": (768, 1024), "phone": (390, 844)}


def tools():
    """Playwright and the browser's path, or why there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None, "Python's package playwright is not installed"
    named = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    found = next((path for name in named if name and (path := shutil.which(name))), None)
    return (sync_playwright, found) if found else (None, "no Chromium is installed")


def until(page, expression, arg=None):
    """Waits until the expression holds. Playwright's own wait asks again from within the page, and its policy forbids that."""
    end = time.monotonic() + 30
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(20)


class Pages:
    """The pages, written by the program, in a folder of their own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)
        for name, lines in records.all_records().items():
            records.write(self.folder / name, lines)

    def write(self, name, *files, more=()):
        out = self.folder / name
        typed = [self.program, "report", *(str(self.folder / file) for file in files), "-o", str(out), *more]
        done = subprocess.run(typed, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return out

    def compared(self, name, *files):
        out = self.folder / name
        typed = [self.program, "compare", *(str(self.folder / file) for file in files), "--format", "html"]
        done = subprocess.run(typed, capture_output=True)
        assert done.returncode == 0, done.stderr
        out.write_bytes(done.stdout)
        return out


class Watched:
    """A page of the browser that keeps what it complains of, what it asks for, and its dialogs."""

    def __init__(self, browser, path, size="desk", colours="light"):
        width, height = WIDTHS[size]
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours, reduced_motion="reduce")
        self.page, self.wrong, self.asked = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.url = path.as_uri()
        self.context.route("**/*", self.route)
        self.page.goto(self.url)

    def route(self, route):
        url = route.request.url
        if url.split("#")[0] == self.url:
            return route.continue_()
        self.asked.append(url)
        return route.abort()

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert not self.wrong, self.wrong
            assert not self.asked, self.asked


def overflow(page):
    """How much wider than the window the page is, and the first element that sticks out of it."""
    return page.evaluate(
        """() => {
          const wide = document.documentElement.clientWidth;
          const scrolled = (one) => one.closest(".scroll, pre, .source-text, .unseen, .plot");
          const out = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > wide + 1 && !scrolled(one));
          return [document.documentElement.scrollWidth - wide, out.length ? out[0].outerHTML.slice(0, 200) : null];
        }"""
    )


def golden(name, text):
    """Compares with the file beside this one."""
    path = HERE / "golden" / f"{name}.yml"
    if os.environ.get("MOOT_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    want = path.read_text(encoding="utf-8").rstrip("\n") if path.exists() else "(no file)"
    if want == text:
        return
    lines = [f"{at}: {a!r} -> {b!r}" for at, (a, b) in enumerate(zip(want.split("\n"), text.split("\n")), 1) if a != b]
    raise AssertionError(f"{path.name} differs (MOOT_GOLDEN=write renews it): {lines[:3]}")


def test_overview(browser, pages):
    """Summary, charts and runs; the accessibility tree as it was."""
    with Watched(browser, pages.two) as page:
        assert page.locator("h1").inner_text().startswith("bridges.jsonl: madam-rag, concatenated")
        assert page.locator(".panel").count() == 2
        assert "*" in page.locator(".forest .difference").nth(1).inner_text()
        shown = page.locator("figure:visible h3").all_inner_texts()
        assert shown == ["Score against tokens", "By number of documents", "By misinformation", "By imbalance of evidence", "By rounds"], shown
        page.get_by_role("button", name="F1", exact=True).click()
        assert page.locator("figure:visible").count() == 5 and page.locator("figure[data-metric=em]:visible").count() == 0
        assert page.locator("#runs .run").count() == 2
        for landmark in ["banner", "main", "contentinfo", "search"]:
            assert page.get_by_role(landmark).count() == 1, landmark
        unnamed = page.evaluate("() => [...document.querySelectorAll('input, select, button, summary')].filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel)).length")
        assert unnamed == 0
        golden("overview", page.locator("#summary").aria_snapshot())


def test_filters(browser, pages):
    with Watched(browser, pages.two) as page:
        status = page.get_by_role("status")
        assert status.inner_text() == "24 of 24 questions"
        page.get_by_label("Search").fill('"number 7 over"')
        assert status.inner_text() == "1 of 24 questions"
        page.get_by_label("Search").fill("")
        page.get_by_label("Record", exact=True).select_option("1")
        page.get_by_label("Outcome").select_option("error")
        assert status.inner_text() == "1 of 24 questions"
        page.get_by_label("Outcome").select_option("malformed")
        assert status.inner_text() == "1 of 24 questions"
        page.get_by_role("button", name="Reset").click()
        until(page, "document.querySelector('[role=status]').textContent === '24 of 24 questions'")
        page.get_by_label("Slice").select_option("misinfo")
        some = int(status.inner_text().split()[0])
        assert 0 < some < 24
        page.get_by_label("answered differently").check()
        assert int(status.inner_text().split()[0]) <= some
        page.get_by_label("Search").fill("no such words")
        assert page.get_by_text("No question matches").is_visible()


def test_debate(browser, pages):
    """The grid, a reply with its prompt, documents with spans, another record, two beside each other."""
    with Watched(browser, pages.two) as page:
        page.get_by_role("link", name="bridge number 4 over").click()
        assert page.locator("h1:focus").inner_text() == "When was bridge number 4 over the river opened?"
        grid = page.get_by_role("table").filter(has_text="Round 1")
        assert grid.get_by_role("columnheader").all_inner_texts() == ["Speaker", "Round 1", "Round 2", "Round 3"]
        assert grid.locator(".changed").count() > 0 and grid.locator(".k-malformed").count() == 1
        assert page.locator("mark.m-answer").count() > 0 and page.locator("mark.m-quote").count() > 0
        cell = grid.get_by_role("button").first
        cell.click()
        assert cell.get_attribute("aria-expanded") == "true"
        page.get_by_text("Prompt and raw reply").click()
        prompt = page.locator(".reply-panel pre").nth(1).inner_text()
        assert prompt.startswith("Question: When was bridge number 4") and "The bridge was opened in" in prompt and prompt.rstrip().endswith("Answer with your reasons.")
        golden("debate", page.locator("main").aria_snapshot())
        page.keyboard.press("Escape")
        assert page.locator(".reply-panel:visible").count() == 0 and cell.evaluate("one => one === document.activeElement")
        page.locator(".document-chip").first.click()
        assert page.evaluate("document.activeElement.className") == "document"
        page.locator(".tabs a", has_text="concatenated").click()
        assert page.get_by_text("does not keep its format").is_visible()
        page.get_by_label("Beside it").select_option("0")
        page.wait_for_selector(".columns.two")
        assert page.locator(".run-view").count() == 2
        page.locator("summary", has_text="All calls").last.click()
        assert page.locator(".calls .call").count() >= 9


def test_prompts_are_whole(browser, pages):
    """Every prompt and every reply of a debate is the record's, character for character."""
    lines = records.debates(24, "madam-rag")
    with Watched(browser, pages.two) as page:
        for number in (0, 5):
            page.goto(f"{pages.two.as_uri()}#q/{number}/0")
            page.locator("summary", has_text="All calls").click()
            page.evaluate("() => document.querySelectorAll('.calls .call').forEach((one) => { one.open = true; })")
            until(page, "document.querySelectorAll('.calls .exchange').length === document.querySelectorAll('.calls .call').length")
            shown = page.evaluate("() => [...document.querySelectorAll('.calls .exchange')].map((one) => [...one.querySelectorAll('pre')].map((pre) => pre.textContent))")
            want = [[*(turn["content"] for turn in call["messages"]), call["reply"]] for call in lines[number]["calls"]]
            assert shown == want, (number, shown[0], want[0])


def test_keyboard(browser, pages):
    with Watched(browser, pages.two) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.keyboard.press("/")
        until(page, "document.activeElement.id === 'search'")
        page.keyboard.type('"bridge number 1"')
        count = int(page.get_by_role("status").inner_text().split()[0])
        assert count == 11, count
        page.keyboard.press("Escape")
        link = page.locator(".questions a").first
        link.focus()
        page.keyboard.press("Enter")
        until(page, "document.activeElement.tagName === 'H1'")
        first = page.locator("h1:visible").inner_text()
        page.keyboard.press("j")
        until(page, "(text) => document.querySelector('#debate h1').textContent !== text", arg=first)
        page.keyboard.press("k")
        until(page, "(text) => document.querySelector('#debate h1').textContent === text", arg=first)
        page.locator(".grid button").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.closest('td').cellIndex") == 2
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.locator(".reply-panel h4:focus").count() == 1
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.wait_for_selector("#overview:not([hidden])")
        assert page.evaluate("document.activeElement.textContent") == first


def test_claims(browser, pages):
    """A cell shows both quotes, each marked in its document."""
    with Watched(browser, pages.claims) as page:
        page.locator(".questions a").click()
        matrix = page.get_by_role("table").filter(has_text="Claim")
        assert matrix.get_by_role("button").count() == 6
        matrix.get_by_role("button", name="1 notes-0.md supports").click()
        assert page.locator(".pair.two .source-text mark").all_inner_texts() == ["opened in 1889", "In 1901 the bridge was opened"]
        golden("claims", page.locator("main").aria_snapshot())
        page.keyboard.press("Escape")
        matrix.get_by_role("button", name="supports, does not count").click()
        assert "not in the document" in page.locator(".pair").inner_text()
        matrix.get_by_role("button", name="3 notes-2.md contradicts").click()
        assert page.locator(".pair .side").count() == 1 and page.get_by_text("No document supports it.").is_visible()
        assert page.locator(".weights tbody tr").count() == 3


def test_hostile(browser, pages):
    """Texts of a record stay texts: nothing runs, nothing is added to the page, nothing steers."""
    for size in WIDTHS:
        with Watched(browser, pages.hostile, size) as page:
            page.locator(".questions a").click()
            page.locator("summary", has_text="All calls").click()
            page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            page.wait_for_timeout(100)
            page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            page.wait_for_timeout(100)
            page.locator(".reply").first.click()
            assert page.evaluate("window.owned") is None
            assert page.locator("img, iframe, object, embed, link, base, form[action], a[href^='javascript:' i]").count() == 0
            assert page.locator("script:not([type='application/json'])").count() == 1
            assert page.locator("style").count() == 1
            links = page.evaluate("() => [...document.links].map((one) => one.getAttribute('href')).filter((one) => !one.startsWith('#'))")
            assert links == [], links
            text = page.evaluate("() => document.documentElement.textContent + document.title + [...document.querySelectorAll('*')].flatMap((one) => [...one.attributes].map((a) => a.value)).join()")
            for steering in "\u202e\u202c\u2066\u2069\u200b\u2028\u2029\u0000\u001b\U000e0041":
                assert steering not in text, repr(steering)
            shown = page.locator("main").inner_text()
            for whole in ["{{ 7 * 7 }}", "<img src=x onerror='window.owned = 2'>", "</script><script>window.owned = 1</script>", "${7*7}"]:
                assert whole in shown, whole
            assert overflow(page) == [0, None], (size, overflow(page))


def test_policy(browser, pages):
    """The policy stops what the page would not do itself: inline handlers, requests, evaluation."""
    watched = Watched(browser, pages.two)
    page = watched.page
    done = page.evaluate(
        """async () => {
          const bad = document.createElement("div");
          bad.innerHTML = "<img src='https://example.org/x.png' onerror='window.owned = 1'>";
          document.body.append(bad);
          const script = document.createElement("script");
          script.textContent = "window.owned = 2";
          document.body.append(script);
          const fetched = await fetch("https://example.org/").then(() => "fetched", () => "refused");
          await new Promise((resolve) => setTimeout(resolve, 200));
          return [window.owned ?? null, fetched];
        }"""
    )
    assert done == [None, "refused"], done
    assert not watched.asked, watched.asked
    assert watched.wrong, "the browser reports what the policy stopped"
    watched.context.close()


def test_colours(browser, pages):
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for colours in ("light", "dark"):
        with Watched(browser, pages.two, colours=colours) as page:
            seen[colours] = page.evaluate(ground)
            other = "Dark" if colours == "light" else "Light"
            page.get_by_role("button", name=other).click()
            seen[f"{colours} chosen {other}"] = page.evaluate(ground)
            page.reload()
            assert page.evaluate(ground) == seen[f"{colours} chosen {other}"], "the choice is kept"
            page.get_by_role("button", name="System").click()
            assert page.evaluate(ground) == seen[colours]
    assert seen["light"] != seen["dark"]
    assert seen["light chosen Dark"] == seen["dark"] and seen["dark chosen Light"] == seen["light"]


def test_contrast(browser, pages):
    """Text on its ground has at least 4.5 : 1, in both colours (WCAG 2.2, 1.4.3)."""
    for colours in ("light", "dark"):
        for where in ("", "#q/3/0"):
            with Watched(browser, pages.two, colours=colours) as page:
                page.goto(pages.two.as_uri() + where)
                low = page.evaluate((HERE / "contrast.js").read_text())
                assert not low, (colours, where, low[:3])


def test_widths(browser, pages):
    """No page is wider than its window, at three widths, light and dark; pictures where they are asked for."""
    shots = os.environ.get("MOOT_SHOTS")
    views = {"overview": (pages.two, ""), "debate": (pages.two, "#q/3/0"), "beside": (pages.two, "#q/3/0/1"), "claims": (pages.claims, "#q/0/0")}
    for name, (path, where) in views.items():
        for size in WIDTHS:
            for colours in ("light", "dark"):
                with Watched(browser, path, size, colours) as page:
                    page.goto(path.as_uri() + where)
                    if name == "claims":
                        page.locator(".matrix button").first.click()
                    if name == "debate":
                        page.locator(".grid button").first.click()
                    assert overflow(page) == [0, None], (name, size, overflow(page))
                    if name == "debate":
                        # A table that a phone shows as a list is a table for a screen reader.
                        roles = [page.get_by_role(role).count() for role in ("columnheader", "rowheader", "cell")]
                        assert roles == [4, 6, 15 + 3], (size, roles)
                    if shots:
                        page.screenshot(path=f"{shots}/{name}-{size}-{colours}.png", full_page=True)


def test_compare(browser, pages):
    """`moot compare --format html`: the changed questions, both debates beside each other."""
    with Watched(browser, pages.changed) as page:
        assert page.get_by_label("answered differently").is_checked()
        page.locator(".questions a").first.click()
        page.wait_for_selector(".columns.two")
        assert page.locator(".run-view").count() == 2


def test_load(browser, pages):
    """500 debates: measured and printed; only the size is bounded."""
    records.write(pages.folder / "many.jsonl", records.many())
    path = pages.write("many.html", "many.jsonl")
    size = path.stat().st_size / 1e6
    with Watched(browser, path) as page:
        times = page.evaluate("() => { const [one] = performance.getEntriesByType('navigation'); return [one.domContentLoadedEventEnd, one.loadEventEnd]; }")
        begin = time.monotonic()
        page.locator(".questions a").nth(250).click()
        page.wait_for_selector(".grid")
        opened = time.monotonic() - begin
        assert page.locator(".questions tbody tr").count() == 500
    print(f"   500 debates of 6 documents: {size:.1f} MB, ready after {times[0] / 1000:.2f} s, loaded after {times[1] / 1000:.2f} s; a debate opens in {opened:.2f} s")
    assert size < 20, size


def main():
    found, why = tools()
    if not found:
        print(f"the report in a browser: not tested, {why}")
        return 0
    program = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MOOT", "target/release/moot")
    with tempfile.TemporaryDirectory() as folder, found() as playwright:
        pages = Pages(str(Path(program).resolve()), folder)
        pages.two = pages.write("two.html", "madam.jsonl", "concatenated.jsonl")
        pages.claims = pages.write("claims.html", "claims.jsonl")
        pages.hostile = pages.write("hostile.html", "hostile.jsonl", more=["--title", records.HOSTILE[0]])
        pages.changed = pages.compared("changed.html", "madam.jsonl", "concatenated.jsonl")
        browser = playwright.chromium.launch(executable_path=why, args=["--no-sandbox"])
        wanted = [name for name in sys.argv[2:]]
        failed = 0
        for name, test in list(globals().items()):
            if not name.startswith("test_") or wanted and name not in wanted:
                continue
            try:
                test(browser, pages)
                print(f"ok   {name}")
            except Exception as error:  # every test runs; the first line tells why one failed
                failed += 1
                last = traceback.extract_tb(error.__traceback__)
                line = next((frame.lineno for frame in reversed(last) if frame.filename == __file__), 0)
                print(f"FAIL {name}, line {line}: {type(error).__name__}: {str(error)[:1500]}")
        browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
