"""Runs the sessions of docs/python.md, with PyTorch recordings in place of a GPU. The code of all pages compiles."""

import doctest
import glob
import os
import re
import sys

import named
import torch_stand_in

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def blocks(path):
    with open(path) as file:
        return re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


BLOCKS = blocks(os.path.join(named.ROOT, "docs", "python.md"))


CONFTEST = f"""
import builtins, sys
sys.path.insert(0, {HERE!r})
import named, test_docs, torch_stand_in

torch = torch_stand_in.install(named.loaded(named.snapshot("gpt_train")))

def forward(batch):
    torch.peak[0] = test_docs.PEAK

builtins.forward, builtins.train, builtins.fill_cache = forward, lambda steps: None, lambda: None
"""
PEAK = 1237463040  # as in testdata's gpt_train


class Docs(named.InFolder):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.torch = torch_stand_in.install(named.loaded(named.snapshot("gpt_train")))
        self.addCleanup(sys.modules.pop, "torch", None)

    def train_on_too_much(self):
        self.torch.taken = named.loaded(named.snapshot("oom_fragmented"))
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
        pages = glob.glob(os.path.join(named.ROOT, "*.md")) + glob.glob(os.path.join(named.ROOT, "docs", "**", "*.md"), recursive=True)
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
            self.put(name, text)
        words = [sys.executable, "-m", "pytest", "-p", "memviz.pytest_plugin", "-p", "no:cacheprovider"]
        done = named.run(*words, *command.split()[2:])
        self.assertTrue(doctest.OutputChecker().check_output(wanted, done.stdout, FLAGS), done.stdout)


if __name__ == "__main__":
    named.main()
