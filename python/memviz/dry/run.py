"""Starts a dry run in this process, ends it after some optimizer steps, and writes its snapshot."""

import atexit, functools, os, pickle, re, sys, weakref
from typing import Any, Dict, List, Optional, Tuple

VERSION = sys.modules["torch"].__version__
if [int(number) for number in VERSION.split(".")[:2]] < [2, 2]:
    sys.exit(f"memviz: a dry run needs PyTorch 2.2 or later; this is {VERSION}")

from . import allocator, kernels

CONTEXT = 756 << 20  # CUDA context and kernel code, measured on an H100 after a bf16 matrix product and a convolution
NCCL = 840 << 20  # a group and its first collective, measured on two H200s with NVLink, NCCL 2.28.9 (bench/dry_run/nccl_memory.py)
STEPS = 3
OFF, OFF_ROUGH = 0.01, 0.15  # largest errors of reserved bytes, above those of 72 exact and 51 rough predictions (docs/dry-run.md, accuracy)
PATIENCE = 10  # an optimizer may make that many times --steps while it waits for another; GANs often train one of the two 5 times as often
KEEP: List[Any] = []  # objects to which C++ has pointers

class DryRun:
    """A dry run, which changes this process permanently. If `path` is empty, no snapshot is written."""
    def __init__(self, path: str, gpu: Optional[str] = None, steps: int = STEPS, ranks: int = 0, expect: bool = False) -> None:
        from . import recorder
        from ..recording import host, rank
        words = {"p": str(os.getpid()), "r": rank(), "h": host(), "%": "%"}
        self.path = re.sub("%([prh%])", lambda found: words[found[1]], path)
        self.steps, self.ranks, self.expect, self.is_done, self.is_stopped = steps, ranks, expect, False, False
        self.gpu = chosen_gpu(gpu or kernels.DEFAULT_GPU)
        self.recorder = recorder.Recorder(int(os.environ.get("LOCAL_RANK", "0")) + 1, self.gpu)
        self.counts: Any = weakref.WeakKeyDictionary()  # number of steps, by optimizer
        self.peaks = 0, 0, 0  # number of events, and the bounds of reserved bytes up to that event
    def start(self, ends_process: bool) -> None:
        import torch
        from . import cuda, recorder
        if not ends_process or not torch.cuda.is_available():  # a copy of a process cannot use the GPU
            KEEP.append(recorder.guard_without_gpu(lambda: self.recorder.device, len(self.recorder.allocators)))
        cuda.install(self.recorder, self.gpu, len(self.recorder.allocators), self.ranks, self.snapshot)
        self.recorder.fake.__enter__()
        self.recorder.__enter__()
        self.calibrate(torch)
        if ends_process:
            self.count_steps()
            atexit.register(self.finish)
    def calibrate(self, torch: Any) -> None:
        """Runs a backward pass that adds two gradients, to check that backward passes work and to set Recorder.sole."""
        self.recorder.ignores += 1
        x = torch.ones(4, device="cuda", requires_grad=True)
        y = x * 2
        (y * 3 + y * 2).sum().backward()
        self.recorder.ignores -= 1
        if self.recorder.sole < 0:
            raise RuntimeError(f"PyTorch {torch.__version__}: memviz's stand-in for autograd's engine is not called")
    def count_steps(self) -> None:  # ends the program after the N-th step of each optimizer, because there is nothing to save
        optim = sys.modules["torch.optim.optimizer"]
        init = optim.Optimizer.__init__
        @functools.wraps(init)
        def counted(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            init(optimizer, *args, **kwargs)
            self.counts.setdefault(optimizer, 0)
        def stepped(optimizer: Any, *_: Any) -> None:
            self.counts[optimizer] = self.counts.get(optimizer, 0) + 1
            if min(self.counts.values()) >= self.steps or self.counts[optimizer] >= PATIENCE * self.steps:
                self.is_stopped = True
                self.finish()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        optim.Optimizer.__init__ = counted
        optim.register_optimizer_step_post_hook(stepped)
    def stop(self) -> str:  # where the program was stopped
        least, most = min(self.counts.values()), max(self.counts.values())
        idle = f"; of {len(self.counts)} optimizers, one made {least}" if least < self.steps else ""
        return (f"stopped after {most} step{'s' * (most > 1)}{idle} (see --steps): "
                "memory that the program needs later, such as for an evaluation, is not included")
    def snapshot(self) -> Dict[str, Any]:
        allocators = self.recorder.allocators
        settings = {**allocators[0].settings.snapshot(), "dry_run": True, "dry_run_gpu": self.gpu.name, **self.doubts()}
        return {"segments": [s for a in allocators for s in a.segments()], "device_traces": [a.events for a in allocators],
                "allocator_settings": settings, "external_annotations": []}
    def doubts(self) -> Dict[str, Any]:
        least, most = self.reserved()
        return {"dry_run_at_least": bool(self.recorder.notes["not known"]), "dry_run_about": bool(self.recorder.notes["rough"]),
                "dry_run_reserved_least": least, "dry_run_reserved_most": most}
    def finish(self) -> None:
        if self.is_done:
            return
        self.is_done = True
        is_empty = not any(a.events for a in self.recorder.allocators)
        if self.path and not is_empty:
            part = f"{self.path}.{os.getpid()}.part"
            with open(part, "wb") as file:
                pickle.dump(self.snapshot(), file)
            os.replace(part, self.path)
        if self.expect and not is_empty:
            return print(self.verdict())
        for line in ["the program allocated no GPU memory: nothing to predict"] if is_empty else self.report():
            print(f"memviz: {line}", file=sys.stderr)
    def report(self) -> List[str]:
        lines = [f"{word}: {reason}{': ' * bool(where)}{', '.join(where[:3])}{' ...' * (len(where) > 3)}"
                 for word, reasons in self.recorder.notes.items() for reason, where in reasons.items()]
        least, most = self.reserved()
        if between(least, most) != size(least):
            late = "the time that the GPU needs, and NCCL's watchdog, and " * bool(self.worst().late or self.worst().pending)
            lines.append(f"between: {late}the addresses that the driver chooses decide which free memory is used again")
        events = f"{sum(len(a.events) for a in self.recorder.allocators):,} events, predicted: {self.path}"
        return lines + ([self.stop()] if self.is_stopped else []) + [self.verdict()] + [events] * bool(self.path)
    def worst(self) -> allocator.Allocator:
        return max(self.recorder.allocators, key=lambda a: a.peak_reserved)
    def reserved(self) -> Tuple[int, int]:  # bounds of the reserved bytes at the peak
        worst = self.worst()
        if self.peaks[0] != len(worst.events):
            peaks = [a.peak_reserved for a in (worst, *allocator.others(worst))]
            self.peaks = len(worst.events), min(peaks), max(peaks)
        return self.peaks[1:]
    def verdict(self) -> str:
        (low, most), notes, distributed = self.reserved(), self.recorder.notes, sys.modules["torch.distributed"]
        several = distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
        beside = CONTEXT + (NCCL if several else 0)
        room, name = self.gpu.memory - beside, self.gpu.name
        least = "at least " if notes["not known"] else "about " if notes["rough"] else ""
        part, found = "what is known " if notes["not known"] else "", self.side(room)
        fits = {"fits": f"{part}fits {name} with {size(room - most)} to spare", "may not fit": f"may not fit {name}, which has a size in this range",
                "does not fit": f"does not fit {name}, by {size(self.worst().peak_reserved - room)}",
                "fits without its cache": f"{part}fits {name} only because PyTorch releases its cache"}.get(
                    found, f"{part}{found} {name}: such a prediction is up to {self.off():.0%} off")
        return (f"needs {least}{between(low, most)} reserved "
                f"({between(low + beside, most + beside)} with the context{' and NCCL' * several}): {fits}")
    def off(self) -> float:
        return OFF_ROUGH if self.recorder.notes["rough"] else OFF
    def side(self, room: int) -> str:
        return allocator.side(self.worst(), room, *self.reserved(), self.off())

def size(count: int, like: int = 0) -> str:  # a size in the unit that suits the larger number
    gib, most = count / (1 << 30), max(count, like) / (1 << 30)
    return f"{gib:.1f} GiB" if most >= 10 else f"{gib:.2f} GiB" if most >= 1 else f"{count / (1 << 20):.0f} MiB"
def between(low: int, most: int) -> str:
    return size(most) if size(low, most) == size(most) else f"{size(low, most)} to {size(most)}"

def chosen_gpu(name: str) -> kernels.Gpu:  # the GPU with this name in kernels.GPUS, or with this memory in MiB
    if name.lower() in kernels.GPUS:
        return kernels.GPUS[name.lower()]
    if name.isdigit():
        base = kernels.GPUS[kernels.DEFAULT_GPU]
        return kernels.Gpu(f"a GPU of {name} MiB", int(name) / 1024, base.major, base.minor, base.processors)
    sys.exit(f"memviz: --gpu {name}: unknown GPU; use one of {', '.join(kernels.GPUS)}, or a number of MiB")
