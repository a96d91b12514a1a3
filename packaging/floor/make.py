"""Makes a folder to link with in place of the C library's own files, so that linked programs start on
a C library as old as 2.27 (Ubuntu 18.04; RHEL 8 has 2.28):

    make.py COMPILER FOLDER                then: COMPILER -LFOLDER ...

The linker takes each symbol's default version from the library that it finds: here 2.34 of
pthread_create, which is missing on older machines. The folder contains libraries without code, with the same
names, which define each symbol only in its newest version up to 2.27. Newer symbols are missing, so linking
fails if a program uses them, except for the few functions in later.c.
"""

import os
import re
import subprocess
import sys

FLOOR = (2, 27)
HERE = os.path.dirname(os.path.abspath(__file__))
# Libraries whose functions 2.34 moved to libc.
MOVED = [
    ("libdl.so.2", r"dl(open|close|sym|vsym|error|addr1?|info|mopen)$"),
    ("libpthread.so.0", r"_*(pthread|sem)_"),
    ("librt.so.1", r"(aio|lio|mq|timer|shm|clock)_"),
]
# start.c replaces this one, and calls it.
HIDDEN = {"__libc_start_main"}
# No longer linked into programs, but later.c uses them.
OLD = {"__xstat", "__lxstat", "__fxstat", "__fxstatat", "_sys_errlist", "_sys_nerr"}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def symbols(library):
    """name -> list of (version, type, size), for each symbol that a library defines. Symbols kept only for old
    programs are omitted: old libraries may have them elsewhere (pthread_atfork)."""
    found, current = {}, set(OLD)
    for line in run("readelf", "--dyn-syms", "-W", library).splitlines():
        parts = line.split()
        if len(parts) < 8 or parts[6] == "UND" or parts[4] not in ("GLOBAL", "WEAK"):
            continue
        name, _, version = parts[7].replace("@@", "@").partition("@")
        number = re.match(r"GLIBC_([\d.]+)$", version)
        if "@@" in parts[7]:
            current.add(name)
        if number and name != version:
            at = tuple(int(part) for part in number.group(1).split("."))
            found.setdefault(name, []).append((at, parts[3], int(parts[2], 0)))
    return {name: versions for name, versions in found.items() if name in current}


def library_of(name, versions, library):
    if library != "libc.so.6" or max(versions)[0] <= FLOOR:
        return library
    for old, pattern in MOVED:
        if re.match(pattern, name):
            return old
    return library


def write_library(compiler, folder, soname, rows):
    """rows: (name, version, type, size)."""
    source = os.path.join(folder, soname + ".s")
    script = os.path.join(folder, soname + ".versions")
    kinds = {"OBJECT": "object", "TLS": "tls_object"}
    with open(source, "w", encoding="ascii") as out:
        for index, (name, version, kind, size) in enumerate(sorted(rows)):
            section = {"OBJECT": ".data", "TLS": '.section .tdata,"awT",%progbits'}.get(kind, ".text")
            text = "GLIBC_" + ".".join(str(part) for part in version)
            sign = "@" if name in HIDDEN else "@@"
            out.write(f"{section}\n.balign 32\n.globl s{index}\n.type s{index}, %{kinds.get(kind, 'function')}\n"
                      f".size s{index}, {size}\ns{index}: .zero {size or 1}\n"
                      f".symver s{index}, {name}{sign}{text}, remove\n")
        out.write('.section .note.GNU-stack,"",%progbits\n')
    with open(script, "w", encoding="ascii") as out:
        for version in sorted({row[1] for row in rows}):
            out.write("GLIBC_" + ".".join(str(part) for part in version) + " { };\n")
    run(compiler, "-shared", "-nostdlib", "-Wl,-soname," + soname, "-Wl,--version-script," + script,
        "-o", os.path.join(folder, soname), source)
    os.remove(source)
    os.remove(script)


def main(compiler, folder):
    os.makedirs(folder, exist_ok=True)
    place = lambda name: os.path.realpath(run(compiler, "-print-file-name=" + name).strip())
    loader = "ld-linux-aarch64.so.1" if "aarch64" in run(compiler, "-dumpmachine") else "ld-linux-x86-64.so.2"
    libraries = {}
    for library in ("libc.so.6", "libm.so.6", loader):
        for name, versions in symbols(place(library)).items():
            usable = [version for version in versions if version[0] <= FLOOR]
            if usable:
                rows = libraries.setdefault(library_of(name, versions, library), [])
                rows.append((name, *max(usable)))
    for soname, rows in libraries.items():
        write_library(compiler, folder, soname, rows)
    for name in ("start", "later"):
        run(compiler, "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
            "-c", os.path.join(HERE, name + ".c"), "-o", os.path.join(folder, name + ".o"))
    run("ar", "rcsD", os.path.join(folder, "libfloor.a"),
        *(os.path.join(folder, name + ".o") for name in ("start", "later")))
    # Functions in the C library's static archive: atexit, pthread_atfork.
    beside = place("libc_nonshared.a")
    here = os.path.abspath(folder)
    moved = " ".join(os.path.join(here, old) for old, _ in MOVED)
    with open(os.path.join(folder, "libc.so"), "w", encoding="ascii") as out:
        out.write(f"GROUP ( {here}/libc.so.6 {here}/libfloor.a {beside} AS_NEEDED ( "
                  f"{moved} {here}/{loader} ) )\n")
    with open(os.path.join(folder, "libm.so"), "w", encoding="ascii") as out:
        out.write(f"GROUP ( AS_NEEDED ( {here}/libm.so.6 ) )\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
