#!/usr/bin/env python3
"""The report in a real browser: python3 tests/report/browser.py [PROGRAM]

Needs Playwright's Python package and a Chromium that is installed (CHROMIUM names another one); where one of them is
missing, one line says so and nothing is tested. MOOT_GOLDEN=write renews the accessibility trees beside this file.
MOOT_SHOTS=FOLDER keeps pictures of the pages at three widths, light and dark. MOOT_LATE=MILLISECONDS delays the page's
own events, as a busy machine does: a test that looks too early then fails every time.
"""

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import records  # noqa: E402
from harness import HERE, WIDTHS, Pages, Watched, equal, golden, overflow, tools, until  # noqa: E402


def test_overview(browser, pages):
    """Summary, charts and runs; the accessibility tree as it was."""
    with Watched(browser, pages.two) as page:
        assert page.locator("h1").inner_text().startswith("bridges.jsonl: madam-rag, concatenated")
        assert page.locator(".panel").count() == 2
        assert "*" in page.locator(".forest .difference").nth(1).inner_text()
        shown = page.locator("figure:visible h3").all_inner_texts()
        assert shown == ["Score against tokens", "By number of documents", "By misinformation", "By imbalance of evidence", "By rounds"], shown
        page.get_by_role("button", name="F1", exact=True).click()
        equal(page.locator("figure[data-metric=em]:visible").count, 0)
        assert page.locator("figure:visible").count() == 5
        assert page.locator("#runs .run").count() == 2
        for landmark in ["banner", "main", "contentinfo", "search"]:
            assert page.get_by_role(landmark).count() == 1, landmark
        unnamed = page.evaluate("() => [...document.querySelectorAll('input, select, button, summary')].filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel)).length")
        assert unnamed == 0
        golden("overview", page.locator("#summary").aria_snapshot())


def test_filters(browser, pages):
    with Watched(browser, pages.two) as page:
        status = page.get_by_role("status")
        equal(status.inner_text, "24 of 24 questions")
        page.get_by_label("Search").fill('"number 7 over"')
        equal(status.inner_text, "1 of 24 questions")
        page.get_by_label("Search").fill("")
        page.get_by_label("Record", exact=True).select_option("1")
        page.get_by_label("Outcome").select_option("error")
        shown = page.locator(".questions tbody tr a")
        equal(shown.all_inner_texts, ["When was bridge number 3 over the river opened?"])
        page.get_by_label("Outcome").select_option("malformed")
        equal(shown.all_inner_texts, ["When was bridge number 4 over the river opened?"])
        page.get_by_role("button", name="Reset").click()
        equal(status.inner_text, "24 of 24 questions")
        page.get_by_label("Slice").select_option("misinfo")
        equal(status.inner_text, "10 of 24 questions")
        page.get_by_label("answered differently").check()
        equal(status.inner_text, "10 of 24 questions")
        page.get_by_label("Search").fill("no such words")
        page.get_by_text("No question matches").wait_for()


def test_debate(browser, pages):
    """The grid, a reply with its prompt, documents with spans, another record, two beside each other."""
    with Watched(browser, pages.two) as page:
        page.get_by_role("link", name="bridge number 4 over").click()
        equal(page.locator("h1:focus").inner_text, "When was bridge number 4 over the river opened?")
        grid = page.get_by_role("table").filter(has_text="Round 1")
        assert grid.get_by_role("columnheader").all_inner_texts() == ["Speaker", "Round 1", "Round 2", "Round 3"]
        assert grid.locator(".changed").count() > 0 and grid.locator(".k-malformed").count() == 1
        assert page.locator("mark.m-answer").count() > 0 and page.locator("mark.m-quote").count() > 0
        cell = grid.get_by_role("button").first
        cell.click()
        equal(lambda: cell.get_attribute("aria-expanded"), "true")
        page.get_by_text("Prompt and raw reply").click()
        prompt = page.locator(".reply-panel pre").nth(1).inner_text()
        assert prompt.startswith("Question: When was bridge number 4") and "The bridge was opened in" in prompt and prompt.rstrip().endswith("Answer with your reasons.")
        golden("debate", page.locator("main").aria_snapshot())
        page.keyboard.press("Escape")
        equal(page.locator(".reply-panel:visible").count, 0)
        equal(lambda: cell.evaluate("one => one === document.activeElement"), True)
        page.locator(".document-chip").first.click()
        equal(lambda: page.evaluate("document.activeElement.className"), "document")
        page.locator(".tabs a", has_text="concatenated").click()
        page.get_by_text("does not keep its format").wait_for()
        page.get_by_label("Beside it").select_option("0")
        equal(page.locator(".columns.two .run-view").count, 2)
        page.locator("summary", has_text="All calls").last.click()
        page.locator(".calls .call").nth(8).wait_for()


def test_prompts_are_whole(browser, pages):
    """Every prompt and every reply of a debate is the record's, character for character."""
    lines = records.debates(24, "madam-rag")
    with Watched(browser, pages.two) as page:
        for number in (0, 5):
            page.goto(f"{pages.two.as_uri()}#q/{number}/0")
            page.locator("#debate h1", has_text=lines[number]["question"]["text"]).wait_for()
            page.locator("summary", has_text="All calls").click()
            page.locator(".calls .call").first.wait_for()
            page.evaluate("() => document.querySelectorAll('.calls .call').forEach((one) => { one.open = true; })")
            equal(page.locator(".calls .exchange").count, page.locator(".calls .call").count())
            shown = page.evaluate("() => [...document.querySelectorAll('.calls .exchange')].map((one) => [...one.querySelectorAll('pre')].map((pre) => pre.textContent))")
            want = [[*(turn["content"] for turn in call["messages"]), call["reply"]] for call in lines[number]["calls"]]
            assert shown == want, (number, shown[0], want[0])


def test_keyboard(browser, pages):
    with Watched(browser, pages.two) as page:
        page.keyboard.press("Tab")
        equal(lambda: page.evaluate("document.activeElement.id"), "skip")
        page.keyboard.press("Enter")
        equal(lambda: page.evaluate("document.activeElement.id"), "main")
        page.keyboard.press("/")
        equal(lambda: page.evaluate("document.activeElement.id"), "search")
        page.keyboard.type('"bridge number 1"')
        equal(page.get_by_role("status").inner_text, "11 of 24 questions")
        page.keyboard.press("Escape")
        link = page.locator(".questions a").first
        link.focus()
        page.keyboard.press("Enter")
        title = page.locator("#debate h1:focus")
        first = title.inner_text()
        page.keyboard.press("j")
        until(lambda: title.inner_text() != first, "the next question")
        page.keyboard.press("k")
        equal(title.inner_text, first)
        page.locator(".grid button").first.focus()
        page.keyboard.press("ArrowRight")
        equal(lambda: page.evaluate("document.activeElement.closest('td').cellIndex"), 2)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.locator(".reply-panel h4:focus").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.locator("#overview").wait_for()
        equal(lambda: page.evaluate("document.activeElement.textContent"), first)
        page.keyboard.press("Enter")
        title.wait_for()
        page.keyboard.press("/")
        equal(lambda: page.evaluate("document.activeElement.id"), "search")
        page.wait_for_timeout(100)
        assert page.evaluate("document.activeElement.id") == "search", "nothing takes the focus away again"


def test_claims(browser, pages):
    """A cell shows both quotes, each marked in its document."""
    with Watched(browser, pages.claims) as page:
        page.locator(".questions a").click()
        matrix = page.get_by_role("table").filter(has_text="Claim")
        equal(matrix.get_by_role("button").count, 6)
        matrix.get_by_role("button", name="1 notes-0.md supports").click()
        equal(page.locator(".pair.two .source-text mark").all_inner_texts, ["opened in 1889", "In 1901 the bridge was opened"])
        golden("claims", page.locator("main").aria_snapshot())
        page.keyboard.press("Escape")
        matrix.get_by_role("button", name="supports, does not count").click()
        page.locator(".pair", has_text="not in the document").wait_for()
        matrix.get_by_role("button", name="3 notes-2.md contradicts").click()
        page.get_by_text("No document supports it.").wait_for()
        assert page.locator(".pair .side").count() == 1
        assert page.locator(".weights tbody tr").count() == 3


def test_hostile(browser, pages):
    """Texts of a record stay texts: nothing runs, nothing is added to the page, nothing steers."""
    for size in WIDTHS:
        with Watched(browser, pages.hostile, size) as page:
            page.locator(".questions a").click()
            page.locator("summary", has_text="All calls").click()
            page.locator(".calls .call").first.wait_for()
            page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            equal(page.locator(".calls .exchange").count, page.locator(".calls .call").count())
            page.locator(".reply").first.click()
            page.locator(".reply-panel").wait_for()
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
            page.get_by_role("button", name=other, pressed=True).wait_for()
            seen[f"{colours} chosen {other}"] = page.evaluate(ground)
            page.reload()
            assert page.evaluate(ground) == seen[f"{colours} chosen {other}"], "the choice is kept"
            page.get_by_role("button", name="System").click()
            page.get_by_role("button", name="System", pressed=True).wait_for()
            assert page.evaluate(ground) == seen[colours]
    assert seen["light"] != seen["dark"]
    assert seen["light chosen Dark"] == seen["dark"] and seen["dark chosen Light"] == seen["light"]


def test_contrast(browser, pages):
    """Text on its ground has at least 4.5 : 1, in both colours (WCAG 2.2, 1.4.3)."""
    for colours in ("light", "dark"):
        for where in ("", "#q/3/0"):
            with Watched(browser, pages.two, colours=colours) as page:
                page.goto(pages.two.as_uri() + where)
                page.locator("#debate" if where else "#overview").wait_for()
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
                    page.locator("#debate" if where else "#overview").wait_for()
                    if name == "claims":
                        page.locator(".matrix button").first.click()
                        page.locator(".pair").wait_for()
                    if name == "debate":
                        page.locator(".grid button").first.click()
                        page.locator(".reply-panel").wait_for()
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
        equal(page.locator(".columns.two .run-view").count, 2)


def test_load(browser, pages):
    """500 debates: measured and printed; only the size is bounded."""
    records.write(pages.folder / "many.jsonl", records.many())
    path = pages.write("many.html", "many.jsonl")
    size = path.stat().st_size / 1e6
    with Watched(browser, path) as page:
        times = page.evaluate("() => { const [one] = performance.getEntriesByType('navigation'); return [one.domContentLoadedEventEnd, one.loadEventEnd]; }")
        begin = time.monotonic()
        page.locator(".questions a").nth(250).click()
        page.locator(".grid").wait_for()
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
