"""Inputs other than recordings: sessions, rules, viewer scripts, folders, agents' requests, recordings that fail."""

import json
import os
import shutil
import subprocess

import checks
import outputs

SESSION = b"""memviz session 1
path %s
file 0
device 0
main timeline
search %s
bookmark 0 0 4000 3900 4100 none %s
%s
end
"""


def line_of(name):
    """The name in the form that a session, a rule or a script can contain: without line ends."""
    return name.replace(b"\n", b"\\x0a").replace(b"\0", b"\\x00")[:4000]


def written(folder, file, data):
    path = os.path.join(folder, file)
    with open(path, "wb") as out:
        out.write(data)
    return path


def sessions(bench, kind, name, snapshot):
    """Read, with the messages about their errors; and written by the viewer with a bookmark and a search of that name."""
    folder = bench.folder
    line, path = line_of(name), os.fsencode(snapshot)
    for data in (SESSION % (line, line, line, b""), SESSION % (path, line, line, b""), SESSION % (path, b"x", b"y", line),
                 b"memviz session " + line, line):
        file = written(folder, "hostile.session", data)
        bench.look("sessions", ["view", "-q", "--headless", "--session", file, "--shot", os.path.join(folder, "session.png")],
                   checks.terminal, kind)
        bench.look("sessions", ["info", file], checks.terminal, kind)
    bench.look("links", ["view", "-q", "--headless", "--state", b"main timeline;search " + line + b";bookmark 0 0 4000 3900 4100 none " +
                         line, "--shot", os.path.join(folder, "session.png"), snapshot], checks.terminal, kind)
    if b"\0" in name:
        return
    home = bench.empty_folder("kept")
    file = os.path.join(os.fsencode(home), outputs.file_name(name) + b".pickle")
    shutil.copy(snapshot, file)
    script = written(folder, "keep.vzs", b"size 900 600\nwait idle\nkey Ctrl+F\ntext " + line + b"\nkey Enter\nkey Ctrl+S\nkey Enter\nwait idle\ndump\n")
    bench.look("sessions: what the viewer says", ["view", "-q", "--headless", "--script", script, file], checks.terminal, kind, cwd=home)
    for kept in os.listdir(os.fsencode(home)):
        if kept.endswith(b".session"):
            with open(os.path.join(os.fsencode(home), kept), "rb") as text:
                bench.tally.add("sessions: what the viewer writes", kind, checks.terminal(text.read()))


def rules(bench, kind, name, snapshot):
    for data in (line_of(name) + b"\n", b"train\t" + line_of(name)[:40] + b"\n", b"x " + line_of(name) + b"\n(" + line_of(name) + b" y\n"):
        file = written(bench.folder, "hostile.rules", data)
        bench.look("rules", ["peak", "--rules", file, snapshot], checks.terminal, kind)
        bench.look("rules: JSON", ["peak", "--rules", file, "--json", snapshot], checks.json_text, kind)


def scripts(bench, kind, name, snapshot):
    for word in b"open ", b"expect ", b"do ", b"key ", b"shot ", b"":
        file = written(bench.folder, "hostile.vzs", word + line_of(name) + b"\n")
        bench.look("scripts of the viewer", ["view", "-q", "--headless", "--script", file, snapshot], checks.terminal, kind)
        for left in os.listdir(os.fsencode(bench.folder)):
            if left.endswith(b".png"):
                os.unlink(os.path.join(os.fsencode(bench.folder), left))


def folders(bench, kind, name, snapshot):
    """A folder of that name with two recordings of that name, read by triage and ranks."""
    folder = os.path.join(os.fsencode(bench.folder), b"in" + outputs.file_name(name))
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for i in b"1", b"2":
        shutil.copy(snapshot, os.path.join(folder, outputs.file_name(name)[:150] + i))
    for words in ["triage"], ["ranks"], ["summarize"], []:
        words = [*words, folder] + (["-o", "folder.summary"] if words == ["summarize"] else [])
        bench.look("folders: text", words, checks.terminal, kind)
        bench.look("folders: JSON", [*words, "--json"], checks.json_text, kind)
    shutil.rmtree(folder)


def refused(bench, kind, name, marking):
    """`run` if nothing can be recorded: no file can be made, the shim is missing, the program is missing."""
    if b"\0" in name:
        return
    file = outputs.file_name(name)
    for words, env in ((["-o", b"/proc/" + file + b".bin", "--", marking, "heap", "x"], {}), (["-o", file + b"/x.bin", "--", marking], {}),
                       (["-o", "r.bin", "--", b"./" + file], {}), (["-o", "r.bin", "--", marking], {"MEMVIZ_SHIM": b"/nowhere/" + name[:3000]}),
                       (["-o", b"%h" + file, "--", marking, "heap", "x"], {"MEMVIZ_STACKS": name[:3000]})):
        bench.look("run: why nothing is recorded", ["run", *words], checks.terminal, kind, statuses=(0, 1, 2, 3, 126, 127), env=env)


def asked(bench, kind, name, snapshot):
    """`mcp` with such names of files, tools, arguments and methods."""
    text = name.decode("utf-8", "replace").replace("\0", "")
    folder = bench.empty_folder("asked")
    there = outputs.file_name(text.encode())
    shutil.copy(snapshot, os.path.join(os.fsencode(folder), there))
    there = there.decode("utf-8", "ignore")
    calls = [("info", {"file": there}), ("triage", {"files": [there, text]}), ("ranks", {"files": [there, there]}), ("info", {"file": text}),
             ("peak", {"file": there, "at": "@" + text}), ("peak", {"file": there, "by": text}), ("picture", {"file": there, "filter": text}),
             ("picture", {"file": there, "filter": "/" + text}), ("terms", {"term": text}), ("info", {text: text}), (text, {}),
             ("diff", {"before": there, "after": there, "json": True}), ("lines", {"file": there, "table": text})]
    lines = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": tool, "arguments": of}} for i, (tool, of) in enumerate(calls)]
    lines += [{"jsonrpc": "2.0", "id": text, "method": text}]
    done = subprocess.run([bench.program, "mcp"], input="".join(json.dumps(one) + "\n" for one in lines).encode(), env=bench.env, cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=outputs.LIMIT, check=False)
    why = None if len(done.stdout.splitlines()) == len(lines) else f"{len(done.stdout.splitlines())} answers"
    for line in done.stdout.splitlines():
        why = why or checks.json_text(line)
        answer = json.loads(line) if not why else {}
        parts = [*answer.get("result", {}).get("content", []), {"text": answer.get("error", {}).get("message", "")}]
        for part in parts:
            said = part.get("text", "")
            why = why or (checks.json_text(said.encode()) if said.startswith("{") else checks.terminal(said.encode("utf-8", "surrogatepass")))
    bench.tally.add("mcp: what is asked", kind, why or checks.terminal(done.stderr))


def look(bench, kind, name, snapshot, marking):
    for one in sessions, rules, scripts, folders, asked:
        one(bench, kind, name, snapshot)
    refused(bench, kind, name, marking)
