"""Checks that a release starts on old systems and is hardened: prints each fault, and exits 1 if there is
one.

    check.py PATH...            files, or folders with everything in them

A program or library of a release must start on each glibc from 2.28 on, and must include all other
libraries: it needs no symbol with a newer version, and no library except the C library's own. It must be
hardened as requested by cmake/Hardening.cmake. Objects and archives are checked for properties that are
no longer visible after linking with third-party objects. The check parses the output of readelf, which
supports files for every processor.
"""

import os
import re
import subprocess
import sys

NEWEST = (2, 28)
LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so\.\d$|ld-linux-[-\w]+\.so\.\d$")
PAGE = 4096
# Marks in objects, by processor.
MARKS = {"X86-64": ("IBT", "SHSTK"), "AArch64": ("BTI", "PAC")}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(8)[:4] == b"\x7fELF"


def is_archive(path):
    with open(path, "rb") as file:
        return file.read(8) == b"!<arch>\n"


def files_of(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, names in os.walk(path):
            yield from (os.path.join(folder, name) for name in sorted(names))


# ---- compatibility ----------------------------------------------------------------------------------


def start_faults(text):
    for library in re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", text):
        if not LIBRARIES.match(library):
            yield f"needs the library {library}"
    # Versions that it defines are in another section.
    wanted = text.partition("Version needs section")[2]
    for name in sorted(set(re.findall(r"Name: (\S+)\s+Flags", wanted))):
        number = re.match(r"GLIBC_(\d+)\.(\d+)", name)
        if not number or tuple(map(int, number.groups())) > NEWEST:
            yield f"needs {name}"


# ---- hardening --------------------------------------------------------------------------------------


def machine_of(text):
    return next((name for name in MARKS if name in text.partition("Machine:")[2][:80]), None)


def calls(text):
    """Checks function hardening, from the names that a file imports."""
    names = set(re.findall(r" UND (__\w+_chk|__stack_chk_fail|__stack_chk_guard)\b", text))
    guards = {"__stack_chk_fail", "__stack_chk_guard"}
    if not names & guards:
        yield "has no stack protector"
    if not names - guards:
        yield "has no FORTIFY_SOURCE"


def memory_faults(text):
    """Checks the loaded program: read-only where possible, and no memory both writable and executable."""
    loads = re.findall(r"^  (LOAD|GNU_STACK)\s+(?:0x\w+\s+){5}([R ][W ][E ])", text, re.M)
    flags = re.findall(r"\((?:FLAGS|FLAGS_1)\)\s+(.*)", text)
    if "GNU_RELRO" not in text or not re.search(r"NOW", " ".join(flags)):
        yield "is not read-only after it is loaded (RELRO, BIND_NOW)"
    if "TEXTREL" in text:
        yield "changes its code when it is loaded (TEXTREL)"
    if ("GNU_STACK", "RW ") not in loads:
        yield "has an executable stack"
    if any(kind == "LOAD" and "W" in flag and "E" in flag for kind, flag in loads):
        yield "has memory that is both writable and executable"
    if [flag for kind, flag in loads if kind == "LOAD"][:1] != ["R  "]:
        yield "has executable headers (separate-code)"


def finished_faults(text):
    if "DYN (" not in text or ("INTERP" in text and "PIE" not in text.partition("Dynamic section")[2]):
        yield "has a fixed address (PIE)"
    yield from memory_faults(text)
    yield from calls(text)
    if machine_of(text) == "X86-64" and not re.search(r"x86 feature:.*SHSTK", text):
        yield "does not support the shadow stack (CET)"
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text):
        if not all(part.startswith("$ORIGIN/") for part in path.split(":")):
            yield f"looks for libraries in {path}"


def frame_faults(path):
    """Checks that frames larger than a page are probed page by page."""
    name = ""
    for line in run("objdump", "-d", "--no-show-raw-insn", path).splitlines():
        if line.endswith(">:"):
            name = line.split("<")[-1][:-2]
        frame = re.search(r"\bsub +\$0x(\w+),%rsp$", line)
        if frame and PAGE < int(frame.group(1), 16) < 1 << 31:
            yield f"has a stack frame that is not probed: {name}"


def objects_faults(paths):
    """Faults of objects. A guard must appear in any of them: some have no function that needs it."""
    texts = {path: run("readelf", "-h", "-n", "-s", "-W", path) for path in paths}
    for path, text in texts.items():
        for part in re.split(r"(?=^File: )", text, flags=re.M):
            name = re.match(r"File: .*\((.*)\)", part)
            machine = machine_of(part)
            said = "".join(re.findall(r"(?:x86|AArch64) feature: (.*)", part))
            for mark in MARKS[machine] if machine else ():
                if mark not in said:
                    yield f"{path}: {name.group(1) if name else 'it'} is not compiled for {mark}"
        if machine_of(text) == "X86-64":
            yield from (f"{path}: {fault}" for fault in frame_faults(path))
    yield from (f"{os.path.commonpath(paths)}: {fault}" for fault in calls("".join(texts.values())))


# -----------------------------------------------------------------------------------------------------


def main(paths):
    count = 0
    faults, objects = [], []
    for path in files_of(paths):
        if os.path.islink(path):
            continue
        if is_archive(path):
            objects.append(path)
        elif is_elf(path):
            text = run("readelf", "-h", "-l", "-n", "-d", "-V", "--dyn-syms", "-W", path)
            if "REL (" in text:
                objects.append(path)
                continue
            count += 1
            faults += [f"{path}: {fault}" for fault in (*start_faults(text), *finished_faults(text))]
    if objects:
        faults += objects_faults(objects)
    print("\n".join(faults) if faults else f"{count} programs and libraries, which start on glibc 2.28, and "
                                           f"{len(objects)} archives and objects: all are protected")
    if not count and not objects:
        sys.exit("nothing to check")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
