// Reports of memviz.wasm, in Node, equal the program's, byte for byte: text and --json, on every
// given snapshot, and for damaged files the same message and status.
//
//     reports.cjs MEMVIZ.WASM MEMVIZ FILE...
'use strict';
const fs = require('fs'), os = require('os'), path = require('path'), {spawnSync} = require('child_process');
const [wasm, memviz, ...files] = process.argv.slice(2).map(name => path.resolve(name));
const {Core, host, compile, load} = require('./page.cjs');
const compiled = compile(wasm);
const ONE = [['leaks'], ['leaks', '--json'], ['peak'], ['peak', '--json'], ['fragmentation'], ['fragmentation', '--json'], ['oom'], ['oom', '--json'],
             ['lines'], ['info'], ['info', '--json'], ['stats'], ['ledger'], ['whatif'], ['trace', '--limit', '50'], 
             ['leaks', '--csv'], ['peak', '--at', 'nowhere']];
const TWO = [['diff'], ['diff', '--json'], ['ranks'], ['ranks', '--json']];
let compared = 0, faults = 0;

function check(core, words, named, folder) {
  const names = named.map(file => path.basename(file));
  const got = core.run([...words, ...names]);
  const want = spawnSync(memviz, [...words, ...names], {cwd: folder, maxBuffer: 1 << 30});
  compared++;
  if (Buffer.compare(Buffer.from(got.out), want.stdout) === 0 && got.status === want.status && got.errors === want.stderr.toString()) return;
  faults++;
  console.error(words.join(' ') + ' ' + names.join(' ') + ': status ' + got.status + ' and ' + want.status + '; ' + got.out.length + ' and ' +
                want.stdout.length + ' bytes; ' + got.errors + want.stderr);
}

const put = (core, file) => load(core, path.basename(file), fs.readFileSync(file));
const newCore = () => new Core(compiled, host);
for (const file of files) {
  const core = newCore();
  put(core, file);
  // A damaged file fails while it is read, for any report.
  const asked = path.basename(path.dirname(file)) === 'bad' ? [['info']] : ONE;
  for (const words of asked) check(core, words, [file], path.dirname(file));
}
for (let i = 0; i + 1 < files.length && i < 4; i++) {
  const core = newCore(), folder = path.dirname(files[i]);
  if (path.dirname(files[i + 1]) !== folder) continue;
  put(core, files[i]);
  put(core, files[i + 1]);
  for (const words of TWO) check(core, words, [files[i], files[i + 1]], folder);
}
// As many files as a large job has ranks.
if (files.length) {
  const core = newCore(), folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ranks')), many = [];
  const least = files.filter(file => path.basename(path.dirname(file)) !== 'bad').sort((a, b) => fs.statSync(a).size - fs.statSync(b).size)[0];
  for (let i = 0; i < 200; i++) {
    many.push(path.join(folder, 'the_snapshot_of_rank_' + i + path.extname(least)));
    fs.copyFileSync(least, many[i]);
    put(core, many[i]);
  }
  check(core, ['ranks', '--json'], many, folder);
  fs.rmSync(folder, {recursive: true});
}
console.log(compared + ' reports of ' + files.length + ' files compared, ' + faults + ' differ');
process.exit(faults || !compared ? 1 : 0);
