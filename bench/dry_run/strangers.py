"""Programs unlike those in programs.py and unseen.py, written after all rules: strangers.py NAME SIZE."""

import random
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

from programs import DEVICE, STEPS


def steps(optimizer, loss, *after):
    for n in range(STEPS):
        optimizer.zero_grad()
        loss(n).backward()
        optimizer.step()
        for each in after:
            each()


def wgan(size):
    """A critic whose loss contains its gradient, so that the backward pass is itself differentiated."""
    width, batch = ((32, 32), (64, 64), (96, 128))[size]
    maker = nn.Sequential(nn.Linear(64, 8 * width * 16), nn.Unflatten(1, (8 * width, 4, 4)), *(layer for n in (8, 4, 2) for layer in (
        nn.Upsample(scale_factor=2), nn.Conv2d(n * width, n // 2 * width, 3, padding=1), nn.ReLU())), nn.Conv2d(width, 3, 3, padding=1)).to(DEVICE)
    critic = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), *(layer for n in (1, 2, 4) for layer in (
        nn.LeakyReLU(0.2), nn.Conv2d(n * width, 2 * n * width, 3, 2, 1))), nn.Flatten(), nn.Linear(8 * width * 4, 1)).to(DEVICE)
    first, second = torch.optim.Adam(critic.parameters(), 1e-4), torch.optim.Adam(maker.parameters(), 1e-4)

    def critique(_):
        real = torch.rand(batch, 3, 32, 32, device=DEVICE)
        with torch.no_grad():
            made = maker(torch.randn(batch, 64, device=DEVICE))
        mixed = (real + torch.rand(batch, 1, 1, 1, device=DEVICE) * (made - real)).requires_grad_()
        slope = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
        return critic(made).mean() - critic(real).mean() + 10 * (slope.flatten(1).norm(dim=1) - 1).square().mean()

    for _ in range(STEPS):
        for _ in range(2):
            first.zero_grad(set_to_none=True)
            loss = critique(0)
            loss.backward()
            first.step()
        second.zero_grad()
        (-critic(maker(torch.randn(batch, 64, device=DEVICE))).mean()).backward()
        second.step()


class Attend(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell, self.score = nn.GRUCell(2 * width, width), nn.Linear(width, width, bias=False)

    def forward(self, x, h, memory):
        weight = torch.einsum("bd,btd->bt", self.score(h), memory).softmax(-1)
        return self.cell(torch.cat([x, torch.einsum("bt,btd->bd", weight, memory)], -1), h)


def seq2seq(size):
    """A decoder whose next input is randomly either the target or its own output."""
    width, batch, length, words = ((256, 16, 20, 4000), (512, 64, 30, 8000), (768, 96, 40, 16000))[size]
    random.seed(1)
    embed, encoder, decoder, head = nn.Embedding(words, width), nn.LSTM(width, width // 2, 2, bidirectional=True, batch_first=True), Attend(width), nn.Linear(width, words)
    model = nn.ModuleList([embed, encoder, decoder, head]).to(DEVICE)

    def loss(_):
        source, target = torch.randint(0, words, (2, batch, length)).to(DEVICE)
        memory, _ = encoder(embed(source))
        h, word, total = memory.mean(1), target[:, 0], 0
        for t in range(1, length):
            h = decoder(embed(word), h, memory)
            scores = head(h)
            total = total + F.cross_entropy(scores, target[:, t])
            word = target[:, t] if random.random() < 0.5 else scores.argmax(-1)
        return total / length

    steps(torch.optim.Adam(model.parameters()), loss)


def points(size):
    """Edges to the nearest points, found by distances."""
    batch, count, near, width = ((4, 512, 8, 32), (8, 1024, 12, 48), (12, 1024, 20, 64))[size]
    layers = nn.ModuleList(nn.Sequential(nn.Linear(2 * a, b), nn.LayerNorm(b), nn.GELU()) for a, b in ((3, width), (width, 2 * width), (2 * width, 4 * width)))
    model = nn.ModuleDict({"layers": layers, "head": nn.Linear(4 * width, 40)}).to(DEVICE)

    def loss(_):
        x, label = torch.randn(batch, count, 3, device=DEVICE), torch.randint(0, 40, (batch,), device=DEVICE)
        for layer in layers:
            nearest = torch.cdist(x, x).topk(near, largest=False).indices
            other = torch.gather(x.unsqueeze(1).expand(-1, count, -1, -1), 2, nearest.unsqueeze(-1).expand(-1, -1, -1, x.size(-1)))
            x = layer(torch.cat([other - x.unsqueeze(2), x.unsqueeze(2).expand_as(other)], -1)).amax(2)
        return F.cross_entropy(model["head"](x.mean(1)), label)

    steps(torch.optim.AdamW(model.parameters()), loss, torch.optim.lr_scheduler.StepLR(torch.optim.SGD([nn.Parameter(torch.zeros(1))], 1), 1).step)


class Segment(nn.Module):
    def __init__(self, width, classes=21):
        super().__init__()
        part = lambda a, b, stride=1, gap=1: nn.Sequential(nn.Conv2d(a, b, 3, stride, gap, gap, bias=False), nn.GroupNorm(8, b), nn.SiLU())
        self.stem, self.down = part(3, width, 2), nn.ModuleList(part(n * width, 2 * n * width, 2) for n in (1, 2, 4))
        self.wide = nn.ModuleList(part(8 * width, width, 1, gap) for gap in (1, 6, 12))
        self.skip, self.last = nn.Conv2d(2 * width, width, 1), nn.Conv2d(4 * width, classes, 1)

    def forward(self, x):
        shape, x = x.shape[-2:], self.stem(x)
        kept = x = self.down[0](x)
        for layer in self.down[1:]:
            x = layer(x)
        x = torch.cat([layer(x) for layer in self.wide], 1)
        x = torch.cat([F.interpolate(x, kept.shape[-2:], mode="bilinear", align_corners=False), self.skip(kept)], 1)
        return F.interpolate(self.last(x), shape, mode="bilinear", align_corners=False)


def segmentation(size):
    width, batch, side = ((16, 4, 128), (32, 8, 256), (48, 8, 384))[size]
    model = Segment(width).to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, nesterov=True)

    def loss(n):
        model.train()
        x = torch.randn(batch, 3, side, side).to(DEVICE, memory_format=torch.channels_last)
        found = F.cross_entropy(model(x), torch.randint(0, 21, (batch, side, side), device=DEVICE), ignore_index=0)
        if n:
            model.eval()
            with torch.no_grad():
                model(x).argmax(1).eq(1).float().mean().item()
        return found

    steps(optimizer, loss)


def dqn(size):
    """A replay buffer on the GPU, a target network, and actions that are copied to the host."""
    width, batch, held = ((256, 256, 20_000), (512, 2048, 100_000), (1024, 8192, 200_000))[size]
    net = lambda: nn.Sequential(nn.Linear(84, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 6)).to(DEVICE)
    online, target = net(), net()
    target.load_state_dict(online.state_dict())
    states, actions = torch.zeros(held, 84, device=DEVICE), torch.zeros(held, dtype=torch.long, device=DEVICE)
    optimizer, at, returns = torch.optim.RMSprop(online.parameters(), centered=True), 0, []
    for _ in range(STEPS):
        for _ in range(8):
            with torch.no_grad():
                state = torch.randn(84, device=DEVICE)
                action = online(state).argmax().item() if random.random() > 0.1 else random.randrange(6)
            states[at], actions[at] = state, action
            at = (at + 1) % held
        rows = torch.randint(0, held - 1, (batch,), device=DEVICE)
        with torch.no_grad():
            best = 1 + 0.99 * target(states[rows + 1]).max(1).values
        loss = F.smooth_l1_loss(online(states[rows]).gather(1, actions[rows, None]).squeeze(1), best)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 1.0)
        optimizer.step()
        returns.append(loss.item())
        with torch.no_grad():
            torch._foreach_lerp_(list(target.parameters()), list(online.parameters()), 0.01)


def video(size):
    width, batch, frames, side = ((16, 2, 8, 56), (32, 4, 16, 112), (48, 4, 16, 112))[size]
    layers = [nn.Conv3d(3, width, (3, 7, 7), (1, 2, 2), (1, 3, 3)), nn.BatchNorm3d(width), nn.ReLU(inplace=True), nn.MaxPool3d((1, 2, 2))]
    for n in (1, 2, 4):
        layers += [nn.Conv3d(n * width, 2 * n * width, 3, (2, 2, 2), 1, bias=False), nn.BatchNorm3d(2 * n * width), nn.ReLU(inplace=True), nn.Dropout3d(0.1)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8 * width, 101)).to(DEVICE)

    def loss(_):
        x, label = torch.randn(batch, 3, frames, side, side, device=DEVICE), torch.randint(0, 101, (batch,), device=DEVICE)
        with torch.autocast("cuda", torch.bfloat16):
            return F.cross_entropy(model(x), label)

    steps(torch.optim.AdamW(model.parameters(), fused=True), loss)


def private(size):
    """Per-example gradients, computed with vmap and clipped to a maximum norm."""
    width, batch = ((256, 32), (512, 64), (1024, 128))[size]
    model = nn.Sequential(nn.Linear(128, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10)).to(DEVICE)
    weights, optimizer = dict(model.named_parameters()), torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    one = lambda p, x, y: F.cross_entropy(functional_call(model, p, (x[None],)), y[None])
    for _ in range(STEPS):
        x, y = torch.randn(batch, 128, device=DEVICE), torch.randint(0, 10, (batch,), device=DEVICE)
        each = vmap(grad(one), in_dims=(None, 0, 0))({k: w.detach() for k, w in weights.items()}, x, y)
        length = torch.stack([g.flatten(1).norm(dim=1) for g in each.values()], 1).norm(dim=1)
        cut = (1 / (length + 1e-6)).clamp(max=1)
        for key, w in weights.items():
            w.grad = torch.einsum("b,b...->...", cut, each[key]) / batch + torch.randn_like(w) * 1e-3
        optimizer.step()
        optimizer.zero_grad()


class Gated(torch.autograd.Function):
    """silu(a) * b that keeps only its inputs, and writes into the gradient."""
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return F.silu(a) * b

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        s = torch.sigmoid(a)
        db = g * a * s
        return g.mul_(b).mul_(s * (1 + a * (1 - s))), db


def custom(size):
    """A custom operator, optimizer steps within the backward pass, and weight normalization."""
    width, layers, batch = ((512, 4, 512), (1024, 6, 2048), (2048, 6, 4096))[size]
    make = lambda a, b: nn.utils.parametrizations.weight_norm(nn.Linear(a, b, bias=False))
    model = nn.ModuleList(nn.ModuleList([make(width, 2 * width), make(width, 2 * width), nn.Linear(2 * width, width)]) for _ in range(layers)).to(DEVICE)
    optimizers = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}

    def taken(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(taken)
    for _ in range(STEPS):
        x = torch.randn(batch, width, device=DEVICE)
        for a, b, down in model:
            x = x + down(Gated.apply(a(x), b(x)))
        x.square().mean().backward()


class Rows(torch.utils.data.Dataset):
    def __init__(self, count, width):
        self.count, self.width = count, width

    def __len__(self):
        return self.count

    def __getitem__(self, n):
        return {"x": torch.full((self.width,), float(n)), "y": n % 7}


def loaded(size):
    """Workers, pinned memory, averaged weights, and evaluations between steps."""
    width, batch = ((512, 256), (1024, 2048), (2048, 4096))[size]
    rows = torch.utils.data.DataLoader(Rows(4 * batch, width), batch, shuffle=True, num_workers=2, pin_memory=True, drop_last=True)
    model = nn.Sequential(nn.BatchNorm1d(width), *(m for _ in range(4) for m in (nn.Linear(width, width), nn.Mish(), nn.Dropout(0.2))), nn.Linear(width, 7)).to(DEVICE)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    optimizer, right = torch.optim.NAdam(model.parameters()), 0.0
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=10)
    for part in rows:
        x, y = part["x"].to(DEVICE, non_blocking=True), part["y"].to(DEVICE, non_blocking=True)
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        if nn.utils.clip_grad_norm_(model.parameters(), 1.0).isfinite():
            optimizer.step()
        plan.step()
        mean.update_parameters(model)
        with torch.inference_mode():
            right += (mean.eval()(x).argmax(1) == y).float().mean().item()


class Spectral(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes, self.weight = modes, nn.Parameter(torch.randn(2, width, width, modes, modes, dtype=torch.cfloat) / width)
        self.beside = nn.Conv2d(width, width, 1)

    def forward(self, x):
        found, m = torch.fft.rfft2(x), self.modes
        out = torch.zeros_like(found)
        out[..., :m, :m] = torch.einsum("bixy,ioxy->boxy", found[..., :m, :m], self.weight[0])
        out[..., -m:, :m] = torch.einsum("bixy,ioxy->boxy", found[..., -m:, :m], self.weight[1])
        return F.gelu(torch.fft.irfft2(out, s=x.shape[-2:]) + self.beside(x))


def fourier(size):
    width, batch, side, modes = ((16, 4, 64, 8), (32, 8, 128, 12), (48, 8, 192, 16))[size]
    model = nn.Sequential(nn.Conv2d(3, width, 1), *(Spectral(width, modes) for _ in range(4)), nn.Conv2d(width, 1, 1)).to(DEVICE)
    steps(torch.optim.Adam(model.parameters()), lambda _: model(torch.randn(batch, 3, side, side, device=DEVICE)).abs().mean())


def gaussian(size):
    """A Gaussian process that uses Cholesky factors and is fitted by L-BFGS."""
    count = (800, 2000, 4000)[size]
    x, y = torch.randn(count, 8, device=DEVICE), torch.randn(count, 1, device=DEVICE)
    scale, noise = nn.Parameter(torch.zeros(8, device=DEVICE)), nn.Parameter(torch.zeros((), device=DEVICE))
    optimizer = torch.optim.LBFGS([scale, noise], lr=0.1, max_iter=3)

    def closure():
        optimizer.zero_grad()
        z = x * scale.exp()
        cover = (-0.5 * torch.cdist(z, z).square()).exp() + torch.eye(count, device=DEVICE) * (noise.exp() + 1e-3)
        factor = torch.linalg.cholesky(cover)
        loss = 0.5 * (y * torch.cholesky_solve(y, factor)).sum() + factor.diagonal().log().sum()
        loss.backward()
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)


def speech(size):
    """Connectionist temporal classification of sequences of different lengths, packed for the RNN."""
    width, batch, length = ((128, 8, 200), (256, 16, 400), (320, 32, 800))[size]
    front, rnn, head = nn.Conv1d(80, width, 5, 2, 2), nn.GRU(width, width, 3, bidirectional=True), nn.Linear(2 * width, 30)
    model = nn.ModuleList([front, rnn, head]).to(DEVICE)

    def loss(_):
        x, lengths = torch.randn(batch, 80, length).to(DEVICE), torch.linspace(length // 4, length // 2, batch).long().flip(0)
        packed = nn.utils.rnn.pack_padded_sequence(F.relu(front(x)).permute(2, 0, 1), lengths)
        y, sizes = nn.utils.rnn.pad_packed_sequence(rnn(packed)[0])
        words = torch.randint(1, 30, (batch, 20), device=DEVICE)
        return F.ctc_loss(head(y).log_softmax(-1), words, sizes.to(DEVICE), torch.full((batch,), 20, device=DEVICE))

    steps(torch.optim.Adagrad(model.parameters()), loss)


def superres(size):
    """Pixels shuffled to a larger image, warped by a grid."""
    width, batch, side = ((32, 4, 48), (64, 8, 96), (96, 8, 128))[size]
    body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), *(m for _ in range(6) for m in (nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width))))
    model = nn.Sequential(body, nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2)).to(DEVICE)
    turn = nn.Parameter(torch.eye(2, 3, device=DEVICE))

    def loss(_):
        x = torch.rand(batch, 3, side, side, device=DEVICE)
        y = model(x)
        y = F.grid_sample(y, F.affine_grid(turn.expand(batch, 2, 3), list(y.shape), align_corners=False), align_corners=False)
        return F.l1_loss(y, F.interpolate(x, scale_factor=2.0, mode="bicubic")) + F.unfold(y, 4, stride=4).var(1).mean()

    steps(torch.optim.RAdam([*model.parameters(), turn]), loss)


def codes(size):
    """A codebook whose vectors follow the mean of the inputs assigned to them."""
    width, batch, side, words = ((32, 8, 32, 256), (64, 16, 64, 512), (128, 16, 64, 1024))[size]
    down = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1)).to(DEVICE)
    up = nn.Sequential(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1)).to(DEVICE)
    book, used = torch.randn(words, width, device=DEVICE), torch.ones(words, device=DEVICE)

    def loss(_):
        x = torch.randn(batch, 3, side, side, device=DEVICE)
        z = down(x).permute(0, 2, 3, 1)
        flat = z.reshape(-1, width)
        which = (flat.square().sum(1, keepdim=True) - 2 * flat @ book.t() + book.square().sum(1)).argmin(1)
        chosen = book[which].view_as(z)
        with torch.no_grad():
            hot = F.one_hot(which, words).type_as(flat)
            used.mul_(0.99).add_(hot.sum(0), alpha=0.01)
            book.mul_(0.99).add_((hot.t() @ flat) / used.unsqueeze(1), alpha=0.01)
        return F.mse_loss(up((z + (chosen - z).detach()).permute(0, 3, 1, 2)), x) + 0.25 * F.mse_loss(z, chosen.detach())

    steps(torch.optim.AdamW([*down.parameters(), *up.parameters()], amsgrad=True), loss)


NAMES = "wgan seq2seq points segmentation dqn video private custom loaded fourier gaussian speech superres codes".split()

if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]))
