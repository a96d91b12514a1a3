"""Whether a msgpack file equals the packed content of a pickle, without the msgpack module.

    unpack_msgpack.py FILE.msgpack FILE.pickle      fails when they differ
"""

import pickle
import struct
import sys

FIXED = {
    0xC0: None,
    0xC2: False,
    0xC3: True,
}
NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
LENGTHS = {0: ">B", 1: ">H", 2: ">I"}


class Unpacker:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self, count):
        return self.take(count).decode("utf-8", "surrogatepass")

    def array(self, count):
        return [self.value() for _ in range(count)]

    def map(self, count):
        return {self.value(): self.value() for _ in range(count)}

    def value(self):
        b = self.number(">B")
        if b < 0x80 or b >= 0xE0:
            return b if b < 0x80 else b - 256
        if b < 0x90:
            return self.map(b & 15)
        if b < 0xA0:
            return self.array(b & 15)
        if b < 0xC0:
            return self.text(b & 31)
        if b in FIXED:
            return FIXED[b]
        if b in NUMBERS:
            return self.number(NUMBERS[b])
        if 0xD9 <= b <= 0xDB:
            return self.text(self.number(LENGTHS[b - 0xD9]))
        if b in (0xDC, 0xDD):
            return self.array(self.number(LENGTHS[b - 0xDB]))
        assert b in (0xDE, 0xDF), hex(b)
        return self.map(self.number(LENGTHS[b - 0xDD]))


def plain(value):
    """Tuples are arrays in msgpack."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def main():
    with open(sys.argv[1], "rb") as file:
        packed = Unpacker(file.read()).value()
    with open(sys.argv[2], "rb") as file:
        wanted = plain(pickle.load(file))
    if packed == wanted:
        return
    if isinstance(wanted, dict) and isinstance(packed, dict):
        for key in sorted(set(wanted) | set(packed)):
            if packed.get(key, "missing") != wanted.get(key, "missing"):
                print(key, str(wanted.get(key))[:300], str(packed.get(key))[:300], sep="\n  ")
    sys.exit(f"{sys.argv[1]} is not {sys.argv[2]}")


if __name__ == "__main__":
    main()
