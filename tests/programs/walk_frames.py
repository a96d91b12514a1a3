# Compares frames as the probe reads them with Python's own at the same time. The argument is the
# probe (tests/programs/walk_probe.c). Prints the number of comparisons; ends with 1 at the first difference.
import asyncio
import atexit
import contextlib
import ctypes
import functools
import gc
import os
import signal
import sys
import threading
import traceback

probe = ctypes.CDLL(sys.argv[1])
probe.probe_why_off.restype = ctypes.c_char_p
probe.probe_version.restype = ctypes.c_char_p
probe.probe_cost.restype = ctypes.c_double
probe.probe_native_cost.restype = ctypes.c_double
probe.probe_loop.argtypes = [ctypes.c_double]
probe.probe_walk.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
probe.probe_walk_in_thread.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
FUNCTION = ctypes.CFUNCTYPE(None)
SIZE = 1 << 20
MOST = 256
CHURNS = 300
FREE_THREADED = hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled()
compared = 0


class Local(threading.local):
    def __init__(self):
        self.buffer = ctypes.create_string_buffer(SIZE)


local = Local()


def frames_of(text):
    out = []
    for line in text.decode("utf-8", "surrogatepass").splitlines():
        number, name, file = line.split("\t", 2)
        out.append((int(number), name, file))
    return out


def fail(*words):
    print("DIFFERENT:", *words, flush=True)
    os._exit(1)


def wanted(frame):
    """Python's own frames, from this frame outwards."""
    out = []
    for each, line in traceback.walk_stack(frame):
        code = each.f_code
        out.append((line, getattr(code, "co_qualname", code.co_name), code.co_filename))
    return out[:MOST]


def check(label):
    """Compares the frames of this moment, beginning with this function itself."""
    global compared
    buffer = local.buffer
    count, want = probe.probe_walk(buffer, SIZE), wanted(sys._getframe())
    plain = traceback.StackSummary.extract(traceback.walk_stack(sys._getframe()), lookup_lines=False)
    got = frames_of(buffer.value)
    if count != len(want) or len(got) != count:
        fail(label, "count", count, len(got), "want", len(want), probe.probe_why_off())
    for at, (a, b, c) in enumerate(zip(got, want, plain)):
        line = a[0] if at else b[0]
        if FREE_THREADED:
            line = b[0]
        if (line, a[1], a[2]) != b or a[1].split(".")[-1] != c.name or a[2] != c.filename:
            fail(label, "frame", at, "got", a, "want", b, c)
    if got[0][0] != check.__code__.co_firstlineno + 4 and not FREE_THREADED:
        fail(label, "line of the call itself", got[0])
    if probe.probe_native_same() < 1:
        fail(label, "native frames are not those of backtrace()")
    compared += count


def plain():
    check("plain")


def generator():
    check("generator")
    yield 1
    yield from inner_generator()


def inner_generator():
    check("inner generator")
    yield 2


async def coroutine(depth):
    check("coroutine")
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    check("coroutine, resumed")


async def asynchronous_generator():
    for i in range(2):
        check("asynchronous generator")
        yield i


async def many():
    await asyncio.gather(coroutine(3), coroutine(2))
    async for _ in asynchronous_generator():
        check("async for")
    [check("asynchronous comprehension") async for _ in asynchronous_generator()]


class Class:
    check("class body")

    def __init__(self):
        check("__init__")

    @property
    def attribute(self):
        check("property")
        return 1

    @classmethod
    def of_class(cls):
        check("class method")

    @functools.lru_cache(None)
    def cached(self):
        check("through a decorator of C")

    def __del__(self):
        check("__del__")

    def __enter__(self):
        check("__enter__")

    def __exit__(self, *_):
        check("__exit__")

    def __lt__(self, other):
        check("__lt__, called by sort")
        return id(self) < id(other)


def functions():
    plain()
    list(generator())
    (lambda: check("lambda"))()
    [check("list comprehension") for _ in range(2)]
    {check("set comprehension") for _ in range(2)}
    list(check("generator expression") for _ in range(2))
    list(map(lambda _: check("map"), range(2)))
    asyncio.run(many())


def classes():
    for _ in range(20):  # until the interpreter has specialised the call
        one = Class()
    one.attribute
    one.of_class()
    one.cached()
    with one:
        pass
    sorted([Class(), Class(), Class()])
    Class.cached.cache_clear()
    del one
    gc.collect()


def compiled():
    exec("check('exec')")
    exec("def f():\n\n\n  check('exec def')\nf()", globals())
    eval(compile("[check('eval')\nfor _ in '1']", "<made>", "eval"))
    exec(compile("\n" * 70000 + "check('line 70001')", "far.py", "exec"))


def names():
    for name in ("caf\u00e9", "\u03b1\u03b2\u03b3", "\u8ba1\u7b97", "\U0001d4d0x", "a" * 300):
        for file in ("plain.py", "d\u00e9j\u00e0.py", "/\u6a21\u578b/\u7bb1.py", "\U0001f40d.py",
                     "odd\udcff.py", "\u00e9" * 1000):
            scope = {"check": check}
            source = "def {0}():\n  check('names')\n{0}()".format(name)
            exec(compile(source, file, "exec"), scope)


def deep(depth):
    if depth:
        return deep(depth - 1)
    check("deep recursion")


def through_c():
    probe.probe_call(FUNCTION(lambda: check("Python, C, Python")))

    def nested():
        probe.probe_call(FUNCTION(lambda: check("twice through C")))
    probe.probe_call(FUNCTION(nested))
    probe.probe_call_in_thread(FUNCTION(lambda: check("called by a thread of C")))
    buffer = ctypes.create_string_buffer(SIZE)
    if probe.probe_walk_in_thread(buffer, SIZE) != 0:
        fail("a thread of C has frames")


def threads():
    def work(depth):
        deep(depth)
        functions_without_loop()
    many_threads = [threading.Thread(target=work, args=(i * 3,)) for i in range(8)]
    for each in many_threads:
        each.start()
    for each in many_threads:
        each.join()


def functions_without_loop():
    for _ in range(20):
        plain()
        list(generator())
        Class()


def signals():
    signal.signal(signal.SIGUSR1, lambda *_: check("signal handler"))
    for _ in range(5):
        os.kill(os.getpid(), signal.SIGUSR1)


@contextlib.contextmanager
def manager():
    check("context manager")
    yield
    check("context manager, leaving")


def exceptions():
    try:
        raise ValueError
    except ValueError:
        check("except")
    finally:
        check("finally")
    with manager():
        check("with")
    sys.settrace(lambda *_: None)
    check("while traced")
    sys.settrace(None)
    sys.setprofile(lambda *_: None)
    check("while profiled")
    sys.setprofile(None)


def churn():
    """Code objects that come and go under the same addresses, in several threads."""
    stop = threading.Event()

    def make(which):
        for serial in range(1, CHURNS + 1):
            name = "f{}".format(serial % 3)
            pad = "\n" * ((serial * 7 + which) % 50)
            scope = {"check": check}
            exec(compile("{}def {}():\n{}  check('churn')\n".format(pad, name, pad), "churn.py",
                         "exec"), scope)
            scope[name]()

    def disturb():
        while not stop.is_set():
            sys._current_frames()
            gc.collect()
    workers = [threading.Thread(target=make, args=(i,)) for i in range(4)]
    disturber = threading.Thread(target=disturb)
    for each in [*workers, disturber]:
        each.start()
    for each in workers:
        each.join()
    stop.set()
    disturber.join()


def subinterpreters():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    source = """if True:
        import ctypes, sys
        probe = ctypes.CDLL({!r})
        probe.probe_walk.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        buffer = ctypes.create_string_buffer({})
        def walk():
            return probe.probe_walk(buffer, {})
        for _ in range(100):
            count = walk()
        assert count >= 0
        """.format(sys.argv[1], SIZE, SIZE)
    try:
        each = interpreters.create()
    except Exception as error:
        print("no sub-interpreter here:", error)
        return
    try:
        failed = interpreters.run_string(each, source)
        if failed is not None and "ctypes" not in str(failed):
            fail("sub-interpreter", failed)
    except Exception as error:  # ctypes may refuse to be loaded there
        if "ctypes" not in str(error):
            raise
    interpreters.destroy(each)
    check("after a sub-interpreter")


def greenlets():
    try:
        import greenlet
    except ImportError:
        print("no greenlet here")
        return
    main = greenlet.getcurrent()

    def one():
        check("greenlet")
        main.switch()
        check("greenlet, resumed")
    other = greenlet.greenlet(one)
    other.switch()
    check("between greenlets")
    other.switch()
    check("after a greenlet")


def forked():
    child = os.fork()
    if child == 0:
        check("forked child")
        threads()
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        fail("forked child")


class AtTheEnd:
    """Walks when the interpreter ends and frees the object."""

    def __del__(self):
        probe_walk(buffer_at_the_end, SIZE)


def main():
    sys.setrecursionlimit(3000)
    for test in (functions, classes, compiled, names, through_c, threads, signals, exceptions,
                 churn, subinterpreters, greenlets, forked):
        before = compared
        test()
        print("{}: {} frames".format(test.__name__, compared - before), flush=True)
    for depth in (10, 200, 240, 247, 248, 249, 250, 251, 252, 253, 254, 255, 256, 257, 400, 900):
        deep(depth)
    if probe.probe_why_off():
        fail(probe.probe_why_off())
    if probe.probe_version().decode() != "{}.{}.{}".format(*sys.version_info[:3]) and \
            sys.version_info[3] == "final":
        fail(probe.probe_version())

    def cost(depth):
        return cost(depth - 1) if depth else probe.probe_cost(2000)
    print("{}: {} frames compared; {:.0f} ns for a walk of 10 frames, {:.0f} ns of 50; "
          "{:.0f} ns for {} native frames".format(
              sys.version.split()[0], compared, cost(7), cost(47), probe.probe_native_cost(2000),
              probe.probe_native()))


buffer_at_the_end = ctypes.create_string_buffer(SIZE)
probe_walk = probe.probe_walk
at_the_end = AtTheEnd()
atexit.register(lambda: check("atexit"))
main()
for _ in range(4):  # they continue while the interpreter ends
    threading.Thread(target=lambda: probe.probe_loop(5), daemon=True).start()
