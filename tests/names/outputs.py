"""Every command with every form of output, on hostile files, with hostile options, and under hostile names."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import checks
import hostile

LIMIT = 120

# Commands on one file; {o} is an output file without its extension.
TEXTS = ["{f}", "info {f}", "stats {f}", "trace {f}", "trace --limit 0 --frames all {f}", "leaks --frames all {f}",
         "peak --limit 0 --frames all {f}", "peak --by metadata {f}", "peak --by annotation {f}", "peak --by layer {f}",
         "peak --by compile {f}", "peak --by library --level all {f}", "lines --limit 0 {f}", "lines --by layer {f}",
         "fragmentation --frames all {f}", "memory --limit 0 --frames all {f}", "ledger {f}", "oom --frames all {f}",
         "whatif {f}", "ranks {f} {f}", "diff --frames all --limit 0 {f} {g}", "dump {f}", "dump --calls {f}",
         "stats --level all {f}", "leaks --level cuda --frames all {f}", "memory --by metadata {f}",
         "trace --level all {f}"]
FILES = [("memory -q {f} -o {o}.folded", "folded"), ("segments -q --frames all {f} -o {o}.folded", "folded"),
         ("export -q --frames all {f} -o {o}.folded", "folded"), ("memory -q {f} -o {o}.svg", "svg"),
         ("memory -q --by metadata {f} -o {o}.svg", "svg"), ("segments -q {f} -o {o}.svg", "svg"),
         ("trace_plot -q {f} -o {o}.svg", "svg"), ("trace_plot -q --view segments {f} -o {o}.svg", "svg"),
         ("trace_plot -q --view pools {f} -o {o}.svg", "svg"), ("segment_plot -q {f} -o {o}.svg", "svg"),
         ("trace_plot -q {f} -o {o}.png", "png"), ("memory -q {f} -o {o}.png", "png"),
         ("trace_plot -q {f} -o {o}.html", "page"), ("memory -q {f} -o {o}.html", "page"),
         ("segment_plot -q {f} -o {o}.html", "page"), ("convert -q {f} {o}.html", "page"),
         ("export -q {f} -o {o}.json", "speedscope"), ("export -q --frames all --at peak {f} -o {o}.json", "speedscope"),
         ("export -q {f} -o {o}.pftrace", "perfetto"), ("export -q {f} -o {o}.sqlite", "database"),
         ("view -q --headless {f} --shot {o}.png", "png")]
TABLES = ["allocations", "events", "segments", "blocks", "stacks", "frames", "annotations", "api_calls", "samples", "facts"]
CHECKS = {"folded": checks.folded, "svg": checks.svg, "png": checks.png, "page": checks.page,
          "speedscope": checks.speedscope, "perfetto": checks.perfetto, "csv": checks.csv_text,
          "JSON": checks.json_text, "text": checks.terminal}

# The contents of the viewer's panes and lists, as words: tables, findings, flame graph, search, tooltips.
SCRIPT = """open {f}
size 1600 1000
wait idle
dump
key 2
wait idle
dump
key 3
wait idle
dump
do tables
wait idle
dump
do flame
wait idle
dump
move 400 300
wait idle
dump
key Ctrl+F
text window
wait idle
dump
key Enter
wait idle
dump
"""


class Bench:
    def __init__(self, program, folder, page, tally):
        self.program, self.folder, self.tally = program, folder, tally
        self.env = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "100", "MEMVIZ_PAGE": page}

    def empty_folder(self, name):
        path = os.path.join(self.folder, name)
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
        return path

    def run(self, words, **more):
        """(status, standard output, standard error)"""
        done = subprocess.run([self.program, *words], cwd=more.pop("cwd", self.folder), env={**self.env, **more.pop("env", {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT,
                              check=False, **more)
        return done.returncode, done.stdout, done.stderr

    def look(self, row, words, check, what, statuses=(0, 1, 2, 3), **more):
        """Runs it, and checks its output on a terminal, including standard error. Returns its output."""
        status, out, err = self.run(words, **more)
        why = None if status in statuses else f"status {status}: {err[:200]!r}"
        why = why or checks.terminal(err) or (check(out) if out else None)
        self.tally.add(row, f"{what}: memviz {' '.join(map(os.fsdecode, words))}"[:300], why)
        return out

    def look_file(self, row, words, kind, out, what):
        if os.path.exists(out):
            os.unlink(out)
        self.look(row, words, checks.terminal, what)
        if not os.path.exists(out):
            return
        with open(out, "rb") as file:
            why = checks.database(out) if kind == "database" else CHECKS[kind](file.read())
        self.tally.add(row, f"{what}: memviz {' '.join(map(os.fsdecode, words))}", why)


def tables_of(bench, command):
    """A command's --csv tables, from its help."""
    text = bench.run(["help", command])[1].decode()
    found = re.search(r"another:\n(.*?)\n\n", text + "\n\n", re.S)
    return re.findall(r"[a-z_.]+", found[1]) if found else []


def filled(words, made, out):
    return [word.format(f=made.path, g=made.plain or made.path, o=out) for word in words.split(" ")]


def reports(bench, made):
    """Text, JSON, CSV of every command on one hostile file."""
    for words in TEXTS:
        command = words.split(" ")[0] if words[0] != "{" else "(the first look)"
        plain = filled(words, made, "")
        bench.look(f"{command}: text", plain, checks.terminal, made.label)
        bench.look(f"{command}: text in colour", [*plain, "--color", "always"],
                   lambda data: checks.terminal(data, color=True), made.label)
        if command != "dump":
            bench.look(f"{command}: JSON", [*plain, "--json"], checks.json_text, made.label)
        for table in tables_of(bench, command) if words[0] != "{" and "--limit" not in words else []:
            bench.look(f"{command}: CSV", [*plain, "--csv", "--table", table], checks.csv_text, made.label)


def files(bench, made):
    out = os.path.join(bench.folder, "out")
    for words, kind in FILES:
        words = filled(words, made, out)
        bench.look_file(f"{words[0]}: {kind}", words, kind, words[words.index("--shot" if "--shot" in words else "-o") + 1]
                        if "-o" in words or "--shot" in words else words[-1], made.label)
    for table in TABLES:
        bench.look_file("export: CSV", ["export", "-q", "--table", table, made.path, "-o", out + ".csv"], "csv",
                        out + ".csv", made.label)
    summary = out + ".mvsum"
    bench.look("summarize: text", ["summarize", made.path, "-o", summary], checks.terminal, made.label)
    if os.path.exists(summary):
        for more, check in ([], checks.terminal), (["--json"], checks.json_text):
            bench.look("ranks of summaries", ["ranks", summary, made.path, *more], check, made.label)
        os.unlink(summary)


def viewer(bench, made):
    script = os.path.join(bench.folder, "look.vzs")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT.replace("{f}", made.path))
    bench.look("view: all panes as text", ["view", "-q", "--headless", "--script", script], checks.terminal, made.label,
               statuses=(0, 1))


# ---- names on the command line ------------------------------------------------------------------


OPTIONS = [["peak", "--at"], ["peak", "--at", "@"], ["trace", "--from"], ["trace", "--device"], ["leaks", "--level"],
           ["leaks", "--csv", "--table"], ["leaks", "--filter"], ["leaks", "--filter", "site:"], ["leaks", "--filter", "/"],
           ["leaks", "--frames"], ["leaks", "--fail-on"], ["peak", "--rules"], ["peak", "--by"], ["whatif", "--conf"],
           ["whatif", "--capacity"], ["view", "--headless", "--state"], ["view", "--headless", "--session"],
           ["view", "--headless", "--script"], ["info", "--max-memory"], ["info", "--color"], ["info", "--"], ["help"],
           ["completion"], ["mcp"], ["run", "--stacks"], ["run", "--"], ["export", "--format"], ["trace_plot", "--size"],
           ["trace_plot", "--theme"], ["trace_plot", "--view"], ["view", "--headless", "--renderer"], [""], ["--"]]


def options(bench, kind, name, snapshot):
    if b"\0" in name:
        return
    name = name[:20000]
    for words in OPTIONS:
        *first, last = words
        joined = os.fsencode(last) + name if last in ("@", "site:", "/", "--", "") else None
        line = [*first, joined] if joined is not None else [*words, name]
        if words not in (["help"], ["completion"], ["mcp"]):
            line.append(snapshot)
        bench.look("options and errors", line, checks.terminal, kind, statuses=(0, 1, 2, 3, 126, 127))
    out = os.path.join(bench.folder, "titled")
    for ending, form in (".svg", "svg"), (".png", "png"), (".html", "page"):
        bench.look_file(f"--title: {form}", ["trace_plot", "-q", "--title", name, snapshot, "-o", out + ending], form,
                        out + ending, kind)
    for variable in ("MEMVIZ_PAGE", "MEMVIZ_CACHE", "COLUMNS", "MEMVIZ_PAGER", "LANG"):
        bench.look("environment", ["trace_plot", snapshot, "-o", out + ".html"], checks.terminal, f"{variable}, {kind}",
                   env={variable: name})


# ---- names of files -----------------------------------------------------------------------------


NAMED = [["info", "{}"], ["stats", "{}"], ["ranks", "{}", "{}"], ["diff", "{}", "{}"], ["peak", "--at", "noon", "{}"],
         ["summarize", "{}", "-o", "{}.s"], ["convert", "{}", "{}.bin"], ["convert", "{}", "{}.msgpack"],
         ["convert", "{}", "nowhere/{}"], ["export", "{}", "-o", "{}.svg"], ["info", "{}/x"], ["info", "{}.absent"],
         ["{}"], ["ranks", "."], ["view", "--headless", "{}", "--shot", "{}.png"], ["trace", "{}", "-o", "{}"],
         ["convert", "{}", "{}"], ["peak", "--rules", "{}", "{}"], ["view", "--headless", "--session", "{}", "{}"]]


def file_name(name):
    """The name as a file name: the whole name without its slashes."""
    name = name.replace(b"/", b"|").replace(b"\0", b"")[:180]
    return name if name not in (b"", b".", b"..") else b"x"


def named(bench, kind, name, snapshot):
    """Run in a folder that contains only a file of that name."""
    folder = bench.empty_folder("named")
    bench = Bench(bench.program, folder, bench.env["MEMVIZ_PAGE"], bench.tally)
    file = b"./" + file_name(name)
    shutil.copy(snapshot, os.path.join(os.fsencode(folder), file))
    for words in NAMED:
        words = [word.encode().replace(b"{}", file) for word in words]
        bench.look("file names: text", words, checks.terminal, kind)
        if words[0] != file and words[0] != b"view":
            bench.look("file names: JSON", [*words, b"--json"], checks.json_text, kind)
    for text, form in FILES:
        words = [file if word == "{f}" else word.format(o=os.path.join(folder, "out")).encode() for word in text.split(" ")]
        out = os.fsdecode(next(word for word in reversed(words) if b"/out." in word))
        bench.look_file(f"file names: {form}", words, form, out, kind)


# ---- recording ----------------------------------------------------------------------------------


def recorded(bench, kind, name, marking):
    """A program whose arguments, settings, folder and heaps have that name."""
    if b"\0" in name:
        return
    name = name[:3000]
    folder = os.path.join(os.fsencode(bench.folder), b"ran" + file_name(name))
    os.makedirs(folder, exist_ok=True)
    env = {"PYTORCH_CUDA_ALLOC_CONF": name, "RANK": name, "SLURM_JOB_ID": name, "HOSTNAME": name}
    out = os.path.join(bench.folder, "ran.bin")
    status, said, err = bench.run(["run", "-o", b"./" + file_name(name)[:60] + b".%p.bin", "--", marking, b"heap", name],
                                  env=env)
    bench.tally.add("run: what the launcher says", kind, checks.terminal(err) or checks.terminal(said))
    status, said, err = bench.run(["run", "-o", out, "--", marking, b"heap", name, b"mark", name], env=env)
    bench.tally.add("run: what the launcher says", kind, checks.terminal(err) or checks.terminal(said))
    for file in os.listdir(os.fsencode(bench.folder)):
        if file.endswith(b".bin") and file != b"ran.bin":
            os.unlink(os.path.join(os.fsencode(bench.folder), file))
    shutil.rmtree(folder)
    if not os.path.exists(out):
        return
    for words in ["info"], ["stats", "--level", "all"], ["ledger"], ["dump"], ["leaks", "--level", "cuda", "--frames", "all"]:
        bench.look("a recording of such a program", [*words, out], checks.terminal, kind)
        if words[0] != "dump":
            bench.look("a recording of such a program", [*words, out, "--json"], checks.json_text, kind)
    os.unlink(out)


# ---- readers of other bytes -----------------------------------------------------------------------


def raw(bench, kind, name, testdata):
    """Files of other tools, and live files, whose texts were replaced byte by byte."""
    import gzip
    for path in ("tools/rmm_late.csv", "tools/jax.xplane.pb.gz", "tools/tpu_memory.prof", "corpus/summary/two_devices",
                 "captures/heap_pool.bin", "snapshots/annotated.pickle"):
        with open(os.path.join(testdata, path), "rb") as file:
            data = file.read()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        made = os.path.join(bench.folder, "raw")
        for least in (4, 9):
            with open(made, "wb") as file:
                file.write(hostile.same_length(data, name, least))
            for words in ["info"], ["trace"], ["stats"], ["ranks"]:
                bench.look("texts replaced in the bytes", [*words, made], checks.terminal, f"{kind} in {path}")
                bench.look("texts replaced in the bytes", [*words, made, "--json"], checks.json_text, f"{kind} in {path}")
        os.unlink(made)


# ---- terminals ------------------------------------------------------------------------------------


def in_terminal(words, env, folder, feed=None, typed=b"", until=LIMIT):
    """A program's output on a terminal, byte by byte, without the carriage returns that the terminal adds."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(words[0], words, env)
    if feed:
        threading.Thread(target=feed, daemon=True).start()
    os.write(fd, typed)
    said, end = b"", time.monotonic() + until
    while time.monotonic() < end:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            data = os.read(fd, 1 << 16)
        except OSError:
            break
        if not data:
            break
        said += data
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(fd)
    os.waitpid(pid, 0)
    return said.replace(b"\r\n", b"\n")


def terminals(bench, kind, name, made):
    """A pager, and the messages while a file is read: from a FIFO of that name, which is slow."""
    if b"\0" in name:
        return
    seen = os.path.join(bench.folder, "paged")
    env = {**bench.env, "TERM": "xterm", "MEMVIZ_PAGER": f"tee {seen}", "LINES": "10"}
    said = in_terminal([bench.program, "trace", "--frames", "all", made.path], env, bench.folder)
    bench.tally.add("pager", kind, checks.terminal(said, color=True, progress=True))
    fifo = os.path.join(os.fsencode(bench.folder), file_name(name))
    if os.path.exists(fifo):
        return
    os.mkfifo(fifo)

    def feed():
        with open(made.path, "rb") as source, open(fifo, "wb", buffering=0) as pipe:
            data = source.read()
            for part in range(5):
                pipe.write(data[part * len(data) // 5:(part + 1) * len(data) // 5])
                time.sleep(0.4)

    said = in_terminal([bench.program, "info", "--no-pager", fifo], env, bench.folder, feed)
    os.unlink(fifo)
    bench.tally.add("progress in a terminal", kind, checks.terminal(said, color=True, progress=True))


# ---- servers ---------------------------------------------------------------------------------------


def mcp(bench, made):
    requests = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
                {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    for i, tool in enumerate(["triage", "info", "stats", "leaks", "peak", "trace", "lines", "fragmentation", "oom", "whatif",
                              "ledger", "ranks", "memory", "dump", "picture"]):
        requests.append({"jsonrpc": "2.0", "id": 10 + i, "method": "tools/call",
                         "params": {"name": tool, "arguments": {"file": made.path, "files": [made.path]}}})
    requests.append({"jsonrpc": "2.0", "id": "\u202e\x1b]0;x", "method": "\x1b]0;x\u009b", "params": {"name": "\x1b[2J"}})
    text = "".join(json.dumps(one) + "\n" for one in requests).encode()
    done = subprocess.run([bench.program, "mcp"], input=text, env=bench.env, cwd=bench.folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    for line in done.stdout.splitlines():
        why = checks.json_text(line)
        for part in json.loads(line).get("result", {}).get("content", []) if not why else []:
            why = why or checks.terminal(part.get("text", "").encode("utf-8", "surrogatepass"))
        bench.tally.add("mcp: answers, and the text in them", made.label, why)
    bench.tally.add("mcp: answers, and the text in them", made.label, checks.terminal(done.stderr))


def ask(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as there:
        there.sendall(request)
        data = b""
        while part := there.recv(1 << 16):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = {}
    for line in lines:
        key, _, value = line.partition(b": ")
        headers[key.lower().decode("latin-1")] = value
    return int(status.split()[1]), headers, body


def served(bench, snapshot):
    """A folder of files with all names, listed and sent; and clients that get no answer."""
    folder = bench.empty_folder("shelf")
    for name in hostile.NAMES.values():
        shutil.copy(snapshot, os.path.join(os.fsencode(folder), file_name(name) + b".pickle"))
    server = subprocess.Popen([bench.program, "serve", "--json", folder], env=bench.env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    try:
        said = os.read(server.stdout.fileno(), 1 << 16)
        bench.tally.add("serve: what it says", "a folder", checks.json_text(said))
        port, path = json.loads(said)["port"], json.loads(said)["url"].split("/", 3)[3]
        get = f"GET /{path}%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
        status, headers, body = ask(port, (get % ("files", "localhost")).encode())
        bench.tally.add("serve: the list", "all names", checks.json_text(body) or (None if status == 200 else status))
        listed = json.loads(body)["files"]
        bench.tally.add("serve: the list", "how many", None if len(listed) == len([name for name in os.listdir(folder) if name[0] != "."]) else len(listed))
        for row in listed:
            where = f"originals/{row['id']}/{row['version']}"
            status, headers, body = ask(port, (get % (where, "127.0.0.1")).encode())
            why = headers_wrong(headers, False) or (None if status == 200 else f"status {status}")
            disposition = headers.get("content-disposition", b"").decode("latin-1")
            if not re.fullmatch(r"attachment; filename\*=UTF-8''[A-Za-z0-9._%-]*", disposition):
                why = why or f"Content-Disposition: {disposition!r}"
            bench.tally.add("serve: downloads and their headers", row["name"][:60], why)
        status, headers, body = ask(port, (get % ("", "[::1]")).encode())
        bench.tally.add("serve: the page's headers", "page", headers_wrong(headers, True) or
                        (None if status == 200 and b"default-src 'none'" in body[:2000] else f"status {status}"))
        for host in ("canary.test", "127.0.0.1.canary.test", "localhost:1:2", "", "[::1].x"):
            status, headers, body = ask(port, (get % ("", host)).encode())
            bench.tally.add("serve: another Host is refused", host, None if status in (400, 404) else f"status {status}")
        for path in ("/", "/..%2f..%2fetc/passwd", "/" + "0" * 64 + "/", "/%1b]0;x", "/\x1b[2J"):
            status, headers, body = ask(port, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            bench.tally.add("serve: no path without the token", path, checks.terminal(body) or
                            (None if status in (400, 404) else f"status {status}"))
    finally:
        server.terminate()
        _, err = server.communicate(timeout=LIMIT)
    bench.tally.add("serve: what it says", "standard error", checks.terminal(err))


def headers_wrong(headers, is_page):
    want = {"x-content-type-options": b"nosniff", "referrer-policy": b"no-referrer", "cache-control": b"no-store",
            "cross-origin-resource-policy": b"same-origin", "x-frame-options": b"DENY", "content-security-policy":
            b"frame-ancestors 'none'" if is_page else b"default-src 'none'; sandbox; frame-ancestors 'none'"}
    wrong = [f"{name}: {headers.get(name)!r}" for name, value in want.items() if headers.get(name) != value]
    known = {*want, "connection", "content-length", "content-type", "date", "etag", "accept-ranges", "content-disposition"}
    return ", ".join(wrong + sorted(set(headers) - known)) or None
