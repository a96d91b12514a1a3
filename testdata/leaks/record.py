"""Record training and inference runs with known leaks, and healthy ones that look leaky.

usage: record.py OUTDIR [SCENARIO...]     (each scenario in a process of its own; needs a GPU)

Writes SCENARIO.pickle (what torch.cuda.memory._snapshot() returned) and leaks.json: for each
scenario the numbers of the lines that leak, or none.
"""
import copy, gc, json, os, pickle, subprocess, sys

DEVICE = "cuda"


def record(stacks="python"):
    import torch
    torch.cuda.memory._record_memory_history(max_entries=1000000, stacks=stacks)


def gpt(width=128, layers=3, vocab=1000):
    import torch.nn as nn, torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            h = self.up(self.norm(x))
            return x + self.down(F.gelu(h))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return Model().to(DEVICE)


def step(model, optimizer, batch=8, length=64):
    import torch, torch.nn.functional as F
    ids = torch.randint(0, 1000, (batch, length), device=DEVICE)
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()
    return loss


def adam(model, **options):
    import torch
    return torch.optim.AdamW(model.parameters(), **options)


def two_leaks(save):
    import torch
    record()
    model = gpt(); optimizer = adam(model); outputs, losses = [], []
    model.blocks[1].norm.register_forward_hook(lambda m, i, o: outputs.append(o.detach()))  # keeps the output of norm
    for _ in range(14):
        step(model, optimizer)
        losses.append(torch.ones(200, device=DEVICE))
    save("h = self.up(self.norm(x))", "losses.append(torch.ones(200, device=DEVICE))")


def each_seventh(save):
    import torch
    record()
    model = gpt(); optimizer = adam(model, foreach=False); kept = []
    for i in range(32):
        step(model, optimizer)
        if i % 7 == 3:
            kept.append(torch.zeros(256, device=DEVICE))
    save("kept.append(torch.zeros(256, device=DEVICE))")


def varying_logits(save):
    import torch
    record()
    model = gpt(); optimizer = adam(model); history = []
    generator = torch.Generator().manual_seed(1)
    for i in range(12):
        ids = torch.randint(0, 1000, (4, int(torch.randint(16, 200, (1,), generator=generator))), device=DEVICE)
        logits = model(ids)
        optimizer.zero_grad(); logits.square().mean().backward(); optimizer.step()
        history.append(logits.argmax(-1))
    save("history.append(logits.argmax(-1))")


def eval_outputs(save):
    import torch
    model = gpt(); record(); outputs = []
    with torch.no_grad():
        for i in range(8):
            ids = torch.randint(0, 1000, (4, 64), device=DEVICE)
            outputs.append(model(ids).softmax(-1))
    save("outputs.append(model(ids).softmax(-1))")


def eval_to_cpu(save):
    import torch
    model = gpt(); record(); outputs = []
    with torch.no_grad():
        for i in range(8):
            ids = torch.randint(0, 1000, (4, 64), device=DEVICE)
            outputs.append(model(ids).softmax(-1).cpu())
    save()


def resnet_hook(save, stacks="python"):
    import torch, torchvision
    record(stacks)
    model = torchvision.models.resnet18().to(DEVICE); seen = {}
    model.layer2[1].conv1.register_forward_hook(lambda m, i, o: seen.setdefault("x", []).append(o))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(8):
        optimizer.zero_grad()
        model(torch.randn(8, 3, 64, 64, device=DEVICE)).mean().backward()
        optimizer.step()
    save("model(torch.randn(8, 3, 64, 64, device=DEVICE)).mean().backward()")


def resnet_hook_native(save):
    resnet_hook(save, "all")


def running_loss(save):
    record()
    model = gpt(); optimizer = adam(model); total = 0
    for _ in range(10):
        total = total + step(model, optimizer)  # its graph is long, but holds no tensors
    save()


def recurrent(save, detach):
    import torch
    rnn = torch.nn.GRU(64, 128).to(DEVICE); optimizer = torch.optim.SGD(rnn.parameters(), lr=0.01)
    record(); state = None
    for _ in range(15):
        x = torch.randn(16, 8, 64, device=DEVICE)
        y, state = rnn(x, state)
        if detach:
            state = state.detach(); optimizer.zero_grad(); y.mean().backward(); optimizer.step()
    save(*([] if detach else ["x = torch.randn(16, 8, 64, device=DEVICE)", "y, state = rnn(x, state)"]))


def recurrent_detached(save):
    recurrent(save, True)


def recurrent_chained(save):
    recurrent(save, False)


def habits(save):
    """Mixed precision, clipping, accumulation, an average of the weights, a window of losses, gc'd cycles."""
    import torch
    from collections import deque
    record()
    model = gpt(); optimizer = adam(model); scaler = torch.amp.GradScaler(); last = deque(maxlen=4); best = None
    average = None
    for i in range(24):
        optimizer.zero_grad()
        for _ in range(3):
            ids = torch.randint(0, 1000, (4, 64), device=DEVICE)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1).float(), ids.flatten())
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer); scaler.update()
        last.append(loss.detach())
        if i == 6:
            average = copy.deepcopy(model)
        elif i > 6:
            with torch.no_grad():
                for a, b in zip(average.parameters(), model.parameters()):
                    a.lerp_(b, 0.1)
        if best is None or i in (3, 4, 9, 17):
            best = {k: v.clone() for k, v in model.state_dict().items()}
        cycle = {"x": torch.empty(1000, device=DEVICE)}; cycle["me"] = cycle
        if i % 6 == 5:
            gc.collect()
    save()


def rotary_cache(save):
    """Cosines cached for each new length: grows while lengths are new, and that is right."""
    import torch
    model = gpt(); optimizer = adam(model); cache = {}
    record()
    generator = torch.Generator().manual_seed(4)
    for i in range(30):
        length = 16 * int(torch.randint(1, 9, (1,), generator=generator))
        if length not in cache:
            angle = torch.arange(length, device=DEVICE).float()
            cache[length] = (angle.cos(), angle.sin())
        step(model, optimizer, 4, length)
    save()


def grown_by_cat(save):
    import torch
    record()
    model = gpt(); optimizer = adam(model); history = torch.empty(0, device=DEVICE)
    for _ in range(20):
        history = torch.cat([history, step(model, optimizer).detach()[None]])
    save()


def prefetch(save):
    import torch
    model = gpt(); optimizer = adam(model); stream = torch.cuda.Stream()
    host = [torch.randint(0, 1000, (8, 64)).pin_memory() for _ in range(16)]
    record(); queue = []
    for ids in host:
        with torch.cuda.stream(stream):
            queue.append(ids.to(DEVICE, non_blocking=True))
        if len(queue) < 3:
            continue
        torch.cuda.current_stream().wait_stream(stream)
        x = queue.pop(0); x.record_stream(torch.cuda.current_stream())
        optimizer.zero_grad(); model(x).square().mean().backward(); optimizer.step()
    save()


def hf_model():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=2, vocab_size=500)).to(DEVICE)


def hf_train(save, keep):
    import torch
    model = hf_model(); optimizer = adam(model); record()
    for _ in range(9):
        ids = torch.randint(0, 500, (4, 32), device=DEVICE)
        out = model(ids, labels=ids)
        out.loss.backward(); optimizer.step(); optimizer.zero_grad()
        if keep is not None:
            keep.append(out.logits)
    save(*([] if keep is None else ["out = model(ids, labels=ids)"]))


def hf_clean(save):
    hf_train(save, None)


def hf_logits(save):
    hf_train(save, [])


def hf_generate(save):
    import torch
    model = hf_model(); record()
    for i in range(5):
        model.generate(torch.randint(0, 500, (2, 8), device=DEVICE), max_new_tokens=10 + 5 * i, do_sample=False, pad_token_id=0)
    save()


def lightning_losses(save):
    import torch, lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__(); self.net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)); self.losses = []

        def training_step(self, batch, index):
            loss = self.net(batch[0]).square().mean()
            self.losses.append(loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(160, 64)), batch_size=16)
    module = Module(); torch.zeros(1, device=DEVICE); record()
    lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False).fit(module, data)
    save("loss = self.net(batch[0]).square().mean()")


def build_only(save):
    record()
    model = gpt(layers=12)
    save()


def set_up_lists(save):
    """Lists that are built before the work: in one line, and in a loop."""
    import torch
    record()
    banks = [torch.randn(256, 1024, device=DEVICE) for _ in range(10)]
    scaled = [torch.randn(256, 1024, device=DEVICE) * 0.02 for _ in range(8)]
    model = gpt(); optimizer = adam(model)
    for _ in range(8):
        step(model, optimizer)
    save()


def set_up_only(save):
    import torch
    record()
    banks = [torch.randn(256, 1024, device=DEVICE) for _ in range(10)]
    scaled = [torch.randn(256, 1024, device=DEVICE) * 0.02 for _ in range(8)]
    save()


def replay_buffer(save):
    """One line appends until the buffer is full, another one replaces from then on."""
    import torch
    record()
    model = gpt(); optimizer = adam(model); buffer = []
    for i in range(26):
        step(model, optimizer)
        if len(buffer) < 10:
            buffer.append(torch.randn(64, 1024, device=DEVICE))
        else:
            buffer[i % 10] = torch.randn(64, 1024, device=DEVICE)
    save()


def filled_buffer(save):
    """A buffer that is full after 25 of 40 steps."""
    import torch
    record()
    model = gpt(); optimizer = adam(model); buffer = []
    for i in range(40):
        step(model, optimizer)
        if i < 25:
            buffer.append(torch.randn(64, 1024, device=DEVICE))
    save()


def unfrozen_layers(save):
    """Layers that get gradients and an optimizer's state one after another."""
    record()
    model = gpt(layers=6); optimizer = adam(model)
    for p in model.parameters():
        p.requires_grad_(False)
    for p in model.head.parameters():
        p.requires_grad_(True)
    for i in range(22):
        if i % 3 == 2 and i // 3 < 6:
            for p in model.blocks[5 - i // 3].parameters():
                p.requires_grad_(True)
        step(model, optimizer)
    save()


def first_epoch_cache(save):
    """Features that are computed in the first of three epochs."""
    import torch
    record()
    model = gpt(); optimizer = adam(model); features = {}
    for epoch in range(3):
        for batch in range(8):
            if batch not in features:
                features[batch] = torch.randn(64, 1024, device=DEVICE)
            step(model, optimizer)
    save()


def cat_in_training(save):
    import torch
    record()
    model = gpt(); optimizer = adam(model); seen = torch.empty(0, 1024, device=DEVICE)
    for _ in range(12):
        step(model, optimizer)
        seen = torch.cat([seen, torch.randn(128, 1024, device=DEVICE)])
    save("seen = torch.cat([seen, torch.randn(128, 1024, device=DEVICE)])")


def captures(save, lengths, leaks):
    import torch
    record()
    net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).to(DEVICE); graphs = {}
    with torch.no_grad():
        for i, length in enumerate(lengths):
            x = torch.randn(length, 256, device=DEVICE)
            key = i if leaks else length
            if key not in graphs:
                net(x); torch.cuda.synchronize(); graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    y = net(x)
                graphs[key] = (graph, x, y)
            graphs[key][0].replay()
    save(*(["y = net(x)", "x = torch.randn(length, 256, device=DEVICE)"] if leaks else []))


def captures_kept(save):
    captures(save, [512] * 10, True)


def captures_by_shape(save):
    captures(save, [64, 128, 64, 256, 128, 64, 512, 64, 128, 256, 512, 64, 128, 64, 256, 512], False)


def pass_by_cells(save):
    """The first forward pass of a recurrent net whose loop over time is the user's own."""
    import torch
    record()
    cell = torch.nn.LSTMCell(64, 256).to(DEVICE); head = torch.nn.Linear(256, 100).to(DEVICE)
    x = torch.randn(32, 40, 64, device=DEVICE); h = c = torch.zeros(32, 256, device=DEVICE); outputs = []
    for t in range(40):
        h, c = cell(x[:, t], (h, c))
        outputs.append(head(h))
    loss = torch.stack(outputs).square().mean()
    save()


def micro_batches(save):
    """Ends in the first step, after six of eight micro-batches."""
    import torch
    record()
    model = gpt(); optimizer = adam(model); optimizer.zero_grad()
    for _ in range(6):
        ids = torch.randint(0, 1000, (8, 64), device=DEVICE)
        loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()) / 8
        loss.backward()
    save()


def own_generate(save):
    """Ends within the first request, in a loop over tokens with a cache of keys and values."""
    import torch
    model = hf_model(); record()
    ids = torch.randint(0, 500, (2, 8), device=DEVICE)
    with torch.no_grad():
        out = model(ids, use_cache=True); cache = out.past_key_values
        for _ in range(24):
            token = out.logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, token], 1)
            out = model(token, past_key_values=cache, use_cache=True); cache = out.past_key_values
    save()


def predictions(save):
    import torch
    model = gpt(); record(); found = []
    with torch.no_grad():
        for _ in range(10):
            ids = torch.randint(0, 1000, (8, 64), device=DEVICE)
            found.append(model(ids).argmax(-1))
    save("found.append(model(ids).argmax(-1))")


def validation_outputs(save):
    """Each of eight epochs keeps the outputs of its validation."""
    import torch
    record()
    model = gpt(); optimizer = adam(model); outputs = []
    for epoch in range(8):
        for _ in range(5):
            step(model, optimizer)
        with torch.no_grad():
            outputs.append(model(torch.randint(0, 1000, (8, 64), device=DEVICE)))
    save("return self.head(x)")


def same_input(save):
    """Keeps outputs with their graphs, but nothing is allocated between the calls: like one pass of nine layers."""
    import torch
    model = gpt(); record(); outputs = []; ids = torch.randint(0, 1000, (8, 64), device=DEVICE)
    for _ in range(9):
        outputs.append(model(ids))
    save()


def functional_layers(save):
    """A forward pass without modules, and one training step under way."""
    import torch
    record()
    weights = [torch.randn(512, 512, device=DEVICE) * 0.02 for _ in range(12)]
    for w in weights:
        w.requires_grad_(True)

    def forward(x):
        for w in weights:
            x = torch.tanh(x @ w)
        return x

    def network(x):
        for w in weights:
            h = x @ w
            x = x + torch.relu(h)
        return x

    y = network(forward(torch.randn(256, 512, device=DEVICE)))
    save()


def serving(save):
    """Requests of all lengths, each with a cache that is dropped after it."""
    import torch
    model = hf_model(); record(); generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _ in range(7):
            ids = torch.randint(0, 500, (1, int(torch.randint(4, 30, (1,), generator=generator))), device=DEVICE)
            out = model(ids, use_cache=True)
            for _ in range(int(torch.randint(5, 30, (1,), generator=generator))):
                out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True)
    save()


def small_steps(count, after):
    """Training in few events: what each step makes goes to `after`."""
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(count):
        out = model(torch.randn(64, 256, device=DEVICE))
        loss = out.square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        after(i, out.detach(), loss.detach())


class Record:
    """Refers to itself: only the garbage collector frees it."""
    def __init__(self, out):
        self.out = out.repeat(4, 1)
        self.me = self


def garbage(save, stacks="python", count=240):
    """Cycles that Python's collector frees when it likes: no leak. With a low threshold, so that it runs a few times."""
    record(stacks); gc.set_threshold(60, 5, 1)
    small_steps(count, lambda i, out, loss: Record(out))
    save()


def garbage_native(save):
    garbage(save, "all", 60)


def garbage_by_hand(save):
    """gc.collect() frees them at one line, as a list is emptied."""
    record()
    small_steps(100, lambda i, out, loss: (Record(out), i % 20 == 19 and gc.collect()))
    save()


class Log:
    """Averages what it is given, when it is full."""
    def __init__(self):
        self.kept = []

    def log(self, tensor):
        self.kept.append(tensor)
        if len(self.kept) >= 37:
            self.flush()

    def flush(self):
        mean = sum(t.mean() for t in self.kept)
        self.kept.clear()
        return mean.item()


def emptied_lists(save):
    """A log that is called at three lines and emptied in one function; outputs that are kept for 25 steps."""
    import torch
    record(); log = Log(); outputs = []; torch.manual_seed(1); chance = torch.rand(150).tolist()

    def after(i, out, loss):
        outputs.append(out)
        log.log(loss)
        if chance[i] < 0.5:
            log.log(out.mean())
        log.log(out.var())
        if i % 25 == 24:
            torch.stack(outputs).mean().item()
            outputs.clear()
    small_steps(150, after)
    save()


def episodes(save):
    """Each episode's results are kept until its end; no two are of one length."""
    import torch
    record()
    model = torch.nn.Linear(64, 8).to(DEVICE); optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for length in [23, 41, 17, 38, 29, 52, 13, 35]:
        kept = []
        for _ in range(length):
            kept.append(model(torch.randn(512, 64, device=DEVICE)).log_softmax(1)[:, 0])
        loss = -torch.stack(kept).sum()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    save()


# What cannot be told from the recording alone.
UNDECIDED = ["functional_layers", "pass_by_cells", "same_input", "set_up_only", "captures_by_shape", "own_generate"]

SCENARIOS = [two_leaks, each_seventh, varying_logits, eval_outputs, eval_to_cpu, resnet_hook, resnet_hook_native,
             running_loss, recurrent_detached, recurrent_chained, habits, rotary_cache, grown_by_cat, prefetch,
             hf_clean, hf_logits, hf_generate, lightning_losses, build_only, set_up_lists, set_up_only, replay_buffer,
             filled_buffer, unfrozen_layers, first_epoch_cache, cat_in_training, captures_kept, captures_by_shape,
             pass_by_cells, micro_batches, own_generate, predictions, validation_outputs, same_input, functional_layers,
             serving, garbage, garbage_native, garbage_by_hand, emptied_lists, episodes]


def neutral(snapshot):
    """Give frames paths that name no particular machine."""
    import torch
    prefix = os.path.dirname(os.path.dirname(torch.__file__)).split("/lib/")[0]
    seen = set()

    def fix(frames):
        for frame in frames:
            if id(frame) not in seen:
                seen.add(id(frame))
                frame["filename"] = frame["filename"].replace(prefix, "/venv").replace(os.path.abspath(__file__), "/work/record.py").replace(__file__, "/work/record.py")

    for segment in snapshot["segments"]:
        fix(segment.get("frames", []))
        for block in segment["blocks"]:
            fix(block.get("frames", []))
    for trace in snapshot["device_traces"]:
        for event in trace:
            fix(event.get("frames", []))
    return snapshot


def saver(out, name):
    """What a scenario calls, while it still holds what it holds, with the text of each leaking line."""
    def save(*leaking):
        import torch
        gc.disable()  # what is counted below is what the snapshot has
        torch.cuda.synchronize()
        with open(f"{out}/{name}.pickle", "wb") as file:
            pickle.dump(neutral(torch.cuda.memory._snapshot()), file)
        source = open(__file__).read().splitlines()
        lines = sorted(i + 1 for i, line in enumerate(source) if line.strip() in leaking)
        with open(f"{out}/{name}.leaks", "w") as file:
            json.dump({"lines": lines, "allocated": torch.cuda.memory_allocated()}, file)
        print(name, lines, torch.cuda.memory_allocated(), flush=True)
    return save


if __name__ == "__main__":
    if os.environ.get("RECORD_ONE"):
        import torch
        torch.manual_seed(0)
        globals()[os.environ["RECORD_ONE"]](saver(sys.argv[1], os.environ["RECORD_ONE"]))
        sys.exit(0)
    for scenario in sys.argv[2:] or [f.__name__ for f in SCENARIOS]:
        subprocess.run([sys.executable, __file__, sys.argv[1]], env={**os.environ, "RECORD_ONE": scenario}, timeout=90)
    truth = {}
    for scenario in sorted(os.listdir(sys.argv[1])):
        if scenario.endswith(".leaks"):
            truth[scenario[:-6]] = json.load(open(f"{sys.argv[1]}/{scenario}"))
            os.remove(f"{sys.argv[1]}/{scenario}")
    for scenario in UNDECIDED:
        if scenario in truth:
            truth[scenario]["verdict"] = "unknown"
    json.dump(truth, open(f"{sys.argv[1]}/leaks.json", "w"), indent=1)
