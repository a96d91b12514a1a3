"""Tests the shim with PyTorch on the CPU: cpu_events.py MEMVIZ.

Compares the capture with the profiler's report about the same process, allocation by
allocation. Also checks that each worker of a DataLoader has a separate recording. Exits with 77 if
PyTorch is not installed (Debian: python3-torch)."""

import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

ONSET = 493_827  # a size that nothing else requests; it marks the start of the profiler
WORKERS = 2


def scene(folder):
    import torch
    from torch.autograd.profiler import profile
    from torch.utils.data import DataLoader, TensorDataset

    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters())
    onset = torch.empty(ONSET, dtype=torch.uint8)
    with profile(profile_memory=True) as profiler:
        for _ in range(5):
            loss = model(torch.randn(32, 64)).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    events = [e for e in profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda e: e.start_ns() if hasattr(e, "start_ns") else e.start_us())
    with open(os.path.join(folder, "profiler.json"), "w") as file:
        json.dump([e.nbytes() for e in events], file)
    data = TensorDataset(torch.randn(64, 8))
    for (batch,) in DataLoader(data, batch_size=8, num_workers=WORKERS):
        batch.sum()
    del onset


def memviz_json(memviz, *arguments):
    return json.loads(subprocess.run([memviz, *arguments], stdout=subprocess.PIPE, check=True).stdout)


def check(memviz, folder):
    capture = os.path.join(folder, "main.bin")
    done = subprocess.run(
        [memviz, "run", "--cpu", "-o", capture, "--", sys.executable, __file__, "scene", folder],
        stderr=subprocess.PIPE, text=True, timeout=300,
    )
    if done.returncode:
        return f"status {done.returncode}: {done.stderr[-1000:]}"
    captures = glob.glob(os.path.join(folder, "*.bin"))
    if len(captures) != 1 + WORKERS or glob.glob(os.path.join(folder, "*.live")):
        return f"recordings: {os.listdir(folder)}: {done.stderr}"
    if done.stderr.count(" 0 lost: ") != len(captures):
        return f"events were lost: {done.stderr}"
    with open(os.path.join(folder, "profiler.json")) as file:
        want = json.load(file)
    trace = memviz_json(memviz, "trace", "--json", "--limit", "0", capture)
    sizes = [
        (event["size"] if event["action"] == "alloc" else -event["size"], event["stack"])
        for event in trace["events"]
        if event["action"] in ("alloc", "free_requested")
    ]
    starts = [i for i, (size, _) in enumerate(sizes) if size == ONSET]
    if len(starts) != 1:
        return f"{len(starts)} allocations of {ONSET} bytes among {len(sizes)}"
    have = [size for size, _ in sizes[starts[0] + 1 :]][: len(want)]
    if have != want:
        first = next(i for i, (a, b) in enumerate(zip(have + [None], want + [0])) if a != b)
        return f"event {first} after the onset: {have[first:first + 3]}, not {want[first:first + 3]}"
    stack = trace["stacks"][sizes[starts[0]][1]]
    if [frame["function"] for frame in stack] != ["scene", "main", "<module>"]:
        return f"stack of the onset: {stack}"
    print(f"PASS: {len(want)} events as torch's profiler reports them; {WORKERS} workers recorded")
    return None


def main():
    if sys.argv[1] == "scene":
        scene(sys.argv[2])
        return 0
    if importlib.util.find_spec("torch") is None:
        print("capture_cpu_events: skipped: PyTorch is not installed (python3-torch)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        why = check(sys.argv[1], folder)
    if why:
        print("capture_cpu_events: FAILED:", why)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
