"""Training programs of ten families, at three sizes each, without any code for dry runs: programs.py NAME SIZE."""

import math
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

DEVICE = "cuda"
STEPS = int(os.environ.get("STEPS", "3"))


class Attention(nn.Module):
    def __init__(self, width, heads, groups=None, causal=True, rotary=False, bias=True):
        super().__init__()
        self.heads, self.groups, self.causal, self.rotary = heads, groups or heads, causal, rotary
        self.each = width // heads
        self.q = nn.Linear(width, width, bias=bias)
        self.kv = nn.Linear(width, 2 * self.groups * self.each, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        B, T, D = x.shape
        q = self.q(x).view(B, T, self.heads, self.each).transpose(1, 2)
        k, v = self.kv(x).view(B, T, 2, self.groups, self.each).permute(2, 0, 3, 1, 4)
        if self.rotary:
            q, k = rotate(q), rotate(k)
        if self.groups != self.heads:
            k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(B, T, D))


def rotate(x):
    T, D = x.shape[-2:]
    angle = torch.outer(torch.arange(T, device=x.device), 1 / 10000 ** (torch.arange(0, D, 2, device=x.device) / D))
    cos, sin = torch.cat([angle.cos()] * 2, -1).to(x.dtype), torch.cat([angle.sin()] * 2, -1).to(x.dtype)
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class Block(nn.Module):
    def __init__(self, width, heads, dropout=0.0, causal=True):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads, groups, rotary=True, bias=False)
        hidden = width * 8 // 3 // 64 * 64
        self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in
                                         ((width, hidden), (width, hidden), (hidden, width)))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        y = self.ln2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Moe(nn.Module):
    def __init__(self, width, heads, experts=8):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
                                     for _ in range(experts))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        flat = self.ln2(x).flatten(0, 1)
        weight, chosen = self.router(flat).softmax(-1).topk(2, -1)
        out = torch.zeros_like(flat)
        for n, expert in enumerate(self.experts):
            rows, which = torch.where(chosen == n)
            out.index_add_(0, rows, expert(flat[rows]) * weight[rows, which, None])
        return x + out.view_as(x)


class Language(nn.Module):
    def __init__(self, block, layers, width, vocabulary=32000, length=2048, checkpointed=False):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.checkpointed, self.reentrant = checkpointed, checkpointed == "reentrant"

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant) if self.checkpointed else block(x)
        return self.head(self.norm(x))


class Lora(nn.Module):
    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down, self.up = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x)) * 2.0


class Residual(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.body = nn.Sequential(nn.GroupNorm(8, a), nn.SiLU(), nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(8, b), nn.SiLU(),
                                  nn.Conv2d(b, b, 3, padding=1))
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        return self.skip(x) + self.body(x)


class UNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        sizes = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(Residual(a, b) for a, b in zip([width] + sizes, sizes))
        self.middle = Residual(4 * width, 4 * width)
        self.up = nn.ModuleList(Residual(b + s, a) for b, s, a in ((4 * width, 4 * width, 2 * width), (2 * width, 2 * width, width),
                                                                   (width, width, width)))

    def forward(self, x):
        x, kept = self.first(x), []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x)
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1))
        return self.last(x)


def train(model, batch, loss_of, optimizer, cast=None, accumulate=1, scaler=None, clip=None, after=None):
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        for _ in range(accumulate):
            values = batch()
            with torch.autocast("cuda", dtype=cast, enabled=cast is not None):
                loss = loss_of(model, *values)
            (scaler.scale(loss) if scaler else loss / accumulate).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        if after:
            after()
        print(f"loss {loss.item():.3f}")


def next_token(model, tokens):
    logits = model(tokens)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def tokens(batch, length, vocabulary=32000):
    return lambda: (torch.randint(0, vocabulary, (batch, length)).to(DEVICE),)


def images(batch, side, classes=1000):
    return lambda: (torch.randn(batch, 3, side, side).to(DEVICE), torch.randint(0, classes, (batch,)).to(DEVICE))


def classify(model, x, y):
    return F.cross_entropy(model(x), y)


def gpt(size, dtype=None, fused=None, **more):
    width, layers, batch = ((256, 4, 4), (512, 8, 8), (1024, 12, 8))[size]
    model = Language(lambda: Block(width, width // 64, 0.1), layers, width, **more).to(DEVICE)
    train(model, tokens(batch, 512), next_token, torch.optim.AdamW(model.parameters(), fused=fused), cast=dtype, clip=1.0)


def gpt_fp32(size): gpt(size)
def gpt_bf16_fused(size): gpt(size, torch.bfloat16, True)
def gpt_checkpointed(size): gpt(size, torch.bfloat16, checkpointed="reentrant")


def gpt_accumulated(size):
    width, layers = ((256, 4), (512, 8), (768, 12))[size]
    model = Language(lambda: Block(width, width // 64), layers, width).to(DEVICE)
    train(model, tokens(4, 384), next_token, torch.optim.Adam(model.parameters()), cast=torch.bfloat16, accumulate=4)


def gpt_sgd(size):
    width, layers, batch = ((256, 4, 8), (512, 6, 8), (768, 8, 12))[size]
    model = Language(lambda: Block(width, width // 64), layers, width).to(DEVICE)
    train(model, tokens(batch, 256), next_token, torch.optim.SGD(model.parameters(), lr=0.1))


def gpt_compiled(size):
    width, layers, batch = ((256, 2, 4), (512, 4, 8), (768, 6, 8))[size]
    model = Language(lambda: Block(width, width // 64), layers, width).to(DEVICE)
    train(torch.compile(model), tokens(batch, 512), next_token, torch.optim.AdamW(model.parameters()), cast=torch.bfloat16)


def llama(size, checkpointed=False, length=1024):
    width, heads, groups, layers, batch = ((512, 8, 2, 4, 2), (1024, 16, 4, 8, 2), (2048, 32, 8, 8, 2))[size]
    model = Language(lambda: LlamaBlock(width, heads, groups), layers, width, checkpointed=checkpointed).to(DEVICE, torch.bfloat16)
    train(model, tokens(batch, length), next_token, torch.optim.AdamW(model.parameters()))


def llama_checkpointed(size): llama(size, True, 2048)


def llama_fp32(size):
    width, heads, groups, layers, batch = ((512, 8, 2, 4, 2), (512, 8, 2, 8, 8), (1024, 16, 4, 8, 4))[size]
    model = Language(lambda: LlamaBlock(width, heads, groups), layers, width).to(DEVICE)
    train(model, tokens(batch, 512), next_token, torch.optim.AdamW(model.parameters(), fused=True))


def llama_7b(size):
    """A model that is not run on a GPU, but used to measure the time and memory that its dry run takes."""
    model = Language(lambda: LlamaBlock(4096, 32, 32), 32, 4096, length=4096).to(DEVICE, torch.bfloat16)
    train(model, tokens(4, 4096), next_token, torch.optim.AdamW(model.parameters()))


def padded(batch, length, vocabulary):
    def make():
        lengths = torch.linspace(length // 2, length, batch).long()
        mask = (torch.arange(length) < lengths[:, None]).long()
        ids = torch.randint(5, vocabulary, (batch, length))
        return ids.to(DEVICE), mask.to(DEVICE), torch.randint(0, 2, (batch,)).to(DEVICE)
    return make


def bert(size, cast=None, scaler=None):
    from transformers import BertConfig, BertForSequenceClassification
    width, layers, batch, length = ((256, 4, 16, 128), (512, 8, 16, 256), (768, 12, 16, 384))[size]
    model = BertForSequenceClassification(BertConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64,
                                                     intermediate_size=4 * width)).to(DEVICE)
    model.train()
    train(model, padded(batch, length, 30000), lambda m, i, a, y: m(input_ids=i, attention_mask=a, labels=y).loss,
          torch.optim.AdamW(model.parameters(), lr=2e-5), cast=cast, scaler=scaler)


def bert_fp16_scaled(size): bert(size, torch.float16, torch.amp.GradScaler("cuda"))


def t5(size):
    from transformers import T5Config, T5ForConditionalGeneration
    width, layers, batch, length = ((256, 2, 8, 128), (512, 4, 8, 256), (768, 8, 8, 256))[size]
    model = T5ForConditionalGeneration(T5Config(d_model=width, num_layers=layers, num_heads=width // 64, d_ff=4 * width,
                                                decoder_start_token_id=0)).to(DEVICE)
    make = tokens(batch, length)
    train(model, lambda: (*make(), *make()), lambda m, x, y: m(input_ids=x, labels=y).loss, torch.optim.AdamW(model.parameters()))


def resnet(size, cast=None, scaler=None, format=torch.contiguous_format):
    import torchvision
    make, batch, side = ((torchvision.models.resnet18, 16, 128), (torchvision.models.resnet50, 16, 160),
                         (torchvision.models.resnet50, 32, 224))[size]
    model = make().to(DEVICE, memory_format=format)
    train(model, images(batch, side), lambda m, x, y: classify(m, x.to(memory_format=format), y),
          torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), cast=cast, scaler=scaler)


def resnet_fp16_channels_last(size): resnet(size, torch.float16, torch.amp.GradScaler("cuda"), torch.channels_last)


def vit(size, cast=torch.bfloat16):
    import torchvision
    width, layers, batch = ((192, 6, 16), (384, 12, 32), (768, 12, 32))[size]
    model = torchvision.models.VisionTransformer(224, 16, layers, width // 64, width, 4 * width, dropout=0.1).to(DEVICE)
    train(model, images(batch, 224), classify, torch.optim.AdamW(model.parameters(), fused=True), cast=cast)


def vit_fp32(size): vit(size, None)


def unet_ema(size):
    width, batch, side = ((32, 8, 64), (64, 16, 64), (128, 16, 64))[size]
    model = UNet(width).to(DEVICE)
    shadow = [p.detach().clone() for p in model.parameters()]
    train(model, lambda: (torch.randn(batch, 3, side, side, device=DEVICE), torch.randn(batch, 3, side, side, device=DEVICE)),
          lambda m, x, noise: F.mse_loss(m(x + noise), noise), torch.optim.Adam(model.parameters()),
          after=lambda: torch._foreach_lerp_(shadow, [p.detach() for p in model.parameters()], 0.001))


class Lstm(nn.Module):
    def __init__(self, width, layers, vocabulary=10000):
        super().__init__()
        self.token, self.rnn = nn.Embedding(vocabulary, width), nn.LSTM(width, width, layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        return self.head(self.rnn(self.token(x))[0])


def lstm(size, cast=None):
    width, layers, batch, length = ((256, 2, 16, 64), (512, 2, 32, 128), (1024, 3, 32, 128))[size]
    model = Lstm(width, layers).to(DEVICE)
    train(model, tokens(batch, length, 10000), next_token, torch.optim.SGD(model.parameters(), lr=1.0), cast=cast, clip=0.25)


def lstm_bf16(size): lstm(size, torch.bfloat16)


def moe(size):
    width, layers, batch = ((256, 2, 8), (512, 4, 8), (768, 6, 8))[size]
    model = Language(lambda: Moe(width, width // 64), layers, width).to(DEVICE)
    train(model, tokens(batch, 256), next_token, torch.optim.AdamW(model.parameters()), cast=torch.bfloat16)


def lora(size):
    width, layers, batch = ((512, 4, 4), (1024, 8, 4), (2048, 8, 4))[size]
    model = Language(lambda: Block(width, width // 64), layers, width).requires_grad_(False)
    for block in model.blocks:
        block.attention.q, block.attention.kv = Lora(block.attention.q), Lora(block.attention.kv)
    model = model.to(DEVICE, torch.bfloat16)
    train(model, tokens(batch, 512), next_token, torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4))


def gpt2_trainer(size):
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
    width, layers, batch = ((256, 4, 4), (512, 6, 8), (768, 12, 8))[size]
    model = GPT2LMHeadModel(GPT2Config(n_embd=width, n_layer=layers, n_head=width // 64))
    data = [{"input_ids": torch.randint(0, 50000, (256,)), "labels": torch.randint(0, 50000, (256,))} for _ in range(64)]
    Trainer(model, TrainingArguments("/tmp/trainer", per_device_train_batch_size=batch, max_steps=STEPS, bf16=True, report_to=[],
                                     save_strategy="no", disable_tqdm=True), train_dataset=data).train()


def accelerated(size):
    from accelerate import Accelerator
    width, layers, batch = ((256, 4, 4), (512, 8, 4), (768, 8, 8))[size]
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = Language(lambda: Block(width, width // 64), layers, width)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randint(0, 32000, (256, 256))), batch_size=batch,
                                         num_workers=2, pin_memory=True)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
    for n, (ids,) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = next_token(model, ids)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if n == 2 * STEPS - 1:
            break


def lightning(size):
    import pytorch_lightning as pl
    width, layers, batch = ((256, 4, 4), (512, 6, 4), (768, 8, 8))[size]

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Language(lambda: Block(width, width // 64), layers, width)

        def training_step(self, rows, _):
            loss = next_token(self.model, rows[0])
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randint(0, 32000, (256, 256))), batch_size=batch)
    pl.Trainer(max_steps=STEPS, precision="bf16-mixed", logger=False, enable_checkpointing=False, accelerator="gpu", devices=1,
               enable_progress_bar=False, enable_model_summary=False).fit(Module(), loader)


# Programs on which no rule was based.

def mixtral(size):
    from transformers import MixtralConfig, MixtralForCausalLM
    width, layers, batch = ((256, 2, 4), (512, 4, 4), (768, 6, 8))[size]
    model = MixtralForCausalLM(MixtralConfig(hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers, vocab_size=32000,
                                             num_attention_heads=width // 64, num_key_value_heads=width // 128)).to(DEVICE)
    train(model, tokens(batch, 384), lambda m, x: m(input_ids=x, labels=x).loss, torch.optim.AdamW(model.parameters()), torch.bfloat16)


def whisper(size):
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    width, layers, batch = ((256, 2, 4), (384, 4, 8), (512, 6, 8))[size]
    model = WhisperForConditionalGeneration(WhisperConfig(d_model=width, encoder_layers=layers, decoder_layers=layers,
                                                          encoder_attention_heads=width // 64, decoder_attention_heads=width // 64,
                                                          encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width)).to(DEVICE)
    model.train()
    train(model, lambda: (torch.randn(batch, 80, 3000).to(DEVICE), torch.randint(0, 50000, (batch, 200)).to(DEVICE)),
          lambda m, x, y: m(input_features=x, labels=y).loss, torch.optim.AdamW(model.parameters()), torch.bfloat16, clip=1.0)


def swin(size):
    import torchvision
    batch, side, make = ((8, 128, "swin_t"), (16, 224, "swin_t"), (24, 224, "swin_s"))[size]
    model = getattr(torchvision.models, make)().to(DEVICE)
    train(model, images(batch, side), classify, torch.optim.AdamW(model.parameters()), torch.bfloat16)


def convnext(size):
    import torchvision
    batch, side = ((8, 128), (16, 224), (32, 224))[size]
    model = torchvision.models.convnext_tiny().to(DEVICE)
    train(model, images(batch, side), classify, torch.optim.AdamW(model.parameters(), fused=True))


class Dlrm(nn.Module):
    def __init__(self, rows, width, tables):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for _ in range(tables))
        self.dense = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + width, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, x, ids):
        dense = self.dense(x)
        rows = torch.stack([dense, *(table(i) for table, i in zip(self.tables, ids))], 1)
        low = torch.tril_indices(rows.size(1), rows.size(1), -1, device=x.device)
        return self.top(torch.cat([dense, torch.bmm(rows, rows.transpose(1, 2))[:, low[0], low[1]]], 1)).squeeze(1)


class Both:
    """Two optimizers as one."""

    def __init__(self, *parts):
        self.parts = parts

    def zero_grad(self, **more):
        for part in self.parts:
            part.zero_grad(**more)

    def step(self):
        for part in self.parts:
            part.step()


def dlrm(size):
    rows, width, tables, batch = ((100_000, 32, 8, 2048), (400_000, 64, 12, 4096), (500_000, 128, 26, 8192))[size]
    model = Dlrm(rows, width, tables).to(DEVICE)
    dense = [p for name, p in model.named_parameters() if "tables" not in name]
    train(model, lambda: (torch.randn(batch, 13).to(DEVICE), torch.randint(0, rows, (tables, batch, 4)).to(DEVICE),
                          torch.rand(batch).to(DEVICE)),
          lambda m, x, ids, y: F.binary_cross_entropy_with_logits(m(x, ids), y),
          Both(torch.optim.SparseAdam(list(model.tables.parameters())), torch.optim.Adam(dense)))


class Attending(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attention = nn.GroupNorm(8, width), Attention(width, width // 64, causal=False)

    def forward(self, x):
        y = self.norm(x).flatten(2).transpose(1, 2)
        return x + self.attention(y).transpose(1, 2).view_as(x)


def diffusion(size):
    width, batch, side = ((64, 8, 32), (128, 16, 32), (128, 16, 64))[size]
    model = UNet(width)
    model.middle = nn.Sequential(model.middle, Attending(4 * width), Residual(4 * width, 4 * width))
    model.down[2] = nn.Sequential(model.down[2], Attending(4 * width))
    model = model.to(DEVICE)
    train(model, lambda: (torch.randn(batch, 3, side, side).to(DEVICE), torch.randn(batch, 3, side, side).to(DEVICE)),
          lambda m, x, noise: F.mse_loss(m(x + noise), noise), torch.optim.AdamW(model.parameters()), torch.bfloat16, clip=1.0)


class Gru(Lstm):
    def __init__(self, width, layers):
        super().__init__(width, layers)
        self.rnn = nn.GRU(width, width // 2, layers, batch_first=True, bidirectional=True, dropout=0.2)


def gru(size):
    width, layers, batch, length = ((256, 2, 16, 64), (512, 3, 32, 128), (1024, 3, 64, 128))[size]
    model = Gru(width, layers).to(DEVICE)
    train(model, tokens(batch, length, 10000), next_token, torch.optim.Adam(model.parameters()), clip=1.0)


# Programs with several ranks. RANK, WORLD_SIZE and torchrun's other variables are in the environment.

def joined():
    """Creates the process group, and makes its device the current one."""
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", device))
    return device


RANKED = ((512, 4, 4), (768, 8, 8), (1024, 12, 8))  # width, layers, batch


def ranked_llama(size):
    width, layers, batch = RANKED[size]
    return Language(lambda: LlamaBlock(width, width // 64, width // 128), layers, width), tokens(batch, 512)


def ddp(size, cast=None, accumulate=1, sharded=False, **options):
    device = joined()
    width, layers, batch = RANKED[size]
    model = Language(lambda: Block(width, width // 64), layers, width).to(DEVICE)
    model = nn.parallel.DistributedDataParallel(model, device_ids=[device], **options)
    if sharded:
        from torch.distributed.optim import ZeroRedundancyOptimizer
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-4)
    else:
        optimizer = torch.optim.AdamW(model.parameters())
    train(model, tokens(batch, 512), next_token, optimizer, cast=cast, accumulate=accumulate)


def ddp_bf16(size): ddp(size, torch.bfloat16)


def ddp_views(size): ddp(size, torch.bfloat16, gradient_as_bucket_view=True, static_graph=True)


def ddp_accumulated(size): ddp(size, torch.bfloat16, 2, bucket_cap_mb=100)


def zero(size): ddp(size, torch.bfloat16, sharded=True)


def fsdp(size, checkpointed=False, clip=None, **options):
    from torch.distributed.fsdp import fully_shard
    joined()
    model, batch = ranked_llama(size)
    model.checkpointed = checkpointed
    model = model.to(DEVICE)
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)
    train(model, batch, next_token, torch.optim.AdamW(model.parameters()), clip=clip)


def mixed():
    from torch.distributed.fsdp import MixedPrecisionPolicy
    return MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def fsdp_bf16(size): fsdp(size, clip=1.0, mp_policy=mixed())


def fsdp_kept(size): fsdp(size, mp_policy=mixed(), reshard_after_forward=False)


def fsdp_checkpointed(size): fsdp(size, True, mp_policy=mixed())


def fsdp1(size):
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    device = joined()
    model, batch = ranked_llama(size)
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({LlamaBlock}), use_orig_params=True,
                                     device_id=torch.device("cuda", device), mixed_precision=MixedPrecision(torch.bfloat16, torch.float32))
    train(model, batch, next_token, torch.optim.AdamW(model.parameters()))


NAMES = ("gpt_fp32", "gpt_bf16_fused", "gpt_checkpointed", "gpt_accumulated", "gpt_sgd", "gpt_compiled", "llama", "llama_fp32",
         "llama_checkpointed", "bert", "bert_fp16_scaled", "t5", "resnet", "resnet_fp16_channels_last", "vit", "vit_fp32",
         "unet_ema", "lstm", "moe", "lora", "gpt2_trainer", "accelerated", "lightning")
NEW_NAMES = ("mixtral", "whisper", "swin", "convnext", "dlrm", "diffusion", "gru")
RANKED_NAMES = ("ddp", "ddp_bf16", "ddp_views", "ddp_accumulated", "zero", "fsdp", "fsdp_bf16", "fsdp_kept", "fsdp_checkpointed", "fsdp1")

if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]))
