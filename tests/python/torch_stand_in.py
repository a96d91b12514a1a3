"""A module `torch` for tests on machines without PyTorch or without a GPU: a given snapshot,
and counters and a recorder that tests read and set."""

import contextlib
import sys
import types


class OutOfMemoryError(MemoryError):
    """As PyTorch's."""


class StandIn(types.ModuleType):
    def __init__(self, snapshot=None, has_cuda=True):
        super().__init__("torch")
        self.__version__ = "2.11.0"
        self.taken = snapshot if snapshot is not None else {"segments": [], "device_traces": [[]]}
        self.is_recording = False
        self.recordings = []  # the options of each start, None for each end
        self.observers = []
        self.allocated = [0]  # by device
        self.peak = [0]
        self.cuda = types.ModuleType("torch.cuda")
        self.cuda.is_available = lambda: has_cuda
        self.cuda.init = lambda: None
        self.cuda.device_count = lambda: len(self.peak) if has_cuda else 0
        self.cuda.memory_allocated = lambda device=0: self.allocated[device]
        self.cuda.max_memory_allocated = lambda device=0: self.peak[device]
        self.cuda.reset_peak_memory_stats = self.reset
        self.cuda.memory = types.ModuleType("torch.cuda.memory")
        self.cuda.memory._snapshot = lambda: self.taken
        self.cuda.memory._record_memory_history = self.record
        self.annotations = []
        self.profiler = types.ModuleType("torch.profiler")
        self.profiler.record_function = self.annotate
        self.Tensor, self.UntypedStorage, self.strided = Tensor, Storage, "strided"
        self.optim = types.SimpleNamespace(Optimizer=Optimizer)
        reductions = types.SimpleNamespace(StorageWeakRef=StorageWeakRef)
        self.multiprocessing = types.SimpleNamespace(reductions=reductions)
        self._C = types.ModuleType("torch._C")
        self._C._cuda_isHistoryEnabled = lambda: self.is_recording
        self._C._cuda_attach_out_of_memory_observer = self.observers.append

    def reset(self, device=0):
        self.peak[device] = self.allocated[device]

    def record(self, enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None,
               clear_history=False, compile_context=False, global_record_annotations=False):
        self.is_recording = enabled is not None
        self.recordings.append(dict(context=context, stacks=stacks, max_entries=max_entries) if enabled else None)

    @contextlib.contextmanager
    def annotate(self, name):
        self.annotations.append(name)
        yield
        self.annotations.append("/" + name)

    def run_out(self):
        """As PyTorch does when an allocation fails: calls the observers and raises."""
        for observer in self.observers:
            observer(0, 1 << 30, 1 << 34, 1 << 20)
        raise OutOfMemoryError("CUDA out of memory")


def install(snapshot=None, has_cuda=True):
    sys.modules["torch"] = StandIn(snapshot, has_cuda)
    return sys.modules["torch"]


# ---- tensors ----------------------------------------------------------------------------------


class Storage:
    """Memory at an address. `dies()` frees it, in place of PyTorch's weak references."""

    by_number = {}

    def __init__(self, address, size):
        self.address, self.size, self.is_alive = address, size, True
        Storage.by_number[id(self)] = self

    def dies(self):
        self.is_alive = False

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.size

    @staticmethod
    def _new_with_weak_ptr(number):
        storage = Storage.by_number[number]
        return storage if storage.is_alive else None


class StorageWeakRef:
    def __init__(self, storage):
        self.cdata = id(storage)

    def expired(self):
        return not Storage.by_number[self.cdata].is_alive


class Tensor:
    """A tensor of four-byte elements without gaps, in its own storage or as a view of another tensor."""

    def __init__(self, address, *shape, device="cuda", of=None, index=0):
        self.shape = shape
        self.layout = "strided"
        self.dtype = "torch.float32"
        self.device = types.SimpleNamespace(type=device, index=index)
        self.grad = None
        self.at = address
        self.memory = of or Storage(address, 4 * self.numel())

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def stride(self):
        strides = [1] * len(self.shape)
        for place in range(len(self.shape) - 1, 0, -1):
            strides[place - 1] = strides[place] * self.shape[place]
        return tuple(strides)

    def element_size(self):
        return 4

    def untyped_storage(self):
        return self.memory

    def data_ptr(self):
        return self.at


class Module:
    def __init__(self, parameters=(), buffers=()):
        self.parameters, self.buffers = dict(parameters), dict(buffers)

    def named_parameters(self):
        return self.parameters.items()

    def named_buffers(self):
        return self.buffers.items()


class Optimizer:
    def __init__(self, parameters=()):
        self.param_groups = [{"params": list(parameters)}]
        self.state = {}


class AdamW(Optimizer):
    pass
