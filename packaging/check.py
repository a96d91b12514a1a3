"""What a release needs of the machine that it runs on, and what protects it: prints each fault, and
exits 1 if there is one.

    check.py PATH...            files, or folders with all that is in them

A program or library of a release starts on each glibc from 2.28 on, and brings all else that it is
linked with: it needs no symbol of a newer version, and no library but the C library's own. It has
what cmake/Hardening.cmake asks the compiler and the linker for. Objects and archives of objects are
looked at for what cannot be seen once they are linked with those of others. The text of readelf is
read, which knows the files of every processor.
"""

import os
import re
import subprocess
import sys

NEWEST = (2, 28)
LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so\.\d$|ld-linux-[-\w]+\.so\.\d$")
PAGE = 4096
# What objects say of themselves, by processor.
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


# ---- where it starts --------------------------------------------------------------------------------


def start_faults(text):
    for library in re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", text):
        if not LIBRARIES.match(library):
            yield f"needs the library {library}"
    # The versions that it has itself are in another section.
    wanted = text.partition("Version needs section")[2]
    for name in sorted(set(re.findall(r"Name: (\S+)\s+Flags", wanted))):
        number = re.match(r"GLIBC_(\d+)\.(\d+)", name)
        if not number or tuple(map(int, number.groups())) > NEWEST:
            yield f"needs {name}"


# ---- what protects it -------------------------------------------------------------------------------


def machine_of(text):
    return next((name for name in MARKS if name in text.partition("Machine:")[2][:80]), None)


def calls(text):
    """What protects functions, of the names that a file wants of others."""
    names = set(re.findall(r" UND (__\w+_chk|__stack_chk_fail|__stack_chk_guard)\b", text))
    guards = {"__stack_chk_fail", "__stack_chk_guard"}
    if not names & guards:
        yield "has no stack protector"
    if not names - guards:
        yield "has no FORTIFY_SOURCE"


def memory_faults(text):
    """What the loader makes of it: all that can be is read-only, and nothing is both written and run."""
    loads = re.findall(r"^  (LOAD|GNU_STACK)\s+(?:0x\w+\s+){5}([R ][W ][E ])", text, re.M)
    flags = re.findall(r"\((?:FLAGS|FLAGS_1)\)\s+(.*)", text)
    if "GNU_RELRO" not in text or not re.search(r"NOW", " ".join(flags)):
        yield "is not read-only after it is loaded (RELRO, BIND_NOW)"
    if "TEXTREL" in text:
        yield "changes its code when it is loaded (TEXTREL)"
    if ("GNU_STACK", "RW ") not in loads:
        yield "has an executable stack"
    if any(kind == "LOAD" and "W" in flag and "E" in flag for kind, flag in loads):
        yield "has memory that is both written and run"
    if [flag for kind, flag in loads if kind == "LOAD"][:1] != ["R  "]:
        yield "runs its headers (separate-code)"


def finished_faults(text):
    if "DYN (" not in text or ("INTERP" in text and "PIE" not in text.partition("Dynamic section")[2]):
        yield "has a fixed address (PIE)"
    yield from memory_faults(text)
    yield from calls(text)
    if machine_of(text) == "X86-64" and not re.search(r"x86 feature:.*SHSTK", text):
        yield "does not keep to the shadow stack (CET)"
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text):
        if not all(part.startswith("$ORIGIN/") for part in path.split(":")):
            yield f"looks for libraries in {path}"


def frame_faults(path):
    """A frame of more than a page is probed page by page."""
    name = ""
    for line in run("objdump", "-d", "--no-show-raw-insn", path).splitlines():
        if line.endswith(">:"):
            name = line.split("<")[-1][:-2]
        frame = re.search(r"\bsub +\$0x(\w+),%rsp$", line)
        if frame and PAGE < int(frame.group(1), 16) < 1 << 31:
            yield f"has a stack frame that is not probed: {name}"


def objects_faults(paths):
    """What objects lack. A guard is looked for in all of them together: some have no function that needs it."""
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
