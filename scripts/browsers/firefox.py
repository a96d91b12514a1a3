"""Firefox, by WebDriver BiDi: JSON through a WebSocket."""

import base64
import json
import os
import re
import select
import socket
import struct
import time

from browsers.browser import PATIENCE_S, Browser, BrowserError, Page, base64_bytes

KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Backspace": "\ue003", "Delete": "\ue017",
        "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015",
        "PageUp": "\ue00e", "PageDown": "\ue00f", "End": "\ue010", "Home": "\ue011", "Shift": "\ue008",
        "Control": "\ue009", "Alt": "\ue00a", "Meta": "\ue03d"}
EVENTS = ["log.entryAdded", "network.beforeRequestSent", "browsingContext.userPromptOpened"]
PREFS = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.aboutConfig.showWarning": False,
    "browser.download.alwaysOpenPanel": False,
    "browser.download.always_ask_before_handling_new_types": False,
    "browser.download.folderList": 2,
    "browser.newtabpage.enabled": False,
    "browser.region.network.url": "",
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.allow_hijacking_localhost": True,
    "network.proxy.no_proxies_on": "",
    "network.proxy.type": 1,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.enabled": False,
    "ui.prefersReducedMotion": 0,
}


class WebSocket:
    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.rest = b""
        status = self.take_line()
        if b" 101 " not in status:
            raise BrowserError(f"no WebSocket: {status!r}")
        while self.take_line():
            pass

    def more(self, seconds):
        """False: nothing arrived in time."""
        if not select.select([self.socket], [], [], max(0, seconds))[0]:
            return False
        part = self.socket.recv(1 << 20)
        if not part:
            raise BrowserError("the browser has ended")
        self.rest += part
        return True

    def need(self):
        if not self.more(PATIENCE_S):
            raise BrowserError(f"half a message, and no more for {PATIENCE_S} s")

    def take(self, size):
        while len(self.rest) < size:
            self.need()
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def take_line(self):
        while b"\r\n" not in self.rest:
            self.need()
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line

    def send(self, text):
        data = text.encode()
        size = len(data)
        length = (bytes([size | 128]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 65536
                  else b"\xff" + struct.pack(">Q", size))
        mask = os.urandom(4)
        pad = int.from_bytes(mask * (size // 4 + 1), "big") >> 8 * (4 - size % 4)
        masked = (int.from_bytes(data, "big") ^ pad).to_bytes(size, "big")
        self.socket.sendall(b"\x81" + length + mask + masked)

    def receive(self, seconds):
        """A message; None: it did not begin in time."""
        if not self.rest and not self.more(seconds):
            return None
        parts = []
        while True:
            head = self.take(2)
            size = head[1] & 127
            if size >= 126:
                size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
            data = self.take(size)
            if head[0] & 15 <= 2:
                parts.append(data)
                if head[0] & 128:
                    return b"".join(parts).decode()


class Firefox(Browser):
    PROGRAMS = ("firefox-esr", "firefox")
    PAGES = "-contentproc"  # in the command lines of processes that run pages

    def __init__(self, folder, dark=False):
        super().__init__(folder, dark)
        prefs = {**PREFS, "browser.download.dir": self.downloads,
                 "layout.css.prefers-color-scheme.content-override": 0 if dark else 1}
        for kind in ("http", "ssl"):
            prefs[f"network.proxy.{kind}"] = "127.0.0.1"
            prefs[f"network.proxy.{kind}_port"] = self.proxy.port
        with open(os.path.join(self.profile, "user.js"), "w", encoding="utf-8") as file:
            for name, value in prefs.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.launch([self.program, "--headless", "--no-remote", "--profile", self.profile,
                     "--remote-debugging-port", "0"])
        self.socket = WebSocket(self.port(), "/session")
        self.pages = {}
        self.closed = set()
        self.call("session.new", {"capabilities": {}})
        self.call("session.subscribe", {"events": EVENTS})

    def port(self):
        """The port where it listens, from its log."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            with open(self.log.name, encoding="utf-8", errors="replace") as file:
                found = re.search(r"BiDi listening on ws://[^:]+:(\d+)", file.read())
            if found:
                return int(found.group(1))
            time.sleep(0.1)
        raise BrowserError("Firefox does not start: see " + self.log.name)

    def send(self, message):
        self.socket.send(json.dumps(message))

    def receive(self, seconds):
        text = self.socket.receive(seconds)
        return json.loads(text) if text else None

    def heard(self, event):
        params = event["params"]
        context = params.get("context") or params.get("source", {}).get("context")
        page = self.pages.get(context)
        if page:
            page.heard(event["method"], params)
        elif event["method"] == "log.entryAdded" and context not in self.closed:  # of a worker
            for page in self.pages.values():
                page.heard(event["method"], params)

    def open(self, url, size=(1280, 800)):
        page = FirefoxPage(self, size)
        page.go(url)
        return page


class FirefoxPage(Page):
    def __init__(self, browser, size):
        super().__init__(browser)
        self.context = browser.call("browsingContext.create", {"type": "tab"})["context"]
        browser.pages[self.context] = self
        self.resize(*size)

    def call(self, method, params, **more):
        return self.browser.call(method, {"context": self.context, **params}, **more)

    def heard(self, method, params):
        if method == "log.entryAdded":
            self.said.append(params["text"] or "")
        elif method == "network.beforeRequestSent":
            self.asked.append(params["request"]["url"])
        elif method == "browsingContext.userPromptOpened":
            self.said.append("dialog: " + params.get("message", ""))

    def go(self, url):
        self.call("browsingContext.navigate", {"url": url, "wait": "complete"})

    def close(self):
        del self.browser.pages[self.context]
        self.browser.closed.add(self.context)
        self.call("browsingContext.close", {})

    def resize(self, width, height):
        self.call("browsingContext.setViewport", {"viewport": {"width": width, "height": height},
                                                  "devicePixelRatio": 1})

    def script(self, expression):
        answer = self.browser.call("script.evaluate", {"expression": expression, "target": {"context": self.context},
                                                       "awaitPromise": True})
        if answer["type"] == "exception":
            raise BrowserError(answer["exceptionDetails"]["text"])
        return answer["result"]

    def evaluate(self, expression):
        value = self.script("(async () => JSON.stringify(await (" + expression + ")))()").get("value")
        return None if value is None else json.loads(value)

    def act(self, kind, actions, **more):
        self.call("input.performActions", {"actions": [{"type": kind, "id": kind, "actions": actions, **more}]})

    def keys(self, mods, key):
        chord = [KEYS.get(one, one) for one in [*mods, key]]
        self.act("key", [{"type": "keyDown", "value": value} for value in chord] +
                 [{"type": "keyUp", "value": value} for value in reversed(chord)])

    def pointer(self, *actions):
        self.act("pointer", list(actions), parameters={"pointerType": "mouse"})

    @staticmethod
    def at(x, y):
        return {"type": "pointerMove", "x": round(x), "y": round(y)}

    def move(self, x, y):
        self.pointer(self.at(x, y))

    def click(self, x, y):
        self.pointer(self.at(x, y), {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def drag(self, places, pause=0):
        moves = [{**self.at(*place), "duration": round(1000 * pause)} for place in places[1:]]
        self.pointer(self.at(*places[0]), {"type": "pointerDown", "button": 0}, *moves,
                     {"type": "pointerUp", "button": 0})

    def wheel(self, x, y, dx, dy):
        self.act("wheel", [{"type": "scroll", "x": round(x), "y": round(y), "deltaX": round(dx),
                            "deltaY": round(dy)}])

    def choose(self, selector, paths):
        element = self.script(f"document.querySelector({json.dumps(selector)})")
        self.call("input.setFiles", {"element": {"sharedId": element["sharedId"]}, "files": list(paths)})

    def drop(self, x, y, paths):
        """BiDi cannot drag files into a page: they are chosen in a field, and an event brings them."""
        self.evaluate("(() => { const field = document.createElement('input'); field.type = 'file'; "
                      "field.multiple = true; field.hidden = true; field.id = 'of-the-test'; "
                      "document.body.append(field); })()")
        self.choose("#of-the-test", paths)
        self.evaluate(f"""(() => {{
            const field = document.querySelector('#of-the-test'), dataTransfer = new DataTransfer();
            for (const file of field.files) dataTransfer.items.add(file);
            field.remove();
            const at = {{clientX: {x}, clientY: {y}, bubbles: true, cancelable: true, dataTransfer}};
            for (const kind of ['dragenter', 'dragover', 'drop'])
                document.elementFromPoint({x}, {y}).dispatchEvent(new DragEvent(kind, at));
        }})()""")

    def shot(self, selector):
        """A part of the page as a PNG."""
        x, y, width, height = self.box(selector)
        return base64_bytes(self.call("browsingContext.captureScreenshot", {
            "clip": {"type": "box", "x": x, "y": y, "width": width, "height": height}})["data"])

    def pdf(self):
        return base64_bytes(self.call("browsingContext.print", {"background": True})["data"])
