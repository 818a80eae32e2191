# SPDX-License-Identifier: Apache-2.0
"""A certificate of our own for the addresses of the servers."""
from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

ADDRESSES = [f"127.0.0.{number}" for number in range(1, 17)]
"""Servers of HTTP/2 take turns, so that the connections of one case are not those of the next."""


def make(folder: Path) -> tuple[Path, Path]:
    """Certificate and key, valid for a day."""
    chain, key = folder / "server.pem", folder / "server.key"
    names = ",".join(f"IP:{address}" for address in ADDRESSES)
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
        "-keyout",
        str(key), "-out",
        str(chain), "-subj", "/CN=fuzz", "-addext", f"subjectAltName={names}"
    ]
    done = subprocess.run(command, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"openssl: {done.stderr.decode(errors='replace')}")
    return chain, key


def context(chain: Path, key: Path, protocols: list[str]) -> ssl.SSLContext:
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    result.load_cert_chain(chain, key)
    result.set_alpn_protocols(protocols)
    return result
