"""Runs each program both dry (GPU hidden) and for real, in separate processes, and prints the table in docs/dry-run.md:

    python bench/dry_run/compare.py OUT [NAME...] [--jobs 14] [--gpu h100-80gb] [--dry-only] [--real-only]
    python bench/dry_run/compare.py OUT [NAME...] --ranks 2
    python bench/dry_run/compare.py OUT [NAME...] --sides results.json

--sides uses the results of an earlier run. It runs each program at size M with three capacities: 2 % less than the program
allocated, 2 % more than it reserved, and halfway between allocated and reserved. It then checks whether the dry run's verdict
correctly tells whether the program fits. --ranks runs the programs for several GPUs, with each rank as a separate case. With
more than 2 ranks, only rank 0 runs dry. OUT receives results.json and, for each case, the allocated sizes in order
(NAME-SIZE.dry.txt, .real.txt). KEEP=1 keeps the snapshots, and PLAIN=1 records none."""

import argparse
import contextlib
import io
import itertools
import json
import os
import pickle
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "python")]
MOST_SECONDS = 150
SIZES = tuple(int(n) for n in os.environ.get("SIZES", "210"))


def sizes(snapshot):
    rows = []
    for event in snapshot["device_traces"][int(os.environ.get("LOCAL_RANK", "0"))] if snapshot else ():
        if event["action"] in ("alloc", "free_completed"):
            frames = event.get("frames") or [{"filename": "", "line": 0, "name": ""}]
            user = next((f for f in frames if "/torch/" not in f["filename"] and f["filename"].endswith(".py")), frames[0])
            rows.append(f"{'+' if event['action'] == 'alloc' else '-'}{event['size']} {os.path.basename(user['filename'])}:{user['line']}")
    return rows


def really(name, size, capacity):
    import torch
    torch.cuda.init()
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if capacity:
        torch.cuda.set_per_process_memory_fraction(capacity / torch.cuda.get_device_properties(0).total_memory)
    if not os.environ.get("PLAIN"):
        torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
    stopped(torch, name, size)
    torch.cuda.synchronize()
    found = torch.cuda.memory._snapshot(), torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), None, []
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.cuda.synchronize()
    return found


class Done(BaseException):
    pass


def stopped(torch, name, size):
    """Runs the program until the end of its last optimizer step, as a dry run does."""
    import programs, strangers, unseen
    steps = {}

    def hook(optimizer, *_):
        steps[id(optimizer)] = steps.get(id(optimizer), 0) + 1
        if min(steps.values()) == programs.STEPS:
            raise Done

    sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(hook)
    with contextlib.suppress(Done):
        next(getattr(module, name) for module in (programs, unseen, strangers) if hasattr(module, name))(size)


def dryly(name, size, capacity, gpu):
    import torch
    from memviz.dry import run
    dry = run.DryRun("", gpu, ranks=int(os.environ.get("WORLD_SIZE", "0")))
    dry.start(ends_process=False)
    stopped(torch, name, size)
    allocator = dry.recorder.allocators[-1]
    if capacity and not dry.side(capacity).startswith("fits"):
        raise MemoryError(dry.side(capacity))
    return dry.snapshot(), allocator.peak_allocated, allocator.peak_reserved, dry.reserved(), dry.report()


def stem_of(out, name, size, rank, kind):
    return os.path.join(out, f"{name}-{size}{'' if rank is None else f'.rank{rank}'}.{kind}")


def case(kind, name, size, rank, ranks, out, gpu, port, capacity):
    """Runs one case. Called in a child process."""
    stem = stem_of(out, name, size, rank, kind) + (f".{capacity >> 20}" if capacity else "")
    if rank is not None:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                          MASTER_ADDR="localhost", MASTER_PORT=str(port))
    signal.alarm(MOST_SECONDS)
    os.environ["HF_HUB_OFFLINE"] = "1"
    if kind == "dry":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    start = time.time()
    found = {}
    with open(stem + ".log", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            snapshot, allocated, reserved, between, said = really(name, size, capacity) if kind == "real" else dryly(name, size, capacity, gpu)
            found = {"allocated": allocated, "reserved": reserved, "range": between, "said": said, "seconds": time.time() - start}
            with open(stem + ".txt", "w") as file:
                file.write("\n".join(sizes(snapshot)))
            if os.environ.get("KEEP"):
                with open(stem + ".pickle", "wb") as file:
                    pickle.dump(snapshot, file)
        except BaseException as why:
            traceback.print_exc()
            found = {"error": f"{type(why).__name__}: {' '.join(str(why).split())[:300]}"}
    with open(stem + ".json", "w") as file:
        json.dump(found, file)
    os._exit(0)


def run_all(cases, jobs, out, ranks, gpu):
    """Starts the ranks of a real case one after another, so that two cases cannot wait for each other's last rank."""
    running = set()
    for at, (kind, name, size, rank, capacity) in enumerate(cases):
        while len(running) >= max(jobs, ranks):
            running.discard(os.wait()[0])
        pid = os.fork()
        if not pid:
            case(kind, name, size, rank, ranks, out, gpu, 29500 + at // max(1, ranks), capacity)
        running.add(pid)
    while running:
        running.discard(os.wait()[0])


def spread(dry):
    """Returns the dry run's reservations about reserved memory: "about", a range, both, or "" if it is one exact figure."""
    least, most = (f"{size / 2**20:,.0f}" for size in dry["range"])
    word = next((word for word in ("at least", "about") if word in dry["said"][-1]), "")
    return f"{word} {'' if least == most else f'{least} to {most}'}".strip()


def table(names, out, ranks):
    results, lines = [], []
    for name, rank in itertools.product(names, ranks):
        label, rows = f"{name}{'' if rank is None else f' rank {rank}'}", []
        for size in range(3):
            both = {}
            for kind in ("dry", "real"):
                path = stem_of(out, name, size, rank, kind) + ".json"
                both[kind] = json.load(open(path)) if os.path.exists(path) else {"error": "no result"}
            dry, real = both["dry"], both["real"]
            results.append({"name": name, "size": size, "rank": rank, **both})
            if "error" in dry or "error" in real:
                peaks = [" / ".join(f"{found[what] / 2**20:,.0f}" for what in ("allocated", "reserved")) if "error" not in found
                         else found["error"] for found in (dry, real)]
                lines.append(f"| {label} {'SML'[size]} | {peaks[0]} | {peaks[1]} |")
                continue
            off = [100 * (dry[what] / real[what] - 1) for what in ("allocated", "reserved")]
            results[-1]["off"] = off
            mib = [f"{real[what] / 2**20:,.0f}" for what in ("allocated", "reserved")]
            rows.append([mib[0], f"{off[0]:+.2f}", mib[1], f"{off[1]:+.2f}", spread(dry) or "one figure"])
        cells = [" / ".join(column if len(set(column)) > 1 else column[:1]) for column in zip(*rows)]
        lines += ["| " + " | ".join([label, *cells]) + " |"] if rows else []
    for n, what in enumerate(("allocated", "reserved")):
        found = sorted(abs(r["off"][n]) for r in results if "off" in r)
        if found:
            lines.append(f"{what}: median {found[len(found) // 2]:.2f} %, 90 % of cases within {found[len(found) * 9 // 10]:.2f} %, most {found[-1]:.2f} %, "
                         f"{sum(f <= (2, 4)[n] for f in found)} of {len(results)} within {(2, 4)[n]} %")
    told = [r for r in results if "off" in r and r["dry"]["range"][0] <= r["real"]["reserved"] <= r["dry"]["range"][1] or
            "off" in r and abs(r["off"][1]) <= 4 or "off" in r and spread(r["dry"])[:1] == "a"]
    lines.append(f"reserved within 4 %, in the range, or said to be rough: {len(told)} of {sum('off' in r for r in results)}")
    json.dump(results, open(os.path.join(out, "results.json"), "w"), indent=0)
    return lines


def sides(truth, names, jobs, out, gpu):
    found = {r["name"]: r["real"] for r in json.load(open(truth)) if r["size"] == 1 and "error" not in r["real"]}
    cases = []
    for name in [n for n in names if n in found]:
        low, high = int(found[name]["allocated"] * 0.98), int(found[name]["reserved"] * 1.02)
        cases += [(kind, name, 1, None, capacity) for capacity in (low, (low + high) // 2, high) for kind in ("dry", "real")]
    run_all(cases, jobs, out, 0, gpu)
    lines, right, likely, open_ = [], 0, 0, 0
    for dry, real in zip(cases[::2], cases[1::2]):
        name, capacity = dry[1], dry[4]
        said = []
        for kind, *_ in (dry, real):
            path = stem_of(out, name, 1, None, kind) + f".{capacity >> 20}.json"
            error = json.load(open(path)).get("error", "") if os.path.exists(path) else "no result"
            said.append("fits" if not error else "does not fit" if "OutOfMemory" in error else error.partition(": ")[2])
        right += said[0].replace("probably ", "") == said[1]
        likely += said[0].startswith("probably")
        open_ += said[0] == "may not fit"
        lines.append(f"| {name} M | {capacity >> 20:,} | {said[0]} | {said[1]} |")
    return lines + [f"{right} of {len(lines)} right, {open_} undecided, {len(lines) - right - open_} wrong; {likely} say \"probably\""]


def main():
    import torch  # noqa: F401  imported before the forks, so that each child starts with it
    import programs, strangers, unseen  # noqa: F401
    with contextlib.suppress(ImportError):
        import torchvision  # noqa: F401
        with contextlib.redirect_stderr(io.StringIO()):
            from transformers import BertForSequenceClassification, GPT2LMHeadModel, T5ForConditionalGeneration, Trainer  # noqa: F401
    options = argparse.ArgumentParser()
    options.add_argument("out")
    options.add_argument("names", nargs="*")
    options.add_argument("--jobs", type=int, default=14)
    options.add_argument("--gpu", default="h100-80gb")
    options.add_argument("--dry-only", action="store_true")
    options.add_argument("--real-only", action="store_true")
    options.add_argument("--ranks", type=int, default=0)
    options.add_argument("--sides", metavar="RESULTS")
    asked = options.parse_args()
    names = asked.names or (programs.RANKED_NAMES if asked.ranks else programs.NAMES)
    os.makedirs(asked.out, exist_ok=True)
    if asked.sides:
        print("\n".join(sides(asked.sides, names, asked.jobs, asked.out, asked.gpu)))
        return
    kinds = [kind for kind, skipped in (("real", asked.dry_only or asked.ranks > 2), ("dry", asked.real_only)) if not skipped]
    ranks = list(range(asked.ranks)) if 0 < asked.ranks <= 2 else [0 if asked.ranks else None]
    run_all([(kind, name, size, rank, 0) for kind in kinds for name in names for size in SIZES for rank in ranks],
            asked.jobs, asked.out, asked.ranks, asked.gpu)
    print("\n".join(table(names, asked.out, ranks)))


if __name__ == "__main__":
    main()
