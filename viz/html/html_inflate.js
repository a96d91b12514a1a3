// The zlib stream of the columns, for browsers without DecompressionStream (before 2023).
// RFC 1950 and 1951.

function inflate(data) {
  const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67,
    83, 99, 115, 131, 163, 195, 227, 258];
  const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5,
    5, 5, 0];
  const FAR_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769,
    1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  let out = new Uint8Array(Math.max(1024, data.length * 5)), used = 0;
  let at = 2, hold = 0, held = 0;

  function bits(count) {
    while (held < count) {
      if (at >= data.length) throw new Error("the page's data is cut off");
      hold |= data[at++] << held;
      held += 8;
    }
    const value = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return value;
  }
  function room(count) {
    if (used + count <= out.length) return;
    const grown = new Uint8Array(Math.max(out.length * 2, used + count));
    grown.set(out);
    out = grown;
  }
  // Counts by length and symbols in order: codes are read bit by bit.
  function tableOf(lengths) {
    const count = new Uint16Array(16), start = new Uint16Array(16);
    const symbols = new Uint16Array(lengths.length);
    for (const length of lengths) count[length]++;
    count[0] = 0;
    for (let i = 1; i < 16; i++) start[i] = start[i - 1] + count[i - 1];
    lengths.forEach((length, symbol) => { if (length) symbols[start[length]++] = symbol; });
    return { count, symbols };
  }
  function symbol(table) {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length < 16; length++) {
      code |= bits(1);
      const count = table.count[length];
      if (code - first < count) return table.symbols[index + code - first];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Error("the page's data is damaged");
  }
  function dynamicTables() {
    const literals = bits(5) + 257, fars = bits(5) + 1, codes = bits(4) + 4;
    const lengths = new Array(19).fill(0);
    for (let i = 0; i < codes; i++) lengths[ORDER[i]] = bits(3);
    const table = tableOf(lengths), all = [];
    while (all.length < literals + fars) {
      const s = symbol(table);
      if (s < 16) { all.push(s); continue; }
      const value = s === 16 ? all[all.length - 1] : 0;
      let repeat = s === 16 ? 3 + bits(2) : s === 17 ? 3 + bits(3) : 11 + bits(7);
      while (repeat--) all.push(value);
    }
    return [tableOf(all.slice(0, literals)), tableOf(all.slice(literals))];
  }
  function fixedTables() {
    const lengths = [];
    for (let i = 0; i < 288; i++) lengths.push(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    return [tableOf(lengths), tableOf(new Array(30).fill(5))];
  }
  function stored() {
    hold = held = 0;
    const length = data[at] | data[at + 1] << 8;
    at += 4;
    room(length);
    out.set(data.subarray(at, at + length), used);
    at += length;
    used += length;
  }
  function compressed([literals, fars]) {
    for (;;) {
      const s = symbol(literals);
      if (s === 256) return;
      if (s < 256) {
        room(1);
        out[used++] = s;
        continue;
      }
      const length = LENGTH_BASE[s - 257] + bits(LENGTH_BITS[s - 257]);
      const far = symbol(fars);
      const from = used - FAR_BASE[far] - bits(far < 2 ? 0 : (far >> 1) - 1);
      room(length);
      for (let i = 0; i < length; i++) out[used++] = out[from + i];
    }
  }

  for (let last = 0; !last;) {
    last = bits(1);
    const type = bits(2);
    if (type === 0) stored();
    else if (type === 1) compressed(fixedTables());
    else if (type === 2) compressed(dynamicTables());
    else throw new Error("the page's data is damaged");
  }
  return out.subarray(0, used);
}

async function unpack(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  if (typeof DecompressionStream === "undefined") return inflate(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
