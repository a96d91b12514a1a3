"""Faults other than a single failing call, for scripts/attack/faults: each case is (command, fault, check), and check(place)
returns (runs, errors). A place is the case's own empty folder.

- the launcher of `run`, whose system calls fail by strace(1), so that the recorded program's do not
- limits (ulimit), closed standard descriptors, clocks that jump
- files that shrink, grow, are damaged or replaced while a viewer, a server or an agent's server has them
- requests that fail, two hundred times
"""
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

LINE = re.compile(r"\Amemviz: [^\n]+\n\Z")


class Cases:
    def __init__(self, build, program, snaps, page):
        self.build, self.program, self.snaps, self.page = build, program, snaps, page
        self.small, self.train = snaps + "mlp_train.pickle", snaps + "gpt_train.pickle"
        self.env = dict(os.environ, MEMVIZ_SHIM=build + "/capture/libmemviz_capture.so", MEMVIZ_PAGE=page, NO_COLOR="1",
                        MEMVIZ_PAGER="", ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")

    def all(self):
        yield from (("run", "its calls: " + group, lambda place, g=group: self.run_calls(place, g)) for group in CALLS)
        for limit in LIMITS:
            yield "reports", limit, lambda place, l=limit: self.limits(place, l)
        yield "all", "closed 0, 1, 2", self.closed
        yield "run info view", "clock jumps", self.clocks
        yield "serve mcp", "clock jumps", self.clocks_of_servers
        for change in CHANGES:
            yield "view", "file: " + change, lambda place, c=change: self.viewer(place, c)
            yield "serve", "file: " + change, lambda place, c=change: self.server(place, c)
            yield "mcp", "file: " + change, lambda place, c=change: self.agent(place, c)
        yield "serve", "200 failures", self.server_grows
        yield "mcp", "200 failures", self.agent_grows

    def start(self, place, *words, **more):
        return subprocess.Popen([self.program, *words], cwd=place, env=dict(self.env, **more.pop("env", {})),
                                stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace", **more)

    # ---- the launcher ---------------------------------------------------------------------------

    def run_calls(self, place, group):
        """Each call of the launcher after the loader's calls fails once. The program's own status and output stay, unless the
        launcher refuses to start it; the recording is in a readable file, or a line has the reason."""
        calls, errors = CALLS[group]
        if not shutil.which("strace"):
            return 0, ["not here: strace"]
        command = [self.program, "run", "-q", "-o", "o.bin", "--", self.build + "/tests/marking", "mark", "a", "exit", "5"]

        def attempt(inject):
            for name in os.listdir(place):
                os.unlink(place + "/" + name)
            with open(place + "/o.bin", "w") as old:
                old.write("old\n")
            r = subprocess.run(["strace", "-q", "-o", "log", "-e", "trace=rt_sigaction," + calls] + inject + command, cwd=place,
                               env=self.env, capture_output=True, text=True, errors="replace", timeout=60)
            log = open(place + "/log").read()
            os.unlink(place + "/log")
            return r, log
        r, log = attempt([])
        if r.returncode != 5:
            return 1, ["without a fault: status %d, %s" % (r.returncode, r.stderr)]
        # The loader and libc have finished when the program sets its first signal.
        begun = [i for i, line in enumerate(log.splitlines()) if "rt_sigaction(" in line][:1]
        lines = [line for line in log.splitlines() if re.match(r"\w+\(", line)]
        first = len([line for line in lines[:begun[0]] if "rt_sigaction" not in line]) if begun else 0
        total = len([line for line in lines if "rt_sigaction" not in line])
        runs, wrong = 0, []
        for error, n in itertools.product(errors, range(first + 1, total + 1)):
            r, log = attempt(["-e", "inject=%s:error=%s:when=%d" % (calls, error, n)])
            if "write(2," in "".join(line for line in log.splitlines() if "INJECTED" in line):
                continue
            runs += 1
            why = self.judge_run(place, r)
            if why:
                hit = [line[:100] for line in log.splitlines() if "INJECTED" in line]
                wrong.append("%s, call %d: %s: status %d, %s%s %s" % (error, n, why, r.returncode, r.stderr, os.listdir(place), hit))
        return runs, wrong

    def judge_run(self, place, r):
        files = os.listdir(place)
        kept = [f for f in files if subprocess.run([self.program, "info", "-q", f], cwd=place, capture_output=True).returncode == 0]
        if r.returncode not in (5, 1) and not (r.returncode == 126 and r.stderr):  # 126: it was not started
            return "another status"
        if r.stderr and not all(line.startswith("memviz: ") for line in r.stderr.splitlines()):
            return "other words"
        if not kept and not r.stderr:
            return "nothing recorded, and no line"
        if "o.bin" not in kept and open(place + "/o.bin", "rb").read() != b"old\n":
            return "the old output is lost"
        odd = [f for f in files if f != "o.bin" and not f.endswith(".live")]
        return "left: %s" % odd if odd else None

    # ---- limits ---------------------------------------------------------------------------------

    def limits(self, place, limit):
        """A report is the same as without the limit, or there is one line, status 1 and the old output; `-t` ends it by a signal."""
        commands = [[name, "-q", self.train] for name in ("triage", "info", "stats", "leaks", "peak", "fragmentation", "ranks",
                                                          "memory")]
        commands += [["convert", "-q", self.train, "o.bin"], ["trace_plot", "-q", self.train, "-o", "o.png"],
                     ["export", "-q", self.train, "-o", "o.sqlite"], ["trace_plot", "-q", self.train, "-o", "o.html"],
                     ["view", "-q", "--headless", "--size", "300x200", "--shot", "o.png", self.train]]
        runs, wrong = 0, []
        for words in commands:
            for name in os.listdir(place):
                os.unlink(place + "/" + name)
            made = [w for w in words if w.startswith("o.")]
            good = subprocess.run([self.program] + words, cwd=place, env=self.env, capture_output=True)
            for amount in LIMITS[limit]:
                for name in made:
                    with open(place + "/" + name, "w") as old:
                        old.write("old\n")
                r = subprocess.run(["sh", "-c", "{ ulimit -%s %s && exec \"$@\"; } 2>&1 >out | cat >err; exit 0" % (limit[-1], amount)
                                    if limit[-1] == "f" else "ulimit -%s %s && exec \"$@\"" % (limit[-1], amount), "sh",
                                    self.program] + words, cwd=place, env=self.env, capture_output=True)
                runs += 1
                said = (open(place + "/err").read() if limit[-1] == "f" else r.stderr.decode(errors="replace"))
                olds = [open(place + "/" + name, "rb").read() == b"old\n" for name in made]
                others = [f for f in os.listdir(place) if f not in made + ["out", "err"]]
                failed = r.returncode == 1 or (limit[-1] == "f" and said)
                if "shared libraries" in said or "shared object" in said:
                    continue  # the loader had no memory: the program was not started
                if others:
                    why = "left %s" % others
                elif failed:
                    why = None if LINE.match(said) and all(olds) else "no line, or the old output is lost"
                elif limit[-1] == "t" and r.returncode in (-signal.SIGXCPU, -signal.SIGKILL, 152, 137):
                    why = None
                else:
                    why = None if r.returncode in (0, 3) and (limit[-1] == "f" or r.stdout == good.stdout) else "another status"
                if why:
                    wrong.append("%s %s: %s: status %d, %s" % (" ".join(words[:2]), amount, why, r.returncode, said[:200]))
        return runs, wrong

    # ---- descriptors ----------------------------------------------------------------------------

    def closed(self, place):
        """Without standard descriptors a file is the same as with them; output that cannot be printed is a failure."""
        outputs = {"leaks": "o.csv", "convert": "o.bin", "trace_plot": "o.svg", "export": "o.json", "summarize": "o.summary",
                   "view": "o.png"}
        runs, wrong = 0, []
        for name, output in outputs.items():
            words = {"leaks": "leaks --csv %s -o o.csv", "convert": "convert %s o.bin", "view":
                     "view --headless --size 300x200 --shot o.png %s"}.get(name, name + " %%s -o %s" % output) % self.small
            subprocess.run([self.program] + words.split(), cwd=place, env=self.env, capture_output=True)
            good = open(place + "/" + output, "rb").read()
            for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&-", "1>&- 2>&-", "0<&- 2>&-", "0<&- 1>&- 2>&-"):
                r = subprocess.run(["sh", "-c", "exec \"$@\" " + closed, "sh", self.program] + words.split(), cwd=place, env=self.env,
                                   capture_output=True, text=True)
                now = open(place + "/" + output, "rb").read()
                runs += 1
                if now != good and name != "view" or r.returncode not in (0, 1) or r.returncode == 1 and "1>&-" not in closed:
                    wrong.append("%s %s: status %d, %d bytes, %s" % (name, closed, r.returncode, len(now), r.stderr))
        return runs, wrong

    # ---- clocks ---------------------------------------------------------------------------------

    def clocks(self, place):
        jumping = {"LD_PRELOAD": self.build + "/tests/libjumping.so"}
        wrong = []
        for words, check in ((["run", "-q", "-o", "o.bin", "--", self.build + "/tests/marking", "mark", "a", "mark", "b"], 0),
                             (["info", "-q", "--json", "o.bin"], 0), (["trace", "-q", "--json", "o.bin"], 0),
                             (["view", "-q", "--headless", "--size", "300x200", "--shot", "o.png", self.small], 0)):
            p = self.start(place, *words, env=jumping)
            out, said = p.communicate(timeout=120)
            if p.returncode != check or said or re.search(r'duration\w*":\s*-', out):
                wrong.append("%s: status %s, %s%s" % (words[0], p.returncode, said, out[:200]))
        return 4, wrong

    def clocks_of_servers(self, place):
        jumping, wrong = {"LD_PRELOAD": self.build + "/tests/libjumping.so"}, []
        shutil.copy(self.small, place + "/a")
        with Server(self, place, env=jumping) as server:
            for _ in range(20):
                os.utime(place + "/a", (time.time() + 86400 * 365, time.time() + 86400 * 365))
                status, body = server.made("a")
                if status != 200:
                    wrong.append("serve: %s %s" % (status, body[:100]))
        with Agent(self, place, env=jumping) as agent:
            wrong += ["mcp: " + a[:200] for a in (agent.ask("leaks", "a") for _ in range(20)) if "isError\":true" in a]
        return 40, wrong

    # ---- files that change ----------------------------------------------------------------------

    def change(self, place, how):
        """Changes the file `a` of the place again and again, until the event is set."""
        whole, other = open(self.train, "rb").read(), open(self.small, "rb").read()
        end = threading.Event()

        def once(i):
            part = len(whole) * (1 + i % 6) // 7
            if how == "shrinks":
                os.truncate(place + "/a", part)
            elif how == "grows":
                with open(place + "/a", "ab") as f:
                    f.write(whole[:4096])
            elif how == "is damaged":
                with open(place + "/a", "r+b") as f:
                    f.seek(part)
                    f.write(b"\xff\0\xee" * 20)
            elif how == "is replaced":
                with open(place + "/b", "wb") as f:
                    f.write((other, whole, whole[:part], b"")[i % 4])
                os.rename(place + "/b", place + "/a")
            elif how == "goes and comes":
                os.rename(place + "/a", place + "/b")
                os.rename(place + "/b", place + "/a")

        def work():
            for i in itertools.count():
                with open(place + "/a", "wb" if how == "is written again" else "r+b") as f:  # whole again
                    f.write(whole)
                    f.truncate()
                if end.wait(i % 10 / 1000):
                    break
                once(i)
                if end.wait(i % 3 / 1000):
                    break
        with open(place + "/a", "wb") as f:
            f.write(whole)
        thread = threading.Thread(target=work)
        thread.start()
        return end, thread

    def viewer(self, place, how):
        """The viewer ends by its script, or with one line."""
        script = "open a\nwait idle\nkey 2\nwait idle\n" * 6
        with open(place + "/script", "w") as f:
            f.write(script)
        end, thread = self.change(place, how)
        runs, wrong = 0, []
        for _ in range(5):
            p = self.start(place, "view", "-q", "--headless", "--size", "300x200", "--script", "script")
            _, said = p.communicate(timeout=120)
            runs += 1
            if not (p.returncode == 0 and not said or p.returncode == 1 and LINE.match(said)):
                wrong.append("status %d: %s" % (p.returncode, said[:300]))
        end.set()
        thread.join()
        return runs, wrong

    def server(self, place, how):
        """Each answer is a snapshot, or one line; once the file rests, it is a snapshot."""
        shutil.copy(self.train, place + "/a")
        wrong, seen = [], {}
        with Server(self, place, "a") as server:
            end, thread = self.change(place, how)
            for _ in range(60):
                status, body = server.made("a")
                seen[status] = seen.get(status, 0) + 1
                if status not in (200, 404, 409, 410, 422) or status != 200 and body.count(b"\n") > 1:
                    wrong.append("%s: %s" % (status, body[:200]))
            end.set()
            thread.join()
            shutil.copy(self.small, place + "/a")
            status, body = server.made("a")
            if status != 200:
                wrong.append("at rest: %s: %s" % (status, body[:200]))
        return 61, wrong + server.wrong

    def agent(self, place, how):
        shutil.copy(self.train, place + "/a")
        wrong = []
        with Agent(self, place) as agent:
            end, thread = self.change(place, how)
            for i in range(60):
                answer = agent.ask(("leaks", "info", "picture")[i % 3], "a")
                if not answer.startswith('{"jsonrpc"'):
                    wrong.append(answer[:200])
            end.set()
            thread.join()
            shutil.copy(self.small, place + "/a")
            answer = agent.ask("leaks", "a")
            if "isError\":true" in answer or "error" in json.loads(answer):
                wrong.append("at rest: " + answer[:200])
        return 61, wrong + agent.wrong

    # ---- growth ---------------------------------------------------------------------------------

    def bad_files(self, place):
        os.mkdir(place + "/run")
        whole = open(self.train, "rb").read()
        for name, data in (("a", whole[:3000]), ("b", b"no\n"), ("c", whole[:2000] + bytes(64) + whole[2064:])):
            with open(place + "/run/" + name, "wb") as f:
                f.write(data)

    def server_grows(self, place):
        self.bad_files(place)
        sizes = []
        with Server(self, place, "run") as server:
            for i in range(220):
                server.made("abc"[i % 3])
                server.get("/files/99/0")
                with open(place + "/run/" + "abc"[i % 3], "ab") as f:
                    f.write(b"\n")
                if i in (20, 219):
                    time.sleep(1)  # the last connection is closed after its answer
                    sizes.append(held(server.process.pid, place))
        return 220, server.wrong + ([] if sizes[0] == sizes[1] else ["holds %s, then %s" % tuple(sizes)])

    def agent_grows(self, place):
        self.bad_files(place)
        sizes = []
        with Agent(self, place) as agent:
            for i in range(220):
                name = ("run/a", "run/b", "run/c", "none", "run")[i % 5]
                agent.ask(("leaks", "picture", "nosuch", "diff")[i % 4], name)
                with open(place + "/run/a", "ab") as f:
                    f.write(b"\n")
                if i in (20, 219):
                    sizes.append(held(agent.process.pid, place))
        return 220, agent.wrong + ([] if sizes[0] == sizes[1] else ["holds %s, then %s" % tuple(sizes)])


CALLS = {"write": ("write", ("ENOSPC", "EIO", "EINTR")), "read": ("read,pread64", ("EIO", "EINTR")),
         "open": ("openat", ("EMFILE", "EACCES")), "memory": ("mmap", ("ENOMEM",)),
         "file": ("renameat,linkat,ftruncate,fchmod,unlinkat", ("EIO", "ENOSPC")),
         "process": ("clone,fork,vfork,clone3,pidfd_open", ("EAGAIN",)), "wait": ("wait4,waitid", ("EINTR",))}
LIMITS = {"ulimit -v": (30000, 60000, 120000, 250000), "ulimit -s": (256, 1024, 8192), "ulimit -n": (3, 4, 5, 6, 8),
          "ulimit -f": (0, 1, 8), "ulimit -t": (0, 1)}
CHANGES = ("shrinks", "grows", "is written again", "is damaged", "is replaced", "goes and comes")


def held(process, place):
    """Descriptors, and mappings of files in the place."""
    with open("/proc/%d/maps" % process) as maps:
        return len(os.listdir("/proc/%d/fd" % process)), sum(place in line for line in maps)


class Server:
    """`serve`, by its requests."""
    def __init__(self, cases, place, what=".", env=None):
        self.process = cases.start(place, "serve", "-q", what, env=env or {})
        self.wrong, self.what = [], what
        address = re.match(r"http://127.0.0.1:(\d+)(/\w+)/", self.process.stdout.readline())
        self.port, self.base = int(address[1]), address[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        out, said = self.process.communicate(timeout=60)
        if self.process.returncode or said or out:
            self.wrong.append("its end: status %d, %s%s" % (self.process.returncode, out, said[:300]))

    def get(self, path):
        with socket.create_connection(("127.0.0.1", self.port), 30) as s, s.makefile("rb") as answer:
            s.sendall(b"GET %s%s HTTP/1.0\r\nHost: localhost\r\n\r\n" % (self.base.encode(), path.encode()))
            head, _, body = answer.read().partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def made(self, name):
        """The snapshot with that name: the status and the body."""
        rows = {row["name"]: row for row in json.loads(self.get("/files")[1])["files"]}
        if name not in rows:
            return 404, b""
        while True:
            status, body = self.get("/files/%d/%s" % (rows[name]["id"], rows[name]["version"]))
            if status != 202:
                return status, body
            time.sleep(0.001)


class Agent:
    """`mcp`, by its lines."""
    def __init__(self, cases, place, env=None):
        self.process = cases.start(place, "mcp", "-q", stdin=subprocess.PIPE, env=env or {})
        self.wrong = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        out, said = self.process.communicate(timeout=60)
        if self.process.returncode or said or out:
            self.wrong.append("its end: status %d, %s%s" % (self.process.returncode, out[:200], said[:300]))

    def ask(self, tool, file):
        arguments = {"files": [file, file]} if tool == "diff" else {"file": file}
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                             "params": {"name": tool, "arguments": arguments}}) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()
