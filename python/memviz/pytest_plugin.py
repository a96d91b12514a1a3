"""A plug-in for pytest that limits the GPU memory of tests, and checks tests for leaks.

    pytest --memviz-max-peak 2GiB --memviz-no-leaks

    @pytest.mark.memviz(max_peak="500MB", no_leaks=True)
    def test_training(): ...

    def test_forward(memviz):
        ...
        assert memviz.peak < 2 << 30

Peaks are taken from PyTorch's counters. A test that exceeds a limit leaves a snapshot, and its message contains a
report about the snapshot."""

import gc
import importlib
import os
import re
import tempfile
from typing import Any, Dict, Iterator, Optional, Union

import pytest

from .native import run
from .torch_memory import History, snapshot

MOST_ENTRIES = 1_000_000
SIZE = re.compile(r"(\d+\.?\d*(?:e[+-]?\d+)?) *(?:([kmgtpe])i?)?b?", re.IGNORECASE)


def size(text: Union[str, int]) -> int:
    """Parses a size as the command line does: "4096", "512M", "1.5GiB", "2 kb". Units are binary."""
    if isinstance(text, int):
        return text
    match = SIZE.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"{text!r} is not a size such as 500MB or 2GiB")
    return int(float(match[1]) * 1024 ** (" kmgtpe".index((match[2] or " ").lower())))


def limits_of(marker: Any) -> Dict[str, Any]:
    """Returns the limits in the marker. A misspelt limit fails the test, because it would not check anything."""
    limits = dict(marker.kwargs)
    try:
        if marker.args or not limits.keys() <= {"max_peak", "no_leaks"}:
            raise ValueError("the marker takes max_peak=SIZE and no_leaks=True")
        if limits.get("max_peak") is not None:
            limits["max_peak"] = size(limits["max_peak"])
    except ValueError as why:
        words = [*map(repr, marker.args), *(f"{name}={value!r}" for name, value in limits.items())]
        pytest.fail(f"memviz({', '.join(words)}): {why}", pytrace=False)
    return limits


class Watch:
    """The GPU memory of a test, which the fixture `memviz` returns."""

    def __init__(self, item: Any) -> None:
        marker = item.get_closest_marker("memviz")
        wanted = limits_of(marker) if marker else {}
        self.max_peak: Optional[int] = wanted.get("max_peak", item.config.getoption("memviz_max_peak", None))
        self.no_leaks = bool(wanted.get("no_leaks", item.config.getoption("memviz_no_leaks", False)))
        self.is_asked = marker is not None or "memviz" in getattr(item, "fixturenames", ())
        self.name = re.sub(r"[^\w.-]+", "-", item.name)
        self.folder: Optional[str] = item.config.getoption("memviz_folder", None)
        self.history: Optional[History] = None
        self.torch: Any = None

    def start(self) -> None:
        self.torch = torch_or_none()
        if self.torch is None:
            if self.is_asked:
                pytest.skip("memviz: no PyTorch with a CUDA device")
            return
        self.history = History(MOST_ENTRIES, "python")
        self.history.start()
        for device in range(self.torch.cuda.device_count()):
            self.torch.cuda.reset_peak_memory_stats(device)

    def stop(self) -> None:
        if self.history:
            self.history.stop()

    def peak_of(self, device: int) -> int:
        return int(self.torch.cuda.max_memory_allocated(device))

    @property
    def peak(self) -> int:
        """The largest number of bytes that were allocated on a device at once since the test began."""
        return max(map(self.peak_of, range(self.torch.cuda.device_count())), default=0)

    def snapshot(self, path: Optional[str] = None) -> str:
        """Writes the recording of the test so far to a file, and returns its path."""
        if path is None:
            if self.folder:
                os.makedirs(self.folder, exist_ok=True)
            path = os.path.join(self.folder or tempfile.mkdtemp(prefix="memviz-"), self.name + ".pickle")
        return snapshot(path)

    def check(self) -> None:
        if self.history is None:
            return
        for device in range(self.torch.cuda.device_count() if self.max_peak is not None else 0):
            if self.peak_of(device) > (self.max_peak or 0):
                path = self.snapshot()
                pytest.fail(f"device {device}: {self.peak_of(device)} bytes were allocated at the peak, more than "
                            f"{self.max_peak}\n{text_of('peak', path, '--device', str(device))}", pytrace=False)
        if self.no_leaks:
            self.check_leaks()

    def check_leaks(self) -> None:
        gc.collect()
        path = self.snapshot()
        found = run("leaks", path, "--fail-on", "leak,known")
        if found.returncode == 3:
            pytest.fail(f"the test leaks: memviz leaks {path}\n{found.stdout}", pytrace=False)
        os.unlink(path)


def text_of(command: str, path: str, *options: str) -> str:
    return f"memviz {command} {path}\n{run(command, path, *options).stdout}"


def torch_or_none() -> Any:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


# ---- hooks ------------------------------------------------------------------------------------

WATCH = "memviz_watch"


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("memviz", "GPU memory")
    group.addoption("--memviz-max-peak", metavar="SIZE", type=size,
                    help="fail tests with more than SIZE (500MB, 2GiB) allocated on a device at once")
    group.addoption("--memviz-no-leaks", action="store_true",
                    help="fail tests whose memory grows from step to step")
    group.addoption("--memviz-folder", metavar="FOLDER", help="where failed tests leave their snapshots")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "memviz(max_peak=SIZE, no_leaks=True): limits of this test's GPU memory; "
                                       "skipped without CUDA")


def pytest_report_header(config: Any) -> Optional[str]:
    if (config.option.memviz_max_peak is not None or config.option.memviz_no_leaks) and torch_or_none() is None:
        return "memviz: no PyTorch with a CUDA device: GPU memory is not checked"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    watch = Watch(item)
    if watch.is_asked or watch.max_peak is not None or watch.no_leaks:
        setattr(item, WATCH, watch)
        watch.start()


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: Any) -> None:
    if hasattr(item, WATCH):
        getattr(item, WATCH).check()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: Any) -> None:
    if hasattr(item, WATCH):
        getattr(item, WATCH).stop()


@pytest.fixture
def memviz(request: Any) -> Iterator[Watch]:
    """The GPU memory of the test: .peak, .snapshot(path)."""
    yield getattr(request.node, WATCH)
