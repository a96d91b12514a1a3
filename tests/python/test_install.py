"""pip installs the package from the checkout."""

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

import named

PACKAGE = os.path.join(named.ROOT, "python")


class Install(named.InFolder):
    @unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))), "pip is not installed")
    def test_pip_installs_it_with_its_command_and_its_plug_in(self):
        source, target = self.path("source"), self.path("target")
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
        done = named.run(os.path.join(target, "bin", "memviz"), "version", env=env)
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, "memviz"))


if __name__ == "__main__":
    named.main()
