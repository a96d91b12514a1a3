"""torch.cuda, and what else of PyTorch asks for a GPU, as a program sees it that has one."""

import bisect
import contextlib
import functools
import importlib
import os
import types
from typing import Any, Callable, Dict, List, Tuple

import torch
import torch.utils.data
import torch.utils.checkpoint
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor

from . import kernels
from .recorder import Recorder, no_fake


def nothing(*_: Any, **__: Any) -> None:
    return None


def always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


class Stream:
    """A stream is its number. Each has blocks of its own in the allocator; nothing waits."""

    made = 0

    def __init__(self, device: Any = None, priority: int = 0, stream_id: Any = None, **_: Any) -> None:
        if stream_id is None:
            Stream.made += 1
            stream_id = Stream.made << 4
        self.stream_id = self.cuda_stream = stream_id
        self.device, self.priority = torch.device("cuda", index_of(device)), priority
        self.device_index, self.device_type = self.device.index, 1
        self.outer: List[Tuple[int, int]] = []  # streams that were current, as it became so, and autograd's number

    query = always(True)
    wait_stream = wait_event = nothing

    def synchronize(self) -> None:
        recorder().each("waited")

    def record_event(self, event: Any = None) -> Any:
        event = event or Event()
        event.record()
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash(self.stream_id)

    def __enter__(self) -> "Stream":
        self.outer.append((recorder().stream, torch._C._autograd._get_sequence_nr()))
        recorder().stream = self.stream_id
        return self

    def __exit__(self, *_: Any) -> None:
        number = torch._C._autograd._get_sequence_nr()
        recorder().stream, start = self.outer.pop()
        if self.stream_id and start < number:
            bisect.insort(recorder().sides, (start, number, self.stream_id))


class Event:
    def __init__(self, *_: Any, **__: Any) -> None:
        self.cuda_event = self.at = 0

    query = always(True)
    wait = nothing
    elapsed_time = always(1.0)

    def record(self, stream: Any = None) -> None:
        self.at = len(allocator().events)

    def synchronize(self) -> None:
        recorder().each("waited", self.at)


class Device:
    """torch.cuda.device(...)"""

    def __init__(self, device: Any) -> None:
        self.index = index_of(device)

    def __enter__(self) -> None:
        self.outer, recorder().device = recorder().device, self.index

    def __exit__(self, *_: Any) -> None:
        recorder().device = self.outer


class Generator(torch._C.Generator):
    def __new__(cls, device: Any = "cpu") -> "Generator":
        made: Generator = super().__new__(cls, device="cpu")
        return made


active: Any = None


def recorder() -> Recorder:
    found: Recorder = active
    return found


def index_of(device: Any) -> int:
    if isinstance(device, (int, bool)):
        return max(0, int(device))
    index = torch.device(device).index if isinstance(device, str) else getattr(device, "index", None)
    return recorder().device if index is None or callable(index) else int(index)


def allocator(device: Any = None) -> Any:
    return recorder().allocators[index_of(device)]


def field_of(field: str, device: Any = None) -> Any:
    return getattr(allocator(device), field)


def statistics(device: Any = None) -> Any:
    a = allocator(device)
    kinds = ("allocated", a.allocated, a.peak_allocated), ("active", a.allocated, a.peak_allocated), ("reserved", a.reserved, a.peak_reserved)
    return {"num_alloc_retries": 0, "num_ooms": 0, **{f"{kind}_bytes.all.{what}": value for kind, now, peak in kinds
                                                      for what, value in (("current", now), ("peak", peak))}}


def reset_peak(device: Any = None) -> None:
    a = allocator(device)
    a.peak_allocated, a.peak_reserved = a.allocated, a.reserved


def cuda(gpu: kernels.Gpu, count: int, take: Callable[[], Any]) -> None:
    c, default = torch.cuda, Stream(stream_id=0)
    properties = types.SimpleNamespace(
        name=gpu.name, total_memory=gpu.memory, major=gpu.major, minor=gpu.minor, multi_processor_count=gpu.processors, is_integrated=0,
        is_multi_gpu_board=0, warp_size=32, max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, L2_cache_size=50 << 20,
        shared_memory_per_block=49152, shared_memory_per_block_optin=232448, shared_memory_per_multiprocessor=233472, gcnArchName="",
        uuid="dry-run")
    plain: Dict[str, Any] = {
        **dict.fromkeys("is_available is_initialized _is_compiled can_device_access_peer".split(), always(True)),
        **dict.fromkeys("_lazy_init init ipc_collect _sleep manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all "
                        "reset_accumulated_memory_stats set_per_process_memory_fraction".split(), nothing),
        **dict.fromkeys("current_blas_handle initial_seed utilization".split(), always(0)),
        **{name: functools.partial(field_of, field) for name, field in (
            ("memory_allocated", "allocated"), ("max_memory_allocated", "peak_allocated"), ("memory_reserved", "reserved"),
            ("max_memory_reserved", "peak_reserved"))},
        "device_count": always(count), "get_device_name": always(gpu.name), "get_device_properties": always(properties),
        "get_device_capability": always((gpu.major, gpu.minor)), "get_arch_list": always([f"sm_{gpu.major}{gpu.minor}"]),
        "is_bf16_supported": always(gpu.major >= 8), "is_tf32_supported": always(gpu.major >= 8),
        "is_current_stream_capturing": always(False), "Stream": Stream, "Event": Event, "device": Device,
        "stream": lambda stream: contextlib.nullcontext() if stream is None else stream, "default_stream": lambda device=None: default,
        "current_stream": lambda device=None: Stream(stream_id=recorder().stream),
        "set_stream": lambda stream: stream and stream.__enter__(), "current_device": lambda: recorder().device,
        "set_device": lambda device: setattr(recorder(), "device", index_of(device)),
        "synchronize": lambda device=None: recorder().each("waited"), "empty_cache": lambda: recorder().each("release"),
        "mem_get_info": lambda device=None: (gpu.memory - allocator(device).reserved, gpu.memory),
        "memory_stats": statistics, "reset_peak_memory_stats": reset_peak, "reset_max_memory_allocated": reset_peak,
        "memory_summary": always("predicted by memviz dry-run: see its snapshot"),
        "get_rng_state": lambda device="cuda": torch.zeros(16, dtype=torch.uint8),
        "get_rng_state_all": lambda: [torch.cuda.get_rng_state() for _ in range(count)]}
    for name, value in plain.items():
        setattr(c, name, value)
    for module in (c.memory, c.random, c.streams):
        for name in set(plain) & set(vars(module)):
            setattr(module, name, plain[name])
    c.device_of = lambda tensor: Device(tensor.device if tensor.is_cuda else recorder().device)
    c.memory._record_memory_history = c.memory._dump_snapshot = nothing
    c.memory._set_allocator_settings = lambda text: recorder().configure(text)
    c.memory._snapshot = lambda device=None: take()
    c.nvtx.range_push = c.nvtx.range_pop = c.nvtx.mark = always(0)
    c.cudart = always(types.SimpleNamespace(cudaProfilerStart=nothing, cudaProfilerStop=nothing, cudaMemGetInfo=plain["mem_get_info"]))
    torch.Generator = Generator
    c.default_generators = tuple(Generator() for _ in range(count))
    if hasattr(torch, "accelerator"):
        for name, value in {"is_available": always(True), "device_count": always(count), "synchronize": plain["synchronize"],
                            "current_accelerator": always(torch.device("cuda")), "empty_cache": plain["empty_cache"],
                            "current_device_index": plain["current_device"], "set_device_index": plain["set_device"],
                            "current_stream": plain["current_stream"]}.items():
            setattr(torch.accelerator, name, value)
    torch.backends.cuda.is_built = torch.backends.cudnn.is_available = always(True)
    torch.backends.cudnn.version = always(91000)
    torch.backends.cudnn.is_acceptable = lambda tensor: tensor.is_cuda


def functions(gpu: kernels.Gpu) -> None:
    """What decides by the GPU in C++, before operators are dispatched."""
    plain = torch.nn.functional.scaled_dot_product_attention
    torch._C._nn.scaled_dot_product_attention = chosen(plain, functools.partial(kernels.attention, gpu))
    torch.nn.functional.scaled_dot_product_attention = torch._C._nn.scaled_dot_product_attention
    torch.nn.functional.linear = chosen(torch.nn.functional.linear, kernels.linear(torch.nn.functional.linear))
    for name in kernels.KINDS:
        setattr(torch._VF, name, chosen(getattr(torch._VF, name), kernels.rnn(recorder(), name)))
    torch.nn.modules.rnn.RNNBase.flatten_parameters = flatten


def chosen(plain: Any, fake: Any) -> Any:
    @functools.wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else next(iter(kwargs.values()))
        return (fake if isinstance(first, FakeTensor) and first.fake_device.type == "cuda" else plain)(*args, **kwargs)

    return run


def flatten(module: Any) -> None:
    """cuDNN wants all weights of an RNN in one buffer: torch.backends.cudnn.is_acceptable()."""
    weights = module._flat_weights
    is_one = len({w.untyped_storage()._cdata for w in weights}) == 1 < len(weights)
    if is_one or not all(isinstance(w, FakeTensor) and w.fake_device.type == "cuda" and w.dtype != torch.bfloat16 for w in weights):
        return
    with torch.no_grad():
        buffer = torch.empty(sum(w.numel() for w in weights), dtype=weights[0].dtype, device=weights[0].device)
        for w, part in zip(weights, buffer.split([w.numel() for w in weights])):
            w.data = part.view(w.size())


def modules() -> None:
    """Parameters are fake from the start, and keep their identity when a module moves."""
    parameter, init = torch.nn.Parameter.__new__, torch.utils.data.DataLoader.__init__

    def new(cls: Any, data: Any = None, requires_grad: bool = True, *rest: Any, **more: Any) -> Any:
        if type(data) is torch.Tensor and data.device.type == "cpu":
            data = recorder().fake.from_tensor(data.detach())
        return parameter(cls, data, requires_grad, *rest, **more)

    def apply(self: Any, fn: Any, recurse: bool = True) -> Any:
        for module in self.children() if recurse else ():
            module._apply(fn)
        for key, old in self._parameters.items():
            if old is None:
                continue
            with torch.no_grad():
                moved = fn(old)
                grad = None if old.grad is None else fn(old.grad)
            if isinstance(old, FakeTensor) and isinstance(moved, FakeTensor):
                if grad is not None and moved is not old:
                    old.grad = None
                if moved is not old:
                    old.data = moved
            else:
                old = self._parameters[key] = torch.nn.Parameter(moved, old.requires_grad)
            if grad is not None and old.grad is not grad:
                old.grad = grad
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def loader(self: Any, *args: Any, **kwargs: Any) -> None:
        alone = {"num_workers": 0, "pin_memory": False, "timeout": 0, "prefetch_factor": None, "persistent_workers": False,
                 "multiprocessing_context": None}
        kwargs.update({key: value for key, value in alone.items() if key in kwargs})
        init(self, *args, **kwargs)

    torch.nn.Parameter.__new__ = new
    plain = torch.nn.Module._apply.__code__
    apply.__code__ = apply.__code__.replace(co_name="_apply", co_filename=plain.co_filename, co_firstlineno=plain.co_firstlineno)
    torch.nn.Module._apply = apply  # reports know parameters by its name in stacks
    torch.utils.data.DataLoader.__init__ = loader


def tensors() -> None:
    load = torch.load

    def loaded(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The file is mapped, so that nothing of it is read before it is used; then moved as the program wants."""
        with no_fake(), torch.utils._python_dispatch._disable_current_modes():
            try:
                found = load(file, "cpu", *args, **{**kwargs, "mmap": isinstance(file, (str, os.PathLike))})
            except (RuntimeError, ValueError):
                found = load(file, "cpu", *args, **kwargs)
        if map_location is None or "cuda" not in str(map_location):
            return found
        return torch.utils._pytree.tree_map(lambda t: t.to("cuda") if isinstance(t, torch.Tensor) else t, found)

    def array(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, FakeTensor):
            return numpy(self, *args, **kwargs)
        value = recorder().value(self)
        with no_fake():
            return numpy(torch.zeros(self.size(), dtype=self.dtype) if value is None else value)

    def resized(self: Any, size: int) -> Any:
        """FSDP frees parameters that it has gathered so, and takes their memory again."""
        resize(self, size)
        recorder().resized(self)
        return self

    def moved(self: Any, new: Any) -> None:
        """The device of a fake tensor is an attribute."""
        data.__set__(self, new)
        self.fake_device = getattr(new, "fake_device", self.fake_device)

    data = torch.Tensor.data
    FakeTensor.data = property(data.__get__, moved)
    numpy, resize = torch.Tensor.numpy, torch.UntypedStorage.resize_
    torch.UntypedStorage.resize_ = resized
    torch.load = loaded
    torch.save = lambda *_, **__: recorder().note("assumed", "torch.save() writes nothing", False)
    torch.Tensor.numpy = array
    torch.Tensor.pin_memory = lambda self, *_: self
    torch.Tensor.is_pinned = always(False)
    torch.Tensor.record_stream = lambda self, stream: recorder().used_by(self, stream.stream_id)


def optimizers() -> None:
    """foreach is the default on the GPU, for tensors of the types that these lists know."""
    optimizer, foreach, clip = (importlib.import_module(f"torch.{name}") for name in
                                ("optim.optimizer", "utils._foreach_utils", "nn.utils.clip_grad"))
    optimizer._foreach_supported_types.append(FakeTensor)
    for module in (foreach, clip):
        setattr(module, "_has_foreach_support", lambda _, device: device.type in foreach._get_foreach_kernels_supported_devices())


class Silent:
    def __getattr__(self, name: str) -> Any:
        return nothing


def reduced(_, bucket):  # type: ignore[no-untyped-def]  # DDP checks annotations
    """A bucket of gradients, reduced: in place, as the default does it. DDP waits for the future, so that NCCL's watchdog,
    which looks each 100 ms, and a collective after it give the buffer up (ProcessGroupNCCL.cpp, shelvesToUnstash_)."""
    recorder().streams.add(bucket.buffer().untyped_storage()._cdata)
    future: Any = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def processes(ranks: int) -> None:
    """One rank of several, whose collectives do nothing: PyTorch's own fake process group."""
    if ranks:
        for name in "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT":
            os.environ.setdefault(name, "localhost" if name == "MASTER_ADDR" else str(ranks) if "SIZE" in name else str(int("PORT" in name)))
    if hasattr(torch._C, "_get_accelerator"):
        torch._C._get_accelerator = always(torch.device("cuda"))
    if not torch.distributed.is_available():
        return
    setattr(torch.distributed, "_verify_params_across_processes", nothing)  # it reads what others sent
    setattr(torch.distributed.Reducer, "prepare_for_forward", nothing)  # it starts DDP's timers, which are the GPU's
    ddp = importlib.import_module("torch.nn.parallel.distributed").DistributedDataParallel
    make = ddp.__init__

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self.register_comm_hook(None, reduced)
        self.logger = Silent()  # DDP's own wants the GPU's timers

    ddp.__init__ = made
    c10d: Any = importlib.import_module("torch.distributed.distributed_c10d")
    init = c10d.init_process_group

    def fake(backend: Any = None, init_method: Any = None, timeout: Any = None, world_size: int = -1, rank: int = -1, **_: Any) -> None:
        store = importlib.import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
        init("fake", store=store, rank=rank if rank >= 0 else int(os.environ.get("RANK", "0")),
             world_size=world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1")))

    torch.distributed.init_process_group = c10d.init_process_group = fake


def install(mode: Recorder, gpu: kernels.Gpu, count: int, ranks: int, take: Callable[[], Any]) -> None:
    """Changes this process for good: a dry run ends with it."""
    global active
    active = mode
    fake_tensor.init_gpu_context = nothing
    if hasattr(torch._C, "_set_only_lift_cpu_tensors"):
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(..., device="cuda") goes through the dispatcher
    torch.autograd.set_multithreading_enabled(False)
    engine = torch.autograd.Variable._execution_engine

    def run_backward(*args: Any, **kwargs: Any) -> Any:
        """Autograd's engine, which runs in the calling thread but has handles of its own, as the threads of the real one do."""
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
    optimizers()
    processes(ranks)

    def compiled(model: Any = None, **_: Any) -> Any:
        mode.note("rough", "torch.compile() fuses operators; this is the code without it")
        return model if model is not None else (lambda f: f)

    torch.compile = compiled
