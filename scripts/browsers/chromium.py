"""Chromium, by the DevTools protocol: JSON, each message ended by a NUL, through two pipes, which the
browser has as files 3 and 4."""

import fcntl
import json
import os
import select
import time

from browsers.browser import PATIENCE_S, Browser, BrowserError, Page, base64_bytes

MODS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "Backspace": 8, "Delete": 46, "ArrowLeft": 37, "ArrowUp": 38,
         "ArrowRight": 39, "ArrowDown": 40, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36}
# Without a sandbox: it needs rights that containers do not have, and only our page is opened.
QUIET = """--headless --no-sandbox --no-first-run --no-default-browser-check --disable-background-networking
    --disable-component-update --disable-default-apps --disable-extensions --disable-sync --disable-gpu
    --disable-dev-shm-usage --metrics-recording-only --no-pings --password-store=basic --use-mock-keychain
    --disable-domain-reliability --disable-client-side-phishing-detection --hide-scrollbars
    --disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider
    --remote-debugging-pipe""".split()


class Chromium(Browser):
    PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
    PAGES = "--type=renderer"  # in the command lines of processes that run pages

    def __init__(self, folder, dark=False):
        super().__init__(folder, dark)
        here_read, its_write = os.pipe()
        its_read, here_write = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (its_read, its_write)]

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.launch([self.program, *QUIET,
                     f"--user-data-dir={self.profile}", f"--proxy-server=http://127.0.0.1:{self.proxy.port}",
                     "--proxy-bypass-list=<-loopback>", "about:blank"],
                    preexec_fn=place, pass_fds=(3, 4))
        for fd in (its_read, its_write, *high):
            os.close(fd)
        self.reader, self.writer = here_read, here_write
        self.rest = b""
        self.pages = {}
        self.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": self.downloads})

    def __exit__(self, *error):
        super().__exit__(*error)
        os.close(self.reader)
        os.close(self.writer)

    def send(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            if not select.select([self.reader], [], [], max(0, end - time.monotonic()))[0]:
                return None
            part = os.read(self.reader, 1 << 20)
            if not part:
                raise BrowserError("the browser has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        if "error" in message:
            message["message"] = message["error"].get("message")
        return message

    def heard(self, event):
        page = self.pages.get(event.get("sessionId"))
        if page:
            page.heard(event["method"], event["params"])

    def open(self, url, size=(1280, 800)):
        page = ChromiumPage(self, size)
        page.go(url)
        return page


class ChromiumPage(Page):
    def __init__(self, browser, size):
        super().__init__(browser)
        self.context = browser.call("Target.createBrowserContext", {"disposeOnDetach": True})["browserContextId"]
        browser.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": browser.downloads,
                                                     "browserContextId": self.context})
        target = browser.call("Target.createTarget", {"url": "about:blank", "browserContextId": self.context,
                                                      "width": size[0], "height": size[1]})["targetId"]
        self.session = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self.target = target
        self.is_loaded = False
        browser.pages[self.session] = self
        self.attend(self.session)
        self.call("Page.enable")
        self.call("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if browser.is_dark else "light"}]})
        self.resize(*size)

    def call(self, method, params=None, **more):
        return self.browser.call(method, params, sessionId=self.session, **more)

    def attend(self, session):
        """Subscribes to all messages and requests of a page or a worker."""
        for method, params in (("Runtime.enable", {}), ("Log.enable", {}), ("Network.enable", {}),
                               ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False,
                                                         "flatten": True})):
            self.browser.number += 1
            self.browser.send({"id": self.browser.number, "method": method, "params": params, "sessionId": session})

    def heard(self, method, params):
        if method == "Target.attachedToTarget":
            self.browser.pages[params["sessionId"]] = self
            self.attend(params["sessionId"])
        elif method == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(value.get("value", value.get("description"))) for value in params["args"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.said.append("dialog: " + params["message"])
        elif method == "Page.loadEventFired":
            self.is_loaded = True

    def go(self, url):
        self.is_loaded = False
        self.call("Page.navigate", {"url": url})
        while not self.is_loaded:
            self.browser.listen(PATIENCE_S, url)

    def close(self):
        self.browser.call("Target.disposeBrowserContext", {"browserContextId": self.context})

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1,
                                                         "mobile": False})

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def keys(self, mods, key):
        held = sum(MODS[mod] for mod in mods)
        plain = {"key": key, "modifiers": held,
                 "windowsVirtualKeyCode": CODES.get(key) or ord(key[0].upper())}
        is_text = len(key) == 1 and not held & 7
        text = key if is_text else "\r" if key == "Enter" else ""
        self.call("Input.dispatchKeyEvent", {"type": "keyDown" if text else "rawKeyDown", "text": text, **plain})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **plain})

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)

    def click(self, x, y):
        self.move(x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, places, pause=0):
        self.move(*places[0])
        self.mouse("mousePressed", *places[0], button="left", buttons=1, clickCount=1)
        for place in places[1:]:
            time.sleep(pause)
            self.mouse("mouseMoved", *place, button="left", buttons=1)
        self.mouse("mouseReleased", *places[-1], button="left", clickCount=1)

    def wheel(self, x, y, dx, dy):
        self.mouse("mouseWheel", x, y, deltaX=dx, deltaY=dy)

    def choose(self, selector, paths):
        root = self.call("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
        node = self.call("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
        self.call("DOM.setFileInputFiles", {"files": list(paths), "nodeId": node})

    def drop(self, x, y, paths):
        data = {"items": [], "files": list(paths), "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", {"type": kind, "x": x, "y": y, "data": data})

    def shot(self, selector):
        """A part of the page as a PNG."""
        x, y, width, height = self.box(selector)
        return base64_bytes(self.call("Page.captureScreenshot", {"format": "png", "clip": {
            "x": x, "y": y, "width": width, "height": height, "scale": 1}})["data"])

    def pdf(self):
        return base64_bytes(self.call("Page.printToPDF", {"printBackground": True})["data"])
