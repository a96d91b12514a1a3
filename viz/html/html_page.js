// The page: what is shown now. All views look at one device and one moment; keys and the pointer
// are in html_input.js.

// The colours of all pictures are in the column "palette"; these are the page's own.
const THEMES = {
  light: { map: "#8fa3b5", veil: "#ffffffb0", lane: "#cfd9e2", laneText: "#1c1c1c", frameRoot: "#dfe3e7", frameFaint: "#e6e8ea" },
  dark: { map: "#5b7389", veil: "#16191db0", lane: "#34424f", laneText: "#f0f0f0", frameRoot: "#333940", frameFaint: "#2b3036" },
};
const THEME_COLOURS = ["background", "plot", "grid", "text", "faint", "outline", "reserved", "active", "alarm", "lane",
  "leak", "unknown", "native"], FRAMES = 5, FULLNESS = 5;

function toCss(rgb) { return "#" + rgb.toString(16).padStart(6, "0"); }

// {light, dark}. By kind of a frame: the user's own code, packages, framework, native, interpreter,
// segments; each in two shades, for neighbours.
function readPalette(columns) {
  const all = Array.from(numbers(columns, "palette")), read = (name) => {
    const theme = { ...THEMES[name] }, take = (count) => all.splice(0, count);
    take(THEME_COLOURS.length).forEach((rgb, i) => { theme[THEME_COLOURS[i]] = i < 10 ? toCss(rgb) : rgb; });
    const kinds = Array.from({ length: FRAMES }, () => take(2).map(toCss));
    kinds.splice(4, 0, kinds[3]);
    return { ...theme, lanes: [theme.lane, THEMES[name].lane], frameKinds: kinds, fullness: take(FULLNESS).map(toCss) };
  };
  return { light: read("light"), dark: read("dark") };
}

// Names in the file (mv_page_view), as tabs, with the names that PyTorch's viewer has for them.
const TABS = [
  ["active", "memory timeline", "Active Memory Timeline: allocations over time (1)"],
  ["segments", "segment timeline", "Active Cached Segment Timeline: what PyTorch took from the device (2)"],
  ["state", "allocator state", "Allocator State History: every segment and block at the moment (3)"],
  ["flame", "flame graph", "who holds the bytes of the moment (4)"],
  ["pools", "pools", "the memory timeline of each pool: the default one, and those of CUDA graphs and MemPools (5)"],
];
const VIEWS = ["active", "segments", "state", "flame", "flame", "pools"];

function toPixel(rgb) {
  return (0xff000000 | (rgb & 255) << 16 | (rgb & 0xff00) | rgb >> 16 & 255) >>> 0;
}

function mix(rgb, other, share) {
  let out = 0;
  for (const shift of [16, 8, 0]) {
    const a = rgb >> shift & 255, b = other >> shift & 255;
    out |= Math.round(a + (b - a) * share) << shift;
  }
  return out;
}

class App {
  constructor(columns) {
    this.tables = new Tables(columns);
    this.themes = readPalette(columns);
    this.devices = [];
    for (let i = 0; columns.has(`${i}.facts`); i++) this.devices.push(new Device(columns, i));
    const [theme, view, allFrames, top] = numbers(columns, "opening"), [filter] = texts(columns, "filter");
    this.frameTimes = [];
    this.problem = ""; // of the search
    this.version = 0;
    this.isShort = !allFrames;
    this.tab = VIEWS[view];
    this.source = view === 4 ? "segments" : "stacks";
    this.isInverted = this.counts = false;
    this.given = filter === undefined ? null : { name: `filter ${filter}`, has: (rows, i) => (rows.chosen[i] & 1) === 1 };
    this.match = this.given;
    this.isAlone = Boolean(filter);
    this.top = top;
    this.hasTop = top > 0;
    this.moved = -1000;
    this.pending = false;
    this.build();
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.setTheme(theme === 2 || (theme === 0 && isDark) ? "dark" : "light");
    this.setDevice(0);
    this.input = new Input(this);
  }

  // ---- the elements ----

  build() {
    const choice = (id, values) => {
      const select = element("select", { id });
      for (const [value, text] of values) select.append(element("option", { value }, text));
      return select;
    };
    this.deviceBox = choice("device", this.devices.map((d, i) => [i, `device ${d.ordinal}`]));
    this.axisBox = choice("axis", [["event", "events"], ["time", "time"], ["tick", "PyTorch's ticks"]]);
    this.measureBox = choice("measure", [["block", "allocated blocks"], ["requested", "requested (PyTorch's)"]]);
    this.searchBox = element("input", { id: "search", type: "search", placeholder: "search: /",
      title: "text of a frame, /regular expression/, size>64M, site:, stream:, leak ... (? has all)", spellcheck: false });
    this.searchBox.setAttribute("aria-label", "search");
    this.sourceBox = choice("source", [["stacks", "by stack"], ["segments", "by segment"]]);
    this.weightBox = choice("weight", [["bytes", "bytes"], ["blocks", "blocks"]]);
    this.invertBox = element("input", { id: "invert", type: "checkbox" });
    this.framesBox = element("input", { id: "frames", type: "checkbox" });
    this.aloneBox = element("input", { id: "alone", type: "checkbox" });
    this.givenButton = element("button", { id: "given", hidden: !this.given, title: "the filter from the command line" }, "filter");
    this.topButton = element("button", { id: "top", hidden: !this.top, title: "in colour: the largest" }, `top ${this.top}`);
    this.buildPage();
  }

  buildPage() {
    this.main = document.getElementById("main");
    this.key = element("span", { id: "key" });
    this.found = element("span", { id: "found" });
    this.found.setAttribute("role", "status");
    this.spoken = element("p", { id: "spoken" });
    this.spoken.setAttribute("aria-live", "polite");
    this.tabs = element("nav", { id: "tabs" }, ...TABS.map(([name, text, title]) =>
      element("button", { id: `tab-${name}`, title, onclick: () => this.setTab(name) }, text)));
    this.helpButton = element("button", { id: "help-button", title: "keys" }, "? keys");
    this.wholeButton = element("button", { id: "whole", title: "everything (0)" }, "all");
    this.measureLabel = element("label", {}, "height:", this.measureBox);
    this.aloneLabel = element("label", { title: "stack only what matches (I)" }, this.aloneBox, "alone");
    this.bar = element("div", { id: "bar" }, this.tabs, ...(this.devices.length > 1 ? [this.deviceBox] : []),
      this.wholeButton, element("label", {}, "x:", this.axisBox), this.measureLabel, this.searchBox,
      this.aloneLabel, this.givenButton, this.topButton, this.helpButton);
    this.canvas = element("canvas", { id: "plot", tabIndex: 0 });
    this.flame = element("canvas", { id: "flame" });
    for (const canvas of [this.canvas, this.flame]) canvas.setAttribute("role", "img");
    this.flameTitle = element("h2", {});
    this.flameBox = element("div", { id: "flame-box" }, this.flame);
    this.details = element("section", { id: "details" });
    this.sites = element("section", { id: "sites" });
    this.tip = element("div", { id: "tip", hidden: true });
    this.help = element("div", { id: "help", hidden: true });
    const flameBar = element("div", { id: "flame-bar" }, this.flameTitle, this.sourceBox, this.weightBox,
      element("label", {}, this.invertBox, "inverted"), element("label", {}, this.framesBox, "all frames"));
    this.main.append(this.bar, element("div", { id: "line" }, this.key, this.found), element("div", { id: "plot-box" }, this.canvas),
      element("div", { id: "below" }, flameBar, this.flameBox), element("aside", {}, this.details, this.sites));
    document.body.append(this.tip, this.help, this.spoken);
  }

  // ---- what is shown ----

  setTheme(name) {
    this.themeName = name;
    this.theme = this.themes[name];
    document.documentElement.dataset.theme = name;
    if (!this.model) return;
    this.recolour();
    this.plot.map = null;
    this.showControls();
    this.showDetails();
    this.showMoment();
  }

  // Paper is white; the whole picture is drawn now, as there is no other frame.
  beginPrint() {
    this.shownTheme = this.themeName;
    this.setTheme("light");
    this.moved = -1000;
    while (!this.plot.draw(performance.now()));
  }

  setDevice(index) {
    const base = this.devices[index];
    this.index = index;
    this.deviceBox.value = index;
    this.base = base;
    this.device = this.axis = this.moment = null;
    this.measure = "block";
    for (const option of this.axisBox.options) option.disabled = option.value === "time" && !base.time.length;
    const verdict = document.getElementById("verdict");
    verdict.textContent = base.verdict;
    verdict.className = base.alarms ? "alarm" : "";
    this.pendingLevels = this.findPending(base);
    this.view = null;
    this.showRows("event");
    const [from, to] = base.window;
    this.fitAll();
    if (base.events && (from > 0 || to < base.events)) {
      this.view.x0 = this.axis.at(from);
      this.view.x1 = Math.max(this.view.x0 + 1, this.axis.at(to));
    }
    this.showDetails();
  }

  get isTimeline() { return ["active", "segments", "pools"].includes(this.tab); }

  setTab(name) {
    this.tab = name;
    this.showRows(this.axis.mode);
    this.plot.resize();
    Object.assign(this.view, { y0: 0, y1: this.most * 1.06 });
    this.touch();
    this.canvas.focus();
  }

  setMeasure(measure) {
    this.measure = measure;
    this.showRows(this.axis.mode);
  }

  // Freed blocks that wait for a stream still count as active; drawn only where some wait longer
  // than the one event that every free takes.
  findPending(device) {
    let waits = false;
    for (let i = 0; i < device.count && !waits; i++)
      waits = device.freed[i] !== NEVER && device.completed[i] > device.freed[i] + 1;
    if (!waits) return null;
    return Model.prototype.levels.call({ device, size: device.block }, device.completed);
  }

  // The rows that the view is about, in the current measure.
  showRows(mode) {
    const { base, tab } = this, rows = tab === "segments" ? base.segments : base, last = base.events;
    const device = this.isAlone && this.match && tab !== "state" ? rows.only(this.match) : rows;
    if (device !== this.device) this.hovered = this.pinned = this.site = -1;
    this.device = device;
    this.model = device.model(device.isSegments ? "block" : this.measure);
    this.used = base.model(this.model.measure).allocated;
    this.active = device.isSegments ? this.used : this.pendingLevels;
    this.peak = (device.count ? this.model.allocated : this.used).highest(-1, last);
    this.moment ??= base.moment >= -1 ? base.moment : this.used.at(this.peak) > 0 ? this.peak : last - 1;
    this.home = this.moment;
    const reserved = base.reserved.at(base.reserved.highest(-1, last));
    this.most = Math.max(1, this.model.allocated.at(this.peak), device.isPart && device.count ? 0 : reserved);
    this.bands = tab === "pools" ? poolBands(device, base, this.measure) : [wholeBand(this.model)];
    if (tab === "pools") this.most = this.bands.reduce((most, band) => Math.max(most, band.base + band.high), 1);
    document.getElementById("figures").textContent = this.figures(this.used.at(this.used.highest(-1, last)), reserved);
    this.showControls();
    this.recolour();
    this.setAxis(mode);
    this.plot ||= new Plot(this, this.canvas);
    this.plot.clear();
    this.makeIcicle();
    this.showDetails();
    this.showMoment();
  }

  showControls() {
    this.main.dataset.tab = this.tab;
    this.canvas.setAttribute("aria-label", `${TABS.find(([name]) => name === this.tab)[1]}: ` +
      document.getElementById("figures").textContent);
    document.getElementById("tab-pools").hidden = this.tab !== "pools" &&
      this.devices.every((device) => new Set(device.placePool).size < 2);
    showKey(this.key, this);
    for (const [name] of TABS)
      document.getElementById(`tab-${name}`).setAttribute("aria-pressed", String(name === this.tab));
    this.measureBox.value = this.model.measure;
    this.measureBox.disabled = this.device.isSegments || this.tab === "state";
    this.sourceBox.value = this.source;
    this.weightBox.value = this.counts ? "blocks" : "bytes";
    this.invertBox.checked = this.isInverted;
    this.framesBox.checked = !this.isShort;
    this.aloneBox.checked = this.isAlone;
    this.aloneBox.disabled = !this.match;
    this.givenButton.setAttribute("aria-pressed", String(Boolean(this.match) && this.match === this.given));
    this.topButton.setAttribute("aria-pressed", String(this.hasTop));
  }

  figures(peak, reserved) {
    const { base } = this, isHeap = base.events === 0, least = base.exact ? "" : "at least ";
    const span = base.time.length ? ` in ${duration(base.time[base.events - 1] - base.time[0])}` : "";
    return `device ${base.ordinal} \u00b7 ${isHeap ? "" : "peak "}allocated ${least}${size(peak)} \u00b7 ` +
      `${isHeap ? "" : "peak "}reserved ${size(reserved)} \u00b7 ` + (isHeap ? "no events recorded" :
      `${counted(base.events, "event")}${span}, ${counted(base.count, "allocation")}`) +
      (base.history === 1 || base.history === 2 ? ` \u00b7 ${base.historyWhy}` : "");
  }

  setAxis(mode) {
    const before = this.axis, { view } = this;
    if (mode === "time" && !this.device.time.length) mode = "event";
    this.axis = this.model.axis(mode);
    this.axisBox.value = mode;
    if (before && view) {
      view.x0 = this.axis.at(before.from(view.x0));
      view.x1 = Math.max(view.x0 + 1, this.axis.at(before.from(view.x1)));
    }
    this.ranges = this.findRanges();
    if (this.plot) {
      this.plot.clear();
      this.touch();
    }
  }

  // Ranges of annotations, by nesting; without any, the steps that the leak report found.
  findRanges() {
    const { device, tables } = this, { time } = device, ranges = [], open = [];
    const eventAt = (when) => {
      let low = 0, high = time.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (time[middle] < when) low = middle + 1; else high = middle;
      }
      return low;
    };
    for (const note of time.length ? tables.notes : []) {
      if (note.device >= 0 && note.device !== device.ordinal) continue;
      if (note.stage === "start") open.push({ name: note.name, from: eventAt(note.time) });
      let depth = open.length - 1;
      while (note.stage === "end" && depth >= 0 && open[depth].name !== note.name) depth--;
      if (note.stage !== "end" || depth < 0) continue;
      ranges.push({ ...open[depth], to: eventAt(note.time), depth, index: ranges.length });
      open.length = depth;
    }
    this.hasSteps = ranges.length === 0 && device.step.length > 0;
    if (this.hasSteps)
      device.step.forEach((from, i) => ranges.push({ name: String(i + 1), depth: 0, index: i, from,
        to: i + 1 < device.step.length ? device.step[i + 1] : device.events }));
    return ranges.sort((a, b) => a.from - b.from || b.to - a.to);
  }

  // ---- colours ----

  siteRgb(site) {
    const colour = this.device.siteColour[site], { theme } = this;
    return colour === 1 ? theme.leak : colour === 2 ? theme.unknown : colour === 3 ? theme.native : colour;
  }

  cssSite(site) { return toCss(this.siteRgb(site)); }
  cssColour(i) { return this.cssSite(this.device.site[i]); }

  isFaint(i) {
    if (this.hasTop && !(this.device.chosen[i] & 2)) return true;
    if (this.site >= 0) return this.device.site[i] !== this.site;
    return this.match !== null && !this.match.has(this.device, i);
  }

  recolour() {
    const { device } = this, isDark = this.themeName === "dark";
    const ground = isDark ? 0x2b3036 : 0xe4e6e8, sites = device.siteLabel.length;
    const lut = { plain: [], light: [], edge: [] };
    for (let s = 0; s < sites; s++) {
      const rgb = this.siteRgb(s);
      lut.plain.push(toPixel(rgb));
      lut.light.push(toPixel(mix(rgb, 0xffffff, 0.13)));
      lut.edge.push(toPixel(mix(rgb, isDark ? 0x16191d : 0xffffff, 0.55)));
    }
    const faint = [toPixel(ground), toPixel(mix(ground, isDark ? 0 : 0xffffff, 0.35))];
    this.colours = this.colours?.length === device.count ? this.colours : new Uint32Array(device.count);
    this.edges = this.edges?.length === device.count ? this.edges : new Uint32Array(device.count);
    for (let i = 0; i < device.count; i++) {
      const isFaint = (this.match || this.hasTop || this.site >= 0) && this.isFaint(i), s = device.site[i];
      this.colours[i] = isFaint ? faint[i & 1] : i & 1 ? lut.light[s] : lut.plain[s];
      this.edges[i] = isFaint ? faint[1 - (i & 1)] : lut.edge[s];
    }
    this.version++;
    this.dirty();
  }

  // ---- drawing ----

  dirty() {
    if (this.pending || !this.plot) return;
    this.pending = true;
    requestAnimationFrame(() => this.frame());
  }

  // The view changed.
  touch() {
    this.moved = performance.now();
    this.dirty();
  }

  frame() {
    const start = performance.now();
    this.pending = false;
    this.input?.settle();
    this.isWhole = this.plot.draw(start);
    if (this.staleMoment) this.showMoment();
    this.frameTimes.push(performance.now() - start);
    if (this.frameTimes.length > 4000) this.frameTimes.splice(0, 2000);
    if (!this.isWhole) this.dirty();
  }

  momentText(event) {
    const { events } = this.base;
    return events === 0 ? "when the file was written" : event < 0 ? "before the first event" : event === this.peak ? "at the peak" :
      event === events - 1 ? "at the end" : `at event ${exact(event)}`;
  }

  // The flame graph and the call sites of the moment.
  showMoment() {
    this.staleMoment = false;
    if (this.tab !== "state") {
      if (this.source === "segments") this.icicle.weighSegments(this.heap(), this.match);
      else this.icicle.weighStacks(this.model, this.moment, this.match);
      this.drawFlame();
    }
    showSites(this.sites, this, this.moment);
    this.showFound();
    this.speak();
    this.dirty();
  }

  // Says the moment, and what is pointed at or pinned, to those who cannot see the picture; once the
  // view rests.
  speak() {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => {
      const { base, moment } = this, shown = this.pinned >= 0 ? this.pinned : this.hovered;
      this.spoken.textContent = (this.tab === "state" ? this.plot.state.summary() : `${this.momentText(moment)}: ` +
        `allocated ${size(this.used.at(moment))}, reserved ${size(base.reserved.at(moment))}`) +
        (shown < 0 ? "" : `; ${this.device.siteLabel[this.device.site[shown]]}, ${size(this.device.block[shown])}`);
    }, 400);
  }

  // The heap at the moment.
  heap() {
    if (this.heapMade?.device !== this.base || this.heapMade.event !== this.moment)
      this.heapMade = new Heap(this.base, this.moment);
    return this.heapMade;
  }

  makeIcicle() {
    this.icicle = new Icicle(this.tables, this);
  }

  drawFlame(hovered = -1) {
    if (this.tab === "state") return;
    const box = this.flameBox.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    const g = this.flame.getContext("2d"), width = Math.max(200, box.width - 12), { icicle } = this;
    const needed = Math.max(60, box.height, Math.min(1800, icicle.deepest || 0));
    this.flame.width = width * ratio;
    this.flame.height = needed * ratio;
    this.flame.style.width = `${width}px`;
    this.flame.style.height = `${needed}px`;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    icicle.draw(g, width, needed, this.theme, this.match?.hit, hovered);
    if (icicle.deepest > needed && needed < 1800) { this.drawFlame(hovered); return; }
    const what = this.source === "segments" ? "What is in segments of" : this.device.isSegments ?
      "Stacks that asked for segments of" : "Stacks that hold";
    this.flameTitle.textContent = `${what} ${size(icicle.bytes[0])} ${this.momentText(this.moment)}`;
    this.flame.setAttribute("aria-label", `flame graph: ${this.flameTitle.textContent}`);
  }

  showDetails() {
    const shown = this.pinned >= 0 ? this.pinned : this.hovered;
    this.speak();
    if (shown >= 0) showAllocation(this.details, this, shown, this.pinned >= 0);
    else this.details.replaceChildren(element("p", { className: "faint" }, this.tab === "flame" ?
      "Point at the strip for another moment, at a box for its bytes. A click on a box makes it as wide as " +
      "the page; Esc shows everything, U goes up one level." : `Point at ${this.device.isSegments ? "a segment" : "an allocation"} ` +
      "for its size, life and stack. Wheel zooms, dragging moves, / searches."));
  }

  setFlame(choice) {
    Object.assign(this, choice);
    this.showControls();
    this.makeIcicle();
    this.showDetails();
    this.showMoment();
  }

  // ---- the view ----

  fitAll() {
    this.view = { x0: 0, x1: this.axis.length, y0: 0, y1: this.most * 1.06 };
    this.plot.state.reset();
    this.touch();
  }

  setX(x0, x1) {
    const least = this.axis.mode === "time" ? 2 : 4, length = this.axis.length;
    let span = Math.max(Math.min(least, length), Math.min(length, x1 - x0));
    x0 = x0 + (x1 - x0 - span) / 2;
    x0 = Math.max(0, Math.min(length - span, x0));
    this.view.x0 = x0;
    this.view.x1 = x0 + span;
    this.touch();
  }

  zoomX(factor, px = this.plot.x + this.plot.w / 2) {
    const { view } = this, at = this.plot.xAt(Math.max(this.plot.x, Math.min(this.plot.x + this.plot.w, px)));
    const span = (view.x1 - view.x0) * factor, share = (at - view.x0) / (view.x1 - view.x0);
    const least = Math.min(this.axis.length, this.axis.mode === "time" ? 2 : 4);
    const kept = Math.max(least, Math.min(this.axis.length, span));
    this.setX(at - kept * share, at - kept * share + kept);
  }

  zoomY(factor, py = this.plot.y + this.plot.h) {
    const { view } = this, at = this.plot.bytesAt(py), top = this.most * 1.06;
    const span = Math.max(1024, Math.min(top, (view.y1 - view.y0) * factor));
    const share = (at - view.y0) / (view.y1 - view.y0);
    view.y0 = Math.max(0, Math.min(top - span, at - span * share));
    view.y1 = view.y0 + span;
    this.touch();
  }

  panX(pixels) {
    const dx = (this.view.x1 - this.view.x0) / this.plot.w * pixels;
    this.setX(this.view.x0 + dx, this.view.x1 + dx);
  }

  panY(pixels) {
    const { view } = this, span = view.y1 - view.y0, top = Math.max(span, this.most * 1.06);
    view.y0 = Math.max(0, Math.min(top - span, view.y0 + span / this.plot.h * pixels));
    view.y1 = view.y0 + span;
    this.touch();
  }

  goTo(event) {
    const x = this.axis.at(event), half = (this.view.x1 - this.view.x0) / 2;
    this.setX(x - half, x + half);
    this.setMoment(event);
    this.home = event;
  }

  setMoment(event) {
    if (event === this.moment) return;
    this.moment = event;
    this.staleMoment = true;
    this.dirty();
  }

  fitBytes() {
    const { axis, view, model } = this;
    const peak = model.allocated.highest(axis.from(view.x0) - 1, Math.max(1, axis.from(view.x1)));
    view.y0 = 0;
    view.y1 = Math.max(1024, model.allocated.at(peak) * 1.06);
    this.touch();
  }

  fitPinned() {
    if (this.pinned < 0) return;
    const { axis, model, device } = this, end = model.end[this.pinned];
    const a = axis.at(device.birth[this.pinned]), b = end === NEVER ? axis.length : axis.at(end);
    this.setX(a - (b - a) * 0.15 - 2, b + (b - a) * 0.15 + 2);
  }

  step(list, direction) {
    const now = this.moment, order = direction > 0 ? list : list.slice().reverse();
    const next = order.find((event) => direction > 0 ? event > now : event < now);
    if (next !== undefined) this.goTo(next);
  }

  // ---- search ----

  search(text) {
    const match = text.trim() ? this.tables.search(text) : null;
    this.problem = match?.why || "";
    this.setMatch(this.problem ? null : match);
  }

  // What matches is in colour, or shown alone.
  setMatch(match, isAlone = this.isAlone) {
    const isOther = isAlone !== this.isAlone || isAlone;
    this.match = match;
    this.isAlone = isAlone && match !== null;
    this.site = -1;
    if (isOther) {
      this.showRows(this.axis.mode);
      Object.assign(this.view, { y0: 0, y1: this.most * 1.06 });
    } else this.showControls();
    this.recolour();
    this.showMoment();
    this.showDetails();
  }

  showFound() {
    const { match, found } = this;
    found.className = this.problem || (match && !this.countMatches()) ? "alarm" : "";
    found.textContent = found.title = this.problem || (match ? `${match.name}: ${this.foundText()}` : "");
  }

  // Rows of the device that match, at any time.
  countMatches() {
    const { match, device } = this;
    if (match.countedIn === device) return match.count;
    match.countedIn = device;
    match.count = 0;
    for (let i = 0; i < device.count; i++) if (match.has(device, i)) match.count++;
    return match.count;
  }

  foundText() {
    const { match, model, device } = this, noun = device.isSegments ? "segment" : "allocation", count = this.countMatches();
    if (!count)
      return `no ${noun} matches` + (/[|*+?()[\]^$\\]/.test(match.text || "") && !/(^|\s)-?\//.test(match.text) ?
        "; a regular expression is written /.../" : "");
    let bytes = 0;
    model.eachAlive(this.moment, (i) => { if (match.has(device, i)) bytes += model.size[i]; });
    return `${counted(count, noun)}, ${size(bytes)} ${this.momentText(this.moment)}`;
  }

  // The next allocation that matches, after the moment.
  nextHit(direction) {
    if (!this.match) return;
    const { birth, count } = this.device;
    let i = direction > 0 ? this.model.bornBy(this.moment) : this.model.bornBy(this.moment - 1) - 1;
    for (; i >= 0 && i < count; i += direction)
      if (this.match.has(this.device, i) && birth[i] !== this.moment) {
        this.pinned = i;
        this.goTo(birth[i]);
        this.showDetails();
        return;
      }
  }

  chooseSite(site) {
    this.site = site;
    this.recolour();
    showSites(this.sites, this, this.moment);
  }

  // Shows a box of the flame graph and its contents alone.
  focusFlame(node) {
    const { icicle } = this;
    icicle.focus = node;
    if (node > 0 && this.source === "stacks") icicle.leafOfAll();
    this.drawFlame();
    if (this.isAlone) return;
    this.searchBox.value = this.problem = "";
    this.setMatch(node > 0 ? { name: icicle.label(node), ...ofStacks(icicle.stacksBelow(node)) } : null, false);
  }

  setTop(hasTop) {
    this.hasTop = hasTop;
    this.showControls();
    this.recolour();
    showSites(this.sites, this, this.moment);
  }
}

async function start() {
  const holder = document.getElementById("columns");
  try {
    const bytes = await unpack(holder.textContent.trim());
    holder.remove();
    window.memviz = new App(readColumns(bytes));
    window.memviz.opened = performance.now();
  } catch (error) {
    document.getElementById("main").textContent = `This page cannot be shown: ${error.message}`;
    throw error;
  }
}
start();
