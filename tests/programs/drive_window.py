#!/usr/bin/python3
"""Uses the viewer's window as a person does: an X server without a screen (Xvfb), keys and the
pointer by XTEST (xdotool), the clipboard (xclip), pixels as the server has them.

    tests/programs/drive_window.py MEMVIZ SNAPSHOTS

Ctrl+Shift+C copies the command line that shows the same again: so what is shown is compared as
words. SHOTS=FOLDER in the environment keeps pictures. Exits with 77 where a tool lacks, and with
that many failed checks otherwise."""

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

MEMVIZ, SNAPSHOTS = sys.argv[1:3]
WIDTH, HEIGHT = 1280, 720
PATIENCE = 60  # seconds for anything to happen: the machine may be busy
failures = []


def check(holds, what):
    print(("ok    " if holds else "FAILS ") + what, flush=True)
    if not holds:
        failures.append(what)


class Screen:
    """An X server whose pixels lie in a file."""

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
    """Pixels of the window's corner of the screen that differ."""
    count = 0
    for y in range(height):
        if a[y][:4 * width] != b[y][:4 * width]:
            count += sum(a[y][4 * x:4 * x + 3] != b[y][4 * x:4 * x + 3] for x in range(width))
    return count


def colours_of(rows, left, top, right, bottom):
    return {rows[y][4 * x:4 * x + 3] for y in range(top, bottom) for x in range(left, right)}


def keep(rows, name, width=WIDTH, height=HEIGHT):
    """Writes a picture where SHOTS says."""
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
        end = time.monotonic() + PATIENCE
        self.id = ""
        while not self.id and time.monotonic() < end and self.program.poll() is None:
            time.sleep(0.05)
            self.id = tool("xdotool", "search", "--onlyvisible", "--class", "memviz").split("\n")[0]
        if not self.id:
            sys.exit("no window: " + (self.program.stderr.read() if self.program.poll() else ""))
        tool("xdotool", "windowmove", "--sync", self.id, "0", "0")
        tool("xdotool", "windowfocus", "--sync", self.id)
        self.settle()

    def ticks(self):
        """Hundredths of a second that the program has computed."""
        with open(f"/proc/{self.program.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def settle(self):
        """Waits until nothing is computed or painted any more."""
        end = time.monotonic() + PATIENCE
        calm, before = 0, self.ticks()
        while calm < 6 and time.monotonic() < end:
            time.sleep(0.1)
            now = self.ticks()
            calm = calm + 1 if now == before else 0
            before = now

    def keys(self, *names):
        for name in names:
            tool("xdotool", "key", "--delay", "30", name)
        self.settle()

    def type(self, text):
        tool("xdotool", "type", "--delay", "30", text)
        self.settle()

    def point(self, x, y):
        tool("xdotool", "mousemove", "--window", self.id, str(x), str(y))
        time.sleep(0.1)

    def wheel(self, x, y, notches):
        self.point(x, y)
        tool("xdotool", "click", "--repeat", str(abs(notches)), "--delay", "30",
             "4" if notches > 0 else "5")
        self.settle()

    def click(self, x, y):
        self.point(x, y)
        tool("xdotool", "click", "1")
        self.settle()

    def drag(self, x0, y0, x1, y1):
        self.point(x0, y0)
        tool("xdotool", "mousedown", "1")
        for i in range(1, 9):
            self.point(x0 + (x1 - x0) * i // 8, y0 + (y1 - y0) * i // 8)
        tool("xdotool", "mouseup", "1")
        self.settle()

    def copied(self, *key):
        """What a key puts into the clipboard."""
        subprocess.run(["xclip", "-selection", "clipboard"], input="nothing", text=True, check=True)
        self.keys(*key)
        end = time.monotonic() + PATIENCE / 4
        text = "nothing"
        while text == "nothing" and time.monotonic() < end:
            time.sleep(0.1)
            text = tool("xclip", "-selection", "clipboard", "-o", "-t", "UTF8_STRING")
        return text

    def shown(self):
        """The command line of the view, and its numbers: from, to, at."""
        line = self.copied("ctrl+shift+c")
        number = {word: int(value) for word, value in re.findall(r"--(from|to|at) (\d+)", line)}
        return line, number

    def wait_for_end(self):
        try:
            out, err = self.program.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.program.kill()
            return None, ""
        return self.program.returncode, out + err


def use(screen):
    w = Window(screen, os.path.join(SNAPSHOTS, "gpt_train.pickle"))
    first = screen.pixels()
    keep(first, "1-open.png")
    line, all_of_it = w.shown()
    check(line.startswith("memviz view ") and "gpt_train.pickle" in line, f"copied: {line}")
    check("from" not in all_of_it and "to" not in all_of_it, "all of the trace is shown first")
    check(len(colours_of(first, 100, 80, 900, 400)) > 8, "the timeline has its colours")

    w.wheel(500, 300, 8)
    _, zoomed = w.shown()
    keep(screen.pixels(), "2-zoomed.png")
    check(0 < zoomed.get("from", 0) < zoomed.get("to", 0) < 6562, f"the wheel zooms: {zoomed}")
    check(differing(first, screen.pixels()) > 20000, "and the picture is another")

    w.keys("d")
    _, panned = w.shown()
    check(panned.get("from", 0) > zoomed["from"], f"D pans: {panned}")
    w.keys("0")
    _, out = w.shown()
    check("from" not in out and "to" not in out, "0 shows everything")

    w.drag(300, 300, 600, 300)
    keep(screen.pixels(), "3-selected.png")
    w.keys("z")
    _, interval = w.shown()
    width = interval.get("to", 0) - interval.get("from", 0)
    check(6562 * 0.15 < width < 6562 * 0.5, f"a drag selects, Z zooms to it: {interval}")
    w.keys("0", "Escape")

    w.click(500, 380)
    stack = w.copied("ctrl+c")
    keep(screen.pixels(), "4-pinned.png")
    check(".py" in stack and "\n" in stack, f"a click pins, its stack is copied: {stack[:60]!r}")

    w.keys("slash")
    w.type("attention")
    keep(screen.pixels(), "5-search.png")
    w.keys("Return", "Escape")
    line, _ = w.shown()
    check("--filter attention" in line, f"the search: {line}")

    w.point(WIDTH - 4, HEIGHT - 4)
    w.settle()
    help_off = screen.pixels()
    w.keys("question")
    help_on = screen.pixels()
    keep(help_on, "6-help.png")
    check(differing(help_off, help_on) > 50000, "? shows the keys")
    w.keys("Escape")
    again = screen.pixels()
    keep(again, "7-no-help.png")
    left = differing(help_off, again, HEIGHT - 25)  # the status line has a word on the last command
    check(left == 0, f"Escape takes them away: {left} pixels are left")

    tool("xdotool", "windowsize", "--sync", w.id, "1500", "940")
    w.settle()
    large = screen.pixels()
    keep(large, "8-resized.png", 1500, 940)
    corner = colours_of(large, 1290, 4, 1490, 24)
    check(len(corner) > 1 and b"\0\0\0" not in colours_of(large, 1400, 700, 1490, 930),
          "a larger window is painted to its edges")

    before = w.ticks()
    time.sleep(3)
    used = w.ticks() - before
    check(used < 3, f"idle: {used} hundredths of a second in three")

    began = time.monotonic()
    tool("xdotool", "key", "ctrl+q")
    status, said = w.wait_for_end()
    check(status == 0, f"Ctrl+Q ends it: status {status} {said}")
    print(f"      in {time.monotonic() - began:.2f} s")


def see_a_bad_file(screen, folder):
    bad = os.path.join(folder, "bad.pickle")
    with open(os.path.join(SNAPSHOTS, "gpt_train.pickle"), "rb") as file:
        data = file.read(3000)
    with open(bad, "wb") as file:
        file.write(data)
    w = Window(screen, bad)
    keep(screen.pixels(), "9-bad-file.png")
    check(w.program.poll() is None, "a bad file does not end it")
    check(len(colours_of(screen.pixels(), 0, 0, WIDTH, HEIGHT)) > 4, "a banner tells")
    w.program.send_signal(signal.SIGTERM)
    w.wait_for_end()


def plot_on_a_terminal(folder):
    """trace_plot without -o shows the window to whoever sits before a display."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execv(MEMVIZ, ["memviz", "trace_plot", os.path.join(SNAPSHOTS, "gpt_train.pickle")])
    end = time.monotonic() + PATIENCE
    found = ""
    while not found and time.monotonic() < end:
        time.sleep(0.1)
        found = tool("xdotool", "search", "--onlyvisible", "--class", "memviz")
    check(found != "", "trace_plot on a terminal opens the window")
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    os.close(terminal)


def main():
    for name in ("Xvfb", "xdotool", "xclip"):
        if not shutil.which(name):
            print(f"no {name} here: scripts/install-deps test")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="memviz-window-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        # Under a sanitizer: what libraries of the display keep to the end is not memviz's.
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
    sys.exit(len(failures))


main()
