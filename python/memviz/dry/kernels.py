"""Rules for the memory that GPU kernels take in addition to their results. Each rule names its source. A rule is called
after the results of its operator were allocated, and returns the sizes of temporary allocations (see
Recorder.temporaries())."""

import math, operator, os
from typing import Any, Callable, Dict, List, NamedTuple, Set, Tuple

import torch

from .allocator import up

aten = torch.ops.aten

class Gpu(NamedTuple):
    name: str
    gib: float  # as in torch.cuda.get_device_properties()
    major: int
    minor: int
    processors: int  # multi_processor_count
    @property
    def memory(self) -> int:
        return int(self.gib * (1 << 30))

# Memory sizes are those in PyTorch's out-of-memory errors ("has a total capacity of"); all other values are from
# NVIDIA's data sheets.
GPUS = {
    "t4": Gpu("Tesla T4", 14.56, 7, 5, 40), "v100-16gb": Gpu("Tesla V100-SXM2-16GB", 15.77, 7, 0, 80),
    "v100-32gb": Gpu("Tesla V100-SXM2-32GB", 31.73, 7, 0, 80), "a10": Gpu("NVIDIA A10G", 21.98, 8, 6, 80),
    "l4": Gpu("NVIDIA L4", 22.03, 8, 9, 58), "rtx3090": Gpu("NVIDIA GeForce RTX 3090", 23.57, 8, 6, 82),
    "rtx4090": Gpu("NVIDIA GeForce RTX 4090", 23.52, 8, 9, 128),
    "a100-40gb": Gpu("NVIDIA A100-SXM4-40GB", 39.39, 8, 0, 108),
    "a100-80gb": Gpu("NVIDIA A100-SXM4-80GB", 79.14, 8, 0, 108), "l40s": Gpu("NVIDIA L40S", 44.40, 8, 9, 142),
    "h100-80gb": Gpu("NVIDIA H100 80GB HBM3", 85017493504 / (1 << 30), 9, 0, 132),
    "h200": Gpu("NVIDIA H200", 139.72, 9, 0, 132), "b200": Gpu("NVIDIA B200", 178.35, 10, 0, 148),
}
DEFAULT_GPU = "h100-80gb"
VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

def overloads(names: str) -> Set[Any]:  # all overloads of these operators in this version of PyTorch
    packets = [getattr(aten, name) for name in names.split() if hasattr(aten, name)]
    return {getattr(packet, overload) for packet in packets for overload in packet.overloads()}

def table(*rules: Tuple[str, Any]) -> Dict[Any, Any]:
    return {overload: rule for names, rule in rules for overload in overloads(names)}

ADD, NONZERO, MASKED = aten.add.Tensor, aten.nonzero.default, overloads("index index_put index_put_ _index_put_impl_")
SLICE_BACKWARD, ALIAS, LOCAL_SCALAR = aten.slice_backward.default, aten.alias.default, aten._local_scalar_dense.default
DYNAMIC = overloads("nonzero masked_select _unique2 unique_dim unique_consecutive bincount repeat_interleave") - \
    {aten.repeat_interleave.self_int, aten.repeat_interleave.self_Tensor}
FILLED = overloads("scatter_add scatter index_add index_put")  # used in formulas for tensor subclasses: FunctionsManual.cpp, areAnyTensorSubclassLike()
ANSWERS = overloads("all eq ne isnan isinf")
INDICES = overloads("topk argmax argmin multinomial sort randint")
RANDOM = overloads("rand randn rand_like randn_like bernoulli bernoulli_ normal_ uniform_ multinomial native_dropout randint "
                   "randint_like random_ randperm")
SCALED = overloads("_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_")
LAST_FIRST = overloads("native_dropout _thnn_fused_gru_cell")  # Dropout.cu, RNN.cu: the result is allocated last
SEEDS_FIRST = overloads("_scaled_dot_product_cudnn_attention")  # attention.cu, _cudnn_attention_forward()
BETWEEN = overloads("convolution_backward")
# Outside of CUDA graphs, the seeds of attention are on the CPU, but fake kernels put them on the GPU.
HAS_SEEDS = overloads("_scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention")

def made_bytes(args: Any, kwargs: Any) -> int:  # size in bytes of the result of an operator without tensors, from its size argument
    size = args[0] if args and isinstance(args[0], (list, tuple)) else [""]
    dtype = kwargs.get("dtype") or torch.get_default_dtype()
    return math.prod(size) * int(dtype.itemsize) if all(isinstance(n, int) for n in size) else 0

def balanced(func: Any, args: Any, found: List[Any]) -> Any:  # indices as a router might choose them, each equally often
    if "randint" in func.__name__:
        choices = max(1, args[1] - args[0] if isinstance(args[1], int) else args[0])
    else:
        dim = next((a for a in args[1:3] if isinstance(a, int)), -1) if "arg" in func.__name__ else -1
        choices = args[0].size(dim) if args[0].dim() else 1
    return [None if t.dtype != torch.int64 or t.numel() > 1 << 20 else torch.arange(t.numel()).remainder_(choices).view(t.size())
            for t in found]

def answer(func: Any, args: Any) -> Any:  # the result if all values are finite; isfinite() compares with infinity and with the tensor itself
    if len(args) == 1 or func.__name__[:3] not in ("eq.", "ne."):
        return "all" in func.__name__ if len(args) == 1 else None
    is_same, other = args[0] is args[1], args[1]
    return ("eq" in func.__name__) == is_same if is_same or isinstance(other, float) and math.isinf(other) else None

def half(func: Any, args: Any, kwargs: Any) -> Any:  # used in place of a result of unknown size
    first, name = args[0], func.__name__
    count, some = first.numel(), max(1, first.numel() // 2)
    if "nonzero" in name or "masked" in name:
        return torch.zeros(some, first.dim(), dtype=torch.int64) if "nonzero" in name else torch.zeros(some, dtype=first.dtype)
    index = torch.zeros(max(1, "bincount" in name and kwargs.get("minlength", 0) or count), dtype=torch.int64)
    return (torch.zeros(some, dtype=first.dtype), index, index) if "unique" in name else index

# cuBLAS: CUDABlas.cpp and CublasHandlePool.cpp, getChosenWorkspaceSize(): 32 MiB on Hopper and later, else 8,519,680
# bytes, for each handle (thread) and stream. cuBLASLt: 1 MiB, which is kept since PyTorch 2.7; earlier releases
# allocate it for each call.
def product(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    """Blas.cpp, isInputCompliesAddmmCudaLt(): products with a one-dimensional bias use cuBLASLt."""
    given = [int(p) for p in os.environ.get("CUBLAS_WORKSPACE_CONFIG", "").split(":") if p.isdigit()]
    parts = given if given and len(given) % 2 == 0 else [4096, 8] if recorder.gpu.major >= 9 else [4096, 2, 16, 8]
    recorder.workspace(device, "cublas", 1024 * sum(map(operator.mul, parts[::2], parts[1::2])))
    size, bias = int(os.environ.get("CUBLASLT_WORKSPACE_SIZE", "1024")) * 1024, args[0]
    is_lt = len(args) > 2 and bias.dim() == 1 and args[2].dim() == 2 and min(args[2].size()) > 1 and bias.is_contiguous() and \
        kwargs.get("beta", 1) == 1
    if is_lt and VERSION >= (2, 7):
        recorder.workspace(device, "cublaslt", size)
    return [size] if is_lt and VERSION < (2, 7) else []

# cuDNN: tensor-core kernels need NHWC. For NCHW the workspace contains copies of the input, filter and output, and 16
# more bytes; channels are padded for aligned loads. 1 x 1 convolutions with stride 1 are matrix products without
# copies. Several blocks sum up the gradient of the filter, each with a separate partial sum. Depthwise convolutions use
# PyTorch's own kernels.
CHOSEN = "cuDNN chooses the workspaces of %s when it runs"
PARTS = 2064384 + 663  # bytes of the partial sums, for filters of up to 36,864 values; twice as many for larger filters

def nbytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size()) if tensor is not None else 0

def is_last(*tensors: Any) -> bool:  # whether one of the tensors is in NHWC
    return any(t.dim() == 4 and t.size(1) > 1 and not t.is_contiguous() and t.is_contiguous(memory_format=torch.channels_last)
               for t in tensors)

def is_product(value: Any, weight: Any, stride: Any) -> bool:  # runs directly on NCHW; rows must be aligned to 16 bytes
    plane: int = nbytes(value) // (value.size(0) * value.size(1))
    return max(weight.size()[2:]) == 1 and max(stride) == 1 and plane % 16 == 0

def padded(*tensors: Any) -> int:  # bytes of copies with padded channels, plus 16
    pad = {torch.float32: 1, torch.float16: 4}.get(tensors[0].dtype, 8)
    return 16 + sum(nbytes(t) // max(1, int(t.size(1))) * up(t.size(1), pad) for t in tensors)

def convolution(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    value, weight, stride, groups = args[0], args[1], args[3], args[8]
    kernel = max(weight.size()[2:])
    if 1 < groups == value.size(1) or is_product(value, weight, stride) or 1 < kernel == stride[0] and not is_last(value):
        return []
    recorder.note("rough", CHOSEN % "convolutions")
    copied = [value, weight] if kernel > 1 else [value]
    if is_last(value, weight):
        return [padded(*copied)] if value.size(1) % 4 else []
    direct = value.dtype == torch.float32 and weight.size(0) in (32, 64) and value.size(1) % 32 == 0
    return [padded(*copied, *([] if direct else found[:1]))]

def convolution_backward(recorder: Any, args: Any, found: List[Any]) -> None:  # each result is followed by its workspace
    recorder.note("rough", CHOSEN % "convolutions")
    value, weight, results = args[1], args[2], iter(found)
    copied = not is_last(value, weight) and not is_product(value, weight, args[4])
    copies, few = padded(*args[:3]) if copied else 0, weight.numel() <= 36864
    parts = PARTS * (1 if few or not copied else 2) if few or value.dtype == torch.float32 else 0
    for is_wanted, work in zip(args[10], (copies, copies + parts, 0)):
        if is_wanted:
            recorder.hold(next(results))
            if work and not 1 < args[9] == value.size(1):
                recorder.temporaries(value.fake_device.index or 0, [work])

# Attention. flash_attn/flash_api.cpp, mha_bwd(): dq as float, and the row sums; if there are fewer key heads than query
# heads, also dk and dv for every query head. attention_backward.cu (memory-efficient): delta, and tiles of dq, each
# with a lock (kernel_backward.h, workspace_size(); kEnableSplitKeys). cuDNN: dq and the row sums as float, in one
# workspace (exact to the byte for three shapes that were measured); seeds are on the GPU.
def flash_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    batch, heads, length, width = args[1].size()
    rows = batch * heads * up(length, 128)
    return [rows * 4, rows * up(width, 32) * 4] + [heads_expanded(*args[1:3])] * (2 if heads != args[2].size(1) else 0)

def heads_expanded(query: Any, key: Any) -> int:  # bytes of the gradient of the keys or values, with as many heads as the queries have
    return nbytes(query) // max(1, int(query.size(2))) * int(key.size(2))

def cudnn_forward(query: Any, key: Any, value: Any, bias: Any, keeps: bool, *_: Any, **__: Any) -> Any:
    """Replaces PyTorch's fake kernel, because the result of the real kernel has the layout of the query."""
    seeds, rows = [torch.empty((), dtype=torch.int64, device=query.device) for _ in range(2)], query.size()[:3]
    out = torch.empty_like(query) if query.size(-1) == value.size(-1) else query.new_empty(*rows, value.size(-1))
    sums = query.new_empty((*rows, 1) if keeps else (0,), dtype=torch.float32)
    return (out, sums, None, None, query.size(2), key.size(2), *seeds, None)

def grouped_product(a: Any, b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Replaces PyTorch's fake kernel, which requires bfloat16. The GPU multiplies other types group by group."""
    size = ([offs.size(0)] if a.dim() == b.dim() == 2 else [a.size(0)] if a.dim() == b.dim() else []) + [a.size(-2), b.size(-1)]
    return a.new_empty(size, dtype=out_dtype or a.dtype)

def gru_gradients(grad: Any, workspace: Any, has_bias: bool) -> Any:  # RNN.cu: two gradients for the gates, and their sums
    made = [grad.new_empty(len(grad), 3 * grad.size(1)) for _ in range(2)]
    return (*made, torch.empty_like(grad), *(grad.new_empty(3 * grad.size(1)) if has_bias else None for _ in range(2)))

def spectrum(value: Any, dims: Any, _: int, what: Any) -> Any:  # `what` is the last size if the result is real, else whether the result is one-sided
    size, is_real = list(value.size()), not isinstance(what, bool)
    size[dims[-1]] = what if is_real else size[dims[-1]] // 2 + 1 if what and not value.is_complex() else size[dims[-1]]
    return value.new_empty(size, dtype=value.dtype.to_real() if is_real else value.dtype.to_complex())

FAKES = table(("_grouped_mm", grouped_product), ("_scaled_dot_product_cudnn_attention", cudnn_forward), ("_fft_r2c _fft_c2r _fft_c2c", spectrum),
              ("_scaled_dot_product_cudnn_attention_backward", lambda grad, *args, **_: tuple(torch.empty_like(t) for t in args[:3])),
              ("_thnn_fused_gru_cell", lambda gates, more, h, *_: (torch.empty_like(h), h.new_empty(len(h), 5 * h.size(1)))),
              ("_thnn_fused_gru_cell_backward", gru_gradients),
              ("_weight_norm_interface_backward", lambda grad, v, g, *_: (torch.empty_like(v), torch.empty_like(g))))

def left_out(recorder: Any, library: str, *sizes: int) -> List[int]:
    recorder.note("rough", f"{library}'s workspaces are left out")
    return list(sizes)

def cudnn_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    batch, heads, length, width = args[1].size()
    expanded = 0 if args[2].size(1) == heads else 2 * heads_expanded(*args[1:3])
    return [batch * heads * length * (width + 1) * 4 + expanded + 256]

def efficient_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    batch, heads, length, width = args[1].size()
    delta, columns = batch * heads * length * 4, 64 if width <= 64 else 128
    tiles = batch * heads * (up(length, 64) // 64) * (up(width, columns) // columns) * (64 * columns + 4) * 4
    is_whole = args[1].dtype == torch.float32  # with any other type, the kernel computes delta itself
    return [nbytes(args[5]), delta, delta, -2, -1, tiles, -3] if is_whole else [delta, tiles]

# Embedding.cu, embedding_dense_backward_cuda(): up to 3,072 indices need no temporaries. More indices are sorted, and
# EmbeddingBackwardKernel.cu sums parts of ten rows as float, with memory for the largest possible number of parts.
def embedding_backward(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    count, most, width = args[1].numel(), min(args[1].numel(), args[2]), args[0].size(-1)
    parts, each = count // 10 + most, count * 8
    return [] if count <= 3072 else [
        each, each, each, 2 * each + 17919, -4, -3, each, 8, each, 1279, -8, -7, most * 8, most * 8, 1279, -11, 8, parts * 8,
        parts * up(width, 32) * 4]

def reduction(recorder: Any, device: int, args: Any, kwargs: Any, found: List[Any]) -> List[int]:
    """Reduce.cuh, setReduceConfig(): a sum of many values with few outputs is split over blocks, which need semaphores,
    and a buffer for their partial sums. The buffer is large only for sums over leading dimensions (gradients of a
    bias)."""
    value, outputs = args[0], found[0].numel()
    cast = [value.numel() * 8] if found[0].dtype == torch.int64 != value.dtype else []  # ReduceOpsUtils.h, make_reduction(): a copy first
    if not outputs or outputs == value.numel() or not value.is_contiguous():
        return cast
    dims = args[1] if len(args) > 1 and isinstance(args[1], (list, tuple)) else None
    is_inner, inputs = not dims or any(d % value.dim() == value.dim() - 1 for d in dims), value.numel() // outputs
    vector = next(v for v in (4, 2, 1) if (inputs if is_inner else value.size(-1)) % v == 0)
    each = 1 if is_inner else vector  # number of outputs per thread
    sides = (inputs // vector, outputs) if is_inner else (outputs // vector, inputs)
    wide, high = (min(1 << (max(1, side).bit_length() - 1), 512 // each) for side in sides)
    height = min(high, 512 // each // min(wide, 32))
    width = min(wide, 512 // each // height)
    step_in, step_out = (width, 1) if is_inner else (1, width)
    if -(-inputs // step_in) < min(height * 16, 256):
        return cast
    values, grid = -(-inputs // (step_in * height)), -(-outputs // (each * step_out))
    target = recorder.gpu.processors * (2048 // (width * height))
    blocks = 1 if values < 256 or grid > target else max(min(-(-target // grid), -(-values // 16)), -(-values // 256))
    size = max(4, value.element_size())
    return cast + ([size * outputs * blocks * step_out * each, 4 * grid] if blocks > 1 else [])

RULES: Dict[Any, Callable[..., List[int]]] = table(
    ("mm bmm baddbmm addbmm addmv mv dot vdot addr linalg_solve_triangular addmm _addmm_activation affine_grid_generator", product),
    ("convolution", convolution),
    ("sum mean amax amin prod any all norm linalg_vector_norm", reduction),
    ("embedding_dense_backward", embedding_backward),
    # DistanceKernel.cu, cdist_backward_kernel_impl(): a value for each pair and feature, before these are added
    ("_cdist_backward", lambda recorder, device, args, kwargs, found: [nbytes(args[4]) * args[1].size(-1)]),
    # SpectralOps.cpp: cuFFT overwrites the input of a transform to real values, so the input is copied
    ("_fft_r2c _fft_c2c", lambda recorder, *_: left_out(recorder, "cuFFT")),
    ("_fft_c2r", lambda recorder, device, args, kwargs, found: left_out(recorder, "cuFFT", nbytes(args[0]))),
    ("linalg_cholesky_ex cholesky cholesky_solve cholesky_inverse linalg_inv_ex linalg_lu_factor_ex linalg_lu linalg_lu_solve _linalg_det "
     "_linalg_solve_ex linalg_ldl_factor_ex linalg_qr geqrf ormqr _linalg_eigh linalg_eig _linalg_svd linalg_lstsq",
     lambda recorder, *_: left_out(recorder, "cuSOLVER")),
    ("_scaled_dot_product_flash_attention_backward", flash_backward),
    ("_scaled_dot_product_efficient_attention_backward", efficient_backward),
    ("_scaled_dot_product_cudnn_attention_backward", cudnn_backward),
    ("_scaled_dot_product_cudnn_attention", lambda *_: [256]),
    # Pow.cpp: the base becomes a tensor on the GPU
    ("pow", lambda recorder, device, args, kwargs, found: [] if isinstance(args[0], torch.Tensor) else [8]),
    # layer_norm_kernel.cu: a copy of each tensor that is not contiguous
    ("native_layer_norm native_layer_norm_backward", lambda recorder, device, args, kwargs, found:
        [nbytes(t) for t in args[:2] if isinstance(t, torch.Tensor) and not t.is_contiguous()]),
    # attention.cpp, _safe_softmax(): the plain softmax, a mask of the values that are -inf, and a mask of the rows of
    # which all values are -inf
    ("_safe_softmax", lambda recorder, device, args, kwargs, found:
        [nbytes(found[0]), found[0].numel(), found[0].numel() // found[0].size(-1)]))

def servers(query: Any, key: Any, value: Any, mask: Any, causal: bool, grouped: bool, gpu: Gpu) -> List[str]:
    """Backends for attention, in the order of sdp_utils.cpp, select_sdp_backend(). Since PyTorch 2.9, cuDNN comes first
    on Hopper and Blackwell."""
    width, last, backends, align = query.size(-1), value.size(-1), torch.backends.cuda, 4 if query.dtype == torch.float32 else 8
    same, fits = query.size(1) == key.size(1), width % align == last % align == 0
    is_half = query.dtype in (torch.float16, torch.bfloat16) and width <= 256 and (grouped or same)
    rules = {
        "cudnn": is_half and VERSION >= (2, 9) and (gpu.major, gpu.minor) in ((9, 0), (10, 0)) and fits and key.size(2) > 1 and
        os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") != "1",
        "flash": is_half and gpu.major >= 8 and mask is None and width == last and (not causal or query.size(2) == key.size(2)) and
        backends.flash_sdp_enabled(),
        "efficient": query.dtype in (torch.float16, torch.bfloat16, torch.float32) and gpu.major >= 5 and fits and same and
        backends.mem_efficient_sdp_enabled()}
    return [name for name, serves in rules.items() if serves and query.dim() == 4]

def autocast(*tensors: Any) -> Any:  # casts the arguments of an operator in the order in which C++ evaluates them, the last one first
    half = torch.get_autocast_dtype("cuda") if VERSION >= (2, 4) else torch.get_autocast_gpu_dtype()
    is_on = torch.is_autocast_enabled()
    return [t.to(half) if is_on and t is not None and t.dtype == torch.float32 else t for t in tensors[::-1]][::-1]

def attention(gpu: Gpu, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: Any = None, enable_gqa: bool = False) -> Any:
    """Does what scaled_dot_product_attention() does on the GPU. Fused kernels do not support learnt masks (seen with
    T5)."""
    query, key, value, mask = autocast(query, key, value, attn_mask)
    keeps = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    is_learnt = mask is not None and mask.requires_grad and torch.is_grad_enabled()
    kind = "" if is_learnt else next(iter(servers(query, key, value, mask, is_causal, enable_gqa, gpu)), "")
    if kind and mask is not None and mask.dtype == torch.bool:
        mask = mask.to(query.dtype)
    if kind == "cudnn":
        return aten._scaled_dot_product_cudnn_attention(query, key, value, mask, keeps, dropout_p, is_causal, False, scale=scale)[0]
    if kind == "flash":
        width, scale = query.size(-1), scale or query.size(-1) ** -0.5
        query, key, value = (torch.nn.functional.pad(t, (0, -width % 8)) if width % 8 else t for t in (query, key, value))
        out = aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
        return out[..., :width] if width % 8 else out
    if kind == "efficient":
        if mask is not None:
            full = mask.size(-1)
            mask = torch.nn.functional.pad(mask, (0, -full % 8))[..., :full] if full % 8 else mask
            mask = mask.expand(*query.size()[:3], key.size(2))
        return aten._scaled_dot_product_efficient_attention(query, key, value, mask, keeps, dropout_p, is_causal, scale=scale)[0]
    if enable_gqa and query.size(1) != key.size(1):
        key, value = (t.repeat_interleave(query.size(1) // key.size(1), 1) for t in (key, value))
    return aten._scaled_dot_product_attention_math(query, key, value, mask, dropout_p, is_causal, None, scale=scale)[0]

def linear(plain: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """Linear.cpp: if the input is not contiguous and has more than two dimensions, the bias is added in place after the product."""
    is_plain = bias is None or input.dim() < 3 or input.is_contiguous()
    out = plain(input, weight, bias) if is_plain else torch.matmul(input, weight.t())
    return out if is_plain else out.add_(bias.to(out.dtype))

# Operators that have a CUDA kernel, but that builds without CUDA decompose before any mode is called.
LIBRARY = torch.library.Library("aten", "IMPL")
for _name in () if torch.backends.cuda.is_built() else ("silu_backward", "mish_backward"):
    LIBRARY.impl(_name, lambda grad, value: torch.empty_like(value), "CUDA")

# RNNs in cuDNN have one buffer of weights, a copy of a batch-first input, a workspace for each call, and a reserve
# (exact to the byte).
DROPOUT_STATES = 6488064  # from cudnnDropoutGetStatesSize() on an H100
RNN_WORK = 12_000_000  # bytes of workspace for each layer in addition to its gates; 9.7 to 14.6 million were observed
KINDS = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}  # number of matrices per layer
RESERVES = {1: 1, 3: 6, 4: 5}  # number of values per step, unit and layer, by number of matrices

class Rnn(torch.autograd.Function):
    """Makes the allocations that cuDNN makes for an RNN, in the same order."""
    @staticmethod
    def forward(ctx: Any, recorder: Any, kind: str, layers: int, dropout: float, both: int, train: bool, first: bool, value: Any,
                hx: Any, cx: Any, *weights: Any) -> Any:
        gates, hidden = KINDS[kind], weights[0].size(0) // KINDS[kind]
        recorder.note("rough", CHOSEN % "RNNs")
        if dropout and train and layers > 1:
            recorder.workspace(value.fake_device.index or 0, "cudnn dropout", DROPOUT_STATES)
        copy = value.transpose(0, 1).contiguous() if first else value
        out = value.new_empty(*copy.size()[:-1], both * hx.size(-1))
        hy, cy = torch.empty_like(hx), None if cx is None else torch.empty_like(cx)
        units = copy.numel() // copy.size(-1) * hidden * both
        masks = (layers - 1) * units * both // 8 if dropout and train else 0  # for the input of each direction
        is_one = len({w.untyped_storage()._cdata for w in weights}) == 1 and weights[0].dtype == value.dtype
        ctx.buffer = None if is_one else value.new_empty(sum(w.numel() for w in weights))
        unit = units * value.element_size()
        ctx.work = layers * (unit * gates + both * RNN_WORK)
        work = value.new_empty(ctx.work, dtype=torch.uint8)
        if train:
            ctx.reserve = value.new_empty((layers * RESERVES[gates] + layers - 1) * unit + 256 + masks, dtype=torch.uint8)
        del work, copy
        ctx.recorder, ctx.weights, ctx.inputs, ctx.first = recorder, weights, (value, hx, cx), first
        return out.transpose(0, 1) if first else out, hy, cy
    @staticmethod
    def backward(ctx: Any, grad: Any, *_: Any) -> Any:
        value, device = ctx.inputs[0], ctx.inputs[0].fake_device.index or 0
        copies = [(t.transpose(0, 1) if ctx.first else t).contiguous() for t in (value, grad)]
        dx: Any = torch.empty_like(copies[0])
        dhx, dcx = (None if t is None else torch.empty_like(t) for t in ctx.inputs[1:])
        ctx.recorder.temporaries(device, [ctx.work])
        copies = [value.transpose(0, 1).contiguous()] if ctx.first else []
        buffer = value.new_zeros(sum(w.numel() for w in ctx.weights))
        ctx.recorder.temporaries(device, [ctx.work])
        del copies
        grads = [part.view(w.size()) for w, part in zip(ctx.weights, buffer.split([w.numel() for w in ctx.weights]))]
        ctx.reserve = ctx.buffer = None
        return (None,) * 7 + (dx.transpose(0, 1) if ctx.first else dx, dhx, dcx, *grads)

def collective(func: Any, args: Any) -> Any:  # a collective operation of several ranks, which leaves tensors unchanged and is done immediately
    with torch.utils._python_dispatch._disable_current_modes():
        work = torch.distributed.distributed_c10d._get_default_group().allreduce([torch.zeros(1)]).boxed()
    return work if len(func._schema.returns) == 1 else (args[0], work)

def rnn(recorder: Any, kind: str, *args: Any) -> Any:
    """Replaces torch._VF.lstm() and similar functions, for packed sequences and for sequences of equal length."""
    is_packed = isinstance(args[3], (list, tuple))
    value, hidden, weights, _, layers, dropout, train, both, first = (args[0], *args[2:], False) if is_packed else args
    hx, cx = hidden if isinstance(hidden, (list, tuple)) else (hidden, None)
    value, hx, cx = autocast(value, hx, cx)
    out = Rnn.apply(recorder, kind, layers, dropout, 2 if both else 1, train, first, value, hx, cx, *weights)
    return out if kind == "lstm" else out[:2]

class Made(torch.autograd.Function):
    """The result of a function without a fake kernel, and the tensors that the function keeps. The backward pass
    allocates these tensors again."""
    @staticmethod
    def forward(ctx: Any, value: Any, size: Any, *kept: Any) -> Any:
        ctx.like, ctx.kept = value, [value.new_empty(each) for each in kept]
        return value.new_empty(size)
    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        made = [torch.empty_like(each) for each in (ctx.like, *ctx.kept)]
        return (*made[:1], *[None] * len(made))

def lengths_of(recorder: Any, lengths: Any, most: int) -> Any:  # a real tensor
    known = recorder.value(lengths) if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)
    if known is None:
        recorder.note("not known", "sequence lengths that depend on computed values: the full length is taken")
    return torch.full((len(lengths),), most) if known is None else known

def packed(recorder: Any, plain: Any, value: Any, lengths: Any, first: bool) -> Any:
    """Replaces pack_padded_sequence(), which makes one tensor for all steps (PackedSequence.cpp)."""
    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        known = lengths_of(recorder, lengths, value.size(int(first)))
        steps = plain(torch.empty(*value.size()[:2], 1), known, first)[1]
    return Made.apply(value, (int(known.sum()), *value.size()[2:])), steps

def ctc(recorder: Any, value: Any, targets: Any, lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1, *_: Any) -> Any:
    """LossCTC.cu: keeps the log probabilities of all paths, forwards and backwards."""
    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        most = int(lengths_of(recorder, target_lengths, targets.size(-1)).max())
    batch = value.size(1) if value.dim() == 3 else 1
    loss = Made.apply(value, (batch,), (batch, value.size(0), 2 * most + 1))
    return (loss, loss.mean(), loss.sum())[reduction]
