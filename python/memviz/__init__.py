"""Records what PyTorch allocates in GPU memory, marks what the program does, and shows the result with memviz.

    import memviz

    with memviz.record("run.pickle"):      # also writes a snapshot at each out-of-memory error
        train()
    memviz.show("run.pickle")              # the viewer, in a notebook or a browser

The analysis itself is done by the program `memviz`, which `python -m memviz` runs."""

from .dry_run import dry_run
from .marks import Heap, heap, mark, pause, pop, push, range, resume
from .names import name
from .page import Page, show
from .native import Error, program, report, run
from .recording import record
from .torch_memory import snapshot

__version__ = "0.1.0"
__all__ = ["Error", "Heap", "Page", "dry_run", "heap", "mark", "name", "pause", "pop", "program", "push", "range",
           "record", "report", "resume", "run", "show", "snapshot"]


def load_ipython_extension(shell: object) -> None:
    """Registers the magics `%%memviz` and `%memviz`. Called by `%load_ext memviz`."""
    from .notebook import load

    load(shell)
