"""The worst inputs that can be constructed, for scripts/attack/bounds and tests/bounds.

Each function named in SHAPES takes a number of rows and returns (ending, bytes of a file, rows). Rows are
the entries of the reader's tables: events + blocks + segments + frames of stacks + annotations. The same
number gives the same file. Bytes are written by hand if their form matters: PyTorch writes none of these files.

worst_files.py has more, and writes them all:

    python3 worst_files.py SHAPE ROWS OUT      prints the number of rows
"""

import gzip
import pickle
import re
import shutil
import struct
import subprocess
import sys
import zlib

BASE = 0x7F0000000000
START = 1700000000000000
MOST = (1 << 64) - 1
SHAPES = {}
RANKS = {"devices_many": lambda n: min(n // 4, 4096)}  # devices of the shapes that have many


def shape(function):
    SHAPES[function.__name__] = function
    return function


# ---- snapshots of PyTorch ------------------------------------------------------------------------


def frame(name="f", line=1, file="/home/user/train.py"):
    return {"name": name, "filename": file, "line": line}


ONE_STACK = [frame("step"), frame("main", 2)]


def event(action, addr, size, time, frames=ONE_STACK, stream=0, **more):
    return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": START + time,
            "frames": frames, **more}


def block(addr, size, state="active_allocated", frames=ONE_STACK, requested=None):
    return {"address": addr, "size": size, "requested_size": size if requested is None else requested,
            "state": state, "frames": frames}


def segment(addr, size, blocks, stream=0, pool=(0, 0), device=0, kind="large"):
    return {"device": device, "address": addr, "total_size": size, "allocated_size": size, "active_size": size,
            "requested_size": size, "stream": stream, "segment_type": kind, "segment_pool_id": pool,
            "is_expandable": False, "frames": [], "blocks": blocks}


def mark(name, stage, time, device=0):
    return {"name": name, "stage": stage, "time_us": START + time, "device": device}


def snapshot(events=(), segments=(), annotations=(), traces=None, **more):
    return {"segments": list(segments), "device_traces": [list(events)] if traces is None else traces,
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": ""}, "external_annotations": list(annotations), **more}


def dumped(rows, **parts):
    return "pickle", pickle.dumps(snapshot(**parts), protocol=4), rows


def allocs(n, frames=lambda i: ONE_STACK, size=lambda i: 512, addr=lambda i: BASE + i * 4096, time=lambda i: i):
    """n blocks that are never freed, in a segment that was taken from the device before."""
    return [event("alloc", addr(i), size(i), time(i), frames(i)) for i in range(n)]


def freed(addr, size, time, frames=ONE_STACK):
    return [event("free_requested", addr, size, time, frames), event("free_completed", addr, size, time, frames)]


# ---- stacks


@shape
def stack_deep(n):
    """One stack of n frames, all different."""
    deep = [frame("f%d" % i, i) for i in range(n)]
    return dumped(n, events=allocs(2, lambda i: deep), segments=[segment(BASE, 8192, [block(BASE, 512, frames=deep)])])


@shape
def stack_deep_one_line(n):
    """One stack of n frames, all the same line: recursion."""
    same = frame()
    deep = [same] * n
    return dumped(n, events=allocs(2, lambda i: deep))


@shape
def stack_of_kinds(n):
    """One stack of frames of every kind in turn: the program's, a package's, the framework's, the interpreter's."""
    kinds = [("train", "/home/user/train.py"), ("go", "/env/lib/python3.11/site-packages/tool/go.py"),
             ("forward", "/env/lib/python3.11/site-packages/torch/nn/modules/module.py"), ("_PyEval_EvalFrameDefault", "??"),
             ("at::native::add(at::Tensor const&)", "??")]
    deep = [frame("%s" % kinds[i % 5][0], i, kinds[i % 5][1]) for i in range(n)]
    return dumped(n, events=allocs(2, lambda i: deep), segments=[segment(BASE, 8192, [block(BASE, 512, frames=deep)])])


@shape
def stack_of_packages(n):
    """One stack of frames of packages only, with the interpreter's between them."""
    deep = [frame("go", i, "/env/lib/python3.11/site-packages/tool/go%d.py" % (i % 9)) if i % 2 else
            frame("_PyEval_EvalFrameDefault", 0, "??") for i in range(n)]
    return dumped(n, events=allocs(2, lambda i: deep))


@shape
def stack_of_interpreter(n):
    """One stack of n frames that reports hide, and one of the program's."""
    hidden = frame("_PyEval_EvalFrameDefault", 0, "??")
    deep = [frame("a")] + [hidden] * n + [frame("main", 2)]
    return dumped(n, events=allocs(2, lambda i: deep) + [event("oom", 1 << 30, 1 << 40, 5, deep)])


@shape
def stack_deep_shared(n):
    """n blocks with one stack of n frames."""
    deep = [frame("f", i) for i in range(n // 2)]
    return dumped(n, events=allocs(n // 2, lambda i: deep))


@shape
def ooms_deep(n):
    """Out-of-memory events that all have the same deep stack, as do the blocks that fill the device."""
    deep = [frame("f", i) for i in range(n // 3)]
    return dumped(n, events=[event("oom", 1 << 20, 1 << 40, i, deep) if i % 2 else
                             event("alloc", BASE + i * 4096, 512, i, deep) for i in range(2 * n // 3)])


@shape
def segments_deep(n):
    """Segments that are each pinned by one block, all with the same deep stack."""
    deep = [frame("f", i) for i in range(n // 4)]
    return dumped(n, events=[event("segment_alloc", BASE + (i << 21), 2 << 20, i, deep) for i in range(n // 4)], segments=[
        segment(BASE + (i << 21), 2 << 20, [block(BASE + (i << 21), 512, frames=deep),
                                            block(BASE + (i << 21) + 512, (2 << 20) - 512, "inactive", frames=[])])
        for i in range(n // 4)])


@shape
def stacks_differ(n):
    """n / 3 blocks, each with its own stack."""
    main = frame("main", 2)
    return dumped(n, events=allocs(n // 3, lambda i: [frame("f", i), main]))


@shape
def stacks_end_alike(n):
    """Stacks of 1, 2, 3... frames, each the end of the next: a flame graph of as many levels."""
    deep, k = [], int((2 * n) ** 0.5)
    deep = [frame("g%d" % i, i) for i in range(k)]
    return dumped(k * k // 2, events=allocs(k, lambda i: deep[k - 1 - i:]))


@shape
def stacks_begin_alike(n):
    """Stacks of 1, 2, 3... frames, each the beginning of the next."""
    k = int((2 * n) ** 0.5)
    deep = [frame("g%d" % i, i) for i in range(k)]
    return dumped(k * k // 2, events=allocs(k, lambda i: deep[: i + 1]))


@shape
def stack_grows_in_place(n):
    """One list of frames that grows by one between its uses: each event refers to it."""
    k = int((2 * n) ** 0.5)
    text = lambda s: b"\x8c" + bytes([len(s)]) + s.encode()
    number = lambda v: pickle.dumps(v, protocol=2)[2:-1]
    row = lambda **items: b"}(" + b"".join(text(key) + v for key, v in items.items()) + b"u"
    one = lambda i: row(name=text("g"), filename=text("a.py"), line=number(i))
    events = b"".join(row(action=text("alloc"), addr=number(BASE + i * 4096), size=number(512), stream=number(0),
                          time_us=number(START + i), frames=(b"h\x02" if i else b"]r\x02\0\0\0") + one(i) + b"a") for i in range(k))
    return "pickle", (b"\x80\x04" + row(segments=b"]", device_traces=b"](](" + events + b"ee") + b"."), k * k // 2


@shape
def names_differ_last(n):
    """Frames whose names differ only in the last characters."""
    start = "x" * 60
    return dumped(n, events=allocs(n // 2, lambda i: [frame("%s%08d" % (start, i))]))


@shape
def files_differ(n):
    """Each frame in its own file, in its own folder."""
    return dumped(n, events=allocs(n // 2, lambda i: [frame("f", 1, "/home/%08d/%d.py" % (i, i))]))


@shape
def name_long(n):
    """One frame with a name of 100 bytes for each row: 16 MB for 160,000."""
    long = [frame("n" * (100 * n), 1)]
    return dumped(n, events=allocs(100, lambda i: long) + [event("oom", 1 << 40, 5, 200, long)],
                  segments=[segment(BASE, 1 << 20, [block(BASE, 512, frames=long)])])


@shape
def names_of_one_letter(n):
    """Names of 60,000 times the letter that a regular expression repeats, and another at their end."""
    return dumped(n, events=allocs(max(1, n // 600), lambda i: [frame("f" * 60000 + "%dx" % i, i)]))


@shape
def names_long(n):
    """1,000 frames whose names are n / 10 bytes in all, shared by many stacks."""
    frames = [frame("m" * (n // 10) + str(i), i) for i in range(100)]
    return dumped(n, events=allocs(n // 3, lambda i: [frames[i % 100], frames[i * 7 % 100]]))


@shape
def frames_fx_differ(n):
    """One line of generated code, with as many nodes of torch.fx as there are blocks."""
    return dumped(n, events=allocs(n // 2, lambda i: [dict(frame(), fx_node_op="call_function", fx_node_name="node %d" % i)]))


# ---- rows that an unkeyed hash table would keep in one place


def xxh3_inverse(h):
    """The 8 bytes whose XXH3 (64 bits, no seed) is h. Source: XXH3_rrmxmx, xxhash.h of xxHash 0.8.1."""
    most, prime = MOST, pow(0x9FB21C651E98DF25, -1, 1 << 64)
    secret = int.from_bytes(bytes.fromhex("7c01812cf721ad1c"), "little") ^ int.from_bytes(bytes.fromhex("ded46de9839097db"), "little")
    h ^= h >> 28 ^ h >> 56
    h = h * prime & most
    h ^= (h >> 35) + 8
    h = h * prime & most
    turned = lambda v, by: (v << by | v >> (64 - by)) & most
    for _ in range(63):  # the sum of three rotations is its own inverse after 64 times
        h ^= turned(h, 49) ^ turned(h, 24)
    h ^= secret
    return struct.pack("<II", h >> 32, h & 0xFFFFFFFF)


@shape
def names_collide(n):
    """Names of 8 bytes whose hashes have the same upper half."""
    k = n // 2
    ending, data, rows = dumped(n, events=allocs(k, lambda i: [frame("Q%07d" % i)]))
    return ending, re.sub(rb"Q(\d{7})", lambda m: xxh3_inverse(0x12345678 << 32 | int(m[1])), data), rows


@shape
def addresses_collide(n):
    """Addresses that Fibonacci hashing puts in one place."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    where = lambda i: (i << 32 | i) * inverse & MOST
    events = allocs(n // 2, addr=where)
    return dumped(n, events=events + [event("free_completed", where(i), 512, n + i) for i in range(n // 2)])


# ---- devices, segments, streams, pools, annotations


@shape
def devices_many(n):
    """As many devices as a file may have (parse/model/build.h), each with its own events."""
    k = min(n // 4, 4096)
    return dumped(n, traces=[allocs(max(1, n // 4 // k)) for _ in range(k)])


@shape
def segments_many(n):
    return dumped(n, events=allocs(10), segments=[
        segment(BASE + i * 4096, 4096, [block(BASE + i * 4096, 4096)]) for i in range(n // 2)])


@shape
def segments_overlap(n):
    """All segments at the same addresses, and all blocks of a segment at the same address."""
    return dumped(n, events=allocs(10), segments=[
        segment(BASE + i, 1 << 30, [block(BASE + i, 1 << 29), block(BASE, 1 << 30)]) for i in range(n // 3)])


@shape
def segments_wrap(n):
    """Segments and blocks of 4 EiB: their sum does not fit 64 bits."""
    return dumped(n, events=[event("segment_alloc", BASE + (i << 20), 1 << 62, i) for i in range(n // 4)] +
                  [event("alloc", BASE + (i << 20), 1 << 62, n + i) for i in range(n // 4)],
                  segments=[segment(BASE + (i << 20), 1 << 62, [block(BASE + (i << 20), 1 << 62)]) for i in range(n // 4)])


@shape
def blocks_many(n):
    """One segment of n blocks, every second one free."""
    return dumped(n, events=allocs(10), segments=[segment(BASE, n * 512, [
        block(BASE + i * 512, 512, "inactive" if i % 2 else "active_allocated") for i in range(n)])])


@shape
def blocks_pending(n):
    return dumped(n, events=allocs(10), segments=[
        segment(BASE + i * 4096, 4096, [block(BASE + i * 4096, 4096, "active_pending_free", requested=1)], stream=i)
        for i in range(n // 2)])


@shape
def streams_many(n):
    return dumped(n, events=[event("alloc", BASE + i * 4096, 512, i, stream=i) for i in range(n // 2)],
                  segments=[segment(BASE + i * 4096, 4096, [block(BASE + i * 4096, 512)], stream=i) for i in range(n // 4)])


@shape
def pools_many(n):
    return dumped(n, events=allocs(n // 3), segments=[
        segment(BASE + i * 4096, 4096, [block(BASE + i * 4096, 512)], pool=(i + 1, i)) for i in range(n // 3)])


@shape
def annotations_many(n):
    """Ranges of different names, one after another, with an event in each."""
    return dumped(n, events=allocs(n // 3, time=lambda i: 2 * i), annotations=[
        mark("range %d" % (i // 2), "END" if i % 2 else "START", i) for i in range(2 * n // 3)])


@shape
def annotations_nested(n):
    """Ranges within ranges, all open at once, and events within all of them."""
    k = n // 3
    return dumped(n, events=allocs(k, time=lambda i: k + i), annotations=[mark("range %d" % i, "START", i) for i in range(k)] +
                  [mark("range %d" % (k - 1 - i), "END", 2 * k + i) for i in range(k)])


@shape
def annotations_open(n):
    """Ranges of one name that never end."""
    return dumped(n, events=allocs(n // 3, time=lambda i: 2 * i), annotations=[mark("x", "START", i) for i in range(2 * n // 3)])


@shape
def steps_many(n):
    """A step for every block: allocated, and freed two steps later."""
    k, events = n // 5, []
    for i in range(k):
        events.append(event("alloc", BASE + i % 7 * 4096, 512 + i % 7, 10 * i + 1))
        if i > 5:
            events += freed(BASE + (i - 6) % 7 * 4096, 512 + (i - 6) % 7, 10 * i + 2)
    return dumped(n, events=events, annotations=[
        mark("ProfilerStep#%d" % (i // 2), "END" if i % 2 else "START", 10 * (i // 2) + 9 * (i % 2)) for i in range(2 * k)])


@shape
def metadata_many(n):
    """User metadata and compile contexts that all differ."""
    return dumped(n, events=[event("alloc", BASE + i * 4096, 512, i, user_metadata="kind %d" % i,
                                   compile_context="%d/0" % i) for i in range(n // 2)])


@shape
def settings_many(n):
    made = snapshot(allocs(10))
    made["allocator_settings"].update(("setting %d" % i, i) for i in range(n))
    return "pickle", pickle.dumps(made, protocol=4), n


@shape
def settings_share(n):
    """As many settings as one dict has pairs, and all refer to that dict."""
    shared = {str(i): i for i in range(n // 8)}
    made = snapshot(allocs(10))
    made["allocator_settings"].update(("setting %d" % i, shared) for i in range(n // 8))
    return "pickle", pickle.dumps(made, protocol=4), n // 4


@shape
def settings_given_again(n):
    """One table of settings, which the root has under the same key again and again."""
    table = b"}q\5(" + b"".join(b"\x8c\x08%08dK\1" % i for i in range(n // 8)) + b"u"
    again = b"h\4h\5" * (n // 8)
    return "pickle", b"\x80\4}(\x8c\x08segments]\x8c\x12allocator_settingsq\4" + table + again + b"u.", n // 8


@shape
def values_refused(n):
    """Under a user's key, values that are refused under PyTorch's keys: one byte each."""
    return "pickle", b"\x80\4}(\x8c\x08segments]\x8c\4mine](" + b"\x8f" * n + b"eu.", n


@shape
def keys_unknown(n):
    return dumped(n, events=allocs(10), **{"key %d" % i: [i] for i in range(n)})


# ---- addresses, sizes, times


@shape
def overlap(n):
    """All blocks overlap all others."""
    return dumped(n, events=allocs(n, size=lambda i: 1 << 30, addr=lambda i: BASE + i * 256))


@shape
def overlap_inside(n):
    """Each block lies within the previous one."""
    return dumped(n, events=allocs(n, size=lambda i: (n - i) * 1024, addr=lambda i: BASE + i * 512))


@shape
def one_address(n):
    """Each block at the same address, with another size; none is freed."""
    return dumped(n, events=allocs(n, size=lambda i: 512 + i, addr=lambda i: BASE))


@shape
def sizes_largest(n):
    """Addresses and sizes up to 2^64 - 1."""
    values = [0, 1, MOST, MOST - 1, 1 << 63, (1 << 63) - 1, 1 << 62, 512]
    actions = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom")
    return dumped(n, events=[event(actions[i % 8], values[i // 8 % 8], values[i // 64 % 8], i) for i in range(n)])


@shape
def sums_wrap(n):
    return dumped(n, events=allocs(n, size=lambda i: 1 << 62))


@shape
def one_time(n):
    return dumped(n, events=allocs(n, time=lambda i: 0))


@shape
def time_backwards(n):
    return dumped(n, events=allocs(n, time=lambda i: n - i), annotations=[mark("x", "END" if i % 2 else "START", n - i) for i in range(n // 4)])


@shape
def lifo(n):
    k, events = n // 3, allocs(n // 3)
    for i in reversed(range(k)):
        events += freed(BASE + i * 4096, 512, 2 * k - i)
    return dumped(n, events=events)


@shape
def fifo(n):
    k, events = n // 3, allocs(n // 3)
    for i in range(k):
        events += freed(BASE + i * 4096, 512, k + i)
    return dumped(n, events=events)


@shape
def frees_only(n):
    """Frees of blocks whose allocation is not in the file."""
    events = []
    for i in range(n // 2):
        events += freed(BASE + i * 4096, 512, i)
    return dumped(n, events=events)


@shape
def frees_pending(n):
    """Frees that never complete."""
    events = allocs(n // 2)
    return dumped(n, events=events + [event("free_requested", BASE + i * 4096, 512, n + i) for i in range(n // 2)])


@shape
def holes(n):
    """A heap with holes of every size, then requests that fit in few of them."""
    k, at, events, where = n // 5, BASE, [event("segment_alloc", BASE, 1 << 45, 0)], []
    for i in range(2 * k):
        size = 512 * (1 + (i * 7919) % k)
        events.append(event("alloc", at, size, i))
        where.append((at, size))
        at += size
    for i in range(0, 2 * k, 2):
        events.append(event("free_completed", *where[i], 2 * k + i))
    for i in range(0, 2 * k, 2):
        events.append(event("alloc", where[i][0], where[i][1], 4 * k + i))
    return dumped(n, events=events)


@shape
def holes_of_one_size(n):
    """A heap whose holes are all too small for the requests that follow."""
    k = n // 4
    events = [event("segment_alloc", BASE, k << 21, 0)]
    events += [event("alloc", BASE + (i << 20), 1 << 20, i + 1) for i in range(2 * k)]
    events += [event("free_completed", BASE + (i << 20), 1 << 20, n + i) for i in range(0, 2 * k, 2)]
    return dumped(n, events=events + [event("alloc", BASE + (k << 22) + (i << 21), (1 << 20) + 512, 2 * n + i) for i in range(k)])


@shape
def segments_come_and_go(n):
    """Segments of many sizes, each returned to the device while others are alive."""
    events, k = [], n // 5
    for i in range(k):
        addr, size = BASE + (i << 27), (2 << 20) * (1 + i % 37)
        events += [event("segment_alloc", addr, size, 5 * i, stream=i % 100), event("alloc", addr, size, 5 * i, stream=i % 100)]
        if i >= 1000:
            old, bytes_ = BASE + ((i - 1000) << 27), (2 << 20) * (1 + (i - 1000) % 37)
            events += freed(old, bytes_, 5 * i) + [event("segment_free", old, bytes_, 5 * i)]
    return dumped(n, events=events)


@shape
def expandable(n):
    """An expandable segment that grows by 2 MiB at a time and then loses every second part."""
    k, events = n // 3, []
    for i in range(k):
        events += [event("segment_map", BASE + (i << 21), 2 << 20, i), event("alloc", BASE + (i << 21), 1 << 20, i)]
    for i in range(1, k, 2):
        events += [event("free_completed", BASE + (i << 21), 1 << 20, n + i), event("segment_unmap", BASE + (i << 21), 2 << 20, n + i)]
    return dumped(n, events=events)


@shape
def ooms_released(n):
    """Failed requests with releases between them that no replay expects, each with its own limit."""
    sizes, made = (1, 511, 512, 1 << 20, 2 << 20, 20 << 20), []
    actions = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom", "oom")
    state = 5
    for i in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) & MOST
        r = state >> 33
        made.append(event(actions[r % 7], BASE + (r >> 3) % 64 * (1, 512, 1 << 20)[r % 3], sizes[(r >> 9) % 6], i,
                          ONE_STACK, (r >> 12) % 3, device_free=(r << 10) % (1 << 40)))
    return dumped(n, events=made)


@shape
def ooms(n):
    """Every second event is an out-of-memory event, of another size, by another line."""
    return dumped(n, events=[event("oom", 1 << 30, 1 << 40, i, [frame("f", i)]) if i % 2 else
                             event("alloc", BASE + i * 4096, 512, i) for i in range(2 * n // 3)])


@shape
def sizes_differ(n):
    """No two blocks of the same size, freed in another order than allocated."""
    k = n // 3
    events = allocs(k, size=lambda i: 512 * (1 + i), addr=lambda i: BASE + (i << 30))
    for i in range(k):
        j = i * 7919 % k if k % 7919 else i
        events += freed(BASE + (j << 30), 512 * (1 + j), k + i)
    return dumped(n, events=events)


@shape
def periods_almost(n):
    """Sizes that look periodic with every period and with none (Thue and Morse), some never freed."""
    k, events = n // 3, []
    for i in range(k):
        size = 512 << (bin(i).count("1") % 2)
        events.append(event("alloc", BASE + i * 4096, size, 3 * i, [frame("f", i % 50)]))
        if i % 5:
            events += freed(BASE + i * 4096, size, 3 * i + 1)
    return dumped(n, events=events)


@shape
def periods_grow(n):
    """Each step is one block longer than the last."""
    events, k, i = [], 1, 0
    while len(events) < n - 3 * k:
        events += [event("alloc", BASE + (i + j) * 4096, 512 * (j + 1), i + j, [frame("f", j)]) for j in range(k)]
        for j in range(k - 1):
            events += freed(BASE + (i + j) * 4096, 512 * (j + 1), i + k)
        i, k = i + k, k + 1
    return dumped(n, events=events)


@shape
def no_events(n):
    """Only blocks: a snapshot without recording."""
    return dumped(n, segments=[segment(BASE + i * (2 << 20), 2 << 20, [
        block(BASE + i * (2 << 20), 1 << 20), block(BASE + i * (2 << 20) + (1 << 20), 1 << 20, "inactive")]) for i in range(n // 3)])


@shape
def own_list_first(n):
    """A user's list before PyTorch's lists, which refer to its events in reverse order."""
    events = allocs(n)
    return "pickle", pickle.dumps({"mine": events[::-1], **snapshot(events=events)}, protocol=4), n


# ---- files of other tools ------------------------------------------------------------------------


@shape
def rmm_never_freed(n):
    rows = ["Thread,Time,Action,Pointer,Size,Stream\n"]
    rows += ["%d,%d.%06d,allocate,0x%x,%d,0x%x\n" % (i, 1700000000 + i // 1000000, i % 1000000, BASE + i * 512, 512, i) for i in range(n)]
    return "csv", "".join(rows).encode(), 2 * n


@shape
def rmm_one_pointer(n):
    rows = ["Thread,Time,Action,Pointer,Size,Stream\n"]
    rows += ["1,00:00:00.5,allocate,0x100,%d,0x0\n" % (MOST - i) for i in range(n)]
    return "csv", "".join(rows).encode(), 2 * n


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def profile(samples, locations, texts):
    head = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
    return b"".join([head] + [field(2, s) for s in samples] + [field(4, x) for x in locations] +
                    [field(6, t) for t in [b"", b"allocations", b"count", b"space", b"bytes"] + texts])


@shape
def pprof_deep(n):
    """One sample with a stack of n places."""
    functions = b"".join(field(5, field(1, i + 1) + field(2, 5) + field(4, 5)) for i in range(n))
    places = [field(1, i + 1) + field(4, field(1, i + 1) + field(2, i)) for i in range(n)]
    sample = field(1, b"".join(varint(i + 1) for i in range(n))) + field(2, b"\x01\x80\x01")
    return "prof", profile([sample], places, [b"main"]) + functions, n


@shape
def pprof_inlined(n):
    """One place with n functions inlined into each other, and n / 4 samples there."""
    k = int(n ** 0.5)
    functions = b"".join(field(5, field(1, i + 1) + field(2, 5) + field(4, 5)) for i in range(k))
    place = field(1, 1) + b"".join(field(4, field(1, i + 1) + field(2, i)) for i in range(k))
    samples = [field(1, b"\x01" * (i + 1)) + field(2, b"\x01\x80\x01") for i in range(k)]
    return "prof", profile(samples, [place], [b"main"]) + functions, 512 * k  # no stack has more frames


@shape
def xplane_blocks(n):
    """n XLA blocks that are never freed, within nested ranges."""
    stats = [b"allocator_name", b"bytes_allocated", b"bytes_available", b"allocation_bytes", b"requested_bytes", b"addr",
             b"tf_op", b"GPU_0_bfc"]
    ids = {s: i + 1 for i, s in enumerate(stats)}
    k = n // 3
    def number(name, v):
        return field(4, field(1, ids[name]) + field(4, v))
    events = b"".join(field(4, field(1, 1) + field(2, 1000000 * (k + i)) +
                            field(4, field(1, ids[b"allocator_name"]) + field(7, ids[b"GPU_0_bfc"])) +
                            number(b"allocation_bytes", 512) + number(b"requested_bytes", 500) +
                            number(b"bytes_allocated", 512 * (i + 1)) + number(b"addr", BASE + 512 * i)) for i in range(k))
    ranges = b"".join(field(4, field(1, 3 + i % 1000) + field(2, 1000000 * i) + field(3, 1000000 * (3 * k - 2 * i))) for i in range(k))
    names = [b"MemoryAllocation", b"MemoryDeallocation"] + [b"range %d" % i for i in range(1000)]
    plane = field(2, b"/host:CPU") + field(3, field(1, 7) + field(2, b"python") + field(3, 1700000000) + ranges + events)
    plane += b"".join(field(4, field(1, i + 1) + field(2, field(1, i + 1) + field(2, t))) for i, t in enumerate(names))
    plane += b"".join(field(5, field(1, i + 1) + field(2, field(1, i + 1) + field(2, t))) for i, t in enumerate(stats))
    return "pb", field(1, plane), n


# ---- compressed ----------------------------------------------------------------------------------


def compressed(data, *how):
    if not shutil.which(how[0]):
        sys.exit(77)
    return subprocess.run(how, input=data, check=True, stdout=subprocess.PIPE).stdout


@shape
def gzip_of_alike(n):
    """Events that compress by a factor of a hundred."""
    _, data, rows = SHAPES["stack_deep_one_line"](n)
    return "pickle.gz", gzip.compress(data, 9, mtime=0), rows


@shape
def zstd_of_alike(n):
    data = pickle.dumps(event("alloc", BASE, 512, 0, []), protocol=4)[11:-1] * n
    body = b"\x80\x04}(\x8c\x08segments]\x8c\rdevice_traces](](" + data + b"eeu."
    return "pickle.zst", compressed(body, "zstd", "-q", "-c", "-19", "--long=27"), n


@shape
def gzip_of_zeros(n):
    """A string of 200 bytes for each row, in place of a name."""
    long = b"X" + struct.pack("<I", n * 1000) + b"\0" * (n * 1000)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return "pickle.gz", packer.compress(b"\x80\x04}(" + long + b"N\x8c\x08segments]\x8c\rdevice_traces](]eu.") + packer.flush(), 5 * n


@shape
def gzip_in_gzip(n):
    data = b"\0" * (1000 * n)
    for _ in range(3):
        data = gzip.compress(data, 9, mtime=0)
    return "pickle.gz", data, 1


@shape
def zstd_of_zeros(n):
    return "pickle.zst", compressed(b"\x80\x04}(X" + struct.pack("<I", n * 1000) + b"\0" * (n * 1000) +
                                    b"N\x8c\x08segments]\x8c\rdevice_traces](]eu.", "zstd", "-q", "-c", "-19"), 5 * n


@shape
def page_of_many(n):
    """A page of PyTorch's viewer around a pickle."""
    import base64
    _, data, rows = SHAPES["stacks_differ"](n)
    return "html", (b'\n<!DOCTYPE html>\n<html>\n<script type="module">\nconst local_files = [{"name": "snapshot.pickle", "base64": "' +
                    base64.b64encode(data) + b'"}]\n</script>'), rows
