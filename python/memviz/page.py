"""memviz.show: makes a page that contains the viewer and the snapshot."""

import os
import sys
import tempfile
import webbrowser
from typing import Any

from .native import Path, named, run, shown


class Page:
    """The result of show(), which a notebook displays."""

    def __init__(self, html: str, height: int) -> None:
        self.html = html
        self.height = height

    def __repr__(self) -> str:
        return f"<memviz.Page of {len(self.html)} bytes>"

    def _repr_html_(self) -> str:
        # The page must run its scripts, but needs no access to the notebook.
        text = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return (f'<iframe srcdoc="{text}" sandbox="allow-scripts allow-downloads" allowfullscreen '
                f'style="width: 100%; height: {self.height}px; border: 0"></iframe>')


def shell_of_notebook() -> Any:
    """Returns IPython's shell if its output is a notebook; None in a terminal or a script."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def show(path: Path, *options: str, height: int = 720) -> Page:
    """Shows a snapshot in the viewer. `options` are those of `memviz trace_plot`, such as "--filter",
    "leak". In a notebook, the page appears in the output. Otherwise it is written to PATH.html, and opened in
    the browser if there is a display."""
    name = os.fspath(path)
    if shell_of_notebook():
        with tempfile.TemporaryDirectory(prefix="memviz-") as folder:
            return Page(written(name, os.path.join(folder, "page.html"), options), height)
    target = name + ".html"
    page = Page(written(name, target, options), height)
    print(f"memviz: {shown(target)}")
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open("file://" + os.path.abspath(target))
    return page


def written(snapshot: str, target: str, options: Any) -> str:
    done = run("trace_plot", named(snapshot), "-o", target, *options)
    print(done.stderr, end="", file=sys.stderr)  # such as a note that this is a still picture, not the viewer
    with open(target, encoding="utf-8") as file:
        return file.read()
