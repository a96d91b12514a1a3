"""What the scripts of this folder share: the release build, traces, and the times of a program."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
MEMVIZ = os.path.join(BUILD, "cli", "memviz")


def tool(name):
    return os.path.join(BUILD, "bench", name)


def quietly(*command):
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def build(*targets):
    subprocess.run([os.path.join(ROOT, "scripts", "install-deps"), "build"], check=True)
    quietly("cmake", "--preset", "release", "-DBUILD_TESTING=OFF")
    quietly("cmake", "--build", "--preset", "release", "--target", *targets)


def make_trace(events, live, path):
    quietly(tool("make_trace"), str(events), str(live), path)


def make_snapshot(path):
    """Writes a pickle of 500,000 events."""
    quietly(os.path.join(ROOT, "bench", "make-snapshot"), path)


def paths(args, traces, folder):
    """Yields args.files or, if there are none, a file for each pair of events and live blocks in `traces`."""
    yield from args.files
    for events, live in [] if args.files else traces:
        path = os.path.join(folder, f"{events // 1_000_000} million.bin")
        make_trace(int(events * args.scale), live, path)
        yield path
        os.unlink(path)


def warm(path):
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def measure(command, runs):
    """Returns the medians of CPU seconds, wall seconds and peak resident bytes."""
    results = []
    for _ in range(runs):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise subprocess.CalledProcessError(child.returncode, command)
        results.append((usage.ru_utime + usage.ru_stime, time.perf_counter() - start,
                        usage.ru_maxrss * 1024))
    return [statistics.median(column) for column in zip(*results)]


def parser_of(text):
    return argparse.ArgumentParser(description=text,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def run(main, args):
    """Calls main(args, folder) with a temporary folder, and exits with 1 if it fails or returns true."""
    try:
        with tempfile.TemporaryDirectory(prefix="memviz-bench-") as folder:
            sys.exit(1 if main(args, folder) else 0)
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
