"""More shapes for worst.py: the worst files of memviz's own formats, and files with false claims.

The formats are in docs/internals/snapshot-format.md, docs/internals/msgpack-format.md and docs/ranks.md.

    python3 worst_files.py SHAPE ROWS OUT      prints the number of rows
"""

import ctypes
import ctypes.util
import gzip
import pickle
import struct
import sys

from worst import BASE, MOST, RANKS, SHAPES, START, allocs, compressed, event, field, profile, shape, snapshot, varint

EVENTS, SEGMENTS, BLOCKS = 25, 27, 29
STRINGS, STRING_BYTES, FRAMES, STACKS, STACK_FRAMES, STREAMS, POOLS, TAGS = 16, 17, 18, 20, 21, 22, 23, 24
API_CALLS, SAMPLES, KNOWN = 33, 34, 35
LIVE_FACTS, LIVE_EVENTS, LIVE_NAMES = 256, 257, 258
CHUNK_ROWS = 65536


def xxh3(data, library=[]):
    if not library:
        name = ctypes.util.find_library("xxhash")
        if not name:
            sys.exit(77)
        library.append(ctypes.CDLL(name).XXH3_64bits)
        library[0].restype = ctypes.c_uint64
        library[0].argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return struct.pack("<Q", library[0](data, len(data)))


# ---- containers ----------------------------------------------------------------------------------


def head_of_file():
    head = b"\xc1MVB\r\n\x1a\n" + struct.pack("<HHI", 1, 0, 0)
    return head + xxh3(head)


def chunk_head(kind, rows=0, first=0, all_rows=0, raw=0, stored=0, stored_hash=b"\0" * 8, codec=0, flags=0, device=0):
    head = b"\xc1MVc" + struct.pack("<HBBIIQQQQ", kind, codec, flags, device, rows, first, all_rows, raw, stored) + stored_hash
    return head + xxh3(head)


def chunk(kind, payload, rows, first=0, all_rows=None, raw=None, codec=0, device=0):
    head = chunk_head(kind, rows, first, rows if all_rows is None else all_rows, len(payload) if raw is None else raw,
                      len(payload), xxh3(payload), codec, 0, device)
    return head + payload + b"\0" * (-len(payload) % 8)


def columns(*all_columns):
    """(number, base, start, transform): each of width 0, so rows take no bytes."""
    return b"".join(struct.pack("<HBBBBBBqQ", number, 0, transform, 0, 0, len(all_columns), 0, base, start & MOST)
                    for number, base, start, transform in all_columns)


def plain(number, base):
    return number, base, 0, 0


def delta(number, base, start=0):
    return number, base, start, 1


def trace(tables, devices=1, calls=0):
    payload = struct.pack("<IIII", calls, devices, len(tables), 1)
    payload += b"".join(struct.pack("<IIQ", kind, 0, rows) for kind, rows in tables)
    return chunk(1, payload, 0)


def texts(*names):
    data = b"".join(name + b"\0" for name in names)
    ends = [sum(len(n) + 1 for n in names[: i + 1]) for i in range(len(names))]
    strings = struct.pack("<HBBBBBBqQ", 1, 8, 1, 0, 0, 1, 0, 0, 0)
    strings += b"".join(struct.pack("<Q", b - a) for a, b in zip([0] + ends, ends))
    letters = struct.pack("<HBBBBBBqQ", 1, 1, 0, 0, 0, 1, 0, 0, 0) + data + b"\0" * (-len(data) % 8)
    return [(STRINGS, strings, len(names)), (STRING_BYTES, letters, len(data))]


def container(tables, index=True, mend=lambda chunks: chunks, more=b""):
    """`tables`: (kind, payload, rows) in chunks; equal kinds follow each other."""
    whole, done, chunks = {}, {}, []
    for kind, _, rows in tables:
        whole[kind] = whole.get(kind, 0) + rows
    for kind, payload, rows in tables:
        chunks.append(chunk(kind, payload, rows, done.get(kind, 0), whole[kind]))
        done[kind] = done.get(kind, 0) + rows
    chunks = mend([trace(sorted(whole.items()))] + chunks)
    out = head_of_file()
    at = []
    for one in chunks:
        at.append(len(out))
        out += one
    out += more
    if not index:
        return out
    entries = b"".join(struct.pack("<Q", where) + one[:64] for where, one in zip(at, chunks))
    return ended(out, entries, len(chunks))


def ended(out, entries, count):
    """Chunks with an index and a footer."""
    where = len(out)
    out += chunk(3, entries, count, 0, 0)
    foot = b"\xc1MVE\r\n\x1a\n" + struct.pack("<QQ", where, len(out) + 32)
    return out + foot + xxh3(foot)


def bases(frames=1):
    """One stack of one frame, the default stream and pool, and the absent rows."""
    return texts(b"f", b"a.py") + [
        (FRAMES, columns(plain(1, 0), plain(2, 1), plain(3, 7), plain(4, -1)), 1),
        (STACKS, struct.pack("<HBBBBBBqQ", 1, 8, 1, 0, 0, 1, 0, 0, 0) + struct.pack("<QQ", 0, frames), 2),
        *in_chunks(STACK_FRAMES, frames, lambda first: columns(plain(1, 0))),
        (STREAMS, columns(plain(1, 0)), 1), (POOLS, columns(plain(1, 0), plain(2, 0)), 1),
        (TAGS, columns(*(plain(i, -1) for i in range(1, 9))), 1)]


def in_chunks(kind, rows, payload):
    return [(kind, payload(first), min(CHUNK_ROWS, rows - first)) for first in range(0, rows, CHUNK_ROWS)]


def events_of_nothing(n, action=0, size=512, step=4096):
    return in_chunks(EVENTS, n, lambda first: columns(
        delta(1, 1, START + first), delta(2, step, BASE + first * step), plain(3, size), plain(4, 1), plain(5, -1), plain(6, 0),
        plain(7, 0), plain(8, action)))


@shape
def container_of_nothing(n):
    """Events that take no bytes of the file: 65,536 for 300 bytes."""
    return "bin", container(bases() + events_of_nothing(n)), n


@shape
def container_ooms(n):
    """The same, all of them out-of-memory events."""
    return "bin", container(bases() + events_of_nothing(n, action=7)), n


@shape
def container_deep(n):
    """A stack of n frames that take no bytes, used by n / 10 events."""
    return "bin", container(bases(n) + events_of_nothing(n // 10)), n


@shape
def container_segments(n):
    """Segments of a block each; both take no bytes."""
    k = n // 2
    segments = in_chunks(SEGMENTS, k, lambda first: columns(
        plain(1, 0), delta(2, 4096, BASE + 4096 * first), plain(3, 4096), plain(4, 4096), plain(5, 4096), plain(6, 4096), plain(7, 0),
        plain(8, 0), plain(9, -1), plain(10, -1), plain(11, -1), delta(12, 1, first - 1), plain(13, 1), plain(14, 0), plain(15, 0)))
    blocks = in_chunks(BLOCKS, k, lambda first: columns(
        delta(1, 4096, BASE + 4096 * first), plain(2, 4096), plain(3, 4000), plain(4, 1), plain(5, -1), plain(6, -1), plain(7, 0),
        plain(8, 0), plain(9, 1)))
    return "bin", container(bases() + events_of_nothing(10) + segments + blocks), n


@shape
def container_index_repeats(n):
    """An index that names one chunk, of which each byte is 2,000 after decompression, n / 100 times."""
    data = columns(plain(4, 1)) + b"\0" * (CHUNK_ROWS * 8)
    big = compressed(data, "zstd", "-q", "-c", "-3")
    one = chunk(EVENTS, big, CHUNK_ROWS, 0, CHUNK_ROWS * (n // 100), len(data), 1)
    out = head_of_file() + trace([(EVENTS, CHUNK_ROWS)])
    at = len(out)
    return "bin", ended(out + one, (struct.pack("<Q", at) + one[:64]) * (n // 100), n // 100), n


@shape
def container_heads_nested(n):
    """n chunk heads in a file without an index, each of which claims all of the rest as its payload."""
    out = head_of_file()
    size = len(out) + 64 * n
    heads = b"".join(chunk_head(EVENTS, 1, i, n, 8, size - len(out) - 64 * (i + 1), b"\1" * 8) for i in range(n))
    return "bin", out + heads, n


@shape
def container_heads_whole(n):
    """The same, and the hash of each payload is right."""
    k = max(1, n // 100)
    rest = b"\0" * 8
    for i in range(k):
        rest = chunk(1000 + i % 7, rest, 1, i, k)
    return "bin", container(bases() + events_of_nothing(100), index=False, more=rest), n


@shape
def container_claims(n):
    """Rows, bytes and places up to 2^64 - 1 in the heads, in the trace and in the index."""
    big = [MOST, MOST - 63, 1 << 63, 1 << 62, 1 << 48, 1 << 32]
    out, entries = head_of_file() + trace([(kind, big[kind % 6]) for kind in range(16, 37)], 4000), b""
    for i in range(n // 100):
        head = chunk_head(16 + i % 21, CHUNK_ROWS, big[i % 6], big[i // 6 % 6], big[i // 36 % 6], big[i // 216 % 6], b"\1" * 8, i % 2)
        entries += struct.pack("<Q", big[(i + 1) % 6] if i % 2 else len(out)) + head
        out += head
    return "bin", ended(out, entries, n // 100), n


@shape
def container_zstd_claims(n):
    """Chunks whose zstd frames say that they have 2^63 bytes, or a window of 2^41."""
    tables = bases()
    frame = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 63) + b"\x01\0\0"
    window = b"\x28\xb5\x2f\xfd\0" + b"\xff" + b"\x01\0\0"
    k = n // 100
    more = b"".join(chunk(EVENTS, window if i % 2 else frame, CHUNK_ROWS, i * CHUNK_ROWS, k * CHUNK_ROWS, 1 << (20 + i % 40), 1)
                    for i in range(k))
    return "bin", container(tables, index=False, more=more), n


@shape
def container_cut(n):
    """Half of a container: no index."""
    data = container(bases() + [one for i in range(0, n, 100) for one in [(EVENTS, events_of_nothing(100)[0][1], 100)]])
    return "bin", data[:len(data) // 2], n // 2


# ---- live files ----------------------------------------------------------------------------------

LIVE = 65536


def live_chunk(kind, records, committed=None, raw=None, sequence=1, thread=1, seal=b"\0" * 8, room=None, at=None, ids=(0, 0, 0)):
    begin = 24 if kind == LIVE_FACTS else 0
    room = (room or LIVE * -(-(104 + len(records)) // LIVE)) - begin
    head = chunk_head(kind, 0, ids[0], ids[1], room - 64 if raw is None else raw, room - 64 if raw is None else raw, flags=1, device=ids[2])
    head += struct.pack("<Q", len(records) if committed is None else committed) + seal
    head += struct.pack("<QQII", sequence, 1000000, thread, 0)
    return head + records + b"\0" * (room - len(head) - len(records))


def text(t):
    return varint(len(t)) + t


FACTS = b"".join(text(k) + text(v) for k, v in ((b"pid", b"7"), (b"start_us", b"1000000"), (b"monotonic_us", b"1000000"),
                                                (b"realtime_us", b"1700000000000000"), (b"stacks", b"python"), (b"host", b"elsewhere")))


def live(names, *event_chunks):
    return "bin", head_of_file() + live_chunk(LIVE_FACTS, FACTS) + live_chunk(LIVE_NAMES, names) + b"".join(event_chunks)


def string(t):
    return b"\x01" + text(t)


def address(i):
    return varint((BASE >> 9) << 2 | 1) if i == 0 else varint(8 << 2 | 1)


def live_block(i, stack=0):
    return b"\xf2\x01\x01" + address(i) + varint(2) + varint(stack)


DEVICE = b"\xf1\0\0" + varint(2) + varint(0)


@shape
def live_blocks(n):
    """Blocks that are never freed, with one stack."""
    names = string(b"") + string(b"f") + b"\x06\x01" + b"\x07\0\0"
    return (*live(names, live_chunk(LIVE_EVENTS, DEVICE + b"".join(live_block(i, 1) for i in range(n)))), n)


@shape
def live_stack_deep(n):
    """Stacks that are each called by the last: the deepest has n frames, and all of them together n * n / 2."""
    names = string(b"") + string(b"f") + b"\x06\x01" + b"\x07\0\0" + b"".join(b"\x07" + varint(i + 1) + b"\0" for i in range(n))
    return (*live(names, live_chunk(LIVE_EVENTS, DEVICE + b"".join(live_block(i, i + 1) for i in range(n)))), n)


@shape
def live_stacks_forward(n):
    """Stacks whose callers come later, or are themselves."""
    names = string(b"") + string(b"f") + b"\x06\x01" + b"".join(b"\x07" + varint(i + 1 + i % 3) + b"\0" for i in range(n))
    return (*live(names, live_chunk(LIVE_EVENTS, DEVICE + b"".join(live_block(i, i + 1) for i in range(n)))), n)


@shape
def live_line_table(n):
    """A code object whose table of lines is a megabyte, and n frames in it."""
    table = b"\xf8" * (1 << 20)
    names = string(b"") + string(b"f") + b"\x02\x01\x01\x01" + varint(0x30b) + text(table)
    names += b"".join(b"\x04\0" + varint(2 * i) for i in range(n)) + b"".join(b"\x07\0" + varint(i) for i in range(n))
    return (*live(names, live_chunk(LIVE_EVENTS, DEVICE + b"".join(live_block(i, i + 1) for i in range(n)))), n)


@shape
def live_ranges_open(n):
    """Ranges that begin and do not end, by stack and by number, and ends without a beginning."""
    names = string(b"") + b"".join(string(b"range %d" % i) for i in range(n // 4))
    events = b"".join(b"\xf8\x01\x01" + varint(i % (n // 4)) for i in range(n // 2))
    events += b"".join(b"\xfa\x01\x01" + varint(i) + varint(i % (n // 4)) for i in range(n // 4))
    events += b"".join(b"\xfb\x01\x01" + varint(i * 7) for i in range(n // 4))
    return (*live(names, live_chunk(LIVE_EVENTS, events)), n)


@shape
def live_heaps(n):
    """A heap for each block, blocks that are all nested, and a reset of each heap."""
    k = n // 2
    names = string(b"") + b"".join(string(b"heap %d" % i) for i in range(k))
    events = b"".join(b"\xfe\x01\x01" + address(i) + b"\x01" + varint(1 << 30 << 1 | 1) + varint(i + 2) + b"\x01\0\0" for i in range(k))
    events += b"".join(b"\xfe\x01\x01" + address(1) + b"\x04\x01" + varint(i + 2) + b"\x01\0\0" for i in range(k))
    return (*live(names, live_chunk(LIVE_EVENTS, events)), n)


@shape
def live_calls(n):
    """CUDA calls: memory mapped again and again, and never released."""
    names = string(b"") + string(b"cuMemMap") + string(b"/lib/x.so")
    kinds = (1, 8, 10, 14, 18, 20, 17, 6, 2)
    events = b"".join(b"\xf6\x01\x01" + address(i) + varint(kinds[i % 9]) + varint(8192) + varint(i % 100) + b"\x02\x03\0\0\0" for i in range(n))
    return (*live(names, live_chunk(LIVE_EVENTS, events)), n)


@shape
def live_threads(n):
    """Each event in its own chunk, by its own thread: 64 KiB for an event."""
    k = max(1, n // 100)
    names = string(b"") + b"".join(b"\x08" + varint(i) + b"\0" for i in range(k))
    return (*live(names, *(live_chunk(LIVE_EVENTS, DEVICE + live_block(0), sequence=k - i, thread=i) for i in range(k))), k)


@shape
def live_order(n):
    """Chunks whose events take turns: each next one is in another chunk."""
    k = 256
    return (*live(string(b""), *(live_chunk(LIVE_EVENTS, DEVICE + b"".join(
        b"\xf2" + varint(k) + b"\x01" + address(i) + b"\x02\0" for i in range(n // k)), sequence=c, thread=c) for c in range(k))), n)


@shape
def live_lies(n):
    """Chunks that claim more committed bytes than they have room for, that are longer than the file, and that have no end."""
    records = DEVICE + b"".join(live_block(i) for i in range(100))
    chunks = []
    for i in range(max(4, n // 400)):
        lie = i % 4
        chunks.append(live_chunk(LIVE_EVENTS, records, committed=MOST if lie == 1 else None, raw=(1 << 62) - 64 if lie == 2 else
                                 3 * LIVE - 64 if lie == 3 else None, sequence=MOST - i if lie == 0 else i, thread=i))
    return (*live(string(b""), *chunks), n)


@shape
def live_cut(n):
    ending, data, rows = live_order(n)
    return ending, data[:len(data) * 2 // 3 + 11], rows


# ---- msgpack -------------------------------------------------------------------------------------


def pack(v):
    """The msgpack form of a snapshot's values."""
    if v is None:
        return b"\xc0"
    if isinstance(v, bool):
        return b"\xc3" if v else b"\xc2"
    if isinstance(v, int):
        return bytes([v & 255]) if -32 <= v < 128 else b"\xcf" + struct.pack(">Q", v) if v >= 0 else b"\xd3" + struct.pack(">q", v)
    if isinstance(v, str):
        return (bytes([0xA0 + len(v)]) if len(v) < 32 else b"\xdb" + struct.pack(">I", len(v))) + v.encode()
    if isinstance(v, dict):
        return (bytes([0x80 + len(v)]) if len(v) < 16 else b"\xdf" + struct.pack(">I", len(v))) + b"".join(pack(k) + pack(x) for k, x in v.items())
    if isinstance(v, bytes):  # packed already
        return v
    return b"\xdd" + struct.pack(">I", len(v)) + b"".join(map(pack, v))


def array(count, data):
    return b"\xdd" + struct.pack(">I", count) + data


@shape
def msgpack_spelled(n):
    """The plain form: each event spells out a stack of ten frames."""
    stack = pack([{"name": "f", "filename": "/home/user/train.py", "line": i} for i in range(10)])
    return "msgpack", pack(snapshot([{**event("alloc", BASE + i * 4096, 512, i, []), "frames": stack} for i in range(n // 10)])), n


@shape
def msgpack_stacks_differ(n):
    """Stacks of 500 frames, each with another one at its end."""
    same = b"".join(pack({"name": "f", "filename": "a.py", "line": i}) for i in range(499))
    stacks = [array(500, same + pack({"name": "g%d" % i, "filename": "a.py", "line": 1})) for i in range(n // 500)]
    return "msgpack", pack(snapshot([{**event("alloc", BASE + i * 4096, 512, i, []), "frames": s} for i, s in enumerate(stacks)])), n


@shape
def msgpack_empty(n):
    """A list of a million empty maps under an unknown key; each is a byte."""
    return "msgpack", b"\x83" + pack("segments") + pack([]) + pack("device_traces") + pack([[]]) + pack("what") + array(n, b"\x80" * n), n


@shape
def msgpack_one_key(n):
    """A map that repeats one key."""
    return "msgpack", b"\xdf" + struct.pack(">I", n + 2) + pack("segments") + pack([]) + pack("device_traces") + pack([[]]) + \
        (pack("allocator_settings") + pack({"a": 1})) * n, n


def compact(**tables):
    first = [pack("format"), pack("memviz-compact"), pack("version"), pack(1)]
    return bytes([0x82 + len(tables)]) + b"".join(first) + b"".join(pack(k) + pack(v) for k, v in tables.items())


def events_table(n, **more):
    table = {"action": array(n, b"\0" * n), "addr": array(n, b"".join(pack(BASE + i * 4096) for i in range(n))),
             "size": array(n, b"\x7f" * n), "stream": array(n, b"\0" * n), "time_delta_us": array(n, b"\1" * n),
             "stack": array(n, b"\1" * n), "call": array(n, b"\xff" * n), "tag": array(n, b"\0" * n)}
    return {**table, **more}


def compact_of(n, strings=("f", "a.py"), frames=((0, 1, 7),), stacks=((), (0,)), **more):
    return compact(strings=list(strings), frames=list(frames), stacks=list(stacks), streams=[0], pools=[[0, 0]], tags=[{}], calls=0,
                   keys=1, device_traces=[events_table(n, **more)])


@shape
def compact_events(n):
    return "msgpack", compact_of(n), n


@shape
def compact_no_addresses(n):
    """All at one address, which is a byte: 8 bytes for an event."""
    return "msgpack", compact_of(n, addr=array(n, b"\0" * n)), n


@shape
def compact_deep(n):
    """A stack of n frames, a byte each."""
    return "msgpack", compact_of(n // 10, stacks=((), array(n, b"\0" * n))), n


@shape
def compact_same_rows(n):
    """Texts, frames and stacks that should all differ but are equal."""
    return "msgpack", compact_of(10, strings=["f"] * (n // 3), frames=[[0, 0, 7]] * (n // 3), stacks=[[]] + [[0]] * (n // 3)), n


@shape
def compact_lengths(n):
    """Columns of other lengths than the first, and lists that claim 2^32 - 1 items."""
    return "msgpack", compact_of(n, tag=b"\xdd\xff\xff\xff\xff" + b"\0" * n), n


# ---- summaries -----------------------------------------------------------------------------------


def summary(name, sites=b"", count=0, points=b"", point_count=0, allocs_=0, strings=(), frames=b"", frame_count=0, stacks=b"",
            stack_count=0):
    facts = struct.pack("<I", len(name)) + name + struct.pack("<IBBBBI", 0, 1, 0, 0, 1, 0)
    facts += struct.pack("<8Q", 10, allocs_, 0, 1 << 30, 1 << 31, 1 << 20, 0, 0)[:56]
    code = struct.pack("<I", len(strings)) + b"".join(struct.pack("<I", len(s)) + s for s in strings)
    code += struct.pack("<I", frame_count) + frames + struct.pack("<I", stack_count) + stacks
    return facts + code + struct.pack("<II", 0xFFFFFFFF, count) + sites + struct.pack("<BI", 0, point_count) + points + b"\0" * 36


RANKS["summary_ranks"] = RANKS["summary_ranks_differ"] = lambda n: n // 100


def summaries(all_of_them):
    payload = b"".join(all_of_them)
    return "summary", b"\xc1MVS\r\n\x1a\n" + struct.pack("<IIQ", 1, len(all_of_them), len(payload)) + xxh3(payload) + payload


@shape
def summary_ranks(n):
    """A rank for every hundred rows, without anything in it, all of one name."""
    return (*summaries([summary(b"rank") for _ in range(n // 100)]), n)


@shape
def summary_ranks_differ(n):
    """Ranks of which each has another sequence, peak and name."""
    point = lambda i, k: struct.pack("<QQQQI", i * 1000 + k, i, k + 1, 512 * i, k)
    return (*summaries([summary(b"rank %d of some/folder" % i, point_count=8, allocs_=8, points=b"".join(point(i, k) for k in range(8)))
                        for i in range(n // 100)]), n)


@shape
def summary_sites(n):
    """One rank with n sites of a stack."""
    site = lambda i: struct.pack("<QIIQQQB", i + 1, 0, 1, 512, 1, 512, 0)
    return (*summaries([summary(b"rank", b"".join(map(site, range(n))), n, strings=(b"f",), frames=struct.pack("<IIQ", 0, 0, 1),
                                frame_count=1, stacks=struct.pack("<II", 1, 0), stack_count=1)]), n)


@shape
def summary_points(n):
    point = lambda i: struct.pack("<QQQQI", i * 7, i, i + 1, 512, i)
    return (*summaries([summary(b"rank", points=b"".join(map(point, range(n))), point_count=n, allocs_=n)]), n)


@shape
def summary_stack_deep(n):
    return (*summaries([summary(b"rank", strings=(b"f",), frames=struct.pack("<IIQ", 0, 0, 1), frame_count=1,
                                stacks=struct.pack("<I", n) + b"\0" * (4 * n), stack_count=1)]), n)


# ---- compression that lies -----------------------------------------------------------------------


@shape
def gzip_members(n):
    """A pickle in n members of a byte or so."""
    data = pickle.dumps(snapshot(allocs(max(1, n // 400))), protocol=4)
    step = max(1, len(data) // n)
    return "pickle.gz", b"".join(gzip.compress(data[i:i + step], 1, mtime=0) for i in range(0, len(data), step)), n


@shape
def gzip_members_empty(n):
    return "pickle.gz", gzip.compress(b"", 1, mtime=0) * n + gzip.compress(pickle.dumps(snapshot(allocs(10))), mtime=0), n


@shape
def zstd_frames_empty(n):
    """Frames without content, and frames to skip."""
    data = pickle.dumps(snapshot(allocs(10)), protocol=4)
    return "pickle.zst", b"\x28\xb5\x2f\xfd\x20\0\x01\0\0" * n + b"\x50\x2a\x4d\x18\0\0\0\0" * n + compressed(data, "zstd", "-q", "-c"), n


@shape
def zstd_window(n):
    """A frame that asks for a window of 2^41 bytes."""
    return "pickle.zst", b"\x28\xb5\x2f\xfd\0\xf8" + b"\x01\0\0" + b"\0" * n, n


# ---- files of other tools ------------------------------------------------------------------------


@shape
def rmm_long_line(n):
    return "csv", b"Thread,Time,Action,Pointer,Size,Stream\n1,00:00:01.5," + b"a" * (20 * n) + b",0x1,1,0x0\n", n


@shape
def rmm_streams(n):
    rows = ["Thread,Time,Action,Pointer,Size,Stream\n"]
    rows += ["%d,%d.5,%s,0x%x,%d,0x%x\n" % (i, 1700000000 + i, "free" if i % 3 == 2 else "allocate", BASE + i * 512, 512 + i, i) for i in range(n)]
    return "csv", "".join(rows).encode(), 2 * n


@shape
def rmm_failures(n):
    rows = ["Thread,Time,Action,Pointer,Size,Stream\n"] + ["1,00:00:01.5,allocate failure,0x0,%d,0x0\n" % (MOST - i) for i in range(n)]
    return "csv", "".join(rows).encode(), 2 * n


@shape
def rmm_empty_lines(n):
    return "csv", b"Thread,Time,Action,Pointer,Size,Stream\n" + b"\n" * (10 * n) + b"1,00:00:01.5,allocate,0x1,1,0x0\n", n


@shape
def pprof_many(n):
    """n / 3 samples, each from a different place."""
    k = n // 3
    functions = b"".join(field(5, field(1, i + 1) + field(2, 5 + i)) for i in range(k))
    places = [field(1, i + 1) + field(4, field(1, i + 1) + field(2, 1)) for i in range(k)]
    samples = [field(1, varint(i + 1)) + field(2, b"\x01\x80\x08") for i in range(k)]
    return "prof", profile(samples, places, [b"f%d" % i for i in range(k)]) + functions, n


@shape
def pprof_ids(n):
    """Places and functions in falling order, with ids far from each other."""
    k = n // 2
    functions = b"".join(field(5, field(1, (k - i) << 40) + field(2, 5)) for i in range(k))
    places = [field(1, (k - i) << 41) + field(4, field(1, (i + 1) << 40) + field(2, 1)) for i in range(k)]
    sample = field(1, b"".join(varint((i + 1) << 41) for i in range(min(k, 500)))) + field(2, b"\x01\x80\x08")
    return "prof", profile([sample], places, [b"f"]) + functions, n


@shape
def pprof_long_texts(n):
    """n / 4 samples of a device, and n / 4 lines of a function, with names that are as long as the file."""
    k = n // 4
    head = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
    samples = field(2, field(1, b"\x01") + field(2, b"\x01\x80\x08") + field(3, field(1, 5) + field(2, 6))) * k
    place = field(4, field(1, 1) + b"".join(field(4, field(1, 1) + field(2, i + 1)) for i in range(k)))
    function = field(5, field(1, 1) + field(2, 7) + field(4, 7))
    texts = [b"", b"allocations", b"count", b"space", b"bytes", b"device", b"gpu:0" + b"d" * (10 * n), b"f" * (10 * n)]
    return "prof", head + samples + place + function + b"".join(field(6, t) for t in texts), n


@shape
def xplane_lines(n):
    """n / 2 planes and lines without events, each with a name."""
    line = lambda i: field(3, field(1, i) + field(2, b"line %d" % i) + field(3, i))
    planes = [field(1, field(1, i) + field(2, b"/device:GPU:%d" % i) + line(i)) for i in range(n // 4)]
    host = field(1, field(2, b"/host:CPU") + b"".join(map(line, range(n // 4))))
    return "pb", b"".join(planes) + host + SHAPES["xplane_blocks"](n // 4)[1], n


@shape
def xplane_names(n):
    """Names of events and statistics that no event has, and one name for all of them."""
    meta = b"".join(field(4, field(1, i + 1) + field(2, field(1, i + 1) + field(2, b"MemoryAllocation"))) for i in range(n // 2))
    stats = b"".join(field(5, field(1, i + 1) + field(2, field(1, i + 1) + field(2, b"allocation_bytes"))) for i in range(n // 2))
    return "pb", field(1, field(2, b"/host:CPU") + meta + stats) + SHAPES["xplane_blocks"](n // 4)[1], n


def xplane_of(allocator, totals):
    """A block of 512 bytes for each of the totals, which are the allocator's after it."""
    stats = [b"allocator_name", b"bytes_allocated", b"allocation_bytes", b"addr", allocator]
    events = b"".join(
        field(4, field(1, 1) + field(2, 1000000 * i) + field(4, field(1, 1) + field(7, 5)) + field(4, field(1, 2) + field(4, total)) +
              field(4, field(1, 3) + field(4, 512)) + field(4, field(1, 4) + field(4, BASE + 512 * i))) for i, total in enumerate(totals))
    plane = field(2, b"/host:CPU") + field(3, field(1, 7) + field(2, b"python") + field(3, 1700000000) + events)
    plane += field(4, field(1, 1) + field(2, field(1, 1) + field(2, b"MemoryAllocation")))
    plane += b"".join(field(5, field(1, i + 1) + field(2, field(1, i + 1) + field(2, t))) for i, t in enumerate(stats))
    return field(1, plane)


@shape
def xplane_long_name(n):
    """An allocator whose name is as long as the file."""
    return "pb", xplane_of(b"GPU_0_" + b"b" * (20 * n), range(512, 512 * (n // 2), 512)), n


@shape
def xplane_lost(n):
    """At each event bytes without a block are missing, a part of which ends at the next event."""
    return "pb", xplane_of(b"GPU_0_bfc", ((1 << 40) + 511 * i for i in range(n // 2))), n


def kineto(lines):
    return "json", b"[" + b",".join(lines) + b"]"


def kineto_range(name, begin, length, category=b"cpu_op", more=b""):
    return b'{"cat":"%s","name":"%s","pid":1,"tid":1,"ts":%d,"dur":%d%s}' % (category, name, begin, length, more)


def kineto_alloc(i, when, total):
    return (b'{"name":"[memory]","pid":1,"tid":1,"ts":%d,"args":{"Bytes":512,"Addr":%d,"Total Allocated":%d,"Total Reserved":%d,'
            b'"Device Type":1,"Device Id":0}}') % (when, BASE + 512 * i, total, total + 4096 * (i % 3))


@shape
def kineto_deep(n):
    """Nested operators, and blocks within all of them."""
    k = n // 2
    ranges = [kineto_range(b"op %d" % i, i, 10 * n - i) for i in range(k)]
    return (*kineto(ranges + [kineto_alloc(i, k + i, 512 * (i + 1)) for i in range(k)]), n)


@shape
def kineto_ended(n):
    """A block within a range that begins after half of the others, which have ended below it."""
    k = n // 2
    ranges = [kineto_range(b"op", i, 2 * n if i % 2 else 1) for i in range(k)]
    return (*kineto(ranges + [kineto_alloc(i, k + i, 512 * (i + 1)) for i in range(k)]), n)


@shape
def kineto_texts(n):
    """Each operator has a name and shapes of its own."""
    k = n // 2
    shapes = [b',"args":{"Input Dims":[[%d,%d]],"Input type":["float"]}' % (i, i) for i in range(k)]
    ranges = [kineto_range(b"op %d" % i, 2 * i, 2, more=shapes[i]) for i in range(k)]
    return (*kineto(ranges + [kineto_alloc(i, 2 * i + 1, 512 * (i + 1)) for i in range(k)]), n)


@shape
def kineto_brackets(n):
    """A value that is nested as deep as the file is long."""
    return "json", b'{"a":' + b"[" * (10 * n) + b"]" * (10 * n) + b',"traceEvents":[' + kineto_alloc(0, 1, 512) + b"]}", n


# ---- small devices, many queries ---------------------------------------------------------------------


def live_call(action, i, handle=0, device=0, api=2):
    return b"\xf6\x01\x01" + address(i) + varint(action) + varint(16 << 1) + varint(handle) + varint(api) + b"\x03" + varint(device << 1) + b"\0\0"


@shape
def live_resets(n):
    """A device is reset again and again while lasting memory is held: created memory, pool memory, and memory pinned on another device."""
    k = n // 2
    names = string(b"") + string(b"cudaDeviceReset") + string(b"/lib/x.so") + string(b"cuMemAllocHost")
    events = b"".join(live_call((14, 3, 8)[i % 3], 1, handle=i + 1, device=i % 3 // 2, api=4) for i in range(k))
    events += live_call(26, 1, handle=7) * k
    return (*live(names, live_chunk(LIVE_EVENTS, events)), n)


@shape
def container_libraries(n):
    """A sample for each library that holds memory."""
    k = n // 2
    calls = lambda first: columns(plain(11, 1), plain(6, 0), delta(7, 1, 2 + first), plain(8, 0), plain(9, 0), delta(2, 4096, BASE + 4096 * first),
                                  plain(3, 4096), plain(4, 0), delta(1, 1, START + first), plain(5, -1), plain(10, 0), plain(12, 0))
    samples = lambda first: columns(plain(5, 0), delta(1, 1, START + k + first), plain(2, 1 << 33), plain(3, 1 << 36), plain(4, 1 << 32))
    names = texts(b"cudaMalloc", b"pid", b"7", *(b"/l/lib%d.so" % i for i in range(k)))
    facts = [(KNOWN, columns(plain(1, 1), plain(2, 2)), 1)]
    return "bin", container(names + bases()[2:] + in_chunks(API_CALLS, k, calls) + in_chunks(SAMPLES, k, samples) + facts), n


@shape
def ooms_split(n):
    """Requests that a hole would fit if max_split_size_mb allowed splitting it; as many holes."""
    k, mib = n // 2, 1 << 20
    events = [event("segment_alloc", BASE, 1 << 40, 0)] + allocs(k, size=lambda i: mib, addr=lambda i: BASE + i * 2 * mib, time=lambda i: i + 1)
    events += [event("oom", 0, mib // 2, k + i + 1, device_free=1 << 30) for i in range(k)]
    return "pickle", pickle.dumps({**snapshot(events=events), "allocator_settings": {
        "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:32", "max_split_size": 32 * mib}}, protocol=4), n


if __name__ == "__main__":
    _, DATA, ROWS = SHAPES[sys.argv[1]](int(sys.argv[2]))
    with open(sys.argv[3], "wb") as out_file:
        out_file.write(DATA)
    print(ROWS)
