"""A browser without a window, for tests and timings: chromium.py and firefox.py drive it
through its own protocol, using only Python. Their common code is here.

    with browsers.start("chromium", folder, dark=True) as browser:
        page = browser.open(url)
        page.choose("#files", [path])
        page.key("Control+e")
        page.evaluate("document.title")

`page.said` has the messages of the console and the page's errors, `page.expected` expressions for messages that
are allowed, `page.asked` the addresses that the page requested, `page.refused_urls` the beginnings of those that it
may request without success, `browser.proxy.asked` the requests that reached the network: a proxy on this machine
replaces the network, refuses everything and logs it."""

import base64
import collections
import json
import os
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time


PATIENCE_S = 250  # seconds to wait at most: the machine may be busy; more is a hang


class BrowserError(Exception):
    pass


class Missing(Exception):
    """The browser is not on this machine."""


def program(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Missing(f"{names[0]} is not here: scripts/install-deps browsers")


class Proxy(socketserver.ThreadingTCPServer):
    """Replaces the network: each request is refused and its first line kept, except those to
    `server`, a port of 127.0.0.1, which go there."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self):
        self.asked = []
        self.server = None
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                line = self.rfile.readline(4096).decode("latin-1").strip()
                words = line.split(" ")
                its = f"http://127.0.0.1:{proxy.server}/"
                if proxy.server and len(words) == 3 and words[1].startswith(its):
                    self.pass_on(f"{words[0]} /{words[1][len(its):]} HTTP/1.1\r\nConnection: close\r\n")
                    return
                proxy.asked.append(line)
                self.wfile.write(b"HTTP/1.1 502 No network\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

            def pass_on(self, head):
                with socket.create_connection(("127.0.0.1", proxy.server)) as there:
                    for line in iter(self.rfile.readline, b"\r\n"):
                        if not line.lower().startswith((b"connection:", b"proxy-")):
                            head += line.decode("latin-1")
                    there.sendall(head.encode("latin-1") + b"\r\n")
                    while data := there.recv(1 << 16):
                        self.wfile.write(data)

        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Browser:
    """A browser process, and the calls of its protocol: one at a time, with events in between."""

    PROGRAMS = ()  # names of the browser's program

    def __init__(self, folder, dark=False):
        self.program = program(*self.PROGRAMS)
        self.proxy = Proxy()
        self.is_dark = dark
        self.downloads = os.path.join(folder, "downloads")
        self.profile = tempfile.mkdtemp(prefix="memviz-profile-")
        self.log = open(os.path.join(folder, "browser.log"), "w", encoding="utf-8")
        self.answers = {}
        self.number = 0
        self.process = None
        os.makedirs(self.downloads, exist_ok=True)

    def launch(self, words, **more):
        env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        env["HOME"] = self.profile
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stderr=self.log,
                                        stdout=self.log, start_new_session=True, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.proxy.shutdown()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- the protocol: each browser defines send(message), receive(seconds) and heard(event)

    def call(self, method, params=None, seconds=PATIENCE_S, **more):
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params or {}, **more})
        end = time.monotonic() + seconds
        while number not in self.answers:
            self.listen(end - time.monotonic(), method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer.get('message') or answer['error']}")
        return answer["result"]

    def listen(self, seconds, what="a message"):
        """Takes in one message of the browser."""
        message = self.receive(seconds) if seconds > 0 else None
        if message is None:
            raise BrowserError(f"{what}: no answer")
        if "id" in message and message["id"] is not None:
            self.answers[message["id"]] = message
        else:
            self.heard(message)

    # ---- its cost

    def children(self):
        """Every process of the browser: {pid: (parent, its words)}."""
        found = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                        parent = int(file.read().rsplit(")", 1)[1].split()[1])
                    with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                        found[int(name)] = (parent, file.read().replace("\0", " "))
                except OSError:
                    pass
        mine = {self.process.pid}
        while True:
            more = {pid for pid, (parent, _) in found.items() if parent in mine} - mine
            if not more:
                return {pid: found[pid] for pid in mine if pid in found}
            mine |= more


class Page:
    """A tab."""

    def __init__(self, browser):
        self.browser = browser
        self.said = []
        self.asked = []
        self.expected = []
        self.refused_urls = ()

    def wait(self, expression, seconds=PATIENCE_S, every=0.05):
        """Until the expression is true; returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise BrowserError(f"after {seconds} s still not: {expression}")
            time.sleep(every)

    def expect_words(self, pattern, seconds=PATIENCE_S):
        """Waits until a console message matches a regular expression; such messages are allowed from now on."""
        self.expected.append(pattern)
        end = time.monotonic() + seconds
        while not any(re.search(pattern, line) for line in self.said):
            if time.monotonic() > end:
                raise BrowserError(f"the console does not say {pattern}: {self.said}")
            self.evaluate("1")
            time.sleep(0.05)

    def unexpected(self):
        """The messages that are not expected."""
        return [line for line in self.said if not any(re.search(pattern, line) for pattern in self.expected)]

    def box(self, selector):
        """Left, top, width, height in the window."""
        return self.evaluate(f"(() => {{ const b = document.querySelector({json.dumps(selector)})."
                             "getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")

    def middle(self, selector):
        x, y, width, height = self.box(selector)
        return x + width / 2, y + height / 2

    def press(self, selector):
        self.click(*self.middle(selector))

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def pick(self, selector, value):
        """An option of a list, as a user picks one."""
        self.evaluate(f"(() => {{ const list = document.querySelector({json.dumps(selector)}); list.value = "
                      f"{json.dumps(value)}; list.dispatchEvent(new Event('change', {{bubbles: true}})); }})()")

    def key(self, chord):
        """A key with its modifiers: "Control+Shift+b", "Escape", "/"."""
        *mods, key = chord.split("+") if chord != "+" else ["+"]
        self.keys(mods, key)

    def type(self, text):
        for letter in text:
            self.keys([], letter)

    def downloaded(self, name, seconds=PATIENCE_S):
        """The bytes of a file that the page has saved; the file is gone after that."""
        path = os.path.join(self.browser.downloads, name)
        end = time.monotonic() + seconds
        while not (os.path.exists(path) and os.path.getsize(path) and
                   not any(other.endswith((".part", ".crdownload")) for other in os.listdir(self.browser.downloads))):
            if time.monotonic() > end:
                raise BrowserError(f"{name} is not among the downloads: {os.listdir(self.browser.downloads)}")
            self.evaluate("1")
            time.sleep(0.05)
        with open(path, "rb") as file:
            data = file.read()
        os.unlink(path)
        return data

    def pid(self):
        """The process that runs the page: the largest of the browser's processes that run pages."""
        pages = [pid for pid, (_, words) in self.browser.children().items() if self.browser.PAGES in words]
        return max(pages, key=lambda pid: kib(f"/proc/{pid}/status", "VmRSS"))


Cost = collections.namedtuple("Cost", "cpu_ms pss_bytes peak_bytes threads")


def cost_of(pid):
    """The cost of a process so far: its processor time, also of each thread, {name: ms}; its share of
    memory now, and the most that was resident."""
    tick = 1000 / os.sysconf("SC_CLK_TCK")
    threads = collections.Counter()
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                ms = int(file.read().split()[0]) / 1e6
            with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8", errors="replace") as file:
                threads[file.read().strip()] += ms
        except OSError:
            pass
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return Cost((int(fields[11]) + int(fields[12])) * tick, kib(f"/proc/{pid}/smaps_rollup", "Pss") << 10,
                kib(f"/proc/{pid}/status", "VmHWM") << 10, dict(threads))


def kib(path, name):
    with open(path, encoding="utf-8", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))


def base64_bytes(text):
    return base64.b64decode(text)
