// Documents, and texts with spans marked.

/** `text` as nodes, with `[start, end, kind]` marked; spans may overlap and touch. */
function markedText(text, spans) {
  const edges = [...new Set([0, text.length, ...(spans || []).flatMap(([start, end]) => [start, end])])]
    .filter((edge) => edge >= 0 && edge <= text.length)
    .sort((a, b) => a - b);
  const nodes = [];
  for (let index = 0; index + 1 < edges.length; index += 1) {
    const [from, to] = [edges[index], edges[index + 1]];
    const kinds = (spans || []).filter(([start, end]) => start <= from && end >= to).map(([, , kind]) => kind);
    const part = text.slice(from, to);
    nodes.push(kinds.length ? el("mark", { class: [...new Set(kinds)].map((kind) => `m-${kind}`).join(" ") }, part) : part);
  }
  return nodes;
}

/** The name of a document with its number, from 1: "2 notes.md"; a name that is only a number is not said twice. */
function documentLabel(number, name) {
  return new RegExp(`^(document|doc|passage)?\\s*#?${number + 1}$`, "i").test(name.trim()) ? `Document ${number + 1}` : `${number + 1} ${name}`;
}

/** The documents of a run, by number. */
function documentsOf(question, run) {
  return (run.documents || []).map((number) => question.documents[number]);
}

/** A button that leads to a document's text. */
function documentChip(view, number, more) {
  const name = view.documents[number] ? documentLabel(number, view.documents[number].name) : `${number + 1} ?`;
  const go = () => {
    const target = byId(`document-${number}`);
    if (!target) return;
    target.scrollIntoView({ block: "nearest" });
    target.focus({ preventScroll: true });
  };
  return el("button", { type: "button", class: "document-chip", on: { click: go } }, name, more ? el("span", { class: "interval" }, ` ${more}`) : null);
}

/** A document: its name and details, the dataset's judgement, the text with its spans marked. */
function documentCard(view, number) {
  const doc = view.documents[number];
  const text = view.texts[doc.text];
  const details = [doc.source, doc.date, doc.url, doc.origin].filter(Boolean);
  const weight = view.weights && view.weights[number];
  const label = doc.label ? el("span", { class: `label l-${["correct", "misinfo", "noise"].includes(doc.label) ? doc.label : "other"}` }, `dataset: ${doc.label}`, doc.holds ? `, ${doc.holds}` : null) : null;
  const stance = view.stances[number];
  const head = el("h3", { id: `document-${number}-head`, dir: "auto" }, documentLabel(number, doc.name));
  const body = el("p", { class: "text", dir: "auto" }, markedText(text, view.marks[number]));
  const card = el("article", { class: "document", id: `document-${number}`, tabindex: "-1", "aria-labelledby": `document-${number}-head` },
    el("header", {}, head, label, weight === undefined ? null : el("span", { class: "weight" }, `source weight ${weight}`)),
    details.length ? el("p", { class: "details", dir: "auto" }, details.join(" · ")) : null,
    stance ? el("p", { class: "stance" }, "Its agent last said: ", el("b", { dir: "auto" }, stance)) : null,
    body,
    doc.copies ? el("p", { class: "details" }, `Copies, counted once: ${doc.copies.join("; ")}`) : null);
  if (text.length > 1400) {
    card.classList.add("folded");
    const more = el("button", { type: "button", class: "plain", "aria-expanded": "false" }, "Show all of it");
    more.addEventListener("click", () => {
      const folded = card.classList.toggle("folded");
      more.textContent = folded ? "Show all of it" : "Show less";
      more.setAttribute("aria-expanded", String(!folded));
    });
    card.append(more);
  }
  return card;
}
