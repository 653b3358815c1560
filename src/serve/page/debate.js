// A debate as it happens, and its answer.

import { by, make, marked, show } from "/page/dom.js";

// The documents of the question that is shown: names and texts.
let documents = [];
// Calls of the stage that runs: expected and arrived.
let expected = 0, arrived = 0;

export function clear() {
  documents = [];
  for (const id of ["answer", "notes", "debate", "texts"]) by(id).replaceChildren();
  show(by("further"), false);
  show(by("error"), false);
  status("");
}

export function status(line) {
  by("status").textContent = line;
}

export function failed(error) {
  by("error").textContent = error.message;
  show(by("error"));
}


function shown(number) {
  const { name, source, date } = documents[number - 1] ?? { name: `document ${number}` };
  const known = [source, date].filter(Boolean).join(", ");
  return known ? `${number} ${name} (${known})` : `${number} ${name}`;
}

// An event of the stream.
export function happened(name, value) {
  const act = { open, stage, call, document: taken, note, event: beside, paused }[name];
  if (act) act(value);
}

function open(value) {
  documents = value.documents;
  status(`${value.method}: ${documents.length} documents`);
}

function taken(value) {
  documents.push(value);
}

function note(value) {
  by("notes").append(make("li", {}, value.line));
}

function beside(value) {
  const texts = {
    retrieval: () => `searched: ${value.passages} passages for ${value.queries.join("; ")}`,
    entailment: () => `${value.pairs} pairs compared by ${value.by}`,
    embedding: () => `${value.texts} texts embedded`,
    failure: () => `${value.what} failed: ${value.error}`,
    fallback: () => value.what,
  };
  note({ line: texts[value.event]?.() ?? value.event });
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
  progress();
}

function progress() {
  const bar = by("progress");
  show(bar);
  bar.max = expected;
  bar.value = arrived;
  status(`${arrived} of ${expected} calls of this stage`);
}

function call(value) {
  arrived += 1;
  progress();
  turn(by("debate").lastChild, value);
}

// What one agent said.
function turn(section, value) {
  const heading = section.querySelector("h3");
  if (!section.dataset.named) {
    section.dataset.named = value.role;
    heading.textContent = `Round ${value.round}: ${value.role}`;
  }
  const who = value.document ? shown(value.document) : value.role;
  const said = value.malformed ? "reply without its format"
    : value.answers ? (value.answers.join("; ") || "unknown")
    : value.chosen ?? (value.unknown ? "unknown" : value.answer ?? value.reply);
  const about = value.about ? ` about ${value.about}` : "";
  section.append(make("div", { class: "turn" },
    make("p", {}, make("strong", {}, said), ` ${who}${about}`),
    value.explanation ? make("p", { class: "faint" }, value.explanation) : null));
}

// The answer with its documents. `act.strike(number)` strikes a document and goes on.
export function answered(value, act) {
  show(by("progress"), false);
  documents = value.documents.map((listed, index) => ({ ...documents[index], ...listed }));
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
  (value.notes ?? []).forEach((line) => {
    if (![...by("notes").children].some((known) => known.textContent === line)) note({ line });
  });
  texts(value, act);
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
  const voices = (all, kind) => make("ul", { class: kind }, all.map((said) => make("li", {},
    make("button", { type: "button", onclick: () => point(said) }, shown(said.document)),
    said.answer ? ` says ${said.answer}` : null,
    said.quote ? make("blockquote", {}, said.quote) : null)));
  if (answer.for.length) row("for", voices(answer.for, "for"));
  if (answer.against.length) row("against", voices(answer.against, "against"));
  if (answer.mentioned?.length) row("mentioned in", voices(answer.mentioned, "faint"));
  return make("article", { class: "card" },
    make("span", { class: rejected ? "faint" : "value" }, answer.text), make("dl", {}, rows));
}

// Opens a document at a quote.
function point(said) {
  const details = by("texts").querySelector(`[data-document="${said.document}"]`);
  if (!details) return;
  details.open = true;
  const text = details.querySelector(".text");
  text.replaceChildren(...marked(documents[said.document - 1]?.text ?? "", said.quote ? [said.quote] : []));
  (text.querySelector("mark") ?? details).scrollIntoView({ block: "center" });
  details.querySelector("summary").focus();
}

function texts(value, act) {
  if (!documents.length) return;
  const one = (document, index) => {
    const number = index + 1;
    const strike = make("button", { type: "button", onclick: () => act.strike(number) }, "Strike it, and go on");
    return make("details", { class: "card", "data-document": number },
      make("summary", {}, shown(number)), act.strike ? strike : "", make("div", { class: "text" }, document.text ?? ""));
  };
  by("texts").replaceChildren(make("h2", {}, "Documents"), ...documents.map(one));
}

// A recorded debate, as it looked live.
export function recorded(value, act) {
  documents = value.documents;
  let section = null;
  for (const call of value.calls) {
    if (!section || section.dataset.stage !== String(call.stage)) {
      section = make("section", { class: "card", "data-stage": call.stage }, make("h3", {}));
      by("debate").append(section);
    }
    turn(section, call);
  }
  if (value.answered) answered(value.answered, act);
}

// The claims of a text.
export function assessed(value) {
  show(by("progress"), false);
  documents = value.documents;
  const evidence = (all, kind) => make("ul", { class: kind }, all.map((one) =>
    make("li", {}, shown(one.document), make("blockquote", {}, one.quote.text), one.reason ?? "")));
  const claim = (claim) => make("article", { class: "card" },
    make("span", { class: "value" }, claim.text),
    make("dl", {},
      claim.supporters.length ? [make("dt", {}, "supported by"), make("dd", {}, evidence(claim.supporters, "for"))] : [],
      claim.contradictors.length
        ? [make("dt", {}, "contradicted by"), make("dd", {}, evidence(claim.contradictors, "against"))] : [],
      !claim.supporters.length && !claim.contradictors.length ? [make("dt", {}, "no document"), make("dd", {}, "")] : []));
  const conflicts = value.claims.filter((claim) => claim.conflict).length;
  status(`${value.claims.length} claims, ${conflicts} of them supported and contradicted`);
  by("answer").replaceChildren(make("h2", {}, "Claims"), ...value.claims.map(claim));
  value.read.forEach((line) => note({ line }));
}

