// Words and numbers: what is written beside the picture. Texts of the trace are only ever inserted
// as text.

function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0, value = Math.abs(bytes);
  while (value >= 1024 && unit < 5) value /= 1024, unit++;
  const text = unit === 0 ? String(value) : value >= 100 ? value.toFixed(0) :
    value >= 10 ? value.toFixed(1) : value.toFixed(2);
  return (bytes < 0 ? "-" : "") + text + " " + units[unit];
}

function exact(count) {
  return Math.round(count).toLocaleString("en-US");
}

function counted(count, noun) {
  return `${exact(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function duration(us) {
  if (us < 1000) return `${Math.round(us)} us`;
  if (us < 1e6) return `${(us / 1e3).toFixed(us < 1e5 ? 2 : 1)} ms`;
  if (us < 6e8) return `${(us / 1e6).toFixed(us < 1e8 ? 3 : 1)} s`;
  return `${(us / 6e7).toFixed(1)} min`;
}

// Like duration, with enough digits for values that are `step` apart.
function instant(us, step) {
  const [unit, name] = us >= 1e6 ? [1e6, "s"] : us >= 1e3 ? [1e3, "ms"] : [1, "us"];
  const digits = Math.max(0, Math.min(6, Math.ceil(Math.log10(unit / Math.max(1, step)))));
  return us === 0 ? "0" : `${(us / unit).toFixed(unit === 1 ? 0 : digits)} ${name}`;
}

// As much of both ends as fits.
function fitText(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1, head = Math.ceil(middle / 2);
    const cut = text.slice(0, head) + "\u2026" + text.slice(text.length - (middle - head));
    if (g.measureText(cut).width <= width) low = middle; else high = middle - 1;
  }
  if (low < 2) return "";
  const head = Math.ceil(low / 2);
  return text.slice(0, head) + "\u2026" + text.slice(text.length - (low - head));
}

// element("p", {className: "x"}, "text", child ...)
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  for (const child of children)
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return made;
}

function whenText(device, event) {
  if (event < 0) return "before the first event";
  const time = device.time.length ? `, ${duration(device.time[event] - device.time[0])}` : "";
  return `event ${exact(event)}${time}`;
}

function endText(device, i) {
  if (device.freed[i] === NEVER)
    return device.completed[i] === NEVER ? "alive at the end" : "freed before the first event";
  const born = Math.max(0, device.birth[i]);
  return `${whenText(device, device.freed[i])}, after ${exact(device.freed[i] - born)} events`;
}

function allocationRows(model, i) {
  const d = model.device, rows = [], s = d.segment[i] - 1, bytes = `${size(d.block[i])} (${exact(d.block[i])} bytes`;
  if (d.isSegments) return segmentRows(d, i, s, bytes);
  const older = d.version(i);
  rows.push(["size", bytes + (d.flags[i] & 2 ? ", at least" : "") + ")"]);
  rows.push(["asked for", `${exact(d.requested[i])} bytes`]);
  rows.push(["allocated", whenText(d, d.birth[i])]);
  rows.push(["freed", endText(d, i)]);
  if (d.completed[i] !== NEVER && d.freed[i] !== NEVER && d.completed[i] > d.freed[i] + 1)
    rows.push(["completed", whenText(d, d.completed[i])]);
  rows.push(["address", d.address(i) + (older ? `, use ${older + 1} of it` : "")]);
  if (s >= 0) rows.push(["in", d.place(s)]);
  if (d.flags[i] & 1) rows.push(["leak", "part of a reported leak"]);
  return rows;
}

function segmentRows(d, i, place, bytes) {
  return [[d.placeExpandable[place] ? "mapped" : "segment", bytes + ")"], ["from", whenText(d, d.birth[i])],
    ["until", endText(d, i)], ["address", d.address(i)], ["of", d.place(place)]];
}

function showAllocation(box, app, i, isPinned) {
  const { tables, model } = app, stack = model.device.stack[i];
  const frames = tables.of(stack, app.isShort), all = tables.of(stack, false).length;
  const table = element("table", {});
  for (const [name, value] of allocationRows(model, i))
    table.append(element("tr", {}, element("th", {}, name), element("td", {}, value)));
  const list = element("ol", { className: "stack" });
  for (const f of frames) {
    const row = element("li", { className: `kind${tables.kind[f]}` },
      element("b", {}, tables.name[f] || "?"), element("span", {}, tables.place(f)));
    if (app.match?.hit?.[f]) row.classList.add("hit");
    list.append(row);
  }
  const title = element("h2", {}, model.device.siteLabel[model.device.site[i]]);
  title.prepend(element("i", { className: "swatch", style: `background:${app.cssColour(i)}` }));
  box.replaceChildren(title, table);
  if (!all) box.append(element("p", { className: "faint" }, stack < 0 ?
    "No stack was recorded." : "The stack has no frames: a C++ thread without Python."));
  box.append(list);
  if (all > frames.length) {
    const more = element("button", {}, `show all ${all} frames`);
    more.onclick = () => app.setFlame({ isShort: false });
    box.append(more);
  }
  box.append(element("p", { className: "faint" }, isPinned ?
    "Pinned. Esc unpins; B and E go to its start and end." : "Click the picture to pin it."));
}

// Call sites by their bytes at a moment.
function showSites(box, app, event) {
  const { model } = app, d = model.device, bytes = new Float64Array(d.siteLabel.length);
  let all = 0;
  model.eachAlive(event, (i) => { bytes[d.site[i]] += model.size[i]; all += model.size[i]; });
  const order = Array.from(bytes.keys()).filter((s) => bytes[s] > 0).sort((a, b) => bytes[b] - bytes[a]);
  const rows = order.slice(0, 14).map((s) => siteRow(app, s, bytes[s], all));
  const rest = order.slice(14).reduce((sum, s) => sum + bytes[s], 0);
  const title = element("h2", {}, `Who ${d.isSegments ? "asked for" : "holds"} ${size(all)} ${app.momentText(event)}`);
  box.replaceChildren(title, ...rows);
  if (order.length > 14)
    box.append(element("p", { className: "faint" }, `${order.length - 14} other lines of code: ${size(rest)}`));
}

function siteRow(app, site, bytes, all) {
  const share = all ? 100 * bytes / all : 0, label = app.model.device.siteLabel[site];
  const isLeak = app.model.device.siteColour[site] === 1;
  const row = element("button", { className: "site", title: label },
    element("i", { className: "swatch", style: `background:${app.cssSite(site)}` }),
    element("span", { className: "name" }, (isLeak ? "leak: " : "") + label),
    element("span", { className: "number" }, size(bytes)),
    element("span", { className: "share" }, share >= 1 ? `${share.toFixed(0)} %` : "<1 %"));
  if (app.site === site) row.classList.add("chosen");
  row.onclick = () => app.chooseSite(app.site === site ? -1 : site);
  return row;
}

// What the lines of the picture are: each as it is drawn, and its name.
function keyLines(app) {
  const { theme, device } = app, lines = [];
  if (app.tab === "state")
    return theme.fullness.map((colour, level) => ["bar", colour, level ? level < 4 ? `to ${25 * level} %` : "fuller" : "below a segment: empty"]);
  if (app.tab === "flame") return [["solid", theme.map, "allocated"], ["solid", theme.reserved, "reserved"]];
  lines.push(["solid", theme.outline, device.isSegments ? "reserved" : device.isPart ? "matching" : "allocated"]);
  if (device.isSegments) lines.push(["dotted", theme.active, "allocated"]);
  else lines.push(["dashed", theme.reserved, app.tab === "pools" ? "held by the pool" : "reserved"]);
  if (!device.isSegments && app.tab !== "pools") {
    if (app.active) lines.push(["dotted", theme.active, "and waiting to be freed"]);
    if (device.isPart) lines.push(["dotted", theme.faint, "all that is allocated"]);
  }
  return lines;
}

function showKey(box, app) {
  const marks = [...keyLines(app), ["upright", app.theme.faint, "the moment"]];
  if (app.device.ooms.length) marks.push(["upright", app.theme.alarm, "out of memory"]);
  box.replaceChildren(...marks.map(([kind, colour, name]) => element("span", {},
    element("i", { className: kind, style: `border-color:${colour}` }), name)));
}
