// The claims of a text, each with the documents that support and that contradict it.

import { by, make } from "/page/dom.js";
import { listed, notes, status, texts, voices } from "/page/output.js";

export function assessed(value) {
  listed(value.documents);
  const conflicts = value.claims.filter((claim) => claim.conflict).length;
  status(`${value.claims.length} claims, ${conflicts} of them supported and contradicted`);
  by("answer").replaceChildren(make("h2", {}, "Claims"), ...value.claims.map(card));
  notes(value.read);
  texts();
}

function card(claim) {
  const evidence = (name, all, kind) => all.length
    ? [make("dt", {}, name), make("dd", {}, voices(all.map(said), kind))] : [];
  const silent = !claim.supporters.length && !claim.contradictors.length;
  return make("article", { class: "card" },
    make("span", { class: "value" }, claim.text),
    make("dl", {},
      evidence("supported by", claim.supporters, "for"),
      evidence("contradicted by", claim.contradictors, "against"),
      newest(claim.newest),
      silent ? [make("dt", {}, "no document"), make("dd", {}, "")] : []));
}

// Newest dates for and against a claim; absent where neither is later.
const newest = (dates) => !dates ? [] : dates.contradicted
  ? [make("dt", {}, "newer against"), make("dd", {}, `${dates.against}, for it ${dates.for}`)]
  : [make("dt", {}, "newer for"), make("dd", {}, `${dates.for}, against it ${dates.against}`)];

const said = ({ document, quote, reason }) =>
  ({ document, quote: quote?.text, more: reason ? ` ${reason}` : quote ? null : " without a quote of the document" });
