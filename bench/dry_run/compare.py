"""Runs each program dry (GPU hidden) and for real, each in a process of its own, and prints the table of docs/dry-run.md:

    python bench/dry_run/compare.py OUT [NAME...] [--jobs 14] [--gpu h100-80gb] [--dry-only] [--real-only]

OUT gets results.json and, for each case, the sizes that both allocated, in order (NAME-SIZE.dry.txt, .real.txt)."""

import argparse
import contextlib
import io
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


def sizes(snapshot):
    rows = []
    for event in snapshot["device_traces"][0]:
        if event["action"] in ("alloc", "free_completed"):
            frames = event.get("frames") or [{"filename": "", "line": 0, "name": ""}]
            user = next((f for f in frames if "/torch/" not in f["filename"] and f["filename"].endswith(".py")), frames[0])
            rows.append(f"{'+' if event['action'] == 'alloc' else '-'}{event['size']} {os.path.basename(user['filename'])}:{user['line']}")
    return rows


def really(name, size, out):
    import torch
    import programs
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
    stopped(torch, programs, name, size)
    torch.cuda.synchronize()
    snapshot = torch.cuda.memory._snapshot()
    free, total = torch.cuda.mem_get_info()
    return snapshot, torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), []


class Done(BaseException):
    pass


def stopped(torch, programs, name, size):
    """The program until the end of its last optimizer step, as a dry run does it."""
    steps = 0

    def hook(*_):
        nonlocal steps
        steps += 1
        if steps == programs.STEPS:
            raise Done

    sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(hook)
    with contextlib.suppress(Done):
        getattr(programs, name)(size)


def dryly(name, size, out, gpu):
    import torch
    import programs
    from memviz.dry import run
    dry = run.DryRun("", gpu)
    dry.start(ends_process=False)
    stopped(torch, programs, name, size)
    allocator = dry.recorder.allocators[0]
    return dry.snapshot(), allocator.peak_allocated, allocator.peak_reserved, dry.report()


def case(kind, name, size, out, gpu):
    """In a child."""
    stem = os.path.join(out, f"{name}-{size}.{kind}")
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
            snapshot, allocated, reserved, said = really(name, size, out) if kind == "real" else dryly(name, size, out, gpu)
            found = {"allocated": allocated, "reserved": reserved, "said": said, "seconds": time.time() - start}
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


def run_all(cases, jobs, out, gpu):
    running = {}
    for kind, name, size in cases:
        while len(running) >= jobs:
            running.pop(os.wait()[0], None)
        pid = os.fork()
        if not pid:
            case(kind, name, size, out, gpu)
        running[pid] = (kind, name, size)
    while running:
        running.pop(os.wait()[0], None)


def table(names, out):
    results, lines = [], []
    for name in names:
        for size in range(3):
            both = {}
            for kind in ("dry", "real"):
                path = os.path.join(out, f"{name}-{size}.{kind}.json")
                both[kind] = json.load(open(path)) if os.path.exists(path) else {"error": "no result (killed)"}
            dry, real = both["dry"], both["real"]
            results.append({"name": name, "size": size, **both})
            if "error" in dry or "error" in real:
                lines.append(f"| {name} {'SML'[size]} | {dry.get('error', 'ok')} | {real.get('error', 'ok')} |")
                continue
            off = [100 * (dry[what] / real[what] - 1) for what in ("allocated", "reserved")]
            results[-1]["off"] = off
            mib = [f"{both[kind][what] / 2**20:,.0f}" for what in ("allocated", "reserved") for kind in ("dry", "real")]
            lines.append(f"| {name} {'SML'[size]} | {mib[0]} | {mib[1]} | {off[0]:+.2f} | {mib[2]} | {mib[3]} | {off[1]:+.2f} | {dry['seconds']:.1f} |")
    for n, what in enumerate(("allocated", "reserved")):
        found = sorted(abs(r["off"][n]) for r in results if "off" in r)
        if found:
            lines.append(f"{what}: median {found[len(found) // 2]:.2f} %, 90 % of cases within {found[len(found) * 9 // 10]:.2f} %, most {found[-1]:.2f} %, "
                         f"{sum(f <= (2, 4)[n] for f in found)} of {len(results)} within {(2, 4)[n]} %")
    json.dump(results, open(os.path.join(out, "results.json"), "w"), indent=0)
    return lines


def main():
    import torch  # noqa: F401  before the forks: each child starts with it
    import programs
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
    asked = options.parse_args()
    names = asked.names or programs.NAMES
    os.makedirs(asked.out, exist_ok=True)
    kinds = [kind for kind, skipped in (("real", asked.dry_only), ("dry", asked.real_only)) if not skipped]
    run_all([(kind, name, size) for kind in kinds for name in names for size in (2, 1, 0)], asked.jobs, asked.out, asked.gpu)
    print("\n".join(table(names, asked.out)))


if __name__ == "__main__":
    main()
