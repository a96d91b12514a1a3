"""Replaces torch.cuda, and other parts of PyTorch that need a GPU, so that they behave as if there were a GPU."""

import bisect, contextlib, functools, importlib, itertools, os, types
from typing import Any, Callable, Dict, List, Tuple

import torch, torch.utils.checkpoint, torch.utils.data
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor

from . import kernels
from .recorder import Recorder, no_fake, on_gpu

def nothing(*_: Any, **__: Any) -> None:
    return None

def always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value

class Stream:
    """A stream, which is only a number. The allocator keeps separate blocks for each stream, but no stream ever waits."""
    new, device_type, query, wait_stream, wait_event = itertools.count(16, 16), 1, always(True), nothing, nothing
    def __init__(self, device: Any = None, priority: int = 0, stream_id: Any = None, **_: Any) -> None:
        self.stream_id = self.cuda_stream = next(Stream.new) if stream_id is None else stream_id
        self.device, self.priority, self.device_index = torch.device("cuda", index_of(device)), priority, index_of(device)
        self.outer: List[Tuple[int, int]] = []  # for each `with` block: the stream that was current before it, and autograd's number
    def synchronize(self) -> None:
        active.each("waited")
    def record_event(self, event: Any = None) -> Any:
        event = event or Event()
        event.record()
        return event
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.stream_id == self.stream_id
    def __hash__(self) -> int:
        return hash(self.stream_id)
    def __enter__(self) -> "Stream":
        self.outer.append((active.stream, torch._C._autograd._get_sequence_nr()))
        active.stream = self.stream_id
        return self
    def __exit__(self, *_: Any) -> None:
        number = torch._C._autograd._get_sequence_nr()
        active.stream, start = self.outer.pop()
        if self.stream_id and start < number:
            bisect.insort(active.sides, (start, number, self.stream_id))

class Event:
    cuda_event = at = 0
    __init__ = wait = nothing
    query, elapsed_time = always(True), always(1.0)
    def record(self, stream: Any = None) -> None:
        self.at = len(allocator().events)
    def synchronize(self) -> None:
        active.each("waited", self.at)

class Generator(torch._C.Generator):
    def __new__(cls, device: Any = "cpu") -> Any:
        return super().__new__(cls, device="cpu")

active: Recorder  # set by install()

def index_of(device: Any) -> int:
    if isinstance(device, (int, bool)):
        return max(0, int(device))
    index = torch.device(device).index if isinstance(device, str) else getattr(device, "index", None)
    return active.device if index is None or callable(index) else int(index)

def allocator(device: Any = None) -> Any:
    return active.allocators[index_of(device)]

def exchange(index: int) -> int:  # sets the current device, unless it is -1, and returns the previous one
    before, active.device = active.device, index if index >= 0 else active.device
    return before

def statistics(device: Any = None) -> Any:  # used by memory_allocated() and similar functions
    a = allocator(device)
    return {"num_alloc_retries": 0, "num_ooms": 0, **{
        f"{kind}_bytes.all.{what}": getattr(a, prefix + ("reserved" if kind == "reserved" else "allocated"))
        for kind in ("allocated", "active", "reserved") for what, prefix in (("current", ""), ("peak", "peak_"))}}

def reset_peak(device: Any = None) -> None:
    a = allocator(device)
    a.peak_allocated, a.peak_reserved = a.allocated, a.reserved

def cuda(gpu: kernels.Gpu, count: int, take: Callable[[], Any]) -> None:
    c, default = torch.cuda, Stream(stream_id=0)
    properties = types.SimpleNamespace(
        name=gpu.name, total_memory=gpu.memory, major=gpu.major, minor=gpu.minor, multi_processor_count=gpu.processors,
        is_integrated=0, is_multi_gpu_board=0, warp_size=32, max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536,
        L2_cache_size=50 << 20, shared_memory_per_block=49152, shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472, gcnArchName="", uuid="dry-run")
    plain: Dict[str, Any] = {
        **dict.fromkeys("is_available is_initialized _is_compiled can_device_access_peer".split(), always(True)),
        **dict.fromkeys("_lazy_init init ipc_collect _sleep manual_seed manual_seed_all seed seed_all set_rng_state "
                        "set_rng_state_all reset_accumulated_memory_stats set_per_process_memory_fraction".split(), nothing),
        **dict.fromkeys("current_blas_handle initial_seed utilization".split(), always(0)),
        "device_count": always(count), "get_device_name": always(gpu.name), "get_device_properties": always(properties),
        "get_device_capability": always((gpu.major, gpu.minor)), "get_arch_list": always([f"sm_{gpu.major}{gpu.minor}"]),
        "is_bf16_supported": always(gpu.major >= 8), "is_tf32_supported": always(gpu.major >= 8),
        "is_current_stream_capturing": always(False), "Stream": Stream, "Event": Event,
        "_exchange_device": exchange, "_maybe_exchange_device": exchange, "current_device": lambda: active.device,
        "stream": lambda stream: stream or contextlib.nullcontext(), "set_stream": lambda stream: stream and stream.__enter__(),
        "default_stream": lambda device=None: default, "current_stream": lambda device=None: Stream(stream_id=active.stream),
        "set_device": lambda device: setattr(active, "device", index_of(device)),
        "synchronize": lambda device=None: active.each("waited"), "empty_cache": lambda: active.each("release"),
        "mem_get_info": lambda device=None: (gpu.memory - allocator(device).reserved, gpu.memory),
        "memory_stats": statistics, "reset_peak_memory_stats": reset_peak, "reset_max_memory_allocated": reset_peak,
        "memory_summary": always("predicted by memviz dry-run: see its snapshot"),
        "get_rng_state": lambda device="cuda": torch.zeros(16, dtype=torch.uint8),
        "get_rng_state_all": lambda: [torch.cuda.get_rng_state() for _ in range(count)]}
    for name, value in plain.items():
        setattr(c, name, value)
        for module in (c.memory, c.random, c.streams):
            if name in vars(module):
                setattr(module, name, value)
    c.device_of = lambda tensor: c.device(tensor.device.index if tensor.is_cuda else -1)
    c.memory._record_memory_history = c.memory._dump_snapshot = nothing
    c.memory._set_allocator_settings = lambda text: active.configure(text)
    c.memory._snapshot = lambda device=None: take()
    c.CUDAGraph, c.make_graphed_callables = type("CUDAGraph", (), {"__getattr__": always(nothing)}), lambda callables, *_, **__: callables
    c.graph = lambda *_, **__: getattr(active, "note")("rough", "CUDA graphs are given no memory pool of their own") or contextlib.nullcontext()
    c.nvtx.range_push = c.nvtx.range_pop = c.nvtx.mark = always(0)
    c.cudart = always(types.SimpleNamespace(cudaProfilerStart=nothing, cudaProfilerStop=nothing, cudaMemGetInfo=c.mem_get_info))
    torch.Generator = Generator
    c.default_generators = tuple(Generator() for _ in range(count))
    if hasattr(torch, "accelerator"):
        torch.accelerator.current_accelerator = always(torch.device("cuda"))
        for name in "is_available device_count synchronize empty_cache current_stream current_device set_device".split():
            setattr(torch.accelerator, name + "_index" * name.endswith("t_device"), plain[name])
    torch.backends.cuda.is_built = torch.backends.cudnn.is_available = always(True)
    torch.backends.cudnn.version, torch.backends.cudnn.is_acceptable = always(91000), lambda tensor: tensor.is_cuda

def functions(gpu: kernels.Gpu) -> None:  # replaces functions whose C++ code depends on the GPU, before operators are dispatched
    F = torch.nn.functional
    F.scaled_dot_product_attention = chosen(F.scaled_dot_product_attention, functools.partial(kernels.attention, gpu))
    torch._C._nn.scaled_dot_product_attention = F.scaled_dot_product_attention
    F.linear = chosen(F.linear, functools.partial(kernels.linear, F.linear))
    for name in kernels.KINDS:
        setattr(torch._VF, name, chosen(getattr(torch._VF, name), functools.partial(kernels.rnn, active, name)))
    pack = torch._VF._pack_padded_sequence
    torch._VF._pack_padded_sequence, torch.ctc_loss = (chosen(pack, functools.partial(kernels.packed, active, pack)),
                                                       chosen(torch.ctc_loss, functools.partial(kernels.ctc, active)))
    torch.nn.modules.rnn.RNNBase.flatten_parameters = flatten

def chosen(plain: Any, fake: Any) -> Any:
    @functools.wraps(plain)
    def run(*args: Any, **more: Any) -> Any:
        return (fake if on_gpu(next(iter((*args, *more.values())))) else plain)(*args, **more)
    return run

def flatten(module: Any) -> None:  # cuDNN needs all weights of an RNN in one buffer; see torch.backends.cudnn.is_acceptable()
    weights = module._flat_weights
    is_one = len({w.untyped_storage()._cdata for w in weights}) == 1 < len(weights)
    if not is_one and all(on_gpu(w) and w.dtype != torch.bfloat16 for w in weights):
        with torch.no_grad():
            buffer = torch.empty(sum(w.numel() for w in weights), dtype=weights[0].dtype, device=weights[0].device)
            for w, part in zip(weights, buffer.split([w.numel() for w in weights])):
                w.data = part.view(w.size())

def modules() -> None:  # makes parameters fake from the start, and keeps their identity when a module moves
    parameter, init = torch.nn.Parameter.__new__, torch.utils.data.DataLoader.__init__
    def new(cls: Any, data: Any = None, requires_grad: bool = True, *rest: Any, **more: Any) -> Any:
        is_real = type(data) is torch.Tensor and data.device.type == "cpu"
        return parameter(cls, active.fake.from_tensor(data.detach()) if is_real else data, requires_grad, *rest, **more)
    def apply(self: Any, fn: Any, recurse: bool = True) -> Any:
        for module in self.children() if recurse else ():
            module._apply(fn)
        for key, old in [(key, old) for key, old in self._parameters.items() if old is not None]:
            with torch.no_grad():
                moved, grad = fn(old), None if old.grad is None else fn(old.grad)
            if moved is old:
                continue
            old.grad = None
            if isinstance(old, FakeTensor) and isinstance(moved, FakeTensor):
                old.data = moved
            else:
                old = self._parameters[key] = torch.nn.Parameter(moved, old.requires_grad)
            old.grad = grad
        self._buffers.update((key, fn(buffer)) for key, buffer in self._buffers.items() if buffer is not None)
        return self
    def loader(self: Any, *args: Any, **kwargs: Any) -> None:
        alone = {"num_workers": 0, "pin_memory": False, "timeout": 0, "prefetch_factor": None, "persistent_workers": False,
                 "multiprocessing_context": None}
        init(self, *args, **{key: alone.get(key, value) for key, value in kwargs.items()})
    torch.nn.Parameter.__new__ = new
    torch.nn.DataParallel.forward = lambda self, *args, **kwargs: self.module(*args, **kwargs)
    plain = torch.nn.Module._apply.__code__
    apply.__code__ = apply.__code__.replace(co_name="_apply", co_filename=plain.co_filename, co_firstlineno=plain.co_firstlineno)
    torch.nn.Module._apply = apply  # reports recognize parameters by this name in their stacks
    torch.utils.data.DataLoader.__init__ = loader

def tensors() -> None:
    load, data, numpy, resize = torch.load, torch.Tensor.data, torch.Tensor.numpy, torch.UntypedStorage.resize_
    def loaded(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Maps the file, so that data is read only when it is used, and then moves the tensors as the program
        requests."""
        with no_fake(), torch.utils._python_dispatch._disable_current_modes():
            try:
                found = load(file, "cpu", *args, **{**kwargs, "mmap": isinstance(file, (str, os.PathLike))})
            except (RuntimeError, ValueError):
                found = load(file, "cpu", *args, **kwargs)
        is_moved = "cuda" in str(map_location)
        return torch.utils._pytree.tree_map(lambda t: t.to("cuda") if is_moved and isinstance(t, torch.Tensor) else t, found)
    def array(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = active.value(self)  # the tensor's values, if they are known
        with no_fake():
            return numpy(torch.zeros(self.size(), dtype=self.dtype) if value is None else value, *args, **kwargs)
    def resized(self: Any, size: int) -> Any:  # FSDP frees gathered parameters, and allocates their memory again, with this function
        resize(self, size)
        active.resized(self)
        return self
    def moved(self: Any, new: Any) -> None:  # a fake tensor's device is an attribute
        data.__set__(self, new)
        self.fake_device = getattr(new, "fake_device", self.fake_device)
    FakeTensor.data = property(data.__get__, moved)
    FakeTensor.__format__ = lambda self, spec: format(str(self) if self.dim() else self.item(), spec)
    fake_tensor.FakeTensorMode.__deepcopy__ = lambda self, _: self  # a deep copy of a tensor must not copy the mode
    torch.UntypedStorage.resize_, torch.load, torch.Tensor.numpy = resized, loaded, array
    torch.save = lambda *_, **__: active.note("assumed", "torch.save() writes nothing", False)
    torch.Tensor.pin_memory, torch.Tensor.is_pinned = (lambda self, *_: self), always(False)
    torch.Tensor.record_stream = lambda self, stream: active.used_by(self, stream.stream_id)
    # In optimizers, foreach is the default on the GPU for tensors of the types in these lists.
    optimizer, foreach, clip = (importlib.import_module(f"torch.{name}") for name in
                                ("optim.optimizer", "utils._foreach_utils", "nn.utils.clip_grad"))
    optimizer._foreach_supported_types.append(FakeTensor)
    for module in (foreach, clip):
        setattr(module, "_has_foreach_support", lambda _, device: device.type in foreach._get_foreach_kernels_supported_devices())

def reduced(_, bucket):  # type: ignore[no-untyped-def]  # DDP checks annotations
    """Reduces a bucket of gradients in place, as the default does. NCCL's watchdog releases the bucket (docs/dry-run.md, a range)."""
    active.streams.add(bucket.buffer().untyped_storage()._cdata)
    future: Any = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future

def processes(ranks: int) -> None:  # makes this process one of several ranks, with PyTorch's fake process group, whose collectives do nothing
    if ranks:
        os.environ.update({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
                           "MASTER_ADDR": "localhost", "MASTER_PORT": "1", **os.environ})
    torch._C._get_accelerator = always(torch.device("cuda"))
    if not torch.distributed.is_available():
        return
    setattr(torch.distributed, "_verify_params_across_processes", nothing)  # reads data that other ranks have sent
    setattr(torch.distributed.Reducer, "prepare_for_forward", nothing)  # starts DDP's timers, which need a GPU
    ddp = importlib.import_module("torch.nn.parallel.distributed").DistributedDataParallel
    c10d: Any = importlib.import_module("torch.distributed.distributed_c10d")
    make, init = ddp.__init__, c10d.init_process_group
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self.register_comm_hook(None, reduced)
        self.logger = type("Silent", (), {"__getattr__": always(nothing)})()  # DDP's logger needs timers on a GPU
    def fake(backend: Any = "", init_method: Any = "", timeout: Any = None, world_size: int = -1, rank: int = -1, **_: Any) -> None:
        store = importlib.import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
        init("fake", store=store, rank=rank if rank >= 0 else int(os.environ.get("RANK", "0")),
             world_size=world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1")))
    ddp.__init__, torch.distributed.init_process_group, c10d.init_process_group = made, fake, fake

def install(mode: Recorder, gpu: kernels.Gpu, count: int, ranks: int, take: Callable[[], Any]) -> None:
    global active
    active, fake_tensor.init_gpu_context = mode, nothing
    getattr(torch._C, "_set_only_lift_cpu_tensors", nothing)(True)  # torch.tensor(..., device="cuda") goes through the dispatcher
    torch.autograd.set_multithreading_enabled(False)
    engine = torch.autograd.Variable._execution_engine
    def run_backward(*args: Any, **kwargs: Any) -> Any:  # in the calling thread, but with separate library handles, as in the real threads
        mode.backward += 1
        try:
            return engine.run_backward(*args, **kwargs)
        finally:
            mode.backward -= 1
    mode.engine = run_backward.__code__
    torch.autograd.Variable._execution_engine = types.SimpleNamespace(
        **{**{name: getattr(engine, name) for name in dir(engine) if name[0] != "_"}, "run_backward": run_backward})
    cuda(gpu, count, take)
    functions(gpu)
    modules()
    tensors()
    processes(ranks)
    def compiled(model: Any = None, **_: Any) -> Any:
        mode.note("rough", "torch.compile() fuses operators; this prediction is for the code without it")
        return model if model is not None else (lambda f: f)
    torch.compile = compiled
