#!/usr/bin/env python3
"""Tests memviz attach on a real GPU: it must not change the results of a training loop, and must write PyTorch's own
snapshot.

    capture/tests/gpu_attach.py MEMVIZ [TIMES]

Runs the loop once without attaching, and once attaching TIMES times (20). Compares the losses, and prints how much longer
the steps took."""

import json
import os
import subprocess
import sys
import tempfile

LOOP = """
import os, sys, time, torch
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(12)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
data = torch.randn(64, 512, device="cuda")
losses, times, kept = [], [], []
print("ready", flush=True)
while not os.path.exists(sys.argv[1]) or len(losses) < 2000:
    start = time.perf_counter()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if len(losses) < 2000:
        losses.append(loss.item())
    kept = (kept + [torch.empty(1 << 20, device="cuda")])[-50:]
    times.append(time.perf_counter() - start)
print(hash(tuple(losses)), max(times), sorted(times)[len(times) // 2], torch._C._cuda_isHistoryEnabled())
"""


def run(memviz, times, folder):
    end = os.path.join(folder, f"end{times}")
    loop = subprocess.Popen([sys.executable, "-c", LOOP, end], text=True, stdout=subprocess.PIPE,
                            env=dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8", PYTHONHASHSEED="0"))
    loop.stdout.readline()
    failures, events = [], []
    for i in range(times):
        out = os.path.join(folder, f"{i}.pickle")
        done = subprocess.run([memviz, "attach", str(loop.pid), "--for", "200ms", "-o", out, "--json"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            failures.append(done.stderr)
            continue
        events.append(json.loads(done.stdout)["events"])
        report = json.loads(subprocess.check_output([memviz, "lines", "--json", out]))
        if not report["lines"]:
            failures.append("no lines in " + out)
    open(end, "w").close()
    result = loop.communicate()[0].split()
    return result, loop.returncode, failures, events


def main():
    memviz, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as folder:
        (plain, status, _, _), (result, with_status, failures, events) = run(memviz, 0, folder), run(memviz, times, folder)
    print(f"without: losses {plain[0]}, longest step {float(plain[1]) * 1e3:.1f} ms, median {float(plain[2]) * 1e3:.2f} ms")
    print(f"with {times}: losses {result[0]}, longest step {float(result[1]) * 1e3:.1f} ms, median {float(result[2]) * 1e3:.2f} ms, "
          f"events {min(events, default=0)} to {max(events, default=0)}, recorder on at the end: {result[3]}")
    for failure in failures:
        print("FAILED:", failure.strip())
    same = plain[0] == result[0] and status == with_status == 0 and result[3] == "False"
    print("passed" if same and not failures and len(events) == times else "FAILED")
    return not (same and not failures)


if __name__ == "__main__":
    sys.exit(main())
