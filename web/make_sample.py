"""Writes a small snapshot as a C file, for mv_web_warm.

    make_sample.py OUT.C SNAPSHOT
"""

import pathlib
import sys

out, snapshot = sys.argv[1:]
data = pathlib.Path(snapshot).read_bytes()
text = ",".join(str(byte) for byte in data)
pathlib.Path(out).write_text(
    '#include "web/warm.h"\n\n'
    f"const uint8_t mv_warm_sample[] = {{{text}}};\n"
    "const uint32_t mv_warm_sample_length = sizeof mv_warm_sample;\n"
)
