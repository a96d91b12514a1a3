"""memviz.record: records a part of a program with PyTorch's recorder, and writes snapshots on out-of-memory."""

import contextlib
import os
import re
import sys
from typing import Any, List, Optional

from . import marks, names as naming
from .native import Error, Path, shown
from .torch_memory import History, NoDevice, snapshot, torch_with_cuda

MOST_OOM_SNAPSHOTS = 10  # for each recording; programs that search for a batch size often run out of memory
RANKS = ("RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")  # in the order of `memviz run`

active: List["record"] = []  # active recordings, the innermost last
observed: List[Any] = []  # torch modules with our observer; PyTorch never removes observers


class record(contextlib.ContextDecorator):
    """Records PyTorch's allocations while a `with` block or a decorated function runs, and writes a
    snapshot at the end, even after an exception.

    path         %p becomes the process id, %r the rank (0 if there is none), %h the host, and %% a %
    max_entries  the number of events to keep; older events are dropped. An event takes 0.3 to 1 KB of host
                 memory, depending on its stack
    stacks       "python", "all" (includes C++ frames, and is slower), or None
    on_oom       whether to also write a snapshot each time an allocation fails: run-oom1.pickle,
                 run-oom2.pickle, ... for run.pickle
    names        a module, an optimizer, a list or dict of them, or a function that returns these;
                 snapshots then contain the address, name, shape and type of each parameter, gradient,
                 buffer and optimizer state. A module's optimizers are found automatically. The tensors
                 are listed when a snapshot is written, and not kept alive

    If PyTorch is recording already, for example within another record(), its recorder is not changed. If
    PyTorch finds no CUDA device, the block runs without a recording, and a line on standard error reports
    this."""

    def __init__(self, path: Path = "memviz.%p.pickle", *, max_entries: int = 1_000_000,
                 stacks: Optional[str] = "python", on_oom: bool = True, names: Any = None) -> None:
        self.name = os.fspath(path)
        self.on_oom = on_oom
        self.max_entries, self.stacks = max_entries, stacks
        self.names = naming.Names(names)
        self.oom_paths: List[str] = []  # paths of the snapshots written at out-of-memory errors
        self.histories: List[Optional[History]] = []  # one history for each active entry; None: no device
        self.is_told = False  # whether the missing device was reported

    @property
    def path(self) -> str:
        words = {"p": str(os.getpid()), "r": rank(), "h": host(), "%": "%"}
        return re.sub("%([prh%])", lambda found: words[found[1]], self.name)

    def __enter__(self) -> "record":
        try:
            torch = torch_with_cuda("memviz.record")
        except NoDevice as why:
            if not self.is_told:
                say(f"{why}: nothing is recorded, {self.path} is not written")
            self.is_told = True
            self.histories.append(None)
            return self
        except Error as why:
            raise why.with_traceback(None) from None  # the chain of causes does not help the user
        history = History(self.max_entries, self.stacks)
        history.start()
        self.histories.append(history)
        naming.sources.append(self.names)
        active.append(self)
        marks.annotating.append(torch.profiler.record_function)
        if self.on_oom:
            observe(torch)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        history = self.histories.pop()
        if history is None:
            return
        active.remove(self)
        marks.annotating.pop()
        try:
            snapshot(self.path)
        except Exception as why:
            if error is None:
                raise
            say(f"{self.path}: {why}")  # the program's own exception takes precedence
        finally:
            naming.sources.remove(self.names)
            history.stop()

    def dump_oom(self) -> None:
        number = len(self.oom_paths) + 1
        if number > MOST_OOM_SNAPSHOTS:
            return
        stem, ending = os.path.splitext(self.path)
        path = f"{stem}-oom{number}{ending}"
        self.oom_paths.append(path)
        snapshot(path)
        say(f"out of memory: memviz oom {path}")


def rank() -> str:
    first = next(filter(None, map(os.environ.get, RANKS)), "")
    return str(int(first)) if re.fullmatch("[0-9]+", first) else "0"


def host() -> str:
    """Returns the host's name in a form that can be part of a file name, as in `memviz run -o`."""
    return re.sub("[^A-Za-z0-9.-]|^[.]", "_", os.uname().nodename)


def observe(torch: Any) -> None:
    if torch not in observed:
        torch._C._cuda_attach_out_of_memory_observer(ran_out)
        observed.append(torch)


def ran_out(*_: Any) -> None:
    """Writes a snapshot when memory has run out. PyTorch calls this before it raises its error; an exception
    here would replace that error."""
    try:
        for recording in reversed(active):
            if recording.on_oom:
                recording.dump_oom()
                return
    except Exception as why:
        say(f"no snapshot of the out-of-memory: {why}")


def say(text: str) -> None:
    print(f"memviz: {shown(text)}", file=sys.stderr, flush=True)
