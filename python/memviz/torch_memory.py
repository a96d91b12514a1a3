"""PyTorch's recorder and its snapshots."""

import importlib
import inspect
import os
import pickle
import sys
from typing import Any, Optional

from . import compact
from .native import Error, Path


def torch_with_cuda(what: str) -> Any:
    """The module torch, which is imported if the program has not done so, if it sees a device."""
    torch = sys.modules.get("torch") or imported(what)
    if not torch.cuda.is_available():
        raise Error(f"{what}: PyTorch {torch.__version__} sees no CUDA device here")
    return torch


def imported(what: str) -> Any:
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as why:
        if why.name != "torch":
            raise Error(f"{what}: PyTorch cannot be imported: {why}") from None
        raise Error(f"{what}: PyTorch (torch) is not installed for {sys.executable}: use the Python that trains, or "
                    "install PyTorch; a program without PyTorch is recorded by: memviz run -- CMD") from None
    except Exception as why:  # such as a missing CUDA library
        raise Error(f"{what}: PyTorch cannot be imported: {' '.join(str(why).split())}") from None


def snapshot(path: Path) -> str:
    """Writes the state of PyTorch's allocator, and its recorded history, to a file. It is compact
    msgpack; a name that ends in .pickle gets PyTorch's own format, which is three times the size.
    The file is complete or absent. Returns its path."""
    name = os.fspath(path)
    data = torch_with_cuda("memviz.snapshot").cuda.memory._snapshot()
    part = f"{name}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            if name.endswith(".pickle"):
                pickle.dump(data, file)
            else:
                compact.write_snapshot(data, file)
        os.replace(part, name)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
    return name


class History:
    """PyTorch's recorder is on from start() to stop(). Overlapping recordings share it, and the last one
    stops it; a recorder started by the program itself stays as it is."""

    running = 0  # of ours

    def __init__(self, max_entries: int, stacks: Optional[str]) -> None:
        self.options = {"enabled": "all", "context": "all" if stacks else None, "stacks": stacks or "python",
                        "max_entries": max_entries, "global_record_annotations": True}
        self.is_ours = False

    def start(self) -> None:
        torch = torch_with_cuda("memviz.record")
        torch.cuda.init()
        record = torch.cuda.memory._record_memory_history
        known = inspect.signature(record).parameters
        if "max_entries" not in known or not hasattr(torch._C, "_cuda_isHistoryEnabled"):
            raise Error(f"memviz.record: PyTorch {torch.__version__} is too old; it needs 2.1")
        self.is_ours = History.running > 0 or not torch._C._cuda_isHistoryEnabled()
        if self.is_ours and not History.running:
            record(**{key: value for key, value in self.options.items() if key in known})
        History.running += self.is_ours

    def stop(self) -> None:
        History.running -= self.is_ours
        if self.is_ours and not History.running:
            sys.modules["torch"].cuda.memory._record_memory_history(enabled=None)
        self.is_ours = False
