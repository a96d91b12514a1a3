"""A training program for scripts/attack/soak: gpu_soak.py TRUTH SECONDS SEED

Layers of random sizes are created, trained for some steps and dropped, so that the allocator reserves and releases
segments. After each step, TRUTH contains the memory requested from CUDA so far, and TRUTH.pytorch contains the memory
that PyTorch's allocator has allocated. The program adds "end" if it ends normally."""

import os
import random
import struct
import sys
import time

import torch

UNKNOWN = 1 << 62


def write(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.rename(path + ".new", path)


def tell(truth, end):
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    calls = stats["num_device_alloc"], stats["num_device_free"]
    taken = stats["reserved_bytes.all.allocated"]
    write(truth, struct.pack("<6Q", UNKNOWN, calls[0], UNKNOWN, taken, UNKNOWN, calls[1]))
    write(truth + ".pytorch", b"%d %s" % (stats["allocated_bytes.all.allocated"], b"end" if end else b"-"))


def train(draw, until, truth):
    width = draw.choice([64, 256, 1024, 2048])
    layers = [torch.nn.Linear(width, width) for _ in range(draw.randrange(2, 12))]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(draw.randrange(1, 30)):
        if time.monotonic() > until:
            return
        loss = model(torch.randn(draw.randrange(1, 4096), width, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=draw.random() < 0.5)
        tell(truth, False)


def main():
    truth, until, draw = sys.argv[1], time.monotonic() + float(sys.argv[2]), random.Random(int(sys.argv[3]))
    while time.monotonic() < until:
        train(draw, until, truth)
        if draw.random() < 0.3:
            torch.cuda.empty_cache()
    tell(truth, True)


main()
