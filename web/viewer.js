// The viewer's worker. It receives events and draws pictures. Between two events it does pending work,
// one piece at a time.
const TURN_MS = 8;      // maximum time for which work goes on without a check for events
const QUIET_MS = 150;   // the slow stages of loading wait this long after an event
const MEMORY = 'out of memory: a page can use at most 4 GiB, and some browsers allow less. Use memviz on the machine itself, which has no such limit.';
const reader = new FileReaderSync();
let core, canvas, context, width = 1, height = 1, files = [], isCalm = false;
let wantsFrame = false, asked = 0, hasInput = false, isPosted = false, later = 0, isStopped = false, lastEvent = -1e9, shown = '', spoken = '', isMeasured = false;

const say = message => self.postMessage(message);
const frame = self.requestAnimationFrame ? f => self.requestAnimationFrame(f) : f => setTimeout(f, 16);
const pump = new MessageChannel(), rest = new MessageChannel();

function stop(error) {
  if (isStopped) return;
  isStopped = true;
  const memory = error instanceof RangeError || /memory/i.test(String(error.message));
  say({stopped: memory ? MEMORY
                       : String(error.message || error)});
}

function guarded(work) {
  return (...given) => {
    if (isStopped) return;
    try { return work(...given); } catch (error) { stop(error); }
  };
}

// Copies the drawn parts of a frame to the canvas.
function show(drawn) {
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    drawn = [0, 0, width, height];
  }
  const image = drawn.length > 0 && new ImageData(core.pixels(width, height), width, height);
  for (let i = 0; i < drawn.length; i += 4) context.putImageData(image, 0, 0, ...drawn.slice(i, i + 4));
}

const paint = guarded(() => {
  const begin = isMeasured ? performance.now() : 0;
  wantsFrame = hasInput = false;
  if (!core) return;
  show(core.frame(width, height, isCalm ? 0 : performance.now()));
  const state = core.exports.mv_web_state();
  if (state & 1) askFrame();
  report(state);
  speak(state);
  if (isMeasured) say({timing: performance.now() - begin, mark: isMeasured, moves: !!(state & 1), isIdle: !!(state & 16)});
  turnSoon();
});

function askFrame() {
  if (wantsFrame || isStopped) return;
  wantsFrame = true;
  const number = ++asked;
  frame(() => { if (wantsFrame && number === asked) paint(); });
}

// Sends the page the data that it shows outside the canvas.
function report(state) {
  const stages = files.map((name, i) => core.exports.mv_web_stage(i));
  const bars = [...new Float32Array(core.memory.buffer, core.exports.mv_web_bars() >>> 0, 2)];
  const now = JSON.stringify([state & 990, stages, bars]);
  if (now === shown) return;
  shown = now;
  const failed = files.map((name, i) => core.exports.mv_web_stage(i) === 3 ? core.text().replace(/memory limit reached.*/, MEMORY) : '').filter(Boolean);
  const caret = new Float32Array(core.memory.buffer, core.exports.mv_web_caret() >>> 0, 4);
  say({state: {wantsText: !!(state & 2), isClosing: !!(state & 4), isDark: !!(state & 8), isIdle: !!(state & 16), hasPicture: !!(state & 64), hasTour: !!(state & 128), isRenewing: !!(state & 256), isPaused: !!(state & 512), bars, caret: [...caret]},
       stages, failed});
  if (!(state & 256)) files.forEach((name, i) => { if (stages[i] >= 2) core.forget(name); });
}

// Once a frame is at rest, sends its words to the page, for screen readers.
function speak(state) {
  if (!(state & 16)) return;
  const now = core.textAt(core.exports.mv_web_spoken());
  if (now !== spoken) say({spoken: spoken = now});
}

function turnSoon() {
  if (isPosted || isStopped) return;
  clearTimeout(later);
  // Tiles and query results have priority; reports must not delay a user who moves the picture.
  const quiet = core.exports.mv_web_state() & 32 ? lastEvent + QUIET_MS - performance.now() : 0;
  isPosted = quiet <= 0;
  if (isPosted) pump.port2.postMessage(0);
  else later = setTimeout(turns, quiet);
}

let turnEnd = 0;

async function work() {
  if (isStopped) return;
  let did = false, more = true;
  isPosted = true; // until this turn ends, so that there is only one turn at a time
  if (hasInput) paint(); // otherwise, a browser may delay its frames while one piece of work follows another
  turnEnd = performance.now() + TURN_MS;
  while (more && performance.now() < turnEnd) did = (more = !!await core.turn()) || did;
  isPosted = false;
  if (did) askFrame();
  if (more) turnSoon(); // this works even in a hidden tab, which has no frames
}
const turns = () => work().catch(stop);
pump.port1.onmessage = turns;

// Pauses in the middle of reading a file, so that events that have arrived are handled, and a frame is drawn.
let giveUp = null; // while reading is paused, a function that makes it fail

function pause() {
  const next = readAhead();
  if (!next && performance.now() < turnEnd) return undefined;
  return new Promise((done, fail) => {
    const go = () => {
      giveUp = null;
      if (hasInput) paint();
      turnEnd = performance.now() + TURN_MS;
      done();
    };
    giveUp = fail;
    rest.port1.onmessage = () => next && !next.isDone ? next.done = go : go();
    rest.port2.postMessage(0);
  });
}

// Half of the time that reading takes is spent waiting for the browser to fetch the bytes. Therefore another worker
// fetches the next two parts of the file while this one processes the parts before them. They arrive during pauses.
const BRING = `const reader = new FileReaderSync();
onmessage = ({data}) => {
  let bytes = null;
  try { bytes = reader.readAsArrayBuffer(data); } catch (error) { /* the other worker finds out, too */ }
  postMessage(bytes, bytes ? [bytes] : []);
};`;
const AHEAD = 2;
let bringer = null, last = null, coming = []; // the last part that was read; later parts, in order: {blob, from, bytes, isDone, done}

function brought({data}) {
  const part = coming.find(part => !part.isDone) || {};
  Object.assign(part, {isDone: true, bytes: data && new Uint8Array(data)});
  if (part.done) part.done();
}

// Discards the parts that are being fetched, because a different file or position is read.
function stopBringing() {
  if (bringer) bringer.onmessage = null, bringer.terminate();
  bringer = null;
  coming = [];
}

// Requests the next parts, and returns the first of them; null at the end of the file.
function readAhead() {
  if (!last) return null;
  for (let from = last.to; from < last.blob.size && coming.length < AHEAD; from += PART) {
    if (coming.some(part => part.from === from)) continue;
    if (!bringer) {
      bringer = new Worker(URL.createObjectURL(new Blob([BRING], {type: 'text/javascript'})));
      bringer.onmessage = brought;
    }
    coming.push({blob: last.blob, from});
    bringer.postMessage(last.blob.slice(from, from + PART));
  }
  return coming[0] || null;
}

// Ends the worker from inside, as soon as none of its functions is waiting. Firefox reports an error for a worker
// that is terminated while a function waits.
function end() {
  isStopped = true;
  if (giveUp) giveUp(new Error('ended'));
  setTimeout(() => self.close());
}

// While there is no file, reads a small one again and again, so that the browser has fast code for reading a
// long one (web/warm.h).
const WARM = 800; // number of times, which takes a second of CPU time
let warmed = 0;

const warm = guarded(() => {
  const end = performance.now() + TURN_MS;
  while (!files.length && warmed < WARM && performance.now() < end) warmed += core.exports.mv_web_warm() ? 1 : WARM;
  if (!files.length && warmed < WARM) setTimeout(warm, 2 * TURN_MS);
});

// ---- messages from the page --------------------------------------------------------------------

const host = {
  read(blob, from, to) {
    const next = coming[0], isNext = next && next.isDone && next.blob === blob && next.from === from;
    if (isNext) coming.shift();
    else stopBringing();
    last = {blob, to};
    return isNext && next.bytes || new Uint8Array(reader.readAsArrayBuffer(blob.slice(from, to)));
  },
  pauses: !!WebAssembly.Suspending,
  progress(file, share) {
    say({progress: [files[file], share]});
    return this.pauses ? pause() : undefined;
  },
  copy: text => say({copy: text}),
  written(name) {
    const bytes = core.bytes(name);
    core.forget(name);
    if (bytes && bytes.length) say({download: name, bytes});
  },
};

const does = {
  begin({module, surface, isDark, scale, size, calm, page, tour}) {
    isCalm = calm;
    core = new Core(module, host);
    canvas = surface;
    context = canvas.getContext('2d', {alpha: false});
    canvas.addEventListener('contextrestored', () => { canvas.width = 0; askFrame(); });
    if (!core.exports.mv_web_open(isDark ? 1 : 0, scale, tour ? 1 : 0)) throw new Error('out of memory');
    does.resize(size);
    if (page) core.load('-page', page);
    setTimeout(warm, 2 * TURN_MS);
  },
  resize(size) {
    width = Math.max(1, Math.min(size[0], 16384));
    height = Math.max(1, Math.min(size[1], 16384));
  },
  look({isDark, factor}) { core.exports.mv_web_look(isDark ? 1 : 0, factor * core.exports.mv_web_scale()); },
  calm(value) { isCalm = value; }, // without animations
  text(text) {
    core.put(text.slice(0, 8000));
    core.exports.mv_web_text();
  },
  session() { say({session: core.textAt(core.exports.mv_web_session())}); },
  link() { say({link: core.textAt(core.exports.mv_web_link())}); },
  // For a file that is being written (web/served.js): `renew` brings newer bytes; `live` reports that there are none now, or that there will be none.
  renew({name, blob}) {
    core.load(name, blob);
    core.exports.mv_web_renew();
  },
  live(hasEnded) { core.exports.mv_web_live(hasEnded ? 1 : 0, isCalm ? 0 : performance.now()); },
  measure(mark) { isMeasured = mark; }, // for tests, frames report their times and the last mark
  start(state) {
    core.put(state);
    core.exports.mv_web_begin();
  },
  key({key, mods, isDown, text}) {
    const wanted = core.exports.mv_web_state() & 2;
    core.put(key);
    core.exports.mv_web_key(mods, isDown);
    if (isDown && text && wanted) {
      core.put(text);
      core.exports.mv_web_text();
    }
  },
  pointer({what, mods, button, clicks, isTouch, x, y}) {
    (isTouch ? core.exports.mv_web_touch : core.exports.mv_web_pointer)(what, mods, button, clicks, x, y);
  },
  wheel({mods, x, y, dx, dy}) { core.exports.mv_web_wheel(mods, x, y, dx, dy); },
  paste(text) {
    core.put(text.slice(0, 8000));
    core.exports.mv_web_paste();
    core.put('v');
    core.exports.mv_web_key(2, 1);
  },
  // Files, and a session that defines the view.
  open({list, session}) {
    for (const {name, blob} of list) {
      core.load(name, blob);
      files.push(name);
      core.put(name);
      core.exports.mv_web_add();
    }
    if (!session) return;
    core.load(session.name, session.blob);
    core.put(session.name);
    core.exports.mv_web_lacks();
    const lacks = core.text();
    say({lacks});
    core.put(session.name);
    if (!lacks) core.exports.mv_web_add();
  },
};

const receive = guarded(({data}) => {
  for (const name of Object.keys(data)) {
    if (name !== 'open' && name !== 'session') lastEvent = performance.now();
    does[name](data[name]);
  }
  hasInput = true;
  askFrame();
});

self.onmessage = event => event.data.end ? end() : receive(event);
