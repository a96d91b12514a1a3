"""The dispatch mode of a dry run: tensors on the GPU are fake, small ones on the CPU are real, and each
storage on the GPU is an allocation from its first operator to its last reference."""

import bisect
import contextlib
import ctypes
import math
import mmap
import os
import platform
import re
import sys
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import kernels
from .allocator import Allocator, Block, Settings, Stack

PLAIN = torch.Tensor.__torch_dispatch__
DEVICE, PINNED = torch.ops.prim.device.default, torch.ops.aten.is_pinned.default
FAKE = torch._C._TorchDispatchModeKey.FAKE
MOST_REAL = 4 << 20  # bytes of a CPU tensor that is made for real; larger ones are weights, not data
MOST_KNOWN = 1 << 20  # elements of a GPU tensor of integers whose values are kept
MOST_NOTES = 20  # lines that are named for one reason
OWN = __file__.rsplit("/", 1)[0]
HIDDEN = (OWN, "/torch/_subclasses/", "/torch/utils/_python_dispatch.py", "/torch/_ops.py", "/torch/_decomp",
          "/torch/_prims", "/torch/_dynamo/", "/torch/_refs", "/torch/_meta_registrations.py", "/torch/_compile.py")
CUDA, META = 1, 14  # c10::DeviceType
GET_DEVICE, GET_STREAM, GET_DEFAULT_STREAM, EXCHANGE_STREAM = 2, 5, 6, 9  # of c10::impl::DeviceGuardImplInterface, since 1.9


WORDS = ctypes.POINTER(ctypes.c_void_p)
# The code of deviceCount(), the first method after the events' that returns 1, of x86-64 (mov) and aarch64.
# getStream(): stream 0 of its argument, a device. It is machine code, since ctypes cannot return 16 bytes.
STREAM_OF = {"x86_64": b"\x0f\xb7\xc6\x31\xd2\xc3", "aarch64": b"\x20\x3c\x00\x12\x01\x00\x80\xd2\xc0\x03\x5f\xd6"}
RETURNS_ONE = re.compile(rb"(\xf3\x0f\x1e\xfa)?(\xb8\x01\0\0\0|\xb0\x01)\xc3|(\x5f\x24\x03\xd5)?\x20\x00\x80\x52\xc0\x03\x5f\xd6")


def methods_of(thing: int, changed: Dict[int, Any], most: int) -> Any:
    """A copy of a C++ object's method table, after the two words of its type, with some methods changed."""
    table = ctypes.cast(ctypes.cast(thing, WORDS)[0] - 16, WORDS)
    copy = (ctypes.c_void_p * (most + 2))(*table[:most + 2])
    for method, function in changed.items():
        copy[2 + method] = function if isinstance(function, int) else ctypes.cast(function, ctypes.c_void_p).value
    return copy


def library(name: str) -> Any:
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split(None, 5)[5].strip() for line in maps if f"/{name}.so" in line))


def guard_without_gpu(current: Callable[[], int], devices: int) -> List[Any]:
    """Autograd asks the guard of a tensor's device for streams. Without a GPU, CUDA's guard throws or is missing; a
    copy of the one for `meta`, which does nothing, is what fake tensors need. The table of guards is
    c10::impl::device_guard_impl_registry. The copy has one stream for each device, answers getDevice(), by which
    "cuda" becomes "cuda:0", with the current device (an int8 of its type and one of its index), and deviceCount().
    CUDA's hooks, which throw "hasPrimaryContext expects a valid device index", answer yes: in newer releases isBuilt(), which returns true, and isAvailable() come before that method. Returns what must stay alive."""
    table = (ctypes.c_void_p * 21).in_dll(library("libc10"), "_ZN3c104impl26device_guard_impl_registryE")
    plain = ctypes.cast(ctypes.cast(table[META] or 0, WORDS)[0] or 0, WORDS)
    count = next((n for n in range(10, 20) if RETURNS_ONE.match(ctypes.string_at(plain[n], 16))), None)
    if count is None:
        raise RuntimeError(f"PyTorch {torch.__version__} has device guards that memviz does not know")
    number = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
    device, all_devices, yes = number(lambda _: CUDA | current() << 8), number(lambda _: devices), number(lambda _: 1)
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(STREAM_OF[platform.machine()])
    stream = ctypes.addressof(ctypes.c_char.from_buffer(code))
    guards = methods_of(table[META] or 0, {GET_DEVICE: device, GET_STREAM: stream, GET_DEFAULT_STREAM: stream, count: all_devices,
                                      EXCHANGE_STREAM: stream}, 32)
    guard = (ctypes.c_void_p * 2)(ctypes.addressof(guards) + 16, 0)
    table[CUDA] = ctypes.addressof(guard)
    kept = [guards, guard, device, all_devices, yes, code]
    if torch.version.cuda is not None:
        find = library("libtorch_cpu")._ZN2at6detail12getCUDAHooksEv
        find.restype = ctypes.c_void_p
        hooks = find()
        first = ctypes.string_at(ctypes.cast(ctypes.cast(hooks, WORDS)[0], WORDS)[2], 16)
        kept.append(methods_of(hooks, {4 if RETURNS_ONE.match(first) else 2: yes}, 80))
        ctypes.cast(hooks, WORDS)[0] = ctypes.addressof(kept[-1]) + 16
    return kept


@contextlib.contextmanager
def no_fake() -> Iterator[None]:
    mode = torch._C._unset_dispatch_mode(FAKE)
    try:
        yield
    finally:
        if mode is not None:
            torch._C._set_dispatch_mode(mode)


def leaves(value: Any, found: List[Any]) -> List[Any]:
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            leaves(item, found)
    return found


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, torch.Tensor) or isinstance(value, torch.device):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(item, change) for item in value)
    return value


class Recorder(TorchDispatchMode):
    def __init__(self, devices: int, gpu: kernels.Gpu) -> None:
        super().__init__()
        self.fake = FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True)
        self.gpu = gpu
        # What the answer rests on: reason, then lines of the program. The first makes it "at least", the second "about".
        self.notes: Dict[str, Dict[str, List[str]]] = {"not known": {}, "rough": {}, "assumed": {}}
        self.allocators = [Allocator(device) for device in range(devices)]
        self.live: Dict[int, Any] = {}  # by storage: the reference that frees its block
        self.streams: Set[int] = set()  # storages that another stream uses: free when the GPU is done with them
        self.values: Dict[int, Any] = {}  # by id of a fake tensor: its values, if they are known
        self.frames: Dict[Tuple[Any, int], Dict[str, Any]] = {}
        self.stacks: Dict[Tuple[Any, ...], Stack] = {}
        self.workspaces: Set[Tuple[int, int, bool, str]] = set()
        self.device, self.stream = 0, 0  # the current ones
        self.sides: List[Tuple[int, float, int]] = []  # autograd's numbers of operators on other streams: from, to, stream
        self.backward = 0  # depth: PyTorch runs it on a thread of its own
        self.is_configured = False
        self.guesses = False  # whether indices were made up
        self.ignores = 0  # depth: nothing is recorded
        self.engine: Any = None  # the code that calls autograd's engine
        self.sole = -1  # references to a gradient that only the engine holds

    # Stacks

    def stack(self) -> Stack:
        frame: Any = sys._getframe(2)
        keys: List[Any] = []
        while frame:
            keys.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        found = self.stacks.get(tuple(keys))
        if found is None:
            for key in keys:
                if key not in self.frames:
                    self.frames[key] = {"name": key[0].co_name, "filename": key[0].co_filename, "line": key[1]}
            found = self.stacks[tuple(keys)] = [self.frames[key] for key in keys if not any(h in key[0].co_filename for h in HIDDEN)]
        return found

    def note(self, kind: str, reason: str, is_here: bool = True) -> None:
        """A reason, and the line of the program that has it."""
        lines, stack = self.notes[kind].setdefault(reason, []), self.stack() if is_here else []
        user = [f for f in stack if "/torch/" not in f["filename"] and "-packages/" not in f["filename"]]
        where = [f"{frame['filename']}:{frame['line']}" for frame in (user or stack)[:1]]
        lines += where if len(lines) < MOST_NOTES and where != [] and where[0] not in lines else []

    # Memory

    def configure(self, text: str) -> None:
        """Settings of the allocator, in the form of PYTORCH_CUDA_ALLOC_CONF."""
        try:
            settings = Settings(text)
        except ValueError:
            raise RuntimeError(f"PYTORCH_CUDA_ALLOC_CONF={text}: a value is not a whole number") from None
        self.is_configured = True
        for each in self.allocators:
            each.settings = settings
        for setting in settings.unknown:
            self.note("assumed", f"the allocator's setting {setting} is left out", False)

    def take(self, device: int, size: int) -> Optional[Block]:
        if not self.is_configured:  # a program may set the variable after it imports torch
            self.configure(next((os.environ[v] for v in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF") if v in os.environ), ""))
        return self.allocators[device].alloc(size, self.stream or self.forward_stream(), self.stack())

    def forward_stream(self) -> int:
        """Of the operator whose gradient is computed: the engine makes it the current one."""
        node = torch._C._current_autograd_node() if self.backward and self.sides else None
        number = node._sequence_nr() if node else -1
        _, end, stream = self.sides[bisect.bisect(self.sides, (number, math.inf, 0)) - 1] if node else (0, 0, 0)
        return stream if number < end else 0

    def hold(self, tensor: Any) -> None:
        if tensor.layout != torch.strided:
            return self.note("not known", "of a sparse tensor only the parts that are tensors are counted")
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.live:
            return
        device = tensor.device.index or 0
        block = self.take(device, storage.nbytes())
        self.live[key] = (weakref.ref(storage, lambda _: self.release(key)), block, device)

    def release(self, key: int) -> None:
        _, block, device = self.live.pop(key, (None, None, 0))
        if block:
            self.allocators[device].free(block, key in self.streams)
        self.streams.discard(key)

    def each(self, what: str, *args: Any) -> None:
        for allocator in self.allocators:
            getattr(allocator, what)(*args)

    def used_by(self, tensor: Any, stream: int) -> None:
        """Tensor.record_stream()"""
        _, block, _ = self.live.get(tensor.untyped_storage()._cdata, (None, None, 0))
        if block and block.key[1] != stream:
            self.streams.add(tensor.untyped_storage()._cdata)

    def resized(self, storage: Any) -> None:
        """The new memory is taken before the old one goes."""
        ref, old, device = self.live.get(storage._cdata, (None, None, 0))
        if ref is None or (old.requested if old else 0) == storage.nbytes():
            return
        block = self.take(device, storage.nbytes())
        self.live[storage._cdata] = (ref, block, device)
        if old:
            self.allocators[device].free(old, storage._cdata in self.streams)
            self.streams.discard(storage._cdata)

    def temporaries(self, device: int, sizes: List[int]) -> None:
        """Workspace that an operator takes and gives back, the last one first; -N: the N-th goes back before that."""
        blocks: List[Optional[Block]] = []
        for size in (*sizes, *range(-sum(size >= 0 for size in sizes), 0)):
            if size >= 0:
                blocks.append(self.take(device, size))
                continue
            block, blocks[-size - 1] = blocks[-size - 1], None
            if block:
                self.allocators[device].free(block)

    def workspace(self, device: int, kind: str, size: int) -> None:
        """Workspace that a library keeps: one for each thread (its handle) and stream."""
        key = (device, self.stream, self.backward > 0, kind)
        if key not in self.workspaces:
            self.workspaces.add(key)
            self.take(device, size)

    def chosen(self, what: str) -> None:
        self.note("rough", f"cuDNN chooses the workspaces of {what} when it runs")

    # Values

    def value(self, tensor: Any) -> Any:
        """A real tensor with the values of this one, or None."""
        if not isinstance(tensor, FakeTensor):
            return tensor
        found = self.values.get(id(tensor))
        return found[1] if found and found[0]() is tensor else None

    def know(self, tensor: Any, value: Any) -> None:
        if isinstance(tensor, FakeTensor) and isinstance(value, torch.Tensor) and value.numel() <= MOST_KNOWN:
            key = id(tensor)
            self.values[key] = (weakref.ref(tensor, lambda _: self.values.pop(key, None)), value)

    def computed(self, func: Any, tensors: List[Any], args: Any, kwargs: Any) -> Any:
        """The result of an operator on values that are all known and small, for real, or None."""
        known = {id(t): self.value(t) for t in tensors}
        if any(t.is_floating_point() and t.numel() > 1 or t.numel() > MOST_KNOWN or known[id(t)] is None for t in tensors) or \
                not tensors and kernels.made_bytes(args, kwargs) > MOST_KNOWN:
            return None
        cpu = torch.device("cpu")

        def real(x: Any) -> Any:
            return known[id(x)] if isinstance(x, torch.Tensor) else cpu

        try:
            with no_fake():
                return func(*mapped(args, real), **{k: mapped(v, real) for k, v in kwargs.items()})
        except Exception:  # an operator that the CPU does not have: its values are not known
            return None

    # Operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is DEVICE and isinstance(args[0], FakeTensor):
            return args[0].fake_device
        if torch._C._get_dispatch_mode(FAKE) not in (None, self.fake):
            return func(*args, **(kwargs or {}))  # a DTensor works out a shape
        if any(kind.__torch_dispatch__ != PLAIN and not issubclass(kind, FakeTensor) for kind in types):
            return NotImplemented  # a DTensor, say, whose operators on its parts come here
        if func is PINNED:
            return True  # DDP insists
        kwargs = {key: value for key, value in (kwargs or {}).items() if key != "pin_memory"}  # pinning needs CUDA
        tensors = leaves(list(kwargs.values()), leaves(args, []))
        if not any(isinstance(t, FakeTensor) for t in tensors):
            device = kwargs.get("device")
            if (device is None or device.type != "cuda") and (tensors or kernels.made_bytes(args, kwargs) <= MOST_REAL):
                with no_fake():
                    return func(*args, **kwargs)
        if func.namespace == "c10d":
            return kernels.collective(func, args)
        if func is kernels.LOCAL_SCALAR:
            return self.scalar(args[0])
        if func is kernels.SLICE_BACKWARD and kernels.is_whole(*args):
            return kernels.ALIAS(args[0])  # x[:] is x, but not for a subclass of tensors
        takes = (func is kernels.ADD and self.backward > 0 and self.is_engines() and
                 args[0].size() == args[1].size() and not args[0]._is_view() and self.is_sole(args[0]._use_count()) is True)
        return self.faked(func, tensors, args, kwargs, takes)

    def is_engines(self) -> bool:
        """Whether autograd's engine itself calls, not a formula of PyTorch's in Python: newer releases wrap dispatch."""
        frame: Any = sys._getframe(2)
        while frame and ("/torch/_dynamo/" in frame.f_code.co_filename or frame.f_code.co_filename.endswith("/torch/_compile.py")):
            frame = frame.f_back
        return frame is not None and frame.f_code is self.engine

    def is_sole(self, references: int) -> bool:
        """Autograd adds a second gradient in place if no one else holds the first (input_buffer.cpp,
        can_accumulate_inplace()), but never to a tensor of a subclass, as fake ones are. The first call sees a
        gradient that is known to be held by the engine alone: see DryRun.calibrate(). A view shares its storage
        with its base, which it holds."""
        if self.sole < 0:
            self.sole = references
        return references <= self.sole

    def inherit(self, tensor: Any, source: Any) -> None:
        key, old = tensor.untyped_storage()._cdata, source.untyped_storage()._cdata
        ref, block, device = self.live.get(old, (None, None, 0))
        if block:
            self.live[old] = (ref, None, device)
            self.live[key] = (weakref.ref(tensor.untyped_storage(), lambda _: self.release(key)), block, device)

    def faked(self, func: Any, tensors: List[Any], args: Any, kwargs: Any, takes: bool = False) -> Any:
        values = None if func in kernels.RANDOM else self.computed(func, tensors, args, kwargs)
        if func._schema.is_mutable and values is None and func not in kernels.SCALED and tensors:
            self.forget(tensors[0])
        if func in kernels.SCALED:
            self.note("rough", "no step is skipped: a GradScaler may skip the first ones, which then take less")
        if func in kernels.DYNAMIC:
            return self.dynamic(func, args, kwargs, values)
        if func is kernels.INDEX and any(i is not None and i.dtype == torch.bool for i in args[1]):
            args = (args[0], [part for i in args[1] for part in  # x[mask] is x[mask.nonzero()]: a size that depends on values
                              (kernels.NONZERO(i).unbind(1) if i is not None and i.dtype == torch.bool else (i,))])
            tensors = leaves(args, [])
        if not all(isinstance(t, FakeTensor) for t in tensors):
            def leaf(x: Any) -> Any:
                return x if isinstance(x, (FakeTensor, torch.device)) else self.fake.from_tensor(x)

            args, kwargs = mapped(args, leaf), {k: mapped(v, leaf) for k, v in kwargs.items()}
        try:
            out = kernels.FAKES.get(func, func)(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as why:
            out = self.unsupported(func, tensors, args, kwargs, why)
        found = leaves(out, [])
        if values is None and func in kernels.INDICES:
            with no_fake():
                values = kernels.balanced(func, args, found)
            self.guesses = self.guesses or "rand" not in func.__name__
            self.note("assumed", "indices that depend on computed values are spread evenly")
        if values is not None:
            for tensor, value in zip(found, values if isinstance(values, (list, tuple)) else [values]):
                self.know(tensor, value)
        if not self.ignores:
            if takes:
                self.inherit(found[0], args[0])
            self.charge(func, args, kwargs, found)
        return out

    def charge(self, func: Any, args: Any, kwargs: Any, found: List[Any]) -> None:
        if func in kernels.BETWEEN:
            kernels.convolution_backward(self, args, found)
            return
        device = -1
        for t in reversed(found) if func in kernels.LAST_FIRST else found[2:] + found[:2] if func in kernels.SEEDS_FIRST else found:
            if isinstance(t, FakeTensor) and t.fake_device.type == "cuda":
                device = t.fake_device.index or 0
                if not kernels.is_on_host(func, t):
                    self.hold(t)
        if device >= 0 and func in kernels.RULES:
            self.temporaries(device, kernels.RULES[func](self, device, args, kwargs, found))

    def forget(self, tensor: Any) -> None:
        """In-place writes of unknown values: neither the tensor nor its views are known any more."""
        if isinstance(tensor, FakeTensor) and self.values and tensor.layout == torch.strided:
            storage = tensor.untyped_storage()._cdata
            for key, (ref, _) in list(self.values.items()):
                other = ref()
                if other is None or other.layout == torch.strided and other.untyped_storage()._cdata == storage:
                    self.values.pop(key, None)

    def scalar(self, tensor: Any) -> Any:
        self.each("waited")
        value = self.value(tensor)
        if value is not None:
            with no_fake():
                return value.item()
        if tensor.dtype == torch.bool:
            self.note("assumed", "a condition that depends on computed values is taken as false")
            return False
        if tensor.is_floating_point() or tensor.is_complex():
            return 1.0
        self.note("not known", "an integer that depends on computed values is taken as 1")
        return 1

    def dynamic(self, func: Any, args: Any, kwargs: Any, values: Any) -> Any:
        """Operators whose result has a size that depends on values."""
        first = args[0]
        if self.guesses and values is not None and func not in kernels.INDICES:
            self.note("rough", "a size follows from indices that are taken as spread evenly")
        if values is None:
            self.note("not known", f"{func}: a size that depends on computed values; half is taken")
            with no_fake():
                values = kernels.half(func, args, kwargs)
        made = [torch.empty_strided(v.size(), v.stride(), dtype=v.dtype, device=first.device) for v in leaves(values, [])]
        for tensor, value in zip(made, leaves(values, [])):
            self.know(tensor, value)
            if first.device.type == "cuda":
                self.hold(tensor)
        return made[0] if isinstance(values, torch.Tensor) else type(values)(made)

    def unsupported(self, func: Any, tensors: List[Any], args: Any, kwargs: Any, why: Exception) -> Any:
        """An operator without a fake kernel: what it makes is not known. Those that only alter their
        arguments can be skipped, at the price of their temporaries."""
        may_skip = func._schema.is_mutable and not func._schema.returns
        if type(why).__name__ not in ("UnsupportedFakeTensorException", "UnsupportedOperatorException", "DataDependentOutputException",
                                      "DynamicOutputShapeException") or not tensors and not may_skip:
            raise why
        self.note("not known", f"{func} has no fake kernel (torch.library.register_fake adds one)")
        return None if may_skip else torch.empty_like(tensors[0])
