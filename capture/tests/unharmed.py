"""CPython's own tests under the shim and without it: unharmed.py MEMVIZ TEST...

Each test must have the same result both times, case by case. The recording is on: a mark is its first
event, so that forks, threads and signals meet a shim that is at work. Exits 77 where CPython's tests are
not installed (Debian: libpython3.11-testsuite)."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# Marks where it can, then runs CPython's test runner as `python3 -m test` does.
RUNNER = """
import ctypes, runpy, sys
try:
    ctypes.CDLL(None).memviz_mark(b"begin")
except AttributeError:
    pass
sys.argv[0] = "test"
runpy.run_module("test", run_name="__main__", alter_sys=True)
"""
TIMEOUT = 500


def results(prefix, test, folder):
    """The result of each case, and what became of the runner."""
    report = os.path.join(folder, "report.xml")
    command = prefix + [sys.executable, "-c", RUNNER, "--junit-xml", report, "--timeout", "120", test]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        stdin=subprocess.DEVNULL, timeout=TIMEOUT, cwd=folder,
    )
    found = {}
    if os.path.exists(report):
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            bad = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found[case.get("name")] = bad[0] if bad else case.get("result", "completed")
        os.remove(report)
    return done.returncode, found, done.stdout


def compare(memviz, test):
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "capture.%p.bin")
        bare_status, bare, _ = results([], test, folder)
        under = [memviz, "run", "-q", "-o", capture, "--"]
        status, found, output = results(under, test, folder)
        # A case that fails now and then without us is given one more chance with us.
        if found != bare or status != bare_status:
            status, found, output = results(under, test, folder)
        recorded = [name for name in os.listdir(folder) if name.endswith(".bin")]
    differ = sorted(name for name in bare.keys() | found.keys() if bare.get(name) != found.get(name))
    if differ or status != bare_status or not bare:
        print(f"FAIL {test}: status {bare_status} without and {status} with the shim")
        for name in differ[:10]:
            print(f"  {name}: {bare.get(name)} without, {found.get(name)} with")
        print(output[-3000:])
        return False
    if not recorded:
        print(f"FAIL {test}: nothing was recorded")
        return False
    print(f"PASS {test}: {len(bare)} cases as without, status {status}; {len(recorded)} recordings")
    return True


def main():
    memviz, *tests = sys.argv[1:]
    if importlib.util.find_spec("test.test_signal") is None:
        print("CPython's tests are not installed")
        return 77
    return 0 if all([compare(memviz, test) for test in tests]) else 1


if __name__ == "__main__":
    sys.exit(main())
