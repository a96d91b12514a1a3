"""What kernels of the GPU take beside their results: workspaces and temporaries, by rule.

Each rule names its source. A rule is called after its operator's results are allocated, with the recorder, the
device, the arguments and the results, and returns bytes that are taken and given back: see Recorder.temporaries()."""

import math
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Set, Tuple

import torch

aten = torch.ops.aten
MIB = 1 << 20


@dataclass(frozen=True)
class Gpu:
    name: str
    gib: float  # as torch.cuda.get_device_properties() has them
    major: int
    minor: int
    processors: int  # multi_processor_count

    @property
    def memory(self) -> int:
        return int(self.gib * (1 << 30))


# Memory as PyTorch's out-of-memory errors report it ("has a total capacity of"), the rest as NVIDIA's data sheets.
GPUS = {
    "t4": Gpu("Tesla T4", 14.56, 7, 5, 40),
    "v100-16gb": Gpu("Tesla V100-SXM2-16GB", 15.77, 7, 0, 80),
    "v100-32gb": Gpu("Tesla V100-SXM2-32GB", 31.73, 7, 0, 80),
    "a10": Gpu("NVIDIA A10G", 21.98, 8, 6, 80),
    "l4": Gpu("NVIDIA L4", 22.03, 8, 9, 58),
    "rtx3090": Gpu("NVIDIA GeForce RTX 3090", 23.57, 8, 6, 82),
    "rtx4090": Gpu("NVIDIA GeForce RTX 4090", 23.52, 8, 9, 128),
    "a100-40gb": Gpu("NVIDIA A100-SXM4-40GB", 39.39, 8, 0, 108),
    "a100-80gb": Gpu("NVIDIA A100-SXM4-80GB", 79.14, 8, 0, 108),
    "l40s": Gpu("NVIDIA L40S", 44.40, 8, 9, 142),
    "h100-80gb": Gpu("NVIDIA H100 80GB HBM3", 85017493504 / (1 << 30), 9, 0, 132),
    "h200": Gpu("NVIDIA H200", 139.72, 9, 0, 132),
    "b200": Gpu("NVIDIA B200", 178.35, 10, 0, 148),
}
DEFAULT_GPU = "h100-80gb"
VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def overloads(names: str) -> Set[Any]:
    """Every overload of these operators that this PyTorch has."""
    packets = [getattr(aten, name) for name in names.split() if hasattr(aten, name)]
    return {getattr(packet, overload) for packet in packets for overload in packet.overloads()}


def table(*rules: Tuple[str, Any]) -> Dict[Any, Any]:
    return {overload: rule for names, rule in rules for overload in overloads(names)}


ADD, INDEX, NONZERO = aten.add.Tensor, aten.index.Tensor, aten.nonzero.default
SLICE_BACKWARD, ALIAS = aten.slice_backward.default, aten.alias.default
LOCAL_SCALAR = aten._local_scalar_dense.default
DYNAMIC = overloads("nonzero masked_select _unique2 unique_dim unique_consecutive bincount repeat_interleave") - \
    {aten.repeat_interleave.self_int, aten.repeat_interleave.self_Tensor}
INDICES = overloads("topk argmax argmin multinomial sort randint")
RANDOM = overloads("rand randn rand_like randn_like bernoulli bernoulli_ normal_ uniform_ multinomial native_dropout randint "
                   "randint_like random_ randperm")
SCALED = overloads("_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_")
LAST_FIRST = overloads("native_dropout")  # Dropout.cu: the mask is made before the result
SEEDS_FIRST = overloads("_scaled_dot_product_cudnn_attention")  # attention.cu, _cudnn_attention_forward()
BETWEEN = overloads("convolution_backward")


def is_whole(grad: Any, size: Any, dim: int, start: int, end: int, step: int) -> bool:
    return start == 0 and end >= size[dim] and step == 1


def made_bytes(args: Any, kwargs: Any) -> int:
    """Bytes of what an operator without tensors makes, from its size."""
    size = args[0] if args and isinstance(args[0], (list, tuple)) else None
    if size is None:
        return 0
    dtype = kwargs.get("dtype") or torch.get_default_dtype()
    return int(math.prod(int(n) for n in size) * dtype.itemsize) if all(isinstance(n, int) for n in size) else 0


def is_on_host(func: Any, tensor: Any) -> bool:
    """Seeds of attention are on the CPU outside of CUDA graphs; fake kernels put them on the GPU."""
    return tensor.dim() == 0 and "scaled_dot_product" in func.__name__ and "cudnn" not in func.__name__


def balanced(func: Any, args: Any, found: List[Any]) -> Any:
    """Indices that a router or sampler might choose: each choice equally often."""
    if "randint" in func.__name__:
        low, high = args[:2] if isinstance(args[1], int) else (0, args[0])
        choices = max(1, high - low)
    else:
        dim = next((a for a in args[1:3] if isinstance(a, int)), -1) if "arg" in func.__name__ else -1
        choices = args[0].size(dim) if args[0].dim() else 1
    return [None if t.dtype != torch.int64 or t.numel() > MIB else torch.arange(t.numel()).remainder_(choices).view(t.size())
            for t in found]


def half(func: Any, args: Any, kwargs: Any) -> Any:
    """A stand-in for a result whose size is not known."""
    first, name = args[0], func.__name__
    count, some = first.numel(), max(1, first.numel() // 2)
    if "nonzero" in name or "masked" in name:
        return torch.zeros(some, first.dim(), dtype=torch.int64) if "nonzero" in name else torch.zeros(some, dtype=first.dtype)
    index = torch.zeros(max(1, "bincount" in name and kwargs.get("minlength", 0) or count), dtype=torch.int64)
    return (torch.zeros(some, dtype=first.dtype), index, index) if "unique" in name else index


# cuBLAS: CUDABlas.cpp and CublasHandlePool.cpp, getChosenWorkspaceSize(): 32 MiB from Hopper on, else 8,519,680
# bytes, for each handle (thread) and stream; cuBLASLt: 1 MiB, kept since 2.7, before that for each call.

def cublas_size(gpu: Gpu) -> int:
    given = os.environ.get("CUBLAS_WORKSPACE_CONFIG", "")
    parts = [int(p) for p in given.split(":") if p.isdigit()]
    if parts and len(parts) % 2 == 0:
        return sum(size * count * 1024 for size, count in zip(parts[::2], parts[1::2]))
    return 4096 * 8 * 1024 if gpu.major >= 9 else 4096 * 1024 * 2 + 16 * 1024 * 8


def cublas(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    recorder.workspace(device, "cublas", cublas_size(recorder.gpu))
    return []


def addmm(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    """Blas.cpp, isInputCompliesAddmmCudaLt(): a bias of one dimension goes through cuBLASLt."""
    cublas(recorder, device, args, kwargs, found)
    bias, _, second = args[:3]
    size = int(os.environ.get("CUBLASLT_WORKSPACE_SIZE", "1024")) * 1024
    if bias.dim() != 1 or min(second.size()) <= 1 or kwargs.get("beta", 1) != 1 or not bias.is_contiguous():
        return []
    if VERSION < (2, 7):
        return [size]
    recorder.workspace(device, "cublaslt", size)
    return []


# cuDNN: its tensor-core kernels work on NHWC. For tensors in NCHW a plan copies input, filter and output within its
# workspace, and 16 bytes; channels are padded for aligned loads. 1 x 1 convolutions with stride 1 are
# matrix products as they are. Gradients of the filter are summed by several blocks, with a part each. Seen for 13
# shapes in three types and both layouts (bench/dry_run/operators.py), most to the byte; what cuDNN's heuristics
# choose otherwise is not predicted. Depthwise convolutions are PyTorch's own kernels.

PARTS = 2064384 + 663  # bytes of these parts, for filters of up to 36,864 values; else twice as much


def nbytes(*tensors: Any) -> int:
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)


def is_last(tensor: Any) -> bool:
    return tensor.dim() == 4 and tensor.size(1) > 1 and not tensor.is_contiguous() and \
        tensor.is_contiguous(memory_format=torch.channels_last)


def is_product(value: Any, weight: Any, stride: Any) -> bool:
    """Whether a convolution is a matrix product on NCHW as it is: rows must be aligned to 16 bytes."""
    plane: int = nbytes(value) // (value.size(0) * value.size(1))
    return max(weight.size()[2:]) == 1 and max(stride) == 1 and plane % 16 == 0


def padded(tensor: Any) -> int:
    """Bytes of a copy whose channels are padded."""
    channels: int = tensor.size(1)
    pad = {torch.float32: 1, torch.float16: 4}.get(tensor.dtype, 8)
    return nbytes(tensor) // max(1, channels) * up(channels, pad)


def convolution(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    value, weight, stride, groups = args[0], args[1], args[3], args[8]
    kernel, aligned = max(weight.size()[2:]), value.size(1) % 4 == 0
    is_nhwc = is_last(value) or is_last(weight)
    if groups > 1 and groups == value.size(1) or is_product(value, weight, stride) or 1 < kernel == stride[0] and not is_last(value):
        return []
    recorder.chosen("convolutions")
    copies = padded(value) + (padded(weight) if kernel > 1 else 0) + 16
    direct = value.dtype == torch.float32 and weight.size(0) in (32, 64) and value.size(1) % 32 == 0
    return ([] if aligned else [copies]) if is_nhwc else [copies + (0 if direct else padded(found[0]))]


def convolution_backward(recorder: Any, args: Any, found: List[Any]) -> None:
    """Each result is followed by its workspace."""
    recorder.chosen("convolutions")
    grad, value, weight, stride, groups, wanted = args[0], args[1], args[2], args[4], args[9], args[10]
    device, results = value.fake_device.index or 0, iter(found)
    copied = not (is_last(value) or is_last(weight)) and not is_product(value, weight, stride)
    plain = groups > 1 and groups == value.size(1)
    copies = padded(grad) + padded(value) + padded(weight) + 16
    few = weight.numel() <= 36864
    parts = (PARTS if few else 2 * PARTS if copied else PARTS) if value.dtype == torch.float32 or few else 0
    for is_wanted, work in zip(wanted, (copies if copied else 0, (copies if copied else 0) + parts, 0)):
        if is_wanted:
            recorder.hold(next(results))
            if work and not plain:
                recorder.temporaries(device, [work])


# Attention: flash_attn/flash_api.cpp, mha_bwd(): a float accumulator of dq and the row sums; for fewer heads of keys
# than of queries also dk and dv for each head of queries. attention_backward.cu (memory-efficient): delta, and
# tiles of dq with a lock each (kernel_backward.h, workspace_size(); kEnableSplitKeys).

def up(n: int, to: int) -> int:
    return -(-n // to) * to


def flash_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    query, key = args[1], args[2]
    batch, heads, length, width = query.size()
    rows = batch * heads * up(length, 128)
    return [rows * 4, rows * up(width, 32) * 4] + \
        [batch * key.size(2) * heads * width * query.element_size()] * (2 if key.size(1) != heads else 0)


# cuDNN: dq and the row sums in float in one workspace (seen for three shapes, to the byte); seeds are on the GPU.

def cudnn_forward(query: Any, key: Any, value: Any, bias: Any, keeps: bool, *_: Any, **__: Any) -> Any:
    """Its fake kernel has another layout than the real one, which is that of the query."""
    seeds = [torch.empty((), dtype=torch.int64, device=query.device) for _ in range(2)]
    out = torch.empty_like(query) if query.size(-1) == value.size(-1) else query.new_empty(*query.size()[:3], value.size(-1))
    sums = query.new_empty(*query.size()[:3], 1, dtype=torch.float32) if keeps else query.new_empty(0, dtype=torch.float32)
    return (out, sums, None, None, query.size(2), key.size(2), *seeds, None)


def cudnn_gradients(grad: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
    return tuple(torch.empty_like(t) for t in (query, key, value))


def grouped_product(a: Any, b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Its fake kernel wants bfloat16; the GPU multiplies other types group by group."""
    size = ([offs.size(0)] if a.dim() == b.dim() == 2 else [a.size(0)] if a.dim() == b.dim() else []) + [a.size(-2), b.size(-1)]
    return a.new_empty(size, dtype=out_dtype or a.dtype)


FAKES = table(("_grouped_mm", grouped_product), ("_scaled_dot_product_cudnn_attention", cudnn_forward),
              ("_scaled_dot_product_cudnn_attention_backward", cudnn_gradients))


def cudnn_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    query, key = args[1], args[2]
    batch, heads, length, width = query.size()
    expanded = 0 if key.size(1) == heads else 2 * batch * heads * key.size(2) * width * query.element_size()
    return [batch * heads * length * (width + 1) * 4 + expanded + 256]


def efficient_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    query = args[1]
    batch, heads, length, width = query.size()
    delta, columns = batch * heads * length * 4, 64 if width <= 64 else 128
    tiles = batch * heads * (up(length, 64) // 64) * (up(width, columns) // columns) * (64 * columns + 4) * 4
    # In half precision the kernel computes delta itself.
    return [nbytes(args[5]), delta, delta, -2, -1, tiles, -3] if query.dtype == torch.float32 else [delta, tiles]


# Embedding.cu, embedding_dense_backward_cuda(): up to 3,072 indices without temporaries; more are sorted, and
# EmbeddingBackwardKernel.cu sums parts of ten rows in float, as many parts as there could be.

def embedding_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    count, most, width = args[1].numel(), min(args[1].numel(), args[2]), args[0].size(-1)
    parts, each = count // 10 + most, count * 8
    return [] if count <= 3072 else [
        each, each, each, 2 * each + 17919, -4, -3, each, 8, each, 1279, -8, -7, most * 8, most * 8, 1279, -11, 8, parts * 8,
        parts * up(width, 32) * 4]


# Reduce.cuh, setReduceConfig(): a sum over many values and few outputs is split over blocks, which leave their
# parts in a buffer. Only sums over the leading dimensions (gradients of a bias) make it large.

def power_of_two(n: int) -> int:
    return 1 << (max(1, n).bit_length() - 1)


def split_sum(gpu: Gpu, outputs: int, inputs: int, size: int, is_inner: bool, vector: int) -> List[int]:
    """Bytes of the buffer and of its semaphores; nothing if one block does it."""
    most = 512 // (1 if is_inner else vector)
    wide, high = (inputs // vector, outputs) if is_inner else (outputs // vector, inputs)
    wide, high = min(power_of_two(wide), most), min(power_of_two(high), most)
    height = min(high, most // min(wide, 32))
    width = min(wide, most // height)
    step_in, step_out = (width, 1) if is_inner else (1, width)
    values = up(inputs, step_in) // step_in
    if values < height * 16 and values < 256:
        return []
    values = up(inputs, step_in * height) // (step_in * height)
    vector = 1 if is_inner else vector
    grid = -(-(outputs // vector) // step_out)
    target = gpu.processors * (2048 // (width * height))
    blocks = 1 if values < 256 or grid > target else max(min(-(-target // grid), -(-values // 16)), -(-values // 256))
    return [size * outputs * blocks * (1 if is_inner else width * vector), 4 * grid] if blocks > 1 else []


def reduction(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    value, out = args[0], found[0]
    if not out.numel() or out.numel() == value.numel() or not value.is_contiguous():
        return []
    outputs, inputs = out.numel(), value.numel() // out.numel()
    dims = args[1] if len(args) > 1 and isinstance(args[1], (list, tuple)) else None
    last = not dims or any(d % value.dim() == value.dim() - 1 for d in dims)
    width = value.size(-1) if value.dim() else 1
    vector = next(v for v in (4, 2, 1) if (inputs if last else width) % v == 0)
    return split_sum(recorder.gpu, outputs, inputs, max(4, value.element_size()), last, vector)


RULES: Dict[Any, Callable[..., List[int]]] = table(
    ("mm bmm baddbmm addbmm addmv mv dot vdot addr linalg_solve_triangular", cublas),
    ("addmm _addmm_activation", addmm),
    ("convolution", convolution),
    ("sum mean amax amin prod any all norm linalg_vector_norm", reduction),
    ("embedding_dense_backward", embedding_backward),
    ("_scaled_dot_product_flash_attention_backward", flash_backward),
    ("_scaled_dot_product_efficient_attention_backward", efficient_backward),
    ("_scaled_dot_product_cudnn_attention_backward", cudnn_backward),
    ("_scaled_dot_product_cudnn_attention", lambda *_: [256]),
    # Pow.cpp: the base becomes a tensor on the GPU
    ("pow", lambda recorder, device, args, kwargs, found: [] if isinstance(args[0], torch.Tensor) else [8]),
    # layer_norm_kernel.cu: a copy of each tensor that is not contiguous
    ("native_layer_norm native_layer_norm_backward", lambda recorder, device, args, kwargs, found:
        [nbytes(t) for t in args[:2] if isinstance(t, torch.Tensor) and not t.is_contiguous()]),
    # attention.cpp, _safe_softmax(): the plain softmax, which of its values are -inf, and in which rows all are
    ("_safe_softmax", lambda recorder, device, args, kwargs, found:
        [nbytes(found[0]), found[0].numel(), found[0].numel() // found[0].size(-1)]))


# Which attention kernel: sdp_utils.cpp, select_sdp_backend().

def servers(query: Any, key: Any, value: Any, mask: Any, causal: bool, grouped: bool, gpu: Gpu) -> List[str]:
    """cuDNN is the first choice on Hopper and Blackwell since 2.9: check_prefer_cudnn_attention()."""
    width, last, backends = query.size(-1), value.size(-1), torch.backends.cuda
    is_half, align = query.dtype in (torch.float16, torch.bfloat16), 4 if query.dtype == torch.float32 else 8
    same, fits = query.size(1) == key.size(1), width % align == last % align == 0
    rules = {
        "cudnn": VERSION >= (2, 9) and (gpu.major, gpu.minor) in ((9, 0), (10, 0)) and is_half and fits and width <= 256 and
        (grouped or same) and key.size(2) > 1 and os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") != "1",
        "flash": mask is None and is_half and gpu.major >= 8 and width == last <= 256 and (grouped or same) and
        (not causal or query.size(2) == key.size(2)) and backends.flash_sdp_enabled(),
        "efficient": (is_half or query.dtype == torch.float32) and gpu.major >= 5 and fits and same and backends.mem_efficient_sdp_enabled()}
    return [name for name, serves in rules.items() if serves and query.dim() == 4]


def attention(gpu: Gpu, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: Any = None, enable_gqa: bool = False) -> Any:
    """scaled_dot_product_attention() as the GPU would do it. The fused kernels want no mask that is learnt (seen with T5's)."""
    mask, keeps = attn_mask, torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    is_learnt = mask is not None and mask.requires_grad and torch.is_grad_enabled()
    kind = "" if is_learnt else next(iter(servers(query, key, value, mask, is_causal, enable_gqa, gpu)), "")
    if kind in ("cudnn", "efficient") and mask is not None and mask.dtype == torch.bool:
        mask = mask.to(query.dtype)
    if kind == "cudnn":
        return aten._scaled_dot_product_cudnn_attention(query, key, value, mask, keeps, dropout_p, is_causal, False, scale=scale)[0]
    if kind == "flash":
        width = query.size(-1)
        if width % 8:
            query, key, value = (torch.nn.functional.pad(t, (0, 8 - width % 8)) for t in (query, key, value))
        out = aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False,
                                                       scale=scale if scale is not None else 1 / math.sqrt(width))[0]
        return out[..., :width] if width % 8 else out
    if kind == "efficient":
        if mask is not None:
            full = mask.size(-1)
            mask = torch.nn.functional.pad(mask, (0, 8 - full % 8))[..., :full] if full % 8 else mask
            mask = mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))
        return aten._scaled_dot_product_efficient_attention(query, key, value, mask, keeps, dropout_p, is_causal, scale=scale)[0]
    if enable_gqa and query.size(1) != key.size(1):
        key, value = (t.repeat_interleave(query.size(1) // key.size(1), 1) for t in (key, value))
    return aten._scaled_dot_product_attention_math(query, key, value, mask, dropout_p, is_causal, None, scale=scale)[0]


def linear(plain: Any) -> Callable[..., Any]:
    """Linear.cpp: input of more than two dimensions that is not contiguous is multiplied first, and the bias added in
    place, but not to a tensor of a subclass."""
    def run(input: Any, weight: Any, bias: Any = None) -> Any:
        if bias is None or input.dim() < 3 or input.is_contiguous():
            return plain(input, weight, bias)
        out = torch.matmul(input, weight.t())
        return out.add_(bias.to(out.dtype))

    return run


# Operators with a CUDA kernel that other builds decompose before any mode sees them.
LIBRARY = torch.library.Library("aten", "IMPL")
for _name in () if torch.backends.cuda.is_built() else ("silu_backward", "mish_backward"):
    LIBRARY.impl(_name, lambda grad, value: torch.empty_like(value), "CUDA")

# cuDNN's RNNs: one buffer of weights, a copy of an input in batch order, a workspace for each call, and a reserve
# for the backward pass, seen to the byte.

DROPOUT_STATES = 6488064  # of cudnnDropoutGetStatesSize() on an H100
RNN_WORK = 12_000_000  # bytes of workspace for each layer beside its gates; 9.7 to 14.6 million were seen
KINDS = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}  # matrices for each layer
RESERVES = {1: 1, 3: 6, 4: 5}  # by them: values for each step, unit and layer


class Rnn(torch.autograd.Function):
    """What cuDNN allocates for an RNN, in order."""

    @staticmethod
    def forward(ctx: Any, recorder: Any, kind: str, layers: int, dropout: float, both: int, train: bool, first: bool, value: Any, hx: Any,
                cx: Any, *weights: Any) -> Any:
        gates, hidden, width = KINDS[kind], weights[0].size(0) // KINDS[kind], hx.size(-1)
        recorder.chosen("RNNs")
        if dropout and train and layers > 1:
            recorder.workspace(value.fake_device.index or 0, "cudnn dropout", DROPOUT_STATES)
        copy = value.transpose(0, 1).contiguous() if first else value
        steps = copy.numel() // copy.size(-1)
        out = value.new_empty(*copy.size()[:-1], both * width)
        hy, cy = torch.empty_like(hx), None if cx is None else torch.empty_like(cx)
        unit = steps * hidden * value.element_size() * both
        masks = (layers - 1) * steps * hidden * both * both // 8 if dropout and train else 0  # of each direction's input
        is_one = len({w.untyped_storage()._cdata for w in weights}) == 1  # else cuDNN gets a copy: bfloat16 is not flattened
        ctx.buffer = None if is_one else value.new_empty(sum(w.numel() for w in weights))
        ctx.work = layers * (unit * gates + both * RNN_WORK)
        work = value.new_empty(ctx.work, dtype=torch.uint8)
        if train:
            ctx.reserve = value.new_empty((layers * RESERVES[gates] + layers - 1) * unit + 256 + masks, dtype=torch.uint8)
        del work, copy
        ctx.recorder, ctx.weights, ctx.inputs, ctx.first = recorder, weights, (value, hx, cx), first
        return out.transpose(0, 1) if first else out, hy, cy

    @staticmethod
    def backward(ctx: Any, grad: Any, *_: Any) -> Any:
        value, hx, cx = ctx.inputs
        device = value.fake_device.index or 0
        copies = [(t.transpose(0, 1) if ctx.first else t).contiguous() for t in (value, grad)]
        dx, dhx = torch.empty_like(copies[0]), torch.empty_like(hx)
        dcx = None if cx is None else torch.empty_like(cx)
        ctx.recorder.temporaries(device, [ctx.work])
        copies = [value.transpose(0, 1).contiguous()] if ctx.first else []
        buffer = value.new_zeros(sum(w.numel() for w in ctx.weights))
        ctx.recorder.temporaries(device, [ctx.work])
        del copies
        grads = [part.view(w.size()) for w, part in zip(ctx.weights, buffer.split([w.numel() for w in ctx.weights]))]
        ctx.reserve = ctx.buffer = None
        return (None,) * 7 + (dx.transpose(0, 1) if ctx.first else dx, dhx, dcx, *grads)


def collective(func: Any, args: Any) -> Any:
    """Of several ranks: its tensors stay as they are, and its work is done."""
    with torch.utils._python_dispatch._disable_current_modes():
        group = torch.distributed.distributed_c10d._get_default_group()
        work = group.allreduce([torch.zeros(1)]).boxed()
    return work if len(func._schema.returns) == 1 else (args[0], work)


def rnn(recorder: Any, kind: str) -> Callable[..., Any]:
    """torch._VF.lstm() and the others, for sequences of one length or packed ones."""
    def run(*args: Any) -> Any:
        if isinstance(args[3], (list, tuple)):
            value, _, hidden, weights, _, layers, dropout, train, both = args
            first = False
        else:
            value, hidden, weights, _, layers, dropout, train, both, first = args
        hx, cx = hidden if isinstance(hidden, (list, tuple)) else (hidden, None)
        out, hy, cy = Rnn.apply(recorder, kind, layers, dropout, 2 if both else 1, train, first, value, hx, cx, *weights)
        return (out, hy, cy) if kind == "lstm" else (out, hy)

    return run
