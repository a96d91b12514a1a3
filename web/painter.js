// Goes through the list of a frame (web/draw_list.h) and paints it on a canvas.
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", "Liberation Sans", sans-serif';
const IMAGE_BYTES = 96 << 20; // of kept images

const decoder = new TextDecoder();
const colours = new Map();

function colourOf(rgba) {
  let text = colours.get(rgba);
  if (text === undefined) {
    const alpha = rgba & 255;
    text = '#' + (rgba >>> 8).toString(16).padStart(6, '0') + (alpha === 255 ? '' : alpha.toString(16).padStart(2, '0'));
    if (colours.size > 4096) colours.clear();
    colours.set(rgba, text);
  }
  return text;
}

// Lines 1.2 wide, 10 apart, along x + y: as the window has them.
function makeHatch(context, rgba) {
  const tile = new OffscreenCanvas(10, 10), c = tile.getContext('2d');
  c.strokeStyle = colourOf(rgba);
  c.lineWidth = 1.2;
  c.beginPath();
  for (const at of [0, 10, 20]) { c.moveTo(at + 1, -1); c.lineTo(-1, at + 1); c.moveTo(at + 10, -10); c.lineTo(at - 10, 10); }
  c.stroke();
  return context.createPattern(tile, 'repeat');
}

class Painter {
  constructor(core) {
    this.core = core;
    this.images = new Map(); // key -> {canvas, bytes}, the one used last is last
    this.imageBytes = 0;
    this.hatches = new Map();
  }

  // The pixels of an image as a canvas; kept when they have a key.
  image(low, high, address, width, height) {
    const key = high * 4294967296 + low + ':' + width;
    let kept = low || high ? this.images.get(key) : undefined;
    if (kept) {
      this.images.delete(key);
      this.images.set(key, kept);
      return kept.canvas;
    }
    const bytes = width * height * 4, room = this.core.exports.mv_web_room(bytes) >>> 0;
    if (!room) return null;
    this.core.exports.mv_web_pixels(address, width * height, room);
    const canvas = new OffscreenCanvas(width, height);
    const pixels = new Uint8ClampedArray(this.core.memory.buffer, room, bytes).slice();
    canvas.getContext('2d').putImageData(new ImageData(pixels, width, height), 0, 0);
    if (low || high) {
      this.images.set(key, {canvas, bytes});
      this.imageBytes += bytes;
      for (const [old, its] of this.images) {
        if (this.imageBytes <= IMAGE_BYTES) break;
        this.images.delete(old);
        this.imageBytes -= its.bytes;
      }
    }
    return canvas;
  }

  hatch(context, rgba) {
    let pattern = this.hatches.get(rgba);
    if (!pattern) this.hatches.set(rgba, pattern = makeHatch(context, rgba));
    return pattern;
  }

  paint(context, list, width, height, background) {
    const u = new Uint32Array(this.core.memory.buffer), f = new Float32Array(this.core.memory.buffer);
    let at = list >>> 2, clipped = false, font = '';
    const path = count => {
      context.beginPath();
      for (let i = 0; i < count; i++, at += 2) i ? context.lineTo(f[at], f[at + 1]) : context.moveTo(f[at], f[at + 1]);
    };
    const unclip = () => { if (clipped) context.restore(); clipped = false; font = ''; };
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.imageSmoothingEnabled = false;
    context.fillStyle = colourOf(background);
    context.fillRect(0, 0, width, height);
    for (;;) {
      switch (u[at++]) {
      case 0:
        unclip();
        return;
      case 1: {
        context.fillStyle = colourOf(u[at]);
        let left = u[at + 1];
        for (at += 2; left > 0; left--, at += 4) context.fillRect(f[at], f[at + 1], f[at + 2], f[at + 3]);
        break;
      }
      case 2:
        context.fillStyle = colourOf(u[at]);
        at += 2;
        path(u[at - 1]);
        context.fill();
        break;
      case 3: {
        const dashed = u[at + 2], closed = u[at + 3];
        context.strokeStyle = colourOf(u[at]);
        context.lineWidth = f[at + 1];
        if (dashed) context.setLineDash([7, 4]);
        at += 5;
        path(u[at - 1]);
        if (closed) context.closePath();
        context.stroke();
        if (dashed) context.setLineDash([]);
        break;
      }
      case 4: {
        const wanted = (u[at + 2] ? 'bold ' : '') + f[at + 1] + 'px ' + FONT;
        if (wanted !== font) context.font = font = wanted;
        context.fillStyle = colourOf(u[at]);
        context.textAlign = ['left', 'center', 'right'][u[at + 3]];
        context.fillText(decoder.decode(new Uint8Array(this.core.memory.buffer, u[at + 6], u[at + 7])), f[at + 4], f[at + 5]);
        at += 8;
        break;
      }
      case 5: {
        const image = this.image(u[at], u[at + 1], u[at + 2], u[at + 3], u[at + 4]);
        if (image && f[at + 7] > 0 && f[at + 8] > 0)
          context.drawImage(image, f[at + 9], f[at + 10], f[at + 11], f[at + 12], f[at + 5], f[at + 6], f[at + 7], f[at + 8]);
        at += 13;
        if (u.buffer !== this.core.memory.buffer) return this.paint(context, list, width, height, background);
        break;
      }
      case 6:
        unclip();
        context.save();
        clipped = true;
        context.beginPath();
        context.rect(f[at], f[at + 1], f[at + 2], f[at + 3]);
        context.clip();
        at += 4;
        break;
      case 7:
        unclip();
        break;
      case 8:
        context.fillStyle = this.hatch(context, u[at]);
        at += 2;
        path(u[at - 1]);
        context.fill();
        break;
      default:
        throw new Error('the list of a frame is damaged');
      }
    }
  }
}
