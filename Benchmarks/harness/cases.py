# SPDX-License-Identifier: Apache-2.0
"""What is measured: the table of cases."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

from .servers import GIB, KIB, MIB, SECURE_IDLE_HOSTS, Servers

CONCURRENCIES = (1, 64, 512, 4000)
SIZES = {"1k": KIB, "16k": 16 * KIB, "1m": MIB}
MEMORY_LIMIT = 6 * GIB
BODY_COPIES = 2
"""A body that is collected may take up to twice its length while its buffer grows."""

# What keeps the floor busy for 0.5 to 2 s, by the size of the bodies and whether they come one at a time.
REQUESTS = {("1k", False): 25000, ("16k", False): 15000, ("1m", False): 600,
            ("1k", True): 12000, ("16k", True): 8000, ("1m", True): 600}
STREAMS = {1: "HTTP/1.1", 2: "HTTP/2 over TLS"}
TLS = "h1-tls-1k-c64"
TRUSTING = ("floor", "lastro", "go", "asynchttpclient")
"""Those that can be told to trust the authority of a run: URLSession cannot."""
UNIQUE = "h1-unique-1k-c64"
EXECUTOR_CONCURRENCIES = (1, 64)
DIALER_CONCURRENCIES = (1, 64, 512)
DIALER_PATHS = {"curl": "libcurl's dialer", "socks": "SOCKS 5", "socks-tls": "TLS in SOCKS 5"}
"""The values of `dialer=`, and what requests of each path go over."""
IDLE_TLS = (500, 2500)
"""Numbers of idle TLS connections. Each address has the same number at both, so that as many are opened at a time."""
IDLE_TLS_PER_HOST = IDLE_TLS[1] // SECURE_IDLE_HOSTS
SIZE_TITLES = {"1k": "1 KiB", "16k": "16 KiB", "1m": "1 MiB"}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    title: str
    scenario: str
    keys: Mapping[str, str | int]
    only: tuple[str, ...] = ()
    """The clients that the case is for; none: all of them."""
    removes: Path | None = None
    """What a run leaves behind."""
    start: Mapping[str, str | int] | None = None
    """Where there is no warm-up: the keys of a run that does no more than start, which is subtracted."""
    own: Mapping[str, str | int] = dataclasses.field(default_factory=dict)
    """Keys that no other client but Lastro has."""

    def keys_for(self, client: str) -> Mapping[str, str | int]:
        return {**self.keys, **self.own} if client == "lastro" else self.keys


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much of everything: so much that it can be measured, or just enough to see that it works."""
    smoke: bool

    def requests(self, size: str, concurrency: int) -> int:
        if self.smoke:
            return min(concurrency, 16) if size == "1m" else min(max(concurrency, 20), 500)
        return max(REQUESTS[size, concurrency == 1], concurrency)

    def pick(self, full: int, smoke: int) -> int:
        return smoke if self.smoke else full

    @property
    def stream_size(self) -> int:
        return self.pick(GIB, MIB)

    @property
    def warmup(self) -> Mapping[str, int]:
        """Where it matters; the clients have a default of their own."""
        return {"warmup": 1} if self.smoke else {}


def fetch_name(http: int, concurrency: int, size: str) -> str:
    return f"h{http}-{size}-c{concurrency}"


def executor_name(concurrency: int) -> str:
    return f"executor-c{concurrency}"


def dialer_name(path: str, concurrency: int) -> str:
    return f"dialer-{path}-c{concurrency}"


def engine_name(path: str, concurrency: int) -> str:
    """The case that `dialer_name` is compared with: the engine's own requests over the same path."""
    return f"engine-{path}-c{concurrency}"


def idle_tls_name(connections: int) -> str:
    return f"idle-tls-{connections}"


def exceeds_memory(size: str, concurrency: int) -> bool:
    return SIZES[size] * concurrency * BODY_COPIES > MEMORY_LIMIT


def left_out() -> list[str]:
    """What of the matrix is not measured, and why."""
    return [f"{STREAMS[http]}, {SIZE_TITLES[size]}, {concurrency} at a time: the bodies alone may take "
            f"{SIZES[size] * concurrency * BODY_COPIES / GIB:.1f} GiB, more than the {MEMORY_LIMIT // GIB} GiB allowed"
            for http in STREAMS for size in SIZES for concurrency in CONCURRENCIES if exceeds_memory(size, concurrency)]


@dataclasses.dataclass(frozen=True)
class CaseTable:
    servers: Servers
    scale: Scale
    scratch: Path
    """For what is downloaded."""

    def all(self) -> list[Case]:
        return [*self.fetches(), *self.streams(), *self.handshakes(), *self.crowds(), *self.idle_tls(),
                *self.settings(), *self.dialers()]

    def base(self, http: int, path: str, size: int) -> dict[str, str | int]:
        keys: dict[str, str | int] = {"url": self.servers.url(http, path), "size": size, "http": http}
        if http == 2:
            keys["ca"] = str(self.servers.certificates.authority)
        return keys

    def fetch_keys(self, http: int, size: str, concurrency: int) -> dict[str, str | int]:
        return {**self.base(http, str(SIZES[size]), SIZES[size]), "concurrency": concurrency,
                "requests": self.scale.requests(size, concurrency), **self.scale.warmup}

    def fetches(self) -> Iterator[Case]:
        for http, protocol in STREAMS.items():
            for size in SIZES:
                for concurrency in CONCURRENCIES:
                    if not exceeds_memory(size, concurrency):
                        yield Case(fetch_name(http, concurrency, size),
                                   f"{protocol}, {SIZE_TITLES[size]}, {concurrency:,} at a time", "fetch",
                                   self.fetch_keys(http, size, concurrency))

        yield Case(fetch_name(1, 8, "1m"), "HTTP/1.1, 1 MiB, 8 at a time", "fetch", self.fetch_keys(1, "1m", 8))
        yield Case(TLS, "HTTP/1.1 over TLS, 1 KiB, 64 at a time", "fetch",
                   {**self.fetch_keys(2, "1k", 64), "http": 1}, TRUSTING)
        unique = {**self.fetch_keys(1, "1k", 64), "url": self.servers.url(1, "unique")}
        yield Case(UNIQUE, "HTTP/1.1, 1 KiB, 64 at a time, each with a different head", "fetch", unique)

    def streams(self) -> Iterator[Case]:
        size = self.scale.stream_size
        title = "1 GiB" if size == GIB else "1 MiB"
        # A warm-up would be another gigabyte. What a client needs to start, and its connection, are measured by a run
        # of a kibibyte, and subtracted.
        once: dict[str, str | int] = {"requests": 1, "warmup": 0}
        for http, protocol in STREAMS.items():
            download = {**self.base(http, str(size), size), **once}
            small = self.base(http, str(KIB), KIB)
            yield Case(f"h{http}-download", f"{protocol}, download of {title}", "download", download, start=small)
            target = self.scratch / f"download-{http}"
            yield Case(f"h{http}-download-file", f"{protocol}, download of {title} to a file", "download",
                       {**download, "file": str(target)}, removes=target, start=small)
            upload = {**self.base(http, "upload", size), **once}
            if http == 1:
                upload["url"] = f"{self.servers.sink}/upload"
            yield Case(f"h{http}-upload", f"{protocol}, upload of {title}", "upload", upload, start={"size": KIB})

    def handshakes(self) -> Iterator[Case]:
        keys = {**self.base(2, str(KIB), KIB), "http": 1, "requests": self.scale.pick(1000, 10),
                "warmup": self.scale.pick(50, 1)}
        yield Case("handshakes", "new TLS connections", "handshakes", keys)
        yield Case("handshakes-pins", "new TLS connections, pinned", "handshakes", {**keys, **self.pins()}, ("lastro",))

    def crowds(self) -> Iterator[Case]:
        """Many at once: idle connections, cancelled requests; and what is done with a body."""
        ordinary: dict[str, str | int] = {"url2": self.servers.url(1, str(KIB)), "size": KIB}
        connections = self.scale.pick(10000, 1000)
        yield Case("idle", f"64 at a time beside {connections:,} idle connections", "idle",
                   {**self.fetch_keys(1, "1k", 64), "url": f"{self.servers.idle}/{KIB}", **ordinary,
                    "connections": connections})
        cancelled = self.scale.pick(10000, 1000)
        for http, protocol in STREAMS.items():
            keys = {**self.base(http, "silent", KIB), "requests": cancelled, "url2": self.servers.url(http, str(KIB))}
            if http == 1:
                keys["url"] = f"{self.servers.silent}/silent"
            yield Case(f"h{http}-cancel", f"{protocol}, {cancelled:,} requests cancelled", "cancel", keys)
        yield Case("json", "JSON of 100 KiB decoded, 64 at a time", "json",
                   {**self.base(1, "json", self.servers.json_size), "concurrency": self.scale.pick(64, 4),
                    "requests": self.scale.pick(2000, 8), **self.scale.warmup})

    def idle_tls(self) -> Iterator[Case]:
        """For the memory of a connection: a few requests one at a time, which need little themselves."""
        for connections in IDLE_TLS:
            count = self.scale.pick(connections, connections // 25)
            keys: dict[str, str | int] = {
                **self.base(2, str(KIB), KIB), "http": 1, "url": f"{self.servers.secure_idle}/{KIB}",
                "url2": self.servers.url(1, str(KIB)), "requests": 100, "warmup": 1, "connections": count,
                "hosts": connections // IDLE_TLS_PER_HOST}
            yield Case(idle_tls_name(connections), f"{count:,} idle TLS connections", "idle", keys,
                       ("floor", "lastro", "go"))

    def dialers(self) -> Iterator[Case]:
        """A `DialerTransport` and the engine, one right after the other over the same path."""
        for path, title in DIALER_PATHS.items():
            for concurrency in DIALER_CONCURRENCIES:
                keys = self.fetch_keys(2 if path == "socks-tls" else 1, "1k", concurrency)
                proxy = {} if path == "curl" else {"proxy": self.servers.socks}
                what = f"HTTP/1.1, 1 KiB, {concurrency} at a time over {title}"
                yield Case(engine_name(path, concurrency), f"{what}, the engine", "fetch",
                           {**keys, "http": 1, **proxy}, ("lastro",))
                yield Case(dialer_name(path, concurrency), f"{what}, DialerTransport", "fetch",
                           {**keys, "http": 1, **proxy, "dialer": path}, ("lastro",))

    def settings(self) -> Iterator[Case]:
        """Lastro against itself. What is compared is run one right after the other."""
        keys = self.fetch_keys(1, "1k", 64)
        for count in (0, 10):
            yield Case(f"interceptors-{count}", f"{count} interceptors more", "fetch", {**keys, "interceptors": count},
                       ("lastro",))
        for count in (1, 2):
            yield Case(f"loops-{count}", f"{count} loop{'s' if count > 1 else ''}", "fetch", {**keys, "loops": count},
                       ("lastro",))
        for concurrency in EXECUTOR_CONCURRENCIES:
            yield Case(executor_name(concurrency), f"HTTP/1.1, 1 KiB, {concurrency} at a time, on the loop's executor",
                       "fetch", self.fetch_keys(1, "1k", concurrency), ("floor", "lastro", "go"), own={"executor": 1})
        secure = self.fetch_keys(2, "1k", 64)
        yield Case("reused-plain", "reused connections", "fetch", secure, ("lastro",))
        yield Case("reused-pins", "reused connections, pinned", "fetch", {**secure, **self.pins()}, ("lastro",))

    def pins(self) -> dict[str, str]:
        return {"pins": ",".join(self.servers.certificates.pins)}
