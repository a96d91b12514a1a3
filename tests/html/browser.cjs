// What scripts/test-html runs: node browser.cjs PLAYWRIGHT CHROMIUM MEMVIZ FOLDER [LARGE FILE ...]
"use strict";
const { execFileSync } = require("child_process");
const path = require("path");
const fs = require("fs");
const [, , playwright, executablePath, memviz, folder, ...large] = process.argv;
const { chromium } = require(playwright);
const { comparePixels, compareTicks, compareLevels, compareState, tellMoment, foldTree } = require("./models.cjs");
const SNAPSHOTS = path.join(__dirname, "../../testdata/snapshots");
let failures = 0;

function check(is, what) {
  if (is) return;
  failures++;
  console.log(`FAILED ${what}`);
}

function run(...args) {
  return execFileSync(memviz, args, { encoding: "utf8", maxBuffer: 1 << 30 });
}

function pageOf(file, name) {
  const out = path.join(folder, `${name}.html`), start = Date.now();
  run("trace_plot", file, "-o", out);
  return { out, written: Date.now() - start, bytes: fs.statSync(out).size };
}

async function open(browser, file, name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 860 }, offline: true, ...options });
  const page = await context.newPage();
  page.on("console", (m) => check(!["error", "warning"].includes(m.type()), `${name}: console: ${m.text()}`));
  page.on("pageerror", (e) => check(false, `${name}: ${e.stack}`));
  page.on("dialog", (d) => { check(false, `${name}: a dialog opened`); d.dismiss(); });
  page.on("request", (r) => check(/^(file|data):/.test(r.url()), `${name}: asks for ${r.url()}`));
  await page.addInitScript(`window.foldTree = ${foldTree}`);
  await page.goto(`file://${file}`);
  await settled(page, name);
  return page;
}

// What the page lacks there it says.
async function checkOldBrowser(browser, file) {
  const page = await (await browser.newContext({ offline: true })).newPage();
  await page.addInitScript(() => { delete window.DecompressionStream; });
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => /browser of 2023/.test(document.getElementById("main").textContent), null,
    { timeout: 10000 }).catch(() => check(false, "old browser: it does not say what it needs"));
  await page.context().close();
}

async function settled(page, name) {
  await page.waitForTimeout(120);
  await page.waitForFunction(() => window.memviz?.isWhole && !window.memviz.pending, null, { timeout: 30000 })
    .catch(() => check(false, `${name}: never came to rest`));
}

async function checkPicture(page, name) {
  const { compared, wrong } = await page.evaluate(comparePixels);
  check(compared > 1000 && !wrong, `${name}: ${compared} pixels compared: ${wrong || "too few"}`);
}

async function checkFigures(page, name, file) {
  const stats = JSON.parse(run("stats", "--json", file)).devices;
  const have = await page.evaluate(() => window.memviz.devices.map((d, i) => {
    window.memviz.setDevice(i);
    const { model } = window.memviz;
    return { ordinal: d.ordinal, allocated: model.allocated.at(model.allocated.highest(-1, d.events)),
      event: model.allocated.highest(-1, d.events), reserved: d.reserved.at(d.reserved.highest(-1, d.events)),
      end: model.allocated.at(d.events - 1) };
  }));
  have.forEach((h) => {
    const stat = stats.find((s) => s.device === h.ordinal), { peak } = stat;
    check(h.allocated === peak.allocated && h.reserved === peak.reserved,
      `${name}: peaks ${JSON.stringify(h)}, stats ${JSON.stringify(peak)}`);
    check(peak.allocated_event === null || h.event === peak.allocated_event,
      `${name}: highest at ${h.event}, stats ${peak.allocated_event}`);
    check(h.end === stat.current.allocated || stat.audit.residual !== 0,
      `${name}: at the end ${h.end}, stats ${stat.current.allocated}`);
  });
  await page.evaluate(() => window.memviz.setDevice(0));
}

function fold(...args) {
  const lines = {};
  for (const line of run(...args).split("\n").filter(Boolean)) {
    const blank = line.lastIndexOf(" "), stack = line.slice(0, blank);
    lines[stack] = (lines[stack] || 0) + Number(line.slice(blank + 1));
  }
  return lines;
}

function differ(have, want) {
  for (const key of new Set([...Object.keys(have), ...Object.keys(want)]))
    if (have[key] !== want[key]) return `'${key}': ${have[key]} for ${want[key]}`;
  return "";
}

// The pieces that the drawing of the same moment names, with their kind, size and address.
function drawnPieces(file, at, device) {
  const out = path.join(folder, "state.svg");
  run("segment_plot", "--view", "state", "--at", at, "--device", device, file, "-o", out);
  const titles = fs.readFileSync(out, "utf8").match(/<title>[^<]*<\/title>/g) || [];
  const found = titles.map((title) => [title.match(/([0-9.]+ (?:[KMGT]i)?B)\b/), title.match(/\bat (0x[0-9a-f]+)/), title])
    .filter(([bytes, addr, title]) => bytes && addr && !/small pieces/.test(title));
  return found.map(([bytes, addr, title]) => (title.startsWith("<title>free:") ? "free" :
    title.startsWith("<title>freed, ") ? "pending" : "allocated") + ` ${bytes[1]} ${addr[1]}`);
}

// Heap and flame graphs of the page against those of the commands, to the byte.
async function checkMoments(page, name, file) {
  const devices = await page.evaluate(() => window.memviz.devices.map((d) => [d.ordinal, d.events]));
  for (const [index, [ordinal, events]] of devices.entries()) {
    const moments = events ? [0, events - 1, ...[0.1, 0.3, 0.5, 0.8].map((share) => Math.floor(events * share))] : [-1];
    for (const event of new Set(moments)) {
      const at = event < 0 ? "end" : String(event), only = ["--at", at, "--device", ordinal, file];
      const have = await page.evaluate(tellMoment, [index, event]), what = `${name} device ${ordinal} at ${at}`;
      const { free, reserved, allocated } = JSON.parse(run("fragmentation", "--json", ...only));
      const sums = { allocated, reserved, free: free.total, largest: free.largest, pending: free.pending, rounding: free.rounding };
      for (const [key, want] of Object.entries(sums)) check(have[key] === want, `${what}: ${key} ${have[key]} for ${want}`);
      for (const flame of ["memory", "segments"]) {
        const wrong = differ(have[flame], fold(flame, ...only, "-o", "-"));
        check(!wrong, `${what}: ${flame}: ${wrong}`);
      }
      const drawn = drawnPieces(file, at, ordinal), known = new Set(have.pieces);
      const stray = drawn.find((piece) => !known.has(piece));
      check(drawn.length || !known.size, `${what}: nothing drawn`);
      check(!stray, `${what}: the drawing has ${stray}`);
    }
  }
}

// What the bands of the pools say against stacking them by hand, and an allocation that is pointed at.
async function checkPools(page, name) {
  const wrong = await page.evaluate(() => {
    const { memviz: app } = window, d = app.device, { segments } = d;
    const poolOf = (rows, i) => rows.segment[i] ? d.placePool[rows.segment[i] - 1] : "";
    const most = (rows, pool) => {
      let high = 0;
      for (let event = -1; event < d.events; event++) {
        let sum = 0;
        for (let i = 0; i < rows.count; i++)
          if (poolOf(rows, i) === pool && rows.birth[i] <= event && (event < 0 || rows.freed[i] > event)) sum += rows.block[i];
        high = Math.max(high, sum);
      }
      return high;
    };
    for (const band of app.bands) {
      if (d.count * d.events > 3e7 || band.others) continue;
      const want = [most(segments, band.name), most(d, band.name)];
      if (band.mostHeld !== want[0] || band.mostUsed !== want[1]) return `${band.name}: ${[band.mostHeld, band.mostUsed]} for ${want}`;
    }
    const row = app.bands[app.bands.length - 1].origin[0], points = row === undefined ? [] : app.plot.outline(row);
    return points === null || points?.length !== 1 ? "" : "an outline is a point";
  });
  check(!wrong, `${name} pools: ${wrong}`);
}

async function checkTabs(page, name, shot) {
  const hasPools = await page.locator("#tab-pools").isVisible();
  for (const tab of ["segments", "state", "flame", ...(hasPools ? ["pools"] : []), "active"]) {
    await page.locator(`#tab-${tab}`).click();
    await settled(page, `${name} ${tab}`);
    if (tab === "segments" || tab === "pools") await checkPicture(page, `${name} ${tab}`);
    if (tab === "pools") await checkPools(page, name);
    if (tab === "state") {
      const { compared, wrong } = await page.evaluate(compareState);
      check(!wrong && compared >= (await page.evaluate(() => window.memviz.heap().count && 300)), `${name} state: ${compared}: ${wrong}`);
    }
    if (tab !== "active" && shot) await shot(tab);
  }
}

// Milliseconds between frames, and of drawing alone, while the pointer and the wheel are at work in
// a view: zooming in at the peak, panning and zooming out; where there is a strip, other moments.
async function timeFrames(page, tab) {
  const box = await page.locator("#plot").boundingBox(), strip = box.y + box.height - 60;
  await page.evaluate(() => {
    window.gaps = [];
    window.memviz.frameTimes.length = 0;
    let last = performance.now(), on = true;
    const tick = (now) => { window.gaps.push(now - last); last = now; if (on) requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
    window.stopGaps = () => { on = false; };
  });
  const wheel = async (times, x, y) => {
    await page.mouse.move(box.x + box.width * 0.4, tab === "flame" ? strip : box.y + box.height * 0.4);
    for (let i = 0; i < times; i++) { await page.mouse.wheel(x, y); await page.waitForTimeout(16); }
  };
  await wheel(60, 0, -60);
  await wheel(60, 40, 0);
  await wheel(60, 0, 60);
  for (let i = 0; i < 80 && ["state", "flame"].includes(tab); i++) {
    await page.mouse.move(box.x + 90 + i * 11, strip);
    await page.waitForTimeout(16);
  }
  return page.evaluate(() => {
    window.stopGaps();
    const at = (list, share) => list.slice().sort((a, b) => a - b)[Math.floor((list.length - 1) * share)];
    const { frameTimes } = window.memviz;
    return { frames: frameTimes.length, p50: at(frameTimes, 0.5), p95: at(frameTimes, 0.95), most: at(frameTimes, 1),
      gap50: at(window.gaps, 0.5), gap95: at(window.gaps, 0.95) };
  });
}

async function timeLarge(browser, file) {
  const { out, written, bytes } = pageOf(file, "large"), page = await open(browser, out, "large");
  const opened = await page.evaluate(() => window.memviz.opened);
  console.log(JSON.stringify({ file: path.basename(file), written_ms: written, bytes, opened_ms: Math.round(opened) }));
  check(bytes <= 15e6, `large: ${bytes} bytes`);
  check(opened <= 2000, `large: opened after ${opened} ms`);
  await checkPicture(page, "large");
  await page.screenshot({ path: path.join(folder, "large.png") });
  await checkTabs(page, "large", (tab) => page.screenshot({ path: path.join(folder, `large_${tab}.png`) }));
  for (const tab of ["active", "segments", "state", "flame"]) {
    await page.locator(`#tab-${tab}`).click();
    await settled(page, `large ${tab}`);
    const frames = await timeFrames(page, tab);
    console.log(JSON.stringify({ view: tab, ...Object.fromEntries(Object.entries(frames)
      .map(([key, value]) => [key, Math.round(value * 10) / 10])) }));
    check(frames.p95 <= 33, `large: ${tab}: p95 of frames is ${frames.p95} ms`);
    await page.keyboard.press("0");
  }
  await page.context().close();
}

// A page opens on what --filter and --top leave, stacked by itself: the same rows and bytes as the
// commands have.
async function checkFilter(browser, name, expression) {
  const file = path.join(SNAPSHOTS, `${name}.pickle`), out = path.join(folder, "filter.html");
  for (const tab of expression === "leak" ? ["active"] : ["active", "segments"]) {
    const only = ["--view", tab, "--filter", expression, "--json", file, "-o"];
    const { matches } = JSON.parse(run("trace_plot", ...only, path.join(folder, "filter.svg")));
    run("trace_plot", ...only, out);
    const page = await open(browser, out, `${name} filtered`);
    const have = await page.evaluate(() => window.memviz.device.count);
    check(matches === undefined || have === matches, `${name} ${expression} ${tab}: ${have} rows for ${matches}`);
    if (have) await checkPicture(page, `${name} ${tab} filtered`);
    if (tab === "active") {
      const flame = await page.evaluate(() => ({ event: window.memviz.moment,
        lines: window.foldTree(window.memviz.icicle) })), at = String(flame.event);
      const wrong = differ(flame.lines, fold("memory", "--filter", expression, "--at", at, file, "-o", "-"));
      check(!wrong, `${name} ${expression}: ${wrong}`);
      await page.screenshot({ path: path.join(folder, "filter.png") });
    }
    await page.keyboard.press("i");
    await settled(page, `${name} not alone`);
    await checkPicture(page, `${name} ${tab} with a filter`);
    await page.context().close();
  }
  run("trace_plot", "--top", "7", file, "-o", out);
  const page = await open(browser, out, `${name} top`);
  const plain = await page.evaluate(() => Array.from({ length: window.memviz.device.count }, (_, i) => i)
    .filter((i) => !window.memviz.isFaint(i)).map((i) => window.memviz.device.block[i]));
  const all = await page.evaluate(() => Array.from(window.memviz.device.block).sort((a, b) => b - a).slice(0, 7));
  check(plain.sort((a, b) => b - a).join() === all.join(), `${name}: the largest are ${plain}`);
  await page.context().close();
}

// Every view of files that hold next to nothing, or contradict themselves.
async function checkOdd(browser) {
  execFileSync("python3", [path.join(__dirname, "odd.py"), folder]);
  const names = fs.readdirSync(folder).filter((name) => /^odd_.*\.pickle$/.test(name));
  check(names.length >= 8, `only ${names}`);
  for (const name of names) {
    const file = path.join(folder, name), { out } = pageOf(file, name.replace(".pickle", ""));
    const page = await open(browser, out, name);
    await checkFigures(page, name, file);
    if (name !== "odd_contradictory.pickle") await checkMoments(page, name, file);
    for (const tab of ["segments", "state", "flame", "active"]) {
      await page.locator(`#tab-${tab}`).click();
      const box = await page.locator("#plot").boundingBox();
      for (const share of [0.02, 0.1, 0.3, 0.5, 0.7, 0.9]) await page.mouse.move(box.x + 90 + share * (box.width - 110), box.y + share * box.height);
      for (const key of ["w", "w", "x", ",", ".", "p", "o", "0"]) await page.keyboard.press(key);
      await page.mouse.click(box.x + 95, box.y + box.height * 0.6);
      await settled(page, `${name} ${tab}`);
      await page.screenshot({ path: path.join(folder, name.replace(".pickle", `_${tab}.png`)) });
    }
    await page.context().close();
  }
}

// Searches of the page find what --filter finds; what cannot be read is said, and greys nothing.
async function checkSearch(browser, name, expressions) {
  const file = path.join(SNAPSHOTS, `${name}.pickle`), page = await open(browser, pageOf(file, name).out, `${name} search`);
  const plot = async () => (await page.locator("#plot").boundingBox()).y, before = await plot();
  const ordinal = String(await page.evaluate(() => window.memviz.base.ordinal));
  const search = async (text) => {
    await page.locator("#search").fill(text);
    await page.waitForTimeout(250);
    await settled(page, name);
    return page.locator("#found").innerText();
  };
  for (const expression of expressions) {
    const { matches } = JSON.parse(run("trace_plot", "--device", ordinal, "--filter", expression, "--json", file, "-o", path.join(folder, "filter.svg")));
    const found = await search(expression), count = `${matches.toLocaleString("en-US")} allocation`;
    check(matches > 0 ? found.includes(`: ${count}`) : found.includes("no allocation matches"), `${name} ${expression}: '${found}' for ${matches}`);
    const lit = await page.evaluate(() => {
      const { icicle, model, moment, match } = window.memviz;
      let alive = 0;
      model.eachAlive(moment, (i) => { alive += match.has(model.device, i); });
      const leaves = Array.from(icicle.own.keys()).filter((n) => icicle.own[n] > 0);
      return { alive, lit: leaves.filter((n) => icicle.lit[n]).length, root: icicle.lit[0] };
    });
    check((lit.alive > 0) === (lit.root === 1) && (lit.alive > 0) === (lit.lit > 0), `${name} ${expression}: flame ${JSON.stringify(lit)}`);
    check(await plot() === before, `${name} ${expression}: the plot moved from ${before} to ${await plot()}`);
  }
  for (const [text, words] of [["cat:optimizer", "does not know categories"], ["size>much", "expected bytes"],
    ["/forward", "closing"], ["forward|attention", "a regular expression is written"], ["zzz", "no allocation matches"]]) {
    const found = await search(text), grey = await page.evaluate(() => window.memviz.match !== null);
    check(found.includes(words), `${name}: '${text}' says '${found}'`);
    check(grey === /allocation matches/.test(found), `${name}: '${text}' greys: ${grey}`);
  }
  for (const tab of ["segments", "state", "flame", "active"]) {
    await page.locator(`#tab-${tab}`).click();
    check(await plot() === before, `${name} ${tab}: the plot moved from ${before} to ${await plot()}`);
  }
  await page.context().close();
}

// The wheel, a pointer that is still, and what the page says then; a line's key; focus; paper.
async function checkManners(browser, name, width, colorScheme) {
  const file = path.join(folder, `${name}.html`), what = `${name} ${width} ${colorScheme}`;
  const page = await open(browser, file, what, { viewport: { width, height: 720 }, colorScheme });
  const box = await page.locator("#plot").boundingBox();
  await page.mouse.move(box.x + 84 + (box.width - 98) * 0.37, box.y + box.height * 0.6);
  await settled(page, what);
  for (let i = 0; i < 25; i++) await page.mouse.wheel(0, -120);
  await settled(page, what);
  const told = await page.evaluate(() => {
    const { memviz: app } = window, at = app.input.at(app.input.pointer, app.canvas), { event, found } = app.plot.hit(at.x, at.y);
    return { event, found, moment: app.moment, hovered: app.hovered, tip: document.getElementById("tip").textContent,
      sites: document.getElementById("sites").textContent, flame: document.getElementById("flame-bar").textContent };
  });
  check(told.event === told.moment && told.found === told.hovered, `${what}: after the wheel ${JSON.stringify(told)}`);
  check(told.tip.includes(`event ${told.event.toLocaleString("en-US")}`), `${what}: tip ${told.tip} of event ${told.event}`);
  for (const text of [told.sites, told.flame]) check(text.includes(`event ${told.event.toLocaleString("en-US")}`) ||
    /at the (peak|end)/.test(text), `${what}: '${text.slice(0, 60)}' of event ${told.event}`);
  await page.waitForTimeout(500);
  const spoken = await page.locator("#spoken").textContent(), label = await page.locator("#plot").getAttribute("aria-label");
  check(/allocated .*reserved/.test(spoken) && /peak allocated/.test(label), `${what}: says '${spoken}', '${label}'`);
  const key = await page.locator("#key").innerText(), sites = await page.locator("#sites").boundingBox();
  check(/reserved/.test(key), `${what}: the key is '${key}'`);
  check(sites.y < 720 && sites.x + 100 < width, `${what}: the legend is at ${JSON.stringify(sites)}`);
  await page.locator("#tab-state").focus();
  await page.keyboard.press("5");
  await page.keyboard.press("1");
  const ring = await page.evaluate(() => getComputedStyle(document.getElementById("plot")).outlineStyle);
  check(ring !== "none", `${what}: focus has no ring`);
  await page.screenshot({ path: path.join(folder, `${name}_${width}_${colorScheme}.png`) });
  await page.locator("#tab-state").click();
  await settled(page, what);
  await page.screenshot({ path: path.join(folder, `${name}_${width}_${colorScheme}_state.png`) });
  await page.locator("#tab-active").click();
  await page.pdf({ path: path.join(folder, `${name}_${width}_${colorScheme}.pdf`) });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  const paper = await page.evaluate(() => {
    document.body.style.width = "600px"; // paper is narrower, and the canvas is not made anew for it
    const canvas = document.getElementById("plot"), b = canvas.getBoundingClientRect();
    return { stretch: b.width / b.height / (canvas.width / canvas.height), theme: document.documentElement.dataset.theme,
      swatch: getComputedStyle(document.querySelector(".swatch")).printColorAdjust };
  });
  check(Math.abs(paper.stretch - 1) < 0.02 && paper.theme === "light" && paper.swatch === "exact", `${what}: paper ${JSON.stringify(paper)}`);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  check(await page.evaluate(() => document.documentElement.dataset.theme) === colorScheme, `${what}: the theme after printing`);
  await page.context().close();
}

async function useIt(page, name, shot) {
  const box = await page.locator("#plot").boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.7);
  await settled(page, name);
  const tip = await page.locator("#tip").innerText();
  check(/allocated/.test(tip), `${name}: the tip says '${tip}'`);
  const frames = await page.locator("#details .stack li").count();
  const have = await page.evaluate(() => [window.memviz.hovered, window.memviz.hovered < 0 ? 0 :
    window.memviz.tables.of(window.memviz.device.stack[window.memviz.hovered], true).length]);
  check(frames === have[1], `${name}: ${frames} frames shown of ${have}`);
  await page.mouse.click(box.x + box.width * 0.6, box.y + box.height * 0.7);
  await shot("hover");
  await page.keyboard.press("/");
  await page.keyboard.type("/forward|attention/");
  await page.waitForTimeout(300);
  await settled(page, name);
  check(/\d+ frames, [1-9]/.test(await page.locator("#found").innerText()), `${name}: nothing was found`);
  await shot("search");
  await page.keyboard.press("Enter");
  await settled(page, name);
  await page.keyboard.press("Escape");
  for (let i = 0; i < 40; i++) await page.keyboard.press("w");
  await settled(page, name);
  const span = await page.evaluate(() => window.memviz.view.x1 - window.memviz.view.x0);
  check(span < 400, `${name}: zoomed in to ${span} events`);
  await checkPicture(page, `${name} zoomed in`);
  await shot("deep");
  for (const key of ["x", "x", "x", "m", "m", "y", "0", "p", "]", "[", ".", ",", "b", "e", "f", "o", "t", "t", "n", "?", "?", "0"]) {
    await page.keyboard.press(key);
    await page.waitForTimeout(30);
  }
  await settled(page, name);
  await page.locator("#axis").selectOption("tick");
  await page.locator("#measure").selectOption("requested");
  await settled(page, name);
  await checkPicture(page, `${name} in PyTorch's ticks`);
  const levels = await page.evaluate(compareLevels);
  check(!levels, `highest of ${levels}`);
  const ticks = await page.evaluate(compareTicks);
  check(!ticks, `${name}: ticks: ${ticks}`);
  for (let i = 0; i < 14; i++) await page.keyboard.press("w");
  await settled(page, name);
  await checkPicture(page, `${name} in PyTorch's ticks, zoomed in`);
  await shot("ticks");
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const python = ["python3", path.join(__dirname, "hostile.py"), path.join(folder, "hostile.pickle")];
  execFileSync(python[0], python.slice(1));
  const small = ["leak_in_training", "gpt_train", "two_devices", "oom", "streams", "no_history", "late_start",
    "ring", "compiled", "profiler_steps", "graph_trees", "graphs", "mempool", "gpt_train_expandable",
    "expandable_empty", "oom_fragmented", "state_only", "retry_release"];
  for (const name of small) {
    const file = path.join(SNAPSHOTS, `${name}.pickle`), { out } = pageOf(file, name);
    const page = await open(browser, out, name, { colorScheme: name === "oom" ? "dark" : "light" });
    await checkFigures(page, name, file);
    await settled(page, name);
    await checkPicture(page, name);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
    await checkMoments(page, name, file);
    await checkTabs(page, name, (tab) => page.screenshot({ path: path.join(folder, `${name}_${tab}.png`) }));
    await page.context().close();
  }
  const one = path.join(folder, "gpt_train.html");
  let page = await open(browser, one, "use");
  await useIt(page, "use", (kind) => page.screenshot({ path: path.join(folder, `use_${kind}.png`) }));
  await page.context().close();
  await checkOldBrowser(browser, one);
  page = await open(browser, one, "small window", { viewport: { width: 700, height: 600 }, deviceScaleFactor: 2 });
  await checkPicture(page, "small window");
  await page.screenshot({ path: path.join(folder, "small_window.png") });
  await page.context().close();

  await checkOdd(browser);
  await checkSearch(browser, "gpt_train", ["size>64M", "size<=4k", "attention size>1M -backward", "life:never", "life<10", "stream:0",
    "pool:0,0", "site:train.py:62", "site:train.py", "stack:17", "nostack", "nopython", "/[Bb]ackward/ size>=1.5M", "leak", "-train.py"]);
  await checkSearch(browser, "two_devices", ["size>1M", "nostack"]);
  await checkSearch(browser, "streams", ["stream:0", "-stream:0", "stream:unknown", "pool:unknown"]);
  await checkSearch(browser, "leak_in_training", ["leak", "-leak size>1M"]);
  for (const name of ["gpt_train", "two_devices", "oom"])
    for (const width of [800, 1280, 1920])
      for (const theme of ["light", "dark"]) await checkManners(browser, name, width, theme);
  await checkFilter(browser, "gpt_train", "attention size>1M");
  await checkFilter(browser, "leak_in_training", "leak");
  await checkFilter(browser, "oom", "never_called");

  const evil = pageOf(path.join(folder, "hostile.pickle"), "hostile");
  page = await open(browser, evil.out, "hostile");
  const box = await page.locator("#plot").boundingBox();
  for (let i = 1; i < 20; i++) await page.mouse.move(box.x + 80 + i * 50 % box.width, box.y + box.height - 110 - i * 14);
  await page.mouse.click(box.x + 600, box.y + box.height - 200);
  const flame = await page.locator("#flame").boundingBox();
  for (let i = 1; i < 6; i++) await page.mouse.move(flame.x + i * 90, flame.y + i * 19 - 8);
  await settled(page, "hostile");
  const odd = await page.evaluate(() => [window.hacked, document.querySelectorAll("img, svg, iframe, script[src]").length,
    document.scripts.length]);
  check(odd[0] === undefined && odd[1] === 0 && odd[2] <= 2, `hostile: ${odd}`);
  await page.screenshot({ path: path.join(folder, "hostile.png") });
  await page.context().close();

  for (const file of large) await timeLarge(browser, file);
  await browser.close();
  console.log(failures ? `test-html: ${failures} failures` : "test-html: all is well");
  process.exit(failures ? 1 : 0);
}
main();
