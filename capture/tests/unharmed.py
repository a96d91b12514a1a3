"""CPython's own tests with and without the shim: unharmed.py MEMVIZ TEST...

Each test must have the same result both times, case by case. Both run at the same time, since they mostly wait.
The recording is on: a mark is its first event, so that forks, threads and signals happen while the shim records.
Cases that wait long and do not concern processes are left out (LEFT_OUT). Exits 77 if CPython's tests are
not installed (Debian: libpython3.11-testsuite)."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# Sets a mark if the shim is loaded, then runs CPython's test runner like `python3 -m test`.
RUNNER = """
import ctypes, runpy, sys
try:
    ctypes.CDLL(None).memviz_mark(b"begin")
except AttributeError:
    pass
sys.argv[0] = "test"
runpy.run_module("test", run_name="__main__", alter_sys=True)
"""
TIMEOUT = 200
LEFT_OUT = [
    "test_siginterrupt_off",  # 30 s
    "test_wait_timeout",  # 5 s
    "*test_multiprocessing_fork.WithThreads*",  # multiprocessing.dummy: threads, which have a test of their own
]


def start(prefix, test, folder):
    command = prefix + [sys.executable, "-c", RUNNER, "--junit-xml", "report.xml", "--timeout", "120", test]
    for pattern in LEFT_OUT:
        command += ["--ignore", pattern]
    os.mkdir(folder)
    with open(os.path.join(folder, "output"), "wb") as output:
        return subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder
        )


def finish(process, folder):
    """The runner's exit status, the result of each case, and the output."""
    process.wait(timeout=TIMEOUT)
    with open(os.path.join(folder, "output"), encoding="utf-8", errors="replace") as file:
        output = file.read()
    report = os.path.join(folder, "report.xml")
    found = {}
    if os.path.exists(report):
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            bad = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found[case.get("name")] = bad[0] if bad else case.get("result", "completed")
    return process.returncode, found, output


def run_both(memviz, test, folder):
    """Without the shim, and with it, with the recordings in the folder."""
    homes = [os.path.join(folder, name) for name in ("bare", "under")]
    under = [memviz, "run", "-q", "-o", os.path.join(folder, "capture.%p.bin"), "--"]
    processes = [start([], test, homes[0]), start(under, test, homes[1])]
    return [finish(process, home) for process, home in zip(processes, homes)]


def compare(memviz, test):
    # Some cases fail now and then even without the shim: try once more.
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            (bare_status, bare, _), (status, found, output) = run_both(memviz, test, folder)
            recorded = [name for name in os.listdir(folder) if name.endswith(".bin")]
        if found == bare and status == bare_status:
            break
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
