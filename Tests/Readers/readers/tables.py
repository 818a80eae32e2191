# SPDX-License-Identifier: Apache-2.0
"""The tables of all readers."""
from . import heads_accepted, multipart_accepted, multipart_refused
from .cache_classes import CACHE
from .classes import Table
from .cookies_classes import COOKIES
from .events_classes import EVENTS
from .heads_lines import CHUNKS, STATUS_LINES
from .heads_refused import HEADS

HEADS_TEXT = """`ResponseReader`. Responses are to GET unless the row says HEAD. `OK` and `Content-Length: 3`, followed by `abc`, are the
rest of a row that shows one line; after `chunked`, a row shows the body. Bodies end with the connection where nothing else ends them.

Not compared: whether a connection is kept that Lastro closes; what libcurl has after the end of a response; the reason that libcurl
does not return; trailers of http.client and aiohttp, which drop them; fields that Go interprets (`Transfer-Encoding`, `Trailer`,
`Connection`)."""
COOKIES_TEXT = """`SetCookieLine`, without the rules of a jar. The others are the functions that their jars use. http.cookies reads
the `Cookie` field of requests, too, and several cookies in a line. `SameSite` is compared with Go and http.cookies alone, dates with all
but http.cookies."""
CACHE_TEXT = """`CacheControl`, as one line. No reader refuses: what it does not understand it ignores. Only directives that both
readers know are compared."""
EVENTS_TEXT = """`EventStreamMachine`. No reader but those that stop at bytes that are not UTF-8 refuses. Names, data and identifiers
are compared if the number of events is the same. sseclient-py leaves the latest identifier to its caller, so that it is not compared, and
httpx-sse events without data, which are left out."""
PARTS_TEXT = """`MultipartMachine`, with the boundary `b`; `N` stands for `Content-Disposition: form-data; name="a"` and CRLF. Fields
and bodies are compared as they come, neither decoded nor converted. werkzeug, multipart and python-multipart are parsers of forms, which
servers receive."""
TABLES = {
    "heads": Table("heads", "Response heads and chunked bodies", HEADS_TEXT,
                   HEADS + STATUS_LINES + CHUNKS + heads_accepted.ACCEPTED),
    "cookies": Table("cookies", "Set-Cookie", COOKIES_TEXT, COOKIES),
    "cache": Table("cache", "Cache-Control", CACHE_TEXT, CACHE),
    "events": Table("events", "Server-sent events", EVENTS_TEXT, EVENTS),
    "multipart": Table("multipart", "Multipart messages", PARTS_TEXT, multipart_refused.REFUSED + multipart_accepted.ACCEPTED),
}
