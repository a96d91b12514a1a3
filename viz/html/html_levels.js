// A curve over the events, and where it is highest in any range of them: a tree of the positions of
// maxima, 16 to a node. `values[e]` is the level after event e, `before` the one before event 0.

class Levels {
  constructor(values, before) {
    this.values = values;
    this.before = before;
    this.tree = [];
    for (let count = values.length; count > 16;) {
      const below = this.tree[this.tree.length - 1], nodes = Math.ceil(count / 16);
      const best = new Int32Array(nodes);
      for (let i = 0; i < nodes; i++) {
        const end = Math.min(count, i * 16 + 16);
        let arg = below ? below[i * 16] : i * 16;
        for (let j = i * 16 + 1; j < end; j++) {
          const other = below ? below[j] : j;
          if (values[other] > values[arg]) arg = other;
        }
        best[i] = arg;
      }
      this.tree.push(best);
      count = nodes;
    }
  }

  at(event) {
    return event < 0 ? this.before : this.values[event];
  }

  // The first event of [from, to) with the highest level; from - 1 when the range is empty. Event
  // -1 is the time before the first event.
  highest(from, to) {
    const { values, tree } = this;
    if (to <= from) return from - 1;
    let best = from, most = this.at(from), late = -1, lateMost = -Infinity;
    for (let a = Math.max(0, from), b = to, level = -1; a < b; level++, a /= 16, b /= 16) {
      const nodes = level < 0 ? null : tree[level], isTop = level + 1 >= tree.length;
      for (; a < b && (isTop || a % 16); a++) {
        const event = nodes ? nodes[a] : a;
        if (values[event] > most) most = values[best = event];
      }
      // What remains at the end comes after everything that is still to come.
      for (; b > a && b % 16; b--) {
        const event = nodes ? nodes[b - 1] : b - 1;
        if (values[event] >= lateMost && values[event] > most) lateMost = values[late = event];
      }
    }
    return lateMost > most ? late : best;
  }
}
