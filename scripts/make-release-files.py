#!/usr/bin/env python3
"""Writes testdata/releases/: small snapshots as PyTorch 1.13 to 2.14, torch_npu and
torch.cuda._memory_viz write them.

The program is synthetic: a model of four lines that trains for six steps, under a small literal
caching allocator with expandable segments. Every file has the keys of its release, and no others.
Run it from anywhere; it replaces the folder's files and prints nothing.
"""

import base64
import copy
import json
import os
import pickle

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "testdata", "releases")

MIB = 1 << 20
START = 0x7F0000000000
EPOCH = 1700000000000000


def frames(*lines, library="/env/torch/nn/modules/module.py"):
    """The innermost line first; a library's line below it, as in real stacks."""
    named = [(library, "_call_impl", 1527)] + [("/home/me/train.py", f, n) for f, n in lines]
    return [{"name": f, "filename": path, "line": n} for path, f, n in named]


# ---- the allocator ---------------------------------------------------------------------------


class Heap:
    """One segment for each pool: best fit, the rest split off, neighbours merged. It grows when
    it is expandable; otherwise one cudaMalloc has to suffice."""

    def __init__(self, pad=0, expandable=True):
        self.pad = pad  # torch_npu: 32
        self.expandable = expandable
        self.events = []
        self.blocks = {"small": [], "large": []}  # [address, size, owner or None], tiling
        self.past = {}  # address: allocations there, newest first
        self.time = EPOCH

    def record(self, action, addr, size, stack, **more):
        self.time += 10
        event = {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": self.time}
        event.update(more)
        if stack is not None:
            event["frames"] = stack
        self.events.append(event)

    def round(self, n):
        return max(512, (n + self.pad + 511) // 512 * 512)

    def grow(self, pool, size, stack):
        blocks = self.blocks[pool]
        page = 2 * MIB if pool == "small" else 20 * MIB
        action = "segment_map"
        if not self.expandable:
            assert not blocks, "one segment does"
            page, action = max(page, 48 * MIB if pool == "large" else 0), "segment_alloc"
        base = START if pool == "small" else START + (1 << 40)
        end = blocks[-1][0] + blocks[-1][1] if blocks else base
        if not blocks or blocks[-1][2] is not None:
            blocks.append([end, 0, None])
        while blocks[-1][1] < size:
            self.record(action, blocks[-1][0] + blocks[-1][1], page, stack)
            blocks[-1][1] += page

    def alloc(self, n, stack, **more):
        size = self.round(n)
        pool = "small" if size <= MIB else "large"
        free = [b for b in self.blocks[pool] if b[2] is None and b[1] >= size]
        if not free:
            self.grow(pool, size, stack)
            free = [self.blocks[pool][-1]]
        block = min(free, key=lambda b: (b[1], b[0]))
        at = self.blocks[pool].index(block)
        if block[1] - size >= (512 if self.expandable or pool == "small" else MIB + 512):
            self.blocks[pool].insert(at + 1, [block[0] + size, block[1] - size, None])
            block[1] = size
        owner = {"addr": block[0], "requested": n, "frames": stack, "pool": pool, **more}
        block[2] = owner
        self.past.setdefault(block[0], []).insert(0, owner)
        self.record("alloc", block[0], n, stack, **more)
        return owner

    def free(self, owner):
        self.record("free_requested", owner["addr"], owner["requested"], owner["frames"])
        self.record("free_completed", owner["addr"], owner["requested"], owner["frames"])
        blocks = self.blocks[owner["pool"]]
        at = next(i for i, b in enumerate(blocks) if b[2] is owner)
        blocks[at][2] = None
        for i in (at, at - 1):
            if 0 <= i < len(blocks) - 1 and blocks[i][2] is None and blocks[i + 1][2] is None:
                blocks[i][1] += blocks[i + 1][1]
                del blocks[i + 1]

    def segments(self):
        return [self.segment(pool, blocks) for pool, blocks in self.blocks.items() if blocks]

    def segment(self, pool, blocks):
        used = sum(b[1] for b in blocks if b[2])
        return {
            "device": 0,
            "address": blocks[0][0],
            "total_size": sum(b[1] for b in blocks),
            "allocated_size": used,
            "active_size": used,
            "requested_size": sum(b[2]["requested"] for b in blocks if b[2]),
            "stream": 0,
            "segment_type": pool,
            "segment_pool_id": (0, 0),
            "is_expandable": True,
            "frames": [],
            "blocks": [self.block(b) for b in blocks],
        }

    def block(self, b):
        owner = b[2]
        block = {
            "address": b[0],
            "size": b[1],
            "requested_size": owner["requested"] if owner else 0,
            "state": "active_allocated" if owner else "inactive",
            "frames": owner["frames"] if owner else [],
        }
        if owner and "forward_frames" in owner:
            block["forward_frames"] = owner["forward_frames"]
        return block


# ---- the program -----------------------------------------------------------------------------

LINES = {"embed": 11, "attention": 12, "mlp": 13, "head": 14}
SIZES = {"embed": 3 * MIB, "attention": 4096 * 33, "mlp": 2 * MIB + 512 * 7, "head": 700}
LAYERS = list(LINES)


def train(heap, steps=6, library="/env/torch/nn/modules/module.py", **options):
    """Weights, then steps of forward, backward and an update; the first weights' gradients stay."""
    new = options.get("new", lambda kind, layer: {})

    def stack(*lines):
        return frames(*lines, library=library)

    weights = [
        heap.alloc(SIZES[k], stack(("build", 5), ("main", 30)), **new("weight", k)) for k in LAYERS
    ]
    grads = [heap.alloc(SIZES[k], stack(("build", 6), ("main", 30))) for k in LAYERS]
    for step in range(steps):
        kept = []
        for layer in LAYERS:
            kept.append(
                heap.alloc(
                    SIZES[layer] * (1 + step % 3),
                    stack((layer, LINES[layer]), ("forward", 20), ("main", 40)),
                    **new("activation", layer),
                )
            )
        for layer, activation in reversed(list(zip(LAYERS, kept))):
            grad = heap.alloc(
                SIZES[layer] + 512 * step,
                [{"name": "backward", "filename": "??", "line": 0}],
                **new("gradient", layer),
            )
            heap.free(activation)
            heap.free(grad)
        if options.get("after_step"):
            options["after_step"](heap, step, weights)
    heap.alloc(5 * MIB, stack(("evaluate", 50), ("main", 44)), **new("activation", "mlp"))
    return weights + grads


# ---- releases --------------------------------------------------------------------------------

SETTINGS = {
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "max_split_size": -1,
    "garbage_collection_threshold": 0.0,
    "expandable_segments": True,
    "pinned_num_register_threads": 1,
    "release_lock_on_cudamalloc": False,
    "pinned_use_cuda_host_register": False,
    "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)},
}


def with_history(heap, segments, has_requested):
    """1.13 and 2.0: the stacks of blocks are only in their history."""
    for segment in segments:
        for key in ("segment_pool_id", "is_expandable", "frames"):
            del segment[key]
        if not has_requested:
            del segment["requested_size"]
        for block in segment["blocks"]:
            past = [
                {"addr": o["addr"], "real_size": o["requested"], "frames": o["frames"]}
                for at in sorted(heap.past)
                if block["address"] <= at < block["address"] + block["size"]
                for o in heap.past[at]
            ]
            if block["state"] == "active_allocated":
                past.sort(key=lambda h: h["addr"] != block["address"])
            del block["address"], block["frames"]
            if not has_requested:
                del block["requested_size"]
            if past:
                block["history"] = past
    return segments


def drop(items, *keys):
    for item in items:
        for key in keys:
            item.pop(key, None)


def each_event(heap, **more):
    for event in heap.events:
        event.update(more)


def release(version):
    """A snapshot with exactly the keys that this release writes."""
    heap = Heap(expandable=version >= (2, 1))
    train(heap)
    segments = heap.segments()
    if version == (1, 13):
        return with_history(heap, segments, has_requested=False)
    if version == (2, 0):
        drop(heap.events, "time_us")
        return {
            "segments": with_history(heap, segments, has_requested=True),
            "device_traces": [heap.events],
        }
    if version < (2, 2):
        drop(heap.events, "time_us")
    if version >= (2, 8):
        each_event(heap, compile_context="N/A")
    if version >= (2, 10):
        each_event(heap, user_metadata="")
    if version >= (2, 12):
        each_event(heap, pool_id=(0, 0))
    snapshot = {"segments": segments, "device_traces": [heap.events]}
    if version >= (2, 3):
        snapshot["allocator_settings"] = copy.deepcopy(SETTINGS)
    if version >= (2, 5):
        snapshot["external_annotations"] = []
    if version >= (2, 14):
        snapshot["host_segments"], snapshot["host_traces"] = [], []
    return snapshot


# ---- 2.14, everything that it can record --------------------------------------------------------


def host(snapshot):
    """Two pinned buffers; the smaller one was freed and is free in its segment."""
    loader = frames(("pin_memory", 60), ("main", 41))
    at, events, segments = 0x7E0000000000, [], []
    for i, size in enumerate((8 * MIB, 2 * MIB)):
        for action in ("segment_alloc", "alloc"):
            events.append(
                {
                    "action": action,
                    "addr": at,
                    "size": size,
                    "stream": 0,
                    "time_us": EPOCH + 5 + i,
                    "compile_context": "N/A",
                    "user_metadata": "",
                    "pool_id": (0, 0),
                    "frames": loader,
                }
            )
        segments.append(
            {
                "device": -1,
                "address": at,
                "total_size": size,
                "allocated_size": size if i == 0 else 0,
                "active_size": size if i == 0 else 0,
                "requested_size": size if i == 0 else 0,
                "stream": 0,
                "segment_type": "small",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": loader,
                "blocks": [
                    {
                        "address": at,
                        "size": size,
                        "requested_size": size if i == 0 else 0,
                        "state": "active_allocated" if i == 0 else "inactive",
                        "frames": loader if i == 0 else [],
                    }
                ],
            }
        )
        at += 16 * MIB
    for action in ("free_requested", "free_completed"):
        events.append({**events[3], "action": action, "time_us": EPOCH + 50})
    snapshot["host_segments"], snapshot["host_traces"] = segments, events


def full():
    """Names, compiled regions, forward lines of backward blocks, fx nodes, pinned memory."""
    heap = Heap()
    compiled = frames(("call", 77), ("forward", 20), ("main", 40))
    compiled[0].update(
        fx_node_op="call_function",
        fx_node_name="addmm_1",
        fx_node_target="aten.addmm.default",
        fx_original_trace="File train.py, line 13, in mlp",
    )

    def new(kind, layer):
        said = {"compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0)}
        if kind == "gradient":
            said["forward_frames"] = [
                f'  File "/home/me/train.py", line 20, in forward\n    x = {layer}(x)\n',
                f'  File "/home/me/train.py", line {LINES[layer]}, in {layer}\n    return y\n',
            ]
        if kind == "activation":
            said["user_metadata"] = f"layer {layer}"
        if kind == "activation" and layer == "mlp":
            said["compile_context"] = "Torch-Compiled Region: 0/0"
        return said

    def after_step(heap, step, weights):
        if step == 0:
            for layer, owner in zip(LAYERS, weights):
                heap.record(
                    "annotate",
                    owner["addr"],
                    owner["requested"],
                    owner["frames"],
                    user_metadata=f"{layer}.weight",
                )

    train(heap, new=new, after_step=after_step)
    heap.alloc(6 * MIB, compiled, **new("activation", "mlp"))
    for event in heap.events:
        event.setdefault("compile_context", "N/A")
        event.setdefault("user_metadata", "")
        event.setdefault("pool_id", (0, 0))
    snapshot = {
        "segments": heap.segments(),
        "device_traces": [heap.events],
        "allocator_settings": copy.deepcopy(SETTINGS),
        "external_annotations": [],
    }
    host(snapshot)
    return snapshot


# ---- other writers -----------------------------------------------------------------------------


def npu(library):
    """torch_npu: 32 bytes more than asked for, rounded up to 512."""
    heap = Heap(pad=32)
    train(heap, library=library)
    return {"segments": heap.segments(), "device_traces": [heap.events]}


def xpu():
    snapshot = release((2, 5))
    snapshot["allocator_settings"] = {
        "PYTORCH_ALLOC_CONF": "expandable_segments:True",
        "expandable_segments": True,
    }
    del snapshot["external_annotations"]
    return snapshot


def page(snapshot, viz="Active Memory Timeline"):
    """_memory_viz._format_viz() of 2.1 and later."""
    data = pickle.dumps(snapshot, protocol=4)
    data += b"\0" * (3 - len(data) % 3)
    files = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode()}])
    return f"""
<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {{add_local_files}} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = {files}
add_local_files(local_files, {viz!r})
</script>
</body>
"""


# ---- rings ---------------------------------------------------------------------------------------


def on_device(device, snapshot):
    for segment in snapshot["segments"]:
        segment["device"] = device
    return snapshot


def beside(*devices):
    """Snapshots of one process: each becomes a device."""
    whole = {**devices[0], "segments": [], "device_traces": []}
    for i, snapshot in enumerate(devices):
        whole["segments"] += on_device(i, snapshot)["segments"]
        whole["device_traces"] += snapshot["device_traces"]
    return whole


def last(snapshot, count):
    snapshot["device_traces"] = [t[len(t) - count :] for t in snapshot["device_traces"]]
    return snapshot


def whole_calls(snapshot):
    """Without the end of a call whose beginning is missing."""
    snapshot["device_traces"] = [
        t[t[0]["action"] == "free_completed" :] for t in snapshot["device_traces"]
    ]
    return snapshot


def idle(*events):
    made = [{"action": a, "addr": 0, "size": 0, "stream": 0, "time_us": EPOCH} for a in events]
    return {**release((2, 5)), "segments": [], "device_traces": [made]}


def two_phases(steps=1):
    """Training, then a separate buffer; if an earlier phase was freed completely,
    a ring may contain exactly this."""
    heap = Heap()
    train(heap, steps=steps)
    heap.alloc(MIB // 2, frames(("report", 70), ("main", 45)))
    return {**release((2, 5)), "segments": heap.segments(), "device_traces": [heap.events]}


def rings():
    full = release((2, 5))
    late = forget(whole_calls(last(two_phases(steps=6), 101)))
    count = len(two_phases()["device_traces"][0])
    return {
        # a ring of one event: nothing is allocated on device 0, whatever came before
        "ring_of_one": beside(idle("snapshot"), last(release((2, 5)), 1)),
        # a long recording: an idle device beside a device with hundreds of events
        "idle_beside_busy": beside(idle("snapshot"), full),
        # device 1 is full, so device 0, with as many events, is full, too
        "full_beside_full": beside(two_phases(), last(release((2, 5)), count)),
        # device 1 joined late: its 100 events look like a full buffer, but device 0 has more
        "late_beside_busy": beside(release((2, 5)), late),
    }


def forget(snapshot):
    """The heap's blocks from before the events have no stacks: recording was off."""
    born = {e["addr"] for e in snapshot["device_traces"][0] if e["action"] == "alloc"}
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["address"] not in born:
                block["frames"] = []
    return snapshot


def main():
    made = {}
    for minor in (1, 2, 3, 5, 8, 10, 12, 14):
        made[f"torch_2_{minor}.pickle"] = release((2, minor))
    made["torch_1_13.pickle"] = release((1, 13))
    made["torch_2_0.pickle"] = release((2, 0))
    made["torch_2_14_full.pickle"] = full()
    made["torch_npu.pickle"] = npu("/env/torch_npu/npu/utils.py")
    made["npu_rounding.pickle"] = npu("/env/torch/nn/modules/module.py")
    made["torch_xpu.pickle"] = xpu()
    for name, snapshot in rings().items():
        made[f"{name}.pickle"] = snapshot
    os.makedirs(FOLDER, exist_ok=True)
    for old in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, old))
    for path, snapshot in made.items():
        with open(os.path.join(FOLDER, path), "wb") as file:
            file.write(pickle.dumps(snapshot, protocol=4))
    with open(os.path.join(FOLDER, "memory_viz.html"), "w") as file:
        file.write(page(release((2, 5))))


if __name__ == "__main__":
    main()
