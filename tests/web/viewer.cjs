// The viewer of memviz.wasm, in Node: it opens every file that is named, becomes idle after a bounded
// number of turns, and then does nothing; a list of a frame has only operations that the painter
// knows; a damaged file is refused with the words of the program, and another one still opens.
//
//     viewer.cjs MEMVIZ.WASM FILE...
'use strict';
const fs = require('fs'), path = require('path'), assert = require('assert');
const [wasm, ...files] = process.argv.slice(2);
if (!fs.existsSync(wasm)) {
  console.error('skipped: ' + wasm + ' is not built: scripts/web');
  process.exit(77);
}
const compiled = new WebAssembly.Module(fs.readFileSync(wasm));
const Core = new Function(fs.readFileSync(path.join(__dirname, '../../web/core.js'), 'utf8') + 'return Core;')();
const WORDS = [0, 4, 2, 5, 8, 13, 4, 0, 2]; // of each operation, without its points
let ms = 0;

function add(core, name, bytes) {
  core.put(name);
  const at = core.exports.mv_web_file(bytes.length) >>> 0;
  assert(at, 'memory');
  new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
  core.put(name);
  core.exports.mv_web_add();
}

// The texts of a frame; every operation is one of web/draw_list.h.
function frame(core) {
  const list = core.exports.mv_web_frame(1280, 720, ms += 16) >>> 2;
  assert(list, 'memory');
  const u = new Uint32Array(core.memory.buffer), texts = [];
  for (let at = list;;) {
    const op = u[at++];
    assert(op <= 8, 'operation ' + op);
    if (op === 0) return texts;
    if (op === 1) at += 2 + 4 * u[at + 1];
    else if (op === 2 || op === 8) at += 2 + 2 * u[at + 1];
    else if (op === 3) at += 5 + 2 * u[at + 4];
    else {
      if (op === 4) texts.push(new TextDecoder().decode(new Uint8Array(core.memory.buffer, u[at + 6], u[at + 7])));
      at += WORDS[op];
    }
  }
}

function settle(core) {
  for (let turns = 0; turns < 2000; turns++) {
    const more = core.exports.mv_web_turn(), texts = frame(core);
    if (!more && core.exports.mv_web_state() & 16) return texts;
  }
  throw new Error('not idle after 2000 turns');
}

const open = () => {
  const core = new Core(compiled, {copy() {}, picture() {}, written() {}});
  assert(core.exports.mv_web_open(1, 1));
  return core;
};

for (const file of files) {
  const core = open(), bytes = fs.readFileSync(file), name = path.basename(file);
  try {
    add(core, name, bytes);
    assert.strictEqual(core.exports.mv_web_stage(0), 0);
    frame(core);
    const texts = settle(core);
    assert.strictEqual(core.exports.mv_web_stage(0), 2, core.text());
    assert(texts.some(text => text.includes(name.slice(0, 8))), 'the name is shown');
    core.forget(name);
    assert.strictEqual(core.bytes(name), null);
    for (const key of ['2', '3', '1', '4', '5', '6', '7', 'w', 'w', '0']) {
      core.put(key);
      assert(core.exports.mv_web_key(0, 1));
      settle(core);
    }
    core.exports.mv_web_wheel(0, 500, 300, 0, 1);
    settle(core);
    assert.strictEqual(core.exports.mv_web_turn(), 0, 'nothing is left to be done');
    assert.deepStrictEqual(frame(core), frame(core));
  } catch (error) {
    throw new Error(file + ': ' + error.message, {cause: error});
  }
}

const core = open(), good = fs.readFileSync(files[0]);
add(core, 'cut.pickle', good.subarray(0, good.length / 2));
settle(core);
assert.strictEqual(core.exports.mv_web_stage(0), 3);
assert.match(core.text(), /^cut\.pickle: byte \d+: input ends/);
add(core, path.basename(files[0]), good);
settle(core);
assert.strictEqual(core.exports.mv_web_stage(1), 2);
console.log(files.length + ' files opened');
