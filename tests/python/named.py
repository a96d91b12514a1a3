"""Runs a file's tests for ctest: the first lines name the test and case that failed, and the skipped ones."""

import io
import os
import sys
import unittest


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
