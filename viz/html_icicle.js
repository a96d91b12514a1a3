// Who holds the bytes of one moment, by stack: the outermost frame on top, the heaviest left.

class Icicle {
  constructor(tables, isShort) {
    this.tables = tables;
    this.parent = [-1];
    this.frame = [-1];
    this.child = [0];
    this.next = [0];
    this.depth = [0];
    this.leaf = new Int32Array(tables.stacks).fill(-1);
    this.isShort = isShort;
    this.noStack = this.step(0, -2);
    this.noFrames = this.step(0, -3);
    this.rows = [];
    this.focus = 0;
  }

  step(node, frame) {
    for (let c = this.child[node]; c; c = this.next[c]) if (this.frame[c] === frame) return c;
    const made = this.parent.length;
    this.parent.push(node);
    this.frame.push(frame);
    this.depth.push(this.depth[node] + 1);
    this.child.push(0);
    this.next.push(this.child[node]);
    this.child[node] = made;
    return made;
  }

  leafOf(stack) {
    if (stack < 0 || stack >= this.leaf.length) return this.noStack;
    if (this.leaf[stack] < 0) {
      const frames = this.tables.of(stack, this.isShort);
      let node = frames.length ? 0 : this.noFrames;
      for (let i = frames.length - 1; i >= 0; i--) node = this.step(node, frames[i]);
      this.leaf[stack] = node;
    }
    return this.leaf[stack];
  }

  // Counts what is alive after an event.
  weigh(model, event) {
    const { stack } = model.device, bytes = new Float64Array(this.tables.stacks + 1);
    const blocks = new Uint32Array(this.tables.stacks + 1), none = this.tables.stacks;
    model.eachAlive(event, (i) => {
      const s = stack[i] < 0 || stack[i] >= none ? none : stack[i];
      bytes[s] += model.size[i];
      blocks[s]++;
    });
    const leaves = [];
    for (let s = 0; s <= none; s++)
      if (blocks[s]) leaves.push([this.leafOf(s === none ? -1 : s), bytes[s], blocks[s]]);
    this.bytes = new Float64Array(this.parent.length);
    this.blocks = new Float64Array(this.parent.length);
    for (const [leaf, b, n] of leaves) { this.bytes[leaf] += b; this.blocks[leaf] += n; }
    for (let node = this.parent.length - 1; node > 0; node--) {
      this.bytes[this.parent[node]] += this.bytes[node];
      this.blocks[this.parent[node]] += this.blocks[node];
    }
    if (!this.bytes[this.focus]) this.focus = 0;
  }

  label(node) {
    const frame = this.frame[node];
    if (frame === -1) return "all";
    if (frame === -2) return "(no stack recorded)";
    if (frame === -3) return "(no Python: C++ thread)";
    return this.tables.label(frame);
  }

  // Stacks whose path leads through a node.
  stacksBelow(node) {
    const found = new Uint8Array(this.tables.stacks);
    for (let s = 0; s < found.length; s++)
      for (let n = this.leaf[s]; n > 0; n = this.parent[n]) if (n === node) { found[s] = 1; break; }
    return found;
  }

  draw(g, width, height, theme, hit, hovered) {
    const ROW = 19, path = [];
    this.rows = [];
    for (let n = this.focus; n >= 0; n = this.parent[n]) path.unshift(n);
    g.clearRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    const cell = (node, x, w, row) => {
      const y = row * ROW, kind = this.frame[node] < 0 ? 5 : this.tables.kind[this.frame[node]];
      const isFaint = hit && !(this.frame[node] >= 0 && hit[this.frame[node]]);
      this.rows.push({ node, x, y, w, h: ROW });
      g.fillStyle = node === 0 ? theme.frameRoot : isFaint ? theme.frameFaint :
        theme.frameKinds[kind][node % 2];
      g.fillRect(x, y, Math.max(0.7, w - 1), ROW - 1);
      if (node === hovered) {
        g.strokeStyle = theme.text;
        g.lineWidth = 2;
        g.strokeRect(x + 1, y + 1, w - 3, ROW - 3);
      }
      if (w < 28) return;
      g.fillStyle = isFaint ? theme.text : node === 0 ? theme.text : "#16191d";
      g.fillText(fitText(g, node === 0 ? `all: ${size(this.bytes[0])}` : this.label(node), w - 8),
        x + 4, y + ROW / 2);
    };
    const visit = (node, x, w, row) => {
      if (w < 0.7 || row * ROW > height) return;
      cell(node, x, w, row);
      const children = [];
      for (let c = this.child[node]; c; c = this.next[c]) if (this.bytes[c] > 0) children.push(c);
      children.sort((a, b) => this.bytes[b] - this.bytes[a] || a - b);
      for (const c of children) {
        const part = w * this.bytes[c] / this.bytes[node];
        visit(c, x, part, row + 1);
        x += part;
      }
    };
    if (!this.bytes[0]) return;
    path.slice(0, -1).forEach((node, row) => cell(node, 0, width, row));
    visit(this.focus, 0, width, path.length - 1);
    this.deepest = this.rows.reduce((most, r) => Math.max(most, r.y + ROW), 0);
  }

  at(x, y) {
    const found = this.rows.find((r) => x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h);
    return found ? found.node : -1;
  }
}
