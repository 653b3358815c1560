// Where documents contradict each other: by subject, the sides of each contradiction beside each other.

import { by, make } from "/page/dom.js";
import { listed, named, note, notes, opener, progress, status, textOf, texts } from "/page/output.js";

// As the command line and the report name them.
const KINDS = {
  number: "different number", date: "different date", name: "different name", negation: "negation",
  superseded: "superseded", scope: "different scope", statement: "different statement",
};

const counted = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

// An event of the stream. A step without work has no progress.
export function happened(name, value) {
  if (value.of === 0) return;
  const steps = {
    documents: () => status(`${counted(value.documents, "document")}, ${counted(value.sentences, "sentence")}`),
    reading: () => progress(value.done, value.of, `${value.done} of ${counted(value.of, "passage")} read`),
    embedding: () => progress(value.done, value.of, `${value.done} of ${counted(value.of, "vector")} computed`),
    pairs: () => status(`${counted(value.claims, "claim")}, ${counted(value.pairs, "pair")} to compare`),
    labelling: () => progress(value.done, value.of, `${value.done} of ${counted(value.of, "pair")} compared`),
    note: () => note(value.line),
  };
  steps[name]?.();
}

// The report; `given` are the documents that were sent, with their texts.
export function found(value, given) {
  listed(value.documents.map(withText(given)));
  status(told(value));
  by("answer").replaceChildren(make("h2", {}, "Contradictions"), ...(value.groups.length ? value.groups.map(group)
    : [make("p", { class: "card" }, `Nothing found: ${told(value)}.`)]));
  const copies = value.documents.flatMap(({ file, copies }) => (copies ?? []).map((copy) =>
    `${copy} has the text of ${file} and was not read again`));
  notes([...copies, ...(value.notes ?? []), ...value.read]);
  if (given.length) texts();
}

function told({ groups, counts }) {
  const number = groups.reduce((sum, { findings }) => sum + findings.length, 0);
  const compared = `${counted(counts.documents, "document")}: ${counted(counts.claims, "claim")}, `
    + counted(counts.pairs, "pair") + (counts.failed ? `, ${counted(counts.failed, "call")} failed` : "");
  return number ? `${counted(number, "contradiction")} about ${counted(groups.length, "subject")} in ${compared}`
    : `no contradictions in ${compared}`;
}

// Documents of the report have names alone. Several may share one: each text is taken once, in the order given.
function withText(given) {
  const left = [...new Map(given.map((document) => [`${document.title}\n${document.text}`, document])).values()];
  return (source) => {
    const at = left.findIndex(({ name }) => name === source.file);
    const [document] = at < 0 ? [] : left.splice(at, 1);
    return { ...source, name: source.file, text: document?.text };
  };
}

const group = ({ subject, findings }) =>
  make("section", { class: "subject" }, make("h3", {}, subject), findings.map(finding));

function finding({ kind, probability, sides }) {
  return make("article", { class: "card" },
    make("p", { class: "kind" }, make("strong", {}, KINDS[kind] ?? kind),
      make("meter", { min: 0, max: 1, value: probability, "aria-hidden": "true" }),
      `${Math.round(probability * 100)} % probable`),
    make("div", { class: "sides" }, sides.map((side) => column(side, sides))));
}

function column(side, sides) {
  const badge = (is, text) => (is ? make("span", { class: "badge" }, text) : null);
  return make("section", { class: side.odd ? "side odd" : "side" },
    make("h4", {}, side.values.join(", ") || "says", badge(side.odd, "the odd one out"), badge(side.newest, "newest")),
    side.statements.map((statement) => said(statement, side, sides)));
}

// A statement opens its document and those of the other sides, with the quotes of both.
function said(statement, side, sides) {
  const own = [statement, ...side.statements.filter((other) => other !== statement)];
  const others = sides.filter((other) => other !== side).flatMap((other) => other.statements);
  const quote = make("q", {}, statement.quote);
  // Of the server's corpus the page has quotes alone.
  const hasText = textOf(statement.document);
  const marks = (all, kind, label) => all.map(({ document, quote }) => ({ document, quote, kind, label }));
  const { line, page, about } = statement;
  const position = line ? `, line ${line}` : page ? `, page ${page}` : "";
  return make("figure", {},
    hasText ? opener([...marks(own, "for", "this side"), ...marks(others, "against", "other side")], quote) : quote,
    make("figcaption", { class: "faint" }, named(statement.document), position, about ? `; about ${about}` : ""));
}
