// What the pointer and keys do to the page.

const KEYS = [
  ["1 2 3 4 5", "memory timeline, segment timeline, allocator state, flame graph, pools"],
  ["W S, wheel", "zoom at the pointer; with Shift the bytes"],
  ["A D, drag, arrows", "move"],
  ["0", "everything"],
  ["F", "fit the pinned allocation"],
  ["B E", "to its start, its end"],
  ["P", "to the peak"],
  ["O, Shift+O", "next, previous out of memory"],
  ["[ ]", "previous, next range or step"],
  [", .", "previous, next event (Shift: 100)"],
  ["Y", "bytes of what is in view"],
  ["X", "x axis: events, time, PyTorch's ticks"],
  ["M", "blocks, or requested bytes as PyTorch draws them"],
  ["/", "search: text of a frame, /regular expression/, size>64M, life<10, site:, stream:, pool:, addr:, stack:, leak, nostack, nopython; - excludes; Enter goes through hits"],
  ["I", "only what matches, stacked without the others"],
  ["V", "flame graph: the frames that allocate on top, or the outermost"],
  ["U, Backspace", "flame graph: a level up"],
  ["N", "next device"],
  ["T", "light or dark"],
  ["Esc", "clear: zoom of the flame graph, pin, search"],
  ["?", "this help"],
];

class Input {
  constructor(app) {
    this.app = app;
    const table = element("table", {});
    for (const [keys, text] of KEYS)
      table.append(element("tr", {}, element("th", {}, keys), element("td", {}, text)));
    app.help.append(element("div", {}, table));
    this.listenToPlot(app.canvas);
    this.listenToFlame();
    this.listenToControls();
  }

  // Waits for the next frame: a pointer that moved.
  settle() {
    if (this.place) this.hover(this.place);
  }

  // ---- listening ----

  at(e, canvas) {
    const box = canvas.getBoundingClientRect();
    this.pointer = e;
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  }

  listenToPlot(canvas) {
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.wheel(e); }, { passive: false });
    canvas.addEventListener("pointerdown", (e) => this.press(e));
    canvas.addEventListener("pointermove", (e) => this.move(e));
    canvas.addEventListener("pointerup", (e) => this.release(e));
    canvas.addEventListener("pointerleave", (e) => {
      this.pointer = e;
      if (!this.held) this.hover({ x: -1, y: -1 });
      this.setTip(null);
    });
    canvas.addEventListener("dblclick", () => this.app.fitPinned());
  }

  listenToControls() {
    const { app } = this, choose = (box, act) => {
      box.onchange = () => { act(box.type === "checkbox" ? box.checked : box.value); app.canvas.focus(); };
    };
    addEventListener("keydown", (e) => this.key(e));
    addEventListener("resize", () => { app.plot.resize(); app.drawFlame(); app.dirty(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener?.("change", (e) =>
      app.setTheme(e.matches ? "dark" : "light"));
    addEventListener("beforeprint", () => app.beginPrint());
    addEventListener("afterprint", () => app.setTheme(app.shownTheme));
    choose(app.axisBox, (mode) => app.setAxis(mode));
    choose(app.measureBox, (measure) => app.setMeasure(measure));
    choose(app.deviceBox, (index) => app.setDevice(Number(index)));
    choose(app.sourceBox, (source) => app.setFlame({ source }));
    choose(app.weightBox, (weight) => app.setFlame({ counts: weight === "blocks" }));
    choose(app.invertBox, (isInverted) => app.setFlame({ isInverted }));
    choose(app.framesBox, (all) => app.setFlame({ isShort: !all }));
    app.helpButton.onclick = () => { app.help.hidden = !app.help.hidden; };
    app.help.onclick = () => { app.help.hidden = true; };
    app.wholeButton.onclick = () => app.fitAll();
    app.givenButton.onclick = () => app.setMatch(app.match === app.given ? null : app.given, true);
    app.topButton.onclick = () => app.setTop(!app.hasTop);
    choose(app.aloneBox, (isAlone) => app.setMatch(app.match, isAlone));
    app.searchBox.addEventListener("input", () => {
      clearTimeout(this.searching);
      this.searching = setTimeout(() => app.search(app.searchBox.value), 120);
    });
  }

  listenToFlame() {
    const { app } = this, { flame } = app, nodeAt = (e) => {
      const { x, y } = this.at(e, flame);
      return app.icicle.at(x, y);
    };
    flame.addEventListener("pointermove", (e) => {
      const node = nodeAt(e), { icicle, tables } = app;
      app.drawFlame(node);
      if (node < 0) { this.setTip(null); return; }
      const frame = icicle.frameOf(node), share = 100 * icicle.weight[node] / icicle.weight[0];
      this.setTip([icicle.label(node), `${size(icicle.bytes[node])} (${exact(icicle.bytes[node])} bytes), ` +
        `${share.toFixed(1)} %, ${counted(icicle.blocks[node], "block")}`, frame >= 0 ? tables.place(frame) : ""]);
    });
    flame.addEventListener("pointerleave", () => { this.setTip(null); app.drawFlame(); });
    flame.addEventListener("click", (e) => {
      const node = nodeAt(e);
      if (node >= 0) app.focusFlame(node);
    });
  }

  // ---- hovering ----

  hover(place) {
    const { app } = this, { plot } = app;
    this.place = null;
    if (app.tab === "state" && plot.state.covers(place.y)) this.hoverState(place);
    else if (plot.inside(place.x, place.y)) this.hoverMoment(place);
    else {
      const range = app.isTimeline ? plot.rangeAt(place.x, place.y) : null;
      this.setTip(range && [app.hasSteps ? `step ${range.name}` : range.name,
        `events ${exact(range.from)} to ${exact(range.to)}`]);
      this.setHovered(-1);
      app.setMoment(app.home);
    }
  }

  setHovered(row) {
    const { app } = this;
    if (app.hovered === row) return;
    app.hovered = row;
    app.showDetails();
    app.dirty();
  }

  lifeText(i) {
    const d = this.app.device;
    return (d.birth[i] < 0 ? "from before the first event" : `born at event ${exact(d.birth[i])}`) + ", " +
      (d.freed[i] === NEVER ? "alive at the end" : `freed at event ${exact(d.freed[i])}`);
  }

  hoverMoment({ x, y }) {
    const { app } = this, { event, found, shares } = app.plot.hit(x, y), d = app.device;
    this.setHovered(found);
    app.setMoment(event);
    const levels = `${whenText(d, event)}: allocated ${size(app.used.at(event))}, reserved ${size(d.reserved.at(event))}` +
      (d.isPart ? `, matching ${size(app.model.allocated.at(event))}` : "");
    const lines = found < 0 ? [levels] :
      [d.siteLabel[d.site[found]], `${size(d.block[found])}, ${this.lifeText(found)}`];
    if (shares > 1) lines.push(`and ${exact(shares - 1)} more in this pixel`);
    if (found >= 0) lines.push(levels);
    this.setTip(lines);
  }

  hoverState({ x, y }) {
    const { app } = this, { state } = app.plot, hit = state.hit(x, y), d = app.device;
    app.setMoment(app.home);
    this.setHovered(hit ? state.heap.row[hit.piece] : -1);
    if (!hit) { this.setTip(null); return; }
    const { heap } = state, { piece } = hit, i = heap.row[piece], bytes = heap.size[piece];
    const lines = i === HOLE ? [`free: ${size(bytes)} (${exact(bytes)} bytes)`] :
      [(heap.part[piece] === PENDING ? "freed, waiting for a stream: " : "") + d.siteLabel[d.site[i]],
        `${size(bytes)}, ${exact(d.requested[i])} bytes asked for, ${this.lifeText(i)}`];
    lines.push(`at 0x${heap.addr[piece].toString(16)} in ${heap.runName(state.runOf(piece))}`);
    if (hit.shares > 1) lines.push(`and ${exact(hit.shares - 1)} more in this pixel`);
    this.setTip(lines);
  }

  setTip(lines) {
    const { tip } = this.app;
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(...lines.map((line, i) => element(i ? "span" : "b", {}, line)));
    const box = tip.getBoundingClientRect(), { clientX, clientY } = this.pointer;
    const left = clientX + 16 + box.width > innerWidth ? clientX - box.width - 12 : clientX + 16;
    const top = clientY + 16 + box.height > innerHeight ? clientY - box.height - 12 : clientY + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  }

  // ---- wheel and buttons ----

  wheel(e) {
    const { app } = this, { x, y } = this.at(e, app.canvas), unit = e.deltaMode === 1 ? 33 : 1;
    const isState = app.tab === "state" && app.plot.state.covers(y);
    if (isState && e.shiftKey) app.plot.state.scrollBy((e.deltaY || e.deltaX) * unit);
    else if (isState) app.plot.state.zoomAt(2 ** (e.deltaY * unit / 400), y);
    else if (e.shiftKey && app.isTimeline) app.zoomY(2 ** ((e.deltaY || e.deltaX) * unit / 400), y);
    else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) app.panX(e.deltaX * unit);
    else app.zoomX(2 ** (e.deltaY * unit / 300), x);
    if (!this.held) this.place = { x, y }; // something else is at the pointer now
    app.dirty();
  }

  press(e) {
    const { app } = this, { plot } = app, at = this.at(e, app.canvas);
    const where = app.tab === "state" && plot.state.covers(at.y) ? "state" :
      !app.isTimeline ? "strip" : plot.inMap(at.y) ? "map" : "plot";
    this.held = { ...at, last: at, moved: false, where };
    app.canvas.setPointerCapture(e.pointerId);
    if (where === "map") this.moveMap(at);
  }

  moveMap({ x }) {
    const { plot, view, axis } = this.app, middle = (x - plot.x) / plot.w * axis.length;
    const half = (view.x1 - view.x0) / 2;
    this.app.setX(middle - half, middle + half);
  }

  move(e) {
    const { app, held } = this, at = this.at(e, app.canvas);
    if (!held) {
      this.place = at;
      app.dirty();
      return;
    }
    if (Math.abs(at.x - held.x) + Math.abs(at.y - held.y) > 4) held.moved = true;
    if (held.where === "map") this.moveMap(at);
    else if (held.where === "strip") this.pickMoment(at);
    else if (held.moved) this.drag(at);
    held.last = at;
  }

  drag(at) {
    const { app, held } = this;
    app.canvas.classList.add("moving");
    this.setTip(null);
    if (held.where === "state") app.plot.state.scrollBy(held.last.y - at.y);
    else {
      app.panX(held.last.x - at.x);
      if (app.view.y1 - app.view.y0 < app.most) app.panY(at.y - held.last.y);
    }
    app.dirty();
  }

  pickMoment({ x }) {
    const { app } = this, { plot } = app;
    [app.home] = plot.instant(Math.max(plot.x, Math.min(plot.x + plot.w - 1, x)));
    app.setMoment(app.home);
  }

  release(e) {
    const { app, held } = this, at = this.at(e, app.canvas);
    this.held = null;
    app.canvas.classList.remove("moving");
    if (held?.moved) { this.place = at; app.dirty(); }
    if (!held || held.moved || held.where === "map") return;
    if (held.where === "strip") { this.pickMoment(at); return; }
    if (held.where === "state") app.pinned = this.blockAt(at);
    else if (app.plot.inside(at.x, at.y)) {
      const { event, found } = app.plot.hit(at.x, at.y);
      app.pinned = found;
      app.home = event;
      app.setMoment(event);
    }
    app.showDetails();
    app.dirty();
  }

  blockAt({ x, y }) {
    const { state } = this.app.plot, hit = state.hit(x, y);
    return hit ? state.heap.row[hit.piece] : -1;
  }

  // ---- keys ----

  // Clears the innermost choice.
  letGo() {
    const { app } = this;
    if (!app.help.hidden) app.help.hidden = true;
    else if (app.icicle.focus > 0) app.focusFlame(0);
    else if (app.pinned >= 0) {
      app.pinned = -1;
      app.home = app.peak;
      app.setMoment(app.peak);
      app.showDetails();
    } else {
      app.searchBox.value = "";
      app.search("");
      showSites(app.sites, app, app.moment);
    }
    app.dirty();
  }

  key(e) {
    const { app } = this, { searchBox } = app;
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === searchBox) {
      if (e.key === "Enter") { app.search(searchBox.value); app.nextHit(e.shiftKey ? -1 : 1); }
      if (e.key === "Escape") { searchBox.value = ""; app.search(""); app.canvas.focus(); }
      return;
    }
    if (e.target instanceof HTMLSelectElement) return;
    const move = this.moveOf(e), action = move || this.actionOf(e);
    if (!action) return;
    e.preventDefault();
    action();
    if (move && this.pointer?.target === app.canvas && !this.held) this.place = this.at(this.pointer, app.canvas);
    app.dirty();
  }

  // Keys that move within the view.
  moveOf(e) {
    const { app } = this, { plot } = app, { state } = plot, isState = app.tab === "state";
    const px = this.pointer && plot.inside(this.at(this.pointer, app.canvas).x, plot.y) ?
      this.at(this.pointer, app.canvas).x : undefined;
    const zoom = (factor) => isState ? state.zoomAt(factor, state.y + state.height / 2) : app.zoomX(factor, px);
    const climb = (pixels) => isState ? state.scrollBy(-pixels) : app.panY(pixels);
    return {
      w: () => zoom(0.7), s: () => zoom(1 / 0.7),
      W: () => app.zoomY(0.7), S: () => app.zoomY(1 / 0.7),
      a: () => app.panX(-plot.w / 8), d: () => app.panX(plot.w / 8),
      ArrowLeft: () => app.panX(-plot.w / 8), ArrowRight: () => app.panX(plot.w / 8),
      ArrowUp: () => climb(plot.h / 8), ArrowDown: () => climb(-plot.h / 8),
      0: () => app.fitAll(), y: () => app.fitBytes(), f: () => app.fitPinned(),
    }[e.key];
  }

  // Keys that go to a moment, or change what is shown.
  actionOf(e) {
    const { app } = this, { device, axis, pinned } = app, many = e.shiftKey ? 100 : 1;
    const ooms = device.ooms.map((o) => o.event), starts = app.ranges.map((r) => r.from);
    const modes = ["event", "time", "tick"].filter((mode) => mode !== "time" || device.time.length);
    const by = (events) => () => device.events &&
      app.goTo(Math.max(0, Math.min(device.events - 1, app.moment + events)));
    const up = () => app.icicle.focus > 0 && app.focusFlame(app.icicle.parent[app.icicle.focus]);
    return {
      1: () => app.setTab("active"), 2: () => app.setTab("segments"),
      3: () => app.setTab("state"), 4: () => app.setTab("flame"), 5: () => app.setTab("pools"),
      b: () => pinned >= 0 && app.goTo(device.birth[pinned]),
      e: () => pinned >= 0 && app.model.end[pinned] !== NEVER && app.goTo(app.model.end[pinned]),
      p: () => app.goTo(app.peak),
      o: () => app.step(ooms, 1), O: () => app.step(ooms, -1),
      "]": () => app.step(starts, 1), "[": () => app.step(starts, -1),
      ",": by(-1), "<": by(-many), ".": by(1), ">": by(many),
      x: () => app.setAxis(modes[(modes.indexOf(axis.mode) + 1) % modes.length]),
      m: () => app.setMeasure(app.measure === "block" ? "requested" : "block"),
      i: () => app.setMatch(app.match, !app.isAlone),
      v: () => app.setFlame({ isInverted: !app.isInverted }),
      u: up, Backspace: up,
      n: () => app.setDevice((app.index + 1) % app.devices.length),
      t: () => app.setTheme(app.themeName === "dark" ? "light" : "dark"),
      "/": () => { app.searchBox.focus(); app.searchBox.select(); },
      "?": () => { app.help.hidden = !app.help.hidden; },
      Escape: () => this.letGo(),
    }[e.key];
  }
}
