# SPDX-License-Identifier: Apache-2.0
"""Event streams that readers read differently."""
from .classes import Class as _Class


def Class(name, reason, *streams, data):
    rows = [(f"`{each.decode('latin-1').encode('unicode_escape').decode()}`", each) for each in streams]
    return _Class(name, reason, *rows, data=data, argument="-")


EVENTS = [
    Class("lines that end in CR", "HTML §9.2.5: CR, LF or CRLF", b"data: a\r\r", b"data: a\revent: x\n\n",
          b"data: a\n\rdata: b\n", b"data: a\r\ndata: b\r\r\n", b"event: x\rdata: a\r\r", b"data: a\rdata: b\n\n",
          b"data: a\n\rdata: b\n\n", b"event: a\n\rdata: b\n\n", b"id: 1\rdata: a\n\n", b"data: a\r\n\r",
          b"event: x\rdata: a\n\n", b"data: a\n\r\n", b"data: a\r\rdata: b\n\n", b"data: a\r\n\rdata: b\r\n\r\n",
          b"data: a\n\r\nevent: b\n\n", b"data: a\n\revent: b\n\n", b"data: a\r\revent: b\n\ndata: c\n\n",
          b"id: 1\r\n\rdata: a\n\n", b"data\r\r", b"data: a\n\rid: 1\n\ndata: b\n\n", b"id: 1\n\rdata: a\rdata: b\n\n",
          b"data: a\rid: 1\n\n", data=rb"\r"),
    Class("no empty line at the end", "HTML §9.2.6: the event is dropped", b"data: a", b"data: a\n", b"data",
          b"data: a\n\ndata: b", b"data: a\n\ndata: b\n", b"data: a\nid: 1", b"data:", b"event: a\ndata: b",
          data=rb"(\A|[^\r\n])(\r\n|\r|\n)?\Z"),
    Class("empty data", "HTML §9.2.6: an event, whose data is empty", b"data:\n\n", b"data\n\n", b"data: \n\n",
          b"data:\ndata:\n\n", b"data: a\ndata\n\n", b"data:\ndata: a\n\n", b"event: x\ndata\n\n", b"id: 1\ndata:\n\ndata: a\n\n",
          b"data:\ndata:\ndata:\n\n", b"data: a\ndata:\n\n", b"data: a\ndata:\ndata:\n\n", b"data:\t\n\n",
          data=rb"(\A|[\r\n])(\xef\xbb\xbf)?data(:[ \t]?)?(\r|\n|\Z)"),
    Class("several blanks after the colon", "HTML §9.2.6: one is dropped", b"data:  a\n\n", b"event:  a\ndata: b\n\n",
          b"id:  1\ndata: b\n\n", b"data:   \n\n", b"event:  \ndata: a\n\n", b"id:  \ndata: a\n\n", b"id: 1\nid:  \ndata: a\n\n",
          data=rb": {2}"),
    Class("byte order mark", "HTML §9.2.5: one at the beginning is dropped", b"\xef\xbb\xbfdata: a\n\n",
          b"\xef\xbb\xbfdata: a\ndata: b\n\n", b"\xef\xbb\xbfevent: a\ndata: b\n\n", b"\xef\xbb\xbfid: 1\ndata: b\n\n",
          b"\xef\xbb\xbf:a\ndata: b\n\n", b"\xef\xbb\xbf\ndata: a\n\n", b"\xef\xbb\xbfretry: 1\ndata: a\n\n",
          b"\xef\xbb\xbfdata\n\n", b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", data=rb"\A\xef\xbb\xbf"),
    Class("bytes that are not UTF-8", "HTML §9.2.5: U+FFFD", b"data: \xff\n\n", b"data: a\n\n: \xff\n", b"\xff",
          b"event: \xff\ndata: a\n\n", b"data: \xed\xa0\x80\n\n", b"data: \xc3\n\n", b"id: \xff\ndata: a\n\n",
          b"data: a\xe2\x82b\n\n", b"data: \xf8\x88\n\n", data=rb"[\x80-\xff]"),
    Class("identifier", "HTML §9.2.6: one with NUL is ignored; any other stays for the events after it",
          b"id: a\x00b\ndata: c\n\n", b"id: 1\nid: a\x00b\ndata: c\n\n", b"id: \x00\ndata: a\n\n", b"id: 1\n\ndata: a\n\n",
          b"id: 1\ndata: a\n\nid\ndata: b\n\n", b"id:\x00\x00\ndata: a\n\n",
          data=rb"id[^\r\n]*\x00|id:? ?(\r|\n)|id.*(\r\n|\n|\r){2}"),
    Class("name of an event", "HTML §9.2.6: an empty one is `message`, and one without data is forgotten", b"event:\ndata: a\n\n",
          b"event: \ndata: a\n\n", b"event\ndata: a\n\n", b"event: a\n\ndata: b\n\n", b"data: a\nevent:\n\n",
          b"event: a\nevent:\ndata: b\n\n", data=rb"event:? ?(\r|\n|\Z)|event[^\n\r]*(\r\n|\n|\r){2}"),
]
