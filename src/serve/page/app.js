// The page: what is typed becomes a request, and its events are shown.

import * as debate from "/page/debate.js";
import * as documents from "/page/documents.js";
import { by, make, save, show } from "/page/dom.js";
import { blob, get, listeners, post, stream, useKey } from "/page/server.js";

const QUESTION = "moot-question";
const TITLE = document.title;

let view = "ask";
let methods = [];
// The method of questions that name none.
let usual = "";
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
  by("form").addEventListener("submit", (event) => { event.preventDefault(); go(); });
  by("method").addEventListener("change", chosen);
  by("cancel").addEventListener("click", () => running?.abort.abort());
  by("pause").addEventListener("click", pause);
  by("tell-form").addEventListener("submit", (event) => {
    event.preventDefault();
    fork({ tell: by("tell").value, round: Number(by("round").value) });
  });
  by("report").addEventListener("click", () => download("/report", `moot-${shown}.html`));
  by("record").addEventListener("click", () => download("", `moot-${shown}.jsonl`));
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
    methods = list.methods.filter((method) => !method.needs.corpus || server.corpus);
    usual = list.default;
    const option = (method) =>
      make("option", { value: method.name, selected: method.name === list.default }, method.name);
    by("method").replaceChildren(...methods.map(option));
    chosen();
  } catch (error) {
    by("server").textContent = error.message;
  }
}

function chosen() {
  const method = methods.find((method) => method.name === by("method").value);
  by("about").textContent = method ? `${method.about} (${method.paper})` : "";
  const presets = method?.presets ?? [];
  by("preset").replaceChildren(make("option", { value: "" }, "as it comes"),
    ...presets.map((preset) => make("option", { value: preset.name }, `${preset.name}: ${preset.about}`)));
  by("preset").disabled = presets.length === 0;
}

function open(name) {
  view = name;
  document.querySelectorAll("[data-view]").forEach((button) =>
    button.setAttribute("aria-pressed", String(button.dataset.view === name)));
  document.querySelectorAll("[data-only]").forEach((part) => show(part, part.dataset.only === name));
  show(by("input"), name !== "history");
  show(by("output"), name !== "history");
  show(by("history"), name === "history");
  by("go").textContent = name === "check" ? "Check" : "Ask";
  if (name === "history") list();
}

function go() {
  if (view === "check") {
    const body = { text: by("text").value, documents: documents.given() };
    return follow("/moot/v1/conflict", body, (value) => debate.assessed(value));
  }
  const [name, preset] = [by("method").value, by("preset").value];
  // The server's own method has its own settings.
  const method = name === usual && !preset ? {} : { method: { name, ...(preset ? { preset } : {}) } };
  const body = { question: by("question").value, documents: documents.given(), ...method };
  return follow("/moot/v1/ask", body, answered);
}

function answered(value) {
  shown = value.id;
  debate.answered(value, { strike: (number) => fork({ strike: number, round: 1 }) });
}

const fork = (change) => follow(`/moot/v1/records/${shown}/fork`, change, answered);

// Posts a question and shows what happens; one at a time.
async function follow(path, body, done) {
  if (running) return;
  const abort = new AbortController();
  running = { abort, id: null };
  busy(true);
  debate.clear();
  debate.status("waiting for the server");
  try {
    await stream(path, body, abort.signal, (name, value) => {
      if (name === "open") running.id = value.id;
      if (name === "answer") done(value);
      else debate.happened(name, value);
    });
  } catch (error) {
    if (error.name === "AbortError") debate.status("cancelled");
    else debate.failed(error);
    abort.abort();
  } finally {
    running = null;
    busy(false);
  }
}

function busy(is) {
  by("go").disabled = is;
  show(by("cancel"), is);
  show(by("pause"), is);
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
    if (pausing) debate.status("pauses before the next stage");
  } catch (error) {
    debate.failed(error);
  }
}

async function list() {
  try {
    const records = await get("/moot/v1/records");
    const entry = (record) => make("li", {}, make("button", { type: "button", onclick: () => recorded(record.id) },
      `${record.question} — ${record.answers.join("; ") || "unknown"} (${record.method})`));
    by("records").replaceChildren(...(records.length ? records.map(entry) : [make("li", {}, "none yet")]));
  } catch (error) {
    by("records").replaceChildren(make("li", {}, error.message));
  }
}

async function recorded(id) {
  open("ask");
  if (running) return;
  debate.clear();
  try {
    const value = await get(`/moot/v1/records/${id}?format=json`);
    shown = id;
    debate.recorded(value, { strike: (number) => fork({ strike: number, round: 1 }) });
  } catch (error) {
    debate.failed(error);
  }
}

async function download(path, name) {
  try {
    save(await blob(`/moot/v1/records/${shown}${path}`), name);
  } catch (error) {
    debate.failed(error);
  }
}

start();
