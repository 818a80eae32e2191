# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for one run, and the server's certificate by it: both ECDSA P-256."""
from __future__ import annotations

import base64
import dataclasses
import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Certificates:
    authority: Path
    chain: Path
    key: Path
    pins: tuple[str, ...]
    """The server's key as `sha256/…=`, then a spare pin that no key has."""
    addresses: Path
    """A folder with a chain for each address of `make_certificates`: `ADDRESS.pem`, all with the same key."""


def openssl(*arguments: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["openssl", *arguments], input=data, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def pin_of(public_key: bytes) -> str:
    return "sha256/" + base64.b64encode(hashlib.sha256(public_key).digest()).decode()


def make_certificates(folder: Path, addresses: Sequence[str] = ()) -> Certificates:
    """Makes keys and certificates that are valid for a day. Each of `addresses` has a certificate of its own, because
    a client that keeps a certificate with many names for each connection would need more memory."""
    folder.mkdir()
    authority_key, authority = folder / "authority.key", folder / "authority.pem"
    key, request = folder / "server.key", folder / "server.csr"
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new_key, "-keyout", str(authority_key), "-out", str(authority), "-days", "1",
            "-subj", "/CN=Benchmark authority", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", *new_key, "-keyout", str(key), "-out", str(request), "-subj", "/CN=localhost")

    def issue(chain: Path, names: str) -> Path:
        """Writes the certificate of `names`, and the authority's."""
        extensions = folder / "server.ext"
        extensions.write_text("basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                              f"extendedKeyUsage=serverAuth\nsubjectAltName={names}\n")
        leaf = openssl("x509", "-req", "-in", str(request), "-CA", str(authority), "-CAkey", str(authority_key),
                       "-days", "1", "-set_serial", "2", "-extfile", str(extensions))
        chain.write_bytes(leaf + authority.read_bytes())
        return chain

    own = folder / "addresses"
    own.mkdir()
    for address in addresses:
        issue(own / f"{address}.pem", f"IP:{address}")
    chain = issue(folder / "chain.pem", "DNS:localhost,IP:127.0.0.1")
    public_key = openssl("pkey", "-in", str(key), "-pubout", "-outform", "DER")
    return Certificates(authority, chain, key, (pin_of(public_key), pin_of(b"a spare key")), own)
