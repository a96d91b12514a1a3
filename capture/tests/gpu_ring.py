"""Tests bounded recordings of a leaking PyTorch loop on a real GPU, for a given time.

    python3 capture/tests/gpu_ring.py MEMVIZ [--minutes 25] [--seed 1] [--keep FOLDER]

The loop leaks 1 MiB every second. A round records the loop with a bound and triggers, and ends it at a random time in
one of the ways in ENDINGS. The loop counts its leaked blocks before and after each leak. Each round compares these counts
with the number of blocks from the leaking line, both at the end and in the files that triggers wrote. Disk space, checked
every 50 ms, must not exceed the bound, no file may remain in /dev/shm, and reports must be able to read every file. Prints
a line for each round. The exit status is 1 if a round failed."""

import argparse
import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

LOOP = """
import os, sys, time, torch

truth, end, kept = sys.argv[1], time.time() + float(sys.argv[2]), []
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(24)]).cuda()
optimizer = torch.optim.Adam(model.parameters())


def leak():
    kept.append(torch.empty(1 << 20, dtype=torch.uint8, device="cuda"))


def note(kind):
    with open(truth + ".new", "w") as file:
        file.write("%d %d %d" % (begun, len(kept), steps))
    os.rename(truth + ".new", truth)


begun, steps, next_leak = 0, 0, time.time() + 1
note("start")
while time.time() < end:
    model(torch.randn(64, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    steps += 1
    if time.time() > next_leak:
        next_leak += 1
        begun += 1
        note("begun")
        leak()
        note("done")
try:
    torch.empty(1 << 44, dtype=torch.uint8, device="cuda")
except RuntimeError:
    note("refused")
os._exit(0)  # an orderly end would free what leaks
"""
ENDINGS = "end", "end", "kill program", "kill both", "kill launcher", "terminate"
MIB = 1 << 20


def disk(folder):
    """Returns the number of bytes of the live files, and of the copies that triggers made."""
    total = 0
    for name in glob.glob(folder + "/ring.bin*.live*"):
        try:
            total += os.stat(name).st_blocks * 512
        except FileNotFoundError:
            pass
    return total


def report(memviz, command, path, *options):
    done = subprocess.run([memviz, command, path, "--json", *options], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 3, 4) or not done.stdout.startswith("{"):
        return f"{command}: {done.returncode} {done.stderr.strip()[:200]}", None
    return None, json.loads(done.stdout)


def leaked(peak):
    """Returns the number of blocks that leak() allocated."""
    sites = [site for device in peak["devices"] for site in device["sites"]]
    return sum(site["blocks"] for site in sites if any(frame["function"].split(".")[-1] == "leak" for frame in site["frames"]))


def program_of(launcher):
    out = subprocess.run(["pgrep", "-P", str(launcher), "-f", "loop.py"], capture_output=True, text=True).stdout.split()
    return int(out[0]) if out else None


def kill(pid, number):
    try:
        if pid:
            os.kill(pid, number)
    except ProcessLookupError:
        pass


def run_round(memviz, draw, folder):
    bound = draw.choice([16, 32, 64])
    seconds, ending = draw.uniform(12, 45), draw.choice(ENDINGS)
    options = ["--max-size", f"{bound}M", "--on", draw.choice(["oom,exit", "oom,high,SIGUSR2,exit", "SIGUSR2"]), "--cooldown", "5s"]
    options += draw.choice([[], ["--max-age", "10s"], ["--keep", "2"], ["--stacks", "all"]])
    with open(folder + "/loop.py", "w") as file:
        file.write(LOOP)
    command = [memviz, "run", *options, "-o", folder + "/ring.bin", "--", sys.executable, folder + "/loop.py", folder + "/truth", str(seconds)]
    launcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=open(folder + "/log", "w"))
    moment, most, signalled = draw.uniform(2, seconds), 0, "SIGUSR2" not in options[3]
    while launcher.poll() is None and not os.path.exists(folder + "/truth"):
        time.sleep(0.05)
    started = time.time()
    while launcher.poll() is None:
        passed = time.time() - started
        most = max(most, disk(folder))
        if not signalled and passed > 1:
            kill(launcher.pid, signal.SIGUSR2)
            signalled = True
        if ending != "end" and passed > moment:
            program = program_of(launcher.pid)
            if ending in ("kill launcher", "kill both"):
                kill(launcher.pid, signal.SIGKILL)
            if ending in ("kill program", "kill both"):
                kill(program, signal.SIGKILL)
            if ending == "terminate":
                kill(launcher.pid, signal.SIGTERM)
            launcher.wait()
            if ending == "kill launcher":
                time.sleep(2)
                kill(program, signal.SIGKILL)
            break
        time.sleep(0.05)
    time.sleep(0.5)
    return bound, ending, most, options


def check_round(memviz, folder, bound, ending, most):
    wrong = []
    if not os.path.exists(folder + "/truth"):
        with open(folder + "/log") as log:
            return ["did not start: " + log.read()[-300:]], ""
    begun, done, steps = map(int, open(folder + "/truth").read().split())
    if most > bound * MIB:
        wrong.append(f"{most} bytes of disk under {bound} MiB")
    files = sorted(f for f in glob.glob(folder + "/ring*") if not f.endswith(".new"))
    last = [f for f in files if f.endswith(".live") or os.path.basename(f) == "ring.bin"]
    if not last:
        wrong.append("no recording is left")
    for path in files:
        error, peak = report(memviz, "peak", path, "--at", "end")
        for command in ("info", "leaks", "stats", "fragmentation"):
            failed, _ = report(memviz, command, path)
            if failed:
                wrong.append(f"{os.path.basename(path)}: {failed}")
        if error:
            wrong.append(f"{os.path.basename(path)}: {error}")
            continue
        count = leaked(peak)
        is_last = path in last and ending != "kill launcher"
        if count > begun or (is_last and count < done):
            wrong.append(f"{os.path.basename(path)}: {count} leaked blocks, the loop said {done} to {begun}")
    return wrong, f"{steps} steps, {done} leaked, {len(files)} files, at most {most / MIB:.1f} MiB"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("memviz")
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for what a wrong round left")
    args = parser.parse_args()
    draw, end, rounds, bad = random.Random(args.seed), time.time() + 60 * args.minutes, 0, 0
    shared = set(os.listdir("/dev/shm"))
    while time.time() < end:
        with tempfile.TemporaryDirectory() as folder:
            bound, ending, most, options = run_round(args.memviz, draw, folder)
            wrong, text = check_round(args.memviz, folder, bound, ending, most)
            rounds += 1
            bad += bool(wrong)
            print(ending, " ".join(options), text, *wrong, sep="; ", flush=True)
            if wrong and args.keep:
                subprocess.run(["cp", "-r", folder, os.path.join(args.keep, f"round{rounds}")], check=False)
    left = [name for name in os.listdir("/dev/shm") if name not in shared and "memviz" in name]
    print(f"{rounds} rounds, {bad} wrong, {len(left)} files in /dev/shm")
    sys.exit(bad > 0 or bool(left))


main()
