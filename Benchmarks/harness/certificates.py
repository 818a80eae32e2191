# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for one run, and the server's certificate by it: both ECDSA P-256."""
from __future__ import annotations

import base64
import dataclasses
import hashlib
import subprocess
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Certificates:
    authority: Path
    chain: Path
    key: Path
    pins: tuple[str, ...]
    """The server's key as `sha256/…=`, then a spare pin that no key has."""


def openssl(*arguments: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["openssl", *arguments], input=data, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def pin_of(public_key: bytes) -> str:
    return "sha256/" + base64.b64encode(hashlib.sha256(public_key).digest()).decode()


def make_certificates(folder: Path) -> Certificates:
    """Makes keys and certificates that are valid for a day."""
    folder.mkdir()
    authority_key, authority = folder / "authority.key", folder / "authority.pem"
    key, request, leaf = folder / "server.key", folder / "server.csr", folder / "server.pem"
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new_key, "-keyout", str(authority_key), "-out", str(authority), "-days", "1",
            "-subj", "/CN=Benchmark authority", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", *new_key, "-keyout", str(key), "-out", str(request), "-subj", "/CN=localhost")
    extensions = folder / "server.ext"
    extensions.write_text("basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                          "extendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", str(request), "-CA", str(authority), "-CAkey", str(authority_key), "-days", "1",
            "-set_serial", "2", "-extfile", str(extensions), "-out", str(leaf))
    chain = folder / "chain.pem"
    chain.write_text(leaf.read_text() + authority.read_text())
    public_key = openssl("pkey", "-in", str(key), "-pubout", "-outform", "DER")
    return Certificates(authority, chain, key, (pin_of(public_key), pin_of(b"a spare key")))
