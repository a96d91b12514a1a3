// The pictures of memviz.wasm, in Node: the same pixels as the program's for the same
// session, at the same size and scale.
//
//     picture.cjs MEMVIZ.WASM MEMVIZ FOLDER FILE...
'use strict';
const fs = require('fs'), path = require('path'), assert = require('assert');
const {spawnSync} = require('child_process');
const {compile, open, add, settle, readPng} = require('./page.cjs');
const [wasm, memviz, folder, ...files] = process.argv.slice(2);
const compiled = compile(wasm);
fs.mkdirSync(folder, {recursive: true});
const LOOKS = [
  {size: [1280, 720], scale: 1, is_dark: 'yes', lines: ['tab reports']},
  {size: [1280, 720], scale: 1, is_dark: 'yes', lines: ['tab tables', 'colour stack']},
  {size: [2560, 1440], scale: 2, is_dark: 'no', lines: ['main segments', 'tab flame']},
  {size: [1200, 800], scale: 1.25, is_dark: 'no', lines: ['main state', 'tab details']},
];

// The window's picture.
function drawn(session, look) {
  const shot = path.join(folder, 'window.png');
  const {status, stderr} = spawnSync(memviz, ['view', '--headless', '-q', '--size', look.size.join('x'), '--shot', shot, session]);
  assert.strictEqual(status, 0, String(stderr));
  return readPng(fs.readFileSync(shot));
}

// The page replays other settings for up to 20,000 events (view/panes/pane_reports.c), the window for any number.
function events(file) {
  const {stdout} = spawnSync(memviz, ['info', '--json', file]);
  return Math.max(...JSON.parse(stdout).devices.map(device => device.events));
}

let compared = 0;
for (const file of files)
  for (const look of LOOKS.filter(look => look.lines[0] !== 'tab reports' || events(file) <= 20000)) {
    const session = path.join(folder, 'look.session'), text = ['memviz session 1', 'path ' + file, 'is_dark ' + look.is_dark, 'scale ' + look.scale, ...look.lines, 'end', ''].join('\n');
    fs.writeFileSync(session, text);
    const {width, height, pixels} = drawn(session, look);
    const core = open(compiled);
    add(core, path.basename(file), fs.readFileSync(file));
    add(core, 'look.session', Buffer.from(text));
    settle(core, width, height);
    const mine = core.pixels(width, height);
    let other = 0, first = -1;
    for (let i = 0; i < pixels.length; i += 4)
      if (mine[i] !== pixels[i] || mine[i + 1] !== pixels[i + 1] || mine[i + 2] !== pixels[i + 2]) {
        if (first < 0) first = i / 4;
        other++;
      }
    const what = path.basename(file) + ' ' + JSON.stringify(look);
    if (process.env.MV_KEEP) fs.writeFileSync(path.join(folder, 'page.rgba'), mine);
    assert.strictEqual(other, 0, what + ': ' + other + ' pixels differ, the first at ' + first % width + ', ' + Math.floor(first / width));
    compared++;
  }
console.log(compared + ' pictures are the same');
