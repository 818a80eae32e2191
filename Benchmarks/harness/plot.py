# SPDX-License-Identifier: Apache-2.0
"""A chart of CPU per request as ratios to the floor's, as SVG, for light and dark pages."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from .cases import TLS, Case, fetch_name
from .clients import FLOOR, Client
from .report import METRICS
from .rounds import Results

SHOWN = (*(fetch_name(1, concurrency, "1k") for concurrency in (1, 64, 512, 4000)), TLS,
         *(fetch_name(2, concurrency, "1k") for concurrency in (1, 64, 512, 4000)),
         *(fetch_name(http, 64, "16k") for http in (1, 2)), fetch_name(1, 8, "1m"))
COLORS = {"lastro": "#e4572e", "go": "#2a9db5", "asynchttpclient": "#7a6ff0", "urlsession": "#9a9a9a"}
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 860, 216, 48, 96, 48
BAR, GAP, LEAST_ROW = 12, 14, 30
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.note, .tick { font-size: 11px; fill: #656d76; }
.value { font-size: 10.5px; }
.grid { stroke: #8c959f; stroke-opacity: .3; }
.floor { stroke: #1f2328; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .note, .tick { fill: #9198a1; }
  .floor { stroke: #e6edf3; }
}
"""


class Scale:
    """A logarithmic axis over powers of two, so that half as much is as far from the floor as twice as much."""

    def __init__(self, ratios: Sequence[float]) -> None:
        self.low = min(-1, math.floor(math.log2(min(ratios))))
        self.high = max(1, math.ceil(math.log2(max(ratios))))

    def x(self, ratio: float) -> float:
        share = (math.log2(ratio) - self.low) / (self.high - self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        return [2.0**power for power in range(self.low, self.high + 1)]


def text(x: float, y: float, content: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(content)}</text>'


def legend(clients: Sequence[Client]) -> Iterator[str]:
    x = LEFT
    for client in clients:
        yield f'<rect x="{x}" y="58" width="12" height="12" rx="2" fill="{COLORS[client.name]}"/>'
        yield text(x + 18, 68.5, client.title)
        x += 42 + 8 * len(client.title)


def grid(scale: Scale, bottom: float) -> Iterator[str]:
    for ratio in scale.ticks():
        x = scale.x(ratio)
        style = "floor" if ratio == 1 else "grid"
        yield f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom:.1f}" class="{style}"/>'
        yield text(x, bottom + 16, "floor" if ratio == 1 else f"{ratio:g}×", "tick", "middle")


def bar(scale: Scale, y: float, client: Client, ratio: float) -> Iterator[str]:
    begin, end = sorted((scale.x(1), scale.x(ratio)))
    yield (f'<rect x="{begin:.1f}" y="{y:.1f}" width="{max(end - begin, 1):.1f}" height="{BAR - 2}" rx="1.5" '
           f'fill="{COLORS[client.name]}"/>')
    if ratio >= 1:
        yield text(end + 4, y + 8.5, f"{ratio:.2f}", "value")
    else:
        yield text(begin - 4, y + 8.5, f"{ratio:.2f}", "value", "end")


def label(y: float, title: str) -> Iterator[str]:
    protocol, _, load = title.partition(", ")
    yield text(LEFT - 44, y - 2, load, "", "end")
    yield text(LEFT - 44, y + 12, protocol, "note", "end")


def chart(results: Results, cases: Sequence[Case], clients: Sequence[Client], footnote: str) -> str:
    """The document; one without bars where nothing of it was measured."""
    peers = [client for client in clients if client.name != FLOOR]
    rows: list[tuple[Case, list[tuple[Client, float]]]] = []
    for case in (case for name in SHOWN for case in cases if case.name == name):
        spreads = [(client, results.ratio_to_floor(case.name, client.name, METRICS["cpu_us_per_request"]))
                   for client in peers]
        if bars := [(client, spread.median) for client, spread in spreads if spread is not None and spread.median > 0]:
            rows.append((case, bars))
    scale = Scale([1, *(ratio for _, bars in rows for _, ratio in bars)])
    parts: list[str] = []
    y = float(TOP)
    for case, bars in rows:
        row = max(len(bars) * BAR, LEAST_ROW)
        parts.extend(label(y + row / 2, case.title))
        for index, (client, ratio) in enumerate(bars):
            parts.extend(bar(scale, y + (row - len(bars) * BAR) / 2 + index * BAR, client, ratio))
        y += row + GAP
    bottom = y - GAP + 8
    height = bottom + BOTTOM
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" aria-label="CPU time per request, by client">',
        f"<style>{STYLE}</style>",
        text(16, 26, "CPU time per request, as a multiple of a bare C program on libcurl", "title"),
        text(16, 44, "User and system time of the whole client, on a logarithmic scale; less is better", "note"),
        *legend(peers), *grid(scale, bottom), *parts, text(16, height - 10, footnote, "note"), "</svg>", ""])


def write_chart(path: Path, document: str) -> None:
    path.write_text(document, encoding="utf-8")
