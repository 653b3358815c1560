// A question's page: its answers, debates and documents.

let textsRead = null;
/** All texts by number, read when the first question is opened. */
const allTexts = () => (textsRead = textsRead || data("data-texts"));

/** What the parts of a run's page read. */
function viewOf(question, run) {
  const documents = documentsOf(question, run);
  const stances = {};
  for (const call of run.calls || []) {
    if (call.document !== undefined && ["answer", "unknown", "malformed"].includes(call.kind) && call.said !== undefined) stances[call.document] = allTexts()[call.said];
  }
  const conclusion = run.conclusion || {};
  return { question, run, documents, texts: allTexts(), marks: run.marks || {}, stances, weights: conclusion.weights };
}

function supporters(view, title, numbers, none) {
  if (!numbers || !numbers.length) return none ? el("p", { class: "who" }, el("span", { class: "who-label" }, title), el("span", { class: "none" }, none)) : null;
  const weight = (number) => (view.weights ? `weight ${view.weights[number]}` : null);
  return el("p", { class: "who" }, el("span", { class: "who-label" }, title), numbers.map((number) => documentChip(view, number, weight(number))));
}

function answer(view, one) {
  const agents = !one.mentions;
  return el("li", { class: `answer${one.judged ? ` j-${one.judged}` : ""}` },
    el("p", { class: "answer-text", dir: "auto" }, view.texts[one.text], " ", one.judged ? outcomeChip(one.judged) : null),
    one.estimate ? el("p", { class: "about" }, `${one.estimate[0]} % probable, about `, view.texts[one.estimate[1]],
      one.estimate[2] == null ? null : `; ${view.texts[one.estimate[2]]}`) : null,
    one.lacks ? el("p", { class: "notice" }, `${one.lacks.join("; ")}`) : null,
    agents && view.documents.length ? supporters(view, "for", one.for, one.against ? "no document" : null) : null,
    supporters(view, "against", one.against),
    supporters(view, "mentioned in", one.mentions));
}

/** An answer of an earlier round that no agent holds at the end. */
function givenUp(view, one) {
  return el("li", { class: "answer" },
    el("p", { class: "answer-text", dir: "auto" }, view.texts[one.text]),
    supporters(view, "said by", one.documents),
    el("p", { class: "who" }, el("span", { class: "who-label" }, "changed to"), el("span", { dir: "auto" }, one.now === undefined ? "no answer" : view.texts[one.now])));
}

/** The only concluding call; null where several concluded. */
const concludingCall = (run) => (run.conclusion.calls && run.conclusion.calls.length === 1 ? (run.calls || [])[run.conclusion.calls[0]] : null);

/** What was concluded, or why nothing was. */
function conclusion(view) {
  const { run } = view;
  const found = run.conclusion;
  if (run.error) return el("section", { class: "verdict", "aria-label": "Conclusion" }, el("p", { class: "notice" }, "No conclusion: ", el("span", { dir: "auto" }, run.error)));
  if (!found) return null;
  const unanimous = found.rounds === 1 ? "the documents agree" : "every agent kept its answer";
  const rounds = found.converged ? `ended after ${plural(found.rounds, "round")}: ${unanimous}` : plural(found.rounds || 0, "round");
  const numbers = Object.entries(run.metrics || {}).map(([name, number]) => el("span", {}, `${name} ${number}`));
  const bare = !found.malformed && !found.answers && !found.rejected && found.why === undefined && run.claims;
  return el("section", { class: bare ? "verdict bare" : "verdict", "aria-label": "Conclusion" },
    found.no_answer ? el("p", { class: found.malformed ? "notice" : "answer-text none" }, found.no_answer) : null,
    found.answers ? el("ol", { class: "answers", "aria-label": "Answers" }, found.answers.map((one) => answer(view, one))) : null,
    found.refused ? el("p", { class: "notice" }, "Refused, since it is from the prompt's worked example and in no document: ", el("span", { dir: "auto" }, found.refused.join("; "))) : null,
    found.rejected ? el("div", { class: "rejected" }, el("h3", {}, "Not taken up"), el("ul", { class: "answers" }, found.rejected.map((one) => answer(view, one)))) : null,
    found.given_up ? el("div", { class: "rejected" }, el("h3", {}, "Given up in the debate"), el("ul", { class: "answers" }, found.given_up.map((one) => givenUp(view, one)))) : null,
    found.why === undefined ? null : el("p", { class: "text why", dir: "auto" }, view.texts[found.why], cutSign(concludingCall(run))),
    el("p", { class: "facts" }, el("span", {}, rounds), el("span", {}, plural((run.calls || []).length, "call")), el("span", {}, `${(run.seconds || 0).toFixed(1)} s`), numbers));
}

/** Weights of the documents' sources as a table with bars. */
function weights(view) {
  if (!view.weights) return null;
  const most = Math.max(...view.weights, 1);
  const row = (weight, number) => {
    const doc = view.documents[number] || { name: "?" };
    return el("tr", {}, el("th", { scope: "row", dir: "auto" }, documentLabel(number, doc.name), doc.source ? el("span", { class: "interval" }, ` ${doc.source}`) : null),
      el("td", {}, el("meter", { min: 0, max: most, value: Math.max(weight, 0), "aria-hidden": "true" }), ` ${weight}`));
  };
  return el("section", { class: "weights", "aria-label": "Source weights" }, el("h3", {}, "Source weights"), el("table", { class: "numbers" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Document"), el("th", { scope: "col" }, "Weight of its source"))), el("tbody", {}, view.weights.map(row))));
}

/** One record's debate about the question. */
function runSection(view, name) {
  return el("section", { class: "run-view", "aria-label": name },
    el("h2", {}, name, " ", outcomeChip(view.run.outcome)),
    conclusion(view), claims(view), grid(view), weights(view), callList(view));
}

/** The dataset's right and wrong answers. */
function gold(question) {
  const texts = allTexts();
  const found = question.gold;
  if (!found) return null;
  const list = (title, answers, kind) => (answers && answers.length ? el("p", { class: "who" }, el("span", { class: "who-label" }, title), answers.map((one) => el("span", { class: `gold ${kind}`, dir: "auto" }, one))) : null);
  const right = (found.right || []).map((aliases) => aliases.map((alias) => texts[alias]));
  const first = right.map((aliases) => (aliases.length > 1 ? `${aliases[0]} (or ${aliases.slice(1, 4).join(", ")}${aliases.length > 4 ? ", …" : ""})` : aliases[0]));
  return el("div", { class: "gold-answers" },
    found.none ? el("p", { class: "who" }, el("span", { class: "who-label" }, "right"), "no answer: the documents have none") : null,
    list(found.all || first.length < 2 ? "right" : "right, any of", first, "is-right"),
    list("wrong", (found.wrong || []).map((one) => texts[one]), "is-wrong"));
}

const MARKS = [["answer", "concluded answer"], ["other", "answer not concluded"], ["quote", "quoted in a reply"]];

/** The documents of the shown runs; spans of all of them are marked. */
function documentList(views) {
  const [view] = views;
  if (!view.documents.length) return null;
  const marks = {};
  for (const one of views) for (const [number, spans] of Object.entries(one.marks)) marks[number] = [...(marks[number] || []), ...spans];
  const kinds = new Set(Object.values(marks).flat().map(([, , kind]) => kind));
  const legend = MARKS.filter(([kind]) => kinds.has(kind)).map(([kind, word]) => el("mark", { class: `m-${kind}` }, word));
  const shown = views.length > 1 ? { ...view, stances: {}, marks } : view;
  return el("section", { class: "documents", "aria-label": "Documents" }, el("h2", {}, "Documents"),
    legend.length ? el("p", { class: "about marks" }, legend) : null,
    view.documents.map((_, number) => documentCard(shown, number)));
}

/** Links to the same question in other records, and the choice of a second one beside it. */
function tabs(group, entry, question, chosen) {
  const names = group.records;
  if (names.length < 2) return null;
  const link = (name, index) => {
    const [outcome] = entry.runs[index] || [];
    return el("li", {}, el("a", { href: `#q/${entry.number}/${index}`, "aria-current": chosen[0] === index ? "true" : null, class: question.runs[index] ? null : "absent" }, outcomeChip(outcome, true), name));
  };
  const select = el("select", { id: "beside" }, el("option", { value: "" }, "nothing"),
    names.map((name, index) => (index === chosen[0] || !question.runs[index] ? null : el("option", { value: index, selected: chosen[1] === index }, name))));
  select.addEventListener("change", () => { location.hash = `#q/${entry.number}/${chosen[0]}${select.value === "" ? "" : `/${select.value}`}`; });
  return el("nav", { class: "tabs", "aria-label": "Records" }, el("ul", {}, names.map(link)), el("p", { class: "beside" }, el("label", { for: "beside" }, "Beside it "), select));
}

/** The page of a question. `chosen`: indices of one or two records. `around`: numbers of the questions before and after. */
function questionPage(group, entry, chosen, around) {
  const question = data(`data-${entry.number}`);
  const texts = allTexts();
  const step = (number, word, key) => (number === undefined ? null : el("a", { href: `#q/${number}/${chosen.join("/")}`, rel: key }, word));
  const present = chosen.filter((index) => question.runs[index]);
  const views = present.map((index) => viewOf(question, question.runs[index]));
  const head = el("h1", { tabindex: "-1", dir: "auto" }, texts[question.text]);
  const runs = views.map((view, number) => runSection(view, group.records[present[number]]));
  const absent = chosen.filter((index) => !question.runs[index]).map((index) => el("p", { class: "notice" }, `${group.records[index]} does not have this question.`));
  const options = question.options ? el("p", { class: "who" }, el("span", { class: "who-label" }, "options"), question.options.map((one) => el("span", { class: "gold", dir: "auto" }, one))) : null;
  const responses = question.responses ? question.responses.map((index) => el("blockquote", { class: "text", dir: "auto" }, texts[index])) : null;
  const page = el("div", { class: "question-page" },
    el("nav", { class: "steps", "aria-label": "Questions" }, el("a", { href: "#questions" }, "All questions"), el("span", { class: "grow" }), step(around[0], "Previous", "prev"), step(around[1], "Next", "next")),
    head, el("p", { class: "facts" }, el("span", {}, entry.id), (entry.slices || []).map((slice) => el("span", {}, slice))), gold(question), options, responses,
    tabs(group, entry, question, chosen), absent,
    el("div", { class: views.length > 1 ? "columns two" : "columns" }, el("div", { class: "run-views" }, runs), views.length ? documentList(views) : null));
  return { page, head };
}
