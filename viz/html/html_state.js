// The allocator's state at the moment: every segment, and every block where it lies in it. Segments
// of one pool, kind and stream are a group, the largest first; a group's bytes run through rows of
// one scale. Each pixel of a row belongs to the piece that covers its middle.

const GROUP = 24, ROW_GAP = 4, SIDE = 16, HEAD = 13, HEAD_LINE = 17;

class StatePicture {
  constructor(plot) {
    this.plot = plot;
    this.heap = null;
    this.widths = new Map();
    this.reset();
  }

  reset() {
    this.zoom = 1;
    this.scroll = 0;
  }

  // ---- where things are ----

  lay() {
    const { plot } = this, { app } = plot;
    if (this.heap !== app.heap()) this.laid = null;
    this.heap = app.heap();
    const key = `${plot.width} ${plot.height} ${plot.ratio} ${this.zoom}`;
    if (this.laid === key) return;
    this.laid = key;
    this.y = this.head;
    this.height = Math.max(40, plot.height - this.head - plot.stripHeight - 6);
    this.width = plot.width - 2 * SIDE;
    this.columns = Math.max(1, Math.round(this.width * plot.ratio));
    this.findGroups();
    this.chooseScale();
    this.standUp();
  }

  findGroups() {
    const { heap } = this, { device } = heap, groups = new Map();
    for (const run of heap.runs) {
      const name = device.place(run.segment);
      if (!groups.has(name)) groups.set(name, { name, runs: [], bytes: 0, parts: [0, 0, 0], largest: 0 });
      const group = groups.get(name);
      group.runs.push(run);
      group.bytes += run.end - run.addr;
      for (let p = run.first; p < run.stop; p++) {
        group.parts[heap.part[p]] += heap.size[p];
        if (heap.row[p] === HOLE) group.largest = Math.max(group.largest, heap.size[p]);
      }
    }
    this.groups = [...groups.values()].sort((a, b) => b.bytes - a.bytes);
    for (const group of this.groups)
      group.runs.sort((a, b) => (b.end - b.addr) - (a.end - a.addr) || a.addr - b.addr);
  }

  // Few pieces need few rows; and a segment continues in the next row only when it must.
  chooseScale() {
    const { heap, groups } = this;
    const most = Math.max(1, Math.floor((this.height - groups.length * GROUP) / 22) - groups.length);
    const wanted = Math.max(1, Math.min(most, heap.count / 12 + 1)) * this.zoom;
    const largest = heap.runs.reduce((all, run) => Math.max(all, run.end - run.addr), 0);
    this.rowBytes = Math.floor(heap.reserved / wanted) + 1;
    if (this.zoom === 1 && this.rowBytes < largest && largest <= heap.reserved / 3) this.rowBytes = largest;
    let rows = 0;
    for (const group of groups) {
      group.first = rows;
      rows += group.rows = Math.ceil(group.bytes / this.rowBytes);
    }
    this.rows = rows;
    const fit = (this.height - groups.length * GROUP) / Math.max(1, rows);
    this.rowHeight = Math.floor(Math.max(16, Math.min(44, fit)));
    this.scrollTo(this.scroll);
  }

  get whole() { return this.groups.length * GROUP + this.rows * this.rowHeight; }

  // The sums above may need several lines, as many at each moment.
  get head() {
    const { width } = this.plot;
    return HEAD + HEAD_LINE * (width > 1000 ? 1 : width > 620 ? 2 : 3);
  }

  covers(y) { return y >= this.head && y < this.plot.height - this.plot.stripHeight - 6; }

  scrollBy(pixels) { this.scrollTo(this.scroll + pixels); }

  scrollTo(y) {
    this.scroll = Math.max(0, Math.min(this.whole - this.height, y));
  }

  // Pieces in order, each with its position in bytes: of whole rows and of the pieces before it.
  standUp() {
    const { heap } = this;
    this.stand = new Int32Array(heap.count);
    this.at = new Float64Array(heap.count);
    this.standing = new Int32Array(heap.count); // the position of a piece
    this.groupOf = new Int32Array(this.rows); // of a row
    this.rowIds = new Map();
    let k = 0;
    this.groups.forEach((group, g) => {
      let at = group.first * this.rowBytes;
      this.groupOf.fill(g, group.first, group.first + group.rows);
      for (const run of group.runs) {
        run.at = at;
        for (let p = run.first; p < run.stop; p++, k++) {
          this.stand[k] = p;
          this.standing[p] = k;
          this.at[k] = at;
          at += heap.size[p];
        }
      }
    });
  }

  // The first piece that ends after `at`.
  firstBehind(at) {
    let low = 0, high = this.stand.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at[middle] + this.heap.size[this.stand[middle]] <= at) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Which piece each pixel of a row shows; 0: none, else the piece + 1.
  idsOf(row) {
    if (this.rowIds.has(row)) return this.rowIds.get(row);
    const { columns, rowBytes, heap } = this, ids = new Int32Array(columns), pixel = rowBytes / columns;
    const start = row * rowBytes;
    for (let k = this.firstBehind(start); k < this.stand.length && this.at[k] < start + rowBytes; k++) {
      const p = this.stand[k], low = Math.max(0, this.at[k] - start), high = this.at[k] + heap.size[p] - start;
      ids.fill(p + 1, Math.ceil(low / pixel - 0.5), Math.max(0, Math.ceil(high / pixel - 0.5)));
    }
    this.rowIds.set(row, ids);
    return ids;
  }

  // Calls visit(row, low, high) for each row that contains some of the bytes [from, to): bytes of
  // the row.
  eachSpan(from, to, visit) {
    for (let at = from; at < to;) {
      const row = Math.floor(at / this.rowBytes), start = row * this.rowBytes;
      const end = Math.min(to, start + this.rowBytes);
      visit(row, at - start, end - start);
      at = end;
    }
  }

  rowTop(row) {
    return this.y + (this.groupOf[row] + 1) * GROUP + row * this.rowHeight - this.scroll;
  }

  px(bytes) { return SIDE + bytes / this.rowBytes * this.width; }

  // The piece at a place, and how many others share the pixel.
  hit(x, y) {
    this.lay();
    const column = Math.floor((x - SIDE) / this.width * this.columns);
    if (y < this.y || y >= this.y + this.height || column < 0 || column >= this.columns) return null;
    for (let row = 0; row < this.rows; row++) {
      const top = this.rowTop(row), id = y >= top && y < top + this.rowHeight ? this.idsOf(row)[column] : 0;
      if (id) return { piece: id - 1, shares: this.sharing(row, column) };
    }
    return null;
  }

  sharing(row, column) {
    const { rowBytes, columns } = this, pixel = rowBytes / columns, low = row * rowBytes + column * pixel;
    let k = this.firstBehind(low), shares = 0;
    for (; k < this.stand.length && this.at[k] < low + pixel; k++) shares++;
    return shares;
  }

  runOf(piece) {
    return this.heap.runs.find((run) => piece >= run.first && piece < run.stop);
  }

  pieceOf(row) {
    return row < 0 ? -1 : this.heap.row.subarray(0, this.heap.count).indexOf(row);
  }

  // ---- painting ----

  draw(g) {
    this.lay();
    const { plot, heap } = this, { theme } = plot.app;
    g.save();
    g.beginPath();
    g.rect(0, this.y, plot.width, this.height);
    g.clip();
    this.drawPieces(g);
    this.groups.forEach((group, i) => this.drawGroup(g, group, i));
    this.outline(g, plot.app.pinned, 2.4);
    if (plot.app.hovered !== plot.app.pinned) this.outline(g, plot.app.hovered, 1.4);
    g.restore();
    this.drawSummary(g);
    if (!heap.runs.length)
      plot.text("Nothing is reserved at this moment.", SIDE, this.y + 24, "left", theme.faint);
    if (this.whole > this.height) {
      const share = this.height / this.whole;
      g.fillStyle = theme.faint;
      g.fillRect(plot.width - 7, this.y + this.scroll * share, 4, this.height * share);
    }
  }

  drawSummary(g) {
    const { plot } = this, wide = plot.width - 2 * SIDE, lines = [""], most = (this.head - HEAD) / HEAD_LINE;
    g.font = "13px system-ui, sans-serif";
    for (const part of this.summary().split(" \u00b7 ")) {
      const last = lines.length - 1, longer = lines[last] ? `${lines[last]} \u00b7 ${part}` : part;
      if (g.measureText(longer).width <= wide || lines.length === most) lines[last] = longer; else lines.push(part);
    }
    lines.forEach((line, i) => plot.text(fitText(g, line, wide), SIDE, 19 + HEAD_LINE * i, "left",
      plot.app.theme.text, "13px system-ui, sans-serif"));
  }

  // How full a segment is: 0 empty, 1 to 4 by quarters (viz/scene/fullness_scale.h).
  fullness(run) {
    let used = 0;
    for (let p = run.first; p < run.stop; p++) if (this.heap.part[p] === ALLOCATED) used += this.heap.size[p];
    return used === 0 ? 0 : Math.min(4, 1 + Math.floor(4 * used / (run.end - run.addr)));
  }

  summary() {
    const { heap } = this, [allocated, pending, free] = heap.bytes, { app } = this.plot;
    const least = heap.device.exact ? "" : "at least ", parts = [
      `${app.momentText(app.moment)}: reserved ${size(heap.reserved)}`,
      `allocated ${least}${size(allocated)}`];
    if (pending) parts.push(`waiting for a stream ${size(pending)}`);
    parts.push(`free ${size(free)}` + (heap.holes ? ` in ${counted(heap.holes, "hole")}` : ""));
    if (heap.holes > 1)
      parts.push(`largest ${size(heap.largest)}, ${(100 - 100 * heap.largest / free).toFixed(0)} % in smaller ones`);
    if (heap.rounding) parts.push(`rounding ${size(heap.rounding)}`);
    if (heap.outside) parts.push(`${size(heap.outside)} outside known segments`);
    const oom = heap.device.ooms.find((o) => o.event === heap.event);
    if (oom) parts.unshift(`out of memory: ${size(oom.bytes)} asked for`);
    return parts.join(" \u00b7 ");
  }

  drawGroup(g, group, i) {
    const { plot } = this, { theme } = plot.app;
    const y = this.y + i * GROUP + group.first * this.rowHeight - this.scroll;
    const [allocated, pending, free] = group.parts;
    const short = `${group.name} \u00b7 ${size(group.bytes)}`, long = `${short} in ${counted(group.runs.length, "segment")}: ` +
      `${size(allocated)} allocated` + (pending ? `, waiting ${size(pending)}` : "") + `, ${size(free)} free`;
    g.font = "12px system-ui, sans-serif";
    const text = [long + (free ? `, largest hole ${size(group.largest)}` : ""), long, `${short}, ${size(free)} free`]
      .find((words) => g.measureText(words).width <= this.width) || short;
    if (y > this.y - GROUP && y < this.y + this.height)
      plot.text(fitText(g, text, this.width), SIDE, y + 17, "left", theme.text);
    g.strokeStyle = theme.faint;
    g.lineWidth = 1;
    for (const run of group.runs) {
      g.fillStyle = theme.fullness[this.fullness(run)];
      this.eachSpan(run.at, run.at + run.end - run.addr, (row, low, high) => {
        const x = this.px(low), wide = this.px(high) - x, top = this.rowTop(row);
        if (wide > 3 && top > this.y - this.rowHeight && top < this.y + this.height)
          g.strokeRect(Math.round(x) + 0.5, Math.round(top) + 0.5, Math.round(wide) - 1, this.rowHeight - ROW_GAP);
        if (top > this.y - this.rowHeight && top < this.y + this.height)
          g.fillRect(x, Math.round(top) + this.rowHeight - ROW_GAP + 1, Math.max(1, wide - 1), ROW_GAP - 1);
      });
    }
  }

  // Rows that are in view, as pixels.
  drawPieces(g) {
    const { plot, columns } = this, { ratio } = plot, rows = [];
    for (let row = 0; row < this.rows; row++) {
      const top = this.rowTop(row);
      if (top > this.y - this.rowHeight && top < this.y + this.height) rows.push(row);
    }
    const high = Math.max(1, Math.round((this.rowHeight - ROW_GAP) * ratio));
    if (this.image?.width !== columns || this.image.height !== high) {
      this.canvas = Object.assign(document.createElement("canvas"), { width: columns, height: high });
      this.image = this.canvas.getContext("2d").createImageData(columns, high);
    }
    for (const row of rows) {
      this.paintRow(row, high);
      this.canvas.getContext("2d").putImageData(this.image, 0, 0);
      g.drawImage(this.canvas, SIDE, Math.round(this.rowTop(row)), this.width, high / ratio);
      this.label(g, row);
    }
  }

  // The colours of a row's pixels: [plain, where the hatch runs or null].
  coloursOf(row) {
    const { heap, columns } = this, { app } = this.plot, ids = this.idsOf(row);
    const plain = new Uint32Array(columns), hatched = new Uint32Array(columns);
    let hasPending = false;
    const back = toPixel(parseInt(app.theme.plot.slice(1), 16));
    for (let c = 0; c < columns; c++) {
      const p = ids[c] - 1, i = p < 0 ? HOLE : heap.row[p];
      if (i === HOLE) { plain[c] = hatched[c] = p < 0 ? 0 : back; continue; }
      plain[c] = app.colours[i];
      hatched[c] = heap.part[p] === PENDING ? app.edges[i] : plain[c];
      hasPending ||= heap.part[p] === PENDING;
      if (c > 0 && ids[c - 1] !== ids[c] && ids[c + 3] === ids[c]) plain[c] = hatched[c] = app.edges[i];
    }
    this.markRounding(row, plain, hatched);
    return [plain, hasPending ? hatched : null];
  }

  lost(piece) {
    const { device, row } = this.heap, i = row[piece];
    return i === HOLE ? 0 : Math.max(0, device.block[i] - device.requested[i]);
  }

  // The rounding of a block is darker.
  markRounding(row, plain, hatched) {
    const { heap, columns, rowBytes } = this, ids = this.idsOf(row), pixel = rowBytes / columns;
    for (let c = 0; c < columns;) {
      const p = ids[c] - 1;
      let stop = c + 1;
      while (stop < columns && ids[stop] === ids[c]) stop++;
      if (p >= 0 && this.lost(p)) {
        const end = this.at[this.standing[p]] + heap.size[p] - this.lost(p) - row * rowBytes;
        for (let d = Math.max(c, Math.ceil(end / pixel - 0.5)); d < stop; d++)
          plain[d] = hatched[d] = (plain[d] >>> 1 & 0x7f7f7f | 0xff000000) >>> 0;
      }
      c = stop;
    }
  }

  paintRow(row, high) {
    const { columns } = this, [plain, hatched] = this.coloursOf(row);
    const pixels = new Uint32Array(this.image.data.buffer);
    for (let y = 0; y < high; y++) {
      pixels.set(plain, y * columns);
      for (let c = y % HATCH; hatched && c < columns; c += HATCH) pixels[y * columns + c] = hatched[c];
    }
  }

  label(g, row) {
    const { heap, columns, plot, rowBytes } = this, ids = this.idsOf(row), { app } = plot;
    const least = 54 * plot.ratio, y = this.rowTop(row) + (this.rowHeight - ROW_GAP) / 2 + 4;
    g.font = "11px system-ui, sans-serif";
    g.textAlign = "left";
    g.textBaseline = "alphabetic";
    for (let c = 0; c < columns;) {
      let stop = c + 1;
      while (stop < columns && ids[stop] === ids[c]) stop++;
      const p = ids[c] - 1, i = p < 0 ? HOLE : heap.row[p];
      if (p >= 0 && stop - c >= least) {
        const x = this.px(c / columns * rowBytes), end = this.at[this.standing[p]] + heap.size[p] - this.lost(p);
        const wide = Math.min(stop / plot.ratio, this.px(end - row * rowBytes) - SIDE) - c / plot.ratio - 8;
        g.fillStyle = i === HOLE ? app.theme.faint : textOn(app.colours[i]);
        g.fillText(this.fitLabel(g, i, heap.size[p], wide), x + 4, y);
      }
      c = stop;
    }
  }

  // "train.py:62 forward \u00b7 4.00 MiB", or the size alone, or nothing.
  fitLabel(g, i, bytes, wide) {
    const { device } = this.heap, amount = size(bytes);
    const name = i === HOLE ? "free" : device.siteLabel[device.site[i]];
    return [`${name} \u00b7 ${amount}`, amount].find((text) => this.widthOf(g, text) <= wide) || "";
  }

  widthOf(g, text) {
    if (this.widths.size > 4000) this.widths.clear();
    if (!this.widths.has(text)) this.widths.set(text, g.measureText(text).width);
    return this.widths.get(text);
  }

  outline(g, row, width) {
    const piece = this.pieceOf(row);
    if (piece < 0) return;
    const { theme } = this.plot.app, start = this.at[this.standing[piece]];
    this.eachSpan(start, start + this.heap.size[piece], (at, low, high) => {
      const x = this.px(low), wide = Math.max(2, this.px(high) - x);
      for (const [colour, line] of [[theme.background, width + 2], [theme.text, width]]) {
        g.strokeStyle = colour;
        g.lineWidth = line;
        g.strokeRect(x, this.rowTop(at), wide, this.rowHeight - ROW_GAP);
      }
    });
  }

  // ---- moving ----

  zoomAt(factor, y) {
    const share = (y - this.y + this.scroll) / Math.max(1, this.whole);
    const most = Math.max(1, this.heap.reserved / 4096 / Math.max(1, this.height / 22));
    this.zoom = Math.max(1, Math.min(Math.min(400, most), this.zoom / factor));
    this.laid = null;
    this.lay();
    this.scrollTo(share * this.whole - (y - this.y));
  }
}

// Black or white, whichever is easier to read on a pixel (relative luminance of WCAG 2).
function textOn(pixel) {
  const part = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = 0.2126 * part(pixel & 255) + 0.7152 * part(pixel >>> 8 & 255) + 0.0722 * part(pixel >>> 16 & 255);
  return light > 0.179 ? "#000000" : "#ffffff";
}
