// What scripts/test-html runs: node browser.cjs PLAYWRIGHT CHROMIUM MEMVIZ FOLDER [LARGE FILE]
"use strict";
const { execFileSync } = require("child_process");
const path = require("path");
const fs = require("fs");
const [, , playwright, executablePath, memviz, folder, large] = process.argv;
const { chromium } = require(playwright);
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
  if (options.old) await page.addInitScript(() => { delete window.DecompressionStream; });
  await page.goto(`file://${file}`);
  await settled(page, name);
  return page;
}

async function settled(page, name) {
  await page.waitForTimeout(120);
  await page.waitForFunction(() => window.memviz?.whole && !window.memviz.pending, null, { timeout: 30000 })
    .catch(() => check(false, `${name}: never came to rest`));
}

// Pixels of the tiles against allocations that are stacked one by one, as the text of
// docs/timeline.md says; written without anything of the page but its columns.
function comparePixels() {
  const { memviz: app } = window, { model, axis, plot, view } = app, d = model.device;
  const exact = (view.x1 - view.x0) / (plot.w * plot.ratio);
  let compared = 0, wrong = "";
  for (const tile of plot.store.tiles.filter((t) => t.dx === exact && t.done === t.columns && t.y0 === view.y0)) {
    for (let n = 0; n < 12; n++) {
      const column = Math.floor(Math.random() * tile.columns), x = tile.x0 + tile.dx * (column + 0.5);
      if (x > axis.length) continue;
      const [event, slid] = axis.instant(model, tile.x0 + tile.dx * column, tile.x0 + tile.dx * (column + 1));
      const want = new Uint32Array(tile.height);
      let below = 0;
      for (let i = 0; i < d.count; i++) {
        if (d.birth[i] > event) continue;
        const isGhost = model.end[i] === event && event >= 0;
        if (event >= 0 && model.end[i] <= event && !(isGhost && slid < 1)) continue;
        const high = isGhost ? Math.round(model.size[i] * (1 - slid)) : model.size[i];
        for (let row = Math.max(0, Math.floor((below - tile.y0) / tile.dy) - 1);
          row < tile.height && tile.y0 + (row + 0.5) * tile.dy < below + high; row++)
          if (tile.y0 + (row + 0.5) * tile.dy >= below && !isGhost) want[row] = i + 1;
        below += high;
      }
      for (let row = 0; row < tile.height; row++) {
        compared++;
        const have = tile.ids[column * tile.height + row] & 0x7fffffff;
        if (have !== want[row]) wrong ||= `event ${event} row ${row}: ${have} for ${want[row]}`;
      }
    }
  }
  return { compared, wrong };
}

// PyTorch's clock, counted by walking over all events and all that is alive.
function compareTicks() {
  const { memviz: app } = window, { model, axis } = app, d = model.device, alive = [];
  const bornAt = new Map(), endAt = new Map();
  for (let i = 0; i < d.count; i++) {
    if (d.birth[i] < 0) alive.push(i); else bornAt.set(d.birth[i], i);
    if (model.end[i] < d.events) endAt.set(model.end[i], i);
  }
  let tick = 0, wrong = "";
  for (let e = 0; e < d.events; e++) {
    const freed = endAt.get(e), born = bornAt.get(e);
    let after = 0;
    if (freed !== undefined) {
      const at = alive.indexOf(freed);
      tick += 1;
      after = at < alive.length - 1 ? 3 : 0;
      alive.splice(at, 1);
    }
    if (axis.position[e] !== tick) wrong ||= `event ${e} at ${axis.position[e]} instead of ${tick}`;
    if (born !== undefined) { alive.push(born); after = 1; }
    tick += after;
  }
  return wrong;
}

// The tree of maxima against looking at every event.
function compareLevels() {
  for (let trial = 0; trial < 60; trial++) {
    const count = 1 + Math.floor(Math.random() * 3000);
    const levels = new Levels(Float64Array.from({ length: count }, () => Math.floor(Math.random() * 50)), 20);
    for (let k = 0; k < 200; k++) {
      const from = Math.floor(Math.random() * (count + 1)) - 1, to = from + Math.floor(Math.random() * (count - from + 1));
      let best = to > from ? from : from - 1;
      for (let e = from; e < to; e++) if (levels.at(e) > levels.at(best)) best = e;
      if (levels.highest(from, to) !== best) return `${count} events, ${from} to ${to}`;
    }
  }
  return "";
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
    return { allocated: model.allocated.at(model.allocated.highest(-1, d.events)),
      event: model.allocated.highest(-1, d.events), reserved: d.reserved.at(d.reserved.highest(-1, d.events)),
      end: model.allocated.at(d.events - 1) };
  }));
  have.forEach((h, i) => {
    const peak = stats[i].peak;
    check(h.allocated === peak.allocated && h.reserved === peak.reserved,
      `${name}: peaks ${JSON.stringify(h)}, stats ${JSON.stringify(peak)}`);
    check(peak.allocated_event === null || h.event === peak.allocated_event,
      `${name}: highest at ${h.event}, stats ${peak.allocated_event}`);
    check(h.end === stats[i].current.allocated || stats[i].audit.residual !== 0,
      `${name}: at the end ${h.end}, stats ${stats[i].current.allocated}`);
  });
  await page.evaluate(() => window.memviz.setDevice(0));
}

// Zooms in at the peak, pans, zooms out: milliseconds between frames, and of drawing alone.
async function timeFrames(page) {
  const box = await page.locator("#plot").boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.4);
  await page.evaluate(() => {
    window.gaps = [];
    window.memviz.frameTimes.length = 0;
    let last = performance.now(), on = true;
    const tick = (now) => { window.gaps.push(now - last); last = now; if (on) requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
    window.stopGaps = () => { on = false; };
  });
  for (let i = 0; i < 60; i++) { await page.mouse.wheel(0, -60); await page.waitForTimeout(16); }
  for (let i = 0; i < 60; i++) { await page.mouse.wheel(40, 0); await page.waitForTimeout(16); }
  for (let i = 0; i < 60; i++) { await page.mouse.wheel(0, 60); await page.waitForTimeout(16); }
  return page.evaluate(() => {
    window.stopGaps();
    const at = (list, share) => list.slice().sort((a, b) => a - b)[Math.floor((list.length - 1) * share)];
    const { frameTimes } = window.memviz;
    return { frames: frameTimes.length, p50: at(frameTimes, 0.5), p95: at(frameTimes, 0.95), most: at(frameTimes, 1),
      gap50: at(window.gaps, 0.5), gap95: at(window.gaps, 0.95) };
  });
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
  await page.keyboard.type("forward|attention");
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
  const small = ["leak_in_training", "gpt_train", "two_devices", "oom", "streams", "no_history", "late_start", "ring",
    "compiled", "profiler_steps", "graph_trees"];
  for (const name of small) {
    const file = path.join(SNAPSHOTS, `${name}.pickle`), { out } = pageOf(file, name);
    const page = await open(browser, out, name, { colorScheme: name === "oom" ? "dark" : "light" });
    await checkFigures(page, name, file);
    await settled(page, name);
    await checkPicture(page, name);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
    await page.context().close();
  }
  const one = path.join(folder, "gpt_train.html");
  let page = await open(browser, one, "use");
  await useIt(page, "use", (kind) => page.screenshot({ path: path.join(folder, `use_${kind}.png`) }));
  await page.context().close();
  page = await open(browser, one, "old browser", { old: true });
  await checkPicture(page, "old browser");
  await page.context().close();
  page = await open(browser, one, "small window", { viewport: { width: 700, height: 600 }, deviceScaleFactor: 2 });
  await checkPicture(page, "small window");
  await page.screenshot({ path: path.join(folder, "small_window.png") });
  await page.context().close();

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

  if (large) {
    const { out, written, bytes } = pageOf(large, "large");
    page = await open(browser, out, "large");
    const opened = await page.evaluate(() => window.memviz.opened);
    await checkPicture(page, "large");
    await page.screenshot({ path: path.join(folder, "large.png") });
    const frames = await timeFrames(page);
    await settled(page, "large");
    console.log(JSON.stringify({ file: path.basename(large), written_ms: written, bytes, opened_ms: Math.round(opened),
      ...Object.fromEntries(Object.entries(frames).map(([k, v]) => [k, Math.round(v * 10) / 10])) }));
    check(bytes <= 15e6, `large: ${bytes} bytes`);
    check(opened <= 2000, `large: opened after ${opened} ms`);
    check(frames.p95 <= 33, `large: p95 of frames is ${frames.p95} ms`);
    await page.context().close();
  }
  await browser.close();
  console.log(failures ? `test-html: ${failures} failures` : "test-html: all is well");
  process.exit(failures ? 1 : 0);
}
main();
