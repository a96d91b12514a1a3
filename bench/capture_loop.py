"""One measured process of bench/capture: capture_loop.py RECORDER RESULT LOOP=STEPS...

RECORDER is none, or the stacks of PyTorch's own recorder (python, all); LOOP is gpt, gpt48 or tiny. Writes, for
each loop, the step times after the warm-up in milliseconds, each with the time of a reference workload
around it, and the bytes added to the live file, if the shim is loaded.

The reference is the same kind of work without allocations: in-place operators. Consecutive processes on a
virtual machine differ in speed by half, and both workloads by the same factor."""

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
KINDS = {256: "facts", 257: "events", 258: "names"}


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


# A GPT step with 8 sequences waits for the processor, a step with 48 for the GPU.
LOOPS = {"gpt": gpt_loop, "gpt48": lambda: gpt_loop(48), "tiny": tiny_loop}


def live_bytes():
    """Committed bytes in this process's live file, by chunk kind."""
    sums = dict.fromkeys(KINDS.values(), 0)
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
                    (committed,) = struct.unpack_from("<Q", head, 64)
                    if kind in KINDS:
                        sums[KINDS[kind]] += committed
                at = (at + 64 + max(stored, 1) + CHUNK - 1) // CHUNK * CHUNK
    return sums


def yardstick(x):
    """Milliseconds that in-place operators take now."""
    started = time.perf_counter()
    for _ in range(200):
        x.mul_(0.5)
        x.add_(1.0)
    torch.cuda.synchronize()
    return (time.perf_counter() - started) * 1000


def measure(step, steps):
    times, speeds = [], []
    x = torch.ones(64, device="cuda")
    warm = max(5, steps // 5)
    before = yardstick(x)
    for i in range(warm + steps):
        torch.cuda.synchronize()
        started = time.perf_counter()
        step()
        torch.cuda.synchronize()
        took = (time.perf_counter() - started) * 1000
        after = yardstick(x)
        if i >= warm:
            times.append(took)
            speeds.append((before + after) / 2)
        before = after
    return times, speeds, warm + steps


def events_so_far():
    stats = torch.cuda.memory_stats()
    return stats["allocation.all.allocated"] + stats["allocation.all.freed"]


def main():
    recorder, result, *loops = sys.argv[1:]
    torch.manual_seed(0)
    torch.cuda.init()
    if recorder != "none":
        torch.cuda.memory._record_memory_history(
            enabled="all", context="all", stacks=recorder, max_entries=1_000_000
        )
    found = {}
    for loop in loops:
        name, steps = loop.split("=")
        step = LOOPS[name]()
        events, live = events_so_far(), live_bytes()
        times, speeds, done = measure(step, int(steps))
        events, after = events_so_far() - events, live_bytes()
        found[name] = {
            "times": times,
            "speeds": speeds,
            "events_a_step": events / done,
            "events": events,
            "live": {kind: after[kind] - live[kind] for kind in live},
        }
    with open(result, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
