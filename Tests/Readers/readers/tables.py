# SPDX-License-Identifier: Apache-2.0
"""The tables of all readers."""
from .classes import Table
from .heads_accepted import ACCEPTED
from .heads_lines import CHUNKS, STATUS_LINES
from .heads_refused import HEADS

TABLES = {
    "heads": Table("heads", "Response heads and chunked bodies", "", HEADS + STATUS_LINES + CHUNKS + ACCEPTED),
}
