"""Finds and runs the program `memviz`."""

import json
import os
import subprocess
from typing import Any, Dict, List, Union

Path = Union[str, "os.PathLike[str]"]

# In a wheel: bin/memviz, lib/memviz/libmemviz_capture.so, share/memviz/memviz.html.
NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")


class Error(RuntimeError):
    """A failure of memviz, described in one line."""

    __module__ = "memviz"  # name in tracebacks


def program() -> str:
    """Returns the path of the program: $MEMVIZ_PROGRAM, or else the program in this package, or else the first one
    on the PATH."""
    given = os.environ.get("MEMVIZ_PROGRAM")
    if given:
        return given
    folders = [os.path.join(NATIVE, "bin"), *os.get_exec_path()]
    for folder in folders:
        path = os.path.join(folder, "memviz")
        if os.path.isfile(path) and os.access(path, os.X_OK) and not is_ours(path):
            return path
    raise Error("the program memviz is neither in this package nor on the PATH: install the wheel, or build memviz "
                "and put it on the PATH, or name it in MEMVIZ_PROGRAM")


def not_started(path: str, why: OSError) -> Error:
    given = "MEMVIZ_PROGRAM is " if os.environ.get("MEMVIZ_PROGRAM") else ""
    return Error(f"{given}{shown(path)}: {why.strerror or why}")


def is_ours(path: str) -> bool:
    """Whether the path is the script that pip installs for this package, which would start itself forever."""
    with open(path, "rb") as file:
        return b"memviz.__main__" in file.read(1024)


def run(*arguments: Path, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Runs the program and returns what it printed. With `check`, raises Error for any status other than 0, 3 (a
    condition of --fail-on was met) and 4 (a condition is unknown)."""
    path = program()
    try:
        done = subprocess.run([path, *(word if isinstance(word, str) else named(word) for word in arguments)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", errors="surrogateescape")
    except OSError as why:
        raise not_started(path, why) from why
    if check and done.returncode not in (0, 3, 4):
        raise Error(done.stderr.strip() or f"memviz ended with status {done.returncode}")
    return done


def named(path: Path) -> str:
    """Returns a path in a form that cannot be mistaken for an option."""
    text = os.fspath(path)
    return "./" + text if text.startswith("-") else text


def shown(text: Path) -> str:
    """Returns text that is safe for a terminal: control sequences and invalid characters are escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in os.fspath(text))


def report(command: str, *arguments: Path) -> Dict[str, Any]:
    """Returns a report as `--json` prints it: report("peak", "run.pickle")["sites"]. If the first argument names a
    file, it is treated as the file even if it begins like an option."""
    words: List[Path] = [command, *arguments, "--json"]
    if arguments and os.path.exists(arguments[0]):
        words[1] = named(arguments[0])
    found: Dict[str, Any] = json.loads(run(*words).stdout)
    return found
