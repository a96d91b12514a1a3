#!/usr/bin/python3
"""Writes the seeds of fuzz_viewer (testdata/corpus/viewer): small files, each with scripts that go
through the viewer's tabs, modes, lists and fields. fuzz_viewer.c defines the bytes.

    tests/fuzz/make_viewer_seeds.py"""

import os
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
OUT = os.path.join(ROOT, "testdata", "corpus", "viewer")


def read(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        return file.read()


SOURCE = read("tests/fuzz/fuzz_viewer.c").decode()
STEPS = re.search(r"steps\[\]\)\(world \*\) = \{(.*?)\};", SOURCE, re.S).group(1).split(",")
STEPS = [word.strip()[3:] for word in STEPS]
WORDS = re.search(r"words\[\] = \{(.*?)\};", SOURCE, re.S).group(1)
WORDS = [eval('b"' + word + '"') for word in re.findall(r'"((?:[^"\\]|\\.)*)"', WORDS)]
COMMANDS = re.findall(r"^MV_VIEW_COMMAND(?:_AS)?\((\w+),",
                      read("view/state/commands.def").decode(), re.M)
NAMED = ["Escape", "Enter", "Tab", "Backspace", "Delete", "Left", "Right", "Up", "Down", "Home",
         "End", "PageUp", "PageDown", "F1", "F6", "V"]


def step(name, *arguments):
    return bytes([STEPS.index(name), *arguments])


def key(name, mods=0):
    return step("key", 128 + NAMED.index(name) if name in NAMED else ord(name), mods)


def do(name, arg=0):
    return step("command", 1 + COMMANDS.index(name), arg)


def text(words):
    return step("text", len(words), *words)


def setup(flags=0, memory=0, fails_at=0, size=0):
    return struct.pack("<BBHBB", flags, memory, fails_at, size, 0)


REST = step("rest")
TABS = [do("show_" + tab) for tab in ("flame", "tables", "details", "reports", "ledger")]
MAINS = [do("show_" + main) for main in ("timeline", "segments", "state", "ranks", "pools")]


def search(words):
    return key("/") + text(words) + key("Enter")


def places():
    """Every view with every tab; the pointer moves and drags in each."""
    for main in MAINS:
        yield main + b"".join(
            tab + step("move", 0, 120, 100) + step("drag", 0, 60, 60, 150, 90) +
            step("wheel", 160, 100, 80, 0) + step("drag", 1, 120, 200, 100, 180) for tab in TABS) + REST
        yield main + pointers()


def pointers():
    """In the picture, on the minimap, on the legend and below: movements, clicks, drags, the wheel."""
    out = b""
    for y in (60, 90, 120, 152, 190, 220):
        out += step("move", 0, 80, y) + step("press", 0, 90, y) + step("release", 0, 90, y)
        out += step("drag", 0, 60, y, 150, y + 10) + step("wheel", 150, 90, y, 1)
        out += step("press", 4, 100, y) + step("release", 4, 100, y)
    return out + step("drag", 1, 120, 90, 80, 110) + step("drag", 2, 60, 90, 90, 90) + REST


def lists():
    for name in COMMANDS:
        if name.endswith("_menu") or name in ("bookmarks", "choose_device", "palette", "help", "open_file"):
            yield do(name) + key("Down") + key("PageDown") + step("wheel", 120, 100, 100, 0) + key("Enter")


SCRIPTS = {
    "every_command": b"".join(do(name, 1) for name in COMMANDS if name != "quit"),
    "lists": b"".join(lists()),
    "search": b"".join(search(words) + do("isolate") for words in WORDS[:14]) + do("next_hit") + REST,
    "colours": b"".join(do("colour", i) + do("pin", i) for i in range(7)) +
               b"".join(do("clock", i) for i in range(4)) + REST,
    "flames": b"".join(do("flame_source", i) + do("flame_invert") + do("flame_focus", 1) + REST
                       for i in range(6)),
    "tables": do("show_tables") + b"".join(
        do("table_kind", i) + do("table_sort", i % 4) + step("zone", 40 + i, 0) for i in range(8)) +
        do("select_range", 255) + bytes([5, 0, 0, 0]) + REST,
    "keyboard": b"".join(key("Tab") + key("Down") + key("Right") + key("Enter") for _ in range(12)),
    "details": do("show_details") + b"".join(do("pin", i) + do("next_user") + step("zone", 60 + i, 0)
                                             for i in range(8)) + do("to_free") + do("copy_stack") +
               do("copy_command") + REST,
    "sizes": b"".join(step("size", i) + step("scale", i & 1, i) for i in range(12)),
    "exports": b"".join(step("export", i) for i in range(5)) + do("show_tables") +
               b"".join(step("export", i) for i in range(5)) + do("show_state") + step("export", 1),
    "lower": b"".join(tab + step("move", 0, y % 200, y) + step("press", 0, 80, y) + step("release", 0, 80, y) +
                      step("wheel", 150, 80, y, 0) + step("press", 4, 40, y) + step("release", 4, 40, y) +
                      key(arrow) + key("Enter")
                      for tab, y in zip(TABS[:4] * 2, (175, 185, 195, 205, 190, 200, 210, 220))
                      for arrow in ("Down",)) + TABS[0] + key("Tab") + key("Up") + key("Right") +
             key("Enter") + key("Backspace") + key("Left") + REST,
    "device": do("show_device") + do("show_device") + pointers() + do("next_level") + REST +
              do("show_ledger") + do("level", 2) + do("show_requested") + REST + do("level", 3) + REST,
    "ranks": step("open", 1, 255) + step("open", 0, 0) + do("show_ranks") + pointers() +
             do("next_lane_order") + do("next_lane_order") + do("own_scales") + key("Enter") + REST,
    "compared": step("open", 1, 255) + do("compare") + key("Enter") + REST + do("next_align") + REST +
                do("next_align") + do("next_align") + do("flame_source", 5) + pointers(),
    "files": step("open", 0, 0) + do("show_ranks") + step("open", 1, 200) + step("open", 7, 0) +
             do("next_device") + do("compare") + do("next_align") + do("next_align") +
             do("flame_source", 5) + step("open", 6, 0) + do("next_lane_order") + do("own_scales") +
             do("show_rank", 1) + do("previous_device") + REST,
    "fields": do("go_to") + text(b"3") + key("Enter") + do("bookmark_add") + text(b"one") +
              key("Enter") + do("bookmark_go", 0) + do("bookmarks") + key("Delete") +
              do("export_view") + key("Home") + key("Delete", 1) + text(b"e.svg") + key("Enter") +
              do("save_session") + key("Enter") + do("palette") + text(b"theme") + key("Enter") +
              do("open_file") + text(b"e") + key("Tab") + key("Down") + key("Enter") +
              step("paste", 5, *b"abcde") + key("Escape") + do("back") + do("forward") + REST,
    "short": step("squeeze", 0) + b"".join(TABS) + b"".join(MAINS) + do("next_level") +
             step("squeeze", 1) + b"".join(TABS) + REST,
}
FILES = {
    "pickle": ("testdata/snapshots/leak_cycle.pickle", 0),
    "releases": ("testdata/releases/ring_of_one.pickle", 2),
    "devices": ("testdata/releases/torch_1_13.pickle", 0),
    "oom": ("testdata/snapshots/oom_outside.pickle", 1),
    "capture": ("testdata/captures/cupy_oom.bin", 0),
    "heap": ("testdata/captures/heap_pool.bin", 2),
    "empty": ("testdata/snapshots/no_history.pickle", 1),
    "samples": ("testdata/captures/sleep.bin", 0),
}
# The scripts for each file, in addition to those in `places`; the first file gets all of them.
SOME = {"releases": ("lists", "tables", "short"), "devices": ("files", "every_command", "ranks"),
        "oom": ("every_command", "details"), "capture": ("compared", "device", "every_command", "tables", "exports", "short"),
        "heap": ("every_command", "files"), "samples": ("device", "lower"), "empty": ("every_command", "exports")}
TEXT = b"""open b
key W 3
text size>1
click 100 100
drag 10 10 90 90
pan 10 10 50 50
wheel 100 100 3
do show_tables
do table_kind 2
double "Tables"
wait idle
move 5 5
dump
expect text a
"""


def write(name, file, script):
    with open(os.path.join(OUT, name), "wb") as out:
        out.write(read(file) + script + struct.pack("<H", len(script)))


def main():
    os.makedirs(OUT, exist_ok=True)
    for name, (file, flags) in FILES.items():
        for script, steps in SCRIPTS.items():
            if script in SOME.get(name, SCRIPTS):
                size = 9 if script == "device" else 0  # its lane needs room
                write(f"{name}_{script}", file, setup(flags, size=size) + steps)
        if name in ("pickle", "capture"):
            for at, steps in enumerate(places()):
                write(f"{name}_place{at}", file, setup(flags) + steps)
    write("heap_words", "testdata/captures/heap_pool.bin", setup(32) + TEXT)
    for name, rest in (("outline", b"\1\0\x01\x14\0\x64\0\0\x64\0\x0c\x0d" * 2),
                       ("outline_empty", b"\1\0\x01\x14\0\x64\0\0\0\0\x0c\x0d" * 2)):
        write(name, "testdata/snapshots/oom_outside.pickle", setup(66) + rest + MAINS[1] + REST)
    write("pickle_failing", "testdata/snapshots/oom_outside.pickle",
          setup(8, 0, 400) + SCRIPTS["details"])
    write("pickle_small_memory", "testdata/snapshots/oom_outside.pickle",
          setup(16, 90) + SCRIPTS["tables"])


if __name__ == "__main__":
    main()
