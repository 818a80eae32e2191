# SPDX-License-Identifier: Apache-2.0
"""Texts that are made from the sources and committed, so that a change of them is seen in review."""
import difflib


def renew(folder, texts):
    """Writes the texts by their names; the folder's others go."""
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.txt"):
        path.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def difference(folder, texts):
    """Lines that tell how what is committed differs from the texts."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
    return [line for name in sorted(texts.keys() | committed.keys())
            for line in difflib.unified_diff(committed.get(name, "").splitlines(), texts.get(name, "").splitlines(),
                                             f"committed/{name}", f"found/{name}", lineterm="", n=1)]
