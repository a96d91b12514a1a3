"""Packs an installed tree (bin, lib, share): the same tree gives the same bytes.

    pack.py tar TREE OUT.tar.gz
    pack.py wheel TREE PYTHON VERSION PLATFORM FOLDER     PYTHON: the folder with pyproject.toml
    pack.py deb TREE PACKAGING VERSION ARCHITECTURE OUT.deb

The time of each file is SOURCE_DATE_EPOCH.
"""

import base64
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
# For the shell and man, which search the prefix and not a package.
OF_PREFIX = re.compile(r"share/(man|bash-completion|zsh|fish)/")


def files_of(tree):
    """Names below the tree, in a fixed order."""
    names = []
    for folder, _, files in os.walk(tree):
        names += (os.path.relpath(os.path.join(folder, name), tree) for name in files)
    return sorted(names)


def mode_of(path):
    return 0o755 if os.stat(path).st_mode & 0o100 else 0o644


def read(path):
    with open(path, "rb") as file:
        return file.read()


def pack_tar(tree, out):
    top = os.path.basename(out)[:-len(".tar.gz")]
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, EPOCH) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in files_of(tree):
            row = tarfile.TarInfo(f"{top}/{name}")
            data = read(os.path.join(tree, name))
            row.size, row.mtime, row.mode = len(data), EPOCH, mode_of(os.path.join(tree, name))
            tar.addfile(row, io.BytesIO(data))


# ---- Python ----------------------------------------------------------------------------------

def metadata_of(project, version, readme):
    rows = [("Metadata-Version", "2.1"), ("Name", project["name"]), ("Version", version),
            ("Summary", project["description"]), ("License", project["license"]["text"]),
            ("Requires-Python", project["requires-python"])]
    rows += [("Classifier", text) for text in project["classifiers"]]
    rows += [("Description-Content-Type", "text/markdown")]
    return "".join(f"{key}: {value}\n" for key, value in rows) + "\n" + readme


def entry_points_of(project):
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in rows.items())
                     for group, rows in groups.items())


def pack_wheel(tree, python, version, platform, folder):
    import tomllib  # pylint: disable=import-outside-toplevel
    with open(os.path.join(python, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    tag = f"py3-none-{platform}"
    info, data = f"memviz-{version}.dist-info", f"memviz-{version}.data/data"
    package = os.path.join(python, "memviz")
    rows = [(f"memviz/{name}", read(os.path.join(package, name)), 0o644) for name in files_of(package)
            if name.endswith(".py") or name == "py.typed"]
    for name in files_of(tree):
        if name.startswith("share/memviz/python/"):
            continue  # the package above
        path = os.path.join(tree, name)
        rows.append((f"{data if OF_PREFIX.match(name) else 'memviz/_native'}/{name}", read(path), mode_of(path)))
    texts = {
        "METADATA": metadata_of(project, version, read(os.path.join(python, project["readme"])).decode()),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: memviz\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": entry_points_of(project),
        "top_level.txt": "memviz\n",
    }
    rows += [(f"{info}/{name}", text.encode(), 0o644) for name, text in texts.items()]
    record = ""
    for name, content, _ in rows:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    rows.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644))
    with zipfile.ZipFile(os.path.join(folder, f"memviz-{version}-{tag}.whl"), "w", zipfile.ZIP_DEFLATED) as out:
        for name, content, mode in rows:
            row = zipfile.ZipInfo(name, time.gmtime(max(EPOCH, 315532800))[:6])
            row.external_attr = (0o100000 | mode) << 16
            row.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(row, content)


# ---- Debian ----------------------------------------------------------------------------------

def pack_deb(tree, packaging, version, architecture, out):
    with tempfile.TemporaryDirectory() as work:
        root = os.path.join(work, "memviz")
        # Debian packages these itself: our package recommends Debian's.
        shutil.copytree(tree, os.path.join(root, "usr"), ignore=shutil.ignore_patterns("fonts", "libSDL2*", "libmicrohttpd*"))
        zsh = os.path.join(root, "usr/share/zsh")
        os.rename(os.path.join(zsh, "site-functions"), os.path.join(zsh, "vendor-completions"))
        control = os.path.join(root, "DEBIAN")
        os.mkdir(control)
        size = sum(os.path.getsize(os.path.join(root, name)) for name in files_of(root)) // 1024
        with open(os.path.join(packaging, "deb/control"), encoding="utf-8") as file:
            text = file.read().format(version=version, architecture=architecture, size=size)
        with open(os.path.join(control, "control"), "w", encoding="utf-8") as file:
            file.write(text)
        os.makedirs(os.path.join(root, "usr/share/lintian/overrides"))
        shutil.copy(os.path.join(packaging, "deb/lintian-overrides"),
                    os.path.join(root, "usr/share/lintian/overrides/memviz"))
        date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(EPOCH))
        with open(os.path.join(root, "usr/share/doc/memviz/changelog.Debian"), "w", encoding="utf-8") as file:
            file.write(f"memviz ({version}-1) unstable; urgency=medium\n\n  * See changelog.gz for the changes.\n\n"
                       f" -- {re.search('Maintainer: (.*)', text).group(1)}  {date}\n")
        for name in ("man/man1/memviz.1", "doc/memviz/changelog", "doc/memviz/changelog.Debian"):
            name = "usr/share/" + name
            path = os.path.join(root, name)
            with open(path + ".gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
                packed.write(read(path))
            os.remove(path)
        with open(os.path.join(control, "md5sums"), "w", encoding="utf-8") as file:
            for name in files_of(root):
                if not name.startswith("DEBIAN/"):
                    file.write(f"{hashlib.md5(read(os.path.join(root, name))).hexdigest()}  {name}\n")
        for folder, folders, names in os.walk(root):
            for name in folders + names:
                path = os.path.join(folder, name)
                os.chmod(path, 0o755 if name in folders else mode_of(path))
                os.utime(path, (EPOCH, EPOCH))
            os.utime(folder, (EPOCH, EPOCH))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, out], check=True,
                       stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    {"tar": pack_tar, "wheel": pack_wheel, "deb": pack_deb}[sys.argv[1]](*sys.argv[2:])
