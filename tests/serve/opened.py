"""What the tests of the server's page share: the program serving, a page that is watched, streams event by event."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "report"))
from harness import WIDTHS, equal, until  # noqa: E402

ROOT = HERE.parents[1]
QUESTION = "When did the Orrin ferry stop?"
TEXTS = {
    "almanac.md": "---\nsource: county\ndate: 1990\n---\nThe Orrin ferry stopped in 1974.\n",
    "board.txt": "The Orrin ferry stopped in 1968.\n",
    "hostile.txt": "<img src=x onerror=alert(1)><script>alert(2)</script> The ferry stopped in 1950.\n",
}
# Of the page's streams, lets as many events pass as `window.passed` says; a cancelled one ends at once, as the browser does.
STEPPED = """
  const { fetch } = window;
  window.passed = Infinity;
  const pass = (signal) => new Promise((done, failed) => {
    const look = () => {
      if (signal.aborted) failed(new DOMException("cancelled", "AbortError"));
      else if (window.passed > 0) { window.passed -= 1; done(); }
      else setTimeout(look, 5);
    };
    look();
  });
  window.fetch = async (path, options) => {
    const response = await fetch(path, options);
    if (!options?.body?.includes('"stream":true') || !response.ok) return response;
    let rest = "";
    const stepped = new TransformStream({
      async transform(text, out) {
        const events = (rest + text).split("\\n\\n");
        rest = events.pop();
        for (const event of events) {
          await pass(options.signal);
          out.enqueue(event + "\\n\\n");
        }
      },
    });
    const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(stepped).pipeThrough(new TextEncoderStream());
    return new Response(body, { status: response.status, headers: response.headers });
  };
"""


def tiny(folder, architecture="llama"):
    """A tiny model of the tests with room for prompts: its metadata say how many tokens of context it has."""
    data = bytearray((ROOT / f"models/tests/golden/tiny/{architecture}.gguf").read_bytes())
    key = f"{architecture}.context_length".encode()
    at = data.index(key) + len(key)
    assert struct.unpack_from("<I", data, at)[0] == 4, "a number of 32 bits"
    struct.pack_into("<I", data, at + 4, 8192)
    path = Path(folder) / f"{architecture}.gguf"
    path.write_bytes(data)
    return path


class Server:
    """The program, serving on a free port; `env` may hold a key."""

    def __init__(self, program, folder, *more, model=None, **env):
        model = model or str(tiny(folder))
        typed = [program, "serve", "--port", "0", "--model", model, "--offline", "--kv-memory", "64M"]
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

    def __init__(self, browser, url, size="desk", colours="light", context=None, script=None):
        width, height = WIDTHS[size]
        self.own = context is None
        self.context = context or browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
        self.page, self.wrong = self.context.new_page(), []
        if script:
            self.page.add_init_script(script)
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
