# SPDX-License-Identifier: Apache-2.0
"""A server and a `lastro batch`, which process cases one after the other, on one thread."""
from __future__ import annotations

import dataclasses
import selectors
import socket
import time
from pathlib import Path
from typing import Callable, Iterable

from . import case as cases
from . import certificate
from .batch import Batch
from .judge import Told, judge
from .server import Connection

MOST_CONNECTIONS = 200
MOST_REPEATED = 20
"""Findings that are looked for again, each with a program of its own."""


@dataclasses.dataclass
class Options:
    program: str
    seed: int
    protocols: list[str]
    limit: float
    folder: Path
    chain: Path
    key: Path


@dataclasses.dataclass
class Finding:
    index: int
    step: str
    what: str
    told: str = ""
    case: cases.Case | None = None
    alone: bool | None = None
    """Whether the case does it without those before it."""


class Ended(Exception):
    """The program is gone."""


class Hangs(Exception):
    """No result came."""


class Lane:
    def __init__(self, options: Options):
        self._options = options
        self._selector = selectors.DefaultSelector()
        self._connections: list[Connection] = []
        self._ports: dict[tuple[str, str], int] = {}
        self._case: cases.Case | None = None
        h1, h2 = (certificate.context(options.chain, options.key, names)
                  for names in (["http/1.1"], ["h2", "http/1.1"]))
        self._listen(certificate.ADDRESSES[:1], cases.PLAIN, None)
        self._listen(certificate.ADDRESSES[:1], cases.ENCRYPTED, h1)
        self._listen(certificate.ADDRESSES, cases.HTTP2, h2)
        self._batch: Batch | None = None
        self._fell_back = False
        """Whether a case of HTTP/2 led to HTTP/1.1, which its program remembers of the host."""

    def _listen(self, addresses: list[str], protocol: str, context) -> None:
        for address in addresses:
            listener = socket.create_server((address, 0), backlog=128)
            listener.setblocking(False)
            self._ports[address, protocol] = listener.getsockname()[1]
            self._selector.register(listener,
                                    selectors.EVENT_READ,
                                    lambda _, l=listener: self._accept(l, protocol, context))

    def run(self, indexes: Iterable[int], tell: Callable[[int, str, Finding | None], None]) -> None:
        """Works the cases off and tells of each its verdict, and what was found, if anything."""
        repeated = 0
        for index in indexes:
            self._case = cases.make(self._options.seed, index, self._options.protocols)
            verdict, finding = self._work_off(self._case)
            if finding and repeated < MOST_REPEATED:
                repeated += 1
                finding.alone = self._repeat(verdict)
            tell(index, verdict, finding)
        if wrong := self._finish():
            tell(-1, "wrong: at the end", Finding(-1, "end", wrong))

    def _repeat(self, verdict: str) -> bool:
        """Whether a program that has seen nothing else does the same with the case."""
        kept, self._batch = self._batch, None
        again, _ = self._work_off(self._case)
        self._finish()
        self._batch = kept
        return again == verdict

    def _finish(self) -> str | None:
        batch, self._batch = self._batch, None
        return batch.finish(max(120, self._options.limit)) if batch else None

    def _work_off(self, case: cases.Case) -> tuple[str, Finding | None]:
        """Sends the three requests of a case."""
        self._fell_back = False
        batch = self._batch = self._batch or Batch(self._options.program, self._options.folder)
        output = batch.output
        self._selector.register(output, selectors.EVENT_READ, None)
        try:
            verdict, finding = self._steps(case, batch)
        finally:
            self._selector.unregister(output)
            self._break_off()
        if self._fell_back and not finding and (wrong := self._finish()):
            finding = Finding(case.index, "end", wrong, case=case)
        return ("wrong: at the end" if finding and finding.step == "end" else verdict), finding

    def _steps(self, case: cases.Case, batch: Batch) -> tuple[str, Finding | None]:
        verdict = "agreed"
        for step in ("before", "case", "after"):
            try:
                result = self._exchange(case, step, batch)
            except Ended:
                return "wrong: crash", Finding(case.index, step, f"crash: {self._drop()}", case=case)
            except Hangs:
                batch.kill()
                self._drop()
                return "wrong: hang", Finding(case.index,
                                              step,
                                              "hang: no result, and the server has said all",
                                              case=case)
            if step == "case":
                verdict = judge(case, Told(result)).name
                wrong = verdict if verdict.startswith("wrong") else None
            else:
                wrong = self._good_is_wrong(case, step, result)
            if wrong:
                return wrong, Finding(case.index, step, wrong, str(Told(result)), case)
        return verdict, None

    def _good_is_wrong(self, case: cases.Case, step: str, result: dict) -> str | None:
        told = Told(result)
        status, body = (case.seed_expected.status,
                        case.seed_expected.body) if step == "before" else (200, cases.GOOD % b"after")
        if told.is_answer and told.status == status and told.body == body:
            return None
        return f"wrong: the good answer {step} it: {told.code or 'another answer'}"

    def _request(self, case: cases.Case, step: str) -> dict:
        scheme = "http" if case.protocol == cases.PLAIN else "https"
        port = self._ports[case.address, case.protocol]
        wait = self._options.limit * 10
        request = {
            "url": f"{scheme}://{case.address}:{port}/{case.index}/{step}",
            "include_body": True,
            "idle_timeout": wait,
            "connect_timeout": wait,
            "max_body": case.max_body if step == "case" else cases.LIMIT
        }
        if scheme == "https":
            request["cacert"] = str(self._options.chain)
        if step == "case":
            request["method"] = case.method
            request["max_redirects"] = 5 if case.follows else 1 if case.is_behind else 0
            if case.method == "POST":
                request["body"] = "a=b"
        return request

    def _exchange(self, case: cases.Case, step: str, batch: Batch) -> dict:
        batch.ask(self._request(case, step))
        deadline = time.monotonic() + self._options.limit
        while True:
            happened = self._selector.select(max(0.0, deadline - time.monotonic()))
            for key, events in happened:
                if key.data:
                    # While bytes move, nobody hangs.
                    deadline = time.monotonic() + self._options.limit
                    key.data(events)
                elif (result := batch.receive()) is not None:
                    return result
                elif batch.ended:
                    raise Ended
            if not happened and time.monotonic() >= deadline:
                raise Hangs

    def _drop(self) -> str:
        """Lets go of a program that has ended, and tells how."""
        return self._finish() or "ended with status 0"

    # The server's side.

    def _accept(self, listener: socket.socket, protocol: str, context) -> None:
        try:
            channel, _ = listener.accept()
        except OSError:
            return
        connection = Connection(channel, context, protocol == cases.HTTP2, self._answer)
        self._connections.append(connection)
        self._selector.register(channel, selectors.EVENT_READ, lambda events: self._serve(connection, events))
        if len(self._connections) > MOST_CONNECTIONS:
            self._let_go(self._connections[0])

    def _serve(self, connection: Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            connection.write()
        if events & selectors.EVENT_READ and not connection.closed:
            connection.receive()
        if connection.closed:
            return self._let_go(connection)
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.has_waiting else 0)
        self._selector.modify(connection.channel, wanted, lambda events: self._serve(connection, events))

    def _let_go(self, connection: Connection) -> None:
        self._selector.unregister(connection.channel)
        connection.channel.close()
        self._connections.remove(connection)

    def _break_off(self) -> None:
        """Ends what has the state of one case: no connection of HTTP/2 serves another."""
        for connection in [connection for connection in self._connections if connection.http2]:
            connection.abort()
            self._let_go(connection)

    def _answer(self, path: bytes, stream: int) -> cases.Answer:
        parts = path.split(b"/")
        if self._case and self._case.protocol == cases.HTTP2 and not stream:
            self._fell_back = True
        if len(parts) == 3 and self._case and parts[1] == b"%d" % self._case.index:
            return self._case.answer(parts[2].decode("latin-1"), stream)
        # Somebody asks for what no case led to.
        return cases.Answer([b"HTTP/1.1 500 Nobody asked\r\nContent-Length: 0\r\n\r\n"], cases.CLEAN)
