// Requests to this server.

const KEY = "moot-key";

// Called when the server wants a key, or another one.
export const listeners = { key: () => {} };

export function useKey(key) {
  sessionStorage.setItem(KEY, key);
}

// An error with the server's own line.
async function refused(response) {
  const body = await response.json().catch(() => null);
  if (response.status === 401) listeners.key();
  return new Error(body?.error?.message ?? `the server answered ${response.status}`);
}

async function request(path, options = {}) {
  const headers = { ...options.headers };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { ...options, headers });
  if (!response.ok) throw await refused(response);
  return response;
}

export const get = async (path) => (await request(path)).json();

export const blob = async (path) => (await request(path)).blob();

const posted = (body, signal) => ({
  method: "POST", body: JSON.stringify(body), signal, headers: { "Content-Type": "application/json" },
});

export const post = async (path, body, signal) => (await request(path, posted(body, signal))).json();

// Posts `body` and calls `on(name, value)` for each event of the answer.
export async function stream(path, body, signal, on) {
  const response = await request(path, posted({ ...body, stream: true }, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", answered = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done && !answered) throw new Error("the server ended the answer early");
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const line = (name) => event.split("\n").find((part) => part.startsWith(`${name}: `))?.slice(name.length + 2);
      const value = JSON.parse(line("data"));
      if (value.error && !line("event")) throw new Error(value.error.message);
      answered ||= line("event") === "answer";
      on(line("event"), value);
    }
  }
}
