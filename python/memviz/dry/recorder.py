"""The dispatch mode for dry runs. Tensors on the GPU are fake, and small tensors on the CPU are real. Each storage on the
GPU counts as an allocation that lives from its first operator to its last reference."""

import bisect, ctypes, math, mmap, os, platform, re, sys, weakref
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode

from . import kernels
from .allocator import Allocator, Block, Settings, Stack

no_fake = unset_fake_temporarily
PLAIN = torch.Tensor.__torch_dispatch__
DEVICE, PINNED = torch.ops.prim.device.default, torch.ops.aten.is_pinned.default
FAKE = torch._C._TorchDispatchModeKey.FAKE
MOST_REAL = 4 << 20  # size in bytes of the largest real CPU tensor; larger tensors are weights, not data
MOST_KNOWN = 1 << 20  # largest number of elements of an integer GPU tensor whose values are kept
MOST_NOTES = 20  # largest number of lines listed for a reason
NONE = None, None, 0  # entry for a storage that is not on a GPU
OWN = __file__.rsplit("/", 1)[0]
HIDDEN = (OWN, "/torch/_subclasses/", "/torch/utils/_python_dispatch.py", "/torch/_ops.py", "/torch/_decomp",
          "/torch/_prims", "/torch/_dynamo/", "/torch/_refs", "/torch/_meta_registrations.py", "/torch/_compile.py")
CUDA, META = 1, 14  # c10::DeviceType
GET_DEVICE, STREAMS = 2, (5, 6, 9)  # getStream, getDefaultStream, exchangeStream of c10::impl::DeviceGuardImplInterface
WORDS = ctypes.POINTER(ctypes.c_void_p)
# RETURNS_ONE: machine code of deviceCount(), which is the first method after those for events that returns 1.
# STREAM_OF: machine code for getStream(), which returns stream 0 of a device; ctypes cannot return 16 bytes.
STREAM_OF = {"x86_64": b"\x0f\xb7\xc6\x31\xd2\xc3", "aarch64": b"\x20\x3c\x00\x12\x01\x00\x80\xd2\xc0\x03\x5f\xd6"}
RETURNS_ONE = re.compile(rb"(\xf3\x0f\x1e\xfa)?(\xb8\x01\0\0\0|\xb0\x01)\xc3|(\x5f\x24\x03\xd5)?\x20\x00\x80\x52\xc0\x03\x5f\xd6")

def methods_of(thing: int, changed: Dict[int, Any], most: int) -> Any:
    """Returns a copy of a C++ object's method table, after the two words of its type, with some methods changed."""
    table = ctypes.cast(ctypes.cast(thing, WORDS)[0] - 16, WORDS)
    copy = (ctypes.c_void_p * (most + 2))(*table[:most + 2])
    for method, function in changed.items():
        copy[2 + method] = function if isinstance(function, int) else ctypes.cast(function, ctypes.c_void_p).value
    return copy

def library(name: str) -> Any:
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split(None, 5)[5].strip() for line in maps if f"/{name}.so" in line))

def guard_without_gpu(current: Callable[[], int], devices: int) -> List[Any]:
    """Replaces CUDA's guard. Autograd obtains streams from the guard of a tensor's device, but without a GPU, CUDA's
    guard throws or is missing. It is replaced by a copy of the guard for `meta`, which does nothing, with one stream
    for each device. Its getDevice(), which makes "cuda:0" from "cuda", returns the current device (int8 type, int8
    index). The method of CUDA's hooks that throws "hasPrimaryContext expects a valid device index" is made to return
    true; in newer releases it comes after isBuilt(), which returns true, and isAvailable(). Returns the objects that
    must stay alive."""
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
    guards = methods_of(table[META] or 0, {GET_DEVICE: device, count: all_devices, **dict.fromkeys(STREAMS, stream)}, 32)
    guard = (ctypes.c_void_p * 2)(ctypes.addressof(guards) + 16, 0)
    table[CUDA] = ctypes.addressof(guard)
    kept = [guards, guard, device, all_devices, yes, code]
    if torch.version.cuda is not None:
        find = library("libtorch_cpu")._ZN2at6detail12getCUDAHooksEv
        find.restype = ctypes.c_void_p
        hooks = ctypes.cast(find(), WORDS)
        first = ctypes.string_at(ctypes.cast(hooks[0], WORDS)[2], 16)
        kept.append(methods_of(find(), {4 if RETURNS_ONE.match(first) else 2: yes}, 80))
        hooks[0] = ctypes.addressof(kept[-1]) + 16
    return kept

def mapped(value: Any, change: Callable[[Any], Any]) -> Any:  # applies a change to all tensors and devices in the arguments
    if isinstance(value, (torch.Tensor, torch.device)):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return type(value)(mapped(item, change) for item in value) if isinstance(value, (list, tuple)) else value

def leaves(*values: Any) -> List[Any]:
    found: List[Any] = []
    mapped(values, found.append)
    return [leaf for leaf in found if isinstance(leaf, torch.Tensor)]

def on_gpu(tensor: Any) -> bool:
    return isinstance(tensor, FakeTensor) and tensor.fake_device.type == "cuda"

class Recorder(TorchDispatchMode):
    def __init__(self, devices: int, gpu: kernels.Gpu) -> None:
        super().__init__()
        self.fake, self.gpu = FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True), gpu
        # Reasons why the result is limited, each with lines of the program. "not known" makes the result "at least",
        # and "rough" makes it "about".
        self.notes: Dict[str, Dict[str, List[str]]] = {"not known": {}, "rough": {}, "assumed": {}}
        self.allocators = [Allocator(device) for device in range(devices)]
        self.live: Dict[int, Any] = {}  # by storage: a weak reference that frees the block, the block, and its device
        self.streams: Set[int] = set()  # storages that another stream uses, which become free when the GPU has finished with them
        self.values: Dict[int, Any] = {}  # known values, by id of the fake tensor
        self.frames: Dict[Tuple[Any, int], Dict[str, Any]] = {}
        self.stacks: Dict[Tuple[Any, ...], Stack] = {}
        self.workspaces: Set[Tuple[int, int, bool, str]] = set()
        self.device, self.stream = 0, 0  # current device and stream
        self.sides: List[Tuple[int, float, int]] = []  # operators on other streams, as ranges of autograd's numbers: from, to, stream
        self.is_configured = self.guesses = False  # guesses: whether indices were invented
        self.backward = self.ignores = 0  # depths: within autograd's engine, which has its own threads; within code that is not recorded
        self.engine: Any = None  # the code object that calls autograd's engine
        self.sole = -1  # number of references to a gradient that only the engine holds
    def stack(self) -> Stack:
        frame, keys = sys._getframe(2), []  # type: Any, List[Any]
        while frame:
            keys.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        found = self.stacks.get(tuple(keys))
        if found is None:
            found = self.stacks[tuple(keys)] = [
                self.frames.setdefault((code, line), {"name": code.co_name, "filename": code.co_filename, "line": line})
                for code, line in keys if not any(h in code.co_filename for h in HIDDEN)]
        return found
    def note(self, kind: str, reason: str, is_here: bool = True) -> None:  # adds a reason, and the line of the program that has caused it
        lines, stack = self.notes[kind].setdefault(reason, []), self.stack() if is_here else []
        user = [f for f in stack if "/torch/" not in f["filename"] and "-packages/" not in f["filename"]]
        where = [f"{frame['filename']}:{frame['line']}" for frame in (user or stack)[:1]]
        lines += [line for line in where if len(lines) < MOST_NOTES and line not in lines]
    def configure(self, text: str) -> None:  # sets the allocator's settings, in the form of PYTORCH_CUDA_ALLOC_CONF
        try:
            settings = Settings(text)
        except ValueError:
            raise RuntimeError(f"PYTORCH_CUDA_ALLOC_CONF={text}: a value is not a whole number") from None
        self.is_configured = True
        for each in self.allocators:
            each.settings = settings
        for setting in settings.unknown:
            self.note("assumed", f"the allocator setting {setting} is ignored", False)
    def take(self, device: int, size: int) -> Optional[Block]:
        if not self.is_configured:  # a program may set the variable after it imports torch
            self.configure(next((os.environ[v] for v in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF") if v in os.environ), ""))
        return self.allocators[device].alloc(size, self.stream or self.forward_stream(), self.stack())
    def forward_stream(self) -> int:  # stream of the operator whose gradient is being computed, which the engine makes current
        node = torch._C._current_autograd_node() if self.backward and self.sides else None
        number = node._sequence_nr() if node else -1
        _, end, stream = self.sides[bisect.bisect(self.sides, (number, math.inf, 0)) - 1] if node else (0, 0, 0)
        return stream if number < end else 0
    def hold(self, tensor: Any) -> None:
        if tensor.layout != torch.strided:
            return self.note("not known", "only the component tensors of a sparse tensor are counted")
        storage, device = tensor.untyped_storage(), tensor.device.index or 0
        if storage._cdata not in self.live:
            self.watch(storage, self.take(device, storage.nbytes()), device)
    def watch(self, storage: Any, block: Optional[Block], device: int) -> None:
        key = storage._cdata
        self.live[key] = weakref.ref(storage, lambda _: self.free(key, *self.live.pop(key, NONE)[1:])), block, device
    def free(self, key: int, block: Optional[Block], device: int) -> None:
        if block:
            self.allocators[device].free(block, key in self.streams)
        self.streams.discard(key)
    def each(self, what: str, *args: Any) -> None:
        for allocator in self.allocators:
            getattr(allocator, what)(*args)
    def used_by(self, tensor: Any, stream: int) -> None:  # Tensor.record_stream()
        _, block, _ = self.live.get(tensor.untyped_storage()._cdata, NONE)
        if block and block.key[1] != stream:
            self.streams.add(tensor.untyped_storage()._cdata)
    def resized(self, storage: Any) -> None:  # the new memory is allocated before the old memory is freed
        ref, old, device = self.live.get(storage._cdata, NONE)
        if ref is not None and (old.requested if old else 0) != storage.nbytes():
            self.live[storage._cdata] = ref, self.take(device, storage.nbytes()), device
            self.free(storage._cdata, old, device)
    def temporaries(self, device: int, sizes: List[int]) -> None:
        """Allocates an operator's temporaries and frees them, the last one first. A size of -N frees the N-th one at
        that point."""
        blocks: List[Optional[Block]] = []
        for size in (*sizes, *range(-sum(size >= 0 for size in sizes), 0)):
            if size >= 0:
                blocks.append(self.take(device, size))
            else:
                self.free(-1, blocks[-size - 1], device)
                blocks[-size - 1] = None
    def workspace(self, device: int, kind: str, size: int) -> None:  # allocates memory that a library keeps for each thread and stream
        if (device, self.stream, self.backward > 0, kind) not in self.workspaces:
            self.workspaces.add((device, self.stream, self.backward > 0, kind))
            self.take(device, size)
    def value(self, tensor: Any) -> Any:  # a real tensor with the values of this one, or None
        ref, value = self.values.get(id(tensor), (lambda: None, None))
        return tensor if not isinstance(tensor, FakeTensor) else value if ref() is tensor else None
    def know(self, tensor: Any, value: Any) -> None:
        if isinstance(tensor, FakeTensor) and isinstance(value, torch.Tensor) and value.numel() <= MOST_KNOWN:
            key = id(tensor)
            self.values[key] = weakref.ref(tensor, lambda _: self.values.pop(key, None)), value
    def computed(self, func: Any, tensors: List[Any], args: Any, kwargs: Any) -> Any:  # runs the operator on the CPU if all values are known
        known = {id(t): self.value(t) for t in tensors}
        if any(t.is_floating_point() and t.numel() > 1 or t.numel() > MOST_KNOWN or known[id(t)] is None for t in tensors) or \
                not tensors and kernels.made_bytes(args, kwargs) > MOST_KNOWN:
            return None
        args, kwargs = mapped((args, kwargs), lambda x: known[id(x)] if isinstance(x, torch.Tensor) else torch.device("cpu"))
        try:
            with no_fake():
                return func(*args, **kwargs)
        except Exception:  # this operator does not exist for the CPU, so the values are unknown
            return None
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is DEVICE and isinstance(args[0], FakeTensor):
            return args[0].fake_device
        if torch._C._get_dispatch_mode(FAKE) not in (None, self.fake):
            return func(*args, **(kwargs or {}))  # a DTensor is computing a shape
        if any(kind.__torch_dispatch__ != PLAIN and not issubclass(kind, FakeTensor) for kind in types):
            return NotImplemented  # for example a DTensor; the operators on its parts arrive here later
        if func is PINNED:
            return True  # DDP requires it
        if torch.is_inference_mode_enabled():  # autograd does not decompose composite operators in this mode
            with self:
                out = func.decompose(*args, **(kwargs or {}))
            if out is not NotImplemented:
                return out
        kwargs = {key: value for key, value in (kwargs or {}).items() if key != "pin_memory"}  # pinning needs CUDA
        tensors, device = leaves(args, list(kwargs.values())), kwargs.get("device")
        if not any(isinstance(t, FakeTensor) for t in tensors) and (device is None or device.type != "cuda") and \
                (tensors or kernels.made_bytes(args, kwargs) <= MOST_REAL):
            with no_fake():
                return func(*args, **kwargs)
        if func.namespace == "c10d":
            return kernels.collective(func, args)
        if func is kernels.LOCAL_SCALAR:
            return self.scalar(args[0])
        if func is kernels.SLICE_BACKWARD and (args[3], args[5]) == (0, 1) and args[4] >= args[1][args[2]]:
            return kernels.ALIAS(args[0])  # x[:] is an alias of x, but tensor subclasses copy it
        takes = self.backward > 0 and (func in kernels.FILLED or func is kernels.ADD and self.is_sole(*args[:2])) and self.is_engines()
        return self.faked(func, tensors, args, kwargs, takes)
    def is_engines(self) -> bool:
        """Whether the caller is autograd's engine, rather than a PyTorch formula in Python. Newer releases wrap the
        dispatch."""
        frame: Any = sys._getframe(2)
        while frame and ("/torch/_dynamo/" in frame.f_code.co_filename or frame.f_code.co_filename.endswith("/torch/_compile.py")):
            frame = frame.f_back
        return frame is not None and frame.f_code is self.engine
    def is_sole(self, first: Any, second: Any) -> bool:
        """Whether only the engine holds the first gradient. If so, the engine adds the second gradient in place
        (input_buffer.cpp, can_accumulate_inplace()), but not for subclasses such as fake tensors. The first call, from
        DryRun.calibrate(), is for a gradient that only the engine holds."""
        if first.size() != second.size() or first._is_view():
            return False
        self.sole = first._use_count() if self.sole < 0 else self.sole
        return bool(first._use_count() <= self.sole)
    def inherit(self, tensor: Any, source: Any) -> None:
        old = source.untyped_storage()._cdata
        ref, block, device = self.live.get(old, NONE)
        if block:
            self.live[old] = ref, None, device
            self.watch(tensor.untyped_storage(), block, device)
    def faked(self, func: Any, tensors: List[Any], args: Any, kwargs: Any, takes: bool = False) -> Any:
        values = None if func in kernels.RANDOM else self.computed(func, tensors, args, kwargs)
        if func in kernels.SCALED:
            self.note("rough", "a GradScaler may skip the first steps, which then take less; here none is skipped")
        elif func._schema.is_mutable and values is None and tensors:
            self.forget(tensors[0])
        if func in kernels.DYNAMIC:
            return self.dynamic(func, args, kwargs, values)
        if func in kernels.MASKED and any(i is not None and i.dtype == torch.bool for i in args[1]):
            args = (args[0], [part for i in args[1] for part in  # x[mask] is x[mask.nonzero()], whose size depends on values
                              (self.__torch_dispatch__(kernels.NONZERO, (), (i,)).unbind(1)
                               if i is not None and i.dtype == torch.bool else (i,))], *args[2:])
            tensors = leaves(args)
        if not all(isinstance(t, FakeTensor) for t in tensors):
            fake = self.fake.from_tensor
            args, kwargs = mapped((args, kwargs), lambda x: x if isinstance(x, (FakeTensor, torch.device)) else fake(x))
        try:
            out = kernels.FAKES.get(func, func)(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as why:
            out = self.unsupported(func, tensors, why)
        found = leaves(out)
        if values is None and func in kernels.INDICES:
            with no_fake():
                values = kernels.balanced(func, args, found)
            self.guesses = self.guesses or "rand" not in func.__name__
            self.note("assumed", "random indices, and indices that depend on computed values, are spread evenly")
        if values is None and found and func in kernels.ANSWERS and kernels.answer(func, args) is not None:
            self.note("assumed", "computed values are finite, and all() of a condition on them is true")
            with no_fake():
                values = torch.full(found[0].size(), kernels.answer(func, args)) if found[0].numel() <= MOST_KNOWN else None
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
            return kernels.convolution_backward(self, args, found)
        device = -1
        for t in reversed(found) if func in kernels.LAST_FIRST else found[2:] + found[:2] if func in kernels.SEEDS_FIRST else found:
            if on_gpu(t):
                device = t.fake_device.index or 0
                if t.dim() or func not in kernels.HAS_SEEDS:
                    self.hold(t)
        if device >= 0 and func in kernels.RULES:
            self.temporaries(device, kernels.RULES[func](self, device, args, kwargs, found))
    def forget(self, tensor: Any) -> None:  # unknown values were written to the tensor in place, so its values and those of its views are unknown
        storage = tensor.untyped_storage()._cdata if isinstance(tensor, FakeTensor) and tensor.layout == torch.strided else None
        for key, (ref, _) in list(self.values.items()) if storage else ():
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
            self.note("rough", "a condition that depends on computed values is taken as false")
        elif not tensor.is_floating_point() and not tensor.is_complex():
            self.note("not known", "an integer that depends on computed values is taken as 1")
        return False if tensor.dtype == torch.bool else 1.0 if tensor.is_floating_point() or tensor.is_complex() else 1
    def dynamic(self, func: Any, args: Any, kwargs: Any, values: Any) -> Any:  # runs an operator for which the size of the result depends on values
        if values is None:
            self.note("not known", f"{func}: the size depends on computed values; half of the maximum is taken")
            with no_fake():
                values = kernels.half(func, args, kwargs)
        elif self.guesses:
            self.note("rough", "a size depends on indices that are taken as spread evenly")
        made = []
        for value in leaves(values):
            made.append(torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=args[0].device))
            self.know(made[-1], value)
            if on_gpu(made[-1]):
                self.hold(made[-1])
        return made[0] if isinstance(values, torch.Tensor) else type(values)(made)
    def unsupported(self, func: Any, tensors: List[Any], why: Exception) -> Any:
        """Handles an operator without a fake kernel. An operator that only changes its arguments is skipped;
        temporaries are not counted."""
        may_skip = func._schema.is_mutable and not func._schema.returns
        if not type(why).__name__.startswith(("Unsupported", "DataDependent", "DynamicOutput")) or not tensors and not may_skip:
            raise why
        self.note("not known", f"{func} has no fake kernel (torch.library.register_fake adds one)")
        found = tuple("all" in func.__name__ if str(r.type) == "bool" else torch.empty_like(tensors[0]) for r in func._schema.returns)
        return found if len(found) > 1 else None if may_skip else found[0]
