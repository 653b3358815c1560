// What all pages show beside their answers: the status, progress, notes, errors, and the documents with their quotes.

import { by, make, marked, show } from "/page/dom.js";

// The documents of what is shown: names, sources, dates and texts.
let documents = [];

export function clear() {
  documents = [];
  for (const id of ["answer", "notes", "debate", "texts"]) by(id).replaceChildren();
  for (const id of ["further", "kept", "error", "progress"]) show(by(id), false);
  status("");
}

export function status(line) {
  by("status").textContent = line;
}

export function failed(error) {
  by("error").textContent = error.message;
  show(by("error"));
}

export function note(line) {
  by("notes").append(make("li", {}, line));
}

// Notes of an answer; those that were shown as events are not repeated.
export function notes(lines = []) {
  const known = new Set([...by("notes").children].map((line) => line.textContent));
  lines.filter((line) => !known.has(line)).forEach(note);
}

export function progress(done, of, line) {
  const bar = by("progress");
  show(bar);
  bar.max = of;
  bar.value = done;
  status(line);
}

// Adds a document, or replaces what is known of all: their texts stay.
export const add = (document) => { documents.push(document); };
export function listed(all) {
  documents = all.map((document, index) => ({ ...documents[index], ...document }));
}
export const count = () => documents.length;
export const textOf = (number) => documents[number - 1]?.text;

// "3 harbour.md (county, 1990)"
export function named(number) {
  const { name, source, date } = documents[number - 1] ?? { name: `document ${number}` };
  const known = [source, date].filter(Boolean).join(", ");
  return known ? `${number} ${name} (${known})` : `${number} ${name}`;
}

// Lists the documents; `beside(number)` is shown above a text.
export function texts(beside = () => "") {
  if (!documents.length) return;
  const one = (document, index) => make("details", { class: "card", "data-document": index + 1 },
    make("summary", {}, named(index + 1)), beside(index + 1), make("div", { class: "text" }, document.text ?? ""));
  by("texts").replaceChildren(make("h2", {}, "Documents"), ...documents.map(one));
}

// A button that opens the documents of `quotes` with each marked: `{ document, quote, kind, label }`.
// A kind is "for" or "against"; a label is shown before the quote, and is the kind where there is none.
export const opener = (quotes, ...content) =>
  make("button", { type: "button", class: "quote", onclick: () => open(quotes) }, ...content);

function open(quotes) {
  let first = null;
  for (const details of by("texts").querySelectorAll("details")) {
    const number = Number(details.dataset.document);
    const own = quotes.filter(({ document }) => document === number);
    const text = details.querySelector(".text");
    text.replaceChildren(...marked(documents[number - 1].text ?? "", own.filter(({ quote }) => quote)));
    if (own.length) details.open = true;
    if (number === quotes[0]?.document) first = details;
  }
  if (!first) return;
  first.querySelector("summary").focus({ preventScroll: true });
  (first.querySelector("mark") ?? first).scrollIntoView({ block: "center" });
}

// What documents say for something (`kind` "for") or against it: each `{ document, quote, head, more }`.
export const voices = (all, kind) => make("ul", { class: kind }, all.map((said) => make("li", {},
  opener([{ kind, ...said }], said.head ?? named(said.document)), said.more ?? null,
  said.quote ? make("blockquote", {}, said.quote) : null)));
