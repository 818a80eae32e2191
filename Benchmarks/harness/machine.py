# SPDX-License-Identifier: Apache-2.0
"""What the numbers were measured on."""
from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from pathlib import Path

from .clients import BENCHMARKS
from .servers import nginx_program


def output(*command: str) -> str:
    """What a program says of itself; nothing where it is not there."""
    try:
        done = subprocess.run(command, cwd=BENCHMARKS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def version(*command: str) -> str:
    found = re.search(r"\d+(\.\d+)+", output(*command))
    return found[0] if found else "unknown"


def processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def package_versions() -> dict[str, str]:
    """Of the Swift packages that were resolved."""
    resolved = BENCHMARKS / "Package.resolved"
    if not resolved.is_file():
        return {}
    pins = json.loads(resolved.read_text()).get("pins", [])
    return {pin["identity"]: pin["state"].get("version") or pin["state"]["revision"] for pin in pins}


def facts() -> dict[str, object]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "commit": output("git", "rev-parse", "HEAD"),
        "changed": bool(output("git", "status", "--porcelain", "--untracked-files=no")),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "versions": {
            "libcurl": version("curl-config", "--version"), "openssl": version("openssl", "version"),
            "nginx": version(nginx_program(), "-v"), "go": version("go", "version"),
            "swift": version("swift", "--version"), "cc": version("cc", "--version"), **package_versions()},
    }


def summary(of: dict[str, object]) -> str:
    versions = of["versions"]
    assert isinstance(versions, dict)
    shown = ", ".join(f"{name} {versions[name]}" for name in ("libcurl", "openssl", "nginx", "swift", "go"))
    return f"{of['processor']}, {of['cores']} cores, {of['memory_gib']} GiB, Linux {of['kernel']}; {shown}"
