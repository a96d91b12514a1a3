// Frames, stacks and searches, in the words of --filter (analyze/filter/filter.h). A text is looked
// for once in each distinct frame, so that searching two million events costs what searching their
// frames costs.

class Tables {
  constructor(columns) {
    const strings = ["", ...texts(columns, "strings")];
    this.name = Array.from(numbers(columns, "frame.function"), (i) => strings[i]);
    this.file = Array.from(numbers(columns, "frame.file"), (i) => strings[i]);
    this.line = numbers(columns, "frame.line");
    this.label = texts(columns, "frame.label"); // "model.py:62 forward"
    this.emptyStack = texts(columns, "stack.empty")[0];
    this.kind = numbers(columns, "frame.kind", Uint8Array);
    const lengths = numbers(columns, "stack.frames");
    this.frames = numbers(columns, "stack.frame", Uint32Array);
    this.first = new Uint32Array(lengths.length + 1);
    lengths.forEach((n, i) => { this.first[i + 1] = this.first[i] + n; });
    this.stacks = lengths.length;
    this.notes = Array.from(numbers(columns, "note.name"), (i) => ({ name: strings[i] }));
    const time = numbers(columns, "note.time"), stage = numbers(columns, "note.stage");
    const device = numbers(columns, "note.device");
    this.notes.forEach((note, i) => {
      note.time = time[i];
      note.stage = ["start", "end", "other", "mark"][stage[i]];
      note.device = device[i] - 1;
    });
  }

  place(frame) {
    const line = this.line[frame] ? `:${this.line[frame] - 1}` : "";
    return this.file[frame] ? this.file[frame] + line : "";
  }

  // All frames of a stack, innermost first; with `isShort` without those of the interpreter, and
  // native ones only if there are no Python frames.
  of(stack, isShort) {
    if (stack < 0 || stack >= this.stacks) return [];
    const all = Array.from(this.frames.subarray(this.first[stack], this.first[stack + 1]));
    if (!isShort) return all;
    for (const limit of [2, 3, 4]) {
      const shown = all.filter((f) => this.kind[f] <= limit);
      if (shown.length) return shown;
    }
    return all;
  }

  // Which frames have a text or match a regular expression: [frames] 0 or 1.
  framesWith(test) {
    return Uint8Array.from(this.name, (name, f) => Number(test(`${this.place(f)}${this.file[f] ? ":" : ""}${name}`)));
  }

  // Which stacks have one of these frames: [stacks] 0 or 1.
  stacksWith(hit) {
    const stacks = new Uint8Array(this.stacks);
    for (let s = 0; s < this.stacks; s++)
      for (let i = this.first[s]; i < this.first[s + 1] && !stacks[s]; i++) stacks[s] = hit[this.frames[i]];
    return stacks;
  }

  // What all terms of a search match: `has` tests a row, `hit` marks frames whose text was searched
  // (null: no term is a text), `name` says how many. If the search cannot be read, `why` instead.
  search(text) {
    let terms;
    try {
      terms = readTerms(text).map((term) => ({ ...term, ...this.testOf(term) }));
    } catch (error) {
      return { why: error.message };
    }
    const texts = terms.filter((term) => term.hit && !term.isNegated);
    const hit = texts.length ? this.name.map((_, f) => texts.some((term) => term.hit[f])) : null;
    const stacks = texts.length ? texts[0].stacks.filter((_, s) => texts.every((term) => term.stacks[s])).reduce((n) => n + 1, 0) : 0;
    return { hit, text, name: hit ? `${counted(hit.filter(Boolean).length, "frame")}, ${counted(stacks, "stack")}` : text,
      has: (rows, i) => terms.every((term) => term.test(rows, i) !== term.isNegated) };
  }

  testOf({ kind, word }) {
    if (kind === "site") return { test: (rows, i) => this.isSite(rows.siteFrame[rows.site[i]] - 1, word) };
    if (kind !== "text" && kind !== "regex") return { test: BLOCK_TERMS[kind](word, this) };
    const plain = word.toLowerCase(), pattern = kind === "regex" ? new RegExp(word) : null;
    const hit = this.framesWith(pattern ? (s) => pattern.test(s) : (s) => s.toLowerCase().includes(plain));
    const stacks = this.stacksWith(hit);
    return { hit, stacks, test: (rows, i) => stacks[rows.stack[i]] === 1 };
  }

  // "train.py:62", "lib/train.py", "train.py:62:forward", or a function without a file.
  isSite(frame, word) {
    if (!(frame >= 0)) return false;
    const file = this.file[frame], place = this.place(frame);
    const ends = (path) => path === word || path.endsWith("/" + word) || path.endsWith("\\" + word);
    return file ? ends(file) || ends(place) || ends(`${place}:${this.name[frame]}`) : word === this.name[frame];
  }
}

// ---- words of a search ----

const SINGLES = ["leak", "nostack", "nopython"];
const EXPECTED = { size: "bytes, such as size>64M", life: "a number of events, such as life<10", stream: "a number, such as stream:0",
  pool: "an id, such as pool:1,0", addr: "an address, such as addr:0x7f12000000", site: "a line of code, such as site:train.py:62",
  stack: "the number of a stack, such as stack:17", cat: "a category" };

// [{kind, word, isNegated}]; throws what is wrong.
function readTerms(text) {
  const parts = text.match(/-?\/(?:\\.|[^\\])*?\/(?=\s|$)|(?:[^\s"]*"[^"]*"|\S)\S*/g) || [];
  return parts.map((part) => {
    const isNegated = part.startsWith("-"), rest = isNegated ? part.slice(1) : part;
    const named = rest.match(/^(size|life|stream|pool|addr|cat|site|stack)([<>]=?|[=:])(.*)$/s);
    if (!rest) throw new Error("expected a term after the '-', without a blank");
    if (named) return { kind: named[1], word: valueOf(named), isNegated };
    if (SINGLES.includes(rest)) return { kind: rest, word: "", isNegated };
    if (rest[0] !== "/") return { kind: "text", word: unquoted(rest), isNegated };
    if (rest.length < 3 || !rest.endsWith("/")) throw new Error(`${rest} has no closing '/'; a path is put between quotation marks`);
    return { kind: "regex", word: rest.slice(1, -1), isNegated };
  });
}

function unquoted(text) {
  if (text[0] !== '"') return text;
  if (text.length < 3 || text.indexOf('"', 1) !== text.length - 1) throw new Error(`${text} lacks a quotation mark`);
  return text.slice(1, -1);
}

// What a name is compared with: text of a site; [first, second] of a pool; else {least, most}.
function valueOf([part, name, how, value]) {
  const word = unquoted(value), wrong = () => { throw new Error(`${part}: expected ${EXPECTED[name]}`); };
  if (name === "cat") throw new Error("this page does not know categories (cat:); memviz trace_plot --filter and memviz view do");
  if (!word || (!["size", "life"].includes(name) && how !== ":" && how !== "=")) wrong();
  if (name === "site") return word;
  if (word === "unknown" && (name === "stream" || name === "pool")) return "";
  if (name === "pool") return /^\d+,\d+$/.test(word) ? `(${word.replace(",", ", ")})` : wrong();
  const number = name === "size" ? bytesOf(word) : name === "life" && word === "never" ? Infinity :
    /^(0x[0-9a-f]+|\d+)$/i.test(word) ? Number(word) : NaN;
  if (Number.isNaN(number)) wrong();
  if (name === "stream") return BigInt(word).toString();
  return (x) => how === "<" ? x < number : how === "<=" ? x <= number : how === ">" ? x > number :
    how === ">=" ? x >= number : name === "addr" ? number - x : x === number;
}

// "64M", "1.5 GiB".
function bytesOf(word) {
  const found = word.match(/^(\d+(?:\.\d*)?(?:e\d+)?) *(?:([KMGTPE])i?)?B?$/i);
  return found ? Math.trunc(found[1] * 1024 ** (found[2] ? "KMGTPE".indexOf(found[2].toUpperCase()) + 1 : 0)) : NaN;
}

const BLOCK_TERMS = {
  size: (is) => (rows, i) => is(rows.block[i]),
  life: (is) => (rows, i) => is(rows.freed[i] === NEVER ? Infinity : rows.freed[i] - Math.max(0, rows.birth[i])),
  stream: (word) => (rows, i) => (rows.segment[i] ? rows.placeStream[rows.segment[i] - 1] : "") === word,
  pool: (word) => (rows, i) => (rows.segment[i] ? rows.placePool[rows.segment[i] - 1] : "") === word,
  addr: (after) => (rows, i) => {
    const bytes = after(rows.addrHigh[i] * 4294967296 + rows.addrLow[i]);
    return bytes >= 0 && bytes < rows.block[i];
  },
  leak: () => (rows, i) => (rows.flags[i] & 1) === 1,
  stack: (is) => (rows, i) => rows.stack[i] >= 0 && is(rows.stack[i]),
  nostack: (_, tables) => (rows, i) => rows.stack[i] < 0 || rows.stack[i] >= tables.stacks,
  nopython: () => (rows, i) => rows.stack[i] === 0, // the row of the stack without frames
};

// What a search matches, by stacks. `has` tests a row, `hit` marks frames.
function ofStacks(stacks) {
  return { has: (rows, i) => rows.stack[i] >= 0 && stacks[rows.stack[i]] === 1 };
}
