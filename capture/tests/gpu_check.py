"""Compares captures with PyTorch's own data about the same processes: gpu_check.py CHECK MEMVIZ ARGS.

Prints one line, "PASS name: numbers" or "FAIL name: what differs", and exits 0 or 1."""

import json
import os
import pickle
import subprocess
import sys

ROUND = 512  # kMinBlockSize
SMALL = 1 << 20  # kSmallSize: larger requests use the large pool, which splits off any remainder that is larger than this


class Different(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Different(text)


def memviz(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    expect(done.returncode == 0, f"memviz {' '.join(arguments)}: {done.stderr.strip()[:300]}")
    return json.loads(done.stdout)


def load_facts(folder):
    with open(os.path.join(folder, "facts.json")) as file:
        return json.load(file)


def captured_trace(program, capture, device=0):
    return memviz(program, "trace", "--json", "--limit", "0", "--device", str(device), capture)


def recorded_trace(folder, device=0):
    with open(os.path.join(folder, "snapshot.pickle"), "rb") as file:
        return pickle.load(file)["device_traces"][device]


def blocks(events):
    return [e for e in events if e["action"] in ("alloc", "free_requested")]


def round_up(size):
    return max(ROUND, (size + ROUND - 1) // ROUND * ROUND)


def same_class(requested, block):
    """Returns whether the allocator may return a block of this size for a request."""
    least = round_up(requested)
    if least <= SMALL:
        return block == least or (block > least and block - least < ROUND)
    return least <= block <= least + SMALL


def compare_blocks(ours, theirs):
    """Compares action, address and size class, event for event. Returns the part of the capture that PyTorch recorded
    too."""
    expect(len(ours) >= len(theirs), f"{len(ours)} block events captured, {len(theirs)} recorded")
    size_of = {}
    for i, (a, b) in enumerate(zip(ours, theirs)):
        expect(
            a["action"] == b["action"] and a["addr"] == b["addr"],
            f"event {i}: captured {a['action']} {a['addr']:#x}, "
            f"recorded {b['action']} {b['addr']:#x}",
        )
        if a["action"] == "alloc":
            expect(
                same_class(b["size"], a["size"]),
                f"event {i}: a block of {a['size']} for a request of {b['size']}",
            )
            size_of[a["addr"]] = a["size"]
        else:
            made = size_of.pop(a["addr"], a["size"])
            expect(a["size"] == made, f"event {i}: {made} made, {a['size']} freed")
    return ours[: len(theirs)]


def compare_totals(events, facts):
    level = peak = made = freed = allocs = 0
    for e in events:
        if e["action"] == "alloc":
            level += e["size"]
            made += e["size"]
            allocs += 1
            peak = max(peak, level)
        else:
            level -= e["size"]
            freed += e["size"]
    for name, value in (
        ("allocated_bytes.all.current", level),
        ("allocated_bytes.all.peak", peak),
        ("allocated_bytes.all.allocated", made),
        ("allocated_bytes.all.freed", freed),
        ("allocation.all.allocated", allocs),
    ):
        expect(facts[name] == value, f"{name}: PyTorch {facts[name]}, captured {value}")
    return level, peak


def compare_reserved(trace, last_event, facts):
    level = peak = 0
    for e in trace["events"]:
        if e["event"] > last_event:
            break
        if e["action"] in ("segment_alloc", "segment_map"):
            level += e["size"]
        elif e["action"] in ("segment_free", "segment_unmap"):
            level -= e["size"]
        peak = max(peak, level)
    for name, value in (
        ("reserved_bytes.all.current", level),
        ("reserved_bytes.all.peak", peak),
    ):
        expect(facts[name] == value, f"{name}: PyTorch {facts[name]}, captured {value}")
    return level


def frame_key(frame):
    function = frame.get("function", frame.get("name"))
    return (
        function.rsplit(".", 1)[-1],
        os.path.basename(frame.get("file", frame.get("filename"))),
        frame["line"],
    )


def is_python(frame):
    return (frame["file"] or "").endswith(".py") or (frame["file"] or "").startswith("<")


def compare_stacks(trace, ours, theirs):
    """Returns the number of allocations whose Python frames, ignoring native frames, are the same in PyTorch's
    recording and in the capture."""
    stacks = trace["stacks"]
    equal = counted = 0
    first = ""
    for a, b in zip(ours, theirs):
        if a["action"] != "alloc" or not b.get("frames"):
            continue
        frames = [] if a["stack"] is None else stacks[a["stack"]]
        want = [frame_key(f) for f in b["frames"]]
        have = [frame_key(f) for f in frames if is_python(f)]
        counted += 1
        if want == have:
            equal += 1
        elif not first:
            first = f"; the first that differs: captured {have[:3]}, recorded {want[:3]}"
    expect(counted > 0, "PyTorch recorded no stack")
    expect(equal >= 0.99 * counted, f"{equal} of {counted} Python stacks are the same{first}")
    return equal, counted


def check_same(program, capture, folder, device=0):
    trace = captured_trace(program, capture, device)
    theirs = blocks(recorded_trace(folder, int(device)))
    ours = compare_blocks(blocks(trace["events"]), theirs)
    facts = load_facts(folder)
    facts = facts["devices"][int(device)] if "devices" in facts else facts
    level, peak = compare_totals(ours, facts)
    reserved = compare_reserved(trace, ours[-1]["event"], facts)
    equal, counted = compare_stacks(trace, ours, theirs)
    return (
        f"{len(theirs)} block events equal, one by one; allocated {level}, peak {peak}, "
        f"reserved {reserved} equal; {equal} of {counted} Python stacks equal"
    )


def check_steps(program, capture, folder):
    steps = memviz(program, "leaks", "--json", capture)["steps"]
    want = load_facts(folder)["steps"]
    expect(
        steps["count"] in (want, want - 1) and steps["source"] != "none",
        f"{want} steps done, found {steps}",
    )
    return f"{steps['count']} steps by {steps['source']} {steps['name']!r}"


def check_lost(program, capture):
    notes = {n["code"]: n["count"] for n in memviz(program, "info", "--json", capture)["notes"]}
    for code in ("lost_events", "damaged_chunk"):
        expect(notes.get(code, 0) == 0, f"notes: {notes}")
    return f"notes: {notes or 'none'}"


def check_oom(program, capture, folder):
    facts = load_facts(folder)
    ooms = [e for e in captured_trace(program, capture)["events"] if e["action"] == "oom"]
    expect(facts["caught"] == 2, f"the program caught {facts['caught']}")
    expect(len(ooms) == 2, f"{len(ooms)} out-of-memory events captured")
    for oom in ooms:
        expect(oom["size"] >= facts["asked"], f"asked for {facts['asked']}, captured {oom['size']}")
    return f"{len(ooms)} out-of-memory events of {ooms[0]['size']} bytes"


def check_kill(program, capture, folder):
    facts = load_facts(folder)
    events = blocks(captured_trace(program, capture)["events"])
    level, _ = compare_totals(events, facts)
    expect(events[-1]["addr"] == facts["last"], "the last allocation is another one")
    return f"{len(events)} block events up to the kill; allocated {level} equal"


def check_profiler(program, capture, folder):
    facts = load_facts(folder)
    expect(facts["kernels"] > 0, "the profiler saw no kernel")
    expect(
        facts["profiler_allocations"] == facts["made"],
        f"{facts['made']} allocations, the profiler saw {facts['profiler_allocations']}",
    )
    return (
        f"the profiler saw {facts['kernels']} kernels and all {facts['made']} allocations; "
        + check_same(program, capture, folder)
    )


def ledger_of(program, capture, at=None):
    ledger = memviz(program, "ledger", "--json", *(["--at", at] if at else []), capture)
    for device in ledger["devices"]:
        if device["used"] is not None:
            total = sum(row["bytes"] for row in device["by"])
            total += device["context_estimate"] + device["unexplained"]
            expect(total == device["used"], f"device {device['device']}: rows give {total}, "
                   f"used is {device['used']}")
    return ledger


def library(row):
    return os.path.basename(row["library"] or "?")


def check_ledger(program, capture, name):
    """Checks that the rows add up, that the library `name` is among them, and that little memory is unexplained."""
    most = None
    for device in ledger_of(program, capture)["devices"]:
        if device["used"] and (most is None or device["used"] > most["used"]):
            most = device
    expect(most, "no device has samples")
    mine = sum(row["bytes"] for row in most["by"] if name in library(row))
    share = abs(most["unexplained"]) / most["used"]
    figures = (
        f"used {most['used']}, PyTorch {most['framework_reserved']}, {name} {mine}, "
        f"context {most['context_estimate']}, unexplained {most['unexplained']} ({share:.1%}) "
        f"[{most.get('basis')}]"
    )
    expect(mine > 0, f"no memory of {name}: {figures}")
    expect(share < 0.10, figures)
    return figures


def check_explained(program, capture, name):
    """Checks that less than a twentieth of the device's memory is unexplained at the time when the most is in use."""
    device = max((d for d in ledger_of(program, capture)["devices"] if d["used"]), key=lambda d: d["used"])
    mine = sum(row["bytes"] for row in device["by"] if row["name"] == name)
    share = abs(device["unexplained"]) / device["used"]
    figures = (
        f"used {device['used']}, PyTorch {device['framework_reserved']}, {name} {mine}, "
        f"context {device['context_estimate']}, unexplained {device['unexplained']} ({share:.1%})"
    )
    expect(mine > 0 and share < 0.05, figures)
    return figures


def check_placed(program, capture, folder):
    """Checks that samples belong to the right device: at the end they equal the memory in use that CUDA reports for
    it."""
    figures = []
    for device, want in enumerate(load_facts(folder)["used"]):
        of = ledger_of(program, capture)["devices"][device]
        have = max(sample["used"] + sample["others"] for sample in of["samples"])
        # Both numbers include memory of other processes and of the driver, but only samples include memory that was
        # freed earlier.
        expect(abs(have - want) < 0.1 * want + (1 << 30) + (256 << 20), f"device {device}: in use {want}, sampled {have}")
        share = abs(of["unexplained"]) / of["used"]
        expect(share < 0.05, f"device {device}: unexplained {of['unexplained']} of {of['used']}")
        figures.append(f"device {device}: in use {want}, sampled {have}, unexplained {share:.1%}")
    return "; ".join(figures)


def check_ranks(program, folder, *captures):
    """Checks that the peak of each rank equals the peak that PyTorch reported in that rank."""
    rows = memviz(program, "ranks", "--json", *captures)["ranks"]
    expect(len(rows) == len(captures), f"{len(rows)} rows for {len(captures)} captures")
    for at, row in enumerate(rows):
        want = load_facts(os.path.join(folder, f"rank{at}"))["allocated_bytes.all.peak"]
        expect(row["peak_allocated"] == want, f"rank {at}: PyTorch {want}, captured {row['peak_allocated']}")
    return f"peaks {[row['peak_allocated'] for row in rows]} equal"


def check_sampled(program, capture):
    """Checks that at least one sample is between the first and the last call, and includes the memory that the calls
    allocated."""
    device = ledger_of(program, capture)["devices"][0]
    held = sum(row["bytes"] for row in device["by"])
    expect(device["used"] and device["used"] >= held > 0, f"used {device['used']}, held {held}")
    return f"used {device['used']}, of which calls held {held}, in {len(device['samples'])} samples"


def check_leak(program, capture, level, function, library):
    """Checks that the first leak is the memory that `function` keeps, and that `library`, if given, requested this
    memory from CUDA."""
    report = memviz(program, "leaks", "--json", "--level", level, capture)
    expect(report["verdict"] == "leak", f"the verdict is {report['verdict']}")
    first = (report["leaks"] or report["driver"])[0]
    names = [frame["function"] or "" for frame in first["frames"]]
    expect(any(function in name for name in names), f"{function} is not among {names[:8]}")
    if "objects" in first:
        grown = first["unexplained"]
        return f"{first['objects']} {first['what']} by {function}; unexplained {grown['first']}, then {grown['last']}"
    expect((first["library"] or "") == library, f"{first['library']} asked for it, not {library}")
    return f"{first['bytes_per_step']} bytes a step{' of ' * bool(library)}{library}, by {function}"


def check_clean(program, capture):
    """Checks that no level of the file has a leak."""
    said = {}
    for level in ("pytorch", "cuda", "host", "all"):
        done = subprocess.run([program, "leaks", "--json", "--level", level, capture],
                              capture_output=True, text=True)
        if done.returncode == 0:
            said[level] = json.loads(done.stdout)["verdict"]
    expect(said and "leak" not in said.values(), f"{said}")
    return ", ".join(f"{level}: {verdict}" for level, verdict in said.items())


def check_pool(program, capture, folder, name):
    """Checks that the memory that the library `name` allocated equals the size of the pool that it reports."""
    facts = load_facts(folder)
    want = facts["pool"] if "pool" in facts else facts["stats"]["pool_bytes"]
    samples = ledger_of(program, capture)["devices"][0]["samples"]
    most = max(sum(row["bytes"] for row in sample["by"] if row["library"] == name) for sample in samples)
    expect(most == want, f"{name} says {want}, its calls held {most}")
    return f"{most} bytes, as {name} says"


def check_pinned(program, capture, folder):
    """Checks that the pinned memory equals the total that PyTorch's host allocator reports."""
    want = load_facts(folder)["host"]["allocated_bytes.current"]
    have = ledger_of(program, capture, "end")["devices"][0]["pinned_host"]["bytes"]
    expect(have == want, f"PyTorch says {want}, captured {have}")
    return f"{have} bytes, as PyTorch says"


def check_plain(program, capture):
    """Checks that the capture contains the memory that gpu_plain.cu does not free. The program's cudart is linked
    statically, so its calls are recorded as calls of the driver."""
    want = {
        "cuMemAlloc": 64 << 20,
        "cuMemAllocAsync": 16 << 20,
        "cuMemAllocManaged": 8 << 20,
        "cuMemAllocPitch": None,
        "cuMemCreate": 32 << 20,
    }
    rows = {row["api"]: row for row in ledger_of(program, capture, "end")["devices"][0]["by"]}
    for api, size in want.items():
        row = rows.get(api) or rows.get(api + "_v2")
        expect(row, f"no {api} among {sorted(rows)}")
        expect(size is None or row["bytes"] == size, f"{api}: {row['bytes']}, not {size}")
    return ", ".join(f"{api} {row['bytes']}" for api, row in sorted(rows.items()))


def check_calls(program, capture, folder):
    facts = load_facts(folder)
    ledger = ledger_of(program, capture, "peak")["devices"][0]
    apis = {row["api"]: row["bytes"] for row in ledger["by"]}
    expect(facts["backend"] == "cudaMallocAsync", facts["backend"])
    expect(any(name.startswith("cudaMallocAsync") for name in apis), f"{apis}")
    return f"{apis}"


def check_captures(program, capture, folder):
    """Checks that the range of each graph contains the memory that its capture kept, although all graphs share a pool.
    PyTorch may allocate two small blocks just before a range begins."""
    report = memviz(program, "peak", "--json", "--at", "@captured", "--by", "annotation", capture)
    rows = {row["annotation"]: row["bytes"] for row in report["devices"][0]["annotations"]}
    ours = [rows.get(f"CUDA graph capture {i}", 0) for i in range(1, 4)]
    wanted = load_facts(folder)["captured"]
    expect(all(0 <= want - got <= 1024 for want, got in zip(wanted, ours)), f"{ours}, not {wanted}")
    return f"{ours} bytes kept by three captures"


def main():
    name, check, program, *arguments = sys.argv[1:]
    try:
        print(f"PASS {name}: {globals()['check_' + check](program, *arguments)}")
    except Different as why:
        print(f"FAIL {name}: {why}")
        return 1
    except Exception as why:  # a check that cannot run counts as failed
        print(f"FAIL {name}: {type(why).__name__}: {why}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
