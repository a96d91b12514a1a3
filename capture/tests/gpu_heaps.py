"""Tests blocks of other allocators on a GPU: gpu_heaps.py [MEMVIZ [NAME...]].

Runs the recipes of docs/heaps.md (docs/examples) under `memviz run` and compares the captures with
the counters of the libraries. Prints one line for each check, "ok NAME: numbers" or "FAIL NAME: what
differs"; a recipe whose library is missing prints "-- NAME: why". Exits with 1 if a check failed.
MEMVIZ is the path of the program (default: memviz), and MEMVIZ_SHIM that of the shim. Each NAME selects
a recipe: cupy, numba, rmm, cost, pool (built with nvcc), or host_pool (the same code built with c++,
using host memory)."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
STEPS = 12
KEPT = 6 << 20


class Different(Exception):
    pass


def environment():
    """Returns an environment in which programs find the recipes and the package."""
    path = [EXAMPLES, os.path.join(ROOT, "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def expect(condition, text):
    if not condition:
        raise Different(text)


# ---- scenes: programs that run under the shim ------------------------------------------------


def end(**facts):
    """Ends the process without freeing anything."""
    print(json.dumps(facts), flush=True)
    os._exit(0)


def scene_cupy():
    """Uses CuPy's pool, and counts the calls of its hook."""
    import cupy as cp
    from heap_cupy import Memviz

    class Count(cp.cuda.MemoryHook):
        name = "count"
        allocs = frees = held = peak = 0

        def malloc_postprocess(self, device_id, size, mem_size, mem_ptr, pmem_id):
            self.allocs += 1
            self.held += mem_size
            self.peak = max(self.peak, self.held)

        def free_preprocess(self, device_id, mem_size, mem_ptr, pmem_id):
            self.frees += 1
            self.held -= mem_size

    def keep_array():
        kept.append(cp.zeros(KEPT // 4 + 3, dtype=cp.float32))

    kept = []
    count = Count()
    with Memviz(), count:
        for _ in range(STEPS):
            x = cp.random.random((512, 513), dtype=cp.float32)
            y = (x @ x.T).sum(axis=1)
            keep_array()
            del x, y
        cp.cuda.Device().synchronize()
        pool = cp.get_default_memory_pool()
        end(used=pool.used_bytes(), total=pool.total_bytes(), allocs=count.allocs,
            frees=count.frees, peak=count.peak)


def scene_cost():
    """Measures the time of a small allocation with the hook, in a loop."""
    import cupy as cp
    from heap_cupy import Memviz

    with Memviz():
        for rounds in (1000, 20000):
            begun = time.perf_counter()
            for _ in range(rounds):
                cp.cuda.alloc(512)
            took = time.perf_counter() - begun
        end(us=1e6 * took / rounds)


def scene_numba():
    """Uses a memory manager that is a Numba plug-in and reports its blocks."""
    from numba import cuda
    from heap_numba import Memviz

    def keep_array():
        kept.append(cuda.device_array(KEPT, dtype="uint8"))

    cuda.set_memory_manager(Memviz)
    kept = []
    for _ in range(STEPS):
        a = cuda.device_array(1 << 20, dtype="uint8")
        b = cuda.device_array_like(a)
        keep_array()
        del a, b
    cuda.synchronize()
    end(used=sum(k.nbytes for k in kept), allocs=3 * STEPS, peak=None)


def scene_rmm():
    """Uses RMM's pool under a resource with callbacks, with RMM's statistics below it."""
    import rmm
    from heap_rmm import registered

    def keep_array():
        kept.append(rmm.DeviceBuffer(size=KEPT))

    pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 28)
    counted = rmm.mr.StatisticsResourceAdaptor(pool)
    rmm.mr.set_current_device_resource(registered(counted))
    kept = []
    for _ in range(STEPS):
        a, b = rmm.DeviceBuffer(size=1 << 20), rmm.DeviceBuffer(size=3 << 20)
        keep_array()
        del a, b
    counts = counted.allocation_counts
    end(used=counts.current_bytes, allocs=counts.total_count, peak=counts.peak_bytes)


# ---- checks ----------------------------------------------------------------------------------


class Machine:
    def __init__(self, memviz, work):
        self.memviz = memviz
        self.work = work
        self.failed = 0

    def check(self, name, test, *arguments):
        try:
            print(f"ok {name}: {test(*arguments)}", flush=True)
        except Different as different:
            self.failed += 1
            print(f"FAIL {name}: {different}", flush=True)

    def say_missing(self, name, why):
        print(f"-- {name}: {why}", flush=True)

    def capture(self, name, command):
        """Runs a command under the shim. Returns the path of its capture, and its last output."""
        path = os.path.join(self.work, name + ".bin")
        done = subprocess.run([self.memviz, "run", "-q", "-o", path, "--", *command],
                              capture_output=True, text=True, timeout=300,
                              env=environment())
        expect(done.returncode == 0, f"status {done.returncode}: {done.stderr.strip()[-300:]}")
        return path, done.stdout.strip().splitlines()[-1]

    def scene(self, name):
        path, line = self.capture(name, [sys.executable, os.path.abspath(__file__), "scene", name])
        return path, json.loads(line)

    def report(self, command, path, level):
        done = subprocess.run([self.memviz, command, "-q", "--json", "--level", level, path],
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"memviz {command}: {done.stderr.strip()[:300]}")
        return json.loads(done.stdout)

    def stats(self, path, level):
        """Returns the output of `memviz stats` for the only device in use."""
        devices = self.report("stats", path, level)["devices"]
        return max(devices, key=lambda device: device["peak"]["allocated"])

    def heaps(self, path):
        done = subprocess.run([self.memviz, "info", "--json", path], capture_output=True, text=True)
        expect(done.returncode == 0, f"memviz info: {done.stderr.strip()[:300]}")
        return {heap["name"]: heap for heap in json.loads(done.stdout)["capture"]["heaps"]}


def totals(machine, path, heap, facts):
    """Checks that the heap's bytes at the end and at the peak equal the library's counts."""
    now = machine.stats(path, heap)
    held, peak = now["current"]["allocated"], now["peak"]["allocated"]
    expect(held == facts["used"], f"{held} bytes held, the library counts {facts['used']}")
    if facts.get("peak") is not None:
        expect(peak == facts["peak"], f"a peak of {peak}, the library counts {facts['peak']}")
    told = machine.heaps(path)[heap]
    expect(told["allocs"] == facts["allocs"],
           f"{told['allocs']} allocations, the library counts {facts['allocs']}")
    expect(not told["doubts"], told["doubts"])
    return f"{held} bytes held, {peak} at the peak, {told['allocs']} allocations, as it counts itself"


def leak(machine, path, heap, line):
    """Checks that the line that keeps blocks is the first leak."""
    found = machine.report("leaks", path, heap)["leaks"]
    expect(found, "no leak")
    expect(line in found[0]["culprit"], f"{found[0]['culprit']} instead of {line}")
    # Steps are identified by times in microseconds, and several steps with a pool may have the same time.
    expect(STEPS - 1 <= found[0]["blocks"] <= STEPS,
           f"{found[0]['blocks']} blocks instead of {STEPS}")
    return f"{found[0]['culprit']}, {found[0]['bytes']} bytes in {found[0]['blocks']} blocks"


def lies_in_cuda(machine, path, heap):
    """Checks that the heap's blocks are in memory from CUDA calls, and that `all` does not count them
    twice."""
    block = machine.stats(path, heap)["current"]["allocated"]
    cuda = machine.stats(path, "cuda")["current"]["allocated"]
    whole = machine.stats(path, "all")["current"]["allocated"]
    expect(block <= cuda, f"{block} bytes in blocks, {cuda} from CUDA")
    expect(whole == cuda, f"{whole} bytes in all, {cuda} from CUDA")
    return f"{block} bytes in blocks, {cuda} from CUDA, {whole} in all"


def is_there(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True,
                          check=False).returncode == 0


def scene_checks(machine, name, module):
    if not is_there(module):
        machine.say_missing(name, "not installed")
        return
    path, facts = machine.scene(name)
    machine.check(f"{name}: totals", totals, machine, path, name, facts)
    machine.check(f"{name}: leak", leak, machine, path, name, "keep_array")
    machine.check(f"{name}: lies in cuda", lies_in_cuda, machine, path, name)


def cost_checks(machine):
    """Compares how long an allocation and its free take with the hook, with and without the shim."""
    script = [sys.executable, os.path.abspath(__file__), "scene", "cost"]

    def measure():
        bare = subprocess.run(script, capture_output=True, text=True, check=False,
                              env=environment())
        expect(bare.returncode == 0, bare.stderr.strip()[-300:])
        _, under = machine.scene("cost")
        return (f"{json.loads(bare.stdout.splitlines()[-1])['us']:.2f} us a block without "
                f"memviz run, {under['us']:.2f} us with it")

    if is_there("cupy"):
        machine.check("cost of cupy", measure)


def pool_checks(machine, name, compiler):
    """Checks the C++ example."""
    program = os.path.join(machine.work, name)
    if not shutil.which(compiler[0]):
        machine.say_missing(name, f"no {compiler[0]}")
        return
    built = subprocess.run([*compiler, "-g", "-I", os.path.join(ROOT, "capture"), "-o", program,
                            os.path.join(EXAMPLES, "heap_pool.cpp")],
                           capture_output=True, text=True)
    expect(built.returncode == 0, built.stderr.strip()[:300])
    path, _ = machine.capture(name, [program])
    machine.check(f"{name}: totals", totals, machine, path, "pool",
                  {"used": STEPS << 20, "allocs": 3 * STEPS, "peak": (STEPS + 2) << 20})
    machine.check(f"{name}: leak", leak, machine, path, "pool", "keep_block")
    if compiler[0] == "nvcc":
        machine.check(f"{name}: lies in cuda", lies_in_cuda, machine, path, "pool")


CHECKS = {
    "cupy": lambda machine: scene_checks(machine, "cupy", "cupy"),
    "numba": lambda machine: scene_checks(machine, "numba", "numba.cuda"),
    "rmm": lambda machine: scene_checks(machine, "rmm", "rmm"),
    "cost": cost_checks,
    "pool": lambda machine: pool_checks(machine, "pool", ["nvcc", "-x", "cu"]),
    "host_pool": lambda machine: pool_checks(machine, "host_pool", ["c++"]),
}


def main():
    memviz = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else shutil.which("memviz")
    if not memviz:
        print("FAIL heaps: no memviz")
        return 1
    with tempfile.TemporaryDirectory() as work:
        machine = Machine(memviz, work)
        for name in sys.argv[2:] or CHECKS:
            try:
                CHECKS[name](machine)
            except Different as different:
                machine.failed += 1
                print(f"FAIL {name}: {different}", flush=True)
        for name in os.listdir(work) if os.environ.get("OUT") else []:
            if name.endswith(".bin"):
                shutil.copy(os.path.join(work, name),
                            os.path.join(os.environ["OUT"], f"heap_{name}"))
    return 1 if machine.failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["scene"]:
        globals()["scene_" + sys.argv[2]]()
    sys.exit(main())
