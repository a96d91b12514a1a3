"""memviz.html in a real browser: scripts/test-web runs each function here, with a Bench
that has the browser, the program and the snapshots. A function's name states what is true."""

import base64
import contextlib
import gzip
import html
import json
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import time

from browsers import PATIENCE_S, BrowserError

ONE = ["leaks", "peak", "oom", "fragmentation", "whatif", "lines", "stats", "info", "ledger"]
TWO = ["diff", "ranks"]
# Text that would do harm if a page read it as markup, and characters that terminals or lists interpret.
HOSTILE = ["</script><script>window.harm=1</script>", "<img src=x onerror=window.harm=2>",
           "<svg onload=window.harm=3>", "\"'><iframe srcdoc='<script>parent.harm=4</script>'>", "${window.harm=5}",
           "javascript:window.harm=6", "\x1b]0;harm\x07\x1b[31m", "\u202egpj.exe\u2066", "a\0b", "<!--", "]]>", "\ud83d\ude00\u0301" * 9,
           "@SHELL@", "x" * 3000]


# The message that browsers print when a policy has blocked a request.
POLICY = "(?i)content.security.policy"
CANARY = "http://canary.test/"  # none of our pages requests it


class Bench:
    """The common part of the cases. `program` is memviz, `url` the page's address, `folder` is for their files."""

    def __init__(self, browser, start, program, url, snapshots, folder):
        self.browser = browser
        self.start = start
        self.program = program
        self.url = url
        self.snapshots = snapshots
        self.folder = folder
        self.pages = []
        self.marks = 0

    def snapshot(self, name):
        return os.path.join(self.snapshots, name)

    def made(self, name, data):
        """A file with these bytes."""
        os.makedirs(os.path.join(self.folder, "files"), exist_ok=True)
        path = os.path.join(self.folder, "files", name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def run(self, *words, folder="/", status=0):
        """The program's output, including its errors."""
        env = {**os.environ, "MEMVIZ_PAGE": self.url[len("file://"):]}
        done = subprocess.run([self.program, *words], cwd=folder, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        if status is not None and done.returncode != status:
            raise AssertionError(f"memviz {' '.join(words)}: status {done.returncode}: {done.stderr.decode()}")
        return done.stdout + done.stderr

    def open(self, size=(1280, 800), url=None, browser=None):
        page = (browser or self.browser).open(url or self.url, size)
        page.url = url or self.url
        page.wait("typeof viewer !== 'undefined' && !!viewer")
        page.evaluate("picture.style.outline = 'none'")  # the keyboard's frame
        self.pages.append(page)
        return page

    def showing(self, *names):
        """A page that shows these snapshots."""
        page = self.open()
        self.load(page, [self.snapshot(name) for name in names])
        return page

    def load(self, page, paths, seconds=PATIENCE_S):
        """Chooses files, and waits until all of them are shown or refused."""
        # A viewer without an open file forgets files that failed.
        before = page.evaluate("viewer.files.filter((file, i) => isOpen(viewer) || viewer.stages[i] <= 2).length")
        page.choose("#files", paths)
        self.shown(page, before + len(paths), seconds)

    def shown(self, page, count, seconds=PATIENCE_S):
        page.wait(f"!next && !isReading() && viewer.stages.length === {count} && viewer.stages.every(stage => stage >= 2) "
                  "&& viewer.state.isIdle", seconds)

    def report(self, page, name, of=None, seconds=PATIENCE_S):
        """A report's text; opens the part of the page with the reports."""
        if page.evaluate("byId('side').hidden"):
            page.press("#texts")
        page.pick("#report", name)
        if of:
            page.pick("#file", of)
        page.wait(f"byId('text').textContent && byId('text').textContent !== {json.dumps(name + ' …')}", seconds)
        return page.text("#text")

    def picture(self, page):
        """The canvas once all input has been processed and painted, nothing remains to be computed, and
        nothing moves. A worker's frame begins when its last frame has been handed on: two more frames show that the
        painted one has left the worker."""
        self.painted(page, 3)
        return self.settled(page)

    def painted(self, page, frames):
        """Waits for this many frames of the worker, each of which begins after the last."""
        first = self.marks + 1
        self.marks += frames
        page.evaluate(f"""(async () => {{
            for (let mark = {first}; mark <= {self.marks}; mark++) await new Promise(done => {{
                const hear = ({{data}}) => {{
                    if (data.mark !== mark || !data.isIdle || data.moves) return;
                    viewer.removeEventListener('message', hear);
                    done();
                }};
                viewer.addEventListener('message', hear);
                viewer.postMessage({{measure: mark}});
            }});
        }})()""")

    def settled(self, page):
        """The canvas as soon as the browser shows the same picture twice: it may show a worker's picture some
        frames later. Comparisons must retry (`becomes`, `changes`)."""
        before = seen = None

        def is_same():
            nonlocal before, seen
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
            before, seen = seen, page.shot("#picture")
            return seen == before

        eventually(is_same, "the canvas is never the same twice")
        return seen

    def keep(self, name, png):
        """Saves a picture for people to look at."""
        with open(os.path.join(self.folder, name + ".png"), "wb") as file:
            file.write(png)

    def press(self, page, key, before=None):
        """A key that changes the picture."""
        return self.changes(page, lambda: page.key(key), key, before)

    def changes(self, page, work, what="what was done", before=None):
        """Waits until the picture differs from `before` (default: the last picture that was returned)."""
        before = after = before or self.picture(page)

        def is_other():
            nonlocal after
            after = self.picture(page)
            return after != before

        work()
        eventually(is_other, f"{what} does not change the picture")
        return after

    def becomes(self, page, wanted, what):
        """Waits until the picture equals this one."""
        eventually(lambda: self.picture(page) == wanted, what)

    def close(self):
        """Nothing was written to the console, and only the page was requested."""
        try:
            for page in self.pages:
                assert not page.evaluate("window.harm"), "a script of a snapshot has run"
                others = [url for url in page.asked
                          if not url.startswith((page.url, "blob:", "data:", *page.refused_urls))]
                page.evaluate("1")
                more = page.unexpected()
                assert not more, f"said: {more}"
                assert not others, f"asked for: {others}"
        finally:
            for page in self.pages:
                with contextlib.suppress(OSError, BrowserError, KeyError):  # the browser may have ended
                    page.close()
            self.pages = []


def eventually(is_so, what):
    """Repeats until the condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def pixels(page, *pngs):
    """Reads a picture: its width, height and colours; and if there is another picture, the number of bytes that differ
    (`other`), and by how much at `most`."""
    texts = json.dumps([base64.b64encode(png).decode() for png in pngs])
    return page.evaluate("""(async texts => {
        const [a, b] = await Promise.all(texts.map(async text => {
            const image = await createImageBitmap(new Blob([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))], {type: 'image/png'}));
            const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, image.width, image.height);
        }));
        const colours = new Set(new Uint32Array(a.data.buffer)).size;
        let most = 0, other = 0;
        if (b && (a.width !== b.width || a.height !== b.height)) most = 255;
        else if (b) for (let i = 0; i < a.data.length; i++) if (a.data[i] !== b.data[i]) {
            most = Math.max(most, Math.abs(a.data[i] - b.data[i]));
            other++;
        }
        return {width: a.width, height: a.height, colours, most, other};
    })(""" + texts + ")")


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_is_shown_after_a_double_click_on_the_page(bench):
    page = bench.open()
    assert page.evaluate("document.title") == "memviz"
    assert "Drop memory snapshots here" in page.evaluate("byId('welcome').innerText")
    bench.load(page, [bench.snapshot("leak_in_training.pickle")])
    seen = pixels(page, bench.picture(page))
    assert seen["colours"] > 30 and seen["width"] == 1280, seen
    assert page.evaluate("byId('welcome').hidden")
    assert page.evaluate("document.title").startswith("leak_in_training.pickle")
    assert page.text("#status") == "leak_in_training.pickle"


def test_a_sample_is_inside_the_page(bench):
    page = bench.open()
    page.press("#sample")
    bench.shown(page, 1)
    assert page.text("#status") == "sample.bin"
    assert "train.py:62 forward: 2.00 MiB a step" in bench.report(page, "leaks")


def test_files_that_could_not_be_read_are_forgotten_when_others_are_opened(bench):
    page, bad = bench.open(), bench.made("bad.pickle", b"<html>")
    bench.load(page, [bad, bench.made("worse.pickle", b"\0\1")])
    assert page.text("#status").startswith("bad.pickle: ")
    page.choose("#files", [bench.snapshot("gpt_train.pickle")])
    bench.shown(page, 1)
    assert page.text("#status") == "gpt_train.pickle" and page.evaluate("document.title").startswith("gpt_train.pickle")
    assert page.evaluate("files.length") == 1


def test_a_link_opens_the_view_again(bench):
    page = bench.open()
    page.press("#sample")
    bench.shown(page, 1)
    bench.press(page, "3")
    page.press("#link")
    page.wait("location.hash.length > 1")
    assert page.evaluate("location.hash.length") < 200, page.evaluate("location.hash")  # no such file opens
    want = bench.picture(page)  # a page behind another page paints nothing
    again = bench.open(url=page.evaluate("location.href"))
    again.url = bench.url  # no view for its request
    again.press("#sample")
    bench.shown(again, 1)
    bench.becomes(again, want, "the view is another one")


def formats(bench):
    """One snapshot as every kind of file that memviz reads."""
    source = bench.snapshot("mlp_train.pickle")
    with open(source, "rb") as file:
        data = file.read()
    made = [bench.made(f"protocol_{n}.pickle", pickle.dumps(pickle.loads(data), n)) for n in (2, 3, 4, 5)]
    made.append(bench.made("packed.pickle.gz", gzip.compress(data, mtime=0)))
    for name in ("own.bin", "plain.msgpack"):
        path = os.path.join(bench.folder, "files", name)
        bench.run("convert", "-q", source, path)
        made.append(path)
    packed = bench.made("packed.pickle.zst", b"")
    shutil.copyfile(bench.snapshot("frag_varying_batch.pickle.zst"), packed)
    return made + [packed]


def test_a_screen_reader_gets_rows_legend_and_tabs(bench):
    page = bench.showing("leak_in_training.pickle")
    texts = "[...byId('spoken_%s').children].map(part => part.textContent)"
    page.wait("byId('spoken_row').textContent.includes('LEAK')")
    assert any(text.startswith("LEAK, train.py:62 forward, 2.00 MiB a step") for text in page.evaluate(texts % "row"))
    assert any("train.py:62" in text and "24.0 MiB" in text for text in page.evaluate(texts % "legend"))
    assert "event 8,407 of 8,945" in page.evaluate("byId('spoken_status').textContent")
    assert page.evaluate(texts % "tab")[:4] == ["Flame graph", "Tables", "Details", "Reports"]
    page.evaluate("byId('spoken_tab').children[1].click()")  # the picture follows
    page.wait("byId('spoken_heading').textContent.includes('line of code')")
    page.wait("byId('spoken_tab').children[1].getAttribute('aria-pressed') === 'true'")


def test_every_kind_of_file_is_read_and_many_are_ranks(bench):
    page, paths = bench.open(), formats(bench)
    bench.load(page, paths)
    assert page.evaluate("viewer.stages.every(stage => stage === 2)")
    names = [os.path.basename(path) for path in paths]
    folder = os.path.dirname(paths[0])
    for name in names:
        assert bench.report(page, "leaks", name).encode() == bench.run("leaks", name, folder=folder), name
    assert bench.report(page, "ranks").encode() == bench.run("ranks", *names, folder=folder)
    bench.keep("ranks", page.shot("body"))


def test_files_are_dropped(bench):
    page = bench.open()
    page.drop(640, 400, [bench.snapshot("gpt_train.pickle"), bench.snapshot("leak_in_training.pickle")])
    bench.shown(page, 2)
    assert page.evaluate("document.title").startswith("gpt_train.pickle and 1 more")
    page.drop(640, 400, [bench.snapshot("oom.pickle")])
    bench.shown(page, 3)
    assert page.evaluate("byId('file').length") == 3


def test_what_is_no_snapshot_is_refused_in_a_line_and_the_page_goes_on(bench):
    page = bench.open()
    with open(bench.snapshot("gpt_train.pickle"), "rb") as file:
        good = file.read()
    bad = [bench.made("cut.pickle", good[:len(good) // 2]), bench.made("empty.pickle", b""),
           bench.made("letter.pdf", b"%PDF-1.7\nnothing of ours\n"), bench.made("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(999)),
           bench.made("command.pickle", b"cposix\nsystem\n(S'true'\ntR."),
           bench.made("flipped.bin", bytes(255 - byte for byte in good[:5000]))]
    for path in bad:
        refused(bench, page, path)
    bench.load(page, [bench.snapshot("gpt_train.pickle")])
    bench.press(page, "2")
    want = bench.run("leaks", "gpt_train.pickle", folder=bench.snapshots)
    assert bench.report(page, "leaks", "gpt_train.pickle").encode() == want
    page.press("#close")
    before = bench.picture(page)
    with open(bad[0], "rb") as file:
        refused(bench, page, bench.made("late.pickle", file.read()))
    refused(bench, page, bench.made("late.txt", b"loss 0.1\n"))
    # A long reason stays until the next press, and messages about a file stay for some seconds.
    page.evaluate("document.dispatchEvent(new Event('pointerdown'))")
    bench.becomes(page, before, "what was open has changed")
    assert bench.report(page, "leaks", "gpt_train.pickle").encode() == want


def refused(bench, page, path):
    """Chooses a file that cannot be read: the page gives the reason in the program's words."""
    name = os.path.basename(path)
    page.evaluate("show('')")
    page.choose("#files", [path])
    page.wait(f"!next && !isReading() && byId('status').textContent.includes({json.dumps(name + ': ')}) && "
              "!byId('status').textContent.startsWith('Reading')")
    said = [line for line in page.text("#status").split(" · ") if line.startswith(name)]
    want = bench.run("info", "-q", name, folder=os.path.dirname(path), status=1).decode().strip()
    assert said and said[-1].rstrip(".") in want, f"{said} is not in {want}"


def test_a_narrow_page_has_the_whole_reason(bench):
    page = bench.open((390, 800))
    refused(bench, page, bench.made("damaged.pickle", b"\x80\x02not a pickle at all"))
    assert page.evaluate("status.scrollWidth <= status.clientWidth && status.clientHeight > 30"), "the reason is cut"
    page.press("#welcome" if page.evaluate("!byId('welcome').hidden") else "#picture")
    assert page.evaluate("!status.classList.contains('long')"), "the reason stays over the page"


def test_a_page_with_a_snapshot_inside_shows_it(bench):
    its = os.path.join(bench.folder, "files", "inside.html")
    bench.made("inside.html", b"")
    bench.run("convert", "-q", bench.snapshot("gpt_train.pickle"), its)
    page = bench.open(url="file://" + its)
    page.wait("byId('status').textContent === 'gpt_train.pickle'")
    assert pixels(page, bench.picture(page))["colours"] > 30
    want = bench.run("leaks", "gpt_train.pickle", folder=bench.snapshots)
    assert bench.report(page, "leaks").encode() == want


def test_pages_from_a_page_have_nothing_of_the_snapshot_in_it(bench):
    its = os.path.join(bench.folder, "files", "hostile.html")
    bench.made("hostile.html", b"")
    bench.run("convert", "-q", bench.snapshot("gpt_train.pickle"), its)
    with open(its, "r+", encoding="utf-8") as file:
        text = file.read().replace('data-name="', 'data-state="&lt;/script&gt;&lt;i id=harm&gt;" data-name="', 1)
        file.seek(0)
        file.write(text)
    page = bench.open(url="file://" + its)
    source = page.evaluate("source.text()")
    assert source.count("<!--snapshot-->") == 1 and "<i id=harm>" not in source
    assert 'id="snapshot"' not in source and 'id="verdict"' not in source
    assert "<title>memviz</title>" in source


# ---- the viewer ----------------------------------------------------------------------------------


def test_every_pane_opens_by_its_key_and_the_picture_can_be_moved(bench):
    page = bench.showing("leak_in_training.pickle")
    last = bench.picture(page)
    seen = {last}
    for key in ("2", "3", "9", "1", "4", "5", "6", "7"):
        last = bench.press(page, key, last)
        seen.add(last)
    assert len(seen) == 7, "panes look alike"
    for work in (lambda: [page.wheel(500, 300, 0, -100) for _ in range(5)], lambda: page.wheel(500, 300, 100, 0),
                 "0", lambda: page.drag([(300, 300), (400, 300), (500, 300)]), "Alt+ArrowLeft",
                 lambda: page.click(600, 350), "Shift+p", "?", "Escape", "c", "Tab", "Tab", "Tab"):
        last = bench.press(page, work, last) if isinstance(work, str) else bench.changes(page, work, before=last)


def test_a_search_is_typed(bench):
    page = bench.showing("leak_in_training.pickle")
    page.key("/")
    page.wait("viewer.state.wantsText")
    bench.changes(page, lambda: page.type("size>1M"))
    bench.press(page, "Backspace")
    page.key("Escape")
    page.wait("!viewer.state.wantsText")


def test_the_theme_is_that_of_the_browser_and_t_changes_it(bench):
    with bench.start(dark=not bench.browser.is_dark) as other:
        pictures = []
        for browser, theme, next_one in ((bench.browser, "dark", "light"), (other, "light", "dark")):
            page = bench.open(browser=browser)
            bench.load(page, [bench.snapshot("gpt_train.pickle")])
            assert page.evaluate("document.documentElement.dataset.theme") == theme
            pictures.append(bench.picture(page))
            bench.keep(theme, page.shot("body"))
            pictures.append(bench.press(page, "t", pictures[-1]))
            assert page.evaluate("document.documentElement.dataset.theme") == next_one
        grounds = [page.evaluate("getComputedStyle(document.body).backgroundColor") for page in bench.pages]
        assert grounds[0] != grounds[1], grounds
        assert pixels(page, pictures[0], pictures[3])["most"] == 0, "dark is not dark"
        assert pixels(page, pictures[1], pictures[2])["most"] == 0, "light is not light"
        bench.close()


def test_a_narrow_window_has_all_of_it_and_a_wide_one_too(bench):
    for size in ((400, 700), (2560, 1300)):
        page = bench.open(size=size)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size[0], "the welcome is too wide"
        bench.load(page, [bench.snapshot("gpt_train.pickle"), bench.snapshot("leak_in_training.pickle")])
        x, y, width, height = page.box("#picture")
        assert (x, width, y + height) == (0, *size), (x, y, width, height)
        bench.press(page, "2")
        bench.keep(f"width_{size[0]}", page.shot("body"))
        assert "gpt_train" in bench.report(page, "diff")
        bench.keep(f"width_{size[0]}_report", page.shot("body"))
        for selector in ("#open", "#texts", "#report", "#copy", "#json", "#close", "#text"):
            x, y, width, height = page.box(selector)
            assert x >= 0 and width > 0 and x + width < size[0] + 0.5 and y + height < size[1] + 0.5, (selector, page.box(selector))
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size[0]
        page.press("#close")
        page.wait("byId('side').hidden")
        page.resize(size[0] + 150, size[1])
        page.wait(f"picture.clientWidth === {size[0] + 150}")
        assert pixels(page, bench.picture(page))["width"] == size[0] + 150


def test_the_picture_is_that_of_the_window(bench):
    """The same file and the same keys, in the page and in the viewer without a window."""
    file, keys = bench.snapshot("leak_in_training.pickle"), ["1", "2", "3", "9", "1", "4", "5", "6", "7"]
    page = bench.open(size=(1280, 756))
    bench.load(page, [file])
    width, height = page.box("#picture")[2:]
    folder = os.path.join(bench.folder, "window")
    os.makedirs(folder, exist_ok=True)
    script = bench.made("keys.vzs", "".join(f"key {key}\nwait idle\nshot {i}.png\n" for i, key in enumerate(keys)).encode())
    bench.run("view", "-q", "--headless", "--theme", "dark", "--size", f"{width}x{height}", "--script", script, file, folder=folder)
    differences = {}
    for i, key in enumerate(keys):
        page.key(key)
        with open(os.path.join(folder, f"{i}.png"), "rb") as file:
            window = file.read()

        def is_same():
            here = bench.picture(page)
            bench.keep(os.path.join("window", f"{i}_page"), here)
            differences[f"{i}:{key}"] = pixels(page, here, window)
            return differences[f"{i}:{key}"]["other"] == 0

        eventually(is_same, differences)


# ---- reports and exports ---------------------------------------------------------------------------


def test_reports_are_the_text_of_the_program_and_its_json(bench):
    page, names = bench.open(), ["oom_fragmented.pickle", "leak_in_training.pickle"]
    bench.load(page, [bench.snapshot(name) for name in names])
    assert page.evaluate("byId('side').hidden")
    for report in ONE + TWO:
        files = names if report in TWO else names[1:]
        text = bench.report(page, report, names[1])
        assert text.encode() == bench.run(report, *files, folder=bench.snapshots, status=None), report
        if report == "ledger":  # it has no JSON for a snapshot, and the page reports that
            continue
        page.press("#json")
        saved = page.downloaded("-".join(files) + f".{report}.json")
        assert saved == bench.run(report, "--json", *files, folder=bench.snapshots), report
        json.loads(saved)
    bench.report(page, "leaks", names[1])
    for _ in range(2):  # the viewer shows that it works, and that it is idle
        page.press("#picture")
        bench.picture(page)
    assert page.evaluate("byId('file').value") == names[1], "another file is chosen by itself"
    assert page.evaluate("[...byId('report').options].map(option => option.value)") == ONE + TWO
    assert page.evaluate("(() => { getSelection().selectAllChildren(byId('text')); return getSelection().toString().trim() "
                         "=== byId('text').textContent.trim(); })()"), "the text cannot be selected"
    bench.keep("report", page.shot("body"))


def test_reports_are_of_the_file_that_has_the_name_now(bench):
    page = bench.showing("leak_in_training.pickle", "oom.pickle")
    said = page.evaluate("Promise.all(files.map(({number, blob}) => run(['stats', '--json', 'x'], [{number, name: 'x', blob}])))"
                         ".then(all => all.map(one => new TextDecoder().decode(one.out)))")
    want = [json.loads(bench.run("stats", "--json", name, folder=bench.snapshots)) for name in ("leak_in_training.pickle", "oom.pickle")]
    assert [json.loads(one)["devices"] for one in said] == [one["devices"] for one in want]


def test_the_text_of_an_error_is_pasted(bench):
    page, said = bench.open(), "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB " \
        "of which 1.50 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated."
    page.evaluate("(text => { const data = new DataTransfer(); data.setData('text/plain', text); document.dispatchEvent("
                  f"new ClipboardEvent('paste', {{clipboardData: data, dataType: 'text/plain', data: text, cancelable: true}})); return 0; }})({json.dumps(said)})")
    page.wait("byId('text').textContent.includes('2.00 GiB')")
    path = bench.made("pasted text", said.encode())
    assert page.text("#text").encode() == bench.run("oom", os.path.basename(path), folder=os.path.dirname(path))


def test_a_report_is_shown_while_its_json_is_saved(bench):
    page = bench.showing("leak_in_training.pickle")
    bench.report(page, "leaks")
    page.evaluate("byId('report').value = 'peak', showReport(), saveJson(), 0")
    json.loads(page.downloaded("leak_in_training.pickle.peak.json"))
    page.wait("byId('text').textContent.includes('allocated at the peak')")


def test_a_viewer_that_cannot_start_is_not_started_again_and_again(bench):
    page = bench.open()
    page.evaluate("endViewer(viewer), compiled = {}, viewer = startViewer(false), 0")
    page.wait("byId('status').textContent.startsWith('memviz cannot start: ')")
    assert page.evaluate("document.querySelectorAll('#picture canvas').length") == 0


def test_paper_has_the_picture_and_the_report(bench):
    page = bench.showing("leak_in_training.pickle")
    text = bench.report(page, "leaks")
    path = bench.made("paper.pdf", page.pdf())
    assert os.path.getsize(path) > 10000
    words = subprocess.run(["pdftotext", "-layout", path, "-"], check=True, stdout=subprocess.PIPE).stdout.decode()
    missing = [word for word in re.findall(r"[\w.:]{4,}", text) if word not in re.sub(r"\s+", " ", words)]
    assert not missing, f"not on paper: {missing[:20]}"
    # Without toolbar and status bar.
    assert page.evaluate("Math.abs(byId('paper').naturalHeight - (sizeNow()[1] - viewer.state.bars[0] - viewer.state.bars[1])) <= 1")
    assert page.evaluate("viewer.state.bars.every(height => height > 15)")


def test_the_tour_is_for_people_who_have_not_ended_it(bench):
    page = bench.open()
    assert not page.evaluate("wantsTour()"), "a browser that a program drives"
    page.evaluate("(() => { wantsTour = () => true; endViewer(viewer); viewer = startViewer(false); })()")
    page.press("#sample")
    page.wait("viewer.state.hasTour && viewer.state.isIdle")
    page.wait("/^Memory over time, /.test(byId('spoken_status').textContent)")
    bench.keep("tour", page.shot("body"))
    page.key("ArrowRight")
    page.wait("/^Legend, /.test(byId('spoken_status').textContent)")
    assert page.evaluate("localStorage.getItem(TOUR)") is None
    page.key("Escape")
    page.wait("!viewer.state.hasTour && localStorage.getItem(TOUR) === 'ended'")


def test_an_exported_view_is_saved_as_a_file(bench):
    page = bench.showing("gpt_train.pickle")
    page.key("5")
    for ending, begins in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".tsv", b"")):
        page.key("Control+e")
        page.wait("viewer.state.wantsText")
        page.key("Control+a")
        page.type("picture" + ending)
        bench.picture(page)
        page.key("Enter")
        assert page.downloaded("picture" + ending).startswith(begins), ending
        page.wait("!viewer.state.wantsText")


# ---- what must not happen ---------------------------------------------------------------------------


def test_a_later_file_is_read_beside_the_first_and_can_be_given_up(bench):
    page, second = bench.showing("leak_in_training.pickle"), bench.snapshot("gpt_train.pickle")
    segments = bench.press(page, "4", bench.press(page, "2"))
    page.evaluate("(() => { const old = takeOver; takeOver = () => { window.held = old; }; })()")
    page.choose("#files", [second])
    page.wait("!!window.held")  # it has been read, and waits
    assert page.evaluate("document.querySelectorAll('#picture canvas').length") == 2
    bench.press(page, "1")
    page.key("2")
    bench.becomes(page, segments, "the first file cannot be used meanwhile")
    page.key("Escape")
    page.wait("!next && !isReading() && files.length === 1")
    bench.becomes(page, segments, "the first file is not shown any more")
    page.evaluate("(() => { takeOver = held; })()")
    bench.load(page, [second])
    assert page.evaluate("files.map(file => file.name)") == ["leak_in_training.pickle", "gpt_train.pickle"]
    bench.press(page, "1")


def test_a_file_of_many_parts_is_read_to_its_end(bench):
    with open(bench.snapshot("leak_in_training.pickle"), "rb") as file:
        snapshot = pickle.load(file)
    numbers = random.Random(1)
    others = [[numbers.randrange(1 << 30), str(i)] for i in range(1 << 20)]
    path = bench.made("parts.pickle", pickle.dumps({"others": others, **snapshot}))
    assert os.path.getsize(path) > 16 << 20, os.path.getsize(path)
    page = bench.open()
    bench.load(page, [path])
    assert page.evaluate("viewer.stages") == [2], page.text("#status")
    assert bench.report(page, "peak").encode() == bench.run("peak", "parts.pickle", folder=os.path.dirname(path))


def test_a_session_names_the_files_that_it_lacks_and_shows_them(bench):
    page = bench.open()
    text = b"memviz session 1\npath /there/gpt_train.pickle\nmain segments\ntab flame\nis_dark no\nend\n"
    page.choose("#files", [bench.made("look.session", text)])
    page.wait("byId('status').textContent.includes('needs /there/gpt_train.pickle')")
    for theme in ("light", "dark"):
        page.key("t")
        page.wait(f"document.documentElement.dataset.theme === '{theme}'")
    assert "needs /there/gpt_train.pickle" in page.text("#status"), "what the worker tells takes no line away"
    bench.load(page, [bench.snapshot("gpt_train.pickle")])
    page.wait("document.documentElement.dataset.theme === 'light'")
    assert page.evaluate("session") is None
    shown = bench.picture(page)
    page.key("2")
    bench.becomes(page, shown, "the segments are not shown")


def test_a_session_that_waits_for_files_keeps_what_is_shown(bench):
    page = bench.showing("oom.pickle")
    page.key("2")
    bench.picture(page)
    text = b"memviz session 1\npath /there/gpt_train.pickle\npath /there/annotated.pickle\nmain state\nis_dark no\nend\n"
    page.choose("#files", [bench.made("two.session", text)])
    page.wait("byId('status').textContent.includes('needs /there/gpt_train.pickle')")
    bench.load(page, [bench.snapshot("gpt_train.pickle")])
    page.wait("byId('status').textContent.includes('needs /there/annotated.pickle')")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark", "the session waits"
    shown = bench.picture(page)
    page.key("2")
    bench.becomes(page, shown, "the segments are not shown any more")
    bench.load(page, [bench.snapshot("annotated.pickle")])
    page.wait("document.documentElement.dataset.theme === 'light' && session === null")
    page.key("t")
    page.wait("document.documentElement.dataset.theme === 'dark'")
    bench.load(page, [bench.snapshot("two_devices.pickle")])
    bench.picture(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark", "a session is shown once"


def hostile_snapshot(bench):
    """A real snapshot in which every text would do harm as markup."""
    with open(bench.snapshot("annotated.pickle"), "rb") as file:
        snapshot = pickle.load(file)
    number = 0

    def another():
        nonlocal number
        number += 1
        return HOSTILE[number % len(HOSTILE)].replace("\0", "\0" if number % 2 else "") + str(number % 40)

    kept = {}
    for trace in snapshot["device_traces"]:
        for event in trace:
            event["user_metadata"] = event["compile_context"] = another()
            for frame in event.get("frames", []):
                key = frame["name"], frame["filename"]
                kept.setdefault(key, (another(), "/srv/" + another()))
                if key[0] and not frame["name"].endswith("\x01"):
                    frame["name"], frame["filename"] = kept[key][0] + "\x01", kept[key][1]
    for annotation in snapshot.get("external_annotations", []):
        annotation["name"] = another()
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            block["user_metadata"] = another()
    snapshot["allocator_settings"] = {another(): another(), "PYTORCH_CUDA_ALLOC_CONF": another()}
    return pickle.dumps(snapshot, 4)


def test_hostile_names_are_text(bench):
    data = hostile_snapshot(bench)
    plain = bench.made("hostile.pickle", data)
    names = ["<img src=x onerror=harm=1>.pickle", "\u202egpj.pickle", "--help", "\x1b[31m.pickle", "a\"'&lt;b.pickle"]
    session = "memviz session 1\nfile </script><script>harm=7</script>\nsearch <img src=x onerror=harm=8>\n"
    page = bench.open()
    elements = page.evaluate("document.querySelectorAll('script,img,iframe,svg,object,embed,link,a').length")
    bench.load(page, [plain] + [bench.made(name, data) for name in names])
    assert page.evaluate("viewer.stages.every(stage => stage === 2)")
    for report in ONE:
        text = bench.report(page, report, "hostile.pickle")
        assert text.encode() == bench.run(report, "hostile.pickle", folder=os.path.dirname(plain), status=None), report
    bench.report(page, "ranks")
    bench.report(page, "diff")
    page.press("#close")
    for key in ("2", "3", "1", "4", "5", "6", "7"):
        page.key(key)
        bench.picture(page)
    bench.keep("hostile", page.shot("body"))
    page.choose("#files", [bench.made("hostile.session", session.encode())])
    bench.picture(page)
    page.evaluate("toClipboard(" + json.dumps(HOSTILE[0]) + ")")
    assert page.evaluate("document.querySelectorAll('script,img,iframe,svg,object,embed,link,a').length") == elements
    its = os.path.join(os.path.dirname(plain), "hostile.html")
    bench.run("convert", "-q", plain, its)
    inside = bench.open(url="file://" + its)
    inside.wait("byId('status').textContent === 'hostile.pickle'")
    bench.report(inside, "info")


def test_no_request_leaves_the_machine(bench):
    """The page's attempts fail; the same attempts in a page without a policy reach the network."""
    tries = """(async where => {
        const quiet = () => 0, image = new Image();
        image.src = where + 'image';
        new Image().src = 'http://127.0.0.1:' + PORT + '/canary-' + where.slice(where.lastIndexOf('/') + 1);
        const frame = document.createElement('iframe');
        frame.src = where + 'frame';
        document.body.append(frame);
        const script = document.createElement('script');
        script.src = where + 'script';
        document.body.append(script);
        const form = document.createElement('form');
        form.action = where + 'form';
        form.target = '_self';
        await fetch(where + 'fetch').catch(quiet);
        try { navigator.sendBeacon(where + 'beacon', 'x'); } catch (error) { quiet(); }
        try { new WebSocket(where.replace('http', 'ws') + 'socket'); } catch (error) { quiet(); }
        try { new EventSource(where + 'events'); } catch (error) { quiet(); }
        try { const worker = new Worker(URL.createObjectURL(new Blob(["fetch('" + where + "worker').catch(() => 0)"])));
              worker.onerror = event => event.preventDefault(); } catch (error) { quiet(); }
        return true;
    })('CANARY')""".replace("PORT", str(bench.browser.proxy.port))

    def canaries(whose):
        return [line for line in bench.browser.proxy.asked if "canary" in line and whose in line]

    page = bench.showing("gpt_train.pickle")
    bench.report(page, "leaks")
    page.evaluate(tries.replace("CANARY", CANARY + "page-"))
    page.expect_words(POLICY)
    page.expected.append(CANARY)
    page.refused_urls = CANARY, f"http://127.0.0.1:{bench.browser.proxy.port}/"  # these are named too
    free = bench.browser.open("file://" + bench.made("free.html", b"<!DOCTYPE html><title>free</title><body>"))
    page.expected.append("//canary.test/free-")  # Firefox does not say from which page a late one is
    free.evaluate(tries.replace("CANARY", CANARY + "free-"))
    eventually(lambda: len(canaries("free-")) >= 4, "the network is not seen")
    free.close()
    assert not canaries("page-"), canaries("page-")  # it has already tried


def test_a_script_that_gets_into_the_page_is_not_run(bench):
    """In a page without a policy the same requests are made."""
    tries = """(async () => {
        window.injected = [];
        const refused = [];
        document.addEventListener('securitypolicyviolation', event => {
            if (event.effectiveDirective.startsWith('script-src')) refused.push(event.effectiveDirective);
        });
        const script = document.createElement('script'), link = document.createElement('a'), box = document.createElement('div');
        script.textContent = 'injected.push("script")';
        box.setAttribute('onclick', 'injected.push("handler")');
        link.href = 'javascript:void injected.push("address")';
        document.body.append(script, link, box);
        box.click();
        link.click();
        box.innerHTML = '<img src=x onerror="injected.push(`image`)">';
        while (injected.length + refused.length < 4) await new Promise(done => setTimeout(done, 50));
        return injected;
    })()"""
    page = bench.showing("gpt_train.pickle")
    assert page.evaluate(tries) == []
    page.expect_words(POLICY)
    page.refused_urls = ("file:///",)
    free = bench.browser.open("file://" + bench.made("free.html", b"<!DOCTYPE html><title>free</title><body>"))
    assert sorted(free.evaluate(tries)) == ["address", "handler", "image", "script"]
    free.close()


# ---- a server, a notebook ---------------------------------------------------------------------------


@contextlib.contextmanager
def served(bench, *words):
    """The page as `memviz serve` sends it; the server ends properly."""
    env = {**os.environ, "MEMVIZ_PAGE": bench.url[len("file://"):]}
    server = subprocess.Popen([bench.program, "serve", "--json", *words], env=env, stdout=subprocess.PIPE)
    try:
        text = b""
        while not text.rstrip().endswith(b"}"):
            part = os.read(server.stdout.fileno(), 1 << 16)
            assert part, f"memviz serve has ended: {text}"
            text += part
        said = json.loads(text)
        bench.browser.proxy.server = said["port"]
        yield bench.open(url=said["url"])
    finally:
        server.terminate()
        server.stdout.close()
        status = server.wait(PATIENCE_S)
    assert status == 0, status


def test_one_file_of_a_server_opens_at_once(bench):
    with served(bench, bench.snapshot("leak_in_training.pickle")) as page:
        page.wait("viewer.files.length === 1")
        bench.shown(page, 1)
        assert "LEAK" in bench.report(page, "leaks")
        assert page.text("#status") == "leak_in_training.pickle"


def test_files_of_a_server_are_listed_and_chosen(bench):
    folder = os.path.join(bench.folder, "files", "ranks")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for i, name in ((10, "mlp_train"), (2, "leak_in_training"), (3, "gpt_train")):
        shutil.copy(bench.snapshot(name + ".pickle"), os.path.join(folder, f"rank{i}.pickle"))
    with open(os.path.join(folder, "rank4.pickle"), "wb") as file:
        file.write(b"\x80\x04cut")
    with served(bench, folder) as page:
        rows = "[...document.querySelectorAll('#shelf tbody tr')]"
        page.wait(f"{rows}.length === 4")
        assert page.evaluate(f"{rows}.map(row => row.cells[1].textContent)") == [f"rank{i}.pickle" for i in (2, 3, 4, 10)]
        page.wait(f"{rows}.every(row => row.cells[3].textContent !== '…')")
        bench.keep("served", page.shot("body"))
        for width in (390, 820, 1280):  # all can be reached and read
            page.resize(width, 780)
            page.wait(f"innerWidth === {width} && [...document.querySelectorAll('#shelf button, #shelf a, #shelf input')].every(part => "
                      f"{{ const box = part.getBoundingClientRect(); return box.left >= 0 && box.right <= {width}; }})")
        page.resize(1280, 800)
        cells = page.evaluate(f"{rows}.map(row => [row.cells[2].textContent, row.cells[3].textContent])")
        assert cells[0][0] == "≥ 256.8 MiB" and cells[0][1].startswith("LEAK train.py:62 forward: 2.00 MiB a step"), cells
        assert cells[2][0] == "" and cells[2][1].startswith("cannot be read: byte 2: "), cells
        for heading, order in ((3, [4, 2, 3, 10]), (2, [3, 2, 10, 4]), (1, [2, 3, 4, 10])):  # verdict, peak, name
            page.press(f"#shelf thead th:nth-of-type({heading}) button")
            assert page.evaluate(f"{rows}.map(row => row.cells[1].textContent)") == [f"rank{i}.pickle" for i in order], heading
        for i in (1, 2):
            page.press(f"#shelf tbody tr:nth-child({i}) input")
        page.press("#shelf button[type=submit]")
        page.wait("viewer.files.length === 2")
        bench.shown(page, 2)
        assert page.text("#status") == "rank2.pickle, rank3.pickle"
        assert "rank3.pickle" in bench.report(page, "ranks")
        page.press("#close")
        # A damaged file is a line in the list; open files stay.
        page.press("#open")
        page.wait(f"{rows}.length === 4 && !byId('shelf').hidden")
        page.press("#shelf tbody tr:nth-child(3) button")
        page.wait(f"/byte \\d+: /.test({rows}[2].textContent)")
        assert page.evaluate("files.length") == 2
        page.expected += [r"\b422\b", r"\b409\b"]  # some browsers name such answers
        # A file that has changed is listed again.
        shutil.copy(bench.snapshot("gpt_train.pickle"), os.path.join(folder, "rank10.pickle"))
        address = f"{rows}[3].querySelector('a').href"
        old = page.evaluate(address)
        page.press("#shelf tbody tr:nth-child(4) button")
        page.wait(f"/has changed/.test(byId('status').textContent) && {address} !== {json.dumps(old)}")
        page.press("#shelf tbody tr:nth-child(4) button")
        page.wait("viewer.files.length === 3")


# Allocates a block for each line that it reads.
RECORDED = """
import ctypes, sys
shim = ctypes.CDLL(None)
heap = shim.memviz_heap(b"pool")
for number, line in enumerate(sys.stdin):
    shim.memviz_alloc(heap, ctypes.c_void_p(4096 * (number + 1)), ctypes.c_size_t(1024))
    print("allocated", flush=True)
"""


def test_a_recording_that_a_server_has_is_followed(bench):
    folder = os.path.join(bench.folder, "files", "run")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run = subprocess.Popen([bench.program, "run", "-q", "-o", os.path.join(folder, "a.bin"), "--", sys.executable, "-c", RECORDED],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def allocate(blocks):
        for _ in range(blocks):
            run.stdin.write("\n")
            run.stdin.flush()
            assert run.stdout.readline() == "allocated\n"

    try:
        allocate(3)
        with served(bench, folder) as page:
            page.wait("viewer.files.length === 1")
            bench.shown(page, 1)
            page.key("5")
            page.wait("viewer.spoken.includes('3.00 KiB, 100 %') && viewer.spoken.includes(', live,')", 30)
            allocate(2)
            page.wait("viewer.spoken.includes('5.00 KiB, 100 %')", 30)
            page.wait("/^tab\\t1\\t.*Tables$/m.test(viewer.spoken)", 30)
            run.stdin.close()
            assert run.wait(PATIENCE_S) == 0
            page.wait("viewer.spoken.includes(', ended,')", 30)
            assert page.evaluate("viewer.stages") == [2], page.text("#status")
    finally:
        run.stdin.close()
        run.wait(PATIENCE_S)


def test_a_served_page_may_ask_its_server_alone(bench):
    with served(bench, bench.snapshot("gpt_train.pickle")) as page:
        page.wait("viewer.files.length === 1")
        asked = len(bench.browser.proxy.asked)  # another case makes these requests on purpose
        page.evaluate("fetch('" + CANARY + "x').catch(() => 0)")
        page.evaluate("fetch('http://127.0.0.1:" + str(bench.browser.proxy.port) + "/canary').catch(() => 0)")
        page.expect_words(POLICY)
        page.refused_urls = CANARY, f"http://127.0.0.1:{bench.browser.proxy.port}/"
        late = bench.browser.proxy.asked[asked:]
        assert not [line for line in late if "canary" in line], late


def test_a_snapshot_is_shown_in_a_cell_of_a_notebook(bench):
    bench.run("convert", "-q", bench.snapshot("leak_in_training.pickle"), bench.made("cell.html", b""))
    with open(os.path.join(bench.folder, "files", "cell.html"), encoding="utf-8") as file:
        inside = html.escape(file.read())
    for i, frame in enumerate((f'srcdoc="{inside}" sandbox="allow-scripts allow-downloads"', f'srcdoc="{inside}"',
                               'src="cell.html" sandbox="allow-scripts"')):
        text = f'<!DOCTYPE html><meta charset="utf-8"><title>x</title><iframe {frame} width="1000" height="600"></iframe>'
        page = bench.browser.open("file://" + bench.made("notebook.html", text.encode()))
        eventually(lambda: pixels(page, page.shot("iframe"))["colours"] > 30, frame[-60:])
        bench.keep(f"notebook {i}", page.shot("iframe"))
        assert not page.said, page.said
        page.close()


# ---- with --long ------------------------------------------------------------------------------------


def long_test_a_file_of_500_megabytes(bench):
    maker = os.path.join(os.path.dirname(bench.program), "..", "bench", "make_trace")
    short, path = bench.made("long.bin", b""), bench.made("long.msgpack", b"")
    subprocess.run([maker, "330000", "2000", short], check=True, stderr=subprocess.DEVNULL)
    bench.run("convert", "-q", short, path)
    assert os.path.getsize(path) > 500 << 20, os.path.getsize(path)
    page = bench.open()
    bench.load(page, [path], 600)
    assert page.evaluate("viewer.stages") == [2], page.text("#status")
    bench.changes(page, lambda: page.wheel(500, 300, 0, -300))
    want = bench.run("peak", "long.msgpack", folder=os.path.dirname(path))
    assert bench.report(page, "peak", seconds=600).encode() == want
    os.unlink(path)
