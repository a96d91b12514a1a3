// What holds the bytes of one moment: the outermost frame on top, the heaviest left. By stack; or
// by segment, what is in it, and then by stack. Inverted, the frames that allocate are on top.

const NO_STACK = -1, NO_FRAMES = -2, PARTS = ["(allocated)", "(waiting for a stream)", "(free)"];

// What a box is: a frame (0 and up) or a word (below 0).
class Icicle {
  constructor(tables, { isShort, isInverted, counts }) {
    Object.assign(this, { tables, isShort, isInverted, counts });
    this.words = ["(no stack)", tables.emptyStack];
    this.wordRows = new Map();
    this.rows = [];
    this.focus = 0;
    this.clear();
  }

  clear() {
    this.parent = [-1];
    this.key = [0];
    this.children = new Map();
    this.leaf = new Map();
  }

  word(text) {
    if (!this.wordRows.has(text)) this.wordRows.set(text, -this.words.push(text));
    return this.wordRows.get(text);
  }

  step(node, key) {
    const name = node * 4294967296 + key, found = this.children.get(name);
    if (found) return found;
    const made = this.parent.push(node) - 1;
    this.key.push(key);
    this.children.set(name, made);
    return made;
  }

  // The node of a stack below the node of its segment (0: there are no segments).
  leafOf(place, stack) {
    const name = place * 4294967296 + stack, found = this.leaf.get(name);
    if (found !== undefined) return found;
    const frames = stack < 0 ? [NO_STACK] : this.tables.of(stack, this.isShort);
    if (!frames.length) frames.push(NO_FRAMES);
    if (!this.isInverted) frames.reverse();
    const node = frames.reduce((at, key) => this.step(at, key), place);
    this.leaf.set(name, node);
    return node;
  }

  // Also the nodes of stacks that are not alive now.
  leafOfAll() {
    for (let s = 0; s < this.tables.stacks; s++) this.leafOf(0, s);
  }

  // ---- what is counted ----

  // What is alive after an event, by stack.
  weighStacks(model, event, match) {
    const { stack } = model.device, sums = new Map();
    model.eachAlive(event, (i) => {
      const s = stack[i] < this.tables.stacks ? stack[i] : -1, sum = sums.get(s) || [0, 0, false];
      sum[0] += model.size[i];
      sum[1]++;
      sum[2] ||= match?.has(model.device, i);
      sums.set(s, sum);
    });
    this.add(Array.from(sums, ([s, sum]) => [this.leafOf(0, s), ...sum]), match);
  }

  // What is reserved: by segment, pool, stream and part, then by stack. There are many segments, so
  // the tree is rebuilt; the focus is found again by its path.
  weighSegments(heap, match) {
    const { device } = heap, path = this.pathTo(this.focus), list = [];
    this.clear();
    for (const run of heap.runs) {
      const pool = device.placePool[run.segment] || "(0, 0)";
      const kind = ["large", "small", "unknown"][device.placeKind[run.segment]];
      const place = [heap.runName(run), `${kind} pool ${pool}`, `stream ${device.placeStream[run.segment] || 0}`]
        .reduce((node, text) => this.step(node, this.word(text)), 0);
      for (let p = run.first; p < run.stop; p++) {
        const node = this.step(place, this.word(PARTS[heap.part[p]])), i = heap.row[p];
        list.push([i === HOLE ? node : this.leafOf(node, device.stack[i]), heap.size[p], 1,
          i !== HOLE && match?.has(device, i)]);
      }
    }
    this.focus = path.reduce((node, key) =>
      node < 0 ? node : this.children.get(node * 4294967296 + key) ?? -1, 0);
    this.add(list, match);
  }

  // Leaves: [node, bytes, blocks, whether some block of it matches].
  add(leaves, match) {
    const nodes = this.parent.length;
    this.bytes = new Float64Array(nodes);
    this.blocks = new Float64Array(nodes);
    this.own = new Float64Array(nodes); // bytes that end here
    this.lit = match ? new Uint8Array(nodes) : null; // boxes with a block that matches
    for (const [leaf, bytes, blocks, isLit] of leaves) {
      if (isLit) this.lit[leaf] = 1;
      this.bytes[leaf] += bytes;
      this.own[leaf] += bytes;
      this.blocks[leaf] += blocks;
    }
    for (let node = nodes - 1; node > 0; node--) {
      this.bytes[this.parent[node]] += this.bytes[node];
      this.blocks[this.parent[node]] += this.blocks[node];
      if (this.lit?.[node]) this.lit[this.parent[node]] = 1;
    }
    this.weight = this.counts ? this.blocks : this.bytes;
    this.below = Array.from({ length: nodes }, () => null);
    for (let node = 1; node < nodes; node++)
      if (this.weight[node] > 0) (this.below[this.parent[node]] ||= []).push(node);
    for (const list of this.below) list?.sort((a, b) => this.weight[b] - this.weight[a] || a - b);
    if (!(this.focus > 0 && this.weight[this.focus] > 0)) this.focus = 0;
  }

  // ---- what boxes are ----

  // Keys from the root to a node.
  pathTo(node) {
    const path = [];
    for (let n = node; n > 0; n = this.parent[n]) path.unshift(this.key[n]);
    return path;
  }

  frameOf(node) {
    return node > 0 && this.key[node] >= 0 ? this.key[node] : -1;
  }

  label(node) {
    if (node === 0) return "all";
    return this.key[node] >= 0 ? this.tables.label[this.key[node]] : this.words[-1 - this.key[node]];
  }

  // Stacks whose path leads through a node.
  stacksBelow(node) {
    const found = new Uint8Array(this.tables.stacks), stacks = new Map();
    for (const [name, leaf] of this.leaf) {
      const stack = name - Math.floor(name / 4294967296 + 0.5) * 4294967296;
      if (stack >= 0) stacks.set(stack, [...(stacks.get(stack) || []), leaf]);
    }
    for (const [stack, leaves] of stacks)
      for (let n of leaves)
        for (; n > 0 && !found[stack]; n = this.parent[n]) if (n === node) found[stack] = 1;
    return found;
  }

  colour(node, theme) {
    const key = this.key[node], kind = key >= 0 ? this.tables.kind[key] : key >= NO_FRAMES ? 3 : 5;
    return theme.frameKinds[kind][node % 2];
  }

  // ---- painting ----

  // Nothing in the box matches; or frames were searched, and it is none of those found.
  isFaint(node, hit) {
    const frame = this.frameOf(node);
    return this.lit !== null && (!this.lit[node] || (hit && !(frame >= 0 && hit[frame])));
  }

  draw(g, width, height, theme, hit, hovered) {
    const ROW = 19, path = [];
    this.rows = [];
    for (let n = this.focus; n >= 0; n = this.parent[n]) path.unshift(n);
    g.clearRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    const cell = (node, x, w, row) => {
      const y = row * ROW, isFaint = this.isFaint(node, hit);
      const isFree = node > 0 && this.label(node) === PARTS[2];
      this.rows.push({ node, x, y, w, h: ROW });
      g.fillStyle = node === 0 ? theme.frameRoot : isFaint ? theme.frameFaint :
        isFree ? theme.plot : this.colour(node, theme);
      g.fillRect(x, y, Math.max(0.7, w - 1), ROW - 1);
      if (isFree || node === hovered) {
        g.strokeStyle = isFree ? theme.faint : theme.text;
        g.lineWidth = node === hovered ? 2 : 1;
        g.strokeRect(x + 1, y + 1, Math.max(0.5, w - 3), ROW - 3);
      }
      if (w < 28) return;
      g.fillStyle = isFaint || isFree || node === 0 ? theme.text : textOn(toPixel(parseInt(g.fillStyle.slice(1), 16)));
      const text = node === 0 ? `all: ${this.amount(0)}` : this.label(node);
      g.fillText(fitText(g, text, w - 8), x + 4, y + ROW / 2);
    };
    const visit = (node, x, w, row) => {
      if (w < 0.7 || row * ROW > height) return;
      cell(node, x, w, row);
      for (const c of this.below[node] || []) {
        const part = w * this.weight[c] / this.weight[node];
        visit(c, x, part, row + 1);
        x += part;
      }
    };
    if (!this.weight[0]) return;
    path.slice(0, -1).forEach((node, row) => cell(node, 0, width, row));
    visit(this.focus, 0, width, path.length - 1);
    this.deepest = this.rows.reduce((most, r) => Math.max(most, r.y + ROW), 0);
  }

  amount(node) {
    return this.counts ? counted(this.blocks[node], "block") : size(this.bytes[node]);
  }

  at(x, y) {
    const found = this.rows.find((r) => x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h);
    return found ? found.node : -1;
  }
}
