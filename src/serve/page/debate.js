// A debate as it happens, and its answer.

import { by, make, show } from "/page/dom.js";
import { add, count, listed, named, note, notes, opener, progress, status, texts, voices } from "/page/output.js";

// Calls of the stage that runs: expected and arrived.
let expected = 0, arrived = 0;
// The last round that was held.
let rounds = 1;

export function start() {
  rounds = 1;
}

// An event of the stream.
export function happened(name, value) {
  const steps = { open, stage, call, document: add, note: ({ line }) => note(line), event: beside, paused };
  steps[name]?.(value);
}

function open(value) {
  listed(value.documents);
  status(`${value.method}: ${count()} documents`);
}

function beside(value) {
  const lines = {
    retrieval: () => `searched: ${value.passages} passages for ${value.queries.join("; ")}`,
    entailment: () => `${value.pairs} pairs compared by ${value.by}`,
    embedding: () => `${value.texts} texts embedded`,
    failure: () => `${value.what} failed: ${value.error}`,
    fallback: () => value.what,
  };
  note(lines[value.event]?.() ?? value.event);
}

function paused(value) {
  status(value.paused ? "paused before the next stage" : "resumed");
}

function stage(value) {
  expected = value.calls;
  arrived = 0;
  if (expected === 0) return;
  by("debate").append(make("section", { class: "card", "data-stage": value.stage },
    make("h3", {}, `Stage ${value.stage + 1}`)));
  calls();
}

const calls = () => progress(arrived, expected, `${arrived} of ${expected} calls of this stage`);

function call(value) {
  arrived += 1;
  calls();
  turn(by("debate").lastChild, value);
}

// What one agent said.
function turn(section, value) {
  rounds = Math.max(rounds, value.round);
  const heading = section.querySelector("h3");
  if (!section.dataset.named) {
    section.dataset.named = value.role;
    heading.textContent = `Round ${value.round}: ${value.role}`;
  }
  const who = value.document ? named(value.document) : value.role;
  const said = value.malformed ? "reply without its format"
    : value.answers ? (value.answers.join("; ") || "unknown")
    : value.chosen ?? (value.unknown ? "unknown" : value.answer ?? value.reply);
  const about = value.about ? ` about ${value.about}` : "";
  section.append(make("div", { class: "turn" },
    make("p", {}, make("strong", {}, said), ` ${who}${about}`),
    value.explanation ? make("p", { class: "faint" }, value.explanation) : null));
}

// The answer with its documents. `strike(number, round)` strikes a document and goes on from the round.
export function answered(value, strike) {
  listed(value.documents);
  status(`${value.calls} calls, ${value.usage.prompt} tokens read, ${value.usage.generated} written, `
    + `${value.seconds.toFixed(1)} s`);
  const answers = value.answers.map((answer) => card(answer, false));
  by("answer").replaceChildren(
    make("h2", {}, "Answer"),
    ...(value.no_answer ? [make("p", { class: "card" }, value.no_answer)] : answers),
    ...(value.refused ?? []).map((text) => make("p", { class: "card" }, `Refused: ${text}, which is from the prompt's worked example and in no document.`)),
    value.explanation ? make("p", { class: "card text" }, value.explanation) : "",
    ...(value.rejected.length ? [make("h2", {}, "Not taken up")] : []),
    ...value.rejected.map((answer) => card(answer, true)));
  notes(value.notes);
  texts((number) => striking(number, strike));
  by("round").max = rounds;
  by("round").value = Math.min(by("round").value, rounds);
  show(by("further"));
}

function card(answer, rejected) {
  const rows = [];
  const row = (name, ...content) => rows.push(make("dt", {}, name), make("dd", {}, ...content));
  if (answer.probability !== null) {
    const percent = Math.round(answer.probability * 100);
    row("probable", make("meter", { min: 0, max: 1, value: answer.probability, "aria-hidden": "true" }), ` ${percent} %`);
  }
  if (answer.about) row("about", answer.about);
  if (answer.conflict) row("conflict", answer.conflict.text);
  if (answer.also?.length) row("also as", answer.also.join("; "));
  for (const mark of answer.marks ?? []) row("mark", mark.replaceAll("-", " "));
  if (answer.for.length) row("for", voices(answer.for.map(said), "for"));
  if (answer.against.length) row("against", voices(answer.against.map(said), "against"));
  if (answer.mentioned?.length) row("mentioned in", voices(answer.mentioned.map(said), "faint"));
  const marks = (all, kind) => all.map(({ document, quote }) => ({ document, quote, kind }));
  const quotes = [...marks([...answer.for, ...(answer.mentioned ?? [])], "for"), ...marks(answer.against, "against")];
  const value = rejected ? "faint" : "value";
  return make("article", { class: "card" },
    quotes.length ? make("div", { class: value }, opener(quotes, answer.text)) : make("span", { class: value }, answer.text),
    make("dl", {}, rows));
}

const said = (voice) => ({ ...voice, more: voice.answer ? ` says ${voice.answer}` : null });

// Strikes a document from a round on.
function striking(number, strike) {
  const round = make("input", {
    type: "number", min: 1, max: rounds, value: 1, required: true, "aria-label": "Round from which it is struck",
  });
  const act = (event) => {
    event.preventDefault();
    strike(number, Number(round.value));
  };
  return make("form", { class: "row strike", onsubmit: act },
    make("button", {}, "Strike it from round"), round, make("span", { class: "faint" }, `of ${rounds}`));
}

// The calls of a record, as they looked live.
export function recorded(value) {
  listed(value.documents);
  let section = null;
  for (const call of value.calls) {
    if (!section || section.dataset.stage !== String(call.stage)) {
      section = make("section", { class: "card", "data-stage": call.stage }, make("h3", {}));
      by("debate").append(section);
    }
    turn(section, call);
  }
}
