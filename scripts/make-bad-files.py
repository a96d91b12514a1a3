#!/usr/bin/env python3
"""Writes testdata/bad/: small files that every reader must refuse, each named after its error.

    NAME.CODE.pickle, .msgpack, .bin, .html, .prof, .pb, .csv, each also compressed, with .gz or .zst added

CODE is the expected error code (base/err.h). tests/whole/test_bad.c reads all of them in little
memory and time. Pickles are spelled opcode by opcode (opcodes: Lib/pickletools.py); the other
formats are made from whole files in testdata/corpus/. Run it from anywhere; it replaces the
folder's files and prints nothing.
"""

import base64
import gzip
import os
import pickle
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
BAD = os.path.join(HERE, "..", "testdata", "bad")
CORPUS = os.path.join(HERE, "..", "testdata", "corpus")

made = {}


def bad(name, code, ending, data):
    path = f"{name}.{code}.{ending}"
    assert path not in made, path
    made[path] = data


# ---- pickle ---------------------------------------------------------------------------------

P4 = b"\x80\x04"
STOP = b"."
MARK = b"("


def text(s):
    s = s.encode()
    return b"\x8c" + bytes([len(s)]) + s if len(s) < 256 else b"X" + struct.pack("<I", len(s)) + s


def integer(n):
    return pickle.dumps(n, protocol=2)[2:-1]


def dictionary(**items):
    return b"}(" + b"".join(text(k) + v for k, v in items.items()) + b"u"


def sequence(*items):
    return b"](" + b"".join(items) + b"e"


def frame(name=text("f"), line=integer(3)):
    return dictionary(name=name, filename=text("a.py"), line=line)


def event(**changes):
    items = dict(
        action=text("alloc"),
        addr=integer(0x7F0000000000),
        size=integer(512),
        stream=integer(0),
        time_us=integer(1700000000000000),
        frames=sequence(frame()),
    )
    items.update(changes)
    return dictionary(**items)


def block(**changes):
    items = dict(
        address=integer(0x7F0000000000),
        size=integer(2097152),
        requested_size=integer(512),
        state=text("active_allocated"),
        frames=sequence(frame()),
    )
    items.update(changes)
    return dictionary(**items)


def segment(**changes):
    items = dict(
        device=integer(0),
        address=integer(0x7F0000000000),
        total_size=integer(2097152),
        allocated_size=integer(2097152),
        active_size=integer(2097152),
        requested_size=integer(512),
        stream=integer(0),
        segment_type=text("small"),
        segment_pool_id=integer(0) + integer(0) + b"\x86",
        is_expandable=b"\x89",
        frames=sequence(),
        blocks=sequence(block()),
    )
    items.update(changes)
    return dictionary(**items)


def snapshot(segments=None, traces=None, **more):
    return dictionary(
        segments=sequence(segment()) if segments is None else segments,
        device_traces=sequence(sequence(event())) if traces is None else traces,
        **more,
    )


def program(body):
    return P4 + body + STOP


def pickle_bad(name, code, body):
    bad(name, code, "pickle", program(body))


def segment_bad(name, code, /, **changes):
    pickle_bad(name, code, snapshot(segments=sequence(segment(**changes))))


def block_bad(name, code, /, **changes):
    segment_bad(name, code, blocks=sequence(block(**changes)))


def event_bad(name, code, /, **changes):
    pickle_bad(name, code, snapshot(traces=sequence(sequence(event(**changes)))))


def frame_bad(name, code, /, **changes):
    event_bad(name, code, frames=sequence(frame(**changes)))


def make_not_a_snapshot():
    bad("empty", "FORMAT", "pickle", b"")
    bad("json", "FORMAT", "pickle", b'{"segments": [], "device_traces": []}')
    bad("zip", "FORMAT", "pickle", b"PK\3\4" + bytes(60))
    bad("zeros", "FORMAT", "pickle", bytes(64))
    bad("protocol_0", "FORMAT", "pickle", pickle.dumps({"segments": []}, protocol=0))
    bad("protocol_1", "FORMAT", "pickle", pickle.dumps({"segments": []}, protocol=1))
    bad("protocol_9", "FORMAT", "pickle", b"\x80\x09}.")
    bad("protocol_changes", "FORMAT", "pickle", P4 + b"\x80\x09}.")


def make_cut():
    whole = program(snapshot())
    assert "segments" in pickle.loads(whole)
    bad("cut_after_proto", "TRUNCATED", "pickle", P4)
    bad("cut_in_key", "TRUNCATED", "pickle", whole[: whole.index(b"total_size") + 4])
    bad("cut_in_integer", "TRUNCATED", "pickle", whole[: whole.index(integer(0x7F0000000000)) + 3])
    bad("cut_in_event", "TRUNCATED", "pickle", whole[: whole.index(b"time_us") + 7])
    bad("cut_before_stop", "TRUNCATED", "pickle", whole[:-1])
    bad("cut_in_frame_header", "TRUNCATED", "pickle", P4 + b"\x95\x10\0\0")
    for n, name in ((1, "binint1"), (2, "binint2"), (4, "binint"), (8, "binfloat")):
        op = {1: b"K", 2: b"M", 4: b"J", 8: b"G"}[n]
        bad(f"cut_in_{name}", "TRUNCATED", "pickle", P4 + op + bytes(n - 1))
    bad("string_of_8_exabytes", "TRUNCATED", "pickle", P4 + b"\x8d" + b"\xff" * 7 + b"\x7f" + b"abc")
    bad("string_of_16_exabytes", "TRUNCATED", "pickle", P4 + b"\x8d" + b"\xff" * 8 + b"abc")
    bad("string_of_4_gigabytes", "TRUNCATED", "pickle", P4 + b"X" + b"\xff" * 4 + b"abc")


def make_forbidden():
    command = text("echo this must never run")
    pickle_bad("os_system_global", "FORBIDDEN", b"cos\nsystem\n" + command + b"\x85R")
    pickle_bad("os_system_stack_global", "FORBIDDEN",
               text("os") + text("system") + b"\x93" + command + b"\x85R")
    pickle_bad("os_system_inst", "FORBIDDEN", b"(" + command + b"ios\nsystem\n")
    event_bad("os_system_in_an_event", "FORBIDDEN",
              user_metadata=b"cposix\nsystem\n" + command + b"\x85R")
    pickle_bad("reduce", "FORBIDDEN", text("x") + b")R")
    pickle_bad("build", "FORBIDDEN", b"}}b")
    pickle_bad("newobj", "FORBIDDEN", text("x") + b")\x81")
    pickle_bad("newobj_ex", "FORBIDDEN", text("x") + b")}\x92")
    pickle_bad("obj", "FORBIDDEN", b"(" + text("x") + b"o")
    pickle_bad("persistent_id", "FORBIDDEN", text("x") + b"Q")
    pickle_bad("persistent_id_as_text", "FORBIDDEN", b"Pid\n")
    pickle_bad("extension", "FORBIDDEN", b"\x82\x01")


def make_wrong_opcodes():
    pickle_bad("bytes", "TYPE", b"C\x03abc")
    pickle_bad("bytearray", "TYPE", b"\x96" + struct.pack("<Q", 3) + b"abc")
    pickle_bad("set", "TYPE", b"\x8f(K\1\x90")
    pickle_bad("frozenset", "TYPE", b"(K\1\x91")
    pickle_bad("integer_as_text", "TYPE", b"I42\n")
    pickle_bad("buffer", "TYPE", b"\x97")
    pickle_bad("no_opcode", "CORRUPT", b"\xff")
    pickle_bad("zero_opcode", "CORRUPT", b"\0")


def make_wrong_programs():
    pickle_bad("unset_memo", "CORRUPT", b"}h\x07")
    pickle_bad("unset_memo_far", "CORRUPT", b"}j\xff\xff\xff\xff")
    pickle_bad("unset_memo_between", "CORRUPT", b"}r\x40\0\0\0j\x3f\0\0\0")
    pickle_bad("memo_of_4_billion", "RANGE", b"}r\xff\xff\xff\xff")
    pickle_bad("memoize_nothing", "CORRUPT", b"\x94")
    pickle_bad("put_nothing", "CORRUPT", b"q\0")
    pickle_bad("stop_at_once", "CORRUPT", b"")
    pickle_bad("stop_with_two_values", "CORRUPT", b"}}")
    pickle_bad("stop_with_open_mark", "CORRUPT", b"}(")
    pickle_bad("odd_setitems", "CORRUPT", b"}(" + text("segments") + b"u")
    pickle_bad("setitems_without_mark", "CORRUPT", b"}" + text("segments") + b"]u")
    pickle_bad("setitems_without_dict", "CORRUPT", b"(" + text("segments") + b"]u")
    pickle_bad("setitem_without_value", "CORRUPT", b"}" + text("segments") + b"s")
    pickle_bad("append_without_list", "CORRUPT", b"K\1a")
    pickle_bad("appends_without_mark", "CORRUPT", b"]K\1e")
    pickle_bad("tuple_without_values", "CORRUPT", b"K\1\x86")
    pickle_bad("tuple_without_mark", "CORRUPT", b"K\1t")
    pickle_bad("pop_nothing", "CORRUPT", b"0")
    pickle_bad("pop_of_remembered", "CORRUPT", b"]\x940K\x01h\x00.")
    pickle_bad("popped_to_mark", "CORRUPT", b"(]\x941K\x01h\x00.")  # reading it never ended
    pickle_bad("dup_nothing", "CORRUPT", b"2")
    pickle_bad("items_below_the_mark", "CORRUPT", b"]K\1(a")
    pickle_bad("setitems_on_list", "CORRUPT", b"](" + text("segments") + b"]u")
    pickle_bad("appends_on_dict", "CORRUPT", b"}(K\1e")
    pickle_bad("append_on_integer", "CORRUPT", b"K\1K\2a")
    pickle_bad("integer_of_10_bytes", "RANGE", b"\x8a\x0a" + b"\xff" * 10)
    pickle_bad("integer_of_255_bytes", "RANGE", b"\x8a\xff" + b"\x7f" * 255)
    pickle_bad("integer_of_2_gigabytes", "RANGE", b"\x8b\xff\xff\xff\x7f\x01")
    pickle_bad("integer_of_negative_length", "RANGE", b"\x8b\xff\xff\xff\xff\x01")


def make_wrong_values():
    pickle_bad("root_is_integer", "FORMAT", b"K\1")
    pickle_bad("root_is_string", "FORMAT", text("snapshot"))
    pickle_bad("root_is_none", "FORMAT", b"N")
    pickle_bad("root_without_segments", "FORMAT", dictionary(model=integer(3), epoch=integer(7)))
    pickle_bad("segments_is_integer", "TYPE", snapshot(segments=integer(3)))
    pickle_bad("segments_of_integers", "TYPE", snapshot(segments=sequence(integer(3))))
    pickle_bad("segments_of_events", "TYPE", snapshot(segments=sequence(event())))
    pickle_bad("traces_is_string", "TYPE", snapshot(traces=text("none")))
    pickle_bad("traces_of_events", "TYPE", snapshot(traces=sequence(event())))
    pickle_bad("trace_of_segments", "TYPE", snapshot(traces=sequence(sequence(segment()))))
    event_bad("event_addr_is_string", "TYPE", addr=text("0x7f0000000000"))
    event_bad("event_size_is_float", "TYPE", size=b"G" + struct.pack(">d", 512.0))
    event_bad("event_size_is_negative", "RANGE", size=integer(-512))
    event_bad("event_action_is_integer", "TYPE", action=integer(1))
    event_bad("event_time_is_list", "TYPE", time_us=sequence())
    event_bad("event_stream_is_dict", "TYPE", stream=dictionary())
    event_bad("event_frames_is_string", "TYPE", frames=text("f"))
    event_bad("event_frames_of_integers", "TYPE", frames=sequence(integer(1)))
    frame_bad("frame_line_is_string", "TYPE", line=text("3"))
    frame_bad("frame_name_is_integer", "TYPE", name=integer(3))
    event_bad("event_pool_of_three", "TYPE", pool_id=integer(0) + integer(0) + integer(0) + b"\x87")
    segment_bad("segment_device_is_huge", "RANGE", device=integer(1 << 40))
    segment_bad("segment_device_is_string", "TYPE", device=text("cuda:0"))
    segment_bad("segment_blocks_is_integer", "TYPE", blocks=integer(1))
    segment_bad("segment_blocks_of_frames", "TYPE", blocks=sequence(frame()))
    block_bad("block_size_is_none", "TYPE", size=b"N")
    block_bad("block_state_is_integer", "TYPE", state=integer(1))
    pickle_bad("annotations_is_integer", "TYPE", snapshot(external_annotations=integer(1)))
    pickle_bad("settings_is_list", "TYPE", snapshot(allocator_settings=sequence(integer(1))))
    pickle_bad("key_is_integer", "TYPE", b"}(K\1K\2u")
    pickle_bad("key_is_list", "TYPE", b"}(]K\2u")


def make_graphs():
    pickle_bad("list_in_itself", "CYCLE", b"]q\0(h\0e")
    pickle_bad("dict_in_itself", "CYCLE", b"}q\0(" + text("segments") + b"h\0u")
    pickle_bad("list_in_itself_by_dup", "CYCLE", b"]2a")
    pickle_bad("cycle_of_two", "CYCLE", b"]q\0(]q\1(h\0ee")
    event_bad("frames_in_themselves", "CYCLE", frames=b"]q\0(h\0e")
    deep = 100000
    for name, code, body in (
        ("hundred_thousand_marks", "DEPTH", MARK * deep),
        ("hundred_thousand_lists_in_lists", "DEPTH", b"](" * deep + b"e" * deep),
        ("hundred_thousand_appended_lists", "FORMAT", b"]" * deep + b"a" * (deep - 1)),
        ("hundred_thousand_tuples_in_tuples", "FORMAT", b")" + b"\x85" * deep),
        ("hundred_thousand_dicts_in_dicts", "FORMAT", b"}" + (text("k") + b"}") * deep + b"s" * deep),
    ):
        bad(name, code, "pickle.gz", gzipped(program(body)))
    laughs = b"](" + text("lol") + b"e\x94"
    for i in range(40):
        laughs += b"](" + (b"h" + bytes([i])) * 10 + b"e\x94"
    pickle_bad("billion_laughs", "CORRUPT", laughs)
    laughs = b"}(" + text("more") + b"](](" + text("lol") + b"eq\0"
    for i in range(40):
        laughs += b"](" + (b"h" + bytes([i])) * 10 + b"eq" + bytes([i + 1])
    for key in ("segments", "device_traces", "allocator_settings", "external_annotations"):
        pickle_bad(f"billion_laughs_as_{key}", "TYPE", laughs + b"e" + text(key) + b"h\x28u")
    frames = b"](" + frame() + b"eq\0"
    for i in range(40):
        frames += b"](" + (b"h" + bytes([i])) * 10 + b"eq" + bytes([i + 1])
    event_bad("billion_frames", "TYPE", frames=frames)


# ---- msgpack --------------------------------------------------------------------------------


class Raw(bytes):
    """Bytes that are written unchanged."""


def packed(value):
    """`value` in msgpack (spec.md of msgpack.org), each number and length in its widest form except
    for values of the one-byte forms."""
    if isinstance(value, Raw):
        return bytes(value)
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, int):
        if 0 <= value < 128:
            return bytes([value])
        return b"\xd3" + struct.pack(">q", value) if value < 0 else b"\xcf" + struct.pack(">Q", value)
    if isinstance(value, str):
        value = value.encode()
        if len(value) < 32:
            return bytes([0xA0 | len(value)]) + value
        return b"\xdb" + struct.pack(">I", len(value)) + value
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    pairs = b"".join(packed(k) + packed(v) for k, v in value.items())
    return b"\xdf" + struct.pack(">I", len(value)) + pairs


FRAME = {"name": "f", "filename": "a.py", "line": 3}
EVENT = {"action": "alloc", "addr": 0x7F0000000000, "size": 512, "stream": 0, "frames": [FRAME]}
BLOCK = {"address": 0x7F0000000000, "size": 2097152, "requested_size": 512, "frames": [],
         "state": "active_allocated"}
SEGMENT = {"device": 0, "address": 0x7F0000000000, "total_size": 2097152, "stream": 0,
           "segment_type": "small", "frames": [], "blocks": [BLOCK]}


def plain(event=None, segments=None, traces=None, **more):
    event = {**EVENT, **(event or {})}
    return {"segments": [SEGMENT] if segments is None else segments,
            "device_traces": [[event]] if traces is None else traces, **more}


def msgpack_bad(name, code, value):
    bad(name, code, "msgpack", packed(value))


def make_plain_msgpack():
    whole = packed(plain())
    bad("cut_in_key", "TRUNCATED", "msgpack", whole[: whole.index(b"total_size") + 4])
    bad("cut_in_integer", "TRUNCATED", "msgpack", whole[: whole.index(packed(0x7F0000000000)) + 3])
    bad("cut_in_array_header", "TRUNCATED", "msgpack", whole[: whole.index(b"\xdd") + 2])
    bad("cut_before_the_last_byte", "TRUNCATED", "msgpack", whole[:-1])
    for name, value in (
        ("array_of_4_billion", b"\xdd\xff\xff\xff\xff"),
        ("map_of_4_billion", b"\xdf\xff\xff\xff\xff"),
        ("string_of_4_gigabytes", b"\xdb\xff\xff\xff\xff"),
        ("binary_of_4_gigabytes", b"\xc6\xff\xff\xff\xff"),
    ):
        msgpack_bad(name, "TRUNCATED", {"segments": Raw(value), "device_traces": []})
    msgpack_bad("byte_that_is_never_used", "CORRUPT", {"segments": Raw(b"\xc1"), "device_traces": []})
    msgpack_bad("extension_of_4_gigabytes", "TYPE", {"segments": Raw(b"\xc9\xff\xff\xff\xff\1")})
    msgpack_bad("extension", "TYPE", {"segments": [], "device_traces": Raw(b"\xd4\1\0")})
    deep = Raw(b"\x91" * 100000 + b"\xc0")
    msgpack_bad("hundred_thousand_arrays", "DEPTH", {"segments": deep, "device_traces": []})
    deep = Raw(b"\x81\xa1k" * 100000 + b"\xc0")
    bad("hundred_thousand_maps", "DEPTH", "msgpack.gz", gzipped(packed({"segments": deep})))
    msgpack_bad("root_is_string", "FORMAT", "snapshot")
    msgpack_bad("root_without_segments", "FORMAT", {"model": 3, "epoch": 7})
    msgpack_bad("segments_is_integer", "TYPE", plain(segments=3))
    msgpack_bad("segments_of_events", "TYPE", plain(segments=[EVENT]))
    msgpack_bad("traces_is_string", "TYPE", plain(traces="none"))
    msgpack_bad("trace_of_integers", "TYPE", plain(traces=[[1, 2, 3]]))
    msgpack_bad("event_addr_is_string", "TYPE", plain({"addr": "0x7f0000000000"}))
    msgpack_bad("event_size_is_float", "TYPE", plain({"size": 512.0}))
    msgpack_bad("event_size_is_negative", "RANGE", plain({"size": -512}))
    msgpack_bad("event_action_is_nil", "TYPE", plain({"action": None}))
    msgpack_bad("event_frames_of_integers", "TYPE", plain({"frames": [1]}))
    msgpack_bad("segment_device_is_huge", "RANGE", plain(segments=[{**SEGMENT, "device": 1 << 40}]))
    msgpack_bad("annotations_is_integer", "TYPE", plain(external_annotations=1))
    msgpack_bad("key_is_integer", "TYPE", {"segments": [], 1: 2})


def corpus(*path):
    with open(os.path.join(CORPUS, *path), "rb") as file:
        return file.read()


def replaced(data, old, new):
    assert data.count(old) >= 1, old
    return data.replace(old, new, 1)


def make_compact_msgpack():
    whole = corpus("msgpack", "small_compact")
    for n, section in enumerate((b"names", b"strings", b"frames", b"stacks", b"blocks", b"tags")):
        bad(f"compact_cut_before_{section.decode()}", "TRUNCATED", "msgpack",
            whole[: whole.index(bytes([0xA0 | len(section)]) + section)])
    bad("compact_cut_in_half", "TRUNCATED", "msgpack", whole[: len(whole) // 2])
    bad("compact_of_another_format", "FORMAT", "msgpack",
        replaced(whole, b"memviz-compact", b"memviz-whatnot"))
    bad("compact_of_a_newer_version", "VERSION", "msgpack",
        replaced(whole, b"\xa7version\x01", b"\xa7version\x7f"))
    bad("compact_without_rows_before", "RANGE", "msgpack",
        replaced(whole, b"\xa7strings", b"\xa7strinks"))


# ---- memviz's container ---------------------------------------------------------------------


def make_containers():
    whole = corpus("snapshot", "small")
    chunk = whole.index(b"\xc1MVc")
    second = whole.index(b"\xc1MVc", chunk + 1)
    bad("cut_in_magic", "FORMAT", "bin", whole[:5])
    bad("cut_in_header", "TRUNCATED", "bin", whole[:12])
    bad("cut_after_header", "CORRUPT", "bin", whole[:chunk])
    bad("cut_in_first_chunk_header", "CORRUPT", "bin", whole[: chunk + 30])
    bad("cut_in_first_chunk", "CORRUPT", "bin", whole[: second - 4])
    bad("text_mode_transfer", "FORMAT", "bin", whole.replace(b"\r\n", b"\n", 1))
    bad("magic_alone", "TRUNCATED", "bin", whole[:8])
    bad("all_chunks_flipped", "CORRUPT", "bin", whole.replace(b"\xc1MVc", b"\xc1MVx"))


# ---- compressed -----------------------------------------------------------------------------


def gzipped(data):
    return gzip.compress(data, 9, mtime=0)


def zstandard(data):
    return subprocess.run(["zstd", "-q", "-c", "--check", "-19"], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :]


def make_compressed():
    whole = program(snapshot(traces=sequence(sequence(*[event(size=integer(i)) for i in range(200)]))))
    for ending, packed in (("pickle.gz", gzipped(whole)), ("pickle.zst", zstandard(whole))):
        bad("cut_in_header", "DECOMPRESS", ending, packed[:5])
        bad("cut_in_half", "DECOMPRESS", ending, packed[: len(packed) // 2])
        bad("cut_before_checksum", "DECOMPRESS", ending, packed[:-4])
        bad("flipped_in_data", "DECOMPRESS", ending, flipped(packed, len(packed) // 2))
        bad("flipped_in_checksum", "DECOMPRESS", ending, flipped(packed, -2 + len(packed)))
    bad("of_nothing", "FORMAT", "pickle.gz", gzipped(b""))
    bad("of_nothing", "FORMAT", "pickle.zst", zstandard(b""))
    bad("of_text", "FORMAT", "pickle.zst", zstandard(b"hello\n"))
    bad("of_cut_pickle", "TRUNCATED", "pickle.gz", gzipped(whole[:-1]))
    bad("of_os_system", "FORBIDDEN", "pickle.gz", gzipped(program(b"cos\nsystem\n" + text("id") + b"\x85R")))
    bomb = program(b"X" + struct.pack("<I", 1 << 28) + b" " * (1 << 28))
    bad("bomb_of_256_megabytes", "NOMEM", "pickle.zst", zstandard(bomb))


# ---- pages ----------------------------------------------------------------------------------


def page(letters, key=b'"base64"'):
    return (
        b'\n<!DOCTYPE html>\n<html>\n<script type="module">\n'
        b'const local_files = [{"name": "snapshot.pickle", ' + key + b": " + letters + b"}]\n</script>"
    )


def letters(data):
    return b'"' + base64.b64encode(data) + b'"'


def make_pages():
    whole = program(snapshot(traces=sequence(sequence(event()))))
    inside = letters(whole)
    bad("cut_in_base64", "TRUNCATED", "html", page(inside)[: 120 + len(inside) // 2])
    bad("cut_before_quote", "TRUNCATED", "html", page(inside)[: page(inside).rindex(b'"')])
    bad("letter_that_is_none", "CORRUPT", "html", page(flipped(inside, 9)[:9] + b"#" + inside[10:]))
    bad("letter_after_padding", "CORRUPT", "html", page(b'"gASV' + b"AA==" + inside[5:]))
    bad("base64_of_three_letters", "CORRUPT", "html", page(b'"gASVAAA"'))
    bad("base64_of_nothing", "FORMAT", "html", page(b'""'))
    bad("base64_of_text", "FORMAT", "html", page(letters(b"hello, world\n" * 9)))
    bad("base64_of_cut_pickle", "TRUNCATED", "html", page(letters(whole[:-1])))
    bad("base64_of_os_system", "FORBIDDEN", "html", page(letters(program(b"cos\nsystem\n"))))
    bad("base64_is_a_number", "FORMAT", "html", page(b"7"))
    bad("page_without_snapshot", "FORMAT", "html", page(inside, b'"base65"'))
    bad("page_of_2_0", "FORMAT", "html", page(b'[]}; {"actions": [1]', b'"suffix_table"'))
    bad("page_of_memviz", "FORMAT", "html", b'<!DOCTYPE html>\n<meta name="generator" content="memviz 0.1.0">\n')
    bad("doctype_alone", "FORMAT", "html", b"<!DOCTYPE html>")


# ---- files of other tools ----------------------------------------------------------------------


def proto(number, value):
    """A field of a protocol buffer: a number, or bytes."""

    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(unit=b"bytes", locations=b"\x01", values=b"\x01\x08", function=1, text=5, more=b""):
    """One buffer of 8 bytes, by one function."""
    texts = [b"", b"allocations", b"count", b"space", unit, b"main"]
    return (
        proto(1, proto(1, 1) + proto(2, 2))
        + proto(1, proto(1, 3) + proto(2, 4))
        + proto(2, proto(1, locations) + proto(2, values))
        + proto(4, proto(1, 1) + proto(4, proto(1, function) + proto(2, 7)))
        + proto(5, proto(1, 1) + proto(2, text) + proto(4, 5))
        + b"".join(proto(6, t) for t in texts)
        + more
    )


def make_pprof():
    whole = pprof()
    bad("cut_in_the_last_text", "TRUNCATED", "prof", whole[:-2])
    bad("cut_before_the_last_text", "CORRUPT", "prof", whole[:-6])
    bad("group", "TRUNCATED", "prof", whole + b"\x0b\x0c")
    bad("field_of_2_exabytes", "TRUNCATED", "prof", whole + b"\x32\xff\xff\xff\xff\xff\xff\xff\xff\x1f")
    bad("location_that_is_not_there", "CORRUPT", "prof", pprof(locations=b"\x02"))
    bad("function_that_is_not_there", "CORRUPT", "prof", pprof(function=2))
    bad("text_that_is_not_there", "CORRUPT", "prof", pprof(text=6))
    bad("one_value_of_two", "CORRUPT", "prof", pprof(values=b"\x01"))
    bad("bytes_below_zero", "RANGE", "prof", pprof(values=b"\x01" + b"\xff" * 9 + b"\x01"))
    huge = b"\x01" + b"\xff" * 8 + b"\x7f"
    bad("sum_of_2_to_the_64", "RANGE", "prof", pprof(values=huge, more=proto(2, proto(2, huge))))
    bad("time_of_a_processor", "FORMAT", "prof", pprof(unit=b"nanoseconds"))
    bad("cut_in_half", "DECOMPRESS", "prof.gz", gzipped(whole * 20)[:60])


def xspace(name=b"/host:CPU", line=b"", names=b"", after=b""):
    return proto(1, proto(2, name) + proto(3, line) + names) + after


def make_xplane():
    event = proto(4, proto(1, 1) + proto(2, 1000))
    names = proto(4, proto(1, 1) + proto(2, proto(1, 1) + proto(2, b"MemoryAllocation")))
    whole = xspace(line=event, names=names)
    bad("cut_in_a_plane", "TRUNCATED", "pb", whole[:-3])
    bad("events_without_allocator", "ABSENT", "pb", whole)
    bad("no_events_of_memory", "ABSENT", "pb", xspace(line=event, names=names.replace(b"Memory", b"nothin")))
    bad("line_beyond_its_plane", "CORRUPT", "pb", whole.replace(b"\x1a\x07", b"\x1a\x70"))
    bad("event_beyond_its_line", "CORRUPT", "pb", whole.replace(b"\x22\x05", b"\x22\x50"))
    bad("name_beyond_its_plane", "CORRUPT", "pb", xspace(names=b"\x22\x7f"))
    bad("number_of_11_bytes", "CORRUPT", "pb", xspace(line=proto(4, b"\x08" + b"\xff" * 10 + b"\x01"), names=names))


def make_rmm():
    header = b"Thread,Time,Action,Pointer,Size,Stream\n"
    lines = {
        "size_is_text": b"1,10:00:00.5,allocate,0x100,many,0x0\n",
        "size_of_2_to_the_64": b"1,10:00:00.5,allocate,0x100,18446744073709551616,0x0\n",
        "pointer_is_text": b"1,10:00:00.5,allocate,here,256,0x0\n",
        "hour_25": b"1,25:00:00.5,allocate,0x100,256,0x0\n",
        "time_without_fraction": b"1,10:00:00,allocate,0x100,256,0x0\n",
        "action_that_is_none": b"1,10:00:00.5,grow,0x100,256,0x0\n",
        "five_columns": b"1,10:00:00.5,allocate,0x100,256\n",
        "seven_columns": b"1,10:00:00.5,allocate,0x100,256,0x0,0\n",
        "column_of_100_letters": b"1,10:00:00.5,allocate,0x" + b"0" * 100 + b",256,0x0\n",
        "line_of_zeros": b"\0" * 100 + b"\n",
    }
    for name, line in lines.items():
        bad(name, "CORRUPT", "csv", header + line)
    bad("header_alone", "TRUNCATED", "csv", header)
    bad("cut_in_the_first_line", "TRUNCATED", "csv", header + b"1,10:00:00.5,allo")
    bad("cut_in_the_header", "FORMAT", "csv", header[:20])
    bad("other_columns", "FORMAT", "csv", b"Thread,Time,Action,Size\n")


def kineto_memory(pid=1, addr=b'"Addr":1024,'):
    return b'{"name":"[memory]","pid":%d,"tid":1,"ts":1,"args":{"Bytes":512,%s"Device Type":1,"Device Id":0}}' % (pid, addr)


def make_kineto():
    whole = b'{"traceEvents":[' + kineto_memory() + b"]}"
    bad("events_without_an_end", "TRUNCATED", "json", whole[:-2])
    bad("cut_in_a_key", "TRUNCATED", "json", whole[:40])
    bad("no_colon", "CORRUPT", "json", whole.replace(b'"tid":', b'"tid" '))
    bad("no_value", "CORRUPT", "json", whole.replace(b'"tid":1', b'"tid":'))
    bad("text_that_is_not_quoted", "CORRUPT", "json", whole.replace(b'"tid"', b"tid"))
    bad("zeros_between_values", "CORRUPT", "json", whole.replace(b",", b"\0,"))
    bad("no_list_of_events", "FORMAT", "json", b'{"schemaVersion": 1, "metadata": [1, 2]}')
    bad("two_processes", "FORMAT", "json", b"[" + kineto_memory() + b"," + kineto_memory(2, b'"Addr":4096,') + b"]")
    bad("no_memory", "ABSENT", "json", b'{"traceEvents":[{"name":"aten::mm","cat":"cpu_op"}]}')
    bad("memory_without_address", "ABSENT", "json", b'{"traceEvents":[' + kineto_memory(addr=b"") + b"]}")
    bad("trace_cut_in_half", "DECOMPRESS", "json.gz", gzipped(whole * 20)[:60])


# ---------------------------------------------------------------------------------------------


def main():
    make_not_a_snapshot()
    make_cut()
    make_forbidden()
    make_wrong_opcodes()
    make_wrong_programs()
    make_wrong_values()
    make_graphs()
    make_plain_msgpack()
    make_compact_msgpack()
    make_containers()
    make_compressed()
    make_pages()
    make_pprof()
    make_xplane()
    make_rmm()
    make_kineto()
    os.makedirs(BAD, exist_ok=True)
    for old in os.listdir(BAD):
        os.remove(os.path.join(BAD, old))
    for path, data in made.items():
        with open(os.path.join(BAD, path), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
