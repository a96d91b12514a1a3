
// ---- the page served by `memviz serve`   ---------------------------------------------------------
// Lists the snapshots on the server's machine and fetches the chosen ones as memviz's own
// container. The program's server (cli/serve/) documents the responses.

const TRIES = 5;    // attempts after a broken connection, each resuming where the last one ended
const SOON_MS = 300; // between two progress requests
const served = {host: '', said: new Map(), coming: new Set(), list: make('div', {id: 'shelf'})}; // by file address: results; files being fetched
const pause = ms => new Promise(done => setTimeout(done, ms));
const sizeText = bytes => bytes < 1 << 20 ? (bytes / 1024).toFixed(1) + ' KiB' : (bytes / (1 << 20)).toFixed(1) + ' MiB';

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

// The file as sent; `tell` receives the progress.
async function receive(row, tell) {
  const path = 'files/' + addressOf(row), parts = [];
  let got = 0, total = 0;
  for (let left = TRIES; ; ) {
    const answer = await askServer(path, got ? {headers: {Range: 'bytes=' + got + '-'}} : {});
    if (answer.status === 202) { // being prepared
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

const promiseOf = host => 'From ' + host + ', through this address alone.';

// Fetches rows in parallel and opens them in order. The list shows failures.
async function openServed(asked) {
  const rows = asked.filter(row => !served.coming.has(addressOf(row)));
  let isStale = false;
  if (rows.length === 0) return;
  for (const row of rows) served.coming.add(addressOf(row));
  const got = await Promise.all(rows.map(async row => {
    const tell = text => { row.state.textContent = text; served.said.set(addressOf(row), text); show(row.name + ': ' + text); };
    try {
      const file = await receive(row, tell);
      tell('open');
      return file;
    } catch (error) {
      isStale = isStale || error.isStale;
      tell(error.message);
      return null;
    } finally { served.coming.delete(addressOf(row)); }
  }));
  const whole = got.filter(Boolean), why = rows.filter((row, i) => !got[i]).map(row => row.name + ': ' + row.state.textContent).join(' · ');
  if (whole.length) { open(whole); hideList(); }
  // Failures stay visible next to the open files.
  byId('promise').textContent = why && whole.length ? 'Not open: ' + why : promiseOf(served.host);
  if (whole.length) return;
  if (isStale) await listServed();
  show(why);
}

function rowOf(row) {
  row.box = make('input', {type: 'checkbox', ariaLabel: row.name});
  row.state = make('td', {textContent: served.said.get(addressOf(row)) || ''});
  return make('tr', {}, make('td', {}, row.box),
              make('td', {}, make('button', {type: 'button', textContent: row.name, onclick: () => openServed([row])})),
              make('td', {textContent: sizeText(row.bytes)}), make('td', {textContent: new Date(row.modified_ms).toLocaleString()}),
              make('td', {}, make('a', {href: 'originals/' + addressOf(row), download: row.name, textContent: 'save as it is'})), row.state);
}

// Shows the current list. Returns its rows.
async function listServed() {
  const list = await (await askServer('files')).json();
  const chosen = () => list.files.filter(row => row.box.checked);
  const opens = make('button', {type: 'submit', textContent: 'Open selected'});
  const all = make('input', {type: 'checkbox', onchange: () => { for (const row of list.files) row.box.checked = all.checked; }});
  served.host = list.host;
  byId('promise').textContent = promiseOf(list.host);
  served.list.replaceChildren(make('form', {onsubmit: event => { event.preventDefault(); openServed(chosen()); }},
    make('h1', {textContent: 'Snapshots on ' + list.host}),
    make('table', {}, make('tbody', {}, ...list.files.map(rowOf))),
    make('p', {hidden: list.files.length === 0}, make('label', {}, all, ' all '), opens, ' ',
         make('button', {type: 'button', textContent: 'List again', onclick: () => listServed().catch(error => show(error.message))}), ' ',
         make('button', {type: 'button', textContent: 'Files on this machine…', onclick: () => byId('files').click()})),
    make('p', {textContent: list.files.length === 0 ? 'No snapshots yet: reload the page when there are some.'
                                                    : 'Several files are ranks, or are compared.'}),
    make('p', {hidden: !list.left_out, textContent: list.left_out + ' more are not listed.'}),
    make('p', {hidden: files.length === 0}, make('button', {type: 'button', textContent: 'Back', onclick: hideList}))));
  served.list.hidden = false;
  return list.files;
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
