# SPDX-License-Identifier: Apache-2.0
"""The files of the clone, as the checks read them."""
import pathlib
import subprocess


def files(*patterns):
    """Returns the files that git tracks or would add, in order. Patterns are those of git: `*` matches slashes, too."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns], check=True,
                           capture_output=True, text=True).stdout.split("\0")
    return sorted(path for path in map(pathlib.Path, {*names} - {""}) if path.is_file())


def read(path):
    return pathlib.Path(path).read_text("utf-8")


def version():
    return read("Sources/Core/Lastro/Support/PackageVersion.swift").split('"')[1]
