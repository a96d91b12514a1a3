// The memory timeline by pool. A band is a part of the picture with a stack of its own: the whole
// plot, or the envelope of a pool, as high as the most the pool ever held. What a private pool
// holds cannot be used by others.

const MOST_POOLS = 24, UNKNOWN_POOL = "", DEFAULT_POOL = "(0, 0)";

function wholeBand(model) {
  return { model, base: 0, high: Infinity, origin: null, name: "", held: null };
}

// The default pool is at the bottom, above it private ones by id, then unknown ones.
function inOrder(a, b) {
  const key = (name) => name === UNKNOWN_POOL ? [Infinity, 0] : name.match(/\d+/g).map(Number);
  const [x, y] = [key(a.name), key(b.name)];
  return x[0] - y[0] || x[1] - y[1] || 0;
}

function poolTitle(band) {
  const name = band.others ? `${band.others} other pools` : band.name === UNKNOWN_POOL ? "pool not recorded" :
    band.name === DEFAULT_POOL ? "default pool" : `private pool ${band.name}`;
  return `${name} \u00b7 at most ${size(band.mostHeld)} held, at most ${size(band.mostUsed)} in use`;
}

// Bands of `rows` (of a device, or those that match), from the bottom up. If there are many pools,
// those that hold least share the last band.
function poolBands(rows, device, measure) {
  const lists = new Map(), of = (list, name, i) => {
    if (!lists.has(name)) lists.set(name, { name, rows: [], segments: [] });
    lists.get(name)[list].push(i);
  };
  const { segments } = device;
  for (let i = 0; i < segments.count; i++) of("segments", device.placePool[segments.segment[i] - 1], i);
  for (let i = 0; i < rows.count; i++) of("rows", rows.segment[i] ? device.placePool[rows.segment[i] - 1] : UNKNOWN_POOL, i);
  let bands = [...lists.values()].map((list) => bandOf(list, rows, device, measure)).filter((band) => band.high > 0);
  if (bands.length > MOST_POOLS) {
    bands.sort((a, b) => (b.name === DEFAULT_POOL) - (a.name === DEFAULT_POOL) || b.high - a.high);
    const rest = bands.splice(MOST_POOLS - 1), all = { name: UNKNOWN_POOL, rows: [], segments: [] };
    for (const { name } of rest) {
      all.rows.push(...lists.get(name).rows);
      all.segments.push(...lists.get(name).segments);
    }
    const sorted = (list) => list.sort((a, b) => a - b);
    sorted(all.rows);
    sorted(all.segments);
    bands = [...bands.sort(inOrder), { ...bandOf(all, rows, device, measure), others: rest.length }];
  } else bands.sort(inOrder);
  return stackBands(bands);
}

function bandOf({ name, rows: own, segments: held }, rows, device, measure) {
  const part = rows.subset(own), model = part.model(measure), heldLevels = device.segments.subset(held).model("block").allocated;
  const most = (levels) => levels.at(levels.highest(-1, device.events));
  const mostHeld = most(heldLevels), mostUsed = most(model.allocated);
  return { name, model, origin: part.origin, held: heldLevels, mostHeld, mostUsed, high: Math.max(mostHeld, mostUsed) };
}

// One scale for all; there is room for a title between them.
function stackBands(bands) {
  const gap = 0.07 * bands.reduce((sum, band) => sum + band.high, 0);
  let base = 0;
  for (const band of bands) {
    band.base = base;
    base += band.high + gap;
  }
  return bands;
}
