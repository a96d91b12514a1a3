// Columns as viz/html/packed_columns.c writes them: "MVC1", then for each a name, a coding, a count
// and bytes.

// The bytes of the columns, which are in the page as a zlib stream in base64.
async function unpack(base64) {
  if (typeof DecompressionStream === "undefined")
    throw new Error("it needs a browser of 2023 or newer (DecompressionStream)");
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function readColumns(bytes) {
  const columns = new Map(), view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 4;
  while (at < bytes.length) {
    const length = bytes[at];
    const name = String.fromCharCode(...bytes.subarray(at + 1, at + 1 + length));
    at += 1 + length;
    const coding = String.fromCharCode(bytes[at]);
    const count = view.getUint32(at + 1, true), size = view.getUint32(at + 5, true);
    columns.set(name, { coding, count, bytes: bytes.subarray(at + 9, at + 9 + size) });
    at += 9 + size;
  }
  return columns;
}

// The numbers of a column as an array of `Type`. Bits up to 2^53 are exact.
function numbers(columns, name, Type = Float64Array) {
  const { coding, count, bytes } = columns.get(name);
  const out = new Type(count), isDelta = coding === "d";
  let at = 0, last = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++], value = byte & 127;
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
    }
    if (isDelta) value = last += value % 2 ? -(value + 1) / 2 : value / 2;
    out[i] = value;
  }
  return out;
}

// Names come from whatever program was recorded: characters that reverse text or move the cursor
// are shown as U+FFFD.
function texts(columns, name) {
  const { count, bytes } = columns.get(name), decoder = new TextDecoder("utf-8"), out = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    let length = 0, byte, scale = 1;
    do {
      byte = bytes[at++];
      length += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    out.push(decoder.decode(bytes.subarray(at, at + length))
      .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd"));
    at += length;
  }
  return out;
}
