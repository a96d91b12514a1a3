// The worker of the reports: runs commands of the program over files and returns what they print.
let core;
const reader = new FileReaderSync(), loaded = new Set();

self.onmessage = ({data}) => {
  const {number, module, words, files} = data;
  try {
    core = core || new Core(module, {copy() {}, written() {}, progress() {}, read: (blob, from, to) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(from, to)))});
    for (const {name, blob} of files) if (!loaded.has(name)) {
      core.load(name, blob);
      loaded.add(name);
    }
    self.postMessage({number, ...core.run(words)});
  } catch (error) {
    self.postMessage({number, status: 1, out: new Uint8Array(), errors: 'the report stopped: ' + (error.message || error)});
  }
};
