"""Programs that were written after the last rule and measured before any rule was changed: unseen.py NAME SIZE."""

import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from programs import DEVICE, STEPS, Block, Both, Language, LlamaBlock, RMSNorm, classify, images, next_token, tokens, train


class Scan(nn.Module):
    """A selective state space model, in which each step multiplies the previous step; logarithms are summed over chunks."""

    def __init__(self, width, state=8, chunk=64):
        super().__init__()
        inner = 2 * width
        self.state, self.chunk, self.norm = state, chunk, RMSNorm(width)
        self.inward, self.outward = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.select, self.delta = nn.Linear(inner, 2 * state + width // 16, bias=False), nn.Linear(width // 16, inner)
        self.decay = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))

    def forward(self, x):
        T = x.shape[1]
        y, gate = self.inward(self.norm(x)).chunk(2, -1)
        y = F.silu(self.conv(y.transpose(1, 2))[..., :T].transpose(1, 2))
        into, out, delta = self.select(y).split([self.state, self.state, self.delta.in_features], -1)
        delta = F.softplus(self.delta(delta))
        held, parts = x.new_zeros(x.shape[0], y.shape[-1], self.state, dtype=torch.float32), []
        for at in range(0, T, self.chunk):
            d, u, b, c = (t[:, at:at + self.chunk] for t in (delta, y, into, out))
            sums = torch.cumsum(-self.decay.exp() * d.unsqueeze(-1).float(), 1)
            states = sums.exp() * (held.unsqueeze(1) + torch.cumsum((-sums).clamp(max=20).exp() * ((d * u).unsqueeze(-1) * b.unsqueeze(2)), 1))
            held = states[:, -1]
            parts.append(torch.einsum("btds,bts->btd", states.to(c.dtype), c))
        return x + self.outward((torch.cat(parts, 1) + y * self.skip).to(gate.dtype) * F.silu(gate))


def mamba(size):
    width, layers, batch = ((256, 2, 4), (384, 4, 4), (512, 6, 8))[size]
    model = Language(lambda: Scan(width), layers, width).to(DEVICE)
    train(model, tokens(batch, 256), next_token, torch.optim.AdamW(model.parameters()), torch.bfloat16, clip=1.0)


class Biased(nn.Module):
    """An encoder layer whose attention adds a learned bias of the distance, written out."""

    def __init__(self, width, heads, reach=64):
        super().__init__()
        self.heads, self.reach = heads, reach
        self.ln1, self.ln2, self.qkv, self.out = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias, self.dropout = nn.Embedding(2 * reach + 1, heads), nn.Dropout(0.1)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4 * width, width))

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        place = torch.arange(T, device=x.device)
        far = (place[None] - place[:, None]).clamp(-self.reach, self.reach) + self.reach
        scores = q @ k.transpose(-2, -1) / math.sqrt(D // self.heads) + self.bias(far).permute(2, 0, 1)
        y = self.dropout(scores.softmax(-1)) @ v
        x = x + self.out(y.transpose(1, 2).reshape(B, T, D))
        return x + self.mlp(self.ln2(x))


def relative(size):
    width, layers, batch = ((256, 4, 8), (512, 6, 8), (768, 8, 16))[size]
    model = Language(lambda: Biased(width, width // 64), layers, width).to(DEVICE)
    train(model, tokens(batch, 256), next_token, torch.optim.AdamW(model.parameters(), fused=True))


class Graph(nn.Module):
    """Attention over the edges of a graph, by scatter."""

    def __init__(self, features, width, layers, classes, heads=4):
        super().__init__()
        self.first, self.last, self.heads = nn.Linear(features, width), nn.Linear(width, classes), heads
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.sides = nn.ParameterList(nn.Parameter(torch.randn(2, heads, width // heads) / 8) for _ in range(layers))

    def forward(self, x, edges):
        x, (source, target) = self.first(x).relu(), edges
        for layer, side in zip(self.layers, self.sides):
            y = layer(x).view(len(x), self.heads, -1)
            score = F.leaky_relu((y * side[0]).sum(-1)[source] + (y * side[1]).sum(-1)[target], 0.2)
            index = target[:, None].expand_as(score)
            most = torch.full((len(x), self.heads), -1e9, device=x.device).scatter_reduce(0, index, score, "amax")
            weight = (score - most[target]).exp()
            total = torch.zeros_like(most).scatter_add(0, index, weight)
            out = torch.zeros_like(y).index_add(0, target, y[source] * (weight / total[target]).unsqueeze(-1))
            x = F.dropout(F.elu(out.flatten(1)) + x, 0.5)
        return self.last(x)


def graph(size):
    nodes, edges, width, layers = ((20_000, 100_000, 64, 2), (50_000, 500_000, 128, 2), (100_000, 1_500_000, 128, 3))[size]
    x, links = torch.randn(nodes, 128).to(DEVICE), torch.randint(0, nodes, (2, edges)).to(DEVICE)
    labels, some = torch.randint(0, 40, (nodes,)).to(DEVICE), torch.arange(nodes // 2).to(DEVICE)
    model = Graph(128, width, layers, 40).to(DEVICE)
    train(model, lambda: (), lambda m: F.cross_entropy(m(x, links)[some], labels[some]), torch.optim.Adam(model.parameters()))


def likelihood(model, ids):
    return model(ids)[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1).sum(-1)


def dpo(size):
    width, heads, groups, layers, batch = ((512, 8, 2, 4, 2), (768, 12, 4, 6, 4), (1024, 16, 4, 8, 4))[size]
    policy, reference = (Language(lambda: LlamaBlock(width, heads, groups), layers, width).to(DEVICE, torch.bfloat16) for _ in range(2))
    reference.requires_grad_(False).eval()

    def preference(model, better, worse):
        both = torch.cat([better, worse])
        with torch.no_grad():
            base = likelihood(reference, both)
        gain = likelihood(model, both) - base
        return -F.logsigmoid(0.1 * (gain[:len(better)] - gain[len(better):]).float()).mean()

    make = tokens(batch, 512)
    train(policy, lambda: (*make(), *make()), preference, torch.optim.AdamW(policy.parameters(), lr=1e-6), clip=1.0)


def efficientnet(size):
    import torchvision
    batch, side, name = ((8, 128, "efficientnet_b0"), (16, 224, "efficientnet_b0"), (32, 224, "efficientnet_b3"))[size]
    model = getattr(torchvision.models, name)().to(DEVICE, memory_format=torch.channels_last)
    train(model, images(batch, side), lambda m, x, y: classify(m, x.to(memory_format=torch.channels_last), y),
          torch.optim.RMSprop(model.parameters(), momentum=0.9), torch.bfloat16)


def adafactor(size):
    width, layers, batch = ((256, 4, 4), (512, 8, 8), (1024, 8, 8))[size]
    model = Language(lambda: Block(width, width // 64), layers, width).to(DEVICE)
    train(model, tokens(batch, 384), next_token, torch.optim.Adafactor(model.parameters()), torch.bfloat16)


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr=1e-4):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                update = state["mean"].mul(0.9).add(p.grad, alpha=0.1).sign_()
                p.mul_(1 - group["lr"] * 0.1).add_(update, alpha=-group["lr"])
                state["mean"].mul_(0.99).add_(p.grad, alpha=0.01)


def lion(size):
    width, layers, batch = ((256, 4, 4), (512, 8, 8), (768, 12, 8))[size]
    model = Language(lambda: Block(width, width // 64, 0.1), layers, width).to(DEVICE)
    train(model, tokens(batch, 512), next_token, Lion(model.parameters()), torch.bfloat16, clip=1.0)


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal by five Newton-Schulz steps."""

    def __init__(self, parameters, lr=0.02):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p.grad)
                state["mean"].lerp_(p.grad, 0.05)
                x = p.grad.lerp(state["mean"], 0.95).bfloat16()
                x = x.mT if p.size(0) > p.size(1) else x
                x = x / (x.norm() + 1e-7)
                for _ in range(5):
                    a = x @ x.mT
                    x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
                x = x.mT if p.size(0) > p.size(1) else x
                p.add_(x, alpha=-group["lr"])


def muon(size):
    width, layers, batch = ((256, 4, 4), (512, 8, 8), (1024, 8, 8))[size]
    model = Language(lambda: Block(width, width // 64), layers, width).to(DEVICE)
    inner = [p for p in model.blocks.parameters() if p.dim() == 2]
    rest = [p for p in model.parameters() if all(p is not q for q in inner)]
    train(model, tokens(batch, 384), next_token, Both(Muon(inner), torch.optim.AdamW(rest)), torch.bfloat16)


class Translator(nn.Module):
    def __init__(self, width, layers, vocabulary=16000):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.body = nn.Transformer(width, width // 64, layers, layers, 4 * width, 0.1, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, source, target, padding):
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        return self.head(self.body(self.token(source), self.token(target), tgt_mask=causal, src_key_padding_mask=padding,
                                   memory_key_padding_mask=padding))


def translator(size):
    width, layers, batch = ((256, 2, 16), (512, 4, 16), (512, 6, 32))[size]
    model = Translator(width, layers).to(DEVICE)

    def make():
        lengths = torch.linspace(64, 128, batch).long()
        source, target = (torch.randint(0, 16000, (batch, 128)).to(DEVICE) for _ in range(2))
        return source, target, (torch.arange(128) >= lengths[:, None]).to(DEVICE)

    train(model, make, lambda m, s, t, p: F.cross_entropy(m(s, t, p)[:, :-1].flatten(0, 1), t[:, 1:].flatten(), label_smoothing=0.1),
          torch.optim.Adam(model.parameters(), betas=(0.9, 0.98)))


def gan(size):
    width, batch = ((32, 32), (64, 64), (128, 64))[size]
    ups = [nn.ConvTranspose2d(128, 8 * width, 4)]
    downs = [nn.Conv2d(3, width, 4, 2, 1)]
    for n in (8, 4, 2):
        ups += [nn.BatchNorm2d(n * width), nn.ReLU(True), nn.ConvTranspose2d(n * width, n // 2 * width, 4, 2, 1)]
        downs += [nn.LeakyReLU(0.2, True), nn.Conv2d(8 // n * width, 16 // n * width, 4, 2, 1), nn.BatchNorm2d(16 // n * width)]
    maker = nn.Sequential(*ups, nn.BatchNorm2d(width), nn.ReLU(True), nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh()).to(DEVICE)
    judge = nn.Sequential(*downs, nn.LeakyReLU(0.2, True), nn.Conv2d(8 * width, 1, 4), nn.Flatten(0)).to(DEVICE)
    both = [torch.optim.Adam(m.parameters(), 2e-4, (0.5, 0.999)) for m in (maker, judge)]
    for _ in range(STEPS):
        real, noise = torch.randn(batch, 3, 64, 64).to(DEVICE), torch.randn(batch, 128, 1, 1, device=DEVICE)
        made = maker(noise)
        both[1].zero_grad()
        (F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()).backward()
        both[1].step()
        both[0].zero_grad()
        F.softplus(-judge(made)).mean().backward()
        both[0].step()


class Pair(nn.Module):
    """Two towers with one loss over all pairs in a batch."""

    def __init__(self, width, layers):
        super().__init__()
        self.patches, self.text = nn.Conv2d(3, width, 16, 16), Language(lambda: Block(width, width // 64), layers, width)
        self.image = nn.Sequential(*(Block(width, width // 64, causal=False) for _ in range(layers)), nn.LayerNorm(width))
        self.place, self.scale = nn.Parameter(torch.randn(196, width) / 50), nn.Parameter(torch.tensor(2.6))
        self.text.head = nn.Identity()

    def forward(self, x, ids):
        a = self.image(self.patches(x).flatten(2).mT + self.place).mean(1)
        b = self.text(ids)[:, -1]
        return self.scale.exp() * F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).t()


def pair_loss(model, x, ids):
    scores = model(x, ids)
    which = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, which) + F.cross_entropy(scores.t(), which)) / 2


def clip(size):
    width, layers, batch = ((256, 4, 16), (512, 6, 32), (768, 8, 64))[size]
    model = Pair(width, layers).to(DEVICE)
    train(model, lambda: (torch.randn(batch, 3, 224, 224).to(DEVICE), torch.randint(0, 32000, (batch, 77)).to(DEVICE)), pair_loss,
          torch.optim.AdamW(model.parameters(), weight_decay=0.2), torch.bfloat16, clip=1.0)


def ppo(size):
    """A rollout without gradients, then passes over parts of it in random order."""
    width, batch, steps = ((256, 512, 16), (512, 2048, 32), (1024, 4096, 64))[size]
    body = nn.Sequential(nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()).to(DEVICE)
    actor, critic = nn.Linear(width, 18).to(DEVICE), nn.Linear(width, 1).to(DEVICE)
    parameters = [p for m in (body, actor, critic) for p in m.parameters()]
    optimizer = torch.optim.Adam(parameters, eps=1e-5)
    seen, acts, logs, values = [], [], [], []
    for _ in range(steps):
        with torch.no_grad():
            seen.append(torch.randn(batch, 64).to(DEVICE))
            y = body(seen[-1])
            policy = torch.distributions.Categorical(logits=actor(y))
            acts.append(policy.sample())
            logs.append(policy.log_prob(acts[-1]))
            values.append(critic(y).squeeze(-1))
    seen, acts, logs, values = (torch.cat(t) for t in (seen, acts, logs, values))
    gains = torch.randn(len(seen)).to(DEVICE)
    for part in torch.randperm(len(seen), device=DEVICE).chunk(max(4, STEPS)):
        y = body(seen[part])
        policy = torch.distributions.Categorical(logits=actor(y))
        ratio = (policy.log_prob(acts[part]) - logs[part]).exp()
        clipped = torch.min(ratio * gains[part], ratio.clamp(0.8, 1.2) * gains[part]).mean()
        loss = (critic(y).squeeze(-1) - values[part] - gains[part]).square().mean() - clipped - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()


NAMES = ("mamba", "relative", "graph", "dpo", "efficientnet", "adafactor", "lion", "muon", "translator", "gan", "clip", "ppo")

if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]))
