"""What a release needs of the machine that it runs on: prints each fault, and exits 1 if there is one.

    check.py PATH...            files, or folders with all that is in them

A program or library of a release starts on each glibc from 2.28 on, and brings all else that it is
linked with: it needs no symbol of a newer version, and no library but the C library's own. The text
of readelf is read, which knows the files of every processor.
"""

import os
import re
import subprocess
import sys

NEWEST = (2, 28)
LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so\.\d$|ld-linux-[-\w]+\.so\.\d$")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def files_of(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, names in os.walk(path):
            yield from (os.path.join(folder, name) for name in sorted(names))


def faults_of(text):
    """`text`: what readelf -d -V prints."""
    for library in re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", text):
        if not LIBRARIES.match(library):
            yield f"needs the library {library}"
    # The versions that it has itself are in another section.
    wanted = text.partition("Version needs section")[2]
    for name in sorted(set(re.findall(r"Name: (\S+)\s+Flags", wanted))):
        number = re.match(r"GLIBC_(\d+)\.(\d+)", name)
        if not number or tuple(map(int, number.groups())) > NEWEST:
            yield f"needs {name}"


def main(paths):
    count = 0
    faults = []
    for path in files_of(paths):
        if is_elf(path) and not os.path.islink(path):
            count += 1
            text = subprocess.run(["readelf", "-d", "-V", "-W", path], check=True, stdout=subprocess.PIPE,
                                  universal_newlines=True).stdout
            faults += [f"{path}: {fault}" for fault in faults_of(text)]
    print("\n".join(faults) if faults else f"{count} programs and libraries, which start on glibc 2.28")
    if not count:
        sys.exit("nothing to check")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
