const PART = 4 << 20; // a file is read in parts of this many bytes

// The program in WebAssembly, and its imports from JavaScript. `host` has the functions read(blob, from, to),
// which returns bytes synchronously, copy(text), written(name) and progress(file, share). If `host.pauses` is set,
// progress may return a promise, and the turn waits for it. In the meantime, all functions except turn may be called.
class Core {
  constructor(module, host) {
    const text = (at, length) => new TextDecoder().decode(new Uint8Array(this.memory.buffer, at >>> 0, length));
    this.host = host;
    const progress = (file, share) => host.progress(file, share);
    this.blobs = []; // by file number
    this.instance = new WebAssembly.Instance(module, {
      page: {
        now: () => performance.now(),
        stop: status => { throw new Error('memviz ended with status ' + status); },
        read: (number, from, to, count) => this.read(number, from, to >>> 0, count),
        progress: host.pauses ? new WebAssembly.Suspending(progress) : progress,
        copy: (at, length) => host.copy(text(at, length)),
        written: (at, length) => host.written(text(at, length)),
      },
    });
    this.exports = this.instance.exports;
    this.turn = host.pauses ? WebAssembly.promising(this.exports.mv_web_turn) : this.exports.mv_web_turn;
    this.memory = this.exports.memory;
    this.exports._initialize();
    this.texts = this.exports.mv_web_texts() >>> 0;
  }

  // Writes NUL-terminated strings into the buffer.
  put(...texts) {
    const bytes = new TextEncoder().encode(texts.join('\0') + '\0\0');
    if (bytes.length > 256 << 10) throw new Error('the text is too long');
    new Uint8Array(this.memory.buffer, this.texts, bytes.length).set(bytes);
  }

  text() {
    return this.textAt(this.texts);
  }

  // Returns a copy of a file's bytes; null if they are not in memory.
  bytes(name) {
    this.put(name);
    const length = this.exports.mv_web_length(), at = this.exports.mv_web_bytes() >>> 0;
    return at ? new Uint8Array(this.memory.buffer, at, length).slice() : null;
  }

  forget(name) {
    this.put(name);
    this.exports.mv_web_forget();
  }

  // Adds a file. Its bytes are requested in parts while it is read.
  load(name, blob) {
    this.put(name);
    const number = this.exports.mv_web_file(blob.size);
    if (!number) throw new Error(name + ': too many files');
    this.blobs[number] = blob;
    this.part = null; // it may belong to an earlier file with the same number
  }

  read(number, from, to, count) {
    try {
      for (let done = 0; done < count;) {
        const bytes = this.partAt(number, from + done).subarray(0, count - done);
        new Uint8Array(this.memory.buffer, to + done, bytes.length).set(bytes);
        done += bytes.length;
      }
      return 1;
    } catch (error) { // the file was removed or changed
      return 0;
    }
  }

  // Returns the bytes of a file from `at` to the end of the part that contains `at`.
  partAt(number, at) {
    const blob = this.blobs[number], from = at - at % PART;
    if (!this.part || this.part.number !== number || this.part.from !== from)
      this.part = {number, from, bytes: this.host.read(blob, from, Math.min(blob.size, from + PART))};
    if (at - from >= this.part.bytes.length) throw new Error('the file is shorter');
    return this.part.bytes.subarray(at - from);
  }

  // Returns the string at an address; null if the address is 0.
  textAt(at) {
    if (!at) return null;
    const bytes = new Uint8Array(this.memory.buffer, at >>> 0);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  // Draws a frame. Returns the changed rectangles: [x, y, width, height, ...].
  frame(width, height, ms) {
    const count = this.exports.mv_web_frame(width, height, ms);
    if (count < 0) throw new Error('out of memory');
    return new Int32Array(this.memory.buffer, this.exports.mv_web_drawn() >>> 0, 4 * count);
  }

  // Returns the pixels of the last frame, without copying them.
  pixels(width, height) {
    return new Uint8ClampedArray(this.memory.buffer, this.exports.mv_web_image() >>> 0, width * height * 4);
  }

  // Runs a command of the program. Returns {status, out, errors}.
  run(words) {
    this.put(...words);
    const status = this.exports.mv_web_run(words.length);
    return {status, out: this.bytes('-out') || new Uint8Array(), errors: new TextDecoder().decode(this.bytes('-errors') || new Uint8Array())};
  }
}
