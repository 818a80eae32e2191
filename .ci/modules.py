# SPDX-License-Identifier: Apache-2.0
"""Prints the Swift modules of the package's library products, each after those it depends on."""
import graphlib
import json
import pathlib
import subprocess

package = json.loads(subprocess.run(["swift", "package", "dump-package"], check=True, capture_output=True, text=True).stdout)
needs = {target["name"]: [dependency["byName"][0] for dependency in target["dependencies"] if "byName" in dependency]
         for target in package["targets"]}
offered = {name for product in package["products"] if "library" in product["type"] for name in product["targets"]}
for name in graphlib.TopologicalSorter(needs).static_order():
    if name in offered and any(pathlib.Path("Sources").glob(f"*/{name}/**/*.swift")):
        print(name)
