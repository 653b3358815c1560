// The documents of a question: files as the server reads them, and texts that are written here.

import { by, make, show } from "/page/dom.js";
import { base64, dropped, listed } from "/page/files.js";
import { post } from "/page/server.js";

// What is kept for a reload; more does not fit into the browser's storage.
const KEPT = 2_000_000;
const STORE = "moot-documents";

let documents = [];

function keep() {
  const text = JSON.stringify(documents);
  if (text.length <= KEPT) sessionStorage.setItem(STORE, text);
  else sessionStorage.removeItem(STORE);
}

// Draws the list; the document at `open` is open.
function draw(open = -1) {
  by("documents").replaceChildren(...documents.map((document, index) => entry(document, index, index === open)));
  keep();
}

const summary = ({ name, source, date }) => {
  const known = [source, date].filter(Boolean).join(", ");
  return known ? `${name} (${known})` : name;
};

function entry(document, index, open) {
  const title = make("summary", {}, summary(document));
  const change = (name) => (event) => {
    document[name] = event.target.value;
    title.textContent = summary(document);
    keep();
  };
  const field = (name, label) => make("input", {
    "aria-label": label, placeholder: label, value: document[name] ?? "", oninput: change(name),
  });
  const remove = () => { documents.splice(index, 1); draw(); };
  return make("li", {}, make("details", { open }, title,
    field("name", "Name"),
    make("div", { class: "fields" }, field("source", "Source"), field("date", "Date")),
    make("textarea", { rows: 6, "aria-label": `Text of ${document.name}`, oninput: change("text") }, document.text),
    (document.notes ?? []).map((line) => make("p", { class: "faint" }, line)),
    make("button", { type: "button", onclick: remove, "aria-label": `Remove ${document.name}` }, "Remove")));
}

// The files that are being read; more may be added meanwhile.
let queue = null;

export const reading = () => queue !== null;

async function add(files) {
  if (!files.length) return;
  if (queue) {
    queue.files.push(...files);
    return tell(queue);
  }
  queue = { files: [...files], at: 0, abort: new AbortController() };
  const wrong = by("unread");
  wrong.replaceChildren();
  show(by("reading"));
  for (; queue.at < queue.files.length && !queue.abort.signal.aborted; queue.at += 1) {
    tell(queue);
    const line = await read(queue.files[queue.at], queue.abort.signal);
    if (line) wrong.append(make("li", {}, line));
  }
  if (queue.abort.signal.aborted) {
    wrong.append(make("li", {}, `cancelled: ${queue.at - 1} of ${queue.files.length} files were read`));
  }
  queue = null;
  show(by("reading"), false);
  show(wrong, wrong.children.length > 0);
}

function tell({ files, at }) {
  by("reading-line").textContent = `reading file ${at + 1} of ${files.length}: ${files[at].path}`;
  by("reading-bar").max = files.length;
  by("reading-bar").value = at;
}

async function take(transfer) {
  try {
    await add(await dropped(transfer));
  } catch (error) {
    by("unread").replaceChildren(make("li", {}, error.message));
    show(by("unread"));
  }
}

// Has the server read a file. Returns why it was not read.
async function read({ file, path }, signal) {
  try {
    const given = [{ name: file.name, base64: await base64(file) }];
    const read = await post("/moot/v1/documents", { documents: given }, signal);
    const named = (name) => (name.startsWith(file.name) ? path + name.slice(file.name.length) : name);
    documents.push(...read.documents.map((document) => ({ ...document, name: named(document.name) })));
    draw();
  } catch (error) {
    if (!signal.aborted) return `${path}: ${error.message}`;
  }
}

// Offers the server's corpus beside the files; `corpus` names it where there is one. With documents of a reload, these are
// chosen.
export function offer(corpus) {
  const from = by("from");
  show(from, Boolean(corpus));
  from.querySelector("[value=corpus]").textContent = `the server's corpus: ${corpus}`;
  from.value = corpus && !documents.length ? "corpus" : "files";
  chosen();
}

// Whether the server's corpus is chosen.
const ofServer = () => by("from").value === "corpus";

const chosen = () => show(by("own"), !ofServer());

// The documents as the server takes them; none for its corpus.
export function given() {
  if (ofServer()) return [];
  // Without documents a server with a corpus searches it, which is not what was chosen.
  if (!documents.length && !by("from").hidden) throw new Error("no documents: add some, or choose the server's corpus");
  return documents.map(({ name, text, title, source, date, url }) =>
    Object.fromEntries(Object.entries({ name, text, title, source, date, url }).filter(([, value]) => value)));
}

export function start() {
  try {
    documents = JSON.parse(sessionStorage.getItem(STORE)) ?? [];
  } catch {
    documents = [];
  }
  draw();
  const drop = by("drop");
  const over = (is) => drop.classList.toggle("over", is);
  drop.addEventListener("dragover", (event) => { event.preventDefault(); over(true); });
  drop.addEventListener("dragleave", () => over(false));
  drop.addEventListener("drop", (event) => { event.preventDefault(); over(false); take(event.dataTransfer); });
  for (const name of ["files", "folder"]) {
    by(`add-${name}`).addEventListener("click", () => by(name).click());
    by(name).addEventListener("change", async ({ target }) => { await add(listed(target.files)); target.value = ""; });
  }
  by("from").addEventListener("change", chosen);
  by("stop-reading").addEventListener("click", () => queue?.abort.abort());
  by("add-text").addEventListener("click", () => {
    documents.push({ name: `document ${documents.length + 1}`, text: "" });
    draw(documents.length - 1);
    by("documents").lastChild.querySelector("textarea").focus();
  });
}
