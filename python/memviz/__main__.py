"""`python -m memviz ARGUMENTS` is `memviz ARGUMENTS`: the process becomes the program."""

import os
import sys

from .native import Error, program


def main() -> None:
    try:
        path = program()
    except Error as why:
        sys.exit(f"memviz: {why}")
    os.execv(path, ["memviz", *sys.argv[1:]])


if __name__ == "__main__":
    main()
