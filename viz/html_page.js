// The page: what is shown now, what keys and the pointer do to it.

const THEMES = {
  light: { background: "#ffffff", plot: "#fafafa", grid: "#e2e2e2", text: "#1c1c1c", faint: "#595959",
    outline: "#202020", reserved: "#8a1538", active: "#6a3d9a", alarm: "#c00000", map: "#8fa3b5",
    veil: "#ffffffb0", lanes: ["#b7c5d1", "#cfd9e2"], laneText: "#1c1c1c", leak: 0xd0021b, unknown: 0xa4abb2,
    native: 0x76818b, frameRoot: "#dfe3e7", frameFaint: "#e6e8ea" },
  dark: { background: "#16191d", plot: "#1d2126", grid: "#333940", text: "#f0f0f0", faint: "#b4bac0",
    outline: "#f5f5f5", reserved: "#ff8fa8", active: "#c9a6ff", alarm: "#ff6b6b", map: "#5b7389",
    veil: "#16191db0", lanes: ["#3f5161", "#34424f"], laneText: "#f0f0f0", leak: 0xff4d4d, unknown: 0x66707a,
    native: 0x8e99a4, frameRoot: "#333940", frameFaint: "#2b3036" },
};
// By kind: the user's own code stands out; packages, framework, native, interpreter, no frame.
const FRAME_KINDS = [["#f5b041", "#e69f00"], ["#8fd0f3", "#74c0ea"], ["#c3ced8", "#b5c2cd"],
  ["#d3cabb", "#c7bda9"], ["#dcdcdc", "#d0d0d0"], ["#bfc4c9", "#b4babf"]];

const KEYS = [
  ["W S, wheel", "zoom at the pointer; with Shift the bytes"],
  ["A D, drag, arrows", "move"],
  ["0", "everything"],
  ["F", "fit the pinned allocation"],
  ["B E", "to its begin, its end"],
  ["P", "to the peak"],
  ["O, Shift+O", "next, previous out of memory"],
  ["[ ]", "previous, next range or step"],
  [", .", "previous, next event (Shift: 100)"],
  ["Y", "bytes of what is in view"],
  ["X", "x axis: events, time, PyTorch's ticks"],
  ["M", "blocks, or requested bytes as PyTorch draws them"],
  ["/", "search frames (regular expression); Enter goes through hits"],
  ["N", "next device"],
  ["T", "light or dark"],
  ["Esc", "let go: pin, search, zoom of the flame graph"],
  ["?", "this help"],
];

class App {
  constructor(columns) {
    this.tables = new Tables(columns);
    this.devices = [];
    for (let i = 0; columns.has(`${i}.facts`); i++) this.devices.push(new Device(columns, i));
    this.frameTimes = [];
    this.version = 0;
    this.isShort = true;
    this.moved = -1000;
    this.pending = false;
    this.build();
    const [theme] = numbers(columns, "theme"), isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.setTheme(theme === 2 || (theme === 0 && isDark) ? "dark" : "light");
    this.setDevice(0);
    this.listen();
  }

  // ---- the elements ----

  build() {
    const main = document.getElementById("main");
    const choice = (id, values) => {
      const select = element("select", { id });
      for (const [value, text] of values) select.append(element("option", { value }, text));
      return select;
    };
    this.deviceBox = choice("device", this.devices.map((d, i) => [i, `device ${d.ordinal}`]));
    this.axisBox = choice("axis", [["event", "events"], ["time", "time"], ["tick", "PyTorch's ticks"]]);
    this.measureBox = choice("measure", [["block", "allocated blocks"], ["requested", "requested (PyTorch's)"]]);
    this.searchBox = element("input", { id: "search", type: "search", placeholder: "search frames: /", spellcheck: false });
    this.searchBox.setAttribute("aria-label", "search frames");
    this.found = element("span", { id: "found" });
    this.bar = element("div", { id: "bar" });
    if (this.devices.length > 1) this.bar.append(this.deviceBox);
    const help = element("button", { id: "help-button", title: "keys" }, "? keys");
    const whole = element("button", { id: "whole", title: "0" }, "all");
    this.bar.append(whole, element("label", {}, "x:", this.axisBox),
      element("label", {}, "height:", this.measureBox), this.searchBox, this.found, help);
    this.canvas = element("canvas", { id: "plot", tabIndex: 0 });
    this.canvas.setAttribute("aria-label", "memory timeline");
    this.flame = element("canvas", { id: "flame" });
    this.flameTitle = element("h2", {});
    this.flameBox = element("div", { id: "flame-box" }, this.flame);
    this.details = element("section", { id: "details" });
    this.sites = element("section", { id: "sites" });
    this.tip = element("div", { id: "tip", hidden: true });
    this.help = element("div", { id: "help", hidden: true });
    const table = element("table", {});
    for (const [keys, text] of KEYS)
      table.append(element("tr", {}, element("th", {}, keys), element("td", {}, text)));
    this.help.append(element("div", {}, table));
    main.append(this.bar, element("div", { style: "min-width:0;min-height:0" }, this.canvas),
      element("div", { id: "below" }, this.flameTitle, this.flameBox),
      element("aside", {}, this.details, this.sites));
    document.body.append(this.tip, this.help);
    help.onclick = () => { this.help.hidden = !this.help.hidden; };
    whole.onclick = () => this.fitAll();
    this.help.onclick = () => { this.help.hidden = true; };
  }

  // ---- what is shown ----

  setTheme(name) {
    this.themeName = name;
    this.theme = { ...THEMES[name], frameKinds: FRAME_KINDS };
    document.documentElement.dataset.theme = name;
    if (this.model) { this.recolour(); this.plot.map = null; this.showMoment(); }
  }

  setDevice(index) {
    const device = this.devices[index];
    this.index = index;
    this.deviceBox.value = index;
    this.device = device;
    this.models = {};
    for (const option of this.axisBox.options)
      option.disabled = option.value === "time" && !device.time.length;
    const verdict = document.getElementById("verdict");
    verdict.textContent = device.verdict;
    verdict.className = device.verdict.startsWith("leak:") ? "leak" : "";
    this.hovered = this.pinned = -1;
    this.site = -1;
    this.active = this.pendingLevels(device);
    this.setMeasure("block", "event");
    const [from, to] = device.window;
    this.fitAll();
    if (device.events && (from > 0 || to < device.events)) {
      this.view.x0 = this.axis.at(from);
      this.view.x1 = Math.max(this.view.x0 + 1, this.axis.at(to));
    }
    this.showDetails();
  }

  // Freed blocks that wait for a stream still count as active; drawn only where some wait for
  // longer than the event that every free takes.
  pendingLevels(device) {
    let waits = false;
    for (let i = 0; i < device.count && !waits; i++)
      waits = device.freed[i] !== NEVER && device.completed[i] > device.freed[i] + 1;
    if (!waits) return null;
    return Model.prototype.levels.call({ device, size: device.block }, device.completed);
  }

  setMeasure(measure, mode = this.axis.mode) {
    const { device } = this;
    this.measureBox.value = measure;
    this.model = this.models[measure] ||= new Model(device, measure);
    const all = this.model.allocated, last = device.events;
    this.peak = all.highest(-1, last);
    const reserved = device.reserved.at(device.reserved.highest(-1, last));
    this.most = Math.max(1, all.at(this.peak), reserved);
    document.getElementById("figures").textContent = this.figures(all.at(this.peak), reserved);
    this.recolour();
    this.setAxis(mode);
    if (!this.plot) this.plot = new Plot(this, this.canvas);
    this.plot.store.clear();
    this.plot.map = null;
    this.home = this.peak;
    this.moment = this.peak;
    this.icicle = new Icicle(this.tables, this.isShort);
    this.showMoment();
  }

  figures(peak, reserved) {
    const { device } = this, isHeap = device.events === 0, least = device.exact ? "" : "at least ";
    const span = device.time.length ? ` in ${duration(device.time[device.events - 1] - device.time[0])}` : "";
    return `device ${device.ordinal} \u00b7 ${isHeap ? "" : "peak "}allocated ${least}${size(peak)} \u00b7 ` +
      `${isHeap ? "" : "peak "}reserved ${size(reserved)} \u00b7 ` + (isHeap ? "no events recorded" :
      `${counted(device.events, "event")}${span}, ${counted(device.count, "allocation")}`) +
      (device.history === 1 || device.history === 2 ? ` \u00b7 ${device.historyWhy}` : "");
  }

  setAxis(mode) {
    const before = this.axis, view = this.view;
    if (mode === "time" && !this.device.time.length) mode = "event";
    this.axis = this.model.axis(mode);
    this.axisBox.value = mode;
    if (before && view && before.events === this.axis.events) {
      view.x0 = this.axis.at(before.from(view.x0));
      view.x1 = Math.max(view.x0 + 1, this.axis.at(before.from(view.x1)));
    }
    this.ranges = this.findRanges();
    if (this.plot) {
      this.plot.store.clear();
      this.plot.map = null;
      this.touch();
    }
  }

  // Ranges of annotations, by nesting; else the steps that the leak report found.
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

  cssSite(site) { return "#" + this.siteRgb(site).toString(16).padStart(6, "0"); }
  cssColour(i) { return this.cssSite(this.device.site[i]); }

  isFaint(i) {
    if (this.site >= 0) return this.device.site[i] !== this.site;
    if (!this.match) return false;
    const s = this.device.stack[i];
    return s < 0 || !this.match.stacks[s];
  }

  recolour() {
    const { device } = this, isDark = this.themeName === "dark";
    const toPixel = (rgb) => (0xff000000 | (rgb & 255) << 16 | (rgb & 0xff00) | rgb >> 16 & 255) >>> 0;
    const mix = (rgb, other, share) => {
      let out = 0;
      for (const shift of [16, 8, 0]) {
        const a = rgb >> shift & 255, b = other >> shift & 255;
        out |= Math.round(a + (b - a) * share) << shift;
      }
      return out;
    };
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
      const isFaint = (this.match || this.site >= 0) && this.isFaint(i), s = device.site[i];
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
    if (this.hoverPlace) this.hover(this.hoverPlace);
    const isWhole = this.plot.draw(start);
    this.whole = isWhole;
    if (this.staleMoment) this.showMoment();
    this.frameTimes.push(performance.now() - start);
    if (this.frameTimes.length > 4000) this.frameTimes.splice(0, 2000);
    if (!isWhole) this.dirty();
  }

  momentText(event) {
    return this.device.events === 0 ? "in use" : event === this.peak ? "at the peak" :
      event < 0 ? "before the first event" : `at event ${exact(event)}`;
  }

  // The flame graph and the call sites of the moment.
  showMoment() {
    this.staleMoment = false;
    this.icicle.weigh(this.model, this.moment);
    this.drawFlame();
    showSites(this.sites, this, this.moment);
    if (this.match) this.showFound();
    this.dirty();
  }

  drawFlame(hovered = -1) {
    const box = this.flameBox.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    const g = this.flame.getContext("2d"), width = Math.max(200, box.width - 12);
    const needed = Math.max(60, box.height, Math.min(1800, this.icicle.deepest || 0));
    this.flame.width = width * ratio;
    this.flame.height = needed * ratio;
    this.flame.style.width = `${width}px`;
    this.flame.style.height = `${needed}px`;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.icicle.draw(g, width, needed, this.theme, this.match?.hit, hovered);
    if (this.icicle.deepest > needed && needed < 1800) { this.drawFlame(hovered); return; }
    this.flameTitle.textContent = `Stacks that hold ${size(this.icicle.bytes[0])} ${this.momentText(this.moment)}`;
  }

  showDetails() {
    const shown = this.pinned >= 0 ? this.pinned : this.hovered;
    if (shown >= 0) showAllocation(this.details, this, shown, this.pinned >= 0);
    else this.details.replaceChildren(element("p", { className: "faint" },
      "Point at an allocation for its size, life and stack. Wheel zooms, dragging moves, / searches."));
  }

  setShort(isShort) {
    this.isShort = isShort;
    this.icicle = new Icicle(this.tables, isShort);
    this.showDetails();
    this.showMoment();
  }

  // ---- the view ----

  fitAll() {
    this.view = { x0: 0, x1: this.axis.length, y0: 0, y1: this.most * 1.06 };
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
    this.match = text ? this.tables.search(text) : null;
    this.site = -1;
    this.showFound();
    this.recolour();
    this.drawFlame();
    this.showDetails();
  }

  showFound() {
    const { match } = this;
    if (!match) { this.found.textContent = ""; return; }
    let bytes = 0;
    this.model.eachAlive(this.moment, (i) => { if (!this.isFaint(i)) bytes += this.model.size[i]; });
    this.found.textContent = (match.name || `${exact(match.frames)} frames, ${exact(match.count)} stacks`) +
      `: ${size(bytes)} ${this.momentText(this.moment)}`;
  }

  // The next allocation that matches, behind the moment.
  nextHit(direction) {
    if (!this.match) return;
    const { birth, count, stack } = this.device;
    let i = direction > 0 ? this.model.bornBy(this.moment) : this.model.bornBy(this.moment - 1) - 1;
    for (; i >= 0 && i < count; i += direction)
      if (stack[i] >= 0 && this.match.stacks[stack[i]] && birth[i] !== this.moment) {
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

  // ---- pointer and keys ----

  hover({ x, y }) {
    this.hoverPlace = null;
    const { plot } = this;
    if (!plot.inside(x, y)) {
      const range = plot.rangeAt(x, y);
      this.setTip(range && [this.hasSteps ? `step ${range.name}` : range.name,
        `events ${exact(range.from)} to ${exact(range.to)}`]);
      if (this.hovered >= 0) { this.hovered = -1; this.showDetails(); }
      this.setMoment(this.home);
      return;
    }
    const { event, found, shares } = plot.hit(x, y), d = this.device;
    if (this.hovered !== found) {
      this.hovered = found;
      this.showDetails();
    }
    this.setMoment(event);
    const levels = `${whenText(d, event)}: allocated ${size(this.model.allocated.at(event))}, ` +
      `reserved ${size(d.reserved.at(event))}`;
    const lines = found < 0 ? [levels] : [d.siteLabel[d.site[found]], `${size(d.block[found])}, ` +
      (d.birth[found] < 0 ? "from before the first event" : `born at event ${exact(d.birth[found])}`) + ", " +
      (d.freed[found] === NEVER ? "alive at the end" : `freed at event ${exact(d.freed[found])}`)];
    if (shares > 1) lines.push(`and ${exact(shares - 1)} more in this pixel`);
    if (found >= 0) lines.push(levels);
    this.setTip(lines);
  }

  setTip(lines) {
    this.tip.hidden = !lines;
    if (!lines) return;
    this.tip.replaceChildren(...lines.map((line, i) => element(i ? "span" : "b", {}, line)));
    const box = this.tip.getBoundingClientRect(), { clientX, clientY } = this.pointer;
    const left = clientX + 16 + box.width > innerWidth ? clientX - box.width - 12 : clientX + 16;
    const top = clientY + 16 + box.height > innerHeight ? clientY - box.height - 12 : clientY + 16;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${Math.max(4, top)}px`;
  }

  place(e) {
    const box = this.canvas.getBoundingClientRect();
    this.pointer = e;
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      const { x, y } = this.place(e), unit = e.deltaMode === 1 ? 33 : 1;
      if (e.shiftKey) this.zoomY(2 ** ((e.deltaY || e.deltaX) * unit / 400), y);
      else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.panX(e.deltaX * unit);
      else this.zoomX(2 ** (e.deltaY * unit / 300), x);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (e) => this.press(e));
    canvas.addEventListener("pointermove", (e) => this.move(e));
    canvas.addEventListener("pointerup", (e) => this.release(e));
    canvas.addEventListener("pointerleave", (e) => {
      this.pointer = e;
      if (!this.held) this.hover({ x: -1, y: -1 });
      this.setTip(null);
    });
    canvas.addEventListener("dblclick", () => this.fitPinned());
    addEventListener("keydown", (e) => this.key(e));
    addEventListener("resize", () => { this.plot.resize(); this.drawFlame(); this.dirty(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener?.("change", (e) =>
      this.setTheme(e.matches ? "dark" : "light"));
    this.axisBox.onchange = () => { this.setAxis(this.axisBox.value); this.canvas.focus(); };
    this.measureBox.onchange = () => { this.setMeasure(this.measureBox.value); this.canvas.focus(); };
    this.deviceBox.onchange = () => { this.setDevice(Number(this.deviceBox.value)); this.canvas.focus(); };
    this.searchBox.addEventListener("input", () => {
      clearTimeout(this.searching);
      this.searching = setTimeout(() => this.search(this.searchBox.value), 120);
    });
    this.listenToFlame();
  }

  listenToFlame() {
    const place = (e) => {
      const box = this.flame.getBoundingClientRect();
      this.pointer = e;
      return this.icicle.at(e.clientX - box.left, e.clientY - box.top);
    };
    this.flame.addEventListener("pointermove", (e) => {
      const node = place(e), { icicle, tables } = this;
      this.drawFlame(node);
      if (node < 0) { this.setTip(null); return; }
      const frame = icicle.frame[node], share = 100 * icicle.bytes[node] / icicle.bytes[0];
      this.setTip([icicle.label(node), `${size(icicle.bytes[node])}, ${share.toFixed(1)} %, ` +
        `${exact(icicle.blocks[node])} allocations`, frame >= 0 ? tables.place(frame) : ""]);
    });
    this.flame.addEventListener("pointerleave", () => { this.setTip(null); this.drawFlame(); });
    this.flame.addEventListener("click", (e) => {
      const node = place(e);
      if (node < 0) return;
      this.icicle.focus = node;
      this.match = node > 0 ? { stacks: this.icicle.stacksBelow(node), hit: null, name: this.icicle.label(node) } : null;
      this.site = -1;
      this.searchBox.value = "";
      this.showFound();
      this.recolour();
      this.drawFlame();
    });
  }

  press(e) {
    const at = this.place(e);
    this.held = { ...at, last: at, moved: false, inMap: this.plot.inMap(at.y) };
    this.canvas.setPointerCapture(e.pointerId);
    if (this.held.inMap) this.moveMap(at);
  }

  moveMap({ x }) {
    const { plot, view } = this, middle = (x - plot.x) / plot.w * this.axis.length;
    const half = (view.x1 - view.x0) / 2;
    this.setX(middle - half, middle + half);
  }

  move(e) {
    const at = this.place(e), { held } = this;
    if (!held) {
      this.hoverPlace = at;
      this.dirty();
      return;
    }
    if (Math.abs(at.x - held.x) + Math.abs(at.y - held.y) > 4) held.moved = true;
    if (held.inMap) this.moveMap(at);
    else if (held.moved) {
      this.canvas.classList.add("moving");
      this.setTip(null);
      this.panX(held.last.x - at.x);
      if (this.view.y1 - this.view.y0 < this.most) this.panY(at.y - held.last.y);
    }
    held.last = at;
  }

  release(e) {
    const at = this.place(e), { held } = this;
    this.held = null;
    this.canvas.classList.remove("moving");
    if (!held || held.moved || held.inMap || !this.plot.inside(at.x, at.y)) return;
    const { event, found } = this.plot.hit(at.x, at.y);
    this.pinned = found;
    this.home = event;
    this.setMoment(event);
    this.showDetails();
    this.dirty();
  }

  letGo() {
    if (!this.help.hidden) this.help.hidden = true;
    else if (this.pinned >= 0) { this.pinned = -1; this.home = this.peak; this.setMoment(this.peak); this.showDetails(); }
    else {
      this.icicle.focus = 0;
      this.site = -1;
      this.searchBox.value = "";
      this.search("");
      showSites(this.sites, this, this.moment);
    }
    this.dirty();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === this.searchBox) {
      if (e.key === "Enter") { this.search(this.searchBox.value); this.nextHit(e.shiftKey ? -1 : 1); }
      if (e.key === "Escape") { this.searchBox.value = ""; this.search(""); this.canvas.focus(); }
      return;
    }
    if (e.target instanceof HTMLSelectElement) return;
    const action = this.actionOf(e);
    if (!action) return;
    e.preventDefault();
    action();
  }

  actionOf(e) {
    const { device, plot } = this, many = e.shiftKey ? 100 : 1;
    const px = this.pointer && plot.inside(this.place(this.pointer).x, plot.y) ? this.place(this.pointer).x : undefined;
    const ooms = device.ooms.map((o) => o.event), starts = this.ranges.map((r) => r.from);
    const pinned = this.pinned, { axis } = this, modes = ["event", "time", "tick"];
    return {
      w: () => this.zoomX(0.7, px), s: () => this.zoomX(1 / 0.7, px),
      W: () => this.zoomY(0.7), S: () => this.zoomY(1 / 0.7),
      a: () => this.panX(-plot.w / 8), d: () => this.panX(plot.w / 8),
      ArrowLeft: () => this.panX(-plot.w / 8), ArrowRight: () => this.panX(plot.w / 8),
      ArrowUp: () => this.panY(plot.h / 8), ArrowDown: () => this.panY(-plot.h / 8),
      0: () => this.fitAll(), y: () => this.fitBytes(), f: () => this.fitPinned(),
      b: () => pinned >= 0 && this.goTo(device.birth[pinned]),
      e: () => pinned >= 0 && this.model.end[pinned] !== NEVER && this.goTo(this.model.end[pinned]),
      p: () => this.goTo(this.peak),
      o: () => this.step(ooms, 1), O: () => this.step(ooms, -1),
      "]": () => this.step(starts, 1), "[": () => this.step(starts, -1),
      ",": () => this.goTo(Math.max(0, this.moment - 1)), "<": () => this.goTo(Math.max(0, this.moment - many)),
      ".": () => this.goTo(Math.min(device.events - 1, this.moment + 1)),
      ">": () => this.goTo(Math.min(device.events - 1, this.moment + many)),
      x: () => this.setAxis(modes[(modes.indexOf(axis.mode) + 1) % 3] === "time" && !device.time.length ?
        "tick" : modes[(modes.indexOf(axis.mode) + 1) % 3]),
      m: () => this.setMeasure(this.model.measure === "block" ? "requested" : "block"),
      n: () => this.setDevice((this.index + 1) % this.devices.length),
      t: () => this.setTheme(this.themeName === "dark" ? "light" : "dark"),
      "/": () => { this.searchBox.focus(); this.searchBox.select(); },
      "?": () => { this.help.hidden = !this.help.hidden; },
      Escape: () => this.letGo(),
    }[e.key];
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
