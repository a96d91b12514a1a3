"""Tests the shim with real PyTorch and CUDA in programs that do unusual things, on a machine with a GPU: gpu_company.py MEMVIZ [FOLDER]

    scripts/release --tree x86_64
    cp /usr/lib/x86_64-linux-gnu/lib{jemalloc.so.2,tcmalloc_minimal.so.4,mimalloc.so.2.0} FOLDER   # where they are installed
    PYTHON=python3 python3 capture/tests/gpu_company.py build/release-out/memviz-*/bin/memviz FOLDER

Each scene runs both without and with `memviz run`. Both runs must have the same output and the same status, and the recordings
must be readable and complete. Prints PASS, FAIL or the missing dependency for each scene. Takes about five minutes.
scripts/attack/company does the same with a stand-in for CUDA, and with many more cases."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GUEST = os.path.join(HERE, "..", "..", "tests", "company")
LIMIT_S = 150
RESULT = re.compile(r"memviz: ([\d,]+) events?, .*, ([\d,]+) lost: (.*)")

# ---- scenes: this file is started again with the name of a scene


def scene_train():
    import torch

    model = torch.nn.Linear(512, 512).cuda()
    for _ in range(20):
        model(torch.ones(64, 512, device="cuda")).sum().backward()
    print("trained", torch.cuda.memory_allocated() > 0)


def scene_threads():
    """Runs 500 threads that allocate."""
    import threading

    import torch

    torch.ones(1).cuda()
    bad = []

    def work():
        try:
            for _ in range(4):
                torch.empty(1000, device="cuda").fill_(1)
        except Exception as error:  # the test is that no error occurs
            bad.append(error)

    threads = [threading.Thread(target=work) for _ in range(500)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("threads", len(threads), "bad", len(bad))


def scene_forks():
    """Forks children while threads make tensors on the CPU and on the GPU."""
    import threading
    import time

    import torch

    torch.set_num_threads(1)
    torch.ones(1).cuda()
    over = threading.Event()

    def work(device):
        x = torch.ones(300, device=device)
        while not over.is_set():
            (x + 1).mul(2).sum()

    threads = [threading.Thread(target=work, args=(d,), daemon=True) for d in ("cpu", "cpu", "cpu", "cuda")]
    for t in threads:
        t.start()
    hung = 0
    for _ in range(200):
        child = os.fork()
        if child == 0:
            torch.empty(10)
            os._exit(0)
        begun = time.time()
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.time() - begun > 15:
                hung += 1
                os.kill(child, 9)
                os.waitpid(child, 0)
                break
            time.sleep(0.002)
    over.set()
    print("forks 200 hung", hung, flush=True)
    os._exit(0)


def scene_loader():
    """Runs workers of a DataLoader, with pinned memory."""
    import torch

    data = torch.utils.data.TensorDataset(torch.arange(4096, dtype=torch.float32).reshape(512, 8))
    loader = torch.utils.data.DataLoader(data, batch_size=16, num_workers=4, pin_memory=True)
    total = 0.0
    for _ in range(3):
        for (batch,) in loader:
            total += batch.cuda(non_blocking=True).sum().item()
    print("total", total)


def scene_filter():
    """Installs a filter after start-up, so that system calls that PyTorch does not need end the program: fallocate,
    process_vm_readv, memfd_create."""
    import ctypes
    import struct

    import torch

    torch.ones(1).cuda()
    rules = [(0x20, 0, 0, 0)]  # load the system call's number
    for number in (285, 310, 319):
        rules += [(0x15, 0, 1, number), (0x06, 0, 0, 0x80000000)]
    rules.append((0x06, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *r) for r in rules))
    program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    print("filter", libc.prctl(22, 2, program, 0, 0))
    kept = []
    for i in range(2000):
        kept.append(torch.empty(1000 + i, device="cuda"))
    print("kept", len(kept))


SCENES = {name[6:]: f for name, f in globals().items() if name.startswith("scene_")}

# ---- running scenes


def run(command, env, folder):
    try:
        done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_S)
        return done.returncode, re.sub(r"calls \d+", "calls", done.stdout), done.stderr
    except subprocess.TimeoutExpired:
        return "hang", "", ""


def judge(memviz, without, under):
    """Returns (figures, faults)."""
    found = RESULT.findall(under[2])
    events, lost = (sum(int(f[i].replace(",", "")) for f in found) for i in (0, 1))
    wrong = []
    if without[0] != under[0]:
        wrong.append(f"status {without[0]} became {under[0]}: {under[2][-200:]}")
    if without[1] != under[1]:
        wrong.append(f"printed {without[1][-80:]!r}, now {under[1][-80:]!r}")
    if without[0] != 0:
        wrong.append(f"fails without the shim, too: {without[2][-200:]}")
    if not events or lost:
        wrong.append(f"{events} events, {lost} lost: {under[2][-200:]}")
    for _, _, path in found:
        if subprocess.run([memviz, "info", "-q", path], capture_output=True).returncode != 0:
            wrong.append(f"unreadable: {path}")
    return f"{len(found)} recordings, {events:,} events, {lost} lost", wrong


def check(memviz, name, command, options=(), more=None):
    env = dict(os.environ, **(more or {}))
    folder = tempfile.mkdtemp()
    try:
        without = run(command, env, folder)
        under = run([memviz, "run", "-o", os.path.join(folder, "r.%p.bin"), *options, "--", *command], env, folder)
        figures, wrong = judge(memviz, without, under)
    finally:
        shutil.rmtree(folder)
    print(("FAIL " if wrong else "PASS ") + name + ": " + ("; ".join(wrong).replace("\n", " ") or "as without; " + figures),
          flush=True)
    return not wrong


def compiled(folder, name, *arguments):
    path = os.path.join(folder, name)
    done = subprocess.run(["cc", "-O1", "-o", path, *arguments], capture_output=True, text=True)
    return path if done.returncode == 0 else None


def libcudart():
    places = ["/usr/local/cuda/lib64/libcudart.so", *glob.glob("/usr/local/cuda*/targets/*/lib/libcudart.so")]
    return next((p for p in places if os.path.exists(p)), None)


def not_here(name, what):
    print(f"not here: {name}: {what}", flush=True)
    return True


def main():
    memviz, libraries = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
    python = [os.environ.get("PYTHON", "python3"), os.path.abspath(__file__), "scene"]
    tools = tempfile.mkdtemp()
    good = []
    for name, options in (("train", ["--stacks", "all"]), ("threads", ["--stacks", "all"]), ("threads", []), ("forks", []),
                          ("forks", ["--cpu"]), ("loader", []), ("loader", ["--cpu"]), ("filter", []),
                          ("filter", ["--stacks", "all"])):
        good.append(check(memviz, " ".join([name, *options]), python + [name], options))
    for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2.0"):
        path = os.path.join(libraries, name)
        good.append(check(memviz, "train, " + name, python + ["train"], [], {"LD_PRELOAD": path})
                    if libraries and os.path.exists(path) else not_here("train, " + name, "the library"))
    audit = compiled(tools, "audit.so", "-shared", "-fPIC", os.path.join(GUEST, "audit.c"))
    good.append(check(memviz, "train, LD_AUDIT", python + ["train"], [], {"LD_AUDIT": audit})
                if audit else not_here("train, LD_AUDIT", "a compiler"))
    runtime = libcudart()
    guest = runtime and compiled(tools, "guest", "-DREAL_CUDA", *glob.glob(os.path.join(GUEST, "guest*.c")), runtime,
                                 "-Wl,-rpath," + os.path.dirname(runtime), "-lpthread")
    for words in ("go 2000", "go 1 signal_stack 131072", "go 3 threads 100", "go 3 kill_on 285 go 2000",
                  "go 3 jumps_out_of_handlers 20", "go 3 close_all go 3"):
        good.append(check(memviz, "CUDA in C: " + words, [guest, *words.split()], ["--stacks", "all"])
                    if guest else not_here("CUDA in C: " + words, "a compiler, or libcudart"))
    shutil.rmtree(tools)
    print(f"{sum(good)} of {len(good)} are well")
    return 0 if all(good) else 1


if __name__ == "__main__":
    if sys.argv[1] == "scene":
        SCENES[sys.argv[2]]()
        sys.exit(0)
    sys.exit(main())
