"""Marks, ranges and heaps for a program under `memviz run` (capture/memviz.h is the C version). Marks and
ranges also work within record(). In all other cases, the functions here do nothing."""

import contextlib
import ctypes
from functools import partial
from typing import Any, Callable, ContextManager, Iterator, List


def nothing(*_: Any) -> int:
    return 0


def function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Returns a function from the library that `memviz run` preloads. Calls do not release the interpreter's
    lock, because a mark must not cause a thread switch."""
    try:
        found = getattr(LIBRARY, name)
    except AttributeError:
        return nothing
    found.restype, found.argtypes = result, arguments
    called: Callable[..., Any] = found
    return called


LIBRARY = ctypes.PyDLL(None)
MARK = function("memviz_mark", None, ctypes.c_char_p)
PUSH = function("memviz_push", None, ctypes.c_char_p)
POP = function("memviz_pop", None)
PAUSE = function("memviz_pause", None)
RESUME = function("memviz_resume", None)
HEAP = function("memviz_heap", ctypes.c_uint, ctypes.c_char_p)
ALLOC = function("memviz_alloc", None, ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t)
FREE = function("memviz_free", None, ctypes.c_uint, ctypes.c_void_p)


# While record() is active, these functions make PyTorch's annotations, the only ranges in PyTorch's
# snapshots.
annotating: List[Callable[[str], ContextManager[Any]]] = []


def annotation(name: str) -> ContextManager[Any]:
    for make in annotating[-1:]:  # another thread may end its recording at any time
        return make(name)
    return contextlib.nullcontext()


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def mark(text: str) -> None:
    """Names the current point in time, for `--from @TEXT` in reports."""
    MARK(encoded(text))
    with annotation(text):
        pass


def pause() -> None:
    """Until resume() is called, `memviz run` records only blocks that outlive the pause."""
    PAUSE()


def resume() -> None:
    RESUME()


def push(name: str) -> None:
    """Begins a range on this thread, under `memviz run`; pop() ends the innermost range."""
    PUSH(encoded(name))


def pop() -> None:
    POP()


@contextlib.contextmanager
def range(name: str) -> Iterator[None]:
    """Names the time during which a `with` block runs, or, as a decorator, each call of a function."""
    with annotation(name):
        push(name)
        try:
            yield
        finally:
            pop()


class Heap:
    """An allocator of the program, whose blocks `--level NAME` shows. Blocks are attributed to the caller of
    the function that calls alloc(), so make the calls in one function of your allocator."""

    alloc: Callable[[int, int], None]  # alloc(address, bytes), after the block was taken
    free: Callable[[int], None]  # free(address), before it may be taken again
    is_recorded: bool  # whether `memviz run` is recording; otherwise alloc and free do nothing

    def __init__(self, name: str) -> None:
        self.name = name
        number = HEAP(encoded(name))
        # These are not methods, because blocks would then be attributed to a Python function between the
        # allocator and memviz.
        self.alloc = partial(ALLOC, number)
        self.free = partial(FREE, number)
        self.is_recorded = number != 0


def heap(name: str) -> Heap:
    """Registers a heap. The same name always gives the same heap."""
    return Heap(name)
