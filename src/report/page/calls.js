// Calls: prompt, raw reply and numbers, on demand.

const joined = (view, pieces) => pieces.map((piece) => view.texts[piece]).join("");

/** The speaker of a call: its document, or its role. */
function speaker(view, call) {
  const name = call.document === undefined ? call.role : documentLabel(call.document, (view.documents[call.document] || { name: "?" }).name);
  return call.sample ? `${name}, sample ${call.sample + 1}` : name;
}

/** Everything that was sent and what came back. */
function exchange(view, call) {
  const turn = ([role, pieces]) => [el("h5", {}, role), el("pre", { dir: "auto", tabindex: "0" }, joined(view, pieces))];
  const text = (title, number) => (number === undefined ? [] : [el("h5", {}, title), el("pre", { dir: "auto", tabindex: "0" }, view.texts[number])]);
  const [prompt, reused, generated] = call.usage;
  const sampling = typeof call.sampling === "string" ? call.sampling : call.sampling ? JSON.stringify(call.sampling) : "as the run";
  const facts = [
    ["Prompt file", call.prompt], ["Format", call.format], ["Grammar", call.grammar], ["Parsed as", call.kind],
    ["Tokens", `${prompt} in the prompt, ${reused} of them from the cache; ${generated} generated of at most ${call.limit}`],
    ["Ended by", call.finish], ["Sampling", sampling], ["Seed", call.seed], ["Seconds", call.seconds],
  ].filter(([, value]) => value !== undefined);
  return el("div", { class: "exchange" },
    el("section", { "aria-label": "Prompt" }, el("h4", {}, "Prompt as sent"), (call.sent || []).flatMap(turn)),
    el("section", { "aria-label": "Reply" }, el("h4", {}, "Reply"),
      text("thoughts", call.thoughts), text(call.raw === undefined ? "raw reply" : "reply as read", call.reply), text("raw reply", call.raw),
      call.reply === undefined && call.raw === undefined ? el("p", { class: "details" }, "The reply is empty.") : null,
      el("dl", { class: "settings" }, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]))));
}

/** One line of the list of calls. */
function callLine(view, call, number) {
  const said = call.said === undefined ? "" : view.texts[call.said];
  const head = [
    el("span", { class: "call-number" }, `${number + 1}`),
    el("span", { class: "call-who", dir: "auto" }, `${call.role}${call.document === undefined ? "" : `, ${speaker(view, call)}`}, round ${call.round}`),
    el("span", { class: `call-said k-${call.kind}`, dir: "auto" }, said.length > 90 ? `${said.slice(0, 90)}…` : said),
  ];
  return lazily({ class: "call" }, head, () => exchange(view, call));
}

const EVENTS = { search: "Search", entailment: "Entailment", embedding: "Embedding", failure: "Failed call", fallback: "Fallback", dropped: "Dropped answer" };

function eventLine(view, event) {
  const head = [el("span", { class: "call-number" }, "–"), el("span", { class: "call-who" }, EVENTS[event.kind] || event.kind), el("span", { class: "call-said", dir: "auto" }, event.text)];
  if (!event.more) return el("p", { class: "event" }, head);
  return lazily({ class: "call" }, head, () => el("div", { class: "exchange" }, event.more.map((number) => el("pre", { dir: "auto", tabindex: "0" }, view.texts[number]))));
}

/** All calls and events of a run in the order of their stages, folded up. */
function callList(view) {
  const { run } = view;
  const calls = (run.calls || []).map((call, number) => ({ stage: call.stage, node: () => callLine(view, call, number) }));
  const events = (run.events || []).map((event) => ({ stage: event.stage - 0.5, node: () => eventLine(view, event) }));
  const all = [...calls, ...events].sort((a, b) => a.stage - b.stage);
  if (!all.length) return null;
  const title = `All calls with prompts and raw replies (${plural(calls.length, "call")}${events.length ? `, ${plural(events.length, "other event")}` : ""})`;
  return lazily({ class: "more calls" }, title, () => all.map((entry) => entry.node()));
}
