"""Runs CPython's tests with and without the shim: unharmed.py MEMVIZ TEST...

Each case must have the same result with and without the shim. Both runs happen at the same time, because they spend most of
their time waiting. The first event is a mark, so that the recording is on when forks, threads and signals happen. Long cases
that do not concern processes are left out (LEFT_OUT).

Some cases occasionally fail even without the shim, and on a busy machine a test may exceed its time limit. Therefore cases
with different results are repeated, up to TURNS times, until each of them has had the same result in both runs. A case counts
as *failed* if it always passes without the shim, but has never passed with it. A case is *not comparable* if it also fails
without the shim, if it has several results, or if CPython never finished without the shim; the reason is printed. The exit
status is 1 if a case failed. Otherwise it is 77 if a case was not comparable, or if CPython's tests are missing (Debian:
libpython3.11-testsuite)."""

import collections
import importlib.util
import os
import signal
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
TURNS = 3
LIMIT_S = 130  # time limit of a run, which takes at most 40 s on an idle machine with two CPUs
BAD = {"failure", "error"}
LEFT_OUT = [
    "test_siginterrupt_off",  # 30 s
    "test_wait_timeout",  # 5 s
    "*test_multiprocessing_fork.WithThreads*",  # multiprocessing.dummy uses threads, which have a separate test
]


class Run:
    """`found` contains the result of each case, or is None if the test did not finish; `end` is the way in which the
    test ended."""

    def __init__(self, prefix, test, folder):
        command = prefix + [sys.executable, "-c", RUNNER, "--junit-xml", "report.xml", "--timeout", "120", test]
        for pattern in LEFT_OUT:
            command += ["--ignore", pattern]
        self.folder = folder
        os.mkdir(folder)
        with open(os.path.join(folder, "output"), "wb") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True
            )

    def finish(self):
        try:
            self.end = f"status {self.process.wait(timeout=LIMIT_S)}"
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.end = f"more than {LIMIT_S} s"
        with open(os.path.join(self.folder, "output"), encoding="utf-8", errors="replace") as file:
            self.output = file.read()
        self.found = self.read_report()
        if self.found is None:
            self.end += ": " + (self.output.strip() or "no output").splitlines()[-1][:200]
        return self

    def read_report(self):
        try:
            report = xml.etree.ElementTree.parse(os.path.join(self.folder, "report.xml"))
        except (OSError, xml.etree.ElementTree.ParseError):
            return None
        found = {}
        for case in report.iter("testcase"):
            bad = [child.tag for child in case if child.tag in (*BAD, "skipped")]
            found[case.get("name")] = bad[0] if bad else case.get("result", "completed")
        return found or None


def run_both(memviz, test):
    """Runs the test without and with the shim. Returns both runs and the number of recordings."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        under = [memviz, "run", "-q", "-o", os.path.join(folder, "capture.%p.bin"), "--"]
        runs = [Run([], test, os.path.join(folder, "bare")), Run(under, test, os.path.join(folder, "under"))]
        bare, shim = [run.finish() for run in runs]
        return bare, shim, len([name for name in os.listdir(folder) if name.endswith(".bin")])


def agree(bare, shim):
    """Returns whether a case that passes without the shim has passed with it at least once."""
    return (bare - BAD or bare) & shim


class Comparison:
    """Returns, for each case, its results in all turns without and with the shim."""

    def __init__(self):
        self.cases = collections.defaultdict(lambda: (set(), set()))
        self.statuses = (set(), set())  # the ways in which runs without a bad case ended
        self.ends = (set(), set())  # the ways in which all other runs ended
        self.done = [0, 0]

    def add(self, runs):
        for way, run in enumerate(runs):
            if run.found is None:
                self.ends[way].add(run.end)
                continue
            for name in run.found.keys() | self.cases.keys():
                self.cases[name][way].add(run.found.get(name, "missing"))
            if not any(result in BAD for result in run.found.values()):
                self.statuses[way].add(run.end)
            self.done[way] += 1

    def rows(self):
        return sorted(self.cases.items()) + ([("the end", self.statuses)] if all(self.statuses) else [])

    def is_settled(self):
        return all(self.done) and all(agree(bare, shim) for _, (bare, shim) in self.rows())

    def judge(self):
        """Returns lines about cases that failed, and about cases that are not comparable."""
        if not self.done[0]:
            return [], [f"without the shim it does not end, either: {', '.join(sorted(self.ends[0]))}"]
        if not self.done[1]:
            return [f"with the shim it does not end: {', '.join(sorted(self.ends[1]))}"], []
        failed, incomparable = [], []
        for name, (bare, shim) in self.rows():
            how = f"{name}: {' or '.join(sorted(bare))} without the shim, {' or '.join(sorted(shim))} with it"
            if bare <= BAD or not agree(bare, shim) and len(bare) > 1:
                incomparable.append(how)
            elif not agree(bare, shim):
                failed.append(how)
        return failed, incomparable


def compare(memviz, test):
    """Prints the result and returns the exit status: 0, 1 or 77."""
    seen = Comparison()
    for _ in range(TURNS):
        *runs, recordings = run_both(memviz, test)
        seen.add(runs)
        if seen.is_settled():
            break
    failed, incomparable = seen.judge()
    if not recordings and seen.done[1]:
        failed.append("nothing was recorded")
    for line in failed:
        print(f"capture_cpython_{test}: FAILED: {line}")
    for line in incomparable:
        print(f"capture_cpython_{test}: skipped: not comparable: {line}")
    if failed:
        print(runs[1].output[-3000:])
        return 1
    if seen.done[0]:
        print(f"capture_cpython_{test}: {len(seen.cases) - len(incomparable)} cases as without the shim; {recordings} recordings")
    return 77 if incomparable else 0


def main():
    memviz, *tests = sys.argv[1:]
    if importlib.util.find_spec("test.test_signal") is None:
        for test in tests:
            print(f"capture_cpython_{test}: skipped: CPython's own tests are not here (libpython3.11-testsuite)")
        return 77
    found = [compare(memviz, test) for test in tests]
    return 1 if 1 in found else max(found)


if __name__ == "__main__":
    sys.exit(main())
