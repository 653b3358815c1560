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

// `text` with each of `quotes` marked.
export function marked(text, quotes) {
  const spans = quotes.map((quote) => [text.indexOf(quote), quote.length]).filter(([at]) => at >= 0);
  spans.sort((a, b) => a[0] - b[0]);
  const parts = [];
  let end = 0;
  for (const [at, length] of spans) {
    if (at < end) continue;
    parts.push(text.slice(end, at), make("mark", {}, text.slice(at, at + length)));
    end = at + length;
  }
  parts.push(text.slice(end));
  return parts;
}

// A download of `blob` as `name`.
export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
