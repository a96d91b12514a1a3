"""Marks, ranges and heaps: recorded under `memviz run`, without effect elsewhere."""

import re
import subprocess
import sys

import memviz
import named

PROGRAM = """
import memviz
import os

@memviz.range("decorated")
def decorated():
    return 7

memviz.mark("first \\u00fc")
with memviz.range("outer"):
    memviz.push("inner")
    memviz.pop()
try:
    with memviz.range("failing"):
        raise ValueError
except ValueError:
    pass
assert decorated() == 7
pool = memviz.heap("pool")
assert pool.is_recorded == ("LD_PRELOAD" in os.environ)

def take(address):
    pool.alloc(address, 4096)

def work():
    for i in range(3):
        take(0x7f0012345000 + 4096 * i)

work()
pool.free(0x7f0012345000)
memviz.mark("last")
"""


class Marks(named.InFolder):
    def test_without_the_shim_nothing_happens(self):
        subprocess.run([sys.executable, "-c", PROGRAM], check=True)
        self.assertFalse(memviz.heap("pool").is_recorded)

    def test_under_memviz_run_they_are_recorded_in_order(self):
        path = self.path("x.bin")
        memviz.run("run", "-q", "-o", path, "--", sys.executable, "-c", PROGRAM)
        dump = memviz.run("dump", path).stdout
        peak = memviz.run("peak", "--level", "pool", path).stdout
        held = memviz.report("stats", "--level", "pool", path)["devices"][0]["current"]["allocated"]
        found = re.findall(r'^(mark|start|end) device .* "(.*)"$', dump, re.MULTILINE)
        self.assertEqual(found, [
            ("mark", "first \u00fc"), ("start", "outer"), ("start", "inner"), ("end", "inner"), ("end", "outer"),
            ("start", "failing"), ("end", "failing"), ("start", "decorated"), ("end", "decorated"), ("mark", "last")])

        self.assertEqual(held, 8192)
        # The function that registers blocks belongs to the heap; its caller is charged.
        self.assertRegex(peak, r"12.0 KiB  100 %       3   12.0 KiB  .* <string>:\d+ work")


if __name__ == "__main__":
    named.main()
