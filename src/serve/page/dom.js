// Elements without markup: every text of a document or a model is set as text.

export const by = (id) => document.getElementById(id);

// An element with attributes, listeners (`onclick`) and children; texts become text nodes.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export const show = (element, shown = true) => { element.hidden = !shown; };

// `text` with each of `quotes` marked as its kind and with its label; white space may differ. Where two overlap, the first
// one keeps its part.
export function marked(text, quotes) {
  const spans = quotes.map(({ quote, ...as }) => ({ ...found(text, quote), ...as })).filter(({ at }) => at >= 0);
  spans.sort((a, b) => a.at - b.at);
  const parts = [];
  let end = 0;
  for (const { at, until, kind, label } of spans) {
    if (until <= end) continue;
    const from = Math.max(at, end);
    const mark = make("mark", { class: kind, "data-label": label ?? kind }, text.slice(from, until));
    parts.push(text.slice(end, from), mark);
    end = until;
  }
  parts.push(text.slice(end));
  return parts;
}

function found(text, quote) {
  const words = quote.trim().split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const match = new RegExp(words.join("\\s+"), "u").exec(text);
  return match ? { at: match.index, until: match.index + match[0].length } : { at: -1 };
}

// A download of `blob` as `name`.
export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
