#!/usr/bin/env python3
"""Writes testdata/tools/ and the corpora of their fuzz targets (docs/other-files.md).

    scripts/make-tool-files.py                        the files that are made by a format's description
    scripts/make-tool-files.py --xplane IN            cuts a recorded *.xplane.pb to what memviz reads
    scripts/make-tool-files.py --pprof IN             shortens the paths in a recorded memory.prof

A recording cannot be made again here; --xplane and --pprof keep the recorded contents.
"""

import gzip
import json
import os
import sys

TESTDATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testdata")
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def write(path, data):
    path = os.path.join(TESTDATA, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


# ---- protocol buffers -------------------------------------------------------------------------


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def take_varint(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        at += 1
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return n, at


def fields(data):
    """(number, value, bytes of the whole field)"""
    at = 0
    while at < len(data):
        start = at
        key, at = take_varint(data, at)
        if key & 7 == VARINT:
            value, at = take_varint(data, at)
        elif key & 7 == BYTES:
            length, at = take_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            length = 8 if key & 7 == FIXED64 else 4
            value, at = data[at : at + length], at + length
        yield key >> 3, value, data[start:at]


# ---- RMM --------------------------------------------------------------------------------------

HEADER = "Thread,Time,Action,Pointer,Size,Stream\n"


def clock(us, point="."):
    seconds = us // 1000000 % 86400
    return "%02d:%02d:%02d%s%06d" % (seconds // 3600, seconds // 60 % 60, seconds % 60, point, us % 1000000)


def rmm_program(lines, start, point="."):
    """Twelve steps over midnight: each keeps 1 MiB and frees the rest."""
    now, kept = start, 0x30A000000

    def add(thread, action, pointer, size, stream="0x2"):
        nonlocal now
        now += 250
        lines.append("%d,%s,%s,%s,%d,%s\n" % (thread, clock(now, point), action, pointer, size, stream))

    add(1979932, "allocate", "0x30b000000", 64 << 20)
    for step in range(12):
        now += 1000000
        add(1979932, "allocate", hex(0x310000000), 8 << 20)
        add(1980043, "allocate", hex(0x320000000), 3000, "0x1")
        add(1979932, "allocate", hex(kept + (step << 20)), 1 << 20)
        if step == 7:
            add(1979932, "allocate failure", "0x0", 40 << 30)
        add(1980043, "free", hex(0x320000000), 3000, "0x1")
        add(1979932, "free", hex(0x310000000), 8 << 20)
    return lines


class Log:
    """Lines of one thread, from nine in the morning on."""

    def __init__(self, hour=9):
        self.lines, self.now = [], hour * 3600 * 1000000

    def add(self, action, pointer, size, before="", pause_s=0):
        self.now += 250 + pause_s * 1000000
        self.lines.append("%s1,%s,%s,%s,%d,0x0\n" % (before, clock(self.now), action, hex(pointer), size))

    def write(self, name, end=""):
        for path in "tools/" + name, "corpus/rmm/" + name[4:-4]:
            write(path, (HEADER + "".join(self.lines) + end).encode())


def make_odd_rmm():
    log = Log()
    log.add("allocate", 0x10000000, 1 << 20)
    log.write("rmm_cut.csv", "1,09:00:00.000500,allocate,0x20000000,12345")
    log = Log()
    for step in range(8):
        log.add("allocate", 0x10000000, 1 << 20)
        log.add("free", 0x10000000, 1 << 20)
        log.add("allocate", 0x20000000, 1 << 30, before="24/01/01 WARN Foo: bar " if step == 3 else "")
        log.add("free", 0x20000000, 1 << 30, before="24/01/01 WARN Foo: bar " if step == 5 else "")
    log.write("rmm_glued.csv")
    log = Log()
    log.add("allocate", 0x10000000, 1 << 30)
    log.add("allocate", 0x10100000, 1 << 20)  # inside the block whose free is missing
    log.add("allocate", 0x10200000, 1 << 20)
    log.write("rmm_overlap.csv")
    log = Log(hour=22)
    for pause in (0, 4, 13, 10, 3):  # hours: over midnight, to 15:00, 01:00, 04:00
        log.add("allocate", 0x10000000, 1 << 20, pause_s=pause * 3600)
        log.add("free", 0x10000000, 1 << 20)
    log.write("rmm_pauses.csv")
    log = Log(hour=3)
    log.now -= 20 * 1000000
    for step in range(6):  # summer time ends after the second
        log.now -= 3600 * 1000000 if step == 2 else 0
        log.add("allocate", 0x10000000 + (step << 20), 1 << 20, pause_s=10)
    log.write("rmm_set_back.csv")


def make_rmm():
    lines = rmm_program([], 86400 * 1000000 - 5000000)
    write("tools/rmm_steps.csv", (HEADER + "".join(lines)).encode())
    old = rmm_program([], 3600 * 1000000, ":")
    old = [l.replace("0x0,", "(nil),").replace("0x", "") for l in old]
    write("tools/rmm_colons.csv", (HEADER + "".join(old)).encode())
    epoch = []
    for i, l in enumerate(lines):
        thread, _, action, rest = l.split(",", 3)
        action = "deallocate" if action == "free" else action
        epoch.append("%s,%d.%06d,%s,%s" % (thread, 1634567890 + i, 123456, action, rest))
    write("tools/rmm_epoch.csv.gz", gzip.compress((HEADER + "".join(epoch)).encode(), mtime=0))
    late = lines[4:] + [HEADER, "[12:00:00] another logger's line\n", lines[0][:40]]
    write("tools/rmm_late.csv", (HEADER + "".join(late)).encode())
    make_odd_rmm()
    two = ["1,10:00:00.000001,allocate,0x100000000,1048576,0x0\n", "1,10:00:00.000002,allocate failure,0x0,1073741824,0x0\n",
           "1,10:00:00.000003,free,0x100000000,1048576,0x0\n", "1,10:00:01.000003,allocate,0x200000000,67108864,0x0\n",
           "1,10:00:01.000003,allocate,0x300000000,2147483648,0x0\n", "1,10:00:02.000004,allocate failure,0x0,8589934592,0x0\n"]
    write("tools/rmm_failures.csv", (HEADER + "".join(two)).encode())
    for name, part in {"steps": lines[:12], "colons": old[:6], "epoch": epoch[:6], "late": late[-6:]}.items():
        write("corpus/rmm/" + name, (HEADER + "".join(part)).encode())


# ---- XLA --------------------------------------------------------------------------------------


class Plane:
    def __init__(self, name):
        self.head, self.lines, self.events, self.stats = field(2, name), b"", {}, {}

    def id_in(self, table, name):
        return table.setdefault(name, len(table) + 1)

    def stat(self, name, value):
        part = field(1, self.id_in(self.stats, name))
        if name == "allocator_name":
            return part + field(7, self.id_in(self.stats, value))
        return part + (field(5, value) if isinstance(value, str) else field(4, value))

    def event(self, name, offset_ps, duration_ps=0, **stats):
        data = field(1, self.id_in(self.events, name)) + field(2, offset_ps)
        if duration_ps:
            data += field(3, duration_ps)
        return field(4, data + b"".join(field(4, self.stat(k, v)) for k, v in stats.items()))

    def line(self, name, timestamp_ns, events):
        self.lines += field(3, field(1, 7) + field(2, name) + field(3, timestamp_ns) + b"".join(events))

    def bytes(self, *stats):
        own = b"".join(field(6, self.stat(k, v)) for k, v in stats)
        out = self.head + self.lines
        for number, table in ((4, self.events), (5, self.stats)):
            for name, i in table.items():
                out += field(number, field(1, i) + field(2, field(1, i) + field(2, name)))
        return field(1, out + own)


def make_tensorflow(steps):
    """Two devices, the host, operations and shapes, as TensorFlow writes them: synthetic, not recorded."""
    plane, events, held, total = Plane("/host:CPU"), [], {}, {"GPU_0_bfc": 4096, "GPU_1_bfc": 0, "gpu_host_bfc": 0}

    def memory(name, us, allocator, addr, requested=0, **more):
        size = held.get((allocator, addr)) or (requested + 255) // 256 * 256
        is_alloc = name == "MemoryAllocation"
        held[allocator, addr] = size if is_alloc else None
        total[allocator] += size if is_alloc else -size
        events.append(
            plane.event(
                name, us * 1000000, allocator_name=allocator, bytes_reserved=0, bytes_allocated=total[allocator],
                bytes_available=(8 << 30) - total[allocator], peak_bytes_in_use=1 << 20,
                requested_bytes=requested or size, allocation_bytes=size, addr=addr, **more))  # fmt: skip

    for step in range(steps):
        at = step * 1000
        events.append(plane.event("train", at * 1000000, 900 * 1000000, step_num=step, _r=1))
        events.append(plane.event("ended before", (at + 5) * 1000000, 10 * 1000000))
        events.append(plane.event("ExecutorState::Process", (at + 10) * 1000000, 800 * 1000000))
        for gpu in range(2):
            a = "GPU_%d_bfc" % gpu
            memory("MemoryAllocation", at + 20 + gpu, a, 0x700000000000, 1 << 20, tf_op="dense/MatMul",
                   id=step, region_type="output", data_type=1, shape="[512,512]")  # fmt: skip
            memory("MemoryAllocation", at + 30 + gpu, a, 0x700001000000 + step * 4096, 4000, tf_op="cache/Concat",
                   id=step, region_type="persist", data_type=19, shape="[2,1000]")  # fmt: skip
            memory("MemoryDeallocation", at + 40 + gpu, a, 0x700000000000)
        memory("MemoryAllocation", at + 50, "gpu_host_bfc", 0x7F0000000000, 100)
        memory("MemoryDeallocation", at + 60, "gpu_host_bfc", 0x7F0000000000)
    held["GPU_0_bfc", 0x700000F00000] = 1024
    memory("MemoryDeallocation", 8500, "GPU_0_bfc", 0x700000F00000)
    plane.line("tf_data", 1700000000000000000, events)
    data = plane.bytes(("process_id", 4711)) + field(3, "a warning of the profiler") + field(4, "host1")
    return data


class Bfc:
    """An allocator that writes its events into a plane, except dropped ones."""

    def __init__(self, plane, name="GPU_0_bfc", limit=8 << 30, before=0, peak=0, first=0x700000000000):
        self.plane, self.name, self.limit, self.next = plane, name, limit, first
        self.total, self.peak, self.held, self.events = before, max(before, peak), {}, []

    def write(self, name, us, addr, size, is_dropped):
        if not is_dropped:
            self.events.append(
                self.plane.event(
                    name, us * 1000000, allocator_name=self.name, bytes_reserved=0, bytes_allocated=self.total,
                    bytes_available=self.limit - self.total, peak_bytes_in_use=self.peak, requested_bytes=size,
                    allocation_bytes=size, addr=addr))  # fmt: skip

    def alloc(self, us, size, is_dropped=False, addr=None):
        addr, self.next = (addr, self.next) if addr else (self.next, self.next + size)
        self.held[addr] = size
        self.total += size
        self.peak = max(self.peak, self.total)
        self.write("MemoryAllocation", us, addr, size, is_dropped)
        return addr

    def free(self, us, addr, is_dropped=False):
        size = self.held.pop(addr)
        self.total -= size
        self.write("MemoryDeallocation", us, addr, size, is_dropped)

    def step(self, number, name="train"):
        self.events.append(self.plane.event(name, number * 1000000000, 900 * 1000000, step_num=number))


def write_plane(name, plane, *allocators):
    plane.line("main", 1700000000000000000, [e for a in allocators for e in a.events])
    write("tools/%s.xplane.pb" % name, plane.bytes())
    write("corpus/xplane/" + name, plane.bytes())


def make_lossy():
    """Profiles with missing events, whose totals show more than their events."""
    lost_frees = Bfc(Plane("/host:CPU"))
    lost_frees.alloc(5, 1 << 20)
    lost_allocs = Bfc(Plane("/host:CPU"), before=100 << 20)
    lost_overlaps = Bfc(Plane("/host:CPU"))
    two_lines = Bfc(Plane("/host:CPU"))
    for step in range(12):
        at = step * 1000
        lost_frees.step(step)
        large, small = lost_frees.alloc(at + 10, 64 << 20), lost_frees.alloc(at + 20, 1 << 20)
        lost_frees.free(at + 500, large, is_dropped=True)
        lost_frees.free(at + 600, small)
        lost_allocs.step(step)
        large = lost_allocs.alloc(at + 10, 64 << 20, is_dropped=step % 2 == 1)
        small = lost_allocs.alloc(at + 20, 1 << 20)
        lost_allocs.free(at + 500, large)
        lost_allocs.free(at + 600, small)
        large = lost_overlaps.alloc(at + 10, 64 << 20, addr=0x700000000000 + 256 * step)
        lost_overlaps.free(at + 500, large, is_dropped=True)
        # Two lines of one size: one keeps its blocks, the other frees them, which is missing.
        two_lines.step(step)
        two_lines.events.append(two_lines.plane.event("frees", (at + 5) * 1000000, 10 * 1000000))
        large = two_lines.alloc(at + 10, 1 << 20)
        two_lines.events.append(two_lines.plane.event("keeps", (at + 15) * 1000000, 10 * 1000000))
        two_lines.alloc(at + 20, 1 << 20)
        two_lines.free(at + 500, large, is_dropped=True)
        two_lines.free(at + 700, two_lines.alloc(at + 600, 4096))
    write_plane("lost_frees", lost_frees.plane, lost_frees)
    write_plane("lost_allocs", lost_allocs.plane, lost_allocs)
    write_plane("lost_overlaps", lost_overlaps.plane, lost_overlaps)
    write_plane("lost_of_two_lines", two_lines.plane, two_lines)
    plane = Plane("/host:CPU")
    first = Bfc(plane, before=1 << 30)
    second = Bfc(plane, "GPU_1_bfc", 64 << 30, 10 << 30, 20 << 30, 0x710000000000)
    other = Bfc(plane, "GPU_collectivememory_1_bfc", 1 << 30, first=0x720000000000)
    other.alloc(1, 1 << 20)
    for step in range(8):
        first.alloc(1000 * step + 5, 1 << 20)
        second.free(1000 * step + 500, second.alloc(1000 * step + 10, 1 << 30))
    write_plane("two_limits", plane, first, second, other)
    early = Bfc(Plane("/host:CPU"), peak=4 << 30)
    for step in range(8):
        early.free(1000 * step + 500, early.alloc(1000 * step + 10, 1 << 20))
    write_plane("early_peak", early.plane, early)
    program = Bfc(Plane("/host:CPU"))
    program.events.append(program.plane.event("ExecuteHelper", 0, 100 * 1000000))
    program.events.append(program.plane.event("Build buffer allocations", 1000000, 90 * 1000000))
    program.alloc(10, 1 << 20)
    write_plane("allocations", program.plane, program)
    plane, events = Plane("/host:CPU"), []
    for step in range(8):
        for size in (dict(allocation_bytes=1 << 20, allocator_name="GPU_0_bfc"), dict(allocator_name="GPU_0_bfc")):
            at = (1000 * step + 10 * len(size)) * 1000000
            events.append(plane.event("MemoryAllocation", at, addr=(7 << 28) + (step << 20), **size))
    plane.line("main", 1700000000000000000, events)
    write("tools/unsized.xplane.pb", plane.bytes())


def cut_plane(plane):
    """Lines with memory events; only these events and the events around them."""
    names, stats, out, used = {}, {}, b"", set()
    for number, value, _ in fields(plane):
        if number in (4, 5):
            (names if number == 4 else stats)[next(v for n, v, _ in fields(value) if n == 1)] = value
    memory = {i for i, v in names.items() if b"MemoryAllocation" in v or b"MemoryDeallocation" in v}
    for number, value, whole in fields(plane):
        if number == 3:
            events = []
            for n, v, w in fields(value):
                if n == 4:
                    parts = {k: x for k, x, _ in fields(v) if k < 4}
                    start = parts.get(2, 0)
                    events.append((parts[1], start, start + parts.get(3, 0), w))
            times = sorted(s for i, s, _, _ in events if i in memory)
            kept = [e for e in events if e[0] in memory or any(e[1] <= t < e[2] for t in times)]
            if not times:
                continue
            used |= {e[0] for e in kept}
            head = b"".join(w for n, _, w in fields(value) if n != 4)
            out += field(3, head + b"".join(e[3] for e in kept))
        elif number == 4:
            i = next(v for n, v, _ in fields(value) if n == 1)
            out += whole if i in used else b""
        else:
            out += whole
    return out


def cut_xplane(path):
    out = b""
    for number, value, whole in fields(open(path, "rb").read()):
        if number != 1:
            out += whole
            continue
        name = next(v for n, v, _ in fields(value) if n == 2)
        if name == b"/host:CPU":
            out += field(1, cut_plane(value))
        elif name == b"Task Environment":
            out += whole
        elif name == b"/host:metadata":  # without the compiled programs
            out += field(1, b"".join(w for n, _, w in fields(value) if n != 4))
    write("tools/jax.xplane.pb.gz", gzip.compress(out, mtime=0))


# ---- JAX --------------------------------------------------------------------------------------


def strip_pprof(path):
    out = b""
    for number, value, whole in fields(gzip.decompress(open(path, "rb").read())):
        if number == 6 and b"/site-packages/" in value:
            whole = field(6, value[value.index(b"site-packages/") :])
        elif number == 6 and value.startswith(b"/"):
            whole = field(6, value[value.rindex(b"/") + 1 :])
        out += whole
    write("tools/jax_memory.prof", gzip.compress(out, mtime=0))
    write("corpus/pprof/jax", out)


def make_pprof():
    """Two GPUs and the CPU, buffers and executables with bytes, an inlined line: synthetic."""
    texts = [""]

    def text(s):
        if s not in texts:
            texts.append(s)
        return texts.index(s)

    def sample(count, size, kind, device, *locations):
        labels = [field(1, text("kind")) + field(2, text(kind))]
        if device:
            labels.append(field(1, text("device")) + field(2, text(device)))
        packed = field(1, b"".join(varint(l) for l in locations)) + field(2, varint(count) + varint(size))
        return field(2, packed + b"".join(field(3, l) for l in labels))

    body = field(1, field(1, text("allocations")) + field(2, text("count")))
    body += field(1, field(1, text("space")) + field(2, text("bytes")))
    body += sample(3, 1000, "buffer", "TPU_1(process=0,(1,0,0,0))", 1, 2)
    body += sample(1, 4096, "buffer", "TPU_0(process=0,(0,0,0,0))", 2)
    body += sample(2, 5000, "executable", "", 2)
    body += sample(1, 77, "buffer", "TFRT_CPU_0", 1)
    for i, lines in ((1, ((1, 30), (2, 20))), (2, ((2, 21),))):
        body += field(4, field(1, i) + b"".join(field(4, field(1, f) + field(2, l)) for f, l in lines))
    for i, (name, file) in enumerate((("helper", "model.py"), ("main", "train.py")), 1):
        body += field(5, field(1, i) + field(2, text(name)) + field(4, text(file)))
    body += b"".join(field(6, t) for t in texts)
    write("tools/tpu_memory.prof", gzip.compress(body, mtime=0))
    write("corpus/pprof/tpu", body)


def write_pprof(name, types, samples):
    """Samples (count, bytes, labels) of one location."""
    texts = [""]

    def text(s):
        if s not in texts:
            texts.append(s)
        return texts.index(s)

    body = b"".join(field(1, field(1, text(t)) + field(2, text(u))) for t, u in types)
    for count, size, labels in samples:
        packed = field(1, varint(1)) + field(2, varint(count) + varint(size))
        body += field(2, packed + b"".join(field(3, field(1, text(k)) + field(2, text(v))) for k, v in labels.items()))
    body += field(4, field(1, 1) + field(4, field(1, 1) + field(2, 7)))
    body += field(5, field(1, 1) + field(2, text("main")) + field(4, text("train.py")))
    write("tools/" + name, gzip.compress(body + b"".join(field(6, t) for t in texts), mtime=0))


def make_odd_pprof():
    jax = (("allocations", "count"), ("space", "bytes"))
    write_pprof("cpu_heap.prof", (("objects", "count"), ("space", "bytes")), [(100, 800 << 20, {})])
    go = (("alloc_objects", "count"), ("inuse_space", "bytes"))
    write_pprof("go_heap.prof", go, [(100, 800 << 20, {})])
    devices = [(4, 1 << 30, {"kind": "buffer", "device": "TPU_%d(process=1)" % i}) for i in range(8, 12)]
    write_pprof("second_process.prof", jax, [(2, 300 << 20, {"kind": "executable"})] + devices)
    unsized = [(count, size, {"kind": "executable"}) for count, size in ((1, -1), (2, -2), (1, 5 << 20))]
    unsized.append((3, 9 << 20, {"kind": "buffer", "device": "TPU_0(process=0,(0,0,0,0))"}))
    write_pprof("unsized_executables.prof", jax, unsized)
    cpus = [(2, 8 << 20, {"kind": "buffer", "device": "TFRT_CPU_%d" % i}) for i in range(2)]
    write_pprof("cpu_memory.prof", jax, cpus)
    buffers = [(2 << 20, 1 << 40, {"kind": "buffer", "device": "cuda:0"}), (7, 700, {"kind": "buffer", "device": "cuda:0"})]
    write_pprof("million.prof", jax, buffers)


# ---- torch.profiler -----------------------------------------------------------------------------

MIB = 1 << 20
BF16 = "c10::BFloat16"


class Kineto:
    """A program whose memory torch.profiler records; an allocator that takes segments of 20 MiB."""

    def __init__(self, device=0, kind=1, held=100 * MIB, reserved=160 * MIB, stacks=True, pid=4711):
        self.device, self.kind, self.stacks, self.pid, self.held = device, kind, stacks, pid, held
        self.total = {kind: held, 0: 0}
        self.reserved, self.now, self.next, self.events = reserved, 1414456661000123, 0x7F0000000000, []

    def event(self, **members):
        self.events.append(members)
        return members

    def tick(self, ns=1250):
        self.now += ns
        return self.now

    def time(self, ns):
        return float("%d.%03d" % divmod(ns, 1000))

    def within(self, category, name, inside, tid=None, args=None):
        """An event around the events of `inside`."""
        if category == "python_function" and not self.stacks:
            inside()
            return
        e = self.event(ph="X", cat=category, name=name, pid=self.pid, tid=tid or self.pid)
        begin = self.tick()
        e.update(ts=self.time(begin), args=dict(args or {}, **{"Ev Idx": len(self.events)}))
        inside()
        e["dur"] = self.time(self.tick() - begin)

    def line(self, name, inside):
        self.within("python_function", name, inside)

    def op(self, name, dims, inside, types=None, tid=None):
        types = types or [BF16 if d else "Scalar" for d in dims]
        self.within("cpu_op", name, inside, tid, {"External id": len(self.events), "Input type": types, "Input Dims": dims})

    def memory(self, name, size, addr, kind, tid):
        args = {"Total Reserved": self.reserved if kind else 0, "Total Allocated": self.total[kind], "Bytes": size}
        args.update({} if addr is None else {"Addr": addr})
        args.update({"Device Id": self.device if kind else -1, "Device Type": kind, "Ev Idx": len(self.events)})
        self.event(ph="i", cat="cpu_instant_event", s="t", name=name, pid=self.pid, tid=tid or self.pid,
                   ts=self.time(self.tick()), args=args)

    def alloc(self, size, kind=None, tid=None):
        kind = self.kind if kind is None else kind
        addr, self.next = self.next, self.next + (size + 511) // 512 * 512
        self.total[kind] += size
        while kind and self.reserved < self.total[kind]:
            self.reserved += 20 * MIB
        self.memory("[memory]", size, addr, kind, tid)
        return addr, size, kind

    def free(self, block, tid=None):
        addr, size, kind = block
        self.total[kind] -= size
        self.memory("[memory]", -size, addr, kind, tid)

    def fail(self, size):
        self.memory("[OutOfMemory]", size, None, self.kind, None)

    def json(self, **members):
        whole = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a GPU", "totalGlobalMem": 80 << 30}]}
        whole.update(members)
        whole.update(displayTimeUnit="ms", baseTimeNanoseconds=1757000000000000000)
        other = [{"ph": "M", "name": "process_name", "pid": self.pid, "tid": 0, "ts": 1.0, "args": {"name": "python"}},
                 {"ph": "X", "cat": "kernel", "name": "void \"k\"<c10::BFloat16>(int)\\\u00e9", "pid": 0, "tid": 7,
                  "ts": self.time(self.now), "dur": 2.5, "args": {"grid": [1, 2, 3], "External id": 1}},
                 {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": self.time(self.now)}]
        whole["traceEvents"] = other + self.events
        return whole


def train(k, steps, keep=1 * MIB):
    """Steps of a training that keeps `keep` bytes at one line of each; a block of 8 MiB was allocated earlier."""
    thread = k.pid + 190
    for step in range(3, 3 + steps):
        blocks = []

        def forward():
            def linear():
                k.op("aten::linear", [[4096, 1024], [4096, 1024], [4096]], lambda: k.op(
                    "aten::addmm", [[4096], [4096, 1024], [1024, 4096], [], []], lambda: blocks.append(k.alloc(32 * MIB))))
            k.line("nn.Module: Linear_0", lambda: k.line("torch/nn/modules/linear.py(114): forward", linear))

        def batch():
            k.op("aten::empty", [[]], lambda: blocks.append(k.alloc(4096, 0)))
            k.op("aten::to", [[64, 512], [], []], lambda: blocks.append(k.alloc(262144)), ["long int", "Scalar", ""])

        def log():
            k.op("aten::zeros", [[], []], lambda: k.op("aten::empty", [[], []], lambda: k.alloc(keep)))

        def backward():
            inner = lambda: k.op("aten::mm", [[4096, 4096], [4096, 1024]], lambda: blocks.append(k.alloc(8 * MIB, tid=thread)), tid=thread)
            node = lambda: k.op("AddmmBackward0", [[4096, 4096]], inner, tid=thread)
            k.op("autograd::engine::evaluate_function: AddmmBackward0", [[4096, 4096]], node, tid=thread)

        def body():
            k.line("train.py(31): batch", batch)
            k.line("train.py(62): forward", forward)
            k.line("<built-in method run_backward of torch._C._EngineBase object at 0x7f33>", backward)
            if keep:
                k.line("train.py(70): log", log)
            if step == 3 and k.held:
                k.free((0x7E0000000000, 8 * MIB, k.kind))
            for block in blocks:
                k.free(block)
            if step == 4:
                k.reserved = (k.total[k.kind] + 20 * MIB - 1) // (20 * MIB) * 20 * MIB  # empty_cache()

        k.line("train.py(90): <module>", lambda: k.within("user_annotation", "ProfilerStep#%d" % step, body))


def pretty(whole):
    return json.dumps(whole, indent=2).encode() + b"\n"


def make_kineto():
    k = Kineto()
    train(k, 6)
    whole = k.json(with_stack=1, profile_memory=1)
    write("tools/profiler.json.gz", gzip.compress(pretty(whole), mtime=0))
    k = Kineto(device=3, kind=6, stacks=False)
    k.within("user_annotation", "capture_32_FULL", lambda: train(k, 2, 0))
    k.op("aten::empty", [[], [], []], lambda: k.fail(64 << 30))
    ranks = {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0", "ranks": [0]}]}
    write("tools/profiler_rank3.json", json.dumps(k.json(distributedInfo=ranks)).encode())
    k = Kineto(held=0, reserved=0)
    train(k, 1)
    small = k.json()
    write("corpus/kineto/small", json.dumps(small).encode())
    write("corpus/kineto/pretty", pretty(small)[: 1 << 14])
    write("corpus/kineto/list", json.dumps([e for e in small["traceEvents"] if "args" in e], sort_keys=True).encode())
    k = Kineto()
    train(k, 6)
    lost = k.json()
    gone = [i for i, e in enumerate(lost["traceEvents"]) if e.get("name") == "[memory]" and e["args"]["Device Type"]]
    for i in (gone[9], gone[23], gone[40]):
        lost["traceEvents"][i] = {}
    write("tools/profiler_gaps.json.gz", gzip.compress(json.dumps(lost).encode(), mtime=0))
    write("corpus/kineto/odd", b"""[{"name":"[memory]","cat":"x","pid":"1","tid":2,"ts":1.5e3,"args":{"Bytes":512,"Addr":"7","Device Type":1}},
{"ph":"X","cat":"Operator","name":"ProfilerStep#1","pid":1,"tid":2,"ts":1,"dur":-1},{"name":"\\ud83d\\ude00\\u00e9\\n","cat":"cpu_op",
"pid":1,"tid":2,"ts":1,"dur":9,"args":{"Input Dims":[[[1,2],[3]],[2 , 3],[],""],"Input type":["TensorList","float","",7]}},
{"name":"[OutOfMemory]","pid":1,"tid":2,"ts":2,"args":{"Bytes":9,"Device Type":0,"Device Id":-1}},7,"x",null,[[]],{"a":NaN}]""")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--xplane":
        cut_xplane(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "--pprof":
        strip_pprof(sys.argv[2])
    elif len(sys.argv) == 1:
        make_rmm()
        write("tools/tensorflow.xplane.pb", make_tensorflow(8))
        write("corpus/xplane/small", make_tensorflow(1))
        make_lossy()
        make_pprof()
        make_odd_pprof()
        make_kineto()
    else:
        sys.exit(__doc__)
