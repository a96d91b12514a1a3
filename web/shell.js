'use strict';
// The page. It starts the workers, passes files and events to them, and shows everything that is text.
const byId = id => document.getElementById(id);
const picture = byId('picture'), typed = byId('typed'), status = byId('status'), root = document.documentElement;
const REPORTS = [['leaks'], ['peak'], ['oom'], ['fragmentation'], ['whatif'], ['lines'], ['stats'], ['info'], ['ledger'],
                 ['diff', 2], ['ranks', 2]];
const SESSION = 'memviz session '; // the first bytes of a session file
const files = []; // {number, name, blob}, including files being read; numbers are never reused
const source = ownSource();
let viewer, compiled, lastNumber = 0;

// Returns the source of this page without a snapshot, from which pages with another snapshot are made
// (view/page/viewer_page.c); null if the page comes from `memviz serve`, because it is useless elsewhere. Elements are
// removed from a copy of the tree and not from the text, where a snapshot's content may look like the end of an element.
function ownSource() {
  if (byId('served')) return null;
  const page = root.cloneNode(true), find = id => page.querySelector('#' + id);
  if (find('snapshot')) find('snapshot').replaceWith(document.createComment('snapshot')); // the placeholder that the program replaces
  for (const id of ['verdict', 'left_out']) if (find(id)) find(id).remove();
  page.querySelector('title').textContent = 'memviz';
  return new Blob(['<!DOCTYPE html>\n' + page.outerHTML + '\n']);
}

function show(text) {
  status.textContent = text;
  status.classList.remove('long');
}

// Shows an error. If it is cut, all of it is below the line until the next press or key.
function complain(text) {
  show(text);
  status.classList.toggle('long', status.scrollWidth > status.clientWidth);
}

for (const press of ['pointerdown', 'keydown']) document.addEventListener(press, () => status.classList.remove('long'), true);

// Decodes the letters of view/page/letters.h to bytes.
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

const isDark = () => root.dataset.theme === 'dark';
const calm = matchMedia('(prefers-reduced-motion: reduce)');
let shownScale = scale();

function setTheme(dark) { root.dataset.theme = dark ? 'dark' : 'light'; }

// ---- the tour ------------------------------------------------------------------------------------

const TOUR = 'memviz.tour'; // key in the browser's storage, set once the tour has ended

// Whether to offer the tour: only to a person who has not ended it, and only if the page can remember that.
function wantsTour() {
  if (navigator.webdriver || /Headless/.test(navigator.userAgent)) return false;
  try { return !localStorage.getItem(TOUR); } catch (error) { return false; }
}

function endTour() {
  try { localStorage.setItem(TOUR, 'ended'); } catch (error) { /* the tour begins again next time */ }
}

// ---- viewers -------------------------------------------------------------------------------------
// A viewer is a worker and its canvas. Files that are added later are read by a second viewer, together with
// the first viewer's files. The first viewer stays usable until the second one takes over. Therefore reading never
// blocks the user and can be cancelled, and if memory runs out, the open files stay open.

let next = null, session = null; // the second viewer; a session that is waiting for its files

function startViewer(isHidden) {
  const worker = startWorker('viewer'), canvas = document.createElement('canvas'), surface = canvas.transferControlToOffscreen();
  Object.assign(worker, {canvas, files: [], stages: [], failed: [], state: {}, spoken: ''});
  canvas.className = isHidden ? 'waits' : '';
  picture.prepend(canvas);
  worker.onerror = event => tells.stopped(event.message || 'its worker cannot start.', {}, worker);
  worker.onmessage = ({data}) => { for (const key of Object.keys(data)) if (tells[key]) tells[key](data[key], data, worker); };
  worker.postMessage({begin: {module: compiled, surface, isDark: isDark(), scale: scale(), size: sizeNow(), calm: calm.matches, page: source, tour: wantsTour()}}, [surface]);
  return worker;
}

// If reading can pause, the worker handles a message soon, and ends itself (`end` in viewer.js).
function endViewer(worker) {
  if (WebAssembly.Suspending) worker.postMessage({end: true});
  else worker.terminate();
  worker.onmessage = worker.onerror = null;
  worker.canvas.remove();
}

const both = message => { for (const worker of [viewer, next]) if (worker) worker.postMessage(message); };
const isOpen = worker => worker.stages.includes(2);
const isReading = () => !byId('cancel').hidden;

function showReading(share) {
  byId('cancel').hidden = byId('progress').hidden = share === null;
  if (share === undefined) byId('progress').removeAttribute('value');
  else if (share !== null) byId('progress').value = share;
}

function listFiles() {
  show(files.map(file => file.name).join(', '));
  document.title = !files.length ? 'memviz' : files[1] ? files[0].name + ' and ' + (files.length - 1) + ' more · memviz' : files[0].title || files[0].name + ' · memviz';
  byId('welcome').hidden = files.length > 0;
  listReports();
}

// Cancels the files that are not open yet.
function giveUp(why) {
  if (next) endViewer(next);
  else {
    endViewer(viewer);
    viewer = startViewer(false);
  }
  next = session = null;
  files.splice(0, files.length, ...viewer.files);
  showReading(null);
  listFiles();
  complain(why);
}

const showLacks = names => show('The session needs ' + names + ', too: drop or choose them here.');

// Replaces the first viewer with the next one, which shows the same view. A session with missing files keeps waiting.
function takeOver() {
  endViewer(viewer);
  viewer = next;
  next = null;
  viewer.canvas.className = '';
  showReading(null);
  listFiles();
  tells.state(viewer.state, {}, viewer);
  speak(viewer.spoken);
  if (session) showLacks(viewer.lacks);
}

// ---- files ---------------------------------------------------------------------------------------

// Returns a unique name, without a folder.
function freeName(name) {
  let plain = name.replace(/[/\0]/g, '_').slice(0, 200) || 'snapshot', free = plain;
  for (let i = 2; files.some(file => file.name === free); i++) free = plain + ' (' + i + ')';
  return free.startsWith('-') ? '_' + free : free;
}

// Forgets files that could not be read. Called when other files are opened.
function forgetFailed() {
  const failed = viewer.files.filter((file, i) => viewer.stages[i] > 2);
  if (isReading() || failed.length === 0) return;
  files.splice(0, files.length, ...files.filter(file => !failed.includes(file)));
  if (isOpen(viewer)) return; // the next viewer reads the other files
  endViewer(viewer);
  viewer = startViewer(false);
}

async function open(list) {
  const added = [];
  forgetFailed();
  for (const blob of [...list]) {
    const file = {number: ++lastNumber, name: freeName(blob.name || 'snapshot'), blob, title: blob.title};
    if (await blob.slice(0, SESSION.length).text().catch(() => '') === SESSION) session = file;
    else added.push(file), files.push(file);
  }
  if (added.length === 0 && !session) return;
  picture.focus();
  if (added.length === 0) { // the session may need only files that are open
    byId('welcome').hidden = true;
    (next || viewer).postMessage({open: {list: [], session}});
    return;
  }
  let reader = viewer, its = added;
  if (isOpen(viewer)) {
    if (next) endViewer(next);
    reader = next = startViewer(true);
    its = files;
  }
  reader.files.push(...its);
  reader.isAsked = false;
  reader.postMessage({open: {list: its, session}});
  listFiles();
  show('Reading ' + added.map(file => file.name).join(', '));
  showReading(undefined);
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
  } catch (error) { // this is not allowed, or the browser is too old
    const field = document.createElement('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    picture.focus();
  }
}

// ---- links ---------------------------------------------------------------------------------------

// The part of the address after '#' contains the members of a session (view/state/session.h) that differ from the
// initial view. The address shows this view again, for the file inside the page or the first one that is opened.
function copyLink(members) {
  location.hash = encodeURIComponent(members || '');
  toClipboard(location.href);
  show('The address of this view is copied.');
}

function linked() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch (error) { return ''; }
}

// ---- reports -------------------------------------------------------------------------------------

let reporter = null, asked = 0, askedTexts = 0; // number of requests so far, and how many of them were for the shown text
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

// Lists the reports and files, and keeps the selection. If the list has not changed, neither it nor the shown text is updated.
function listReports() {
  const report = byId('report'), file = byId('file'), chosen = [report.value, file.value], names = files.map(({name}) => name);
  if (names.join('\0') === [...file.options].map(option => option.value).join('\0')) return;
  report.replaceChildren(...REPORTS.filter(([, least]) => files.length >= (least || 1)).map(([name]) => new Option(name)));
  file.replaceChildren(...names.map(name => new Option(name)));
  [report, file].forEach((list, i) => { if ([...list.options].some(option => option.value === chosen[i])) list.value = chosen[i]; });
  if (!byId('side').hidden) showReport();
}

// Returns the files that the chosen report is made from: all of them, the first two, or one.
function filesOf(name) {
  const chosen = files.filter(file => file.name === byId('file').value);
  return name === 'ranks' ? files : name === 'diff' ? files.slice(0, 2) : chosen;
}

const ask = (name, named, ...options) => run([name, ...options, ...named.map(file => file.name)], named);

async function showReport() {
  if (files.length === 0) return;
  const name = byId('report').value, text = byId('text'), mine = ++askedTexts;
  byId('of').hidden = name === 'diff' || name === 'ranks';
  text.textContent = name + ' …';
  const answer = await ask(name, filesOf(name));
  if (mine !== askedTexts) return; // another report was chosen in the meantime
  text.textContent = new TextDecoder().decode(answer.out) + answer.errors;
  text.scrollTop = 0;
}

// Explains the text of a pasted error with `memviz oom`. The text becomes a file in the report worker only.
async function explainText(text) {
  const mine = ++askedTexts, name = 'pasted text';
  byId('side').hidden = false;
  byId('texts').setAttribute('aria-expanded', 'true');
  byId('text').textContent = 'oom …';
  const answer = await run(['oom', name], [{number: ++lastNumber, name, blob: new Blob([text])}]);
  if (mine !== askedTexts) return;
  byId('text').textContent = new TextDecoder().decode(answer.out) + answer.errors;
  byId('text').focus();
}

async function saveJson() {
  if (files.length === 0) return;
  const name = byId('report').value, named = filesOf(name), answer = await ask(name, named, '--json');
  if (answer.out.length) download(named.map(file => file.name).join('-') + '.' + name + '.json', new Blob([answer.out], {type: 'application/json'}));
  else complain(answer.errors.trim());
}

function toggleReports(isOpen) {
  byId('side').hidden = !isOpen;
  byId('texts').setAttribute('aria-expanded', String(isOpen));
  if (isOpen) { showReport(); byId('report').focus(); } else picture.focus();
}

// ---- events --------------------------------------------------------------------------------------

const modsOf = event => (event.shiftKey ? 1 : 0) | (event.ctrlKey || event.metaKey ? 2 : 0) | (event.altKey ? 4 : 0);
// Keys that are left to the browser, for closing, reloading, its tools, and leaving the picture by keyboard.
const BROWSERS = /^(Ctrl\+(T|W|N|R|L|P|V|\+Shift)|F5|F11|F12|Shift\+Tab)$/;

function keyName(event) {
  const mods = (event.ctrlKey || event.metaKey ? 'Ctrl+' : '') + (event.shiftKey ? 'Shift+' : '');
  return mods + (event.key.length === 1 ? event.key.toUpperCase() : event.key);
}

function onKey(event, isDown) {
  if (event.isComposing || event.keyCode === 229 || BROWSERS.test(keyName(event))) return;
  if (keyName(event) === 'Ctrl+O') {
    event.preventDefault();
    if (isDown) byId('files').click();
    return;
  }
  if (/^(Dead|Process|Compose|Unidentified)$/.test(event.key)) return; // the field receives these keys through `typed`
  const text = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey ? event.key : '';
  viewer.postMessage({key: {key: event.key, mods: event.getModifierState('AltGraph') ? 0 : modsOf(event), isDown, text}});
  event.preventDefault();
}

const place = event => ({x: event.offsetX * scale(), y: event.offsetY * scale(), mods: modsOf(event)});
const fingers = new Map();
let lastClick = {at: 0, x: 0, y: 0}, isPinch = false; // isPinch is set until the last finger is lifted, because a pinch is not a click

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
  viewer.postMessage({pointer: {what, button: event.button < 0 ? 0 : event.button, clicks, isTouch: event.pointerType === 'touch', ...at}});
}

// Two fingers zoom and pan; the viewer handles a single finger.
function onTouch(event, what) {
  const before = [...fingers.values()];
  if (what === 2) fingers.delete(event.pointerId); else if (what === 1 || fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
  const after = [...fingers.values()];
  if (before.length < 2 || after.length < 2) {
    const isOne = after.length < 2 && !isPinch;
    if (what === 1 && after.length === 2) {
      isPinch = true;
      viewer.postMessage({pointer: {what: 3, button: 0, clicks: 1, isTouch: true, x: 0, y: 0, mods: 0}});
    }
    if (after.length === 0) isPinch = false;
    return isOne;
  }
  const spread = pair => Math.hypot(pair[0].offsetX - pair[1].offsetX, pair[0].offsetY - pair[1].offsetY) || 1;
  const middle = pair => (pair[0].offsetX + pair[1].offsetX) / 2;
  viewer.postMessage({wheel: {mods: 0, x: middle(after) * scale(), y: after[0].offsetY * scale(),
                              dx: (middle(before) - middle(after)) / 40, dy: Math.log2(spread(after) / spread(before)) * 3}});
  return false;
}

// ---- fields of the viewer ------------------------------------------------------------------------

// While a field has the keyboard focus, `typed` receives text from an input method or a touch keyboard, at
// the caret. Single keys do not reach `typed`.
function followField({wantsText, caret: [x, y]}) {
  const has = document.activeElement === typed;
  if (wantsText && document.activeElement === picture) typed.focus({preventScroll: true});
  if (!wantsText && has) picture.focus();
  if (!wantsText) return;
  typed.style.left = Math.min(x / scale(), Math.max(0, picture.clientWidth - typed.offsetWidth)) + 'px';
  typed.style.top = y / scale() + 'px';
}

function giveTyped() {
  typed.classList.remove('composing');
  if (typed.value) viewer.postMessage({text: typed.value});
  typed.value = '';
}

// Adjusts the size after the screen or the browser's zoom has changed.
function followScale() {
  if (scale() !== shownScale) both({look: {isDark: isDark(), factor: scale() / shownScale}});
  shownScale = scale();
  matchMedia('(resolution: ' + shownScale + 'dppx)').addEventListener('change', followScale, {once: true});
}

// ---- for screen readers --------------------------------------------------------------------------

const GROUPS = {toolbar: 'Toolbar', picture: 'In the picture', legend: 'Legend', tab: 'Tabs', heading: 'Columns', row: 'Rows'};

// Makes a button for a part of the picture. A click on the button counts as a click on that part.
function spokenPart([, chosen, x, y, text]) {
  const button = document.createElement('button');
  Object.assign(button, {type: 'button', tabIndex: -1, textContent: text});
  if (chosen === '1') button.setAttribute('aria-pressed', 'true');
  button.onclick = () => {
    for (const what of [0, 1, 2]) viewer.postMessage({pointer: {what, button: 0, clicks: 1, x: +x, y: +y, mods: 0}});
  };
  return button;
}

// Turns the parts of a frame at rest (view/chrome/spoken.h) into lists of buttons, which are invisible. A list that has
// not changed is kept, and the list with the keyboard focus keeps the focus.
function speak(text) {
  const parts = text.split('\n').filter(Boolean).map(line => line.split('\t'));
  for (const group of Object.keys(GROUPS)) {
    const list = byId('spoken_' + group), lines = parts.filter(part => part[0] === group), now = JSON.stringify(lines);
    if (list.dataset.lines === now) continue;
    const focused = [...list.children].indexOf(document.activeElement);
    list.dataset.lines = now;
    list.replaceChildren(...lines.map(spokenPart));
    list.hidden = lines.length === 0;
    if (focused >= 0 && list.children[focused]) list.children[focused].focus();
  }
  byId('spoken_status').textContent = parts.filter(part => part[0] === 'status').map(part => part[4]).join();
}

function beginSpoken() {
  const lists = Object.entries(GROUPS).map(([group, label]) => {
    const list = document.createElement('div');
    Object.assign(list, {id: 'spoken_' + group, hidden: true});
    list.setAttribute('role', 'group');
    list.setAttribute('aria-label', label);
    return list;
  });
  byId('spoken').prepend(...lists);
}

// ---- paper ---------------------------------------------------------------------------------------

// A worker's canvas cannot be printed, so an image of it is printed instead, without the bars.
function layOnPaper() {
  const sheet = document.createElement('canvas'), image = byId('paper') || document.createElement('img');
  const [width, height] = sizeNow(), [top, bottom] = viewer.state.bars || [0, 0];
  [sheet.width, sheet.height] = [width, Math.max(1, height - top - bottom)];
  sheet.getContext('2d').drawImage(viewer.canvas, 0, -top, width, height);
  image.id = 'paper';
  image.alt = document.title;
  image.src = sheet.toDataURL();
  byId('view').append(image);
}

function listen() {
  const pointer = (name, what) => picture.addEventListener(name, event => {
    if (event.pointerType !== 'touch' || onTouch(event, what)) onPointer(event, what);
    if (what === 1) event.preventDefault();
  });
  pointer('pointermove', 0);
  pointer('pointerdown', 1);
  pointer('pointerup', 2);
  picture.addEventListener('pointercancel', event => { fingers.delete(event.pointerId); isPinch = isPinch && fingers.size > 0; onPointer(event, 3); });
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
    if (document.activeElement !== document.body && !picture.contains(document.activeElement)) return;
    const {files: pasted} = event.clipboardData, text = event.clipboardData.getData('text/plain');
    event.preventDefault();
    if (pasted.length) open(pasted);
    else if (viewer.state.wantsText) viewer.postMessage({paste: text});
    else if (text.trim()) explainText(text);
  });
  typed.addEventListener('compositionstart', () => typed.classList.add('composing'));
  typed.addEventListener('compositionend', giveTyped);
  typed.addEventListener('input', event => { if (!event.isComposing) giveTyped(); });
  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !isReading()) return;
    event.stopPropagation();
    giveUp('Reading was given up.');
  }, true);
  byId('cancel').onclick = () => giveUp('Reading was given up.');
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', event => both({look: {isDark: event.matches, factor: 1}}));
  calm.addEventListener('change', () => both({calm: calm.matches}));
  addEventListener('beforeprint', layOnPaper);
  addEventListener('blur', () => viewer.postMessage({pointer: {what: 3, button: 0, clicks: 1, x: 0, y: 0, mods: 0}}));
  addEventListener('dragover', event => { event.preventDefault(); document.body.classList.add('over'); });
  addEventListener('dragleave', event => { if (!event.relatedTarget) document.body.classList.remove('over'); });
  addEventListener('drop', event => {
    event.preventDefault();
    document.body.classList.remove('over');
    open(event.dataTransfer.files);
  });
  // Uses screen pixels if the browser reports them, so that no pixel of the picture is stretched.
  const resized = new ResizeObserver(([entry]) => {
    const [box] = entry.devicePixelContentBoxSize || [];
    both({resize: box ? [box.inlineSize, box.blockSize] : sizeNow()});
  });
  followScale();
  try { resized.observe(picture, {box: 'device-pixel-content-box'}); } catch (error) { resized.observe(picture); }
  for (const id of ['open', 'choose']) byId(id).onclick = () => byId('files').click();
  byId('files').onchange = event => { open(event.target.files); event.target.value = ''; };
  byId('sample').onclick = () => open([new File([fromLetters(byId('sampled').textContent)], 'sample.bin')]);
  byId('link').onclick = () => viewer.postMessage({link: true});
  byId('texts').onclick = () => toggleReports(byId('side').hidden);
  byId('close').onclick = () => toggleReports(false);
  byId('report').onchange = byId('file').onchange = showReport;
  byId('asks').onsubmit = event => event.preventDefault();
  byId('copy').onclick = () => toClipboard(byId('text').textContent);
  byId('json').onclick = saveJson;
}

// ---- messages from the viewer --------------------------------------------------------------------

const tells = {
  state(state, data, worker) {
    worker.hasBegun = true;
    if (worker === viewer && worker.state.hasTour && !state.hasTour) endTour();
    worker.state = state;
    if (worker !== viewer) return;
    setTheme(state.isDark);
    followField(state);
    if (state.isClosing) show('This is a page: close its tab.');
  },
  progress([name, share], data, worker) {
    if (worker !== (next || viewer)) return;
    showReading(share);
    show('Reading ' + name + ': ' + Math.floor(share * 100) + ' %');
  },
  stages(stages, data, worker) {
    const isKnown = String(stages) === String(worker.stages); // in that case, the status line may already show something newer
    worker.stages = stages;
    if (worker !== (next || viewer) || stages.length < worker.files.length || stages.some(stage => stage < 2)) return;
    const isNew = stages.slice(viewer === worker ? 0 : viewer.files.length);
    if (worker === viewer) {
      if (isKnown) return;
      showReading(null);
      if (isNew.every(stage => stage === 2)) listFiles();
    } else if (!isNew.includes(2)) giveUp(data.failed.join(' · '));
    else if (worker.state.isIdle && !worker.isAsked) {
      worker.isAsked = true;
      if (session && !worker.lacks) {
        session = null; // the session is shown
        takeOver();
      } else viewer.postMessage({session: true});
    }
  },
  session(text) {
    if (next) next.postMessage({open: {list: [], session: {name: 'session', blob: new Blob([text])}}});
  },
  link: copyLink,
  lacks(names, data, worker) {
    if (worker !== viewer && worker.isAsked) return takeOver();
    worker.lacks = names;
    if (names) showLacks(names);
    else if (worker === viewer) session = null;
  },
  failed(list, data, worker) { if (list.length && worker === viewer) complain(list.join(' · ')); },
  spoken(text, data, worker) {
    worker.spoken = text;
    if (worker === viewer) speak(text);
  },
  copy(text) { toClipboard(text); },
  download(name, data) { download(name, data.blob || new Blob([data.bytes])); },
  stopped(why, data, worker) {
    if (worker === viewer && !worker.hasBegun) { // a new worker would also fail
      endViewer(worker);
      complain('memviz cannot start: ' + why);
      return;
    }
    if (worker === viewer && next) endViewer(viewer), viewer = startViewer(false);
    giveUp(why + (viewer.files.length ? ' Open files stay open.' : ' Other files can be opened.'));
  },
};

// ---- the beginning -------------------------------------------------------------------------------

// A snapshot embedded in the page by the program, and its initial state.
function openEmbedded() {
  const element = byId('snapshot');
  if (linked()) viewer.postMessage({start: linked()});
  if (!element) return;
  const {name, state} = element.dataset;
  if (byId('verdict')) status.after(byId('verdict'));
  if (state && !linked()) viewer.postMessage({start: state});
  open([Object.assign(new File([fromLetters(element.textContent)], name), {title: document.title})]);
  element.remove();
}

async function begin() {
  const [, asked] = byId('snapshot') && /(?:^|;)is_dark (yes|no)/.exec(byId('snapshot').dataset.state) || [];
  setTheme(asked ? asked === 'yes' : matchMedia('(prefers-color-scheme: dark)').matches);
  if (!HTMLCanvasElement.prototype.transferControlToOffscreen || !self.DecompressionStream || !self.WebAssembly)
    throw new Error('this browser is too old: memviz needs one of 2023 or later');
  compiled = await WebAssembly.compile(await unpacked(fromLetters(byId('core').textContent)));
  byId('core').remove();
  viewer = startViewer(false);
  beginSpoken();
  listen();
  openEmbedded();
  if (byId('served')) await beginServed();
}

begin().catch(error => complain('memviz cannot start: ' + (error.message || error)));
