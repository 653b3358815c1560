// The page: what is typed becomes a request, and its events are shown.

import { assessed } from "/page/claims.js";
import * as contradictions from "/page/contradictions.js";
import * as debate from "/page/debate.js";
import * as documents from "/page/documents.js";
import { by, show } from "/page/dom.js";
import * as history from "/page/history.js";
import * as methods from "/page/methods.js";
import * as models from "/page/models.js";
import * as output from "/page/output.js";
import { get, listeners, post, stream, useKey } from "/page/server.js";

const QUESTION = "moot-question";
const TITLE = document.title;

// What the button of each page says, and what it sends.
const VIEWS = {
  ask: ["Ask", ask],
  check: ["Check", check],
  contradictions: ["Find contradictions", compare],
};

let view = "ask";
// The question that is being answered: its id once it is known, and what ends it.
let running = null;
// The record that is shown: its id and kind.
let shown = null;

async function start() {
  documents.start();
  by("question").value = sessionStorage.getItem(QUESTION) ?? "";
  by("question").addEventListener("input", (event) => sessionStorage.setItem(QUESTION, event.target.value));
  by("question").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("form").requestSubmit();
  });
  document.querySelectorAll("[data-view]").forEach((button) =>
    button.addEventListener("click", () => open(button.dataset.view)));
  by("form").addEventListener("submit", (event) => { event.preventDefault(); VIEWS[view][1](); });
  by("method").addEventListener("change", methods.chosen);
  by("cancel").addEventListener("click", () => running?.abort.abort());
  by("pause").addEventListener("click", pause);
  by("tell-form").addEventListener("submit", (event) => {
    event.preventDefault();
    fork({ tell: by("tell").value, round: Number(by("round").value) });
  });
  for (const form of ["report", "record"]) {
    by(form).addEventListener("click", () => history.download(shown, form).catch(output.failed));
  }
  listeners.key = () => show(by("key-form"));
  by("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(by("key").value);
    show(by("key-form"), false);
    connect();
  });
  await connect();
}

async function connect() {
  try {
    const [server, list] = await Promise.all([get("/moot/v1/server"), get("/moot/v1/methods")]);
    by("server").textContent = server.models.map((model) => model.name).join(", ");
    documents.offer(server.corpus);
    models.offer(server.models);
    methods.offer(list.methods.filter((method) => !method.needs.corpus || server.corpus), list.default);
  } catch (error) {
    by("server").textContent = error.message;
  }
}

function open(name) {
  view = name;
  document.querySelectorAll("[data-view]").forEach((button) =>
    button.setAttribute("aria-pressed", String(button.dataset.view === name)));
  document.querySelectorAll("[data-only]").forEach((part) => show(part, part.dataset.only.split(" ").includes(name)));
  show(by("input"), name !== "history");
  show(by("output"), name !== "history");
  show(by("history"), name === "history");
  if (name === "history") history.list(recorded);
  else by("go").textContent = VIEWS[name][0];
}

function check() {
  const body = () => ({ text: by("text").value, documents: documents.given(), ...models.given() });
  return follow("/moot/v1/conflict", body, debate.happened, kept("check", assessed));
}

function compare() {
  let given = [];
  const body = () => ({ documents: given = documents.given(), ...models.given() });
  const done = (value) => contradictions.found(value, given);
  return follow("/moot/v1/contradictions", body, contradictions.happened, kept("contradictions", done));
}

function ask() {
  const given = () => ({ documents: documents.given(), ...methods.given(), ...models.given() });
  return follow("/moot/v1/ask", () => ({ question: by("question").value, ...given() }), debate.happened, answered);
}

// Shows what was done by `done`, with the downloads of its record. An answer whose record could not be written has no id.
const kept = (kind, done) => (value) => {
  shown = value.id ? { id: value.id, kind } : null;
  done(value);
  show(by("kept"), Boolean(shown));
  if (!shown) show(by("further"), false);
};

const answered = kept("question", (value) => debate.answered(value, strike));

function fork(change) {
  if (!shown) return output.failed(new Error("this answer is not recorded: ask the question again"));
  const path = `/moot/v1/records/${encodeURIComponent(shown.id)}/fork`;
  return follow(path, () => change, debate.happened, answered);
}

function strike(number, round) {
  return fork({ strike: number, round });
}

// Posts a request and shows its events and its answer; one at a time. `body()` fails where something is missing.
async function follow(path, body, happened, done) {
  if (running) return;
  if (documents.reading()) return output.failed(new Error("files are still being read: wait, or cancel the reading"));
  const abort = new AbortController();
  running = { abort, id: null };
  busy(true);
  clear();
  output.status("waiting for the server");
  try {
    await stream(path, body(), abort.signal, (name, value) => {
      if (name === "open") {
        running.id = value.id;
        show(by("pause"));
      }
      if (name === "answer") done(value);
      else happened(name, value);
    });
  } catch (error) {
    if (error.name === "AbortError") output.status("cancelled");
    else output.failed(error);
    abort.abort();
  } finally {
    running = null;
    busy(false);
  }
}

function clear() {
  output.clear();
  debate.start();
}

function busy(is) {
  by("go").disabled = is;
  show(by("cancel"), is);
  // Only questions have an id, by which they are paused.
  show(by("pause"), false);
  by("pause").textContent = "Pause";
  if (!is) show(by("progress"), false);
  document.title = is ? `… ${TITLE}` : TITLE;
}

async function pause() {
  if (!running?.id) return;
  const pausing = by("pause").textContent === "Pause";
  by("pause").textContent = pausing ? "Resume" : "Pause";
  try {
    await post(`/moot/v1/asks/${running.id}`, { action: pausing ? "pause" : "resume" });
    if (pausing) output.status("pauses before the next stage");
  } catch (error) {
    output.failed(error);
  }
}

// What shows a record, by its kind.
const SHOWS = {
  question: (value) => value.answered && debate.answered(value.answered, strike),
  check: (value) => assessed({ ...value.assessment, read: [] }),
  contradictions: (value) => contradictions.found({ ...value.contradictions, read: value.read }, value.documents),
};

const PAGES = { question: "ask", check: "check", contradictions: "contradictions" };

async function recorded(id) {
  const value = await get(`/moot/v1/records/${encodeURIComponent(id)}?format=json`);
  open(PAGES[value.kind]);
  if (running) return;
  clear();
  debate.recorded(value);
  kept(value.kind, SHOWS[value.kind])(value);
}

start();
