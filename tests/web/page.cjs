// memviz.wasm in Node, as in the page's worker: the common part of its tests.
'use strict';
const fs = require('fs'), path = require('path'), assert = require('assert'), zlib = require('zlib');
const Core = new Function(fs.readFileSync(path.join(__dirname, '../../web/core.js'), 'utf8') + 'return Core;')();

function compile(wasm) {
  if (fs.existsSync(wasm)) return new WebAssembly.Module(fs.readFileSync(wasm));
  console.error('web_' + path.basename(process.argv[1], '.cjs') + ': skipped: ' + wasm + ' is not built: scripts/web');
  process.exit(77);
}

// Files are buffers.
const host = {copy() {}, written() {}, progress() {}, read: (bytes, from, to) => bytes.subarray(from, to)};
const load = (core, name, bytes) => core.load(name, Object.assign(bytes, {size: bytes.length}));

function open(compiled, isDark = true, scale = 1) {
  const core = new Core(compiled, host);
  core.ms = 0;
  assert(core.exports.mv_web_open(isDark ? 1 : 0, scale));
  return core;
}

// Shows a file.
function add(core, name, bytes) {
  load(core, name, bytes);
  core.put(name);
  core.exports.mv_web_add();
}

// Draws until nothing remains to be done.
function settle(core, width = 1280, height = 720) {
  for (let turns = 0; turns < 20000; turns++) {
    const hasPicture = core.exports.mv_web_state() & 64, begin = performance.now(), more = core.exports.mv_web_turn();
    if (hasPicture) core.longest = Math.max(core.longest || 0, performance.now() - begin);
    core.frame(width, height, core.ms += 16);
    if (!more && core.exports.mv_web_state() & 16) return;
  }
  throw new Error('not idle after 20000 turns');
}

// {width, height, pixels} of a PNG file in memviz's form: RGB or RGBA, no filter.
function readPng(bytes) {
  let parts = [], width, height, channels;
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const data = bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)), type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'IHDR') [width, height, channels] = [data.readUInt32BE(0), data.readUInt32BE(4), data[9] === 6 ? 4 : 3];
    if (type === 'IDAT') parts.push(data);
  }
  const raw = zlib.inflateSync(Buffer.concat(parts)), pixels = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let y = 0; y < height; y++) {
    const row = y * (width * channels + 1);
    assert.strictEqual(raw[row], 0, 'no filter');
    for (let x = 0; x < width; x++)
      for (let part = 0; part < channels; part++) pixels[(y * width + x) * 4 + part] = raw[row + 1 + x * channels + part];
  }
  return {width, height, pixels};
}

module.exports = {Core, host, compile, load, open, add, settle, readPng};
