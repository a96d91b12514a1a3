// The worker of the reports: runs commands of the program over files and returns what they print.
let core;
const loaded = new Set();

self.onmessage = async ({data}) => {
  const {number, module, words, files} = data;
  try {
    core = core || new Core(module, {copy() {}, picture() {}, written() {}});
    for (const {name, blob} of files) if (!loaded.has(name)) {
      await core.load(name, blob);
      loaded.add(name);
    }
    self.postMessage({number, ...core.run(words)});
  } catch (error) {
    self.postMessage({number, status: 1, out: new Uint8Array(), errors: 'the report stopped: ' + (error.message || error)});
  }
};
