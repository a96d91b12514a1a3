// The program in WebAssembly, and what it asks of JavaScript. `host` has copy(text) and written(name).
class Core {
  constructor(module, host) {
    const text = (at, length) => new TextDecoder().decode(new Uint8Array(this.memory.buffer, at >>> 0, length));
    this.instance = new WebAssembly.Instance(module, {
      page: {
        now: () => performance.now(),
        stop: status => { throw new Error('memviz ended with status ' + status); },
        copy: (at, length) => host.copy(text(at, length)),
        written: (at, length) => host.written(text(at, length)),
      },
    });
    this.exports = this.instance.exports;
    this.memory = this.exports.memory;
    this.exports._initialize();
    this.texts = this.exports.mv_web_texts() >>> 0;
  }

  // Puts texts into the buffer, each ended by a NUL.
  put(...texts) {
    const bytes = new TextEncoder().encode(texts.join('\0') + '\0\0');
    if (bytes.length > 65536) throw new Error('the text is too long');
    new Uint8Array(this.memory.buffer, this.texts, bytes.length).set(bytes);
  }

  text() {
    const bytes = new Uint8Array(this.memory.buffer, this.texts, 65536);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  // The bytes of a file in memory, as a copy; null: there is none.
  bytes(name) {
    this.put(name);
    const length = this.exports.mv_web_length(), at = this.exports.mv_web_bytes() >>> 0;
    return at ? new Uint8Array(this.memory.buffer, at, length).slice() : null;
  }

  forget(name) {
    this.put(name);
    this.exports.mv_web_forget();
  }

  // Copies a Blob into memory, some MiB at a time, so that what comes meanwhile is not kept waiting.
  async load(name, blob) {
    this.put(name);
    const at = this.exports.mv_web_file(blob.size) >>> 0;
    if (!at) throw new Error(name + ': memory is out');
    for (let from = 0; from < blob.size; from += 8 << 20) {
      const part = new Uint8Array(await blob.slice(from, from + (8 << 20)).arrayBuffer());
      new Uint8Array(this.memory.buffer, at + from, part.length).set(part);
    }
  }

  // Draws a frame. What differs from the one before: [x, y, width, height, ...].
  frame(width, height, ms) {
    const count = this.exports.mv_web_frame(width, height, ms);
    if (count < 0) throw new Error('memory is out');
    return new Int32Array(this.memory.buffer, this.exports.mv_web_drawn() >>> 0, 4 * count);
  }

  // The pixels of the last frame, where they are.
  pixels(width, height) {
    return new Uint8ClampedArray(this.memory.buffer, this.exports.mv_web_image() >>> 0, width * height * 4);
  }

  // A command of the program: {status, out, errors}.
  run(words) {
    this.put(...words);
    const status = this.exports.mv_web_run(words.length);
    return {status, out: this.bytes('-out') || new Uint8Array(), errors: new TextDecoder().decode(this.bytes('-errors') || new Uint8Array())};
  }
}
