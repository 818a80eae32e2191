# SPDX-License-Identifier: Apache-2.0
"""The command line, the order of the runs, and the table of results."""
import argparse
import concurrent.futures
import ctypes
import pathlib
import subprocess
import tempfile

from .calls import CALLS
from .driver import KINDS, Driver
from .listen import Places

HERE = pathlib.Path(__file__).parents[1]
NO_RANDOM_ADDRESSES = 0x0040000


def read(arguments):
    parser = argparse.ArgumentParser(prog="run", description=__doc__)
    parser.add_argument("program", type=pathlib.Path, help="the program lastro")
    parser.add_argument("--calls", default=",".join(CALLS), help="calls, separated by commas; default: all")
    parser.add_argument("--few", action="store_true", help="three calls, and the allocations of every 25th call stack")
    parser.add_argument("--kinds", default=",".join([*KINDS, "memory"]), help="kinds of failures, separated by commas")
    parser.add_argument("--every", type=int, default=1, help="fail only the allocations of every so many-th call stack")
    parser.add_argument("--only", help="one failure, such as read:3, as a finding names it")
    parser.add_argument("--jobs", type=int, default=2, help="number of runs at the same time")
    parser.add_argument("--limit", type=float, default=20, help="seconds after which a run hangs")
    parser.add_argument("--leaks", action="store_true", help="look for leaks with gcc's LeakSanitizer, which takes as long again")
    parser.add_argument("--verbose", action="store_true", help="print the number of failures of each call and kind")
    parser.add_argument("--stop", action="store_true", help="leave a run that hangs to a debugger")
    parser.add_argument("--known", type=pathlib.Path, default=HERE / "known.txt", help="file of failures of libraries")
    options = parser.parse_args(arguments)
    if options.few:
        options.calls, options.every = "get-tls,post-http2,download", 25
    return options


def build_calls(build, program):
    """Builds the calls that `lastro` does not have from the modules that it was built from."""
    modules = ["Lastro", "LastroCurl", "LastroHTTP", "LastroWire", "LastroSupport", "LastroEveryday", "HTTPTypes", "Logging"]
    shims = ["CLastro", "CLastroHTTP2", "CLastroPrimitives"]
    objects = [str(path) for module in modules + shims for path in (build / f"{module}.build").rglob("*.o")]
    maps = [word for path in build.glob("C*.build/module.modulemap") for word in ("-Xcc", f"-fmodule-map-file={path}")]
    libraries = ["-lcurl", "-lssl", "-lcrypto", "-lnghttp2", "-lz"]
    subprocess.run(["swiftc", "-parse-as-library", "-Onone", "-swift-version", "6", "-I", str(build / "Modules"), *maps,
                    str(HERE / "Calls.swift"), *objects, *libraries, "-o", program], check=True)


def main(arguments):
    options = read(arguments)
    names, kinds = options.calls.split(","), options.kinds.split(",")
    ctypes.CDLL(None).personality(NO_RANDOM_ADDRESSES)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        library = f"{folder}/libtorture.so"
        subprocess.run(["cc", "-O1", "-g", "-shared", "-fPIC", "-o", library, str(HERE / "torture.c")], check=True)
        if any(CALLS[name].line.startswith("torture-calls") for name in names):
            build_calls(options.program.resolve().parent, f"{folder}/torture-calls")
        if options.leaks:
            found = subprocess.run(["cc", "-print-file-name=liblsan.so"], capture_output=True, text=True, check=True)
            library += f":{found.stdout.strip()}"
        driver = Driver(str(options.program.resolve()), library, Places(folder), folder, options)
        good = dict(zip(names, pool.map(driver.baseline, names)))
        if options.only:
            kinds = []
            for name in names:
                driver.fail(name, options.only.split(":")[0], options.only, good[name])
        tasks = [(name, kind) for kind in kinds if kind != "memory" for name in names]
        list(pool.map(lambda task: driver.fail_calls(*task, good[task[0]]), tasks))
        if "memory" in kinds:
            list(pool.map(lambda task: driver.fail(task[0], "memory", f"memory:{task[1]}", good[task[0]]),
                          driver.list_stacks(names)))
    columns = [*kinds, "unreached"]
    print("| call |", " | ".join(columns), "|\n|---|" + "---|" * len(columns))
    for name in names:
        print(f"| {name} |", " | ".join(str(driver.counts[name, kind]) for kind in columns), "|")
    for reason, count in driver.known.most_common():
        print(f"known, {count} times: {reason}")
    total = sum(count for (_, kind), count in driver.counts.items() if kind != "unreached")
    print(f"{total} failures in {driver.number} runs of {len(names)} calls: {sum(driver.known.values())} known of libraries, "
          f"{len(driver.findings)} findings")
    return 1 if driver.findings or not total else 0
