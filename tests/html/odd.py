"""Snapshots at the edge of what a page can show: python3 odd.py FOLDER writes odd_NAME.pickle"""
import os
import pickle
import sys

BASE = 0x7F0000000000
HIGH = 0xFFFF800000000000  # beyond what a browser's numbers tell apart to the byte


def event(action, addr, size, at, **more):
    return dict({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": at, "frames": []}, **more)


def segment(addr, size, blocks, **more):
    live = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    return dict({"device": 0, "address": addr, "total_size": size, "allocated_size": live,
                 "active_size": sum(b["size"] for b in blocks if b["state"] != "inactive"), "requested_size": live,
                 "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                 "blocks": blocks}, **more)


def block(addr, size, state="active_allocated"):
    return {"address": addr, "size": size, "requested_size": size, "state": state, "frames": []}


def snapshot(segments, traces):
    return {"segments": segments, "device_traces": traces, "allocator_settings": {}, "external_annotations": []}


M = 1 << 20
ODD = {
    "one_event": snapshot([segment(BASE, 20 * M, [block(BASE, 20 * M)])], [[event("alloc", BASE, 20 * M, 5)]]),
    "only_segments": snapshot([segment(BASE, 20 * M, [block(BASE, 20 * M, "inactive")])],
                              [[event("segment_alloc", BASE, 20 * M, 5)]]),
    "zero_sizes": snapshot([], [[event("alloc", BASE + 512 * i, 0, i) for i in range(9)]]),
    "pending_before": snapshot([segment(BASE, 20 * M, [block(BASE, 8 * M, "active_pending_free"),
                                                       block(BASE + 8 * M, 2 * M),
                                                       block(BASE + 10 * M, 10 * M, "inactive")])], [[]]),
    "high_addresses": snapshot(
        [segment(HIGH, 20 * M, [block(HIGH, 4 * M), block(HIGH + 4 * M, 16 * M, "inactive")])],
        [[event("segment_alloc", HIGH, 20 * M, 1), event("alloc", HIGH, 4 * M, 2)]]),
    "no_times": snapshot([segment(BASE, 20 * M, [block(BASE, 20 * M)])],
                         [[{k: v for k, v in event(a, BASE, 20 * M, 0).items() if k != "time_us"}
                           for a in ("segment_alloc", "alloc")]]),
    "second_device": snapshot([segment(BASE, 20 * M, [block(BASE, 20 * M)], device=1)],
                              [[], [event("segment_alloc", BASE, 20 * M, 1), event("alloc", BASE, 20 * M, 2)]]),
    "freed_all": snapshot([], [[event(a, BASE, 2 * M, i) for i, a in enumerate(
        ("segment_alloc", "alloc", "free_requested", "free_completed", "segment_free"))]]),
    "contradictory": snapshot(
        [segment(BASE, 20 * M, [block(BASE, 20 * M)])],
        [[event("alloc", BASE, 4 * M, 1), event("alloc", BASE + M, 4 * M, 2), event("free_completed", BASE + 9, 7, 3),
          event("segment_free", BASE + M, 2 * M, 4), event("alloc", BASE - 5 * M, 3 * M, 5)]]),
}

for name, content in ODD.items():
    with open(os.path.join(sys.argv[1], f"odd_{name}.pickle"), "wb") as out:
        pickle.dump(content, out)
