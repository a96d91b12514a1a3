// What pictures must show, written down literally: run in the page, with nothing of it but its
// columns, its axis and where things were drawn.
"use strict";

// Pixels of the tiles against rows that are stacked one by one, as the text of docs/timeline.md
// says; written without anything of the page but its columns. Pools have a stack each.
function comparePixels() {
  const { memviz: app } = window, { model, axis, plot, view } = app, d = model.device;
  const exact = (view.x1 - view.x0) / (plot.w * plot.ratio);
  const poolOf = (i) => d.segment[i] ? d.placePool[d.segment[i] - 1] : "";
  let compared = 0, wrong = "";
  for (const tile of plot.store.tiles.filter((t) => t.dx === exact && t.done === t.columns && app.bands.includes(t.band))) {
    for (let n = 0; n < 12; n++) {
      const column = Math.floor(Math.random() * tile.columns), x = tile.x0 + tile.dx * (column + 0.5);
      const start = tile.x0 + tile.dx * column, { band } = tile;
      if (x > axis.length) continue;
      const [event, slid] = axis.instant(tile.model, start, start + tile.dx);
      const want = new Uint32Array(tile.height);
      let below = 0;
      for (let i = 0; i < d.count; i++) {
        if (d.birth[i] > event || (app.tab === "pools" && poolOf(i) !== band.name)) continue;
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
        const id = tile.ids[column * tile.height + row] & 0x7fffffff;
        const have = id && band.origin ? band.origin[id - 1] + 1 : id;
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

// Pixels of the allocator's state against bytes that are laid out one group after the other.
function compareState() {
  const { memviz: app } = window, { state } = app.plot, { heap, rowBytes, columns } = state;
  const order = heap.runs.map((run) => ({ ...run, group: heap.device.place(run.segment) }));
  const bytesOf = (group) => order.reduce((sum, run) => sum + (run.group === group ? run.end - run.addr : 0), 0);
  order.sort((a, b) => bytesOf(b.group) - bytesOf(a.group) || (a.group < b.group ? -1 : a.group > b.group ? 1 : 0) ||
    (b.end - b.addr) - (a.end - a.addr) || a.addr - b.addr);
  let compared = 0, wrong = "", row = -1, at = 0;
  const pieces = []; // [first byte, in rows one after the other; piece]
  order.forEach((run, k) => {
    if (k === 0 || run.group !== order[k - 1].group) { row += Math.ceil(at / rowBytes) || 1; at = 0; }
    if (k === 0) row = 0;
    for (let p = run.first; p < run.stop; p++) {
      pieces.push([row * rowBytes + at, p]);
      at += heap.size[p];
    }
  });
  for (let n = 0; n < 400 && pieces.length; n++) {
    const line = Math.floor(Math.random() * state.rows), column = Math.floor(Math.random() * columns);
    const byte = line * rowBytes + (column + 0.5) * rowBytes / columns;
    const found = pieces.find(([start, p]) => start <= byte && byte < start + heap.size[p]);
    const have = state.idsOf(line)[column];
    if (found && byte - found[0] < 1e-6 * rowBytes / columns) continue; // on the edge of two
    compared++;
    if (have !== (found ? found[1] + 1 : 0)) wrong ||= `row ${line} column ${column}: ${have} for ${found}`;
  }
  return { compared, wrong };
}

// A tree as folded stacks. The pages of these tests have it as window.foldTree.
function foldTree(icicle) {
  const lines = {};
  for (let node = 1; node < icicle.own.length; node++) {
    const labels = [];
    for (let n = node; n > 0; n = icicle.parent[n]) labels.unshift(icicle.label(n));
    const line = labels.map((text) => text.replace(/;/g, ":")).join(";");
    if (icicle.own[node] > 0) lines[line] = (lines[line] || 0) + icicle.own[node];
  }
  return lines;
}

// What the page says of a moment: its pieces, sums, and both flame graphs as folded stacks.
function tellMoment([index, event]) {
  const { memviz: app } = window, device = app.devices[index], heap = new Heap(device, event);
  const pieces = [], [allocated, pending, free] = heap.bytes;
  for (let p = 0; p < heap.count; p++)
    pieces.push(`${["allocated", "pending", "free"][heap.part[p]]} ${size(heap.size[p])} 0x${heap.addr[p].toString(16)}`);
  const fold = (weigh) => {
    const icicle = new Icicle(app.tables, { isShort: true });
    weigh(icicle);
    return window.foldTree(icicle);
  };
  return { pieces, allocated: allocated + heap.outside, pending, free, largest: heap.largest, rounding: heap.rounding,
    reserved: heap.reserved, memory: fold((icicle) => icicle.weighStacks(device.model("block"), event)),
    segments: fold((icicle) => icicle.weighSegments(heap)) };
}

module.exports = { comparePixels, compareTicks, compareLevels, compareState, tellMoment, foldTree };
