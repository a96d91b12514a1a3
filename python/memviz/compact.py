"""Writes what `torch.cuda.memory._snapshot()` returns as compact msgpack (docs/internals/msgpack-format.md).

The tables are those that the program makes of the same snapshot's pickle, row by row, so the file is
what `memviz convert SNAPSHOT.pickle OUT.msgpack` would write. A trace can have millions of events:
they are read key by key into columns, and what they refer to is found by the identity of objects,
since PyTorch gives all events of one allocator call the same list of frames."""

import struct
import sys
from array import array
from collections import Counter
from typing import Any, BinaryIO, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
           "segment_unmap", "oom", "snapshot", "annotate", "other")
SEGMENT_TYPES = ("large", "small", "unknown")
STATES = ("inactive", "active_allocated", "active_pending_free", "unknown")
STAGES = ("START", "END", "other", "MARK")
OTHER = ACTIONS.index("other")

# PyTorch's documentation has this name for it, its code another.
STATE_CODES = {**{name: code for code, name in enumerate(STATES)}, "active_awaiting_free": 2}

KEYS_KNOWN, KEY_BLOCK_ADDRESS = 1, 16
ROOT_KEYS = {"allocator_settings": 2, "external_annotations": 4, "host_segments": 8, "host_traces": 8}

# An event's keys that vary little, as a tag has them, and the kind of their values.
TAGS = {"compile_context": "text", "user_metadata": "text", "internal_metadata": "text",
        "category": "text", "action": "text", "forward_frames": "stack", "cpp_frames": "stack",
        "pool_id": "pool"}
TAG_NAMES = {"forward_frames": "forward_stack", "cpp_frames": "cpp_stack", "pool_id": "pool"}
EVENT_KEYS = {"action", "addr", "device_free", "size", "stream", "time_us", "frames", *TAGS}

ACTION_CODES = {name: code for code, name in enumerate(ACTIONS[:OTHER])}
NO_CALL_STACK = {-1: -1, -2: 0}  # stacks of events without a call: none was kept, or an empty one
PART = 8192

Row = Dict[str, Optional[int]]


class Packed(Dict[Optional[int], bytes]):
    """The msgpack of integers, and of None. Each is encoded once, but for large ones: those of a
    column mostly have the same length, and are encoded together."""

    def __init__(self) -> None:
        super().__init__({None: b"\xc0"})

    def __missing__(self, n: int) -> bytes:
        packed = self[n] = pack_int(n)
        return packed

    def numbers(self, values: Sequence[Any]) -> bytes:
        if len(self) > 1 << 16:
            self.clear()
            self[None] = b"\xc0"
        try:
            least, most = min(values), max(values)
        except (TypeError, ValueError):  # a None, or nothing at all
            return b"".join(map(self.__getitem__, values))
        if least >= 1 << 16 and most < 1 << 32:
            return pack_alike(0xCE, "I", values)
        if least >= 1 << 32:
            return pack_alike(0xCF, "Q", values)
        return b"".join(map(self.__getitem__, values))


def pack_alike(first: int, code: str, values: Sequence[int]) -> bytes:
    """Integers that have the same length."""
    raw = array(code, values)
    width = raw.itemsize
    if sys.byteorder == "little":
        raw.byteswap()
    data = raw.tobytes()
    out = bytearray((width + 1) * len(values))
    out[::width + 1] = bytes((first,)) * len(values)
    for at in range(width):
        out[at + 1::width + 1] = data[at::width]
    return bytes(out)


def pack_int(n: int) -> bytes:
    """The shortest form."""
    if n >= 0:
        if n < 1 << 7:
            return struct.pack("B", n)
        if n < 1 << 8:
            return struct.pack(">BB", 0xCC, n)
        if n < 1 << 16:
            return struct.pack(">BH", 0xCD, n)
        if n < 1 << 32:
            return struct.pack(">BI", 0xCE, n)
        return struct.pack(">BQ", 0xCF, n)
    if n >= -32:
        return struct.pack("b", n)
    if n >= -1 << 7:
        return struct.pack(">Bb", 0xD0, n)
    if n >= -1 << 15:
        return struct.pack(">Bh", 0xD1, n)
    if n >= -1 << 31:
        return struct.pack(">Bi", 0xD2, n)
    return struct.pack(">Bq", 0xD3, n)


def pack_text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    n = len(data)
    if n < 32:
        return bytes((0xA0 | n,)) + data
    if n < 1 << 8:
        return struct.pack(">BB", 0xD9, n) + data
    if n < 1 << 16:
        return struct.pack(">BH", 0xDA, n) + data
    return struct.pack(">BI", 0xDB, n) + data


def pack_array(n: int) -> bytes:
    if n < 16:
        return bytes((0x90 | n,))
    return struct.pack(">BH", 0xDC, n) if n < 1 << 16 else struct.pack(">BI", 0xDD, n)


def pack_map(n: int) -> bytes:
    if n < 16:
        return bytes((0x80 | n,))
    return struct.pack(">BH", 0xDE, n) if n < 1 << 16 else struct.pack(">BI", 0xDF, n)


def pack(value: Any) -> bytes:
    """Dicts, lists and scalars, as small as those in a snapshot's settings."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return pack_int(value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        return pack_text(value)
    if isinstance(value, Mapping):
        return pack_map(len(value)) + b"".join(pack(k) + pack(v) for k, v in value.items())
    return pack_array(len(value)) + b"".join(map(pack, value))


class Rows(Dict[Any, int]):
    """Interned values: each has the row at which it came first."""

    def of(self, value: Any) -> int:
        return self.setdefault(value, len(self))


class Tables:
    """What rows refer to, and what was odd. Objects that were met by identity stay alive as long as
    the snapshot does."""

    def __init__(self) -> None:
        self.strings = Rows()
        self.frames = Rows()
        self.stacks = Rows({(): 0})
        self.streams = Rows()
        self.pools = Rows({(0, 0): 0})
        self.tags = Rows({(): 0})
        self.keys = KEYS_KNOWN
        self.notes: Dict[str, Tuple[int, str]] = {}
        self.calls: Dict[int, int] = {id(None): -1}  # of lists of frames, by identity
        self.stack_of_call: List[int] = []
        self.stack_of_frames: Dict[Tuple[int, ...], int] = {}  # by identity of each frame

    def note(self, name: str, first: str, count: int = 1) -> None:
        before, text = self.notes.get(name, (0, first))
        self.notes[name] = (before + count, text)

    def text(self, value: Optional[str]) -> int:
        return -1 if value is None else self.strings.of(value)

    def frame(self, frame: Any) -> int:
        if isinstance(frame, str):  # forward_frames and cpp_frames are lists of texts
            return self.frames.of((self.text(frame), -1, -1))
        seen: Dict[str, int] = {}
        for key, value in frame.items():
            if key == "line":
                seen[key] = -1 if value in (-1, 2**64 - 1) else min(value, 2**63 - 1)
            elif key in FRAME_KEYS:
                seen[key] = self.text(value)
            else:
                self.note("unknown_key", f'"{key}"')
        row = tuple(seen.get(key, -1) for key in FRAME_KEYS)
        return self.frames.of(row if row[3:] != (-1, -1, -1, -1) else row[:3])

    def stack(self, frames: Any) -> int:
        """A list of frames that was met before is the same call."""
        if id(frames) not in self.calls:
            ids = tuple(map(id, frames))
            if ids not in self.stack_of_frames:
                self.stack_of_frames[ids] = self.stacks.of(tuple(map(self.frame, frames)))
            self.calls[id(frames)] = len(self.stack_of_call) if ids else -2
            self.stack_of_call += [self.stack_of_frames[ids]] if ids else []
        call = self.calls[id(frames)]
        return self.stack_of_call[call] if call >= 0 else NO_CALL_STACK[call]

    def pool(self, value: Optional[Sequence[int]]) -> int:
        return -1 if value is None else self.pools.of(tuple(value))

    def stream(self, value: int) -> int:
        return self.streams.of(value & (2**64 - 1))

    def refer(self, kind: str, value: Any) -> int:
        if kind == "text":
            return self.text(value)
        return self.stack(value) if kind == "stack" else self.pool(value)


FRAME_KEYS = ("name", "filename", "line", "fx_node_op", "fx_node_name", "fx_node_target",
              "fx_original_trace")


# ---- events -----------------------------------------------------------------------------------


def values_of(events: Sequence[Any], key: str, absent: Any) -> List[Any]:
    try:
        return [event[key] for event in events]
    except KeyError:
        return [event.get(key, absent) for event in events]


class Events:
    """The events of one device, or of the host, as packed columns. They are taken in parts: an
    event's keys are read while it is in the processor's cache, and whole columns exist only packed."""

    def __init__(self, tables: Tables, events: Sequence[Any]) -> None:
        self.tables = tables
        self.count = len(events)
        self.time = 0  # of the last event that has one
        self.tag_keys: List[str] = []
        self.tag_rows: Dict[Any, int] = {}
        self.packed = Packed()
        self.columns: Dict[str, bytearray] = {name: bytearray() for name in (
            "action", "addr", "size", "stream", "time_delta_us", "stack", "call", "tag")}
        for first in range(0, len(events), PART):
            self.take(events[first:first + PART])

    def take(self, events: Sequence[Any]) -> None:
        shapes = Counter(map(tuple, events))
        keys = {str(key) for shape in shapes for key in shape}
        for key in keys - EVENT_KEYS:
            self.tables.note("unknown_key", f'"{key}"', sum(n for s, n in shapes.items() if key in s))
        actions = self.actions(events)
        tag_keys = [key for key in TAGS if key in keys and (key != "action" or OTHER in actions)]
        if tag_keys != self.tag_keys:
            self.tag_keys, self.tag_rows = tag_keys, {}
        addr = values_of(events, "addr", None)
        if "device_free" in keys:
            addr = [a if a is not None else e.get("device_free") for a, e in zip(addr, events)]
        calls, tags = self.met(events)
        rows = self.tables.stack_of_call
        streams = values_of(events, "stream", 0)
        row_of_stream = {value: self.tables.stream(value) for value in dict.fromkeys(streams)}
        self.put("action", actions)
        self.put("addr", addr)
        self.put("size", values_of(events, "size", 0))
        self.put("stream", [row_of_stream[value] for value in streams])
        self.put("time_delta_us", self.differences(values_of(events, "time_us", None)))
        self.put("stack", [rows[call] if call >= 0 else NO_CALL_STACK[call] for call in calls])
        self.put("call", [call if call >= 0 else -1 for call in calls])
        self.put("tag", tags)

    def put(self, column: str, values: Sequence[Optional[int]]) -> None:
        self.columns[column] += self.packed.numbers(values)

    def actions(self, events: Sequence[Any]) -> List[int]:
        names = values_of(events, "action", "other")
        codes = [ACTION_CODES.get(name, OTHER) for name in names]
        if OTHER in codes:
            for name in (name for name, code in zip(names, codes) if code == OTHER):
                self.tables.note("unknown_action", f'"{name}"')
        return codes

    def tags(self, events: Sequence[Any]) -> List[Any]:
        """What an event's tag is made of, by which it is found again."""
        columns = [values_of(events, key, None) for key in self.tag_keys]
        for at, key in enumerate(self.tag_keys):
            if TAGS[key] == "stack":
                columns[at] = list(map(id, columns[at]))
            elif TAGS[key] == "pool":
                columns[at] = [None if pool is None else tuple(pool) for pool in columns[at]]
            elif key == "action":
                columns[at] = [None if name in ACTION_CODES else name for name in columns[at]]
        return list(zip(*columns)) if columns else [()] * len(events)

    def met(self, events: Sequence[Any]) -> Tuple[List[int], List[int]]:
        """Each event's call, and the row of its tag. What is new is interned event by event, so that
        rows are in the order of the file."""
        tables, rows = self.tables, self.tag_rows
        calls, stacks, stack_of_call = tables.calls, tables.stack_of_frames, tables.stack_of_call
        lists = values_of(events, "frames", None)
        tags = self.tags(events)
        for event, frames, tag in zip(events, lists, tags):
            if tag not in rows:
                rows[tag] = self.meet(event)
            elif id(frames) not in calls:
                row = stacks.get(tuple(map(id, frames)))
                if not row:  # new, or an empty stack, which is no call
                    tables.stack(frames)
                else:
                    calls[id(frames)] = len(stack_of_call)
                    stack_of_call.append(row)
        return [calls[id(frames)] for frames in lists], [rows[tag] for tag in tags]

    def meet(self, event: Mapping[str, Any]) -> int:
        found: Dict[str, int] = {}
        for key, value in event.items():
            if key == "frames":
                self.tables.stack(value)
            elif key in self.tag_keys and (key != "action" or value not in ACTION_CODES):
                found[key] = self.tables.refer(TAGS[key], value)
        return self.tables.tags.of(tuple((TAG_NAMES.get(key, key), found[key]) for key in TAGS
                                         if found.get(key, -1) >= 0))

    def differences(self, times: List[Optional[int]]) -> List[Optional[int]]:
        out: List[Optional[int]] = []
        last = self.time
        for time in times:
            out.append(None if time is None else time - last)
            last = last if time is None else time
        self.time = last
        return out


# ---- the heap, annotations --------------------------------------------------------------------

# A record's keys: the column, and what its values are. Columns in the order of the file.
Fields = Dict[str, Tuple[str, str]]
HISTORY: Fields = {"addr": ("addr", ""), "real_size": ("real_size", ""), "frames": ("stack", "call"),
                   "cpp_frames": ("cpp_stack", "stack")}
BLOCK: Fields = {"address": ("address", ""), "size": ("size", ""),
                 "requested_size": ("requested_size", ""), "state": ("state", "state"),
                 "frames": ("stack", "call"), "forward_frames": ("forward_stack", "stack"),
                 "history": ("first_history", "history")}
SEGMENT: Fields = {"device": ("device", ""), "address": ("address", ""), "total_size": ("total_size", ""),
                   "allocated_size": ("allocated_size", ""), "active_size": ("active_size", ""),
                   "requested_size": ("requested_size", ""), "stream": ("stream", ""),
                   "segment_type": ("segment_type", "type"), "segment_pool_id": ("segment_pool", "pool"),
                   "is_expandable": ("is_expandable", ""), "frames": ("stack", "call"),
                   "forward_frames": ("forward_stack", "stack"), "blocks": ("first_block", "blocks")}
ANNOTATION: Fields = {"name": ("name", "text"), "stage": ("stage", "stage"), "device": ("device", ""),
                      "time_us": ("time_us", "")}

# Each column's value where a record does not have its key.
ABSENT: Dict[str, Row] = {
    "history": {"addr": None, "real_size": 0, "stack": -1, "call": -1, "cpp_stack": -1},
    "blocks": {"address": None, "size": 0, "requested_size": None, "state": 3, "stack": -1, "call": -1,
               "forward_stack": -1, "first_history": 0, "histories": 0},
    "segments": {"device": 0, "address": None, "total_size": 0, "allocated_size": 0, "active_size": 0,
                 "requested_size": None, "stream": 0, "segment_type": 2, "segment_pool": -1,
                 "is_expandable": 0, "stack": -1, "call": -1, "forward_stack": -1, "first_block": 0,
                 "blocks": 0},
    "external_annotations": {"name": -1, "stage": 2, "device": 0, "time_us": None},
}


class Heap:
    """Segments, their blocks and those blocks' history, and annotations: rows of small tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.history: List[Row] = []
        self.blocks: List[Row] = []

    def row(self, record: Mapping[str, Any], fields: Fields, table: str) -> Row:
        row = dict(ABSENT[table])
        for key, value in record.items():
            if key in fields:
                self.put(row, *fields[key], value)
            else:
                self.tables.note("unknown_key", f'"{key}"')
        if "stream" in row:
            row["stream"] = self.tables.stream(row["stream"] or 0)
        return row

    def put(self, row: Row, column: str, kind: str, value: Any) -> None:
        tables = self.tables
        if kind == "call":
            row["stack"] = tables.stack(value)
            row["call"] = max(tables.calls[id(value)], -1)
        elif kind in ("stack", "text", "pool"):
            row[column] = tables.refer(kind, value)
        elif kind == "state":
            row[column] = self.code(STATE_CODES, value, STATES.index("unknown"))
        elif kind == "type":
            row[column] = self.code({"large": 0, "small": 1}, value, 2)
        elif kind == "stage":
            row[column] = STAGES.index(value) if value in STAGES else 2
        elif kind == "history":
            row["first_history"], row["histories"] = len(self.history), len(value)
            self.history += [self.row(old, HISTORY, "history") for old in value]
        elif kind == "blocks":
            row["first_block"], row["blocks"] = len(self.blocks), len(value)
            for block in value:
                tables.keys |= KEY_BLOCK_ADDRESS if "address" in block else 0
                self.blocks.append(self.row(block, BLOCK, "blocks"))
        else:
            row[column] = int(value)

    def code(self, codes: Mapping[str, int], value: str, unknown: int) -> int:
        if value not in codes:
            self.tables.note("unknown_state", f'"{value}"')
        return codes.get(value, unknown)

# ---- the file ---------------------------------------------------------------------------------


class Writer:
    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write
        self.packed = Packed()

    def numbers(self, values: Sequence[Optional[int]]) -> None:
        self.write(pack_array(len(values)) + self.packed.numbers(values))

    def lists(self, name: str, rows: Iterable[Sequence[int]], count: int) -> None:
        self.write(pack_text(name) + pack_array(count))
        for row in rows:
            self.numbers(row)

    def rows_of(self, name: str, rows: Sequence[Row], table: str) -> None:
        self.write(pack_text(name) + pack_map(len(ABSENT[table])))
        for column in ABSENT[table]:
            self.write(pack_text(column))
            self.numbers([row[column] for row in rows])

    def events(self, events: Events) -> None:
        self.write(pack_map(len(events.columns)))
        for column, packed in events.columns.items():
            self.write(pack_text(column) + pack_array(events.count))
            self.write(packed)

    def item(self, name: str, value: Any) -> None:
        self.write(pack_text(name) + pack(value))


def write_tables(w: Writer, tables: Tables) -> None:
    w.item("strings", list(tables.strings))
    w.lists("frames", tables.frames, len(tables.frames))
    w.lists("stacks", tables.stacks, len(tables.stacks))
    w.write(pack_text("streams"))
    w.numbers(list(tables.streams))
    w.lists("pools", tables.pools, len(tables.pools))
    w.item("tags", [dict(tag) for tag in tables.tags])
    w.item("calls", len(tables.stack_of_call))
    w.item("keys", tables.keys)


def write_snapshot(snapshot: Any, file: BinaryIO) -> None:
    """`snapshot`: the dict of `_snapshot()`; a list is one of segments, as PyTorch 1.13 made it."""
    tables = Tables()
    root: Mapping[str, Any] = snapshot if isinstance(snapshot, Mapping) else {"segments": snapshot}
    if root is not snapshot:
        tables.note("list_root", "")
    if "segments" not in root:
        tables.note("no_final_heap", "")
    heap = Heap(tables)
    rows: Dict[str, List[Row]] = {"segments": [], "host_segments": [], "external_annotations": []}
    events: Dict[str, List[Events]] = {"device_traces": [], "host_traces": []}
    for key, value in root.items():
        tables.keys |= ROOT_KEYS.get(key, 0)
        if key in ("segments", "host_segments"):
            rows[key] = [heap.row(record, SEGMENT, "segments") for record in value]
        elif key == "external_annotations":
            rows[key] = [heap.row(record, ANNOTATION, key) for record in value]
        elif key in events:
            events[key] = [Events(tables, trace) for trace in (value if key == "device_traces" else [value])]
        elif key != "allocator_settings":
            tables.note("unknown_key", f'"{key}"')
    w = Writer(file)
    w.write(pack_map(20))
    w.item("format", "memviz-compact")
    w.item("version", 1)
    w.item("names", {"action": ACTIONS, "segment_type": SEGMENT_TYPES, "state": STATES, "stage": STAGES})
    write_tables(w, tables)
    w.rows_of("history", heap.history, "history")
    w.rows_of("blocks", heap.blocks, "blocks")
    w.rows_of("segments", rows["segments"], "segments")
    w.rows_of("host_segments", rows["host_segments"], "segments")
    w.write(pack_text("device_traces") + pack_array(len(events["device_traces"])))
    for trace in events["device_traces"]:
        w.events(trace)
    w.write(pack_text("host_traces"))
    w.events((events["host_traces"] or [Events(tables, [])])[0])
    w.item("allocator_settings", root.get("allocator_settings") or {})
    w.rows_of("external_annotations", rows["external_annotations"], "external_annotations")
    w.item("notes", {name: {"count": count, "first": first}
                     for name, (count, first) in tables.notes.items()})
