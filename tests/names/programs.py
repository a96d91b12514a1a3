"""Outputs of hostile files in other programs: a program that is not installed is skipped with a message."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

import browsers
import checks
import hostile
import outputs

HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def has(bench, *programs):
    for program in programs:
        if not shutil.which(program):
            bench.tally.lacks(program)
            return False
    return True


# ---- JSON, SVG, databases, tables -----------------------------------------------------------------


NODE = """const fs = require('fs'), wrong = [];
for (const name of fs.readdirSync('.')) {
  try {
    const text = new TextDecoder('utf-8', {fatal: true}).decode(fs.readFileSync(name));
    JSON.parse(text, (key, value) => { // every key and value; with u, half a pair alone fits
      for (const one of [key, value]) if (typeof one === 'string' && /[\\ud800-\\udfff]/u.test(one)) throw new Error('a surrogate');
      return value;
    });
    fs.writeFileSync(name + '.node', JSON.stringify(JSON.parse(text)));
  } catch (error) { wrong.push(name + ': ' + error.message); }
}
console.log(wrong.join('\\n'));"""


def sorted_json(data):
    return json.dumps(json.loads(data), sort_keys=True)


def node(bench, made):
    """Node and Python read the same values."""
    if not has(bench, "node"):
        return
    folder = bench.empty_folder("json")
    for one in made:
        for words in ["info"], ["trace", "--limit", "50"], ["leaks"], ["peak"], ["lines"], ["fragmentation"], ["ledger"], ["triage"]:
            out = bench.run([*words, "--json", one.path])[1]
            if out:
                with open(os.path.join(folder, f"{one.label}.{words[0]}"), "wb") as file:
                    file.write(out)
        bench.run(["export", "-q", one.path, "-o", os.path.join(folder, one.label + ".speedscope.json")])
    done = subprocess.run(["node", "-e", NODE], cwd=folder, stdout=subprocess.PIPE, check=True)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".node"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            ours = sorted_json(file.read())
        path = os.path.join(folder, name + ".node")
        why = None if os.path.exists(path) else f"Node: {done.stdout.decode()[:200]}"
        if not why:
            with open(path, "rb") as file:
                theirs = sorted_json(file.read())
            # JavaScript rounds numbers beyond 2^53.
            strip = re.compile(r"-?[0-9.e+]{15,}")
            why = None if strip.sub("0", ours) == strip.sub("0", theirs) else "Node reads something else"
        bench.tally.add("JSON in Node", name, why)


def xmllint(bench, made):
    if not has(bench, "xmllint"):
        return
    out = os.path.join(bench.folder, "lint.svg")
    for one in made:
        for words in ["trace_plot"], ["memory"], ["segment_plot"], ["segments"]:
            if bench.run([*words, "-q", one.path, "-o", out])[0] == 0:
                done = subprocess.run(["xmllint", "--noout", "--nonet", out], stderr=subprocess.PIPE, check=False)
                bench.tally.add("SVG in libxml2", one.label, done.stderr.decode()[:200] or None)


def database(bench, made):
    """sqlite3 opens it, with as many rows as the database with the original strings; texts are unchanged."""
    if not has(bench, "sqlite3"):
        return
    for one in made:
        rows = []
        for path in (one.path, one.plain):
            out = os.path.join(bench.folder, "lite.sqlite")
            if not path or bench.run(["export", "-q", path, "-o", out])[0] != 0:
                continue
            done = subprocess.run(["sqlite3", "-readonly", out, "PRAGMA integrity_check; SELECT count(*) FROM frames; SELECT "
                                   "count(*) FROM stacks; SELECT count(*) FROM events; SELECT count(*) FROM allocations; "
                                   "SELECT count(*) FROM live_at_end;"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            rows.append(done.stdout + done.stderr)
        if not rows:  # a file that cannot be exported
            continue
        why = None if rows[0].startswith(b"ok\n") and len(set(rows)) == 1 else str(rows)
        bench.tally.add("SQLite in sqlite3", one.label, why)


FORMULA = re.compile(rb"<f[ >/]|t=\"e\"|<f\b")


def office(bench, made):
    """LibreOffice has the same cells as Python, and no formula among them."""
    if not has(bench, "soffice"):
        return
    folder = bench.empty_folder("office")
    for i, one in enumerate(made):
        for table in "frames", "annotations", "events", "facts":
            bench.run(["export", "-q", "--table", table, one.path, "-o", os.path.join(folder, f"{i}.{table}.csv")])
        for words in ["lines", "--limit", "0"], ["peak", "--limit", "0", "--frames", "all"], ["info"]:
            bench.run([*words, "--csv", one.path, "-o", os.path.join(folder, f"{i}.{words[0]}.csv")])
    with open(os.path.join(folder, "control.csv"), "wb") as file:  # these are formulas
        file.write(b"a,b\r\n=1+1,x\r\n")
    paths = [path for path in sorted(glob.glob(os.path.join(folder, "*.csv"))) if os.path.getsize(path)]
    # UTF-8, only the comma, and settings that a user may have chosen: formulas are evaluated.
    for filters, row in (("44,34,76,1,,0,false,true,false,false,false,-1,true", "CSV in LibreOffice, which evaluates formulas"),
                         ("44/59/9,34,76,1,,0,false,true,false,false,false,-1,true", "CSV in LibreOffice, also at ; and tab")):
        subprocess.run(["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile", f"--infilter=CSV:{filters}",
                        "--convert-to", "xlsx", "--outdir", folder, *paths], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=900, check=False)
        for path in paths:
            book = path[:-3] + "xlsx"
            if not os.path.exists(book):
                bench.tally.add(row, os.path.basename(path), "not opened")
                continue
            with open(path, "rb") as file:
                rows = checks.rows_of(file.read())
            if path.endswith("control.csv"):
                bench.tally.add(f"{row}: a raw formula is one", "control", None if sheet_wrong(book, rows) else "it is not")
                os.unlink(book)
                continue
            bench.tally.add(row, os.path.basename(path), sheet_wrong(book, rows))
            os.unlink(book)


def sheet_wrong(book, rows):
    with zipfile.ZipFile(book) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        text = b"".join(archive.read(name) for name in sheets)
        links = [name for name in archive.namelist() if "externalLink" in name]
    if FORMULA.search(text) or links:
        return f"a formula: {text[max(0, FORMULA.search(text).start() - 80):][:200]!r}" if not links else f"{links}"
    found = [int(number) for number in re.findall(rb"<row [^>]*?r=\"(\d+)\"", text)]
    if not found or max(found) != len(rows):
        return f"{max(found or [0])} rows, not {len(rows)}"
    columns = {match for match in re.findall(rb'<c r="([A-Z]+)\d+"', text)}
    widest = max(sum((letter - 64) * 26 ** place for place, letter in enumerate(reversed(name))) for name in columns)
    return None if widest == len(rows[0]) else f"{widest} columns, not {len(rows[0])}"


# ---- shells -------------------------------------------------------------------------------------


COMPLETED = ["b`PWNED`", "c$(PWNED)", "d;PWNED;", "e|PWNED", "f\nPWNED\n", "g&PWNED", "h'`PWNED`'", "i\"$(PWNED)\"", "j>PWNED.txt",
             "k<(PWNED)", "l\\`PWNED`", "m\x15PWNED\n", "n{PWNED,}", "o!PWNED", "p~PWNED", "q$PATH PWNED", "r #PWNED", "s\u202e`PWNED`",
             "t\tPWNED", "u*PWNED?", "v=(PWNED)", "w%PWNED", "x^PWNED^", "y[PWNED]"]


class Shell:
    """A folder with memviz, a program that must not be run, and a recording whose annotations are COMPLETED."""

    def __init__(self, bench, annotated):
        folder = self.folder = os.path.join(bench.folder, "shell")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink(bench.program, os.path.join(folder, "bin", "memviz"))
        program = os.path.join(folder, "bin", "PWNED")
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\ntouch PWNED.txt\n")
        os.chmod(program, 0o755)
        shutil.copy(annotated, os.path.join(folder, "f.pickle"))
        hostile_annotations(os.path.join(folder, "f.pickle"), COMPLETED)
        self.env = {**bench.env, "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "PS1": "$ ", "TERM": "xterm", "HOME": folder}
        self.made = os.path.join(folder, "PWNED.txt")

    def types(self, words, text):
        """Whether PWNED was run, and the terminal's output."""
        said = outputs.in_terminal(words, self.env, self.folder, typed=text.encode())
        was_run = os.path.exists(self.made)
        if was_run:
            os.unlink(self.made)
        return was_run, said


def completion(bench, annotated, every):
    """An interactive bash completes @NAME, and runs the line: only memviz is run."""
    shell = Shell(bench, annotated)
    unquoted = " | sed 's/[$]2[$]quoted/$2$name/; /compopt +o/d'"  # the unescaped form, as a control
    for quote, change in ("", ""), ("'", ""), ('"', ""), ("", unquoted):
        for name in COMPLETED[::every] if not change else COMPLETED[:1]:
            # Bash reads early input later: there is nothing to wait for.
            was_run, said = shell.types(["bash", "--norc", "--noprofile"], f"source <(memviz completion bash{change})\n"
                                        f"memviz peak f.pickle --at {quote}@{name[0]}\t\n{quote}\nexit\n")
            why = "it was run" if was_run else None if b"--at" in said else f"bash did not read it: {said[:80]!r}"
            if change:
                bench.tally.add("completion in bash: without care it is run", name, None if why == "it was run" else why or "it was not")
            else:
                bench.tally.add("completion in bash", f"{quote}@{name!r}", why)


def zsh(bench, annotated, every):
    other_shell(bench, annotated, every, "zsh", ["zsh", "-f", "-i"],
                "autoload -U compinit; compinit -D -u; source <(memviz completion zsh)\n")


def fish(bench, annotated, every):
    other_shell(bench, annotated, every, "fish", ["fish", "--no-config", "--private", "-i"], "memviz completion fish | source\n")


def other_shell(bench, annotated, every, name, words, load):
    if not has(bench, name):
        return
    shell = Shell(bench, annotated)
    for one in COMPLETED[::every]:
        was_run, said = shell.types(words, f"{load}memviz peak f.pickle --at @{one[0]}\t\n\nexit\n")
        shown = b"PWNED" in said.replace(b"\x1b[", b"")
        bench.tally.add(f"completion in {name}", repr(one), "it was run" if was_run else None if shown else f"not completed: {said[-200:]!r}")


def hostile_annotations(path, names):
    import pickle
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    snapshot["external_annotations"] = [{"name": name, "stage": stage, "time_us": 1 + i, "device": 0}
                                        for i, name in enumerate(names) for stage in ("START", "END")]
    with open(path, "wb") as file:
        pickle.dump(snapshot, file)


PYTHON = """import os, sys, memviz
path = os.fsencode(sys.argv[1])
page = memviz.show(os.fsdecode(path))
print(repr(page))
print(ascii(memviz.report("info", os.fsdecode(path)))[:2000])
try:
    memviz.report("info", os.fsdecode(path) + ".absent")
except memviz.Error as why:
    print(why)
"""


def package(bench, snapshot):
    """The output of the Python package, and the frame in a notebook."""
    env = {**bench.env, "PYTHONPATH": os.path.join(HOME, "python"), "MEMVIZ_PROGRAM": bench.program, "PYTHONUTF8": "1"}
    env.pop("DISPLAY", None)
    for kind, name in hostile.NAMES.items():
        folder = bench.empty_folder("package")
        path = os.path.join(os.fsencode(folder), name.replace(b"/", b"|").replace(b"\0", b"")[:150])
        shutil.copy(snapshot, path)
        done = subprocess.run([sys.executable, "-B", "-c", PYTHON, path], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, check=False)
        why = checks.terminal(done.stdout) or checks.terminal(done.stderr)
        bench.tally.add("Python package: what it prints", kind, why or (done.stderr.decode()[-300:] if done.returncode else None))


# ---- browsers -------------------------------------------------------------------------------------


LOOK = """(() => ({harm: window.harm || null, scripts: [...document.querySelectorAll('script')].map(one => one.id).join(),
  title: document.title}))()"""
INLINE = """(() => { window.injected = 0;
  const one = document.createElement('script'); one.textContent = 'window.injected = 1'; document.body.append(one);
  const two = document.createElement('div'); two.setAttribute('onclick', 'window.injected = 2'); document.body.append(two);
  two.click();
  const three = document.createElement('a'); three.href = 'javascript:window.injected=3'; document.body.append(three);
  three.click();
  const four = document.createElement('div'); four.innerHTML = '<img src=x onerror="window.injected=4">';
  document.body.append(four);
  return new Promise(done => setTimeout(() => done(window.injected), 300)); })()"""


def in_browsers(bench, made, kinds):
    for kind in kinds:
        try:
            with browsers.start(kind, bench.folder, dark=True) as browser:
                for look in pages, pictures, inline, served:
                    try:
                        look(bench, browser, kind, made)
                    except browsers.BrowserError as why:
                        bench.tally.add(f"{kind}: {look.__name__}", "the browser", why)
        except browsers.Missing:
            bench.tally.lacks(kind)


def asked_for(browser, page, url):
    mine = [one for one in page.asked if not one.startswith((url, "blob:", "data:"))]
    return [line for line in browser.proxy.asked if "canary" in line] + mine


def pages(bench, browser, kind, made):
    """The viewer in a page: it runs, its title and texts come from the file, and nothing in them runs."""
    out = os.path.join(bench.folder, "in.html")
    for number, one in enumerate(made):
        name = list(hostile.NAMES.values())[number * 7 % len(hostile.NAMES)]
        words = ["trace_plot", "-q", "--title", name.replace(b"\0", b"")[:500], one.path, "-o", out]
        if bench.run(words)[0] != 0:
            continue
        page = browser.open("file://" + out)
        why = None
        try:
            page.wait("typeof viewer !== 'undefined' && !!viewer && viewer.stages.length === 1 && viewer.stages[0] >= 2")
            for report in ("info", "peak", "leaks"):
                if page.evaluate("byId('side').hidden"):
                    page.press("#texts")
                page.pick("#report", report)
                page.wait(f"byId('text').textContent && byId('text').textContent !== {json.dumps(report + ' …')}")
                shown = page.text("#text")
                said = b"".join(bench.run([report, one.path], env={"COLUMNS": ""})[1:]).decode()
                said = said.replace(os.path.dirname(one.path) + "/", "")
                other = [pair for pair in zip(body_of(shown), body_of(said)) if pair[0] != pair[1]]
                if other or len(body_of(shown)) != len(body_of(said)):
                    why = f"{report} is another text: {ascii(other[:1])}"
            page.press("#close")
            for key in "2", "3", "4", "5", "6", "7", "1":
                page.key(key)
            page.key("Control+f")
            page.type("harm")
            seen = page.evaluate(LOOK)
            if seen["harm"] or asked_for(browser, page, "file://" + out):
                why = f"harm {seen['harm']}, asked {asked_for(browser, page, 'file://' + out)}"
            elif seen["scripts"] != "viewer,reporter,":  # and the shell; `core` and `snapshot` are gone
                why = f"scripts: {seen['scripts']}"
            elif checks.terminal(seen["title"].encode("utf-8", "surrogatepass")):
                why = f"title: {seen['title'][:80]!r}"
        except browsers.BrowserError as error:
            why = f"{error}: {page.said[:2]}"
        bench.tally.add(f"{kind}: pages with the viewer", one.label, why or (f"said {page.said[:2]}" if page.said else None))
        page.close()


def body_of(text):
    """A report without its lines about files, which are elsewhere in a page."""
    return [line for line in text.splitlines()[1:] if "format" not in line and "size" not in line and "memviz " not in line]


def pictures(bench, browser, kind, made):
    """An SVG alone: its texts are those that Python reads in it."""
    import xml.etree.ElementTree as tree
    out = os.path.join(bench.folder, "in.svg")
    for one in made:
        for words in ["memory"], ["trace_plot"]:
            if bench.run([*words, "-q", one.path, "-o", out])[0] != 0:
                continue
            page = browser.open("file://" + out)
            seen = page.evaluate("({harm: window.harm || null, text: document.documentElement.textContent, "
                                 "root: document.documentElement.tagName, scripts: document.querySelectorAll('script').length})")
            want = "".join(tree.parse(out).getroot().itertext())
            why = None if seen["root"] == "svg" and not seen["harm"] and not seen["scripts"] else str(seen)[:200]
            why = why or (None if seen["text"] == want else "its texts are others")
            why = why or (str(asked_for(browser, page, "file://" + out)) if asked_for(browser, page, "file://" + out) else None)
            bench.tally.add(f"{kind}: SVG", f"{words[0]} of {one.label}", why)
            page.close()


def inline(bench, browser, kind, made):
    """A script that gets into the page nevertheless does not run; in a page without a policy it does."""
    out = os.path.join(bench.folder, "inline.html")
    bench.run(["convert", "-q", made[0].path, out])
    page = browser.open("file://" + out)
    page.wait("typeof viewer !== 'undefined' && !!viewer")
    found = page.evaluate(INLINE)
    bench.tally.add(f"{kind}: a script in line is refused", "the page", None if found == 0 else f"script {found} has run")
    page.close()
    with open(out, "w", encoding="utf-8") as file:
        file.write("<!DOCTYPE html><title>free</title><body></body>")
    page = browser.open("file://" + out)
    found = page.evaluate(INLINE)
    bench.tally.add(f"{kind}: a script in line is refused", "it runs without a policy", None if found else "it does not")
    page.close()


def served(bench, browser, kind, made):
    """The output of `memviz serve`: file names in its list are text, and no page can frame it."""
    folder = bench.empty_folder("listed")
    for name in hostile.NAMES.values():
        shutil.copy(made[0].path, os.path.join(os.fsencode(folder), name.replace(b"/", b"|").replace(b"\0", b"")[:150] + b".bin"))
    server = subprocess.Popen([bench.program, "serve", "--json", folder], env=bench.env, stdout=subprocess.PIPE)
    try:
        said = json.loads(os.read(server.stdout.fileno(), 1 << 16))
        browser.proxy.server = said["port"]
        page = browser.open(said["url"])
        rows = "[...document.querySelectorAll('#shelf tbody tr')]"
        count = len([name for name in os.listdir(folder) if name[0] != "."])
        page.wait(f"{rows}.length === {count}")
        shown = page.evaluate(f"{rows}.map(row => row.cells[1].textContent)")
        listed = page.evaluate("fetch('files').then(answer => answer.json()).then(list => list.files.map(one => one.name))")
        why = None if shown == listed else "the list shows other names"
        why = why or ("a script has run" if page.evaluate("window.harm") else None)
        bench.tally.add(f"{kind}: the list of serve", f"{count} names", why)
        page.evaluate(f"{rows}[2].querySelector('button').click()")
        page.wait("viewer.files.length === 1 && viewer.stages[0] >= 2")
        bench.tally.add(f"{kind}: the list of serve", "one is opened", "a script has run" if page.evaluate("window.harm") else None)
        found = page.evaluate(INLINE)
        bench.tally.add(f"{kind}: a script in line is refused", "the page of serve", None if found == 0 else f"script {found}")
        page.close()
        frame = os.path.join(bench.folder, "frame.html")
        with open(frame, "w", encoding="utf-8") as file:
            file.write(f"<!DOCTYPE html><body><iframe src='{said['url']}' width=900 height=500></iframe>")
        before = page_frames(browser, frame)
        bench.tally.add(f"{kind}: serve in a frame is refused", "frame", None if before else "it is shown")
    finally:
        server.terminate()
        server.wait(30)


def page_frames(browser, frame):
    """Whether the browser reports that the frame was refused."""
    page = browser.open("file://" + frame)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        page.evaluate("1")
        if any("frame-ancestors" in line or "frame" in line.lower() for line in page.said):
            page.close()
            return True
        time.sleep(0.1)
    page.close()
    return False
