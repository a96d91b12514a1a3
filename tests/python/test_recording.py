"""memviz.record and memviz.snapshot with a stand-in for PyTorch."""

import contextlib
import io
import os
import pickle
import sys
import unittest
from unittest import mock

import memviz
import named
import torch_stand_in
from memviz import recording


class Case(named.InFolder):
    def setUp(self):
        super().setUp()
        self.torch = torch_stand_in.install(named.loaded(named.snapshot("mlp_train")))
        self.addCleanup(sys.modules.pop, "torch", None)

    def names(self):
        return sorted(os.listdir(self.folder))


class Snapshot(Case):
    def test_it_is_read_as_the_pickle_is(self):
        theirs = memviz.report("stats", named.snapshot("mlp_train"))["devices"]
        for name in self.path("x.pickle"), self.path("x.msgpack"):
            memviz.snapshot(name)
            self.assertEqual(memviz.report("stats", name)["devices"], theirs)

    def test_a_pickle_is_pytorchs_own(self):
        memviz.snapshot(self.path("x.pickle"))
        self.assertEqual(named.loaded(self.path("x.pickle")), self.torch.taken)

    def test_a_failure_leaves_no_file_and_the_old_one_whole(self):
        memviz.snapshot(self.path("x.pickle"))
        self.torch.taken = {"segments": [{"device": lambda: 0}], "device_traces": []}
        for name in "x.pickle", "y.msgpack":
            self.assertRaises((TypeError, AttributeError, pickle.PicklingError), memviz.snapshot, self.path(name))
        self.assertEqual(self.names(), ["x.pickle"])
        self.assertEqual(len(memviz.report("stats", self.path("x.pickle"))["devices"]), 1)

    def test_keys_that_are_not_known_are_noted(self):
        self.torch.taken["device_traces"][0][0]["new_key"] = 1
        self.torch.taken["segments"][0]["blocks"][0]["newer"] = 1
        memviz.snapshot(self.path("x.pickle"))
        notes = {note["code"]: note for note in memviz.report("info", self.path("x.pickle"))["notes"]}
        self.assertEqual(notes["unknown_key"]["count"], 2)

    def test_without_a_device_it_says_so(self):
        torch_stand_in.install(has_cuda=False)
        self.assertRaisesRegex(memviz.Error, "2.11.0 sees no CUDA device", memviz.snapshot, self.path("x"))
        self.assertEqual(self.names(), [])


class Record(Case):
    def setUp(self):
        super().setUp()
        self.said = io.StringIO()
        said = contextlib.redirect_stderr(self.said)
        said.__enter__()
        self.addCleanup(said.__exit__, None, None, None)

    def test_the_recorder_is_on_within_and_off_after(self):
        with memviz.record(self.path("x.pickle"), max_entries=1000) as found:
            self.assertTrue(self.torch.is_recording)
        self.assertEqual(self.torch.recordings, [dict(context="all", stacks="python", max_entries=1000), None])
        self.assertEqual(self.names(), ["x.pickle"])
        self.assertEqual(found.oom_paths, [])

    def test_stacks_can_be_left_out(self):
        with memviz.record(self.path("x.pickle"), stacks=None):
            self.assertIsNone(self.torch.recordings[0]["context"])

    def test_a_recorder_that_was_on_is_left_as_it_is(self):
        self.torch.is_recording = True
        with memviz.record(self.path("x.pickle")):
            pass
        self.assertEqual(self.torch.recordings, [])
        self.assertEqual(self.names(), ["x.pickle"])

    def test_nested_ones_share_the_recorder(self):
        with memviz.record(self.path("outer.pickle")):
            with memviz.record(self.path("inner.pickle")):
                pass
            self.assertTrue(self.torch.is_recording)
            self.assertEqual(self.names(), ["inner.pickle"])
        self.assertEqual(len(self.torch.recordings), 2)
        self.assertEqual(self.names(), ["inner.pickle", "outer.pickle"])

    def test_the_last_of_those_that_overlap_stops_the_recorder(self):
        first, second = memviz.record(self.path("first.pickle")), memviz.record(self.path("second.pickle"))
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        self.assertTrue(self.torch.is_recording)
        second.__exit__(None, None, None)
        self.assertFalse(self.torch.is_recording)
        self.assertEqual(len(self.torch.recordings), 2)

    def test_it_decorates_functions_that_call_themselves(self):
        @memviz.record(self.path("x.pickle"))
        def down(n):
            return n and down(n - 1)

        self.assertEqual(down(3), 0)
        self.assertEqual(len(self.torch.recordings), 2)
        self.assertFalse(self.torch.is_recording)
        self.assertEqual(recording.active, [])

    def test_without_a_device_the_program_runs_and_no_file_is_written(self):
        torch_stand_in.install(has_cuda=False)
        path, ran = self.path("x.pickle"), []
        recording = memviz.record(path)
        for step in range(2):
            with recording, memviz.record(path):  # also within another recording
                ran.append(step)
        self.assertRaises(KeyError, recording(lambda: {}["no"]))
        self.assertEqual((ran, self.names(), recording.oom_paths), ([0, 1], [], []))
        self.assertEqual(self.said.getvalue().count("nothing is recorded, " + path + " is not written"), 3)

    def test_each_out_of_memory_has_a_snapshot_of_the_innermost(self):
        with memviz.record(self.path("outer.pickle")):
            with memviz.record(self.path("inner.pickle")) as inner:
                for _ in range(2):
                    self.assertRaises(MemoryError, self.torch.run_out)
        self.assertEqual(self.names(), ["inner-oom1.pickle", "inner-oom2.pickle", "inner.pickle", "outer.pickle"])
        self.assertEqual(inner.oom_paths, [self.path("inner-oom1.pickle"), self.path("inner-oom2.pickle")])
        self.assertIn("memviz oom " + self.path("inner-oom1.pickle"), self.said.getvalue())

    def test_one_observer_serves_all_and_ends_with_them(self):
        for _ in range(3):
            with memviz.record(self.path("x.pickle")):
                pass
        self.assertEqual(len(self.torch.observers), 1)
        self.assertRaises(MemoryError, self.torch.run_out)
        self.assertEqual(self.names(), ["x.pickle"])

    def test_on_oom_can_be_left_out(self):
        with memviz.record(self.path("x.pickle"), on_oom=False):
            self.assertRaises(MemoryError, self.torch.run_out)
        self.assertEqual(self.names(), ["x.pickle"])

    def test_the_one_around_it_takes_its_place_then(self):
        with memviz.record(self.path("outer.pickle")):
            with memviz.record(self.path("inner.pickle"), on_oom=False):
                self.assertRaises(MemoryError, self.torch.run_out)
        self.assertEqual(self.names(), ["inner.pickle", "outer-oom1.pickle", "outer.pickle"])

    def test_there_are_at_most_ten_of_them(self):
        with memviz.record(self.path("x.pickle")):
            for _ in range(30):
                self.assertRaises(MemoryError, self.torch.run_out)
        self.assertEqual(len(self.names()), 11)

    def test_the_programs_own_exception_comes_through(self):
        with self.assertRaises(MemoryError):
            with memviz.record(self.path("no/such/folder.pickle")):
                self.torch.run_out()
        self.assertIn("no snapshot of the out-of-memory", self.said.getvalue())
        self.assertFalse(self.torch.is_recording)
        with self.assertRaises(ZeroDivisionError):
            with memviz.record(self.path("x.pickle")):
                1 / 0
        self.assertEqual(self.names(), ["x.pickle"])

    def test_what_cannot_be_written_is_an_error_and_the_recorder_off(self):
        with self.assertRaises(OSError):
            with memviz.record(self.path("no/such/folder.pickle")):
                pass
        self.assertFalse(self.torch.is_recording)

    def test_names_have_the_process_and_the_rank(self):
        with mock.patch.dict(os.environ, RANK="3"):
            with memviz.record(self.path("x.%r.%p.pickle")):
                pass
        self.assertEqual(self.names(), [f"x.3.{os.getpid()}.pickle"])

    def test_the_rank_is_the_one_that_memviz_run_takes(self):
        for variables, rank in (({"LOCAL_RANK": "3"}, "3"), ({"RANK": "", "LOCAL_RANK": "3", "PMI_RANK": "5"}, "3"),
                                ({"RANK": "7", "LOCAL_RANK": "3"}, "7"), ({"SLURM_PROCID": "05"}, "5"),
                                ({"RANK": "x", "LOCAL_RANK": "3"}, "0"), ({}, "0")):
            with mock.patch.dict(os.environ, variables):
                for name in set(recording.RANKS) - set(variables):
                    os.environ.pop(name, None)
                self.assertEqual(memviz.record("x.%r").path, f"x.{rank}")

    def test_names_have_the_host_and_percents(self):
        with mock.patch.object(recording.os, "uname") as uname:
            for host, word in (("gpu-7.example.org", "gpu-7.example.org"), ("../a b", "_._a_b")):
                uname.return_value.nodename = host
                self.assertEqual(memviz.record("%h.%%r.%x%").path, word + ".%r.%x%")

    def test_marks_and_ranges_are_annotations_within(self):
        with memviz.record(self.path("x.pickle")):
            with memviz.range("step"):
                memviz.mark("now")
        with memviz.range("outside"):
            pass
        self.assertEqual(self.torch.annotations, ["step", "now", "/now", "/step"])

    def test_an_old_pytorch_is_named(self):
        self.torch.cuda.memory._record_memory_history = lambda enabled, record_context=True: None
        with self.assertRaisesRegex(memviz.Error, "2.11.0 is too old"):
            memviz.record(self.path("x.pickle")).__enter__()


# A module of None cannot be imported, as if PyTorch was not installed.
MISSING = """
import sys, memviz
sys.path.insert(0, sys.argv[1])
if not sys.path[0]:
    sys.modules["torch"] = None
with memviz.record("x"):
    pass
"""


class NoTorch(named.InFolder):
    def said(self, folder="", status=1):
        done = named.run(sys.executable, "-c", MISSING, folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_it_says_what_is_missing_and_what_to_do(self):
        said = self.said()
        self.assertEqual((said.count("Traceback"), said.count("File ")), (1, 2))  # by the program, and by record()
        self.assertEqual(said.splitlines()[-1], "memviz.Error: memviz.record: PyTorch (torch) is not installed for "
                         f"{sys.executable}: use the Python that trains, or install PyTorch; a program without PyTorch "
                         "is recorded by: memviz run -- CMD")

    def test_one_that_cannot_be_imported_says_why(self):
        for text, why in (("raise OSError('''libcudart.so.12: cannot open\n  file''')", "libcudart.so.12: cannot open file"),
                          ("import no_such_module", "No module named 'no_such_module'")):
            self.put("torch.py", text)
            self.assertEqual(self.said(self.folder).splitlines()[-1],
                             f"memviz.Error: memviz.record: PyTorch cannot be imported: {why}")

    def test_what_the_program_has_not_imported_yet_is(self):
        self.put("torch.py", "__version__ = '2.0'\nclass cuda:\n    is_available = staticmethod(lambda: False)\n")
        self.assertRegex(self.said(self.folder, status=0), "^memviz: memviz.record: PyTorch 2.0 sees no CUDA device here: "
                         "nothing is recorded, .* is not written\n$")


REAL = """
import torch, memviz
with memviz.record("x"):
    try:
        memviz.snapshot("x")
    except memviz.Error as error:
        print(error)
"""


class RealTorch(unittest.TestCase):
    def test_on_a_machine_without_a_gpu_it_is_told_apart(self):
        done = named.run(sys.executable, "-c", REAL)
        if "No module named 'torch'" in done.stderr:
            self.skipTest("PyTorch is not installed")
        self.assertRegex(done.stdout, r"^memviz.snapshot: PyTorch [\w.+]+ sees no CUDA device here\n$")
        self.assertRegex(done.stderr, r"memviz.record: PyTorch [\w.+]+ sees no CUDA device here: nothing is recorded")


if __name__ == "__main__":
    named.main()
