"""Controls PyTorch's recorder, and writes its snapshots."""

import importlib
import inspect
import os
import pickle
import struct
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from . import names
from .native import Error, Path


class NoDevice(Error):
    """PyTorch finds no GPU, so nothing can be recorded, but this is not an error in the program."""


def torch_with_cuda(what: str) -> Any:
    """Returns the module torch, and imports it if the program has not done so. Raises NoDevice if PyTorch finds no
    device."""
    torch = sys.modules.get("torch") or imported(what)
    if not torch.cuda.is_available():
        raise NoDevice(f"{what}: PyTorch {torch.__version__} sees no CUDA device here")
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


def snapshot(path: Path, named: Any = None) -> str:
    """Writes the state of PyTorch's allocator, and its recorded history, to a file: as PyTorch's pickle, or as
    msgpack with the same content if the name ends in .msgpack. The file is either complete or absent. Returns its
    path.

    `named` has the same meaning as names= in memviz.record."""
    name = os.fspath(path)
    torch = torch_with_cuda("memviz.snapshot")
    data = torch.cuda.memory._snapshot()
    rows = names.rows_of(torch, named)
    if rows:
        data[names.KEY] = rows
    part = f"{name}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            if name.endswith(".msgpack"):
                pack(data, file.write, {})
            else:
                pickle.dump(data, file)
        os.replace(part, name)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
    return name


def pack(value: Any, write: Callable[[bytes], Any], stacks: Dict[int, bytes]) -> None:
    """Writes dicts, lists and scalars as msgpack. `stacks` contains the packed lists of frames by identity,
    because PyTorch uses the same list for all events of a call."""
    if isinstance(value, Mapping):
        write(length(0x80, 16, (0xDE, 0xDF), len(value)))
        for key, item in value.items():
            pack(key, write, stacks)
            if key != "frames":
                pack(item, write, stacks)
                continue
            if id(item) not in stacks:
                parts: List[bytes] = []
                pack(item, parts.append, stacks)
                stacks[id(item)] = b"".join(parts)
            write(stacks[id(item)])
    elif isinstance(value, (list, tuple)):
        write(length(0x90, 16, (0xDC, 0xDD), len(value)))
        for item in value:
            pack(item, write, stacks)
    elif isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        write((struct.pack(">BB", 0xD9, len(data)) if 32 <= len(data) < 256 else
               length(0xA0, 32, (0xDA, 0xDB), len(data))) + data)
    elif value is None or isinstance(value, bool):
        write({None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value])
    elif isinstance(value, float):
        write(struct.pack(">Bd", 0xCB, value))
    elif -32 <= value < 128:
        write(struct.pack("B", value & 255))
    elif value < 0:
        write(struct.pack(">Bq", 0xD3, value))
    else:
        write(struct.pack(">BI", 0xCE, value) if value < 1 << 32 else struct.pack(">BQ", 0xCF, value))


def length(small: int, most: int, codes: Tuple[int, int], count: int) -> bytes:
    if count < most:
        return bytes((small | count,))
    return struct.pack(">BH", codes[0], count) if count < 1 << 16 else struct.pack(">BI", codes[1], count)


class History:
    """Switches PyTorch's recorder on with start() and off with stop(). Overlapping recordings share the recorder,
    and the last one switches it off. A recorder that the program itself has started is not changed."""

    running = 0  # number of our recordings

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
