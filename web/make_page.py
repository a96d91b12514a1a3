"""Assembles the page: template, style, scripts and memviz.wasm, and a content policy that allows them
and nothing else. The same inputs give the same bytes.

    make_page.py FOLDER MEMVIZ.WASM VERSION SAMPLE.BIN OUT.HTML
"""

import base64
import gzip
import hashlib
import pathlib
import re
import sys


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def letters_of(data):
    """Encodes bytes as in view/page/letters.h."""
    letters = [chr(code) for code in range(33, 127) if chr(code) not in "&<\\"]
    bits = int.from_bytes(data, "little")
    length = len(data) * 8
    text = []
    for at in range(0, length, 13 * 1024):
        piece = bits >> at & (1 << 13 * 1024) - 1
        for i in range(0, min(length - at, 13 * 1024), 13):
            number = piece >> i & 8191
            text.append(letters[number % 91])
            if length - at - i > 6:
                text.append(letters[number // 91])
    return "".join(text)


def main(folder, wasm, version, sample, out):
    folder = pathlib.Path(folder)

    def read(name):
        return (folder / name).read_text(encoding="utf-8")

    def worker(*names):
        text = '"use strict";\n' + "".join(read(name) for name in names)
        assert "</script" not in text and "<!--" not in text
        return text

    style = read("style.css")
    shell = "\n" + read("shell.js") + read("served.js")
    packed = gzip.compress(pathlib.Path(wasm).read_bytes(), 9, mtime=0)
    parts = {
        "POLICY": "default-src 'none'; script-src " + hash_of(shell) + " 'wasm-unsafe-eval'; worker-src blob:; style-src "
                  + hash_of(style) + "; img-src data:; base-uri 'none'; form-action 'none'",
        "VERSION": version,
        "STYLE": style,
        "CORE": letters_of(packed),
        "VIEWER": worker("core.js", "viewer.js"),
        "REPORTER": worker("core.js", "reporter.js"),
        "SAMPLE": letters_of(pathlib.Path(sample).read_bytes()),
        "SHELL": shell,
    }
    page = re.sub("@([A-Z]+)@", lambda match: parts[match.group(1)], read("page.html"))
    pathlib.Path(out).write_text(page, encoding="utf-8")


main(*sys.argv[1:])
