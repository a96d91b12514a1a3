"""Measures NCCL's own device memory in MiB. No other program may use the GPUs:

    torchrun --nproc-per-node 2 bench/dry_run/nccl_memory.py"""

import os

import torch
import torch.distributed as dist

device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
x, parts = torch.ones(1 << 20, device="cuda"), torch.ones(2 << 20, device="cuda")
x @ x
rows = []


def note(what):
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    rows.append(f"{what} {((total - free) - torch.cuda.memory_reserved()) >> 20}")


note("context")
dist.init_process_group("nccl", device_id=torch.device("cuda", device))
note("group")
dist.all_reduce(x)
note("all_reduce")
dist.all_gather_into_tensor(parts, x)
note("all_gather")
dist.reduce_scatter_tensor(x, parts)
note("reduce_scatter")
dist.all_reduce(torch.ones(64 << 20, device="cuda"))
note("all_reduce of 256 MiB")
print(f"rank {device}: " + ", ".join(rows), flush=True)
dist.destroy_process_group()
