"""The pytest plug-in, on tests that these tests write, with a stand-in for PyTorch."""

import os
import sys

try:
    import pytest
except ImportError:
    print("python_pytest_plugin: skipped: pytest is not installed")
    sys.exit(77)

from memviz import pytest_plugin

HERE = os.path.dirname(os.path.abspath(__file__))
LEAKING = os.path.join(HERE, "..", "..", "testdata", "snapshots", "leak_in_training.pickle")
CLEAN = os.path.join(HERE, "..", "..", "testdata", "snapshots", "no_leak_warmup.pickle")

CONFTEST = """
import pickle, sys
sys.path.insert(0, {here!r})
import torch_stand_in

torch = torch_stand_in.install(pickle.load(open({taken!r}, "rb")), has_cuda={has_cuda})
"""
TESTS = """
import pytest, sys

def use(bytes):
    sys.modules["torch"].peak[0] = bytes

def test_small(): use(1 << 20)
def test_large(): use(3 << 30)

@pytest.mark.memviz(max_peak="4GiB")
def test_large_by_mark(): use(3 << 30)

@pytest.mark.memviz(max_peak=1000)
def test_small_by_mark(): use(1 << 20)

def test_fixture(memviz):
    assert memviz.peak == 0
    use(5000)
    assert memviz.peak == 5000

def test_failing():
    use(3 << 30)
    assert False, "of itself"
"""


@pytest.fixture
def outcome(pytester):
    def run(*words, tests=TESTS, taken=CLEAN, has_cuda=True):
        pytester.makeconftest(CONFTEST.format(here=HERE, taken=taken, has_cuda=has_cuda))
        pytester.makepyfile(tests)
        return pytester.runpytest_subprocess("-p", "memviz.pytest_plugin", "-rs", *words)

    return run


def test_a_peak_above_the_limit_fails_with_the_report(outcome, pytester):
    found = outcome("--memviz-max-peak", "2GiB", "--memviz-folder", "kept")
    assert found.parseoutcomes() == {"passed": 3, "failed": 3}
    found.stdout.fnmatch_lines([
        "*test_large*", "device 0: 3221225472 bytes were allocated at the peak, more than 2147483648",
        "memviz peak kept/test_large.pickle", "device 0: * allocated at the peak; * by*", "*train.py:*"])
    found.stdout.no_fnmatch_line("*test_failing.pickle*")
    assert sorted(os.listdir(pytester.path / "kept")) == ["test_large.pickle", "test_small_by_mark.pickle"]


def test_without_limits_only_marks_count(outcome):
    found = outcome()
    assert found.parseoutcomes() == {"passed": 4, "failed": 2}


def test_a_leak_fails_with_the_report_of_it(outcome, pytester):
    tests = "def test_training(): pass"
    found = outcome("--memviz-no-leaks", "--memviz-folder", "kept", tests=tests, taken=LEAKING)
    assert found.parseoutcomes() == {"failed": 1}
    found.stdout.fnmatch_lines(["the test leaks: memviz leaks kept/test_training.pickle",
                                "LEAK  train.py:62 forward: 2.00 MiB a step"])
    assert outcome("--memviz-no-leaks", "--memviz-folder", "clean", tests=tests).parseoutcomes() == {"passed": 1}
    assert os.listdir(pytester.path / "clean") == []


def test_without_cuda_what_asks_for_it_is_skipped_and_the_rest_not_checked(outcome):
    found = outcome("--memviz-max-peak", "2GiB", "-k", "not failing", has_cuda=False,
                    tests=TESTS.replace("use(3 << 30)", "pass"))
    assert found.parseoutcomes() == {"passed": 2, "skipped": 3, "deselected": 1}
    found.stdout.fnmatch_lines(["memviz: no PyTorch with a CUDA device: GPU memory is not checked",
                                "SKIPPED *memviz: no PyTorch with a CUDA device"])


@pytest.mark.parametrize("mark, why", [
    ('max_peek="500MB"', "the marker takes max_peak=SIZE and no_leaks=True"),
    ('no_leaks=True, max_peek=1', "the marker takes max_peak=SIZE and no_leaks=True"),
    ('"500MB"', "the marker takes max_peak=SIZE and no_leaks=True"),
    ('no_leak=True', "the marker takes max_peak=SIZE and no_leaks=True"),
    ('max_peak="abc"', "'abc' is not a size such as 500MB or 2GiB"),
    ('max_peak=1.5', "1.5 is not a size such as 500MB or 2GiB")])
def test_a_wrong_mark_is_an_error(outcome, mark, why):
    tests = f"import pytest\n@pytest.mark.memviz({mark})\ndef test_it(): pass"
    for has_cuda in (True, False):
        found = outcome(tests=tests, has_cuda=has_cuda)
        assert found.parseoutcomes() == {"errors": 1}
        found.stdout.fnmatch_lines([f"memviz({mark}): {why}".replace('"', "'")])
        found.stdout.no_fnmatch_line("*Traceback*")


def test_what_is_no_size_is_refused(outcome):
    found = outcome("--memviz-max-peak", "much")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["*--memviz-max-peak: invalid size value: 'much'"])


@pytest.mark.parametrize("text, bytes", [
    ("4096", 4096), ("512M", 512 << 20), ("1.5GiB", 3 << 29), ("2 kb", 2048), ("500MB", 500 << 20), ("2gib", 2 << 30),
    ("7b", 7), ("1e3", 1000), ("3.", 3), ("1TiB", 1 << 40), (123, 123)])
def test_sizes_are_those_of_the_program(text, bytes):
    assert pytest_plugin.size(text) == bytes


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1 KiBx", "1 2", ".5G", "1ii", " 1"])
def test_other_texts_are_no_sizes(text):
    with pytest.raises(ValueError):
        pytest_plugin.size(text)


class Named:
    """The first lines name the failed case."""

    @staticmethod
    def pytest_runtest_logreport(report):
        if report.failed:
            print(f"\npython_pytest_plugin: FAILED: {report.nodeid.split('::')[-1]}", flush=True)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "pytester", "-p", "no:cacheprovider"], plugins=[Named]))
