"""Starts a dry run when a program imports torch: what `memviz dry-run` asks for is in the environment."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, Optional, Sequence

NAMES = "MEMVIZ_DRY_RUN", "MEMVIZ_DRY_RUN_STEPS", "MEMVIZ_DRY_RUN_GPU", "MEMVIZ_DRY_RUN_RANKS", "MEMVIZ_DRY_RUN_EXPECT"


def ask() -> Any:
    path, steps, gpu, ranks, expect = (os.environ.get(name, "") for name in NAMES)
    from . import run
    return run.DryRun(path, gpu or None, int(steps or run.STEPS), int(ranks or 0), bool(expect))


def is_launcher() -> bool:
    """A process that starts those of the ranks, with this environment: each of them is a dry run."""
    words = [*getattr(sys, "orig_argv", [])[1:4], *sys.argv[:1]]
    return any(os.path.basename(word) in ("torchrun", "torch.distributed.run", "torch.distributed.launch") for word in words)


class Loader(importlib.abc.Loader):
    """torch's own loader, and then the dry run."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        made: Optional[ModuleType] = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        if not is_launcher():
            ask().start(ends_process=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Optional[Sequence[str]],
                  target: Optional[ModuleType] = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            spec.loader = Loader(spec.loader)
        return spec


def install() -> None:
    sys.meta_path.insert(0, Finder())
