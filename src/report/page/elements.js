// Elements from data. A text becomes a text node or an attribute's value, never markup.

const byId = (id) => document.getElementById(id);
const data = (id) => JSON.parse(byId(id).textContent);

/** An element with attributes and children; a string is a text node; null and false are left out. */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === "hidden") {
      element.hidden = true;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const hiddenText = (text) => el("span", { class: "unseen" }, text);

/** How a question or a reply ended: a sign, and the word for it. */
const OUTCOMES = {
  right: ["✓", "right"],
  partly: ["◐", "partly right"],
  wrong: ["✗", "wrong"],
  unknown: ["?", "no answer"],
  malformed: ["!", "malformed"],
  error: ["×", "error"],
  answered: ["•", "answered"],
};

/** "✓ right", coloured; only the sign with `short`, the word for readers and as a title. */
function outcomeChip(outcome, short) {
  const [sign, word] = OUTCOMES[outcome] || ["–", "not asked"];
  const mark = el("span", { class: "sign", "aria-hidden": "true" }, sign);
  return el("span", { class: `chip o-${outcome}`, title: short ? word : null }, mark, short ? hiddenText(word) : word);
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Table parts that keep their roles where the style makes blocks of them. */
const ROLES = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell" };
function cells(tag, attributes, ...children) {
  const role = tag === "th" ? (attributes.scope === "row" ? "rowheader" : "columnheader") : ROLES[tag];
  return el(tag, { role, ...attributes }, ...children);
}

/** A `details` whose content is made when it is opened first. */
function lazily(attributes, summary, content) {
  const details = el("details", attributes, el("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...[content()].flat());
  });
  return details;
}

/** Arrow keys move between the buttons of a table's rows. */
function arrows(table) {
  table.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const rows = [...table.querySelectorAll("tbody tr")];
    let [row, column] = [rows.indexOf(cell.parentElement), cell.cellIndex];
    for (;;) {
      [row, column] = [row + step[0], column + step[1]];
      const next = rows[row] && rows[row].cells[column];
      if (!next) return;
      const button = next.querySelector("button");
      if (button) return button.focus();
    }
  });
}
