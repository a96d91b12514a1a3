"""The evaluation of CPython's own tests in capture/tests/unharmed.py: the order of the runs, and the status."""

import contextlib
import importlib.util
import io
import os
import unittest
from unittest import mock

import named

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("unharmed", os.path.join(HERE, "..", "..", "capture", "tests", "unharmed.py"))
unharmed = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(unharmed)


def run(end="status 0", **found):
    return mock.Mock(found=found or None, end=end, output="")


GOOD, BAD = run(a="completed", b="completed"), run("status 2", a="completed", b="failure")
SKIPPED, SHORT, HANGING = run(a="completed", b="skipped"), run(a="completed"), run("more than 130 s")
# Runs without and with the shim; the status; the messages.
ALL = [
    ([(GOOD, GOOD)], 0, "2 cases as without the shim; 1 recordings"),
    ([(SKIPPED, SKIPPED)], 0, "2 cases"),
    ([(GOOD, BAD), (GOOD, GOOD)], 0, "2 cases"),
    ([(GOOD, BAD), (BAD, GOOD)], 0, "2 cases"),
    ([(HANGING, HANGING), (GOOD, GOOD)], 0, "2 cases"),
    ([(GOOD, BAD)] * 3, 1, "FAILED: b: completed without the shim, failure with it"),
    ([(GOOD, SHORT)] * 3, 1, "FAILED: b: completed without the shim, missing with it"),
    ([(GOOD, SKIPPED)] * 3, 1, "FAILED: b: completed without the shim, skipped with it"),
    ([(GOOD, run("status 1", a="completed", b="completed"))] * 3, 1, "FAILED: the end: status 0 without the shim, status 1 with it"),
    ([(GOOD, HANGING)] * 3, 1, "FAILED: with the shim it does not end: more than 130 s"),
    ([(BAD, BAD)] * 3, 77, "skipped: not comparable: b: failure without the shim, failure with it"),
    ([(BAD, GOOD)] * 3, 77, "skipped: not comparable: b: failure without the shim, completed with it"),
    ([(GOOD, BAD), (BAD, BAD), (BAD, BAD)], 77, "skipped: not comparable: b: completed or failure without the shim"),
    ([(HANGING, HANGING)] * 3, 77, "skipped: not comparable: without the shim it does not end, either: more than 130 s"),
    ([(HANGING, GOOD)] * 3, 77, "skipped: not comparable: without the shim it does not end, either: more than 130 s"),
]


class Unharmed(unittest.TestCase):
    def compare(self, turns, recordings=1):
        said = io.StringIO()
        with mock.patch.object(unharmed, "run_both", side_effect=[(*turn, recordings) for turn in turns]), \
                contextlib.redirect_stdout(said):
            return unharmed.compare("memviz", "test_it"), said.getvalue()

    def test_turns(self):
        for turns, status, words in ALL:
            found, said = self.compare(turns)
            self.assertEqual((found, said.startswith("capture_cpython_test_it: " + words)), (status, True), said)

    def test_nothing_recorded_is_a_failure(self):
        self.assertEqual(self.compare([(GOOD, GOOD)], 0), (1, "capture_cpython_test_it: FAILED: nothing was recorded\n\n"))


if __name__ == "__main__":
    named.main()
