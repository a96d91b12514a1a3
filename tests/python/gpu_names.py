"""Names of tensors, and traces of torch.profiler beside snapshots, with PyTorch on a GPU: one line for
each check, PASS or FAIL; status 1 when one fails.

    PYTHONPATH=python python3 tests/python/gpu_names.py FOLDER

FOLDER receives a snapshot with names, and pairs for `memviz peak SNAPSHOT --with TRACE`: pair.pickle and
pair.json.gz are from one run; rank0 and rank1 are two processes that run the same program at the same time."""

import gc
import os
import pickle
import subprocess
import sys
import traceback

import torch

import memviz
from memviz import names

FOLDER = sys.argv[1]


def path(name):
    return os.path.join(FOLDER, name)


def rows(value=None):
    return {(row["name"], row["role"], row.get("slot")): row for row in names.rows_of(torch, value)}


def train():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.BatchNorm1d(512), torch.nn.Linear(512, 64)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(64, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    return model, optimizer


def a_model_alone_has_all():
    model, optimizer = train()
    found = rows(model)
    assert found["0.weight", "parameter", None]["address"] == model[0].weight.data_ptr()
    assert found["0.weight", "gradient", None]["address"] == model[0].weight.grad.data_ptr()
    assert found["1.running_mean", "buffer", None]["shape"] == "[512]"
    state = optimizer.state[model[0].weight]["exp_avg"]
    assert found["0.weight", "optimizer_state", "AdamW exp_avg"]["address"] == state.data_ptr()
    assert found["0.weight", "parameter", None]["bytes"] == 512 * 256 * 4
    assert found["0.weight", "parameter", None]["dtype"] == "f32"


def nothing_is_kept_alive():
    before = torch.cuda.memory_allocated()
    recording = memviz.record(path("x.pickle"), names=train())
    memviz.name(torch.ones(1 << 20, device="cuda"), "gone")
    gc.collect()
    assert torch.cuda.memory_allocated() == before, torch.cuda.memory_allocated() - before
    assert not rows() and not list(recording.names.alive())


def a_name_stays_with_the_memory():
    x = torch.ones(1 << 20, device="cuda", requires_grad=True)
    y = memviz.name(x * 2, "y")
    address = y.data_ptr()
    z = y * y  # the backward pass needs y's memory
    del y
    gc.collect()
    assert rows()["y", "tensor", None]["address"] == address
    del z
    gc.collect()
    assert not rows()


def views_are_named_where_they_lie():
    flat = torch.zeros(1 << 20, device="cuda")
    part = memviz.name(flat[4096:8192], "part")
    found = rows({"flat": flat})
    assert found["part", "tensor", None]["address"] == flat.data_ptr() + 4 * 4096 == part.data_ptr()
    assert found["part", "tensor", None]["bytes"] == 4 * 4096
    assert found["flat", "tensor", None]["bytes"] == 4 << 20


def an_out_of_memory_has_names():
    model, _ = train()
    try:
        with memviz.record(path("oom.pickle"), names=model):
            torch.ones(1 << 50, device="cuda", dtype=torch.int8)
    except torch.OutOfMemoryError:
        pass
    with open(path("oom-oom1.pickle"), "rb") as file:
        assert pickle.load(file)[names.KEY][0]["name"] == "0.weight"


def pytorchs_own_tools_pass_over_the_key():
    kept = []
    with memviz.record(path("names.pickle"), names=lambda: kept[0]):
        kept += train()
    for command in ("trace_plot", "segment_plot"):
        subprocess.run([sys.executable, "-m", "torch.cuda._memory_viz", command, path("names.pickle"), "-o",
                        path("x.html")], check=True)
    with open(path("names.pickle"), "rb") as file:
        snapshot = pickle.load(file)
    from torch.cuda import _memory_viz
    _memory_viz.segsum(snapshot)
    _memory_viz.trace(snapshot)


def pair(name, steps=6):
    """A snapshot and a profiler's trace of one run."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    with memviz.record(path(name + ".pickle"), names=model), torch.profiler.profile(
            profile_memory=True, record_shapes=True, with_stack=True) as profile:
        for _ in range(steps):
            loss = model(torch.randn(256, 512, device="cuda")).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profile.step()
    profile.export_chrome_trace(path(name + ".json.gz"))


def pairs():
    both = [subprocess.Popen([sys.executable, __file__, FOLDER, f"rank{rank}"], env={**os.environ, "RANK": str(rank)})
            for rank in range(2)]
    pair("pair")
    assert [process.wait() for process in both] == [0, 0]


CHECKS = (a_model_alone_has_all, nothing_is_kept_alive, a_name_stays_with_the_memory, views_are_named_where_they_lie,
          an_out_of_memory_has_names, pytorchs_own_tools_pass_over_the_key, pairs)


def main():
    failed = False
    for check in CHECKS:
        names.given.clear()
        gc.collect()
        try:
            check()
            print("PASS", check.__name__, flush=True)
        except Exception:
            failed = True
            print("FAIL", check.__name__, flush=True)
            traceback.print_exc()
    sys.exit(failed)


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    pair(sys.argv[2]) if len(sys.argv) > 2 else main()
