"""Runs under memviz attach and prints its result, which must not change. torch is a stand-in, or missing (mode
bare), or unused, or recording from the beginning. The file ATTACHED_SIGN is created when the recorder starts; the program
repeats its computation until the file ATTACHED_END exists.

    attached.py MODE ROUNDS"""

import gc
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import types

recorder = {"on": False}
EVENT = {"action": "alloc", "addr": 1, "size": 512, "stream": 0, "time_us": 1, "frames": []}


def stand_in(loaded=True):
    def record(enabled="all", **_options):
        recorder["on"] = enabled is not None
        if recorder["on"] and "ATTACHED_SIGN" in os.environ:
            open(os.environ["ATTACHED_SIGN"], "w").close()

    torch = types.ModuleType("torch")
    torch.__version__ = "2.9"
    memory = types.SimpleNamespace(
        _record_memory_history=record,
        _snapshot=lambda: {"segments": [], "device_traces": [[dict(EVENT)]], "allocator_settings": {}})
    torch.cuda = types.SimpleNamespace(memory=memory, is_initialized=lambda: loaded)
    torch._C = types.SimpleNamespace(_cuda_isHistoryEnabled=lambda: recorder["on"])
    sys.modules["torch"] = torch


def busy(rounds, number=1):
    for i in range(rounds * 1000):
        number = (number * 1103515245 + 12345 + i) & 0x7FFFFFFF
    return number


def sleep(rounds):
    for _ in range(rounds):
        time.sleep(0.002)
    return rounds


def objects(rounds):
    total = 0
    for i in range(rounds):
        total += sum(map(len, {str(k): [k] * (k % 7) for k in range(200)}))
        if i % 50 == 0:
            gc.collect()
    return total


def threads(rounds):
    results = [0] * 4

    def work(i):
        results[i] = busy(rounds // 4 + 1, i)

    all_of_them = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()
    return results


def forks(rounds):
    total = 0
    for i in range(rounds // 20 + 1):
        child = os.fork()
        if child == 0:
            os._exit(i % 100)
        total += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return total


def children(rounds):
    return [subprocess.run(["/bin/sh", "-c", f"exit {i % 9}"]).returncode for i in range(rounds // 20 + 1)]


def hashes(rounds):
    data, digest = bytes(1 << 18), hashlib.sha256()
    for _ in range(rounds):
        digest.update(data)
    return digest.hexdigest()


def signals(rounds):
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    number = busy(rounds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return number, bool(seen)


def pipes(rounds):
    ends = os.pipe()
    writer = threading.Thread(target=lambda: [os.write(ends[1], b"x" * 100) and time.sleep(0.001) for _ in range(rounds)])
    writer.start()
    total = 0
    while total < rounds * 100:
        total += len(os.read(ends[0], 4096))
    writer.join()
    return total


def main():
    mode, rounds = sys.argv[1], int(sys.argv[2])
    if mode != "bare":
        stand_in(mode != "unused")
    recorder["on"] = mode == "recording"
    before = set(globals())
    print("ready", flush=True)
    result = globals().get(mode, busy)(rounds)
    while not os.path.exists(os.environ.get("ATTACHED_END", "/")):
        result = globals().get(mode, busy)(rounds)
    print(result, sorted(set(globals()) - before))
    print("recording" if recorder["on"] else "idle", file=sys.stderr)


if __name__ == "__main__":
    main()
