"""Compares predictions by fit and whatif with real memory use for six more programs. Each program has three recorded sizes, two
unseen sizes and three changes. No rule in memviz was based on these programs before they were first run.

    python bench/blind.py FOLDER           on a GPU: runs each program in a separate process; writes NAME.pickle and truth.json
    python bench/blind.py FOLDER MEMVIZ    predicts from these files; prints the tables in docs/fit.md and docs/whatif.md

In names, lstm_32 is a tagger with a batch of 32, lstm_64-drop has a batch of 64 and changed code, and lstm_96@BYTES has a limit.
"""
import json, os, statistics, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

SIZES = {"lstm": ((32, 64, 96), (80, 160)), "unet": ((4, 8, 12), (10, 20)), "moe": ((4, 8, 12), (10, 20)),
         "t5": ((8, 16, 24), (20, 40)), "gan": ((128, 256, 384), (320, 640)), "clip": ((64, 128, 192), (160, 320))}
CHANGES = {"lstm": {"drop": "--drop keep_scores", "scale": "--scale make_features=0.5", "empty": "--empty-cache-each step"},
           "unet": {"recompute": "--recompute run_block", "half": "--half make_average", "empty": "--empty-cache-each step"},
           "moe": {"recompute": "--recompute run_layer", "drop": "--drop keep_scores", "scale": "--scale make_features=0.75"},
           "t5": {"recompute": "--recompute run_layer", "half": "--half make_teacher", "empty": "--empty-cache-each step"},
           "gan": {"drop": "--drop keep_scores", "scale": "--scale make_features=1.5", "empty": "--empty-cache-each step"},
           "clip": {"recompute": "--recompute run_layer", "half": "--half make_queue", "drop": "--drop make_queue"}}
MIDDLE = {name: known[1] for name, (known, _) in SIZES.items()}


def run(label, folder):
    import torch, torch.nn as nn, torch.nn.functional as F
    from torch.profiler import record_function
    from torch.utils.checkpoint import checkpoint
    dev = "cuda"
    label_of_run, _, limit = label.partition("@")
    name, _, change = label_of_run.partition("-")
    kind, _, size = name.partition("_")
    size = int(size)
    if limit:
        torch.cuda.set_per_process_memory_fraction(int(limit) / torch.cuda.get_device_properties(0).total_memory)
    torch.manual_seed(0)

    def call(block, *x):
        return checkpoint(block, *x, use_reentrant=False) if change == "recompute" else block(*x)

    def make_features(rows, width):
        """An additional buffer that the program fills; `scale` changes its number of rows."""
        if change == "scale":
            rows = int(rows * {"lstm": 0.5, "moe": 0.75, "gan": 1.5}[kind])
        return torch.empty(rows, width, device=dev)

    def keep_scores(scores):
        return None if change == "drop" else scores.detach().float().clone()

    def end_step():
        if change == "empty":
            torch.cuda.empty_cache()

    class Attention(nn.Module):
        def __init__(s, d, heads):
            super().__init__()
            s.h, s.q, s.kv, s.o = heads, nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

        def forward(s, x, memory, bias=None, causal=False):
            b, t, d = x.shape
            q = s.q(x).view(b, t, s.h, -1).transpose(1, 2)
            k, v = (z.reshape(b, memory.shape[1], s.h, -1).transpose(1, 2) for z in s.kv(memory).chunk(2, -1))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=causal)
            return s.o(y.transpose(1, 2).reshape(b, t, d))

    def train_lstm():
        class Tagger(nn.Module):
            def __init__(s):
                super().__init__()
                s.e, s.out = nn.Embedding(20000, 512), nn.Linear(1024, 500)
                s.rnn = nn.LSTM(512, 512, 2, batch_first=True, bidirectional=True, dropout=0.1)

            def forward(s, i):
                return s.out(s.rnn(F.dropout(s.e(i), 0.1))[0])

        net = Tagger().to(dev)
        opt = torch.optim.Adam(net.parameters(), foreach=False)
        for step in range(3):
            i = torch.randint(0, 20000, (size, 200), device=dev)
            features = make_features(size * 200, 1000)
            y = net(i)
            kept = keep_scores(y)
            loss = F.cross_entropy(y.flatten(0, 1), torch.randint(0, 500, (size * 200,), device=dev))
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step(); opt.zero_grad()
            del i, features, y, kept, loss
            end_step()

    def train_unet():
        class Block(nn.Module):
            def __init__(s, a, b):
                super().__init__()
                s.n1, s.n2 = nn.GroupNorm(8, a), nn.GroupNorm(8, b)
                s.c1, s.c2, s.skip = nn.Conv2d(a, b, 3, 1, 1), nn.Conv2d(b, b, 3, 1, 1), nn.Conv2d(a, b, 1)

            def run_block(s, x):
                return s.c2(F.silu(s.n2(s.c1(F.silu(s.n1(x)))))) + s.skip(x)

            def forward(s, x):
                return s.run_block(x)

        class UNet(nn.Module):
            def __init__(s):
                super().__init__()
                w = [64, 128, 192, 256]
                s.first, s.last = nn.Conv2d(3, 64, 3, 1, 1), nn.Conv2d(64, 3, 3, 1, 1)
                s.down = nn.ModuleList(Block(a, b) for a, b in zip(w, w[1:]))
                s.up = nn.ModuleList(Block(b + b, a) for a, b in reversed(list(zip(w, w[1:]))))
                s.middle = Block(256, 256)

            def forward(s, x):
                x, skips = s.first(x), []
                for b in s.down:
                    x = call(b, x)
                    skips.append(x)
                    x = F.avg_pool2d(x, 2)
                x = call(s.middle, x)
                for b in s.up:
                    x = call(b, torch.cat((F.interpolate(x, scale_factor=2.0), skips.pop()), 1))
                return s.last(x)

        def make_average(net):
            return [torch.empty(8 * p.numel(), dtype=torch.float16 if change == "half" else torch.float32, device=dev) for p in net.parameters()]

        net = UNet().to(dev)
        opt = torch.optim.AdamW(net.parameters())
        for step in range(3):
            with record_function("step"):
                average = make_average(net)
                clean = torch.randn(size, 3, 128, 128, device=dev)
                noise = torch.randn_like(clean)
                with torch.autocast(dev, dtype=torch.bfloat16):
                    loss = F.mse_loss(net(clean + noise), noise)
                loss.backward()
                opt.step(); opt.zero_grad()
                del average, clean, noise, loss
            end_step()

    def train_moe():
        class Layer(nn.Module):
            def __init__(s, d, experts):
                super().__init__()
                s.n1, s.n2, s.at, s.gate = nn.LayerNorm(d), nn.LayerNorm(d), Attention(d, 8), nn.Linear(d, experts)
                s.up = nn.ModuleList(nn.Linear(d, 4 * d) for _ in range(experts))
                s.down = nn.ModuleList(nn.Linear(4 * d, d) for _ in range(experts))

            def mix(s, x):
                weight, chosen = s.gate(x).softmax(-1).topk(2, -1)
                out = torch.zeros_like(x)
                for e, (up, down) in enumerate(zip(s.up, s.down)):
                    row, rank = torch.where(chosen == e)
                    y = down(F.gelu(up(x[row]))) * weight[row, rank, None]
                    out = out.index_add(0, row, y)
                return out

            def run_layer(s, x):
                n = s.n1(x)
                x = x + s.at(n, n, causal=True)
                return x + s.mix(s.n2(x).flatten(0, 1)).view_as(x)

            def forward(s, x):
                return s.run_layer(x)

        class Moe(nn.Module):
            def __init__(s, d=512):
                super().__init__()
                s.e, s.o = nn.Embedding(16000, d), nn.Linear(d, 16000)
                s.layers = nn.ModuleList(Layer(d, 8) for _ in range(4))

            def forward(s, i):
                x = s.e(i)
                for l in s.layers:
                    x = call(l, x)
                return s.o(x)

        net = Moe().to(dev)
        opt = torch.optim.AdamW(net.parameters())
        for step in range(3):
            with record_function("step"):
                i = torch.randint(0, 16000, (size, 512), device=dev)
                features = make_features(size * 512, 1000)
                y = net(i)
                kept = keep_scores(y[:, ::8])
                loss = F.cross_entropy(y.flatten(0, 1), i.flatten())
                loss.backward()
                opt.step(); opt.zero_grad()
                del i, features, y, kept, loss

    def train_t5():
        class Layer(nn.Module):
            def __init__(s, d, crosses):
                super().__init__()
                s.n1, s.n2, s.n3 = nn.RMSNorm(d), nn.RMSNorm(d), nn.RMSNorm(d) if crosses else None
                s.at, s.cross = Attention(d, 8), Attention(d, 8) if crosses else None
                s.wi, s.wo = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)

            def run_layer(s, x, bias, memory):
                n = s.n1(x)
                x = x + F.dropout(s.at(n, n, bias), 0.1)
                if s.cross is not None:
                    x = x + F.dropout(s.cross(s.n3(x), memory), 0.1)
                return x + F.dropout(s.wo(F.dropout(F.relu(s.wi(s.n2(x))), 0.1)), 0.1)

            def forward(s, x, bias, memory):
                return s.run_layer(x, bias, memory)

        class T5(nn.Module):
            def __init__(s, d=512):
                super().__init__()
                s.e, s.near = nn.Embedding(32000, d), nn.ModuleList(nn.Embedding(64, 8) for _ in range(2))
                s.encoder = nn.ModuleList(Layer(d, False) for _ in range(4))
                s.decoder = nn.ModuleList(Layer(d, True) for _ in range(4))

            def bias(s, which, t):
                far = torch.arange(t, device=dev)
                return s.near[which]((far[None] - far[:, None]).clamp(-32, 31) + 32).permute(2, 0, 1)[None]

            def forward(s, source, target):
                x, bias = s.e(source), s.bias(0, source.shape[1])
                for l in s.encoder:
                    x = call(l, x, bias, None)
                memory, x, bias = x, s.e(target), s.bias(1, target.shape[1])
                for l in s.decoder:
                    x = call(l, x, bias, memory)
                return x @ s.e.weight.T

        def make_teacher():
            return torch.empty(size, 32, 32000, dtype=torch.float16 if change == "half" else torch.float32, device=dev)

        net = T5().to(dev)
        opt = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        for step in range(3):
            with record_function("step"):
                source = torch.randint(0, 32000, (size, 256), device=dev)
                target = torch.randint(0, 32000, (size, 64), device=dev)
                teacher = make_teacher()
                loss = F.cross_entropy(net(source, target).flatten(0, 1), target.flatten())
                loss.backward()
                opt.step(); opt.zero_grad()
                del source, target, teacher, loss
            end_step()

    def train_gan():
        def up(a, b):
            return nn.Sequential(nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU())

        def down(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2))

        make = nn.Sequential(nn.ConvTranspose2d(128, 512, 4, 1, 0), up(512, 256), up(256, 128), up(128, 64), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).to(dev)
        judge = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), down(64, 128), down(128, 256), down(256, 512), nn.Conv2d(512, 1, 4)).to(dev)
        opt_make, opt_judge = (torch.optim.Adam(n.parameters(), 2e-4, (0.5, 0.999)) for n in (make, judge))
        ones, zeros = (torch.full((size, 1, 1, 1), x, device=dev) for x in (1.0, 0.0))
        for step in range(3):
            real = torch.randn(size, 3, 64, 64, device=dev)
            features = make_features(size, 50000)
            fake = make(torch.randn(size, 128, 1, 1, device=dev))
            kept = keep_scores(fake)
            loss = F.binary_cross_entropy_with_logits(judge(real), ones) + F.binary_cross_entropy_with_logits(judge(fake.detach()), zeros)
            loss.backward()
            opt_judge.step(); opt_judge.zero_grad()
            loss = F.binary_cross_entropy_with_logits(judge(fake), ones)
            loss.backward()
            opt_make.step(); opt_make.zero_grad(); opt_judge.zero_grad()
            del real, features, fake, kept, loss
            end_step()

    def train_clip():
        class Layer(nn.Module):
            def __init__(s, d):
                super().__init__()
                s.n1, s.n2, s.at = nn.LayerNorm(d), nn.LayerNorm(d), Attention(d, 8)
                s.up, s.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

            def run_layer(s, x):
                n = s.n1(x)
                x = x + s.at(n, n)
                return x + s.down(F.gelu(s.up(s.n2(x))))

            def forward(s, x):
                return s.run_layer(x)

        class Tower(nn.Module):
            def __init__(s, first, depth, d=512):
                super().__init__()
                s.first, s.norm, s.layers = first, nn.LayerNorm(d), nn.ModuleList(Layer(d) for _ in range(depth))

            def forward(s, x):
                x = s.first(x)
                x = x.flatten(2).transpose(1, 2) if x.dim() == 4 else x
                for l in s.layers:
                    x = call(l, x)
                return F.normalize(s.norm(x.mean(1)), dim=-1)

        def make_queue():
            if change == "drop":
                return None
            return torch.empty(size * 512, 512, dtype=torch.float16 if change == "half" else torch.float32, device=dev)

        image, text = Tower(nn.Conv2d(3, 512, 16, 16), 6).to(dev), Tower(nn.Embedding(30000, 512), 4).to(dev)
        scale = nn.Parameter(torch.tensor(2.6, device=dev))
        opt = torch.optim.AdamW([*image.parameters(), *text.parameters(), scale], fused=True)
        for step in range(3):
            with record_function("step"):
                queue = make_queue()
                with torch.autocast(dev, dtype=torch.bfloat16):
                    a = image(torch.randn(size, 3, 128, 128, device=dev))
                    b = text(torch.randint(0, 30000, (size, 48), device=dev))
                    logits = a @ b.T * scale.exp()
                    pairs = torch.arange(size, device=dev)
                    loss = (F.cross_entropy(logits, pairs) + F.cross_entropy(logits.T, pairs)) / 2
                loss.backward()
                opt.step(); opt.zero_grad()
                del queue, a, b, logits, pairs, loss

    is_recorded = change != "recompute"  # PyTorch 2.11 may fail here: checkpoint ends with an exception while the recorder reads its stack
    if is_recorded:
        torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python")
    failed = False
    try:
        {"lstm": train_lstm, "unet": train_unet, "moe": train_moe, "t5": train_t5, "gan": train_gan, "clip": train_clip}[kind]()
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        failed = True
    stats = torch.cuda.memory_stats()
    if is_recorded and not limit:
        torch.cuda.memory._dump_snapshot(os.path.join(folder, label + ".pickle"))
    print(json.dumps({"failed": failed, "allocated": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.peak"], "torch": torch.__version__}))


def run_all(folder):
    os.makedirs(folder, exist_ok=True)

    def one(label):
        p = subprocess.run([sys.executable, __file__, folder, "--one", label], capture_output=True, text=True)
        if p.returncode:
            print(label, p.stderr[-1500:], flush=True)
            return label, None
        return label, json.loads(p.stdout.splitlines()[-1])

    with ThreadPoolExecutor(14) as pool:
        truth = dict(pool.map(one, [f"{name}_{n}" for name, sizes in SIZES.items() for n in (*sizes[0], *sizes[1])] +
                              [f"{name}_{MIDDLE[name]}-{change}" for name, changes in CHANGES.items() for change in changes]))
        limits = []  # limits below allocated, which must fail, and above reserved, which must suffice
        for name, (_, unseen) in SIZES.items():
            for t, n in ((truth.get(f"{name}_{n}"), n) for n in unseen):
                limits += [f"{name}_{n}@{x >> 21 << 21}" for x in (t["allocated"] * 97 // 100, t["reserved"] * 103 // 100)] if t else []
        truth.update(pool.map(one, limits))
    json.dump(truth, open(os.path.join(folder, "truth.json"), "w"), indent=1)


def ask(program, folder, *words):
    out = subprocess.run([program, *words], capture_output=True, text=True, cwd=folder)
    if out.returncode:
        sys.exit(out.stderr)
    return json.loads(out.stdout)


def off(is_, was):
    return f"{100 * (is_ - was) / was:+.2f} %"


def check_sizes(program, folder, truth):
    """Compares figures and ranges at the unseen sizes, and checks whether the program fits within a limit."""
    print("| program | recorded | figures | median error | largest | ranges that contain the truth | sides of a limit: right, unknown, wrong |\n|---|---|---|---|---|---|---|")
    for name, (known, unseen) in SIZES.items():
        for sizes in (known[:2], known):
            files = [f"{name}_{n}.pickle={n}" for n in sizes]
            errors, within, sides = [], [], [0, 0, 0]
            for p in ask(program, folder, "fit", "--json", *files, "--at", ",".join(str(n) for n in unseen))["points"]:
                for k in ("allocated", "reserved"):
                    real = truth[f"{name}_{p['at']}"][k]
                    if p["peak_" + k] is None:
                        within.append((p["least_" + k] or 0) <= real <= (p["most_" + k] or 0))
                    else:
                        errors.append(abs(p["peak_" + k] / real - 1))
            for label, t in truth.items():
                if "@" in label and label.startswith(name + "_"):
                    n, limit = label.partition("_")[2].split("@")
                    fits = ask(program, folder, "fit", "--json", *files, "--at", n, "--capacity", limit)["points"][0]["fits"]
                    sides[1 if fits is None else 0 if fits != t["failed"] else 2] += 1
            figures = [f"{100 * f(errors):.2f} %" if errors else "-" for f in (statistics.median, max)]
            print(f"| `{name}` | {', '.join(map(str, sizes))} | {len(errors)} of {len(errors) + len(within)} | {' | '.join(figures)} "
                  f"| {sum(within)} of {len(within)} | {', '.join(map(str, sides))} |")


def check_changes(program, folder, truth):
    print("\n| program | change | allocated: predicted | real | off | reserved: predicted | real | off |\n|---|---|---|---|---|---|---|---|")
    for name, changes in CHANGES.items():
        for change, words in changes.items():
            run = next(r for r in ask(program, folder, "whatif", "--json", *words.split(" ", 1), f"{name}_{MIDDLE[name]}.pickle")["runs"] if r["changes"])
            t = truth[f"{name}_{MIDDLE[name]}-{change}"]
            a, r = run["peak_allocated"], run["peak_reserved"]
            if t is None:  # it did not run
                continue
            print(f"| `{name}` | `{words}` | {a / 2**20:.1f} | {t['allocated'] / 2**20:.1f} | {off(a, t['allocated'])} "
                  f"| {r / 2**20:.0f} | {t['reserved'] / 2**20:.0f} | {off(r, t['reserved'])} |")


def main():
    if "--one" in sys.argv:
        return run(sys.argv[3], sys.argv[1])
    if len(sys.argv) == 2:
        return run_all(sys.argv[1])
    program, folder = os.path.abspath(sys.argv[2]), sys.argv[1]
    truth = json.load(open(os.path.join(folder, "truth.json")))
    check_sizes(program, folder, truth)
    check_changes(program, folder, truth)


main()
