"""memviz.dry_run: predicts how much GPU memory a function uses, without a GPU and without computing anything."""

import json, os, sys, traceback
from typing import Any, Callable, Dict, Optional

from .native import Error, Path
from .torch_memory import imported

def dry_run(function: Callable[[], Any], path: Path = "", *, gpu: Optional[str] = None, steps: int = 1,
            ranks: int = 0) -> Dict[str, Any]:
    """Calls a function `steps` times in a forked copy of this process, in which tensors on the GPU take no memory and
    nothing is computed. The function must create its model and data itself, and may keep them between calls. It must
    not use tensors that this process has on a GPU. If the process can use a GPU, call this before its first backward
    pass, because PyTorch's autograd does not work in a copy of a process in which its threads have started.
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
    torch = imported("memviz.dry_run")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            torch.set_num_threads(1)  # OpenMP's threads are not in the copy, and a parallel loop would wait for them
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
    status = os.waitpid(child, 0)[1]
    ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
    found: Dict[str, Any] = json.loads(text) if text else {"error": f"the copy of this process ended with {ended}"}
    if "error" in found:
        advice = "; call it before this process runs a backward pass, or use the command memviz dry-run"
        raise Error(f"memviz.dry_run: {found['error']}{advice * (not text or 'fork' in found['error'])}")
    return found
