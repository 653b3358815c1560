// The method of a question, and its preset.

import { by, make } from "/page/dom.js";

let methods = [];
// The method of questions that name none.
let usual = "";

export function offer(all, name) {
  methods = all;
  usual = name;
  const option = (method) => make("option", { value: method.name, selected: method.name === usual }, method.name);
  by("method").replaceChildren(...methods.map(option));
  chosen();
}

export function chosen() {
  const method = methods.find((method) => method.name === by("method").value);
  by("about").textContent = method ? `${method.about} (${method.paper})` : "";
  const presets = method?.presets ?? [];
  by("preset").replaceChildren(make("option", { value: "" }, "as it comes"),
    ...presets.map((preset) => make("option", { value: preset.name }, `${preset.name}: ${preset.about}`)));
  by("preset").disabled = presets.length === 0;
}

// The field of a question; none for the server's own method, which has its own settings.
export function given() {
  const [name, preset] = [by("method").value, by("preset").value];
  return name === usual && !preset ? {} : { method: { name, ...(preset ? { preset } : {}) } };
}
