// The viewer of memviz.wasm, in Node: it opens every given file, becomes idle after a bounded
// number of frames, and then draws nothing; a damaged file is refused in the program's words, and another file still opens.
//
//     viewer.cjs MEMVIZ.WASM FILE...
'use strict';
const fs = require('fs'), path = require('path'), assert = require('assert');
const {compile, load, open, add, settle} = require('./page.cjs');
const [wasm, ...files] = process.argv.slice(2);
const compiled = compile(wasm);
let longest = 0;
const frame = core => core.frame(1280, 720, core.ms += 16);

for (const file of files) {
  const core = open(compiled), bytes = fs.readFileSync(file), name = path.basename(file);
  try {
    add(core, name, bytes);
    assert.strictEqual(core.exports.mv_web_stage(0), 0);
    frame(core);
    settle(core);
    assert.strictEqual(core.exports.mv_web_stage(0), 2, core.text());
    core.forget(name);
    assert.strictEqual(core.bytes(name), null);
    assert.match(core.textAt(core.exports.mv_web_spoken()), /^tab\t1\t\d+\t\d+\t\w+\n/m);
    for (const key of ['2', '3', '1', '4', '5', '6', '7', 'w', 'w', '0', 'l', 'l', 'g', 'l']) {
      core.put(key);
      assert(core.exports.mv_web_key(0, 1));
      settle(core);
    }
    core.exports.mv_web_wheel(0, 500, 300, 0, 1);
    settle(core);
    longest = Math.max(longest, core.longest);
    assert.strictEqual(core.exports.mv_web_turn(), 0, 'nothing is left to be done');
    assert.strictEqual(frame(core).length, 0, 'nothing is left to be drawn');
  } catch (error) {
    throw new Error(file + ': ' + error.message, {cause: error});
  }
}

const core = open(compiled), good = fs.readFileSync(files[0]);
add(core, 'cut.pickle', good.subarray(0, good.length / 2));
settle(core);
assert.strictEqual(core.exports.mv_web_stage(0), 3);
assert.match(core.text(), /^cut\.pickle: byte \d+: input ends/);
add(core, path.basename(files[0]), good);
settle(core);
assert.strictEqual(core.exports.mv_web_stage(1), 2);

// Bytes of a file are read in parts of 4 MiB; a request may begin in one and end in another, or beyond the end.
const long = Buffer.alloc((9 << 20) + 123);
for (let i = 0; i < long.length; i += 4) long.writeUInt32LE(i, Math.min(i, long.length - 4));
load(core, 'long', long);
const number = core.blobs.length - 1, room = 200 << 10;
for (const [from, count] of [[0, room], [(4 << 20) - 3, 10], [(8 << 20) - 100, room], [5, 7], [long.length - 9, 9]]) {
  assert.strictEqual(core.read(number, from, core.texts, count), 1);
  assert(Buffer.from(core.memory.buffer, core.texts, count).equals(long.subarray(from, from + count)), 'from ' + from);
}
assert.strictEqual(core.read(number, long.length - 9, core.texts, 10), 0);
core.forget('long');

// Newer bytes of an open file: the view stays usable, then shows them.
const grown = fs.readFileSync(files[files.length - 1]);
load(core, path.basename(files[0]), grown);
core.exports.mv_web_renew();
assert(core.exports.mv_web_state() & 256);
for (let turns = 0; core.exports.mv_web_state() & 256; turns++) {
  assert(turns < 20000, 'the newer bytes are shown at last');
  core.exports.mv_web_turn();
  frame(core);
  assert(core.exports.mv_web_state() & 64, 'there is a picture all the time');
}
settle(core);
assert.strictEqual(core.exports.mv_web_stage(1), 2);
core.exports.mv_web_live(1, core.ms);
frame(core);
console.log(files.length + ' files opened; the longest turn beside a picture: ' + longest.toFixed(0) + ' ms');
