# SPDX-License-Identifier: Apache-2.0
"""Reads the blocks of README and the guides, each below a comment that names it. `guides.py FOLDER` writes the package of the first
guide, `guides.py PAGE KIND NAME` prints a block."""
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRST = "Docs/Lastro.docc/GettingStarted.md"
BLOCK = re.compile(r"(?:^<!-- ([a-z ]+)(?:: ([^\n]+))? -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page):
    """Kind, name, language and text of each block, in its order. A block below no comment has the kind ""."""
    return BLOCK.findall((ROOT / page).read_text("utf-8"))


def block(page, kind, name):
    return next(text for *known, _, text in blocks(page) if known == [kind, name])


def write(package):
    """Writes the files of the first guide's package, and leaves what was built of them."""
    for folder in ("Sources", "Tests"):
        shutil.rmtree(package / folder, ignore_errors=True)
    for kind, name, _, text in blocks(FIRST):
        if kind in ("sample", "file"):
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text, "utf-8")


if __name__ == "__main__":
    if sys.argv[2:]:
        print(block(*sys.argv[1:]), end="")
    else:
        write(pathlib.Path(sys.argv[1]))
