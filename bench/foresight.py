"""Programs with and without a change of their code, and models at several batch sizes: what whatif and
fit predict from one is compared with what the other really took (bench/foresight-check).

    python bench/foresight.py FOLDER        runs each in a process of its own: NAME.pickle, truth.json
"""
import json, subprocess, sys, os
from concurrent.futures import ThreadPoolExecutor

LEVERS = ("plain streams drop half three_quarters cpu recompute prealloc reserve empty one_stream free_early").split()
MODELS = [f"{m}_{b}" for m in ("gpt", "resnet", "llama") for b in (4, 8, 12, 16, 24)]


def run(name, folder):
    import torch, torch.nn as nn, torch.nn.functional as F
    from torch.profiler import record_function
    from torch.utils.checkpoint import checkpoint
    dev, D, L, MIB = "cuda", 512, 8, 1 << 20
    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(s):
            super().__init__()
            s.n, s.a, s.b = nn.LayerNorm(D), nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

        def make_wide(s, x):
            return s.a(s.n(x))

        def make_hidden(s, x):
            return F.gelu(s.make_wide(x))

        def narrow(s, h):
            if name != "cpu":
                return s.b(h)
            keeps = lambda t: t.is_leaf or t._base is not None and t._base.is_leaf
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t if keeps(t) else t.cpu(), lambda t: t.to(dev)):
                return s.b(h)

        def forward_block(s, x):
            return x + s.narrow(s.make_hidden(x))

        def forward(s, x):
            return s.forward_block(x)

    class Net(nn.Module):
        def __init__(s):
            super().__init__()
            s.blocks = nn.ModuleList(Block() for _ in range(L))

        def forward(s, x):
            for b in s.blocks:
                x = checkpoint(b, x, use_reentrant=False) if name == "recompute" else b(x)
            return x

    def make_aux():
        return torch.empty(48 * MIB, dtype=torch.uint8, device=dev)

    def make_buffer(step):
        n = (20 + 3 * step) * MIB
        if name == "three_quarters":
            n = n * 3 // 4
        return torch.empty(n, dtype=torch.float16 if name == "half" else torch.float32, device=dev)

    def make_output(step, kept):
        n = (30 + 7 * (step * 5 % 4)) * MIB
        return kept[:n] if kept is not None else torch.empty(n, dtype=torch.uint8, device=dev)

    def make_side(x, stream):
        if name == "one_stream":
            return x.repeat(2, 1, 1)
        with torch.cuda.stream(stream):
            y = x.repeat(2, 1, 1)
        if name != "free_early":
            y.record_stream(torch.cuda.current_stream())
        return y

    def levers():
        if name == "reserve":
            del_me = torch.empty(1024 * MIB, dtype=torch.uint8, device=dev)
            del del_me
        net, side = Net().to(dev), torch.cuda.Stream()
        opt = torch.optim.AdamW(net.parameters())
        kept = torch.empty(51 * MIB, dtype=torch.uint8, device=dev) if name == "prealloc" else None
        for step in range(5):
            with record_function("step"):
                x = torch.randn(8 + 4 * (step % 3), 256, D, device=dev)
                aux = None if name == "drop" else make_aux()
                buffer, out = make_buffer(step), make_output(step, kept)
                for _ in range(4 if name in ("streams", "one_stream", "free_early") else 0):
                    y = make_side(x, side)
                    if name == "free_early":
                        side.synchronize(); torch.cuda.synchronize()
                    z = x * 2
                    del y, z
                loss = net(x).square().mean()
                loss.backward()
                opt.step(); opt.zero_grad(set_to_none=True)
                del x, aux, buffer, out, loss
            if name == "empty":
                torch.cuda.empty_cache()

    class Attention(nn.Module):
        def __init__(s, d, heads, kv):
            super().__init__()
            s.h, s.kv, s.q = heads, kv, nn.Linear(d, d)
            s.k, s.v, s.o = nn.Linear(d, d // heads * kv), nn.Linear(d, d // heads * kv), nn.Linear(d, d)

        def forward(s, x):
            b, t, d = x.shape
            q = s.q(x).view(b, t, s.h, -1).transpose(1, 2)
            k, v = (f(x).view(b, t, s.kv, -1).transpose(1, 2).repeat_interleave(s.h // s.kv, 1) for f in (s.k, s.v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return s.o(y.transpose(1, 2).reshape(b, t, d))

    class Layer(nn.Module):
        def __init__(s, d, llama):
            super().__init__()
            norm = nn.RMSNorm if llama else nn.LayerNorm
            s.n1, s.n2, s.at, s.llama = norm(d), norm(d), Attention(d, 8, 4 if llama else 8), llama
            s.up, s.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
            s.gate = nn.Linear(d, 4 * d) if llama else None

        def forward(s, x):
            x = x + s.at(s.n1(x))
            h = s.n2(x)
            return x + s.down(F.silu(s.gate(h)) * s.up(h) if s.llama else F.gelu(s.up(h)))

    class Language(nn.Module):
        def __init__(s, llama):
            super().__init__()
            s.e, s.o = nn.Embedding(8192, D), nn.Linear(D, 8192)
            s.layers = nn.ModuleList(Layer(D, llama) for _ in range(6))

        def forward(s, i):
            x = s.e(i)
            for l in s.layers:
                x = l(x)
            return s.o(x)

    class Residual(nn.Module):
        def __init__(s, a, b, stride):
            super().__init__()
            s.c1, s.c2 = nn.Conv2d(a, b, 3, stride, 1), nn.Conv2d(b, b, 3, 1, 1)
            s.b1, s.b2, s.s = nn.BatchNorm2d(b), nn.BatchNorm2d(b), nn.Conv2d(a, b, 1, stride)

        def forward(s, x):
            return F.relu(s.b2(s.c2(F.relu(s.b1(s.c1(x))))) + s.s(x))

    def models():
        kind, batch = name.split("_"); batch = int(batch)
        if kind == "resnet":
            c = [32, 64, 128, 256, 512]
            net = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1), *(Residual(a, b, 2) for a, b in zip(c, c[1:])), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).to(dev)
        else:
            net = Language(kind == "llama").to(dev)
        opt = torch.optim.AdamW(net.parameters())
        for _ in range(3):
            with record_function("step"):
                if kind == "resnet":
                    y = net(torch.randn(batch, 3, 96, 96, device=dev))
                    loss = F.cross_entropy(y, torch.zeros(batch, dtype=torch.long, device=dev))
                else:
                    i = torch.randint(0, 8192, (batch, 256), device=dev)
                    loss = F.cross_entropy(net(i).flatten(0, 1), i.flatten())
                loss.backward()
                opt.step(); opt.zero_grad(set_to_none=True)
                del loss

    torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python")
    levers() if name in LEVERS else models()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    torch.cuda.memory._dump_snapshot(os.path.join(folder, name + ".pickle"))
    print(json.dumps({"allocated": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.peak"], "torch": torch.__version__}))


def main():
    if len(sys.argv) == 3:
        return run(sys.argv[2], sys.argv[1])
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    def one(name):
        p = subprocess.run([sys.executable, __file__, folder, name], capture_output=True, text=True)
        if p.returncode:
            print(name, p.stderr[-1500:], flush=True)
            return name, None
        return name, json.loads(p.stdout.splitlines()[-1])
    with ThreadPoolExecutor(6) as pool:
        truth = dict(pool.map(one, LEVERS + MODELS))
    json.dump(truth, open(os.path.join(folder, "truth.json"), "w"), indent=1)
    print(json.dumps(truth))


main()
