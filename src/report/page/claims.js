// The matrix of claims x documents. A cell shows two quotes side by side, each in its document.

const RELATIONS = { supports: ["+", "supports"], contradicts: ["−", "contradicts"], irrelevant: ["·", "says nothing of it"] };

/** One side of a pair: the document with the quote marked. */
function quoted(view, label, title) {
  const doc = view.documents[label.document];
  const kind = label.relation === "contradicts" ? "against" : "for";
  const text = view.texts[doc.text];
  const spans = label.quote ? [[label.quote[0], label.quote[1], kind]] : [];
  const facts = [label.by, label.probability === undefined ? null : `probability ${label.probability}`].filter(Boolean).join(", ");
  return el("div", { class: `side ${label.fault ? "fault" : label.relation}` },
    el("h5", { dir: "auto" }, `${title}: ${documentLabel(label.document, doc.name)}`),
    label.quote ? el("blockquote", { dir: "auto" }, text.slice(label.quote[0], label.quote[1])) : null,
    label.fault ? el("p", { class: "details", dir: "auto" }, label.fault) : null,
    label.why === undefined ? null : el("p", { class: "details", dir: "auto" }, view.texts[label.why]),
    facts ? el("p", { class: "details" }, `by ${facts}`) : null,
    el("div", { class: "source-text", tabindex: "0", role: "region", "aria-label": `Text of ${documentLabel(label.document, doc.name)}` }, el("p", { class: "text", dir: "auto" }, markedText(text, spans))));
}

/** The label opposed to `label` in the same claim: the first of the other side that counts. */
function opposite(row, label) {
  const wanted = label.relation === "supports" ? "contradicts" : "supports";
  return row.labels.find((other) => other !== label && !other.fault && other.relation === wanted);
}

function pairPanel(view, row, label, close) {
  const other = label.relation === "irrelevant" || label.fault ? null : opposite(row, label);
  const [, word] = RELATIONS[label.relation];
  const sides = [quoted(view, label, label.fault ? "Does not count" : word[0].toUpperCase() + word.slice(1))];
  if (other) sides.push(quoted(view, other, other.relation === "supports" ? "Supports" : "Contradicts"));
  return [
    el("div", { class: "panel-head" }, el("h4", { tabindex: "-1", dir: "auto" }, view.texts[row.text]), el("button", { type: "button", class: "plain", on: { click: close } }, "Close")),
    el("div", { class: `pair${other ? " two" : ""}` }, sides),
    other || label.relation === "irrelevant" || label.fault ? null : el("p", { class: "details" }, label.relation === "supports" ? "No document contradicts it." : "No document supports it."),
  ];
}

/** The section of a run whose method labels claims; null for others. */
function claims(view) {
  const { claims: found } = view.run;
  if (!found) return null;
  const panel = el("div", { class: "reply-panel", hidden: true });
  let open = null;
  const close = () => {
    if (open) open.setAttribute("aria-pressed", "false");
    panel.hidden = true;
    if (open) open.focus();
    open = null;
  };
  const show = (row, label, button) => {
    if (open === button) return close();
    if (open) open.setAttribute("aria-pressed", "false");
    open = button;
    button.setAttribute("aria-pressed", "true");
    panel.replaceChildren(...pairPanel(view, row, label, close).filter(Boolean));
    panel.hidden = false;
    for (const source of panel.querySelectorAll(".source-text")) {
      const mark = source.querySelector("mark");
      if (mark) source.scrollTop = mark.offsetTop - source.offsetTop - 40;
    }
    panel.querySelector("h4").focus();
  };
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    // Otherwise the page's own Escape would leave the question.
    event.stopPropagation();
    close();
  });
  const cell = (row, number) => {
    const label = row.labels.find((one) => one.document === number);
    if (!label) return cells("td", { class: "empty" }, hiddenText(row.from === number ? "the claim is from this document" : "not compared"), row.from === number ? el("span", { "aria-hidden": "true", class: "interval" }, "from") : null);
    const [sign, word] = RELATIONS[label.relation];
    const shown = label.fault ? ["!", `${word}, does not count`] : [sign, word];
    const button = el("button", { type: "button", class: `cell ${label.fault ? "fault" : label.relation}`, "aria-pressed": "false", title: shown[1] },
      el("span", { "aria-hidden": "true" }, shown[0]), hiddenText(`${documentLabel(number, view.documents[number].name)} ${shown[1]}`));
    button.addEventListener("click", () => show(row, label, button));
    return cells("td", {}, button);
  };
  const numbers = view.documents.map((_, number) => number);
  const table = cells("table", { class: "matrix" },
    cells("thead", {}, cells("tr", {}, cells("th", { scope: "col" }, "Claim"), numbers.map((number) => cells("th", { scope: "col", title: view.documents[number].name }, `${number + 1}`, hiddenText(` ${view.documents[number].name}`))))),
    cells("tbody", {}, found.rows.map((row) => cells("tr", { class: row.conflict ? "conflict" : null },
      cells("th", { scope: "row", dir: "auto" }, view.texts[row.text], row.conflict ? el("span", { class: "conflict-word" }, " conflict") : null),
      numbers.map((number) => cell(row, number))))));
  arrows(table);
  return el("section", { class: "claims", "aria-label": "Claims and documents" }, el("h3", {}, "Claims and documents"),
    el("p", { class: "about" }, `CS-C ${found["cs-c"]}, CS-R ${found["cs-r"]}; ${found.counts}. + supports, − contradicts, · says nothing of it, ! does not count. Select a cell to read the quotes beside each other.`),
    el("div", { class: "scroll" }, table), panel);
}
