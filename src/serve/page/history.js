// What was asked, checked and compared: a list of the records, and their downloads.

import { by, make, save } from "/page/dom.js";
import { blob, get } from "/page/server.js";

const counted = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

// One line of the list, by the kind of the record.
const LINES = {
  question: ({ question, answers, method }) => `${question} — ${answers.join("; ") || "unknown"} (${method})`,
  run: ({ questions, method }) => `Run of ${counted(questions, "question")} (${method}): report`,
  check: ({ text }) => `Check of a text: ${text}`,
  contradictions: ({ documents, contradictions }) =>
    `Contradictions of ${counted(documents, "document")}: ${contradictions || "none"} found`,
};

// Downloads a record, or with `form` "report" its report.
export async function download({ id, kind }, form) {
  const ending = form === "report" ? "html" : kind === "contradictions" ? "json" : "jsonl";
  const path = `/moot/v1/records/${encodeURIComponent(id)}`;
  save(await blob(form === "report" ? `${path}/report` : path), `moot-${id}.${ending}`);
}

// Draws the list. `open(id)` shows a record; of a run there is the report alone.
export async function list(open) {
  const failed = (error) => by("records").prepend(make("li", { role: "alert" }, error.message));
  const act = (record) => (record.kind === "run" ? download(record, "report") : open(record.id)).catch(failed);
  const entry = (record) => make("li", {},
    make("button", { type: "button", onclick: () => act(record) }, LINES[record.kind](record)));
  try {
    const records = await get("/moot/v1/records");
    by("records").replaceChildren(...(records.length ? records.map(entry) : [make("li", {}, "none yet")]));
  } catch (error) {
    by("records").replaceChildren(make("li", {}, error.message));
  }
}
