// Tiles: columns of pixels, each of which names the allocation that covers its middle. A tile is
// made by sweeping over its events with a tree of the living bytes, 16 to a node; subtrees too low
// to cover the middle of a pixel are skipped. Work is done in slices of time. A tile's width is a
// multiple of the hatch's, so that the hatch continues from tile to tile.

const HATCH = 7, TILE_COLUMNS = 36 * HATCH, EDGE = 0x80000000;

class Tile {
  constructor(band, axis, place) {
    Object.assign(this, place); // x0, dx: of a column; columns; y0, dy: bytes of a pixel; height
    this.band = band; // y0 counts from its base
    this.model = band.model;
    this.axis = axis;
    this.ids = new Uint32Array(this.columns * this.height);
    this.done = 0; // columns
    this.canvas = null;
    this.painted = -1;
    this.used = 0;
  }

  covers(x0, x1) {
    return this.x0 < x1 && this.x0 + this.dx * this.columns > x0;
  }
}

class Sweep {
  constructor() {
    this.tile = null;
    this.levels = [];
    this.local = new Int32Array(0);
  }

  // Starts before the first column's event, with what is alive there.
  begin(tile) {
    const { model, axis } = tile, { device } = model, ranks = this.ranks = [];
    const start = Math.max(-1, this.instantOf(tile, 0)[0] - 1);
    const last = Math.min(device.events - 1, axis.from(tile.x0 + tile.dx * tile.columns));
    model.eachAlive(start, (i) => { ranks.push(i); });
    this.tile = tile;
    this.seeds = ranks.length;
    this.born = this.firstBorn = model.bornBy(start);
    this.setTree(this.seeds + Math.max(0, model.bornBy(last) - this.firstBorn));
    if (this.local.length < device.count) this.local = new Int32Array(device.count);
    for (let k = 0; k < ranks.length; k++) {
      this.local[ranks[k]] = k;
      this.add(k, model.size[ranks[k]]);
    }
    this.ended = start < 0 ? 0 : model.endedBy(start);
    this.ghosts = [];
    this.ghostEvent = -2;
  }

  setTree(leaves) {
    let count = Math.max(1, leaves), level = 0;
    for (;; level++) {
      if (!this.levels[level] || this.levels[level].length < count)
        this.levels[level] = new Float64Array(count + (count >> 2) + 16);
      else this.levels[level].fill(0, 0, count + 16); // a node's children are examined together
      if (count === 1) break;
      count = Math.ceil(count / 16);
    }
    this.top = level;
  }

  add(leaf, bytes) {
    const { levels, top } = this;
    for (let level = 0; level <= top; level++, leaf >>= 4) levels[level][leaf] += bytes;
  }

  set(leaf, bytes) {
    this.add(leaf, bytes - this.levels[0][leaf]);
  }

  leafOf(rank) {
    return rank >= this.firstBorn ? this.seeds + rank - this.firstBorn : this.local[rank];
  }

  rankOf(leaf) {
    return leaf < this.seeds ? this.ranks[leaf] : this.firstBorn + leaf - this.seeds;
  }

  advance(event, slid) {
    const { model } = this.tile, { birth, count } = model.device, { end, ended, size } = model;
    if (event !== this.ghostEvent) {
      for (const leaf of this.ghosts) this.set(leaf, 0);
      this.ghosts = [];
    }
    while (this.born < count && birth[this.born] <= event) {
      this.add(this.leafOf(this.born), size[this.born]);
      this.born++;
    }
    for (; this.ended < ended.length && end[ended[this.ended]] <= event; this.ended++) {
      const rank = ended[this.ended], leaf = this.leafOf(rank);
      if (end[rank] === event && slid < 1) this.ghosts.push(leaf);
      else this.set(leaf, 0);
    }
    for (const leaf of this.ghosts)
      this.set(leaf, Math.round(size[this.rankOf(leaf)] * (1 - slid)));
    this.ghostEvent = event;
  }

  instantOf(tile, column) {
    const x0 = tile.x0 + tile.dx * column;
    return tile.axis.instant(tile.model, x0, x0 + tile.dx);
  }

  // Fills one column from the children of a node; returns the bytes below what follows.
  descend(level, node, bytes, base) {
    const { y0, dy, height, ids } = this.tile, sums = this.levels[level];
    const end = level === this.top ? 1 : Math.min(sums.length, node * 16 + 16);
    for (let child = level === this.top ? 0 : node * 16; child < end; child++) {
      const sum = sums[child];
      if (sum === 0) continue;
      const low = bytes;
      bytes += sum;
      let row = Math.ceil((low - y0) / dy - 0.5), stop = Math.ceil((bytes - y0) / dy - 0.5);
      if (stop <= row || stop <= 0) continue;
      if (row >= height) return bytes;
      if (level > 0) {
        this.descend(level - 1, child, low, base);
        continue;
      }
      if (this.ghosts.length && this.ghosts.includes(child)) continue;
      const id = this.rankOf(child) + 1, isHigh = stop - row > 3 && row >= 0;
      row = Math.max(0, row);
      ids.fill(id, base + row, base + Math.min(stop, height));
      if (isHigh) ids[base + row] = id + EDGE;
    }
    return bytes;
  }

  // Makes columns until `deadline`; true when the tile is complete.
  run(tile, deadline) {
    if (this.tile !== tile) {
      if (tile.done > 0) tile.done = 0, tile.ids.fill(0);
      this.begin(tile);
    }
    while (tile.done < tile.columns) {
      const [event, slid] = this.instantOf(tile, tile.done);
      this.advance(event, slid);
      this.descend(this.top, 0, 0, tile.done * tile.height);
      tile.done++;
      if ((tile.done & 7) === 0 && performance.now() > deadline) return tile.done === tile.columns;
    }
    return true;
  }
}

// Finished tiles; coarse ones are shown while finer ones are being made.
class TileStore {
  constructor() {
    this.tiles = [];
    this.sweep = new Sweep();
    this.clock = 0;
  }

  clear() {
    this.tiles = [];
    this.sweep.tile = null;
  }

  find(band, place) {
    return this.tiles.find((t) => t.band === band && t.x0 === place.x0 && t.dx === place.dx && t.y0 === place.y0 &&
      t.dy === place.dy && t.height === place.height);
  }

  // The oldest are dropped; the first one, which covers everything, stays.
  want(band, axis, place, most) {
    let tile = this.find(band, place);
    if (!tile) {
      tile = new Tile(band, axis, place);
      this.tiles.push(tile);
      while (this.tiles.length > most) {
        let oldest = 1;
        for (let i = 2; i < this.tiles.length - 1; i++)
          if (this.tiles[i].used < this.tiles[oldest].used) oldest = i;
        this.tiles.splice(oldest, 1);
      }
    }
    tile.used = ++this.clock;
    return tile;
  }

  work(tiles, deadline) {
    const started = tiles.find((t) => t === this.sweep.tile && t.done < t.columns);
    const queue = started ? [started, ...tiles] : tiles;
    for (const tile of queue) {
      if (tile.done === tile.columns) continue;
      if (!this.sweep.run(tile, deadline)) return false;
      if (performance.now() > deadline) break;
    }
    return tiles.every((t) => t.done === t.columns);
  }
}

// Colours a tile. `colours[allocation]` is a pixel (little-endian RGBA); `edges` is what its lowest
// row has instead; what was there before the first event is hatched.
function paintTile(tile, colours, edges, hatched, version) {
  const { columns, height, ids } = tile, { origin } = tile.band;
  if (!tile.canvas) {
    tile.canvas = document.createElement("canvas");
    tile.canvas.width = columns;
    tile.canvas.height = height;
    tile.context = tile.canvas.getContext("2d");
    tile.image = tile.context.createImageData(columns, height);
  }
  const pixels = new Uint32Array(tile.image.data.buffer);
  for (let row = 0; row < height; row++) {
    const line = (height - 1 - row) * columns;
    for (let column = 0, at = row; column < columns; column++, at += height) {
      const id = ids[at];
      if (id === 0) { pixels[line + column] = 0; continue; }
      const own = (id & 0x7fffffff) - 1, rank = origin ? origin[own] : own;
      pixels[line + column] = id >= EDGE ? edges[rank] :
        rank < hatched && (column + row) % HATCH === 0 ? edges[rank] : colours[rank];
    }
  }
  tile.context.putImageData(tile.image, 0, 0);
  tile.painted = version;
}
