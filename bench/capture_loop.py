"""One measured process of bench/capture: capture_loop.py STACKS LOOP...

Runs under the shim and bench/capture_gate.c. STACKS is the setting for PyTorch's own recorder (python, all), and LOOP is gpt,
gpt48 or tiny. For each line `LOOP STEPS WAY` it runs STEPS steps and prints a line of JSON: milliseconds per step, allocator
events, and the growth of the live file in bytes. WAY: nothing, memviz, timed (memviz, with the time of each report), pytorch."""

import ctypes
import glob
import json
import os
import struct
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../capture/tests"))
from gpu_scenes import GPT, F  # noqa: E402

CHUNK = 64 << 10
EVENTS = 257  # a chunk's kind
SAMPLES = 1 << 16
REPORT = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
SHIM = "/libmemviz_capture.so"


def gpt_loop(batch=8):
    model = GPT(layers=12, width=768, heads=12, words=16000, length=512).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, 16000, (batch, 512), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def tiny_loop():
    """The highest allocation rate that eager PyTorch reaches."""
    x = torch.ones(64, device="cuda")

    def step():
        y = x
        for _ in range(500):
            y = y * 0.5
            y = y + 1.0

    return step


# A GPT step with 8 sequences is limited by the CPU, and a step with 48 sequences by the GPU.
LOOPS = {"gpt": gpt_loop, "gpt48": lambda: gpt_loop(48), "tiny": tiny_loop}


def live_bytes():
    """Returns the number of committed bytes of events in this process's live file."""
    total = 0
    for path in glob.glob(os.environ.get("MEMVIZ_OUT", "/nowhere") + f".{os.getpid()}.live"):
        with open(path, "rb") as file:
            at = 24
            while True:
                file.seek(at)
                head = file.read(72)
                if len(head) < 72:
                    break
                stored = 0
                if head[:4] == b"\xc1MVc":
                    (kind,) = struct.unpack_from("<H", head, 4)
                    (stored,) = struct.unpack_from("<Q", head, 40)
                    if kind == EVENTS:
                        total += struct.unpack_from("<Q", head, 64)[0]
                at = (at + 64 + max(stored, 1) + CHUNK - 1) // CHUNK * CHUNK
    return total


def report_of(library):
    """Returns the address of c10::reportMemoryUsageToProfiler in a loaded library."""
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if library in line)
    return ctypes.cast(getattr(ctypes.CDLL(path), REPORT), ctypes.c_void_p)


class Gate:
    """The library bench/capture_gate.c, and PyTorch's recorder."""

    def __init__(self, stacks):
        self.stacks, us = stacks, ctypes.CDLL(None)
        self.mode = ctypes.c_int.in_dll(us, "gate_mode")
        self.counts = (ctypes.c_uint64 * 2).in_dll(us, "gate_counts")
        self.samples = (ctypes.c_uint32 * SAMPLES * 2).in_dll(us, "gate_samples")
        us.gate_cycles.restype = ctypes.c_uint64
        began, cycles = time.perf_counter(), us.gate_cycles()
        time.sleep(0.2)
        self.per_ns = (us.gate_cycles() - cycles) / (time.perf_counter() - began) / 1e9
        (ctypes.c_void_p * 2).in_dll(us, "gate_functions")[:] = [report_of(SHIM).value, report_of("/libc10.so").value]

    def turn(self, way):
        self.mode.value = {"memviz": 1, "timed": 2}.get(way, 0)
        self.counts[:] = [0, 0]
        if way == "pytorch":
            torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks=self.stacks, max_entries=1_000_000)

    def read(self):
        """Returns the median time in nanoseconds for reporting an allocation, and for reporting a free."""
        torch.cuda.memory._record_memory_history(enabled=None)
        took = [sorted(row[: min(n, SAMPLES)]) for row, n in zip(self.samples, self.counts)]
        return [row[len(row) // 2] / self.per_ns if row else 0 for row in took]


def events_so_far():
    stats = torch.cuda.memory_stats()
    return stats["allocation.all.allocated"] + stats["allocation.all.freed"]


def run_block(step, steps, gate, way):
    gate.turn(way)
    events, live = events_so_far(), live_bytes()
    step()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    took = (time.perf_counter() - started) * 1000
    return {
        "ms": took / steps,
        "steps": steps + 1,
        "events": events_so_far() - events,
        "live": live_bytes() - live,
        "gate": gate.read(),
    }


def main():
    torch.manual_seed(0)
    torch.cuda.init()
    gate, steps = Gate(sys.argv[1]), {}
    gate.turn("nothing")
    for line in sys.stdin:
        loop, count, way = line.split()
        if loop not in steps:
            steps[loop] = LOOPS[loop]()
        print(json.dumps(run_block(steps[loop], int(count), gate, way)), flush=True)


main()
