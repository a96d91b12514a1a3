"""Runs programs that use memory outside of PyTorch: gpu_levels.py SCENE FOLDER.

gpu.sh runs each scene under the shim. Scenes named *_leak keep memory in every step, in a function whose
name begins with keep_; all other scenes keep none. A scene writes facts about its memory to
FOLDER/facts.json."""

import ctypes
import json
import os
import sys
import time

STEPS = 12
KEPT = 6 << 20


def facts(folder, **known):
    with open(os.path.join(folder, "facts.json"), "w") as file:
        json.dump({"pid": os.getpid(), **known}, file)


def rest():
    """Waits long enough for a sample of the device's memory."""
    time.sleep(0.3)


# ---- CuPy


def cupy_step(cp, kept):
    x = cp.ones((1024, 1024), dtype=cp.float32)
    y = x @ x
    if kept is not None:
        keep_array(cp, kept)
    return float(y[0, 0])


def keep_array(cp, kept):
    kept.append(cp.zeros(KEPT // 4, dtype=cp.float32))


def scene_cupy_leak(folder):
    import cupy as cp

    kept = []
    for _ in range(STEPS):
        cupy_step(cp, kept)
    cp.cuda.Device().synchronize()
    rest()
    facts(folder, pool=cp.get_default_memory_pool().total_bytes(), kept=STEPS * KEPT)


def scene_cupy(folder):
    import cupy as cp

    for _ in range(40):
        cupy_step(cp, None)
    cp.cuda.Device().synchronize()
    rest()
    facts(folder, pool=cp.get_default_memory_pool().total_bytes())


# ---- JAX


def scene_jax(folder):
    """JAX's pool takes three quarters of the device at once, which is not a leak. Also writes JAX's
    profiles: profile/ (xplane.pb) and memory.prof (pprof, gzipped)."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def update(weights, x):
        def loss(weights):
            return jnp.sum(jnp.tanh(x @ weights[0]) @ weights[1])

        gradients = jax.grad(loss)(weights)
        return [w - 0.001 * g for w, g in zip(weights, gradients)]

    key = jax.random.key(0)
    weights = [jax.random.normal(key, (1024, 4096)), jax.random.normal(key, (4096, 256))]
    x = jax.random.normal(key, (512, 1024))
    weights = update(weights, x)
    jax.block_until_ready(weights)
    jax.profiler.start_trace(os.path.join(folder, "profile"))
    kept = []
    for step in range(STEPS):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            weights = update(weights, x)
            kept.append(jnp.ones((256, 1024)) * step)
            jax.block_until_ready(weights)
    jax.profiler.stop_trace()
    jax.profiler.save_device_memory_profile(os.path.join(folder, "memory.prof"))
    rest()
    facts(folder, stats={k: int(v) for k, v in jax.devices()[0].memory_stats().items()})


# ---- PyTorch, with memory outside its allocator


def torch_model():
    import torch
    import torch.nn as nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    return torch, model, torch.optim.SGD(model.parameters(), lr=0.01)


def torch_step(torch, model, optimizer, x):
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def scene_pinned_leak(folder):
    """Uses a loader that keeps its pinned buffers."""
    torch, model, optimizer = torch_model()
    kept = []

    def keep_batch():
        kept.append(torch.empty(KEPT // 4).pin_memory())
        return kept[-1]

    for _ in range(STEPS):
        batch = keep_batch()
        x = batch[: 256 * 1024].view(256, 1024).cuda(non_blocking=True)
        torch_step(torch, model, optimizer, x)
    torch.cuda.synchronize()
    rest()
    stats = torch.cuda.host_memory_stats() if hasattr(torch.cuda, "host_memory_stats") else {}
    facts(folder, host={k: int(v) for k, v in stats.items() if "bytes" in k})


def scene_wait_leak(folder):
    """Allocates only pinned buffers, and waits for the device after each of them."""
    torch, kept = torch_model()[0], []

    def keep_buffer():
        kept.append(torch.empty(KEPT // 4).pin_memory())

    for _ in range(STEPS):
        keep_buffer()
        torch.cuda.synchronize()
    rest()


def scene_loader(folder):
    """Uses a DataLoader with pin_memory, without a leak."""
    torch, model, optimizer = torch_model()
    data = torch.utils.data.TensorDataset(torch.randn(64 * 40, 1024))
    loader = torch.utils.data.DataLoader(data, batch_size=64, pin_memory=True, num_workers=2)
    for (x,) in loader:
        torch_step(torch, model, optimizer, x.cuda(non_blocking=True))
    torch.cuda.synchronize()
    rest()
    stats = torch.cuda.host_memory_stats() if hasattr(torch.cuda, "host_memory_stats") else {}
    facts(folder, host={k: int(v) for k, v in stats.items() if "bytes" in k})


def scene_nccl_leak(folder):
    """Makes a communicator in each step. Every rank runs this."""
    import torch.distributed as dist

    import torch

    rank = int(os.environ.get("RANK", 0))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29518")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    torch, model, optimizer = torch_model()
    dist.init_process_group("nccl", rank=rank, world_size=int(os.environ.get("WORLD_SIZE", 1)))
    kept = []

    def keep_communicator():
        group = dist.new_group(list(range(dist.get_world_size())))
        kept.append(group)
        dist.all_reduce(torch.ones(1 << 20, device="cuda"), group=group)

    x = torch.randn(256, 1024, device="cuda")
    for _ in range(9):
        keep_communicator()
        torch_step(torch, model, optimizer, x)
    torch.cuda.synchronize()
    rest()
    free, total = torch.cuda.mem_get_info()
    folder = os.path.join(folder, f"rank{rank}")
    os.makedirs(folder, exist_ok=True)
    facts(folder, free=free, total=total)
    os._exit(0)


def scene_fsdp(folder):
    """Trains with sharded parameters, without a leak. Every rank runs this."""
    import torch
    import torch.distributed as dist
    import torch.nn as nn
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    layer = nn.TransformerEncoderLayer
    model = nn.TransformerEncoder(layer(1024, 8, 4096, batch_first=True), 12).cuda()
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({layer}), use_orig_params=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(6):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(torch.randn(8, 512, 1024, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    rest()
    folder = os.path.join(folder, f"rank{rank}")
    os.makedirs(folder, exist_ok=True)
    facts(folder, reserved=torch.cuda.memory_reserved())
    dist.destroy_process_group()


def scene_graph_leak(folder):
    """Captures a CUDA graph in each step, with a separate pool."""
    torch, model, optimizer = torch_model()
    x = torch.randn(256, 1024, device="cuda")
    kept = []

    def keep_graph():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        kept.append((graph, y))
        graph.replay()

    for _ in range(3):
        torch_step(torch, model, optimizer, x)
    torch.cuda.synchronize()
    with torch.no_grad():
        for _ in range(STEPS):
            keep_graph()
    torch.cuda.synchronize()
    rest()
    facts(folder, reserved=torch.cuda.memory_reserved())


def scene_compile(folder):
    """Uses torch.compile, without a leak."""
    torch, model, optimizer = torch_model()
    fast = torch.compile(model)
    x = torch.randn(256, 1024, device="cuda")
    for _ in range(20):
        torch_step(torch, fast, optimizer, x)
    torch.cuda.synchronize()
    rest()
    facts(folder, reserved=torch.cuda.memory_reserved())


def scene_sleep(folder):
    """Sleeps and wakes as servers do, without a leak. The weights are in memory from cuMemCreate. When the
    server sleeps, this memory is unmapped and released; when it wakes, memory is created and mapped again."""
    torch, model, optimizer = torch_model()
    driver = ctypes.CDLL("libcuda.so.1")
    bytes_ = 64 << 20

    class Prop(ctypes.Structure):
        _fields_ = [
            ("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", ctypes.c_int),
            ("id", ctypes.c_int), ("win32", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8),
        ]

    class Access(ctypes.Structure):
        _fields_ = [("location", ctypes.c_int), ("id", ctypes.c_int), ("flags", ctypes.c_int)]

    def check(result):
        if result:
            raise RuntimeError(f"the driver gave {result}")

    at = ctypes.c_uint64()
    check(driver.cuMemAddressReserve(ctypes.byref(at), ctypes.c_size_t(bytes_), ctypes.c_size_t(0),
                                     ctypes.c_uint64(0), ctypes.c_uint64(0)))

    def wake():
        handle = ctypes.c_uint64()
        prop = Prop(1, 0, 1, 0, None)
        check(driver.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(bytes_),
                                 ctypes.byref(prop), ctypes.c_uint64(0)))
        check(driver.cuMemMap(at, ctypes.c_size_t(bytes_), ctypes.c_size_t(0), handle,
                              ctypes.c_uint64(0)))
        access = Access(1, 0, 3)
        check(driver.cuMemSetAccess(at, ctypes.c_size_t(bytes_), ctypes.byref(access),
                                    ctypes.c_size_t(1)))
        return handle

    def sleep(handle):
        check(driver.cuMemUnmap(at, ctypes.c_size_t(bytes_)))
        check(driver.cuMemRelease(handle))

    x = torch.randn(256, 1024, device="cuda")
    for _ in range(8):
        handle = wake()
        for _ in range(3):
            torch_step(torch, model, optimizer, x)
        torch.cuda.synchronize()
        sleep(handle)
        torch.cuda.empty_cache()
    handle = wake()
    rest()
    facts(folder, reserved=torch.cuda.memory_reserved(), weights=bytes_)


def scene_train(folder):
    """Trains a model, without a leak on any level."""
    torch, model, optimizer = torch_model()
    x = torch.randn(256, 1024, device="cuda")
    for _ in range(30):
        torch_step(torch, model, optimizer, x)
    torch.cuda.synchronize()
    rest()
    free, total = torch.cuda.mem_get_info()
    facts(folder, reserved=torch.cuda.memory_reserved(), free=free, total=total)


def scene_numba(folder):
    """Uses Numba's arrays, without a leak."""
    import numpy
    from numba import cuda

    for _ in range(30):
        a = cuda.to_device(numpy.ones(1 << 20, dtype=numpy.float32))
        b = cuda.device_array_like(a)
        b.copy_to_device(a)
        del a, b
    cuda.synchronize()
    rest()
    facts(folder)


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    globals()["scene_" + sys.argv[1]](sys.argv[2])
    print("scene", sys.argv[1], "done")
