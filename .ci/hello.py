# SPDX-License-Identifier: Apache-2.0
"""The package that the guide "Getting started" has its reader make, and what its program prints."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "Docs/Lastro.docc/GettingStarted.md"
BLOCK = re.compile(r"<!-- (sample|file|run|prints): ([^\n]+) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def steps(page=PAGE):
    """Kind, name and text of what a page has its reader write and enter, and says that is printed, in its order."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def commands(name, page=PAGE):
    """The lines below `<!-- run: NAME -->`."""
    return next(text for kind, named, text in steps(page) if (kind, named) == ("run", name))


def printed_by_the_guide():
    return next(text for kind, _, text in steps() if kind == "prints")


def write(package):
    """Writes the guide's files, and leaves what was built of them."""
    for folder in ("Sources", "Tests"):
        shutil.rmtree(package / folder, ignore_errors=True)
    for kind, path, text in steps():
        if kind in ("sample", "file"):
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_text(text, encoding="utf-8")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def prints_what_the_guide_says(program):
    """Runs the program, words of a command, where the guide's reader without a network enters `swift run`."""
    port = free_port()
    entered = commands("api").replace("8017", port)
    # A proxy from the environment would stand between the program and the server.
    script = ('unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY\n'
              f'program=("$@")\nanswers() {{ (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; }}\n'
              # A program that is built begins sooner than the server answers.
              f'swift() {{ for _ in {{1..300}}; do answers && break; sleep 0.1; done; command "${{program[@]}}"; }}\n{entered}')
    with tempfile.TemporaryDirectory() as folder:
        told = subprocess.run(["bash", "-c", script, "bash", *map(str, program)], cwd=folder, timeout=120, check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
    # The guide's server tells its address when it ends.
    told = "".join(line for line in told.splitlines(keepends=True) if not line.startswith("Serving HTTP"))
    print(told, end="", flush=True)
    if told != printed_by_the_guide():
        print(f"The guide says that its program prints:\n{printed_by_the_guide()}", file=sys.stderr)
        return False
    return ends_in_one_line(program)


def ends_in_one_line(program):
    """Whether the program, where nothing answers, tells so in one line, with status 1, and in no trap."""
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    gone = subprocess.run(program, env=own | {"GITHUB_API": f"http://127.0.0.1:{free_port()}"}, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    print(gone.stdout, end="", flush=True)
    if (gone.returncode, gone.stdout.count("\n"), gone.stdout.startswith("connect/connect_failed: ")) == (1, 1, True):
        return True
    print(f"Without its API the guide's program ended with status {gone.returncode}.", file=sys.stderr)
    return False
