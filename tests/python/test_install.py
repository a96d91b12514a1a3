"""pip installs the package from the checkout."""

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import named

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    @unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))), "pip is not installed")
    def test_pip_installs_it_with_its_command_and_its_plug_in(self):
        source, target = os.path.join(self.folder, "source"), os.path.join(self.folder, "target")
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-index", "--no-deps",
                        "--disable-pip-version-check", "--target", target, source], check=True)
        with open(glob.glob(os.path.join(target, "memviz-*.dist-info", "entry_points.txt"))[0]) as file:
            entries = file.read()
        self.assertIn("[console_scripts]\nmemviz = memviz.__main__:main", entries)
        self.assertIn("[pytest11]\nmemviz = memviz.pytest_plugin", entries)
        self.assertTrue(os.path.exists(os.path.join(target, "memviz", "py.typed")))
        # The command finds the program although it has the same name, memviz, and comes first.
        program = os.path.dirname(os.environ["MEMVIZ_PROGRAM"])
        env = {**os.environ, "PYTHONPATH": target, "PATH": os.path.join(target, "bin") + ":" + program}
        del env["MEMVIZ_PROGRAM"]
        done = subprocess.run([os.path.join(target, "bin", "memviz"), "version"], env=env, stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, b"memviz"))


if __name__ == "__main__":
    named.main()
