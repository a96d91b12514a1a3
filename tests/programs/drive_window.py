#!/usr/bin/python3
"""Uses the viewer's window as a person would: an X server without a screen (Xvfb), keys and the
pointer by XTEST (xdotool), the clipboard (xclip), the server's pixels.

    tests/programs/drive_window.py MEMVIZ SNAPSHOTS

Ctrl+Shift+C copies the command line that restores the view, so views are compared as
words. The window may take any time to react: each check is repeated until it holds.
SHOTS=FOLDER in the environment keeps pictures. Exits with 77 if a tool is missing, and with 1 if a check failed."""

import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

MEMVIZ, SNAPSHOTS = map(os.path.abspath, sys.argv[1:3])
WIDTH, HEIGHT = 1280, 720
PATIENCE = 200  # seconds to wait at most: the machine may be busy; more is a hang
failures, passed = [], []


def check(holds, what):
    """A failure is printed at once; passed checks are printed at the end, if all passed."""
    if holds:
        passed.append(what)
    else:
        failures.append(what)
        print("drive_window: FAILED: " + what, flush=True)


def eventually(look):
    """The result of `look`, (holds, what it saw), as soon as it holds, or at the end of the time."""
    end = time.monotonic() + PATIENCE
    while True:
        holds, seen = look()
        if holds or time.monotonic() > end:
            return holds, seen
        time.sleep(0.05)


class Screen:
    """An X server whose pixels are in a file."""

    def __init__(self, folder):
        read, write = os.pipe()
        self.folder = folder
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1000x24", "-nolisten", "tcp",
             "-noreset", "-fbdir", folder], pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        number = os.read(read, 16).decode().strip()
        os.environ["DISPLAY"] = ":" + number
        os.environ.pop("WAYLAND_DISPLAY", None)

    def pixels(self):
        """Rows of the screen as bytes, four for each pixel."""
        with open(os.path.join(self.folder, "Xvfb_screen0"), "rb") as file:
            data = file.read()
        head = struct.unpack(">25I", data[:100])
        size, height, row, colours = head[0], head[5], head[12], head[19]
        begin = size + 12 * colours
        return [data[begin + y * row:begin + (y + 1) * row] for y in range(height)]

    def close(self):
        self.server.terminate()
        self.server.wait()


def differing(a, b, height=HEIGHT, width=WIDTH):
    """The number of pixels that differ, in the window's corner of the screen."""
    size, count = 4 * width, 0
    mask = int.from_bytes(b"\xff\xff\xff\0" * width, "little")
    for y in range(height):
        if a[y][:size] != b[y][:size]:
            other = (int.from_bytes(a[y][:size], "little") ^ int.from_bytes(b[y][:size], "little")) & mask
            count += sum(map(bool, memoryview(other.to_bytes(size, "little")).cast("I")))
    return count


def colours_of(rows, left, top, right, bottom):
    found = set().union(*(memoryview(rows[y][4 * left:4 * right]).cast("I") for y in range(top, bottom)))
    return {colour & 0xffffff for colour in found}


def keep(rows, name, width=WIDTH, height=HEIGHT):
    """Writes a picture to the folder SHOTS."""
    folder = os.environ.get("SHOTS")
    if not folder:
        return
    raw = b"".join(
        b"\0" + b"".join(rows[y][4 * x:4 * x + 3][::-1] for x in range(width))
        for y in range(height))

    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body +
                struct.pack(">I", zlib.crc32(kind + body)))

    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" +
                   chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def tool(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


class Window:
    def __init__(self, screen, *words):
        self.screen = screen
        self.program = subprocess.Popen(
            [MEMVIZ, "view", "--renderer", "software", "--size", f"{WIDTH}x{HEIGHT}", *words],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _, self.id = eventually(self.find)
        if not self.id:
            ended = self.program.poll() is not None
            sys.exit("drive_window: FAILED: no window: " + (self.program.stderr.read() if ended else "it runs without one"))
        tool("xdotool", "windowmove", "--sync", self.id, "0", "0")
        tool("xdotool", "windowfocus", "--sync", self.id)

    def find(self):
        """Its window; or fails if the program has ended."""
        found = tool("xdotool", "search", "--onlyvisible", "--class", "memviz").split("\n")[0]
        return found or self.program.poll() is not None, found

    def ticks(self):
        """The program's processor time in hundredths of a second."""
        with open(f"/proc/{self.program.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def is_idle(self):
        """Whether it uses no processor time for a second."""
        before = self.ticks()
        time.sleep(1)
        return self.ticks() == before, f"{self.ticks() - before} hundredths of a second in one"

    @staticmethod
    def keys(*names):
        for name in names:
            tool("xdotool", "key", "--delay", "30", name)

    @staticmethod
    def type(text):
        tool("xdotool", "type", "--delay", "30", text)

    def point(self, x, y):
        tool("xdotool", "mousemove", "--window", self.id, str(x), str(y))

    def wheel(self, x, y, notches):
        self.point(x, y)
        tool("xdotool", "click", "--repeat", str(abs(notches)), "--delay", "30",
             "4" if notches > 0 else "5")

    def click(self, x, y):
        self.point(x, y)
        tool("xdotool", "click", "1")

    def drag(self, x0, y0, x1, y1):
        self.point(x0, y0)
        tool("xdotool", "mousedown", "1")
        for i in range(1, 9):
            self.point(x0 + (x1 - x0) * i // 8, y0 + (y1 - y0) * i // 8)
        tool("xdotool", "mouseup", "1")

    def copied(self, *key):
        """The clipboard after a key. Earlier input is processed before the key."""
        subprocess.run(["xclip", "-selection", "clipboard"], input="nothing", text=True, check=True)

        def look():
            self.keys(*key)  # again, if nothing was shown yet
            text = tool("xclip", "-selection", "clipboard", "-o", "-t", "UTF8_STRING")
            return text not in ("nothing", ""), text

        return eventually(look)[1]

    def shows(self, is_so, what):
        """Checks the numbers of the view's command line: from, to, at; and returns them."""
        number = {}

        def look():
            line = self.copied("ctrl+shift+c")
            number.clear()
            number.update({word: int(value) for word, value in re.findall(r"--(from|to|at) (\d+)", line)})
            return is_so(line, number), line

        holds, line = eventually(look)
        check(holds, f"{what}: {line}")
        return number

    def wait_for_end(self):
        try:
            out, err = self.program.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.program.kill()
            return None, ""
        return self.program.returncode, out + err


def is_whole(_, number):
    return "from" not in number and "to" not in number


def use(screen):
    w = Window(screen, os.path.join(SNAPSHOTS, "gpt_train.pickle"))

    def colours():
        return len(colours_of(screen.pixels(), 100, 80, 900, 400))

    holds, count = eventually(lambda: (colours() > 8, colours()))
    check(holds, f"the timeline has its colours: {count}")
    w.shows(lambda line, number: line.startswith("memviz view ") and "gpt_train.pickle" in line and is_whole(line, number),
            "all of the trace is shown first")
    first = screen.pixels()
    keep(first, "1-open.png")

    w.wheel(500, 300, 8)
    zoomed = w.shows(lambda _, n: 0 < n.get("from", 0) < n.get("to", 0) < 6562, "the wheel zooms")
    holds, count = eventually(lambda: more_than(20000, differing(first, screen.pixels())))
    keep(screen.pixels(), "2-zoomed.png")
    check(holds, f"and the picture is another: {count} pixels")

    w.keys("d")
    w.shows(lambda _, n: n.get("from", 0) > zoomed.get("from", 0), f"D pans from {zoomed}")
    w.keys("0")
    w.shows(is_whole, "0 shows everything")

    w.drag(300, 300, 600, 300)
    w.keys("z")
    w.shows(lambda _, n: 6562 * 0.15 < n.get("to", 0) - n.get("from", 0) < 6562 * 0.5, "a drag selects, Z zooms to it")
    keep(screen.pixels(), "3-selected.png")
    w.keys("0", "Escape")
    w.shows(is_whole, "0 shows everything again")

    def pin():  # nothing can be pinned before the first picture
        w.keys("Escape")
        w.click(500, 380)
        stack = w.copied("ctrl+c")
        return ".py" in stack and "\n" in stack, stack[:60]

    holds, stack = eventually(pin)
    check(holds, f"a click pins, its stack is copied: {stack!r}")
    keep(screen.pixels(), "4-pinned.png")

    w.keys("slash")
    w.type("attention")
    keep(screen.pixels(), "5-search.png")
    w.keys("Return", "Escape")
    w.shows(lambda line, _: "--filter attention" in line, "the search")

    see_help(screen, w)
    see_another_size(screen, w)
    holds, used = eventually(w.is_idle)
    check(holds, f"it becomes idle: {used}")
    tool("xdotool", "key", "ctrl+q")
    status, said = w.wait_for_end()
    check(status == 0, f"Ctrl+Q ends it: status {status} {said}")


def more_than(least, value):
    return value > least, value


def see_help(screen, w):
    w.point(WIDTH - 4, HEIGHT - 4)
    seen = ""

    def is_seen():  # again if a later picture of the previous action followed
        nonlocal seen
        off = screen.pixels()
        w.keys("question")
        holds, seen = eventually(lambda: more_than(50000, differing(off, screen.pixels())))
        keep(screen.pixels(), "6-help.png")
        w.keys("Escape")
        w.copied("ctrl+shift+c")
        # The status line has a word on the last command.
        left = next((0 for _ in range(20) if differing(off, screen.pixels(), HEIGHT - 25) == 0), "some")
        keep(screen.pixels(), "7-no-help.png")
        return holds and left == 0, f"{seen} pixels, of which {left} are left"

    holds, seen = eventually(is_seen)
    check(holds, f"? shows the keys, Escape takes them away: {seen}")


def see_another_size(screen, w):
    tool("xdotool", "windowsize", "--sync", w.id, "1500", "940")

    def is_painted():
        large = screen.pixels()
        keep(large, "8-resized.png", 1500, 940)
        corner = colours_of(large, 1290, 4, 1490, 24)
        return len(corner) > 1 and 0 not in colours_of(large, 1400, 700, 1490, 930), len(corner)

    holds, count = eventually(is_painted)
    check(holds, f"a larger window is painted to its edges: {count} colours")


def see_a_bad_file(screen, folder):
    bad = os.path.join(folder, "bad.pickle")
    with open(os.path.join(SNAPSHOTS, "gpt_train.pickle"), "rb") as file:
        data = file.read(3000)
    with open(bad, "wb") as file:
        file.write(data)
    w = Window(screen, bad)
    holds, count = eventually(lambda: more_than(4, len(colours_of(screen.pixels(), 0, 0, WIDTH, HEIGHT))))
    keep(screen.pixels(), "9-bad-file.png")
    check(holds, f"a banner tells of a bad file: {count} colours")
    check(w.program.poll() is None, "a bad file does not end it")
    w.program.send_signal(signal.SIGTERM)
    w.wait_for_end()


def plot_on_a_terminal(folder):
    """trace_plot without -o opens the window if there is a display."""
    try:
        child, terminal = pty.fork()
    except OSError as why:
        print(f"drive_window: skipped: trace_plot on a terminal: no terminal here: {why}")
        return
    if child == 0:
        os.chdir(folder)
        os.execv(MEMVIZ, ["memviz", "trace_plot", os.path.join(SNAPSHOTS, "gpt_train.pickle")])
    holds, _ = eventually(lambda: more_than("", tool("xdotool", "search", "--onlyvisible", "--class", "memviz")))
    check(holds, "trace_plot on a terminal opens the window")
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    os.close(terminal)


def main():
    missing = [name for name in ("Xvfb", "xdotool", "xclip") if not shutil.which(name)]
    if missing:
        print(f"drive_window: skipped: {', '.join(missing)}: not here: scripts/install-deps test")
        sys.exit(77)
    for name in [name for name in os.environ if name.startswith(("MEMVIZ_", "SDL_", "GDK_", "QT_", "XDG_"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="memviz-window-") as folder:
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        os.mkdir(os.path.join(folder, "memviz"))
        with open(os.path.join(folder, "memviz", "tour"), "w", encoding="ascii"):
            pass  # the tour has ended
        # Under a sanitizer: memory that display libraries keep to the end is not memviz's.
        with open(os.path.join(folder, "leaks"), "w", encoding="ascii") as file:
            file.write("".join(f"leak:lib{name}\n" for name in ("dbus", "X11", "SDL2", "wayland")))
        os.environ["LSAN_OPTIONS"] = f"suppressions={folder}/leaks:print_suppressions=0"
        screen = Screen(folder)
        try:
            use(screen)
            see_a_bad_file(screen, folder)
            plot_on_a_terminal(folder)
        finally:
            screen.close()
    if not failures:
        print("\n".join("ok    " + what for what in passed))
    sys.exit(1 if failures else 0)


main()
