// Files that are dropped or picked, each with its path in the folder it came with.

const hidden = (path) => path.split("/").some((part) => part.startsWith("."));

// Of a list of the browser. Hidden files of a folder are left out.
export const listed = (files) => [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name }))
  .filter(({ file, path }) => path === file.name || !hidden(path));

// Of what is dropped, those within folders too.
export async function dropped(transfer) {
  // The list of entries is empty once the event is over.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const found = [];
  for (const entry of entries) found.push(...await within(entry));
  return found;
}

async function within(entry) {
  const path = entry.fullPath.slice(1);
  if (entry.isFile) return [{ file: await new Promise((done, failed) => entry.file(done, failed)), path }];
  const reader = entry.createReader(), found = [];
  // A folder is told in parts; an empty one is the last.
  for (let part; (part = await new Promise((done, failed) => reader.readEntries(done, failed))).length;) {
    for (const inner of part) if (!hidden(inner.name)) found.push(...await within(inner));
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export const base64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => failed(reader.error);
  reader.readAsDataURL(file);
});
