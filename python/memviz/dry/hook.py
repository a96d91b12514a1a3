"""Starts a dry run when a program imports torch. The options of `memviz dry-run` are in the environment."""

import atexit, importlib.abc, importlib.util, os, sys
from types import ModuleType
from typing import Any, Optional

def start() -> None:  # not in a process that only starts the ranks: each rank inherits the environment and is a dry run
    words = [*getattr(sys, "orig_argv", [])[1:4], *sys.argv[:1]]
    if any(os.path.basename(word) in ("torchrun", "torch.distributed.run", "torch.distributed.launch") for word in words):
        return
    names = ("", "_STEPS", "_GPU", "_RANKS", "_EXPECT")
    path, steps, gpu, ranks, expect = (os.environ.get("MEMVIZ_DRY_RUN" + name, "") for name in names)
    from . import run
    run.DryRun(path, gpu or None, int(steps or run.STEPS), int(ranks or 0), bool(expect)).start(ends_process=True)

class Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        atexit.register(self.finish)
    def finish(self) -> None:  # only in the process that memviz dry-run became, not in its children
        if self in sys.meta_path and os.environ.get("MEMVIZ_DRY_RUN_PROCESS") == str(os.getpid()):
            print("memviz: the program did not import torch: nothing to predict", file=sys.stderr)
    def find_spec(self, name: str, path: Any, target: Optional[ModuleType] = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            load = spec.loader.exec_module
            def loaded(module: ModuleType) -> None:
                load(module)
                start()
            setattr(spec.loader, "exec_module", loaded)
        return spec
