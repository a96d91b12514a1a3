"""Runs a file's tests for ctest: the first lines name the test and case that failed, and the skipped ones.
What the tests of several files use."""

import io
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def snapshot(name):
    return os.path.join(ROOT, "testdata", "snapshots", name + ".pickle")


def loaded(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **more)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def put(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return file.name


def name_of(case):
    return ".".join(case.id().split(".")[1:])


def main():
    """Exits with 1 when a case failed, with 77 when all were skipped."""
    said = io.StringIO()
    found = unittest.main(exit=False, testRunner=unittest.TextTestRunner(stream=said)).result
    test = os.path.basename(sys.argv[0]).replace("test_", "python_").replace(".py", "")
    failed = [(case, text.strip().splitlines()[-1]) for case, text in found.errors + found.failures]
    for case, why in failed + [(case, "passes, and should not") for case in found.unexpectedSuccesses]:
        print(f"{test}: FAILED: {name_of(case)}: {why}")
    for case, why in found.skipped:
        print(f"{test}: skipped: {name_of(case)}: {why}")
    print(said.getvalue())
    if not found.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if found.testsRun and len(found.skipped) == found.testsRun else 0)
