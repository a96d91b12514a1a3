// The report worker: runs the program's commands on files and returns their output.
let core;
const reader = new FileReaderSync(), loaded = new Map(); // file numbers, by name

self.onmessage = ({data}) => {
  const {number, module, words, files} = data;
  try {
    core = core || new Core(module, {copy() {}, written() {}, progress() {}, read: (blob, from, to) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(from, to)))});
    for (const {number: file, name, blob} of files) if (loaded.get(name) !== file) {
      if (loaded.has(name)) core.forget(name); // the previous file may have been cancelled or unreadable
      core.load(name, blob);
      loaded.set(name, file);
    }
    self.postMessage({number, ...core.run(words)});
  } catch (error) {
    self.postMessage({number, status: 1, out: new Uint8Array(), errors: 'the report stopped: ' + (error.message || error)});
  }
};
