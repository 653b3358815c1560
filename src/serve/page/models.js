// The model of all roles, where the server has several.

import { by, make, show } from "/page/dom.js";

// "small (agent), large (others)"
const roles = (models) => models.map(({ name, roles }) => `${name} (${roles.join(", ")})`).join(", ");

export function offer(models) {
  const names = [...new Set(models.map(({ name }) => name))];
  show(by("model-field"), names.length > 1);
  by("model").replaceChildren(make("option", { value: "" }, `by role: ${roles(models)}`),
    ...names.map((name) => make("option", { value: name }, name)));
}

// The field of a request; none for the roles as the server was started.
export const given = () => (by("model").value ? { model: by("model").value } : {});
