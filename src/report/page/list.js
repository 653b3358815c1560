// The list of questions with its search and filters.

/** Builds the list; `state` keeps what is shown, in order, for the steps between questions. */
function questionList(container, index, state) {
  const several = index.groups.length > 1;
  const label = (text, control, kind) => el("p", { class: `field ${kind || ""}` }, el("label", { for: control.id }, text), control);
  const options = (pairs) => pairs.map(([value, text]) => el("option", { value }, text));
  const datasets = el("select", { id: "filter-group" }, options(index.groups.map((group, number) => [number, group.name || `dataset ${number + 1}`])));
  const search = el("input", { id: "search", type: "search", autocomplete: "off", spellcheck: "false", placeholder: "words, or \"a phrase\", of questions and answers" });
  const record = el("select", { id: "filter-record" });
  const outcome = el("select", { id: "filter-outcome" });
  const slice = el("select", { id: "filter-slice" });
  const changed = el("input", { id: "filter-changed", type: "checkbox" });
  const reset = el("button", { type: "reset", class: "plain" }, "Reset");
  const count = el("p", { role: "status", class: "count" });
  const body = el("div", { class: "list" });
  const sliceField = label("Slice", slice);
  const recordField = label("Record", record);
  const changedField = el("p", { class: "field check" }, changed, el("label", { for: "filter-changed" }, "answered differently"));
  const form = el("form", { class: "filters", role: "search", "aria-label": "Questions", on: { submit: (event) => event.preventDefault() } },
    label("Search", search, "wide"), several ? label("Dataset", datasets) : null, recordField, label("Outcome", outcome), sliceField, changedField, reset);

  const group = () => index.groups[Number(datasets.value) || 0];
  const entries = () => group().questions;
  const matches = (entry) => {
    const words = (search.value.toLowerCase().match(/"[^"]+"|[^\s"]+/g) || []).map((word) => word.replaceAll('"', ""));
    const runs = record.value === "" ? entry.runs : [entry.runs[Number(record.value)]];
    const ended = (run) => (outcome.value === "absent" ? !run : Boolean(run) && (outcome.value === "" || run[0] === outcome.value));
    const text = () => [entry.id, entry.text, ...entry.runs.map((run) => (run ? run[1] : ""))].join("\n").toLowerCase();
    return runs.some(ended) && (!changed.checked || entry.changed) && (slice.value === "" || (entry.slices || []).includes(slice.value)) && (!words.length || words.every((word) => text().includes(word)));
  };

  /** Fields that depend on the dataset. */
  const prepare = () => {
    const { records, slices } = group();
    record.replaceChildren(...options([["", "any"], ...records.map((name, number) => [number, name])]));
    slice.replaceChildren(...options([["", "any"], ...slices.map((name) => [name, name])]));
    const counts = {};
    for (const run of entries().flatMap((entry) => entry.runs)) if (run) counts[run[0]] = (counts[run[0]] || 0) + 1;
    const found = Object.keys(OUTCOMES).filter((name) => counts[name]);
    outcome.replaceChildren(...options([["", "any"], ...found.map((name) => [name, `${OUTCOMES[name][1]} (${counts[name]})`])]));
    recordField.hidden = changedField.hidden = records.length < 2;
    sliceField.hidden = !slices.length;
    changed.checked = index.changed && records.length > 1;
  };

  const row = (entry) => {
    const one = entry.runs.length === 1 ? entry.runs[0] : null;
    const first = record.value === "" ? Math.max(entry.runs.findIndex(Boolean), 0) : Number(record.value);
    // The page of a comparison opens the first record that answers otherwise beside this one.
    const other = entry.runs.findIndex((run, number) => number !== first && run && entry.runs[first] && (run[0] !== entry.runs[first][0] || run[1] !== entry.runs[first][1]));
    const beside = index.changed && other >= 0 ? `/${other}` : "";
    const link = el("a", { href: `#q/${entry.number}/${first}${beside}`, dir: "auto" }, entry.text.trim() || entry.id);
    const answered = entry.runs[first] ? el("span", { class: "answered", dir: "auto" }, entry.runs[first][1]) : null;
    return el("tr", {}, el("th", { scope: "row" }, link, answered),
      one ? el("td", {}, outcomeChip(one[0])) : entry.runs.map((run) => el("td", {}, run ? outcomeChip(run[0], true) : el("span", { class: "none" }, "–"))));
  };

  const draw = () => {
    state.group = group();
    state.shown = entries().filter(matches);
    count.textContent = `${state.shown.length} of ${plural(entries().length, "question")}`;
    const { records } = group();
    const heads = records.length === 1 ? [el("th", { scope: "col" }, "Outcome")] : records.map((name) => el("th", { scope: "col", class: "turned", title: name }, el("span", {}, name)));
    const table = el("table", { class: records.length > 1 ? "questions several" : "questions" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Question and answer"), heads)), el("tbody", {}, state.shown.map(row)));
    body.replaceChildren(state.shown.length ? table : el("p", { class: "notice" }, "No question matches these filters."));
  };
  const begin = () => { prepare(); draw(); };
  form.addEventListener("input", (event) => (event.target === datasets ? begin() : draw()));
  // The event comes before the fields are reset, hence the timeout.
  form.addEventListener("reset", () => setTimeout(() => { changed.checked = false; begin(); changed.checked = false; draw(); search.focus(); }));
  const legend = el("p", { class: "about signs" }, Object.keys(OUTCOMES).filter((name) => index.groups.some((one) => one.questions.some((entry) => entry.runs.some((run) => run && run[0] === name)))).map((name) => outcomeChip(name)));
  container.replaceChildren(form, count, legend, body);
  begin();
}
