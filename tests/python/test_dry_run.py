"""memviz dry-run and memviz.dry_run: the allocator as arithmetic on recordings, the command, and, with PyTorch 2.2 or
later, programs."""

import importlib.util
import os
import pickle
import random
import sys
import textwrap
import unittest

import memviz
import named
from memviz.dry import allocator


def has_torch():
    """Debian 12 has PyTorch 1.13, without fake tensors of a GPU."""
    if not importlib.util.find_spec("torch"):
        return False
    from importlib import metadata
    return tuple(int(part) for part in metadata.version("torch").split("+")[0].split(".")[:2]) >= (2, 2)


def replayed(events, limit=None):
    found, live = allocator.Allocator(limit=limit), {}
    for event in events:
        if event["action"] == "alloc":
            live[event["addr"]] = found.alloc(event["size"], event["stream"], [])
        elif event["action"] == "free_completed":
            found.free(live.pop(event["addr"]))
    return found


class Arithmetic(named.InFolder):
    def events(self, name):
        return named.loaded(named.snapshot(name))["device_traces"][0]

    def dumped(self, found, **settings):
        path = self.path("dumped.pickle")
        with open(path, "wb") as file:
            pickle.dump({"segments": found.segments(), "device_traces": [found.events], "allocator_settings": settings,
                         "external_annotations": []}, file)
        return path

    def test_it_reserves_what_pytorch_reserved(self):
        for name in ("mlp_train", "gpt_train"):
            peak = memviz.report("stats", named.snapshot(name))["devices"][0]["peak"]
            found = replayed(self.events(name))
            self.assertEqual(found.peak_reserved, peak["reserved"], name)
            self.assertLess(abs(found.peak_allocated - peak["allocated"]), 1 << 21, name)

    def test_its_snapshot_is_exact(self):
        found = replayed(self.events("gpt_train"))
        path = self.dumped(found, dry_run=True)
        device = memviz.report("stats", path)["devices"][0]
        self.assertTrue(device["audit"]["exact"])
        self.assertEqual(device["peak"]["reserved"], found.peak_reserved)
        self.assertEqual(device["peak"]["allocated"], found.peak_allocated)
        self.assertIs(memviz.report("info", path)["dry_run"], True)
        for command in ("triage", "info", "stats", "leaks", "peak", "lines", "fragmentation", "memory", "floor", "whatif", "trace"):
            self.assertTrue(memviz.run(command, path).stdout.startswith(f"{path}: predicted by a dry run\n\n"), command)
            self.assertNotIn("predicted by", memviz.run(command, "--csv", path).stdout, command)
        self.assertEqual(memviz.run("diff", path, path).stdout.count("predicted by a dry run"), 2)
        memviz.run("diff", "-o", self.path("x.folded"), path, path)
        with open(self.path("x.folded")) as file:
            self.assertNotIn("predicted by", file.read())
        for doubt, said in (("about", ", roughly: some sizes are estimates"), ("at_least", ", as a lower bound: some sizes are unknown")):
            path = self.dumped(found, dry_run=True, **{"dry_run_" + doubt: True})
            self.assertTrue(memviz.run("stats", path).stdout.startswith(f"{path}: predicted by a dry run{said}\n\n"))
        self.assertIs(memviz.report("info", named.snapshot("gpt_train"))["dry_run"], False)

    def test_settings_reserve_what_the_replay_reserves(self):
        """A random program under each setting: whatif replays each event of its snapshot."""
        for conf in ("", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4",
                     "roundup_power2_divisions:[1:2,4:8,>:4], max_split_size_mb:64", "large_segment_size_mb:40",
                     "expandable_segments:True,roundup_power2_divisions:8", "max_split_size_mb:21,max_non_split_rounding_mb:22"):
            some, found, live = random.Random(1), allocator.Allocator(settings=allocator.Settings(conf)), []
            for n in range(2000):
                if len(live) > 80 or live and some.random() < 0.45:
                    found.free(live.pop(some.randrange(len(live))))
                else:
                    live.append(found.alloc(int(2 ** some.uniform(6, 26)), some.choice((0, 0, 16)), []))
                if n % 700 == 699:
                    found.release()
            path = self.dumped(found, **found.settings.snapshot())
            device = memviz.report("stats", path)["devices"][0]
            replay = memviz.report("whatif", path, "--conf", conf or "expandable_segments:False")["devices"][0]
            self.assertTrue(device["audit"]["exact"], conf)
            self.assertEqual(device["peak"]["reserved"], found.peak_reserved, conf)
            self.assertEqual(replay["fidelity"]["trust"], "exact", conf)

    def test_a_limit_with_settings(self):
        found = allocator.Allocator(limit=64 << 20, settings=allocator.Settings("expandable_segments:True"))
        first = found.alloc(30 << 20, 0, [])
        found.free(found.alloc(20 << 20, 16, []))
        found.alloc(20 << 20, 0, [])  # of 40 MiB mapped for the first stream, 10 are free: 20 more fit only without the other stream's
        self.assertEqual(found.reserved, 60 << 20)
        with self.assertRaises(allocator.OutOfMemory):
            found.alloc(20 << 20, 0, [])
        found.free(first)
        self.assertTrue(found.alloc(30 << 20, 0, []))

    def test_unknown_settings_are_named(self):
        self.assertEqual(allocator.Settings("backend:cudaMallocAsync,pinned_use_background_threads:True").unknown,
                         ["backend:cudaMallocAsync"])

    def test_sizes_and_segments(self):
        for size, total in ((1, 2 << 20), (1 << 20, 2 << 20), ((1 << 20) + 1, 20 << 20), ((10 << 20) - 1, 10 << 20),
                            ((10 << 20) + 1, 12 << 20)):
            found = allocator.Allocator()
            found.alloc(size, 0, [])
            self.assertEqual(found.reserved, total, size)

    def test_streams_do_not_share_blocks(self):
        found = allocator.Allocator()
        found.free(found.alloc(512, 0, []))
        found.alloc(512, 16, [])
        self.assertEqual(found.reserved, 4 << 20)

    def test_a_limit_is_met_by_giving_back_what_is_free(self):
        found = allocator.Allocator()
        first = found.alloc(30 << 20, 0, [])
        found.free(first)
        found.alloc(40 << 20, 0, [])
        self.assertEqual(found.peak_reserved, 70 << 20)
        self.assertTrue(allocator.fits(found, 40 << 20))
        self.assertFalse(allocator.fits(found, (40 << 20) - 1))
        for room, side in ((70, "fits"), (69, "fits without its cache"), (41, "fits without its cache"), (40, "probably fits"), (39, "does not fit")):
            self.assertEqual(allocator.side(found, room << 20, 70 << 20, 70 << 20, 0.01), side)
        self.assertEqual(allocator.side(found, 39 << 20, 70 << 20, 70 << 20, 0.15), "probably does not fit")
        self.assertEqual(allocator.side(found, 69 << 20, 68 << 20, 72 << 20, 0.01), "may not fit")
        self.assertEqual(allocator.side(found, 39 << 20, 39 << 20, 72 << 20, 0.01), "may not fit")

    def test_addresses_fall_as_the_drivers_do(self):
        """In slots of 32 MiB, each below the last one; the rest of the lowest is used first."""
        found = allocator.Allocator()
        first, second, third, rest = (found.address(size << 20) for size in (20, 30, 40, 12))
        self.assertEqual([first - second, second - third, rest - third], [32 << 20, 64 << 20, 40 << 20])

    def test_the_order_of_addresses_decides_what_is_reserved(self):
        """Of two free blocks of 40 MiB, half a segment and a whole segment, the lower one is used: is the first segment whole again?"""
        def reserved(seed):
            found = allocator.Allocator(seed=seed)
            found.free(found.alloc(80 << 20, 0, []))
            blocks = [found.alloc(40 << 20, 0, []) for _ in range(3)]
            found.free(blocks[1])
            found.free(blocks[2])
            found.alloc(40 << 20, 0, [])
            found.free(blocks[0])
            found.alloc(80 << 20, 0, [])
            return found.peak_reserved >> 20

        self.assertEqual(reserved(None), 120)
        self.assertEqual({reserved(seed) for seed in range(allocator.TRIES)}, {120, 200})

    def test_a_block_that_another_stream_uses_is_free_once_the_program_waits(self):
        found = allocator.Allocator()
        found.free(found.alloc(30 << 20, 0, []), is_late=True)
        found.free(found.alloc(30 << 20, 0, []))
        found.waited()
        found.alloc(30 << 20, 0, [])
        self.assertEqual(found.peak_reserved, 30 << 20)
        self.assertEqual({a.peak_reserved >> 20 for a in allocator.others(found)}, {30, 60})


class Runs(named.InFolder):
    def run_dry(self, *words, **more):
        return named.run(os.environ["MEMVIZ_PROGRAM"], "dry-run", *words, cwd=self.folder, **more)


class Command(Runs):
    def test_the_program_runs_and_its_status_counts(self):
        done = self.run_dry("--steps", "5", "--gpu", "24000", "-o", "x", "--", sys.executable, "-c",
                            "import os, sys; del os.environ['MEMVIZ_DRY_RUN_PROCESS']; "
                            "print(sorted(k + '=' + v for k, v in os.environ.items() if 'DRY' in k)); sys.exit(7)")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, "['MEMVIZ_DRY_RUN=x', 'MEMVIZ_DRY_RUN_GPU=24000', 'MEMVIZ_DRY_RUN_STEPS=5']\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_another_sitecustomize_runs_too(self):
        self.put("sitecustomize.py", "print('theirs')\n")
        done = self.run_dry("--", sys.executable, "-c", "import sitecustomize; print('program')",
                            env={**os.environ, "PYTHONPATH": self.folder})
        self.assertEqual(done.stdout, "theirs\nprogram\n", done.stderr)

    def test_a_package_that_is_missing_is_named(self):
        done = self.run_dry("--", "true", env={**os.environ, "MEMVIZ_PYTHON": self.folder})
        self.assertEqual(done.returncode, 1)
        self.assertIn("memviz/dry/site", done.stderr)

    def test_a_program_without_pytorch_is_reported(self):
        done = self.run_dry("--", sys.executable, "-c",
                            "import subprocess, sys; subprocess.run([sys.executable, '-c', ''])")
        self.assertEqual(done.stderr, "memviz: the program did not import torch: nothing to predict\n")

    def test_an_older_pytorch_is_named(self):
        self.put("torch.py", "__version__ = '1.13.0'\n")
        done = self.run_dry("--", sys.executable, "-c", "import torch", env={**os.environ, "PYTHONPATH": self.folder})
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "memviz: a dry run needs PyTorch 2.2 or later; this is 1.13.0\n")

    def test_steps_must_be_a_number(self):
        self.assertEqual(self.run_dry("--steps", "few", "--", "true").returncode, 2)


@unittest.skipUnless(has_torch(), "needs PyTorch 2.2")
class Programs(Runs):
    PROGRAM = textwrap.dedent("""
        import torch
        torch.manual_seed(0)
        model = torch.nn.Linear(1024, 1024).cuda()
        optimizer = torch.optim.Adam(model.parameters())
        for step in range(100):
            optimizer.zero_grad()
            lengths = torch.randint(1, 9, (4,)).cuda()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(torch.randn(int(lengths.max()), 1024).cuda()).square().mean()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """)

    def test_a_program_is_predicted(self):
        done = self.run_dry("-o", "x.pickle", "--", sys.executable, "-c", self.PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "0 1.0\n1 1.0\n")
        self.assertIn("needs", done.stderr)
        device = memviz.report("stats", self.path("x.pickle"))["devices"][0]
        self.assertTrue(device["audit"]["exact"])
        # The parameters, their gradients and two states of Adam, each 4 MiB and its bias, are alive at the end.
        self.assertGreaterEqual(device["current"]["requested"], 4 * 4 * (1024 * 1024 + 1024))

    def test_a_stop_is_reported(self):
        for steps, is_stopped in (("2", True), ("101", False)):
            done = self.run_dry("--steps", steps, "-o", "x.pickle", "--", sys.executable, "-c", self.PROGRAM)
            self.assertEqual("stopped after 2 steps (see --steps)" in done.stderr, is_stopped, done.stderr)

    OPTIMIZERS = textwrap.dedent("""
        import torch
        models = [torch.nn.Linear(64, 64).cuda() for _ in range(2)]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        for step in range(100):
            for i in range(2):
                if i == 0 or step %% %d == 4:
                    models[i](torch.randn(8, 64).cuda()).sum().backward()
                    optimizers[i].step()
                    print(i, end="")
        """)

    def test_each_optimizer_makes_its_steps_unless_it_waits_for_long(self):
        done = self.run_dry("--steps", "2", "--", sys.executable, "-c", self.OPTIMIZERS % 5)
        self.assertEqual(done.stdout, "00000100000", done.stderr)
        done = self.run_dry("--steps", "2", "--", sys.executable, "-c", self.OPTIMIZERS % 100)
        self.assertEqual(done.stdout, "000001" + "0" * 14, done.stderr)
        self.assertIn("stopped after 20 steps; of 2 optimizers, one made 1 (see --steps)", done.stderr)

    def test_settings_of_the_allocator(self):
        for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
            self.run_dry("-o", "x.pickle", "--", sys.executable, "-c", self.PROGRAM, env={**os.environ, name: "expandable_segments:True"})
            segments = named.loaded(self.path("x.pickle"))["segments"]
            self.assertTrue(all(s["is_expandable"] for s in segments), name)

    def test_only_what_is_expected(self):
        done = self.run_dry("--expect", "--gpu", "800", "--", sys.executable, "-c", self.PROGRAM)
        self.assertIn("does not fit a GPU of 800 MiB", done.stdout.splitlines()[-1])
        self.assertEqual(os.listdir(self.folder), [])

    SHARDED = textwrap.dedent("""
        import torch
        from torch.distributed.fsdp import fully_shard
        torch.distributed.init_process_group("nccl")
        model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(8)]).cuda()
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            model(torch.randn(8, 1024, device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.reset_peak_memory_stats()
        model(torch.randn(8, 1024, device="cuda"))
        print(torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)
        """)

    def test_shards_of_two_ranks(self):
        """Half of 8 parameters of 4 MiB and of their 2 states: 48 MiB, and cuBLAS's 64; gathered layers come and go."""
        done = self.run_dry("--ranks", "2", "--steps", "9", "--", sys.executable, "-c", self.SHARDED)
        if "cannot import name 'fully_shard'" in done.stderr:
            self.skipTest("needs PyTorch 2.6")
        now, peak = map(int, done.stdout.split())
        self.assertLess(abs(now - (48 + 64)), 4, done.stderr)
        self.assertTrue(now + 4 <= peak <= now + 16, done.stdout)
        self.assertIn("with the context and NCCL", done.stderr)

    PARALLEL = textwrap.dedent("""
        import torch
        torch.distributed.init_process_group("nccl")
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4096, 4096, bias=False).cuda())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 4096, device="cuda")).sum().backward()
            optimizer.step()
        """)

    def test_buckets_that_nccl_may_hold_are_a_second_figure(self):
        """The old bucket, 64 MiB of gradients, may or may not be free when DDP makes the new one."""
        done = self.run_dry("-o", "x.pickle", "--ranks", "2", "--", sys.executable, "-c", self.PARALLEL)
        self.assertRegex(done.stderr, r"between: the time that the GPU needs, and NCCL's watchdog(.|\n)*needs \d+ MiB to \d+ MiB reserved")
        settings = named.loaded(self.path("x.pickle"))["allocator_settings"]
        self.assertGreaterEqual(settings["dry_run_reserved_most"] - settings["dry_run_reserved_least"], 64 << 20, done.stderr)
        self.assertFalse(settings["dry_run_about"])

    def test_the_launcher_of_ranks_is_left_alone(self):
        for name, seen in (("torchrun", "False"), ("train.py", "True")):
            self.put(name, "import torch; print(torch.cuda.is_available())")
            done = self.run_dry("--", sys.executable, name, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
            self.assertEqual(done.stdout.strip(), seen, name)

    def test_compiled_code_is_about(self):
        done = self.run_dry("--expect", "--", sys.executable, "-c", self.PROGRAM.replace(".cuda()\noptimizer", ".cuda()\nmodel = torch.compile(model)\noptimizer"))
        self.assertIn("needs about", done.stdout.splitlines()[-1])

    def test_streams_may_be_nested(self):
        import torch

        def step():
            side = torch.cuda.Stream()
            with torch.cuda.stream(side), torch.cuda.stream(side):
                torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
            torch.empty(30 << 20, dtype=torch.uint8, device="cuda")  # of the first stream, which cannot use the side stream's block

        self.assertEqual(memviz.dry_run(step)["reserved"], 60 << 20)

    def test_gradients_are_of_their_operators_stream(self):
        import torch

        def step():
            side = torch.cuda.Stream()
            x = torch.ones(4 << 20, device="cuda", requires_grad=True)
            with torch.cuda.stream(side):
                y = x * 2
                torch.empty_like(y)  # 16 MiB more on the side stream, which the gradient of x reuses
            y.sum().backward()

        self.assertEqual(memviz.dry_run(step)["reserved"], (16 + 2 + 16 + 16) << 20)

    def test_a_function(self):
        import torch

        def step():
            torch.nn.Linear(1000, 1000, device="cuda")(torch.ones(8, 1000, device="cuda")).sum().backward()

        found = memviz.dry_run(step)
        self.assertGreater(found["allocated"], 2 * 4_000_000)
        self.assertGreaterEqual(found["reserved"], found["allocated"])
        self.assertFalse(found["at_least"] or found["about"])
        self.assertTrue(found["reserved_least"] <= found["reserved"] <= found["reserved_most"])

    AFTER_OTHER_WORK = textwrap.dedent("""
        import memviz, torch
        def step():
            torch.nn.Linear(1000, 1000).cuda()(torch.randn(64, 1000).cuda()).sum().backward()
        x = torch.randn(1000, 1000, requires_grad=True)
        x @ x  # starts the threads of OpenMP
        if torch.cuda.is_available():
            torch.ones(1, device="cuda")
        print(memviz.dry_run(step)["reserved"])
        (x @ x).sum().backward()
        try:
            print(memviz.dry_run(step)["reserved"])
        except memviz.Error as why:
            print(why)
        """)

    def test_a_function_after_other_work(self):
        """A copy of the process has neither OpenMP's threads nor the GPU; with a GPU, it has no autograd either after a backward pass."""
        done = named.run(sys.executable, "-c", self.AFTER_OTHER_WORK)
        first, second = done.stdout.splitlines()
        self.assertTrue(second == first or second.endswith("or use the command memviz dry-run"), done.stderr)

    def test_programs_that_once_ended_in_an_error(self):
        """Operators without a fake kernel and with several results, packed sequences, transforms, and operators that inference mode does not decompose."""
        import torch

        def step():
            x = torch.randn(6, 4, 8, device="cuda", requires_grad=True)
            cell, norm = torch.nn.GRUCell(8, 8, device="cuda"), torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(8, 8, device="cuda"))
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([6, 5, 4, 2]))
            self.assertEqual(list(packed.data.size()), [17, 8])
            back = torch.fft.irfft2(torch.fft.rfft2(x))
            self.assertEqual((back.size(), back.dtype), (x.size(), torch.float32))
            loss = torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.ones(4, 2, dtype=torch.long, device="cuda"), [6, 5, 4, 2], [2, 2, 1, 1])
            (packed.data.sum() + back.sum() + loss + norm(cell(x[0])).sum()).backward()
            with torch.inference_mode():
                self.assertEqual(torch.nn.functional.linear(x, cell.weight_ih).sum().item(), 1.0)
            self.assertTrue(x.grad.norm().isfinite() and not x.grad[0, 0, 0].isnan())
            self.assertEqual(x.grad.size(), x.size())

        found = memviz.dry_run(step)
        self.assertFalse(found["at_least"] or any("rough: a condition" in note for note in found["notes"]), found["notes"])
        self.assertTrue(found["about"])

    def test_gradients_of_distances_take_a_value_for_each_pair_and_feature(self):
        import torch

        def step():
            x = torch.randn(1000, 8, device="cuda", requires_grad=True)
            torch.cdist(x, x, p=1).sum().backward()

        self.assertGreater(memviz.dry_run(step)["allocated"], 1000 * 1000 * 4 * 8)

    def test_formulas_of_gradients_fill_zeros_in_place(self):
        """PyTorch copies the zeros first if an argument belongs to a tensor subclass, as fake tensors do."""
        import torch
        which = torch.zeros(1, 1 << 20, dtype=torch.long)
        takes = {"gather": lambda x, n: x.gather(0, n), "index": lambda x, n: x[n[0, :1]], "max": lambda x, n: x.max(0)[0],
                 "index_select": lambda x, n: x.index_select(0, n[0, :1])}
        for name, take in takes.items():
            def step():
                x = torch.zeros(8, 1 << 20, device="cuda", requires_grad=True)
                take(x, which.cuda()).sum().backward()

            self.assertLess(memviz.dry_run(step)["allocated"], 3 * (32 << 20), name)

    def test_masks_formats_and_what_needs_a_gpu(self):
        import torch

        def step():
            x, known = torch.randn(16, 32, device="cuda", requires_grad=True), torch.arange(16, device="cuda") > 5
            self.assertEqual(x[known].size(), (10, 32))
            x[known].sum().backward()
            x.grad[known] = 0
            self.assertEqual(f"{x.sum():.1f} {x.size()}", "1.0 torch.Size([16, 32])")
            self.assertTrue(torch.allclose(x, x + 1) and not torch.equal(x, x + 1))
            torch.nn.DataParallel(torch.nn.Linear(32, 32, device="cuda"))(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                torch.zeros(4, device="cuda")

        memviz.dry_run(step)

        def unknown():
            x = torch.randn(16, 32, device="cuda", requires_grad=True)
            x[x.sum(1) > 0].sum().backward()

        self.assertTrue(memviz.dry_run(unknown)["at_least"])

    def test_a_condition_on_computed_values_is_about(self):
        import torch

        def step(condition):
            x = torch.randn(1000, device="cuda")
            return lambda: torch.empty(1 << 20, device="cuda") if condition(x) else None

        self.assertTrue(memviz.dry_run(lambda: step(lambda x: x.sum() > 0)())["about"])
        finite = memviz.dry_run(lambda: step(lambda x: x.isfinite().all())())
        self.assertFalse(finite["about"])
        self.assertGreater(finite["allocated"], 1 << 22)

    def test_what_cudnn_chooses_is_about(self):
        import torch

        def step():
            torch.nn.Conv2d(64, 128, 3, device="cuda")(torch.ones(8, 64, 32, 32, device="cuda")).sum().backward()

        found = memviz.dry_run(step)
        self.assertTrue(found["about"])
        self.assertIn("needs about", found["verdict"])

    def test_a_copy_of_a_module_takes_its_memory_once(self):
        import copy
        import torch

        def step():
            layer = copy.deepcopy(torch.nn.Linear(1024, 1024, bias=False)).cuda()  # 4 MiB
            layer(torch.ones(8, 1024, device="cuda"))

        self.assertLess(memviz.dry_run(step)["allocated"], (32 + 4 + 1) << 20)  # and cuBLAS's workspace

    def test_an_rnn_takes_halves_under_autocast(self):
        import torch

        def step():
            rnn = torch.nn.LSTM(64, 64, device="cuda")
            with torch.autocast("cuda", torch.bfloat16):
                assert rnn(torch.ones(8, 4, 64, device="cuda"))[0].dtype == torch.bfloat16

        self.assertTrue(memviz.dry_run(step)["about"])

    def test_checks_of_computed_values_pass(self):
        """Distributions check with all() that their values are valid."""
        import torch

        def step():
            torch.distributions.Categorical(logits=torch.randn(8, 4, device="cuda"), validate_args=True).sample()

        self.assertFalse(memviz.dry_run(step)["at_least"])

    def test_attention_takes_halves_under_autocast(self):
        import torch

        def step():
            parts = [torch.randn(1, 4, 1024, 64, device="cuda") for _ in range(3)]  # 1 MiB each
            with torch.autocast("cuda", torch.bfloat16):
                out = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
            assert out.dtype == torch.bfloat16

        self.assertLess(memviz.dry_run(step)["allocated"], 6 << 20)  # in floats, the scores alone are 16 MiB

    def test_gradients_that_are_sparse(self):
        import torch

        def step():
            table = torch.nn.Embedding(1000, 64, sparse=True, device="cuda")
            table(torch.arange(100, device="cuda")).sum().backward()
            torch.optim.SparseAdam(table.parameters()).step()

        found = memviz.dry_run(step)
        self.assertIn("needs at least", found["verdict"])


if __name__ == "__main__":
    named.main()
