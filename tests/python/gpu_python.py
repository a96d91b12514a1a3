"""The Python package on a machine with a GPU and PyTorch 2.1 or later: one line for each check, PASS,
FAIL or SKIP; status 1 when one fails.

    PATH=FOLDER-OF-MEMVIZ:$PATH PYTHONPATH=python python3 tests/python/gpu_python.py

$OUT, if set, is a folder for the snapshots and the page."""

import glob
import importlib.metadata
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import torch

import memviz

FOLDER = tempfile.mkdtemp(prefix="memviz-gpu-")
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def path(name):
    return os.path.join(FOLDER, name)


def record(enabled, **options):
    torch.cuda.memory._record_memory_history(enabled=enabled, **options)


def train(steps, keep=None):
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        with memviz.range(f"step {step}"):
            loss = model(torch.randn(256, 512, device="cuda")).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        if keep is not None:
            keep.append(torch.ones(1 << 19, device="cuda"))


def totals(snapshot):
    device = memviz.report("stats", snapshot)["devices"][0]
    return device["current"], device["peak"], device["audit"]["exact"]


@check
def the_same_snapshot_gives_the_same_dump():
    """One _snapshot(), written by memviz and by pickle: the modelled contents are equal."""
    record("all", stacks="python", max_entries=1_000_000)
    train(20)
    taken = torch.cuda.memory._snapshot()
    record(None)
    real, torch.cuda.memory._snapshot = torch.cuda.memory._snapshot, lambda *_: taken
    try:
        memviz.snapshot(path("ours.msgpack"))
    finally:
        torch.cuda.memory._snapshot = real
    with open(path("theirs.pickle"), "wb") as file:
        pickle.dump(taken, file)
    ours, theirs = (memviz.run("dump", path(name)).stdout for name in ("ours.msgpack", "theirs.pickle"))
    expect(ours == theirs, "dumps differ")
    expect("unknown_key" not in memviz.run("info", path("ours.msgpack"), "--json").stdout, "unknown keys")
    sizes = [os.path.getsize(path(name)) for name in ("ours.msgpack", "theirs.pickle")]
    events = len(taken["device_traces"][0])
    return f"{events} events, {len(ours.splitlines())} equal lines, {sizes[0]} bytes for {sizes[1]}"


@check
def totals_are_those_of_torchs_dump_and_its_counters():
    torch.cuda.empty_cache()
    with memviz.record(path("run.pickle")):
        train(10)
        torch.cuda.synchronize()
        torch.cuda.memory._dump_snapshot(path("dump.pickle"))
        memviz.snapshot(path("mine.pickle"))
        allocated = torch.cuda.memory_allocated()
    mine, theirs = totals(path("mine.pickle")), totals(path("dump.pickle"))
    expect(mine == theirs, f"{mine} is not {theirs}")
    expect(mine[0]["allocated"] == allocated, f"{mine[0]['allocated']} is not {allocated}")
    return f"{allocated} bytes allocated, peak {mine[1]['allocated']}, audit exact {mine[2]}"


@check
def recording_leaves_things_as_they_were():
    is_on = torch._C._cuda_isHistoryEnabled
    expect(not is_on(), "it is on before")
    with memviz.record(path("outer.pickle")):
        with memviz.record(path("inner.pickle"), stacks="all"):
            train(3)
        expect(is_on(), "the inner one stopped the outer one")
        train(3)
    expect(not is_on(), "it is on after")
    record("all", max_entries=1000)
    with memviz.record(path("within.pickle")):
        train(1)
    expect(is_on(), "it stopped a recorder that was not its own")
    record(None)

    @memviz.record(path("decorated.pickle"))
    def decorated():
        train(2)

    decorated()
    outer = memviz.report("info", path("outer.pickle"))
    expect(outer["annotations"] >= 12, f"{outer['annotations']} annotations")
    expect(os.path.exists(path("decorated.pickle")), "the decorator wrote nothing")
    return f"{outer['devices'][0]['events']} events, {outer['annotations']} annotations"


def fill():
    blocks = []
    while True:
        blocks.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))


@check
def out_of_memory_leaves_a_snapshot_of_its_moment():
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.02)
    try:
        with memviz.record(path("oom.pickle")) as recording:
            for _ in range(2):
                try:
                    fill()
                except torch.cuda.OutOfMemoryError:
                    pass
                else:
                    raise AssertionError("it fitted")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    names = [os.path.basename(name) for name in recording.oom_paths]
    expect(names == ["oom-oom1.pickle", "oom-oom2.pickle"], f"{names}")
    first = memviz.report("oom", path("oom-oom1.pickle"))["ooms"]
    expect(len(first) == 1 and first[0]["requested"] == 64 << 20, f"{first}")
    expect("fill" in memviz.run("oom", path("oom-oom1.pickle")).stdout, "the line is not named")
    held = totals(path("oom-oom1.pickle"))[0]["allocated"]
    after = totals(path("oom.pickle"))[0]["allocated"]
    expect(held > 1 << 30 > after, f"{held} held at the failure, {after} after it")
    return f"{held} bytes allocated then, verdict {first[0]['verdict']}"


@check
def a_snapshot_that_cannot_be_written_does_not_hide_the_failure():
    torch.cuda.set_per_process_memory_fraction(0.02)
    try:
        with memviz.record("/proc/no/such/folder/x.pickle"):
            fill()
    except torch.cuda.OutOfMemoryError as error:
        return f"{str(error)[:40]}..."
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    raise AssertionError("no out-of-memory")


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@check
def many_events_are_written_fast():
    torch.cuda.empty_cache()
    record("all", stacks="python", max_entries=2_000_000)
    before = resident()
    for _ in range(250_000):
        torch.empty(1024, device="cuda")
    kept = resident() - before
    taken = torch.cuda.memory._snapshot()
    record(None)
    real, torch.cuda.memory._snapshot = torch.cuda.memory._snapshot, lambda *_: taken
    begun = time.thread_time()
    memviz.snapshot(path("many.pickle"))
    ours = time.thread_time() - begun
    begun = time.thread_time()
    memviz.snapshot(path("many.pickle"))
    theirs = time.thread_time() - begun
    torch.cuda.memory._snapshot = real
    os.unlink(path("many.pickle"))
    count = len(taken["device_traces"][0])
    return (f"{count} events: {ours:.2f} s, pickle.dump {theirs:.2f} s; "
            f"recorded in {kept // count} bytes of host memory each")


@check
def the_page_is_written():
    page = memviz.show(path("run.pickle"))
    html = path("run.pickle.html")
    expect(os.path.exists(html) and page._repr_html_().startswith("<iframe srcdoc="), "no page")
    return f"{os.path.getsize(html)} bytes"


TESTS = """
import pytest, torch

kept = []

def step(size):
    x = torch.ones(size, device="cuda")
    return x * 2

def test_small():
    step(1 << 20)

@pytest.mark.memviz(max_peak="100MB")
def test_large():
    step(64 << 20)

@pytest.mark.memviz(no_leaks=True)
def test_leaking():
    for _ in range(12):
        with torch.profiler.record_function("step"):
            kept.append(step(1 << 18))

def test_fixture(memviz):
    step(1 << 20)
    assert 8 << 20 <= memviz.peak < 400 << 20
"""


@check
def pytest_judges_tests_by_their_memory():
    try:
        import pytest  # noqa: F401
    except ImportError:
        return None
    kept = path("kept")
    with open(path("test_sizes.py"), "w") as file:
        file.write(TESTS)
    is_installed = any(entry.name == "memviz" for entry in importlib.metadata.entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "memviz.pytest_plugin"]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider",
                           "--memviz-max-peak", "1GiB", "--memviz-folder", kept, path("test_sizes.py")], cwd=FOLDER,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    with open(path("pytest.txt"), "w") as file:
        file.write(done.stdout)
    expect("2 failed, 2 passed" in done.stdout, done.stdout[-1500:])
    expect("test_large" in done.stdout and "memviz peak" in done.stdout, "no report of the peak")
    expect("the test leaks" in done.stdout, "no report of the leak")
    return "2 passed; 1 failed by its peak, 1 by its leak"


MARKED = """
import torch, memviz
pool = memviz.heap("pool")
block = torch.ones(1 << 20, device="cuda")
for step in range(3):
    memviz.mark(f"step {step}")
    with memviz.range("forward"):
        block = block * 2
        pool.alloc(block.data_ptr(), 4 << 20)
        pool.free(block.data_ptr())
"""


@check
def marks_and_ranges_are_in_captures():
    with open(path("marked.py"), "w") as file:
        file.write(MARKED)
    memviz.run("run", "-q", "-o", path("marked.bin"), "--", sys.executable, path("marked.py"))
    found = memviz.report("info", path("marked.bin"))
    expect(found["annotations"] == 9, f"{found['annotations']} annotations")
    heap = memviz.run("stats", "--level", "pool", path("marked.bin"), check=False)
    return f"9 annotations; --level pool: status {heap.returncode}"


def main():
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Python {sys.version.split()[0]}, "
          f"memviz {memviz.__version__} at {memviz.program()}", flush=True)
    failed = 0
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        try:
            figures = function()
            print(f"SKIP {name}" if figures is None else f"PASS {name}: {figures}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAIL {name}: {' '.join(str(error).split())[-400:]}", flush=True)
            traceback.print_exc(limit=-2)
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks pass")
    if os.environ.get("OUT"):
        for name in glob.glob(path("oom*.pickle")) + glob.glob(path("*.txt")) + [path("run.pickle")]:
            if os.path.exists(name) and os.path.getsize(name) < 8 << 20:
                shutil.copy(name, os.environ["OUT"])
        with open(os.path.join(os.environ["OUT"], "python.json"), "w") as file:
            json.dump({"torch": torch.__version__, "failed": failed}, file)
    shutil.rmtree(FOLDER, ignore_errors=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
