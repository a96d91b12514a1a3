"""`python -m memviz ARGUMENTS` replaces its process with `memviz ARGUMENTS`."""

import os
import sys

from .native import Error, not_started, program


def main() -> None:
    try:
        path = program()
        try:
            os.execv(path, ["memviz", *sys.argv[1:]])
        except OSError as why:
            raise not_started(path, why) from why
    except Error as why:
        sys.exit(f"memviz: {why}")


if __name__ == "__main__":
    main()
