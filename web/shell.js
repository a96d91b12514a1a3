'use strict';
// The page: it starts the workers, hands them files and events, and shows what is text.
const byId = id => document.getElementById(id);
const picture = byId('picture'), status = byId('status'), root = document.documentElement;
const REPORTS = [['leaks'], ['peak'], ['oom'], ['fragmentation'], ['whatif'], ['lines'], ['stats'], ['info'], ['ledger'],
                 ['diff', 2], ['ranks', 2]];
const files = []; // {name, blob}
let viewer, compiled, embedded = null, wantsText = false, isStopped = false;

function show(text) { status.textContent = text; }

// The bytes of view/page/letters.h.
function fromLetters(text) {
  const bytes = new Uint8Array(Math.floor(text.length * 13 / 16)), value = new Uint8Array(128);
  for (let code = 33, next = 0; code < 127; code++) if (!'&<\\'.includes(String.fromCharCode(code))) value[code] = next++;
  for (let i = 0, at = 0, bits = 0, have = 0; i < text.length; i += 2) {
    bits |= (value[text.charCodeAt(i)] + (i + 1 < text.length ? 91 * value[text.charCodeAt(i + 1)] : 0)) << have;
    for (have += i + 1 < text.length ? 13 : 6; have >= 8; have -= 8, bits >>= 8) bytes[at++] = bits;
  }
  return bytes;
}

const unpacked = bytes => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();

function startWorker(id) {
  const url = URL.createObjectURL(new Blob([byId(id).textContent], {type: 'text/javascript'}));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  return worker;
}

// ---- sizes and themes --------------------------------------------------------------------------

const scale = () => window.devicePixelRatio || 1;
const sizeNow = () => [Math.round(picture.clientWidth * scale()), Math.round(picture.clientHeight * scale())];

function setTheme(isDark) { root.dataset.theme = isDark ? 'dark' : 'light'; }

// ---- files ---------------------------------------------------------------------------------------

// A name that no other file has, without a folder.
function freeName(name) {
  let plain = name.replace(/[/\0]/g, '_').slice(0, 200) || 'snapshot', free = plain;
  for (let i = 2; files.some(file => file.name === free); i++) free = plain + ' (' + i + ')';
  return free.startsWith('-') ? '_' + free : free;
}

function open(list) {
  const added = [...list].map(blob => {
    const file = {name: freeName(blob.name || 'snapshot'), blob};
    files.push(file);
    return file;
  });
  if (added.length === 0 || isStopped) return;
  byId('welcome').hidden = true;
  show('Reading ' + added.map(file => file.name).join(', '));
  viewer.postMessage({open: added});
  document.title = files[0].name + (files.length > 1 ? ' and ' + (files.length - 1) + ' more' : '') + ' · memviz';
  listReports();
  picture.focus();
}

function download(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) { // not allowed, or an old browser
    const field = document.createElement('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    picture.focus();
  }
}

// ---- reports -------------------------------------------------------------------------------------

let reporter = null, asked = 0;
const waiting = new Map();

function run(words, named) {
  if (!reporter) {
    reporter = startWorker('reporter');
    reporter.onmessage = ({data}) => { waiting.get(data.number)(data); waiting.delete(data.number); };
  }
  return new Promise(done => {
    waiting.set(++asked, done);
    reporter.postMessage({number: asked, module: compiled, words, files: named});
  });
}

function listReports() {
  const report = byId('report'), file = byId('file'), chosen = report.value;
  report.replaceChildren(...REPORTS.filter(([, least]) => files.length >= (least || 1)).map(([name]) => new Option(name)));
  if (chosen) report.value = chosen;
  file.replaceChildren(...files.map(({name}) => new Option(name)));
  if (!byId('side').hidden) showReport();
}

// The files of the chosen report: all, the first two, or one.
function filesOf(name) {
  const chosen = files.filter(file => file.name === byId('file').value);
  return name === 'ranks' ? files : name === 'diff' ? files.slice(0, 2) : chosen;
}

function ask(...options) {
  const name = byId('report').value, named = filesOf(name);
  return run([name, ...options, ...named.map(file => file.name)], named);
}

async function showReport() {
  if (files.length === 0) return;
  const name = byId('report').value, text = byId('text'), mine = asked + 1;
  byId('of').hidden = name === 'diff' || name === 'ranks';
  text.textContent = name + ' …';
  const answer = await ask();
  if (mine !== asked) return; // another one was chosen meanwhile
  text.textContent = new TextDecoder().decode(answer.out) + answer.errors;
  text.scrollTop = 0;
}

async function saveJson() {
  if (files.length === 0) return;
  const name = byId('report').value, answer = await ask('--json');
  if (answer.out.length) download(filesOf(name).map(file => file.name).join('-') + '.' + name + '.json', new Blob([answer.out], {type: 'application/json'}));
  else show(answer.errors.trim());
}

function toggleReports(isOpen) {
  byId('side').hidden = !isOpen;
  byId('texts').setAttribute('aria-expanded', String(isOpen));
  if (isOpen) { showReport(); byId('report').focus(); } else picture.focus();
}

// ---- events --------------------------------------------------------------------------------------

const modsOf = event => (event.shiftKey ? 1 : 0) | (event.ctrlKey || event.metaKey ? 2 : 0) | (event.altKey ? 4 : 0);
// What stays the browser's: closing, reloading, its tools, and leaving the picture by the keyboard.
const BROWSERS = /^(Ctrl\+(T|W|N|R|L|V|\+Shift)|F5|F11|F12|Shift\+Tab)$/;

function keyName(event) {
  const mods = (event.ctrlKey || event.metaKey ? 'Ctrl+' : '') + (event.shiftKey ? 'Shift+' : '');
  return mods + (event.key.length === 1 ? event.key.toUpperCase() : event.key);
}

function onKey(event, isDown) {
  if (event.isComposing || BROWSERS.test(keyName(event))) return;
  if (keyName(event) === 'Ctrl+O') {
    event.preventDefault();
    if (isDown) byId('files').click();
    return;
  }
  const text = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey ? event.key : '';
  viewer.postMessage({key: {key: event.key, mods: event.getModifierState('AltGraph') ? 0 : modsOf(event), isDown, text}});
  event.preventDefault();
}

const place = event => ({x: event.offsetX * scale(), y: event.offsetY * scale(), mods: modsOf(event)});
const fingers = new Map();
let lastClick = {at: 0, x: 0, y: 0};

function onPointer(event, what) {
  const at = place(event);
  let clicks = 1;
  if (what === 1) {
    const isDouble = event.timeStamp - lastClick.at < 400 && Math.hypot(at.x - lastClick.x, at.y - lastClick.y) < 6 * scale();
    clicks = isDouble ? 2 : 1;
    lastClick = {at: isDouble ? 0 : event.timeStamp, x: at.x, y: at.y};
    picture.setPointerCapture(event.pointerId);
    picture.focus();
  }
  viewer.postMessage({pointer: {what, button: event.button < 0 ? 0 : event.button, clicks, ...at}});
}

// Two fingers zoom and pan; one is the pointer.
function onTouch(event, what) {
  const before = [...fingers.values()];
  if (what === 2) fingers.delete(event.pointerId); else if (what === 1 || fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
  const after = [...fingers.values()];
  if (before.length < 2 || after.length < 2) {
    if (what === 1 && after.length === 2) viewer.postMessage({pointer: {what: 3, button: 0, clicks: 1, x: 0, y: 0, mods: 0}});
    return after.length < 2 && before.length < 2;
  }
  const spread = pair => Math.hypot(pair[0].offsetX - pair[1].offsetX, pair[0].offsetY - pair[1].offsetY) || 1;
  const middle = pair => (pair[0].offsetX + pair[1].offsetX) / 2;
  viewer.postMessage({wheel: {mods: 0, x: middle(after) * scale(), y: after[0].offsetY * scale(),
                              dx: (middle(before) - middle(after)) / 40, dy: Math.log2(spread(after) / spread(before)) * 3}});
  return false;
}

function listen() {
  const pointer = (name, what) => picture.addEventListener(name, event => {
    if (event.pointerType !== 'touch' || onTouch(event, what)) onPointer(event, what);
    if (what === 1) event.preventDefault();
  });
  pointer('pointermove', 0);
  pointer('pointerdown', 1);
  pointer('pointerup', 2);
  picture.addEventListener('pointercancel', event => { fingers.delete(event.pointerId); onPointer(event, 3); });
  picture.addEventListener('pointerleave', event => { if (event.buttons === 0) onPointer(event, 3); });
  picture.addEventListener('contextmenu', event => event.preventDefault());
  picture.addEventListener('wheel', event => {
    const notch = event.deltaMode === 1 ? 3 : event.deltaMode === 2 ? 1 : 100;
    viewer.postMessage({wheel: {...place(event), dx: event.deltaX / notch, dy: -event.deltaY / notch}});
    event.preventDefault();
  }, {passive: false});
  picture.addEventListener('keydown', event => onKey(event, true));
  picture.addEventListener('keyup', event => onKey(event, false));
  document.addEventListener('paste', event => {
    if (document.activeElement !== picture) return;
    const {files: pasted} = event.clipboardData;
    if (pasted.length) open(pasted);
    else if (wantsText) viewer.postMessage({paste: event.clipboardData.getData('text/plain')});
  });
  addEventListener('blur', () => viewer.postMessage({pointer: {what: 3, button: 0, clicks: 1, x: 0, y: 0, mods: 0}}));
  addEventListener('dragover', event => { event.preventDefault(); document.body.classList.add('over'); });
  addEventListener('dragleave', event => { if (!event.relatedTarget) document.body.classList.remove('over'); });
  addEventListener('drop', event => {
    event.preventDefault();
    document.body.classList.remove('over');
    open(event.dataTransfer.files);
  });
  // In pixels of the screen where the browser tells them: then no pixel of the picture is stretched.
  const resized = new ResizeObserver(([entry]) => {
    const [box] = entry.devicePixelContentBoxSize || [];
    viewer.postMessage({resize: box ? [box.inlineSize, box.blockSize] : sizeNow()});
  });
  try { resized.observe(picture, {box: 'device-pixel-content-box'}); } catch (error) { resized.observe(picture); }
  for (const id of ['open', 'choose']) byId(id).onclick = () => byId('files').click();
  byId('files').onchange = event => { open(event.target.files); event.target.value = ''; };
  byId('texts').onclick = () => toggleReports(byId('side').hidden);
  byId('close').onclick = () => toggleReports(false);
  byId('report').onchange = byId('file').onchange = showReport;
  byId('asks').onsubmit = event => event.preventDefault();
  byId('copy').onclick = () => toClipboard(byId('text').textContent);
  byId('json').onclick = saveJson;
}

// ---- what the viewer tells -----------------------------------------------------------------------

const tells = {
  state(state) {
    wantsText = state.wantsText;
    setTheme(state.isDark);
    if (state.isClosing) show('This is a page: close its tab.');
  },
  stages(stages) {
    if (stages.length && stages.every(stage => stage === 2)) show(files.map(file => file.name).join(', '));
  },
  failed(list) { if (list.length) show(list.join(' · ')); },
  refused(name, data) { show(data.why); },
  copy(text) { toClipboard(text); },
  download(name, data) { download(name, data.blob || new Blob([data.bytes])); },
  stopped(why) { isStopped = true; show('The viewer has stopped: ' + why + ' Reload the page to start again.'); },
};

// ---- the beginning -------------------------------------------------------------------------------

// A snapshot that the program has put into the page, and what it opens on.
function openEmbedded() {
  const element = byId('snapshot');
  if (!element) return;
  const {name, state} = element.dataset, title = document.title;
  if (byId('verdict')) status.after(byId('verdict'));
  if (state) viewer.postMessage({start: state});
  open([new File([fromLetters(element.textContent)], name)]);
  document.title = title;
  element.remove();
}

async function begin() {
  const [, asked] = byId('snapshot') && /(?:^|;)is_dark (yes|no)/.exec(byId('snapshot').dataset.state) || [];
  const isDark = asked ? asked === 'yes' : matchMedia('(prefers-color-scheme: dark)').matches;
  setTheme(isDark);
  if (!picture.transferControlToOffscreen || !self.DecompressionStream || !self.WebAssembly)
    throw new Error('this browser is too old: memviz needs one of 2023 or later');
  compiled = await WebAssembly.compile(await unpacked(fromLetters(byId('core').textContent)));
  byId('core').remove();
  viewer = startWorker('viewer');
  viewer.onerror = event => tells.stopped(event.message || 'its worker cannot start.');
  viewer.onmessage = ({data}) => { for (const key of Object.keys(data)) if (tells[key]) tells[key](data[key], data); };
  const surface = picture.transferControlToOffscreen();
  viewer.postMessage({begin: {module: compiled, surface, isDark, scale: scale(), size: sizeNow()}}, [surface]);
  listen();
  openEmbedded();
  if (byId('served')) await beginServed();
}

begin().catch(error => show('memviz cannot start: ' + (error.message || error)));
