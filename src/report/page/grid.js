// The grid of rounds x agents: each agent's reply in each round, and the answers that changed.

/** Speakers in the order of their documents, then of their first call. */
function speakers(view) {
  const found = new Map();
  for (const call of view.run.calls || []) {
    const key = `${call.role} ${call.document} ${call.sample || 0}`;
    if (!found.has(key)) found.set(key, { name: speaker(view, call), role: call.role, document: call.document, calls: [] });
    found.get(key).calls.push(call);
  }
  const rank = (entry) => (entry.document === undefined ? Infinity : entry.document);
  const all = [...found.values()].map((entry, number) => ({ ...entry, number }));
  return all.sort((a, b) => (rank(a) === rank(b) ? a.number - b.number : rank(a) - rank(b)));
}

/** The sign of an explanation that was cut back to whole sentences where its reply reached its limit of tokens. */
const cutSign = (call) => (call && call.cut ? " [cut]" : null);

/** A reply in the grid: a button that shows all of it below. */
function reply(view, call, show) {
  const said = call.said === undefined ? "(empty)" : view.texts[call.said];
  const why = call.why === undefined ? "" : view.texts[call.why];
  const judged = call.judged ? OUTCOMES[call.judged] : null;
  const button = el("button", { type: "button", class: `reply k-${call.kind}${call.changed ? " changed" : call.round > 1 ? " kept" : ""}`, "aria-expanded": "false" },
    el("span", { class: "said", dir: "auto" }, judged ? el("span", { class: `sign o-${call.judged}`, "aria-hidden": "true", title: judged[1] }, judged[0]) : null,
      said.length > 160 ? `${said.slice(0, 160)}…` : said, judged ? hiddenText(` (${judged[1]})`) : null),
    call.changed ? el("span", { class: "was", dir: "auto" }, call.kind === "unknown" ? "withdrawn" : "changed", call.was ? `${call.kind === "unknown" ? ", said" : " from"} ${call.was.length > 60 ? `${call.was.slice(0, 60)}…` : call.was}` : null) : null,
    why ? el("span", { class: "why", dir: "auto" }, why.length > 140 ? `${why.slice(0, 140)}…` : why, cutSign(call)) : null);
  button.addEventListener("click", () => show(call, button));
  return button;
}

/** The whole reply of a cell, below the grid. */
function replyPanel(view, call, close) {
  const why = call.why === undefined ? null : view.texts[call.why];
  const head = el("h4", { tabindex: "-1" }, `${speaker(view, call)}, round ${call.round}`, call.document === undefined ? null : el("span", { class: "interval" }, ` ${call.role}`));
  return [
    el("div", { class: "panel-head" }, head, el("button", { type: "button", class: "plain", on: { click: close } }, "Close")),
    el("p", { class: "answer-text", dir: "auto" }, call.said === undefined ? "(empty)" : view.texts[call.said], " ", call.judged ? outcomeChip(call.judged) : null),
    why ? el("p", { class: "text", dir: "auto" }, why, cutSign(call)) : null,
    call.document === undefined ? null : el("p", {}, documentChip(view, call.document)),
    lazily({ class: "call" }, "Prompt and raw reply", () => exchange(view, call)),
  ];
}

/** The grid with its panel; null where there are no calls. */
function grid(view) {
  const rows = speakers(view);
  if (!rows.length) return null;
  const rounds = [...new Set(rows.flatMap((row) => row.calls.map((call) => call.round)))].sort((a, b) => a - b);
  const panel = el("div", { class: "reply-panel", hidden: true });
  let open = null;
  const close = () => {
    if (open) open.setAttribute("aria-expanded", "false");
    panel.hidden = true;
    if (open) open.focus();
    open = null;
  };
  const show = (call, button) => {
    if (open === button) return close();
    if (open) open.setAttribute("aria-expanded", "false");
    open = button;
    button.setAttribute("aria-expanded", "true");
    panel.replaceChildren(...replyPanel(view, call, close).filter(Boolean));
    panel.hidden = false;
    panel.querySelector("h4").focus();
  };
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    // Otherwise the page's own Escape would leave the question.
    event.stopPropagation();
    close();
  });
  const cell = (row, round) => {
    const calls = row.calls.filter((call) => call.round === round);
    const shown = calls.slice(0, 4).map((call) => reply(view, call, show));
    const rest = calls.length > 4 ? lazily({ class: "rest" }, `${calls.length - 4} more`, () => calls.slice(4).map((call) => reply(view, call, show))) : null;
    return cells("td", { "data-round": `Round ${round}`, class: calls.length ? null : "empty" }, shown, rest, calls.length ? null : hiddenText("no reply"));
  };
  // The role is told where agents of documents have several.
  const roles = new Set(rows.filter((row) => row.document !== undefined).map((row) => row.role));
  const table = cells("table", { class: "grid" },
    cells("thead", {}, cells("tr", {}, cells("th", { scope: "col" }, "Speaker"), rounds.map((round) => cells("th", { scope: "col" }, `Round ${round}`)))),
    cells("tbody", {}, rows.map((row) => cells("tr", { class: row.document === undefined ? "concluding" : null },
      cells("th", { scope: "row", dir: "auto" }, row.name, row.document === undefined || roles.size < 2 ? null : el("span", { class: "interval" }, ` ${row.role}`)),
      rounds.map((round) => cell(row, round))))));
  arrows(table);
  const changed = (view.run.calls || []).filter((call) => call.changed).length;
  return el("section", { class: "debate-grid", "aria-label": "Debate by round" }, el("h3", {}, "Debate"),
    el("p", { class: "about" }, `${plural(rounds.length, "round")}, ${plural(changed, "answer")} changed. Select a reply to read all of it.`),
    el("div", { class: "scroll" }, table), panel);
}
