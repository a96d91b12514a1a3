"""memviz.dry_run: predicts how much GPU memory a function uses, without a GPU and without computing anything."""

import json, os, sys, traceback
from typing import Any, Callable, Dict, Optional

from .native import Error, Path
from .torch_memory import imported

def dry_run(function: Callable[[], Any], path: Path = "", *, gpu: Optional[str] = None, steps: int = 1,
            ranks: int = 0) -> Dict[str, Any]:
    """Calls a function `steps` times in a forked copy of this process, in which tensors on the GPU take no memory and
    nothing is computed. The function must create its model and data itself, and may keep them between calls. It must
    not use tensors that this process has on a GPU.
    path   file for a snapshot in PyTorch's format; if empty, no snapshot is written
    gpu    a name such as "h100-80gb", or the GPU's memory in MiB

    Returns a dict with these keys:
    allocated, reserved          the peaks in bytes
    reserved_least,              bounds of the reserved peak, which depends on the addresses that the driver
    reserved_most                chooses and on the speed of the GPU
    at_least                     True if something was unknown
    about                        True if something was estimated
    verdict                      a sentence
    notes                        a list of strings"""
    imported("memviz.dry_run")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            from .dry import run
            dry = run.DryRun(os.fspath(path), gpu, ranks=ranks)
            dry.start(ends_process=False)
            for _ in range(steps):
                function()
            dry.finish()
            answer = {"allocated": dry.worst().peak_allocated, "reserved": dry.worst().peak_reserved,
                      **{name[len("dry_run_"):]: value for name, value in dry.doubts().items()},
                      "verdict": dry.verdict(), "notes": dry.report()[:-1]}
        except BaseException as why:
            traceback.print_exc()
            answer = {"error": f"{type(why).__name__}: {why}"}
        with os.fdopen(writing, "w") as file:
            json.dump(answer, file)
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(child, 0)
    found: Dict[str, Any] = json.loads(text) if text else {"error": "the child process ended early"}
    if "error" in found:
        raise Error(f"memviz.dry_run: {found['error']}")
    return found
