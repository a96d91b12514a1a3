"""Requirements for an output with any strings in it: each check returns the error, or None."""

import csv
import io
import json
import re
import sqlite3
import struct
import xml.parsers.expat
import zlib

# By Unicode category: Cc, Zl and Zp, the explicit direction marks, tags.
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
STYLE = re.compile(r"\x1b\[(?:0|1|2|31|32|33)m")  # the codes of --color
PROGRESS = re.compile(r"\r\x1b\[K")
FORMULA = re.compile("^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"^-?[0-9.]+(e[-+]?[0-9]+)?$")
PAGES_HAVE_A_POLICY = True  # not if the tests' page replaces the program's


csv.field_size_limit(1 << 30)


def decoded(data):
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as why:
        return "", f"not UTF-8 at byte {why.start}: {data[max(0, why.start - 30):why.start + 10]!r}"


def terminal(data, color=False, progress=False, forged=True):
    text, why = decoded(data)
    if why:
        return why
    if color:
        text = STYLE.sub("", text)
    if progress:
        text = PROGRESS.sub("", text)
    if not forged:  # in markup a line end or a tab is a space
        text = text.replace("\n", " ").replace("\t", " ")
    found = OBEYED.search(text.replace("\n", ""))
    if found:
        text = text.replace("\n", "")
        return f"U+{ord(found[0]):04X} after {text[max(0, found.start() - 40):found.start()]!r}"
    if re.search(r"^FORGED", text, re.M):
        return "a line of the file's own"
    return None


def same(text):
    raise ValueError(f"{text} is no JSON")


def json_text(data):
    text, why = decoded(data)
    if why:
        return why
    try:
        value = json.loads(text, parse_constant=same)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return terminal(data)


def rows_of(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))


def csv_text(data):
    text, why = decoded(data)
    if why:
        return why
    rows = rows_of(data)
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        return f"rows of {sorted(widths)} cells"
    if len(rows) != text.count("\r\n") or text.count("\n") != len(rows):
        return f"{len(rows)} rows in {text.count(chr(10))} lines"
    for row in rows:
        for cell in row:
            if FORMULA.match(cell) and not NUMBER.match(cell):
                return f"a formula: {cell[:60]!r}"
    return terminal(data.replace(b"\r\n", b"\n"))


def folded(data):
    why = terminal(data)
    if why:
        return why
    for line in data.decode().splitlines():
        if not re.fullmatch(r"[^ ].* [0-9]+|[^;]*;.* [0-9]+|.* [0-9]+", line) or line.startswith(";"):
            return f"no stack and count: {line[:80]!r}"
    return None


DRAWN = {"svg", "g", "rect", "path", "text", "tspan", "title", "line", "circle", "polygon", "polyline", "defs", "style",
         "clipPath", "image", "use", "linearGradient", "stop", "pattern", "desc", "symbol"}


def svg(data):
    wrong = []

    def start(tag, attributes):
        if tag not in DRAWN:
            wrong.append(f"<{tag}>")
        for name, value in attributes.items():
            if name.lower().startswith("on") or (name.endswith("href") and not value.startswith(("#", "data:image/png"))):
                wrong.append(f"{name}={value[:60]!r}")

    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = lambda *_: wrong.append("a DOCTYPE")
    parser.ProcessingInstructionHandler = lambda target, _: wrong.append(f"<?{target}>")
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        return f"not XML: {error}"
    return wrong[0] if wrong else terminal(data, forged=False)


def png(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return "no PNG"
    at, pixels = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if zlib.crc32(kind + body) != struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]:
            return f"chunk {kind} is damaged"
        if kind in (b"tEXt", b"iTXt", b"zTXt"):
            why = terminal(body.replace(b"\0", b" "))
            if why:
                return f"{kind}: {why}"
        pixels += body if kind == b"IDAT" else b""
        at += 12 + length
    return None if zlib.decompress(pixels) else "no pixels"


def page(data):
    """A page with the viewer, or a static page: browsers check the rest (programs.py)."""
    text, why = decoded(data)
    if why:
        return why
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    if not policy and PAGES_HAVE_A_POLICY:
        return "no policy"
    for part in policy[1].split(";") if policy else []:
        if part.split()[:1] in (["script-src"], ["default-src"]) and "'unsafe-inline'" in part:
            return "scripts are allowed in line"
    head = text[:text.find("<style")] if "<style" in text else text
    return terminal(head.encode(), forged=False)


# ---- files of other tools ---------------------------------------------------------------------


def speedscope(data):
    """By https://www.speedscope.app/file-format-schema.json: the required members, and the types."""
    why = json_text(data)
    if why:
        return why
    file = json.loads(data)
    frames = file["shared"]["frames"]
    for frame in frames:
        if not isinstance(frame["name"], str) or set(frame) - {"name", "file", "line", "col"}:
            return f"frame {frame}"
        if not isinstance(frame.get("file", ""), str) or not isinstance(frame.get("line", 0), int):
            return f"frame {frame}"
    for one in file["profiles"]:
        if one["type"] != "sampled" or not isinstance(one["name"], str) or one["unit"] != "bytes":
            return f"profile {one['name'][:60]}"
        if len(one["samples"]) != len(one["weights"]) or sum(one["weights"]) != one["endValue"] - one["startValue"]:
            return "weights"
        if any(not 0 <= frame < len(frames) for sample in one["samples"] for frame in sample):
            return "a frame that is not there"
    if file["$schema"] != "https://www.speedscope.app/file-format-schema.json":
        return "no $schema"
    return None


def take_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field in a protocol buffer message."""
    at = 0
    while at < len(data):
        key, at = take_varint(data, at)
        if key & 7 == 0:
            value, at = take_varint(data, at)
        elif key & 7 == 2:
            length, at = take_varint(data, at)
            if at + length > len(data):
                raise ValueError("a field is cut")
            value, at = data[at:at + length], at + length
        else:
            length = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + length], at + length
        yield key >> 3, value


# Messages within TracePacket, and the text fields of each (protos/perfetto/trace/).
PERFETTO = {(): {}, (60,): {2}, (60, 3): {6}, (11,): {23}, (11, 4): {6, 10}}


def perfetto_message(path, data):
    for number, value in fields(data):
        if number in PERFETTO[path]:
            value.decode("utf-8")
        elif path + (number,) in PERFETTO:
            perfetto_message(path + (number,), value)


def perfetto(data):
    try:
        for number, packet in fields(data):
            if number != 1:
                return f"field {number} in a trace"
            perfetto_message((), packet)
    except (ValueError, KeyError, IndexError) as why:
        return f"not the format: {why}"
    return None


def database(path):
    """Every text of every table has the type TEXT, and the tables are whole."""
    with sqlite3.connect(path) as db:
        if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            return "integrity_check"
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            try:
                for row in db.execute(f"SELECT * FROM {table}"):
                    if any(isinstance(cell, bytes) or (isinstance(cell, str) and "\0" in cell) for cell in row):
                        return f"{table}: no text: {row}"
            except (sqlite3.Error, UnicodeDecodeError) as why:
                return f"{table}: {why}"
    return None
