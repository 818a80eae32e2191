# SPDX-License-Identifier: Apache-2.0
"""The tables of all readers."""
from . import heads_accepted, multipart_accepted, multipart_refused
from .cache_classes import CACHE
from .classes import Table
from .cookies_classes import COOKIES
from .events_classes import EVENTS
from .heads_lines import CHUNKS, STATUS_LINES
from .heads_refused import HEADS

TABLES = {
    "heads": Table("heads", "Response heads and chunked bodies", "", HEADS + STATUS_LINES + CHUNKS + heads_accepted.ACCEPTED),
    "cookies": Table("cookies", "Set-Cookie", "", COOKIES),
    "cache": Table("cache", "Cache-Control", "", CACHE),
    "events": Table("events", "Server-sent events", "", EVENTS),
    "multipart": Table("multipart", "Multipart messages", "", multipart_refused.REFUSED + multipart_accepted.ACCEPTED),
}
