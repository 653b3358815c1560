// The documents of a question: files, and texts that are written here.

import { by, make } from "/page/dom.js";

// Files of these kinds are read here, so that their text is seen; the server reads all others.
const PLAIN = /\.(txt|md|text)$/i;
// What is kept for a reload; more does not fit into the browser's storage.
const KEPT = 2_000_000;
const STORE = "moot-documents";

let documents = [];

function keep() {
  const text = JSON.stringify(documents);
  if (text.length <= KEPT) sessionStorage.setItem(STORE, text);
  else sessionStorage.removeItem(STORE);
}

function draw() {
  by("documents").replaceChildren(...documents.map(entry));
  keep();
}

function field(document, name, label) {
  return make("input", {
    "aria-label": label, placeholder: label, value: document[name] ?? "",
    oninput: (event) => { document[name] = event.target.value; keep(); },
  });
}

function entry(document, index) {
  const remove = () => { documents.splice(index, 1); draw(); };
  const text = document.base64 !== undefined
    ? make("p", { class: "faint" }, "a file that the server reads")
    : make("textarea", {
        rows: 3, "aria-label": `Text of ${document.name}`,
        oninput: (event) => { document.text = event.target.value; keep(); },
      }, document.text);
  return make("li", {},
    field(document, "name", "Name"),
    make("div", { class: "fields" }, field(document, "source", "Source"), field(document, "date", "Date")),
    text,
    make("button", { type: "button", onclick: remove, "aria-label": `Remove ${document.name}` }, "Remove"));
}

async function add(files) {
  for (const file of files) {
    if (PLAIN.test(file.name)) documents.push({ name: file.name, text: await file.text() });
    else documents.push({ name: file.name, base64: await base64(file) });
  }
  draw();
}

const base64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => failed(reader.error);
  reader.readAsDataURL(file);
});

// The documents as the server takes them.
export function given() {
  const filled = (document) => Object.fromEntries(Object.entries(document).filter(([, value]) => value !== ""));
  return documents.map(filled);
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
  drop.addEventListener("drop", (event) => { event.preventDefault(); over(false); add(event.dataTransfer.files); });
  by("add-files").addEventListener("click", () => by("files").click());
  by("files").addEventListener("change", async (event) => { await add(event.target.files); event.target.value = ""; });
  by("add-text").addEventListener("click", () => {
    documents.push({ name: `document ${documents.length + 1}`, text: "" });
    draw();
    by("documents").lastChild.querySelector("textarea").focus();
  });
}
