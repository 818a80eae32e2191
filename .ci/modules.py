# SPDX-License-Identifier: Apache-2.0
"""Prints the Swift modules of the package's library products, each after those it depends on."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def manifest():
    text = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def modules(package):
    """Names of targets with Swift sources in the library products, in the order in which they can be built."""
    needs = {target["name"]: [name for dependency in target["dependencies"]
                              for name in [(dependency.get("byName") or dependency.get("target") or [None])[0]] if name]
             for target in package["targets"]}
    ordered = []

    def visit(name):
        for need in needs.get(name, []):
            visit(need)
        if name in needs and name not in ordered:
            ordered.append(name)

    offered = {name for product in package["products"] if "library" in product["type"] for name in product["targets"]}
    for name in sorted(offered):
        visit(name)
    return [name for name in ordered if name in offered and any((ROOT / "Sources").glob(f"*/{name}/**/*.swift"))]


if __name__ == "__main__":
    print("\n".join(modules(manifest())))
    sys.exit(0)
