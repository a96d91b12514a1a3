"""Compares fit's predictions with real memory use: from every two recordings of a small program, all other sizes are predicted.

    python bench/fit_pairs.py FOLDER           on a GPU: writes NAME_SIZE.pickle and NAME_SIZE.truth.json for each program and size
    python bench/fit_pairs.py FOLDER MEMVIZ    predicts from these files; prints the table in docs/fit.md

The rule for buffers of sums (analyze/fit/sum_rule.h) was found with the programs in FIRST, before those in LATER were recorded.
"""
import glob, itertools, json, os, subprocess, sys

FIRST = {**dict.fromkeys(("plain", "accum", "attn", "conv", "lora", "evaluate"), (4, 8, 16, 24, 48)), "seq": (64, 128, 192, 256, 512), "gan": (32, 64, 128)}
LATER = {"tab": (256, 512, 1024, 1536, 4096), "mixer": (4, 8, 16, 24, 48), **dict.fromkeys(("fp32", "cast", "half", "nobias"), (4, 8, 12, 24, 40)),
         "length": (128, 192, 320, 480, 768), "lstm": (8, 16, 24, 32, 64)}


def record(name, n, folder):
    import torch, torch.nn as nn, torch.nn.functional as F
    dev = "cuda"

    class Residual(nn.Module):
        def __init__(self, *layers):
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, x):
            return x + self.layers(x)

    class Attention(nn.Module):
        def __init__(self, d, heads, bias):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d, bias=bias), nn.Linear(d, d, bias=bias)

        def forward(self, x):
            q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    class Swap(nn.Module):
        def forward(self, x):
            return x.transpose(1, 2)

    def linear(d=256, layers=3, vocab=2000):
        blocks = [Residual(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers)]
        return nn.Sequential(nn.Embedding(vocab, d), *blocks, nn.Linear(d, vocab)).to(dev)

    def encoder(d=256, vocab=4000):
        layers = [nn.TransformerEncoderLayer(d, 8, 4 * d, batch_first=True) for _ in range(2)]
        return nn.Sequential(nn.Embedding(vocab, d), *layers, nn.Linear(d, vocab)).to(dev)

    def decoder(d, heads, layers, vocab, bias=True):
        blocks = [Residual(nn.LayerNorm(d), part) for _ in range(layers) for part in (
            Attention(d, heads, bias), nn.Sequential(nn.Linear(d, 3 * d), nn.SiLU(), nn.Linear(3 * d, d)))]
        return nn.Sequential(nn.Embedding(vocab, d), *blocks, nn.Linear(d, vocab, bias=False)).to(dev)

    def words(net, b, t, vocab):
        x = torch.randint(0, vocab, (b, t), device=dev)
        return F.cross_entropy(net(x).flatten(0, 1), x.flatten())

    def classes(net, *shape):
        return F.cross_entropy(net(torch.randn(*shape, device=dev)), torch.zeros(shape[0], dtype=torch.long, device=dev))

    def train(params, *losses, opt=torch.optim.AdamW, cast=False, **more):
        opt = opt(params, **more)
        for _ in range(3):
            opt.zero_grad()
            for loss in losses:
                with torch.autocast(dev, torch.bfloat16, enabled=cast):
                    result = loss()
                result.backward()
            opt.step()

    def one(net, loss, **more):
        train(net.parameters(), lambda: loss(net), **more)
        return net

    def lora():
        net = linear(512, 4).requires_grad_(False)
        a = [nn.Parameter(torch.zeros(512, 8, device=dev)) for _ in range(4)]
        b = [nn.Parameter(torch.zeros(8, 512, device=dev)) for _ in range(4)]
        for k in range(4):
            net[k + 1].register_forward_hook(lambda _, x, y, k=k: y + x[0] @ a[k] @ b[k])
        train([*a, *b], lambda: words(net, n, 64, 2000))

    def gan():
        g, d = (nn.Sequential(nn.Linear(i, 256), nn.ReLU(), nn.Linear(256, o)).to(dev) for i, o in ((64, 784), (784, 1)))
        opt_g, opt_d = (torch.optim.Adam(net.parameters()) for net in (g, d))
        for _ in range(3):
            real, fake = torch.randn(n, 784, device=dev), g(torch.randn(n, 64, device=dev))
            for opt, loss in ((opt_d, lambda: F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()), (opt_g, lambda: F.softplus(-d(fake)).mean())):
                opt.zero_grad()
                loss().backward()
                opt.step()

    def evaluate():
        net = one(linear(), lambda net: words(net, n, 64, 2000))
        with torch.no_grad():
            words(net, 2 * n, 128, 2000)

    def conv(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))

    def mixer():
        layers = [Residual(nn.LayerNorm(192), Swap(), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64), Swap()) if i % 2 == 0 else
                  Residual(nn.LayerNorm(192), nn.Linear(192, 768), nn.GELU(), nn.Linear(768, 192)) for i in range(8)]
        return nn.Sequential(nn.Conv2d(3, 192, 8, 8), nn.Flatten(2), Swap(), *layers, Swap(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(192, 1000)).to(dev)

    def lstm():
        rnn = nn.LSTM(256, 384, 2, batch_first=True).to(dev)
        ends = nn.Embedding(3000, 256).to(dev), nn.Linear(384, 3000).to(dev)
        train([*rnn.parameters(), *ends[0].parameters(), *ends[1].parameters()], lambda: words(lambda x: ends[1](rnn(ends[0](x))[0]), n, 50, 3000))

    def table():
        sizes = 100, 1024, 512, 512, 10
        layers = [part for i, o in zip(sizes, sizes[1:]) for part in (nn.Linear(i, o), nn.ReLU())]
        return nn.Sequential(*layers[:-1]).to(dev)

    programs = {
        "plain": lambda: one(linear(), lambda net: words(net, n, 64, 2000)),
        "accum": lambda: (net := linear(), train(net.parameters(), *[lambda t=t: words(net, n, t, 2000) for t in (32, 128, 64)])),
        "attn": lambda: one(encoder(), lambda net: words(net, n, 200, 4000), cast=True),
        "seq": lambda: one(encoder(), lambda net: words(net, 4, n, 4000)),
        "conv": lambda: one(nn.Sequential(conv(3, 32), conv(32, 64), conv(64, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)).to(dev),
                            lambda net: classes(net, n, 3, 64, 64), opt=torch.optim.SGD, lr=0.1, momentum=0.9),
        "lora": lora, "evaluate": evaluate, "gan": gan, "lstm": lstm,
        "tab": lambda: one(table(), lambda net: classes(net, n, 100)),
        "mixer": lambda: one(mixer(), lambda net: classes(net, n, 3, 64, 64)),
        "fp32": lambda: one(decoder(384, 6, 4, 5000), lambda net: words(net, n, 96, 5000)),
        "cast": lambda: one(decoder(512, 8, 3, 8000), lambda net: words(net, n, 128, 8000), cast=True),
        "half": lambda: one(decoder(512, 8, 3, 8000).bfloat16(), lambda net: words(net, n, 128, 8000), opt=torch.optim.SGD, lr=0.1),
        "nobias": lambda: one(decoder(320, 5, 4, 3000, False), lambda net: words(net, n, 80, 3000)),
        "length": lambda: one(decoder(384, 6, 3, 5000), lambda net: words(net, 3, n, 5000))}
    torch.cuda.memory._record_memory_history(max_entries=300000, stacks="python")
    programs[name]()
    torch.cuda.synchronize()
    counters = torch.cuda.memory_stats()
    torch.cuda.memory._dump_snapshot(f"{folder}/{name}_{n}.pickle")
    with open(f"{folder}/{name}_{n}.truth.json", "w") as file:
        json.dump({key: counters[key] for key in counters if key.endswith("_bytes.all.peak")}, file)


def file_of(folder, name, n):
    return glob.glob(f"{folder}/{name}_{n}.pickle*")[0]


def check(program, folder, name, sizes):
    """Returns a row: figures, those off by more than 1 %, the largest error; peaks outside of their bounds, and by more than 1 %."""
    peaks, errors, misses = 0, [], []
    for known in itertools.combinations(sizes, 2):
        files = [f"{file_of(folder, name, n)}={n}" for n in known]
        at = ",".join(str(n) for n in sizes if n not in known)
        for p in json.loads(subprocess.check_output([program, "fit", "--json", "-q", *files, "--at", at]))["points"]:
            with open(f"{folder}/{name}_{p['at']}.truth.json") as file:
                truth = json.load(file)
            for k in ("allocated", "reserved"):
                real, figure = truth[k + "_bytes.all.peak"], p["peak_" + k]
                peaks += 1
                errors += [] if figure is None else [abs(figure / real - 1)]
                miss = max(real - p["most_" + k], p["least_" + k] - real) / real
                misses += [miss] if miss > 0 else []
    large = [sum(e > 0.01 for e in found) for found in (errors, misses)]
    return f"| `{name}` | {len(errors)} of {peaks} | {large[0]} | {max(errors, default=0):.2%} | {len(misses)} | {large[1]} | {max(misses, default=0):.2%} |"


def main():
    folder = sys.argv[1]
    if len(sys.argv) == 4:
        return record(sys.argv[2], int(sys.argv[3]), folder)
    if len(sys.argv) == 2:
        for name, sizes in {**FIRST, **LATER}.items():
            for n in sizes:
                subprocess.run([sys.executable, __file__, folder, name, str(n)], check=True)
        return None
    for programs in (FIRST, LATER):
        print("| program | figures | off by more than 1 % | largest error | truth outside of the bounds | by more than 1 % | largest |\n|---|---|---|---|---|---|---|")
        for name, sizes in programs.items():
            print(check(sys.argv[2], folder, name, sizes), flush=True)
        print()


main()
