// The page: what is typed becomes a request, and its events are shown.

import { assessed } from "/page/claims.js";
import * as contradictions from "/page/contradictions.js";
import * as debate from "/page/debate.js";
import * as documents from "/page/documents.js";
import { by, make, save, show } from "/page/dom.js";
import * as methods from "/page/methods.js";
import * as output from "/page/output.js";
import { blob, get, listeners, post, stream, useKey } from "/page/server.js";

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
// The record that is shown.
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
  by("report").addEventListener("click", () => download(shown, "/report", `moot-${shown}.html`));
  by("record").addEventListener("click", () => download(shown, "", `moot-${shown}.jsonl`));
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
    const corpus = by("corpus");
    show(corpus, Boolean(server.corpus));
    corpus.textContent = server.corpus ? `Without documents, ${server.corpus} is searched.` : "";
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
  if (name === "history") list();
  else by("go").textContent = VIEWS[name][0];
}

function check() {
  const body = { text: by("text").value, documents: documents.given() };
  return follow("/moot/v1/conflict", body, debate.happened, assessed);
}

function compare() {
  const given = documents.given();
  const done = (value) => contradictions.found(value, given);
  return follow("/moot/v1/contradictions", { documents: given }, contradictions.happened, done);
}

function ask() {
  const body = { question: by("question").value, documents: documents.given(), ...methods.given() };
  return follow("/moot/v1/ask", body, debate.happened, answered);
}

function answered(value) {
  shown = value.id;
  debate.answered(value, strike);
}

const fork = (change) => follow(`/moot/v1/records/${shown}/fork`, change, debate.happened, answered);

const strike = (number, round) => fork({ strike: number, round });

// Posts a request and shows its events and its answer; one at a time.
async function follow(path, body, happened, done) {
  if (running) return;
  if (documents.reading()) return output.failed(new Error("files are still being read: wait, or cancel the reading"));
  const abort = new AbortController();
  running = { abort, id: null };
  busy(true);
  clear();
  output.status("waiting for the server");
  try {
    await stream(path, body, abort.signal, (name, value) => {
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

async function list() {
  try {
    const records = await get("/moot/v1/records");
    const button = (text, onclick) => make("li", {}, make("button", { type: "button", onclick }, text));
    const entry = ({ id, question, answers, method, questions }) => questions === undefined
      ? button(`${question} — ${answers.join("; ") || "unknown"} (${method})`, () => recorded(id))
      : button(`Run of ${questions} questions (${method}): report`, () => download(id, "/report", `moot-${id}.html`));
    by("records").replaceChildren(...(records.length ? records.map(entry) : [make("li", {}, "none yet")]));
  } catch (error) {
    by("records").replaceChildren(make("li", {}, error.message));
  }
}

async function recorded(id) {
  open("ask");
  if (running) return;
  clear();
  try {
    const value = await get(`/moot/v1/records/${id}?format=json`);
    shown = id;
    debate.recorded(value, strike);
  } catch (error) {
    output.failed(error);
  }
}

async function download(id, path, name) {
  try {
    save(await blob(`/moot/v1/records/${id}${path}`), name);
  } catch (error) {
    output.failed(error);
  }
}

start();
