"""Programs with and without a change in their code, and models at several sizes. From a recording of one program,
bench/foresight-check and bench/fit-check predict the memory of another with whatif and fit, and compare it with the real figure.

    python bench/foresight.py FOLDER [MEMVIZ]   runs each program in a separate process; writes NAME.pickle and truth.json.
                                                With MEMVIZ, also tries the remedies that it suggests; writes remedies.json

In names, gpt_8 is a model with a batch of 8, gpt_8x512 has sequences of 512 tokens, gpt_4+8 alternates between batches of 4 and 8,
and gpt_8@BYTES runs within that limit.
"""
import json, subprocess, sys, os
from concurrent.futures import ThreadPoolExecutor

LEVERS = ("plain streams drop half three_quarters cpu recompute prealloc reserve empty one_stream free_early").split()
MODELS = [f"{m}_{b}" for m in ("gpt", "resnet", "llama") for b in (4, 8, 12, 16, 24)]
LANGUAGES = ("gpt", "llama", "full")  # full: attention with a matrix of all weights, whose size grows quadratically with the length
CORNERS = [f"{m}_{s}" for m in LANGUAGES for s in ("8x128", "8x256", "24x128")]
PLANE = [f"{m}_{s}" for m in LANGUAGES for s in ("12x256", "16x256", "8x384", "6x512", "12x192", "16x512")]
MIXED = [f"{m}_{s}" for m in LANGUAGES for s in ("4+8", "8+12", "4+8+12")]
FURTHER = [f"{m}_{b}x256" for m in LANGUAGES for b in (20, 24, 32)]
REMEDIED = {"gpt_16x256": 0.8, "full_8x384": 0.8, "varying_0": 0.78, "side_0": 0.38}  # and their targets


def run(label, folder, remedy=""):
    import torch, torch.nn as nn, torch.nn.functional as F
    from torch.profiler import record_function
    from torch.utils.checkpoint import checkpoint
    dev, D, L, MIB = "cuda", 512, 8, 1 << 20
    name, _, limit = label.partition("@")
    if limit:
        torch.cuda.set_per_process_memory_fraction(int(limit) / torch.cuda.get_device_properties(0).total_memory)
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
        def __init__(s, d, heads, kv, full):
            super().__init__()
            s.h, s.kv, s.full, s.q = heads, kv, full, nn.Linear(d, d)
            s.k, s.v, s.o = nn.Linear(d, d // heads * kv), nn.Linear(d, d // heads * kv), nn.Linear(d, d)

        def forward(s, x):
            b, t, d = x.shape
            q = s.q(x).view(b, t, s.h, -1).transpose(1, 2)
            k, v = (f(x).view(b, t, s.kv, -1).transpose(1, 2).repeat_interleave(s.h // s.kv, 1) for f in (s.k, s.v))
            if s.full:
                y = (q @ k.transpose(2, 3) / 8).softmax(-1) @ v
            else:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return s.o(y.transpose(1, 2).reshape(b, t, d))

    class Layer(nn.Module):
        def __init__(s, d, kind):
            super().__init__()
            llama = kind == "llama"
            norm = nn.RMSNorm if llama else nn.LayerNorm
            s.n1, s.n2, s.at, s.llama = norm(d), norm(d), Attention(d, 8, 4 if llama else 8, kind == "full"), llama
            s.up, s.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
            s.gate = nn.Linear(d, 4 * d) if llama else None

        def forward(s, x):
            x = x + s.at(s.n1(x))
            h = s.n2(x)
            return x + s.down(F.silu(s.gate(h)) * s.up(h) if s.llama else F.gelu(s.up(h)))

    def call(layer, x):
        """A layer, unchanged or with the remedy that memviz named for its loop."""
        if remedy.startswith("--recompute"):
            return checkpoint(layer, x, use_reentrant=False)
        if not remedy.startswith("--cpu"):
            return layer(x)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t if t.is_leaf or t._base is not None and t._base.is_leaf else t.cpu(), lambda t: t.to(dev)):
            return layer(x)

    class Language(nn.Module):
        def __init__(s, kind):
            super().__init__()
            s.e, s.o = nn.Embedding(8192, D), nn.Linear(D, 8192)
            s.layers = nn.ModuleList(Layer(D, kind) for _ in range(6))

        def forward(s, i):
            x = s.e(i)
            for l in s.layers:
                x = call(l, x)
            return s.o(x)

    class Residual(nn.Module):
        def __init__(s, a, b, stride):
            super().__init__()
            s.c1, s.c2 = nn.Conv2d(a, b, 3, stride, 1), nn.Conv2d(b, b, 3, 1, 1)
            s.b1, s.b2, s.s = nn.BatchNorm2d(b), nn.BatchNorm2d(b), nn.Conv2d(a, b, 1, stride)

        def forward(s, x):
            return F.relu(s.b2(s.c2(F.relu(s.b1(s.c1(x))))) + s.s(x))

    def models():
        kind, size = name.split("_")
        sizes, _, length = size.partition("x")
        sizes, length = [int(b) for b in sizes.split("+")], int(length or 256)
        if kind == "resnet":
            c = [32, 64, 128, 256, 512]
            net = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1), *(Residual(a, b, 2) for a, b in zip(c, c[1:])), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).to(dev)
        else:
            net = Language(kind).to(dev)
        opt = torch.optim.AdamW(net.parameters())
        for k in range(3 if len(sizes) == 1 else 4):
            batch = sizes[k % len(sizes)]
            with record_function("step"):
                if kind == "resnet":
                    y = net(torch.randn(batch, 3, 96, 96, device=dev))
                    loss = F.cross_entropy(y, torch.zeros(batch, dtype=torch.long, device=dev))
                else:
                    i = torch.randint(0, 8192, (batch, length), device=dev)
                    loss = F.cross_entropy(net(i).flatten(0, 1), i.flatten())
                loss.backward()
                opt.step(); opt.zero_grad(set_to_none=True)
                del loss
            if remedy.startswith("--empty-cache-each"):
                torch.cuda.empty_cache()

    def varying():
        """Batches and lengths that differ from step to step."""
        net = Language("gpt").to(dev)
        opt = torch.optim.AdamW(net.parameters())
        for batch, length in ((8, 250), (7, 310), (9, 270), (6, 390), (11, 230), (5, 470), (10, 261)):
            with record_function("step"):
                i = torch.randint(0, 8192, (batch, length), device=dev)
                loss = F.cross_entropy(net(i).flatten(0, 1), i.flatten())
                loss.backward()
                opt.step(); opt.zero_grad(set_to_none=True)
                del loss
            if remedy.startswith("--empty-cache-each"):
                torch.cuda.empty_cache()

    def side():
        """Copies on a separate stream, freed on the other one."""
        net = Language("llama").to(dev)
        stream = torch.cuda.current_stream() if remedy.startswith("--one-stream") else torch.cuda.Stream()
        for step in range(5):
            with record_function("step"):
                i = torch.randint(0, 8192, (6 + 2 * (step % 3), 256), device=dev)
                with torch.cuda.stream(stream):
                    copies = [torch.empty((40 + 9 * step) * MIB, dtype=torch.uint8, device=dev) for _ in range(4)]
                for c in copies:
                    c.record_stream(torch.cuda.current_stream())
                del copies, c
                loss = F.cross_entropy(net(i).flatten(0, 1), i.flatten())
                loss.backward()
                net.zero_grad(set_to_none=True)
                del loss
            if remedy.startswith("--empty-cache-each"):
                torch.cuda.empty_cache()

    torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python")
    failed = False
    try:
        levers() if name in LEVERS else varying() if name == "varying_0" else side() if name == "side_0" else models()
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        failed = True
    stats = torch.cuda.memory_stats()
    if not remedy and (not limit or failed and name in REMEDIED):
        torch.cuda.memory._dump_snapshot(os.path.join(folder, label + ".pickle"))
    print(json.dumps({"failed": failed, "allocated": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.peak"], "torch": torch.__version__}))


def real_change(remedy):
    """The remedies that the programs above can apply: a setting, or a switch of their loops."""
    words = (remedy["change"] or "").split(None, 1)
    return remedy["setting"] is not None or words[0] in ("--empty-cache-each", "--one-stream") or \
        words[0] in ("--recompute", "--cpu") and words[1].startswith("foresight.py:")


def limited(remedy):
    """Runs the program with the target as its limit if the remedy reaches the target, as the replay did."""
    return f"{remedy['program']}@{remedy['target']}" if remedy["reaches"] and remedy["target"] != "oom" else remedy["program"]


def try_remedies(memviz, folder, truth, one):
    """Applies the first remedy of each kind, for a target and for a failed run, and measures its real effect."""
    rows = []
    programs = [(name, str(int(truth[name]["reserved"] * part))) for name, part in REMEDIED.items()]
    programs += [(label, "oom") for label, t in truth.items() if "@" in label and label.split("@")[0] in REMEDIED and t and t["failed"]]
    for name, target in programs:
        out = subprocess.run([memviz, "whatif", "--json", "--target", target, os.path.join(folder, name + ".pickle")],
                             capture_output=True, text=True, check=True)
        kinds = set()
        for rank, remedy in enumerate((json.loads(out.stdout)["devices"][0]["target"] or {"remedies": []})["remedies"]):
            kind = remedy["name"].split()[0].split(":")[0]
            if real_change(remedy) and kind not in kinds:
                kinds.add(kind)
                rows.append({"program": name, "target": target, "rank": rank + 1, **remedy})
    with ThreadPoolExecutor(8) as pool:
        for row, (_, real) in zip(rows, pool.map(lambda r: one(limited(r), r["change"] or " ", r["setting"] or ""), rows)):
            row["real"] = real
    json.dump(rows, open(os.path.join(folder, "remedies.json"), "w"), indent=1)


def main():
    if "--one" in sys.argv:
        return run(sys.argv[2], sys.argv[1], sys.argv[4])
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    def one(name, remedy="", setting=None):
        env = dict(os.environ) if setting is None else dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=setting)
        p = subprocess.run([sys.executable, __file__, folder, name, "--one", remedy], capture_output=True, text=True, env=env)
        if p.returncode:
            print(name, remedy, p.stderr[-1500:], flush=True)
            return name, None
        return name, json.loads(p.stdout.splitlines()[-1])
    with ThreadPoolExecutor(14) as pool:
        truth = dict(pool.map(one, [*LEVERS, *MODELS, *CORNERS, *PLANE, *MIXED, *FURTHER, "varying_0", "side_0"]))
        limits = []  # limits below allocated, which must fail; between allocated and reserved; above reserved, which must suffice
        for name in PLANE:
            if truth.get(name):
                a, r = truth[name]["allocated"], truth[name]["reserved"]
                limits += [f"{name}@{x >> 21 << 21}" for x in (a * 97 // 100, (a + r) // 2, r * 103 // 100)]
        truth.update(pool.map(one, limits))
    json.dump(truth, open(os.path.join(folder, "truth.json"), "w"), indent=1)
    if len(sys.argv) > 2:
        try_remedies(sys.argv[2], folder, truth, one)
    print(json.dumps(truth))


main()
