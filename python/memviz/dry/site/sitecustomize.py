"""Python imports this module first, because `memviz dry-run` has put its folder on PYTHONPATH. It starts the dry run as soon
as the program has imported torch, and runs the next sitecustomize."""

import importlib
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def chain() -> None:
    """Runs the sitecustomize that this one hides."""
    kept = sys.path[:]
    sys.path[:] = [folder for folder in kept if os.path.abspath(folder or ".") != HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as why:
        if why.name != "sitecustomize":
            raise
        if own:
            sys.modules["sitecustomize"] = own
    sys.path[:] = kept


if "MEMVIZ_DRY_RUN" in os.environ:
    root = os.path.dirname(os.path.dirname(HERE))  # this memviz, even if the program's Python has another one
    spec = importlib.util.spec_from_file_location("memviz", os.path.join(root, "__init__.py"), submodule_search_locations=[root])
    assert spec and spec.loader
    sys.modules["memviz"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["memviz"])
    sys.meta_path.insert(0, importlib.import_module("memviz.dry.hook").Finder())
chain()
