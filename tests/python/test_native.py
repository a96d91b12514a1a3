"""The package finds the program and executes it."""

import os
import pathlib
import signal
import sys
import unittest
from unittest import mock

import memviz
import named
from memviz import native

FILE = named.snapshot("gpt_train")


def started(*words, **variables):
    return named.run(sys.executable, "-m", "memviz", *words, env={**os.environ, **variables})


class Program(named.InFolder):
    def put_program(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        os.chmod(self.put(name, text), 0o755)
        return self.path(name)

    def test_the_wheels_own_comes_before_the_path(self):
        own = self.put_program("here/bin/memviz", "#!/bin/sh\n")
        other = self.put_program("there/memviz", "#!/bin/sh\n")
        with mock.patch.dict(os.environ, PATH=self.path("there")), mock.patch.object(native, "NATIVE", self.path("here")):
            os.environ.pop("MEMVIZ_PROGRAM", None)
            self.assertEqual(memviz.program(), own)
            os.unlink(own)
            self.assertEqual(memviz.program(), other)

    def test_the_script_that_pip_makes_is_not_the_program(self):
        with mock.patch.dict(os.environ, PATH=self.folder):
            os.environ.pop("MEMVIZ_PROGRAM", None)
            self.put_program("memviz", f"#!{sys.executable}\nfrom memviz.__main__ import main\nmain()\n")
            self.assertRaisesRegex(memviz.Error, "neither in this package nor on the PATH", memviz.program)

    def test_without_a_program_the_module_says_so(self):
        done = started("info", PATH="/nowhere", MEMVIZ_PROGRAM="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("memviz: the program memviz is neither", done.stderr)

    def test_a_program_that_does_not_start_is_an_error_of_one_line(self):
        for path, why in ((self.put("text", "no program"), "Permission denied"), (self.folder, "Permission denied"),
                          ("/no/such\n", "No such file or directory")):
            said = f"MEMVIZ_PROGRAM is {native.shown(path)}: {why}"
            with mock.patch.dict(os.environ, MEMVIZ_PROGRAM=path), self.assertRaises(memviz.Error) as failed:
                memviz.run("info", FILE)
            self.assertEqual(str(failed.exception), said)
            done = started("info", FILE, MEMVIZ_PROGRAM=path)
            self.assertEqual((done.returncode, done.stderr), (1, f"memviz: {said}\n"))

    def test_status_and_output_are_the_programs(self):
        done = started("peak", "--fail-on", "peak>1", FILE)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout, memviz.run("peak", FILE).stdout)
        self.assertEqual(started("peak", "--no-such-option", FILE).returncode, 2)

    def test_a_signal_ends_it_as_it_ends_the_program(self):
        done = started(MEMVIZ_PROGRAM="/bin/sh", PATH="/bin:/usr/bin")
        self.assertEqual(done.returncode, 0)
        killed = started(MEMVIZ_PROGRAM=self.put_program("memviz", "#!/bin/sh\nkill -TERM $$\n"))
        self.assertEqual(killed.returncode, -signal.SIGTERM)

    def test_reports_are_dicts(self):
        found = memviz.report("peak", FILE)
        self.assertEqual(found["command"], "peak")
        self.assertGreater(found["at"]["allocated"], 1 << 30)

    def test_a_file_may_begin_as_an_option_does(self):
        wanted = memviz.report("leaks", FILE)["verdict"]
        os.symlink(FILE, self.path("-x.pickle"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.assertEqual(memviz.report("leaks", "-x.pickle")["verdict"], wanted)
        self.assertEqual(memviz.report("leaks", "-q", pathlib.Path("-x.pickle"))["verdict"], wanted)
        self.assertRaisesRegex(memviz.Error, "unknown option -y", memviz.report, "leaks", "-y.pickle")

    def test_what_fails_is_an_error_of_one_line(self):
        with self.assertRaises(memviz.Error) as failed:
            memviz.run("peak", "/no/such/file")
        self.assertIn("/no/such/file", str(failed.exception))
        self.assertNotIn("\n", str(failed.exception))
        self.assertEqual(memviz.run("peak", "/no/such/file", check=False).returncode, 1)
        self.assertEqual(memviz.run("peak", FILE, "--fail-on", "peak>1").returncode, 3)
        self.assertEqual(memviz.run("leaks", named.snapshot("ring"), "--fail-on", "leak").returncode, 4)


class Version(unittest.TestCase):
    def test_it_is_the_programs(self):
        self.assertEqual(memviz.run("version").stdout.split()[1], memviz.__version__)


if __name__ == "__main__":
    named.main()
