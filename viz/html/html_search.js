// Frames, stacks and searches in them. A pattern runs once over each distinct frame, so that
// searching two million events costs what searching their frames costs.

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

  // Which stacks have a frame that matches: [stacks] 0 or 1, and how many frames did. A text that
  // is not a valid regular expression is searched literally.
  search(text) {
    let test;
    try {
      const pattern = new RegExp(text, "i");
      test = (s) => pattern.test(s);
    } catch {
      const plain = text.toLowerCase();
      test = (s) => s.toLowerCase().includes(plain);
    }
    const hit = new Uint8Array(this.name.length), stacks = new Uint8Array(this.stacks);
    let frames = 0, count = 0;
    for (let f = 0; f < hit.length; f++)
      if (test(`${this.place(f)}:${this.name[f]}`) || test(this.label[f])) hit[f] = 1, frames++;
    for (let s = 0; s < this.stacks; s++)
      for (let i = this.first[s]; i < this.first[s + 1] && !stacks[s]; i++)
        if (hit[this.frames[i]]) stacks[s] = 1, count++;
    return { hit, name: `${counted(frames, "frame")}, ${counted(count, "stack")}`, ...ofStacks(stacks) };
  }
}

// What a search matches, by stacks. `has` tests a row, `hit` marks frames.
function ofStacks(stacks) {
  return { has: (rows, i) => rows.stack[i] >= 0 && stacks[rows.stack[i]] === 1 };
}
