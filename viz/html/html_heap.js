// The heap at a moment: the segments that are held, by address, and in each its blocks and holes.
// Adjacent ranges of an expandable segment are one run, as in snapshots.

const HOLE = -1, ALLOCATED = 0, PENDING = 1, FREE = 2;

class Heap {
  constructor(device, event) {
    this.device = device;
    this.event = event;
    this.runs = this.findRuns();
    this.findPieces(this.findBlocks());
    this.addUp();
  }

  // Rows of `rows` in order of address, with their addresses.
  byAddress(rows, list) {
    const { addrHigh, addrLow } = rows, at = (i) => addrHigh[i] * 4294967296 + addrLow[i];
    const addr = Float64Array.from(list, at), order = Uint32Array.from(list, (_, k) => k);
    order.sort((a, b) => addr[a] - addr[b] || a - b);
    return { row: Array.from(order, (k) => list[k]), addr: Float64Array.from(order, (k) => addr[k]) };
  }

  findRuns() {
    const { segments } = this.device, held = [], runs = [];
    segments.model("block").eachAlive(this.event, (i) => { held.push(i); });
    const { row, addr } = this.byAddress(segments, held);
    row.forEach((i, k) => {
      const segment = segments.segment[i] - 1, bytes = segments.block[i], last = runs[runs.length - 1];
      if (last && last.end === addr[k] && this.areJoined(last.newest, segment)) {
        last.end += bytes;
        last.newest = segment;
      } else runs.push({ addr: addr[k], end: addr[k] + bytes, segment, newest: segment, row: i });
    });
    return runs;
  }

  // Memory moves within an expandable segment of one pool, kind and stream.
  areJoined(a, b) {
    const { placeExpandable, placeKind, placeStream, placePool } = this.device;
    return placeExpandable[a] && placeExpandable[b] && placeKind[a] === placeKind[b] &&
      placeStream[a] === placeStream[b] && (placePool[a] || "(0, 0)") === (placePool[b] || "(0, 0)");
  }

  findBlocks() {
    const { device } = this, alive = [];
    this.outside = 0; // bytes of blocks that no known segment holds
    this.rounding = 0; // bytes of blocks that were not requested
    device.active.eachAlive(this.event, (i) => {
      this.rounding += Math.max(0, device.block[i] - device.requested[i]);
      if (device.segment[i]) alive.push(i); else this.outside += device.block[i];
    });
    return this.byAddress(device, alive);
  }

  findPieces({ row, addr }) {
    const { device, runs } = this, most = 2 * row.length + runs.length;
    this.addr = new Float64Array(most);
    this.size = new Float64Array(most);
    this.row = new Int32Array(most); // allocation, or HOLE
    this.part = new Uint8Array(most);
    let count = 0, k = 0;
    const add = (from, to, i) => {
      if (to <= from) return;
      this.addr[count] = from;
      this.size[count] = to - from;
      this.row[count] = i;
      this.part[count++] = i === HOLE ? FREE : this.isAllocated(i) ? ALLOCATED : PENDING;
    };
    for (const run of runs) {
      run.first = count;
      let at = run.addr;
      for (; k < row.length && addr[k] < run.addr; k++) this.outside += device.block[row[k]];
      for (; k < row.length && addr[k] < run.end; k++) {
        const limit = k + 1 < row.length && addr[k + 1] < run.end ? addr[k + 1] : run.end;
        add(at, addr[k], HOLE);
        at = Math.min(addr[k] + device.block[row[k]], limit);
        add(addr[k], at, row[k]);
      }
      add(at, run.end, HOLE);
      run.stop = count;
    }
    for (; k < row.length; k++) this.outside += device.block[row[k]];
    this.count = count;
  }

  isAllocated(i) {
    const { device, event } = this;
    return event < 0 ? !device.wasPending(i) : device.freed[i] > event;
  }

  addUp() {
    this.bytes = [0, 0, 0]; // by part
    this.holes = this.largest = this.reserved = 0;
    for (const run of this.runs) this.reserved += run.end - run.addr;
    for (let p = 0; p < this.count; p++) {
      this.bytes[this.part[p]] += this.size[p];
      if (this.row[p] === HOLE) {
        this.holes++;
        this.largest = Math.max(this.largest, this.size[p]);
      }
    }
  }

  runName(run) {
    const { device } = this;
    return `${device.placeExpandable[run.segment] ? "expandable " : ""}segment ` +
      `${device.segments.address(run.row)} of ${run.end - run.addr} bytes`;
  }
}
