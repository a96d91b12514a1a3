"""Runs the sessions of docs/python.md, with PyTorch recordings in place of a GPU. The code of all pages compiles."""

import doctest
import glob
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

import named
import torch_stand_in

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def blocks(path):
    with open(path) as file:
        return re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


BLOCKS = blocks(os.path.join(ROOT, "docs", "python.md"))


def real(name):
    with open(os.path.join(ROOT, "testdata", "snapshots", name + ".pickle"), "rb") as file:
        return pickle.load(file)


CONFTEST = f"""
import builtins, sys
sys.path.insert(0, {HERE!r})
import test_docs, torch_stand_in

torch = torch_stand_in.install(test_docs.real("gpt_train"))

def forward(batch):
    torch.peak[0] = test_docs.PEAK

builtins.forward, builtins.train, builtins.fill_cache = forward, lambda steps: None, lambda: None
"""
PEAK = 1237463040  # as in testdata's gpt_train


class Docs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.torch = torch_stand_in.install(real("gpt_train"))
        self.addCleanup(sys.modules.pop, "torch", None)

    def train_on_too_much(self):
        self.torch.taken = real("oom_fragmented")
        self.torch.run_out()

    def test_sessions_print_what_they_say(self):
        sessions = [text for kind, text in BLOCKS if text.startswith(">>>")]
        self.assertEqual(len(sessions), 2)
        names = {"train": lambda: None, "train_on_too_much": self.train_on_too_much}
        examples = doctest.DocTestParser().get_doctest("\n".join(sessions), names, "docs/python.md", None, 0)
        said = []
        doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=said.append)
        self.assertFalse(said, "".join(said))

    def test_code_compiles(self):
        pages = glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)
        code = [(path, text) for path in pages for kind, text in blocks(path) if kind == "python"]
        self.assertGreater(len(code), 5)
        for path, text in code:
            compile(text, path, "exec")

    def test_pytest_prints_what_it_says(self):
        try:
            import pytest  # noqa: F401
        except ImportError:
            self.skipTest("pytest is not installed")
        tests = next(text for kind, text in BLOCKS if "import pytest" in text)
        session = next(text for kind, text in BLOCKS if text.startswith("$ pytest"))
        command, wanted = session.split("\n", 1)
        for name, text in (("conftest.py", CONFTEST), ("test_docs_example.py", tests)):
            with open(name, "w") as file:
                file.write(text)
        words = [sys.executable, "-m", "pytest", "-p", "memviz.pytest_plugin", "-p", "no:cacheprovider"]
        done = subprocess.run(words + command.split()[2:], stdout=subprocess.PIPE, universal_newlines=True)
        self.assertTrue(doctest.OutputChecker().check_output(wanted, done.stdout, FLAGS), done.stdout)


if __name__ == "__main__":
    named.main()
