
// ---- the page served by `memviz serve`   ---------------------------------------------------------
// Lists the snapshots on the server's machine and fetches the chosen ones as memviz's own
// container. The program's server (cli/serve/) documents the responses.

const TRIES = 5;    // attempts after a broken connection, each resuming where the last one ended
const SOON_MS = 300; // time between two requests for progress
const LIST_MS = 1000; // time between two requests while some verdicts are missing
const PROBLEMS = ['WAITING', 'FRAGMENTED', 'LEAK', 'OUT OF MEMORY']; // in ascending order of severity
// Results, and files that are being fetched, by file address. `order` is the key and direction by which the list is sorted.
const served = {host: '', said: new Map(), coming: new Set(), list: make('div', {id: 'shelf'}), order: ['name', 1], later: 0};
const pause = ms => new Promise(done => setTimeout(done, ms));
const sizeText = bytes => bytes < 1 << 20 ? (bytes / 1024).toFixed(1) + ' KiB' : bytes < 1 << 30 ? (bytes / (1 << 20)).toFixed(1) + ' MiB' : (bytes / (1 << 30)).toFixed(2) + ' GiB';

function make(tag, members, ...inside) {
  const element = Object.assign(document.createElement(tag), members);
  element.append(...inside);
  return element;
}

async function askServer(path, options) {
  for (let left = TRIES; ; left--) {
    try { return await fetch(path, {cache: 'no-store', ...options}); } catch (error) {
      if (left === 1) throw new Error('no connection to ' + (served.host || 'the server') + ': memviz serve, or the ssh, has ended.');
    }
    await pause(SOON_MS);
  }
}

const addressOf = row => row.id + '/' + row.version;

// Fetches the file as the server sends it. `tell` receives the progress.
async function receive(row, tell) {
  const path = 'files/' + addressOf(row), parts = [];
  let got = 0, total = 0;
  for (let left = TRIES; ; ) {
    const answer = await askServer(path, got ? {headers: {Range: 'bytes=' + got + '-'}} : {});
    if (answer.status === 202) { // the server is still preparing it
      tell(served.host + ' is reading it, ' + Math.round((await answer.json()).progress * 100) + ' %');
      await pause(SOON_MS);
      continue;
    }
    if (!answer.ok) throw Object.assign(new Error((await answer.text()).trim()), {isStale: answer.status === 409});
    if (answer.status === 200) { got = parts.length = 0; total = Number(answer.headers.get('Content-Length')); }
    try {
      for (const reader = answer.body.getReader(); ;) {
        const {done, value} = await reader.read();
        if (done) break;
        parts.push(value);
        got += value.length;
        tell(sizeText(got) + ' of ' + sizeText(total));
      }
    } catch (error) { tell('the connection broke, resuming at ' + sizeText(got)); }
    if (got >= total) return new File(parts, row.name, {lastModified: row.modified_ms});
    if (--left === 0) throw new Error('the connection keeps breaking: reload the page to try again');
    await pause(SOON_MS);
  }
}

// ---- recordings that are being written -----------------------------------------------------------

// Shows newer bytes of open live files when the server has some. After each reading, pauses for ten times as long as the reading took.
async function followServed(rows) {
  for (let rest = LIST_MS; rows.length; rest = Math.max(LIST_MS, rest)) {
    await pause(rest);
    rows = rows.filter(entryOf);
    if (next || viewer.state.isRenewing || viewer.state.isPaused || !rows.length) continue;
    const began = performance.now();
    const list = (await (await askServer('files')).json()).files;
    for (const row of rows) {
      const now = list.find(other => other.id === row.id && other.name === row.name);
      if (now && now.version !== row.version) await renewServed(row, now);
      else viewer.postMessage({live: rows.every(other => !other.live)});
      if (!now || !now.live && now.version === row.version) row.live = false;
    }
    if (rows.every(row => !row.live)) {
      viewer.postMessage({live: true});
      return;
    }
    rest = 10 * (performance.now() - began);
  }
}

const entryOf = row => viewer.files.find(file => file.blob === row.file);

async function renewServed(row, now) {
  const blob = await receive(now, () => {}), entry = entryOf(row);
  if (!entry) return;
  entry.number = ++lastNumber; // so that reports use the newer bytes
  entry.blob = row.file = blob;
  row.version = now.version;
  viewer.postMessage({renew: {name: entry.name, blob}});
}

const promiseOf = host => 'From ' + host + ', through this address alone.';

// Fetches the files of rows in parallel, and opens them in order. Failures are shown in the list.
async function openServed(asked) {
  const rows = asked.filter(row => !served.coming.has(addressOf(row)));
  let isStale = false;
  if (rows.length === 0) return;
  for (const row of rows) served.coming.add(addressOf(row));
  const got = await Promise.all(rows.map(async row => {
    const tell = text => { row.state_cell.textContent = text; served.said.set(addressOf(row), text); show(row.name + ': ' + text); };
    try {
      const file = await receive(row, tell);
      tell(row.live ? 'open, live' : 'open');
      row.file = file;
      return file;
    } catch (error) {
      isStale = isStale || error.isStale;
      tell(error.message);
      return null;
    } finally { served.coming.delete(addressOf(row)); }
  }));
  const whole = got.filter(Boolean), why = rows.filter((row, i) => !got[i]).map(row => row.name + ': ' + row.state_cell.textContent).join(' · ');
  if (whole.length) { open(whole); hideList(); }
  followServed(rows.filter(row => row.live && row.file)).catch(error => show(error.message));
  // Failures stay visible next to the open files.
  byId('promise').textContent = why && whole.length ? 'Not open: ' + why : promiseOf(served.host);
  if (whole.length) return;
  if (isStale) await listServed();
  show(why);
}

// ---- the list ------------------------------------------------------------------------------------

// The columns by which the list can be sorted. Each has a heading, the key of a row, and whether the highest key comes first.
const COLUMNS = {
  name: ['File', row => row.place, 1],
  peak: ['Peak', row => row.peak_allocated ?? -1, -1],
  verdict: ['Verdict', row => row.state === 'unreadable' ? 5 : row.state === 'read' ? PROBLEMS.indexOf(row.kind) + (row.damaged ? 0.5 : 0) : -2, -1],
  bytes: ['Size', row => row.bytes, -1],
  modified: ['Changed', row => row.modified_ms, -1],
};

function peakText(row) {
  if (row.state !== 'read' || row.peak_allocated === null) return '';
  const sign = {'at least': '≥ ', 'at most': '≤ ', about: '~ '}[row.bound] || '';
  return sign + sizeText(row.peak_allocated) + (row.devices > 1 ? ' · ' + row.devices + ' devices' : '');
}

function verdictText(row) {
  if (row.state !== 'read') return row.state === 'waiting' ? '…' : 'cannot be read: ' + row.why;
  const more = row.problems > 1 ? ' (' + row.problems + ' problems)' : '';
  return (row.kind ? row.kind + ' ' : '') + row.text + more + (row.damaged ? ' · damaged parts were skipped: ' + row.damaged : '');
}

// Shows what the server has found out about a file so far.
function fill(row, news) {
  Object.assign(row, news);
  row.cells.peak.textContent = peakText(row);
  row.cells.verdict.textContent = row.cells.verdict.title = verdictText(row);
  row.cells.verdict.className = row.state === 'unreadable' || row.kind || row.damaged ? 'verdict alarm' : 'verdict';
}

function rowOf(row, place) {
  row.place = place;
  row.box = make('input', {type: 'checkbox', ariaLabel: row.name});
  row.state_cell = make('td', {textContent: served.said.get(addressOf(row)) || ''});
  row.cells = {peak: make('td'), verdict: make('td')};
  row.line = make('tr', {}, make('td', {}, row.box),
                  make('td', {}, make('button', {type: 'button', textContent: row.name, onclick: () => openServed([row])})),
                  row.cells.peak, row.cells.verdict, make('td', {textContent: sizeText(row.bytes)}), make('td', {textContent: new Date(row.modified_ms).toLocaleString()}),
                  make('td', {}, make('a', {href: 'originals/' + addressOf(row), download: row.name, textContent: 'save as it is'})), row.state_cell);
  fill(row, {});
  return row;
}

// Sorts the rows. A click on a heading sorts by that column, and a second click reverses the order.
function sortRows(rows, body, heads) {
  const [key, direction] = served.order, by = COLUMNS[key][1];
  rows.sort((a, b) => direction * (by(a) - by(b)) || a.place - b.place);
  body.replaceChildren(...rows.map(row => row.line));
  for (const [name, head] of Object.entries(heads)) head.ariaSort = name !== key ? 'none' : direction > 0 ? 'ascending' : 'descending';
}

function tableOf(rows) {
  const body = make('tbody'), heads = {};
  for (const [key, [text, , first]] of Object.entries(COLUMNS)) {
    const sort = () => {
      served.order = [key, served.order[0] === key ? -served.order[1] : first];
      sortRows(rows, body, heads);
    };
    heads[key] = make('th', {scope: 'col'}, make('button', {type: 'button', textContent: text, onclick: sort}));
  }
  sortRows(rows, body, heads);
  return make('table', {}, make('thead', {}, make('tr', {}, make('td'), ...Object.values(heads), make('td'), make('td'))), body);
}

// Asks for verdicts until all have been found. Rows are not moved, and new files are only added by "List again".
async function followVerdicts(rows) {
  clearTimeout(served.later);
  if (served.list.hidden || rows.every(row => row.state !== 'waiting')) return;
  const news = new Map((await (await askServer('files')).json()).files.map(row => [addressOf(row), row]));
  for (const row of rows) {
    if (news.has(addressOf(row))) fill(row, news.get(addressOf(row)));
    else if (row.state === 'waiting') fill(row, {state: 'unreadable', why: 'the file has changed: list again'});
  }
  served.later = setTimeout(() => followVerdicts(rows).catch(error => show(error.message)), LIST_MS);
}

// Shows the current list. Returns its rows.
async function listServed() {
  const list = await (await askServer('files')).json(), rows = list.files.map(rowOf);
  const chosen = () => rows.filter(row => row.box.checked).sort((a, b) => a.place - b.place);
  const opens = make('button', {type: 'submit', textContent: 'Open selected'});
  const all = make('input', {type: 'checkbox', onchange: () => { for (const row of rows) row.box.checked = all.checked; }});
  served.host = list.host;
  byId('promise').textContent = promiseOf(list.host);
  served.list.replaceChildren(make('form', {onsubmit: event => { event.preventDefault(); openServed(chosen()); }},
    make('h1', {textContent: 'Snapshots on ' + list.host}), tableOf(rows),
    make('p', {hidden: rows.length === 0}, make('label', {}, all, ' all '), opens, ' ',
         make('button', {type: 'button', textContent: 'List again', onclick: () => listServed().catch(error => show(error.message))}), ' ',
         make('button', {type: 'button', textContent: 'Files on this machine…', onclick: () => byId('files').click()})),
    make('p', {textContent: rows.length === 0 ? 'No snapshots yet: reload the page when there are some.'
                                              : 'Several files are ranks, or are compared.'}),
    make('p', {hidden: !list.left_out, textContent: list.left_out + ' more are not listed.'}),
    make('p', {hidden: files.length === 0}, make('button', {type: 'button', textContent: 'Back', onclick: hideList}))));
  served.list.hidden = false;
  followVerdicts(rows).catch(error => show(error.message));
  return rows;
}

function hideList() {
  served.list.hidden = true;
  picture.focus();
}

async function beginServed() {
  byId('welcome').replaceChildren();
  byId('welcome').after(served.list);
  byId('files').addEventListener('change', hideList);
  addEventListener('drop', hideList);
  byId('open').onclick = () => listServed().catch(error => show(error.message));
  const rows = await listServed();
  if (rows.length === 1) await openServed(rows);
}
