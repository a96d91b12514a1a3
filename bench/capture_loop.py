"""One measured process of bench/capture: capture_loop.py LOOP RECORDER STEPS RESULT.

LOOP is gpt or tiny; RECORDER is none, or the stacks of PyTorch's own recorder (python, all). Writes
the times of the steps behind the warm-up, in milliseconds, and what the live file holds, if the shim
is there."""

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


def gpt_loop():
    model = GPT(layers=12, width=768, heads=12, words=16000, length=512).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, 16000, (8, 512), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def tiny_loop():
    """As many allocations in as little time as eager PyTorch can."""
    x = torch.ones(64, device="cuda")

    def step():
        y = x
        for _ in range(500):
            y = y * 0.5
            y = y + 1.0

    return step


def live_bytes():
    """Committed bytes of this process's live file, by kind of chunk."""
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


def main():
    loop, recorder, steps, result = sys.argv[1:]
    torch.manual_seed(0)
    torch.cuda.init()
    if recorder != "none":
        torch.cuda.memory._record_memory_history(
            enabled="all", context="all", stacks=recorder, max_entries=1_000_000
        )
    step = {"gpt": gpt_loop, "tiny": tiny_loop}[loop]()
    warm = max(5, int(steps) // 5)
    times = []
    for i in range(warm + int(steps)):
        torch.cuda.synchronize()
        started = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if i >= warm:
            times.append((time.perf_counter() - started) * 1000)
    stats = torch.cuda.memory_stats()
    events = stats["allocation.all.allocated"] + stats["allocation.all.freed"]
    with open(result, "w") as file:
        json.dump(
            {
                "times": times,
                "events_a_step": events / (warm + int(steps)),
                "live": live_bytes(),
            },
            file,
        )


if __name__ == "__main__":
    main()
