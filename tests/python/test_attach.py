"""memviz attach: running Python processes, with a stand-in for PyTorch."""

import ctypes
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import named

MEMVIZ = os.environ["MEMVIZ_PROGRAM"]
PROGRAM = os.path.join(named.ROOT, "tests", "programs", "attached.py")
PTRACE_SEIZE = 0x4206


class Attach(named.InFolder):
    def setUp(self):
        super().setUp()
        self.out, self.sign, self.end = map(self.path, ("x.pickle", "sign", "end"))

    def start(self, mode, rounds=50):
        program = subprocess.Popen([sys.executable, PROGRAM, mode, str(rounds)], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=dict(os.environ, ATTACHED_SIGN=self.sign, ATTACHED_END=self.end))
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        program.stdout.readline()
        return program

    def attach(self, pid, *options, out=None):
        return named.run(MEMVIZ, "attach", str(pid), "--for", "20ms", "-o", out or self.out, *options)

    def refused(self, pid, why, **options):
        done = self.attach(pid, **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
        self.assertIn(why, done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_it_computes_what_it_computes_without(self):
        for mode in ("busy", "objects", "signals", "threads"):
            with self.subTest(mode):
                plain, program = self.start(mode), self.start(mode)
                done = self.attach(program.pid, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((json.loads(done.stdout)["written"], json.loads(done.stdout)["events"]), (self.out, 1))
                self.assertEqual(len(named.loaded(self.out)["device_traces"][0]), 1)
                open(self.end, "w").close()
                expected, result = plain.communicate(), program.communicate()
                os.unlink(self.end)
                self.assertEqual(result, expected)
                self.assertEqual(program.returncode, 0)
        self.assertEqual(glob.glob("/tmp/memviz-attach-*"), [])

    def test_a_recorder_of_the_program_stays_on(self):
        program = self.start("recording")
        done = self.attach(program.pid)
        self.assertIn("its recorder was left on", done.stderr)
        open(self.end, "w").close()
        self.assertEqual(program.communicate()[1], "recording\n")

    def test_an_interrupt_ends_the_recording(self):
        program = self.start("sleep")
        attach = subprocess.Popen([MEMVIZ, "attach", str(program.pid), "--for", "1d", "-o", self.out], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not os.path.exists(self.sign):
            time.sleep(0.01)
        attach.send_signal(signal.SIGINT)
        out, errors = attach.communicate()
        self.assertEqual((attach.returncode, out, errors), (0, f"{self.out}: 1 event\n", ""))

    def test_what_is_not_a_python_program_with_pytorch_is_refused(self):
        shell = subprocess.Popen(["/bin/sh", "-c", "read x"], stdin=subprocess.PIPE)
        self.addCleanup(shell.communicate)
        self.refused(shell.pid, "no Python interpreter")
        self.refused(self.start("bare").pid, "PyTorch is not loaded")
        self.refused(self.start("unused").pid, "has not used a GPU")
        self.refused(2**30, "no process has the ID")

    def test_what_cannot_be_written_leaves_the_recorder_off(self):
        program = self.start("sleep")
        self.refused(program.pid, "/no/such/folder", out="/no/such/folder/x.pickle")
        open(self.end, "w").close()
        self.assertEqual(program.communicate()[1], "idle\n")

    @unittest.skipIf(sys.version_info >= (3, 14), "Python 3.14 needs no ptrace")
    def test_a_process_that_is_traced_is_refused(self):
        program = self.start("sleep")
        self.assertEqual(ctypes.CDLL(None, use_errno=True).ptrace(PTRACE_SEIZE, program.pid, None, None), 0)
        self.refused(program.pid, "cannot be traced")


def may_trace():
    program = subprocess.Popen([sys.executable, PROGRAM, "sleep", "1000000"], stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    done = named.run(MEMVIZ, "attach", str(program.pid), "--for", "1ms", "-o", "/dev/null")
    program.kill()
    program.communicate()
    return "cannot be traced" not in done.stderr


if __name__ == "__main__":
    if not may_trace():
        print("skipped: no process may be traced here")
        sys.exit(77)
    named.main()
