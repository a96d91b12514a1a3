"""Writes the page's letters as a C file: the DejaVu Sans letters used in names and in memviz's own
texts, without hinting instructions, which the rasteriser does not read (viz/scene/text_raster.c).
Missing characters show as the font's box. The same inputs give the same bytes.

    make_fonts.py OUT.C FONT.TTF...
"""

import struct
import sys

# Latin, Greek, Cyrillic; punctuation, indices, currency, arrows, mathematics, boxes, shapes, marks.
WANTED = [(0x20, 0x7e), (0xa0, 0x17f), (0x384, 0x3ce), (0x400, 0x45f), (0x2010, 0x2026), (0x2030, 0x203a),
          (0x2070, 0x208e), (0x20ac, 0x20ac), (0x2190, 0x2199), (0x21d0, 0x21d5), (0x2202, 0x2265), (0x2500, 0x257f),
          (0x2580, 0x259f), (0x25a0, 0x25ff), (0x2605, 0x2606), (0x2610, 0x2612), (0x2713, 0x2718), (0xfffd, 0xfffd)]
WORDS, MORE, SCALE, SCALES, MATRIX, INSTRUCTIONS = 1, 32, 8, 64, 128, 256  # flags of a glyph component


def u16(data, at):
    return struct.unpack_from(">H", data, at)[0]


def u32(data, at):
    return struct.unpack_from(">I", data, at)[0]


def tables_of(font):
    rows = [struct.unpack_from(">4sIII", font, 12 + 16 * i) for i in range(u16(font, 4))]
    return {name.decode(): font[at:at + length] for name, _, at, length in rows}


# Returns {character: glyph}, from a table in format 12 or 4.
def characters_of(cmap):
    found = {}
    places = {u16(cmap, u32(cmap, 8 + 8 * i)): u32(cmap, 8 + 8 * i) for i in range(u16(cmap, 2)) if u16(cmap, 4 + 8 * i) in (0, 3)}
    at = places[12]
    for i in range(u32(cmap, at + 12)):
        first, last, glyph = struct.unpack_from(">III", cmap, at + 16 + 12 * i)
        found.update((first + k, glyph + k) for k in range(last - first + 1))
    return found


def parts_of(glyph):
    """Returns (the offset of each component's row, the end of the rows)."""
    at, rows = 10, []
    while True:
        flags = u16(glyph, at)
        rows.append(at)
        at += (8 if flags & WORDS else 6) + (2 if flags & SCALE else 4 if flags & SCALES else 8 if flags & MATRIX else 0)
        if not flags & MORE:
            return rows, at


def is_composite(glyph):
    return len(glyph) > 0 and struct.unpack_from(">h", glyph)[0] < 0


def bare(glyph, number_of):
    """Returns a glyph without its instructions and with renumbered components."""
    if not glyph:
        return glyph
    if is_composite(glyph):
        rows, end = parts_of(glyph)
        out = bytearray(glyph[:end])
        for at in rows:
            struct.pack_into(">HH", out, at, u16(out, at) & ~INSTRUCTIONS, number_of[u16(out, at + 2)])
        return bytes(out)
    contours = 10 + 2 * u16(glyph, 0)
    return glyph[:contours] + b"\0\0" + glyph[contours + 2 + u16(glyph, contours):]


def subset(font):
    tables = tables_of(font)
    loca, glyf, hmtx, is_long = tables["loca"], tables["glyf"], tables["hmtx"], u16(tables["head"], 50)
    metrics = u16(tables["hhea"], 34)
    characters = characters_of(tables["cmap"])
    wanted = sorted(c for first, last in WANTED for c in range(first, last + 1) if c in characters)

    def glyph_at(number):
        begin, end = ((u32(loca, 4 * n) if is_long else 2 * u16(loca, 2 * n)) for n in (number, number + 1))
        return glyf[begin:end]

    glyphs = [0]
    for character in wanted:
        glyphs += [characters[character]] if characters[character] not in glyphs else []
    for number in glyphs:  # the list grows during the loop
        glyph = glyph_at(number)
        for at in parts_of(glyph)[0] if is_composite(glyph) else []:
            glyphs += [u16(glyph, at + 2)] if u16(glyph, at + 2) not in glyphs else []
    number_of = {number: i for i, number in enumerate(glyphs)}
    outlines, places, widths = b"", [0], b""
    for number in glyphs:
        outlines += bare(glyph_at(number), number_of)
        outlines += b"\0" * (-len(outlines) % 4)
        places.append(len(outlines))
        row = min(number, metrics - 1)
        side = hmtx[4 * row + 2:4 * row + 4] if number < metrics else hmtx[4 * metrics + 2 * (number - metrics):][:2]
        widths += hmtx[4 * row:4 * row + 2] + side
    groups = b"".join(struct.pack(">III", c, c, number_of[characters[c]]) for c in wanted)
    cmap = struct.pack(">HHHHI", 0, 1, 3, 10, 12) + struct.pack(">HHIII", 12, 0, 16 + len(groups), 0, len(groups) // 12) + groups
    head, hhea, maxp = bytearray(tables["head"]), bytearray(tables["hhea"]), bytearray(tables["maxp"])
    struct.pack_into(">H", head, 50, 1)
    struct.pack_into(">H", hhea, 34, len(glyphs))
    struct.pack_into(">H", maxp, 4, len(glyphs))
    parts = {"cmap": cmap, "glyf": outlines, "head": head, "hhea": hhea, "hmtx": widths,
             "loca": struct.pack(">%dI" % len(places), *places), "maxp": maxp}
    at, rows, bodies = 12 + 16 * len(parts), b"", b""
    for name, body in parts.items():
        rows += struct.pack(">4sIII", name.encode(), 0, at + len(bodies), len(body))
        bodies += bytes(body) + b"\0" * (-len(body) % 4)
    return struct.pack(">IHHHH", 0x10000, len(parts), 64, 2, 16 * len(parts) - 64) + rows + bodies


def main(out, *names):
    lines = ['#include "web/system/fonts.h"\n']
    rows = []
    for i, name in enumerate(names):
        with open(name, "rb") as file:
            data = subset(file.read())
        lines.append("static const unsigned char font%d[] = {" % i)
        lines += [",".join(map(str, data[at:at + 40])) + "," for at in range(0, len(data), 40)]
        lines.append("};\n")
        rows.append('    {"%s", font%d, sizeof font%d},' % (name, i, i))
    lines += ["const mv_page_font mv_page_fonts[MV_PAGE_FONTS] = {", *rows, "};"]
    with open(out, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


main(*sys.argv[1:])
