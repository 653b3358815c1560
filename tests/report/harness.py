"""What the report's tests in a browser share: finding the browser, writing the pages, watching one, comparing trees."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import records

HERE = Path(__file__).resolve().parent
# Run before the page's script: the events that a browser sends in a task of their own, and timers, come later.
LATE = """
  const { addEventListener } = EventTarget.prototype, now = window.setTimeout;
  window.setTimeout = (handler, time) => now(handler, (time ?? 0) + MILLISECONDS);
  EventTarget.prototype.addEventListener = function (event, handler, options) {
    const late = ["hashchange", "toggle"].includes(event);
    addEventListener.call(this, event, late ? (...all) => now(() => handler.apply(this, all), MILLISECONDS) : handler, options);
  };
"""
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


def until(holds, what):
    """Asks until it holds. A page changes after the event that a test sent it, and its policy forbids Playwright's own wait."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, f"never came: {what() if callable(what) else what}"
        time.sleep(0.02)


def equal(found, expected):
    """Asks until what is found is what is expected; for all that follows an event."""
    until(lambda: found() == expected, lambda: f"{expected!r}; there is {found()!r}")


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
        if late := os.environ.get("MOOT_LATE"):
            self.context.add_init_script(LATE.replace("MILLISECONDS", str(int(late))))
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
