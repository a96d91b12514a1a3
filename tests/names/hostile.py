"""Hostile names, and recordings in which every string is hostile, for scripts/attack/names."""

import os
import pickle
import subprocess

ESC = b"\x1b"

# The label and the bytes of each name in the table.
NAMES = {
    "title": ESC + b"]0;owned\x07",
    "clear screen": ESC + b"[2J" + ESC + b"[H",
    "clipboard (OSC 52)": ESC + b"]52;c;ZXZpbA==\x07",
    "link (OSC 8)": ESC + b"]8;;http://canary.test/" + ESC + b"\\here" + ESC + b"]8;;" + ESC + b"\\",
    "end of a paste": ESC + b"[201~touch PWNED\n",
    "answer back": ESC + b"[6n" + ESC + b"Z\x05",
    "C0": bytes(range(1, 32)),
    "DEL": b"a\x7f\x7fb",
    "NUL": b"a\0b",
    "C1 as UTF-8": "".join(map(chr, range(0x80, 0xA0))).encode(),
    "C1 as bytes": bytes(range(0x80, 0xA0)),
    "CSI as UTF-8": "\x9b31m\x9d0;owned\x9c".encode(),
    "not UTF-8": b"\xff\xfe\xf8\xc0",
    "overlong": b"\xc0\x9b\xe0\x80\x9b\xf0\x80\x80\x9b",
    "surrogates": b"\xed\xa0\x80\xed\xb0\x80\xed\xbf\xbf",
    "cut character": b"x\xe2\x82",
    "beyond Unicode": b"\xf4\x90\x80\x80\xf7\xbf\xbf\xbf",
    "bidi overrides": "\u202aa\u202bb\u202cc\u202dd\u202egpj.exe".encode(),
    "bidi isolates": "if \u2066\u2067x\u2068y\u2069 /*\u202e".encode(),
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 12".encode(),
    "zero width": "a\u200bb\u200cc\u200dd\u2060e\ufeff".encode(),
    "tags": "ok".encode() + "".join(chr(0xE0000 + c) for c in b"ignore all").encode(),
    "line ends": b"a\nFORGED: a line\r\nFORGED\rFORGED",
    "tabs": b"\ta\tb\t",
    "Unicode's line ends": "a\u2028FORGED\u2029FORGED\u0085FORGED\x0bFORGED\x0cFORGED".encode(),
    "combining": ("e" + "\u0301" * 60 + "\u20dd").encode(),
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f3fd\u200d\u2640\ufe0f".encode(),
    "no characters": "\ufffe\uffff\ufdd0\U0001fffe\U0010ffff".encode(),
    "script": b"</script><script>window.harm=1</script>",
    "image": b"\"'><img src=http://canary.test/i onerror=window.harm=2>",
    "svg": b"<svg onload=window.harm=3><style>@import'http://canary.test/s'</style>",
    "title and textarea": b"</title></textarea></style></pre><iframe src=javascript:parent.harm=4>",
    "comments": b"<!--<script>--!><![CDATA[ ]]> -->",
    "entities": b"&lt;b&gt;&#60;&amp;amp;&unknown;&",
    "XML": b"<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>&y;<?php ?>",
    "quotes": b"\"'`\\\"\\'",
    "javascript:": b"javascript:window.harm=5//",
    "data:": b"data:text/html,<script>parent.harm=6</script>",
    "templates": b"${window.harm=7}{{window.harm=8}}<%= 7 %>#{7}@SHELL@",
    "page's marks": b"<!--snapshot--><title>memviz</title>",
    "SQL": b"'); DROP TABLE frames; --\" OR 1=1",
    "formula": b"=cmd|'/C calc'!A0",
    "formula +": b"+1+cmd|'/C calc'!A0",
    "formula -": b"-2+3",
    "formula @": b"@SUM(1+1)",
    "formula after a tab": b"\t=1+1",
    "formula after a CR": b"\r=1+1",
    "formula after a line": b"\n=1+1",
    "formula, wide": "\uff1d1+1".encode(),
    "formula, apostrophes": b"''=1+1",
    "formula after separators": b"x;=1+1;\t=1+1,=1+1",
    "formula in quotes": b"\",=HYPERLINK(\"\"http://canary.test/\"\")",
    "printf": b"%n%s%100000d%%",
    "paths": b"../../etc/passwd",
    "long": b"long " + b"x" * 9000,
    "long word": "\U0001f600".encode() * 600,
    "JSON": b"\",\"a\":{\"b\":[1]},\"__proto__\":{}",
    "folded": b"a;b;c 12 34",
    "shell": b"$(touch PWNED)`touch PWNED`;touch PWNED|touch PWNED&",
    "options": b"--output=PWNED",
    "spaces": b"  a  b   ",
    "HTTP": b"x\r\nSet-Cookie: a=b\r\n\r\n<script>window.harm=9</script>",
}  # fmt: skip

SNAPSHOTS = ["annotated", "two_devices", "mempool", "oom_fragmented", "compiled"]
CAPTURES = ["cupy_oom", "train", "nccl_leak.0", "heap_pool", "pinned_leak", "jax"]
TOOLS = ["rmm_late.csv", "jax.xplane.pb.gz", "tpu_memory.prof"]


class Recording:
    """A hostile file, and the same file with its original strings."""

    def __init__(self, label, path, plain):
        self.label, self.path, self.plain = label, path, plain


def rotated(start):
    names = list(NAMES.values())
    return names[start % len(names):] + names[:start % len(names)]


def sources(testdata):
    for name in SNAPSHOTS:
        yield name, os.path.join(testdata, "snapshots", name + ".pickle")
    for name in CAPTURES:
        yield name, os.path.join(testdata, "captures", name + ".bin")
    for name in TOOLS:
        yield name, os.path.join(testdata, "tools", name)


def actions_and_keys(path, names):
    """Strings without a place in the model: actions, keys and members that memviz does not know."""
    texts = [name.decode("utf-8", "surrogateescape").encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
             for name in names]
    events = [{"action": text, "addr": 512 * i, "size": 512, "stream": 0, "time_us": i, "frames":
               [{"name": text, "filename": text, "line": i}]} for i, text in enumerate(texts)]
    with open(path, "wb") as file:
        pickle.dump({"segments": [{text: text for text in texts}], "device_traces": [events],
                     "allocator_settings": {text: text for text in texts}, **{text: [text] for text in texts}}, file)


def same_length(data, name, least=5):
    """The bytes of another tool's file with its texts replaced by a name; each text keeps its length."""
    out, at = bytearray(data), 0
    while at < len(out):
        end = at
        while end < len(out) and 32 <= out[end] < 127:
            end += 1
        if end - at >= least:
            out[at:end] = (name * (1 + (end - at) // len(name)))[:end - at]
        at = end + 1
    return bytes(out)


def make(poison, testdata, folder, start, most):
    """Writes the recordings of one round, up to a number; names begin with the one at that index."""
    os.makedirs(folder, exist_ok=True)
    names = rotated(start)
    listed = os.path.join(folder, "names.hex")
    with open(listed, "w", encoding="ascii") as file:
        file.write("".join(name.hex() + "\n" for name in names))
    made = []
    for i, (name, path) in enumerate((list(sources(testdata)) * 2)[start % 14:][:min(most, 14)]):
        # Formats take turns; a few rounds cover all of them, because their readers fill the same model.
        ending = [".bin", ".pickle", ".bin", ".msgpack", ".cpp.pickle"][(i + start) % 5]
        if name not in SNAPSHOTS:
            ending = ".bin"
        out = os.path.join(folder, f"{name}{ending}")
        subprocess.run([poison, listed, path, out], check=True)
        made.append(Recording(f"{name}{ending}", out, path))
    out = os.path.join(folder, "unknown.pickle")
    actions_and_keys(out, names)
    made.append(Recording("unknown.pickle", out, None))
    return made
