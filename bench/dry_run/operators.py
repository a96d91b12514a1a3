"""Prints the sizes that single operators allocate (+) and free (-), in order. If the output of a dry run is different, a rule is
missing."""

import json
import sys

import torch
import torch.nn.functional as F

D = "cuda"
failed = []


MARK = 3_000_001  # bytes of a block that marks the next part; each such block is one byte larger
parts = []


def mark(name):
    torch.empty(MARK + len(parts), dtype=torch.uint8, device=D)
    parts.append(name)


def measure(name, make, run):
    try:
        kept = make()
        for part in ("", "again "):
            mark(f"{name} {part}forward")
            result = run(*kept)
            mark("")
            if isinstance(result, torch.Tensor) and result.requires_grad:
                grad = torch.ones_like(result)
                mark(f"{name} {part}backward")
                result.backward(grad)
                mark("")
                del grad
            del result
    except Exception as why:
        mark("")
        failed.append(f"{name}: {type(why).__name__}: {str(why)[:200]}")


def split(trace):
    found, rows = {}, []
    for event in trace:
        if event["action"] in ("alloc", "free_completed"):
            at = event["size"] - MARK
            if 0 <= at < len(parts):
                if event["action"] == "alloc":
                    rows = found.setdefault(parts[at], [])
                continue
            rows.append(f"{'+' if event['action'] == 'alloc' else '-'}{event['size']}")
    found.pop("", None)
    return found


def r(*size, dtype=torch.float32, grad=True):
    return torch.randn(*size, device=D, dtype=dtype, requires_grad=grad)


def all_operators():
    half, b16 = torch.float16, torch.bfloat16
    measure("mm", lambda: (r(512, 256), r(256, 128)), torch.mm)
    measure("linear", lambda: (r(512, 256), r(128, 256), r(128)), F.linear)
    measure("linear bf16", lambda: (r(512, 256, dtype=b16), r(128, 256, dtype=b16), r(128, dtype=b16)), F.linear)
    for dtype, name in ((torch.float32, "fp32"), (b16, "bf16"), (half, "fp16")):
        for width, length in ((64, 512), (128, 512), (80, 200), (96, 512), (256, 512)):
            q = lambda: tuple(r(4, 8, length, width, dtype=dtype) for _ in range(3))  # noqa: E731
            measure(f"attention {name} {width} {length}", q, lambda a, b, c: F.scaled_dot_product_attention(a, b, c, is_causal=True))
            measure(f"attention {name} {width} {length} p", q, lambda a, b, c: F.scaled_dot_product_attention(a, b, c, dropout_p=0.1))
            for kind in (torch.bool, dtype):
                mask = torch.ones(4, 1, length, length, device=D, dtype=kind)
                measure(f"attention {name} {width} {length} mask {kind}", q,
                        lambda a, b, c: F.scaled_dot_product_attention(a, b, c, attn_mask=mask))
        measure(f"attention {name} grouped", lambda: (r(4, 8, 512, 64, dtype=dtype), r(4, 2, 512, 64, dtype=dtype), r(4, 2, 512, 64, dtype=dtype)),
                lambda a, b, c: F.scaled_dot_product_attention(a, b, c, is_causal=True, enable_gqa=True))
        many = lambda: tuple(r(32, 16, 256, 64, dtype=dtype) for _ in range(3))  # noqa: E731
        measure(f"attention {name} many", many, lambda a, b, c: F.scaled_dot_product_attention(a, b, c))
        measure(f"attention {name} cross", lambda: (r(4, 8, 128, 64, dtype=dtype), r(4, 8, 512, 64, dtype=dtype), r(4, 8, 512, 64, dtype=dtype)),
                lambda a, b, c: F.scaled_dot_product_attention(a, b, c))
        measure(f"attention {name} no grad", lambda: tuple(r(4, 8, 512, 64, dtype=dtype, grad=False) for _ in range(3)),
                lambda a, b, c: F.scaled_dot_product_attention(a, b, c))
        measure(f"attention {name} packed", lambda: (r(4, 512, 3, 8, 64, dtype=dtype),),
                lambda a: F.scaled_dot_product_attention(*a.permute(2, 0, 3, 1, 4).unbind(0), is_causal=True))
        for last in (False, True):
            form = torch.channels_last if last else torch.contiguous_format
            for n, c, k, side, kernel, stride in ((16, 3, 64, 224, 7, 2), (16, 64, 64, 56, 3, 1), (16, 64, 256, 56, 1, 1),
                                                  (16, 256, 128, 56, 1, 1), (16, 128, 128, 56, 3, 2), (16, 256, 512, 56, 1, 2),
                                                  (16, 512, 512, 7, 3, 1), (8, 96, 96, 64, 3, 1), (8, 32, 32, 64, 3, 1), (8, 64, 3, 64, 3, 1),
                                                  (8, 192, 64, 32, 3, 1), (8, 128, 128, 16, 3, 1), (32, 3, 384, 224, 16, 16)):
                measure(f"conv {name} {'last' if last else 'first'} {n} {c} {k} {side} {kernel} {stride}",
                        lambda: (r(n, c, side, side, dtype=dtype, grad=c > 3 or kernel == 3).to(memory_format=form).detach().requires_grad_(c > 3),
                                 r(k, c, kernel, kernel, dtype=dtype).to(memory_format=form).detach().requires_grad_(), None),
                        lambda x, w, _: F.conv2d(x, w, None, stride, kernel // 2 if kernel < 16 else 0))
            measure(f"batch_norm {name} {last}", lambda: (r(16, 64, 56, 56, dtype=dtype).to(memory_format=form).detach().requires_grad_(), r(64), r(64), torch.zeros(64, device=D), torch.ones(64, device=D)),
                    lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, True))
        measure(f"depthwise {name}", lambda: (r(16, 64, 56, 56, dtype=dtype), r(64, 1, 3, 3, dtype=dtype)), lambda x, w: F.conv2d(x, w, padding=1, groups=64))
        measure(f"grouped conv {name}", lambda: (r(16, 64, 56, 56, dtype=dtype), r(64, 8, 3, 3, dtype=dtype)), lambda x, w: F.conv2d(x, w, padding=1, groups=8))
        measure(f"conv1d {name}", lambda: (r(8, 64, 1000, dtype=dtype), r(128, 64, 3, dtype=dtype), r(128, dtype=dtype)), lambda x, w, b: F.conv1d(x, w, b, padding=1))
        measure(f"conv3d {name}", lambda: (r(2, 16, 16, 32, 32, dtype=dtype), r(32, 16, 3, 3, 3, dtype=dtype)), lambda x, w: F.conv3d(x, w, padding=1))
        measure(f"conv transposed {name}", lambda: (r(8, 64, 32, 32, dtype=dtype), r(64, 32, 4, 4, dtype=dtype)), lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1))
        for kind in ("LSTM", "GRU", "RNN"):
            for b, t, i, h, layers, both, p in ((8, 32, 128, 512, 1, False, 0), (8, 32, 128, 512, 2, False, 0), (16, 32, 256, 256, 1, False, 0),
                                                (16, 64, 256, 256, 2, True, 0), (32, 64, 256, 256, 2, False, 0.1), (32, 128, 1024, 1024, 3, False, 0)):
                if kind == "LSTM" or b == 8:
                    net = getattr(torch.nn, kind)(i, h, layers, batch_first=True, bidirectional=both, dropout=p).to(D, dtype)
                    measure(f"{kind} {name} {b} {t} {i} {h} {layers} {both} {p}", lambda: (r(b, t, i, dtype=dtype),), lambda x: net(x)[0])
        for rows, width in ((4096, 512), (512, 4096), (32768, 256)):
            w, bias = r(width, dtype=dtype), r(width, dtype=dtype)
            measure(f"layer_norm {name} {rows} {width}", lambda: (r(rows, width, dtype=dtype),), lambda x: F.layer_norm(x, (width,), w, bias))
            if hasattr(F, "rms_norm"):
                measure(f"rms_norm {name} {rows} {width}", lambda: (r(rows, width, dtype=dtype),), lambda x: F.rms_norm(x, (width,), w))
            for dims in (0, 1, None):
                measure(f"sum {name} {rows} {width} {dims}", lambda: (r(rows, width, dtype=dtype),), lambda x: x.sum() if dims is None else x.sum(dims))
                measure(f"mean {name} {rows} {width} {dims}", lambda: (r(rows, width, dtype=dtype),), lambda x: x.mean() if dims is None else x.mean(dims))
        measure(f"sum {name} 3", lambda: (r(8, 512, 768, dtype=dtype, grad=False),), lambda x: x.sum((0, 1)))
        measure(f"sum {name} image", lambda: (r(16, 64, 56, 56, dtype=dtype, grad=False),), lambda x: x.sum((0, 2, 3)))
        measure(f"softmax {name}", lambda: (r(4, 8, 512, 512, dtype=dtype),), lambda x: x.softmax(-1))
        measure(f"group_norm {name}", lambda: (r(8, 64, 64, 64, dtype=dtype), r(64, dtype=dtype), r(64, dtype=dtype)), lambda x, w, b: F.group_norm(x, 8, w, b))
        for count, rows in ((2048, 32000), (4096, 32000), (8192, 1000), (4096, 512)):
            ids = torch.randint(0, rows, (count,), device=D)
            measure(f"embedding {name} {count} {rows}", lambda: (r(rows, 256, dtype=dtype),), lambda w: F.embedding(ids, w))
            measure(f"index {name} {count} {rows}", lambda: (r(rows, 256, dtype=dtype),), lambda w: w[ids])
        classes = torch.randint(0, 32000, (4096,), device=D)
        measure(f"cross_entropy {name}", lambda: (r(4096, 32000, dtype=dtype),), lambda x: F.cross_entropy(x, classes))
        measure(f"topk {name}", lambda: (r(4096, 32000, dtype=dtype, grad=False),), lambda x: x.topk(50, -1)[0])
        measure(f"topk small {name}", lambda: (r(4096, 8, dtype=dtype, grad=False),), lambda x: x.topk(2, -1)[0])
        measure(f"sort {name}", lambda: (r(512, 32000, dtype=dtype, grad=False),), lambda x: x.sort(-1)[0])
        measure(f"cumsum {name}", lambda: (r(512, 32000, dtype=dtype, grad=False),), lambda x: x.cumsum(-1))
        measure(f"dropout {name}", lambda: (r(4096, 512, dtype=dtype),), lambda x: F.dropout(x, 0.1))
        measure(f"clip {name}", lambda: ([r(512, 512, dtype=dtype), r(64, dtype=dtype)],), lambda ps: [setattr(p, "grad", torch.ones_like(p)) for p in ps] and torch.nn.utils.clip_grad_norm_(ps, 1.0))
        measure(f"bmm broadcast {name}", lambda: (r(4, 8, 64, 64, dtype=dtype), r(64, 64, dtype=dtype)), torch.matmul)
        measure(f"bmm transposed {name}", lambda: (r(8, 64, 32, dtype=dtype), r(8, 128, 32, dtype=dtype)), lambda a, b: a @ b.transpose(1, 2))
        measure(f"einsum {name}", lambda: (r(4, 128, 8, 64, dtype=dtype), r(4, 128, 8, 64, dtype=dtype)), lambda a, b: torch.einsum("bqhd,bkhd->bhqk", a, b))
        measure(f"interpolate {name}", lambda: (r(8, 64, 32, 32, dtype=dtype),), lambda x: F.interpolate(x, scale_factor=2))
        measure(f"max_pool {name}", lambda: (r(8, 64, 64, 64, dtype=dtype),), lambda x: F.max_pool2d(x, 3, 2, 1))
    some = torch.rand(100000, device=D) > 0.5
    measure("nonzero", lambda: (some,), torch.nonzero)
    measure("masked_select", lambda: (r(100000, grad=False),), lambda x: x[some])
    measure("where 2d", lambda: ((torch.arange(8192, device=D).view(4096, 2) % 8 == 1),), lambda x: torch.where(x)[0])
    index = torch.randint(0, 4096, (1024,), device=D)
    measure("index_add", lambda: (r(4096, 256), r(1024, 256)), lambda x, y: x.index_add(0, index, y))
    measure("scatter_add", lambda: (r(4096, 256), r(1024, 256)), lambda x, y: x.scatter_add(0, index[:, None].expand(-1, 256), y))
    measure("gather", lambda: (r(4096, 256),), lambda x: x.gather(0, index[:, None].expand(-1, 256)))
    measure("unique", lambda: (index,), torch.unique)
    measure("randperm", lambda: (), lambda: torch.randperm(100000, device=D))
    measure("multinomial", lambda: (torch.rand(64, 32000, device=D),), lambda x: torch.multinomial(x, 1))
    measure("bincount", lambda: (index,), torch.bincount)


if __name__ == "__main__":
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, context=None)
    all_operators()
    found = split(torch.cuda.memory._snapshot()["device_traces"][0])
    json.dump({**found, "failed": failed}, open(sys.argv[1], "w"), indent=0)
