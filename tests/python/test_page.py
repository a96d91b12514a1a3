"""memviz.show, and the magics in IPython."""

import contextlib
import html
import io
import os
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import memviz
import named
import torch_stand_in
from memviz import page

SNAPSHOT = named.snapshot("mlp_train")

try:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
except ImportError:
    InteractiveShell = None


class Page(named.InFolder):
    def setUp(self):
        super().setUp()
        self.opened = self.path("x.pickle")
        os.symlink(SNAPSHOT, self.opened)

    def shown(self, *options, **environment):
        said = io.StringIO()
        with mock.patch.dict(os.environ, environment), mock.patch.object(page.webbrowser, "open") as browser, \
                contextlib.redirect_stdout(said):
            if not environment:
                os.environ.pop("DISPLAY", None)
                os.environ.pop("WAYLAND_DISPLAY", None)
            found = memviz.show(self.opened, *options)
        return found, said.getvalue(), browser

    def test_without_a_notebook_or_a_display_the_path_is_printed(self):
        found, said, browser = self.shown()
        self.assertEqual(said, f"memviz: {self.opened}.html\n")
        browser.assert_not_called()
        with open(self.opened + ".html", encoding="utf-8") as file:
            self.assertEqual(file.read(), found.html)

    def test_nothing_in_the_path_is_obeyed_by_the_terminal(self):
        os.rename(self.opened, self.opened + "\x1b]0;x\x07\u202e\udcff")
        self.opened += "\x1b]0;x\x07\u202e\udcff"
        said = self.shown()[1]
        self.assertTrue(said.endswith("x.pickle\\x1b]0;x\\x07\\u202e\\udcff.html\n"), ascii(said))

    def test_a_still_picture_says_so(self):
        alone = self.path("a", "b", "memviz")
        os.makedirs(os.path.dirname(alone))
        shutil.copy(memviz.program(), alone)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.shown(MEMVIZ_PROGRAM=alone, MEMVIZ_PAGE="", DISPLAY="")
        self.assertRegex(said.getvalue(), r"^memviz: .*x\.pickle\.html: a still picture: .*\n$")

    def test_a_path_is_no_option(self):
        os.rename(self.opened, self.path("-x"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.opened = "-x"
        self.assertEqual(self.shown()[1], "memviz: -x.html\n")

    def test_with_a_display_the_browser_opens_it(self):
        self.shown(DISPLAY=":0")[2].assert_called_once_with(f"file://{self.opened}.html")

    def test_options_are_those_of_trace_plot(self):
        self.assertNotEqual(self.shown("--filter", "leak")[0].html, self.shown()[0].html)
        self.assertRaisesRegex(memviz.Error, "no-such", self.shown, "--no-such")

    def test_the_frame_has_the_whole_page_and_no_rights_but_scripts(self):
        found = self.shown()[0]
        found.html += "<!-- &lt; -->"
        frame = found._repr_html_()
        start = frame.index('srcdoc="') + len('srcdoc="')
        self.assertEqual(html.unescape(frame[start:frame.index('"', start)]), found.html)
        self.assertIn('sandbox="allow-scripts allow-downloads"', frame)
        self.assertIn("height: 720px", frame)


@unittest.skipIf(InteractiveShell is None, "IPython is not installed")
class Magic(named.InFolder):
    def setUp(self):
        super().setUp()
        self.torch = torch_stand_in.install(named.loaded(SNAPSHOT))
        self.addCleanup(sys.modules.pop, "torch", None)
        self.shell = InteractiveShell.instance()
        self.addCleanup(InteractiveShell.clear_instance)
        self.shell.kernel = None  # as in a notebook
        self.run_cell("%load_ext memviz")

    def run_cell(self, cell):
        with capture_output() as said:
            self.result = self.shell.run_cell(cell)
        return said

    def pages(self, said):
        return [shown.data["text/html"] for shown in said.outputs if "text/html" in shown.data]

    def test_a_cell_is_recorded_and_shown(self):
        said = self.run_cell("%%memviz --max-entries 500 --height 400\nx = 6 * 7\nprint('ran')")
        self.assertIn("ran", said.stdout)
        self.assertEqual(self.shell.user_ns["x"], 42)
        self.assertEqual(self.torch.recordings, [dict(context="all", stacks="python", max_entries=500), None])
        frame, = self.pages(said)
        self.assertIn("height: 400px", frame)

    def test_a_cell_that_runs_out_of_memory_shows_that_moment(self):
        said = self.run_cell(f"%%memviz -o {self.path('cell.pickle')}\nimport torch\ntorch.run_out()")
        self.assertEqual(sorted(os.listdir(self.folder)), ["cell-oom1.pickle", "cell.pickle"])
        self.assertIn("CUDA out of memory", said.stdout)
        frame, = self.pages(said)
        self.assertIn("cell-oom1.pickle", frame)
        self.assertFalse(self.torch.is_recording)

    def test_in_a_terminal_the_page_stays_for_the_browser(self):
        del self.shell.kernel
        with mock.patch.dict(os.environ), mock.patch.object(page.webbrowser, "open"):
            said = self.run_cell("%%memviz\npass")
        path = said.stdout.split("memviz: ")[1].strip()
        self.assertTrue(os.path.exists(path))
        self.assertEqual(said.outputs, [])
        shutil.rmtree(os.path.dirname(path))

    def test_nothing_stays_of_a_notebook(self):
        with mock.patch.object(tempfile, "tempdir", self.folder):
            self.run_cell("%%memviz\npass")
            self.torch.cuda.is_available = lambda: False
            del self.shell.kernel
            self.run_cell("%%memviz\npass")
            self.assertEqual(os.listdir(self.folder), [])

    def test_without_a_device_the_cell_runs_and_no_page_is_shown(self):
        self.torch.cuda.is_available = lambda: False
        said = self.run_cell("%%memviz\nimport torch\ny = 3")
        self.assertEqual((self.shell.user_ns["y"], self.pages(said)), (3, []))
        self.assertIn("nothing is recorded", said.stderr)
        self.assertIsNone(self.result.error_in_exec)

    def test_a_line_runs_the_program(self):
        said = self.run_cell(f"%memviz stats {SNAPSHOT}")
        self.assertEqual(said.stdout, memviz.run("stats", SNAPSHOT).stdout)
        self.assertIn("no-such-command", self.run_cell("%memviz no-such-command").stderr)

    def test_wrong_options_are_refused_in_a_line(self):
        said = self.run_cell("%%memviz --no-such\npass")
        self.assertIn("UsageError: %%memviz: unrecognized arguments: --no-such", said.stderr + said.stdout)
        self.assertEqual(self.torch.recordings, [])

    def test_a_python_without_torch_says_what_is_missing_in_a_line(self):
        with mock.patch.dict(sys.modules, torch=None):
            said = self.run_cell("%%memviz\npass")
        said = said.stderr + said.stdout
        self.assertIn("UsageError: %%memviz: memviz.record: PyTorch (torch) is not installed for ", said)
        self.assertNotIn("Traceback", said)


if __name__ == "__main__":
    named.main()
