"""A snapshot whose names try to get out of the page: python3 hostile.py OUT.pickle"""
import pickle
import sys

NAMES = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"'><svg/onload=window.hacked=1>",
    "-->]]><!--<script>",
    "${window.hacked=1}`\\u003cscript>",
    "&lt;b&gt;&#x3c;i>",
    "\u202egnp.exe\u2066\x00\x1b[31m\x07",
    "a" * 5000,
    "javascript:window.hacked=1",
    "\u2028\u2029\ud800",
]


def frame(i):
    return {"name": NAMES[i % len(NAMES)], "filename": NAMES[(i + 1) % len(NAMES)], "line": i}


trace, blocks = [], []
base = 0x7F0000000000
trace.append({"action": "segment_alloc", "addr": base, "size": 20 << 20, "stream": 0, "time_us": 0, "frames": []})
for n in range(40):
    addr = base + n * (512 << 10)
    frames = [frame(n), frame(n + 3)]
    event = {"addr": addr, "size": 512 << 10, "stream": 0, "frames": frames}
    trace.append(dict(event, action="alloc", time_us=10 * n + 1))
    if n % 3 == 0:
        trace.append(dict(event, action="free_requested", time_us=10 * n + 2))
        trace.append(dict(event, action="free_completed", time_us=10 * n + 3))
    blocks.append({"address": addr, "size": 512 << 10, "requested_size": 512 << 10,
                   "state": "inactive" if n % 3 == 0 else "active_allocated", "frames": frames})
live = sum(b["size"] for b in blocks if b["state"] != "inactive")
segment = {"device": 0, "address": base, "total_size": 20 << 20, "allocated_size": live, "active_size": live,
           "requested_size": live, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
           "is_expandable": False, "frames": [], "blocks": blocks}
notes = [{"name": name, "stage": stage, "time_us": 40 * i + at, "device": 0}
         for i, name in enumerate(NAMES) for stage, at in (("START", 1), ("END", 35))]
with open(sys.argv[1], "wb") as out:
    pickle.dump({"segments": [segment], "device_traces": [trace], "allocator_settings": {},
                 "external_annotations": notes}, out)
