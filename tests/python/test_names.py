"""Tensor names: memviz.record(names=) and memviz.name() with a stand-in for PyTorch."""

import gc
import sys

import memviz
import named
import torch_stand_in
from memviz import names
from torch_stand_in import AdamW, Module, Tensor

MIB = 1 << 20


def brief(row):
    return (row["name"], row["role"], row.get("slot"), row["shape"], row["address"], row["bytes"])


class Case(named.InFolder):
    def setUp(self):
        super().setUp()
        self.torch = torch_stand_in.install()
        self.addCleanup(sys.modules.pop, "torch", None)
        self.addCleanup(names.given.clear)

    def rows(self, value=None):
        return [brief(row) for row in names.rows_of(self.torch, value)]


class Modules(Case):
    def test_parameters_gradients_and_buffers(self):
        weight = Tensor(4096, 8, 4)
        weight.grad = Tensor(8192, 8, 4)
        self.assertEqual(self.rows(Module({"up.weight": weight}, {"mean": Tensor(12288, 8)})),
                         [("up.weight", "parameter", None, "[8,4]", 4096, 128),
                          ("up.weight", "gradient", None, "[8,4]", 8192, 128),
                          ("mean", "buffer", None, "[8]", 12288, 32)])

    def test_a_modules_optimizer_is_found(self):
        weight = Tensor(4096, 8)
        module, optimizer, other = Module({"weight": weight}), AdamW([weight]), AdamW([Tensor(1 << 20, 8)])
        optimizer.state[weight] = {"step": Tensor(0, 1, device="cpu"), "exp_avg": Tensor(8192, 8)}
        self.assertEqual(self.rows(module)[1:],
                         [("weight", "optimizer_state", "AdamW exp_avg", "[8]", 8192, 32)])
        self.assertEqual(len(other.param_groups), 1)

    def test_an_optimizers_own_copies_are_its_state(self):
        module, copy = Module({"weight": Tensor(4096, 8)}), Tensor(8192, 8)
        optimizer = AdamW([copy])
        self.assertEqual(self.rows([module, optimizer])[1:],
                         [("group 0 parameter 0", "optimizer_state", "AdamW copy", "[8]", 8192, 32)])

    def test_an_optimizer_alone_names_its_parameters(self):
        optimizer = AdamW([Tensor(4096, 8)])
        optimizer.param_groups[0]["param_names"] = ["up.weight"]
        self.assertEqual(self.rows(optimizer), [("up.weight", "parameter", None, "[8]", 4096, 32)])
        del optimizer.param_groups[0]["param_names"]
        self.assertEqual(self.rows(optimizer)[0][0], "group 0 parameter 0")

    def test_keys_and_numbers_begin_the_names(self):
        one, two = Module({"weight": Tensor(4096, 8)}), Module({"weight": Tensor(8192, 8)})
        self.assertEqual([row[0] for row in self.rows({"policy": one, "critic": two})],
                         ["policy.weight", "critic.weight"])
        self.assertEqual([row[0] for row in self.rows([one, two])], ["0.weight", "1.weight"])
        self.assertEqual([row[0] for row in self.rows([one])], ["weight"])

    def test_what_is_in_no_device_memory_has_no_row(self):
        freed = Tensor(4096, 8)
        freed.memory.size = 0
        sparse = Tensor(8192, 8)
        sparse.layout = "sparse"
        self.assertEqual(self.rows(Module({"cpu": Tensor(0, 8, device="cpu"), "meta": Tensor(0, 8, device="meta"),
                                           "freed": freed, "empty": Tensor(0, 0), "sparse": sparse})), [])

    def test_a_tensor_that_cannot_be_asked_is_left_out(self):
        odd = Tensor(4096, 8)
        odd.untyped_storage = None
        self.assertEqual(self.rows(Module({"odd": odd, "weight": Tensor(8192, 8)})),
                         [("weight", "parameter", None, "[8]", 8192, 32)])

    def test_parts_of_wrapped_tensors(self):
        shard = Tensor(1, 1)
        shard._local_tensor = Tensor(4096, 2, 4)
        quantized = Tensor(1, 1)
        quantized.data, quantized.scale = Tensor(8192, 8), Tensor(12288, 1)
        quantized.__tensor_flatten__ = lambda: (["data", "scale"], None)
        self.assertEqual([row[:1] + row[3:] for row in self.rows(Module({"shard": shard, "quantized": quantized}))],
                         [("shard", "[2,4]", 4096, 32), ("quantized.data", "[8]", 8192, 32),
                          ("quantized.scale", "[1]", 12288, 4)])

    def test_views_are_where_their_bytes_are(self):
        flat = Tensor(4096, 64)
        self.assertEqual(self.rows(Module({"a": Tensor(4096, 8, of=flat.memory), "b": Tensor(4128, 8, of=flat.memory)})),
                         [("a", "parameter", None, "[8]", 4096, 32), ("b", "parameter", None, "[8]", 4128, 32)])

    def test_other_things_are_refused(self):
        self.assertRaisesRegex(TypeError, "names= takes a module.*, not int", memviz.record, names=3)

    def test_a_function_is_called_when_a_snapshot_is_written(self):
        made = []
        later = names.Names(lambda: made[0])
        self.assertEqual(list(later.now().alive()), [])
        made.append(Module({"weight": Tensor(4096, 8)}))
        self.assertEqual([thing for _, thing in later.now().alive()], made)

    def test_nothing_is_kept_alive(self):
        recording = memviz.record("x.pickle", names=Module({"weight": Tensor(4096, 8)}))
        gc.collect()
        self.assertEqual(list(recording.names.alive()), [])


class Given(Case):
    def test_a_name_goes_with_the_memory(self):
        logits = Tensor(4096, 8)
        memory = logits.memory
        self.assertIs(memviz.name(logits, "logits"), logits)
        self.assertEqual(self.rows(), [("logits", "tensor", None, "[8]", 4096, 32)])
        del logits
        self.assertEqual(len(self.rows()), 1)
        memory.dies()
        self.assertEqual(self.rows(), [])

    def test_a_view_is_named_where_it_lies(self):
        flat = Tensor(4096, 64)
        memviz.name(Tensor(4160, 8, of=flat.memory), "part")
        self.assertEqual(self.rows(), [("part", "tensor", None, "[8]", 4160, 32)])
        flat.memory.address = 1 << 20
        self.assertEqual(self.rows()[0][4], (1 << 20) + 64)
        flat.memory.size = 0
        self.assertEqual(self.rows(), [])

    def test_names_of_freed_memory_are_dropped(self):
        for _ in range(5000):
            memviz.name(Tensor(4096, 8), "x").memory.dies()
        self.assertLess(len(names.given), 2048)

    def test_a_tensor_elsewhere_is_left_alone(self):
        memviz.name(Tensor(0, 8, device="cpu"), "x")
        self.assertEqual(names.given, [])

    def test_record_takes_tensors_too(self):
        cache = Tensor(4096, 8)
        self.assertEqual(self.rows({"kv cache": cache}), [("kv cache", "tensor", None, "[8]", 4096, 32)])


class InFiles(Case):
    def setUp(self):
        super().setUp()
        self.taken = self.path("x.pickle")
        block = {"address": 4096, "size": MIB, "requested_size": MIB, "state": "active_allocated", "frames": []}
        self.torch.taken = {"segments": [
            {"device": 0, "address": 4096, "total_size": 2 * MIB, "allocated_size": MIB, "active_size": MIB,
             "requested_size": MIB, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
             "is_expandable": False, "frames": [],
             "blocks": [block, {**block, "address": 4096 + MIB, "state": "inactive"}]}], "device_traces": [[]]}

    def test_the_program_reads_them(self):
        module = Module({"up.weight": Tensor(4096, 512, 512)})
        with memviz.record(self.taken, names=module):
            pass
        self.assertEqual(names.sources, [])
        self.assertEqual(named.loaded(self.taken)[names.KEY][0]["name"], "up.weight")
        found = memviz.report("peak", self.taken)
        self.assertEqual(found["categories"], {"parameter": MIB})
        self.assertEqual(memviz.report("info", self.taken)["notes"], [])

    def test_an_out_of_memory_has_them(self):
        module = Module({"up.weight": Tensor(4096, 512, 512)})
        with self.assertRaises(torch_stand_in.OutOfMemoryError):
            with memviz.record(self.taken, names=module):
                self.torch.run_out()
        self.assertEqual(named.loaded(self.path("x-oom1.pickle"))[names.KEY][0]["address"], 4096)


if __name__ == "__main__":
    named.main()
