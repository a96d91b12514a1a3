// The columns of one device as arrays, and what follows from them: what is alive when, how much is
// allocated, where on the x axis an event is.

const NEVER = 0xffffffff;

// Rows that live: allocations, or segments instead (`device.segments`, which takes everything else
// from its device). The same code draws, searches and hovers both.
class Device {
  constructor(columns, number) {
    const column = (name, Type) => numbers(columns, `${number}.${name}`, Type);
    const [ordinal, events, from, to, history, exact, moment] = column("facts");
    Object.assign(this, { ordinal, events, history, exact });
    this.window = [from, to];
    this.moment = moment - 2; // where the page opens; -1: before the first event, -2: the peak
    [this.file, this.historyWhy, this.verdict] = texts(columns, `${number}.texts`);
    this.alarms = column("alarms")[0];
    this.time = column("time");
    this.step = column("step", Uint32Array);
    const oom = column("oom");
    this.ooms = [];
    for (let i = 0; i < oom.length; i += 4)
      this.ooms.push({ event: oom[i], bytes: oom[i + 1], free: oom[i + 2] - 1, stack: oom[i + 3] - 1 });
    this.placeKind = column("place.kind", Uint8Array);
    this.placeExpandable = column("place.expandable", Uint8Array);
    this.placeStream = texts(columns, `${number}.place.stream`);
    this.placePool = texts(columns, `${number}.place.pool`);
    Object.assign(this, { isSegments: false, alone: null });
    this.readRows(columns, `${number}.`);
    this.segments = Object.assign(Object.create(this), { isSegments: true, alone: null });
    this.segments.readRows(columns, `${number}.segments.`);
    this.reserved = this.segments.model("block").allocated;
  }

  readRows(columns, prefix) {
    const column = (name, Type) => numbers(columns, prefix + name, Type);
    this.models = {};
    this.readLives(column);
    this.readBytes(column);
    this.addrHigh = column("addr.high", Uint32Array);
    this.addrLow = column("addr.low", Uint32Array);
    this.stack = column("stack", Int32Array);
    for (let i = 0; i < this.count; i++) this.stack[i]--;
    this.segment = column("segment", Int32Array);
    this.flags = column("flags", Uint8Array);
    this.site = column("site", Uint32Array);
    this.siteLabel = texts(columns, prefix + "site.label");
    this.siteColour = column("site.colour", Uint32Array);
    this.siteRank = column("site.rank", Uint32Array);
    this.siteFrame = column("site.frame", Uint32Array); // + 1; 0: none
    this.chosen = column("chosen", Uint8Array); // 1: matches the filter given, 2: among the largest
  }

  // Only the rows that match: the same code stacks them without the others.
  only(match) {
    if (this.alone?.match === match) return this.alone.rows;
    const kept = Uint32Array.from({ length: this.count }, (_, i) => i).filter((i) => match.has(this, i));
    const rows = Object.assign(this.subset(kept), { isPart: true });
    this.alone = { match, rows };
    return rows;
  }

  // Some rows, ascending, as rows of their own; `origin` says which they were.
  subset(list) {
    const kept = Uint32Array.from(list);
    const rows = Object.assign(Object.create(this), { count: kept.length, models: {}, alone: null, origin: kept });
    for (const name of ["birth", "freed", "completed", "block", "requested", "addrHigh", "addrLow", "stack", "segment",
      "flags", "site", "chosen"])
      if (this[name].length) rows[name] = this[name].constructor.from(kept, (i) => this[name][i]);
    rows.preexisting = kept.filter((i) => i < this.preexisting).length;
    return rows;
  }

  readLives(column) {
    const births = column("birth", Int32Array), life = column("life"), wait = column("wait");
    const count = this.count = life.length;
    this.preexisting = count - births.length;
    this.birth = new Int32Array(count).fill(-1);
    this.birth.set(births, this.preexisting);
    this.freed = new Uint32Array(count);
    this.completed = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      this.freed[i] = life[i] ? Math.max(0, this.birth[i]) + life[i] - 1 : NEVER;
      this.completed[i] = wait[i] ? this.freed[i] + wait[i] - 1 : NEVER;
    }
  }

  readBytes(column) {
    const [unit] = column("unit"), slack = column("slack");
    this.block = column("block");
    this.requested = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      this.block[i] *= unit;
      this.requested[i] = this.block[i] - (slack[i] % 2 ? -(slack[i] + 1) / 2 : slack[i] / 2);
    }
  }

  model(measure) {
    return this.models[measure] ||= new Model(this, measure);
  }

  // What is alive until its free is completed.
  get active() {
    return this.models.active ||= new Lives(this, this.completed);
  }

  // Freed before the first event, and waiting since: never allocated.
  wasPending(i) { return (this.flags[i] & 4) !== 0; }

  address(i) {
    const low = this.addrLow[i].toString(16);
    return "0x" + (this.addrHigh[i] ? this.addrHigh[i].toString(16) + low.padStart(8, "0") : low);
  }

  // Earlier allocations at the same address: PyTorch's viewers call the next one b7f00_1.
  version(i) {
    let older = 0;
    for (let j = 0; j < i; j++)
      if (this.addrLow[j] === this.addrLow[i] && this.addrHigh[j] === this.addrHigh[i]) older++;
    return older;
  }

  // "large pool \u00b7 stream 0", of a segment by its entry in the column "segment".
  place(segment) {
    const pool = this.placePool[segment], isPrivate = pool && pool !== "(0, 0)";
    return `${isPrivate ? "private " : ""}${["large", "small", "unknown"][this.placeKind[segment]]} ` +
      `pool${isPrivate ? " " + pool : ""} \u00b7 stream ${this.placeStream[segment] || "unknown"}`;
  }
}

function levelsOf(change, before, events) {
  let level = before;
  for (let e = 0; e < events; e++) change[e] = level += change[e];
  return new Levels(change.subarray(0, events), before);
}

// What is alive when, of the rows of a device that end at `end`.
class Lives {
  constructor(device, end) {
    this.device = device;
    this.end = end;
    this.findLongest();
  }

  // The latest end in each 256 rows, to skip those that are all gone.
  findLongest() {
    const { count } = this.device, { end } = this;
    this.latest = new Uint32Array(Math.ceil(count / 256));
    for (let i = 0; i < count; i++)
      if (end[i] > this.latest[i >> 8]) this.latest[i >> 8] = end[i];
  }

  // Rows born at event `event` or earlier are those below the result.
  bornBy(event) {
    const { birth } = this.device;
    let low = 0, high = this.device.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (birth[middle] <= event) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Calls visit(row) for each that is alive after `event`, the oldest first, until it returns true.
  eachAlive(event, visit) {
    const { end, latest } = this, limit = this.bornBy(event);
    for (let block = 0; block * 256 < limit; block++) {
      if (event >= 0 && latest[block] <= event) continue;
      const stop = Math.min(limit, block * 256 + 256);
      for (let i = block * 256; i < stop; i++)
        if ((event < 0 || end[i] > event) && visit(i)) return;
    }
  }
}

// How allocations count: as blocks until they are freed (torch.cuda.memory_allocated), or as
// PyTorch's viewer draws them, in requested bytes until the free is completed.
class Model extends Lives {
  constructor(device, measure) {
    super(device, measure === "requested" ? device.completed : device.freed);
    this.measure = measure;
    this.size = measure === "requested" ? device.requested : device.block;
    if (measure === "block" && device.flags.some((f) => f & 4))
      this.size = device.block.map((bytes, i) => device.wasPending(i) ? 0 : bytes);
    this.sortEnds();
    this.allocated = this.levels(this.end);
    this.slides = null;
    this.axes = {};
  }

  levels(end) {
    const { birth, count, events } = this.device, change = new Float64Array(events + 1);
    let before = 0;
    for (let i = 0; i < count; i++) {
      if (birth[i] < 0) before += this.size[i];
      else change[birth[i]] += this.size[i];
      if (end[i] !== NEVER && end[i] < events) change[end[i]] -= this.size[i];
    }
    return levelsOf(change, before, events);
  }

  // Allocations that end, by the event: a counting sort.
  sortEnds() {
    const { count, events } = this.device, start = new Uint32Array(events + 2), { end } = this;
    for (let i = 0; i < count; i++) if (end[i] < events) start[end[i] + 1]++;
    for (let e = 0; e < events; e++) start[e + 1] += start[e];
    this.ended = new Uint32Array(start[events]);
    for (let i = 0; i < count; i++) if (end[i] < events) this.ended[start[end[i]]++] = i;
  }

  endedBy(event) {
    let low = 0, high = this.ended.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[this.ended[middle]] <= event) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Whether something is above an allocation when it ends: [ended.length] 0 or 1.
  findSlides() {
    const { device, ended, end } = this, { birth, count } = device;
    const above = new Int32Array(count + 1), below = new Int32Array(count + 1), NONE = count;
    this.slides = new Uint8Array(ended.length);
    let top = NONE, born = 0;
    const push = (i) => { below[i] = top; if (top !== NONE) above[top] = i; above[i] = NONE; top = i; };
    for (let k = 0; k < ended.length; k++) {
      const i = ended[k];
      while (born < count && birth[born] <= end[i]) push(born++);
      this.slides[k] = above[i] === NONE ? 0 : 1;
      if (above[i] === NONE) top = below[i]; else below[above[i]] = below[i];
      if (below[i] !== NONE) above[below[i]] = above[i];
    }
  }

  axis(mode) {
    return this.axes[mode] ||= new Axis(this, mode);
  }
}

// Where events are. "event": one unit each. "time": microseconds since the first. "tick": the clock
// of PyTorch's viewer: an allocation takes 1, a free 1, and the slide of what is above it 3.
class Axis {
  constructor(model, mode) {
    const { device } = model;
    this.mode = mode;
    this.events = device.events;
    this.slide = mode === "tick" ? 3 : mode === "event" ? 0.7 : 0;
    this.position = null;
    this.length = Math.max(1, device.events);
    if (mode === "time") this.setTimes(device.time);
    if (mode === "tick") this.setTicks(model);
  }

  setTimes(time) {
    this.position = new Float64Array(this.events);
    for (let e = 0, last = 0; e < this.events; e++)
      this.position[e] = last = Math.max(last, time[e] - time[0]);
    this.length = Math.max(1, this.position[this.events - 1] * 1.0005 || 1);
  }

  setTicks(model) {
    const { device, ended, end } = model, { birth, count } = device;
    if (!model.slides) model.findSlides();
    this.position = new Float64Array(this.events);
    let tick = 0, born = device.preexisting, k = 0;
    for (let e = 0; e < this.events; e++) {
      let after = 0;
      if (k < ended.length && end[ended[k]] <= e) tick++;
      for (; k < ended.length && end[ended[k]] <= e; k++) after = Math.max(after, model.slides[k] * 3);
      this.position[e] = tick;
      for (; born < count && birth[born] <= e; born++) after = Math.max(after, 1);
      tick += after;
    }
    this.length = Math.max(1, tick);
  }

  at(event) {
    if (event < 0) return 0;
    if (event >= this.events) return this.length;
    return this.position ? this.position[event] : event;
  }

  // The first event at or after a place.
  from(x) {
    if (!this.position) return Math.max(0, Math.min(this.events, Math.ceil(x)));
    let low = 0, high = this.events;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.position[middle] < x) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The event after which the heap is shown for the places [x0, x1): the one with most allocated,
  // so that no peak is lost; and how far the rows above a freed allocation have slid, 0 to 1.
  instant(model, x0, x1) {
    const a = this.from(x0), b = this.from(x1), dense = this.mode === "time" || x1 - x0 > 1;
    if (b > a && dense)
      return [model.allocated.highest(this.at(a) > x0 ? a - 1 : a, b), 1];
    const middle = (x0 + x1) / 2, event = this.from(middle) - (this.at(this.from(middle)) > middle ||
      this.from(middle) >= this.events ? 1 : 0);
    return [event, this.slide ? Math.min(1, (middle - this.at(event)) / this.slide) : 1];
  }
}
