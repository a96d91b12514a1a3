"""The programs that gpu.sh runs under the shim, one in each call: gpu_scenes.py SCENE FOLDER.

Each scene writes PyTorch's own data about the same process to FOLDER: snapshot.pickle (from its recorder) and
facts.json (its counters at the same time). gpu_check.py compares them with the capture."""

import ctypes
import json
import os
import signal
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS = 10
COUNTERS = (
    "allocated_bytes.all.current",
    "allocated_bytes.all.peak",
    "allocated_bytes.all.allocated",
    "allocated_bytes.all.freed",
    "reserved_bytes.all.current",
    "reserved_bytes.all.peak",
    "allocation.all.allocated",
    "allocation.all.freed",
    "num_ooms",
)


def mark(text):
    """Sets a mark if the shim is loaded."""
    try:
        ctypes.CDLL(None).memviz_mark(text.encode())
    except AttributeError:
        pass


def record():
    torch.cuda.memory._record_memory_history(
        enabled="all", context="all", stacks="python", max_entries=10_000_000
    )


def counters(device=None):
    stats = torch.cuda.memory_stats(device)
    return {name: stats.get(name, 0) for name in COUNTERS}


def facts(folder, **more):
    with open(os.path.join(folder, "facts.json"), "w") as file:
        json.dump({**counters(), **more}, file)
        file.flush()
        os.fsync(file.fileno())


def finish(folder, **more):
    """Writes both files without allocating or freeing anything in between."""
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(os.path.join(folder, "snapshot.pickle"))
    facts(folder, pid=os.getpid(), **more)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.second = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.heads = heads

    def attend(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.first(x))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self, layers=6, width=384, heads=6, words=8000, length=256):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.place = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.words = words

    def forward(self, ids):
        x = self.word(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def train(model, steps, batch=8, length=256, after_step=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    module = getattr(model, "module", model)
    for step in range(steps):
        mark(f"step {step}")
        torch.cuda.nvtx.range_push("train_step")
        ids = torch.randint(0, module.words, (batch, length + (step % 3) * -32), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.nvtx.range_pop()
        if after_step:
            after_step(step)
    return float(loss)


def scene_train(folder):
    record()
    train(GPT().cuda(), STEPS)
    finish(folder, steps=STEPS)


def scene_graphs(folder):
    record()
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
    x = torch.randn(64, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x).sum().backward()
            model.zero_grad(set_to_none=True)
    torch.cuda.current_stream().wait_stream(side)
    graphs, outputs, captured, pool = [], [], [], None
    for batch in (64, 32, 16):
        graph = torch.cuda.CUDAGraph()
        before = torch.cuda.memory_allocated()
        with torch.cuda.graph(graph, pool=pool):
            y = model(x[:batch])
            y.sum().backward()
        captured.append(torch.cuda.memory_allocated() - before)
        pool = graph.pool()
        graphs.append(graph)
        outputs.append(y)
    for _ in range(5):
        graphs[0].replay()
    mark("captured")
    finish(folder, result=float(outputs[0].sum().detach()), captured=captured)


def scene_oom(folder):
    record()
    kept = [torch.empty(1 << 28, device="cuda", dtype=torch.uint8) for _ in range(3)]
    total = torch.cuda.get_device_properties(0).total_memory
    caught = 0
    for _ in range(2):
        try:
            kept.append(torch.empty(2 * total, device="cuda", dtype=torch.uint8))
        except torch.cuda.OutOfMemoryError:
            caught += 1
    kept.append(torch.empty(1 << 20, device="cuda", dtype=torch.uint8))
    finish(folder, caught=caught, asked=2 * total)


def scene_kill(folder):
    """Writes its counters in the middle of a step, and then kills its own process."""

    def after_step(step):
        if step == STEPS - 3:
            x = torch.empty(12345, device="cuda")
            torch.cuda.synchronize()
            facts(folder, pid=os.getpid(), steps=step + 1, last=x.data_ptr())
            os.kill(os.getpid(), signal.SIGKILL)

    train(GPT().cuda(), STEPS, after_step=after_step)


def scene_profiler(folder):
    from torch.profiler import ProfilerActivity, profile

    record()
    model = GPT(layers=2).cuda()
    train(model, 2)
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    mark("profiler on")
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True
    ) as profiler:
        train(model, 2)
    mark("profiler off")
    made = torch.cuda.memory_stats()["allocation.all.allocated"] - before
    kernels = memory = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            memory += event.device_type() == torch.autograd.DeviceType.CUDA and event.nbytes() > 0
        elif event.device_type() == torch.autograd.DeviceType.CUDA:
            kernels += 1
    finish(folder, made=made, profiler_allocations=int(memory), kernels=kernels)


def scene_async(folder):
    """Uses a backend that does not report blocks, so only CUDA calls are recorded."""
    train(GPT(layers=2).cuda(), 3)
    torch.cuda.synchronize()
    with open(os.path.join(folder, "facts.json"), "w") as file:
        json.dump({"backend": torch.cuda.get_allocator_backend(), "pid": os.getpid()}, file)


def scene_nccl(folder):
    """Trains with data parallelism, under torchrun with several ranks or as a single rank."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    rank = int(os.environ.get("RANK", 0))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group("nccl", rank=rank, world_size=int(os.environ.get("WORLD_SIZE", 1)))
    model = DistributedDataParallel(GPT(layers=8, width=768, heads=12).cuda())
    train(model, STEPS)
    parts = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(parts)
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    folder = os.path.join(folder, f"rank{rank}")
    os.makedirs(folder, exist_ok=True)
    facts(folder, free=free, total=total, ranks=dist.get_world_size(), pid=os.getpid())
    # Long enough for a sample while all of the memory is held.
    signal.sigtimedwait([signal.SIGUSR1], 0.5)
    dist.destroy_process_group()


def scene_two(folder):
    """Uses two devices in one process. The model is on both devices, one device has far more other memory, and
    each device frees memory and empties its cache while the other one is current."""
    record()
    first, second = GPT(layers=2).cuda(0), GPT(layers=2).cuda(1)
    kept = [torch.empty(1 << 30, device=f"cuda:{at}", dtype=torch.uint8) for at in (0, 0, 1, 1, 1, 1, 1, 1)]
    for step in range(STEPS):
        mark(f"step {step}")
        for device, model in enumerate((first, second)):
            with torch.cuda.device(1 - device):
                ids = torch.randint(0, model.words, (4, 128 + 32 * (step % 3)), device=f"cuda:{device}")
                loss = model(ids).float().square().mean()
                loss.backward()
                moved = loss.detach().to(f"cuda:{1 - device}")
                model.zero_grad(set_to_none=True)
        if step == STEPS // 2:
            with torch.cuda.device(1):
                del kept[0]
                torch.cuda.empty_cache()
    for device in (0, 1):
        torch.cuda.synchronize(device)
    used = [total - free for free, total in (torch.cuda.mem_get_info(device) for device in (0, 1))]
    finish(folder, steps=STEPS, used=used, devices=[counters(0), counters(1)], moved=float(moved))
    # Long enough for a sample while all of the memory is held.
    signal.sigtimedwait([signal.SIGUSR1], 0.5)


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    torch.manual_seed(0)
    globals()["scene_" + sys.argv[1]](sys.argv[2])
    print("scene", sys.argv[1], "done")
