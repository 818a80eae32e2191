# SPDX-License-Identifier: Apache-2.0
"""What a reader makes of an answer."""
from __future__ import annotations

import dataclasses

WHOLE, BROKEN_HEAD, BROKEN_BODY, UNFINISHED = "whole", "broken head", "broken body", "unfinished"


@dataclasses.dataclass
class Conclusion:
    """`kind` is one of the four above; `UNFINISHED` wants more bytes, or the end of the connection."""

    kind: str
    reason: str = ""
    status: int | None = None
    fields: list[tuple[bytes, bytes]] = dataclasses.field(default_factory=list)
    body: bytes = b""
    """Decoded, as far as it came."""
    wire: bytes = b""
    """The body before its content coding was undone."""
    heard: bytes | None = None
    """All bytes of the body that came, also those of a frame that broke it; nothing where that is `wire`."""
    heard_body: bytes = b""
    """The same, decoded as far as possible."""
    announced_body: bytes | None = None
    """As much of what came as content-length announces, decoded; where more came."""
    otherwise: "Conclusion | None" = None
    """What a reader concludes who leaves out what made this one stop."""
    points: set[str] = dataclasses.field(default_factory=set)
    """Names of what another reader may see otherwise; `permitted.py` has their reasons."""
    def values(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.fields if key.lower() == name]

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def redirects(self) -> bool:
        return self.status in (301, 302, 303, 307, 308) and bool(self.values(b"location"))

    @property
    def is_coded(self) -> bool:
        """Whether the length of what comes is not that of the body."""
        return any(value.lower() not in (b"", b"identity") for value in self.values(b"content-encoding"))

    def began_with(self, body: bytes) -> bool:
        """Whether a body that was told is what came before the answer broke."""
        return any(one.startswith(body) for one in (self.body, self.wire, self.heard or b"", self.heard_body))

    def __str__(self) -> str:
        status = "" if self.status is None else f" {self.status}"
        reason = f" ({self.reason.encode('unicode_escape').decode()})" if self.reason else ""
        points = f" [{', '.join(sorted(self.points))}]" if self.points else ""
        return f"{self.kind}{status}, {len(self.body)} bytes{reason}{points}"
