// The two views, the way between them, keys and colours.

const index = data("data-index");
const state = { shown: [], group: null, from: null };
questionList(byId("list"), index, state);

/** The group and the entry of a question's number. */
function find(number) {
  for (const group of index.groups) {
    const entry = group.questions.find((one) => one.number === number);
    if (entry) return { group, entry };
  }
  return null;
}

/** Numbers of the questions before and after, among those that the list shows. */
function around(number) {
  const shown = state.shown.map((entry) => entry.number);
  const at = shown.indexOf(number);
  return at < 0 ? [] : [shown[at - 1], shown[at + 1]];
}

function route() {
  const [, number, ...chosen] = /^#q\/\d+/.test(location.hash) ? location.hash.slice(1).split("/") : [];
  const found = number === undefined ? null : find(Number(number));
  const open = Boolean(found);
  byId("overview").hidden = open;
  byId("debate").hidden = !open;
  if (!open) {
    byId("debate").replaceChildren();
    document.title = title;
    const target = /^#[a-z-]+$/.test(location.hash) ? document.querySelector(location.hash) : null;
    const link = state.from === null ? null : document.querySelector(`.questions a[href^="#q/${state.from}/"]`);
    state.from = null;
    if (link) {
      link.focus({ preventScroll: true });
      link.scrollIntoView({ block: "center" });
    } else if (target) target.scrollIntoView();
    return;
  }
  const { group, entry } = found;
  const records = chosen.map(Number).filter((record) => Number.isInteger(record) && record >= 0 && record < group.records.length);
  const first = records.length ? records[0] : Math.max(entry.runs.findIndex(Boolean), 0);
  const both = records.length > 1 && records[1] !== first ? [first, records[1]] : [first];
  const { page, head } = questionPage(group, entry, both, around(entry.number));
  const again = state.from === entry.number;
  state.from = entry.number;
  byId("debate").replaceChildren(page);
  document.title = `${entry.text.trim().slice(0, 80)} · ${title}`;
  // Another record of the same question: focus and scroll position stay.
  if (again) return;
  scrollTo(0, 0);
  head.focus({ preventScroll: true });
}

const title = document.title;
addEventListener("hashchange", route);
route();

// The hash is the page's address: to follow the link would leave an open question.
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest && event.target.closest("input, select, textarea");
  if (event.key === "Escape" && typing) return typing.blur();
  if (typing) return;
  const go = (rel) => {
    const link = document.querySelector(`.steps a[rel="${rel}"]`);
    if (link) link.click();
  };
  if (event.key === "j") go("next");
  else if (event.key === "k") go("prev");
  else if (event.key === "Escape" && !byId("debate").hidden) location.hash = "#questions";
  else if (event.key === "/") {
    event.preventDefault();
    if (!byId("debate").hidden) {
      location.hash = "#questions";
      route(); // Now and not at the event, which would take the focus away again.
    }
    byId("search").focus();
  }
});

// Which metric the charts draw.
for (const button of document.querySelectorAll(".choose button")) {
  button.addEventListener("click", () => {
    const section = button.closest("section");
    for (const other of section.querySelectorAll(".choose button")) other.setAttribute("aria-pressed", String(other === button));
    for (const figure of section.querySelectorAll("figure")) figure.hidden = figure.dataset.metric !== "" && figure.dataset.metric !== button.dataset.metric;
  });
}

// Colours: as the system has them, unless they were chosen here. The choice is kept where the browser lets a file keep one.
function colours(choice) {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  for (const button of document.querySelectorAll(".theme button")) button.setAttribute("aria-pressed", String(button.dataset.theme === choice));
}
const kept = { get: () => { try { return localStorage.getItem("moot-colours"); } catch { return null; } }, set: (choice) => { try { localStorage.setItem("moot-colours", choice); } catch { /* not kept */ } } };
for (const button of document.querySelectorAll(".theme button")) {
  button.addEventListener("click", () => { colours(button.dataset.theme); kept.set(button.dataset.theme); });
}
colours(["light", "dark"].includes(kept.get()) ? kept.get() : "system");
