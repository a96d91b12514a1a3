// The picture: tiles, curves, axes, lanes, marks. Everything is drawn from the view {x0, x1, y0,
// y1}: places on the x axis, and bytes. If the view is of a moment, the plot is a strip below it,
// which shows what is allocated over time, to choose the moment from.

const LEFT = 84, RIGHT = 14, LANE = 15, LANES = 2, TOP = LANES * LANE + 22, BOTTOM = 40, MAP = 40,
  STRIP = 44, WORK_MS = 7;

// The number of ticks in a range. They are counted because beyond 2^53 adding a step to a place may
// not move it.
function ticksBetween(first, last, step) {
  return first <= last ? Math.min(1000, Math.floor((last - first) / step) + 1) : 0;
}

class Plot {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.g = canvas.getContext("2d");
    this.store = new TileStore();
    this.state = new StatePicture(this);
    this.stripHeight = STRIP + BOTTOM + 8;
    this.resize();
  }

  clear() {
    this.store.clear();
    this.map = null;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = window.devicePixelRatio || 1;
    this.width = Math.max(320, box.width);
    this.height = Math.max(this.app.isTimeline ? 220 : this.stripHeight, box.height);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.x = LEFT;
    this.w = this.width - LEFT - RIGHT;
    this.y = this.app.isTimeline ? TOP : this.height - STRIP - BOTTOM;
    this.h = this.app.isTimeline ? this.height - TOP - BOTTOM - MAP : STRIP;
    this.clear();
  }

  // Between places of the view and pixels.
  px(x) { const v = this.app.view; return this.x + (x - v.x0) / (v.x1 - v.x0) * this.w; }
  py(b) { const v = this.app.view; return this.y + this.h - (b - v.y0) / (v.y1 - v.y0) * this.h; }
  xAt(px) { const v = this.app.view; return v.x0 + (px - this.x) / this.w * (v.x1 - v.x0); }
  bytesAt(py) { const v = this.app.view; return v.y0 + (this.y + this.h - py) / this.h * (v.y1 - v.y0); }
  inside(px, py) {
    return px >= this.x && px < this.x + this.w && py >= this.y && py < this.y + this.h;
  }
  inMap(py) { return this.app.isTimeline && py > this.height - MAP; }

  // The columns of the view at a pixel: which event is shown there.
  instant(px, model = this.app.model) {
    const { axis, view } = this.app, dx = (view.x1 - view.x0) / (this.w * this.ratio);
    const x = Math.floor(this.xAt(px) / dx) * dx;
    return axis.instant(model, x, x + dx);
  }

  draw(now) {
    const { g, app } = this, { theme } = app;
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.fillStyle = theme.background;
    g.fillRect(0, 0, this.width, this.height);
    g.fillStyle = theme.plot;
    g.fillRect(this.x, this.y, this.w, this.h);
    if (!app.isTimeline) { this.drawStrip(); return true; }
    this.drawBytes();
    g.save();
    g.beginPath();
    g.rect(this.x, this.y, this.w, this.h);
    g.clip();
    const isWhole = this.drawTiles(now);
    this.drawCurves();
    this.drawOutline(app.pinned, 2.4);
    if (app.hovered !== app.pinned) this.drawOutline(app.hovered, 1.4);
    g.restore();
    this.drawEvents();
    this.drawLanes();
    this.drawMarks();
    this.drawCursor();
    this.drawMap();
    return isWhole;
  }

  drawStrip() {
    const { g, app } = this, { view, axis } = app, key = `${view.x0} ${view.x1} ${app.themeName}`;
    if (!this.map || this.map.key !== key) this.makeStrip(key);
    g.drawImage(this.map, this.x, this.y, this.w, this.h);
    g.fillStyle = app.theme.alarm;
    for (const oom of app.device.ooms) {
      const x = this.px(axis.at(oom.event));
      if (x >= this.x && x <= this.x + this.w) g.fillRect(x, this.y, 1.5, this.h);
    }
    this.text(size(app.most), this.x - 8, this.y + 10, "right", app.theme.faint, "11px system-ui, sans-serif");
    this.drawEvents();
    this.drawCursor();
    if (app.tab === "state") this.state.draw(g);
  }

  makeStrip(key) {
    const { app } = this, { used, theme, device } = app, canvas = document.createElement("canvas");
    canvas.width = Math.round(this.w);
    canvas.height = this.h;
    const g = canvas.getContext("2d"), bars = new Path2D(), lines = new Path2D();
    const high = (levels, a, b) => levels.at(b > a + 1 ? levels.highest(a, b) : a) / app.most * this.h;
    this.eachColumn((px, a, b) => {
      const bar = high(used, a, b), line = Math.max(1, high(device.reserved, a, b));
      bars.rect(px - this.x, this.h - bar, 1, bar);
      lines.rect(px - this.x, this.h - line, 1, 1);
    });
    g.fillStyle = theme.map;
    g.fill(bars);
    g.fillStyle = theme.reserved;
    g.fill(lines);
    this.map = Object.assign(canvas, { key });
  }

  // ---- tiles ----

  // Tiles of a band: as many rows of pixels as are in view.
  places(band, dx) {
    const { view, axis } = this.app, all = Math.max(1, Math.round(this.h * this.ratio));
    const dy = (view.y1 - view.y0) / all, wide = dx * TILE_COLUMNS, places = [];
    const low = Math.max(0, Math.floor((band.base - view.y0) / dy));
    const height = Math.min(all, Math.ceil((band.base + band.high - view.y0) / dy)) - low;
    const last = Math.min(view.x1, axis.length), y0 = view.y0 + low * dy - band.base;
    for (let k = Math.floor(Math.max(0, view.x0) / wide); k * wide < last && height > 0; k++)
      places.push({ x0: k * wide, dx, columns: TILE_COLUMNS, y0, dy, height });
    return places;
  }

  drawTiles(now) {
    const { app, store } = this, { view, axis } = app;
    const exact = (view.x1 - view.x0) / (this.w * this.ratio);
    const isMoving = now - app.moved < 80 && store.tiles.length > 0;
    const dx = isMoving ? 2 ** Math.ceil(Math.log2(exact)) : exact;
    const wanted = app.bands.flatMap((band) => this.places(band, dx).map((place) =>
      store.want(band, axis, place, 52 + 8 * app.bands.length)));
    const isWhole = store.work(wanted, now + WORK_MS);
    let shown = wanted;
    if (!isWhole) {
      const near = (t) => Math.abs(Math.log2(t.dx / exact)) + Math.abs(Math.log2(t.dy / (wanted[0]?.dy || 1)));
      const others = store.tiles.filter((t) => t.done === t.columns && t.covers(view.x0, view.x1) &&
        !wanted.includes(t) && near(t) < 12);
      others.sort((a, b) => near(a) - near(b));
      shown = others.slice(0, 16 * app.bands.length).reverse().concat(wanted);
    }
    this.g.imageSmoothingEnabled = false;
    for (const tile of shown) this.drawTile(tile);
    return isWhole && !isMoving;
  }

  drawTile(tile) {
    if (tile.done < tile.columns) return;
    const { g, app } = this;
    if (tile.painted !== app.version)
      paintTile(tile, app.colours, app.edges, app.model.device.preexisting, app.version);
    const snap = (v) => Math.round(v * this.ratio) / this.ratio;
    const x0 = snap(this.px(tile.x0)), x1 = snap(this.px(tile.x0 + tile.dx * tile.columns));
    const low = tile.y0 + tile.band.base;
    const y0 = snap(this.py(low)), y1 = snap(this.py(low + tile.dy * tile.height));
    g.fillStyle = app.theme.plot;
    g.fillRect(x0, y1, x1 - x0, y0 - y1);
    g.fillStyle = app.theme.grid;
    for (const y of this.grid) if (y >= y1 && y < y0) g.fillRect(x0, y, x1 - x0, 1);
    g.drawImage(tile.canvas, x0, y1, x1 - x0, y0 - y1);
  }

  // ---- curves ----

  // Calls visit(px, first event, end) for each pixel column; the first event is the one in effect
  // at the column's beginning.
  eachColumn(visit) {
    const { axis, view } = this.app, columns = Math.ceil(this.w), step = (view.x1 - view.x0) / this.w;
    let b = axis.from(view.x0);
    for (let c = 0; c < columns; c++) {
      const x0 = view.x0 + step * c, a = b;
      if (x0 > axis.length) break;
      b = axis.from(x0 + step);
      visit(this.x + c, axis.at(a) > x0 || a >= axis.events ? a - 1 : a, b);
    }
  }

  drawCurve(levels, colour, width, dash, base = 0) {
    const { g } = this;
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    let last = null, right = this.x;
    this.eachColumn((px, a, b) => {
      const y = Math.round(this.py(base + levels.at(b > a + 1 ? levels.highest(a, b) : a)) * 2) / 2;
      if (last === null) g.moveTo(px, y);
      else if (y !== last) { g.lineTo(px, last); g.lineTo(px, y); }
      last = y;
      right = px + 1;
    });
    if (last !== null) g.lineTo(right, last);
    g.stroke();
    g.setLineDash([]);
  }

  // An envelope, with what the pool holds at each time.
  drawBand(band) {
    const { g, app } = this, top = this.py(band.base + band.high);
    g.globalAlpha = 0.6;
    this.drawCurve(band.model.allocated, app.theme.outline, 1, [], band.base);
    g.globalAlpha = 1;
    this.drawCurve(band.held, app.theme.reserved, 1.4, [7, 4], band.base);
    g.strokeStyle = app.theme.faint;
    g.lineWidth = 1;
    g.strokeRect(this.x - 1, Math.round(top) + 0.5, this.w + 2, Math.round(this.py(band.base) - top));
    this.text(fitText(g, poolTitle(band), this.w - 12), this.x + 4, top - 5, "left", app.theme.text);
  }

  drawCurves() {
    const { app } = this, { device } = app.model;
    if (app.tab === "pools") { for (const band of app.bands) this.drawBand(band); return; }
    this.g.globalAlpha = 0.6;
    this.drawCurve(app.model.allocated, app.theme.outline, 1, []);
    this.g.globalAlpha = 1;
    if (app.active) this.drawCurve(app.active, app.theme.active, 1.5, [2, 3]);
    if (device.isPart && !device.isSegments) this.drawCurve(app.used, app.theme.faint, 1, [1, 3]);
    if (!device.isSegments) this.drawCurve(device.reserved, app.theme.reserved, 1.6, [7, 4]);
  }

  // The exact polygon of one allocation, as far as it is in view: a corner wherever something below
  // it is freed, at most one a pixel.
  outline(row) {
    const { axis, view, bands } = this.app;
    const band = bands.find((b) => !b.origin || b.origin.includes(row));
    if (!band) return null;
    const { model } = band, { device, end, ended, size } = model;
    const rank = band.origin ? band.origin.indexOf(row) : row;
    const born = device.birth[rank], last = axis.from(view.x1);
    const start = Math.max(born, axis.from(view.x0) - 1), stop = Math.min(end[rank], last);
    if (stop < start || (born >= 0 && born > last)) return null;
    let offset = band.base;
    model.eachAlive(start, (i) => { if (i >= rank) return true; offset += size[i]; return false; });
    const x0 = Math.max(view.x0, axis.at(start)), points = [[x0, offset]];
    const gap = (view.x1 - view.x0) / this.w / 2;
    let k = start < 0 ? 0 : model.endedBy(start), sure = x0;
    for (; k < ended.length && end[ended[k]] < stop; k++) {
      if (ended[k] >= rank) continue;
      const x = axis.at(end[ended[k]]);
      if (x - sure > gap) points.push([x, offset]);
      offset -= size[ended[k]];
      sure = x + axis.slide;
      const before = points[points.length - 1];
      if (points.length > 1 && sure - before[0] <= gap) before[1] = offset;
      else points.push([sure, offset]);
    }
    const isOpen = end[rank] === NEVER || stop < end[rank];
    points.push([isOpen ? Math.min(view.x1, axis.length) : axis.at(end[rank]), offset]);
    return points;
  }

  drawOutline(rank, width) {
    if (rank < 0) return;
    const { g, app } = this, points = this.outline(rank), height = app.model.size[rank];
    if (!points) return;
    const trace = () => {
      g.beginPath();
      for (const [x, b] of points) g.lineTo(this.px(x), this.py(b));
      for (let i = points.length - 1; i >= 0; i--)
        g.lineTo(this.px(points[i][0]), this.py(points[i][1] + height));
      g.closePath();
    };
    trace();
    g.lineJoin = "round";
    g.strokeStyle = app.theme.background;
    g.lineWidth = width + 2;
    g.stroke();
    g.strokeStyle = app.theme.text;
    g.lineWidth = width;
    g.stroke();
  }

  // ---- axes ----

  text(string, x, y, align, colour, font = "12px system-ui, sans-serif") {
    const { g } = this;
    g.font = font;
    g.textAlign = align;
    g.textBaseline = "alphabetic";
    g.fillStyle = colour;
    g.fillText(string, x, y);
    g.textAlign = "left";
  }

  drawBytes() {
    const { g, app } = this, { view, theme } = app;
    let step = 1;
    this.grid = [];
    while ((view.y1 - view.y0) / step > this.h / 48) step *= 2;
    for (const { base, high } of app.bands) {
      const first = Math.max(0, Math.ceil((view.y0 - base) / step) * step);
      const count = ticksBetween(first, Math.min(high, view.y1 - base), step);
      for (let i = 0; i < count; i++) {
        const b = first + i * step;
        const y = Math.round(this.py(base + b));
        g.fillStyle = theme.grid;
        g.fillRect(this.x, y, this.w, 1);
        this.grid.push(y);
        this.text(this.bytesLabel(b), this.x - 8, y + 4, "right", theme.text);
      }
    }
  }

  // Steps are powers of two: a few digits show them exactly.
  bytesLabel(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0, scale = 1;
    while (bytes / scale >= 1024 && unit < 5) scale *= 1024, unit++;
    const digits = [0, 1, 2, 3].find((d) => Number((bytes / scale).toFixed(d)) * scale === bytes) ?? 4;
    return bytes === 0 ? "0" : `${(bytes / scale).toFixed(digits)} ${units[unit]}`;
  }

  drawEvents() {
    const { g, app } = this, { axis, view, theme, model } = app, y = this.y + this.h;
    const span = view.x1 - view.x0, rough = span / (this.w / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const factor = [1, 2, 5, 10].find((f) => f * power >= rough);
    const step = Math.max(1, factor * power);
    const { time } = model.device, first = Math.ceil(view.x0 / step) * step, last = Math.min(view.x1, axis.length);
    const timeAt = (x) => time[Math.min(axis.events - 1, axis.from(x))];
    let apart = Infinity; // the least time between two labels
    const count = ticksBetween(first, last, step);
    for (let i = 0; time.length && i + 1 < count; i++)
      apart = Math.min(apart, Math.max(1, timeAt(first + (i + 1) * step) - timeAt(first + i * step)));
    if (apart === Infinity) apart = 1;
    g.fillStyle = theme.faint;
    g.fillRect(this.x, y, this.w, 1);
    g.fillRect(this.x - 1, this.y, 1, this.h);
    if (!axis.events) {
      this.text("No events were recorded: this is the heap when the file was written.", this.x, y + 19, "left", theme.faint);
      return;
    }
    for (let i = 0; i < count; i++) {
      const x = first + i * step;
      const px = Math.round(this.px(x));
      g.fillStyle = theme.faint;
      g.fillRect(px, y, 1, 5);
      const align = px < this.x + 24 ? "left" : px > this.x + this.w - 30 ? "right" : "center";
      this.text(axis.mode === "time" ? instant(x, step) : exact(x), px, y + 18, align, theme.text);
      const event = Math.min(axis.events - 1, axis.from(x));
      const second = axis.mode !== "event" ? exact(event) : time.length ? instant(time[event] - time[0], apart) : "";
      this.text(second, px, y + 33, align, theme.faint, "11px system-ui, sans-serif");
    }
    this.text(axis.mode, this.x - 8, y + 18, "right", theme.faint, "11px system-ui, sans-serif");
    this.text(axis.mode !== "event" ? "event" : model.device.time.length ? "time" : "",
      this.x - 8, y + 33, "right", theme.faint, "11px system-ui, sans-serif");
  }

  // ---- lanes: what the program said it was doing, else the steps that were found ----

  drawLanes() {
    const { g, app } = this, { theme, ranges, axis } = app, ends = [];
    g.save();
    g.beginPath();
    g.rect(this.x, 0, this.w, this.y);
    g.clip();
    for (const range of ranges) {
      if (range.depth >= LANES) continue;
      let x0 = this.px(axis.at(range.from)), x1 = this.px(axis.at(range.to));
      if (x1 < this.x || x0 > this.x + this.w) continue;
      x0 = Math.max(x0, ends[range.depth] ?? -Infinity);
      if (x1 - x0 < 0.7) continue;
      ends[range.depth] = x1;
      const y = this.y - 4 - (range.depth + 1) * LANE;
      const left = Math.max(this.x, x0), wide = Math.min(this.x + this.w, x1) - left;
      g.fillStyle = theme.lanes[range.index % 2];
      g.fillRect(left, y, Math.max(0.6, wide - 0.8), LANE - 2);
      if (wide > 22) {
        g.font = "10.5px system-ui, sans-serif";
        const name = fitText(g, range.name, wide - 6);
        this.text(name, left + 3, y + 10, "left", theme.laneText, "10.5px system-ui, sans-serif");
      }
    }
    g.restore();
    if (ranges.length)
      this.text(app.hasSteps ? "steps" : "ranges", this.x - 8, this.y - 4 - LANE + 10, "right", theme.faint,
        "11px system-ui, sans-serif");
  }

  rangeAt(px, py) {
    const { ranges, axis } = this.app, depth = Math.floor((this.y - 4 - py) / LANE), x = this.xAt(px);
    if (py >= this.y - 4 || depth >= LANES) return null;
    return ranges.find((r) => r.depth === depth && axis.at(r.from) <= x && x < axis.at(r.to)) || null;
  }

  // ---- marks ----

  drawMarks() {
    const { g, app } = this, { theme, axis, model, view } = app;
    this.labels = [];
    for (const oom of model.device.ooms) {
      const x = this.px(axis.at(oom.event));
      if (x < this.x || x > this.x + this.w) continue;
      g.strokeStyle = g.fillStyle = theme.alarm;
      g.lineWidth = 1.5;
      g.beginPath();
      g.moveTo(x, this.y);
      g.lineTo(x, this.y + this.h);
      g.moveTo(x - 4, this.y + 4);
      g.lineTo(x + 4, this.y + 12);
      g.moveTo(x + 4, this.y + 4);
      g.lineTo(x - 4, this.y + 12);
      g.stroke();
      const note = `out of memory: ${size(oom.bytes)} asked for` + (oom.free >= 0 ? `, ${size(oom.free)} free` : "");
      const isLeft = x > this.x + this.w / 2;
      this.label(note, x + (isLeft ? -8 : 8), this.y + 13, isLeft ? "right" : "left", theme.alarm);
    }
    const x = this.px(axis.at(app.peak)), y = this.py(model.allocated.at(app.peak));
    if (app.tab !== "pools" && model.device.events && x >= this.x && x <= this.x + this.w && y >= this.y - 2 && y < this.y + this.h) {
      g.fillStyle = theme.text;
      g.beginPath();
      g.moveTo(x, y - 2);
      g.lineTo(x - 5, y - 10);
      g.lineTo(x + 5, y - 10);
      g.fill();
      const isLeft = x > this.x + this.w * 0.7;
      this.label(`peak ${app.device.isSegments ? "reserved " : ""}${size(model.allocated.at(app.peak))}`, x + (isLeft ? -9 : 9), y - 3,
        isLeft ? "right" : "left", theme.text);
    }
    if (view.y0 > 0) this.text("\u2026", this.x - 8, this.y + this.h - 2, "right", theme.faint);
  }

  // A text on the picture, below the texts that are already there.
  label(string, x, y, align, colour) {
    const { g, app } = this;
    g.font = "12px system-ui, sans-serif";
    const wide = g.measureText(string).width, left = align === "right" ? x - wide : x;
    while (this.labels.some((l) => left < l.right + 6 && left + wide > l.left - 6 && Math.abs(l.y - y) < 16)) y += 16;
    this.labels.push({ left, right: left + wide, y });
    g.globalAlpha = 0.85;
    g.fillStyle = app.theme.background;
    g.fillRect(left - 3, y - 11, wide + 6, 15);
    g.globalAlpha = 1;
    this.text(string, x, y, align, colour);
  }

  drawCursor() {
    const { g, app } = this, { theme } = app;
    const x = Math.round(this.px(app.axis.at(app.moment))) + 0.5;
    if (app.moment < 0 || x < this.x || x > this.x + this.w) return;
    g.strokeStyle = theme.faint;
    g.lineWidth = 1;
    g.setLineDash([2, 3]);
    g.beginPath();
    g.moveTo(x, this.y);
    g.lineTo(x, this.y + this.h);
    g.stroke();
    g.setLineDash([]);
  }

  // ---- the whole trace, small ----

  makeMap() {
    const { app } = this, { axis, model, theme } = app, canvas = document.createElement("canvas");
    const columns = Math.round(this.w), high = MAP - 8;
    canvas.width = columns;
    canvas.height = high;
    const g = canvas.getContext("2d"), most = app.most;
    g.fillStyle = theme.plot;
    g.fillRect(0, 0, columns, high);
    for (let c = 0; c < columns; c++) {
      const dx = axis.length / columns, [event] = axis.instant(model, c * dx, (c + 1) * dx);
      const bar = model.allocated.at(event) / most * high;
      g.fillStyle = theme.map;
      g.fillRect(c, high - bar, 1, bar);
      g.fillStyle = theme.reserved;
      g.fillRect(c, high - Math.max(1, model.device.reserved.at(event) / most * high), 1, 1);
    }
    for (const oom of model.device.ooms) {
      g.fillStyle = theme.alarm;
      g.fillRect(axis.at(oom.event) / axis.length * columns, 0, 1.5, high);
    }
    this.map = canvas;
  }

  drawMap() {
    if (!this.map) this.makeMap();
    const { g, app } = this, { view, axis, theme } = app, top = this.height - MAP + 4, high = MAP - 8;
    g.drawImage(this.map, this.x, top, this.w, high);
    const a = this.x + Math.max(0, view.x0 / axis.length) * this.w;
    const b = this.x + Math.min(1, view.x1 / axis.length) * this.w;
    g.fillStyle = theme.veil;
    g.fillRect(this.x, top, Math.max(0, a - this.x), high);
    g.fillRect(b, top, Math.max(0, this.x + this.w - b), high);
    g.strokeStyle = theme.text;
    g.lineWidth = 1;
    g.strokeRect(Math.round(a) + 0.5, top + 0.5, Math.max(2, Math.round(b - a) - 1), high - 1);
    this.text("all", this.x - 8, top + high / 2 + 4, "right", theme.faint, "11px system-ui, sans-serif");
  }

  // ---- what is where ----

  // The row in the middle of the pixel, and how many others share the pixel.
  hit(px, py) {
    const { app } = this, low = this.bytesAt(py + 0.5), high = this.bytesAt(py - 0.5), middle = (low + high) / 2;
    const band = app.bands.find((b) => b.base <= middle && middle < b.base + b.high);
    const [event] = this.instant(px, band?.model);
    if (!app.isTimeline || !band) return { event, found: -1, shares: 0 };
    let below = band.base, found = -1, shares = 0;
    band.model.eachAlive(event, (i) => {
      const above = below + band.model.size[i];
      if (above > low && below < high) {
        shares++;
        if (below <= middle && middle < above) found = band.origin ? band.origin[i] : i;
      }
      below = above;
      return below > high;
    });
    return { event, found, shares };
  }
}
