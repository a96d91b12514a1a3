"""After `%load_ext memviz`, `%%memviz` records a cell and shows its memory, and `%memviz ARGUMENTS`
runs the program."""

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from typing import Any, NoReturn, Optional

from .page import shell_of_notebook, show
from .native import Error, run
from .recording import record


class Options(argparse.ArgumentParser):
    """A parser that raises errors instead of ending the interpreter, so that a magic can report
    them."""

    def error(self, message: str) -> NoReturn:
        from IPython.core.error import UsageError

        raise UsageError(f"%%memviz: {message}\n{self.format_usage().rstrip()}")


def options() -> Options:
    parser = Options(prog="%%memviz", add_help=False)
    parser.add_argument("-o", dest="path", metavar="FILE", help="keep the snapshot")
    parser.add_argument("--max-entries", type=int, default=1_000_000)
    parser.add_argument("--stacks", choices=("python", "all", "none"), default="python")
    parser.add_argument("--height", type=int, default=720)
    return parser


def record_cell(shell: Any, line: str, cell: str) -> None:
    from IPython.display import display

    given = options().parse_args(shlex.split(line))
    folder = tempfile.mkdtemp(prefix="memviz-")
    path = given.path or os.path.join(folder, "cell.pickle")
    try:
        with record(path, max_entries=given.max_entries,
                    stacks=None if given.stacks == "none" else given.stacks) as recording:
            shell.run_cell(cell)
        if recording.is_told:
            return
        # After an out-of-memory error, show the snapshot written at the error.
        page = show((recording.oom_paths or [recording.path])[-1], height=given.height)
        if shell_of_notebook():
            display(page)
    finally:
        if shell_of_notebook() or not os.listdir(folder):  # in a terminal, the browser still reads it
            shutil.rmtree(folder)


def run_line(line: str) -> None:
    done = run(*shlex.split(line), check=False)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)


def load(shell: Any) -> None:
    def memviz(line: str, cell: Optional[str] = None) -> None:
        """%%memviz [-o FILE] [--max-entries N] [--stacks python|all|none] [--height PIXELS]: records
        the cell and shows its memory. %memviz ARGUMENTS: runs the program memviz."""
        from IPython.core.error import UsageError

        try:
            if cell is None:
                run_line(line)
            else:
                record_cell(shell, line, cell)
        except Error as why:  # without a traceback
            raise UsageError(f"{'%memviz' if cell is None else '%%memviz'}: {why}") from None

    shell.register_magic_function(memviz, "line_cell", "memviz")
