# SPDX-License-Identifier: Apache-2.0
"""The packages that the guide "Getting started" has its reader install, and a view of this machine with only these."""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INSTALL = re.compile(r"^sudo apt-get install ([a-z0-9 .+-]+)", re.MULTILINE)
# What Swift itself needs, by swift.org's page, and what compilers bring.
OF_SWIFT = re.compile(r"(libc6-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev|linux-libc-dev)(:\w+)?")
FOLDERS = ["/usr/include", "/usr/local/include"]
# Tells the process that it sees only these.
MARK = "ONLY_GUIDE_PACKAGES"


def packages(document):
    """Those of the first command that installs some."""
    found = INSTALL.search((ROOT / document).read_text(encoding="utf-8"))
    return found[1].split() if found else []


def disagreements(guide):
    """Places that name other packages than the guide."""
    setup = (ROOT / ".ci/setup").read_text(encoding="utf-8")
    doctor = (ROOT / "Sources/Tools/LastroCommand/Doctor/Checkup+Headers.swift").read_text(encoding="utf-8")
    named = {
        "README.md": packages("README.md"),
        ".ci/setup": re.findall(r"^need_library (?!libc6-dev)(\S+)", setup, re.MULTILINE),
        "lastro doctor": re.findall(r'^    \("([a-z0-9.+-]+)", ', doctor, re.MULTILINE),
    }
    return [f"{place} names {' '.join(names)}" for place, names in named.items() if sorted(names) != sorted(guide)]


def may_hide():
    """How to get a view of our own; None where this machine does not permit it."""
    if not shutil.which("dpkg-query") or not shutil.which("unshare"):
        return None
    command = ["unshare", "--mount", "--propagation", "private"]
    if os.geteuid() != 0:
        command.append("--map-root-user")
    trial = [*command, "sh", "-c", "mount -t tmpfs none /usr/include"]
    return command if subprocess.run(trial, stderr=subprocess.DEVNULL).returncode == 0 else None


def see_only_those_of(page, stage, others_of=()):
    """Runs this program anew in a view of its own, or says why it does not. `stage` is a folder of this program's alone,
    `others_of` are pages of products that need more packages."""
    named = packages(page)
    if MARK in os.environ:
        hide_others(named + [package for other in others_of for package in packages(other)], stage)
        return
    if others := disagreements(named):
        sys.exit(f"The guide names {' '.join(named)}, but:\n" + "\n".join(others))
    if command := may_hide():
        run_again(command)
    print("This machine permits no view of its own (unshare, dpkg): whether the guide names all packages is not checked.")


def run_again(command):
    """This program once more, in a view of its own."""
    os.execvpe(command[0], [*command, sys.executable, *sys.argv], os.environ | {MARK: "1"})


def hide_others(guide, stage):
    """Leaves of the folders of headers only what belongs to the guide's packages, what they depend on, and Swift's own.
    `stage` is an empty folder that keeps the others out of the compilers' sight."""
    kept = {path for path in files_of(with_dependencies(guide)) if path.startswith("/usr/include/")}
    stage.mkdir(parents=True, exist_ok=True)
    mount("/usr/include", str(stage), None, MS_BIND | MS_REC)
    for folder in FOLDERS:
        mount("none", folder, "tmpfs", 0)
    # Links keep each file's number and time, so that nothing is built again because of the view.
    for path in sorted(kept):
        source = stage / os.path.relpath(path, "/usr/include")
        if source.is_dir() and not source.is_symlink():
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Debian 13 has links there to folders elsewhere, by ways that begin in their own folder.
        os.symlink(os.path.join(os.path.dirname(path), os.readlink(source)) if source.is_symlink() else source, path)


def with_dependencies(names):
    """Installed packages that these need, with themselves and what Swift needs."""
    status = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status}\t${Package}\t${Provides}\t${Depends}, ${Pre-Depends}\n"],
        check=True, capture_output=True, text=True).stdout
    needs, providers = {}, {}
    for line in status.splitlines():
        state, name, provides, depends = line.split("\t")
        if state != "installed":
            continue
        needs[name] = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", depends)
        for other in [name, *re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9.+-]+)", provides)]:
            providers.setdefault(other, []).append(name)
    missing = [name for name in names if name not in needs]
    if missing:
        sys.exit(f"Not installed: {' '.join(missing)}. Install what the guide names, or `make setup`.")
    reached, ahead = set(), [*names, *filter(OF_SWIFT.fullmatch, needs)]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += [provider for need in needs[name] for provider in providers.get(need, [])]
    return sorted(reached)


def files_of(names):
    return subprocess.run(["dpkg-query", "-L", *names], check=True, capture_output=True, text=True).stdout.splitlines()


MS_BIND, MS_REC = 4096, 16384


def mount(source, target, kind, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    words = [word.encode() if word else None for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)
