# SPDX-License-Identifier: Apache-2.0
"""Figures that come from two cases of one client: `DialerTransport` beside the engine, and an idle TLS connection."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from .cases import DIALER_CONCURRENCIES, DIALER_PATHS, IDLE_TLS, dialer_name, engine_name, idle_tls_name
from .clients import Run
from .rounds import Results, Spread

DIALER, IDLE = "dialer", "idle-tls"


@dataclasses.dataclass(frozen=True)
class Comparison:
    kind: str
    subject: str
    """The path and the number of requests at a time, or the client."""
    unit: str
    spread: Spread


def wall(own: Run, other: Run) -> float:
    return own.wall_us_per_request / other.wall_us_per_request


def cpu(own: Run, other: Run) -> float:
    return own.cpu_us_per_request / other.cpu_us_per_request


def kib_each(own: Run, other: Run) -> float:
    return (own.peak_rss_kib - other.peak_rss_kib) / (IDLE_TLS[1] - IDLE_TLS[0])


def comparisons(results: Results) -> Iterator[Comparison]:
    """Yields what was measured."""
    for path, title in DIALER_PATHS.items():
        for concurrency in DIALER_CONCURRENCIES:
            own, other = (name(path, concurrency) for name in (dialer_name, engine_name))
            for unit, by in (("CPU", cpu), ("wall time", wall)):
                if spread := results.compare((own, "lastro"), (other, "lastro"), by):
                    yield Comparison(DIALER, f"{title}, {concurrency} at a time", unit, spread)
    few, many = map(idle_tls_name, IDLE_TLS)
    for case, client in results.runs:
        if case == many and (spread := results.compare((many, client), (few, client), kib_each)):
            yield Comparison(IDLE, client, "KiB", spread)
